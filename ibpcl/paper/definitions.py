r"""The paper's definitions, each against plain loops or an exact identity."""

import itertools
import math

import numpy as np
from scipy.special import expit

from ibpcl.continual import coresets
from ibpcl.continual import masks as hard_masks
from ibpcl.continual import prior as priors
from ibpcl.evaluation import metrics
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import geometric
from ibpcl.models import elbo as bounds
from ibpcl.models.elbo import Elbo
from ibpcl.noise import Key
from ibpcl.numerics import logsumexp
from ibpcl.paper import networks
from ibpcl.paper.checks import Outcome, agrees, verifies
from ibpcl.primitives import concrete, kumaraswamy, masked_linear, stick_breaking
from ibpcl.verify.distributions.statistics import largest_gap


@verifies("definitions", "sticks")
def stick_product(seed):
    """Eq. 3: pi_k is the product of the first k sticks."""
    v = np.random.default_rng(seed).uniform(0.05, 0.95, (3, 7))
    # from sticks near one to sticks near zero
    v[2] = np.exp(-np.geomspace(1e-6, 20, 7))
    exact = np.array([[math.prod(row[: k + 1]) for k in range(7)] for row in v])
    return agrees(
        "products by loops",
        np.exp(stick_breaking.log_probabilities(np.log(v))[0]) / exact,
        exact / exact,
    )


@verifies("definitions", "theta")
def theta(seed):
    """Sec. 3.2: theta = sigma(rho + logit pi), averaged over sticks; at rho = 0 it is E[pi]."""
    rng = np.random.default_rng(seed)
    rho = rng.normal(size=(4, 3))
    a = rng.uniform(1, 5, 3)
    b = rng.uniform(0.5, 2, 3)
    u = rng.random((5, 3))
    pi = np.cumprod((1 - u ** (1 / b)) ** (1 / a), axis=1)
    odds = np.exp(rho)[None] * (pi / (1 - pi))[:, None, :]
    got = [hard_masks.posterior_probability(offset, a, b, u) for offset in (rho, 0 * rho)]
    return agrees(
        "odds e^rho pi / (1 - pi)",
        got,
        [(odds / (1 + odds)).mean(axis=0), np.broadcast_to(pi.mean(axis=0), (4, 3))],
    )


@verifies("definitions", "masked-weights")
def masked_weights(seed):
    """Sec. 3.1 and 4.5: W = B o V, and the bias scaled by u_k, for binary and for relaxed masks."""
    rng = np.random.default_rng(seed)
    x, v, b, z = (rng.normal(size=shape) for shape in ((2, 4, 5), (2, 5, 3), (2, 3), (2, 5, 3)))
    z = rng.random(z.shape)
    z[0] = z[0] < 0.3
    z[0, :, 0] = 0  # a unit with no weight on
    got = masked_linear.apply(x, v, z, b)[0]
    exact = [
        [
            [
                sum(x[s, n, d] * z[s, d, k] * v[s, d, k] for d in range(5))
                + b[s, k] * max(z[s, :, k])
                for k in range(3)
            ]
            for n in range(4)
        ]
        for s in range(2)
    ]
    u = masked_linear.column_activity(z)[0]
    binary = [float(any(z[0, :, k] == 1)) for k in range(3)]
    return agrees("loops over d", [*np.ravel(got), *u[0]], [*np.ravel(exact), *binary])


def masked_layer(layer, drawn, s, tau):
    """Compute weights, biases and divergence of masks of sample s from the formulas of Secs. 3.1,
    3.2 and 4.5.

    Parameters
    ----------
    layer : dict of str to ndarray
        The parameters of the layer, by name.
    drawn : dict of str to ndarray
        The noise of sticks, masks, weights and biases; samples are the first axis.
    s : int
        Number of the sample.
    tau : float
        Temperature of the masks, > 0.

    Returns
    -------
    weights : ndarray, shape (D, K)
    biases : ndarray, shape (K,)
    divergence : float
        Divergence of the masks, given the sticks, in nats.
    """
    a = np.log1p(np.exp(layer["raw_a"]))
    b = np.log1p(np.exp(layer["raw_b"]))
    pi = np.cumprod((1 - drawn["stick"][s] ** (1 / b)) ** (1 / a))
    theta = 1 / (1 + np.exp(-layer["rho"]) * (1 - pi) / pi)
    z = 1 / (1 + ((1 - theta) / theta * np.exp(-drawn["mask"][s])) ** (1 / tau))
    weights = z * (layer["weight.mu"] + np.exp(layer["weight.log_sigma"]) * drawn["weight"][s])
    biases = (layer["bias.mu"] + np.exp(layer["bias.log_sigma"]) * drawn["bias"][s]) * z.max(axis=0)
    return (
        weights,
        biases,
        (theta * np.log(theta / pi) + (1 - theta) * np.log((1 - theta) / (1 - pi))).sum(),
    )


def sticks_divergence(layer, alpha):
    """Compute the divergence of a layer's sticks from the prior.

    Parameters
    ----------
    layer : dict of str to ndarray
        The parameters of the layer, by name.
    alpha : float
        Concentration of the IBP, > 0.

    Returns
    -------
    divergence : float
        In nats.
    """
    return kumaraswamy.kl_to_beta(
        np.log1p(np.exp(layer["raw_a"])), np.log1p(np.exp(layer["raw_b"])), alpha
    )[0]


def gaussian_layer(layer, h, eps):
    """Compute pre-activations that are drawn as such: given h they are Gaussian, as the weights
    are.

    Parameters
    ----------
    layer : dict of str to ndarray
        The parameters of the layer, by name.
    h : ndarray, shape (N, D)
        Inputs of the layer.
    eps : ndarray, shape (N, K)
        Standard normal noise.

    Returns
    -------
    out : ndarray, shape (N, K)
        The pre-activations.
    """
    variance = h**2 @ np.exp(2 * layer["weight.log_sigma"]) + np.exp(2 * layer["bias.log_sigma"])
    return h @ layer["weight.mu"] + layer["bias.mu"] + np.sqrt(variance) * eps


@verifies("definitions", "elbo")
def elbo(seed):
    """Compare the ELBO and its parts with plain loops over the paper's formulas, Eqs. 6 to 9."""
    model, vector, prior, x, labels, _ = networks.network(seed)
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), backend("numpy"), np.float64)
    # The last parts are 0: alpha is given, and the network has no codes.
    parts = np.zeros(len(Elbo._fields))
    tau = 0.7
    examples = 70
    layers = model.layout.layers(vector)
    parts[3] = sum(sticks_divergence(layers[name], alpha) for name, alpha in prior.sticks.items())
    for s in range(2):
        h = x
        for name in model.masked:
            weights, biases, divergence = masked_layer(layers[name], noise[name], s, tau)
            h = np.maximum(h @ weights + biases, 0)
            parts[2] += divergence / 2
        for row, label in zip(
            gaussian_layer(layers["head"], h, noise["head"]["eps"][s]), labels, strict=True
        ):
            parts[0] += examples / len(x) / 2 * np.log(np.exp(row[label]) / np.exp(row).sum())
    mu = vector[model.layout.block("mu")]
    sigma = np.exp(vector[model.layout.block("log_sigma")])
    sigma0 = np.exp(prior.log_sigma)
    parts[1] = (
        np.log(sigma0 / sigma) + (sigma**2 + (mu - prior.mu) ** 2) / (2 * sigma0**2) - 0.5
    ).sum()
    got = bounds.elbo(
        model, vector, prior, x, labels, noise, examples, backend("numpy"), None, tau
    )[0]
    return agrees(
        f"ELBO {got.total:.6g}, parts by loops",
        [*got, got.total],
        [*parts, parts[0] - parts[1:].sum()],
    )


@verifies("definitions", "gumbel-softmax")
def gumbel_softmax(seed):
    """Supplement D.3: for two categories the Gumbel softmax is the sigmoid with logistic noise."""
    rng = np.random.default_rng(seed)
    log_alpha = np.array([0.4, -0.9])
    tau = 0.7
    g = -np.log(-np.log(rng.random((20_000, 2))))
    scores = (log_alpha + g) / tau
    first = np.exp(scores[:, 0] - logsumexp(scores, axis=1))
    relaxed = concrete.sample(g[:, 0] - g[:, 1], log_alpha[0] - log_alpha[1], tau)[0]
    outcome = agrees("two categories", first, relaxed)
    p = largest_gap(g[:, 0] - g[:, 1], expit).p_value
    return Outcome(
        outcome.ok and p > 1e-4, f"{outcome.words}; g - g' logistic, p {p:.2g}", {"p_value": p}
    )


@verifies("definitions", "masked-prior")
def masked_prior(seed):
    """Eq. 11: posterior where the union of the masks is on, p_0 elsewhere; biases follow their
    unit.
    """
    rng = np.random.default_rng(seed)
    shape = (5, 4)
    masks = [rng.random(shape) < 0.2 for _ in range(3)]
    for mask in masks:
        mask[:, 3] = False  # a unit that no task uses
    old = {
        name: rng.normal(size=shape if name.startswith("weight") else 4) for name in priors.GAUSSIAN
    }
    new = {
        name: np.full_like(value, np.log(0.3) if "sigma" in name else 0.0)
        for name, value in old.items()
    }
    prior = priors.select(hard_masks.union(masks, shape), old, new)
    wrong = 0
    for d in range(5):
        for k in range(4):
            source = old if any(mask[d, k] for mask in masks) else new
            wrong += any(prior[name][d, k] != source[name][d, k] for name in priors.GAUSSIAN[:2])
    for k in range(4):
        source = old if any(mask[:, k].any() for mask in masks) else new
        wrong += any(prior[name][k] != source[name][k] for name in priors.GAUSSIAN[2:])
    return Outcome(wrong == 0, f"{wrong} of 24 entries differ from the rule", {"wrong": wrong})


@verifies("definitions", "mask-storage")
def mask_storage(seed):
    """Sec. 4.5: a mask is stored in one bit per weight and restored exactly."""
    mask = np.random.default_rng(seed).random((784, 200)) < 0.15
    packed = np.packbits(mask)
    bits = 8 * packed.nbytes / mask.size
    same = bool((hard_masks.unpack(packed, mask.shape) == mask).all())
    return Outcome(bits == 1 and same, f"{bits:g} bit per weight", {"bits": bits})


@verifies("definitions", "temperature")
def temperature(seed):
    """Supplement B.1: the temperature falls from 10 to 0.25 by the same factor in each step."""
    taus = [geometric(10.0, 0.25, i, 100) for i in range(100)]
    return agrees(
        "10 to 0.25, equal ratios",
        [*np.diff(np.log(taus)), taus[0], taus[-1]],
        [*[np.log(0.025) / 99] * 99, 10.0, 0.25],
    )


@verifies("definitions", "coresets.k_center")
def k_center(seed):
    """Supplement C: greedy centres leave no point farther away than twice the best possible, found
    by trying all.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 2))
    distance = np.linalg.norm(x[:, None] - x[None], axis=2)

    def radius(rows):
        return distance[:, list(rows)].min(axis=1).max()

    ratios = []
    for size in (3, 1, 2, 4):
        best = min(radius(rows) for rows in itertools.combinations(range(12), size))
        ratios.append(float(radius(coresets.k_center(x, size, rng)) / best))
    return Outcome(
        min(ratios) >= 1 - 1e-12 and max(ratios) <= 2,
        f"radius {max(ratios):.3f} of the best, bound 2",
        {"ratios": ratios},
    )


@verifies(
    "definitions",
    "metrics.{}",
    "average_accuracy_so_far",
    "mean_accuracy_over_pairs",
    "forward_transfer",
    "backward_transfer",
)
def metric(name, seed):
    """Sec. 6.1 and supplement F: a metric against plain loops over the accuracy matrix."""
    rng = np.random.default_rng(seed)
    found = []
    exact = []
    for T in range(2, 8):
        R = rng.random((T, T))
        if name == "average_accuracy_so_far":
            exact += [sum(R[i, j] for j in range(i + 1)) / (i + 1) for i in range(T)]
        elif name == "mean_accuracy_over_pairs":
            exact.append(sum(R[i, j] for i in range(T) for j in range(i + 1)) / (T * (T + 1) / 2))
        elif name == "forward_transfer":
            exact.append(sum(R[i, j] for j in range(T) for i in range(j)) / (T * (T - 1) / 2))
        else:
            exact.append(
                sum(R[i, j] - R[j, j] for i in range(1, T) for j in range(i)) / (T * (T - 1) / 2)
            )
        found += np.ravel(getattr(metrics, name)(R)).tolist()
    return agrees("by loops", found, exact)
