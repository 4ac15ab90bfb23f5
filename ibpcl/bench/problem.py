"""The gradient step that is measured: sizes, data, and one training step of this package."""

from typing import NamedTuple

import numpy as np

from ibpcl.adam import start
from ibpcl.data import registry
from ibpcl.data.dataset import DataError
from ibpcl.models import starts, subnetwork
from ibpcl.models.architecture import from_line
from ibpcl.models.elbo import Elbo, Prior, elbo, elbo_vjp
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked
from ibpcl.models.network import classifier
from ibpcl.noise import Key
from ibpcl.numerics import finite

# Starting values of the method, and a temperature of masked training.
ALPHA = 30.0
SIGMA = 0.05
SPREAD = 0.01
TAU = 1.0
EXAMPLES = 60_000
# Weights of the parts in the loss, per example: likelihood, weights, masks (1 / 784), sticks.
WEIGHTS = Elbo(*(-weight / EXAMPLES for weight in (1.0, -1.0, -1 / 784, -1.0, -1.0)))
# A thousandth of the method's rates, so that hundreds of steps on the same batch change little.
RATES = {"mu": 1e-5, "log_sigma": 1e-5, "rho": 1e-4, "sticks": 1e-4}
MNIST_DENSITY = 0.19


class Sizes(NamedTuple):
    """Sizes of a step.

    Attributes
    ----------
    S : int
        Monte Carlo samples.
    N : int
        Examples of a batch.
    D : int
        Inputs.
    K : int
        Hidden units.
    C : int
        Classes.
    """

    S: int = 10
    N: int = 256
    D: int = 784
    K: int = 200
    C: int = 10


class Images(NamedTuple):
    """Images of a task.

    Attributes
    ----------
    name : str
        Where they come from.
    x : ndarray, shape (M, D)
        Bytes, or float32.
    labels : ndarray, shape (M,)
        Their classes.
    """

    name: str
    x: np.ndarray
    labels: np.ndarray


def images(classes=None, data_dir=None):
    """Return the training images of some classes of MNIST, or rendered letters if MNIST is not
    there as a whole.

    Parameters
    ----------
    classes : sequence of int, optional
        All classes if not given.
    data_dir : str, optional
        Folder of the image files.

    Returns
    -------
    images : Images
        All images of these classes.

    Raises
    ------
    DataError
        If a folder is given that does not contain MNIST.
    """
    name = "mnist"
    try:
        registry.verify(name, data_dir)
    except DataError:
        if data_dir is not None:
            raise
        name = "glyphs"
    data = registry.load(name, data_dir)
    chosen = slice(None) if classes is None else np.isin(data.train_labels, classes)
    x = data.train_images[chosen].reshape(-1, data.train_images[0].size)
    return Images(name, x, data.train_labels[chosen].astype(np.int64))


def random_images(sizes, density, seed=0):
    """Return a random batch with a given density.

    Parameters
    ----------
    sizes : Sizes
        Numbers of examples, inputs and classes.
    density : float
        Probability with which a number is not zero.
    seed : int
        Seed of the numbers.

    Returns
    -------
    images : Images
        One batch.
    """
    rng = np.random.default_rng(seed)
    x = np.where(
        rng.random((sizes.N, sizes.D)) < density, rng.random((sizes.N, sizes.D)), 0
    ).astype(np.float32)
    return Images(f"density {density:g}", x, rng.integers(0, sizes.C, sizes.N))


class Problem:
    """One batch, and a network to train on it.

    Parameters
    ----------
    sizes : Sizes
        The numbers of inputs and examples are replaced by those of the images.
    images : Images
        The batch is taken evenly from all images; all of them determine which inputs are always
        zero.
    backend : Backend
        What computes: Numba or NumPy.
    pack : bool
        Whether to leave out inputs that are always zero, as in training.
    dtype : type
        Type of all arrays.
    line : str
        Network in place of a hidden layer of K units, see :mod:`ibpcl.models.architecture`.
    """

    def __init__(self, sizes, images, backend, pack=True, dtype=np.float32, line=""):
        self.sizes = sizes._replace(D=images.x.shape[1], N=min(sizes.N, len(images.x)))
        self.backend = backend
        scale = 255 if images.x.dtype == np.uint8 else 1
        # Evenly over the classes, which may be sorted.
        rows = np.linspace(0, len(images.x) - 1, self.sizes.N).astype(int)
        self.x = (images.x[rows] / scale).astype(dtype)
        self.labels = images.labels[rows]
        build = from_line if line else classifier
        self.whole = build(self.sizes.D, line or (sizes.K,), Softmax(), sizes.C, Masked)
        self.part = (
            subnetwork.usable(self.whole, images.x) if pack else subnetwork.cut(self.whole, {})
        )
        self.model, self.read = self.part.network, self.part.columns(self.x)
        self.vector = self.model.initial(
            starts.normal(np.random.default_rng(0), SPREAD),
            SIGMA,
            (ALPHA,) * len(self.model.masked),
            dtype,
        )
        count = self.model.layout.block("mu").stop
        self.prior = Prior(
            np.zeros(count, dtype),
            np.zeros(count, dtype),
            dict.fromkeys(self.model.masked, dtype(ALPHA)),
        )
        self.state, self.rates = start(self.vector), np.empty_like(self.vector)
        for block, rate in RATES.items():
            self.rates[self.model.layout.block(block)] = rate
        self.step_number = 0

    @property
    def density(self):
        """The share of the batch's numbers that are not zero."""
        return float(np.count_nonzero(self.x) / self.x.size)

    @property
    def always_zero(self):
        """The number of inputs that are left out because they are always zero."""
        return self.whole.inputs - self.model.inputs

    def noise(self, step=0):
        """Return the noise of a step.

        Parameters
        ----------
        step : int
            Number of the step.

        Returns
        -------
        noise : dict
            Arrays by layer.
        """
        return self.model.noise(
            Key(0, 0, step, 0), self.sizes.S, self.sizes.N, self.backend, self.x.dtype
        )

    def elbo_and_gradient(self, noise):
        """Return the ELBO and the gradient of the loss for given noise.

        Parameters
        ----------
        noise : dict
            From :meth:`noise`.

        Returns
        -------
        parts : ibpcl.models.elbo.Elbo
            In nats for the whole task.
        gradient : ndarray, shape (P,)
            In nats per example.
        """
        parts, cache = elbo(
            self.model,
            self.vector,
            self.prior,
            self.read,
            self.labels,
            noise,
            EXAMPLES,
            self.backend,
            None,
            TAU,
        )
        return parts, elbo_vjp(WEIGHTS, cache)

    def step(self):
        """Do one training step: noise, ELBO, gradient, Adam, and the check that the gradient is
        finite.
        """
        self.step_number += 1
        _, gradient = self.elbo_and_gradient(self.noise(self.step_number))
        if not finite(gradient):
            raise FloatingPointError("bench: the gradient is not finite")
        self.vector, self.state = self.backend.adam.update(
            self.vector, gradient, self.state, self.rates
        )

    def products(self):
        """Return a function that computes only the dense matrix products of a step, by BLAS.

        They are x w and its gradient with respect to w for the layer at full width, and the product
        and both gradients for the head.

        Returns
        -------
        multiply : callable
            Called without arguments.
        """
        (S, N, D, K, C), dtype = self.sizes, self.x.dtype
        x = self.x
        w = np.full((S, D, K), 0.1, dtype)
        dh = np.ones((S, N, K), dtype)
        head = np.ones((S, K, C), dtype)
        doutputs = np.ones((S, N, C), dtype)
        outputs = [
            np.empty(shape, dtype)
            for shape in ((S, N, K), (S, D, K), (S, N, C), (S, N, K), (S, K, C))
        ]
        factors = (
            (x, w),
            (x.T, dh),
            (dh, head),
            (doutputs, np.swapaxes(head, 1, 2)),
            (np.swapaxes(dh, 1, 2), doutputs),
        )

        def multiply():
            for (left, right), out in zip(factors, outputs, strict=True):
                np.matmul(left, right, out=out)

        return multiply
