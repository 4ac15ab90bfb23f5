r"""NPBCL for images without labels: one autoencoder, each task with masks of its own in encoder and decoder.

Kumar et al. (2021), Sec. 3.3, supplement B.2 and Algorithm 1.  For every task: masked training; hard masks; selective
fine-tuning with them; then the posterior becomes, masked by Eq. 11, the next task's prior.  What a task does not use
returns exactly to its prior: to the posterior that earlier tasks left, where they use it.

**The output layer** (last hidden layer to pixels) has no mask.  In Fig. 2b of the paper it is a head, of which each
task has its own; in the released code all tasks share it, and what the last task does to it the first one has to bear.
Both are here.  ``own``: a task keeps the rows that lead on from the units it uses; the others cannot be seen.
``shared``: Eq. 11 applies to rows, for a unit that a task has switched off outputs zero.  The rows of units that an
earlier task uses are known and have its posterior as their prior, all others are free.  The biases of the pixels are
each task's own in both, one number a pixel: a task's mean image is nobody else's.

**Used weights.**  By Eq. 11 the posterior of a weight that an earlier task uses is its prior: a later task may move it,
and the earlier one pays.  With ``hold_used`` it stays exactly where it is, the limit of a posterior that is certain.
Then nothing is forgotten; later tasks still use what is held if their masks choose it, and learn all other weights.

**Where masks start.**  A posterior starts somewhere.  With rho = 0 every task's masks would start as the sticks say, on
the same first columns, all of whose weights are held after the first task: the second one could hardly learn.  So rho
starts where it gives the least used columns of a hidden layer the probabilities that the sticks give to the first ones
(``first_columns``).  Prior and ELBO stay as they are.

**The codes' prior** (supplement G: its mean and standard deviation are "fixed or learned").  With ``per_task`` each
task learns one, N(m_t, s_t^2), from a random m_t ~ N(0, I), as the released code does.  A shift of all codes of a task
can be undone in its encoder and decoder, so that p(x) hardly gains; what it does to neighbours among codes of different
tasks, docs/unsupervised.md says.
"""

import numpy as np

from ibpcl.continual import masks as hard_masks
from ibpcl.continual import prior as priors
from ibpcl.continual.learner import Saved, check_task, check_task_id, under
from ibpcl.errors import TrainingError
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods.vae_npbcl_settings import PRESETS, Settings
from ibpcl.models import packing, starts
from ibpcl.models.elbo import Elbo
from ibpcl.models.likelihoods import of_pixels
from ibpcl.models.masked import sticks
from ibpcl.models.network import autoencoder
from ibpcl.models.packing import ZERO_AT_ZERO
from ibpcl.models.parameters import write
from ibpcl.models.point_autoencoder import at_means, pixel_biases
from ibpcl.noise import Key, generator
from ibpcl.primitives.sticks import prior_log_odds

__all__ = ["PRESETS", "VAENPBCL", "Settings"]

# Each task has noise of its own for each phase; the third field of a key counts steps within the phase.
PHASES = ("initial", "masked", "cut", "finetune")
ROWS, BIASES, CODES = (tuple(f"{name}.{part}" for part in ("mu", "log_sigma"))
                       for name in ("pixels.weight", "pixels.bias", "codes"))


class VAENPBCL(Saved):
    """Learn generative models one after another in one autoencoder, each with its own masks.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.

    Attributes
    ----------
    posterior : dict of str to dict
        The Gaussian parameters of each layer that tasks share, by name.
    alpha : ndarray
        The next task's concentration in each masked layer.
    own : list of dict
        What each task has for itself: the pixels' biases, and what is added to its codes and their log s;
        with ``output`` "own" the rows of the pixels' weights that it uses, with ``latent_prior`` "per_task" its prior.
    """

    settings_type = Settings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.alpha = self.settings.alphas
        self.posterior, self.own = {}, []
        self._masks = []                                     # packed, for each task and masked layer
        self._shared_prior = {}                              # the codes' prior, if one is learned for all tasks

    @property
    def learned(self):
        """How many tasks were learned."""
        return len(self.own)

    def learn(self, task, progress=None):
        """Run one turn of Algorithm 1; return the history of its training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        self._check(task)
        settings, t = self.settings, len(self.own)
        self.inputs = task.inputs
        model, data = self._model(), Data(task.x_train, task.x_train)
        known = self._known(model)
        prior, vector = self._prior(model, known), self._start(model, known, task)
        held = self._held(model, known)

        def how(phase, epochs):
            return Fit(phase, epochs, settings.batch, settings.samples, self._key(t, phase), self.backend, progress,
                       settings.rate_end)

        weighted = Weighted(Elbo(1.0, -settings.weight_kl_weight, -settings.mask_kl_weight, -settings.stick_kl_weight,
                                 kl_latent=-settings.beta), settings.warm_up, held)
        _, vector, done = objectives.train_masked(model, vector, prior, data, how("masked", settings.epochs),
                                                  settings.masked_rates, weighted,
                                                  (settings.tau_start, settings.tau_end))
        masks = self._cut(model, vector, task)
        self._reset_unused(model, vector, prior, masks)
        vector, records = objectives.train_fixed(model, vector, prior, masks, data,
                                                 how("finetune", settings.finetune_epochs), settings.finetune_rates,
                                                 weighted)
        self._keep(model, vector, masks)
        return [record._replace(task=t) for record in done + records]

    def latent_model(self, task_id):
        """Return a task's model as it is evaluated: weights at their means, hard masks.

        Returns
        -------
        model : ibpcl.models.point_autoencoder.PointAutoencoder
            Everything a function of the codes.

        Raises
        ------
        ValueError
            If the task was not learned.
        """
        check_task_id("vae_npbcl.latent_model", task_id, len(self.own))
        model = self._model()
        vector = np.zeros(model.layout.size, np.float32)
        for name, layer in self.posterior.items():
            write(model.layout.layers(vector)[name], layer)
        masks = dict(zip(model.masked, self.masks(task_id), strict=True))
        everything, rows = model.layout.views(vector), _speaking(model, masks)
        for name, value in (self.own[task_id] | self._shared_prior).items():
            everything[name][rows if name in ROWS else ...] = value
        return at_means(model, vector, masks)

    def masks(self, task_id):
        """Return the hard masks of a task: a tuple of boolean arrays (D, K), one a masked layer, encoder first."""
        return tuple(hard_masks.unpack(packed) for packed in self._masks[task_id])

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = {"inputs": np.array(self.inputs or 0), "alpha": self.alpha, "tasks": np.array(len(self.own))}
        for name, layer in self.posterior.items():
            arrays |= {f"layer.{name}.{key}": value for key, value in layer.items()}
        arrays |= {f"shared.{name}": value for name, value in self._shared_prior.items()}
        for t, own in enumerate(self.own):
            arrays |= {f"task{t}.own.{name}": value for name, value in own.items()}
            for i, packed in enumerate(self._masks[t]):
                arrays |= {f"task{t}.mask{i}.bits": packed.bits, f"task{t}.mask{i}.shape": np.array(packed.shape)}
        return arrays

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}
        tasks = range(int(state["tasks"]))
        self.inputs, self.alpha = int(state["inputs"]) or None, state["alpha"]
        shared = self._shared(self._model()) if tasks else ()
        self.posterior = {name: under(state, f"layer.{name}.") for name in shared}
        self._shared_prior = under(state, "shared.")
        self.own = [under(state, f"task{t}.own.") for t in tasks]
        self._masks = [tuple(hard_masks.PackedMask(state[f"task{t}.mask{i}.bits"],
                                                   tuple(int(n) for n in state[f"task{t}.mask{i}.shape"]))
                             for i in range(len(self.alpha))) for t in tasks]

    def _check(self, task):
        check_task("vae_npbcl", task, "images", self.inputs)

    def _model(self):
        settings = self.settings
        return autoencoder(self.inputs, settings.hidden, settings.latent,
                           of_pixels(settings.likelihood, settings.pixel_sigma), None, settings.activation,
                           settings.latent_prior != "standard", model=settings.mask_model)

    def _key(self, task_id, phase):
        return Key(self.seed, len(PHASES) * task_id + PHASES.index(phase), 0, 0)

    def _shared(self, model):
        """Return the names of the layers that tasks share."""
        return tuple(model.layers if self.settings.output == "shared" else model.masked)

    def _known(self, model):
        """Return for each layer which weights some earlier task uses (Eq. 11), (D, K) bool."""
        tasks = [dict(zip(model.masked, self.masks(t), strict=True)) for t in range(len(self.own))]
        known = _used(model, {name: hard_masks.union((masks[name] for masks in tasks), layer.shape)
                              for name, layer in model.masked.items()})
        known["pixels"] &= "pixels" in self._shared(model)
        return known

    def _prior(self, model, known):
        """Build the prior of the next task by Eq. 11."""
        layers = {}
        for name, layer in model.layers.items():
            initial = priors.standard(layer.shape, self.settings.prior_sigma)
            layers[name] = (priors.select(known[name], self.posterior[name], initial) if name in self.posterior
                            else initial)
            if name == "pixels":                             # its biases are each task's own
                layers[name] |= {key: initial[key] for key in ("bias.mu", "bias.log_sigma")}
        return priors.assemble(model, layers, dict(zip(model.masked, self.alpha.astype(np.float32), strict=True)))

    def _start(self, model, known, task):
        """Start the next task: known weights at the last posterior, all others afresh; pixels at their means."""
        rng = generator(self._key(len(self.own), "initial"))
        start = starts.he(rng, self.settings.start_spread, starts.QUIET)
        vector = model.initial(start, self.settings.start_sigma, self.alpha)
        views = model.layout.layers(vector)
        for name, layer in self.posterior.items():
            write(views[name], priors.select(known[name], layer, views[name]))
        if self.settings.first_columns == "unused":
            for name, concentration in zip(model.masked, self.alpha, strict=True):
                if name not in ("mean", "scale"):            # codes are shared
                    views[name]["rho"][...] = _towards_unused(known[name], concentration,
                                                               self.settings.mask_model)
        views["pixels"]["bias.mu"][...] = pixel_biases(task.x_train, model.likelihood)
        views["pixels"]["bias.log_sigma"][...] = np.log(self.settings.start_sigma)
        codes = model.layout.views(vector)
        write(codes, self._shared_prior)
        if self.settings.latent_prior == "per_task":         # each task's codes start at a place of their own
            codes["prior.mu"][...] = codes["codes.mu"][...] = rng.standard_normal(model.codes.units)
        return vector

    def _held(self, model, known):
        """Return which parameters no later task may move (P,), if the settings say so."""
        if not self.settings.hold_used:
            return None
        held = np.zeros(model.layout.size, bool)
        views = model.layout.layers(held)
        for name in model.layers:
            unit = known[name].any(axis=0) & (name != "pixels")
            write(views[name], {key: known[name] if key.startswith("weight") else unit for key in priors.GAUSSIAN})
        return held

    def _cut(self, model, vector, task):
        """Cut the task's hard masks from the posterior, without the weights that change nothing.

        Raises
        ------
        TrainingError
            If a layer has no weight left: nothing would pass it.  (Only the codes' scale may: it is then 1.)
        """
        key = self._key(len(self.own), "cut")
        masks = hard_masks.probable(model, vector, self.settings.mask_samples, key, self.backend)
        masks = packing.useful(model, masks, task.x_train)
        for name, mask in masks.items():
            if not mask.any() and name != "scale":
                raise TrainingError(f"vae_npbcl: task {len(self.own)} switched off every weight of layer {name}; "
                                    "raise alpha, or lower mask_kl_weight")
        return masks

    def _reset_unused(self, model, vector, prior, masks):
        """Set every weight that the masks switch off, or that nothing reaches, to its prior, in place."""
        used = _used(model, masks)
        off = packing.off_weights(model, used)
        own = np.zeros(model.layout.size, bool)
        model.layout.view(own, "pixels.bias.mu")[...] = True
        off &= ~own[model.layout.block("mu")]                # the pixels' biases are each task's own
        for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)):
            part = vector[model.layout.block(block)]
            part[...] = np.where(off, values, part)

    def _keep(self, model, vector, masks):
        """Keep what was learned: the posterior, the masks, what is the task's own, and the next task's alpha."""
        views, layers = model.layout.views(vector), model.layout.layers(vector)
        self.posterior = {name: {key: layers[name][key].copy() for key in priors.GAUSSIAN}
                          for name in self._shared(model)}
        codes = {name: views[name].copy() for name in ("prior.mu", "prior.log_sigma") if model.codes.learns_prior}
        own = {name: views[name].copy() for name in (*BIASES, *CODES)}
        if "pixels" not in self.posterior:
            own |= {name: views[name][_speaking(model, masks)] for name in ROWS}
        if self.settings.latent_prior == "per_task":
            own |= codes
        else:
            self._shared_prior = codes
        self.own.append(own)
        self._masks.append(tuple(hard_masks.pack(mask) for mask in masks.values()))
        if self.settings.alpha_rule == "max":                # alpha = max(alpha, max a): it can only rise
            largest = [float(sticks(layers[name]["raw_a"], layers[name]["raw_b"])[0][0].max()) for name in masks]
            self.alpha = np.maximum(self.alpha, largest)


def _towards_unused(known, alpha, mask_model):
    """Return the rho (K,) that gives the least used columns the probabilities that the sticks give to the first ones.

    >>> from ibpcl.models.masked import MaskModel
    >>> _towards_unused(np.array([[True, False, False]]), 1.0, MaskModel()).round(2) + 0.0
    array([-1.95,  1.1 ,  0.85])
    """
    log_pi = np.arange(1, known.shape[1] + 1) * np.log(alpha / (alpha + 1))      # at the mean of each stick
    log_odds, _ = prior_log_odds(log_pi, mask_model.link)
    ranked = log_odds[np.argsort(np.argsort(known.sum(axis=0), kind="stable"))]
    return ranked - log_odds if mask_model.structured else ranked


def _used(model, masks):
    """Return for each layer which weights hard masks use: of the pixels' layer the rows of units with any weight."""
    return masks | {"pixels": np.repeat(_speaking(model, masks)[:, None], model.outputs, axis=1)}


def _speaking(model, masks):
    """Return which units the pixels hear (K,): those with any weight, or all where f(0) is not 0."""
    last = model.sources["pixels"]
    units = masks[last].any(axis=0)
    return units if model.layers[last].activation in ZERO_AT_ZERO else np.ones_like(units)
