r"""VCL for autoencoders: yesterday's posterior of the shared decoder is today's prior.

Nguyen et al. (2018), "Variational Continual Learning", Sec. 3.3 and 6.2.  Encoders and the first layers of the decoder
are each task's own and plain: with a flat prior, as in the public code, a Gaussian there would shrink to its mean.
The shared layers are Gaussian, and task t maximizes

.. math:: \sum_n \mathbb E_{q_t}\bigl[\log p(x_n | z_n, V) - KL[q(z_n | x_n) \| p(z)]\bigr] - KL[q_t(V) \| q_{t-1}(V)],
          \qquad q_0 = \mathcal N(0, \sigma_0^2).

Standard deviations start every task at ``start_sigma`` again, as in the public code: as learned they would be the
prior's, and means could be slow to move.  With one task it is Bayes by Backprop (Blundell et al., 2015).
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import prior as priors
from ibpcl.continual.learner import under
from ibpcl.methods import option
from ibpcl.methods.vae_sequential import VAESequential, VAESettings


@dataclass(frozen=True)
class Settings(VAESettings):
    """The settings of VCL for autoencoders."""

    prior_sigma: float = option(1.0, "Standard deviation of the first prior of a shared weight.", above=0)
    start_sigma: float = option(float(np.exp(-6.0)), "Standard deviation that shared weights start a task with.",
                                above=0)


class VAEVCL(VAESequential):
    """Learn generative models by Bayes' rule in the shared decoder; parameters as in :class:`VAESequential`."""

    settings_type = Settings
    shared_kind = "gaussian"

    def prior(self, model):
        """Return the prior of the next task: the last posterior."""
        layers = {name: priors.standard(model.layers[name].shape, self.settings.prior_sigma)
                  for name in self.shared_layers(model)}
        for name, layer in layers.items():
            layer |= under(self.shared, f"{name}.")
        return priors.assemble(model, layers, {})

    def start(self, model, task):
        """Start at the last posterior's means, with ``start_sigma`` everywhere."""
        vector = super().start(model, task)
        vector[model.layout.block("log_sigma")] = np.log(self.settings.start_sigma)
        return vector
