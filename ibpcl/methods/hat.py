r"""HAT, hard attention to the task: each task learns which units it uses, and later tasks leave
those alone.

Serra, Suris, Miron and Karatzoglou (2018), "Overcoming Catastrophic Forgetting with Hard Attention
to the Task".  A task's gates are :math:`a = \sigma(s e)`; within every epoch the scale rises
linearly over the B minibatches (Eq. 3),

.. math:: s = \frac1{s_{max}} + \Bigl(s_{max} - \frac1{s_{max}}\Bigr) \frac{b - 1}{B - 1},

the loss is, in nats per example, with R the share of unused units that the gates open (Eq. 5),

.. math:: -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta, a) + c\, R(a, a^{<t}),

and after the task :math:`a^{\le t} = \max(a^{<t}, \sigma(s_{max} e))` (Eq. 1).  The gradient at an
embedding is multiplied by (Eq. 4)

.. math:: \frac{s_{max}\, (\cosh(s e) + 1)}{s\, (\cosh(e) + 1)},

as if its gate had had the scale :math:`s_{max}` and argument e, and e is kept within :math:`\pm 6`.

.. warning:: The paper multiplies a weight's *gradient* by :math:`1 - \min(a^{<t}_{out},
   a^{<t}_{in})` (Eq. 2) and trains with SGD.  Adam divides every constant factor out again, so here
   the factor is on the learning *rate*: with SGD the same, with Adam the only place where it does
   anything.  Embeddings have a rate of their own, for Adam's steps do not grow with the gradient.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.inference.loop import Step, fit
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    predict,
    start,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models import plain
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp
from ibpcl.models.gated import Gated, freedom, gates, gates_vjp, prices
from ibpcl.noise import generator
from ibpcl.options import option

LARGEST_EMBEDDING = 6.0  # Serra et al. (2018), Sec. 2.5
# of the cosine: beyond it the gate has no gradient left
LARGEST_ARGUMENT = 50.0


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of HAT."""

    method = "hat"

    single_head: bool = option(
        False, "A head is not gated, so nothing would protect one for all tasks.", choices=(False,)
    )
    scale: float = option(400.0, "The largest scale of the gates, s_max.", at_least=1)
    sparsity: float = option(
        0.75,
        "Weight c of the share of unused units that a task takes, in nats per example.",
        at_least=0,
    )
    embedding_rate: float = option(
        0.05, "Adam's rate of the embeddings (paper: SGD with one rate).", at_least=0
    )


def scale_at(step, per_epoch, largest):
    """Return the scale of the gates at a step; every epoch begins at ``1 / largest`` and ends at
    ``largest``.

    >>> [scale_at(step, 3, 4.0) for step in range(4)]
    [0.25, 2.125, 4.0, 0.25]
    """
    if per_epoch == 1:
        return largest
    return 1 / largest + (largest - 1 / largest) * (step % per_epoch) / (per_epoch - 1)


def compensation(embedding, scale, largest):
    """Return the factor of the gradient at each element of an embedding (Eq. 4); 1 where both
    scales are 1.

    >>> compensation(np.array([0.5, -2.0]), 1.0, 1.0)
    array([1., 1.])
    """
    steep = np.cosh(np.clip(scale * embedding, -LARGEST_ARGUMENT, LARGEST_ARGUMENT)) + 1
    return largest * steep / (scale * (np.cosh(embedding) + 1))


class GatedClassifier(PlainClassifier):
    """A plain network behind the gates of a task, and which of its parameters tasks share."""

    def network(self, inputs, hidden, outputs):
        """Return the network of a task behind its gates."""
        return plain.network(inputs, hidden, outputs, Gated, largest=self.settings.scale)

    def shares(self, name):
        """Return whether all tasks share the parameters of this name: not head and embedding."""
        return super().shares(name) and not name.endswith("embedding")

    def start(self, context, network, task):
        """Return fresh parameters (P,) of a network; the embedding is normal."""
        vector = super().start(context, network, task)
        rng = generator(context.key("gates"))
        vector[network.layout.block("gates")] = rng.normal(size=sum(self.settings.hidden))
        return vector


def gates_of(context, task_id):
    """Return the gates (K,) of a learned task, of all hidden layers."""
    network, vector = context.assemble(task_id)
    return gates(vector[network.layout.block("gates")], context.settings.scale)[0]


def used_gates(context):
    """Return the largest gate of any learned task for each hidden unit (K,); 0 before the first."""
    before = np.zeros(sum(context.settings.hidden), np.float32)
    learned = [gates_of(context, t) for t in range(context.state.learned)]
    return np.max([before, *learned], axis=0)


def train(context, network, vector, task):
    """Fit the weights and the embedding of a task; return both in one vector, and the history."""
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


def learn_task(context, task):
    """Train weights and gates on a task; return the new state and the history."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    vector, history = train(context, network, start(context, network, task), task)
    return keep(context, network, vector), history


class HAT(Saved):
    """Learn tasks behind gates; parameters as in :class:`Saved`.

    A task's embedding is among what it has for itself.
    """

    settings_type = Settings
    model_type = GatedClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return predict(self.context, self.assemble, x, task_id)

    def gates_of(self, task_id):
        """Return the gates (K,) of a learned task, of all hidden layers."""
        return gates_of(self.context, task_id)

    @property
    def used(self):
        """The largest gate of any learned task for each hidden unit (K,); 0 before the first."""
        return used_gates(self.context)
