from scipy.special import expit, logsumexp


def masked_weights(eps, u, mu, scale, rho, logit_pi, tau):
    s = np.logaddexp(0, scale)
    z = expit((rho + logit_pi + np.log(u) - np.log1p(-u)) / tau)
    v = mu + s * eps
    return z * v, (z, v, eps, scale, tau)


def masked_weights_vjp(dw, cache):
    z, v, eps, scale, tau = cache
    dv = dw * z
    drho = (dw * v * z * (1 - z) / tau).sum(axis=0)
    return dv.sum(axis=0), (dv * eps).sum(axis=0) * expit(scale), drho, drho.sum(axis=0)


def divergence(mu, scale, rho, logit_pi):
    s = np.logaddexp(0, scale)
    lt = rho + logit_pi
    value = -np.log(s) + (s * s + mu * mu - 1) / 2
    value = value + expit(lt) * rho - np.logaddexp(0, lt) + np.logaddexp(0, logit_pi)
    return value.sum(), (mu, scale, s, rho, lt, logit_pi)


def divergence_vjp(ddivergence, cache):
    mu, scale, s, rho, lt, logit_pi = cache
    drho = expit(lt) * expit(-lt) * rho
    dlp = (drho - expit(lt) + expit(logit_pi)).sum(axis=0)
    d = ddivergence
    return d * mu, d * (s - 1 / s) * expit(scale), d * drho, d * dlp


def log_likelihood(w, x, labels):
    f = x @ w
    f = f - f.max(axis=-1, keepdims=True)
    lp = f - np.log(np.exp(f).sum(axis=-1, keepdims=True))
    c = lp[:, np.arange(len(labels)), labels]
    m = logsumexp(c, axis=0) - np.log(len(c))
    return m.sum(), (lp, c, m, x, labels)


def log_likelihood_vjp(dlog_p, cache):
    lp, c, m, x, labels = cache
    r = np.exp(c - m) / len(c)
    df = -np.exp(lp) * r[..., None]
    df[:, np.arange(len(labels)), labels] += r
    return dlog_p * (x.T @ df)


def elbo(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples):
    w, c1 = masked_weights(eps, u, mu, scale, rho, logit_pi, tau)
    ll, c2 = log_likelihood(w, x, labels)
    kl, c3 = divergence(mu, scale, rho, logit_pi)
    k = examples / len(x)
    return k * ll - kl, (c1, c2, c3, k)


def elbo_vjp(dobjective, cache):
    c1, c2, c3, k = cache
    a = masked_weights_vjp(log_likelihood_vjp(k * dobjective, c2), c1)
    b = divergence_vjp(-dobjective, c3)
    return tuple(p + q for p, q in zip(a, b, strict=True))


def train(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples, rate):
    out = []
    params = [mu, scale, rho, logit_pi]
    for e, n in zip(eps, u, strict=True):
        value, cache = elbo(e, n, *params, tau, x, labels, examples)
        out.append(value)
        params = [p + rate / examples * g for p, g in zip(params, elbo_vjp(1.0, cache), strict=True)]
    return np.array(out)


def slope_in_theta(eps, u, mu, scale, rho, logit_pi, tau):
    theta = expit(rho + logit_pi)
    z = expit((rho + logit_pi + np.log(u) - np.log1p(-u)) / tau)
    v = mu + np.logaddexp(0, scale) * eps
    return v * z * (1 - z) / tau * (1 / theta + 1 / (1 - theta))
