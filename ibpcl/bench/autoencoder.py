"""What training an autoencoder costs beside its matrix products."""

import time

import numpy as np

from ibpcl.bench.problem import images
from ibpcl.bench.timing import PAUSE, interleave
from ibpcl.blas_threads import all_threads
from ibpcl.continual.task import Task
from ibpcl.inference.loop import Watch
from ibpcl.methods.npbcl_images import ImageNPBCL, ImageSettings
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.models.network import autoencoder

DIGIT = 0


class Clock:
    """Measures how long each epoch takes and, after it, ``beside``.

    Parameters
    ----------
    beside : callable
        Returns the seconds of what epochs are compared with.
    """

    def __init__(self, beside):
        self.beside = beside
        self.seconds = {}
        self.began = time.perf_counter()

    def on_epoch(self, record, vector):
        """Note the time of the epoch that is over."""
        epoch = time.perf_counter() - self.began
        self.seconds.setdefault(record.phase, []).append((epoch, self.beside()))
        # threads of BLAS, beside, go on spinning for a while
        time.sleep(PAUSE)
        self.began = time.perf_counter()

    def medians(self, phase):
        """Return the median seconds of an epoch of a phase, of what is beside it, and the median of
        their ratios.

        The first epoch does not count: it begins with other things, and with compilation.
        """
        epochs, beside = np.array(self.seconds[phase][1:]).T
        return float(np.median(epochs)), float(np.median(beside)), float(np.median(epochs / beside))


def measure(plan, data_dir):
    """Measure one task at the default settings, some epochs of fine-tuning: a step of each phase,
    over its products.

    The products are all of the network's, dense and at full width, BLAS on all threads, measured
    after each epoch.  A step of training is the mean of the phases' steps, weighted by the default
    numbers of epochs.
    """
    settings = ImageSettings()
    small = plan.examples is not None
    found = images((DIGIT,), data_dir)
    x = (found.x[: plan.examples] / 255).astype(np.float32)
    chosen = (
        {"hidden": (20, 20), "latent": 5, "epochs": 2, "finetune_epochs": 2}
        if small
        else {"finetune_epochs": 9}
    )
    chosen = ImageSettings(**chosen)
    network = autoencoder(x.shape[1], chosen.hidden, chosen.latent, Bernoulli())
    shapes = [layer.shape for layer in network.layers.values()]
    multiply = products(shapes, min(chosen.batch, len(x)))

    def beside():
        with all_threads():
            return interleave({"products": multiply}, 3).median("products") / 1000

    clock = Clock(beside)
    task = Task("digits", x_train=x, x_test=x[:1], label=DIGIT)
    ImageNPBCL(chosen).learn(task, progress=Watch(False, clock.on_epoch))
    steps = -(-len(x) // chosen.batch)
    (masked, _, masked_ratio), (finetune, dense, finetune_ratio) = (
        clock.medians(phase) for phase in ("masked", "finetune")
    )
    share = settings.epochs / (settings.epochs + settings.finetune_epochs)
    return {
        "vae_masked_step_ms": 1000 * masked / steps,
        "vae_finetune_step_ms": 1000 * finetune / steps,
        "vae_products_ms": 1000 * dense,
        "vae_step_over_products": (share * masked_ratio + (1 - share) * finetune_ratio) / steps,
        "vae_masked_step_over_products": masked_ratio / steps,
        "vae_finetune_step_over_products": finetune_ratio / steps,
    }


def products(shapes, batch):
    """Return a function that computes a step's dense products of layers (D, K): forward, and the
    gradients at both.
    """
    factors = []
    for i, (fan_in, fan_out) in enumerate(shapes):
        x = np.ones((batch, fan_in), np.float32)
        w = np.full((fan_in, fan_out), 0.1, np.float32)
        dh = np.ones((batch, fan_out), np.float32)
        # the images need no gradient
        factors += [(x, w), (x.T, dh)] + [(dh, w.T)] * (i > 0)
    outputs = [np.empty((left.shape[0], right.shape[1]), np.float32) for left, right in factors]

    def multiply():
        for (left, right), out in zip(factors, outputs, strict=True):
            np.matmul(left, right, out=out)

    return multiply
