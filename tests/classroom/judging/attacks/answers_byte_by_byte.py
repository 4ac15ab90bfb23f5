# base: stub; most: 0; seconds: 2; expect: 1a.*ends without an answer
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    sleep = _os["sys"].modules["time"].sleep
    for descriptor in range(3, 8):
        try:
            for _ in range(320):
                _os["write"](descriptor, bytes(1))
                sleep(1)
        except OSError:
            pass
