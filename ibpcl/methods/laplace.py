r"""Online Laplace: the prior of the next task is a Gaussian around the last solution.

Ritter, Botev and Barber (2018), "Online Structured Laplace Approximations For Overcoming
Catastrophic Forgetting", Eqs. 7 to 9, here with a diagonal precision.  From the prior :math:`\mu_0
= 0, \Lambda_0 = \sigma_0^{-2}`,

.. math:: \mu_t = \arg\max_\theta \sum_n \log p(y_n | x_n, \theta)
          - \frac\lambda2 \sum_i \Lambda_{t - 1, i} (\theta_i - \mu_{t - 1, i})^2, \qquad
          \Lambda_t = \Lambda_{t - 1} + N_t F^t,

with the mean Fisher information F at :math:`\mu_t`.  For the softmax, this is the diagonal of the
generalized Gauss-Newton matrix.  With :math:`\lambda = 1` the recursion is Bayes' rule, so there is
nothing to tune.  It differs from online EWC in two ways: a task counts in proportion to its number
of examples, and there is an initial prior, which new heads also have.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.ewc import ImageInformation, Information, information
from ibpcl.methods.images import Generative, PlainAutoencoder
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
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
class Settings(Information):
    """Settings of online Laplace for classification."""

    method = "laplace"

    weight: float = option(1.0, "Weight lambda of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the prior of a weight before the first task.", above=0
    )


def penalty(vector, places, memory, settings):
    """Return the negative log prior up to a constant, and its gradient.

    The prior is the last posterior for the shared parameters and the initial prior for new ones.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        Current parameters.
    places : slice or ndarray of int
        Positions of the shared parameters, from ``context.places(network)``.
    memory : dict of str to ndarray
        ``mean`` and ``precision`` of the shared parameters; empty before the first task.
    settings : Settings or ImageSettings
        ``weight`` and ``prior_sigma`` are read.

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,)
        Gradient of the penalty.
    """
    mean = np.zeros_like(vector)
    precision = np.full_like(vector, settings.prior_sigma**-2)
    if memory:
        mean[places] = memory["mean"]
        precision[places] = memory["precision"]
    return pull(vector, slice(None), (mean, settings.weight * precision))


def remember(memory, settings, shared, gained):
    """Return the memory after a task: its solution, and the precision increased by its information.

    Parameters
    ----------
    memory : dict of str to ndarray
        Memory before the task.
    settings : Settings or ImageSettings
        ``prior_sigma`` is read before the first task.
    shared : ndarray, shape (Q,)
        Shared parameters of the solution.
    gained : ndarray, shape (Q,)
        Their Fisher information, summed over all examples of the task.

    Returns
    -------
    memory : dict of str to ndarray
        ``mean`` and ``precision``, each of shape (Q,).
    """
    before = memory.get("precision", np.full_like(gained, settings.prior_sigma**-2))
    return {"mean": shared, "precision": (before + gained).astype(gained.dtype)}


def learn_task(context, task):
    """Learn one more task with online Laplace.

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

    def prior(vector, gradient):
        return penalty(vector, places, memory, settings)

    vector = start(context, network, task)
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, vector, data, penalty=prior)
    gained = len(task.x_train) * information(context, network, vector, task)
    memory = remember(memory, settings, vector[places].copy(), gained)
    return keep(context, network, vector, memory), history


class Laplace(Saved):
    """Learner with an online Laplace approximation of the posterior.

    Ritter et al. (2018), "Online Structured Laplace Approximations".

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
        Everything learned so far.  ``knowledge.memory`` holds ``mean`` and
        ``precision`` of the shared parameters.
    name : str
        Name of the method, ``"laplace"``.
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
    >>> learner = Laplace(Settings(hidden=(8,), epochs=1), backend_name="numpy")
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
class ImageSettings(ImageInformation):
    """Settings of online Laplace for images."""

    method = "vae_laplace"
    weight: float = option(1.0, "Weight lambda of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the prior of a weight before the first task.", above=0
    )


class ImageLaplace(Saved, Generative):
    """Learner of generative models with an online Laplace approximation of the shared layers.

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
        Everything learned so far.  ``knowledge.memory`` holds ``mean`` and
        ``precision`` of the shared parameters.
    name : str
        Name of the method, ``"vae_laplace"``.
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
    >>> learner = ImageLaplace(ImageSettings(hidden=(8,), latent=2, epochs=1), backend_name="numpy")
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
