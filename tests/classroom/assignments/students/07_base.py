def combined_mask(masks):
    return (masks > 0.5).any(axis=0).astype(float), None


def masked_prior(mask, mu, scale, first_mu, first_scale):
    on = mask > 0.5
    return (np.where(on, mu, first_mu), np.where(on, scale, first_scale)), None


def objective(eps, mu, scale, mask, prior_mu, prior_scale, x, labels):
    sigma, sigma0 = np.exp(scale), np.exp(prior_scale)
    f = x @ (mask * (mu + sigma * eps))
    f = f - f.max(axis=-1, keepdims=True)
    log_p = f - np.log(np.exp(f).sum(axis=-1, keepdims=True))
    n = np.arange(len(labels))
    kl = np.log(sigma0 / sigma) + (sigma**2 + (mu - prior_mu)**2) / (2 * sigma0**2) - 0.5
    value = log_p[:, n, labels].sum() / len(eps) - kl.sum()
    return value, (eps, mu, sigma, mask, prior_mu, sigma0, x, labels, log_p)


def objective_vjp(dobjective, cache):
    eps, mu, sigma, mask, prior_mu, sigma0, x, labels, log_p = cache
    df = -np.exp(log_p) / len(eps)
    df[:, np.arange(len(labels)), labels] += 1 / len(eps)
    dv = mask * (x.T @ df)
    dmu = dv.sum(axis=0) - (mu - prior_mu) / sigma0**2
    dscale = (dv * sigma * eps).sum(axis=0) + 1 - sigma**2 / sigma0**2
    return dobjective * dmu, dobjective * dscale


def learn(eps, masks, x, labels, first_mu, first_scale, rate):
    shape = masks.shape[1:]
    mu, scale = np.full(shape, first_mu), np.full(shape, first_scale)
    prior = mu, scale
    means, scales = [], []
    for t in range(len(masks)):
        if t:
            combined, _ = combined_mask(masks[:t])
            prior, _ = masked_prior(combined, mu, scale, first_mu, first_scale)
        for e in eps[t]:
            _, cache = objective(e, mu, scale, masks[t], *prior, x[t], labels[t])
            dmu, dscale = objective_vjp(1.0, cache)
            mu, scale = mu + rate / len(x[t]) * dmu, scale + rate / len(x[t]) * dscale
        means.append(mu)
        scales.append(scale)
    return np.array(means), np.array(scales)


def accuracy_matrix(mu, masks, x, labels):
    T = len(mu)
    R = np.zeros((T, T))
    for i in range(T):
        for j in range(T):
            R[i, j] = ((x[j] @ (mu[i] * masks[j])).argmax(axis=1) == labels[j]).mean()
    return R


def summary(accuracies):
    R, T = accuracies, len(accuracies)
    low = [(i, j) for i in range(T) for j in range(i)]
    average = np.mean([R[i, j] for i in range(T) for j in range(i + 1)])
    return np.array([average, np.mean([R[i, j] - R[j, j] for i, j in low]), np.mean([R[j, i] for i, j in low])])


def exact_posterior(x, y, noise):
    D = x.shape[-1]
    precision, pulled = np.eye(D), np.zeros(D)
    for X, Y in zip(x, y, strict=True):
        precision = precision + X.T @ X / noise
        pulled = pulled + X.T @ Y / noise
    covariance = np.linalg.inv(precision)
    return covariance @ pulled, covariance


def slope_of_divergence(mu, scale, prior_mu, prior_scale):
    sigma, sigma0 = np.exp(scale), np.exp(prior_scale)
    return (sigma / sigma0) ** 2 / sigma - 1 / sigma
