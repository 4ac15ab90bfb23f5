r"""Errata on the objective, the algorithm, the masked prior, the expansion and the likelihood."""

import numpy as np

from ibpcl.continual import expansion
from ibpcl.continual import masks as hard_masks
from ibpcl.continual import prior as priors
from ibpcl.inference.backend import backend
from ibpcl.models import elbo as bounds
from ibpcl.noise import Key, uniform
from ibpcl.paper import algorithm, networks
from ibpcl.paper.errata.entry import Finding, above, equal, erratum
from ibpcl.primitives import gaussian, likelihoods, stick_breaking
from ibpcl.verify.distributions import quadrature

EXAMPLES = 12
BATCH = 3


@erratum(
    "minibatch-factor",
    "Sec. 3.2, Eq. 8",
    215,
    "the ELBO of a minibatch has no factor",
    "its log-likelihood needs N / |b|: then the minibatches' mean is the ELBO of all data",
)
def minibatch_factor(seed):
    """The mean of both over the four minibatches of a partition against the ELBO of all twelve
    examples.
    """
    model, vector, prior, _, _, _ = networks.network(seed)
    rng = np.random.default_rng(seed)
    reference = backend("numpy")
    x = rng.normal(size=(EXAMPLES, 6))
    labels = rng.integers(0, 3, EXAMPLES)
    noise = model.noise(Key(seed, 0, 0, 0), 2, EXAMPLES, reference, np.float64)

    def elbo(rows, examples):
        part = noise | {"head": {"eps": noise["head"]["eps"][:, rows]}}
        return bounds.elbo(
            model, vector, prior, x[rows], labels[rows], part, examples, reference, None, 0.7
        )[0].total

    minibatches = np.split(rng.permutation(EXAMPLES), EXAMPLES // BATCH)
    full = elbo(np.arange(EXAMPLES), EXAMPLES)
    return equal(
        np.mean([elbo(rows, BATCH) for rows in minibatches]),
        np.mean([elbo(rows, EXAMPLES) for rows in minibatches]),
        full,
        1e-10 * abs(full),
    )


@erratum(
    "argmin-of-elbo",
    "Algorithm 1",
    487,
    "Theta_t <- arg min L_t, with L_t the ELBO",
    "arg max: the ELBO is a lower bound, and has no minimum",
)
def argmin_of_elbo(seed):
    """The ELBO after one small step down and one up its gradient; it must rise above its value
    before.
    """
    model, vector, prior, x, labels, _ = networks.network(seed)
    reference = backend("numpy")
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), reference, np.float64)

    def elbo(vector):
        return bounds.elbo(model, vector, prior, x, labels, noise, 70, reference, None, 0.7)

    before, cache = elbo(vector)
    gradient = bounds.elbo_vjp(bounds.GRADIENT, cache)
    step = 1e-2 * gradient / np.linalg.norm(gradient)
    return above(elbo(vector - step)[0].total, elbo(vector + step)[0].total, before.total)


@erratum(
    "union-order",
    "Algorithm 1 and Sec. 4.1",
    495,
    "B^o is the union of B^1 ... B^{t-1} when task t ends",
    "it must hold B^t as well: what task t has learned is prior to task t + 1",
)
def union_order(seed):
    """How many weights keep their posterior as the prior of task 2, against how many task 1
    uses.
    """
    rng = np.random.default_rng(seed)
    mask = rng.random((6, 5)) < 0.4
    shape = (6, 5)
    posterior = {
        name: rng.normal(size=shape if name.startswith("weight") else 5) for name in priors.GAUSSIAN
    }
    initial = {name: np.zeros_like(value) for name, value in posterior.items()}

    def kept(masks):
        prior = priors.select(hard_masks.union(masks, shape), posterior, initial)
        return np.count_nonzero(prior["weight.mu"] == posterior["weight.mu"])

    return equal(kept([]), kept([mask]), np.count_nonzero(mask), 0)


@erratum(
    "masked-prior",
    "Sec. 4.1, Eq. 11",
    248,
    "p_t = B q_{t-1} + (1 - B) p_0, read as a mixture (relaxed B = 1/2)",
    "a choice by the binary B: a used weight that stays at its posterior costs nothing",
)
def masked_prior(seed):
    """The divergence of a used weight's unchanged posterior from both priors; it must be 0."""
    old = {
        "weight.mu": np.array([[0.4]]),
        "weight.log_sigma": np.array([[-1.5]]),
        "bias.mu": np.zeros(1),
        "bias.log_sigma": np.zeros(1),
    }
    initial = {
        name: np.full_like(value, np.log(0.3) if "sigma" in name else 0.0)
        for name, value in old.items()
    }
    chosen = priors.select(np.array([[True]]), old, initial)
    q, p0 = ((layer["weight.mu"], layer["weight.log_sigma"]) for layer in (old, initial))
    right = gaussian.kl(*q, chosen["weight.mu"], chosen["weight.log_sigma"])[0]

    def integrand(x):
        log_q, log_p0 = (
            gaussian.log_density(x, *(part.item() for part in pair))[0] for pair in (q, p0)
        )
        return np.exp(log_q) * (log_q - np.logaddexp(log_q, log_p0) + np.log(2))

    return equal(quadrature(integrand, (-2, 3), [0.4])[0], right, 0.0, 1e-9)


def empty_columns(mask, start):
    """Evaluate the recursion of Eq. 12, :math:`C_j = C_{j+1} \\prod_i 1[B_{ij} = 0]`, from C_{K+1}
    = ``start``.
    """
    count = 0
    c = start
    for column in mask.T[::-1]:
        c *= not column.any()
        count += c
    return count


def mask_with_empty_end(seed, empty):
    """Draw a mask of eight columns, the last ``empty`` of which are empty."""
    mask = np.random.default_rng(seed).random((5, 8)) < 0.5
    mask[0, 7 - empty] = True
    mask[:, 8 - empty :] = False
    return mask


@erratum(
    "expansion-start",
    "Sec. 4.6, Eq. 12",
    308,
    "C_j = C_{j+1} prod_i 1[B_ij = 0], with no C_{K+1}",
    "C_{K+1} = 1 (without it, as with 0, no column ever counts as empty)",
)
def expansion_start(seed):
    """The units to add so that five columns are empty, where three are."""
    mask = mask_with_empty_end(seed, 3)
    last_used = np.flatnonzero(mask.any(axis=0)).max()
    return equal(5 - empty_columns(mask, 0), expansion.growth(mask, 5), 5 - (7 - last_used), 0)


@erratum(
    "expansion-negative", "Sec. 4.6, Eq. 12", 308, "G = T - sum_j C_j", "G = max(0, T - sum_j C_j)"
)
def expansion_negative(seed):
    """The units to add so that two columns are empty, where four are: none, and not minus two."""
    mask = mask_with_empty_end(seed, 4)
    return equal(2 - empty_columns(mask, 1), expansion.growth(mask, 2), 0, 0)


@erratum(
    "alpha-maximum",
    "supplement B.1 against E",
    469,
    "alpha of the next task is the maximum of a (B.1)",
    "alpha <- max(alpha, max a) (E): it never falls",
)
def alpha_maximum(seed):
    """Both rules after a task whose sticks' a have all fallen, in a learner that runs Algorithm 1;
    alpha was 5.
    """
    turn = algorithm.lowered(seed)
    return equal(turn.a.max(), turn.alpha, max(turn.alpha_before, turn.a.max()), 1e-6)


@erratum(
    "link-of-ten-classes",
    "Sec. 3.2",
    225,
    "for classification Lik is Bernoulli (probit or logistic link)",
    "ten classes need the softmax: the probabilities of the labels must sum to 1",
)
def link_of_ten_classes(seed):
    """The sum over the ten labels of their probabilities, for random logits."""
    logits = np.random.default_rng(seed).normal(size=(1, 1, 10))
    one_hot = np.eye(10)
    labels = np.arange(10)
    logits = logits.repeat(10, axis=1)
    by_bernoulli = np.exp(likelihoods.bernoulli_logistic(logits, one_hot)[0]).sum()
    return equal(by_bernoulli, np.exp(likelihoods.categorical(logits, labels)[0]).sum(), 1.0, 1e-9)


@erratum(
    "fifteen-percent",
    "Sec. 6.3",
    404,
    "about 15 % of the connections are used: a learned structure",
    "the prior alone, alpha = 30 and K = 200, expects 14.98 %: the number says nothing of the data",
)
def fifteen_percent(seed):
    """The share that draws from the prior have on, and its closed form; the printed number is that,
    without data.
    """
    alpha = 30.0
    units = 200
    draws = 2000
    u = uniform(Key(seed, 0, 0, 0), (draws, units), np.float64)
    log_pi = stick_breaking.log_probabilities(np.log(u) / alpha)[0]
    shares = np.exp(log_pi).mean(axis=1)
    right = stick_breaking.expected_weights(alpha, units) / units
    printed = 0.15
    holds = abs(right - shares.mean()) < 4 * shares.std() / np.sqrt(draws)
    # The printed claim, "learned", fails if the prior's own share rounds to the number that it
    # rests on.
    return Finding(
        printed, right, float(shares.mean()), "=", round(right, 2) == printed, bool(holds)
    )
