"""The minibatch loop: Adam on a loss, with a progress bar, a history, and a stop when the objective
is not finite.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from ibpcl import adam, console
from ibpcl.blas_threads import one_thread
from ibpcl.errors import NonFiniteError
from ibpcl.models.elbo import Elbo
from ibpcl.noise import generator
from ibpcl.numerics import finite

# Stream of the order of the examples; the streams of the network's noise count up from 0.
ORDER_STREAM = 2**32 - 1


class Record(NamedTuple):
    """One row of the history: means over the steps of an epoch, in nats for the whole task; the
    ELBO at weights one.

    The parts are those of :class:`ibpcl.models.elbo.Elbo`, in its order; a divergence that a model
    does not have is 0. ``penalty`` is what a method adds to the negative ELBO, such as the pull of
    EWC; ``elbo`` does not count it.
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
    """What an objective says of one minibatch.

    Attributes
    ----------
    parts : ibpcl.models.elbo.Elbo
        The parts of the ELBO.
    gradient : ndarray, shape (P,)
        Of the loss that shall fall, in nats per example.
    tau : float
        The temperature of the masks; 0 without any.
    penalty : float
        What the method adds to the negative ELBO, in nats for the whole task.
    """

    parts: Elbo
    gradient: np.ndarray
    tau: float = 0.0
    penalty: float = 0.0


def minibatches(examples, batch, key):
    """Split a random order of the examples into nearly equal minibatches of at most ``batch``.

    >>> from ibpcl.noise import Key
    >>> [len(rows) for rows in minibatches(10, 4, Key(0, 0, 0, 0))]
    [4, 3, 3]
    """
    order = generator(key._replace(stream=ORDER_STREAM)).permutation(examples)
    return np.array_split(order, math.ceil(examples / batch))


def progress_bar(total, description, progress):
    """Return a tqdm bar: shown if ``progress`` is True, never if False, and on a terminal only if
    None.
    """
    return tqdm(
        total=total,
        desc=description,
        unit="step",
        disable=console.bar_is_off(progress),
        leave=False,
    )


class Watch(NamedTuple):
    """Who watches a fit: a progress bar, shown or not (None: on a terminal only), and a callable.

    ``on_epoch(record, vector)`` is called after each epoch with its :class:`Record` and the
    parameters, which it may read until it returns.
    """

    bar: bool | None = None
    on_epoch: Callable | None = None


class Fit(NamedTuple):
    """How a fit goes.

    ``phase``: its name in the history and in the progress bar.  ``epochs``, ``batch``: passes over
    the examples, and the largest minibatch.  ``samples``: Monte-Carlo samples of a step; 0 for one
    without noise.  ``key``: seed and task of the noise; the order of the examples is a function of
    it and the epoch.  ``backend``: numba's or NumPy's, which computes.  ``progress``: a
    :class:`Watch`, or its ``bar``.  ``rate_end``: factor of the learning rates at the last step, >
    0; they fall geometrically from 1 times the rates.  ``average``: share of the steps, the last
    ones, whose parameters are averaged, in 0 .. 1; with 0 the last ones are returned.  At a
    constant rate the steps wander around a minimum, and their mean is nearer to it than any of them
    (Polyak and Juditsky, 1992; Izmailov et al., 2018, for networks).  Not for a network that grows.
    ``tau``: the temperature of sampled masks at the first and at the last step, between which it
    falls geometrically.
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


def fit(vector, objective, rates, examples, plan, adapt=None):
    """Minimize a loss that is estimated from minibatches.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        Where to start.
    objective : callable
        ``objective(vector, rows, step, steps)`` returns a :class:`Step` for the examples in
        ``rows``.
    rates : ndarray, shape (P,)
        Learning rate of each element.
    examples : int
        Number of examples.
    plan : Fit
        How the fit goes.
    adapt : callable, optional
        ``adapt(step, vector, state, rates) -> (vector, state, rates)``, called after each step; it
        may change them all.

    Returns
    -------
    vector : ndarray, shape (P,)
        The fitted parameters.
    history : list of Record
        One row per epoch.

    Raises
    ------
    NonFiniteError
        When a part of the ELBO or the gradient is not finite.
    """
    watch = plan.progress if isinstance(plan.progress, Watch) else Watch(plan.progress)
    per_epoch = math.ceil(examples / plan.batch)
    steps = plan.epochs * per_epoch
    state = adam.start(vector)
    history = []
    mean = None
    averaged = round(plan.average * steps)  # how many of the last steps
    with one_thread(), progress_bar(steps, plan.phase, watch.bar) as bar:
        for epoch in range(plan.epochs):
            done = []
            for i, rows in enumerate(
                minibatches(examples, plan.batch, plan.key._replace(step=epoch))
            ):
                step = epoch * per_epoch + i
                found = objective(vector, rows, step, steps)
                _refuse_non_finite(found, f"{plan.phase}, epoch {epoch + 1}, step {step}")
                vector, state = plan.backend.adam.update(
                    vector,
                    found.gradient,
                    state,
                    rates,
                    factor=geometric(1.0, plan.rate_end, step, steps),
                )
                if adapt is not None:
                    vector, state, rates = adapt(step, vector, state, rates)
                mean = running_mean(mean, vector, step + 1 - (steps - averaged))
                done.append(found._replace(gradient=None))
                bar.update()
            history.append(_record(plan, epoch, done))
            if watch.on_epoch is not None:
                watch.on_epoch(history[-1], vector)
            bar.set_postfix_str(f"ELBO/N {history[-1].elbo / examples:.4f}")
    return (vector if mean is None else mean), history


def _record(plan, epoch, steps):
    """Return the row of the history of an epoch, from its steps."""
    means = Elbo(
        *(float(np.mean(part)) for part in zip(*(step.parts for step in steps), strict=True))
    )
    penalty = float(np.mean([step.penalty for step in steps]))
    tau = float(steps[-1].tau) if steps else 0.0
    return Record(plan.key.task, plan.phase, epoch, len(steps), tau, means.total, *means, penalty)


def geometric(start, end, step, steps):
    r"""Interpolate geometrically from ``start`` > 0 at the first step to ``end`` > 0 at the last,
    or at a single one.

    .. math::

        \tau_i = \tau_0 \Bigl(\frac{\tau_1}{\tau_0}\Bigr)^{i / (n - 1)}, \qquad i = 0 \ldots n - 1

    Kumar et al. (2021), supplement, "Hyperparameter settings": from 10 to 0.25.

    >>> [round(geometric(10.0, 0.1, i, 3), 6) for i in range(3)]
    [10.0, 1.0, 0.1]
    """
    return start * (end / start) ** (step / (steps - 1)) if steps > 1 else end


def running_mean(mean, vector, count):
    """Return the mean of ``count`` vectors, the last of which is ``vector``, from that of those
    before; None for none.

    >>> running_mean(np.array([1.0, 2.0]), np.array([4.0, 8.0]), 3).tolist()
    [2.0, 4.0]
    """
    if count <= 0:
        return None
    return vector.copy() if count == 1 else mean + (vector - mean) / vector.dtype.type(count)


def _refuse_non_finite(step, where):
    parts = step.parts
    penalty = float(step.penalty)
    finite_elbo = all(map(math.isfinite, (*parts, penalty)))
    if finite_elbo and finite(step.gradient):
        return
    named = ", ".join(f"{name} {float(part):g}" for name, part in parts._asdict().items())
    if penalty:
        named += f", penalty {penalty:g}"
    raise NonFiniteError(
        f"{where}: {'the gradient' if finite_elbo else 'the ELBO'} is not finite ({named}). "
        "Lower the learning rates, or check the scale of the inputs."
    )
