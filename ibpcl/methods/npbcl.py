"""NPBCL: Bayesian structure adaptation for continual learning, the method of the paper.

Kumar et al. (2021), Algorithm 1.  Each task goes through four phases:

1. *masked training* of weights and relaxed masks under the prior :math:`p_t`;
2. cutting the hard masks of the task;
3. *selective fine-tuning* of the weights that these masks keep;
4. the update of the prior: masked by Eq. 11, the posterior becomes the prior of the next task.

The algorithm prints "arg min" of the ELBO; the ELBO is maximized.

Given a hard mask, the ELBO is largest when every weight that the mask drops equals its prior.  So a
weight that earlier tasks use returns exactly to their posterior.  A weight that no task uses has a
Gaussian prior to return to only with ``unused_prior = "gaussian"``.  By default it has none: it
stays where masked training left it, and the next task draws it afresh.

The module reads from top to bottom: the state kept between tasks (:class:`State`), the inputs of
every step (:class:`Context`), the steps in the order of the algorithm, the algorithm itself
(:func:`learn_task`), predictions, and the learner (:class:`NPBCL`).  The networks are built by
:mod:`ibpcl.methods.npbcl_labels` for classification and regression and by
:mod:`ibpcl.methods.npbcl_images` for images.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ibpcl.continual import coresets, expansion
from ibpcl.continual import masks as hard_masks
from ibpcl.continual import prior as priors
from ibpcl.continual.learner import Saved, check_inputs, check_task_id, phase_key
from ibpcl.errors import TrainingError
from ibpcl.inference import objectives
from ibpcl.inference.binary_masks import Estimator
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data
from ibpcl.methods.npbcl_labels import LabelModel
from ibpcl.methods.npbcl_settings import PRESETS, Settings
from ibpcl.methods.own import own_prior
from ibpcl.models import correlated, prediction, subnetwork
from ibpcl.models.elbo import Flat, Prior
from ibpcl.models.masked import sticks
from ibpcl.models.parameters import Layout, corner, write
from ibpcl.noise import generator
from ibpcl.primitives import weibull

__all__ = ["NPBCL", "PRESETS", "Settings"]

# Blocks of the parameter vector that weight_rate and mask_rate apply to.
OF_WEIGHTS = ("mu", "log_sigma", "noise", "codes", "prior")
OF_MASKS = ("rho", "sticks", "alpha")
# Selects the noise of units that are added after masked training; no phase has so many steps.
AFTER_LAST_STEP = 2**32 - 1


@dataclass(frozen=True)
class State:
    """State of NPBCL after the learned tasks; tuples have one element per task.

    Attributes
    ----------
    alpha : ndarray, shape (L,)
        Concentration of the IBP in each of the L masked layers, for the next task.
    inputs : int or None
        Width D of the examples; None before the first task.
    regression : bool
        Whether the tasks are regressions.
    shared : ndarray or None
        Gaussian parameters that all tasks share, in the order of the newest network's vector; None
        before the first task.  With ``shared_mask = "joint"`` also those of masks and sticks.
    outputs : tuple of int
        Number of network outputs of each task.
    widths : tuple of tuple of int
        Units of each hidden layer after each task.  A network that grows was smaller for earlier
        tasks.
    own : tuple of ndarray
        Parameters that belong to one task only, such as its head, in the order of its network's
        vector.
    masks : tuple of tuple of ndarray
        Hard mask of each masked layer, packed by :func:`ibpcl.continual.masks.pack_layer` to one
        bit per weight, or per mask that weights share.
    coresets : tuple of Data or None
        Coreset of each task, or its part of a coreset for all tasks; None for a task without one.
    seen : tuple of int or None
        Labels of the classes that the tasks have shown so far, the next task included while it is
        learned; None if all classes take part from the start.
    """

    alpha: np.ndarray
    inputs: int | None = None
    regression: bool = False
    shared: np.ndarray | None = None
    outputs: tuple[int, ...] = ()
    widths: tuple[tuple[int, ...], ...] = ()
    own: tuple[np.ndarray, ...] = ()
    masks: tuple[tuple[np.ndarray, ...], ...] = ()
    coresets: tuple[Data | None, ...] = ()
    seen: tuple[int, ...] | None = None

    @classmethod
    def initial(cls, settings):
        """Return the state before the first task.

        Parameters
        ----------
        settings : Settings or ImageSettings
            Settings of the learner; ``settings.alphas`` becomes ``alpha``.

        Returns
        -------
        state : State
            A state without tasks.
        """
        return cls(settings.alphas)

    @property
    def learned(self):
        """Number of tasks learned so far."""
        return len(self.outputs)

    def arrays(self):
        """Return the state as a dictionary of arrays, ready to be written to a file.

        Returns
        -------
        arrays : dict of str to ndarray
            ``inputs``, ``outputs``, ``shared``, ``task{t}.own`` and entries that begin with
            ``memory.``; empty before the first task.
        """
        if not self.learned:
            return {}
        arrays = {
            "inputs": np.array(self.inputs),
            "outputs": np.array(self.outputs),
            "shared": self.shared,
            "memory.alpha": self.alpha,
            "memory.regression": np.array(self.regression),
        }
        for t in range(self.learned):
            arrays[f"task{t}.own"] = self.own[t]
            arrays[f"memory.widths{t}"] = np.array(self.widths[t])
            arrays |= {f"memory.mask{t}.{i}": bits for i, bits in enumerate(self.masks[t])}
            if self.coresets[t] is not None:
                arrays |= {f"memory.x{t}": self.coresets[t].x, f"memory.y{t}": self.coresets[t].y}
        return arrays | ({} if self.seen is None else {"memory.seen": np.array(self.seen)})

    def with_arrays(self, arrays):
        """Return the state that :meth:`arrays` described.

        Parameters
        ----------
        arrays : dict of str to ndarray
            Result of :meth:`arrays`.

        Returns
        -------
        state : State
            The described state, or ``self`` if ``arrays`` is empty.
        """
        if not arrays:
            return self
        arrays = {name: np.array(values) for name, values in arrays.items()}
        tasks = range(len(arrays["outputs"]))
        layers = range(len(arrays["memory.alpha"]))
        return State(
            arrays["memory.alpha"],
            int(arrays["inputs"]),
            bool(arrays.get("memory.regression", False)),
            arrays["shared"],
            tuple(map(int, arrays["outputs"])),
            tuple(tuple(arrays[f"memory.widths{t}"].tolist()) for t in tasks),
            tuple(arrays[f"task{t}.own"] for t in tasks),
            tuple(tuple(arrays[f"memory.mask{t}.{i}"] for i in layers) for t in tasks),
            tuple(
                Data(arrays[f"memory.x{t}"], arrays[f"memory.y{t}"])
                if f"memory.x{t}" in arrays
                else None
                for t in tasks
            ),
            tuple(arrays["memory.seen"].tolist()) if "memory.seen" in arrays else None,
        )


@dataclass(frozen=True)
class Context:
    """Inputs of every step of the algorithm; no step changes them.

    The current context of a learner is ``learner.context``.  Before the steps of a task, its state
    takes over the kind and the width of the task::

        outputs, state = context.model.accept(task, context.state)
        context = dataclasses.replace(context, state=state)
        network = context.next_network(outputs)

    Attributes
    ----------
    settings : Settings or ImageSettings
        Hyperparameters of the learner.
    model : LabelModel or ImageModel
        Builds the network of a task and selects the parameters that tasks share.
    state : State
        The tasks learned so far.
    seed : int
        Seed of all random numbers.
    backend : ibpcl.inference.backend.Backend
        Library that runs the numerical kernels.
    progress : bool, ibpcl.inference.loop.Watch or None
        Whether progress bars are shown (None: on a terminal only), or a Watch that also receives
        every epoch.
    """

    settings: object
    model: object
    state: State
    seed: int
    backend: object
    progress: object = None

    state_type: ClassVar = State

    def key(self, phase, task_id=None):
        """Return the random key of a phase of a task.

        Parameters
        ----------
        phase : str
            A key of ``model.streams``, such as ``"masked"`` or ``"finetune"``.
        task_id : int, optional
            Task that draws the noise; the next task if not given.

        Returns
        -------
        key : ibpcl.noise.Key
            Seed and position of the noise; equal keys draw equal noise.
        """
        t = self.state.learned if task_id is None else task_id
        return phase_key(self.model, self.seed, t, phase)

    def fit(self, phase, epochs, **changes):
        """Return the training plan of a phase.

        Parameters
        ----------
        phase : str
            Name of the phase in the history, and the stream of its noise.
        epochs : int
            Passes over the training data, >= 0.
        **changes : object
            Fields of :class:`ibpcl.inference.loop.Fit` to set otherwise.

        Returns
        -------
        plan : ibpcl.inference.loop.Fit
            Batch size, samples, temperatures and learning-rate decay as in the settings.
        """
        settings = self.settings
        plan = Fit(
            phase,
            epochs,
            settings.batch,
            settings.samples,
            self.key(phase),
            self.backend,
            self.progress,
            settings.rate_end,
            tau=(settings.tau_start, settings.tau_end),
            mask_gradient=Estimator(settings.mask_gradient, settings.rebar_eta),
        )
        return plan._replace(**changes)

    def network_of(self, task_id):
        """Return the network of a learned task, with the widths it had after that task.

        Parameters
        ----------
        task_id : int
            A learned task.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only; :meth:`assemble` also returns the parameters.
        """
        state = self.state
        network = self.model.network(
            state.inputs, state.widths[task_id], state.outputs[task_id], state.regression
        )
        return network.among(state.seen)

    def next_network(self, outputs, hidden=None):
        """Return the network of the next task.

        Parameters
        ----------
        outputs : int
            Number of network outputs.
        hidden : tuple of int, optional
            Units of each hidden layer; those of the last task if not given.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only.
        """
        newest = self.state.widths[-1] if self.state.learned else self.settings.widths
        network = self.model.network(
            self.state.inputs, hidden or newest, outputs, self.state.regression
        )
        return network.among(self.state.seen)

    def masks(self, task_id):
        """Return the hard masks of a learned task.

        Parameters
        ----------
        task_id : int
            A learned task.

        Returns
        -------
        masks : dict of str to ndarray of bool, shape (D, K)
            Mask of each masked layer by the layer's name; True keeps the weight.  With
            ``settings.shared_mask = "joint"`` these are the masks of the last task.
        """
        layers = self.network_of(task_id).masked
        cut_by = self.state.learned - 1 if self.settings.shared_mask == "joint" else task_id
        masks = {
            name: hard_masks.unpack_layer(bits, layer)
            for bits, (name, layer) in zip(
                self.state.masks[cut_by], self.network_of(cut_by).masked.items(), strict=True
            )
        }
        # Units are appended, so an earlier network is the corner of each mask.
        return {
            name: mask[corner(layers[name].shape, mask.shape, layers[name].row_groups)]
            for name, mask in masks.items()
        }

    def shared_layout(self, task_id):
        """Return the layout of the shared parameters in the network of a learned task.

        Parameters
        ----------
        task_id : int
            A learned task.

        Returns
        -------
        layout : ibpcl.models.parameters.Layout
            Names, shapes and order of the parameters that tasks share.
        """
        entries = self.network_of(task_id).layout.entries
        return Layout(entry for entry in entries if self.model.shares(entry.name))

    def posterior(self):
        """Return the shared Gaussian parameters after the last task.

        Returns
        -------
        posterior : dict of str to dict of str to ndarray
            Means and log standard deviations by layer, then by name such as ``"weight.mu"``; empty
            before the first task.
        """
        if not self.state.learned:
            return {}
        return self.shared_layout(self.state.learned - 1).layers(self.state.shared)

    def assemble(self, task_id):
        """Return the network, the parameters and the masks of a learned task.

        Parameters
        ----------
        task_id : int
            A learned task.

        Returns
        -------
        network : ibpcl.models.network.Network
            With the widths it had after that task.
        vector : ndarray, shape (P,)
            Shared parameters of the newest posterior, and the task's own.
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard mask of each masked layer.
        """
        network = self.network_of(task_id)
        masks = self.masks(task_id)
        newest = self.shared_layout(self.state.learned - 1)
        vector = np.zeros(network.layout.size, np.float32)
        # Units are appended, so an earlier network is the corner of each array.
        vector[network.layout.places(self.model.shares)] = self.state.shared[
            self.shared_layout(task_id).within(newest)
        ]
        vector[self.model.own_places(network, masks)] = self.state.own[task_id]
        return network, vector, masks


# The steps of Algorithm 1.


def split_coreset(context, task):
    """Take the task's coreset out of its training data (supplement C).

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings of the coreset, and the state: ``learner.context`` of an NPBCL learner.
    task : ibpcl.continual.task.Task
        The task to learn.

    Returns
    -------
    data : Data
        The remaining examples, for training.
    coreset : Data or None
        The chosen examples; None if ``settings.coreset`` is ``"none"``.

    Raises
    ------
    TrainingError
        If the coreset would take all examples, or more than there are.
    """
    settings = context.settings
    if settings.coreset == "none":
        return Data(task.x_train, task.targets), None
    return coresets.take_out(
        "npbcl", task, settings.coreset, settings.coreset_size, generator(context.key("coreset"))
    )


def update_coresets(context, task):
    """Choose the coreset, and train on the points that leave it (supplement C).

    With ``settings.coreset_selection = "per_task"`` this is :func:`split_coreset`, and no point
    leaves.  With ``"reselected"``, the coreset C_t of all tasks is chosen from D_t and C_{t-1}, and
    the posterior takes in the points of C_{t-1} that are not in C_t (:func:`take_in`).

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    task : ibpcl.continual.task.Task
        The task to learn.

    Returns
    -------
    context : ibpcl.methods.npbcl.Context
        With the posterior and the coresets of the earlier tasks after this step.
    data : Data
        The examples D_t without C_t, for training.
    coreset : Data or None
        The examples of D_t in C_t; None if there are none.
    history : list of ibpcl.inference.loop.Record
        One row per epoch on points that leave; empty if none does.

    Raises
    ------
    TrainingError
        If the coreset would take all examples, or more than there are.
    """
    settings = context.settings
    if settings.coreset == "none" or settings.coreset_selection == "per_task":
        return (context, *split_coreset(context, task), [])
    chosen = coresets.reselect(
        "npbcl",
        task,
        context.state.coresets,
        settings.coreset,
        settings.coreset_size,
        generator(context.key("coreset")),
    )
    *earlier, coreset = chosen.coresets
    context = replace(context, state=replace(context.state, coresets=tuple(earlier)))
    history = []
    for task_id, released in enumerate(chosen.released):
        if released is not None:
            context, rows = take_in(context, task_id, released)
            history += rows
    return context, chosen.data, coreset, history


def take_in(context, task_id, released):
    r"""Train the posterior on points that leave the coreset (supplement C).

    .. math::

        \tilde q_t = \mathrm{proj}\bigl(\tilde q_{t-1}\,
        p(D_t \cup C_{t-1} \setminus C_t \mid \theta)\bigr)

    The likelihood is a product over the examples, so Bayes' rule may take its factors one after
    another: first the points that leave, task by task, then :math:`D_t \setminus C_t`.  Points of
    task s are trained with the head and the hard mask of s, which they were collected for.  Only
    the weights of this mask and the head move.

    .. warning::
        The paper prints one projection.  Here there is one for each task with released points, and
        one for the new task.  Both ways agree if the posteriors are exact.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state.
    task_id : int
        The learned task s of the points.
    released : Data
        Its points in :math:`C_{t-1} \setminus C_t`.

    Returns
    -------
    context : ibpcl.methods.npbcl.Context
        With the new posterior of the shared parameters and of the head of task s.
    history : list of ibpcl.inference.loop.Record
        One row per epoch, of the phase ``"released"``.
    """
    state = context.state
    model = context.model
    network, vector, masks = context.assemble(task_id)
    key = coresets.released_key(context.seed, state.learned, task_id)
    vector, history = project(context, network, vector, masks, released, "released", key)
    shared = state.shared.copy()
    # Units are appended, so an earlier network is the corner of each array.
    places = context.shared_layout(task_id).within(context.shared_layout(state.learned - 1))
    shared[places] = vector[network.layout.places(model.shares)]
    own = list(state.own)
    own[task_id] = vector[model.own_places(network, masks)]
    return replace(context, state=replace(state, shared=shared, own=tuple(own))), history


def project(context, network, vector, masks, data, phase, key):
    """Return the posterior given some examples of a learned task, with its masks fixed.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.assemble(task_id)``.
    vector : ndarray, shape (P,)
        Its parameters, also the prior.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer.
    data : Data
        The examples.
    phase : str
        Name of the phase in the history.
    key : ibpcl.noise.Key
        Key of the noise.

    Returns
    -------
    vector : ndarray, shape (P,)
        New parameters; those that the masks switch off are unchanged.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    settings = context.settings
    plan = context.fit(
        "coreset", settings.coreset_epochs, key=key, rate_end=1.0, progress=False
    )._replace(phase=phase)
    # Only tasks with labels have coresets, and their objective holds no weights.  The known weights
    # of a network that has grown would not fit the network of an earlier task.
    weighted = context.model.weighted(network, {})
    return objectives.train(
        network,
        vector,
        Prior.at(network.layout, vector),
        data,
        plan,
        weight_rates(settings.coreset_rate),
        weighted,
        masks,
        vector,
    )[1:]


def known_weights(context, network):
    """Return the weights that earlier tasks use: they keep their posterior as prior (Eq. 11).

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the next task, from ``context.next_network(outputs)``.

    Returns
    -------
    known : dict of str to ndarray of bool, shape (D, K)
        True for a known weight, by layer.  Empty before the first task.
    """
    tasks = [context.masks(t) for t in range(context.state.learned)]
    known = {}
    for name, layer in context.posterior().items():
        # an autoencoder also shares parameters of its codes, which are not a layer
        if name in network.layers:
            used = [np.ones(layer["weight.mu"].shape, bool)]
            if name in network.masked and context.settings.masked_prior:
                used = [masks[name] for masks in tasks]
            layer = network.layers[name]
            known[name] = hard_masks.union(used, layer.shape, layer.row_groups)
    return context.model.known(network, known)


def masked_prior(context, network):
    """Return the prior of the next task by Eq. 11.

    Weights that an earlier task uses have the last posterior as prior.  Other weights have the
    prior that ``settings.unused_prior`` selects.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the next task, from ``context.next_network(outputs)``.

    Returns
    -------
    prior : ibpcl.models.elbo.Prior
        Prior of the Gaussian weights and of the sticks.

    Raises
    ------
    UserError
        If ``settings.unused_prior`` names a custom prior that cannot be imported or used.
    """
    settings = context.settings
    unused = context.settings.unused_prior
    sticks_prior = {
        # The mean of a Gamma(g, h) is g / h.
        name: (settings.alpha_prior_shape, settings.alpha_prior_shape / float(first))
        if layer.model.learns_alpha
        else alpha
        for (name, layer), alpha, first in zip(
            network.masked.items(),
            context.state.alpha.astype(np.float32),
            settings.alphas,
            strict=True,
        )
    }
    others = own_prior(unused) if ":" in unused else {"flat": Flat}.get(unused)
    return priors.assemble(
        network,
        context.posterior(),
        known_weights(context, network),
        settings.prior_sigma,
        sticks_prior,
        unused == "gaussian",
        others,
    )


def start(context, network, x, growth=0):
    """Return the initial parameters of the next task.

    Known weights start at the last posterior, all others are drawn afresh.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the next task, from ``context.next_network(outputs)``.
    x : ndarray, shape (N, D), or None
        Inputs of the task; None for a network that has just grown.
    growth : int
        Selects the noise: 0 at the start of the task, the step number plus one when the network
        grows in training, ``AFTER_LAST_STEP`` when it grows after it.

    Returns
    -------
    vector : ndarray, shape (P,)
        Parameters in the order of ``network.layout``.
    """
    rng = generator(context.key("initial")._replace(step=growth))
    vector = network.initial(
        context.model.means(rng), context.settings.start_sigma, context.state.alpha
    )
    views = network.layout.layers(vector)
    posterior = context.posterior()
    known = known_weights(context, network)
    for name, used in known.items():
        groups = network.layers[name].row_groups
        write(views[name], priors.select(used, posterior[name], views[name], groups))
    context.model.start_own(network, vector, x, rng, known, context.state.alpha, posterior)
    return vector


def warm_up(context, network, vector, prior, data):
    """Maximize the likelihood before the first task, without masks.

    Supplement B.1: "similar to VCL".  Nothing happens on later tasks or with
    ``settings.likelihood_epochs = 0``.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(outputs)``.
    vector : ndarray, shape (P,)
        Initial parameters, from :func:`start`.
    prior : ibpcl.models.elbo.Prior
        Prior of the task, from :func:`masked_prior`.
    data : ibpcl.inference.objectives.Data
        Training examples, from :func:`split_coreset`.

    Returns
    -------
    vector : ndarray, shape (P,)
        Parameters with the means at the fit.
    history : list of ibpcl.inference.loop.Record
        One row per epoch; empty if nothing was trained.
    """
    epochs = context.settings.likelihood_epochs
    if context.state.learned or not epochs:
        return vector, []
    return objectives.maximize_likelihood(
        network,
        vector,
        prior,
        data,
        context.fit("likelihood", epochs),
        context.settings.weight_rate,
    )[1:]


def weight_rates(rate):
    """Return the learning rate of each block of parameters but those of masks and sticks.

    Parameters
    ----------
    rate : float
        Learning rate of the weights.

    Returns
    -------
    rates : dict of str to float
        By block; correlations of a full head move more slowly.
    """
    return dict.fromkeys(OF_WEIGHTS, rate) | {"factor": correlated.RATE * rate}


def masked_training(context, network, vector, prior, data, train=objectives.train):
    """Maximize the ELBO over weights, relaxed masks and sticks while the temperature falls.

    Kumar et al. (2021), Sec. 4.4, Eqs. 8 and 10.  With ``settings.expand`` the network may grow
    every ``settings.expand_every`` steps (Sec. 4.6, :func:`grown`).

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(outputs)``.
    vector : ndarray, shape (P,)
        Initial parameters, from :func:`start`.
    prior : ibpcl.models.elbo.Prior
        Prior of the task, from :func:`masked_prior`.
    data : ibpcl.inference.objectives.Data
        Training examples, from :func:`split_coreset`.
    train : callable, optional
        Trains; :func:`ibpcl.inference.objectives.begin_stream` instead returns the phase, ready to
        be fed one minibatch at a time.

    Returns
    -------
    network : ibpcl.models.network.Network
        The network, larger than before if it has grown.
    vector : ndarray, shape (P,)
        Trained parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    settings = context.settings
    fixed_masks = given_masks(context)
    plan = context.fit("masked", settings.epochs_for(len(data.x))[0])
    rates = weight_rates(settings.weight_rate) | dict.fromkeys(OF_MASKS, settings.mask_rate)

    performances = []

    def look(network, vector, step, performance):
        performances.append(performance)
        return grown(context, network, vector, step, performances)

    return train(
        network,
        vector,
        prior,
        data,
        plan,
        rates,
        context.model.weighted(network, known_weights(context, network)),
        fixed_masks,
        rest(context, network, vector, prior, relaxed=fixed_masks is None),
        (settings.expand_every, look) if settings.expand and fixed_masks is None else None,
    )


def given_masks(context):
    """Return the masks of the task if it does not learn them.

    The setting ``shared_mask`` selects this ablation (Sec. 6.3).  With "first", or True, all tasks
    use the masks that the first one learned.  With "ones", all weights are kept.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K), or None
        Mask of each masked layer; None if the task learns masks.
    """
    shared = context.settings.shared_mask
    if shared == "ones":
        # Heads have no masks, so the number of outputs does not matter.
        layers = context.next_network(outputs=1).masked
        return {name: np.ones(layer.shape, bool) for name, layer in layers.items()}
    return context.masks(0) if shared in (True, "first") and context.state.learned else None


def rest(context, network, vector, prior, relaxed=False):
    """Return the optimum of the parameters on which the data does not depend.

    Such weights rest at the mean and standard deviation of their prior, and with sampled masks rho
    rests at 0.  Training leaves them out and sets them to these values.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(outputs)``.
    vector : ndarray, shape (P,)
        Current parameters.
    prior : ibpcl.models.elbo.Prior
        Prior of the task, from :func:`masked_prior`.
    relaxed : bool
        Whether masks are sampled.

    Returns
    -------
    values : ndarray, shape (P,), or None
        Optimum of each such parameter.  None if they must not be reset, or if no KL divergence
        would pull them to the prior.
    """
    settings = context.settings
    if not (
        settings.weight_kl_weight
        and (settings.mask_kl_weight if relaxed else settings.reset_unused)
    ):
        return None
    values = subnetwork.at_rest(network, vector, prior)
    if relaxed:
        values[network.layout.block("rho")] = 0
    return values


def grown(context, network, vector, step, performances):
    """Add units during masked training (Sec. 4.6).

    With ``settings.growth = "empty_columns"`` every layer gets the units that it lacks by Eq. 12.
    The mask is the mean mask or a sample from the posterior, as ``settings.grow_by`` selects.  With
    "greedy" every layer gets ``settings.empty_units`` units until the performance saturates.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network in training.
    vector : ndarray, shape (P,)
        Its parameters.
    step : int
        Number of the training step, from 0; selects the noise of the new parameters.
    performances : sequence of float
        Training objective at each look in this task so far, in nats per example.

    Returns
    -------
    grown : ibpcl.inference.objectives.Grown or None
        The larger network with its parameters and its prior; None if the network stays as it is.
    """
    settings = context.settings
    if settings.growth == "greedy":
        widths = context.model.hidden(network)
        more = [0 if expansion.saturated(performances) else settings.empty_units for _ in widths]
    elif settings.grow_by == "mean":
        more = missing_units(context, network, probable_masks(context, network, vector))
    else:
        key = context.key("cut")._replace(step=step + 1)
        more = missing_units(
            context, network, hard_masks.sampled(network, vector, key, context.backend)
        )
    if not any(more):
        return None
    larger, enlarged = enlarge(context, network, vector, more, step + 1)
    prior = masked_prior(context, larger)
    return objectives.Grown(
        larger,
        enlarged,
        prior,
        rest(context, larger, enlarged, prior, relaxed=True),
        context.model.weighted(larger, known_weights(context, larger)).held,
    )


def missing_units(context, network, masks):
    """Return how many units each hidden layer lacks, so that T trailing ones are empty (Eq. 12).

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings; ``settings.empty_units`` is T.
    network : ibpcl.models.network.Network
        Network of the task.
    masks : dict of str to ndarray of bool, shape (D, K)
        Binary mask of each masked layer.

    Returns
    -------
    more : list of int
        Units to add to each entry of ``context.model.hidden(network)``.  Encoder and decoder have
        the same widths, so the layer that lacks more decides.
    """
    return [
        max(expansion.growth(masks[name], context.settings.empty_units) for name in names)
        for names in context.model.of_width(network)
    ]


def enlarge(context, network, vector, more, growth):
    """Return a wider network with the parameters of a network in its first units.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task.
    vector : ndarray, shape (P,)
        Its parameters.
    more : sequence of int
        Units to add to each entry of ``context.model.hidden(network)``, >= 0.
    growth : int
        Selects the noise of the new parameters, see :func:`start`.

    Returns
    -------
    larger : ibpcl.models.network.Network
        The wider network.
    enlarged : ndarray, shape (P',)
        Its parameters: those of ``vector``, and initial values of the new ones.
    """
    hidden = tuple(map(int, np.array(context.model.hidden(network)) + more))
    larger = context.next_network(network.outputs, hidden)
    enlarged = start(context, larger, None, growth)
    enlarged[network.layout.within(larger.layout)] = vector
    return larger, enlarged


def leave_empty(context, network, vector, masks):
    """Add units to a trained network, so that its hard masks have T trailing empty columns.

    With ``settings.expand`` and "empty_columns" the next task finds ``settings.empty_units`` units
    that this task does not use.  The new units are not trained.  Their masks are empty, so they
    give f(0): with an activation that is 0 at 0, such as ReLU, the outputs do not change.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task.
    vector : ndarray, shape (P,)
        Parameters after masked training.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer, from :func:`cut_masks`.

    Returns
    -------
    network : ibpcl.models.network.Network
        The network, larger than before if empty units were missing.
    vector : ndarray, shape (P',)
        Its parameters.
    masks : dict of str to ndarray of bool, shape (D', K')
        The masks, with False for every new weight.
    """
    settings = context.settings
    if not settings.expand or settings.growth == "greedy" or given_masks(context) is not None:
        return network, vector, masks
    more = missing_units(context, network, masks)
    if not any(more):
        return network, vector, masks
    larger, enlarged = enlarge(context, network, vector, more, AFTER_LAST_STEP)
    padded = {
        name: hard_masks.union([mask], larger.masked[name].shape, larger.masked[name].row_groups)
        for name, mask in masks.items()
    }
    return larger, enlarged, padded


def probable_masks(context, network, vector):
    """Return the weights that are more likely on than off.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(outputs)``.
    vector : ndarray, shape (P,)
        Its parameters.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        True where the posterior probability of the mask exceeds 0.5, by masked layer.
    """
    return hard_masks.probable(
        network, vector, context.settings.mask_samples, context.key("cut"), context.backend
    )


def cut_masks(context, network, vector, x):
    """Return the hard masks of the task: every weight that is more likely on than off (Sec. 4.5).

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(outputs)``.
    vector : ndarray, shape (P,)
        Parameters after masked training.
    x : ndarray, shape (N, D)
        Training inputs; for images, weights that never change the output are dropped, too.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer.

    Raises
    ------
    TrainingError
        If a layer has no weight left, so that no signal passes it.  The layer of the codes' scale
        may be empty: the scale is then 1.  So may residual blocks, which pass on their inputs.
    """
    if (given := given_masks(context)) is not None:
        return given
    masks = context.model.useful(network, probable_masks(context, network, vector), x)
    for name, mask in masks.items():
        if not mask.any() and name not in {"scale", *network.bypassed}:
            raise TrainingError(
                f"{context.settings.method}: task {context.state.learned} switched off every "
                f"weight of layer {name}; raise alpha or epochs, or lower mask_kl_weight"
            )
    return masks


def drop(context, network, vector, prior, masks):
    """Return the parameters with every dropped weight at its Gaussian prior.

    With ``settings.reset_unused = False`` all parameters are unchanged.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(outputs)``.
    vector : ndarray, shape (P,)
        Parameters after masked training; not modified.
    prior : ibpcl.models.elbo.Prior
        Prior of the task, from :func:`masked_prior`.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer, from :func:`cut_masks`.

    Returns
    -------
    vector : ndarray, shape (P,)
        A copy.  Weights without a Gaussian prior keep their values.
    """
    vector = vector.copy()
    if context.settings.reset_unused:
        views = network.layout.layers(vector)
        at_rest = network.layout.layers(subnetwork.at_rest(network, vector, prior))
        for name, used in context.model.used(network, masks).items():
            if name not in network.layers:  # the switches of residual blocks have no weights
                continue
            write(views[name], priors.select(used, views[name], at_rest[name]))
    return vector


def finetune(context, network, vector, prior, data, masks, train=objectives.train):
    """Maximize the ELBO over the weights that the masks keep (selective fine-tuning, Sec. 4.5).

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(outputs)``.
    vector : ndarray, shape (P,)
        Parameters to start from.
    prior : ibpcl.models.elbo.Prior
        Prior of the task, from :func:`masked_prior`.
    data : ibpcl.inference.objectives.Data
        Training examples, from :func:`split_coreset`.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer, from :func:`cut_masks`.
    train : callable, optional
        As in :func:`masked_training`.

    Returns
    -------
    vector : ndarray, shape (P,)
        Fine-tuned parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    settings = context.settings
    plan = context.fit(
        "finetune", settings.epochs_for(len(data.x))[1], average=settings.finetune_average
    )
    return train(
        network,
        vector,
        prior,
        data,
        plan,
        weight_rates(settings.finetune_rate),
        context.model.weighted(network, known_weights(context, network)),
        masks,
        rest(context, network, vector, prior),
    )[1:]


def next_alpha(settings, alpha, layer):
    """Return the concentration of a layer's IBP for the next task (supplement E).

    Parameters
    ----------
    settings : Settings or ImageSettings
        ``settings.alpha_rule`` selects the rule.
    alpha : float
        Concentration for the current task, > 0.
    layer : dict of str to ndarray
        Trained parameters of the layer; the stick parameters are read.

    Returns
    -------
    alpha : float
        Concentration for the next task.
    """
    rule = settings.alpha_rule
    # alpha = max(alpha, max_k a_k) can only rise
    if rule == "max":
        (a, _), _ = sticks(layer["raw_a"], layer["raw_b"])
        return max(alpha, float(a.max()))
    if rule == "increment":
        return alpha + settings.alpha_increment
    if rule == "learned":
        (k, scale), _ = sticks(layer["raw_shape"], layer["raw_scale"])
        return float(weibull.moments(k, scale)[0][0])
    return alpha


def keep(context, network, vector, masks, coreset):
    """Return the state with one more task.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state that ``context.model.accept(task, state)`` returned.
    network : ibpcl.models.network.Network
        Network of the task, as large as it is at the end.
    vector : ndarray, shape (P,)
        Trained parameters.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer, from :func:`cut_masks`.
    coreset : ibpcl.inference.objectives.Data or None
        The task's coreset, from :func:`split_coreset`.

    Returns
    -------
    state : State
        Posterior, masks and coreset of the task are added, and ``alpha`` follows its rule.
    """
    state = context.state
    model = context.model
    views = network.layout.layers(vector)
    alpha = np.array(
        [
            next_alpha(context.settings, alpha, views[name])
            for alpha, name in zip(state.alpha, network.masked, strict=True)
        ]
    )
    return replace(
        state,
        alpha=alpha,
        shared=vector[network.layout.places(model.shares)].copy(),
        outputs=(*state.outputs, network.outputs),
        widths=(*state.widths, model.hidden(network)),
        own=(*state.own, vector[model.own_places(network, masks)]),
        masks=(
            *state.masks,
            tuple(
                hard_masks.pack_layer(mask, network.masked[name]) for name, mask in masks.items()
            ),
        ),
        coresets=(*state.coresets, coreset),
    )


class Turn(NamedTuple):
    """One turn of Algorithm 1: its inputs, the result of each phase, and the new state.

    Attributes
    ----------
    data : Data
        Training examples, without the coreset.
    network : ibpcl.models.network.Network
        Network of the task, as large as it was at the end.
    prior : ibpcl.models.elbo.Prior
        Prior of this network.
    trained : ndarray, shape (P,)
        Parameters after masked training.
    tuned : ndarray, shape (P,)
        Parameters after fine-tuning.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer.
    state : State
        State with this task added.
    history : list of ibpcl.inference.loop.Record
        One row per epoch of every phase.
    """

    data: Data
    network: object
    prior: Prior
    trained: np.ndarray
    tuned: np.ndarray
    masks: dict
    state: State
    history: list


def learn_task(context, task):
    """Run one turn of Algorithm 1.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state before the task: ``learner.context`` of an NPBCL learner.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    turn : Turn
        Results of all phases, with the new state in ``turn.state``.

    Raises
    ------
    TypeError
        If the task is of a kind that the model does not learn.
    ValueError
        If its inputs are wider or narrower than those of earlier tasks, or it does not fit the
        single head.
    TrainingError
        If the loss is not finite, a mask is empty, or the coreset is too large.
    """
    width, state = context.model.accept(task, context.state)
    context = replace(context, state=state)
    network = context.next_network(width)

    # Observe D_t, and update the coresets (supplement C).
    context, data, coreset, released = update_coresets(context, task)
    # p_t is the last posterior where a task uses a weight, else p_0 (Eq. 11).  Theta_t starts
    # there, too.
    prior = masked_prior(context, network)
    vector = start(context, network, data.x)
    vector, warming = warm_up(context, network, vector, prior, data)
    # Masked training: Theta_t <- arg max L_t, the ELBO with relaxed masks (Eqs. 8 and 10).
    network, trained, training = masked_training(context, network, vector, prior, data)
    # Hard masks: every weight that is more likely on than off (Sec. 4.5).
    masks = cut_masks(context, network, trained, data.x)
    # A network that grows leaves empty units to the next task (Sec. 4.6).
    network, trained, masks = leave_empty(context, network, trained, masks)
    prior = masked_prior(context, network)
    # Dropped weights return to their prior: given the masks, the ELBO is largest there.
    vector = drop(context, network, trained, prior, masks)
    # Selective fine-tuning: Theta_t <- arg max L_t over the kept weights, IBP and masks fixed.
    vector, tuning = finetune(context, network, vector, prior, data, masks)
    # Masked by Eq. 11, q_t(Theta) is the next task's prior; alpha follows its rule (supplement E).
    state = keep(context, network, vector, masks, coreset)

    history = [
        record._replace(task=context.state.learned)
        for record in (*released, *warming, *training, *tuning)
    ]
    return Turn(data, network, prior, trained, vector, masks, state, history)


def refine(context, network, vector, masks, task_id):
    """Return the posterior refined on a task's coreset with its masks fixed (Sec. 4.3).

    The refined copy serves predictions only; learning continues from the unrefined posterior.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state with the task: ``learner.context`` of an NPBCL learner.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(outputs)``.
    vector : ndarray, shape (P,)
        Its parameters, also the mean of the prior.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer, from :func:`cut_masks`.
    task_id : int
        A learned task.

    Returns
    -------
    vector : ndarray, shape (P,)
        Refined parameters.  ``vector`` itself if the task has no coreset, or if it is the newest
        and ``settings.coreset_tasks`` is ``"earlier"``.
    """
    state = context.state
    coreset = state.coresets[task_id]
    newest = task_id == state.learned - 1
    if coreset is None or (newest and context.settings.coreset_tasks == "earlier"):
        return vector
    key = context.key("coreset", task_id)
    return project(context, network, vector, masks, coreset, "coreset", key)[0]


def predict(context, refined, x, task_id):
    """Return predictions, averaged over samples of the posterior.

    With one softmax over the classes seen so far, ``task_id`` has no effect: the masks are those of
    the task whose prediction has the least entropy, for each example.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state with the task: ``learner.context`` of an NPBCL learner.
    refined : dict of int to ndarray
        Cache of the parameters by task, refined on the coreset; a missing task is added.
    x : array_like, shape (N, D)
        Inputs, finite.
    task_id : int
        A learned task.

    Returns
    -------
    predictions : ibpcl.models.likelihoods.Classes or ibpcl.models.likelihoods.Values
        Class probabilities, or means of a regression, with their uncertainty.

    Raises
    ------
    TypeError
        If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
    ValueError
        If the task was not learned, or ``x`` has another width or non-finite entries.
    """
    state = context.state
    x = check_inputs("npbcl.predict", x, state.inputs, task_id, state.learned)
    if state.seen is None:
        return predict_masked(context, refined, x, task_id)
    predictions = [predict_masked(context, refined, x, t) for t in range(state.learned)]
    chosen = np.argmin([prediction.entropy for prediction in predictions], axis=0)
    return type(predictions[0])(
        *(np.stack(values)[chosen, np.arange(len(x))] for values in zip(*predictions, strict=True))
    )


def predict_masked(context, refined, x, task_id):
    """Return predictions with the masks of a given task, averaged over samples of the posterior.

    Parameters
    ----------
    context : ibpcl.methods.npbcl.Context
        Settings, and the state with the task: ``learner.context`` of an NPBCL learner.
    refined : dict of int to ndarray
        Cache of the parameters by task, refined on the coreset; a missing task is added.
    x : ndarray of float32, shape (N, D)
        Inputs.
    task_id : int
        A learned task.

    Returns
    -------
    predictions : ibpcl.models.likelihoods.Classes or ibpcl.models.likelihoods.Values
        Class probabilities, or means of a regression, with their uncertainty.
    """
    network, vector, masks = context.assemble(task_id)
    if task_id not in refined:
        refined[task_id] = refine(context, network, vector, masks, task_id)
    return prediction.predict(
        network,
        refined[task_id],
        masks,
        x,
        context.settings.prediction_samples,
        context.key("predict", task_id),
        context.backend,
    )


class NPBCL(Saved):
    """Learner that trains one network on tasks in sequence, with separate masks for each task.

    Kumar et al. (2021), Algorithm 1, for classification and regression.

    Parameters
    ----------
    settings : ibpcl.methods.npbcl_settings.Settings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
        results.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
        replaces Numba where Numba is not available.

    Attributes
    ----------
    settings : ibpcl.methods.npbcl_settings.Settings
        The hyperparameters.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The numerical backend.
    model : ibpcl.methods.npbcl_labels.LabelModel
        Builds the network of a task and selects the parameters that tasks share.
    knowledge : State
        Everything learned so far: posterior, masks, coresets, and alpha.
    refined : dict of int to ndarray
        Parameters used for predictions, by task; computed at the first prediction.
    name : str
        Name of the method, ``"npbcl"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Width D of the examples; None before the first task.
    context : Context
        Inputs of every step of the algorithm, for the current state.
    alpha : ndarray, shape (L,)
        Concentration of the IBP in each masked layer, for the next task.
    hidden : tuple of int
        Units of each hidden layer of the newest network.
    posterior : dict of str to dict of str to ndarray
        Shared Gaussian parameters by layer and name; empty before the first task.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
    >>> learner = NPBCL(Settings(hidden=(8,), epochs=1, finetune_epochs=1), backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0]], task_id=0).shape, learner.masks(0)[0].shape
    ((1, 2), (2, 8))
    """

    settings_type = Settings
    model_type = LabelModel
    context_type = Context

    @property
    def alpha(self):
        """Concentration of the IBP in each masked layer for the next task, shape (L,)."""
        return self.knowledge.alpha

    @property
    def hidden(self):
        """Units of each hidden layer of the newest network."""
        return self.knowledge.widths[-1] if self.learned else self.settings.widths

    @property
    def posterior(self):
        """Gaussian parameters that tasks share, by layer and name; empty before the first task."""
        return self.context.posterior()

    def learn(self, task, progress=None):
        """Learn the next task by one turn of Algorithm 1.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification or a regression, of the same kind and width as the earlier tasks.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch: phase, temperature, and the parts of the ELBO in nats for the whole
            task.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or is of another kind.
        ValueError
            If its inputs are wider or narrower than those of earlier tasks, or it does not fit the
            single head.
        TrainingError
            If the loss is not finite, a layer has no weight left, or the likelihood or the coreset
            does not fit the task.
        """
        turn = learn_task(replace(self.context, progress=progress), task)
        self.become(turn.state)
        return turn.history

    def predict(self, x, task_id):
        """Return class probabilities, or the means of a regression.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        predictions : ndarray, shape (N, C)
            Probabilities that sum to 1 over the C classes, or means in the units of the C targets.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return self.predict_with_uncertainty(x, task_id)[0]

    def predict_with_uncertainty(self, x, task_id):
        """Return predictions together with their uncertainty.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        predictions : ibpcl.models.likelihoods.Classes or ibpcl.models.likelihoods.Values
            For classes a named tuple of ``probabilities`` (N, C), ``entropy`` (N,) and
            ``mutual_information`` (N,), both in nats.  For a regression one of ``mean``, ``sigma``
            (of a new observation) and ``model_sigma`` (of the mean), each (N, C) in the units of
            the targets.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return predict(self.context, self.refined, x, task_id)

    def masks(self, task_id):
        """Return the hard masks of a learned task.

        Parameters
        ----------
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        masks : tuple of ndarray of bool, shape (D, K)
            One mask per masked layer, from the inputs to the outputs; True keeps the weight.  In a
            network that ``settings.network`` describes, they have the shapes of the newest network:
            when it grows, new rows lie between old ones.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer.
        ValueError
            If the task was not learned.
        """
        check_task_id("npbcl.masks", task_id, self.learned)
        masks = self.context.masks(task_id)
        if self.settings.network:
            newest = self.context.network_of(self.learned - 1).masked
            masks = {
                name: hard_masks.union([mask], newest[name].shape, newest[name].row_groups)
                for name, mask in masks.items()
            }
        return tuple(masks.values())
