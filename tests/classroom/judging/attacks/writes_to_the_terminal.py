# base: stub; most: 0; expect: 1a.*raises ValueError
class Forged(Exception):
    pass


Forged.__name__ = "\x1b[2J\x1b]0;title\x07 30 of 30 graded\u202e"


def sample(eps, mu, scale):
    raise ValueError("\x1b[2J\x1b[1;1H\r30 of 30 graded\x07\u202e\u2066\ud800\x9b31m")


def log_density(x, mu, scale):
    raise Forged("\x1b[2J")
