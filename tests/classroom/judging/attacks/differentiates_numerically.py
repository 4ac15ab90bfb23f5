# base: reference; most: 90; expect: 90 of; flag: sample_vjp calls sample
_exact = sample


def sample(eps, mu, scale):
    return _exact(eps, mu, scale)[0], (eps, mu, scale)


def sample_vjp(dv, cache):
    eps, mu, scale = cache
    gradients = []
    for which in (1, 2):
        gradient = np.zeros(cache[which].shape)
        for at in np.ndindex(gradient.shape):
            moved = [np.array(value, dtype=complex) for value in cache]
            moved[which][at] += 1e-30j
            gradient[at] = (dv * sample(*moved)[0].imag / 1e-30).sum()
        gradients.append(gradient)
    return tuple(gradients)
