r"""VCL, variational continual learning: yesterday's posterior is today's prior, for every weight.

Nguyen, Li, Bui and Turner (2018), "Variational Continual Learning", Eq. 4 and Algorithm 1.  With a Gaussian posterior a
weight, task t maximizes

.. math:: \mathcal L_t(q_t) = \sum_n \mathbb E_{q_t}[\log p(y_n | x_n, V)] - KL[q_t(V) \| q_{t - 1}(V)],
          \qquad q_0 = \mathcal N(0, \sigma_0^2).

The first task starts from a maximum-likelihood fit (supplement of that paper: the means would else be slow to leave 0),
later ones from the last posterior, means and variances; a new head starts afresh under the prior :math:`q_0`.  NPBCL
with an all-ones mask is this.  With one task it is Bayes by Backprop (Blundell et al., 2015).

**Coresets** (Algorithm 1): some examples of each task are kept out of its training; before its predictions a copy of
the posterior is trained on them.  With one head for all tasks the coresets are merged.

``local`` draws pre-activations (Kingma, Salimans and Welling, 2015), every example with noise of its own; without it,
weights are drawn, as in the original code.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import coresets
from ibpcl.continual import prior as priors
from ibpcl.continual.journal import Partial, phase_fit
from ibpcl.continual.learner import Saved, check_inputs, check_task, under
from ibpcl.continual.task import Task
from ibpcl.inference import objectives
from ibpcl.inference.objectives import Data, Fit
from ibpcl.methods import check_settings, option
from ibpcl.models.mean_field import MeanField
from ibpcl.models.mlp import ACTIVATIONS, write
from ibpcl.models.supervised import Elbo, Prior
from ibpcl.noise import Key, generator

# Each task has noise of its own for each phase.
PHASES = ("initial", "likelihood", "vcl", "coreset", "predict")
CHOICES = {"activation": ACTIVATIONS, "coreset": ("none", *coresets.SELECTIONS)}


@dataclass(frozen=True)
class Settings:
    """The settings of VCL."""

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer.")
    activation: str = option("relu", "relu, leaky_relu, softplus or tanh.")
    single_head: bool = option(False, "One head for all tasks instead of one a task.")
    samples: int = option(1, "Monte-Carlo samples of a training step.")
    prediction_samples: int = option(100, "Monte-Carlo samples of a prediction.")
    local: bool = option(True, "Draw pre-activations, each example's own, instead of weights.")
    likelihood_epochs: int = option(5, "Maximum-likelihood epochs before the first task.")
    epochs: int = option(5, "Epochs a task.")
    batch: int = option(256, "Examples in a minibatch.")
    rate: float = option(0.001, "Adam's learning rate.")
    rate_end: float = option(1.0, "Factor of the learning rate at a task's last step; it falls geometrically.")
    prior_sigma: float = option(1.0, "Standard deviation of the first prior of a weight.")
    start_sigma: float = option(float(np.exp(-3.0)), "Standard deviation that a weight starts with.")
    start_spread: float = option(0.1, "Standard deviation of the random means that weights start with.")
    coreset: str = option("none", "How a task's coreset is chosen: none, random or k_center.")
    coreset_size: int = option(40, "Examples kept from each task, taken out of its training data.")
    coreset_epochs: int = option(100, "Steps on a coreset before predictions.")

    def __post_init__(self):
        at_least = {**dict.fromkeys(("samples", "prediction_samples", "batch", "coreset_size"), 1),
                    **dict.fromkeys(("likelihood_epochs", "epochs", "rate", "coreset_epochs"), 0)}
        check_settings("vcl", self, CHOICES, at_least, ("rate_end", "prior_sigma", "start_sigma", "start_spread"))


class VCL(Saved):
    """Learn tasks by Bayes' rule with Gaussian posteriors.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.
    """

    settings_type = Settings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.posterior = []                                  # the Gaussian parameters of each hidden layer
        self.heads = []                                      # those of each task's head
        self._coresets = []                                  # the examples kept from each task
        self._refined = {}                                   # task -> its parameters after the coresets

    def learn(self, task, progress=None, journal=None):
        """Turn the posterior into that of one more task; return the history of the training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        self._check(task)
        settings, t, resumed = self.settings, len(self.heads), journal.resume if journal else None
        self.inputs, self._refined = task.inputs, {}
        model, (data, coreset) = self._model(task.outputs), self._split(task)
        prior, vector = self.prior(model), self.start(model)
        done = list(resumed.history) if resumed is not None else []

        def how(phase, epochs):
            return phase_fit(self, phase, epochs, self._key(t, phase), progress, journal,
                             lambda now: Partial(now, settings.hidden, None, tuple(done)))

        if settings.likelihood_epochs and not t and (resumed is None or resumed.snapshot.phase == "likelihood"):
            vector, records = objectives.maximize_likelihood(
                model, vector, prior, data, how("likelihood", settings.likelihood_epochs), settings.rate)
            done += records
        vector, records = self._maximize_elbo(model, vector, prior, data, how("vcl", settings.epochs))
        done += records
        self._keep(model, vector, coreset)
        return [record._replace(task=t) for record in done]

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return self.predict_classes(x, task_id).probabilities

    def predict_classes(self, x, task_id):
        """Return the :class:`ibpcl.models.classifier.Prediction`, which says how sure it is, for inputs (N, D)."""
        check_inputs("vcl.predict", x, self.inputs, task_id, len(self.heads))
        # With one head all tasks have one network, and the same noise.
        task_id = 0 if self.settings.single_head else task_id
        model = self._model(len(self.heads[task_id]["bias.mu"]))
        if task_id not in self._refined:
            self._refined[task_id] = self._refine(model, self._assemble(model, self.heads[task_id]), task_id)
        return model.predict(self._refined[task_id], model.all_ones, np.asarray(x, np.float32),
                             self.settings.prediction_samples, self._key(task_id, "predict"), self.backend)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = {"inputs": np.array(self.inputs or 0), "tasks": np.array(len(self.heads))}
        for i, layer in enumerate(self.posterior):
            arrays |= {f"hidden{i}.{name}": value for name, value in layer.items()}
        heads = self.heads[:1] if self.settings.single_head else self.heads
        for t, head in enumerate(heads):
            arrays |= {f"task{t}.head.{name}": value for name, value in head.items()}
        for t, coreset in enumerate(self._coresets):
            arrays |= {f"task{t}.coreset.x": coreset.x, f"task{t}.coreset.y": coreset.y}
        return arrays

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}

        tasks = int(state["tasks"])
        self.inputs = int(state["inputs"]) or None
        self.posterior = [under(state, f"hidden{i}.") for i in range(len(self.settings.hidden)) if tasks]
        self.heads = [under(state, f"task{0 if self.settings.single_head else t}.head.") for t in range(tasks)]
        self._coresets = [Data(state[f"task{t}.coreset.x"], state[f"task{t}.coreset.y"]) for t in range(tasks)
                          if f"task{t}.coreset.x" in state]
        self._refined = {}

    def prior(self, model):
        """Return the prior of the next task: the last posterior; the first one for what is new."""
        gaussian = [priors.standard(shape, self.settings.prior_sigma)
                    for shape in (*model.shapes, (model.hidden[-1], model.outputs))]
        if self.heads:
            gaussian = [*self.posterior, self.heads[-1] if self.settings.single_head else gaussian[-1]]
        mu, log_sigma = (np.concatenate([layer[f"{kind}.{part}"].ravel() for layer in gaussian
                                         for kind in ("weight", "bias")]) for part in ("mu", "log_sigma"))
        return Prior(mu, log_sigma, np.ones(len(model.hidden), np.float32))

    def start(self, model):
        """Return the parameters before training: the last posterior, and a fresh head unless there is only one."""
        settings = self.settings
        vector = model.initial(generator(self._key(len(self.heads), "initial")), np.ones(len(model.hidden)),
                               settings.start_sigma, settings.start_spread)
        if not self.heads:
            return vector
        *hidden, head = model.layers(vector)
        for views, values in zip(hidden, self.posterior, strict=True):
            write(views, values)
        if settings.single_head:
            write(head, self.heads[-1])
        return vector

    def _maximize_elbo(self, model, vector, prior, data, how):
        """Fit means and scales of all weights."""
        examples, weights, masks = len(data.x), Elbo(-1 / len(data.x), 1 / len(data.x), 0, 0), model.all_ones

        def objective(vector, rows, step, steps):
            key, batch = how.key._replace(step=step), (data.x[rows], data.y[rows])
            if self.settings.local:
                noise = model.fixed_noise(key, how.samples, len(rows), how.backend)
                parts, cache = model.fixed_elbo(vector, prior, masks, *batch, noise, examples, how.backend)
                return parts, model.fixed_elbo_vjp(weights, cache), 0.0
            noise = model.sampled_noise(key, how.samples, how.backend)
            parts, cache = model.sampled_elbo(vector, prior, *batch, noise, examples, how.backend)
            return parts, model.sampled_elbo_vjp(weights, cache), 0.0

        rates = objectives.block_rates(model.layout, mu=self.settings.rate, log_sigma=self.settings.rate)
        return how.run(vector, objective, rates, examples)

    def _refine(self, model, vector, task_id):
        """Train a copy of the posterior on what was kept: the task's coreset, or with one head all of them."""
        if not self._coresets:
            return vector
        kept = self._coresets if self.settings.single_head else [self._coresets[task_id]]
        coreset = Data(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))
        block = model.layout.block
        prior = Prior(vector[block("mu")].copy(), vector[block("log_sigma")].copy(),
                      np.ones(len(model.hidden), np.float32))
        how = Fit("coreset", self.settings.coreset_epochs, len(coreset.x), self.settings.samples,
                  self._key(task_id, "coreset"), self.backend, False)
        return self._maximize_elbo(model, vector, prior, coreset, how)[0]

    def _keep(self, model, vector, coreset):
        *hidden, head = ({name: layer[name].copy() for name in priors.GAUSSIAN} for layer in model.layers(vector))
        self.posterior = hidden
        self.heads = [head] * (len(self.heads) + 1) if self.settings.single_head else [*self.heads, head]
        if coreset is not None:
            self._coresets.append(coreset)

    def _assemble(self, model, head):
        vector = np.zeros(model.layout.size, np.float32)
        for views, values in zip(model.layers(vector), (*self.posterior, head), strict=True):
            write(views, values)
        return vector

    def _split(self, task):
        """Take the task's coreset out of its training data."""
        data, settings = Data(task.x_train, task.y_train), self.settings
        if settings.coreset == "none":
            return data, None
        rng, chosen = generator(self._key(len(self.heads), "coreset")), np.zeros(len(data.x), bool)
        chosen[coresets.SELECTIONS[settings.coreset](data.x, settings.coreset_size, rng)] = True
        if chosen.all():
            raise ValueError(f"vcl: the coreset takes all {len(data.x)} examples of task {task.name!r}; "
                             "make coreset_size smaller")
        return Data(data.x[~chosen], data.y[~chosen]), Data(data.x[chosen], data.y[chosen])

    def _model(self, outputs):
        return MeanField(self.inputs, self.settings.hidden, outputs, self.settings.activation)

    def _key(self, task_id, phase):
        return Key(self.seed, len(PHASES) * task_id + PHASES.index(phase), 0, 0)

    def _check(self, task):
        check_task("vcl", task, Task, self.inputs)
        if self.settings.single_head and self.heads and task.outputs != len(self.heads[0]["bias.mu"]):
            raise ValueError(f"vcl: task {task.name!r} has {task.outputs} outputs, the one head "
                             f"{len(self.heads[0]['bias.mu'])}")
