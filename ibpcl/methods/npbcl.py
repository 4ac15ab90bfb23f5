r"""NPBCL: Bayesian structure adaptation for continual learning, the paper's own method.

Kumar et al. (2021), Algorithm 1.  For every task: masked training under the prior :math:`p_t`; the
hard mask of the task; selective fine-tuning with that mask; then the posterior becomes, masked by
Eq. 11, the next task's prior.  (The algorithm prints arg min of the ELBO; it is the maximum.)

Given a hard mask, the ELBO's maximum over a weight that it drops is that weight's prior.  So a
weight that earlier tasks use returns exactly to the posterior that they left.  A weight that no
task uses has a prior to return to only with ``unused_prior = "gaussian"``.  By default it has none,
stays where masked training has left it, and starts afresh with the next task.

The module has, from top to bottom: what is kept of the tasks (:class:`State`), what every step
reads (:class:`Context`), the steps in the order of the algorithm, the algorithm
(:func:`learn_task`), predictions, and the learner.  The network and what belongs to a single task
are said by :mod:`ibpcl.methods.npbcl_labels` for classes and regressions and by
:mod:`ibpcl.methods.npbcl_images` for images.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ibpcl.continual import coresets, expansion
from ibpcl.continual import masks as hard_masks
from ibpcl.continual import prior as priors
from ibpcl.continual.learner import Saved, check_inputs, phase_key
from ibpcl.errors import TrainingError
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data
from ibpcl.methods.npbcl_labels import LabelModel
from ibpcl.methods.npbcl_settings import PRESETS, Settings
from ibpcl.methods.own import own_prior
from ibpcl.models import prediction, subnetwork
from ibpcl.models.elbo import Flat, Prior
from ibpcl.models.masked import sticks
from ibpcl.models.parameters import Layout, write
from ibpcl.noise import generator
from ibpcl.primitives import weibull

__all__ = ["NPBCL", "PRESETS", "Settings"]

# blocks of parameters, and those of masks
OF_WEIGHTS = ("mu", "log_sigma", "noise", "codes", "prior")
OF_MASKS = ("rho", "sticks", "alpha")


@dataclass(frozen=True)
class State:
    """What is kept of the tasks that were learned; tuples have an element for each task.

    Attributes
    ----------
    alpha : ndarray, shape (L,)
        The concentration of the IBP in each masked layer for the next task.
    inputs : int or None
        The width D of the examples; None before the first task.
    regression : bool
        Whether the tasks are regressions.
    shared : ndarray or None
        The Gaussian parameters that tasks share, in the order of the newest network's vector.
    outputs : tuple of int
        The width of the outputs.
    widths : tuple of tuple of int
        The units of each hidden layer: a network that grows was smaller for earlier tasks.
    own : tuple of ndarray
        The parameters that a task has for itself, in the order of its network's vector.
    masks : tuple of tuple of ndarray
        The hard mask of each masked layer, one bit for each weight.
    coresets : tuple of Data or None
        The examples that are kept of a task, if any.
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

    @classmethod
    def initial(cls, settings):
        """Return the state before the first task."""
        return cls(settings.alphas)

    @property
    def learned(self):
        """How many tasks were learned."""
        return len(self.outputs)

    def arrays(self):
        """Return everything as a dict of arrays, as files hold it; empty before the first task."""
        if not self.learned:
            return {}
        found = {
            "inputs": np.array(self.inputs),
            "outputs": np.array(self.outputs),
            "shared": self.shared,
            "memory.alpha": self.alpha,
            "memory.regression": np.array(self.regression),
        }
        for t in range(self.learned):
            found[f"task{t}.own"] = self.own[t]
            found[f"memory.widths{t}"] = np.array(self.widths[t])
            found |= {f"memory.mask{t}.{i}": bits for i, bits in enumerate(self.masks[t])}
            if self.coresets[t] is not None:
                found |= {f"memory.x{t}": self.coresets[t].x, f"memory.y{t}": self.coresets[t].y}
        return found

    def with_arrays(self, arrays):
        """Return the state whose :meth:`arrays` these are; without any, this one."""
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
        )


@dataclass(frozen=True)
class Context:
    """What every step reads, and none changes.

    Attributes
    ----------
    settings : Settings or ImageSettings
    model : LabelModel or ImageModel
        The network of a task, and which of its parameters the task has for itself.
    state : State
        What is kept of the tasks so far.
    seed : int
    backend : ibpcl.inference.backend.Backend
    progress : bool, ibpcl.inference.loop.Watch or None
        Who sees the training.
    """

    settings: object
    model: object
    state: State
    seed: int
    backend: object
    progress: object = None

    state_type: ClassVar = State

    def key(self, phase, task_id=None):
        """Return the key of the noise of a phase, of the next task unless another is named."""
        t = self.state.learned if task_id is None else task_id
        return phase_key(self.model, self.seed, t, phase)

    def fit(self, phase, epochs, **changes):
        """Return how a phase of training goes."""
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
        )
        return plan._replace(**changes)

    def network_of(self, task_id):
        """Return the network of a learned task, as large as it was then."""
        state = self.state
        return self.model.network(
            state.inputs, state.widths[task_id], state.outputs[task_id], state.regression
        )

    def next_network(self, outputs, hidden=None):
        """Return the network of the next task, with the hidden units of the last one unless they
        are given.
        """
        newest = self.state.widths[-1] if self.state.learned else self.settings.hidden
        return self.model.network(
            self.state.inputs, hidden or newest, outputs, self.state.regression
        )

    def masks(self, task_id):
        """Return the hard masks of a learned task by layer, (D, K) bool."""
        return {
            name: hard_masks.unpack(bits, layer.shape)
            for bits, (name, layer) in zip(
                self.state.masks[task_id], self.network_of(task_id).masked.items(), strict=True
            )
        }

    def shared_layout(self, task_id):
        """Return the order of what tasks share in the network of a learned task."""
        entries = self.network_of(task_id).layout.entries
        return Layout(entry for entry in entries if self.model.shares(entry.name))

    def posterior(self):
        """Return the Gaussian parameters that tasks share, by layer and name; nothing before the
        first task.
        """
        if not self.state.learned:
            return {}
        return self.shared_layout(self.state.learned - 1).layers(self.state.shared)

    def assemble(self, task_id):
        """Return the network of a learned task, its parameters, and its masks by layer."""
        network = self.network_of(task_id)
        masks = self.masks(task_id)
        newest = self.shared_layout(self.state.learned - 1)
        vector = np.zeros(network.layout.size, np.float32)
        # What the task's network has of the newest one's: a corner of each array.
        vector[network.layout.places(self.model.shares)] = self.state.shared[
            self.shared_layout(task_id).within(newest)
        ]
        vector[self.model.own_places(network, masks)] = self.state.own[task_id]
        return network, vector, masks


# The lines of the algorithm.


def split_coreset(context, task):
    """Take the task's coreset out of its training data (supplement C).

    Returns
    -------
    data : Data
        What is trained on.
    coreset : Data or None
        What is kept.
    """
    settings = context.settings
    if settings.coreset == "none":
        return Data(task.x_train, task.targets), None
    return coresets.take_out(
        "npbcl", task, settings.coreset, settings.coreset_size, generator(context.key("coreset"))
    )


def known_weights(context, network):
    """Return by layer which weights have yesterday's posterior as their prior (Eq. 11), (D, K)
    bool.
    """
    tasks = [context.masks(t) for t in range(context.state.learned)]
    known = {}
    for name, layer in context.posterior().items():
        # not what an autoencoder's codes have besides layers
        if name in network.layers:
            used = [np.ones(layer["weight.mu"].shape, bool)]
            if name in network.masked and context.settings.masked_prior:
                used = [masks[name] for masks in tasks]
            known[name] = hard_masks.union(used, network.layers[name].shape)
    return context.model.known(network, known)


def masked_prior(context, network):
    """Return the prior of the next task by Eq. 11; what no task has used has the initial prior, or
    none.
    """
    settings = context.settings
    unused = context.settings.unused_prior
    sticks_prior = {
        # The mean of a Gamma(g, h) is g / h.
        name: (settings.alpha_prior_shape, settings.alpha_prior_shape / settings.alpha)
        if layer.model.learns_alpha
        else alpha
        for (name, layer), alpha in zip(
            network.masked.items(), context.state.alpha.astype(np.float32), strict=True
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
    """Return where the next task starts: known weights at the last posterior, all others afresh.

    Parameters
    ----------
    context : Context
    network : Network
    x : ndarray, shape (N, D), or None
        The task's inputs; None for a network that has grown.
    growth : int
        Which time it is that the network grows within this task; 0 at its start.
    """
    rng = generator(context.key("initial")._replace(step=growth))
    vector = network.initial(
        context.model.means(rng), context.settings.start_sigma, context.state.alpha
    )
    views = network.layout.layers(vector)
    posterior = context.posterior()
    known = known_weights(context, network)
    for name, used in known.items():
        write(views[name], priors.select(used, posterior[name], views[name]))
    context.model.start_own(network, vector, x, rng, known, context.state.alpha, posterior)
    return vector


def warm_up(context, network, vector, prior, data):
    """Maximize the likelihood before the first task, without masks (supplement B.1: "similar to
    VCL").
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


def masked_training(context, network, vector, prior, data):
    """Maximize the ELBO over weights, masks and sticks while the temperature falls, and grow if
    need be.

    Returns
    -------
    network : Network
        Larger than before if it has grown.
    vector : ndarray, shape (P,)
    history : list of Record
    """
    settings = context.settings
    given = given_masks(context)
    plan = context.fit("masked", settings.epochs_for(len(data.x))[0])
    rates = dict.fromkeys(OF_WEIGHTS, settings.weight_rate) | dict.fromkeys(
        OF_MASKS, settings.mask_rate
    )

    def look(network, vector, step):
        return grown(context, network, vector, step)

    return objectives.train(
        network,
        vector,
        prior,
        data,
        plan,
        rates,
        context.model.weighted(network, known_weights(context, network)),
        given,
        rest(context, network, vector, prior, relaxed=given is None),
        (settings.expand_every, look) if settings.expand else None,
    )


def given_masks(context):
    """Return the masks of the next task by layer if it has the first one's, an ablation (Sec. 6.3);
    else None.
    """
    return context.masks(0) if context.settings.shared_mask and context.state.learned else None


def rest(context, network, vector, prior, relaxed=False):
    """Return where all weights are of which the data says nothing, at their prior, and with sampled
    masks rho at 0.

    None where they are not to be there, or no divergence would keep them there.
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


def grown(context, network, vector, step):
    """Add units to every layer that has too few empty ones left (Sec. 4.6); return what trains on,
    None if all have.
    """
    more = [
        expansion.growth(mask, context.settings.empty_units)
        for mask in probable_masks(context, network, vector).values()
    ]
    if not any(more):
        return None
    hidden = tuple(np.array(context.model.hidden(network)) + more)
    larger = context.next_network(network.outputs, tuple(map(int, hidden)))
    enlarged = start(context, larger, None, growth=step + 1)
    enlarged[network.layout.within(larger.layout)] = vector
    prior = masked_prior(context, larger)
    return larger, enlarged, prior, rest(context, larger, enlarged, prior, relaxed=True)


def probable_masks(context, network, vector):
    """Return by layer which weights are more likely on than off, (D, K) bool."""
    return hard_masks.probable(
        network, vector, context.settings.mask_samples, context.key("cut"), context.backend
    )


def cut_masks(context, network, vector, x):
    """Return the task's hard masks by layer: every weight that is more likely on than off (Sec.
    4.5).

    Raises
    ------
    TrainingError
        If a layer has no weight left: nothing would pass it.  (Only the codes' scale may: it is
        then 1.)
    """
    if (given := given_masks(context)) is not None:
        return given
    masks = context.model.useful(network, probable_masks(context, network, vector), x)
    for name, mask in masks.items():
        if not mask.any() and name != "scale":
            raise TrainingError(
                f"{context.settings.method}: task {context.state.learned} switched off every "
                f"weight of layer {name}; raise alpha or epochs, or lower mask_kl_weight"
            )
    return masks


def drop(context, network, vector, prior, masks):
    """Return the parameters with every weight that the masks switch off at its Gaussian prior, if
    it has one.
    """
    vector = vector.copy()
    if context.settings.reset_unused:
        views = network.layout.layers(vector)
        at_rest = network.layout.layers(subnetwork.at_rest(network, vector, prior))
        for name, used in context.model.used(network, masks).items():
            write(views[name], priors.select(used, views[name], at_rest[name]))
    return vector


def finetune(context, network, vector, prior, data, masks):
    """Maximize the ELBO over the weights that the masks keep; return the parameters and the
    history.
    """
    settings = context.settings
    plan = context.fit(
        "finetune", settings.epochs_for(len(data.x))[1], average=settings.finetune_average
    )
    return objectives.train(
        network,
        vector,
        prior,
        data,
        plan,
        dict.fromkeys(OF_WEIGHTS, settings.finetune_rate),
        context.model.weighted(network, known_weights(context, network)),
        masks,
        rest(context, network, vector, prior),
    )[1:]


def next_alpha(settings, alpha, layer):
    """Return a layer's concentration for the next task (supplement E).

    Parameters
    ----------
    settings : Settings or ImageSettings
    alpha : float
        The concentration so far.
    layer : dict of str to ndarray
        The layer's parameters, of which those of the sticks are read.
    """
    rule = settings.alpha_rule
    # alpha = max(alpha, max a): it can only rise
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
    """Return the state with one more task: posterior, what is the task's own, masks, coreset, and
    the next alpha.
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
        masks=(*state.masks, tuple(np.packbits(mask) for mask in masks.values())),
        coresets=(*state.coresets, coreset),
    )


class Turn(NamedTuple):
    """One turn of Algorithm 1: what it began with, what came out of its phases, and what is kept.

    Attributes
    ----------
    data : Data
        What was trained on.
    network : Network
        As large as it was at the end.
    prior : Prior
        Of this network.
    trained, tuned : ndarray, shape (P,)
        The parameters after masked training, and after fine-tuning.
    masks : dict of str to ndarray of bool
        The task's hard masks by layer.
    state : State
        With this task.
    history : list of Record
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
    context : Context
        Whose state is that before the task.
    task : ibpcl.continual.task.Task

    Returns
    -------
    turn : Turn
    """
    width, state = context.model.accept(task, context.state)
    context = replace(context, state=state)
    network = context.next_network(width)

    # Observe D_t, and update the coresets (supplement C).
    data, coreset = split_coreset(context, task)
    # p_t is the last posterior where a task uses a weight, else p_0 (Eq. 11); Theta_t starts
    # likewise.
    prior = masked_prior(context, network)
    vector = start(context, network, data.x)
    vector, warming = warm_up(context, network, vector, prior, data)
    # Masked training: Theta_t <- arg max L_t, the ELBO with relaxed masks (Eqs. 8 and 10).
    network, trained, training = masked_training(context, network, vector, prior, data)
    # The masks of the task: every weight that is more likely on than off (Sec. 4.5).
    prior = masked_prior(context, network)
    masks = cut_masks(context, network, trained, data.x)
    # What they drop returns to its prior: given the masks, that is the ELBO's maximum.
    vector = drop(context, network, trained, prior, masks)
    # Selective fine-tuning: IBP and masks are fixed, Theta_t <- arg max L_t over what the masks
    # keep.
    vector, tuning = finetune(context, network, vector, prior, data, masks)
    # q_t(Theta), masked by Eq. 11, is the next task's prior; alpha follows its rule (supplement E).
    state = keep(context, network, vector, masks, coreset)

    history = [
        record._replace(task=context.state.learned) for record in (*warming, *training, *tuning)
    ]
    return Turn(data, network, prior, trained, vector, masks, state, history)


def refine(context, network, vector, masks, task_id):
    """Return the posterior refined on a task's coreset, its mask fixed; for predictions only (Sec.
    4.3).
    """
    settings = context.settings
    coreset = context.state.coresets[task_id]
    if coreset is None:
        return vector
    plan = context.fit(
        "coreset",
        settings.coreset_epochs,
        key=context.key("coreset", task_id),
        rate_end=1.0,
        progress=False,
    )
    return objectives.train(
        network,
        vector,
        Prior.at(network.layout, vector),
        coreset,
        plan,
        dict.fromkeys(OF_WEIGHTS, settings.coreset_rate),
        context.model.weighted(network, known_weights(context, network)),
        masks,
        vector,
    )[1]


def predict(context, refined, x, task_id):
    """Return predictions, averaged over samples of the posterior.

    Parameters
    ----------
    context : Context
    refined : dict of int to ndarray
        Parameters by task, as refined on the coreset; filled here.
    x : array_like, shape (N, D)
    task_id : int

    Returns
    -------
    predictions : ibpcl.models.likelihoods.Classes or ibpcl.models.likelihoods.Values
    """
    state = context.state
    x = check_inputs("npbcl.predict", x, state.inputs, task_id, state.learned)
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
    """Learn tasks one after another in one network, each with its own masks.

    Parameters
    ----------
    settings : Settings, optional
        The defaults if not given.
    seed : int
        Everything random is a function of it.
    backend_name : {"numba", "numpy"}
        What computes.

    Attributes
    ----------
    knowledge : State
        Everything that was learned.
    """

    settings_type = Settings
    model_type = LabelModel
    context_type = Context

    @property
    def alpha(self):
        """The next task's concentration in each masked layer."""
        return self.knowledge.alpha

    @property
    def hidden(self):
        """The units of each hidden layer of the newest network."""
        return self.knowledge.widths[-1] if self.learned else self.settings.hidden

    @property
    def posterior(self):
        """The Gaussian parameters that tasks share, by layer and name."""
        return self.context.posterior()

    def learn(self, task, progress=None):
        """Run one turn of Algorithm 1.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            Of the kind and with the width of the tasks before.
        progress : bool or ibpcl.inference.loop.Watch, optional
            Whether progress bars are shown; on a terminal only if not given.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            A row for each epoch.

        Raises
        ------
        TypeError, ValueError, TrainingError
            If the method does not learn tasks of this kind, the task does not fit the network, the
            objective is not finite, or no weight is left.
        """
        turn = learn_task(replace(self.context, progress=progress), task)
        self.become(turn.state)
        return turn.history

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task, or a regression's
        means (N, C).
        """
        return self.predict_with_uncertainty(x, task_id)[0]

    def predict_with_uncertainty(self, x, task_id):
        """Return predictions for inputs (N, D) of a learned task, with what is known about their
        error.

        Returns
        -------
        predictions : ibpcl.models.likelihoods.Classes or ibpcl.models.likelihoods.Values
        """
        return predict(self.context, self.refined, x, task_id)

    def masks(self, task_id):
        """Return the hard masks of a task: a tuple of boolean arrays (D, K), one a masked layer."""
        return tuple(self.context.masks(task_id).values())
