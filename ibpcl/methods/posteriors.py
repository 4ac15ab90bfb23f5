"""Bayes' rule over tasks: the last posterior of what tasks share is the next prior.

What VCL and IBP-VCL have in common: Gaussian weights in hidden layers that all tasks share, a head for each task or one
for all, the start of the first task from a maximum-likelihood fit, and noise with the same keys, so that the two can be
compared sample by sample.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import prior as priors
from ibpcl.continual.learner import Saved, check_inputs, check_task, under
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data
from ibpcl.methods import OneRate, option
from ibpcl.models import starts
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.parameters import write
from ibpcl.noise import Key, generator

PHASES = ("initial", "likelihood", "elbo", "coreset", "predict")     # each has noise of its own


@dataclass(frozen=True)
class PosteriorSettings(OneRate):
    """The settings of methods whose weights are Gaussian."""

    activation: str = option("relu", "Activation of hidden units.", choices=ACTIVATIONS)
    single_head: bool = option(False, "One head for all tasks instead of one a task.")
    samples: int = option(1, "Monte-Carlo samples of a training step.", at_least=1)
    prediction_samples: int = option(100, "Monte-Carlo samples of a prediction.", at_least=1)
    likelihood_epochs: int = option(5, "Maximum-likelihood epochs before the first task.", at_least=0)
    rate_end: float = option(1.0, "Factor of the learning rate at a task's last step; it falls geometrically.", above=0)
    prior_sigma: float = option(1.0, "Standard deviation of the first prior of a weight.", above=0)
    start_sigma: float = option(float(np.exp(-3.0)), "Standard deviation that a weight starts with.", above=0)
    start_spread: float = option(0.1, "Standard deviation of the random means that weights start with.", above=0)


class Posteriors(Saved):
    """Learn tasks by Bayes' rule; parameters as in :class:`ibpcl.continual.learner.Saved`.

    A kind of it has a ``name``, for messages and for its phase in the history, says which arrays of a hidden layer
    tasks share, and defines ``_model(outputs)``, ``_maximize_elbo(model, vector, prior, data, how)`` and
    ``predict_classes(x, task_id)``.

    Attributes
    ----------
    posterior : list of dict
        What tasks share of each hidden layer.
    heads : list of dict
        The Gaussian parameters of each task's head.
    """

    name = ""
    shared = priors.GAUSSIAN

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.posterior, self.heads = [], []

    def learn(self, task, progress=None):
        """Turn the posterior into that of one more task; return the history of the training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        self._check(task)
        settings, t, done = self.settings, len(self.heads), []
        self.inputs = task.inputs
        model, (data, coreset) = self._model(task.outputs), self._split(task)
        prior, vector = self.prior(model), self.start(model)

        def how(phase, name, epochs):
            return Fit(name, epochs, settings.batch, settings.samples, self._key(t, phase), self.backend, progress,
                       settings.rate_end)

        if settings.likelihood_epochs and not t:
            vector, records = objectives.maximize_likelihood(
                model, vector, prior, data, how("likelihood", "likelihood", settings.likelihood_epochs), settings.rate)
            done += records
        vector, records = self._maximize_elbo(model, vector, prior, data, how("elbo", self.name, settings.epochs))
        done += records
        self._keep(model, vector, coreset)
        return [record._replace(task=t) for record in done]

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return self.predict_classes(x, task_id).probabilities

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = {"inputs": np.array(self.inputs or 0), "tasks": np.array(len(self.heads))}
        for i, layer in enumerate(self.posterior):
            arrays |= {f"hidden{i}.{name}": value for name, value in layer.items()}
        for t in self._kept(len(self.heads)):
            arrays |= {f"task{t}.head.{name}": value for name, value in self.heads[t].items()}
        return arrays

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}
        tasks = int(state["tasks"])
        self.inputs = int(state["inputs"]) or None
        self.posterior = [under(state, f"hidden{i}.") for i in range(len(self.settings.hidden)) if tasks]
        heads = [under(state, f"task{t}.head.") for t in self._kept(tasks)]
        self.heads = heads * tasks if self.settings.single_head else heads

    def prior(self, model):
        """Return the prior of the next task's weights: the last posterior; the first one for what is new."""
        layers = {name: priors.standard(layer.shape, self.settings.prior_sigma) for name, layer in model.layers.items()}
        if self.heads:
            known = [*self.posterior, *([self.heads[-1]] if self.settings.single_head else [])]
            layers |= {name: {part: layer[part] for part in priors.GAUSSIAN}
                       for name, layer in zip(layers, known, strict=False)}
        return priors.assemble(model, layers, self.sticks_prior(model))

    def sticks_prior(self, model):
        """Return the prior of the sticks by layer; there are none here."""
        return {}

    def start(self, model):
        """Return the parameters before training: the last posterior, and a fresh head unless there is only one."""
        settings = self.settings
        rng = generator(self._key(len(self.heads), "initial"))
        vector = model.initial(starts.normal(rng, settings.start_spread), settings.start_sigma)
        if not self.heads:
            return vector
        views = model.layout.layers(vector)
        for name, values in zip(model.layers, self.posterior, strict=False):
            write(views[name], values)
        if settings.single_head:
            write(views["head"], self.heads[-1])
        return vector

    def _split(self, task):
        """Return the task's training data, and its coreset if there is one."""
        return Data(task.x_train, task.y_train), None

    def _keep(self, model, vector, coreset):
        *hidden, head = (model.layout.layers(vector)[name] for name in model.layers)
        self.posterior = [{name: layer[name].copy() for name in self.shared} for layer in hidden]
        head = {name: head[name].copy() for name in priors.GAUSSIAN}
        self.heads = [head] * (len(self.heads) + 1) if self.settings.single_head else [*self.heads, head]

    def _kept(self, tasks):
        """Return the tasks whose head is kept: with one head the first stands for all."""
        return range(min(tasks, 1) if self.settings.single_head else tasks)

    def _network_of(self, x, task_id):
        """Check inputs (N, D) of a learned task; return them, the task whose network it has, and that network."""
        x = check_inputs(f"{self.name}.predict", x, self.inputs, task_id, len(self.heads))
        # With one head all tasks have one network, and the same noise.
        task_id = 0 if self.settings.single_head else task_id
        return x, task_id, self._model(len(self.heads[task_id]["bias.mu"]))

    def _key(self, task_id, phase):
        return Key(self.seed, len(PHASES) * task_id + PHASES.index(phase), 0, 0)

    def _check(self, task):
        check_task(self.name, task, "classification", self.inputs)
        if self.settings.single_head and self.heads and task.outputs != len(self.heads[0]["bias.mu"]):
            raise ValueError(f"{self.name}: task {task.name!r} has {task.outputs} outputs, the one head "
                             f"{len(self.heads[0]['bias.mu'])}")
