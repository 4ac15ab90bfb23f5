r"""SI, synaptic intelligence: each weight adds up, while it learns, how much it helped.

Zenke, Poole and Ganguli (2017), "Continual Learning Through Synaptic Intelligence", Eqs. 3 to 5.  Along the path of
training, a weight's part in the fall of the loss L (of the data alone) is

.. math:: \omega_i = -\sum_{\text{steps}} \partial_i L\, \Delta\theta_i,

and after task s it counts for :math:`\Omega_i \leftarrow \Omega_i + \max(0, \omega_i) / ((\theta_{s, i} - \theta_{s -
1, i})^2 + \xi)`.  The loss of a later task is, in nats per example,

.. math:: L_t + c \sum_i \Omega_i (\theta_i - \theta_{t - 1, i})^2.

No pass over the data is needed at a task's end.  A weight can have :math:`\omega_i < 0`, which would make the penalty
unbounded below; it counts as 0, which the paper does not say.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.methods.images import AutoencoderSettings, OnImages
from ibpcl.methods.sequential import Sequential, SequentialSettings, pull
from ibpcl.options import Presets, option


@dataclass(frozen=True)
class Synapses(Presets):
    """The settings of synaptic intelligence whatever it learns."""

    weight: float = option(1.0, "Weight c of the penalty, without a half.", at_least=0)
    damping: float = option(0.001, "Xi, which bounds the importance of a weight that hardly moved.", above=0)


@dataclass(frozen=True)
class Settings(Synapses, SequentialSettings):
    """The settings of synaptic intelligence."""


class SI(Sequential):
    """Learn tasks with intelligent synapses; parameters as in :class:`Sequential`.

    ``memory`` has ``anchor``, where the last task ended, and ``importance``, both of what tasks share; ``path`` is the
    path integral of the last task.
    """

    settings_type = Settings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.path, self._last = 0.0, None

    def penalty(self, vector, places, task):
        """Pull what mattered back to where the last task ended."""
        if not self.memory:
            return 0.0, None
        precision = 2 * self.settings.weight * len(task.x_train) * self.memory["importance"]
        return pull(vector, places, (self.memory["anchor"], precision))

    def weighted(self, task):
        """Return what is maximized; before each step the penalty notes where weights are, and the slope there."""
        objective, places = super().weighted(task), self.places(self.network(task.outputs))

        def penalty(vector, gradient):
            self._go_on(vector[places], gradient[places])
            return objective.penalty(vector, gradient)

        return objective._replace(penalty=penalty)

    def train(self, task, progress):
        """Fit the network and add up the path integral; return the parameters and the history."""
        self.path, self._last = 0.0, None
        vector, history = super().train(task, progress)
        self._go_on(vector[self.places(self.network(task.outputs))])
        self._last = None
        return vector, history

    def _go_on(self, here, slope=None):
        """Add the step that led ``here`` to the path integral; the next one goes down ``slope``."""
        if self._last is not None:
            before, slope_before = self._last
            self.path = self.path - slope_before * (here - before)
        self._last = here.copy(), None if slope is None else slope.copy()

    def keep(self, task, vector):
        """Keep what was trained, and turn the path integral into importance."""
        places = self.places(self.network(task.outputs))
        moved = vector[places] - self.begin(task)[places]    # before the new task is counted: from where it started
        gained = np.maximum(self.path, 0) / (moved * moved + self.settings.damping)
        importance = self.memory.get("importance", 0) + gained
        super().keep(task, vector)
        self.memory = {"anchor": self.shared, "importance": importance.astype(vector.dtype)}


@dataclass(frozen=True)
class ImageSettings(Synapses, AutoencoderSettings):
    """The settings of synaptic intelligence for images."""


class ImageSI(OnImages, SI):
    """Learn generative models; parameters as in :class:`SI`."""

    settings_type = ImageSettings
