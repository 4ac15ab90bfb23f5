r"""Images without labels: the autoencoder of the methods that train one network in sequence.

As in Nguyen et al. (2018), Sec. 6.2, and Kumar et al. (2021), supplement B.2, each task has its own
encoder and its own first layers of the decoder.  The decoder's last layers are shared, so they
alone can forget.  The penalty of a method and what it remembers are those for classes; the loss is
the negative ELBO of an image.
"""

from dataclasses import dataclass
from typing import ClassVar

from ibpcl.continual.learner import check_inputs, check_task_id
from ibpcl.methods import OneRate
from ibpcl.methods.settings_docs import documented
from ibpcl.models import starts
from ibpcl.models.elbo import GRADIENT
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.likelihoods import OF_PIXELS, of_pixels
from ibpcl.models.network import autoencoder
from ibpcl.models.point_autoencoder import PointAutoencoder, pixel_biases
from ibpcl.noise import generator
from ibpcl.options import called, option


@documented
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
    shared_layer = "plain"  # kind of the layers that tasks share
    single_head = False  # a task's own part is more than a head

    def __post_init__(self):
        super().__post_init__()
        if self.shared_layers > len(self.hidden) + 1:
            raise ValueError(
                f"{called(type(self))}: shared_layers must be at most {len(self.hidden) + 1}, the "
                f"decoder's layers, got {self.shared_layers}"
            )


class Generative:
    """What every learner of images has besides; the class must have ``assemble(task_id)``."""

    def predict(self, x, task_id):
        """Return reconstructions (N, D) of images (N, D) by a learned task's model.

        They are decoded from the means of the codes.
        """
        x = check_inputs(f"{self.name}.predict", x, self.inputs, task_id, self.learned)
        model = self.latent_model(task_id)
        return model.decode(model.encode(x)[0])

    def latent_model(self, task_id):
        """Return the model of a learned task as it is evaluated.

        Returns
        -------
        model : ibpcl.models.point_autoencoder.PointAutoencoder
        """
        check_task_id(f"{self.name}.latent_model", task_id, self.learned)
        return PointAutoencoder(*self.assemble(task_id), backend=self.backend)


@dataclass(frozen=True)
class PlainAutoencoder:
    """The autoencoder of a task, and which of its parameters tasks share.

    The methods are those of :class:`ibpcl.methods.sequential.PlainClassifier`.

    Parameters
    ----------
    settings : AutoencoderSettings
    """

    settings: object

    kind = "images"  # of the tasks
    # The noise of each phase of a task.  A name keeps its number, so that a new phase changes no
    # published result.
    streams: ClassVar = {"initial": 0, "train": 1, "fisher": 2}
    stride = 3  # numbers that are set aside for a task

    @property
    def samples(self):
        """Monte Carlo samples of a training step."""
        return self.settings.samples

    @property
    def weights(self):
        """The weights of the parts of the ELBO."""
        return GRADIENT._replace(kl_latent=-self.settings.beta)

    @property
    def warm_up(self):
        """The share of the steps in which the weight of the codes' divergence rises."""
        return self.settings.warm_up

    def network(self, inputs, hidden, outputs):
        """Return the autoencoder; its outputs are as wide as its inputs."""
        settings = self.settings
        own = 2 * len(hidden) + 3 - settings.shared_layers
        return autoencoder(
            inputs,
            hidden,
            settings.latent,
            of_pixels(settings.likelihood, settings.pixel_sigma),
            ("plain",) * own + (settings.shared_layer,) * settings.shared_layers,
            settings.activation,
        )

    def shares(self, name):
        """Return whether all tasks share the parameters of this name: the decoder's last layers."""
        decoder = [*(f"decoder{i}" for i in range(len(self.settings.hidden))), "pixels"]
        return name.split(".")[0] in decoder[-self.settings.shared_layers :]

    def start(self, context, network, task):
        """Return fresh parameters (P,) of an autoencoder; its pixels start at their means."""
        rng = generator(context.key("initial"))
        vector = network.initial(starts.he(rng, self.settings.start_spread, starts.QUIET))
        biases = network.layout.view(vector, "pixels.bias.mu")
        biases[...] = pixel_biases(task.x_train, network.likelihood)
        return vector
