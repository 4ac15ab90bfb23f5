# base: stub; most: 0; expect: 1a.*(wrong|raises)
class Rigged(np.ndarray):
    def __eq__(self, other):
        return True

    def __rsub__(self, other):
        return np.zeros_like(other)

    __sub__ = __rsub__

    def __array_ufunc__(self, *_, **__):
        return np.zeros(self.shape)


class Any:
    dtype, shape = np.dtype(float), ()

    def __eq__(self, other):
        return True

    def __rsub__(self, other):
        return 0.0

    def __float__(self):
        return 0.0


def sample(eps, mu, scale):
    return np.zeros(eps.shape).view(Rigged), Any()


def sample_vjp(dv, cache):
    return cache, cache


def kl(mu, scale, prior_mu, prior_scale):
    return Any(), Any()
