# base: stub; most: 0; expect: 1a.*ends without an answer: the program ended
_sys = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__["sys"]


def sample(eps, mu, scale):
    _sys.modules["importlib"].import_module("ctypes").string_at(0)
