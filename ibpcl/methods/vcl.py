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
from ibpcl.continual.learner import check_inputs
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import OneRate
from ibpcl.methods.images import AutoencoderSettings, OnImages
from ibpcl.methods.sequential import Sequential
from ibpcl.models import prediction, starts
from ibpcl.models.elbo import GRADIENT, Prior
from ibpcl.models.layers import ACTIVATIONS, Drawn, Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.noise import generator
from ibpcl.options import option


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


class VCL(Sequential):
    """Learn tasks by Bayes' rule with Gaussian posteriors; parameters and attributes as in
    :class:`Sequential`.

    ``memory`` has ``x{s}`` and ``y{s}``, the coreset of each task if there are any.
    """

    settings_type = Settings
    layer = "gaussian"
    streams: ClassVar = {"initial": 0, "likelihood": 1, "elbo": 2, "coreset": 3, "predict": 4}
    stride = 5
    samples_masks = False  # in predictions

    def network(self, outputs, kind=Gaussian):
        """Return the network of a task, its layers of a kind: they have the same parameters, drawn
        otherwise.
        """
        return classifier(
            self.inputs,
            self.settings.hidden,
            Softmax(),
            outputs,
            kind,
            self.settings.activation,
            kind,
        )

    def prior(self, network):
        """Return the prior of the next task's weights: the last posterior; the first one for what
        is new.
        """
        vector = np.zeros(network.layout.size, np.float32)
        vector[network.layout.block("log_sigma")] = np.log(self.settings.prior_sigma)
        if self.shared is not None:
            vector[self.places(network)] = self.shared
        return Prior.at(network.layout, vector, self.sticks_prior(network, vector))

    def sticks_prior(self, network, vector):
        """Return the prior of the sticks by layer; there are none here."""
        return {}

    def fresh(self, network, task):
        """Return the parameters of a network that knows no task yet."""
        settings = self.settings
        return network.initial(
            starts.normal(generator(self.key()), settings.start_spread), settings.start_sigma
        )

    def train(self, task, progress):
        """Turn the posterior into that of one more task; return the parameters and the history of
        the training.
        """
        settings = self.settings
        network = self.network(task.outputs)
        vector = self.begin(task)
        data, coreset = coresets.take_out(
            self.name, task, settings.coreset, settings.coreset_size, generator(self.key("coreset"))
        )
        prior = self.prior(network)
        warming = []
        how = self.how(progress)._replace(samples=settings.samples, key=self.key("elbo"))
        if settings.likelihood_epochs and not self.learned:
            first = how._replace(
                phase="likelihood", epochs=settings.likelihood_epochs, key=self.key("likelihood")
            )
            _, vector, warming = objectives.maximize_likelihood(
                network, vector, prior, data, first, settings.rate
            )
        vector, history = self.maximize(network, vector, prior, data, how, self.weighted(task))
        if coreset is not None:
            self.memory |= {f"x{self.learned}": coreset.x, f"y{self.learned}": coreset.y}
        return vector, [*warming, *history]

    def maximize(self, network, vector, prior, data, how, weighted):
        """Fit means and scales of all weights; return them and the history."""
        network = network if self.settings.local else self.network(network.outputs, Drawn)
        return super().maximize(network, vector, prior, data, how, weighted)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return self.predict_classes(x, task_id).probabilities

    def predict_classes(self, x, task_id):
        """Return the :class:`ibpcl.models.likelihoods.Classes`, which says how sure it is, for
        inputs (N, D).
        """
        x = check_inputs(f"{self.name}.predict", x, self.inputs, task_id, self.learned)
        # then all tasks have one network and one noise
        task_id = 0 if self.settings.single_head else task_id
        network, vector = self.assemble(task_id)
        if task_id not in self.refined:
            self.refined[task_id] = self._refine(network, vector, task_id)
        return prediction.predict(
            network,
            self.refined[task_id],
            None if self.samples_masks else {},
            x,
            self.settings.prediction_samples,
            self.key("predict", task_id),
            self.backend,
        )

    def _refine(self, network, vector, task_id):
        """Train a copy of the posterior on what was kept: the task's coreset, or with one head all
        of them.
        """
        if self.settings.coreset == "none":
            return vector
        kept = range(self.learned) if self.settings.single_head else [task_id]
        coreset = Data(
            *(np.concatenate([self.memory[f"{side}{t}"] for t in kept]) for side in "xy")
        )
        how = Fit(
            "coreset",
            self.settings.coreset_epochs,
            len(coreset.x),
            self.settings.samples,
            self.key("coreset", task_id),
            self.backend,
            False,
        )
        return self.maximize(
            network, vector, Prior.at(network.layout, vector), coreset, how, Weighted(GRADIENT)
        )[0]


@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """The settings of VCL for images."""

    method = "vae_vcl"

    prior_sigma: float = option(
        1.0, "Standard deviation of the first prior of a shared weight.", above=0
    )
    start_sigma: float = option(
        float(np.exp(-6.0)), "Standard deviation that shared weights start a task with.", above=0
    )
    weight_kl_weight: float = option(
        1.0, "Weight of the shared weights' divergence; the ELBO's is 1.", at_least=0
    )


class ImageVCL(OnImages, VCL):
    """Learn generative models by Bayes' rule in the shared decoder; parameters as in
    :class:`VCL`.
    """

    settings_type = ImageSettings
    # no start from maximum likelihood, no coreset
    train = Sequential.train
    maximize = Sequential.maximize

    def begin(self, task):
        """Start at the last posterior's means, with ``start_sigma`` everywhere."""
        vector = super().begin(task)
        vector[self.network(task.outputs).layout.block("log_sigma")] = np.log(
            self.settings.start_sigma
        )
        return vector

    def weighted(self, task):
        """Return what is maximized, the shared weights' divergence with its weight."""
        weighted = super().weighted(task)
        return weighted._replace(
            weights=weighted.weights._replace(kl_weights=-self.settings.weight_kl_weight)
        )
