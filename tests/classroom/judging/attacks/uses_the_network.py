# base: stub; most: 0; expect: raises (PermissionError|OSError)
_sys = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__["sys"]


def sample(eps, mu, scale):
    socket = _sys.modules["importlib"].import_module("socket")
    socket.create_connection(("127.0.0.1", @port@), timeout=2).sendall(b"here")
    return mu + np.exp(scale) * eps, eps
