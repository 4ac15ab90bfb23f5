r"""HAT, hard attention to the task: each task learns which units it uses, and later tasks leave those alone.

Serra, Suris, Miron and Karatzoglou (2018), "Overcoming Catastrophic Forgetting with Hard Attention to the Task".  A
task's gates are :math:`a = \sigma(s e)`; within every epoch the scale rises linearly over the B minibatches (Eq. 3),

.. math:: s = \frac1{s_{max}} + \Bigl(s_{max} - \frac1{s_{max}}\Bigr) \frac{b - 1}{B - 1},

the loss is, in nats per example, with R the share of unused units that the gates open (Eq. 5),

.. math:: -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta, a) + c\, R(a, a^{<t}),

and after the task :math:`a^{\le t} = \max(a^{<t}, \sigma(s_{max} e))` (Eq. 1).  The gradient at an embedding is
multiplied by (Eq. 4)

.. math:: \frac{s_{max}\, (\cosh(s e) + 1)}{s\, (\cosh(e) + 1)},

as if its gate had had the scale :math:`s_{max}` and argument e, and e is kept within :math:`\pm 6`.

.. warning:: The paper multiplies a weight's *gradient* by :math:`1 - \min(a^{<t}_{out}, a^{<t}_{in})` (Eq. 2) and
   trains with SGD.  Adam divides every constant factor out again, so here the factor is on the learning *rate*: with
   SGD the same, with Adam the only place where it does anything.  Embeddings have a rate of their own, for Adam's steps
   do not grow with the gradient.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import check_inputs
from ibpcl.methods.sequential import Sequential, SequentialSettings
from ibpcl.models import gated
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp
from ibpcl.models.gated import capacity, capacity_vjp, freedom, gates, gates_vjp
from ibpcl.models.layers import Pass
from ibpcl.noise import generator
from ibpcl.numerics import logsumexp
from ibpcl.openblas import on_one_thread
from ibpcl.options import option

LARGEST_EMBEDDING = 6.0                                      # Serra et al. (2018), Sec. 2.5
LARGEST_ARGUMENT = 50.0                                      # of the cosine: beyond it the gate has no gradient left


@dataclass(frozen=True)
class Settings(SequentialSettings):
    """The settings of HAT."""

    single_head: bool = option(False, "A head is not gated, so nothing would protect one for all tasks.",
                               choices=(False,))
    scale: float = option(400.0, "The largest scale of the gates, s_max.", at_least=1)
    sparsity: float = option(0.75, "Weight c of the share of unused units that a task takes, in nats per example.",
                             at_least=0)
    embedding_rate: float = option(0.05, "Adam's rate of the embeddings (paper: SGD with one rate).", at_least=0)


def scale_at(step, per_epoch, largest):
    """Return the scale of the gates at a step; every epoch begins at ``1 / largest`` and ends at ``largest``.

    >>> [scale_at(step, 3, 4.0) for step in range(4)]
    [0.25, 2.125, 4.0, 0.25]
    """
    if per_epoch == 1:
        return largest
    return 1 / largest + (largest - 1 / largest) * (step % per_epoch) / (per_epoch - 1)


def compensation(embedding, scale, largest):
    """Return the factor of the gradient at each element of an embedding (Eq. 4); 1 where both scales are 1.

    >>> compensation(np.array([0.5, -2.0]), 1.0, 1.0)
    array([1., 1.])
    """
    steep = np.cosh(np.clip(scale * embedding, -LARGEST_ARGUMENT, LARGEST_ARGUMENT)) + 1
    return largest * steep / (scale * (np.cosh(embedding) + 1))


class HAT(Sequential):
    """Learn tasks behind gates; parameters as in :class:`Sequential`.

    ``memory`` has ``used``, the largest gate of each unit so far, and ``embedding{s}`` of each task.
    """

    settings_type = Settings

    def train(self, task, progress):
        """Fit weights and embedding; return both in one vector, and the history."""
        settings, model, examples = self.settings, self.gated(task.outputs), len(task.x_train)
        gates_block, used, per_epoch = model.layout.block("gates"), self.used, -(-examples // settings.batch)
        embedding = generator(self.key("gates")).normal(size=len(used)).astype(np.float32)
        begin = np.concatenate([self.begin(task), embedding])

        def objective(vector, rows, step, steps):
            scale = scale_at(step, per_epoch, settings.scale)
            parts, cache = elbo(model, vector, None, task.x_train[rows], task.y_train[rows], {}, examples, self.backend,
                                {}, 1 / scale)
            gradient, embedding = elbo_vjp(Elbo(-1 / examples), cache), vector[gates_block]
            opened, gates_cache = gates(embedding, scale)
            share, capacity_cache = capacity(opened, used)
            dembedding = gradient[gates_block] + gates_vjp(capacity_vjp(settings.sparsity, capacity_cache), gates_cache)
            gradient[gates_block] = dembedding * compensation(embedding, scale, settings.scale)
            return parts._replace(kl_masks=settings.sparsity * share * examples), gradient, 0.0

        def clamp(step, vector, state, rates):
            vector = vector.copy()
            vector[gates_block] = vector[gates_block].clip(-LARGEST_EMBEDDING, LARGEST_EMBEDDING)
            return vector, state, rates

        rates = np.full(len(begin), settings.rate, np.float32) * freedom(model, used)
        rates[gates_block] = settings.embedding_rate
        return self.fit(begin, objective, examples, progress, rates, clamp)

    def keep(self, task, vector):
        """Keep weights, head and embedding, and mark the units that the task uses."""
        weights, embedding = np.split(vector, [self.network(task.outputs).layout.size])
        opened, _ = gates(embedding, self.settings.scale)
        self.memory |= {"used": np.maximum(self.used, opened), f"embedding{len(self.outputs)}": embedding.copy()}
        super().keep(task, weights)

    @on_one_thread
    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task, behind its gates."""
        x = check_inputs("hat.predict", x, self.inputs, task_id, len(self.outputs))
        embedding = self.memory[f"embedding{task_id}"]
        vector = np.concatenate([self.shared, self.own[task_id], embedding])
        how = Pass(self.backend, {}, 1 / self.settings.scale)
        (logits, _), _ = self.gated(self.outputs[task_id]).forward(vector, x, {}, how)
        return np.exp(logits[0] - logsumexp(logits[0], axis=-1, keepdims=True))

    def gated(self, outputs):
        """Return the network of a task behind gates: the same parameters, then the embedding."""
        return gated.network(self.inputs, self.settings.hidden, outputs)

    @property
    def used(self):
        """The largest gate that any task had, for each hidden unit; 0 before the first."""
        return self.memory.get("used", np.zeros(sum(self.settings.hidden), np.float32))
