r"""HAT, hard attention to the task: each task learns gates, which protect its units later.

Serra, Suris, Miron and Karatzoglou (2018), "Overcoming Catastrophic Forgetting with Hard Attention
to the Task".  A task's gates are :math:`a = \sigma(s e)`.  Within every epoch the scale s rises
linearly over the B minibatches (Eq. 3),

.. math:: s = \frac1{s_{max}} + \Bigl(s_{max} - \frac1{s_{max}}\Bigr) \frac{b - 1}{B - 1}.

The loss is, in nats per example, with R the share of unused units whose gates open (Eq. 5),

.. math:: -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta, a) + c\, R(a, a^{<t}).

After the task :math:`a^{\le t} = \max(a^{<t}, \sigma(s_{max} e))` (Eq. 1).  The gradient at an
embedding is multiplied by (Eq. 4)

.. math:: \frac{s_{max}\, (\cosh(s e) + 1)}{s\, (\cosh(e) + 1)},

as if its gate had the scale :math:`s_{max}` and the argument e.  The embedding e is clipped to
:math:`\pm 6`.

.. warning:: The paper multiplies a weight's *gradient* by :math:`1 - \min(a^{<t}_{out},
   a^{<t}_{in})` (Eq. 2) and trains with SGD.  Adam cancels any constant factor of the gradient, so
   here the factor multiplies the *learning rate*.  With SGD this is the same; with Adam it is the
   only place where the factor has an effect.  Embeddings have a separate learning rate, because
   Adam's steps do not grow with the gradient.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.inference.loop import Step, fit
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    start,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models import plain
from ibpcl.models.architecture import parse
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp
from ibpcl.models.gated import Gated, freedom, gates, gates_vjp, prices
from ibpcl.noise import generator
from ibpcl.options import option

LARGEST_EMBEDDING = 6.0  # Serra et al. (2018), Sec. 2.5
# Limit of the argument of cosh: beyond it, the gradient of the gate vanishes.
LARGEST_ARGUMENT = 50.0


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of HAT."""

    method = "hat"

    single_head: bool = option(
        False,
        "Always false: a head has no gates, so nothing would protect a single head.",
        choices=(False,),
    )
    scale: float = option(400.0, "Largest scale s_max of the gates.", at_least=1)
    sparsity: float = option(
        0.75,
        "Strength c of the penalty on the share of unused units that a task takes, in nats per "
        "example.",
        at_least=0,
    )
    embedding_rate: float = option(
        0.05, "Learning rate of the embeddings (paper: SGD with one learning rate).", at_least=0
    )


def scale_at(step, per_epoch, largest):
    """Return the scale of the gates at a step (Eq. 3).

    Parameters
    ----------
    step : int
        Number of the step, from 0.
    per_epoch : int
        Steps per epoch, at least 1.
    largest : float
        Scale s_max at the end of every epoch; every epoch begins at ``1 / largest``.

    Returns
    -------
    scale : float
        Scale s in [1 / largest, largest]; ``largest`` if an epoch has a single step.

    Examples
    --------
    >>> [scale_at(step, 3, 4.0) for step in range(4)]
    [0.25, 2.125, 4.0, 0.25]
    """
    if per_epoch == 1:
        return largest
    return 1 / largest + (largest - 1 / largest) * (step % per_epoch) / (per_epoch - 1)


def compensation(embedding, scale, largest):
    """Return the factor of the gradient at each element of an embedding (Eq. 4).

    Parameters
    ----------
    embedding : ndarray, shape (K,)
        Embedding e of the task.
    scale : float
        Current scale s, > 0.
    largest : float
        Scale s_max.

    Returns
    -------
    factor : ndarray, shape (K,)
        Positive factors, 1 if both scales are 1.

    Examples
    --------
    >>> compensation(np.array([0.5, -2.0]), 1.0, 1.0)
    array([1., 1.])
    """
    argument = np.clip(scale * embedding, -LARGEST_ARGUMENT, LARGEST_ARGUMENT)
    return largest * (np.cosh(argument) + 1) / (scale * (np.cosh(embedding) + 1))


class GatedClassifier(PlainClassifier):
    """Classifier whose hidden units have gates: its network and its shared parameters.

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

    def network(self, inputs, hidden, outputs):
        """Return the gated network with the given widths.

        Parameters
        ----------
        inputs : int
            Width D of the examples.
        hidden : tuple of int
            Units of each hidden layer; not used if ``settings.network`` describes the network.
        outputs : int
            Number of classes.

        Returns
        -------
        network : ibpcl.models.plain.PlainNetwork
            Architecture only.
        """
        settings = self.settings
        return plain.network(
            inputs, hidden, outputs, Gated, settings.network, largest=settings.scale
        )

    def shares(self, name):
        """Return whether all tasks share a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"hidden0.weight.mu"`` or ``"hidden0.embedding"``.

        Returns
        -------
        shared : bool
            False for the head and the embeddings.
        """
        return super().shares(name) and not name.endswith("embedding")

    def start(self, context, network, task):
        """Return fresh parameters of a network.

        Parameters
        ----------
        context : ibpcl.methods.sequential.Context
            Gives the random keys of the task: ``learner.context`` of a learner.
        network : ibpcl.models.plain.PlainNetwork
            Network to initialize, from :meth:`network`.
        task : ibpcl.continual.task.Task
            The task; not used.

        Returns
        -------
        vector : ndarray, shape (P,)
            Random parameters; the embeddings are standard normal.
        """
        vector = super().start(context, network, task)
        rng = generator(context.key("gates"))
        vector[network.layout.block("gates")] = rng.normal(size=sum(network.hidden))
        return vector


def gates_of(context, task_id):
    """Return the gates of a learned task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    task_id : int
        A learned task.

    Returns
    -------
    gates : ndarray, shape (K,)
        Gates in [0, 1] of the K units of all hidden layers.
    """
    network, vector = context.assemble(task_id)
    return gates(vector[network.layout.block("gates")], context.settings.scale)[0]


def used_gates(context):
    """Return the largest gate of any learned task for each hidden unit.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the tasks: ``learner.context`` of a learner.

    Returns
    -------
    used : ndarray, shape (K,)
        Gates in [0, 1] of the K units of all hidden layers; 0 before the first task.
    """
    settings = context.settings
    units = parse(settings.network).units if settings.network else settings.hidden
    before = np.zeros(sum(units), np.float32)
    learned = [gates_of(context, t) for t in range(context.state.learned)]
    return np.max([before, *learned], axis=0)


def train(context, network, vector, task):
    """Fit the weights and the embedding of a task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.plain.PlainNetwork
        Gated network of the task.
    vector : ndarray, shape (P,)
        Initial parameters, from :func:`ibpcl.methods.sequential.start`.
    task : ibpcl.continual.task.Task
        The task to learn.

    Returns
    -------
    vector : ndarray, shape (P,)
        Trained parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    settings = context.settings
    examples = len(task.x_train)
    block = network.layout.block("gates")
    per_epoch = -(-examples // settings.batch)
    used = used_gates(context)
    costs = prices(used)

    def objective(vector, rows, step, steps):
        scale = scale_at(step, per_epoch, settings.scale)
        embedding = vector[block]
        x = task.x_train[rows]
        y = task.y_train[rows]
        parts, cache = elbo(
            network, vector, None, x, y, {}, examples, context.backend, {}, 1 / scale
        )
        gradient = elbo_vjp(Elbo(-1 / examples), cache)
        opened, gates_cache = gates(embedding, scale)
        gradient[block] += gates_vjp(settings.sparsity * costs, gates_cache)
        gradient[block] *= compensation(embedding, scale, settings.scale)
        return Step(parts, gradient, penalty=settings.sparsity * (opened @ costs) * examples)

    def clamp(step, vector, state, rates):
        vector = vector.copy()
        vector[block] = vector[block].clip(-LARGEST_EMBEDDING, LARGEST_EMBEDDING)
        return vector, state, rates

    rates = np.float32(settings.rate) * freedom(network, used)
    rates[block] = settings.embedding_rate
    return fit(vector, objective, rates, examples, context.fit(), clamp)


@documented_step
def learn_task(context, task):
    """Learn one more task with HAT."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    vector, history = train(context, network, start(context, network, task), task)
    return keep(context, network, vector), history


@documented_learner
class HAT(Saved):
    """Learner with hard attention to the task.

    Serra et al. (2018), "Overcoming Catastrophic Forgetting with Hard Attention to the Task".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.own`` holds the head and the embedding of
        each task; ``knowledge.memory`` is empty.
    used : ndarray, shape (K,)
        Largest gate of any learned task for each of the K hidden units.
    """

    settings_type = Settings
    model_type = GatedClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities

    def gates_of(self, task_id):
        """Return the gates of a learned task.

        Parameters
        ----------
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        gates : ndarray, shape (K,)
            Gates in [0, 1] of the K units of all hidden layers.
        """
        return gates_of(self.context, task_id)

    @property
    def used(self):
        """Largest gate of any learned task for each hidden unit, shape (K,)."""
        return used_gates(self.context)
