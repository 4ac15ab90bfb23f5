r"""Approximate Bayes' rule on 2 or 3 weights: Laplace, EWC, VCL, BGD and IVON as recursions.

Each function takes the belief before a task and returns the belief after it.  A belief is a
Gaussian.  The updates are those of the package's learners: the same penalties, memories, KL
divergence and steps.  Two things differ from the learners.  They optimize by minibatches of Adam;
here the objective is optimized to convergence.  And they average over random weights; here a
Gauss-Hermite quadrature replaces the average, so nothing is random.

The learners themselves need a hidden layer, so they start at 6 weights; :mod:`ibpcl.exact.study`
uses them.  NPBCL masks the hidden layers only.  In a model without hidden layers it is VCL.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ibpcl.errors import TrainingError
from ibpcl.exact import points, tiny
from ibpcl.methods import bgd as bgd_rules
from ibpcl.methods import ewc as ewc_rules
from ibpcl.methods import gvcl as gvcl_rules
from ibpcl.methods import ivon as ivon_rules
from ibpcl.methods import laplace as laplace_rules
from ibpcl.models.elbo import Prior
from ibpcl.primitives import full_covariance, gaussian, low_rank, quadratic

EWC_SETTINGS = ewc_rules.Settings(variant="separate", weight=1.0)
# Examples per step of BGD.  Its step uses the gradient before the step, and overshoots with a wide
# prior and many examples.
BATCH = 1
# Quadrature nodes per axis if common parts of the weights have separate axes.
COMMON_NODES = 12
# Step size of natural gradients, and the most steps until they stand still
DAMPING = 0.5
MOST_STEPS = 2000
LAST_STEP = 1e-3  # Newton's step at an accepted minimum, in units of the weights


class Belief(NamedTuple):
    """A Gaussian belief about the weights.

    Attributes
    ----------
    mean : ndarray, shape (P,)
        Mean.
    covariance : ndarray, shape (P, P)
        Covariance; zero for EWC, which predicts with a single weight vector.
    memory : dict of str to ndarray
        What the method keeps besides: the anchors of EWC, or the precision of Laplace.
    """

    mean: np.ndarray
    covariance: np.ndarray
    memory: dict


def initial(network):
    """Return the prior as a belief.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.

    Returns
    -------
    belief : Belief
        Mean 0 and variance ``prior_sigma ** 2``.
    """
    covariance = np.eye(network.size) * network.prior_sigma**2
    return Belief(np.zeros(network.size), covariance, {})


def best(objective, start, redundant=False):
    """Minimize an objective to convergence.

    Parameters
    ----------
    objective : callable
        ``objective(v)`` returns a value and its gradient.
    start : ndarray, shape (M,)
        Where the search begins.
    redundant : bool
        Whether different ``v`` may describe the same belief.  Newton's step may then be long in a
        direction in which nothing changes, and a small gradient is enough.

    Returns
    -------
    v : ndarray, shape (M,)
        A minimum.

    Raises
    ------
    TrainingError
        If the loss has no minimum, as for separable labels without a prior.
    """
    accuracy = {"gtol": 1e-6 if redundant else 1e-8}
    found = minimize(objective, start, jac=True, method="BFGS", options=accuracy)
    # Where a loss only tends to 0, its gradient vanishes too, but Newton's step does not.
    step = np.abs(found.jac if redundant else found.hess_inv @ found.jac).max()
    if not step < LAST_STEP:
        raise TrainingError(
            f"approximations.best: no minimum found; after {found.nit} steps the next one would "
            f"still have the length {step:.2g}. Are the labels separable, without a prior?"
        )
    return found.x


def loss(network, x, y):
    """Return the negative log likelihood of a task as a function of one weight vector.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    loss : callable
        ``loss(w)`` returns nats and the gradient (P,) for ``w`` (P,).
    """

    def value(w):
        log_p, cache = tiny.log_density(network, w[None], x, y)
        return -log_p.sum(), -tiny.log_density_vjp(np.ones(log_p.shape), cache)[0]

    return value


def penalized(loss, penalty):
    """Return the sum of a loss and a penalty, each with its gradient.

    Parameters
    ----------
    loss, penalty : callable
        Functions of ``w`` that return a value and its gradient.

    Returns
    -------
    objective : callable
        Their sum, in the same form.
    """

    def objective(w):
        first, gradient = loss(w)
        second, pull = penalty(w)
        return first + second, gradient + pull

    return objective


def full_laplace(network, before, x, y):
    r"""Apply the Laplace approximation with a full covariance.

    .. math:: \mu_t = \arg\max_w \log p(\mathcal D_t | w) - \tfrac12 (w - \mu_{t - 1})^\top
        \Lambda_{t - 1} (w - \mu_{t - 1}), \qquad \Lambda_t = \Lambda_{t - 1} + F(\mu_t)

    Ritter, Botev and Barber (2018), Eqs. 7 and 8, without a factorization of the precision.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    return laplace_step(network, before, x, y, tiny.fisher)


def laplace_step(network, before, x, y, information):
    """Apply a Laplace approximation whose precision is any matrix.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.
    information : callable
        ``information(network, w, x)`` returns what the precision (P, P) gains.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    precision = np.linalg.inv(before.covariance)

    def prior(w):
        pull = precision @ (w - before.mean)
        return (w - before.mean) @ pull / 2, pull

    mean = best(penalized(loss(network, x, y), prior), before.mean)
    return Belief(mean, np.linalg.inv(precision + information(network, mean, x)), {})


def kronecker_laplace(network, before, x, y):
    r"""Apply the Laplace approximation with a Kronecker-factored precision.

    .. math:: \Lambda_t = \Lambda_{t - 1} + N\, A \otimes G

    Ritter, Botev and Barber (2018), with the factors of every task, as in
    :mod:`ibpcl.methods.kronecker`.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        A network without hidden units.
    before : Belief
        Belief before the task.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    return laplace_step(network, before, x, y, kronecker_information)


def kronecker_information(network, w, x):
    r"""Compute the Kronecker approximation of the Fisher information, summed over examples.

    .. math:: N\, A \otimes G, \qquad A = \overline{\tilde x \tilde x^\top}, \qquad
              G = \overline{E[\delta \delta^\top]}

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        A network without hidden units.
    w : ndarray, shape (P,)
        A weight vector.
    x : ndarray, shape (N, D)
        Inputs.

    Returns
    -------
    information : ndarray, shape (P, P)
        For one example, or Gaussian noise, equal to :func:`ibpcl.exact.tiny.fisher`.

    Raises
    ------
    ValueError
        If the network has hidden units.
    """
    if network.hidden:
        raise ValueError(
            "approximations.kronecker_information: the network must have no hidden units, got "
            f"{network.hidden}"
        )
    f, _ = tiny.outputs(network, w[None], x)
    rows = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    return np.kron(rows.T @ rows, tiny.output_curvature(network, f[0]).mean(axis=0))


def laplace(network, before, x, y):
    """Apply the Laplace approximation with a diagonal precision.

    The penalty and the memory are those of :mod:`ibpcl.methods.laplace`, with a weight of 1.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    settings = laplace_rules.Settings(prior_sigma=network.prior_sigma)

    def prior(w):
        return laplace_rules.penalty(w, slice(None), before.memory, settings)

    mean = best(penalized(loss(network, x, y), prior), before.mean)
    gained = np.diag(tiny.fisher(network, mean, x))
    memory = laplace_rules.remember(before.memory, settings, mean, gained)
    return Belief(mean, np.diag(1 / memory["precision"]), memory)


def ewc(network, before, x, y):
    r"""Apply elastic weight consolidation, with one quadratic penalty per earlier task.

    .. math:: \mu_t = \arg\min_w L_t(w) + \frac{N_t}{2} \sum_{s < t} \sum_i \bar F_{si}
        (w_i - \mu_{si})^2

    with the mean Fisher information per example: Kirkpatrick et al. (2017), Eq. 3, with a weight of
    1 and no prior.  The penalty and the memory are those of :mod:`ibpcl.methods.ewc`.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    after : Belief
        A single point: the covariance is 0.

    Raises
    ------
    TrainingError
        If the labels of the first task are separable, because EWC has no prior.
    """
    memory = before.memory

    def anchors(w):
        return ewc_rules.penalty(w, slice(None), memory, EWC_SETTINGS.weight * len(x))

    mean = best(penalized(loss(network, x, y), anchors), before.mean)
    information = np.diag(tiny.fisher(network, mean, x)) / len(x)
    memory = ewc_rules.remember(memory, EWC_SETTINGS, mean, information, len(memory) // 2)
    return Belief(mean, np.zeros_like(before.covariance), memory)


def vcl(network, before, x, y):
    r"""Apply variational continual learning with a mean-field Gaussian.

    .. math:: q_t = \arg\min_q\; \mathbb E_q[L_t(w)] + KL[q \| q_{t - 1}]

    Nguyen et al. (2018), Eq. 4, optimized over means and log standard deviations.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task, with a diagonal covariance.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    return gvcl(network, before, x, y, beta=1.0, weight=1.0)


def gvcl(network, before, x, y, beta, weight):
    r"""Apply generalized variational continual learning with a mean-field Gaussian.

    .. math:: q_t = \arg\min_q\; \mathbb E_q[L_t(w)] + \beta\, KL_\lambda[q \| q_{t - 1}]

    Loo, Swaroop and Turner (2021), with the precisions of :func:`ibpcl.methods.gvcl.tempered`.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task, with a diagonal covariance.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.
    beta, weight : float
        Weights :math:`\beta`, > 0, and :math:`\lambda`, >= 0; both 1 is :func:`vcl`.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    variance = np.diag(before.covariance)
    prior_log_sigma = np.log(variance) / 2
    pull = gvcl_rules.tempered(1 / variance, network.prior_sigma**-2, weight) - 1 / variance

    def negative_elbo(v):
        mu, log_sigma = np.split(v, 2)
        divergence, cache = gaussian.kl(mu, log_sigma, before.mean, prior_log_sigma)
        dmu, dlog_sigma, _, _ = gaussian.kl_vjp(beta, cache)
        more, more_cache = quadratic.penalty(mu, before.mean, pull)
        dmu = dmu + quadratic.penalty_vjp(beta, more_cache)[0]
        expected, *slopes = expected_loss(network, mu, log_sigma, x, y)
        gradient = np.concatenate([dmu + slopes[0], dlog_sigma + slopes[1]])
        return expected + beta * (divergence + more), gradient

    v = best(negative_elbo, np.concatenate([before.mean, prior_log_sigma]))
    mu, log_sigma = np.split(v, 2)
    return Belief(mu, np.diag(np.exp(2 * log_sigma)), {})


def expected_loss(network, mu, log_sigma, x, y):
    """Return the expected loss under independent Gaussians, and its gradients.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network, with at most 3 weights.
    mu, log_sigma : ndarray, shape (P,)
        Means and log standard deviations.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    expected : float
        Nats, summed over the examples.
    dmu, dlog_sigma : ndarray, shape (P,)
        Its gradients.
    """
    eps, log_mass = points.standard_nodes(network.size)
    w, drawn = gaussian.sample(eps, mu, log_sigma)
    expected, dw = mean_loss(network, w, log_mass, x, y)
    return expected, *gaussian.sample_vjp(dw, drawn)


def mean_loss(network, w, log_mass, x, y):
    """Return the mean loss of weighted weight vectors, and its gradient at each of them.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    w : ndarray, shape (S, P)
        The weight vectors.
    log_mass : ndarray, shape (S,)
        Log probability of each.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    expected : float
        Nats, summed over the examples.
    dw : ndarray, shape (S, P)
        Its gradient.
    """
    mass = np.exp(log_mass)[:, None]
    log_p, cache = tiny.log_density(network, w, x, y)
    dw = tiny.log_density_vjp(np.broadcast_to(-mass, log_p.shape), cache)
    return -(mass * log_p).sum(), dw


def full_vcl(network, before, x, y):
    r"""Apply variational continual learning with a full covariance.

    .. math:: q_t = \arg\min_q\; \mathbb E_q[L_t(w)] + KL[q \| q_{t - 1}],
              \qquad q = \mathcal N(\mu, L L^\top)

    by :mod:`ibpcl.primitives.full_covariance`.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    size = network.size
    root = np.linalg.cholesky(before.covariance)
    prior = before.mean, np.log(np.diag(root)), root
    eps, log_mass = points.standard_nodes(size)
    below = np.tril_indices(size, -1)

    def parts(v):
        lower = np.zeros((size, size))
        lower[below] = v[2 * size :]
        return v[:size], v[size : 2 * size], lower

    def negative_elbo(v):
        q = parts(v)
        w, drawn = full_covariance.sample(eps, *q)
        expected, dw = mean_loss(network, w, log_mass, x, y)
        divergence, cache = full_covariance.kl(*q, *prior)
        slopes = full_covariance.kl_vjp(1.0, cache)[:3]
        dmu, dlog_sigma, dlower = map(np.add, full_covariance.sample_vjp(dw, drawn), slopes)
        return expected + divergence, np.concatenate([dmu, dlog_sigma, dlower[below]])

    v = best(negative_elbo, np.concatenate([prior[0], prior[1], root[below]]))
    mu, log_sigma, lower = parts(v)
    root = lower + np.diag(np.exp(log_sigma))
    return Belief(mu, root @ root.T, {})


def low_rank_vcl(network, before, x, y, rank=1):
    r"""Apply variational continual learning with a covariance of low rank plus a diagonal.

    .. math:: q_t = \arg\min_q\; \mathbb E_q[L_t(w)] + KL[q \| q_{t - 1}],
              \qquad q = \mathcal N(\mu, \mathrm{diag}(\sigma^2) + U^\top U)

    by :mod:`ibpcl.primitives.low_rank`.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network; its weights and the common parts together are at most 3.
    before : Belief
        Belief before the task; its memory has ``log_sigma`` and ``factor`` of the last task, or is
        empty before the first.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.
    rank : int
        Number R of common parts.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    size = network.size
    memory = before.memory or {
        "log_sigma": np.log(np.diag(before.covariance)) / 2,
        "factor": np.zeros((rank, size)),
    }
    prior = before.mean, memory["log_sigma"], memory["factor"]
    # axes of the weights, and of the common parts
    eps, log_mass = points.standard_nodes(size + rank, COMMON_NODES)

    def parts(v):
        return v[:size], v[size : 2 * size], v[2 * size :].reshape(rank, size)

    def negative_elbo(v):
        mu, log_sigma, factor = q = parts(v)
        independent, drawn = gaussian.sample(eps[:, :size], mu, log_sigma)
        common, factor_cache = low_rank.sample(eps[:, size:], factor)
        expected, dw = mean_loss(network, independent + common, log_mass, x, y)
        divergence, cache = low_rank.kl(*q, *prior)
        dmu, dlog_sigma, dfactor = low_rank.kl_vjp(1.0, cache)[:3]
        slopes = gaussian.sample_vjp(dw, drawn)
        dfactor = dfactor + low_rank.sample_vjp(dw, factor_cache)
        gradient = np.concatenate([dmu + slopes[0], dlog_sigma + slopes[1], dfactor.ravel()])
        return expected + divergence, gradient

    # Parts of 0 are a saddle point: their sign makes no difference.
    start = prior[2] + np.where(prior[2], 0, np.exp(prior[1]) / 10)
    v = best(negative_elbo, np.concatenate([*prior[:2], start.ravel()]), redundant=True)
    mu, log_sigma, factor = parts(v)
    covariance = np.diag(np.exp(2 * log_sigma)) + factor.T @ factor
    return Belief(mu, covariance, {"log_sigma": log_sigma, "factor": factor})


def bgd(network, before, x, y):
    """Apply Bayesian gradient descent: one step per minibatch, one pass over the examples.

    Zeno et al. (2018), Algorithm 1, by :func:`ibpcl.methods.bgd.update` with a rate of 1.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task, with a diagonal covariance.
    x : ndarray, shape (N, D)
        Inputs, in the order of the minibatches.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    after : Belief
        Belief after the task.
    """
    mu = before.mean
    log_sigma = np.log(np.diag(before.covariance)) / 2
    for first in range(0, len(x), BATCH):
        rows = slice(first, first + BATCH)
        _, dmu, dlog_sigma = expected_loss(network, mu, log_sigma, x[rows], y[rows])
        mu, log_sigma = bgd_rules.update(mu, log_sigma, dmu, dlog_sigma)
    return Belief(mu, np.diag(np.exp(2 * log_sigma)), {})


def ivon(network, before, x, y):
    """Apply natural gradients until they stand still, at the optimum of :func:`vcl`.

    Shen et al. (2024), by :func:`ibpcl.methods.ivon.update` without momentum.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network.
    before : Belief
        Belief before the task, with a diagonal covariance.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Targets.

    Returns
    -------
    after : Belief
        Belief after the task.

    Raises
    ------
    TrainingError
        If the steps do not stand still.
    """
    mu = before.mean
    log_sigma = np.log(np.diag(before.covariance)) / 2
    prior = Prior(mu, log_sigma, {})
    for _ in range(MOST_STEPS):
        _, dmu, dlog_sigma = expected_loss(network, mu, log_sigma, x, y)
        last = mu, log_sigma
        mu, log_sigma = ivon_rules.update(mu, log_sigma, dmu, dlog_sigma, prior, DAMPING, DAMPING)
        if max(np.abs(mu - last[0]).max(), np.abs(log_sigma - last[1]).max()) < 1e-10:
            return Belief(mu, np.diag(np.exp(2 * log_sigma)), {})
    raise TrainingError(f"approximations.ivon: no fixed point found in {MOST_STEPS} steps")


RULES = {
    "full Laplace": full_laplace,
    "Kronecker Laplace": kronecker_laplace,
    "Laplace": laplace,
    "EWC": ewc,
    "VCL": vcl,
    "VCL, rank 1": low_rank_vcl,
    "VCL, full": full_vcl,
    "BGD": bgd,
    "IVON": ivon,
}


def carry(rule, network, data):
    """Carry a belief from task to task.

    Parameters
    ----------
    rule : callable
        One of :data:`RULES`, such as :func:`vcl`.
    network : ibpcl.exact.tiny.TinyNetwork
        A network with 2 or 3 weights.
    data : sequence of (ndarray, ndarray)
        Inputs and targets of each task.

    Returns
    -------
    beliefs : list of Belief
        The belief after each task.

    Raises
    ------
    TrainingError
        If an objective has no minimum.
    """
    belief = initial(network)
    beliefs = []
    for x, y in data:
        belief = rule(network, belief, x, y)
        beliefs.append(belief)
    return beliefs
