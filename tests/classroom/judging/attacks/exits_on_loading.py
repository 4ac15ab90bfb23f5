# base: stub; most: 0; expect: not graded: \S+ cannot be loaded: it ends without an answer
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__
_os["_exit"](0)
