"""Network of NPBCL for classification and regression: masked hidden layers and a head per task."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ibpcl.continual.learner import check_task, classes_seen
from ibpcl.errors import TrainingError
from ibpcl.inference.objectives import Weighted
from ibpcl.models import likelihoods, starts
from ibpcl.models.architecture import from_line
from ibpcl.models.correlated import FullCovariance
from ibpcl.models.elbo import Elbo
from ibpcl.models.layers import Gaussian
from ibpcl.models.masked import Masked
from ibpcl.models.network import classifier
from ibpcl.models.parameters import corner

# Parameters of a layer's sticks and of a learned alpha.
STICKS = ("raw_a", "raw_b", "raw_shape", "raw_scale")


@dataclass(frozen=True)
class LabelModel:
    """Network of NPBCL for tasks with labels, and its split into shared and own parameters.

    The head belongs to the task, unless all tasks use a single head.  The noise of a regression and
    the masks always belong to the task.

    Parameters
    ----------
    settings : ibpcl.methods.npbcl_settings.Settings
        Settings of the learner.

    Attributes
    ----------
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    """

    settings: object

    # A phase keeps its number forever, so that a new phase does not change published results.
    streams: ClassVar = {
        "initial": 0,
        "likelihood": 1,
        "masked": 2,
        "cut": 3,
        "finetune": 4,
        "coreset": 5,
        "predict": 6,
    }
    stride = 7

    def accept(self, task, state):
        """Check that a task fits the earlier ones, and return the width of the outputs.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            The next task.
        state : ibpcl.methods.npbcl.State
            State before the task.

        Returns
        -------
        outputs : int
            Number of network outputs.
        state : ibpcl.methods.npbcl.State
            With the kind and the width of the tasks, which the first task decides.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or neither a classification nor a regression, or of another
            kind than the earlier tasks.
        ValueError
            If its inputs are wider or narrower than those of earlier tasks, it does not fit the
            single head, a regression has fewer than 2 prediction samples, or its classes are
            refused by :func:`ibpcl.continual.learner.classes_seen`.
        TrainingError
            If the likelihood does not fit the number of classes, or cannot leave out classes.
        """
        kinds = ("classification", "regression")
        if state.learned:
            kinds = ("regression",) if state.regression else ("classification",)
        check_task("npbcl", task, kinds, state.inputs)
        if task.kind == "regression" and self.settings.prediction_samples < 2:
            raise ValueError(
                "npbcl: prediction_samples must be at least 2 for a regression, which estimates a "
                f"standard deviation, got {self.settings.prediction_samples}"
            )
        seen = classes_seen("npbcl", task, state, self.settings.single_head)
        state = replace(state, inputs=task.inputs, regression=task.kind == "regression", seen=seen)
        try:
            likelihood = self.likelihood(state.regression)
            width = likelihood.width(task.outputs)
            if seen is not None:
                likelihood.among(seen)
        except ValueError as error:
            raise TrainingError(f"npbcl: task {task.name!r}: {error}") from error
        if self.settings.single_head and state.learned and width != state.outputs[0]:
            raise ValueError(
                f"npbcl: task {task.name!r} must have {state.outputs[0]} outputs, as the single "
                f"head has, got {task.outputs}"
            )
        return width, state

    def likelihood(self, regression):
        """Return the likelihood of the targets given the network outputs.

        Parameters
        ----------
        regression : bool
            Whether the tasks are regressions.

        Returns
        -------
        likelihood : ibpcl.models.likelihoods.Likelihood
            Gaussian for a regression, else as ``settings.likelihood`` selects.
        """
        settings = self.settings
        if regression:
            return likelihoods.Gaussian(settings.noise_sigma, settings.learn_noise)
        return likelihoods.of_classes(settings.likelihood)

    def network(self, inputs, hidden, outputs, regression):
        """Return the network with the given widths, or the one that the settings describe.

        Parameters
        ----------
        inputs : int
            Width D of the examples.
        hidden : tuple of int
            Units of each hidden layer; with ``settings.network`` those of its parts conv and dense.
        outputs : int
            Number of network outputs.
        regression : bool
            Whether the tasks are regressions.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only; its hidden layers are masked.
        """
        settings = self.settings
        likelihood = self.likelihood(regression)
        options = {
            "activation": settings.activation,
            "model": settings.mask_model,
            "head": FullCovariance if settings.full_head else Gaussian,
        }
        if settings.network:
            line = settings.network
            return from_line(inputs, line, likelihood, outputs, Masked, widths=hidden, **options)
        return classifier(inputs, hidden, likelihood, outputs, Masked, **options)

    def hidden(self, network):
        """Return the units of each hidden layer, without those of residual blocks.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of a task, from :meth:`network`.

        Returns
        -------
        hidden : tuple of int
            From the inputs to the outputs.
        """
        return tuple(network.layers[name].units for name, *_ in self.of_width(network))

    def of_width(self, network):
        """Return the masked layers that have the width of each hidden layer.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of a task, from :meth:`network`.

        Returns
        -------
        names : list of tuple of str
            Names of layers, for each entry of :meth:`hidden`.
        """
        names = [(name,) for name in network.masked if name not in network.bypassed]
        # residual blocks have the width of the layer before them
        blocks = [name for name in network.layers if name in network.bypassed]
        names[-1] = (*names[-1], *blocks)
        return names

    def is_own(self, name):
        """Return whether each task has its own copy of a Gaussian parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"head.weight.mu"``.

        Returns
        -------
        own : bool
            True for the noise of a regression, and for the head unless tasks use a single head.
        """
        return name.startswith(("noise.",) if self.settings.single_head else ("noise.", "head."))

    def shares(self, name):
        """Return whether all tasks share a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"hidden0.weight.mu"``.

        Returns
        -------
        shared : bool
            True for means and log standard deviations that are not a task's own.  With
            ``settings.shared_mask = "joint"`` also for the masks and sticks.
        """
        shared = ("mu", "log_sigma")
        if self.settings.shared_mask == "joint":
            shared = (*shared, "rho", *STICKS)
        return name.endswith(shared) and not self.is_own(name)

    def own_places(self, network, masks):
        """Return which parameters belong to one task only.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from :meth:`network`.
        masks : dict of str to ndarray of bool
            Hard masks of the task; not used.

        Returns
        -------
        own : ndarray of bool, shape (P,)
            True for the task's own parameters.
        """
        chosen = np.zeros(network.layout.size, bool)
        for name, view in network.layout.views(chosen).items():
            view[...] = self.is_own(name)
        return chosen

    def known(self, network, known):
        """Return which weights earlier tasks use.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the next task; not used.
        known : dict of str to ndarray of bool, shape (D, K)
            Union of the earlier masks by layer.

        Returns
        -------
        known : dict of str to ndarray of bool, shape (D, K)
            The argument, unchanged.
        """
        return known

    def means(self, rng):
        """Return the initializer of the means of fresh weights.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the random means.

        Returns
        -------
        start : callable
            ``start(layer, parameters)`` writes normal means with standard deviation
            ``settings.start_spread``.
        """
        return starts.normal(rng, self.settings.start_spread)

    def start_own(self, network, vector, x, rng, known, alpha, posterior):
        """Initialize the masks of a task, in place.

        With ``settings.shared_mask = "joint"`` the last posterior of the masks becomes the prior,
        from which the task starts, and the sticks start at their last posterior.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from :meth:`network`.
        vector : ndarray, shape (P,)
            Parameters; rho is set to ``settings.start_rho``, or to 0 where the masks inherit an
            earlier posterior.
        x : ndarray, shape (N, D), or None
            Inputs of the task; not used.
        rng : numpy.random.Generator
            Source of randomness; not used.
        known : dict of str to ndarray of bool
            Weights that earlier tasks use; not used.
        alpha : ndarray, shape (L,)
            Concentration of each masked layer; not used.
        posterior : dict of str to dict
            Shared parameters by layer and name; empty before the first task.
        """
        vector[network.layout.block("rho")] = self.settings.start_rho
        if self.settings.shared_mask != "joint" or not posterior:
            return
        vector[network.layout.block("rho")] = 0
        views = network.layout.layers(vector)
        for name in network.masked:
            last = posterior[name]
            inherited = {stick: last[stick] for stick in STICKS if stick in last}
            inherited["prior_rho"] = last["prior_rho"] + last["rho"]
            # A network that grew has more units; theirs come after those of the posterior.
            for parameter, values in inherited.items():
                view = views[name][parameter]
                groups = network.masked[name].row_groups
                view[corner(values.shape, view.shape, groups)] = values

    def weighted(self, network, known):
        """Return the weights of the training objective.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task; not used.
        known : dict of str to ndarray of bool
            Weights that earlier tasks use; not used.

        Returns
        -------
        weighted : ibpcl.inference.objectives.Weighted
            The ELBO with its KL divergences weighted as in the settings.
        """
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
        """Return the hard masks without weights that cannot change the output.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task; not used.
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard mask of each masked layer.
        x : ndarray, shape (N, D)
            Training inputs; not used.

        Returns
        -------
        masks : dict of str to ndarray of bool, shape (D, K)
            The argument: with labels, all masked weights are kept.
        """
        return masks

    def used(self, network, masks):
        """Return which weights the hard masks of a task use.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task; not used.
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard mask of each masked layer.

        Returns
        -------
        used : dict of str to ndarray of bool, shape (D, K)
            The argument, unchanged.
        """
        return masks
