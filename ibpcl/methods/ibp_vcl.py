r"""IBP-VCL: VCL in a network whose units an Indian buffet process switches on for each example.

Kessler, Nguyen, Zohren and Roberts (2021), "Hierarchical Indian Buffet Neural Networks for Bayesian
Continual Learning", the model with one Indian buffet process per layer.  Hidden units are
multiplied by masks (see :mod:`ibpcl.models.units`).  The last posterior of the weights *and* of the
sticks is the next prior:

.. math:: \mathcal L_t = \sum_n \mathbb E_q[\log p(y_n | x_n, V, z_n)] - KL[q(V) \| q_{t - 1}(V)]
          - KL[q(v) \| q_{t - 1}(v)] - \sum_n \mathbb E_{q(v)} KL[q(z_n | v) \| p(z_n | v)],

with :math:`q_0(V) = \mathcal N(0, \sigma_0^2)` and :math:`q_0(v_k) = \mathrm{Beta}(\alpha, 1)`,
which is Kumaraswamy(alpha, 1).  As in the paper, masks are drawn from their prior given the sticks,
:math:`q(z_{nk} | v) = p(z_{nk} | v)`, so the last divergence is 0.  With ``offsets``, a task draws
them from :math:`\sigma(\rho_k + \operatorname{logit} \pi_k)` instead, where :math:`\rho` belongs to
the task.  A task may then prefer other units than the sticks do, at a cost for every example.

With all masks at one this is VCL.  Apart from the masks, everything is as in VCL: local
reparameterization, the maximum-likelihood fit before the first task, heads, and random keys.
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
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import MASK_KLS, sticks
from ibpcl.models.network import classifier
from ibpcl.models.parameters import write
from ibpcl.models.units import Units, with_shared_sticks
from ibpcl.numerics import inverse_softplus
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(PosteriorSettings):
    """Settings of IBP-VCL."""

    method = "ibp_vcl"

    hidden: tuple[int, ...] = option(
        (200,), "Units of each hidden layer: the truncation level of its IBP."
    )
    single_head: bool = option(
        False, "One head and one set of offsets for all tasks, instead of one per task."
    )
    likelihood_epochs: int = option(
        5, "Maximum-likelihood epochs, without masks, before the first task."
    )
    rate: float = option(0.001, "Learning rate of the weights (Adam).")
    mask_rate: float = option(0.1, "Learning rate of sticks and offsets (Adam).", at_least=0)
    alpha: float = option(
        30.0,
        "Concentration of the IBP: the expected number of units that are on for an example, at "
        "first.",
        above=0,
    )
    offsets: bool = option(
        False,
        "Each task learns offsets to the log-odds of its units; if false, the sticks alone decide.",
    )
    mask_kl: str = option(
        "bernoulli",
        "KL divergence of the masks; concrete is that of the relaxed masks.",
        choices=MASK_KLS,
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
    # all layers share the sticks of the widest one: ibpcl.methods.hibp_vcl
    hierarchical = False


class BuffetClassifier(GaussianClassifier):
    """Classifier whose hidden units have masks: its network and its shared parameters.

    Tasks share the sticks of the hidden layers; offsets belong to a task.

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
        return {
            "mu": settings.rate,
            "log_sigma": settings.rate,
            "sticks": settings.mask_rate,
            "rho": settings.mask_rate if settings.offsets else 0.0,
        }

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
            Architecture only; its hidden units have masks.
        """
        settings = self.settings
        network = classifier(
            inputs, hidden, Softmax(), outputs, Units, settings.activation, kl=settings.mask_kl
        )
        return with_shared_sticks(network) if settings.hierarchical else network

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
            Name of the parameter, such as ``"hidden0.raw_a"`` or ``"hidden0.rho"``.

        Returns
        -------
        shared : bool
            False for heads and offsets, unless all tasks use a single head.
        """
        return self.settings.single_head or not (name.startswith("head.") or name.endswith(".rho"))

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
            Weights as in VCL, sticks at their prior Kumaraswamy(alpha, 1), offsets at 0.
        """
        vector = super().start(context, network, task)
        for layer in network.layout.layers(vector).values():
            if "raw_a" in layer:
                raw_a = inverse_softplus(float(self.settings.alpha))
                write(layer, {"raw_a": raw_a, "raw_b": inverse_softplus(1.0)})
        return vector

    def sticks_prior(self, network, vector, first):
        """Return the prior of the sticks of each layer with masks.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from ``context.next_network(task.outputs)``.
        vector : ndarray, shape (P,)
            Last posterior.
        first : bool
            Whether this is the first task, whose prior is Kumaraswamy(alpha, 1).

        Returns
        -------
        prior : dict of str to tuple of (ndarray, ndarray)
            Kumaraswamy parameters a and b, each of shape (K,), by layer.
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
            if isinstance(layer, Units) and not layer.sticks_of
        }


@documented_learner
class IBPVCL(Saved):
    """Learner that applies Bayes' rule task by task to weights and to the probabilities of units.

    Kessler et al. (2021), "Hierarchical Indian Buffet Neural Networks".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    refined : dict of int to ndarray
        Parameters used for predictions, by task; computed at the first prediction.
    """

    settings_type = Settings
    model_type = BuffetClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)
