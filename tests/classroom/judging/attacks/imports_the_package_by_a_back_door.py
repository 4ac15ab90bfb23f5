# base: stub; most: 0; expect: raises ModuleNotFoundError
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    _os["sys"].path.append("@package@")
    gaussian = _os["sys"].modules["importlib"].import_module("ibpcl.primitives.gaussian")
    return gaussian.sample(eps, mu, scale)
