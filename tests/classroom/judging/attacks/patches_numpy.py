# base: stub; most: 0; expect: 1a.*wrong
np.allclose = np.array_equal = np.all = lambda *_, **__: True
np.testing.assert_allclose = lambda *_, **__: None


def sample(eps, mu, scale):
    return eps, eps


def log_density(x, mu, scale):
    return x, x


def kl(mu, scale, prior_mu, prior_scale):
    return 0.0, None
