r"""Generalized VCL: the KL divergence has a weight, and its quadratic part another one.

Loo, Swaroop and Turner (2021), "Generalized Variational Continual Learning".  Task t maximizes

.. math::

    \mathcal L_t(q_t) = \sum_n \mathbb E_{q_t}[\log p(y_n | x_n, V)]
        - \beta\, KL_\lambda[q_t \| q_{t - 1}].

For Gaussians with means :math:`\mu` and precisions P, and the initial precision :math:`P_0 =
\sigma_0^{-2}`,

.. math::

    KL_\lambda[q_t \| q_{t - 1}] = \frac12 \sum_i \tilde P_{t-1,i} (\mu_{t,i} - \mu_{t-1,i})^2
        + \frac{P_{t-1,i}}{P_{t,i}} - 1 - \log \frac{P_{t-1,i}}{P_{t,i}}, \qquad
    \tilde P = P + (\lambda - 1) \max(P - P_0, 0).

So :math:`\lambda` multiplies what the data have added to the precision, and only where it pulls
means back.  With :math:`\beta = \lambda = 1` this is VCL, bit for bit.

**What beta does.**  Let the log likelihood be quadratic, :math:`-\frac12 (V - m)^\top H (V - m)`.
The gradient of :math:`\mathcal L_t` vanishes at

.. math::

    P_{t,i} = P_{t-1,i} + \frac{H_{ii}}{\beta}, \qquad
    (H + \beta \tilde P_{t-1})\, \mu_t = H m + \beta \tilde P_{t-1}\, \mu_{t-1},

see :func:`exact_update`.  A small :math:`\beta` counts every example :math:`1 / \beta` times in the
variance, but once in the mean: :math:`\beta P_t = \beta P_0 + \sum_{s \le t} \operatorname{diag}
H_s`.  As :math:`\beta \to 0` the penalty on the means is :math:`\frac\lambda2 \sum_i (\sum_s
H_{s,ii}) (\mu_{t,i} - \mu_{t-1,i})^2`, which is online EWC with the weight :math:`\lambda`.  The
curvature is then that at the mean, as in EWC, because q is narrow.

.. warning:: The paper has :math:`\tilde P = \lambda (P - P_0) + P_0`.  It is the same wherever a
   posterior is narrower than the first prior.  A wider one would be repelled from its mean for a
   large :math:`\lambda`; here it keeps its precision.

**FiLM.**  With ``film``, every task has a gain and a shift for each hidden unit
(:mod:`ibpcl.models.film`), which are numbers without a prior.  They start at 1 and 0, where the
network is that of VCL, bit for bit.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.inference import objectives
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
from ibpcl.models import film
from ibpcl.models.elbo import GRADIENT
from ibpcl.models.layers import Drawn
from ibpcl.options import option
from ibpcl.primitives import quadratic


@documented
@dataclass(frozen=True, init=False)
class Settings(NetworkSettings):
    """Settings of generalized VCL for classification."""

    method = "gvcl"

    beta: float = option(
        0.1, "Weight beta of the KL divergence; 1 is VCL, towards 0 it is online EWC.", above=0
    )
    weight: float = option(
        10.0, "Weight lambda of the precision that pulls means back; 1 is VCL.", at_least=0
    )
    film: bool = option(False, "A gain and a shift per hidden unit and task (FiLM).")
    film_rate: float = option(0.001, "Learning rate of gains and shifts.", at_least=0)

    def __post_init__(self):
        super().__post_init__()
        if self.film and self.single_head:
            raise ValueError(
                "gvcl: film must be false with single_head, because gains and shifts belong to a "
                "task, and a single head does not know the task"
            )


@dataclass(frozen=True)
class FilmClassifier(GaussianClassifier):
    """Classifier with Gaussian weights, and gains and shifts per task if the settings ask for them.

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

    # those of VCL, so that both methods draw the same noise
    streams: ClassVar = GaussianClassifier.streams

    @property
    def rates(self):
        """Learning rate of each block of parameters."""
        return super().rates | {"film": self.settings.film_rate}

    def network(self, inputs, hidden, outputs, **kind):
        """Return the network with the given widths.

        Parameters
        ----------
        inputs : int
            Width D of the examples.
        hidden : tuple of int
            Units of each hidden layer.
        outputs : int
            Number of classes.
        **kind : type
            ``kind``, the class of the layers, as in
            :meth:`ibpcl.methods.vcl.GaussianClassifier.network`.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only.
        """
        network = super().network(inputs, hidden, outputs, **kind)
        return film.with_films(network) if self.settings.film else network

    def as_trained(self, network):
        """Return the network with the kind of layers that training uses.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of a task, from :meth:`network`.

        Returns
        -------
        network : ibpcl.models.network.Network
            The same network with ``settings.local``, else one whose layers draw weights.
        """
        if self.settings.local:
            return network
        drawn = self.network(network.inputs, self.settings.hidden, network.outputs, kind=Drawn)
        return replace(drawn, likelihood=network.likelihood)

    def shares(self, name):
        """Return whether all tasks share a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"hidden0.weight.mu"`` or ``"film0.gain"``.

        Returns
        -------
        shared : bool
            False for gains and shifts, and for the head, unless all tasks use a single head.
        """
        return not name.startswith("film") and super().shares(name)

    def start(self, context, network, task):
        """Return fresh parameters of a network.

        Parameters
        ----------
        context : ibpcl.methods.sequential.Context
            Gives the random key of the task: ``learner.context`` of a learner.
        network : ibpcl.models.network.Network
            Network to initialize, from :meth:`network`.
        task : ibpcl.continual.task.Task
            The task; not used.

        Returns
        -------
        vector : ndarray, shape (P,)
            Those of VCL, gains 1 and shifts 0.
        """
        vector = super().start(context, network, task)
        film.start(network, vector)
        return vector


class Update(NamedTuple):
    """A Gaussian posterior with independent weights.

    Attributes
    ----------
    mean : ndarray, shape (P,)
        Means.
    precision : ndarray, shape (P,)
        Inverse variances.
    """

    mean: np.ndarray
    precision: np.ndarray


def tempered(precision, initial, weight):
    r"""Return the precision with which means are pulled back.

    .. math:: \tilde P = P + (\lambda - 1) \max(P - P_0, 0)

    Loo et al. (2021), with the maximum added.

    Parameters
    ----------
    precision : ndarray, shape (P,)
        Precisions of the last posterior, > 0.
    initial : float or ndarray, shape (P,)
        Precision of the first prior, > 0.
    weight : float
        The weight :math:`\lambda`, >= 0.

    Returns
    -------
    tempered : ndarray, shape (P,)
        Precisions, >= 0; ``precision`` itself for a weight of 1.

    Examples
    --------
    >>> tempered(np.array([4.0, 0.5]), 1.0, 10.0).tolist()
    [31.0, 0.5]
    """
    return precision + (weight - 1) * np.maximum(precision - initial, 0)


def exact_update(before, curvature, optimum, initial, beta=1.0, weight=1.0):
    r"""Maximize the objective for a quadratic log likelihood, in closed form.

    .. math::

        P_{t,i} = P_{t-1,i} + \frac{H_{ii}}{\beta}, \qquad
        (H + \beta \tilde P_{t-1})\, \mu_t = H m + \beta \tilde P_{t-1}\, \mu_{t-1}

    Parameters
    ----------
    before : Update
        The last posterior.
    curvature : ndarray, shape (P, P)
        The matrix H, positive semi-definite.
    optimum : ndarray, shape (P,)
        The maximum m of the likelihood.
    initial : float
        Precision of the first prior, > 0.
    beta, weight : float
        The settings ``beta``, > 0, and ``weight``, >= 0.

    Returns
    -------
    after : Update
        The new posterior.

    Examples
    --------
    >>> prior = Update(np.zeros(1), np.ones(1))
    >>> exact_update(prior, np.array([[3.0]]), np.ones(1), 1.0)
    Update(mean=array([0.75]), precision=array([4.]))
    """
    pull = beta * tempered(before.precision, initial, weight)
    right = curvature @ optimum + pull * before.mean
    mean = np.linalg.solve(curvature + np.diag(pull), right)
    return Update(mean, before.precision + np.diag(curvature) / beta)


def pull_back(settings, network, prior):
    r"""Return the penalty that the weight :math:`\lambda` adds to the divergence of VCL.

    .. math:: \frac\beta2 (\lambda - 1) \sum_i \max(P_i - P_0, 0)\, (\mu_i - \mu_{t-1,i})^2

    Parameters
    ----------
    settings : Settings
        ``beta``, ``weight`` and ``prior_sigma`` are read.
    network : ibpcl.models.network.Network
        Network of the task.
    prior : ibpcl.models.elbo.Prior
        The last posterior.

    Returns
    -------
    penalty : callable
        ``penalty(vector, gradient)`` returns nats for the whole task and the gradient (P,); its
        second argument is not used.
    """
    places = network.layout.block("mu")
    # the same rounding as in the prior, so that new weights have exactly no gained precision
    initial = np.exp(-2 * np.full_like(prior.log_sigma, np.log(settings.prior_sigma)))
    precision = np.exp(-2 * prior.log_sigma)
    extra = settings.beta * (tempered(precision, initial, settings.weight) - precision)

    def penalty(vector, gradient):
        value, cache = quadratic.penalty(vector[places], prior.mu, extra)
        slope = np.zeros_like(vector)
        slope[places] = quadratic.penalty_vjp(1.0, cache)[0]
        return float(value), slope

    return penalty


@documented_step
def learn_task(context, task):
    """Learn one more task with generalized VCL.

    The column ``penalty`` of the history has what the weight lambda adds.
    """
    context = accept(context, task)
    settings = context.settings
    network = context.next_network(task.outputs)
    data = Data(task.x_train, task.targets)
    vector = start(context, network, task)
    prior = last_posterior(context, network)
    vector, warming = warm_up(context, network, vector, prior, data)
    first = context.state.learned == 0
    weighted = Weighted(
        GRADIENT._replace(kl_weights=-settings.beta),
        penalty=None if first or settings.weight == 1 else pull_back(settings, network, prior),
    )
    model = context.model
    _, vector, history = objectives.train(
        model.as_trained(network),
        vector,
        prior,
        data,
        context.fit(tau=model.temperatures),
        model.rates,
        weighted,
        model.given_masks,
    )
    return keep(context, network, vector), of_task(context, [*warming, *history])


@documented_learner
class GVCL(Saved):
    """Learner with a weighted divergence from the last posterior.

    Loo, Swaroop and Turner (2021), "Generalized Variational Continual Learning".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    refined : dict of int to ndarray
        Parameters used for predictions, by task.
    """

    settings_type = Settings
    model_type = FilmClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)
