"""The gradient step in JAX, as its user would write it: a pure function, differentiated and
compiled as a whole.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

EULER = 0.5772156649015329
BLOCKS = {"rho": "rho", "raw_a": "sticks", "raw_b": "sticks"}
BETA1 = 0.9
BETA2 = 0.999
EPSILON = 1e-8


def block(name):
    """Return the group of a parameter, for its learning rate."""
    kind = name.split(".")[-1]
    return BLOCKS.get(kind, kind)


def draw(key, S, N, D, K, C):
    """Draw the noise of a step."""
    weight, bias, stick, mask, head = jax.random.split(key, 5)
    return {
        "weight": jax.random.normal(weight, (S, D, K)),
        "bias": jax.random.normal(bias, (S, K)),
        "stick": jax.random.uniform(stick, (S, K), minval=1e-7),
        "mask": jax.random.logistic(mask, (S, D, K)),
        "head": jax.random.normal(head, (S, N, C)),
    }


def gaussian_kl(mu, log_sigma, prior_mu, prior_log_sigma):
    """Return the divergence of two Gaussians, summed."""
    ratio = jnp.exp(2 * (log_sigma - prior_log_sigma))
    shift = (mu - prior_mu) * jnp.exp(-prior_log_sigma)
    return (0.5 * (ratio + shift**2 - 1) - (log_sigma - prior_log_sigma)).sum()


def elbo(p, prior, alpha, x, labels, noise, tau, examples):
    """Return the four parts of the ELBO."""
    a = jax.nn.softplus(p["hidden0.raw_a"])
    b = jax.nn.softplus(p["hidden0.raw_b"])
    log_v = jnp.log(-jnp.expm1(jnp.log(noise["stick"]) / b)) / a
    log_pi = jnp.cumsum(log_v, axis=-1)
    logit_pi = (log_pi - jnp.log(-jnp.expm1(log_pi)))[:, None]
    logit_theta = p["hidden0.rho"] + logit_pi
    z = jax.nn.sigmoid((logit_theta + noise["mask"]) / tau)
    weight = z * (p["hidden0.weight.mu"] + jnp.exp(p["hidden0.weight.log_sigma"]) * noise["weight"])
    bias = p["hidden0.bias.mu"] + jnp.exp(p["hidden0.bias.log_sigma"]) * noise["bias"]
    h = jax.nn.relu(x @ weight + (bias * z.max(axis=1))[:, None])
    mean = h @ p["head.weight.mu"] + p["head.bias.mu"]
    variance = h**2 @ jnp.exp(2 * p["head.weight.log_sigma"]) + jnp.exp(
        2 * p["head.bias.log_sigma"]
    )
    log_normalized = jax.nn.log_softmax(mean + jnp.sqrt(variance) * noise["head"])
    S, N, _ = log_normalized.shape
    log_p = log_normalized[:, jnp.arange(N), labels].sum()
    kl_masks = (
        jax.nn.sigmoid(logit_theta) * p["hidden0.rho"]
        - jax.nn.softplus(logit_theta)
        + jax.nn.softplus(logit_pi)
    ).sum() / S
    kl_sticks = (
        (a - alpha) / a * (-EULER - jax.scipy.special.digamma(b) - 1 / b)
        + jnp.log(a * b / alpha)
        - (b - 1) / b
    ).sum()
    kl_weights = sum(
        gaussian_kl(
            p[f"{name}.mu"], p[f"{name}.log_sigma"], prior[f"{name}.mu"], prior[f"{name}.log_sigma"]
        )
        for name in ("hidden0.weight", "hidden0.bias", "head.weight", "head.bias")
    )
    return jnp.stack([log_p * (examples / (S * N)), kl_weights, kl_masks, kl_sticks])


def _loss(p, case, prior, x, labels, noise):
    parts = elbo(p, prior, case["alpha"], x, labels, noise, case["tau"], case["examples"])
    return (parts * jnp.asarray(case["weights"])).sum(), parts


def elbo_and_gradient(case, noise):
    """Return the parts of the ELBO, and the gradient of the loss by name, for given noise."""
    differentiate = jax.jit(
        jax.grad(
            functools.partial(
                _loss,
                case=case,
                prior=case["prior"],
                x=case["x"],
                labels=case["labels"],
                noise=noise,
            ),
            has_aux=True,
        )
    )
    gradient, parts = differentiate(case["parameters"])
    return np.asarray(parts), {name: np.asarray(value) for name, value in gradient.items()}


def make_step(case):
    """Return a function that takes one step of training."""
    prior, x, labels = jax.tree.map(jnp.asarray, (case["prior"], case["x"], case["labels"]))
    rates = {name: case["rates"][block(name)] for name in case["parameters"]}

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def advance(p, first, second, t):
        noise = draw(jax.random.fold_in(jax.random.key(0), t), *case["sizes"])
        gradient, _ = jax.grad(
            functools.partial(_loss, case=case, prior=prior, x=x, labels=labels, noise=noise),
            has_aux=True,
        )(p)
        t = t + 1
        first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, gradient)
        second = jax.tree.map(lambda s, g: BETA2 * s + (1 - BETA2) * g * g, second, gradient)
        one = 1 - BETA1**t
        two = 1 - BETA2**t
        p = jax.tree.map(
            lambda x, m, s, rate: x - rate * (m / one) / (jnp.sqrt(s / two) + EPSILON),
            p,
            first,
            second,
            rates,
        )
        return p, first, second, t

    now = jax.tree.map(jnp.asarray, dict(case["parameters"]))
    now = (
        now,
        jax.tree.map(jnp.zeros_like, now),
        jax.tree.map(jnp.zeros_like, now),
        jnp.asarray(0),
    )

    def step():
        nonlocal now
        now = jax.block_until_ready(advance(*now))

    return step
