r"""EWC, elastic weight consolidation: what earlier tasks were sensitive to is held where it was.

Kirkpatrick et al. (2017), "Overcoming catastrophic forgetting in neural networks", Eq. 3.  With the
mean information :math:`F^s` of task s at its solution :math:`\theta_s`, the loss of task t is, in
nats per example,

.. math:: -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta)
          + \frac\lambda2 \sum_{s < t} \sum_i F^s_i (\theta_i - \theta_{s, i})^2.

``separate`` keeps an anchor and an information a task, as above.  ``online`` keeps one of each: the
last anchor, and

.. math:: F \leftarrow \gamma F + F^t

(Schwarz et al., 2018, "Progress & Compress", Sec. 4; Huszár, 2018, "Note on the quadratic penalties
in elastic weight consolidation", says why one anchor is the right Laplace approximation).  Were the
posterior Gaussian, :math:`\lambda = N_s / N_t` would be Bayes' rule, 1 for tasks of one size.  Only
what tasks share is held; a head has one task.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import fisher
from ibpcl.methods.images import AutoencoderSettings, OnImages
from ibpcl.methods.sequential import Sequential, SequentialSettings, pull
from ibpcl.noise import generator
from ibpcl.options import option


@dataclass(frozen=True, init=False)
class Information(SequentialSettings):
    """The settings of methods that need the Fisher information."""

    fisher: str = option(
        "exact", "Labels of the Fisher information; exact: all of them.", choices=fisher.DEFINITIONS
    )
    fisher_examples: int | None = option(
        2000, "Examples that it is estimated from; none for all of the task's.", at_least=1
    )


@dataclass(frozen=True, init=False)
class ImageInformation(AutoencoderSettings):
    """The settings of methods that need the Fisher information of a decoder, whose targets are
    pixels.
    """

    fisher: str = option(
        "sampled",
        "Pixels of the Fisher information: drawn (sampled), or the images' (empirical).",
        choices=fisher.DEFINITIONS_OF_IMAGES,
    )
    fisher_examples: int | None = option(
        2000, "Examples that it is estimated from; none for all of the task's.", at_least=1
    )


def information(learner, task, vector):
    """Compute the mean Fisher information of what tasks share, at the end of a task; ``learner``
    has learned it.
    """
    t = learner.learned - 1
    limit = learner.settings.fisher_examples
    rng = generator(learner.key("fisher", t))
    x = task.x_train
    y = task.targets
    if limit is not None and limit < len(x):
        rows = np.sort(rng.choice(len(x), limit, replace=False))
        x = x[rows]
        y = y[rows]
    network = learner.network(task.outputs)
    found = fisher.diagonal(network, vector, x, y, learner.settings.fisher, rng)
    return found[learner.places(network)].copy()


@dataclass(frozen=True, init=False)
class Settings(Information):
    """The settings of EWC."""

    method = "ewc"

    weight: float = option(
        100.0, "Lambda, for the mean information per example, with a half in front.", at_least=0
    )
    variant: str = option(
        "online",
        "An anchor per task (separate), or the last one and a sum of Fishers (online).",
        choices=("separate", "online"),
    )
    decay: float = option(
        1.0, "Gamma: factor of the online sum when a task is added.", at_least=0, at_most=1
    )


class EWC(Sequential):
    """Learn tasks with elastic weights; parameters as in :class:`Sequential`.

    ``memory`` has ``anchor{s}`` and ``fisher{s}`` of each task, or ``anchor`` and ``fisher``.
    """

    settings_type = Settings

    def penalty(self, vector, places, task):
        """Add up the penalties of all anchors."""
        weight = self.settings.weight * len(task.x_train)
        return pull(
            vector,
            places,
            *(
                (anchor, weight * self.memory[name.replace("anchor", "fisher")])
                for name, anchor in self.memory.items()
                if name.startswith("anchor")
            ),
        )

    def remember(self, task, vector):
        """Anchor the weights where they are, by the information of the task."""
        found = information(self, task, vector)
        t = self.learned - 1
        if self.settings.variant == "separate":
            self.memory |= {f"anchor{t}": self.shared, f"fisher{t}": found}
        else:
            decayed = self.settings.decay * self.memory.get("fisher", np.zeros_like(found))
            self.memory |= {"anchor": self.shared, "fisher": (decayed + found).astype(found.dtype)}


@dataclass(frozen=True, init=False)
class ImageSettings(ImageInformation):
    """The settings of EWC for images."""

    method = "vae_ewc"
    weight: float = option(
        10.0, "Lambda, for the mean information per example, with a half in front.", at_least=0
    )
    variant: str = option(
        "online",
        "An anchor per task (separate), or the last one and a sum of Fishers (online).",
        choices=("separate", "online"),
    )
    decay: float = option(
        1.0, "Gamma: factor of the online sum when a task is added.", at_least=0, at_most=1
    )


class ImageEWC(OnImages, EWC):
    """Learn generative models with elastic weights; parameters as in :class:`EWC`."""

    settings_type = ImageSettings
