# base: stub; most: 0; seconds: 2; expect: 1a.*ends without an answer
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    _os["closerange"](0, 64)
    while True:
        pass
