# base: stub; most: 0; expect: raises (PermissionError|OSError)
_sys = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__["sys"]
_import = _sys.modules["importlib"].import_module


def sample(eps, mu, scale):
    _ctypes = _import("ctypes")
    libc = _ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 253, "aarch64": 26}[_import("os").uname().machine]
    watch = libc.syscall(number, 0)
    if watch < 0:
        raise OSError(_ctypes.get_errno(), "inotify_init")
    libc.inotify_add_watch(watch, b"@folder@", 0xFFF)
    return mu + np.exp(scale) * eps, eps
