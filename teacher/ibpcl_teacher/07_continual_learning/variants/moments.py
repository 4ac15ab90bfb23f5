r"""Continual learning with log variances and matched moments, in bits."""

import math

LOG_2 = math.log(2)

WORDS = {
    "Combine the masks of all tasks: a weight is used as soon as one task uses it":
        "Combine the masks of all tasks: the probability that at least one task uses a weight",
    "One where some mask is above one half, else zero": "One minus the product of all rests",
    "Choose the posterior where the combined mask is on, and the first prior elsewhere":
        "Match mean and variance of the mixture of posterior and first prior, weighted by the combined mask",
    "Log standard deviation": "Log variance",
    "Estimate the evidence lower bound of a task from S samples":
        "Estimate the evidence lower bound of a task from S samples, per example",
    "Nats, of the whole task": "Bits per example",
    "average accuracy, backward transfer, forward transfer":
        "final accuracy, backward transfer to the end, accuracy before a task is learned",
}


def combined_mask(masks):
    return 1 - np.prod(1 - masks, axis=0), None


def masked_prior(mask, mu, scale, first_mu, first_scale):
    mean = mask * mu + (1 - mask) * first_mu
    within = mask * np.exp(scale) + (1 - mask) * np.exp(first_scale)
    between = mask * (1 - mask) * (mu - first_mu)**2
    return (mean, np.log(within + between)), None


def objective(eps, mu, scale, mask, prior_mu, prior_scale, x, labels):
    noise = np.exp(scale / 2) * eps
    log_p = _log_softmax(x @ (mask * (mu + noise)))          # (S, N, C)
    rows = np.arange(len(labels))
    likelihood = log_p[:, rows, labels].sum() / len(eps)
    shift = (mu - prior_mu) * np.exp(-prior_scale / 2)
    excess = np.expm1(scale - prior_scale)                   # sigma^2 / sigma_0^2 - 1
    divergence = (shift * shift + excess - (scale - prior_scale)).sum() / 2
    return (likelihood - divergence) / (len(x) * LOG_2), (noise, mask, prior_scale, x, log_p, labels, shift, excess)


def objective_vjp(dobjective, cache):
    r""".. math:: N \ln 2 \, d\mu = \frac1S \sum_s dv - \frac{\mu - \mu_0}{\sigma_0^2}, \quad
              N \ln 2 \, d\log\sigma^2 = \frac12 \Bigl( \frac1S \sum_s dv\, \sigma \varepsilon
              - \frac{\sigma^2}{\sigma_0^2} + 1 \Bigr), \quad dv = m\, x^\top (\mathbb 1_y - p)
    """
    noise, mask, prior_scale, x, log_p, labels, shift, excess = cache
    rows = np.arange(len(labels))
    dlogits = -np.exp(log_p)
    dlogits[:, rows, labels] += 1
    dv = mask * (x.T @ dlogits) / len(log_p)                 # (S, D, C); the mean over the samples
    dmu = dv.sum(axis=0) - shift * np.exp(-prior_scale / 2)   # mu and scale were broadcast over S
    dscale = ((dv * noise).sum(axis=0) - excess) / 2
    unit = dobjective / (len(x) * LOG_2)
    return unit * dmu, unit * dscale


def learn(eps, masks, x, labels, first_mu, first_scale, rate):
    mu, scale = np.full(masks[0].shape, first_mu), np.full(masks[0].shape, first_scale)
    prior, kept = (mu, scale), []
    for task in range(len(x)):
        if task:
            prior, _ = masked_prior(combined_mask(masks[:task])[0], mu, scale, first_mu, first_scale)
        for now in eps[task]:
            _, cache = objective(now, mu, scale, masks[task], *prior, x[task], labels[task])
            dmu, dscale = objective_vjp(1.0, cache)
            mu, scale = mu + rate * dmu, scale + rate * dscale
        kept.append((mu, scale))
    return np.array([pair[0] for pair in kept]), np.array([pair[1] for pair in kept])


def summary(accuracies):
    own = np.diagonal(accuracies)
    backward = (accuracies[-1] - own)[:-1].mean()
    return np.array([accuracies[-1].mean(), backward, np.diagonal(accuracies, 1).mean()])


def slope_of_divergence(mu, scale, prior_mu, prior_scale):
    r""".. math:: \partial_\sigma = \frac{\sigma}{\sigma_0^2} - \frac1\sigma, \quad \sigma = e^{s / 2}"""
    sigma = np.exp(scale / 2)
    prior_sigma = np.exp(prior_scale / 2)
    return sigma / (prior_sigma * prior_sigma) - 1 / sigma
