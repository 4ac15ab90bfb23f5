r"""Online Laplace: a Gaussian around the last solution, whose precision adds up, is the next task's
prior.

Ritter, Botev and Barber (2018), "Online Structured Laplace Approximations For Overcoming
Catastrophic Forgetting", Eqs. 7 to 9, here with a diagonal precision.  From the prior :math:`\mu_0
= 0, \Lambda_0 = \sigma_0^{-2}`,

.. math:: \mu_t = \arg\max_\theta \sum_n \log p(y_n | x_n, \theta)
          - \frac\lambda2 \sum_i \Lambda_{t - 1, i} (\theta_i - \mu_{t - 1, i})^2, \qquad
          \Lambda_t = \Lambda_{t - 1} + N_t F^t,

with F the mean Fisher information at :math:`\mu_t`: for the softmax this is the diagonal of the
generalized Gauss-Newton matrix.  At :math:`\lambda = 1` this is Bayes' rule, so there is nothing to
tune; it differs from online EWC in that a task counts by its examples, and in the first prior,
which new heads have too.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.methods.ewc import ImageInformation, Information, information
from ibpcl.methods.images import OnImages
from ibpcl.methods.sequential import Sequential, pull
from ibpcl.options import option


@dataclass(frozen=True, init=False)
class Settings(Information):
    """The settings of online Laplace."""

    method = "laplace"

    weight: float = option(1.0, "Lambda, the weight of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the first prior of a weight.", above=0
    )


class Laplace(Sequential):
    """Learn tasks by Bayes' rule for Gaussians around solutions; parameters as in
    :class:`Sequential`.

    ``memory`` has ``mean`` and ``precision`` of what tasks share.
    """

    settings_type = Settings

    def penalty(self, vector, places, task):
        """Return the negative logarithm of the prior: yesterday's Gaussian, and the first one for
        what is new.
        """
        mean = np.zeros_like(vector)
        precision = np.full_like(vector, self.settings.prior_sigma**-2)
        if self.memory:
            mean[places] = self.memory["mean"]
            precision[places] = self.memory["precision"]
        return pull(vector, slice(None), (mean, self.settings.weight * precision))

    def remember(self, task, vector):
        """Move the Gaussian to the solution and add the task's information, of all its examples, to
        its precision.
        """
        found = len(task.x_train) * information(self, task, vector)
        precision = self.memory.get("precision", np.full_like(found, self.settings.prior_sigma**-2))
        self.memory = {"mean": self.shared, "precision": (precision + found).astype(found.dtype)}


@dataclass(frozen=True, init=False)
class ImageSettings(ImageInformation):
    """The settings of online Laplace for images."""

    method = "vae_laplace"
    weight: float = option(1.0, "Lambda, the weight of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the first prior of a weight.", above=0
    )


class ImageLaplace(OnImages, Laplace):
    """Learn generative models by Bayes' rule for Gaussians around solutions; parameters as in
    :class:`Laplace`.
    """

    settings_type = ImageSettings
