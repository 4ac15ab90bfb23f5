r"""UCB: certain weights learn slowly, because each mean's rate is scaled by its uncertainty.

Ebrahimi, Elhoseiny, Darrell and Rohrbach (2020), "Uncertainty-guided Continual Learning with
Bayesian Neural Networks", Algorithm 1.  Weights are Gaussian and learn by Bayes by Backprop with
the *same* prior in every task, here :math:`q_0 = \mathcal N(0, \sigma_0^2)`:

.. math:: \mathcal L_t(q) = \sum_n \mathbb E_q[\log p(y_n | x_n, V)] - \kappa\, KL[q(V) \| q_0(V)].

So no term pulls back to the last posterior, unlike in VCL.  Earlier tasks are protected by the step
size alone.  A task that needs a weight makes its standard deviation small.  In the next task, the
mean of a shared weight therefore has the learning rate

.. math:: \alpha_i = \alpha\, \Bigl(\frac{\sigma_{t - 1, i}}{\max_j \sigma_{t - 1, j}}\Bigr)^p,
          \qquad p = 1,

with the standard deviations at the end of the last task.  The rates of the standard deviations and
of a new head are not scaled.

**Why the uncertainty.**  The precision of a posterior grows with the curvature of the earlier
losses, :math:`\sigma_i^{-2} \approx H_{ii} + \sigma_0^{-2}`.  A step of the length
:math:`\sigma_i` raises the quadratic approximation of the earlier loss, :math:`\frac12 H_{ii}
\Delta_i^2`, by at most one half, whatever the curvature is.  Adam divides a gradient by its own
size, so its step has about the length :math:`\alpha_i`.  Plain gradient descent would need the
power 2, as :mod:`ibpcl.methods.bgd` has it.

**Exact limits.**  If all standard deviations are equal, every factor is exactly 1, and this is
naive training of the same Bayesian network.  So is ``power = 0``.  If they are also so small that
:math:`\mu + \sigma \varepsilon` rounds to :math:`\mu`, and the divergence has no weight, it is
naive training of a plain network (:mod:`ibpcl.methods.naive`): bit for bit in NumPy.

.. warning:: The paper's rate is :math:`\alpha \sigma_i`.  The division by the largest one changes
   the rates of a whole task by one factor, and makes the limit exact.  The paper's prior is a
   mixture of two Gaussians.  Its public code counts the divergence as a fiftieth (``kl_weight =
   0.02``, the default here), and descends without Adam.
"""

from dataclasses import dataclass

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
from ibpcl.methods.vcl import GaussianClassifier, NetworkSettings, predict_classes, warm_up
from ibpcl.models.elbo import GRADIENT, Prior
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(NetworkSettings):
    """Settings of UCB for classification."""

    method = "ucb"

    sigma_rate: float = option(
        0.005, "Learning rate of the log standard deviations (Adam).", at_least=0
    )
    kl_weight: float = option(
        0.02, "Weight kappa of the KL divergence from the prior; 1 in the ELBO.", at_least=0
    )
    power: float = option(
        1.0,
        "Power p of the standard deviation in the learning rate of a mean; 0 is naive training.",
        at_least=0,
    )

    # fixed settings, which the predictions of VCL read
    coreset = "none"


class UncertainClassifier(GaussianClassifier):
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
        """Learning rate of each block of parameters, before the factors."""
        return {"mu": self.settings.rate, "log_sigma": self.settings.sigma_rate}


def scaled_rates(log_sigma, power=1.0):
    r"""Return the factors of the learning rates of some means.

    .. math:: f_i = \Bigl(\frac{\sigma_i}{\max_j \sigma_j}\Bigr)^p

    Ebrahimi et al. (2020), Algorithm 1, relative to the largest.

    Parameters
    ----------
    log_sigma : ndarray, shape (M,)
        Logarithms of the standard deviations.
    power : float
        The power p, >= 0.

    Returns
    -------
    factors : ndarray, shape (M,)
        In (0, 1]; exactly 1 if all standard deviations are equal, or p = 0.

    Examples
    --------
    >>> scaled_rates(np.log([0.1, 0.05, 0.1])).round(6).tolist()
    [1.0, 0.5, 1.0]
    """
    return np.exp(power * (log_sigma - log_sigma.max(initial=-np.inf)))


def rate_factors(context, network):
    """Return the factor of the learning rate of each parameter in the next task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.

    Returns
    -------
    factors : ndarray, shape (P,)
        :func:`scaled_rates` for the means that earlier tasks have learned, 1 for all others.
    """
    factors = np.ones(network.layout.size, np.float32)
    shared = context.state.shared
    if shared is None:
        return factors
    learned = np.full(network.layout.size, np.nan, np.float32)
    learned[context.places(network)] = shared
    log_sigma = learned[network.layout.block("log_sigma")]
    known = ~np.isnan(log_sigma)
    of_means = factors[network.layout.block("mu")]
    of_means[known] = scaled_rates(log_sigma[known], context.settings.power)
    return factors


def maximize(context, network, vector, data, plan):
    """Maximize the ELBO under the first prior, with the scaled learning rates.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Initial parameters, from :func:`ibpcl.methods.sequential.start`.
    data : ibpcl.inference.objectives.Data
        Training examples, ``Data(task.x_train, task.targets)``.
    plan : ibpcl.inference.loop.Fit
        Training plan.

    Returns
    -------
    vector : ndarray, shape (P,)
        Trained parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    settings = context.settings
    model = context.model
    weighted = Weighted(
        GRADIENT._replace(kl_weights=-settings.kl_weight), factors=rate_factors(context, network)
    )
    return objectives.train(
        model.as_trained(network),
        vector,
        first_prior(context, network),
        data,
        plan,
        model.rates,
        weighted,
        model.given_masks,
    )[1:]


def first_prior(context, network):
    r"""Return the prior of every task, :math:`q_0`.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Gives ``prior_sigma``: ``learner.context`` of a learner.
    network : ibpcl.models.network.Network
        Network of the task.

    Returns
    -------
    prior : ibpcl.models.elbo.Prior
        Means 0 and equal standard deviations.
    """
    vector = np.zeros(network.layout.size, np.float32)
    vector[network.layout.block("log_sigma")] = np.log(context.settings.prior_sigma)
    return Prior.at(network.layout, vector)


@documented_step
def learn_task(context, task):
    """Learn one more task with learning rates that are scaled by the uncertainty."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    data = Data(task.x_train, task.targets)
    vector = start(context, network, task)
    vector, warming = warm_up(context, network, vector, first_prior(context, network), data)
    vector, history = maximize(context, network, vector, data, context.fit())
    return keep(context, network, vector), of_task(context, [*warming, *history])


@documented_learner
class UCB(Saved):
    """Learner with Gaussian weights whose means move in proportion to their uncertainty.

    Ebrahimi et al. (2020), "Uncertainty-guided Continual Learning with Bayesian Neural Networks".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far: means and log standard deviations.  ``knowledge.memory`` is
        empty.
    refined : dict of int to ndarray
        Parameters used for predictions, by task: the posterior itself.
    """

    settings_type = Settings
    model_type = UncertainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)
