r"""NPBCL: Bayesian structure adaptation for continual learning, the paper's own method.

Kumar et al. (2021), Algorithm 1.  For every task: masked training under the prior :math:`p_t`; the hard mask of the
task; selective fine-tuning with that mask; then the posterior becomes, masked by Eq. 11, the next task's prior.  (The
algorithm prints arg min of the ELBO; it is the maximum.)
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import masks as hard_masks
from ibpcl.continual import prior as priors
from ibpcl.continual.learner import check_inputs
from ibpcl.errors import TrainingError
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import fit
from ibpcl.inference.schedules import geometric
from ibpcl.methods import option
from ibpcl.models.classifier import Classifier
from ibpcl.models.layers import MaskModel, sticks
from ibpcl.models.supervised import Prior
from ibpcl.noise import Key, generator

# Each task has noise of its own for each phase; the third field of a key counts steps within the phase.
PHASES = ("initial", "likelihood", "masked", "cut", "finetune", "predict")


@dataclass(frozen=True)
class Settings:
    """The settings of NPBCL; each has one sentence of documentation in its metadata, and all are checked."""

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer: the truncation level K (Sec. 3.1).")
    activation: str = option("relu", "relu, leaky_relu, softplus or tanh (Sec. 6.1: ReLU).")
    samples: int = option(10, "Monte-Carlo samples S of a training step (supplement: 10).")
    prediction_samples: int = option(100, "Monte-Carlo samples of a prediction (supplement: 100).")
    likelihood_epochs: int = option(0, "Maximum-likelihood epochs before the first task (supplement).")
    epochs: int = option(5, "Epochs of masked training a task (supplement: 5).")
    finetune_epochs: int = option(5, "Epochs of selective fine-tuning a task (supplement: 5).")
    batch: int = option(256, "Examples in a minibatch.")
    weight_rate: float = option(0.01, "Adam's learning rate of means and scales in masked training (paper: 0.001).")
    mask_rate: float = option(0.1, "Adam's learning rate of rho and the sticks (paper: 0.01).")
    finetune_rate: float = option(0.001, "Adam's learning rate in fine-tuning (paper: 0.0001).")
    tau_start: float = option(10.0, "Temperature of the masks at the first step (supplement: 10).")
    tau_end: float = option(0.25, "Temperature of the masks at the last step (supplement: 0.25).")
    alpha: float = option(30.0, "Concentration of the IBP for the first task (supplement: 30).")
    prior_sigma: float = option(1.0, "Standard deviation of the initial prior p0 of a weight (Sec. 3.1: sigma_0).")
    start_sigma: float = option(0.05, "Standard deviation that an unused weight starts a task with.")
    start_spread: float = option(0.01, "Standard deviation of the random means that unused weights start a task with.")
    mask_kl: str = option("bernoulli", "Divergence of the masks: bernoulli (closed form) or concrete (supplement).")
    weight_kl_weight: float = option(1.0, "Weight of the weights' divergence; 1 is the true ELBO (Eq. 8).")
    mask_kl_weight: float = option(1 / 784, "Weight of the masks' divergence; 1 is the true ELBO (Eq. 8).")
    stick_kl_weight: float = option(1.0, "Weight of the sticks' divergence; 1 is the true ELBO (Eq. 8).")

    def __post_init__(self):
        for name in ("samples", "prediction_samples", "batch"):
            _require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        for name in ("likelihood_epochs", "epochs", "finetune_epochs", "weight_rate", "mask_rate", "finetune_rate",
                     "weight_kl_weight", "mask_kl_weight", "stick_kl_weight"):
            _require(0 <= getattr(self, name) < np.inf, name, "finite and at least 0", getattr(self, name))
        for name in ("tau_start", "tau_end", "alpha", "prior_sigma", "start_sigma", "start_spread"):
            _require(0 < getattr(self, name) < np.inf, name, "finite and above 0", getattr(self, name))
        Classifier(1, self.hidden, 1, self.activation, MaskModel(self.mask_kl))     # refuses what is wrong with these


def _require(condition, name, allowed, got):
    if not condition:
        raise ValueError(f"npbcl: {name} must be {allowed}, got {got}")


class NPBCL:
    """Learn tasks one after another in one network, each with its own mask and head.

    Parameters
    ----------
    settings : Settings, optional
        The defaults are those of the README's run.
    seed : int
        Everything random is a function of it.
    backend_name : {"numba", "numpy"}
        Who computes.
    """

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        self.settings = settings or Settings()
        self.seed = seed
        self.backend = backend(backend_name)
        self.inputs = None
        self.alpha = np.full(len(self.settings.hidden), self.settings.alpha)
        self.posterior = []                                  # the Gaussian parameters of each hidden layer
        self.heads = []                                      # those of each task's head
        self._masks = []                                     # packed, for each task and layer

    def learn(self, task, progress=None):
        """Run one turn of Algorithm 1; return the history of its training.

        Raises
        ------
        ValueError
            If the task's inputs have another width than the first task's.
        """
        if self.inputs is None:
            self.inputs = task.x_train.shape[1]
        if task.x_train.shape[1] != self.inputs:
            raise ValueError(f"npbcl: task {task.name!r} has {task.x_train.shape[1]} inputs, the network {self.inputs}")
        model, settings = self._model(task.classes), self.settings
        used = [hard_masks.union((self.masks(t)[i] for t in range(len(self.heads))), shape)
                for i, shape in enumerate(model.shapes)]
        prior = self._prior(model, used)
        vector = self._start(model, used)
        history = []
        if not self.heads and settings.likelihood_epochs:
            vector, history = self._maximize_likelihood(model, vector, task, progress)
        vector, records = self._train(model, vector, prior, task, progress)
        history += records
        masks = self._cut(model, vector)
        # Given its mask, the best posterior of a weight that the task does not use is the weight's prior.
        self._forget_unused(model, vector, prior, masks)
        vector, records = self._finetune(model, vector, prior, masks, task, progress)
        history += records
        *hidden, head = model.layers(vector)
        # Supplement, "IBP hyperparameter": alpha = max(alpha, max a).
        largest = [sticks(layer["raw_a"], layer["raw_b"])[0][0].max() for layer in hidden]
        self.alpha = np.maximum(self.alpha, largest)
        self.posterior = [{name: layer[name].copy() for name in priors.GAUSSIAN} for layer in hidden]
        self.heads.append({name: value.copy() for name, value in head.items()})
        self._masks.append(tuple(hard_masks.pack(mask) for mask in masks))
        return history

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task, the mean over weight samples."""
        return self.predict_with_uncertainty(x, task_id).probabilities

    def predict_with_uncertainty(self, x, task_id):
        """Return a :class:`ibpcl.models.classifier.Prediction`: probabilities, entropy and mutual information."""
        check_inputs("npbcl.predict", x, self.inputs, task_id, len(self.heads))
        head = self.heads[task_id]
        model = self._model(len(head["bias.mu"]))
        vector = np.zeros(model.layout.size, np.float32)
        for views, values in zip(model.layers(vector), (*self.posterior, head), strict=True):
            for name, value in values.items():
                views[name][...] = value
        return model.predict(vector, self.masks(task_id), np.asarray(x, np.float32), self.settings.prediction_samples,
                             self._key(task_id, "predict"), self.backend)

    def masks(self, task_id):
        """Return the hard masks of a task: a tuple of boolean arrays (D, K), one a hidden layer."""
        return tuple(hard_masks.unpack(packed) for packed in self._masks[task_id])

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = {"inputs": np.array(self.inputs or 0), "alpha": self.alpha, "tasks": np.array(len(self.heads))}
        for i, layer in enumerate(self.posterior):
            arrays |= {f"hidden{i}.{name}": value for name, value in layer.items()}
        for t, head in enumerate(self.heads):
            arrays |= {f"task{t}.head.{name}": value for name, value in head.items()}
            for i, packed in enumerate(self._masks[t]):
                arrays |= {f"task{t}.mask{i}.bits": packed.bits, f"task{t}.mask{i}.shape": np.array(packed.shape)}
        return arrays

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        layers = range(len(self.settings.hidden))
        tasks = range(int(state["tasks"]))
        self.inputs, self.alpha = int(state["inputs"]) or None, np.array(state["alpha"])
        self.posterior = [{name: np.array(state[f"hidden{i}.{name}"]) for name in priors.GAUSSIAN}
                          for i in layers if tasks]
        self.heads = [{name: np.array(state[f"task{t}.head.{name}"]) for name in priors.GAUSSIAN} for t in tasks]
        self._masks = [tuple(hard_masks.PackedMask(np.array(state[f"task{t}.mask{i}.bits"]),
                                                   tuple(int(n) for n in state[f"task{t}.mask{i}.shape"]))
                             for i in layers) for t in tasks]

    def _model(self, classes):
        return Classifier(self.inputs, self.settings.hidden, classes, self.settings.activation,
                          MaskModel(self.settings.mask_kl))

    def _key(self, task_id, phase):
        return Key(self.seed, len(PHASES) * task_id + PHASES.index(phase), 0, 0)

    def _prior(self, model, used):
        """Build the prior of the next task by Eq. 11; a new head has the initial prior."""
        sigma = self.settings.prior_sigma
        layers = [priors.select(mask, self.posterior[i], priors.standard(mask.shape, sigma)) if self.posterior
                  else priors.standard(mask.shape, sigma) for i, mask in enumerate(used)]
        layers.append(priors.standard((self.settings.hidden[-1], model.outputs), sigma))
        mu, log_sigma = (np.concatenate([layer[f"{kind}.{part}"].ravel()
                                         for layer in layers for kind in ("weight", "bias")])
                         for part in ("mu", "log_sigma"))
        return Prior(mu, log_sigma, self.alpha.astype(np.float32))

    def _start(self, model, used):
        """Start the next task: used weights at the last posterior, all others and the head afresh."""
        rng = generator(self._key(len(self.heads), "initial"))
        vector = model.initial(rng, self.alpha, self.settings.start_sigma, self.settings.start_spread)
        for i, layer in enumerate(self.posterior):
            views = model.layers(vector)[i]
            for name, value in priors.select(used[i], layer, views).items():
                views[name][...] = value
        return vector

    def _rates(self, model, **rate_of_block):
        rates = np.zeros(model.layout.size, np.float32)
        for block, rate in rate_of_block.items():
            rates[model.layout.block(block)] = rate
        return rates

    def _fit(self, vector, objective, rates, task, phase, epochs, progress):
        vector, history = fit(
            vector, objective, rates, examples=len(task.x_train), epochs=epochs, batch=self.settings.batch,
            key=self._key(len(self.heads), phase), backend=self.backend, phase=phase, progress=progress)
        return vector, [record._replace(task=len(self.heads)) for record in history]

    def _maximize_likelihood(self, model, vector, task, progress):
        """Fit the means alone to the first task, without masks and without noise (supplement: "similar to VCL")."""
        prior = self._prior(model, [np.zeros(shape, bool) for shape in model.shapes])
        masks = [np.ones(shape, bool) for shape in model.shapes]

        def objective(vector, rows, step, steps):
            silent = tuple(np.zeros((1, len(rows), width), np.float32) for width in (*model.hidden, model.outputs))
            parts, cache = model.fixed_elbo(vector, prior, masks, task.x_train[rows], task.y_train[rows], silent,
                                            len(task.x_train), self.backend)
            return parts, -model.fixed_elbo_vjp((1.0, 0.0, 0.0, 0.0, 0.0), cache) / len(task.x_train), 0.0

        rates = self._rates(model, mu=self.settings.weight_rate)
        return self._fit(vector, objective, rates, task, "likelihood", self.settings.likelihood_epochs, progress)

    def _train(self, model, vector, prior, task, progress):
        """Masked training: maximize the ELBO over weights, masks and sticks while the temperature falls."""
        settings, key, examples = self.settings, self._key(len(self.heads), "masked"), len(task.x_train)
        weights = (1.0, -settings.weight_kl_weight, -settings.mask_kl_weight, -settings.stick_kl_weight, -1.0)

        def objective(vector, rows, step, steps):
            tau = geometric(settings.tau_start, settings.tau_end, step, steps)
            noise = model.noise(key._replace(step=step), settings.samples, len(rows), self.backend)
            parts, cache = model.elbo(vector, prior, task.x_train[rows], task.y_train[rows], noise, tau, examples,
                                      self.backend)
            return parts, -model.elbo_vjp(weights, cache) / examples, tau

        rates = self._rates(model, mu=settings.weight_rate, log_sigma=settings.weight_rate, rho=settings.mask_rate,
                            sticks=settings.mask_rate)
        return self._fit(vector, objective, rates, task, "masked", settings.epochs, progress)

    def _cut(self, model, vector):
        """Cut the task's hard masks from the posterior.

        Raises
        ------
        TrainingError
            If a layer has no weight left: such a network cannot compute anything.
        """
        masks = []
        for i, layer in enumerate(model.layers(vector)[:-1]):
            (a, b), _ = sticks(layer["raw_a"], layer["raw_b"])
            key = self._key(len(self.heads), "cut")._replace(stream=i)
            u = self.backend.uniform(key, (self.settings.prediction_samples, len(a)), np.float32)
            masks.append(hard_masks.threshold(hard_masks.posterior_probability(layer["rho"], a, b, u)))
            if not masks[-1].any():
                raise TrainingError(f"npbcl: task {len(self.heads)} switched off every weight of hidden layer {i}; "
                                 "raise alpha, or lower mask_kl_weight")
        return tuple(masks)

    def _forget_unused(self, model, vector, prior, masks):
        for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)):
            kept = np.concatenate([flat for mask in masks for flat in (mask.ravel(), mask.any(axis=0))])
            part = vector[model.layout.block(block)]
            part[: len(kept)] = np.where(kept, part[: len(kept)], values[: len(kept)])

    def _finetune(self, model, vector, prior, masks, task, progress):
        """Selective fine-tuning: maximize the ELBO over the weights that the mask keeps."""
        settings, key, examples = self.settings, self._key(len(self.heads), "finetune"), len(task.x_train)

        def objective(vector, rows, step, steps):
            noise = model.fixed_noise(key._replace(step=step), settings.samples, len(rows), self.backend)
            parts, cache = model.fixed_elbo(vector, prior, masks, task.x_train[rows], task.y_train[rows], noise,
                                            examples, self.backend)
            gradient = model.fixed_elbo_vjp((1.0, -settings.weight_kl_weight, 0.0, 0.0, 0.0), cache)
            return parts, -gradient / examples, 0.0

        rates = self._rates(model, mu=settings.finetune_rate, log_sigma=settings.finetune_rate)
        return self._fit(vector, objective, rates, task, "finetune", settings.finetune_epochs, progress)
