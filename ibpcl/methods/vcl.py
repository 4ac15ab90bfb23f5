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

**Images** (Sec. 3.3 and 6.2): the decoder's last layers are shared and Gaussian; encoders and the first layers of the
decoder are each task's own and plain: with a flat prior, as in the public code, a Gaussian there would shrink to its
mean.  Standard deviations start every task at ``start_sigma`` again, as in the public code: as learned they would be
the prior's, and means could be slow to move.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import coresets
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods.images import AutoencoderSettings, OnImages
from ibpcl.methods.posteriors import Posteriors, PosteriorSettings
from ibpcl.methods.sequential import Sequential
from ibpcl.models import prediction
from ibpcl.models.elbo import Elbo, Prior
from ibpcl.models.layers import Drawn, Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.noise import generator
from ibpcl.options import option


@dataclass(frozen=True)
class Settings(PosteriorSettings):
    """The settings of VCL."""

    local: bool = option(True, "Draw pre-activations, each example's own, instead of weights.")
    coreset: str = option("none", "How a task's coreset is chosen.", choices=("none", *coresets.SELECTIONS))
    coreset_size: int = option(40, "Examples kept from each task, taken out of its training data.", at_least=1)
    coreset_epochs: int = option(100, "Steps on a coreset before predictions.", at_least=0)


class VCL(Posteriors):
    """Learn tasks by Bayes' rule with Gaussian posteriors; parameters and attributes as in :class:`Sequential`.

    ``memory`` has ``x{s}`` and ``y{s}``, the coreset of each task if there are any.
    """

    settings_type = Settings
    layer = "gaussian"

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self._coreset = None                                 # of the task that is being learned
        self._refined = {}                                   # task -> its parameters after the coresets

    def network(self, outputs, kind=Gaussian):
        """Return the network of a task, its layers of a kind: they have the same parameters, drawn otherwise."""
        return classifier(self.inputs, self.settings.hidden, Softmax(), outputs, kind, self.settings.activation, kind)

    def predict_classes(self, x, task_id):
        """Return the :class:`ibpcl.models.likelihoods.Classes`, which says how sure it is, for inputs (N, D)."""
        x, task_id, network, vector = self.learned_network(x, task_id)
        if task_id not in self._refined:
            self._refined[task_id] = self._refine(network, vector, task_id)
        return prediction.predict(network, self._refined[task_id], {}, x, self.settings.prediction_samples,
                                  self.key("predict", task_id), self.backend)

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        super().load_state(state)
        self._refined = {}

    def data(self, task):
        """Take the task's coreset out of its training data."""
        data, self._coreset = coresets.take_out("vcl", task, self.settings.coreset, self.settings.coreset_size,
                                                generator(self.key("coreset")))
        return data

    def remember(self, task, vector):
        """Keep the coreset."""
        t, self._refined = self.learned - 1, {}
        if self._coreset is not None:
            self.memory |= {f"x{t}": self._coreset.x, f"y{t}": self._coreset.y}

    def maximize(self, network, vector, prior, data, how):
        """Fit means and scales of all weights."""
        network = network if self.settings.local else self.network(network.outputs, Drawn)
        rates = dict.fromkeys(("mu", "log_sigma"), self.settings.rate)
        return objectives.train(network, vector, prior, data, how, rates, Weighted(Elbo(1.0, -1.0)), {})[1:]

    def _refine(self, network, vector, task_id):
        """Train a copy of the posterior on what was kept: the task's coreset, or with one head all of them."""
        if not self.memory:
            return vector
        kept = range(self.learned) if self.settings.single_head else [task_id]
        coreset = Data(*(np.concatenate([self.memory[f"{side}{t}"] for t in kept]) for side in "xy"))
        block = network.layout.block
        prior = Prior(vector[block("mu")].copy(), vector[block("log_sigma")].copy(), {})
        how = Fit("coreset", self.settings.coreset_epochs, len(coreset.x), self.settings.samples,
                  self.key("coreset", task_id), self.backend, False)
        return self.maximize(network, vector, prior, coreset, how)[0]


@dataclass(frozen=True)
class ImageSettings(AutoencoderSettings):
    """The settings of VCL for images."""

    prior_sigma: float = option(1.0, "Standard deviation of the first prior of a shared weight.", above=0)
    start_sigma: float = option(float(np.exp(-6.0)), "Standard deviation that shared weights start a task with.",
                                above=0)
    weight_kl_weight: float = option(1.0, "Weight of the shared weights' divergence; the ELBO's is 1.", at_least=0)


class ImageVCL(OnImages, VCL):
    """Learn generative models by Bayes' rule in the shared decoder; parameters as in :class:`VCL`."""

    settings_type = ImageSettings
    train = Sequential.train                                 # no start from maximum likelihood, no coreset

    def begin(self, task):
        """Start at the last posterior's means, with ``start_sigma`` everywhere."""
        vector = super().begin(task)
        vector[self.network(task.outputs).layout.block("log_sigma")] = np.log(self.settings.start_sigma)
        return vector

    def weighted(self, task):
        """Return what is maximized, the shared weights' divergence with its weight."""
        weighted = super().weighted(task)
        return weighted._replace(weights=weighted.weights._replace(kl_weights=-self.settings.weight_kl_weight))
