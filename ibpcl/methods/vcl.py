r"""VCL, variational continual learning: yesterday's posterior is today's prior, for every weight.

Nguyen, Li, Bui and Turner (2018), "Variational Continual Learning", Eq. 4 and Algorithm 1.  With a
Gaussian posterior a weight, task t maximizes

.. math::

    \mathcal L_t(q_t) = \sum_n \mathbb E_{q_t}[\log p(y_n | x_n, V)] - KL[q_t(V) \| q_{t - 1}(V)],
          \qquad q_0 = \mathcal N(0, \sigma_0^2).

The first task starts from a maximum-likelihood fit (supplement of that paper: the means would else
be slow to leave 0), later ones from the last posterior, means and variances; a new head starts
afresh under the prior :math:`q_0`.  NPBCL with an all-ones mask is this.  With one task it is Bayes
by Backprop (Blundell et al., 2015).

**Coresets** (Algorithm 1): some examples of each task are kept out of its training; before its
predictions a copy of the posterior is trained on them.  With one head for all tasks the coresets
are merged.

``local`` draws pre-activations (Kingma, Salimans and Welling, 2015), every example with noise of
its own; without it, weights are drawn, as in the original code.

**Images** (Sec. 3.3 and 6.2): the decoder's last layers are shared and Gaussian; encoders and the
first layers of the decoder are each task's own and plain: with a flat prior, as in the public code,
a Gaussian there would shrink to its mean.  Standard deviations start every task at ``start_sigma``
again, as in the public code: as learned they would be the prior's, and means could be slow to move.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ibpcl.continual import coresets
from ibpcl.continual.learner import Saved, check_inputs
from ibpcl.inference import objectives
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import OneRate
from ibpcl.methods.images import AutoencoderSettings, Generative, PlainAutoencoder
from ibpcl.methods.sequential import (
    Context,
    accept,
    keep,
    of_task,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models import prediction, starts
from ibpcl.models.elbo import GRADIENT, Prior
from ibpcl.models.layers import ACTIVATIONS, Drawn, Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.noise import generator
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class PosteriorSettings(OneRate):
    """The settings of methods whose weights are Gaussian."""

    activation: str = option("relu", "Activation of hidden units.", choices=ACTIVATIONS)
    single_head: bool = option(False, "One head for all tasks instead of one per task.")
    samples: int = option(1, "Monte-Carlo samples of a training step.", at_least=1, at_most=1000)
    prediction_samples: int = option(
        100, "Monte-Carlo samples of a prediction.", at_least=1, at_most=100_000
    )
    likelihood_epochs: int = option(
        5, "Maximum-likelihood epochs before the first task.", at_least=0
    )
    prior_sigma: float = option(1.0, "Standard deviation of the first prior of a weight.", above=0)
    start_sigma: float = option(
        float(np.exp(-3.0)), "Standard deviation that a weight starts with.", above=0
    )
    start_spread: float = option(
        0.1, "Standard deviation of the random means that weights start with.", above=0
    )


@documented
@dataclass(frozen=True, init=False)
class Settings(PosteriorSettings):
    """The settings of VCL."""

    method = "vcl"

    local: bool = option(True, "Draw pre-activations, each example's own, instead of weights.")
    coreset: str = option(
        "none", "How a task's coreset is chosen.", choices=("none", *coresets.SELECTIONS)
    )
    coreset_size: int = option(
        40, "Examples kept from each task, taken out of its training data.", at_least=1
    )
    coreset_epochs: int = option(100, "Steps on a coreset before predictions.", at_least=0)


@dataclass(frozen=True)
class GaussianClassifier:
    """A network with Gaussian weights, and which of its parameters tasks share.

    The methods are those of :class:`ibpcl.methods.sequential.PlainClassifier`.

    Parameters
    ----------
    settings : PosteriorSettings
    """

    settings: object

    kind = "classification"  # of the tasks
    # The noise of each phase of a task.  A name keeps its number, so that a new phase changes no
    # published result.
    streams: ClassVar = {
        "initial": 0,
        "likelihood": 1,
        "train": 2,
        "coreset": 3,
        "predict": 4,
    }
    stride = 5  # numbers that are set aside for a task
    # hard masks by layer: there are none to sample
    given_masks: ClassVar = {}

    @property
    def samples(self):
        """Monte Carlo samples of a training step."""
        return self.settings.samples

    @property
    def rates(self):
        """The learning rate of each block of parameters."""
        return dict.fromkeys(("mu", "log_sigma"), self.settings.rate)

    @property
    def temperatures(self):
        """The temperature of sampled masks at the first and the last step; without a meaning."""
        return (1.0, 1.0)

    def network(self, inputs, hidden, outputs, kind=Gaussian):
        """Return the network with given widths and one kind of layers.

        Layers that draw weights have the same parameters as layers that draw pre-activations.
        """
        return classifier(inputs, hidden, Softmax(), outputs, kind, self.settings.activation, kind)

    def as_trained(self, network):
        """Return the network with the layers that training draws noise for."""
        if self.settings.local:
            return network
        hidden = tuple(layer.units for layer in network.stages[:-1])
        return self.network(network.inputs, hidden, network.outputs, Drawn)

    def shares(self, name):
        """Return whether all tasks share the parameters of this name."""
        return self.settings.single_head or not name.startswith("head.")

    def start(self, context, network, task):
        """Return fresh parameters (P,) of a network."""
        rng = generator(context.key())
        means = starts.normal(rng, self.settings.start_spread)
        return network.initial(means, self.settings.start_sigma)

    def sticks_prior(self, network, vector, first):
        """Return the prior of the sticks by layer: there are none."""
        return {}


def last_posterior(context, network):
    """Return the prior of the next task: the last posterior, and the first prior for what is new.

    Parameters
    ----------
    context : Context
    network : ibpcl.models.network.Network

    Returns
    -------
    prior : ibpcl.models.elbo.Prior
    """
    vector = np.zeros(network.layout.size, np.float32)
    vector[network.layout.block("log_sigma")] = np.log(context.settings.prior_sigma)
    shared = context.state.shared
    if shared is not None:
        vector[context.places(network)] = shared
    sticks = context.model.sticks_prior(network, vector, shared is None)
    return Prior.at(network.layout, vector, sticks)


def warm_up(context, network, vector, prior, data):
    """Maximize the likelihood before the first task; return the parameters and the history."""
    settings = context.settings
    if context.state.learned or not settings.likelihood_epochs:
        return vector, []
    plan = context.fit(
        phase="likelihood", epochs=settings.likelihood_epochs, key=context.key("likelihood")
    )
    return objectives.maximize_likelihood(network, vector, prior, data, plan, settings.rate)[1:]


def maximize(context, network, vector, prior, data, plan):
    """Maximize the ELBO of Eq. 4; return the parameters (P,) and the history."""
    model = context.model
    return objectives.train(
        model.as_trained(network),
        vector,
        prior,
        data,
        plan,
        model.rates,
        Weighted(GRADIENT),
        model.given_masks,
    )[1:]


def learn_task(context, task):
    """Turn the posterior into that of one more task; return the new state and the history."""
    context = accept(context, task)
    settings = context.settings
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    data, coreset = coresets.take_out(
        context.name,
        task,
        settings.coreset,
        settings.coreset_size,
        generator(context.key("coreset")),
    )
    prior = last_posterior(context, network)
    vector, warming = warm_up(context, network, vector, prior, data)
    plan = context.fit(tau=context.model.temperatures)
    vector, history = maximize(context, network, vector, prior, data, plan)
    memory = context.state.memory
    if coreset is not None:
        t = context.state.learned
        memory = memory | {f"x{t}": coreset.x, f"y{t}": coreset.y}
    return keep(context, network, vector, memory), of_task(context, [*warming, *history])


def refine(context, network, vector, task_id):
    """Train a copy of the posterior on what was kept, for predictions only.

    That is the coreset of the task, or with one head the coresets of all tasks.
    """
    settings = context.settings
    if settings.coreset == "none":
        return vector
    memory = context.state.memory
    tasks = range(context.state.learned) if settings.single_head else [task_id]
    x = np.concatenate([memory[f"x{t}"] for t in tasks])
    y = np.concatenate([memory[f"y{t}"] for t in tasks])
    plan = context.fit(
        phase="coreset",
        epochs=settings.coreset_epochs,
        batch=len(x),
        key=context.key("coreset", task_id),
        progress=False,
        rate_end=1.0,
    )
    prior = Prior.at(network.layout, vector)
    return maximize(context, network, vector, prior, Data(x, y), plan)[0]


def predict_classes(context, refined, x, task_id):
    """Return class probabilities, averaged over samples of the posterior.

    Parameters
    ----------
    context : Context
    refined : dict of int to ndarray
        Parameters by task, as refined on the coreset; filled here.
    x : array_like, shape (N, D)
    task_id : int

    Returns
    -------
    predictions : ibpcl.models.likelihoods.Classes
    """
    state = context.state
    x = check_inputs(f"{context.name}.predict", x, state.inputs, task_id, state.learned)
    # with one head all tasks have one network and one noise
    task_id = 0 if context.settings.single_head else task_id
    network, vector = context.assemble(task_id)
    if task_id not in refined:
        refined[task_id] = refine(context, network, vector, task_id)
    return prediction.predict(
        network,
        refined[task_id],
        context.model.given_masks,
        x,
        context.settings.prediction_samples,
        context.key("predict", task_id),
        context.backend,
    )


class VCL(Saved):
    """Learn tasks by Bayes' rule with Gaussian posteriors; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``x{s}`` and ``y{s}``, the coreset of each task if there are any.
    """

    settings_type = Settings
    model_type = GaussianClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return self.predict_classes(x, task_id).probabilities

    def predict_classes(self, x, task_id):
        """Return class probabilities for inputs (N, D), with what is known about their error.

        Returns
        -------
        predictions : ibpcl.models.likelihoods.Classes
        """
        return predict_classes(self.context, self.refined, x, task_id)


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """The settings of VCL for images."""

    method = "vae_vcl"
    shared_layer = "gaussian"

    prior_sigma: float = option(
        1.0, "Standard deviation of the first prior of a shared weight.", above=0
    )
    start_sigma: float = option(
        float(np.exp(-6.0)), "Standard deviation that shared weights start a task with.", above=0
    )
    weight_kl_weight: float = option(
        1.0, "Weight of the shared weights' divergence; the ELBO's is 1.", at_least=0
    )


def learn_images(context, task):
    """Turn the posterior of the shared layers into that of one more task of images.

    There is neither a start from maximum likelihood nor a coreset.  Training starts at the means of
    the last posterior, with ``start_sigma`` everywhere.
    """
    context = accept(context, task)
    settings = context.settings
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    vector[network.layout.block("log_sigma")] = np.log(settings.start_sigma)
    vector, history = train(
        context,
        network,
        vector,
        Data(task.x_train, task.targets),
        prior=last_posterior(context, network),
        weights=context.model.weights._replace(kl_weights=-settings.weight_kl_weight),
    )
    return keep(context, network, vector), history


class GaussianDecoder(PlainAutoencoder):
    """The autoencoder of a task, the shared layers of its decoder Gaussian."""

    def sticks_prior(self, network, vector, first):
        """Return the prior of the sticks by layer: there are none."""
        return {}


class ImageVCL(Saved, Generative):
    """Learn generative models by Bayes' rule in the decoder; parameters as in :class:`Saved`."""

    settings_type = ImageSettings
    model_type = GaussianDecoder
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_images, task, progress)
