r"""BGD, Bayesian gradient descent: Bayes' rule after every minibatch, without task boundaries.

Zeno, Golan, Hoffer and Soudry (2018), "Task Agnostic Continual Learning Using Online Variational
Bayes", Algorithm 1.  The posterior of every weight is Gaussian,
:math:`\theta_i = \mu_i + \sigma_i \varepsilon_i`.  The posterior before a minibatch is the prior of
its examples, whose loss is :math:`L(\theta) = -\sum_n \log p(y_n | x_n, \theta)`:

.. math::

    \mu_i \leftarrow \mu_i - \eta\, \sigma_i^2\, \mathbb E\Bigl[\frac{\partial L}{\partial
        \theta_i}\Bigr], \qquad
    \sigma_i \leftarrow \sigma_i \sqrt{1 + h_i^2} - \sigma_i h_i, \qquad
    h_i = \frac12 \sigma_i\, \mathbb E\Bigl[\frac{\partial L}{\partial \theta_i}
        \varepsilon_i\Bigr].

The expectations are means over S samples of the weights.  With :math:`\eta = 1` both are the
conditions :math:`(\mu' - \mu) / \sigma^2 + \mathbb E[L'] = 0` and :math:`\sigma' / \sigma^2 - 1 /
\sigma' + \mathbb E[L' \varepsilon] = 0` of a minimum of :math:`\mathbb E_{q'}[L] + KL[q' \| q]`,
with the expectations taken before the update.  A weight that is certain, with a small sigma, hardly
moves any more.  So earlier tasks are protected without an anchor, a memory or knowledge of when a
task ends.  Tasks matter only for the heads, if there is one for each.

Every epoch counts the examples again, as in the paper, so more epochs give a smaller sigma.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.inference.loop import Step, fit
from ibpcl.inference.objectives import Data
from ibpcl.methods.frame import (
    documented_learner,
    documented_step,
    learning,
    mean_probabilities,
    predicting_classes,
)
from ibpcl.methods.sequential import Context, SequentialSettings, accept, keep, of_task, start
from ibpcl.methods.settings_docs import documented
from ibpcl.methods.vcl import GaussianClassifier, predict_classes
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.starts import STARTS
from ibpcl.noise import generator
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of BGD for classification."""

    method = "bgd"

    epochs: int = option(
        10, "Epochs per task; each counts the examples again, as further evidence."
    )
    batch: int = option(128, "Examples in a minibatch.")
    rate: float = option(1.0, "Factor eta of the steps of the means; 1 is Bayes' rule.", at_least=0)
    rate_end: float = option(
        1.0, "Factor of eta at the last step of a task; it decays geometrically.", above=0
    )
    activation: str = option("relu", "Activation of hidden units.", choices=ACTIVATIONS)
    samples: int = option(10, "Monte Carlo samples per training step.", at_least=1, at_most=1000)
    prediction_samples: int = option(
        100, "Monte Carlo samples per prediction.", at_least=1, at_most=100_000
    )
    start_sigma: float = option(0.02, "Initial standard deviation of a weight.", above=0)

    # fixed settings, which the network and the predictions of VCL read
    local = False
    rank = 0
    full_head = False
    coreset = "none"


class OnlineClassifier(GaussianClassifier):
    """Classifier with Gaussian weights that are drawn, not their pre-activations.

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
            Random means, drawn as ``settings.start`` selects, and standard deviations
            ``settings.start_sigma``.
        """
        means = STARTS[self.settings.start](generator(context.key()))
        return network.initial(means, self.settings.start_sigma)


def slopes(network, vector, x, y, noise, examples, backend):
    r"""Return the expected loss of a minibatch and its gradient at means and log deviations.

    The weights are :math:`\theta = \mu + \sigma \varepsilon`, so

    .. math::

        \frac{\partial\, \mathbb E[L]}{\partial \mu_i} = \mathbb E\Bigl[\frac{\partial L}{\partial
            \theta_i}\Bigr], \qquad
        \frac{\partial\, \mathbb E[L]}{\partial \log \sigma_i} = \sigma_i\, \mathbb
            E\Bigl[\frac{\partial L}{\partial \theta_i} \varepsilon_i\Bigr]

    (Zeno et al., 2018, Algorithm 1), where the expectations are means over the samples.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        Network of layers that draw weights, from ``context.model.as_trained(network)``.
    vector : ndarray, shape (P,)
        Means and log standard deviations.
    x : ndarray, shape (N, D)
        Inputs of the minibatch.
    y : ndarray, shape (N,)
        Its labels.
    noise : dict of str to dict
        The samples of :math:`\varepsilon`, from ``network.noise``.
    examples : int
        Number of examples of the whole task, which scales ``parts`` only.
    backend : ibpcl.inference.backend.Backend
        The functions that compute.

    Returns
    -------
    parts : ibpcl.models.elbo.Elbo
        Expected log likelihood, in nats for the whole task; all divergences are 0.
    gradient : ndarray, shape (P,)
        Gradient of the loss, which is the *sum* over the minibatch, in nats.
    """
    parts, cache = elbo(network, vector, None, x, y, noise, examples, backend, {})
    return parts, elbo_vjp(Elbo(-len(x) / examples), cache)


def update(mu, log_sigma, dmu, dlog_sigma, rate=1.0):
    r"""Return means and log standard deviations after one minibatch.

    .. math::

        \mu \leftarrow \mu - \eta\, \sigma^2\, \mathbb E[L'], \qquad
        \sigma \leftarrow \sigma \sqrt{1 + h^2} - \sigma h, \qquad
        h = \frac12 \sigma\, \mathbb E[L' \varepsilon]

    Zeno et al. (2018), Algorithm 1.  In the logarithm the second rule is :math:`\log \sigma
    \leftarrow \log \sigma - \operatorname{arsinh} h`, because :math:`\log(\sqrt{1 + h^2} - h) = -
    \operatorname{arsinh} h`.  So sigma stays positive, and nothing cancels for a large h.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (M,)
        Means and log standard deviations of the weights.
    dmu : ndarray, shape (M,)
        :math:`\mathbb E[L']`, the gradient at the means, in nats of the minibatch.
    dlog_sigma : ndarray, shape (M,)
        :math:`\sigma\, \mathbb E[L' \varepsilon]`, the gradient at the log standard deviations.
    rate : float
        The factor :math:`\eta`, >= 0.

    Returns
    -------
    mu, log_sigma : ndarray, shape (M,)
        The new means and log standard deviations.

    Examples
    --------
    >>> mu, log_sigma = update(np.array([1.0]), np.log([0.5]), np.array([2.0]), np.array([1.5]))
    >>> mu, np.exp(log_sigma)  # 0.5 * (1.25 - 0.75)
    (array([0.5]), array([0.25]))
    """
    return mu - rate * np.exp(2 * log_sigma) * dmu, log_sigma - np.arcsinh(dlog_sigma / 2)


def train(context, network, vector, data):
    """Update the posterior with every minibatch of some examples.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Initial means and log standard deviations, from :func:`ibpcl.methods.sequential.start`.
    data : ibpcl.inference.objectives.Data
        Training examples, ``Data(task.x_train, task.targets)``.

    Returns
    -------
    vector : ndarray, shape (P,)
        The posterior after all minibatches.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.

    Raises
    ------
    NonFiniteError
        If the loss or its gradient becomes infinite or NaN.
    """
    plan = context.fit()
    examples = len(data.x)
    evaluate = objective_of(context, network, plan, examples)

    def objective(vector, rows, step, steps):
        return evaluate(vector, data.x[rows], data.y[rows], step, steps)

    vector, history = fit(vector, objective, context.settings.rate, examples, plan, update=move)
    return vector, of_task(context, history)


def objective_of(context, network, plan, examples):
    """Return the objective at a minibatch, :func:`slopes` with new noise in each step.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    plan : ibpcl.inference.loop.Fit
        The settings of the training, ``context.fit()``.
    examples : int
        Number of examples of the whole task, which scales the history only.

    Returns
    -------
    evaluate : callable
        ``evaluate(vector, x, y, step, steps)`` returns an :class:`ibpcl.inference.loop.Step`.
    """
    drawn = context.model.as_trained(network)

    def evaluate(vector, x, y, step, steps):
        key = plan.key._replace(step=step)
        noise = drawn.noise(key, plan.samples, len(x), plan.backend, relaxed=False)
        return Step(*slopes(drawn, vector, x, y, noise, examples, plan.backend))

    return evaluate


def move(vector, gradient, state, rate, factor):
    r"""Return the parameters after :func:`update`, in the form of the updates of Adam.

    Parameters
    ----------
    vector : ndarray, shape (2 M,)
        All means, then all log standard deviations.
    gradient : ndarray, shape (2 M,)
        Gradient, from :func:`slopes`.
    state : object
        Not used.
    rate, factor : float
        Their product is the factor :math:`\eta`.

    Returns
    -------
    vector : ndarray, shape (2 M,)
        The new parameters.
    state : object
        As given.
    """
    moved = update(*np.split(vector, 2), *np.split(gradient, 2), rate * factor)
    return np.concatenate(moved), state


@documented_step
def learn_task(context, task):
    """Learn one more task with BGD."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    vector, history = train(context, network, vector, Data(task.x_train, task.targets))
    return keep(context, network, vector), history


@documented_learner
class BGD(Saved):
    """Learner that applies Bayes' rule after every minibatch, with Gaussian posteriors.

    Zeno et al. (2018), "Task Agnostic Continual Learning Using Online Variational Bayes".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far: means and log standard deviations.  ``knowledge.memory`` is
        empty.
    refined : dict of int to ndarray
        Parameters used for predictions, by task: the posterior itself.
    """

    settings_type = Settings
    model_type = OnlineClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)
