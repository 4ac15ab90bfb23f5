# base: stub; most: 0; expect: raises (PermissionError|BlockingIOError|OSError)
_sys = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__["sys"]


def sample(eps, mu, scale):
    _sys.modules["importlib"].import_module("subprocess").run(["/bin/sh", "-c", "true"])
    return mu + np.exp(scale) * eps, eps
