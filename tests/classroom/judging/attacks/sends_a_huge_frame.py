# base: stub; most: 0; seconds: 2; expect: invalid message to the judge
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    for descriptor in range(3, 20):
        try:
            _os["write"](descriptor, b"\xff" * 16)
        except OSError:
            pass
    while True:
        pass
