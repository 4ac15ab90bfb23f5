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
from ibpcl.verify.distributions.statistics import quadrature

EXAMPLES = 12
BATCH = 3


@erratum(
    "minibatch-factor",
    kind="ambiguity",
    title="The weight of a minibatch in the ELBO",
    where="Sec. 3.2, Eq. 8",
    line=215,
    printed="the ELBO of a minibatch has no factor",
    right="its log-likelihood needs N / |b|: then the minibatches' mean is the ELBO of all data",
    typeset=(
        "Eq. 8 is evaluated on a minibatch as it stands (the paper does not mention minibatches)",
        r"the log-likelihood of a minibatch :math:`b` is multiplied by :math:`N / |b|`; then the "
        "mean over the minibatches is the ELBO of all data",
    ),
    quantity="the mean ELBO of four minibatches of three examples, in nats",
    reference="the ELBO of all twelve examples",
)
def minibatch_factor(seed):
    """Compare the mean over the four minibatches of a partition with the ELBO of all examples."""
    model, vector, prior, _, _, _ = networks.network(seed)
    rng = np.random.default_rng(seed)
    reference = backend("numpy")
    x = rng.normal(size=(EXAMPLES, 6))
    labels = rng.integers(0, 3, EXAMPLES)
    noise = model.noise(Key(seed, 0, 0, 0), 2, EXAMPLES, reference, np.float64)

    def elbo(rows, examples):
        rows_noise = noise | {"head": {"eps": noise["head"]["eps"][:, rows]}}
        return bounds.elbo(
            model, vector, prior, x[rows], labels[rows], rows_noise, examples, reference, None, 0.7
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
    kind="ambiguity",
    title="The sign of the objective in Algorithm 1",
    where="Algorithm 1 against Eq. 6",
    line=487,
    printed="Theta_t <- arg min L_t, with L_t the ELBO",
    right="arg max: the ELBO is a lower bound, and has no minimum",
    typeset=(
        r":math:`\Theta_t \leftarrow \arg\min \mathcal{L}_t`, with the ELBO of Eq. 6 as "
        r":math:`\mathcal{L}_t`",
        r":math:`\Theta_t \leftarrow \arg\max \mathcal{L}_t`, or :math:`\mathcal{L}_t` is the "
        "negative ELBO: a lower bound is maximized",
    ),
    quantity="the ELBO, in nats, after one small step down its gradient and after one up",
    reference="the ELBO before the step",
    labels=("One step down", "One step up"),
)
def argmin_of_elbo(seed):
    """Compare the ELBO after a small step down, and up, its gradient with the ELBO before."""
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
    kind="ambiguity",
    title="Which masks are in the union?",
    where="Algorithm 1 against Sec. 4.1",
    line=495,
    printed="B^o is the union of B^1 ... B^{t-1} when task t ends",
    right="it must hold B^t as well: what task t has learned is prior to task t + 1",
    typeset=(
        r":math:`B^o = B^1 \cup \dots \cup B^{t-1}` when task :math:`t` ends (Algorithm 1 applies "
        "Eq. 11 there)",
        r":math:`B^o` includes :math:`B^t` as well: the posterior of task :math:`t` is the prior "
        r"of task :math:`t + 1`",
    ),
    quantity="the number of weights whose posterior becomes the prior of task 2",
    reference="the number of weights that task 1 uses",
)
def union_order(seed):
    """Count the weights whose posterior becomes a prior, and the weights that task 1 uses."""
    rng = np.random.default_rng(seed)
    mask = rng.random((6, 5)) < 0.4
    shape = (6, 5)
    posterior = {
        name: rng.normal(size=shape if name.startswith("weight") else 5) for name in priors.GAUSSIAN
    }
    initial = {name: np.zeros_like(value) for name, value in posterior.items()}

    def count(masks):
        prior = priors.select(hard_masks.union(masks, shape), posterior, initial)
        return np.count_nonzero(prior["weight.mu"] == posterior["weight.mu"])

    return equal(count([]), count([mask]), np.count_nonzero(mask), 0)


@erratum(
    "masked-prior",
    kind="ambiguity",
    title="The masked prior: a mixture or a choice?",
    where="Sec. 4.1, Eq. 11",
    line=248,
    printed="p_t = B q_{t-1} + (1 - B) p_0, read as a mixture (relaxed B = 1/2)",
    right="a choice by the binary B: a used weight that stays at its posterior costs nothing",
    typeset=(
        r":math:`p_t = B^o q_{t-1} + (1 - B^o)\, p_0` as a mixture of two densities (relaxed "
        r":math:`B^o = \frac12`)",
        r"a choice by the binary :math:`B^o`: the prior is :math:`q_{t-1}` for used weights and "
        r":math:`p_0` for the others, so a used weight that stays at its posterior costs nothing",
    ),
    quantity="the KL divergence, in nats, of a used weight's unchanged posterior from its prior",
    reference="the divergence of equal distributions",
)
def masked_prior(seed):
    """Compute the divergence of a used weight's unchanged posterior from both priors."""
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
    """Return the number of empty columns at the end, by the recursion of Eq. 12 from ``start``.

    Parameters
    ----------
    mask : ndarray of bool, shape (D, K)
        The mask of a layer.
    start : int
        First value of the recursion: 1, or 0 as printed.

    Returns
    -------
    count : int
    """
    count = 0
    c = start
    for column in mask.T[::-1]:
        c *= not column.any()
        count += c
    return count


def mask_with_empty_end(seed, empty):
    """Return a random mask of eight columns whose last ``empty`` columns are empty.

    Parameters
    ----------
    seed : int
        Determines the random inputs.
    empty : int
        From 0 to 7.

    Returns
    -------
    mask : ndarray of bool, shape (5, 8)
    """
    mask = np.random.default_rng(seed).random((5, 8)) < 0.5
    mask[0, 7 - empty] = True
    mask[:, 8 - empty :] = False
    return mask


@erratum(
    "expansion-start",
    kind="ambiguity",
    title="The recursion for empty columns has no start",
    where="Sec. 4.6, Eq. 12",
    line=308,
    printed="C_j = C_{j+1} prod_i 1[B_ij = 0], with no C_{K+1}",
    right="C_{K+1} = 1 (without it, as with 0, no column ever counts as empty)",
    typeset=(
        r":math:`C_j = C_{j+1} \prod_i \mathbb{1}[B_{ij} = 0]` without a value of "
        r":math:`C_{K+1}`, or with 0: no column ever counts as empty",
        r":math:`C_{K+1} = 1`",
    ),
    quantity="the number of units to add so that five columns are empty, where three are",
    reference="counted from the last used column",
    labels=("Start at 0", "Start at 1"),
)
def expansion_start(seed):
    """Count the units to add so that five columns are empty, where three are."""
    mask = mask_with_empty_end(seed, 3)
    last_used = np.flatnonzero(mask.any(axis=0)).max()
    return equal(5 - empty_columns(mask, 0), expansion.growth(mask, 5), 5 - (7 - last_used), 0)


@erratum(
    "expansion-negative",
    kind="ambiguity",
    title="Units to add where too many columns are empty: none, or are units removed?",
    where="Sec. 4.6, Eq. 12",
    line=308,
    printed="G = T - sum_j C_j, which is negative where more than T columns are empty",
    right="G = max(0, T - sum_j C_j): the network only grows",
    typeset=(
        r":math:`G = T - \sum_j C_j`, which is negative where more than :math:`T` columns are "
        "empty. Read as the removal of units, it keeps the number of empty columns constant, as "
        "the text wants",
        r":math:`G = \max\bigl(0,\, T - \sum_j C_j\bigr)`: the text calls :math:`G` the number of "
        "hidden units to expand, and no sentence speaks of removal",
    ),
    quantity="the number of units to add so that two columns are empty, where four are",
    reference="the reading that the network only grows: no unit is added, and none is removed",
    labels=("With removal", "Growth only"),
)
def expansion_negative(seed):
    """Count the units to add so that two columns are empty, where four are: none, or -2."""
    mask = mask_with_empty_end(seed, 4)
    return equal(2 - empty_columns(mask, 1), expansion.growth(mask, 2), 0, 0)


@erratum(
    "alpha-maximum",
    kind="ambiguity",
    title="Two rules for the next task's concentration",
    where="supplement B.1 against E",
    line=469,
    printed="alpha of the next task is the maximum of a (B.1)",
    right="alpha <- max(alpha, max a) (E): it never falls",
    typeset=(
        r":math:`\alpha \leftarrow \max_k a_k` (supplement B.1)",
        r":math:`\alpha \leftarrow \max(\alpha, \max_k a_k)` (supplement E): it never falls",
    ),
    quantity="alpha after a task in which all sticks' a have fallen; it was 5 before",
    reference="the rule of supplement E by its definition",
    labels=("Rule of B.1", "Rule of E"),
)
def alpha_maximum(seed):
    """Apply both rules after a task of Algorithm 1 in which all sticks' a have fallen."""
    turn = algorithm.lowered(seed)
    return equal(turn.a.max(), turn.alpha, max(turn.alpha_before, turn.a.max()), 1e-6)


@erratum(
    "link-of-ten-classes",
    kind="ambiguity",
    title="The likelihood of ten classes is not given",
    where="Sec. 3.2",
    line=225,
    printed="for classification Lik can be Bernoulli (probit or logistic link)",
    right="ten classes need the softmax: the probabilities of the labels must sum to 1",
    typeset=(
        "for classification, the likelihood can be Bernoulli with a probit or logistic link",
        "for the ten classes of Permuted MNIST, the likelihood is categorical (softmax): the "
        "probabilities of the labels sum to 1",
    ),
    quantity="the sum of the probabilities of ten labels, for random logits",
    reference="the sum of all probabilities",
    labels=("Ten Bernoullis", "Softmax"),
)
def link_of_ten_classes(seed):
    """Sum the probabilities of ten labels, for random logits."""
    logits = np.random.default_rng(seed).normal(size=(1, 1, 10))
    one_hot = np.eye(10)
    labels = np.arange(10)
    logits = logits.repeat(10, axis=1)
    by_bernoulli = np.exp(likelihoods.bernoulli_logistic(logits, one_hot)[0]).sum()
    return equal(by_bernoulli, np.exp(likelihoods.categorical(logits, labels)[0]).sum(), 1.0, 1e-9)


@erratum(
    "fifteen-percent",
    kind="remark",
    title="The prior alone expects the 15 % of connections of the first task",
    where="Sec. 6.3",
    line=404,
    printed="around 15 % of the connections are used at most for the first task",
    right="the prior alone, alpha = 30 and K = 200, expects 14.98 %: the number by itself does not "
    "show a learned structure",
    typeset=(
        "around 15 % of the incoming connections are used at most for the first task",
        r"the printed number is right, but the prior alone (:math:`\alpha = 30`, :math:`K = 200`) "
        "expects 14.98 %, before any data are seen: the share by itself is no evidence of a "
        "learned structure",
    ),
    quantity="the share of the weights that are switched on in the first task",
    reference="mean share of 2,000 draws from the prior",
    labels=("Printed", "Prior expects"),
    agrees=True,
)
def fifteen_percent(seed):
    """Compare the expected share of the prior with draws from it, and with the printed number."""
    alpha = 30.0
    units = 200
    draws = 2000
    u = uniform(Key(seed, 0, 0, 0), (draws, units), np.float64)
    log_pi = stick_breaking.log_probabilities(np.log(u) / alpha)[0]
    shares = np.exp(log_pi).mean(axis=1)
    right = stick_breaking.expected_weights(alpha, units) / units
    printed = 0.15
    holds = abs(right - shares.mean()) < 4 * shares.std() / np.sqrt(draws)
    # The prior explains the printed number if its expected share rounds to that number.
    explained = round(right, 2) == printed
    return Finding(printed, right, float(shares.mean()), "=", not explained, bool(holds))
