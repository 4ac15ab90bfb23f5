r"""EWC for autoencoders: what earlier tasks' images were sensitive to is held where it was, in the shared decoder.

Kirkpatrick et al. (2017), Eq. 3; for autoencoders Nguyen et al. (2018), Sec. 6.2.  With the mean information
:math:`F^s` of task s at its solution :math:`\theta_s`, the loss of task t is, in nats an image,

.. math:: -\frac{\mathcal L_t}{N_t} + \frac\lambda2 \sum_{s < t} \sum_i F^s_i (\theta_i - \theta_{s, i})^2

over the parameters of the shared layers.  ``separate`` keeps an anchor and an information a task, as above; ``online``
the last anchor and the sum of the informations (:mod:`ibpcl.methods.ewc` says more).
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import decoder_fisher
from ibpcl.methods import option
from ibpcl.methods.vae_sequential import VAESequential, VAESettings
from ibpcl.models.point_autoencoder import at_means
from ibpcl.noise import generator
from ibpcl.primitives import quadratic

VARIANTS = ("separate", "online")


@dataclass(frozen=True)
class Settings(VAESettings):
    """The settings of EWC for autoencoders."""

    weight: float = option(10.0, "Lambda, for the mean information an image, with the half in front of it.", at_least=0)
    variant: str = option("online", "An anchor a task (separate), or the last one and a sum of informations (online).",
                          choices=VARIANTS)
    fisher: str = option("sampled", "Pixels of the information: sampled from the model, or empirical (the images').",
                         choices=decoder_fisher.DEFINITIONS)
    fisher_examples: int = option(2000, "Images that it is estimated from, at most.", at_least=1)


class VAEEWC(VAESequential):
    """Learn generative models with elastic weights; parameters as in :class:`VAESequential`.

    ``memory`` has ``anchor{s}.name`` and ``fisher{s}.name`` of each task, or ``anchor.name`` and ``fisher.name``, for
    each shared parameter.
    """

    settings_type = Settings

    def penalty(self, model, vector, examples):
        """Add up the penalties of all anchors."""
        total, gradient = 0.0, np.zeros_like(vector)
        views, slopes = model.layout.views(vector), model.layout.views(gradient)
        for name, anchor in self.memory.items():
            kind, parameter = name.split(".", 1)
            if not kind.startswith("anchor"):
                continue
            precision = np.float32(self.settings.weight * examples) * self.memory[name.replace("anchor", "fisher", 1)]
            value, cache = quadratic.penalty(views[parameter].ravel(), anchor.ravel(), precision.ravel())
            total += float(value)
            slopes[parameter] += quadratic.penalty_vjp(1.0, cache)[0].reshape(anchor.shape)
        return total, gradient

    def remember(self, model, task, vector):
        """Anchor the shared layers where they are, by the information of the task."""
        settings, t = self.settings, len(self.own) - 1
        rng, x = generator(self.key("fisher")), task.x_train
        if settings.fisher_examples < len(x):
            x = x[np.sort(rng.choice(len(x), settings.fisher_examples, replace=False))]
        found = decoder_fisher.diagonal(at_means(model, vector), x, settings.shared_layers, settings.fisher, rng)
        for layer, (weight, bias) in zip(self.shared_layers(model), found, strict=True):
            for parameter, value in ((f"{layer}.weight.mu", weight), (f"{layer}.bias.mu", bias)):
                suffix = t if settings.variant == "separate" else ""
                before = self.memory.get(f"fisher{suffix}.{parameter}", 0)
                self.memory[f"anchor{suffix}.{parameter}"] = self.shared[parameter]
                self.memory[f"fisher{suffix}.{parameter}"] = (before + value).astype(np.float32)
