r"""NPBCL: Bayesian structure adaptation for continual learning, the paper's own method.

Kumar et al. (2021), Algorithm 1.  For every task: masked training under the prior :math:`p_t`; the hard mask of the
task; selective fine-tuning with that mask; then the posterior becomes, masked by Eq. 11, the next task's prior.  (The
algorithm prints arg min of the ELBO; it is the maximum.)

Given a hard mask, the ELBO's maximum over a weight that it drops is that weight's prior.  So a weight that earlier
tasks use returns exactly to the posterior that they left.  A weight that no task uses has a prior to return to only
with ``unused_prior = "gaussian"``.  By default it has none, stays where masked training has left it, and starts afresh
with the next task.

Of a classifier the hidden layers are masked and the head is each task's own, or one for all.  What is particular to
autoencoders :mod:`ibpcl.methods.npbcl_images` says.
"""

import numpy as np

from ibpcl.continual import coresets, expansion
from ibpcl.continual import masks as hard_masks
from ibpcl.continual import prior as priors
from ibpcl.continual.learner import Saved, check_inputs, check_task, under
from ibpcl.errors import TrainingError
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Growing, Weighted
from ibpcl.methods.npbcl_settings import PRESETS, Settings
from ibpcl.methods.own import own_prior
from ibpcl.models import likelihoods, packing, prediction, starts
from ibpcl.models.elbo import Elbo, Flat, Prior
from ibpcl.models.masked import Masked, sticks
from ibpcl.models.network import classifier
from ibpcl.models.parameters import write
from ibpcl.noise import generator
from ibpcl.primitives import weibull

__all__ = ["NPBCL", "PRESETS", "Settings"]

OF_WEIGHTS = ("mu", "log_sigma", "noise", "codes", "prior")  # blocks of parameters, and those of masks
OF_MASKS = ("rho", "sticks", "alpha")


class NPBCL(Saved):
    """Learn tasks one after another in one network, each with its own masks.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.

    Attributes
    ----------
    hidden : tuple of int
        Units of each hidden layer; they grow if the settings say so.
    alpha : ndarray
        The next task's concentration in each masked layer.
    posterior : dict of str to dict
        The Gaussian parameters of each layer that tasks share, by name.
    own : list of dict
        The parameters that each task has for itself, by name: its head, a regression's noise.
    outputs : list of int
        Width of each task's outputs.
    """

    settings_type = Settings
    # The fields of a key beside it: seed and step.
    phases = ("initial", "likelihood", "masked", "cut", "finetune", "coreset", "predict")

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.kind = None                                     # of the tasks, as of the first one
        self.hidden, self.alpha = self.settings.hidden, self.settings.alphas
        self.posterior, self.own, self.outputs = {}, [], []
        self._masks = []                                     # packed, for each task and layer
        self._coresets = []                                  # the examples kept from each task
        self._refined = {}                                   # task -> its parameters after its coreset

    def learn(self, task, progress=None):
        """Run one turn of Algorithm 1; return the history of its training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        network = self._network(self._accept(task), self.hidden)

        # Observe D_t, and update the coresets (supplement C).
        data, coreset = self._split(task)
        # p_t is the last posterior where a task uses a weight, else p_0 (Eq. 11); Theta_t starts likewise.
        prior, vector = self._prior(network), self._start(network, data.x)
        vector, warming = self._warm_up(network, vector, prior, data, progress)
        # Masked training: Theta_t <- arg max L_t, the ELBO with relaxed masks (Eqs. 8 and 10).
        network, vector, training = self._train_masked(network, vector, prior, data, progress)
        # The masks of the task: every weight that is more likely on than off (Sec. 4.5).
        prior, masks = self._prior(network), self._cut(network, vector, data.x)
        # What they drop returns to its prior: given the masks, that is the ELBO's maximum.
        self._drop(network, vector, prior, masks)
        # Selective fine-tuning: IBP and masks are fixed, Theta_t <- arg max L_t over what the masks keep.
        vector, tuning = self._finetune(network, vector, prior, data, masks, progress)
        # q_t(Theta), masked by Eq. 11, is the next task's prior; alpha follows its rule (supplement E).
        self._keep(network, vector, masks, coreset)

        return [record._replace(task=self.learned - 1) for record in (*warming, *training, *tuning)]

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task, or a regression's means (N, C)."""
        return self.predict_with_uncertainty(x, task_id)[0]

    def predict_with_uncertainty(self, x, task_id):
        """Return the ``Classes``, or of a regression the ``Values``, of :mod:`ibpcl.models.likelihoods`."""
        x = check_inputs("npbcl.predict", x, self.inputs, task_id, self.learned)
        network, vector, masks = self.assemble(task_id)
        if self._coresets:
            if task_id not in self._refined:
                self._refined[task_id] = self._refine(network, vector, masks, task_id)
            vector = self._refined[task_id]
        return prediction.predict(network, vector, masks, x, self.settings.prediction_samples,
                                  self.key("predict", task_id), self.backend)

    def masks(self, task_id):
        """Return the hard masks of a task: a tuple of boolean arrays (D, K), one a masked layer."""
        return tuple(hard_masks.unpack(packed) for packed in self._masks[task_id])

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = {"inputs": np.array(self.inputs or 0), "alpha": self.alpha, "hidden": np.array(self.hidden),
                  "outputs": np.array(self.outputs, np.int64), "regression": np.array(self.kind == "regression")}
        for name, layer in self.posterior.items():
            arrays |= {f"shared.{name}.{part}": value for part, value in layer.items()}
        for t, own in enumerate(self.own):
            arrays |= {f"task{t}.own.{name}": value for name, value in own.items()}
            for i, packed in enumerate(self._masks[t]):
                arrays |= {f"task{t}.mask{i}.bits": packed.bits, f"task{t}.mask{i}.shape": np.array(packed.shape)}
        for t, coreset in enumerate(self._coresets):
            arrays |= {f"task{t}.coreset.x": coreset.x, f"task{t}.coreset.y": coreset.y}
        return arrays

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}

        self.inputs, self.alpha = int(state["inputs"]) or None, state["alpha"]
        self.hidden, self.outputs = (tuple(map(int, state["hidden"])), list(map(int, state["outputs"])))
        tasks, shared = range(len(self.outputs)), under(state, "shared.")
        self.kind = None if not tasks else "regression" if state["regression"] else "classification"
        self.posterior = {name: under(shared, f"{name}.") for name in {full.split(".")[0]: None for full in shared}}
        self.own = [under(state, f"task{t}.own.") for t in tasks]
        self._masks = [tuple(hard_masks.PackedMask(state[f"task{t}.mask{i}.bits"],
                                                   tuple(map(int, state[f"task{t}.mask{i}.shape"])))
                             for i in range(len(self.alpha))) for t in tasks]
        self._coresets = [Data(state[f"task{t}.coreset.x"], state[f"task{t}.coreset.y"]) for t in tasks
                          if f"task{t}.coreset.x" in state]
        self._refined = {}

    # What is said otherwise of autoencoders.

    def _accept(self, task):
        """Refuse a task that does not fit; note the first one's kind and width; return the width of the outputs."""
        check_task("npbcl", task, self.kind or ("classification", "regression"), self.inputs)
        if task.kind == "regression" and self.settings.prediction_samples < 2:
            raise ValueError("npbcl: prediction_samples must be at least 2 for a regression, which tells its deviation")
        self._refined, self.inputs, self.kind = {}, task.inputs, task.kind
        try:
            width = self._likelihood.width(task.outputs)
        except ValueError as error:
            raise TrainingError(f"npbcl: task {task.name!r}: {error}") from error
        if self.settings.single_head and self.outputs and width != self.outputs[0]:
            raise ValueError(f"npbcl: task {task.name!r} has {task.outputs} outputs, the one head {self.outputs[0]}")
        return width

    @property
    def _likelihood(self):
        settings = self.settings
        if self.kind == "regression":
            return likelihoods.Gaussian(settings.noise_sigma, settings.learn_noise)
        return likelihoods.of_classes(settings.likelihood)

    def _network(self, outputs, hidden):
        """Return the network with outputs and hidden layers of given widths."""
        return classifier(self.inputs, hidden, self._likelihood, outputs, Masked, self.settings.activation,
                          model=self.settings.mask_model)

    def _shared(self, network):
        """Return the names of the layers that tasks share."""
        return [*network.masked, *["head"] * self.settings.single_head]

    def _means(self, rng):
        """Return how the means of fresh weights are drawn: see :mod:`ibpcl.models.starts`."""
        return starts.normal(rng, self.settings.start_spread)

    def _start_own(self, network, vector, x, rng):
        """Start what else starts in a way of its own, in place; inputs x (N, D) are the task's."""
        vector[network.layout.block("rho")] = self.settings.start_rho

    def _weighted(self, network):
        """Return what is maximized: the ELBO, its parts weighted."""
        weights = self.settings
        return Weighted(Elbo(1.0, -weights.weight_kl_weight, -weights.mask_kl_weight, -weights.stick_kl_weight,
                             -weights.stick_kl_weight))

    def _useful(self, network, masks, x):
        """Return hard masks by layer without what the task cannot use."""
        return masks

    def _used(self, network, masks):
        """Return by layer which weights hard masks use."""
        return masks

    def _own(self, network, vector, masks):
        """Return the parameters that a task keeps for itself, by name."""
        shared = self._shared(network)
        return {name: view.copy() for name, view in network.layout.views(vector).items()
                if name.split(".")[0] not in shared}

    def _own_of(self, network, masks, task_id):
        """Return the parameters of :meth:`_own` in the shapes that the network has."""
        return self.own[task_id]

    # The lines of the algorithm.

    def _split(self, task):
        """Take the task's coreset out of its training data."""
        if self.settings.coreset == "none":
            return Data(task.x_train, task.targets), None
        return coresets.take_out("npbcl", task, self.settings.coreset, self.settings.coreset_size,
                                 generator(self.key("coreset")))

    def _known(self, network):
        """Return by layer which weights have yesterday's posterior as their prior (Eq. 11), (D, K) bool."""
        known = {}
        for name in (name for name in network.layers if name in self.posterior):
            tasks = [np.ones(self.posterior[name]["weight.mu"].shape, bool)]
            if name in network.masked and self.settings.masked_prior:
                place = list(network.masked).index(name)
                tasks = (hard_masks.unpack(masks[place]) for masks in self._masks)
            known[name] = hard_masks.union(tasks, network.layers[name].shape)
        return known

    def _prior(self, network):
        """Return the prior of the next task by Eq. 11; what no task has used has the initial prior, or none."""
        settings, unused = self.settings, self.settings.unused_prior
        sticks_prior = {
            # The mean of a Gamma(g, h) is g / h.
            name: (settings.alpha_prior_shape, settings.alpha_prior_shape / settings.alpha)
            if layer.model.learns_alpha else alpha
            for (name, layer), alpha in zip(network.masked.items(), self.alpha.astype(np.float32), strict=True)}
        others = own_prior(unused) if ":" in unused else {"flat": Flat}.get(unused)
        return priors.assemble(network, self.posterior, self._known(network), settings.prior_sigma, sticks_prior,
                               unused == "gaussian", others)

    def _start(self, network, x, growth=0):
        """Start the next task: known weights at the last posterior, all others afresh."""
        rng = generator(self.key("initial")._replace(step=growth))
        vector = network.initial(self._means(rng), self.settings.start_sigma, self.alpha)
        views = network.layout.layers(vector)
        for name, known in self._known(network).items():
            write(views[name], priors.select(known, priors.grown(self.posterior[name], views[name]), views[name]))
        self._start_own(network, vector, x, rng)
        return vector

    def _how(self, phase, epochs, progress, **changes):
        """Return how a phase of the next task's training goes."""
        settings = self.settings
        return Fit(phase, epochs, settings.batch, settings.samples, self.key(phase), self.backend, progress,
                   settings.rate_end, tau=(settings.tau_start, settings.tau_end))._replace(**changes)

    def _warm_up(self, network, vector, prior, data, progress):
        """Maximize the likelihood before the first task, without masks (supplement B.1: "similar to VCL")."""
        epochs = self.settings.likelihood_epochs
        if self.learned or not epochs:
            return vector, []
        return objectives.maximize_likelihood(network, vector, prior, data, self._how("likelihood", epochs, progress),
                                              self.settings.weight_rate)[1:]

    def _train_masked(self, network, vector, prior, data, progress):
        """Maximize the ELBO over weights, masks and sticks while the temperature falls, and grow if need be."""
        settings = self.settings
        how = self._how("masked", settings.epochs_for(len(data.x))[0], progress)
        rates = dict.fromkeys(OF_WEIGHTS, settings.weight_rate) | dict.fromkeys(OF_MASKS, settings.mask_rate)
        growing = Growing(settings.expand_every, self._grow) if settings.expand else None
        return objectives.train(network, vector, prior, data, how, rates, self._weighted(network), self._given(network),
                                self._rest(network, vector, prior, relaxed=not self._given(network)), growing)

    def _given(self, network):
        """Return the masks of the next task by layer if it has the first one's, an ablation (Sec. 6.3); else None."""
        if not (self.settings.shared_mask and self.learned):
            return None
        return dict(zip(network.masked, self.masks(0), strict=True))

    def _rest(self, network, vector, prior, relaxed=False):
        """Return where all weights are of which the data says nothing, at their prior, and with sampled masks rho at 0.

        None where they are not to be there, or no divergence would keep them there.
        """
        settings = self.settings
        if not (settings.weight_kl_weight and (settings.mask_kl_weight if relaxed else settings.reset_unused)):
            return None
        rest = packing.at_rest(network, vector, prior)
        if relaxed:
            rest[network.layout.block("rho")] = 0
        return rest

    def _grow(self, network, vector, step):
        """Add units to every layer that has too few empty ones left (Sec. 4.6)."""
        more = [expansion.growth(mask, self.settings.empty_units)
                for mask in self._probable_masks(network, vector).values()]
        if not any(more):
            return None
        self.hidden = tuple(units + extra for units, extra in zip(self.hidden, more, strict=True))
        larger = self._network(network.outputs, self.hidden)
        grown = self._start(larger, None, growth=step + 1)
        grown[network.layout.within(larger.layout)] = vector
        prior = self._prior(larger)
        return larger, grown, prior, self._rest(larger, grown, prior, relaxed=True)

    def _probable_masks(self, network, vector):
        """Threshold the posterior probability of every mask."""
        return hard_masks.probable(network, vector, self.settings.mask_samples, self.key("cut"), self.backend)

    def _cut(self, network, vector, x):
        """Cut the task's hard masks from the posterior, by layer.

        Raises
        ------
        TrainingError
            If a layer has no weight left: nothing would pass it.  (Only the codes' scale may: it is then 1.)
        """
        if (given := self._given(network)) is not None:
            return given
        masks = self._useful(network, self._probable_masks(network, vector), x)
        for name, mask in masks.items():
            if not mask.any() and name != "scale":
                raise TrainingError(f"{self.name}: task {self.learned} switched off every weight of layer {name}; "
                                    "raise alpha or epochs, or lower mask_kl_weight")
        return masks

    def _drop(self, network, vector, prior, masks):
        """Set every weight that the masks switch off to its Gaussian prior, in place; without one it stays."""
        if self.settings.reset_unused:
            views, rest = map(network.layout.layers, (vector, packing.at_rest(network, vector, prior)))
            for name, used in self._used(network, masks).items():
                write(views[name], priors.select(used, views[name], rest[name]))

    def _finetune(self, network, vector, prior, data, masks, progress):
        """Maximize the ELBO over the weights that the masks keep."""
        settings = self.settings
        how = self._how("finetune", settings.epochs_for(len(data.x))[1], progress, average=settings.finetune_average)
        return objectives.train(network, vector, prior, data, how, dict.fromkeys(OF_WEIGHTS, settings.finetune_rate),
                                self._weighted(network), masks, self._rest(network, vector, prior))[1:]

    def _keep(self, network, vector, masks, coreset):
        """Keep what was learned: the posterior, what is the task's own, masks, coreset, and the next task's alpha."""
        views = network.layout.layers(vector)
        self.alpha = np.array([self._next_alpha(alpha, views[name])
                               for alpha, name in zip(self.alpha, network.masked, strict=True)])
        self.own.append(self._own(network, vector, masks))
        self.posterior = {name: {part: value.copy() for part, value in views[name].items()
                                 if part.endswith(("mu", "log_sigma"))} for name in self._shared(network)}
        self.outputs.append(network.outputs)
        self._masks.append(tuple(hard_masks.pack(mask) for mask in masks.values()))
        if coreset is not None:
            self._coresets.append(coreset)

    def _next_alpha(self, alpha, layer):
        """Choose a layer's concentration for the next task (supplement E)."""
        rule = self.settings.alpha_rule
        if rule == "max":                                    # alpha = max(alpha, max a): it can only rise
            (a, _), _ = sticks(layer["raw_a"], layer["raw_b"])
            return max(alpha, float(a.max()))
        if rule == "increment":
            return alpha + self.settings.alpha_increment
        if rule == "learned":
            (k, scale), _ = sticks(layer["raw_shape"], layer["raw_scale"])
            return float(weibull.moments(k, scale)[0][0])
        return alpha

    def assemble(self, task_id):
        """Build the network of a learned task, as large as it was then, its parameters, and its masks by layer."""
        masks = self.masks(task_id)
        network = self._network(self.outputs[task_id], tuple(mask.shape[1] for mask in masks[:len(self.hidden)]))
        masks = dict(zip(network.masked, masks, strict=True))
        vector = np.zeros(network.layout.size, np.float32)
        views = network.layout.layers(vector)
        for name, layer in self.posterior.items():
            write(views[name], {part: expansion.corner(value, views[name][part].shape)
                                for part, value in layer.items()})
        write(network.layout.views(vector), self._own_of(network, masks, task_id))
        return network, vector, masks

    def _refine(self, network, vector, masks, task_id):
        """Refine a copy of the posterior on a task's coreset, its mask fixed; used for predictions only (Sec. 4.3)."""
        settings, prior = self.settings, Prior.at(network.layout, vector)
        how = self._how("coreset", settings.coreset_epochs, False, key=self.key("coreset", task_id), rate_end=1.0)
        return objectives.train(network, vector, prior, self._coresets[task_id], how,
                                dict.fromkeys(OF_WEIGHTS, settings.coreset_rate), self._weighted(network), masks,
                                vector)[1]
