r"""Naive training: the network continues with each task, without protection of earlier tasks.

Each task minimizes its own loss from where the last task ended,

.. math::

    \theta_t = \arg\min_\theta\; -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta), \qquad
    \text{started at } \theta_{t - 1}.

Also called fine-tuning; "Naive" in the tables of Kumar et al. (2021), Sec. 6.  It shows how much is
forgotten, or how little with one head per task.
"""

from dataclasses import dataclass

from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.images import AutoencoderSettings, Generative, PlainAutoencoder
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    predict,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of naive training for classification."""

    method = "naive"


def learn_task(context, task):
    """Learn one more task without protection of the earlier ones.

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
        One row per epoch.

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
    vector = start(context, network, task)
    vector, history = train(context, network, vector, Data(task.x_train, task.targets))
    return keep(context, network, vector), history


class Naive(Saved):
    """Learner that trains on tasks in sequence without protection of the earlier ones.

    Parameters
    ----------
    settings : Settings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
        results.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
        replaces Numba where Numba is not available.

    Attributes
    ----------
    settings : Settings
        The hyperparameters.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The numerical backend.
    model : ibpcl.methods.sequential.PlainClassifier
        Builds the network of a task and selects the parameters that tasks share.
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    name : str
        Name of the method, ``"naive"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Width D of the examples; None before the first task.
    context : ibpcl.methods.sequential.Context
        Inputs of every step of the method, for the current state.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
    >>> learner = Naive(Settings(hidden=(8,), epochs=1), backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification with inputs as wide as those of the earlier tasks.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch, with the parts of the objective in nats for the whole task.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or not a classification.
        ValueError
            If its inputs are wider or narrower than those of earlier tasks, or it does not fit the
            single head.
        TrainingError
            If the loss is not finite.
        """
        return self.turn(learn_task, task, progress)

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
            Each row sums to 1.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return predict(self.context, self.assemble, x, task_id)


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """Settings of naive training for images."""

    method = "vae_naive"


class ImageNaive(Saved, Generative):
    """Learner of generative models without protection of the earlier ones.

    Parameters
    ----------
    settings : ImageSettings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
        results.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
        replaces Numba where Numba is not available.

    Attributes
    ----------
    settings : ImageSettings
        The hyperparameters.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The numerical backend.
    model : ibpcl.methods.images.PlainAutoencoder
        Builds the network of a task and selects the parameters that tasks share.
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    name : str
        Name of the method, ``"vae_naive"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Number of pixels D; None before the first task.
    context : ibpcl.methods.sequential.Context
        Inputs of every step of the method, for the current state.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("bar", x_train=[[0, 1, 0, 1]] * 4, x_test=[[0, 1, 0, 1]], image_shape=(2, 2))
    >>> learner = ImageNaive(ImageSettings(hidden=(8,), latent=2, epochs=1), backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0, 0.0, 1.0]], task_id=0).shape
    (1, 4)
    """

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task of images.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A task of images, without labels, as wide as the earlier ones.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch, with the parts of the objective in nats for the whole task.

        Raises
        ------
        TypeError
            If ``task`` is not a Task of images.
        ValueError
            If its images have another number of pixels than those of earlier tasks.
        TrainingError
            If the loss is not finite.
        """
        return self.turn(learn_task, task, progress)
