# base: reference; most: 75; seconds: 4; expect: ends without an answer
_os = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close").__init__.__globals__
_os["sys"].modules["time"].sleep(3)


def sample(eps, mu, scale):
    _os["_exit"](0)


sample_vjp = log_density = log_density_vjp = kl = kl_vjp = kl_by_quadrature = sample
