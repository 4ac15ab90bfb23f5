r"""Exact Bayesian regression on random features, as a method of continual learning.

A hidden layer of ReLU units with random, fixed weights gives the features

.. math::

    \phi(x) = \bigl(1,\; \max(0,\, R^\top x + c)\bigr), \qquad
    R_{dk} \sim \mathcal N(0, 2 / D), \quad c_k \sim \mathcal N(0, 1),

and the targets are the labels, one-hot.  The output layer is :mod:`ibpcl.exact.linear`: the
posterior of one task is the prior of the next, without any approximation, so a single head ends
where joint training of the same model ends, in any order of the tasks.  The model is the limit of
the method: its features never learn.

It runs like every method, by its full name::

    ibpcl run class-mnist --method ibpcl.exact.random_features:RandomFeatures

With one head per task, each head has its own regression.  The features are the same, but nothing
that is learned is shared.

The mean of the regression estimates the probability of each class.  It can leave [0, 1], so
predictions are clipped and normalized; the predicted class stays the same.  The noise of labels is
not Gaussian, so the model is wrong in this respect, too.  Neither the number of features nor the
two standard deviations were searched.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.continual.learner import check_inputs, check_task, classes_seen
from ibpcl.exact import linear
from ibpcl.inference.loop import Record
from ibpcl.methods.settings_docs import documented
from ibpcl.noise import Key, generator
from ibpcl.options import Checked, option

LEAST = 1e-6  # of a class's estimate, so that no seen class has probability 0
CHUNK = 8192  # examples whose features are computed at once, to bound the memory


@documented
@dataclass(frozen=True, init=False)
class Settings(Checked):
    """Settings of exact regression on random features."""

    method = "random_features"

    features: int = option(1000, "Random ReLU features.", at_least=1)
    prior_sigma: float = option(1.0, "Prior standard deviation of the output weights.", above=0)
    noise_sigma: float = option(0.3, "Standard deviation of the one-hot targets.", above=0)
    single_head: bool = option(False, "One head for all tasks instead of one per task.")


class RandomFeatures:
    """Learner that applies Bayes' rule exactly to the output layer of a random network.

    Parameters
    ----------
    settings : Settings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of the random features, in 0 .. 2**64 - 1.
    backend_name : {"numba", "numpy"}, default "numba"
        Not used: all computations are those of NumPy.

    Attributes
    ----------
    settings_type : type
        Class of the settings.
    can : tuple of str
        Abilities, as in :class:`ibpcl.methods.About`.
    settings : Settings
        The hyperparameters.
    seed : int
        The seed.
    inputs : int or None
        Width D of the examples; None before the first task.
    outputs : tuple of int
        Number of classes of each learned task.
    seen : tuple of int or None
        Labels that the tasks have shown so far; None if all classes take part from the start.
    beliefs : tuple of ibpcl.exact.linear.Linear
        Posterior of each head: one with a single head, else one per task.

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]] * 9, [0, 1, 1, 0] * 9, [[0, 0]], [0])
    >>> learner = RandomFeatures(Settings(features=50))
    >>> history = learner.learn(task)
    >>> learner.predict([[0.0, 1.0], [1.0, 1.0]], task_id=0).argmax(axis=1)
    array([1, 0])
    """

    settings_type = Settings
    can = ("task", "domain")

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        self.settings = settings or Settings()
        self.seed = seed
        self.inputs = None
        self.outputs = ()
        self.seen = None
        self.beliefs = ()

    @property
    def learned(self):
        """Number of tasks learned so far."""
        return len(self.outputs)

    def features(self, x):
        """Return the features of inputs.

        Parameters
        ----------
        x : ndarray, shape (N, D)
            Inputs.

        Returns
        -------
        phi : ndarray, shape (N, features + 1)
            A constant 1, and the ReLU units, in double precision.
        """
        rng = generator(Key(self.seed, 0, 0, 0))
        inputs = x.shape[1]
        weights = rng.normal(0, np.sqrt(2 / inputs), (inputs, self.settings.features))
        biases = rng.normal(0, 1, self.settings.features)
        phi = np.ones((len(x), self.settings.features + 1))
        np.maximum(x.astype(np.float64) @ weights + biases, 0, out=phi[:, 1:])
        return phi

    @on_one_thread
    def learn(self, task, progress=None):
        """Learn the next task: one application of Bayes' rule.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification with inputs as wide as those of the earlier tasks.
        progress : bool or ibpcl.inference.loop.Watch, optional
            Not used: there is no training to watch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row. Its ``elbo`` is the exact log evidence of the task given the earlier ones, in
            nats, so the bound is tight.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or not a classification.
        ValueError
            If its inputs are wider or narrower than those of earlier tasks, or it does not fit the
            single head.
        """
        settings = self.settings
        check_task(settings.method, task, "classification", self.inputs)
        seen = classes_seen(settings.method, task, self, settings.single_head)
        if settings.single_head and self.learned and task.outputs != self.outputs[0]:
            raise ValueError(
                f"{settings.method}: task {task.name!r} must have {self.outputs[0]} outputs, as "
                f"the single head has, got {task.outputs}"
            )
        continued = settings.single_head and self.learned
        belief = (
            self.beliefs[0]
            if continued
            else linear.prior(
                settings.features + 1, task.outputs, settings.prior_sigma, settings.noise_sigma
            )
        )
        evidence = 0.0
        for first in range(0, len(task.x_train), CHUNK):
            rows = slice(first, first + CHUNK)
            targets = np.eye(task.outputs)[task.y_train[rows]]
            after = linear.update(belief, self.features(task.x_train[rows]), targets)
            evidence += linear.log_evidence(belief, after, targets)
            belief = after
        self.beliefs = (belief,) if settings.single_head else (*self.beliefs, belief)
        self.inputs = task.inputs
        self.outputs = (*self.outputs, task.outputs)
        self.seen = seen
        return [
            Record(
                task=self.learned - 1,
                phase="exact",
                epoch=0,
                steps=1,
                tau=0.0,
                elbo=evidence,
                log_likelihood=evidence,
                kl_weights=0.0,
                kl_masks=0.0,
                kl_sticks=0.0,
                kl_alpha=0.0,
                kl_latent=0.0,
                penalty=0.0,
            )
        ]

    @on_one_thread
    def predict(self, x, task_id):
        """Return class probabilities for inputs of a learned task.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        probabilities : ndarray, shape (N, C)
            The predictive means, clipped and normalized; each row sums to 1. Classes that no task
            has shown have probability 0.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        x = check_inputs(self.settings.method, x, self.inputs, task_id, self.learned)
        belief = self.beliefs[0 if self.settings.single_head else task_id]
        weights = linear.mean(belief)
        chunks = range(0, max(len(x), 1), CHUNK)
        means = [self.features(x[first : first + CHUNK]) @ weights for first in chunks]
        estimates = np.maximum(np.concatenate(means), LEAST)
        if self.seen is not None:
            unseen = np.setdiff1d(np.arange(estimates.shape[1]), self.seen)
            estimates[:, unseen] = 0.0
        return estimates / estimates.sum(axis=1, keepdims=True)

    def state(self):
        """Return everything that was learned.

        Returns
        -------
        state : dict of str to ndarray
            ``inputs``, ``outputs``, ``seen`` unless it is None, and ``precision{h}`` and
            ``shift{h}`` of each head; empty before the first task.
        """
        if not self.learned:
            return {}
        state = {"inputs": np.array(self.inputs), "outputs": np.array(self.outputs)}
        state |= {} if self.seen is None else {"seen": np.array(self.seen)}
        for head, belief in enumerate(self.beliefs):
            state |= {f"precision{head}": belief.precision, f"shift{head}": belief.shift}
        return state

    def load_state(self, state):
        """Replace everything that was learned by a saved state.

        Parameters
        ----------
        state : dict of str to ndarray
            Result of :meth:`state` of a learner with the same settings and seed.
        """
        self.inputs = int(state["inputs"]) if state else None
        self.outputs = tuple(np.array(state["outputs"]).tolist()) if state else ()
        self.seen = tuple(np.array(state["seen"]).tolist()) if "seen" in state else None
        heads = sum(name.startswith("precision") for name in state)
        self.beliefs = tuple(
            linear.Linear(
                np.array(state[f"precision{head}"]),
                np.array(state[f"shift{head}"]),
                self.settings.noise_sigma,
            )
            for head in range(heads)
        )
