r"""The objective of a mixture of masked classifiers as an estimator, with its gradient."""

WORDS = {
    "Log standard deviation of the weights": "The s in the weights' standard deviation, sigma = log(1 + exp(s))",
    "Evaluate the log-likelihood of the labels for each sample of the weights":
        "Evaluate the log-likelihood of the labels under the average prediction of the samples",
    "log_p : ndarray, shape (S,)": "log_p : float",
    "Estimate the evidence lower bound from a minibatch and S samples":
        "Estimate the objective from a minibatch and S samples: the mixture's log-likelihood minus the divergence",
    "Take a step of gradient ascent on the bound per example for each set":
        "Take a step of gradient ascent on the objective per example for each set",
}


def masked_weights(eps, u, mu, scale, rho, logit_pi, tau):
    noise = _softplus(scale) * eps
    v = mu + noise                                           # (S, D, C)
    z = _sigmoid((rho + logit_pi + np.log(u) - np.log1p(-u)) / tau)
    return z * v, (noise, v, z, tau, scale)


def masked_weights_vjp(dw, cache):
    r""".. math:: dv = z\, dw, \quad dz = v\, dw, \quad d\rho = \sum_s dz\, z (1 - z) / \tau, \quad
              ds = \sum_s dv\, \varepsilon / (1 + e^{-s})
    """
    noise, v, z, tau, scale = cache
    dv = dw * z                                              # the product rule
    drho = (dw * v * z * (1 - z)).sum(axis=0) / tau          # everything below was broadcast over S
    return dv.sum(axis=0), (dv * noise).sum(axis=0) * _sigmoid(scale) / _softplus(scale), drho, drho.sum(axis=0)


def divergence(mu, scale, rho, logit_pi):
    sigma = _softplus(scale)
    weights = (mu * mu + sigma * sigma - 1) / 2 - np.log(sigma)          # the prior is standard normal
    logit_theta = rho + logit_pi                             # (D, C)
    theta = _sigmoid(logit_theta)
    masks = theta * rho - _softplus(logit_theta) + _softplus(logit_pi)
    return (weights + masks).sum(), (mu, sigma, scale, rho, logit_pi, logit_theta)


def divergence_vjp(ddivergence, cache):
    r""".. math:: \partial_\mu = \mu, \quad \partial_s = \Bigl(\sigma - \frac1\sigma\Bigr) \frac{1}{1 + e^{-s}}, \quad
              \partial_\rho = \theta (1 - \theta) \rho, \quad
              \partial_{\operatorname{logit}\pi} = \sum_d \theta (1 - \theta) \rho + \pi - \theta
    """
    mu, sigma, scale, rho, logit_pi, logit_theta = cache
    dscale = (sigma - 1 / sigma) * _sigmoid(scale)
    theta = _sigmoid(logit_theta)
    drho = theta * _sigmoid(-logit_theta) * rho              # of theta; the explicit rho cancels
    dlogit_pi = (drho + _sigmoid(logit_pi) - theta).sum(axis=0)          # logit_pi was broadcast over D
    return ddivergence * mu, ddivergence * dscale, ddivergence * drho, ddivergence * dlogit_pi


def log_likelihood(w, x, labels):
    log_p = _log_softmax(x @ w)                              # (S, N, C)
    rows = np.arange(len(labels))
    chosen = log_p[:, rows, labels]                          # (S, N)
    top = np.max(chosen.real, axis=0)
    mixed = top + np.log(np.mean(np.exp(chosen - top), axis=0))          # log mean exp over the samples
    return mixed.sum(), (x, log_p, chosen - mixed, rows, labels)


def log_likelihood_vjp(dlog_p, cache):
    r""".. math:: df_{snc} = dlog\_p\, r_{sn} (\mathbb 1[c = y_n] - p_{snc}), \quad dw = x^\top df, \quad
              r_{sn} = \frac{p_{sn}(y_n)}{\sum_t p_{tn}(y_n)}
    """
    x, log_p, log_ratio, rows, labels = cache
    dlogits = -np.exp(log_p)
    dlogits[:, rows, labels] += 1
    share = np.exp(log_ratio) / len(log_p)                   # of each sample in the mixture
    return x.T @ (dlog_p * share[..., None] * dlogits)


def elbo(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples):
    w, weights = masked_weights(eps, u, mu, scale, rho, logit_pi, tau)
    log_p, likelihood = log_likelihood(w, x, labels)
    paid, price = divergence(mu, scale, rho, logit_pi)
    weight = examples / len(x)                               # an estimate of the whole data set's log-likelihood
    return weight * log_p - paid, (weights, likelihood, price, weight)


def elbo_vjp(dobjective, cache):
    weights, likelihood, price, weight = cache
    through_weights = masked_weights_vjp(log_likelihood_vjp(dobjective * weight, likelihood), weights)
    through_divergence = divergence_vjp(-dobjective, price)
    return tuple(a + b for a, b in zip(through_weights, through_divergence, strict=True))


def slope_in_theta(eps, u, mu, scale, rho, logit_pi, tau):
    r""".. math:: \partial_\theta w = \frac{v\, z (1 - z)}{\tau\, \theta (1 - \theta)}, \quad v = \mu + \log(1 + e^s)\, \varepsilon"""
    v = mu + _softplus(scale) * eps                             # (S, D, C)
    logit_theta = rho + logit_pi                             # (D, C)
    y = (logit_theta + np.log(u) - np.log1p(-u)) / tau
    spread = _sigmoid(logit_theta) * _sigmoid(-logit_theta)  # theta (1 - theta)
    return v * _sigmoid(y) * _sigmoid(-y) / (tau * spread)
