r"""SI, synaptic intelligence: each weight adds up, while it learns, how much it helped.

Zenke, Poole and Ganguli (2017), "Continual Learning Through Synaptic Intelligence", Eqs. 3 to 5.
Along the path of training, a weight's part in the fall of the loss L (of the data alone) is

.. math:: \omega_i = -\sum_{\text{steps}} \partial_i L\, \Delta\theta_i,

and after task s it counts for :math:`\Omega_i \leftarrow \Omega_i + \max(0, \omega_i) /
((\theta_{s, i} - \theta_{s - 1, i})^2 + \xi)`.  The loss of a later task is, in nats per example,

.. math:: L_t + c \sum_i \Omega_i (\theta_i - \theta_{t - 1, i})^2.

No pass over the data is needed at a task's end.  A weight can have :math:`\omega_i < 0`, which
would make the penalty unbounded below; it counts as 0, which the paper does not say.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.methods.images import AutoencoderSettings, OnImages
from ibpcl.methods.sequential import Sequential, SequentialSettings, pull
from ibpcl.options import option


@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of synaptic intelligence."""

    method = "si"

    weight: float = option(1.0, "Weight c of the penalty, without a half.", at_least=0)
    damping: float = option(
        0.001, "Xi, which bounds the importance of a weight that hardly moved.", above=0
    )


class SI(Sequential):
    """Learn tasks with intelligent synapses; parameters as in :class:`Sequential`.

    ``memory`` has ``anchor``, where the last task ended, and ``importance``, both of what tasks
    share; ``path`` is the path integral of the last task, and ``began`` where it started.
    """

    settings_type = Settings

    def penalty(self, vector, places, task):
        """Pull what mattered back to where the last task ended."""
        if not self.memory:
            return 0.0, None
        precision = 2 * self.settings.weight * len(task.x_train) * self.memory["importance"]
        return pull(vector, places, (self.memory["anchor"], precision))

    def weighted(self, task):
        """Return what is maximized; each step of training adds to the path integral."""
        objective = super().weighted(task)
        places = self.places(self.network(task.outputs))
        self.began = self.begin(task)[places]
        self.path = 0.0
        before = slope = 0.0

        def penalty(vector, gradient):
            nonlocal before, slope
            before = vector[places].copy()
            slope = gradient[places].copy()
            return objective.penalty(vector, gradient)

        def adapt(step, vector, state, rates):
            self.path = self.path - slope * (vector[places] - before)
            return vector, state, rates

        return objective._replace(penalty=penalty, adapt=adapt)

    def remember(self, task, vector):
        """Turn the path integral into importance."""
        moved = self.shared - self.began
        gained = np.maximum(self.path, 0) / (moved * moved + self.settings.damping)
        importance = self.memory.get("importance", 0) + gained
        self.memory = {"anchor": self.shared, "importance": importance.astype(vector.dtype)}


@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """The settings of synaptic intelligence for images."""

    method = "vae_si"
    weight: float = option(1.0, "Weight c of the penalty, without a half.", at_least=0)
    damping: float = option(
        0.001, "Xi, which bounds the importance of a weight that hardly moved.", above=0
    )


class ImageSI(OnImages, SI):
    """Learn generative models with intelligent synapses; parameters as in :class:`SI`."""

    settings_type = ImageSettings
