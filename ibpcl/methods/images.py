"""Autoencoders of the methods that train one network in sequence, for images without labels.

As in Nguyen et al. (2018), Sec. 6.2, and Kumar et al. (2021), supplement B.2, each task has its own
encoder and its own first layers of the decoder.  The last layers of the decoder are shared, so they
alone can forget.  Penalty and memory of a method are those for classification; the loss is the
negative ELBO per image.
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
    """Settings of the methods with task-specific encoders."""

    hidden: tuple[int, ...] = option(
        (500, 500, 500),
        "Units of the encoder's hidden layers; the decoder has them in reverse order.",
    )
    latent: int = option(100, "Width of the codes z (supplement B.2: 100).", at_least=1)
    shared_layers: int = option(
        2, "Number of the last decoder layers that all tasks share (supplement B.2: 2).", at_least=1
    )
    activation: str = option("leaky_relu", "Activation of hidden units.", choices=ACTIVATIONS)
    likelihood: str = option("bernoulli", "Likelihood of the pixels.", choices=OF_PIXELS)
    pixel_sigma: float = option(0.1, "Standard deviation of gaussian pixels.", above=0)
    samples: int = option(1, "Monte Carlo samples per training step.", at_least=1, at_most=1000)
    epochs: int = option(50, "Epochs per task, as many as in both phases of NPBCL.")
    batch: int = option(128, "Images in a minibatch.")
    rate_end: float = 0.1
    beta: float = option(
        1.0, "Factor of the KL divergence of the codes; 1 in the ELBO.", at_least=0
    )
    warm_up: float = option(
        0.2, "Share of a task's steps in which that factor rises from 0 to beta.", at_least=0
    )
    start_spread: float = option(
        1.0,
        "Standard deviation of the random initial weights, divided by sqrt(2 / D).",
        above=0,
    )

    images = True
    shared_layer = "plain"  # kind of the shared layers
    single_head = False  # more than a head belongs to each task

    def __post_init__(self):
        super().__post_init__()
        if self.shared_layers > len(self.hidden) + 1:
            raise ValueError(
                f"{called(type(self))}: shared_layers must be at most {len(self.hidden) + 1}, the "
                f"decoder's layers, got {self.shared_layers}"
            )


class Generative:
    """Mixin for learners of images: predictions and evaluation.

    The class must have ``assemble(task_id)``, which returns a network and its parameters.
    """

    def predict(self, x, task_id):
        """Return reconstructions of images by the model of a learned task.

        They are decoded from the means of the codes.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Images, finite real numbers; pixels in 0 .. 1 for a Bernoulli likelihood.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        images : ndarray, shape (N, D)
            Mean pixels.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        x = check_inputs(f"{self.name}.predict", x, self.inputs, task_id, self.learned)
        model = self.latent_model(task_id)
        return model.decode(model.encode(x)[0])

    def latent_model(self, task_id):
        """Return the model of a learned task for evaluation, with weights at their posterior means.

        Parameters
        ----------
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        model : ibpcl.models.point_autoencoder.PointAutoencoder
            Encodes, decodes and scores images.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer.
        ValueError
            If the task was not learned.
        """
        check_task_id(f"{self.name}.latent_model", task_id, self.learned)
        return PointAutoencoder(*self.assemble(task_id), backend=self.backend)


@dataclass(frozen=True)
class PlainAutoencoder:
    """Autoencoder of the methods with task-specific encoders, and its shared parameters.

    Parameters
    ----------
    settings : AutoencoderSettings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"images"``.
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    """

    settings: object

    kind = "images"
    # A phase keeps its number forever, so that a new phase does not change published results.
    streams: ClassVar = {"initial": 0, "train": 1, "fisher": 2}
    stride = 3

    @property
    def samples(self):
        """Monte Carlo samples per training step."""
        return self.settings.samples

    @property
    def weights(self):
        """Weight of each term of the ELBO."""
        return GRADIENT._replace(kl_latent=-self.settings.beta)

    @property
    def warm_up(self):
        """Share of the steps in which the weight of the codes' KL divergence rises from 0."""
        return self.settings.warm_up

    def network(self, inputs, hidden, outputs):
        """Return the autoencoder with the given widths.

        Parameters
        ----------
        inputs : int
            Number of pixels D.
        hidden : tuple of int
            Units of the encoder's hidden layers; the decoder has them in reverse order.
        outputs : int
            Not used: the outputs are as wide as the inputs.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only.
        """
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
        """Return whether all tasks share a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"decoder1.weight.mu"``.

        Returns
        -------
        shared : bool
            True for the last layers of the decoder, as many as ``settings.shared_layers``.
        """
        decoder = [*(f"decoder{i}" for i in range(len(self.settings.hidden))), "pixels"]
        return name.split(".")[0] in decoder[-self.settings.shared_layers :]

    def start(self, context, network, task):
        """Return fresh parameters of an autoencoder.

        Parameters
        ----------
        context : ibpcl.methods.sequential.Context
            Gives the random key of the task: ``learner.context`` of a learner.
        network : ibpcl.models.network.Network
            Autoencoder to initialize, from :meth:`network`.
        task : ibpcl.continual.task.Task
            The task; pixel biases start at its mean training image.

        Returns
        -------
        vector : ndarray, shape (P,)
            Random weights; all other biases are 0.
        """
        rng = generator(context.key("initial"))
        vector = network.initial(starts.he(rng, self.settings.start_spread, starts.QUIET))
        biases = network.layout.view(vector, "pixels.bias.mu")
        biases[...] = pixel_biases(task.x_train, network.likelihood)
        return vector
