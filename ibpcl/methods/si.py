r"""SI, synaptic intelligence: each parameter accumulates how much it reduces the loss.

Zenke, Poole and Ganguli (2017), "Continual Learning Through Synaptic Intelligence", Eqs. 3 to 5.
Along the trajectory of training, a parameter's part in the decrease of the loss L (of the data
alone) is

.. math:: \omega_i = -\sum_{\text{steps}} \partial_i L\, \Delta\theta_i,

and after task s its importance grows to :math:`\Omega_i \leftarrow \Omega_i + \max(0, \omega_i) /
((\theta_{s, i} - \theta_{s - 1, i})^2 + \xi)`.  The loss of a later task is, in nats per example,

.. math:: L_t + c \sum_i \Omega_i (\theta_i - \theta_{t - 1, i})^2.

No pass over the data is needed at the end of a task.  A parameter can have :math:`\omega_i < 0`,
which would make the penalty unbounded below.  It counts as 0 here; the paper does not mention this
case.
"""

from dataclasses import dataclass

import numpy as np

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
    pull,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of synaptic intelligence for classification."""

    method = "si"

    weight: float = option(1.0, "Strength c of the penalty, which has no factor 1/2.", at_least=0)
    damping: float = option(
        0.001, "Damping xi, which bounds the importance of a weight that hardly moved.", above=0
    )


def penalty(vector, places, memory, weight):
    """Return the penalty that pulls important parameters back to the end of the last task.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        Current parameters.
    places : slice or ndarray of int
        Positions of the shared parameters, from ``context.places(network)``.
    memory : dict of str to ndarray
        ``anchor`` and ``importance`` of the shared parameters; empty before the first task.
    weight : float
        Strength c times the number of examples, because the penalty is for the whole task.

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,), or None
        Gradient of the penalty; None before the first task.
    """
    if not memory:
        return 0.0, None
    return pull(vector, places, (memory["anchor"], 2 * weight * memory["importance"]))


class PathIntegral:
    """Running sum of minus the gradient times the step, for each shared parameter.

    Parameters
    ----------
    places : slice or ndarray of int
        Positions of the shared parameters.

    Attributes
    ----------
    places : slice or ndarray of int
        Positions of the shared parameters.
    total : ndarray, shape (Q,), or float
        Decrease of the loss due to each parameter so far, in nats per example; 0.0 before the first
        step.
    before : ndarray, shape (Q,), or None
        Shared parameters at the start of the current step.
    slope : ndarray, shape (Q,), or None
        Gradient of the loss of the data at the start of the current step.
    """

    def __init__(self, places):
        self.places = places
        self.total = 0.0
        self.before = None
        self.slope = None

    def see(self, vector, gradient):
        """Store the start of a step and the gradient there.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            Parameters before the step.
        gradient : ndarray, shape (P,)
            Gradient of the loss of the data at ``vector``, in nats per example.
        """
        self.before = vector[self.places].copy()
        self.slope = gradient[self.places].copy()

    def add(self, vector):
        """Add the step that ended at ``vector`` to the sum.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            Parameters after the step.
        """
        self.total = self.total - self.slope * (vector[self.places] - self.before)


def remember(memory, settings, began, shared, path):
    """Return the memory after a task, with the path integral turned into importance.

    Parameters
    ----------
    memory : dict of str to ndarray
        Memory before the task.
    settings : Settings or ImageSettings
        ``damping`` is read.
    began : ndarray, shape (Q,)
        Shared parameters at the start of the task.
    shared : ndarray, shape (Q,)
        Shared parameters at the end of the task.
    path : ndarray, shape (Q,)
        Path integral of each shared parameter, in nats per example.

    Returns
    -------
    memory : dict of str to ndarray
        ``anchor`` and ``importance``, each of shape (Q,).
    """
    moved = shared - began
    gained = np.maximum(path, 0) / (moved * moved + settings.damping)
    importance = memory.get("importance", 0) + gained
    return {"anchor": shared, "importance": importance.astype(shared.dtype)}


def learn_task(context, task):
    """Learn one more task with synaptic intelligence.

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
    settings = context.settings
    memory = context.state.memory
    network = context.next_network(task.outputs)
    places = context.places(network)
    weight = settings.weight * len(task.x_train)
    path = PathIntegral(places)

    def pulled(vector, gradient):
        path.see(vector, gradient)
        return penalty(vector, places, memory, weight)

    def add_step(step, vector, state, rates):
        path.add(vector)
        return vector, state, rates

    began = start(context, network, task)
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, began, data, penalty=pulled, adapt=add_step)
    memory = remember(memory, settings, began[places], vector[places].copy(), path.total)
    return keep(context, network, vector, memory), history


class SI(Saved):
    """Learner with synaptic intelligence.

    Zenke et al. (2017), "Continual Learning Through Synaptic Intelligence".

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
        Everything learned so far.  ``knowledge.memory`` holds ``anchor``, the shared
        parameters after the last task, and their ``importance``.
    name : str
        Name of the method, ``"si"``.
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
    >>> learner = SI(Settings(hidden=(8,), epochs=1), backend_name="numpy")
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
    """Settings of synaptic intelligence for images."""

    method = "vae_si"
    weight: float = option(1.0, "Strength c of the penalty, which has no factor 1/2.", at_least=0)
    damping: float = option(
        0.001, "Damping xi, which bounds the importance of a weight that hardly moved.", above=0
    )


class ImageSI(Saved, Generative):
    """Learner of generative models with synaptic intelligence in the shared decoder layers.

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
        Everything learned so far.  ``knowledge.memory`` holds ``anchor``, the shared
        parameters after the last task, and their ``importance``.
    name : str
        Name of the method, ``"vae_si"``.
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
    >>> learner = ImageSI(ImageSettings(hidden=(8,), latent=2, epochs=1), backend_name="numpy")
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
