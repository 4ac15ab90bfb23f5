r"""What the methods have in common that the autoencoder with masks is compared with.

As in Nguyen et al. (2018), Sec. 6.2, and Kumar et al. (2021), supplement B.2: each task has an encoder of its own and
its own first layers of the decoder; the decoder's last layers are shared, so they alone can forget.  The loss is the
negative ELBO an image, plus what a method adds to hold the shared layers (:meth:`VAESequential.penalty`); afterwards it
remembers what it wants to (:meth:`VAESequential.remember`).  Without either this is naive training.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved, check_task, check_task_id, under
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import OneRate, option
from ibpcl.models import starts
from ibpcl.models.elbo import Elbo
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.likelihoods import OF_PIXELS, of_pixels
from ibpcl.models.network import autoencoder
from ibpcl.models.parameters import write
from ibpcl.models.point_autoencoder import at_means, pixel_biases
from ibpcl.noise import Key, generator

# What is random; each has a stream of its own under the task's key.
STREAMS = ("initial", "train", "fisher")


@dataclass(frozen=True)
class VAESettings(OneRate):
    """The settings that all methods with task-specific encoders have."""

    hidden: tuple[int, ...] = option((500, 500, 500), "Units of the encoder's hidden layers; the decoder's reversed.")
    latent: int = option(100, "Width of the codes z (supplement B.2: 100).", at_least=1)
    shared_layers: int = option(2, "How many of the decoder's last layers all tasks share (supplement B.2: 2).",
                                at_least=1)
    activation: str = option("leaky_relu", "Activation of hidden units.", choices=ACTIVATIONS)
    likelihood: str = option("bernoulli", "Of the pixels.", choices=OF_PIXELS)
    pixel_sigma: float = option(0.1, "Standard deviation of gaussian pixels.", above=0)
    samples: int = option(1, "Monte-Carlo samples of a training step.", at_least=1)
    epochs: int = option(50, "Epochs a task, as many as those of both phases of NPBCL.")
    batch: int = option(128, "Images in a minibatch.")
    rate_end: float = option(0.1, "Factor of the learning rate at a task's last step; it falls geometrically.", above=0)
    beta: float = option(1.0, "Weight of the codes' divergence; 1 leaves it as in the ELBO.", at_least=0)
    warm_up: float = option(0.2, "Share of a task's steps in which that weight rises from 0.", at_least=0)
    start_spread: float = option(1.0, "Spread of the random weights that a layer starts with, times sqrt(2 / D).",
                                 above=0)

    def __post_init__(self):
        if self.shared_layers > len(self.hidden) + 1:
            raise ValueError(f"{type(self).method}: shared_layers must be at most {len(self.hidden) + 1}, the "
                             f"decoder's layers, got {self.shared_layers}")


class VAESequential(Saved):
    """Train task after task, each with its own encoder; a base of methods.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.

    Attributes
    ----------
    shared : dict of str to ndarray
        The parameters of the layers that all tasks share.
    own : list of dict
        Those that each task has for itself.
    memory : dict of str to ndarray
        What the method remembers of the tasks.
    """

    settings_type = VAESettings
    shared_kind = "plain"                                    # of the layers that all tasks share

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.shared, self.own, self.memory = {}, [], {}

    @property
    def name(self):
        """The method's name, for messages and the history."""
        return type(self.settings).method

    @property
    def learned(self):
        """How many tasks were learned."""
        return len(self.own)

    def learn(self, task, progress=None):
        """Train on the next task and remember what the method wants to; return the history of the training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        check_task(self.name, task, "images", self.inputs)
        self.inputs = task.inputs
        settings, model, examples = self.settings, self.model(), len(task.x_train)
        how = Fit(self.name, settings.epochs, settings.batch, settings.samples, self.key("train"), self.backend,
                  progress, settings.rate_end)
        weighted = Weighted(Elbo(1.0, -1.0, kl_latent=-settings.beta), settings.warm_up,
                            penalty=lambda vector: self.penalty(model, vector, examples))
        vector, history = objectives.train_fixed(
            model, self.start(model, task), self.prior(model), {}, Data(task.x_train, task.x_train), how,
            dict.fromkeys(("plain", "mu", "log_sigma"), settings.rate), weighted)
        views = model.layout.views(vector)
        shared = self.shared_layers(model)
        self.shared = {name: view.copy() for name, view in views.items() if name.split(".")[0] in shared}
        self.own.append({name: view.copy() for name, view in views.items() if name.split(".")[0] not in shared})
        self.remember(model, task, vector)
        return [record._replace(task=len(self.own) - 1) for record in history]

    def latent_model(self, task_id):
        """Return a task's model as it is evaluated: a :class:`ibpcl.models.point_autoencoder.PointAutoencoder`.

        Raises
        ------
        ValueError
            If the task was not learned.
        """
        check_task_id(f"{self.name}.latent_model", task_id, len(self.own))
        model = self.model()
        vector = np.zeros(model.layout.size, np.float32)
        write(model.layout.views(vector), self.shared | self.own[task_id])
        return at_means(model, vector)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        arrays = {"inputs": np.array(self.inputs or 0), "tasks": np.array(len(self.own))}
        arrays |= {f"shared.{name}": value for name, value in self.shared.items()}
        arrays |= {f"task{t}.{name}": value for t, own in enumerate(self.own) for name, value in own.items()}
        return arrays | {f"memory.{name}": value for name, value in self.memory.items()}

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}

        self.inputs = int(state["inputs"]) or None
        self.shared, self.memory = under(state, "shared."), under(state, "memory.")
        self.own = [under(state, f"task{t}.") for t in range(int(state["tasks"]))]

    # What a method may say otherwise.

    def prior(self, model):
        """Return the prior of the Gaussian layers; None if there are none."""
        return None

    def penalty(self, model, vector, examples):
        """Return what the method adds to the negative ELBO, in nats for the whole task, and its gradient (or None)."""
        return 0.0, None

    def remember(self, model, task, vector):
        """Put into ``memory`` what the method wants to know of a task that has just been learned; nothing here."""

    def start(self, model, task):
        """Return the parameters before training on a task: what it has for itself is fresh."""
        start = starts.he(generator(self.key("initial")), self.settings.start_spread, starts.QUIET)
        vector = model.initial(start)
        views = model.layout.views(vector)
        views["pixels.bias.mu"][...] = pixel_biases(task.x_train, model.likelihood)
        write(views, self.shared)
        return vector

    # What they are made of.

    def model(self):
        """Return the network of a task."""
        settings = self.settings
        own = 2 * len(settings.hidden) + 3 - settings.shared_layers
        return autoencoder(self.inputs, settings.hidden, settings.latent,
                           of_pixels(settings.likelihood, settings.pixel_sigma),
                           ("plain",) * own + (self.shared_kind,) * settings.shared_layers, settings.activation)

    def shared_layers(self, model):
        """Return the names of the layers that all tasks share."""
        return tuple(model.layers)[-self.settings.shared_layers:]

    def key(self, stream):
        """Return the key of the noise of the task that is being learned."""
        return Key(self.seed, len(STREAMS) * len(self.own) + STREAMS.index(stream), 0, 0)
