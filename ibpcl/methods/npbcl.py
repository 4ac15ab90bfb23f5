r"""NPBCL: Bayesian structure adaptation for continual learning, the paper's own method.

Kumar et al. (2021), Algorithm 1.  For every task: masked training under the prior :math:`p_t`; the hard mask of the
task; selective fine-tuning with that mask; then the posterior becomes, masked by Eq. 11, the next task's prior.  (The
algorithm prints arg min of the ELBO; it is the maximum.)

Given a hard mask, the ELBO's maximum over a weight that it drops is that weight's prior.  So a weight that earlier
tasks use returns exactly to the posterior that they left.  A weight that no task uses has a prior to return to only
with ``unused_prior = "gaussian"``.  By default it has none, stays where masked training has left it, and starts afresh
with the next task.
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
from ibpcl.models import likelihoods, packing, prediction, starts
from ibpcl.models.elbo import Elbo, Prior
from ibpcl.models.masked import Masked, sticks
from ibpcl.models.network import classifier
from ibpcl.models.parameters import write
from ibpcl.noise import Key, generator
from ibpcl.primitives import weibull

__all__ = ["NPBCL", "PRESETS", "Settings"]

# Each task has noise of its own for each phase; the third field of a key counts steps within the phase.
PHASES = ("initial", "likelihood", "masked", "cut", "finetune", "coreset", "predict")


class NPBCL(Saved):
    """Learn tasks one after another in one network, each with its own mask and head.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.
    """

    settings_type = Settings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.kind = None                                     # of the tasks, as of the first one
        self.hidden = self.settings.hidden                   # grows if the settings say so
        self.alpha = np.full(len(self.hidden), self.settings.alpha)
        self.posterior = []                                  # the Gaussian parameters of each hidden layer
        self.heads = []                                      # those of each task's head, with a regression's noise
        self._masks = []                                     # packed, for each task and layer
        self._coresets = []                                  # the examples kept from each task
        self._refined = {}                                   # task -> its parameters after its coreset

    def learn(self, task, progress=None):
        """Run one turn of Algorithm 1; return the history of its training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        self._accept(task)
        network = self._network(self._likelihood.width(task.outputs), self.hidden)

        # Observe D_t, and update the coresets (supplement C).
        data, coreset = self._split(task)
        # p_t is the last posterior where a task uses a weight, else p_0 (Eq. 11); Theta_t starts likewise.
        prior, vector = self._prior(network), self._start(network)
        vector, warming = self._warm_up(network, vector, prior, data, progress)
        # Masked training: Theta_t <- arg max L_t, the ELBO with relaxed masks (Eq. 8).
        how = self._how("masked", data, progress)
        network, vector, training = self._train_masked(network, vector, prior, data, how)
        # The mask of the task: every weight that is more likely on than off (Sec. 4.5).
        prior, masks = self._prior(network), self._cut(network, vector)
        # What it drops returns to its prior: given the mask, that is the ELBO's maximum.
        self._drop(network, vector, prior, masks)
        # Selective fine-tuning: the IBP and the mask are fixed, Theta_t <- arg max L_t over what the mask keeps.
        vector, tuning = self._finetune(network, vector, prior, masks, data, progress)
        # q_t(Theta), masked by Eq. 11, is the next task's prior; alpha follows its rule (supplement E).
        self._keep(network, vector, masks, coreset)

        return [record._replace(task=len(self.heads) - 1) for record in (*warming, *training, *tuning)]

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task, or a regression's means (N, C)."""
        return self.predict_with_uncertainty(x, task_id)[0]

    def predict_with_uncertainty(self, x, task_id):
        """Return the ``Classes``, or of a regression the ``Values``, of :mod:`ibpcl.models.likelihoods`."""
        x = check_inputs("npbcl.predict", x, self.inputs, task_id, len(self.heads))
        model, vector = self._assemble(task_id)
        if self._coresets:
            if task_id not in self._refined:
                self._refined[task_id] = self._refine(model, vector, task_id)
            vector = self._refined[task_id]
        return prediction.predict(model, vector, self._by_name(self.masks(task_id)), x,
                                  self.settings.prediction_samples, self._key(task_id, "predict"), self.backend)

    def masks(self, task_id):
        """Return the hard masks of a task: a tuple of boolean arrays (D, K), one a hidden layer."""
        return tuple(hard_masks.unpack(packed) for packed in self._masks[task_id])

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = {"inputs": np.array(self.inputs or 0), "alpha": self.alpha, "tasks": np.array(len(self.heads)),
                  "hidden": np.array(self.hidden), "regression": np.array(self.kind == "regression")}
        for i, layer in enumerate(self.posterior):
            arrays |= {f"hidden{i}.{name}": value for name, value in layer.items()}
        for t, head in enumerate(self.heads):
            arrays |= {f"task{t}.head.{name}": value for name, value in head.items()}
            for i, packed in enumerate(self._masks[t]):
                arrays |= {f"task{t}.mask{i}.bits": packed.bits, f"task{t}.mask{i}.shape": np.array(packed.shape)}
        for t, coreset in enumerate(self._coresets):
            arrays |= {f"task{t}.coreset.x": coreset.x, f"task{t}.coreset.y": coreset.y}
        return arrays

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}

        layers, tasks = range(len(self.settings.hidden)), range(int(state["tasks"]))
        self.inputs, self.alpha = int(state["inputs"]) or None, state["alpha"]
        self.hidden = tuple(int(units) for units in state["hidden"])
        self.kind = None if not tasks else "regression" if state["regression"] else "classification"
        self.posterior = [under(state, f"hidden{i}.") for i in layers if tasks]
        self.heads = [under(state, f"task{t}.head.") for t in tasks]
        self._masks = [tuple(hard_masks.PackedMask(state[f"task{t}.mask{i}.bits"],
                                                   tuple(int(n) for n in state[f"task{t}.mask{i}.shape"]))
                             for i in layers) for t in tasks]
        self._coresets = [Data(state[f"task{t}.coreset.x"], state[f"task{t}.coreset.y"]) for t in tasks
                          if f"task{t}.coreset.x" in state]
        self._refined = {}

    def _accept(self, task):
        """Refuse a task that does not fit; note what the first one says of all others: their kind and their width."""
        check_task("npbcl", task, self.kind or ("classification", "regression"), self.inputs)
        if task.kind == "regression" and self.settings.prediction_samples < 2:
            raise ValueError("npbcl: prediction_samples must be at least 2 for a regression, which tells its deviation")
        self._refined, self.inputs, self.kind = {}, task.inputs, task.kind
        try:
            width = self._likelihood.width(task.outputs)
        except ValueError as error:
            raise TrainingError(f"npbcl: task {task.name!r}: {error}") from error
        outputs = len(self.heads[0]["bias.mu"]) if self.heads else width
        if self.settings.single_head and width != outputs:
            raise ValueError(f"npbcl: task {task.name!r} has {task.outputs} outputs, the one head {outputs}")

    def _how(self, phase, data, progress):
        """Return how a phase of the next task's training goes."""
        settings = self.settings
        masked, finetune = settings.epochs_for(len(data.x))
        epochs = {"likelihood": settings.likelihood_epochs, "masked": masked, "finetune": finetune}[phase]
        return Fit(phase, epochs, settings.batch, settings.samples, self._key(len(self.heads), phase), self.backend,
                   progress, settings.rate_end, settings.finetune_average if phase == "finetune" else 0.0)

    @property
    def _likelihood(self):
        settings = self.settings
        if self.kind == "regression":
            return likelihoods.Gaussian(settings.noise_sigma, settings.learn_noise)
        return likelihoods.of_classes(settings.likelihood)

    def _network(self, width, hidden):
        """Return the network with a head of a width."""
        return classifier(self.inputs, hidden, self._likelihood, width, Masked, self.settings.activation,
                          model=self.settings.mask_model)

    def _by_name(self, masks):
        """Return hard masks by the names of their layers."""
        return {f"hidden{i}": mask for i, mask in enumerate(masks)}

    def _fixed(self, rate):
        """Return the rates and the objective of training with given masks."""
        weights = Elbo(1.0, -self.settings.weight_kl_weight)
        return {"mu": rate, "log_sigma": rate, "noise": rate}, Weighted(weights)

    def _key(self, task_id, phase):
        return Key(self.seed, len(PHASES) * task_id + PHASES.index(phase), 0, 0)

    def _split(self, task):
        """Take the task's coreset out of its training data."""
        return coresets.take_out("npbcl", task, self.settings.coreset, self.settings.coreset_size,
                                 generator(self._key(len(self.heads), "coreset")))

    def _known(self, shapes):
        """Return, for each hidden layer, which weights have yesterday's posterior as their prior (Eq. 11)."""
        if not self.settings.masked_prior and self.heads:
            return [expansion.embed(np.ones(layer["weight.mu"].shape, bool), shape)
                    for layer, shape in zip(self.posterior, shapes, strict=True)]
        return [hard_masks.union((expansion.embed(self.masks(t)[i], shape) for t in range(len(self.heads))), shape)
                for i, shape in enumerate(shapes)]

    def _prior(self, model):
        """Build the prior of the next task by Eq. 11; a new head has the initial prior, a shared one its posterior."""
        settings, layers, known = self.settings, {}, {}
        shapes = [layer.shape for layer in model.masked.values()]
        for i, (name, used) in enumerate(zip(model.masked, self._known(shapes), strict=True)):
            initial = priors.standard(used.shape, settings.prior_sigma)
            layers[name] = priors.select(used, self._embedded(i, initial), initial) if self.heads else initial
            known[name] = used
        layers["head"] = priors.standard(model.layers["head"].shape, settings.prior_sigma)
        if settings.single_head and self.heads:
            self._embed_head(layers["head"])
        known["head"] = np.ones(model.layers["head"].shape, bool)
        # The mean of a Gamma(g, h) is g / h.
        learned = (settings.alpha_prior_shape, settings.alpha_prior_shape / settings.alpha)
        sticks_prior = {name: learned if layer.model.learns_alpha else alpha for (name, layer), alpha in
                        zip(model.masked.items(), self.alpha.astype(np.float32), strict=True)}
        return priors.assemble(model, layers, sticks_prior, None if settings.unused_prior == "gaussian" else known,
                               settings.unused_prior == "flat")

    def _embedded(self, i, like):
        """Return the posterior of a hidden layer in the corner of arrays as large as those of ``like``."""
        return {name: expansion.embed(self.posterior[i][name], like[name].shape) for name in priors.GAUSSIAN}

    def _start(self, model, growth=0):
        """Start the next task: known weights at the last posterior, all others and a new head afresh."""
        rng = generator(self._key(len(self.heads), "initial")._replace(step=growth))
        vector = model.initial(starts.normal(rng, self.settings.start_spread), self.settings.start_sigma, self.alpha)
        vector[model.layout.block("rho")] = self.settings.start_rho
        if not self.heads:
            return vector
        views, shapes = model.layout.layers(vector), [layer.shape for layer in model.masked.values()]
        for i, (name, known) in enumerate(zip(model.masked, self._known(shapes), strict=True)):
            write(views[name], priors.select(known, self._embedded(i, views[name]), views[name]))
        if self.settings.single_head:
            self._embed_head(views["head"])
        return vector

    def _embed_head(self, head):
        """Write the last head into the corner of a larger one, in place; rows of new units stay as they are."""
        for name in priors.GAUSSIAN:
            value = self.heads[-1][name]
            expansion.corner(head[name], value.shape)[...] = value

    def _warm_up(self, network, vector, prior, data, progress):
        """Maximize the likelihood before the first task, without masks (supplement B.1: "similar to VCL")."""
        if self.heads or not self.settings.likelihood_epochs:
            return vector, []
        return objectives.maximize_likelihood(network, vector, prior, data, self._how("likelihood", data, progress),
                                              self.settings.weight_rate)

    def _train_masked(self, model, vector, prior, data, how):
        """Maximize the ELBO over weights, masks and sticks while the temperature falls, and grow if need be."""
        if self._shares_a_mask:
            masks = self._by_name(self.masks(0))
            return model, *objectives.train_fixed(model, vector, prior, masks, data, how,
                                                  *self._fixed(self.settings.weight_rate))
        settings = self.settings
        rates = {"mu": settings.weight_rate, "log_sigma": settings.weight_rate, "noise": settings.weight_rate,
                 "rho": settings.mask_rate, "sticks": settings.mask_rate, "alpha": settings.mask_rate}
        weights = Elbo(1.0, -settings.weight_kl_weight, -settings.mask_kl_weight, -settings.stick_kl_weight,
                       -settings.stick_kl_weight)
        growing = Growing(settings.expand_every, self._grow) if settings.expand else None
        return objectives.train_masked(model, vector, prior, data, how, rates, Weighted(weights),
                                       (settings.tau_start, settings.tau_end), growing)

    def _grow(self, model, vector, step):
        """Add units to every layer that has too few empty ones left (Sec. 4.6)."""
        more = [expansion.growth(mask, self.settings.empty_units) for mask in self._probable_masks(model, vector)]
        if not any(more):
            return None
        self.hidden = tuple(units + extra for units, extra in zip(self.hidden, more, strict=True))
        larger = self._network(model.outputs, self.hidden)
        grown = self._start(larger, growth=step + 1)
        model.layout.transfer(vector, larger.layout, grown)
        return larger, grown, self._prior(larger)

    def _probable_masks(self, model, vector):
        """Threshold the posterior probability of every mask."""
        key = self._key(len(self.heads), "cut")
        return tuple(hard_masks.probable(model, vector, self.settings.prediction_samples, key, self.backend).values())

    def _cut(self, model, vector):
        """Cut the task's hard masks from the posterior.

        Raises
        ------
        TrainingError
            If a layer has no weight left: such a network cannot compute anything.
        """
        if self._shares_a_mask:
            return self.masks(0)
        masks = self._probable_masks(model, vector)
        for i, mask in enumerate(masks):
            if not mask.any():
                raise TrainingError(f"npbcl: task {len(self.heads)} switched off every weight of hidden layer {i}; "
                                    "raise alpha, epochs or start_rho, or lower mask_kl_weight")
        return masks

    @property
    def _shares_a_mask(self):
        """Whether the next task has the first one's mask: an ablation (Sec. 6.3)."""
        return self.settings.shared_mask and bool(self.heads)

    def _drop(self, model, vector, prior, masks):
        """Set every weight that the masks switch off to its Gaussian prior, in place; without one it stays."""
        if not self.settings.reset_unused:
            return
        off, rest = packing.off_weights(model, self._by_name(masks)), packing.at_rest(model, vector, prior)
        for block in map(model.layout.block, ("mu", "log_sigma")):
            vector[block] = np.where(off, rest[block], vector[block])

    def _finetune(self, model, vector, prior, masks, data, progress):
        """Maximize the ELBO over the weights that the masks keep."""
        return objectives.train_fixed(model, vector, prior, self._by_name(masks), data,
                                      self._how("finetune", data, progress), *self._fixed(self.settings.finetune_rate))

    def _keep(self, model, vector, masks, coreset):
        """Keep what was learned: the posterior, the head, the masks, the coreset, and the next task's alpha."""
        views = model.layout.layers(vector)
        hidden, head = [views[name] for name in model.masked], views["head"]
        self.alpha = np.array([self._next_alpha(alpha, layer) for alpha, layer in zip(self.alpha, hidden, strict=True)])
        self.posterior = [{name: layer[name].copy() for name in priors.GAUSSIAN} for layer in hidden]
        head = {name: value.copy() for name, value in head.items()}
        extra = {f"noise.{name}": value.copy() for name, value in views.get("noise", {}).items()}
        if self.settings.single_head:                        # each task keeps what is its own: a regression's noise
            self.heads = [old | head for old in self.heads]
        self.heads = [*self.heads, head | extra]
        self._masks.append(tuple(hard_masks.pack(mask) for mask in masks))
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

    def _assemble(self, task_id):
        """Build the network of a learned task, as large as it was then, and its parameters."""
        head, masks = self.heads[task_id], self._masks[task_id]
        model = self._network(len(head["bias.mu"]), tuple(packed.shape[1] for packed in masks))
        vector = np.zeros(model.layout.size, np.float32)
        views = model.layout.layers(vector)
        for name, values in zip(model.layers, (*self.posterior, head), strict=True):
            write(views[name], {part: expansion.corner(values[part], views[name][part].shape)
                                for part in priors.GAUSSIAN})
        for part, view in views.get("noise", {}).items():
            view[...] = head[f"noise.{part}"]
        return model, vector

    def _refine(self, model, vector, task_id):
        """Refine a copy of the posterior on a task's coreset, its mask fixed; used for predictions only (Sec. 4.3)."""
        block, settings, coreset = model.layout.block, self.settings, self._coresets[task_id]
        prior = Prior(vector[block("mu")].copy(), vector[block("log_sigma")].copy(), {})
        how = Fit("coreset", settings.coreset_epochs, settings.batch, settings.samples,
                  self._key(task_id, "coreset"), self.backend, False)
        refined, _ = objectives.train_fixed(model, vector, prior, self._by_name(self.masks(task_id)), coreset, how,
                                            *self._fixed(settings.coreset_rate))
        return refined
