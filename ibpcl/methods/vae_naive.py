r"""Naive training of autoencoders: the shared layers go on with each task, and nothing protects what they knew.

Each task maximizes its own ELBO from where the last one left the shared layers of the decoder: "Naive" in the figures
of Kumar et al. (2021), Sec. 6.2.
"""

from dataclasses import dataclass

from ibpcl.methods.vae_sequential import VAESequential, VAESettings


@dataclass(frozen=True)
class Settings(VAESettings):
    """The settings of naive training."""


class VAENaive(VAESequential):
    """Learn generative models without protection; parameters and attributes as in :class:`VAESequential`."""

    settings_type = Settings
