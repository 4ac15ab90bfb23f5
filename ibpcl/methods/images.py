r"""How methods that train one network on task after task learn images without labels: the network
is an autoencoder.

As in Nguyen et al. (2018), Sec. 6.2, and Kumar et al. (2021), supplement B.2: each task has an
encoder of its own and its own first layers of the decoder; the decoder's last layers are shared, so
they alone can forget.  What a method adds to hold what is shared, and what it remembers, is as for
classes; the loss is the negative ELBO an image.
"""

from dataclasses import dataclass
from typing import ClassVar

from ibpcl.continual.learner import check_inputs, check_task_id
from ibpcl.methods import OneRate
from ibpcl.models import starts
from ibpcl.models.elbo import GRADIENT
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.likelihoods import OF_PIXELS, of_pixels
from ibpcl.models.network import autoencoder
from ibpcl.models.point_autoencoder import PointAutoencoder, pixel_biases
from ibpcl.noise import generator
from ibpcl.options import called, option


@dataclass(frozen=True, init=False)
class AutoencoderSettings(OneRate):
    """The settings that all methods with task-specific encoders have."""

    hidden: tuple[int, ...] = option(
        (500, 500, 500), "Units of the encoder's hidden layers; the decoder's reversed."
    )
    latent: int = option(100, "Width of the codes z (supplement B.2: 100).", at_least=1)
    shared_layers: int = option(
        2, "How many of the decoder's last layers all tasks share (supplement B.2: 2).", at_least=1
    )
    activation: str = option("leaky_relu", "Activation of hidden units.", choices=ACTIVATIONS)
    likelihood: str = option("bernoulli", "Likelihood of the pixels.", choices=OF_PIXELS)
    pixel_sigma: float = option(0.1, "Standard deviation of gaussian pixels.", above=0)
    samples: int = option(1, "Monte-Carlo samples of a training step.", at_least=1, at_most=1000)
    epochs: int = option(50, "Epochs per task, as many as those of both phases of NPBCL.")
    batch: int = option(128, "Images in a minibatch.")
    rate_end: float = 0.1
    beta: float = option(
        1.0, "Weight of the codes' divergence; 1 leaves it as in the ELBO.", at_least=0
    )
    warm_up: float = option(
        0.2, "Share of a task's steps in which that weight rises from 0.", at_least=0
    )
    start_spread: float = option(
        1.0, "Spread of the random weights that a layer starts with, times sqrt(2 / D).", above=0
    )

    images = True
    single_head = False  # a task's own part is more than a head

    def __post_init__(self):
        super().__post_init__()
        if self.shared_layers > len(self.hidden) + 1:
            raise ValueError(
                f"{called(type(self))}: shared_layers must be at most {len(self.hidden) + 1}, the "
                f"decoder's layers, got {self.shared_layers}"
            )


class Generative:
    """What every learner of images has; a class that mixes it in defines ``assemble(task_id)``."""

    def predict(self, x, task_id):
        """Return the reconstructions (N, D) of images (N, D) by a learned task's model: of the
        means of their codes.
        """
        x = check_inputs(f"{self.name}.predict", x, self.inputs, task_id, self.learned)
        model = self.latent_model(task_id)
        return model.decode(model.encode(x)[0])

    def latent_model(self, task_id):
        """Return the :class:`ibpcl.models.point_autoencoder.PointAutoencoder` of a learned task, as
        it is evaluated.
        """
        check_task_id(f"{self.name}.latent_model", task_id, self.learned)
        return PointAutoencoder(*self.assemble(task_id), backend=self.backend)


class OnImages(Generative):
    """Let a method of :class:`ibpcl.methods.sequential.Sequential`, the class's other base, learn
    images.

    The layers that tasks share are of the method's kind, ``layer``; all others are plain.
    """

    kind = "images"
    streams: ClassVar = {"initial": 0, "train": 1, "fisher": 2}
    stride = 3

    def network(self, outputs):
        """Return the autoencoder of a task."""
        settings = self.settings
        own = 2 * len(settings.hidden) + 3 - settings.shared_layers
        return autoencoder(
            self.inputs,
            settings.hidden,
            settings.latent,
            of_pixels(settings.likelihood, settings.pixel_sigma),
            ("plain",) * own + (self.layer,) * settings.shared_layers,
            settings.activation,
        )

    def shares(self, name):
        """Return whether all tasks share the parameters of a name: the decoder's last layers."""
        decoder = [*(f"decoder{i}" for i in range(len(self.settings.hidden))), "pixels"]
        return name.split(".")[0] in decoder[-self.settings.shared_layers :]

    def fresh(self, network, task):
        """Return the parameters of an autoencoder that knows no task yet; its pixels start at their
        means.
        """
        start = starts.he(generator(self.key("initial")), self.settings.start_spread, starts.QUIET)
        vector = network.initial(start)
        network.layout.view(vector, "pixels.bias.mu")[...] = pixel_biases(
            task.x_train, network.likelihood
        )
        return vector

    def weighted(self, task):
        """Return what is maximized; the weight of the codes' divergence rises."""
        return (
            super()
            .weighted(task)
            ._replace(
                weights=GRADIENT._replace(kl_latent=-self.settings.beta),
                warm_up=self.settings.warm_up,
            )
        )

    def how(self, progress):
        """Return how the fit of a task goes."""
        return super().how(progress)._replace(samples=self.settings.samples, key=self.key("train"))
