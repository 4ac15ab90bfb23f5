r"""FRCL, functional regularization: a task is remembered by function values at a few points.

Titsias, Schwarz, Matthews, Pascanu and Teh (2020), "Functional Regularisation for Continual
Learning with Gaussian Processes".  The hidden layers compute features :math:`\phi_\theta(x)` with
plain weights :math:`\theta`.  The weights of the last layer are Gaussian,
:math:`w_c \sim \mathcal N(0, s^2 I)` for class c, so the outputs are a Gaussian process.  Task t
maximizes over :math:`\theta` and :math:`q(w_c) = \mathcal N(\mu_c, L_c L_c^\top)`

.. math::

    \sum_n \mathbb E_q[\log p(y_n | \phi_\theta(x_n)^\top w)] - KL[q(w) \| p(w)]
        - \sum_{i < t} KL[q(u_i) \| p_\theta(u_i)] .

After a task, M of its inputs are kept, the inducing points, with the posterior
:math:`q(u) = \mathcal N(\Phi\mu, \Phi L L^\top \Phi^\top + \epsilon I)` of the function values
there (:mod:`ibpcl.models.function_space`).  Later features must make these values probable.  No
label is kept.

**Predictions.**  The features move, so the weights of an earlier task are computed from the values:
:math:`\int p_\theta(w | u)\, q(u)\, du`, which is again Gaussian
(:func:`ibpcl.models.function_space.implied`).

**A single head** has one function for all tasks.  The prior p(w) of the next task is then what the
values of all earlier tasks imply under the current features, so the gradient of :math:`KL[q(w) \|
p(w)]` also goes through the features.  Afterwards the values at all points, old and new, are
computed from the new q(w).  With one head or several, q(u) stands for the data of the earlier
tasks: their likelihood also depends on the features, but it needs the data and is dropped.

**The limit.**  For fixed features, a Gaussian likelihood, all examples as inducing points and
:math:`\epsilon \to 0`, the values determine w, and every step is Bayes' rule for linear regression:
:mod:`ibpcl.exact.linear`.

.. warning:: The paper has no single head.  It chooses inducing points by random exchanges that
   lower a trace; here ``selection = "trace"`` adds the point with the largest remaining variance.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.continual.learner import Saved, check_inputs
from ibpcl.inference.loop import Step, fit
from ibpcl.methods.frame import (
    documented_learner,
    learning,
    mean_probabilities,
    predicting_classes,
)
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    of_task,
    start,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models import function_space as space
from ibpcl.models.elbo import Elbo
from ibpcl.models.layers import Draw
from ibpcl.noise import generator
from ibpcl.options import option

ROWS = 1000  # examples that are predicted at once, to bound the memory


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of FRCL."""

    method = "frcl"

    network: str = option("", "Always empty: hidden layers are dense.", choices=("",))
    points: int = option(40, "Inducing points that each task keeps.", at_least=1)
    selection: str = option(
        "trace",
        "Choice of the inducing points: trace takes those with the largest remaining variance.",
        choices=("trace", "random"),
    )
    prior_sigma: float = option(
        1.0, "Prior standard deviation of the last layer's weights.", above=0
    )
    start_sigma: float = option(
        0.1, "Initial standard deviation of the last layer's weights.", above=0
    )
    jitter: float = option(
        1e-3, "Variance of the noise with which function values are kept.", above=0
    )
    samples: int = option(1, "Monte Carlo samples per training step.", at_least=1, at_most=1000)
    prediction_samples: int = option(
        100, "Monte Carlo samples per prediction.", at_least=1, at_most=100_000
    )


class FunctionalClassifier(PlainClassifier):
    """Classifier with plain hidden layers, whose head has the means of Gaussian weights.

    Parameters
    ----------
    settings : Settings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"classification"``.
    streams : dict of str to int
        Number of the noise stream of each phase of a task.
    """

    streams: ClassVar = PlainClassifier.streams | {"predict": 5}

    @property
    def samples(self):
        """Monte Carlo samples per training step."""
        return self.settings.samples


class Summary(NamedTuple):
    """The memory of a task.

    Attributes
    ----------
    points : ndarray, shape (M, D)
        Inducing inputs.
    mean : ndarray, shape (M, C)
        Means of the function values there.
    spread : ndarray, shape (C, M, M)
        Their covariances, one matrix per class.
    """

    points: np.ndarray
    mean: np.ndarray
    spread: np.ndarray


def summary(context, task_id):
    """Return the memory of a task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    task_id : int
        A learned task; with a single head, all tasks have one summary.

    Returns
    -------
    summary : Summary
        The inducing points and the distribution of their values.
    """
    t = 0 if context.settings.single_head else task_id
    return Summary(*(context.state.memory[f"{name}{t}"] for name in Summary._fields))


def summaries(context):
    """Return all summaries of the learned tasks.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the tasks: ``learner.context`` of a learner.

    Returns
    -------
    summaries : list of Summary
        One per task, or one in all with a single head; empty before the first task.
    """
    learned = context.state.learned
    return [
        summary(context, t)
        for t in range(min(learned, 1 if context.settings.single_head else learned))
    ]


def prior(context, network):
    """Return the prior of the last layer's weights, if it does not depend on the features.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task.
    network : ibpcl.models.plain.PlainNetwork
        Network of the task.

    Returns
    -------
    mean : ndarray, shape (F, C)
        Zeros.
    covariance : ndarray, shape (C, F, F)
        Multiples of the identity.
    """
    width = network.hidden[-1] + 1
    variance = context.settings.prior_sigma**2
    covariance = np.broadcast_to(variance * np.eye(width), (network.outputs, width, width))
    return np.zeros((width, network.outputs)), covariance


class Objective:
    """The bound of a task as a function of one vector, and its gradient.

    The vector has the parameters of the plain network, whose head holds the means of the last
    layer's weights, and then the raw roots of their covariances (C, F, F).

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.plain.PlainNetwork
        Network of the task.
    """

    def __init__(self, context, network):
        self.settings = context.settings
        self.backend = context.backend
        self.network = network
        self.summaries = summaries(context)
        self.prior = prior(context, network)
        self.continues = context.settings.single_head and bool(self.summaries)

    def parts(self, vector):
        """Return hidden layers, means (F, C) and raw roots (C, F, F), as a vector has them.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The vector.

        Returns
        -------
        layers : list of (ndarray, ndarray)
            Weights and biases of the hidden layers.
        mu : ndarray, shape (F, C)
            Means of the last layer's weights.
        raw : ndarray, shape (C, F, F)
            Raw roots of their covariances.
        """
        size = self.network.layout.size
        *layers, (weight, bias) = self.network.weights(vector[:size])
        mu = np.concatenate([bias[None], weight])
        return layers, mu, vector[size:].reshape(len(bias), len(mu), len(mu))

    def joined(self, layers, mu, raw):
        """Return the vector of some parts, the inverse of :meth:`parts`.

        Parameters
        ----------
        layers : list of (ndarray, ndarray)
            Weights and biases of the hidden layers.
        mu : ndarray, shape (F, C)
            Means of the last layer's weights.
        raw : ndarray, shape (C, F, F)
            Raw roots of their covariances.

        Returns
        -------
        vector : ndarray, shape (P,)
            The vector.
        """
        vector = np.empty(self.network.layout.size, mu.dtype)
        both = [*layers, (mu[1:], mu[0])]
        for views, values in zip(self.network.weights(vector), both, strict=True):
            for view, value in zip(views, values, strict=True):
                view[...] = value
        return np.concatenate([vector, raw.ravel()])

    def likelihood(self, vector, x, y, eps, examples):
        """Return the expected log likelihood of a minibatch, scaled to the task, and its gradient.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The vector.
        x : ndarray, shape (N, D)
            Inputs.
        y : ndarray of int, shape (N,)
            Labels.
        eps : ndarray, shape (S, N, C)
            Standard normal noise.
        examples : int
            Examples of the task.

        Returns
        -------
        value : float
            Nats for the whole task.
        gradient : ndarray, shape (P,)
            Its gradient.
        """
        layers, mu, raw = self.parts(vector)
        phi, features = space.features(layers, x)
        root, lower = space.lower(raw)
        outputs, drawn = space.sample(eps, phi, mu, root)
        likelihood = self.network.likelihood
        log_p, cache = likelihood.log_density({}, outputs, y, self.backend)
        scale = examples / log_p.size
        doutputs, _ = likelihood.log_density_vjp(np.full_like(log_p, scale), cache)
        dphi, dmu, droot = space.sample_vjp(doutputs, drawn)
        dlayers = space.features_vjp(dphi, features)
        gradient = self.joined(dlayers, dmu, space.lower_vjp(droot, lower))
        return float(log_p.sum()) * scale, gradient

    def divergences(self, vector):
        """Return the divergences of the weights and of the values, and their sum's gradient.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The vector.

        Returns
        -------
        kl_weights : float
            Divergence of q(w) from its prior, in nats.
        kl_values : float
            Divergences of the kept values from theirs, in nats.
        gradient : ndarray, shape (P,)
            Gradient of the sum.
        """
        settings = self.settings
        layers, mu, raw = self.parts(vector.astype(np.float64))
        root, lower = space.lower(raw)
        kl_values = 0.0
        dlayers = [(np.zeros_like(weight), np.zeros_like(bias)) for weight, bias in layers]
        known = self.prior
        for each in self.summaries:
            phi, features = space.features(layers, each.points.astype(np.float64))
            kept = (phi, each.mean, each.spread, settings.prior_sigma, settings.jitter)
            divergence, cache = space.values_kl(*kept)
            kl_values += float(divergence)
            dphi = space.values_kl_vjp(1.0, cache)
            if self.continues:
                known, implied = space.implied(*kept)
                kl_weights, weights = space.weights_kl(mu, root, *known)
                dmu, droot, *dprior = space.weights_kl_vjp(1.0, weights)
                dphi = dphi + space.implied_vjp(dprior, implied)
            dlayers = [
                (dweight + more, dbias + also)
                for (dweight, dbias), (more, also) in zip(
                    dlayers, space.features_vjp(dphi, features), strict=True
                )
            ]
        if not self.continues:
            kl_weights, weights = space.weights_kl(mu, root, *known)
            dmu, droot, *_ = space.weights_kl_vjp(1.0, weights)
        gradient = self.joined(dlayers, dmu, space.lower_vjp(droot, lower))
        return float(kl_weights), kl_values, gradient

    def begin(self, vector):
        """Return the vector from which training starts.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            Parameters of the plain network, from :func:`ibpcl.methods.sequential.start`.

        Returns
        -------
        vector : ndarray, shape (P',)
            With q(w) at ``start_sigma`` around the initial head; with a single head and after the
            first task, at the prior.
        """
        width = self.network.hidden[-1] + 1
        diagonal = np.log(self.settings.start_sigma) * np.eye(width)
        raw = np.broadcast_to(diagonal, (self.network.outputs, width, width))
        vector = np.concatenate([vector, raw.ravel().astype(vector.dtype)])
        if not self.continues:
            return vector
        layers, mu, _ = self.parts(vector)
        mu, root = belief(layers, self.summaries[0], self.settings)
        places = np.arange(width)
        raw = root.copy()
        raw[:, places, places] = np.log(root[:, places, places])
        return self.joined(layers, mu, raw).astype(vector.dtype)


def belief(layers, kept, settings):
    """Return the last layer's weights that kept values imply under some features.

    Parameters
    ----------
    layers : list of (ndarray, ndarray)
        Weights and biases of the hidden layers.
    kept : Summary
        Memory of a task.
    settings : Settings
        ``prior_sigma`` and ``jitter`` are read.

    Returns
    -------
    mu : ndarray, shape (F, C)
        Means of the weights.
    root : ndarray, shape (C, F, F)
        Lower triangular roots of their covariances.
    """
    layers = [(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in layers]
    phi, _ = space.features(layers, kept.points.astype(np.float64))
    (mu, covariance), _ = space.implied(
        phi, kept.mean, kept.spread, settings.prior_sigma, settings.jitter
    )
    return mu, np.linalg.cholesky(covariance)


@on_one_thread
def extended(context, objective, vector, task):
    """Return the memory with a summary of one more task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task.
    objective : Objective
        The objective of the task.
    vector : ndarray, shape (P,)
        Its trained vector.
    task : ibpcl.continual.task.Task
        The task.

    Returns
    -------
    memory : dict of str to ndarray
        New memory.  With a single head, the values at all points are those of the new q(w).
    """
    settings = context.settings
    layers, mu, raw = objective.parts(vector.astype(np.float64))
    count = min(settings.points, len(task.x_train))
    if settings.selection == "trace":
        rows = space.most_informative(space.features(layers, task.x_train)[0], count)
    else:
        rows = generator(context.key("buffer")).permutation(len(task.x_train))[:count]
    points = task.x_train[rows]
    if objective.continues:
        points = np.concatenate([objective.summaries[0].points, points])
    phi, _ = space.features(layers, points.astype(np.float64))
    root, _ = space.lower(raw)
    kept = Summary(points, *space.values(phi, mu, root @ root.swapaxes(1, 2), settings.jitter))
    t = 0 if settings.single_head else context.state.learned
    return context.state.memory | {f"{name}{t}": each for name, each in kept._asdict().items()}


def learn_task(context, task):
    """Learn one more task, and keep a summary of it.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task: ``learner.context`` of a learner.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    state : ibpcl.methods.sequential.State
        State with the task added.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.  The column ``penalty`` has the divergences of the kept values.

    Raises
    ------
    TypeError
        If the task is of another kind than the model learns.
    ValueError
        If the task does not fit the network.
    TrainingError
        If the loss is not finite.
    """
    context = accept(context, task)
    network = context.next_network(task.outputs)
    objective = Objective(context, network)
    vector = objective.begin(start(context, network, task))
    plan = context.fit()
    examples = len(task.x_train)

    def evaluate(vector, rows, step, steps):
        shape = (plan.samples, len(rows), network.outputs)
        noise = Draw("normal", plan.key._replace(step=step), shape)
        (eps,) = plan.backend.noise.draw([noise], np.float32)
        log_likelihood, up = objective.likelihood(
            vector, task.x_train[rows], task.targets[rows], eps, examples
        )
        kl_weights, kl_values, down = objective.divergences(vector)
        gradient = ((down - up) / examples).astype(vector.dtype)
        parts = Elbo(log_likelihood, kl_weights)
        return Step(parts, gradient, 0.0, kl_values, parts.total - kl_values)

    rates = np.full(len(vector), context.settings.rate, np.float32)
    vector, history = fit(vector, evaluate, rates, examples, plan)
    memory = extended(context, objective, vector, task)
    vector = vector[: network.layout.size].copy()
    return keep(context, network, vector, memory), of_task(context, history)


@on_one_thread
def predict_classes(context, beliefs, x, task_id):
    """Return class probabilities, averaged over the outputs' Gaussian distribution.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    beliefs : dict of int to tuple of ndarray
        Cache of :func:`belief` by task; a missing task is added.
    x : array_like, shape (N, D)
        Inputs, finite real numbers.
    task_id : int
        A learned task.

    Returns
    -------
    predictions : ibpcl.models.likelihoods.Classes
        Probabilities (N, C), entropy (N,) and mutual information (N,), the last two in nats.

    Raises
    ------
    TypeError
        If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
    ValueError
        If the task was not learned, or ``x`` has another width or non-finite entries.
    """
    state = context.state
    settings = context.settings
    x = check_inputs(f"{context.name}.predict", x, state.inputs, task_id, state.learned)
    task_id = 0 if settings.single_head else task_id
    network, vector = context.assemble(task_id)
    layers = network.weights(vector)[:-1]
    if task_id not in beliefs:
        beliefs[task_id] = belief(layers, summary(context, task_id), settings)
    mu, root = (each.astype(np.float32) for each in beliefs[task_id])
    found = []
    for i, first in enumerate(range(0, max(1, len(x)), ROWS)):
        rows = x[first : first + ROWS]
        shape = (settings.prediction_samples, len(rows), network.outputs)
        key = context.key("predict", task_id)._replace(step=i)
        (eps,) = context.backend.noise.draw([Draw("normal", key, shape)], np.float32)
        outputs, _ = space.sample(eps, space.features(layers, rows)[0], mu, root)
        found.append(network.likelihood.predict({}, outputs))
    return type(found[0])(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


@documented_learner
class FRCL(Saved):
    """Learner that remembers each task by the posterior of function values at a few points.

    Titsias et al. (2020), "Functional Regularisation for Continual Learning".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds, for each task t, the
        inducing inputs ``points{t}`` (M, D), and the means ``mean{t}`` (M, C) and covariances
        ``spread{t}`` (C, M, M) of the function values there; with a single head only t = 0.
    refined : dict of int to tuple of ndarray
        Means and roots of the covariances of the last layer's weights, by task.
    """

    settings_type = Settings
    model_type = FunctionalClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)
