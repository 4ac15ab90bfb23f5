# base: stub; most: 0; expect: raises (PermissionError|ProcessLookupError)|ends without an answer
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    for number in (@judge@, _os["getppid"](), -1):
        try:
            _os["kill"](number, 9)
        except OSError as error:
            last = error
    raise last
