def masked_linear(x, v, z, bias):
    w = z * v
    q = 1 - z
    u = 1 - q.prod(axis=1)
    return x @ w + (bias * u)[:, None, :], (x, v, z, bias, w, q, u)


def masked_linear_vjp(dh, cache):
    x, v, z, bias, w, q, u = cache
    dw = x.T @ dh
    dx = (dh @ w.transpose(0, 2, 1)).sum(axis=0)
    dhb = dh.sum(axis=1)
    du = dhb * bias
    before = np.ones_like(q)
    before[:, 1:] = np.cumprod(q, axis=1)[:, :-1]
    after = np.ones_like(q)
    after[:, :-1] = np.cumprod(q[:, ::-1], axis=1)[:, ::-1][:, 1:]
    dz = dw * v + du[:, None, :] * before * after
    return dx, dw * z, dz, (dhb * u).sum(axis=0)


def categorical(logits, labels):
    f = logits - logits.max(axis=-1, keepdims=True)
    f = f - np.log(np.exp(f).sum(axis=-1, keepdims=True))
    n = np.arange(len(labels))
    return f[:, n, labels] / math.log(2), (f, labels)


def categorical_vjp(dlog_p, cache):
    f, labels = cache
    d = dlog_p / math.log(2)
    out = -np.exp(f) * d[..., None]
    out[:, np.arange(len(labels)), labels] += d
    return out


def log_likelihood(x, v, z, bias, labels):
    h, c1 = masked_linear(x, v, z, bias)
    p, c2 = categorical(h, labels)
    return p, (c1, c2)


def log_likelihood_vjp(dlog_p, cache):
    c1, c2 = cache
    return masked_linear_vjp(categorical_vjp(dlog_p, c2), c1)


def label_frequencies(gumbel, logits):
    best = (gumbel + logits).argmax(axis=-1)
    return np.stack([(best == c).mean(axis=0) for c in range(logits.shape[-1])], axis=-1)


def slope_in_probability(logits, labels):
    p = np.exp(logits)
    p = p / p.sum(axis=-1, keepdims=True)
    return np.eye(p.shape[-1])[labels] / (p * math.log(2))
