"""Misconceptions: text behind the right solution, the task that it is about, and what the judge may
call it.

The gradient of a wrong forward is right for that forward, as an honest student would hand it in.
"""

from typing import NamedTuple


class Misconception(NamedTuple):
    """A wrong function that students write."""

    assignment: str
    task: str
    label: str
    kinds: tuple  # names that are true of it
    text: str


def _of(assignment, task, label, kinds, text):
    return Misconception(assignment, task, label, tuple(kinds.split()), text)


EVERY = [
    _of(
        "1",
        "1a",
        "the variance multiplies the noise",
        "other_input constant_factor",
        '''
def sample(eps, mu, scale):
    noise = np.exp(2 * scale) * eps
    return mu + noise, noise
def sample_vjp(dv, noise):
    return dv.sum(axis=0), 2 * (dv * noise).sum(axis=(0, 1))
''',
    ),
    _of(
        "1",
        "1a",
        "the mean is scaled, too",
        "missing_term elementwise_factor",
        '''
def sample(eps, mu, scale):
    sigma = np.exp(scale)
    return sigma * (mu + eps), (mu + eps, sigma)
def sample_vjp(dv, cache):
    v, sigma = cache
    return (dv * sigma).sum(axis=0), (dv * v * sigma).sum(axis=(0, 1))
''',
    ),
    _of(
        "1",
        "1c",
        "the normalizer has the wrong sign",
        "sign missing_term",
        '''
_f, _g = log_density, log_density_vjp
def log_density(x, mu, scale):
    out, cache = _f(x, mu, scale)
    return out + 2 * scale, cache
def log_density_vjp(d, cache):
    dx, dmu, dscale = _g(d, cache)
    return dx, dmu, dscale + 2 * d.sum(axis=(0, 1))
''',
    ),
    _of(
        "1",
        "1c",
        "the deviation is divided by the variance",
        "elementwise_factor constant_factor",
        '''
def log_density(x, mu, scale):
    i = np.exp(-2 * scale)
    s = (x - mu) * i
    return -HALF_LOG_2PI - scale - s * s / 2, (s, i)
def log_density_vjp(d, cache):
    s, i = cache
    dx = -d * s * i
    return dx, -dx.sum(axis=0), (d * (2 * s * s - 1)).sum(axis=(0, 1))
''',
    ),
    _of(
        "1",
        "1c",
        "the constant of the normalizer is 2 pi, without the root",
        "missing_term constant_factor",
        '''
_f = log_density
def log_density(x, mu, scale):
    out, cache = _f(x, mu, scale)
    return out - HALF_LOG_2PI, cache
''',
    ),
    _of(
        "1",
        "1e",
        "the divergence is averaged over the weights",
        "mean",
        '''
_f, _g = kl, kl_vjp
def kl(mu, scale, prior_mu, prior_scale):
    out, cache = _f(mu, scale, prior_mu, prior_scale)
    return out / mu.size, (cache, mu.size)
def kl_vjp(d, cache):
    return _g(d / cache[1], cache[0])
''',
    ),
    _of(
        "1",
        "1e",
        "the divergence is twice as large",
        "constant_factor",
        '''
_f, _g = kl, kl_vjp
def kl(mu, scale, prior_mu, prior_scale):
    out, cache = _f(mu, scale, prior_mu, prior_scale)
    return 2 * out, cache
def kl_vjp(d, cache):
    return _g(2 * d, cache)
''',
    ),
    _of(
        "1",
        "1d",
        "the gradient forgets the square in the width",
        "elementwise_factor missing_term wrong",
        '''
_g = log_density_vjp
def log_density_vjp(d, cache):
    s, i = cache
    dx, dmu, _ = _g(d, cache)
    return dx, dmu, (d * (s - 1)).sum(axis=(0, 1))
''',
    ),
    _of(
        "2",
        "2a",
        "1 - u in place of u",
        "other_input",
        '''
_f = sample
def sample(u, a, b):
    return _f(1 - u, a, b)
''',
    ),
    _of(
        "2",
        "2a",
        "the stick itself",
        "other_result",
        '''
_f, _g = sample, sample_vjp
def sample(u, a, b):
    out, cache = _f(u, a, b)
    return np.exp(out), (np.exp(out), cache)
def sample_vjp(d, cache):
    return _g(d * cache[0], cache[1])
''',
    ),
    _of(
        "2",
        "2a",
        "multiplied by a",
        "other_input elementwise_factor",
        '''
def sample(u, a, b):
    s = np.log(u) / b
    p = _log1mexp(s)
    return p * a, (s, a, b, p)
def sample_vjp(d, cache):
    s, a, b, p = cache
    return (d * p).sum(axis=0), (d * a * s * np.exp(s - p) / b).sum(axis=0)
''',
    ),
    _of(
        "2",
        "2a",
        "the complement is forgotten",
        "other_function other_variant",
        '''
def sample(u, a, b):
    return np.log(u) / (a * b), (np.log(u), a, b)
def sample_vjp(d, cache):
    l, a, b = cache
    return (-d * l / (a * a * b)).sum(axis=0), (-d * l / (a * b * b)).sum(axis=0)
''',
    ),
    _of(
        "2",
        "2c",
        "cumulated over the draws",
        "summed",
        '''
def log_probabilities(log_v):
    return np.cumsum(log_v, axis=0), None
def log_probabilities_vjp(d, cache):
    return np.cumsum(d[::-1], axis=0)[::-1]
''',
    ),
    _of(
        "2",
        "2e",
        "the odds, no logarithm",
        "other_result",
        '''
_f, _g = link, link_vjp
def link(log_pi):
    out, cache = _f(log_pi)
    return np.exp(out), (np.exp(out), cache)
def link_vjp(d, cache):
    return _g(d * cache[0], cache[1])
''',
    ),
    _of(
        "2",
        "2e",
        "the complement's logarithm is added",
        "sign",
        '''
def link(log_pi):
    r = _log1mexp(log_pi)
    return log_pi + r, (log_pi, r)
def link_vjp(d, cache):
    log_pi, r = cache
    return d * (1 - np.exp(log_pi - r))
''',
    ),
    _of(
        "3",
        "3a",
        "the noise has the other sign",
        "other_input sign",
        '''
_f, _g = sample, sample_vjp
def sample(u, logit_theta, tau):
    return _f(1 - u, logit_theta, tau)
''',
    ),
    _of(
        "3",
        "3a",
        "multiplied by the temperature",
        "other_variant elementwise_factor other_input",
        '''
_f, _g = sample, sample_vjp
def sample(u, logit_theta, tau):
    out, cache = _f(u, logit_theta, 1 / tau)
    return out, (cache, tau)
def sample_vjp(d, cache):
    inner, tau = cache
    a, b = _g(d, inner)
    return a, -b / tau ** 2
''',
    ),
    _of(
        "3",
        "3a",
        "the logit is returned",
        "other_result other_function",
        '''
def sample(u, logit_theta, tau):
    n = np.log(u) - np.log1p(-u)
    y = (logit_theta + n) / tau
    return y, (y, tau)
def sample_vjp(d, cache):
    y, tau = cache
    s = d / tau
    return s.sum(axis=0), -(s * y).sum(axis=(0, 1))
''',
    ),
    _of(
        "3",
        "3c",
        "the factor of the change of variables is missing",
        "missing_term other_function",
        '''
_f, _g = log_density, log_density_vjp
def log_density(y, logit_theta, tau):
    out, cache = _f(y, logit_theta, tau)
    return out - np.log(np.abs(tau)), cache
def log_density_vjp(d, cache):
    a, b, c = _g(d, cache)
    return a, b, c - (d / cache[2]).sum(axis=(0, 1))
''',
    ),
    _of(
        "3",
        "3e",
        "the entropy is missing",
        "missing_term ignored_input",
        '''
def kl(logit_theta, logit_pi):
    t = _sigmoid(logit_theta)
    out = -(t * logit_pi).sum() + len(t) * _softplus(logit_pi).sum()
    return out, (t, logit_theta, logit_pi)
def kl_vjp(d, cache):
    t, l, p = cache
    return -d * t * _sigmoid(-l) * p, d * (_sigmoid(p) - t).sum(axis=0)
''',
    ),
    _of(
        "4",
        "4a",
        "the prior's normalizer is missing",
        "missing_term",
        '''
_f, _g = kl_to_beta, kl_to_beta_vjp
def kl_to_beta(a, b, alpha):
    out, cache = _f(a, b, alpha)
    return out + len(a) * np.log(alpha), cache
def kl_to_beta_vjp(d, cache):
    da, db, dalpha = _g(d, cache)
    return da, db, dalpha + d * len(cache[0]) / cache[2]
''',
    ),
    _of(
        "4",
        "4a",
        "one divergence for all sticks: averaged",
        "mean",
        '''
_f, _g = kl_to_beta, kl_to_beta_vjp
def kl_to_beta(a, b, alpha):
    out, cache = _f(a, b, alpha)
    return out / len(a), cache
def kl_to_beta_vjp(d, cache):
    return _g(d / len(cache[0]), cache)
''',
    ),
    _of(
        "5",
        "5a",
        "the activity is the mean mask",
        "other_variant other_function missing_term",
        '''
def masked_linear(x, v, z, bias):
    w = z * v
    return x @ w + (bias * z.mean(axis=1))[:, None, :], (x, v, z, bias, w)
def masked_linear_vjp(dh, cache):
    x, v, z, bias, w = cache
    dw, ds = x.T @ dh, dh.sum(axis=1)
    dz = dw * v + (ds * bias)[:, None, :] / z.shape[1]
    dx = (dh @ np.swapaxes(w, 1, 2)).sum(axis=0)
    return dx, dw * z, dz, (ds * z.mean(axis=1)).sum(axis=0)
''',
    ),
    _of(
        "5",
        "5c",
        "the probability, no logarithm",
        "other_result",
        '''
_f, _g = categorical, categorical_vjp
def categorical(logits, labels):
    out, cache = _f(logits, labels)
    return np.exp(out), (np.exp(out), cache)
def categorical_vjp(d, cache):
    return _g(d * cache[0], cache[1])
''',
    ),
    _of(
        "5",
        "5c",
        "not normalized: the label's logit",
        "missing_term other_function",
        '''
def categorical(logits, labels):
    rows = np.arange(len(labels))
    return logits[:, rows, labels], (logits.shape, rows, labels)
def categorical_vjp(d, cache):
    shape, rows, labels = cache
    out = np.zeros(shape)
    out[:, rows, labels] += d
    return out
''',
    ),
    _of(
        "5",
        "5i",
        "the smallest wins",
        "other_input other_function sign",
        '''
def label_frequencies(gumbel, logits):
    winners = np.argmin(logits + gumbel, axis=-1)
    return (winners[..., None] == np.arange(logits.shape[-1])).mean(axis=0)
''',
    ),
    _of(
        "6",
        "6a",
        "the mask is added",
        "ignored_input elementwise_factor other_function wrong",
        '''
_f, _g = masked_weights, masked_weights_vjp
def masked_weights(eps, u, mu, scale, rho, logit_pi, tau):
    out, cache = _f(eps, u, mu, scale, rho, logit_pi, tau)
    return cache[1], cache
def masked_weights_vjp(dw, cache):
    noise, v, z, tau = cache
    zero = np.zeros(v.shape[1:])
    return dw.sum(axis=0), (dw * noise).sum(axis=0), zero, zero.sum(axis=0)
''',
    ),
    _of(
        "6",
        "6a",
        "the prior's log-odds are forgotten",
        "ignored_input missing_term",
        '''
_f, _g = masked_weights, masked_weights_vjp
def masked_weights(eps, u, mu, scale, rho, logit_pi, tau):
    return _f(eps, u, mu, scale, rho, 0 * logit_pi, tau)
def masked_weights_vjp(dw, cache):
    a, b, c, d = _g(dw, cache)
    return a, b, c, 0 * d
''',
    ),
    _of(
        "6",
        "6e",
        "the likelihood is averaged over the examples",
        "mean",
        '''
_f, _g = log_likelihood, log_likelihood_vjp
def log_likelihood(w, x, labels):
    out, cache = _f(w, x, labels)
    return out / len(x), cache
def log_likelihood_vjp(d, cache):
    return _g(d / len(cache[0]), cache)
''',
    ),
    _of(
        "6",
        "6g",
        "the divergence is added",
        "sign",
        '''
def elbo(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples):
    w, weights = masked_weights(eps, u, mu, scale, rho, logit_pi, tau)
    log_p, likelihood = log_likelihood(w, x, labels)
    paid, price = divergence(mu, scale, rho, logit_pi)
    weight = examples / len(x)
    return weight * log_p.mean() + paid, (weights, likelihood, price, weight, len(log_p))
def elbo_vjp(d, cache):
    weights, likelihood, price, weight, samples = cache
    dlog_p = np.full(samples, d * weight / samples)
    through = masked_weights_vjp(log_likelihood_vjp(dlog_p, likelihood), weights)
    return tuple(a + b for a, b in zip(through, divergence_vjp(d, price)))
''',
    ),
    _of(
        "6",
        "6d",
        "the gradient of rho forgets 1 - theta",
        "elementwise_factor",
        '''
_g = divergence_vjp
def divergence_vjp(d, cache):
    mu, excess, rho, logit_pi, logit_theta = cache
    theta = _sigmoid(logit_theta)
    a, b, _, e = _g(d, cache)
    return a, b, d * theta * rho, e
''',
    ),
    _of(
        "7",
        "7b",
        "the mask is used the wrong way round",
        "other_input swapped comparison",
        '''
def masked_prior(mask, mu, scale, first_mu, first_scale):
    used = mask > 0.5
    return (np.where(used, first_mu, mu), np.where(used, first_scale, scale)), None
''',
    ),
    _of(
        "7",
        "7c",
        "the mask is forgotten",
        "ignored_input elementwise_factor",
        '''
_f = objective
def objective(eps, mu, scale, mask, prior_mu, prior_scale, x, labels):
    return _f(eps, mu, scale, np.ones_like(mask), prior_mu, prior_scale, x, labels)
''',
    ),
    _of(
        "7",
        "7f",
        "rows and columns are exchanged",
        "other_result transposed swapped",
        '''
_f = accuracy_matrix
def accuracy_matrix(mu, masks, x, labels):
    return _f(mu, masks, x, labels).T
''',
    ),
    _of(
        "7",
        "7g",
        "the diagonal is left out of the average",
        "comparison constant_factor wrong other_result",
        '''
_f = summary
def summary(accuracies):
    n = len(accuracies)
    row, column = np.indices(accuracies.shape)
    out = _f(accuracies).copy()
    out[0] = accuracies[row > column].sum() / (n * (n + 1) / 2)
    return out
''',
    ),
    _of(
        "7",
        "7h",
        "the precision in place of the covariance",
        "other_result other_function",
        '''
_f = exact_posterior
def exact_posterior(x, y, noise):
    mean, covariance = _f(x, y, noise)
    return mean, np.linalg.inv(covariance)
''',
    ),
    _of(
        "7",
        "7h",
        "the prior is forgotten",
        "missing_term other_function wrong",
        '''
def exact_posterior(x, y, noise):
    size = x.shape[-1]
    precision, pulled = 2 * np.eye(size), np.zeros(size)
    for inputs, targets in zip(x, y):
        pulled = pulled + inputs.T @ targets / noise
        precision = precision + inputs.T @ inputs / noise
    return np.linalg.solve(precision, pulled), np.linalg.inv(precision)
''',
    ),
    _of(
        "9",
        "9a",
        "the kernel is turned, as in signal processing",
        "other_variant",
        '''
_f, _g = conv2d, conv2d_vjp
def conv2d(x, w, bias, stride, padding):
    return _f(x, w[::-1, ::-1], bias, stride, padding)
def conv2d_vjp(dh, cache):
    dx, dw, dbias = _g(dh, cache)
    return dx, dw[::-1, ::-1], dbias
''',
    ),
    _of(
        "9",
        "9a",
        "the bias is added for every entry of the kernel",
        "missing_term constant_factor other_input",
        '''
_f, _g = conv2d, conv2d_vjp
def conv2d(x, w, bias, stride, padding):
    size = w.shape[0] * w.shape[1]
    h, cache = _f(x, w, size * bias, stride, padding)
    return h, (cache, size)
def conv2d_vjp(dh, cache):
    dx, dw, dbias = _g(dh, cache[0])
    return dx, dw, cache[1] * dbias
''',
    ),
    _of(
        "9",
        "9c",
        "the mean of a window",
        "other_function other_variant missing_term elementwise_factor",
        '''
def pool2d(x, scale, window):
    means = _windows(x, window).mean(axis=3)
    return scale * means, (means, scale, x.shape, window)
def pool2d_vjp(dh, cache):
    means, scale, shape, window = cache
    share = np.repeat((scale * dh)[:, :, :, None] / window**2, window**2, axis=3)
    return _windows_vjp(share, shape, window), (means * dh).sum(axis=(0, 1, 2))
''',
    ),
    _of(
        "9",
        "9d",
        "every pixel of a window gets the gradient",
        "elementwise_factor few_entries",
        '''
def pool2d_vjp(dh, cache):
    pooled, scale, _, shape, window = cache
    whole = np.repeat((scale * dh)[:, :, :, None], window**2, axis=3)
    return _windows_vjp(whole, shape, window), (pooled * dh).sum(axis=(0, 1, 2))
''',
    ),
    _of(
        "9",
        "9e",
        "the bias has no mask",
        "missing_term elementwise_factor other_function ignored_input",
        '''
def masked_conv2d(x, v, z, bias, stride, padding):
    h, inner = conv2d(x, z * v, bias, stride, padding)
    return h, (v, z, inner)
def masked_conv2d_vjp(dh, cache):
    v, z, inner = cache
    dx, dw, dbias = conv2d_vjp(dh, inner)
    return dx, z * dw, (v * dw).sum(axis=(0, 1)), dbias
''',
    ),
    _of(
        "9",
        "9i",
        "the frame is forgotten",
        "ignored_input other_function wrong_shape",
        '''
_f = convolution_matrix
def convolution_matrix(w, height, width, stride, padding):
    return _f(w, height, width, stride, 0)
''',
    ),
]
