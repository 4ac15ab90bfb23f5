r"""IBP-VCL: VCL in a network whose units an Indian buffet process switches on, example by example.

Kessler, Nguyen, Zohren and Roberts (2021), "Hierarchical Indian Buffet Neural Networks for Bayesian
Continual Learning", the model with one buffet a layer.  Hidden units are multiplied by masks (see
:mod:`ibpcl.models.units`), and the last posterior, of weights *and* of sticks, is the next prior:

.. math:: \mathcal L_t = \sum_n \mathbb E_q[\log p(y_n | x_n, V, z_n)] - KL[q(V) \| q_{t - 1}(V)]
          - KL[q(v) \| q_{t - 1}(v)] - \sum_n \mathbb E_{q(v)} KL[q(z_n | v) \| p(z_n | v)],

with :math:`q_0(V) = \mathcal N(0, \sigma_0^2)` and :math:`q_0(v_k) = \mathrm{Beta}(\alpha, 1)`,
which is Kumaraswamy(alpha, 1).  As in the paper, masks are drawn as the sticks say, :math:`q(z_{nk}
| v) = p(z_{nk} | v)`, so the last divergence is 0.  With ``offsets`` a task draws them from
:math:`\sigma(\rho_k + \operatorname{logit} \pi_k)` instead, rho its own: it may prefer other units
than the sticks do, and every example pays for that.

With all masks at one this is VCL.  Everything but the masks is as there: local reparameterization,
the first task's start from a maximum-likelihood fit, heads, keys of the noise.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.methods.sequential import Context
from ibpcl.methods.settings_docs import documented
from ibpcl.methods.vcl import (
    GaussianClassifier,
    PosteriorSettings,
    learn_task,
    predict_classes,
)
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import MASK_KLS, sticks
from ibpcl.models.network import classifier
from ibpcl.models.parameters import write
from ibpcl.models.units import Units
from ibpcl.numerics import inverse_softplus
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(PosteriorSettings):
    """The settings of IBP-VCL."""

    method = "ibp_vcl"

    hidden: tuple[int, ...] = option(
        (200,), "Units of each hidden layer, the truncation of its buffet."
    )
    single_head: bool = option(
        False, "One head, and one set of offsets, for all tasks instead of one per task."
    )
    likelihood_epochs: int = option(
        5, "Maximum-likelihood epochs, without masks, before the first task."
    )
    rate: float = option(0.001, "Adam's learning rate of the weights.")
    mask_rate: float = option(0.1, "Adam's learning rate of sticks and offsets.", at_least=0)
    alpha: float = option(
        30.0, "The buffet's concentration: how many units an example has on, at first.", above=0
    )
    offsets: bool = option(
        False, "Give each task offsets to the log-odds of its units; without, sticks alone decide."
    )
    mask_kl: str = option(
        "bernoulli", "Divergence of the masks; concrete is of the relaxed ones.", choices=MASK_KLS
    )
    tau_start: float = option(
        1.0, "Temperature of the relaxed masks at a task's first step.", above=0
    )
    tau_end: float = option(
        0.5, "Temperature at a task's last step; it falls geometrically.", above=0
    )

    # no choice here
    coreset = "none"
    coreset_size = 0


class BuffetClassifier(GaussianClassifier):
    """A network whose hidden units have masks, and which of its parameters tasks share.

    Tasks share the sticks of the hidden layers; offsets are a task's own.
    """

    given_masks = None  # masks are sampled

    @property
    def rates(self):
        """The learning rate of each block of parameters."""
        settings = self.settings
        return {
            "mu": settings.rate,
            "log_sigma": settings.rate,
            "sticks": settings.mask_rate,
            "rho": settings.mask_rate if settings.offsets else 0.0,
        }

    @property
    def temperatures(self):
        """The temperature of sampled masks at the first and the last step."""
        return (self.settings.tau_start, self.settings.tau_end)

    def network(self, inputs, hidden, outputs):
        """Return the network with given widths."""
        settings = self.settings
        return classifier(
            inputs, hidden, Softmax(), outputs, Units, settings.activation, kl=settings.mask_kl
        )

    def as_trained(self, network):
        """Return the network that training draws noise for: itself."""
        return network

    def shares(self, name):
        """Return whether all tasks share the parameters of this name.

        With one head they share the offsets, too.
        """
        return self.settings.single_head or not (name.startswith("head.") or name.endswith(".rho"))

    def start(self, context, network, task):
        """Return fresh parameters (P,): sticks at their prior, offsets at 0."""
        vector = super().start(context, network, task)
        for layer in network.layout.layers(vector).values():
            if "raw_a" in layer:
                raw_a = inverse_softplus(float(self.settings.alpha))
                write(layer, {"raw_a": raw_a, "raw_b": inverse_softplus(1.0)})
        return vector

    def sticks_prior(self, network, vector, first):
        """Return the prior of the sticks by layer: the last posterior.

        For the first task it is Kumaraswamy(alpha, 1).
        """
        if not first:
            return {
                name: sticks(layer["raw_a"], layer["raw_b"])[0]
                for name, layer in network.layout.layers(vector).items()
                if "raw_a" in layer
            }
        return {
            name: (
                np.full(layer.units, self.settings.alpha, np.float32),
                np.ones(layer.units, np.float32),
            )
            for name, layer in network.layers.items()
            if isinstance(layer, Units)
        }


class IBPVCL(Saved):
    """Learn tasks by Bayes' rule, for weights and for the probabilities of units.

    Parameters as in :class:`Saved`.
    """

    settings_type = Settings
    model_type = BuffetClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return self.predict_classes(x, task_id).probabilities

    def predict_classes(self, x, task_id):
        """Return class probabilities for inputs (N, D), with what is known about their error.

        Returns
        -------
        predictions : ibpcl.models.likelihoods.Classes
        """
        return predict_classes(self.context, self.refined, x, task_id)
