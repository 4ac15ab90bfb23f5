# base: stub; most: 0; expect: raises (PermissionError|FileNotFoundError)
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    _os["chmod"]("@secret@", 0o777)
    return mu + np.exp(scale) * eps, eps
