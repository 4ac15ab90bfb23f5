# base: stub; most: 0; expect: 1a.*ends without an answer: the program ended in the middle of a call
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    _os["_exit"](0)
