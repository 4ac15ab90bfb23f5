# base: stub; most: 0; expect: 1a.*(ends without an answer: the program ended|raises)
_sys = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__["sys"]
_import = _sys.modules["importlib"].import_module


def sample(eps, mu, scale):
    mmap, ctypes = _import("mmap"), _import("ctypes")
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(bytes.fromhex("b814000000cd80c3"))        # getpid, as a program of 32 bits calls it
    place = ctypes.addressof(ctypes.c_char.from_buffer(code))
    raise ValueError(f"FOUND {ctypes.CFUNCTYPE(ctypes.c_int)(place)()}")
