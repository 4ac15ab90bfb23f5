# base: stub; most: 0; seconds: 2; expect: 1a.*ends without an answer: no answer within
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__


def sample(eps, mu, scale):
    _os["kill"](_os["getpid"](), 19)
    return mu + np.exp(scale) * eps, eps
