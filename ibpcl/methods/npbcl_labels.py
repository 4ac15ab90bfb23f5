"""NPBCL on classes and on regressions: the hidden layers are masked, the head is each task's own,
or one for all.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ibpcl.continual.learner import check_task
from ibpcl.errors import TrainingError
from ibpcl.inference.objectives import Weighted
from ibpcl.models import likelihoods, starts
from ibpcl.models.elbo import Elbo
from ibpcl.models.masked import Masked
from ibpcl.models.network import classifier


@dataclass(frozen=True)
class LabelModel:
    """The network of tasks with labels, and which of its parameters a task has for itself.

    Parameters
    ----------
    settings : ibpcl.methods.npbcl_settings.Settings
    """

    settings: object

    # The noise of each phase of a task: a name keeps its number, so that a new phase changes no
    # published result.
    streams: ClassVar = {
        "initial": 0,
        "likelihood": 1,
        "masked": 2,
        "cut": 3,
        "finetune": 4,
        "coreset": 5,
        "predict": 6,
    }
    stride = 7  # numbers that are set aside for a task

    def accept(self, task, state):
        """Refuse a task that does not fit those before it.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
        state : ibpcl.methods.npbcl.State

        Returns
        -------
        outputs : int
            The width of the network's outputs.
        state : ibpcl.methods.npbcl.State
            With the kind and the width of the tasks, which the first one decides.

        Raises
        ------
        TypeError, ValueError, TrainingError
            If the task is of another kind, has another width, or does not fit the likelihood or the
            one head.
        """
        kinds = ("classification", "regression")
        if state.learned:
            kinds = ("regression",) if state.regression else ("classification",)
        check_task("npbcl", task, kinds, state.inputs)
        if task.kind == "regression" and self.settings.prediction_samples < 2:
            raise ValueError(
                "npbcl: prediction_samples must be at least 2 for a regression, which tells its "
                "deviation"
            )
        state = replace(state, inputs=task.inputs, regression=task.kind == "regression")
        try:
            width = self.likelihood(state.regression).width(task.outputs)
        except ValueError as error:
            raise TrainingError(f"npbcl: task {task.name!r}: {error}") from error
        if self.settings.single_head and state.learned and width != state.outputs[0]:
            raise ValueError(
                f"npbcl: task {task.name!r} has {task.outputs} outputs, the one head "
                f"{state.outputs[0]}"
            )
        return width, state

    def likelihood(self, regression):
        """Return what the outputs mean."""
        settings = self.settings
        if regression:
            return likelihoods.Gaussian(settings.noise_sigma, settings.learn_noise)
        return likelihoods.of_classes(settings.likelihood)

    def network(self, inputs, hidden, outputs, regression):
        """Return the network with given widths (ints, and a tuple of ints) for tasks that are
        regressions or not.
        """
        return classifier(
            inputs,
            hidden,
            self.likelihood(regression),
            outputs,
            Masked,
            self.settings.activation,
            model=self.settings.mask_model,
        )

    def hidden(self, network):
        """Return the units of each hidden layer."""
        return tuple(layer.units for layer in network.masked.values())

    def is_own(self, name):
        """Return whether each task has a parameter of this name for itself."""
        return name.startswith(("noise.",) if self.settings.single_head else ("noise.", "head."))

    def shares(self, name):
        """Return whether all tasks share the parameters of a name."""
        return name.endswith(("mu", "log_sigma")) and not self.is_own(name)

    def own_places(self, network, masks):
        """Return which parameters (P,) a task with hard masks (by layer) has for itself."""
        chosen = np.zeros(network.layout.size, bool)
        for name, view in network.layout.views(chosen).items():
            view[...] = self.is_own(name)
        return chosen

    def known(self, network, known):
        """Return by layer which weights earlier tasks use: what their masks say."""
        return known

    def means(self, rng):
        """Return how the means of fresh weights are drawn: see :mod:`ibpcl.models.starts`."""
        return starts.normal(rng, self.settings.start_spread)

    def start_own(self, network, vector, x, rng, known, alpha, posterior):
        """Start the masks, in place; the other arguments are read for images only."""
        vector[network.layout.block("rho")] = self.settings.start_rho

    def weighted(self, network, known):
        """Return what is maximized: the ELBO, its parts weighted."""
        settings = self.settings
        return Weighted(
            Elbo(
                1.0,
                -settings.weight_kl_weight,
                -settings.mask_kl_weight,
                -settings.stick_kl_weight,
                -settings.stick_kl_weight,
            )
        )

    def useful(self, network, masks, x):
        """Return hard masks by layer without what the task cannot use: all of them."""
        return masks

    def used(self, network, masks):
        """Return by layer which weights hard masks use."""
        return masks
