# base: stub; most: 0; expect: 1a.*(raises RuntimeError|it started more than)
_sys = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__["sys"]
_import = _sys.modules["importlib"].import_module


def sample(eps, mu, scale):
    threading = _import("threading")
    threading.stack_size(32768)
    for _ in range(300):
        threading.Thread(target=_import("time").sleep, args=(100,), daemon=True).start()
    return mu + np.exp(scale) * eps, eps
