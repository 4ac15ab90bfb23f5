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
from ibpcl.continual.learner import under
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import option
from ibpcl.methods.posteriors import Posteriors, PosteriorSettings
from ibpcl.models import prediction
from ibpcl.models.elbo import Elbo, Prior
from ibpcl.models.layers import Drawn, Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.models.parameters import write
from ibpcl.noise import generator


@dataclass(frozen=True)
class Settings(PosteriorSettings):
    """The settings of VCL."""

    local: bool = option(True, "Draw pre-activations, each example's own, instead of weights.")
    coreset: str = option("none", "How a task's coreset is chosen.", choices=("none", *coresets.SELECTIONS))
    coreset_size: int = option(40, "Examples kept from each task, taken out of its training data.", at_least=1)
    coreset_epochs: int = option(100, "Steps on a coreset before predictions.", at_least=0)


class VCL(Posteriors):
    """Learn tasks by Bayes' rule with Gaussian posteriors.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.
    """

    settings_type = Settings
    name = "vcl"

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self._coresets = []                                  # the examples kept from each task
        self._refined = {}                                   # task -> its parameters after the coresets

    def predict_classes(self, x, task_id):
        """Return the :class:`ibpcl.models.likelihoods.Classes`, which says how sure it is, for inputs (N, D)."""
        x, task_id, model = self._network_of(x, task_id)
        if task_id not in self._refined:
            self._refined[task_id] = self._refine(model, self._assemble(model, self.heads[task_id]), task_id)
        return prediction.predict(model, self._refined[task_id], {}, x,
                                  self.settings.prediction_samples, self._key(task_id, "predict"), self.backend)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = super().state()
        for t, coreset in enumerate(self._coresets):
            arrays |= {f"task{t}.coreset.x": coreset.x, f"task{t}.coreset.y": coreset.y}
        return arrays

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        super().load_state(state)
        kept = (under(state, f"task{t}.coreset.") for t in range(len(self.heads)))
        self._coresets = [Data(np.array(coreset["x"]), np.array(coreset["y"])) for coreset in kept if coreset]
        self._refined = {}

    def _maximize_elbo(self, model, vector, prior, data, how):
        """Fit means and scales of all weights."""
        if not self.settings.local:                          # the same parameters, drawn otherwise
            model = self._network(Drawn, model.outputs)
        rates = dict.fromkeys(("mu", "log_sigma"), self.settings.rate)
        return objectives.train_fixed(model, vector, prior, {}, data, how, rates, Weighted(Elbo(1.0, -1.0)))

    def _refine(self, model, vector, task_id):
        """Train a copy of the posterior on what was kept: the task's coreset, or with one head all of them."""
        if not self._coresets:
            return vector
        kept = self._coresets if self.settings.single_head else [self._coresets[task_id]]
        coreset = Data(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))
        block = model.layout.block
        prior = Prior(vector[block("mu")].copy(), vector[block("log_sigma")].copy(), {})
        how = Fit("coreset", self.settings.coreset_epochs, len(coreset.x), self.settings.samples,
                  self._key(task_id, "coreset"), self.backend, False)
        return self._maximize_elbo(model, vector, prior, coreset, how)[0]

    def _keep(self, model, vector, coreset):
        super()._keep(model, vector, coreset)
        self._refined = {}
        if coreset is not None:
            self._coresets.append(coreset)

    def _assemble(self, model, head):
        vector = np.zeros(model.layout.size, np.float32)
        views = model.layout.layers(vector)
        for name, values in zip(model.layers, (*self.posterior, head), strict=True):
            write(views[name], values)
        return vector

    def _split(self, task):
        """Take the task's coreset out of its training data."""
        settings = self.settings
        return coresets.take_out("vcl", task, settings.coreset, settings.coreset_size,
                                 generator(self._key(len(self.heads), "coreset")))

    def _model(self, outputs):
        return self._network(Gaussian, outputs)

    def _network(self, kind, outputs):
        return classifier(self.inputs, self.settings.hidden, Softmax(), outputs, kind, self.settings.activation, kind)
