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
from ibpcl.continual.learner import Saved, check_inputs, check_task
from ibpcl.errors import TrainingError
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods.growing import Growing
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


class NPBCL(Growing):
    """Learn tasks one after another in one network, each with its own masks.

    Parameters and attributes as in :class:`ibpcl.methods.growing.Growing`; what tasks share are Gaussian parameters.
    ``memory`` has ``mask{s}.{i}``, the hard mask of each task and masked layer at one bit a weight, ``x{s}`` and
    ``y{s}``, the coreset of each task if there are any, and ``alpha``.
    """

    settings_type = Settings
    phases = ("initial", "likelihood", "masked", "cut", "finetune", "coreset", "predict")
    key = Saved.key                                          # what is sampled draws noise

    @property
    def kind(self):
        """The kind of the tasks, as of the first one; None before it."""
        kinds = {None: None, False: "classification", True: "regression"}
        return kinds[bool(self.memory["regression"]) if "regression" in self.memory else None]

    @property
    def alpha(self):
        """The next task's concentration in each masked layer."""
        return self.memory.get("alpha", self.settings.alphas)

    @property
    def posterior(self):
        """The Gaussian parameters that tasks share, by layer and name."""
        return self.shared_layout().layers(self.shared) if self.learned else {}

    def learn(self, task, progress=None):
        """Run one turn of Algorithm 1; return the history of its training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        network = self.network(self._accept(task))

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
        if task_id not in self.refined:
            self.refined[task_id] = self._refine(network, vector, masks, task_id)
        return prediction.predict(network, self.refined[task_id], masks, x, self.settings.prediction_samples,
                                  self.key("predict", task_id), self.backend)

    def masks(self, task_id):
        """Return the hard masks of a task: a tuple of boolean arrays (D, K), one a masked layer."""
        return tuple(hard_masks.unpack(self.memory[f"mask{task_id}.{i}"], layer.shape)
                     for i, layer in enumerate(self.network_of(task_id).masked.values()))

    def assemble(self, task_id):
        """Build the network of a learned task, as large as it was then, its parameters, and its masks by layer."""
        network = self.network_of(task_id)
        masks = dict(zip(network.masked, self.masks(task_id), strict=True))
        vector = np.zeros(network.layout.size, np.float32)
        vector[self.places(network)] = self.shared_for(task_id)
        vector[self._own_places(network, masks)] = self.own[task_id]
        return network, vector, masks

    # What is said otherwise of autoencoders.

    def _accept(self, task):
        """Refuse a task that does not fit; note the first one's kind and width; return the width of the outputs."""
        check_task("npbcl", task, self.kind or ("classification", "regression"), self.inputs)
        if task.kind == "regression" and self.settings.prediction_samples < 2:
            raise ValueError("npbcl: prediction_samples must be at least 2 for a regression, which tells its deviation")
        self.inputs, self.memory["regression"] = task.inputs, np.array(task.kind == "regression")
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

    def network(self, outputs, widths=None):
        """Return a network of given widths, of the newest ones if they are not given."""
        return classifier(self.inputs, widths or self.hidden, self._likelihood, outputs, Masked,
                          self.settings.activation, model=self.settings.mask_model)

    @property
    def _own(self):
        """How the names begin of parameters that each task has for itself."""
        return ("noise.",) if self.settings.single_head else ("noise.", "head.")

    def shares(self, name):
        """Return whether all tasks share the parameters of a name."""
        return name.endswith(("mu", "log_sigma")) and not name.startswith(self._own)

    def _own_places(self, network, masks):
        """Return which parameters (P,) a task with hard masks has for itself."""
        chosen = np.zeros(network.layout.size, bool)
        for name, view in network.layout.views(chosen).items():
            view[...] = name.startswith(self._own)
        return chosen

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

    # The lines of the algorithm.

    def _split(self, task):
        """Take the task's coreset out of its training data."""
        if self.settings.coreset == "none":
            return Data(task.x_train, task.targets), None
        return coresets.take_out("npbcl", task, self.settings.coreset, self.settings.coreset_size,
                                 generator(self.key("coreset")))

    def _known(self, network):
        """Return by layer which weights have yesterday's posterior as their prior (Eq. 11), (D, K) bool."""
        tasks, known = [self.masks(t) for t in range(self.learned)], {}
        for name, layer in self.posterior.items():
            if name in network.layers:                       # not what an autoencoder's codes have besides layers
                used = [np.ones(layer["weight.mu"].shape, bool)]
                if name in network.masked and self.settings.masked_prior:
                    used = [masks[list(network.masked).index(name)] for masks in tasks]
                known[name] = hard_masks.union(used, network.layers[name].shape)
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
        views, posterior = network.layout.layers(vector), self.posterior
        for name, known in self._known(network).items():
            write(views[name], priors.select(known, posterior[name], views[name]))
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
        growing = (settings.expand_every, self._grow) if settings.expand else None
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
        self.memory[f"widths{self.learned}"] = np.array(self.hidden) + more
        larger = self.network(network.outputs)
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
        t, views = self.learned, network.layout.layers(vector)
        self.memory["alpha"] = np.array([self._next_alpha(alpha, views[name])
                                         for alpha, name in zip(self.alpha, network.masked, strict=True)])
        self.memory[f"widths{t}"] = np.array(self.hidden)
        self.memory |= {f"mask{t}.{i}": np.packbits(mask) for i, mask in enumerate(masks.values())}
        if coreset is not None:
            self.memory |= {f"x{t}": coreset.x, f"y{t}": coreset.y}
        self.shared, self.refined = vector[self.places(network)].copy(), {}
        self.own.append(vector[self._own_places(network, masks)])
        self.outputs.append(network.outputs)

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

    def _refine(self, network, vector, masks, task_id):
        """Refine a copy of the posterior on a task's coreset, its mask fixed; used for predictions only (Sec. 4.3)."""
        if self.settings.coreset == "none":
            return vector
        settings, prior = self.settings, Prior.at(network.layout, vector)
        data = Data(self.memory[f"x{task_id}"], self.memory[f"y{task_id}"])
        how = self._how("coreset", settings.coreset_epochs, False, key=self.key("coreset", task_id), rate_end=1.0)
        return objectives.train(network, vector, prior, data, how,
                                dict.fromkeys(OF_WEIGHTS, settings.coreset_rate), self._weighted(network), masks,
                                vector)[1]
