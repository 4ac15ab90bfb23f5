"""The minibatch loop: Adam on a loss, with a progress bar and a history.

It stops with an error when the objective becomes NaN or infinite.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from ibpcl import adam, console
from ibpcl.blas_threads import one_thread
from ibpcl.errors import NonFiniteError
from ibpcl.inference.binary_masks import Estimator
from ibpcl.models.elbo import Elbo
from ibpcl.noise import generator
from ibpcl.numerics import finite

# Noise stream for the order of the examples; the streams of the network count up from 0.
ORDER_STREAM = 2**32 - 1


class Record(NamedTuple):
    """One row of the history of a training: means over the steps of one epoch.

    All parts of the ELBO are in nats for the whole task, each with weight one.  A divergence that a
    model does not have is 0.

    Attributes
    ----------
    task : int
        Number of the task, from 0.
    phase : str
        Name of the training phase.
    epoch : int
        Number of the epoch, from 0.
    steps : int
        Number of steps in the epoch.
    tau : float
        Temperature of the masks at the last step; 0 if none are sampled, or all are binary.
    elbo : float
        The ELBO: the log likelihood minus all divergences.
    log_likelihood : float
        Expected log likelihood of the targets.
    kl_weights : float
        KL divergence of the Gaussian weights from their prior.
    kl_masks : float
        KL divergence of the masks from their prior.
    kl_sticks : float
        KL divergence of the sticks from their prior.
    kl_alpha : float
        KL divergence of a learned concentration alpha from its prior.
    kl_latent : float
        KL divergence of the codes from their prior.
    penalty : float
        Penalty that a method adds to the negative ELBO, such as that of EWC; not part of ``elbo``.
    """

    task: int
    phase: str
    epoch: int
    steps: int
    tau: float
    elbo: float
    log_likelihood: float
    kl_weights: float
    kl_masks: float
    kl_sticks: float
    kl_alpha: float = 0.0
    kl_latent: float = 0.0
    penalty: float = 0.0


class Step(NamedTuple):
    """The objective at one minibatch.

    Attributes
    ----------
    parts : ibpcl.models.elbo.Elbo
        The parts of the ELBO.
    gradient : ndarray, shape (P,)
        Gradient of the loss to minimize, in nats per example.
    tau : float
        Temperature of the masks; 0 if none are sampled, or all are binary.
    penalty : float
        Penalty that the method adds to the negative ELBO, in nats for the whole task.
    objective : float or None
        The number that training maximizes, in nats for the whole task: the parts with their
        weights, minus the penalty.  None if all weights are 1.
    """

    parts: Elbo
    gradient: np.ndarray
    tau: float = 0.0
    penalty: float = 0.0
    objective: float | None = None


def minibatches(examples, batch, key):
    """Split a random order of the examples into minibatches of nearly equal size.

    Parameters
    ----------
    examples : int
        Number of examples N.
    batch : int
        Largest size of a minibatch, at least 1.
    key : ibpcl.noise.Key
        Key that determines the order; its ``stream`` is ignored.

    Returns
    -------
    rows : list of ndarray of int
        Row numbers of each minibatch.

    Examples
    --------
    >>> from ibpcl.noise import Key
    >>> [len(rows) for rows in minibatches(10, 4, Key(0, 0, 0, 0))]
    [4, 3, 3]
    """
    order = generator(key._replace(stream=ORDER_STREAM)).permutation(examples)
    return np.array_split(order, math.ceil(examples / batch))


def progress_bar(total, description, progress):
    """Return a tqdm progress bar.

    Parameters
    ----------
    total : int
        Number of steps.
    description : str
        Text in front of the bar.
    progress : bool or None
        Whether to show the bar; None shows it on a terminal only.

    Returns
    -------
    bar : tqdm.tqdm
        The bar, a context manager.
    """
    return tqdm(
        total=total,
        desc=description,
        unit="step",
        disable=console.bar_is_off(progress),
        leave=False,
    )


class Watch(NamedTuple):
    """Observers of a training: a progress bar and a callback.

    Attributes
    ----------
    bar : bool or None
        Whether to show the progress bar; None shows it on a terminal only.
    on_epoch : callable or None
        ``on_epoch(record, vector)`` is called after each epoch with its :class:`Record` and the
        parameters.  It must not modify the vector, or keep it without a copy.
    task : str
        The task as the progress bar names it, such as "task 2 of 5"; if empty, its number.
    """

    bar: bool | None = None
    on_epoch: Callable | None = None
    task: str = ""

    @classmethod
    def of(cls, progress):
        """Return the observers that ``progress`` stands for.

        Parameters
        ----------
        progress : bool, Watch or None
            The value of ``bar``, or the observers themselves.

        Returns
        -------
        watch : Watch
            The observers.
        """
        return progress if isinstance(progress, cls) else cls(progress)


class Fit(NamedTuple):
    """The settings of one training phase.

    Attributes
    ----------
    phase : str
        Name of the phase in the history and in the progress bar.
    epochs : int
        Number of passes over the examples.
    batch : int
        Largest size of a minibatch.
    samples : int
        Number of Monte Carlo samples per step; 0 for a step without noise.
    key : ibpcl.noise.Key
        Seed and task of the noise.  The order of the examples is a function of the key and the
        epoch.
    backend : ibpcl.inference.backend.Backend
        The functions that compute.
    progress : bool, Watch or None
        Whether to show a progress bar (None: on a terminal only), or a :class:`Watch`.
    rate_end : float
        Factor of the learning rates at the last step, > 0.  The factor changes geometrically from
        1.
    average : float
        Share of the steps, in 0 .. 1, over which the parameters are averaged at the end; 0 returns
        the last parameters.  With a constant learning rate, the steps fluctuate around a minimum,
        and their mean is closer to it (Polyak and Juditsky, 1992; for networks Izmailov et al.,
        2018).  It cannot be used for a network that grows during the phase.
    tau : tuple of float
        Temperature of sampled masks at the first and at the last step, > 0; it changes
        geometrically.
    mask_gradient : ibpcl.inference.binary_masks.Estimator
        How sampled masks get a gradient; by default they are relaxed.
    """

    phase: str
    epochs: int
    batch: int
    samples: int
    key: object
    backend: object
    progress: bool | Watch | None = None
    rate_end: float = 1.0
    average: float = 0.0
    tau: tuple[float, float] = (1.0, 1.0)
    mask_gradient: Estimator = Estimator()


def fit(vector, objective, rates, examples, plan, adapt=None, update=None):
    """Minimize a loss that is estimated from minibatches.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        Initial parameters.
    objective : callable
        ``objective(vector, rows, step, steps)`` returns a :class:`Step` for the examples in
        ``rows``, at step number ``step`` of ``steps``.
    rates : ndarray, shape (P,)
        Learning rate of each parameter.
    examples : int
        Number of examples.
    plan : Fit
        The settings of the phase.
    adapt : callable, optional
        ``adapt(step, vector, state, rates)`` is called after each step and returns new ``vector``,
        ``state`` (:class:`ibpcl.adam.State`) and ``rates``.
    update : callable, optional
        ``update(vector, gradient, state, rates, factor=...)`` takes a step and returns the new
        ``vector`` and ``state``; :func:`ibpcl.adam.update` if not given.

    Returns
    -------
    vector : ndarray, shape (P,)
        The fitted parameters.
    history : list of Record
        One row per epoch.

    Raises
    ------
    ibpcl.errors.NonFiniteError
        If a part of the ELBO, the penalty or the gradient is NaN or infinite.
    """
    watch = Watch.of(plan.progress)
    per_epoch = math.ceil(examples / plan.batch)
    fitting = Fitting(vector, rates, plan, plan.epochs * per_epoch, update)
    history = []
    title = f"{watch.task or f'task {plan.key.task + 1}'}, {plan.phase}"
    with one_thread(), progress_bar(fitting.steps, title, watch.bar) as bar:
        for epoch in range(plan.epochs):
            epoch_steps = []
            for rows in minibatches(examples, plan.batch, plan.key._replace(step=epoch)):
                step = fitting.step
                result = objective(fitting.vector, rows, step, fitting.steps)
                refuse_non_finite(result, f"{plan.phase}, epoch {epoch + 1}, step {step}")
                fitting.advance(result.gradient, adapt)
                epoch_steps.append(result._replace(gradient=None))
                bar.update()
            history.append(epoch_record(plan.key.task, plan.phase, epoch, epoch_steps))
            if watch.on_epoch is not None:
                watch.on_epoch(history[-1], fitting.vector)
            value = np.mean([_objective(step) for step in epoch_steps]) / examples
            bar.set_postfix_str(f"objective {value:.4f} nats per example")
    return fitting.fitted, history


class Fitting:
    """A fit in progress, which takes one gradient after another.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        Initial parameters.
    rates : ndarray, shape (P,)
        Learning rate of each parameter.
    plan : Fit
        The settings of the phase; ``rate_end``, ``average`` and ``backend`` are read.
    steps : int
        Number of steps after which the learning rates have reached their end.  Later steps keep
        them there.
    update : callable, optional
        As in :func:`fit`.

    Attributes
    ----------
    vector : ndarray, shape (P,)
        The current parameters.
    state : ibpcl.adam.State
        State of Adam.
    rates : ndarray, shape (P,)
        As given, unless the network grows.
    step : int
        Number of steps taken.
    steps : int
        As given.
    mean : ndarray, shape (P,), or None
        Mean of the parameters over the last share ``plan.average`` of the steps; None before.
    """

    def __init__(self, vector, rates, plan, steps, update=None):
        self.vector = vector
        self.state = adam.start(vector)
        self.rates = rates
        self.step = 0
        self.steps = steps
        self.mean = None
        self._rate_end = plan.rate_end
        self._first_averaged = steps - round(plan.average * steps) if plan.average else math.inf
        self._update = plan.backend.adam.update if update is None else update

    @property
    def fitted(self):
        """The fitted parameters: the mean, if there is one, or else the current ones."""
        return self.vector if self.mean is None else self.mean

    def advance(self, gradient, adapt=None):
        """Take a step.

        Parameters
        ----------
        gradient : ndarray, shape (P,)
            Gradient of the loss to minimize.
        adapt : callable, optional
            As in :func:`fit`.
        """
        self.vector, self.state = self._update(
            self.vector,
            gradient,
            self.state,
            self.rates,
            factor=geometric(1.0, self._rate_end, min(self.step, self.steps - 1), self.steps),
        )
        if adapt is not None:
            self.vector, self.state, self.rates = adapt(
                self.step, self.vector, self.state, self.rates
            )
        self.step += 1
        self.mean = running_mean(self.mean, self.vector, self.step - self._first_averaged)


def _objective(step):
    """Return what training maximizes, as estimated by one minibatch: nats for the whole task."""
    return step.parts.total - step.penalty if step.objective is None else step.objective


def epoch_record(task, phase, epoch, steps):
    """Return the row of the history for an epoch.

    Parameters
    ----------
    task : int
        Number of the task, from 0.
    phase : str
        Name of the training phase.
    epoch : int
        Number of the epoch, from 0.
    steps : list of Step
        Its steps; their gradients are not read.

    Returns
    -------
    record : Record
        Means over the steps.
    """
    means = Elbo(
        *(float(np.mean(values)) for values in zip(*(step.parts for step in steps), strict=True))
    )
    penalty = float(np.mean([step.penalty for step in steps]))
    tau = float(steps[-1].tau) if steps else 0.0
    return Record(task, phase, epoch, len(steps), tau, means.total, *means, penalty)


def geometric(start, end, step, steps):
    r"""Interpolate geometrically between two positive numbers.

    .. math::

        \tau_i = \tau_0 \Bigl(\frac{\tau_1}{\tau_0}\Bigr)^{i / (n - 1)}, \qquad i = 0 \ldots n - 1

    Kumar et al. (2021), supplement, "Hyperparameter settings": from 10 to 0.25.

    Parameters
    ----------
    start, end : float
        Values at the first and at the last step, > 0.
    step : int
        Number of the step i, in 0 .. steps - 1.
    steps : int
        Number of steps n, at least 1.

    Returns
    -------
    value : float
        The value at this step; ``end`` if there is only one step.

    Examples
    --------
    >>> [round(geometric(10.0, 0.1, i, 3), 6) for i in range(3)]
    [10.0, 1.0, 0.1]
    """
    return start * (end / start) ** (step / (steps - 1)) if steps > 1 else end


def running_mean(mean, vector, count):
    """Update the mean of a sequence of vectors.

    Parameters
    ----------
    mean : ndarray, shape (P,), or None
        Mean of the first ``count`` - 1 vectors; not used if ``count`` is at most 1.
    vector : ndarray, shape (P,)
        The newest vector.
    count : int
        Number of vectors, including the newest.

    Returns
    -------
    mean : ndarray, shape (P,), or None
        Mean of all ``count`` vectors; None if ``count`` is 0 or negative.

    Examples
    --------
    >>> running_mean(np.array([1.0, 2.0]), np.array([4.0, 8.0]), 3).tolist()
    [2.0, 4.0]
    """
    if count <= 0:
        return None
    return vector.copy() if count == 1 else mean + (vector - mean) / vector.dtype.type(count)


def refuse_non_finite(step, where):
    """Check that a step is finite.

    Parameters
    ----------
    step : Step
        The step.
    where : str
        Phase, epoch and step, which begin the message.

    Raises
    ------
    ibpcl.errors.NonFiniteError
        If a part of the ELBO, the penalty or the gradient is NaN or infinite.
    """
    parts = step.parts
    penalty = float(step.penalty)
    finite_elbo = all(map(math.isfinite, (*parts, penalty)))
    if finite_elbo and finite(step.gradient):
        return
    parts_text = ", ".join(f"{name} {float(part):g}" for name, part in parts._asdict().items())
    if penalty:
        parts_text += f", penalty {penalty:g}"
    raise NonFiniteError(
        f"{where}: {'the gradient' if finite_elbo else 'the ELBO'} is not finite ({parts_text}). "
        "Lower the learning rates, or check the scale of the inputs."
    )
