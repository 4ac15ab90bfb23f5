r"""Generative replay: a generator invents examples of earlier tasks, the last solver labels them.

Shin, Lee, Kim and Kim (2017), "Continual Learning with Deep Generative Replay".  The *solver* with
parameters :math:`\theta` is the classifier.  The *generator* is an autoencoder of the package that
learns one model :math:`G_s` of the inputs of each task s.  The loss of task t is

.. math:: r\, \mathbb E_{(x, y) \sim D_t} \bigl[-\log p(y | x, \theta)\bigr]
          + (1 - r) \sum_{s < t} \frac{N_s}{\sum_{u < t} N_u}\,
            \mathbb E_{x' \sim G_s} \bigl[-\log p(y' | x', \theta)\bigr], \qquad
          y' = \arg\max_y p(y | x', \theta_{t-1})

(Eq. 1 there, with the head of task s for its samples).  The ratio r is the importance of the new
task.  By default it is the task's share :math:`N_t / \sum_{u \le t} N_u` of all examples, so with
the true examples in place of the samples this is joint training, bit for bit.  With :math:`r = 1`
nothing is replayed, and training is naive training, bit for bit.

Each minibatch is drawn from a pool that has :math:`N_s` places for each earlier task.  A place of
an earlier task is filled with a new sample in every epoch: a code :math:`z \sim p_s(z)`, decoded to
its mean image.  The samples depend only on the seed, the task and the step.

.. warning:: In the paper a single generative adversarial network models all tasks, and is itself
   trained with replay.  Here the generator is a variational autoencoder with a prior of the codes
   per task.  By default it is that of NPBCL, whose masks keep the weights of earlier tasks, so it
   forgets nothing and needs no replay.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl import noise
from ibpcl.continual.learner import Saved, under
from ibpcl.continual.task import Task
from ibpcl.methods import GENERATIVE, method, naive
from ibpcl.methods.pooled import Group, keep_all, train_all
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    predict,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option

MASKED_SHARE = 10  # NPBCL trains masks in one of ten epochs, as its defaults for images do


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of generative replay."""

    method = "replay"

    ratio: float | None = option(
        None,
        "Importance r of the new task; none for its share of all examples, 1 for no replay and no "
        "generator.",
        at_least=0,
        at_most=1,
    )
    labels: str = option(
        "argmax",
        "Label of a sample: the last solver's most probable class, or one drawn from its "
        "probabilities, which is the loss of soft labels on average.",
        choices=("argmax", "drawn"),
    )
    generator: str = option(
        "npbcl",
        "Method of the autoencoder that generates inputs.",
        choices=[name.removeprefix("vae_") for name in GENERATIVE],
    )
    generator_epochs: int = option(50, "Epochs of the generator per task.", at_least=0)
    generator_hidden: tuple[int, ...] = option(
        (200, 200),
        "Units of the generator's hidden layers; the decoder has them in reverse order.",
        at_least=1,
    )
    generator_latent: int = option(30, "Width of the generator's codes z.", at_least=1)


def generator_of(context):
    """Return the generator as the learned tasks left it.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the generator: ``learner.context`` of a learner.

    Returns
    -------
    generator : ibpcl.continual.learner.Saved
        Learner of images, such as :class:`ibpcl.methods.npbcl_images.ImageNPBCL`.  It has learned
        as many tasks as the solver.
    """
    settings = context.settings
    chosen = method(f"vae_{settings.generator}")
    lengths = {"epochs": settings.generator_epochs}
    if settings.generator == "npbcl":
        masked = -(-settings.generator_epochs // MASKED_SHARE)
        lengths = {"epochs": masked, "finetune_epochs": settings.generator_epochs - masked}
    generator = chosen.learner(
        chosen.settings(
            hidden=settings.generator_hidden, latent=settings.generator_latent, **lengths
        ),
        context.seed,
        context.backend.name,
    )
    generator.load_state(under(context.state.memory, "generator."))
    return generator


def train_generator(context, task):
    """Train the generator on the inputs of a task.

    The inputs are moved and scaled to the range 0 .. 1 of pixels, all by the same two numbers.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task; its labels are not used.

    Returns
    -------
    memory : dict of str to ndarray
        State of the generator with the prefix ``generator.``; ``low{t}`` and ``span{t}``, the
        smallest input and the range of the inputs; and ``examples{t}``, the number of examples.
    """
    t = context.state.learned
    generator = generator_of(context)
    low = task.x_train.min()
    span = (task.x_train.max() - low) or np.float32(1)  # constant inputs have no range
    pixels = (task.x_train - low) / span
    generator.learn(Task(task.name, x_train=pixels, x_test=pixels[:1]), context.progress)
    memory = {f"generator.{name}": np.asarray(value) for name, value in generator.state().items()}
    scale = {f"low{t}": np.array(low), f"span{t}": np.array(span)}
    return memory | scale | {f"examples{t}": np.array(len(pixels))}


def sample(model, count, rng):
    r"""Draw inputs from a generative model: :math:`z \sim p(z)`, decoded to the mean of p(x | z).

    Parameters
    ----------
    model : ibpcl.models.point_autoencoder.PointAutoencoder
        Model of a task, from ``generator.latent_model(task_id)``.
    count : int
        Number of inputs N.
    rng : numpy.random.Generator
        Source of the codes.

    Returns
    -------
    pixels : ndarray, shape (N, D)
        Mean pixels.
    """
    mean, log_sigma = model.prior()
    return model.decode(mean + np.exp(log_sigma) * rng.standard_normal((count, model.latent)))


def label(probabilities, rule, rng):
    """Return the labels of samples, given what the last solver predicts for them.

    Parameters
    ----------
    probabilities : ndarray, shape (N, C)
        Class probabilities.
    rule : {"argmax", "drawn"}
        The most probable class, or one drawn from the probabilities.
    rng : numpy.random.Generator
        Source of the drawn labels.

    Returns
    -------
    labels : ndarray of int, shape (N,)
        Classes in 0 .. C - 1.

    Examples
    --------
    >>> label(np.array([[0.2, 0.8], [0.7, 0.3]]), "argmax", np.random.default_rng(0))
    array([1, 0])
    """
    if rule == "argmax":
        return probabilities.argmax(axis=1)
    # without the last class, whose sum may be less than 1 by rounding
    below = probabilities.cumsum(axis=1)[:, :-1]
    return (rng.random((len(below), 1)) >= below).sum(axis=1)


def replayed(context):
    """Return the source of replayed examples: samples of the generator with the solver's labels.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.

    Returns
    -------
    draw : callable
        ``draw(task_id, rows, rng)`` returns as many inputs (N, D) of an earlier task as there are
        numbers in ``rows`` and their labels (N,).  It ignores the numbers themselves; a source of
        stored examples uses them.
    """
    memory = context.state.memory
    generator = generator_of(context)
    tasks = range(context.state.learned)
    models = [generator.latent_model(s) for s in tasks]
    solvers = [context.assemble(s) for s in tasks]

    def draw(task_id, rows, rng):
        pixels = sample(models[task_id], len(rows), rng)
        x = memory[f"low{task_id}"] + memory[f"span{task_id}"] * pixels
        network, vector = solvers[task_id]
        probabilities = network.predict(vector, x, context.backend)
        return x, label(probabilities, context.settings.labels, rng)

    return draw


def pool_sizes(context, task):
    """Return the number of examples that an epoch passes over, by task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    sizes : ndarray of int, shape (t + 1,)
        Numbers of training examples.
    """
    memory = context.state.memory
    before = [int(memory[f"examples{s}"]) for s in range(context.state.learned)]
    return np.array([*before, len(task.x_train)])


def minibatch(context, task, draw, rows, step):
    """Return the examples of a step: some of the task, and samples of earlier tasks.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task to learn.
    draw : callable
        Source of the examples of earlier tasks, as from :func:`replayed`.
    rows : ndarray of int, shape (B,)
        Rows of the minibatch, counted through all tasks in their order.
    step : int
        Number of the step, which determines the samples.

    Returns
    -------
    groups : list of ibpcl.methods.pooled.Group
        One group per task with a row, with the scale of each example.
    examples : int
        Number of examples for which the groups stand.
    """
    t = context.state.learned
    ratio = context.settings.ratio
    sizes = pool_sizes(context, task)
    ends = sizes.cumsum()
    whole = ends[-1]
    rng = noise.generator(context.key("replay")._replace(step=step))
    owner = np.searchsorted(ends, rows, side="right")
    scales = np.full(t + 1, whole / len(rows))
    if ratio is not None and t > 0:
        scales[:t] *= (1 - ratio) * whole / (whole - sizes[t])
        scales[t] *= ratio * whole / sizes[t]
    groups = []
    for s in np.unique(owner):
        chosen = rows[owner == s] - (ends[s] - sizes[s])
        if s == t:
            examples = task.x_train[chosen], task.y_train[chosen]
        else:
            examples = draw(s, chosen, rng)
        groups.append(Group(*examples, s, scales[s]))
    return groups, whole


def learn_task(context, task, draw=None):
    """Train the solver on a task and on replayed examples, then the generator on the task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task: ``learner.context`` of a learner.
    task : ibpcl.continual.task.Task
        The next task.
    draw : callable, optional
        Source of the examples of earlier tasks, see :func:`replayed`; the generator if not given.

    Returns
    -------
    state : ibpcl.methods.sequential.State
        State with the task added.
    history : list of ibpcl.inference.loop.Record
        One row per epoch of the solver.

    Raises
    ------
    TypeError
        If the task is of another kind than the model learns.
    ValueError
        If the task does not fit the network.
    TrainingError
        If a loss is not finite.
    """
    if context.settings.ratio == 1:
        return naive.learn_task(context, task)
    context = accept(context, task)
    draw = draw or replayed(context)
    vector, history = train_all(
        context,
        task,
        lambda rows, step: minibatch(context, task, draw, rows, step),
        int(pool_sizes(context, task).sum()),
    )
    memory = context.state.memory | train_generator(context, task)
    return keep_all(context, task, vector, memory), history


class Replay(Saved):
    """Learner with generative replay.

    Shin et al. (2017), "Continual Learning with Deep Generative Replay".

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
        Builds the solver of a task and selects the parameters that tasks share.
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds the state of the generator, and
        ``low{s}``, ``span{s}`` and ``examples{s}``, the range of the inputs and the number of
        examples of task s.
    name : str
        Name of the method, ``"replay"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Width D of the examples; None before the first task.
    context : ibpcl.methods.sequential.Context
        Inputs of every step of the method, for the current state.
    generator : ibpcl.continual.learner.Saved
        The generator as the learned tasks left it.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
    >>> settings = Settings(hidden=(8,), epochs=1, generator="naive", generator_epochs=1)
    >>> learner = Replay(settings, backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context

    @property
    def generator(self):
        """The generator as the learned tasks left it, a learner of images."""
        return generator_of(self.context)

    def learn(self, task, progress=None):
        """Learn the next task.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification with inputs as wide as those of the earlier tasks.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch, those of the generator too.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch of the solver, with the parts of the objective in nats for the new
            task and the samples together.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or not a classification.
        ValueError
            If its inputs are wider or narrower than those of earlier tasks, or it does not fit the
            single head.
        TrainingError
            If a loss is not finite.
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
