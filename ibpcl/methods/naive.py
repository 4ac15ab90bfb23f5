r"""Naive training: the network goes on with each task, and nothing protects what it knew.

Each task minimizes its own loss from where the last one ended,

.. math:: \theta_t = \arg\min_\theta\; -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta), \qquad
          \text{started at } \theta_{t - 1},

also called fine-tuning: "Naive" in the tables of Kumar et al. (2021), Sec. 6.  It shows how much is
forgotten, or, with a head a task, how little.
"""

from dataclasses import dataclass

from ibpcl.methods.images import AutoencoderSettings, OnImages
from ibpcl.methods.sequential import Sequential, SequentialSettings


@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of naive training."""

    method = "naive"


class Naive(Sequential):
    """Learn task after task without protection; parameters and attributes as in
    :class:`Sequential`.
    """

    settings_type = Settings


@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """The settings of naive training for images."""

    method = "vae_naive"


class ImageNaive(OnImages, Naive):
    """Learn generative models without protection; parameters as in :class:`Naive`."""

    settings_type = ImageSettings
