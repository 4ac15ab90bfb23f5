"""Bayes' rule over tasks: the last posterior of what tasks share is the next prior.

What VCL and IBP-VCL have in common: Gaussian weights in hidden layers that all tasks share, a head for each task or one
for all, the start of the first task from a maximum-likelihood fit, and noise with the same keys, so that the two can be
compared sample by sample.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved, check_inputs
from ibpcl.inference import objectives
from ibpcl.inference.objectives import Data
from ibpcl.methods import OneRate
from ibpcl.methods.sequential import Sequential
from ibpcl.models import starts
from ibpcl.models.elbo import Prior
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.noise import generator
from ibpcl.options import option


@dataclass(frozen=True)
class PosteriorSettings(OneRate):
    """The settings of methods whose weights are Gaussian."""

    activation: str = option("relu", "Activation of hidden units.", choices=ACTIVATIONS)
    single_head: bool = option(False, "One head for all tasks instead of one per task.")
    samples: int = option(1, "Monte-Carlo samples of a training step.", at_least=1,
                           at_most=1000)
    prediction_samples: int = option(100, "Monte-Carlo samples of a prediction.", at_least=1,
                                      at_most=100_000)
    likelihood_epochs: int = option(5, "Maximum-likelihood epochs before the first task.", at_least=0)
    rate_end: float = option(1.0, "Factor of the learning rate at a task's last step; it falls geometrically.", above=0)
    prior_sigma: float = option(1.0, "Standard deviation of the first prior of a weight.", above=0)
    start_sigma: float = option(float(np.exp(-3.0)), "Standard deviation that a weight starts with.", above=0)
    start_spread: float = option(0.1, "Standard deviation of the random means that weights start with.", above=0)


class Posteriors(Sequential):
    """Learn tasks by Bayes' rule; parameters and attributes as in :class:`ibpcl.methods.sequential.Sequential`.

    A kind of it defines ``network(outputs)``, ``maximize(network, vector, prior, data, how)`` and
    ``predict_classes(x, task_id)``.
    """

    phases = ("initial", "likelihood", "elbo", "coreset", "predict")
    key = Saved.key                                          # what is sampled draws noise

    def prior(self, network):
        """Return the prior of the next task's weights: the last posterior; the first one for what is new."""
        vector, block = np.zeros(network.layout.size, np.float32), network.layout.block
        vector[block("log_sigma")] = np.log(self.settings.prior_sigma)
        if self.shared is not None:
            vector[self.places(network)] = self.shared
        return Prior(vector[block("mu")], vector[block("log_sigma")], self.sticks_prior(network, vector))

    def sticks_prior(self, network, vector):
        """Return the prior of the sticks by layer; there are none here."""
        return {}

    def fresh(self, network, task):
        """Return the parameters of a network that knows no task yet."""
        settings = self.settings
        return network.initial(starts.normal(generator(self.key("initial")), settings.start_spread),
                               settings.start_sigma)

    def train(self, task, progress):
        """Turn the posterior into that of one more task; return the parameters and the history of the training."""
        settings, network, vector = self.settings, self.network(task.outputs), self.begin(task)
        prior, data, done = self.prior(network), self.data(task), []
        how = self.how(progress)._replace(samples=settings.samples, key=self.key("elbo"))
        if settings.likelihood_epochs and not self.learned:
            warming = how._replace(phase="likelihood", epochs=settings.likelihood_epochs, key=self.key("likelihood"))
            _, vector, done = objectives.maximize_likelihood(network, vector, prior, data, warming, settings.rate)
        vector, history = self.maximize(network, vector, prior, data, how)
        return vector, [*done, *history]

    def data(self, task):
        """Return what a task is learned from."""
        return Data(task.x_train, task.y_train)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return self.predict_classes(x, task_id).probabilities

    def learned_network(self, x, task_id):
        """Check inputs (N, D); return them, the task whose noise they have, and its network and vector."""
        x = check_inputs(f"{self.name}.predict", x, self.inputs, task_id, self.learned)
        # With one head all tasks have one network, and the same noise.
        task_id = 0 if self.settings.single_head else task_id
        return x, task_id, *self.assemble(task_id)
