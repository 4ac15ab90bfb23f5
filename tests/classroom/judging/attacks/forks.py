# base: stub; most: 0; expect: raises (PermissionError|BlockingIOError)
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    while True:
        _os["fork"]()
