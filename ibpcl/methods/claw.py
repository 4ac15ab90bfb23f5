r"""CLAW, continual learning with adaptive weights: VCL whose tasks multiply shared weights.

Adel, Zhao and Turner (2020), "Continual Learning with Adaptive Weights (CLAW)".  All tasks share
Gaussian weights w.  In task t, the weights into hidden unit k are

.. math:: w (1 + b_k a_k), \qquad b_k \sim \mathrm{Bernoulli}(\sigma(\rho_k)),

with a mask b and an adaptation a that belong to the task (:mod:`ibpcl.models.adapted`, where the
mask is z).  A task that gains nothing from the change of a unit leaves b at 0 and uses the shared
weights.  Task t maximizes

.. math::

    \mathcal L_t = \sum_n \mathbb E_q[\log p(y_n | x_n, w (1 + b a))]
        - KL[q_t(w) \| q_{t - 1}(w)] - \sum_k KL[q_t(b_k) \| \mathrm{Bernoulli}(p_0)] .

The divergence of the masks is that of two coins,

.. math::

    KL = \theta \log\frac{\theta}{p_0} + (1 - \theta) \log\frac{1 - \theta}{1 - p_0}, \qquad
    \frac{\partial KL}{\partial \rho} = \theta (1 - \theta)
        (\rho - \operatorname{logit} p_0), \qquad \theta = \sigma(\rho) .

Masks are relaxed in training (concrete) and binary in predictions.  Training starts at a = 0, where
the network is that of VCL.  With a single head, all tasks share the masks and adaptations, and the
last posterior of a mask is its next prior.

**With b = 0, or with a = 0, this is VCL, bit for bit**: the random keys are those of VCL, and a
product with 1 rounds nothing.

.. warning:: The equations above were written from memory of the paper.  The paper also bounds the
   adaptation by a learned maximum.  Here a is any real number, without a prior.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.methods.frame import (
    documented_learner,
    learning,
    mean_probabilities,
    predicting_classes,
)
from ibpcl.methods.sequential import Context
from ibpcl.methods.settings_docs import documented
from ibpcl.methods.vcl import (
    GaussianClassifier,
    PosteriorSettings,
    learn_task,
    predict_classes,
)
from ibpcl.models.adapted import Adapted
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.numerics import logit
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(PosteriorSettings):
    """Settings of CLAW."""

    method = "claw"

    single_head: bool = option(
        False, "One head and one set of adaptations for all tasks, instead of one per task."
    )
    probability: float = option(
        0.1, "Prior probability that a task adapts a unit.", above=0, below=1
    )
    adaptation_rate: float = option(0.01, "Learning rate of the adaptations (Adam).", at_least=0)
    mask_rate: float = option(
        0.1, "Learning rate of the log-odds that a unit is adapted (Adam).", at_least=0
    )
    tau_start: float = option(
        1.0, "Temperature of the relaxed masks at a task's first step.", above=0
    )
    tau_end: float = option(
        0.5, "Temperature at a task's last step; it falls geometrically.", above=0
    )

    # fixed settings, which the steps of VCL read
    coreset = "none"
    coreset_size = 0


class AdaptedClassifier(GaussianClassifier):
    """Classifier whose tasks adapt units: its network and its shared parameters.

    Parameters
    ----------
    settings : Settings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"classification"``.
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    given_masks : None
        No hard masks: masks are sampled.
    """

    given_masks = None

    @property
    def rates(self):
        """Learning rate of each block of parameters."""
        settings = self.settings
        return super().rates | {"rho": settings.mask_rate, "film": settings.adaptation_rate}

    @property
    def temperatures(self):
        """Temperatures of the relaxed masks at the first and the last step."""
        return (self.settings.tau_start, self.settings.tau_end)

    def network(self, inputs, hidden, outputs):
        """Return the network with the given widths.

        Parameters
        ----------
        inputs : int
            Width D of the examples.
        hidden : tuple of int
            Units of each hidden layer.
        outputs : int
            Number of classes.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only; its hidden units can be adapted.
        """
        return classifier(inputs, hidden, Softmax(), outputs, Adapted, self.settings.activation)

    def as_trained(self, network):
        """Return the network that training uses.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of a task, from :meth:`network`.

        Returns
        -------
        network : ibpcl.models.network.Network
            The argument: pre-activations are always drawn.
        """
        return network

    def shares(self, name):
        """Return whether all tasks share a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"hidden0.weight.mu"`` or ``"hidden0.rho"``.

        Returns
        -------
        shared : bool
            False for heads, masks and adaptations, unless all tasks use a single head.
        """
        if self.settings.single_head:
            return True
        return not (name.startswith("head.") or name.endswith((".rho", ".adaptation")))

    def start(self, context, network, task):
        """Return fresh parameters of a network.

        Parameters
        ----------
        context : ibpcl.methods.sequential.Context
            Gives the random key of the task: ``learner.context`` of a learner.
        network : ibpcl.models.network.Network
            Network to initialize, from :meth:`network`.
        task : ibpcl.continual.task.Task
            The task; not used.

        Returns
        -------
        vector : ndarray, shape (P,)
            Weights as in VCL, masks at their prior, adaptations at 0.
        """
        vector = super().start(context, network, task)
        vector[network.layout.block("rho")] = logit(self.settings.probability)
        return vector

    def sticks_prior(self, network, vector, first):
        """Return the log-odds of the masks' prior by layer.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from ``context.next_network(task.outputs)``.
        vector : ndarray, shape (P,)
            Last posterior.
        first : bool
            Whether this is the first task.

        Returns
        -------
        prior : dict of str to ndarray, shape (K,)
            The log-odds of ``settings.probability``; with a single head and after the first task,
            those of the last posterior.
        """
        views = network.layout.layers(vector)
        adapted = {
            name: layer.units
            for name, layer in network.layers.items()
            if isinstance(layer, Adapted)
        }
        if self.settings.single_head and not first:
            return {name: views[name]["rho"].copy() for name in adapted}
        odds = logit(self.settings.probability)
        return {name: np.full(units, odds, np.float32) for name, units in adapted.items()}


@documented_learner
class CLAW(Saved):
    """Learner of VCL whose tasks multiply the shared weights of chosen units.

    Adel et al. (2020), "Continual Learning with Adaptive Weights".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    refined : dict of int to ndarray
        Parameters used for predictions, by task; computed at the first prediction.
    """

    settings_type = Settings
    model_type = AdaptedClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)
