"""The gradient step that is measured: its sizes, its data, and one training step of the package
itself.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.adam import start
from ibpcl.data import registry
from ibpcl.models import starts, subnetwork
from ibpcl.models.elbo import Elbo, Prior, elbo, elbo_vjp
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked
from ibpcl.models.network import classifier
from ibpcl.noise import Key
from ibpcl.numerics import finite

# where the method starts, and a temperature on the way
ALPHA = 30.0
SIGMA = 0.05
SPREAD = 0.01
TAU = 1.0
EXAMPLES = 60_000
# The method's cotangent of the loss: likelihood, weights, masks (at the weight 1 / 784), sticks;
# for one example.
WEIGHTS = Elbo(*(-weight / EXAMPLES for weight in (1.0, -1.0, -1 / 784, -1.0, -1.0)))
# A thousandth of the method's: hundreds of steps on one and the same batch shall not lead anywhere.
RATES = {"mu": 1e-5, "log_sigma": 1e-5, "rho": 1e-4, "sticks": 1e-4}
MNIST_DENSITY = 0.19


class Sizes(NamedTuple):
    """Samples, examples of a batch, inputs, hidden units and classes."""

    S: int = 10
    N: int = 256
    D: int = 784
    K: int = 200
    C: int = 10


class Images(NamedTuple):
    """Images of a task, float32 (M, D), their labels, and where they are from."""

    name: str
    x: np.ndarray
    labels: np.ndarray


def images(classes=None, data_dir=None):
    """Return MNIST's training images of some classes, or the drawn letters if it is not at hand and
    no folder is named.

    Raises
    ------
    UserError
        If a folder is named, and MNIST is not there.
    """
    there = {
        status.name
        for status in registry.status(data_dir)
        if status.summary not in ("missing", "damaged")
    }
    name = "mnist" if "mnist" in there or data_dir is not None else "glyphs"
    data = registry.load(name, data_dir)
    chosen = slice(None) if classes is None else np.isin(data.train_labels, classes)
    x = data.train_images[chosen].reshape(-1, data.train_images[0].size)
    return Images(name, x, data.train_labels[chosen].astype(np.int64))


def random_images(sizes, density, seed=0):
    """Make a batch in which each number is not zero with a given probability."""
    rng = np.random.default_rng(seed)
    x = np.where(
        rng.random((sizes.N, sizes.D)) < density, rng.random((sizes.N, sizes.D)), 0
    ).astype(np.float32)
    return Images(f"density {density:g}", x, rng.integers(0, sizes.C, sizes.N))


class Problem:
    """One batch and a network to train on it.

    Parameters
    ----------
    sizes : Sizes
        The number of inputs and of examples is that of the images.
    images : Images
        Bytes or float32; the first N are the batch, all of them say which inputs are always zero.
    backend : Backend
        The backend that computes: numba or numpy.
    pack : bool
        Whether inputs that are always zero are left out, as in training.
    """

    def __init__(self, sizes, images, backend, pack=True, dtype=np.float32):
        self.sizes = sizes._replace(D=images.x.shape[1], N=min(sizes.N, len(images.x)))
        self.backend = backend
        scale = 255 if images.x.dtype == np.uint8 else 1
        # Evenly over the classes, which may be sorted.
        rows = np.linspace(0, len(images.x) - 1, self.sizes.N).astype(int)
        self.x = (images.x[rows] / scale).astype(dtype)
        self.labels = images.labels[rows]
        self.whole = classifier(self.sizes.D, (sizes.K,), Softmax(), sizes.C, Masked)
        self.part = (
            subnetwork.usable(self.whole, images.x) if pack else subnetwork.cut(self.whole, {})
        )
        self.model, self.read = self.part.network, self.part.columns(self.x)
        self.vector = self.model.initial(
            starts.normal(np.random.default_rng(0), SPREAD), SIGMA, (ALPHA,), dtype
        )
        count = self.model.layout.block("mu").stop
        self.prior = Prior(
            np.zeros(count, dtype), np.zeros(count, dtype), {"hidden0": dtype(ALPHA)}
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
        """How many inputs are left out, since they are always zero."""
        return self.whole.inputs - self.model.inputs

    def noise(self, step=0):
        """Draw what a step needs."""
        return self.model.noise(
            Key(0, 0, step, 0), self.sizes.S, self.sizes.N, self.backend, self.x.dtype
        )

    def elbo_and_gradient(self, noise):
        """Return the parts of the ELBO and the gradient of the loss for given noise."""
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
        """Take one step of training: noise, ELBO, gradient, Adam, the check that all is finite."""
        self.step_number += 1
        _, gradient = self.elbo_and_gradient(self.noise(self.step_number))
        if not finite(gradient):
            raise FloatingPointError("bench: the gradient is not finite")
        self.vector, self.state = self.backend.adam.update(
            self.vector, gradient, self.state, self.rates
        )

    def products(self):
        """Return a function that computes the step's dense matrix products alone, with BLAS.

        Those of the layer, x w and its gradient at w, at its full width; those of the head, and its
        gradients at both.
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
