r"""IVON: VCL by natural gradients, with a precision for each weight instead of Adam's averages.

Khan, Nielsen, Tangkaratt, Lin, Gal and Srivastava (2018), "Fast and Scalable Bayesian Deep Learning
by Weight-Perturbation in Adam" (VON); Lin, Schmidt and Khan (2020), "Handling the
Positive-Definite Constraint in the Bayesian Learning Rule"; Shen et al. (2024), "Variational
Learning is Effective for Large Deep Networks" (IVON).  The objective is that of VCL
(:mod:`ibpcl.methods.vcl`): with the negative log likelihood L of a task and the last posterior as
the prior,

.. math:: \min_q\; \mathbb E_q[L(\theta)] + KL[q \| q_{t - 1}], \qquad
          q = \mathcal N(m, S^{-1}), \quad q_{t - 1} = \mathcal N(m_0, P_0^{-1}),

with diagonal precisions S and :math:`P_0`.  A gradient step depends on the parameters in which q is
written.  The *natural* gradient is measured in the KL divergence of q instead.  For the natural
parameters of an exponential family, it is the ordinary gradient at the mean parameters,
:math:`\mathbb E_q[\theta]` and :math:`\mathbb E_q[\theta^2]`.  With Bonnet's and Price's theorems,

.. math:: \frac{\partial\, \mathbb E[L]}{\partial m} = \mathbb E[\nabla L], \qquad
          \frac{\partial\, \mathbb E[L]}{\partial \sigma^2} = \tfrac12 \mathbb E[\nabla^2 L],

a step is a damped Newton step with averages over q:

.. math:: S \leftarrow (1 - \rho)\, S + \rho\, \bigl(\mathbb E[\nabla^2 L] + P_0\bigr), \qquad
          m \leftarrow m - \alpha\, S^{-1} \bigl(\mathbb E[\nabla L] + P_0 (m - m_0)\bigr).

Its fixed point is the optimum of VCL.  If L is quadratic, it is the exact mean-field posterior, and
one step with :math:`\rho = \alpha = 1` reaches it.

**The Hessian needs no second derivative.**  The code stores :math:`\log\sigma`, and the chain rule
gives :math:`\mathbb E[\nabla^2 L] = \sigma^{-2}\, \partial\, \mathbb E[L] / \partial\log\sigma`.
So every unbiased gradient at :math:`\log\sigma` is an unbiased Hessian.  With drawn weights it is
the estimate of the paper, :math:`\hat h = \hat g\, (\theta - m) / \sigma^2`; with ``local`` it has
less variance.

**The precision must stay positive.**  An estimated Hessian may be negative.  With VON, a precision
does not fall below that of the prior.  IVON adds a term of second order (Lin et al., 2020): with
:math:`r = \rho\, (\hat h + P_0 - S) / S`,

.. math:: S \leftarrow S\, \bigl(1 + r + \tfrac12 r^2\bigr) \ge \tfrac12 S,

which has the same fixed point.  As in the paper, the gradient at the means is averaged over steps
(``momentum``), with a correction of the bias of its start.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.adam import State
from ibpcl.continual.learner import Saved
from ibpcl.inference import objectives
from ibpcl.inference.loop import fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods.frame import (
    documented_learner,
    documented_step,
    learning,
    mean_probabilities,
    predicting_classes,
)
from ibpcl.methods.sequential import Context, accept, keep, of_task, start
from ibpcl.methods.settings_docs import documented
from ibpcl.methods.vcl import (
    GaussianClassifier,
    NetworkSettings,
    last_posterior,
    predict_classes,
    warm_up,
)
from ibpcl.models.elbo import Elbo
from ibpcl.options import option

RULES = ("ivon", "von")


@documented
@dataclass(frozen=True, init=False)
class Settings(NetworkSettings):
    """Settings of IVON for classification."""

    method = "ivon"

    rule: str = option(
        "ivon",
        "How the precision stays positive: ivon by a term of second order, von because it does "
        "not fall below the prior's.",
        choices=RULES,
    )
    rate: float = option(0.02, "Step size alpha of the means; 1 is a Newton step.", at_least=0)
    curvature_rate: float = option(
        0.02, "Step size rho of the precisions (1 - beta2 of the paper).", at_least=0, at_most=1
    )
    momentum: float = option(
        0.9, "Decay of the running mean of the gradient (beta1 of the paper).", at_least=0, below=1
    )
    likelihood_epochs: int = option(
        0, "Maximum-likelihood epochs, with Adam at 0.001, before the first task."
    )

    # fixed settings, which the predictions of VCL read
    coreset = "none"


class NaturalClassifier(GaussianClassifier):
    """Classifier with Gaussian weights: its network and its shared parameters.

    Parameters
    ----------
    settings : Settings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"classification"``.
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    given_masks : dict
        Hard masks by layer; empty, because no layer is masked.
    """

    @property
    def rates(self):
        """Learning rates of Adam, which fits the means before the first task."""
        return {"mu": 0.001}


def next_precision(precision, target, rate, rule="ivon", least=0.0):
    r"""Return the precisions after a step towards a target.

    .. math::

        S' = S\, \bigl(1 + r + \tfrac12 r^2\bigr) \quad (\text{ivon}), \qquad
        S' = \max(P_0,\; S\, (1 + r)) \quad (\text{von}), \qquad r = \rho\, \frac{\hat S - S}{S}

    Khan et al. (2018), Eq. 8; Shen et al. (2024), Algorithm 1, line 5.

    Parameters
    ----------
    precision : ndarray, shape (M,)
        Precisions S, > 0.
    target : ndarray, shape (M,)
        Estimated Hessian plus the prior's precision :math:`\hat S = \hat h + P_0`, any real.
    rate : float
        Step size :math:`\rho`, in 0 .. 1.
    rule : {"ivon", "von"}
        The rule.
    least : ndarray, shape (M,), or float
        The prior's precision :math:`P_0`, the smallest value with the rule von.

    Returns
    -------
    precision : ndarray, shape (M,)
        New precisions, > 0.

    Examples
    --------
    >>> next_precision(np.array([4.0]), np.array([8.0]), 0.5)
    array([6.5])
    >>> next_precision(np.array([4.0]), np.array([-8.0]), 0.5, "von", 1.0)
    array([1.])
    """
    r = rate * (target - precision) / precision
    if rule == "von":
        return np.maximum(least, precision * (1 + r))
    return precision * (1 + r + r * r / 2)


def update(mu, log_sigma, dmu, dlog_sigma, prior, rate, curvature_rate, rule="ivon", mean=None):
    r"""Return means and log standard deviations after one natural-gradient step.

    .. math::

        \hat h = \sigma^{-2}\, \frac{\partial\, \mathbb E[L]}{\partial\log\sigma}, \qquad
        S' = S'(\sigma^{-2},\, \hat h + P_0), \qquad
        m' = m - \frac{\alpha}{S'} \bigl(\bar g + P_0 (m - m_0)\bigr)

    with :func:`next_precision`.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (M,)
        Means and log standard deviations of the weights.
    dmu, dlog_sigma : ndarray, shape (M,)
        Gradient of the expected loss of the whole task at both, in nats.
    prior : ibpcl.models.elbo.Prior
        Means and log standard deviations of the prior.
    rate, curvature_rate : float
        Step sizes :math:`\alpha` and :math:`\rho`.
    rule : {"ivon", "von"}
        The rule for the precisions.
    mean : ndarray, shape (M,), optional
        Running mean :math:`\bar g` of the gradient at the means; ``dmu`` by default.

    Returns
    -------
    mu, log_sigma : ndarray, shape (M,)
        The new means and log standard deviations.

    Examples
    --------
    The loss :math:`\tfrac12 3 (\theta - 2)^2` and the prior N(0, 1): the posterior is N(1.5, 1/4).

    >>> from ibpcl.models.elbo import Prior
    >>> zero = np.zeros(1)
    >>> mu, log_sigma = update(zero, zero, 3 * (zero - 2), 3 + zero, Prior(zero, zero, {}), 1, 1,
    ...     "von")
    >>> mu, np.exp(-2 * log_sigma)
    (array([1.5]), array([4.]))
    """
    precision = np.exp(-2 * log_sigma)
    prior_precision = np.exp(-2 * prior.log_sigma)
    target = dlog_sigma * precision + prior_precision
    precision = next_precision(precision, target, curvature_rate, rule, prior_precision)
    slope = (dmu if mean is None else mean) + prior_precision * (mu - prior.mu)
    return mu - rate * slope / precision, -np.log(precision) / 2


def step_rule(settings, prior, examples):
    """Return the natural-gradient step in the form of the updates of Adam.

    Parameters
    ----------
    settings : Settings
        Rule, momentum, and step size of the precisions.
    prior : ibpcl.models.elbo.Prior
        Prior of the task.
    examples : int
        Number of examples N of the task.

    Returns
    -------
    move : callable
        ``move(vector, gradient, state, rate, factor)`` returns the new parameters (2 M,), all means
        and then all log standard deviations, and the new :class:`ibpcl.adam.State`, of which the
        running mean of the gradient and the step are used.  ``gradient`` is that of the loss in
        nats per example; ``rate`` times ``factor`` is the step size of the means.
    """

    def move(vector, gradient, state, rate, factor):
        dmu, dlog_sigma = np.split(examples * gradient, 2)
        step = state.step + 1
        average = settings.momentum * state.first[: len(dmu)] + (1 - settings.momentum) * dmu
        mean = average / (1 - settings.momentum**step)  # the running mean starts at 0
        moved = update(
            *np.split(vector, 2),
            dmu,
            dlog_sigma,
            prior,
            rate * factor,
            settings.curvature_rate * factor,
            settings.rule,
            mean,
        )
        first = np.concatenate([average, state.first[len(dmu) :]])
        return np.concatenate(moved), State(first, state.second, step)

    return move


def maximize(context, network, vector, prior, data):
    """Maximize the ELBO of VCL by natural gradients.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Initial parameters, from :func:`ibpcl.methods.sequential.start`.
    prior : ibpcl.models.elbo.Prior
        Prior of the task, from :func:`ibpcl.methods.vcl.last_posterior`.
    data : ibpcl.inference.objectives.Data
        Training examples, ``Data(task.x_train, task.targets)``.

    Returns
    -------
    vector : ndarray, shape (P,)
        Trained parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.

    Raises
    ------
    NonFiniteError
        If the loss or its gradient becomes infinite or NaN.
    """
    settings = context.settings
    plan = context.fit()
    examples = len(data.x)
    # The prior enters the step in closed form, so the gradient is that of the likelihood alone.
    problem, vector, _ = objectives.pose(
        context.model.as_trained(network),
        vector,
        prior,
        data.x,
        plan,
        {},
        Weighted(Elbo(1.0)),
        context.model.given_masks,
    )

    def objective(vector, rows, step, steps):
        found = problem.evaluate(vector, data.x[rows], data.y[rows], step, steps)
        return found._replace(objective=None)  # the progress bar shows the ELBO

    move = step_rule(settings, prior, examples)
    vector, history = fit(vector, objective, settings.rate, examples, plan, update=move)
    return vector, of_task(context, history)


@documented_step
def learn_task(context, task):
    """Learn one more task with natural gradients."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    prior = last_posterior(context, network)
    data = Data(task.x_train, task.targets)
    vector, warming = warm_up(context, network, vector, prior, data)
    vector, history = maximize(context, network, vector, prior, data)
    return keep(context, network, vector), [*of_task(context, warming), *history]


@documented_learner
class IVON(Saved):
    """Learner that applies Bayes' rule task by task, with natural gradients.

    Shen et al. (2024), "Variational Learning is Effective for Large Deep Networks".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far: means and log standard deviations.  ``knowledge.memory`` is
        empty.
    refined : dict of int to ndarray
        Parameters used for predictions, by task: the posterior itself.
    """

    settings_type = Settings
    model_type = NaturalClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)
