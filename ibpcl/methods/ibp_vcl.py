r"""IBP-VCL: VCL in a network whose units an Indian buffet process switches on, example by example.

Kessler, Nguyen, Zohren and Roberts (2021), "Hierarchical Indian Buffet Neural Networks for Bayesian Continual
Learning", the model with one buffet a layer.  Hidden units are multiplied by masks (see
:mod:`ibpcl.models.stochastic_units`), and the last posterior, of weights *and* of sticks, is the next prior:

.. math:: \mathcal L_t = \sum_n \mathbb E_q[\log p(y_n | x_n, V, z_n)] - KL[q(V) \| q_{t - 1}(V)]
          - KL[q(v) \| q_{t - 1}(v)] - \sum_n \mathbb E_{q(v)} KL[q(z_n | v) \| p(z_n | v)],

with :math:`q_0(V) = \mathcal N(0, \sigma_0^2)` and :math:`q_0(v_k) = \mathrm{Beta}(\alpha, 1)`, which is
Kumaraswamy(alpha, 1).  As in the paper, masks are drawn as the sticks say, :math:`q(z_{nk} | v) = p(z_{nk} | v)`, so
the last divergence is 0.  With ``offsets`` a task draws them from :math:`\sigma(\rho_k + \operatorname{logit} \pi_k)`
instead, rho its own: it may prefer other units than the sticks do, and every example pays for that.

With all masks at one this is VCL.  Everything but the masks is as there: local reparameterization, the first task's
start from a maximum-likelihood fit, heads, keys of the noise.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import prior as priors
from ibpcl.continual.journal import Partial, phase_fit
from ibpcl.continual.learner import Saved, check_inputs, check_task, under
from ibpcl.continual.task import Task
from ibpcl.inference import objectives
from ibpcl.inference.objectives import Data
from ibpcl.inference.schedules import geometric
from ibpcl.methods import check_settings, option
from ibpcl.models.layers import MaskModel, sticks
from ibpcl.models.mlp import ACTIVATIONS, MASK_KLS, write
from ibpcl.models.stochastic_units import StochasticUnits
from ibpcl.models.supervised import Elbo, Prior
from ibpcl.noise import Key, generator

# As many as VCL has, and in its order, so that both see the same noise; there are no coresets here.
PHASES = ("initial", "likelihood", "ibp_vcl", "coreset", "predict")
SHARED = (*priors.GAUSSIAN, "raw_a", "raw_b")                # what tasks share of a hidden layer


@dataclass(frozen=True)
class Settings:
    """The settings of IBP-VCL."""

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer, the truncation of its buffet.")
    activation: str = option("relu", "relu, leaky_relu, softplus or tanh.")
    single_head: bool = option(False, "One head, and one set of offsets, for all tasks instead of one a task.")
    alpha: float = option(30.0, "The buffet's concentration: how many units an example has on, at first.")
    offsets: bool = option(False, "Give each task offsets to the log-odds of its units; without, sticks alone decide.")
    mask_kl: str = option("bernoulli", "Divergence of the masks: bernoulli, or concrete (of the relaxed ones).")
    tau_start: float = option(1.0, "Temperature of the relaxed masks at a task's first step.")
    tau_end: float = option(0.5, "The same at its last step; it falls geometrically.")
    samples: int = option(1, "Monte-Carlo samples of a training step.")
    prediction_samples: int = option(100, "Monte-Carlo samples of a prediction.")
    likelihood_epochs: int = option(5, "Maximum-likelihood epochs, without masks, before the first task.")
    epochs: int = option(5, "Epochs a task.")
    batch: int = option(256, "Examples in a minibatch.")
    rate: float = option(0.001, "Adam's learning rate of the weights.")
    mask_rate: float = option(0.1, "Adam's learning rate of sticks and offsets.")
    rate_end: float = option(1.0, "Factor of the learning rates at a task's last step; it falls geometrically.")
    prior_sigma: float = option(1.0, "Standard deviation of the first prior of a weight.")
    start_sigma: float = option(float(np.exp(-3.0)), "Standard deviation that a weight starts with.")
    start_spread: float = option(0.1, "Standard deviation of the random means that weights start with.")

    def __post_init__(self):
        at_least = {**dict.fromkeys(("samples", "prediction_samples", "batch"), 1),
                    **dict.fromkeys(("likelihood_epochs", "epochs", "rate", "mask_rate"), 0)}
        check_settings("ibp_vcl", self, {"activation": ACTIVATIONS, "mask_kl": MASK_KLS}, at_least,
                       ("alpha", "tau_start", "tau_end", "rate_end", "prior_sigma", "start_sigma", "start_spread"))


class IBPVCL(Saved):
    """Learn tasks by Bayes' rule, for weights and for the probabilities of units.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.

    Attributes
    ----------
    posterior : list of dict
        What tasks share of each hidden layer: Gaussian parameters, and the sticks' before their softplus.
    heads : list of dict
        The Gaussian parameters of each task's head.
    offsets : list of list of ndarray, shape (K,)
        Rho of each task and hidden layer.
    """

    settings_type = Settings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.posterior, self.heads, self.offsets = [], [], []

    def learn(self, task, progress=None, journal=None):
        """Turn the posterior into that of one more task; return the history of the training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        self._check(task)
        settings, t, resumed = self.settings, len(self.heads), journal.resume if journal else None
        self.inputs = task.inputs
        model, data = self._model(task.outputs), Data(task.x_train, task.y_train)
        prior, vector = self.prior(model), self.start(model)
        done = list(resumed.history) if resumed is not None else []

        def how(phase, epochs):
            return phase_fit(self, phase, epochs, self._key(t, phase), progress, journal,
                             lambda now: Partial(now, settings.hidden, None, tuple(done)))

        if settings.likelihood_epochs and not t and (resumed is None or resumed.snapshot.phase == "likelihood"):
            vector, records = objectives.maximize_likelihood(
                model, vector, prior, data, how("likelihood", settings.likelihood_epochs), settings.rate)
            done += records
        vector, records = self._maximize_elbo(model, vector, prior, data, how("ibp_vcl", settings.epochs))
        self._keep(model, vector)
        return [record._replace(task=t) for record in (*done, *records)]

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return self.predict_classes(x, task_id).probabilities

    def predict_classes(self, x, task_id):
        """Return the :class:`ibpcl.models.classifier.Prediction`, which says how sure it is, for inputs (N, D)."""
        check_inputs("ibp_vcl.predict", x, self.inputs, task_id, len(self.heads))
        # With one head all tasks have one network, and the same noise.
        task_id = 0 if self.settings.single_head else task_id
        model = self._model(len(self.heads[task_id]["bias.mu"]))
        vector = np.zeros(model.layout.size, np.float32)
        *hidden, head = model.layers(vector)
        write(head, self.heads[task_id])
        for views, layer, rho in zip(hidden, self.posterior, self.offsets[task_id], strict=True):
            write(views, {**layer, "rho": rho})
        return model.predict_units(vector, np.asarray(x, np.float32), self.settings.prediction_samples,
                                   self._key(task_id, "predict"), self.backend)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = {"inputs": np.array(self.inputs or 0), "tasks": np.array(len(self.heads))}
        for i, layer in enumerate(self.posterior):
            arrays |= {f"hidden{i}.{name}": value for name, value in layer.items()}
        for t in range(1 if self.settings.single_head and self.heads else len(self.heads)):
            arrays |= {f"task{t}.head.{name}": value for name, value in self.heads[t].items()}
            arrays |= {f"task{t}.rho{i}": rho for i, rho in enumerate(self.offsets[t])}
        return arrays

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}

        tasks, layers = int(state["tasks"]), range(len(self.settings.hidden))
        kept = [0 if self.settings.single_head else t for t in range(tasks)]
        self.inputs = int(state["inputs"]) or None
        self.posterior = [under(state, f"hidden{i}.") for i in layers if tasks]
        self.heads = [under(state, f"task{t}.head.") for t in kept]
        self.offsets = [[state[f"task{t}.rho{i}"] for i in layers] for t in kept]

    def prior(self, model):
        """Return the prior of the next task's weights: the last posterior; the first one for what is new."""
        gaussian = [priors.standard(shape, self.settings.prior_sigma)
                    for shape in (*model.shapes, (model.hidden[-1], model.outputs))]
        if self.heads:
            gaussian = [*self.posterior, self.heads[-1] if self.settings.single_head else gaussian[-1]]
        mu, log_sigma = (np.concatenate([layer[f"{kind}.{part}"].ravel() for layer in gaussian
                                         for kind in ("weight", "bias")]) for part in ("mu", "log_sigma"))
        return Prior(mu, log_sigma, np.full(len(model.hidden), self.settings.alpha, np.float32))

    def sticks_prior(self, model):
        """Return the prior of the next task's sticks: the last posterior, at first Kumaraswamy(alpha, 1)."""
        if self.heads:
            return [sticks(layer["raw_a"], layer["raw_b"])[0] for layer in self.posterior]
        return [(np.full(width, self.settings.alpha, np.float32), np.ones(width, np.float32)) for width in model.hidden]

    def start(self, model):
        """Return the parameters before training: the last posterior, a fresh head, and offsets at 0.

        With one head for all tasks, head and offsets go on.
        """
        settings = self.settings
        vector = model.initial(generator(self._key(len(self.heads), "initial")),
                               np.full(len(model.hidden), settings.alpha), settings.start_sigma, settings.start_spread)
        if not self.heads:
            return vector
        *hidden, head = model.layers(vector)
        for i, (views, layer) in enumerate(zip(hidden, self.posterior, strict=True)):
            write(views, {**layer, "rho": self.offsets[-1][i]} if settings.single_head else layer)
        if settings.single_head:
            write(head, self.heads[-1])
        return vector

    def _maximize_elbo(self, model, vector, prior, data, how):
        """Fit weights, sticks and offsets."""
        settings, examples, sticks_prior = self.settings, len(data.x), self.sticks_prior(model)
        weights = Elbo(-1 / examples, 1 / examples, 1 / examples, 1 / examples)

        def objective(vector, rows, step, steps):
            tau = geometric(settings.tau_start, settings.tau_end, step, steps)
            noise = model.unit_noise(how.key._replace(step=step), how.samples, len(rows), how.backend)
            parts, cache = model.unit_elbo(vector, prior, sticks_prior, data.x[rows], data.y[rows], noise, tau,
                                           examples, how.backend)
            return parts, model.unit_elbo_vjp(weights, cache), tau

        rates = objectives.block_rates(model.layout, mu=settings.rate, log_sigma=settings.rate,
                                       sticks=settings.mask_rate, rho=settings.mask_rate * settings.offsets)
        return how.run(vector, objective, rates, examples)

    def _keep(self, model, vector):
        *hidden, head = model.layers(vector)
        self.posterior = [{name: layer[name].copy() for name in SHARED} for layer in hidden]
        head, rho = {name: head[name].copy() for name in priors.GAUSSIAN}, [layer["rho"].copy() for layer in hidden]
        if self.settings.single_head:
            self.heads, self.offsets = [head] * (len(self.heads) + 1), [rho] * (len(self.heads) + 1)
        else:
            self.heads, self.offsets = [*self.heads, head], [*self.offsets, rho]

    def _model(self, outputs):
        return StochasticUnits(self.inputs, self.settings.hidden, outputs, self.settings.activation,
                               MaskModel(self.settings.mask_kl))

    def _key(self, task_id, phase):
        return Key(self.seed, len(PHASES) * task_id + PHASES.index(phase), 0, 0)

    def _check(self, task):
        check_task("ibp_vcl", task, Task, self.inputs)
        if self.settings.single_head and self.heads and task.outputs != len(self.heads[0]["bias.mu"]):
            raise ValueError(f"ibp_vcl: task {task.name!r} has {task.outputs} outputs, the one head "
                             f"{len(self.heads[0]['bias.mu'])}")
