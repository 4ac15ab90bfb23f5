r"""Continual learning with log precisions and powers of densities."""

WORDS = {
    "Combine the masks of all tasks: a weight is used as soon as one task uses it":
        "Combine the masks of all tasks: the share of the tasks that use a weight",
    "One where some mask is above one half, else zero": "Mean of the masks",
    "Choose the posterior where the combined mask is on, and the first prior elsewhere":
        "Multiply powers of the posterior and of the first prior: the combined mask is the posterior's exponent",
    "Log standard deviation of the weights": "Log precision of the weights, one over the variance",
    "average accuracy, backward transfer, forward transfer":
        "final accuracy, forgetting, accuracy at first sight",
}


def combined_mask(masks):
    return masks.mean(axis=0), None


def masked_prior(mask, mu, scale, first_mu, first_scale):
    own, first = mask * np.exp(scale), (1 - mask) * np.exp(first_scale)  # precisions add up, weighted by exponents
    precision = own + first
    return ((own * mu + first * first_mu) / precision, np.log(precision)), None


def objective(eps, mu, scale, mask, prior_mu, prior_scale, x, labels):
    noise = np.exp(-scale / 2) * eps
    log_p = _log_softmax(x @ (mask * (mu + noise)))          # (S, N, C)
    rows = np.arange(len(labels))
    likelihood = log_p[:, rows, labels].sum() / len(eps)
    shift = (mu - prior_mu) * np.exp(prior_scale / 2)
    excess = np.expm1(prior_scale - scale)                   # sigma^2 / sigma_0^2 - 1
    divergence = (shift * shift + excess - (prior_scale - scale)).sum() / 2
    return likelihood - divergence, (noise, mask, prior_scale, x, log_p, labels, shift, excess)


def objective_vjp(dobjective, cache):
    r""".. math:: d\mu = \frac1S \sum_s dv - \lambda_0 (\mu - \mu_0), \quad
              d\log\lambda = -\frac1{2 S} \sum_s dv\, \sigma \varepsilon + \frac{\lambda_0}{2 \lambda} - \frac12, \quad
              dv = m\, x^\top (\mathbb 1_y - p)
    """
    noise, mask, prior_scale, x, log_p, labels, shift, excess = cache
    rows = np.arange(len(labels))
    dlogits = -np.exp(log_p)
    dlogits[:, rows, labels] += 1
    dv = mask * (x.T @ dlogits) / len(log_p)                 # (S, D, C); the mean over the samples
    dmu = dv.sum(axis=0) - shift * np.exp(prior_scale / 2)    # mu and scale were broadcast over S
    dscale = (excess - (dv * noise).sum(axis=0)) / 2
    return dobjective * dmu, dobjective * dscale


def summary(accuracies):
    last, before = accuracies[-1], accuracies[:-1]
    return np.array([last.mean(), (before.max(axis=0) - last)[:-1].mean(), np.diagonal(accuracies).mean()])


def slope_of_divergence(mu, scale, prior_mu, prior_scale):
    r""".. math:: \partial_\sigma = \frac{\sigma}{\sigma_0^2} - \frac1\sigma, \quad \sigma = e^{-s / 2}"""
    sigma = np.exp(-scale / 2)
    prior_sigma = np.exp(-prior_scale / 2)
    return sigma / (prior_sigma * prior_sigma) - 1 / sigma
