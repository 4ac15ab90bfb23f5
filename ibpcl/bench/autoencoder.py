"""The speed of training an autoencoder, compared with its matrix products."""

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
    """Measures the time of each epoch and, after it, of a reference computation.

    Parameters
    ----------
    beside : callable
        Runs the reference computation and returns its seconds.
    clock : callable
        Returns seconds.

    Attributes
    ----------
    seconds : dict of str to list of (float, float)
        For each phase, the seconds of each epoch and of the reference.
    """

    def __init__(self, beside, clock=time.perf_counter):
        self.beside = beside
        self.clock = clock
        self.seconds = {}
        self.began = clock()

    def on_epoch(self, record, vector):
        """Record the time of the epoch that has just ended.

        Parameters
        ----------
        record : ibpcl.inference.loop.Record
            The epoch.
        vector : ndarray
            The parameters; not used.
        """
        epoch = self.clock() - self.began
        self.seconds.setdefault(record.phase, []).append((epoch, self.beside()))
        # Threads of BLAS, used by the reference, remain busy for a while.
        time.sleep(PAUSE)
        self.began = self.clock()

    def medians(self, phase):
        """Return median times of a phase, without its first epoch, which includes compilation.

        Parameters
        ----------
        phase : str
            Name of the phase.

        Returns
        -------
        epoch, reference, ratio : float
            Median seconds of an epoch and of the reference, and the median of their ratios.
        """
        epochs, beside = np.array(self.seconds[phase][1:]).T
        return float(np.median(epochs)), float(np.median(beside)), float(np.median(epochs / beside))


def measure(plan, data_dir, clock=time.perf_counter):
    """Measure one task: a step of each phase, compared with its matrix products.

    The settings are the defaults, with some epochs of fine-tuning. The products are those of the
    whole network, dense and at full width, by BLAS on all threads; they are measured after each
    epoch. The time of a training step is the mean over the phases, weighted by their default
    numbers of epochs.

    Parameters
    ----------
    plan : ibpcl.bench.measure.Plan
        Its ``examples`` limits the number of images; then the network is small too.
    data_dir : str or None
        Folder of the image files.
    clock : callable
        Returns seconds; of the processor, on a busy machine.

    Returns
    -------
    values : dict of str to float
        Milliseconds, and ratios.
    """
    settings = ImageSettings()
    small = plan.examples is not None
    pictures = images((DIGIT,), data_dir)
    x = (pictures.x[: plan.examples] / 255).astype(np.float32)
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
            return interleave({"products": multiply}, 3, clock).median("products") / 1000

    epochs = Clock(beside, clock)
    task = Task("digits", x_train=x, x_test=x[:1], label=DIGIT)
    ImageNPBCL(chosen).learn(task, progress=Watch(False, epochs.on_epoch))
    steps = -(-len(x) // chosen.batch)
    (masked, _, masked_ratio), (finetune, dense, finetune_ratio) = (
        epochs.medians(phase) for phase in ("masked", "finetune")
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
    """Return a function that computes the dense matrix products of a step.

    Parameters
    ----------
    shapes : sequence of (int, int)
        The shape (D, K) of each layer.
    batch : int
        Number of examples.

    Returns
    -------
    multiply : callable
        Computes the forward products, and those of both gradients.
    """
    factors = []
    for i, (fan_in, fan_out) in enumerate(shapes):
        x = np.ones((batch, fan_in), np.float32)
        w = np.full((fan_in, fan_out), 0.1, np.float32)
        dh = np.ones((batch, fan_out), np.float32)
        factors += [(x, w), (x.T, dh)]
        if i > 0:  # the images need no gradient
            factors.append((dh, w.T))
    outputs = [np.empty((left.shape[0], right.shape[1]), np.float32) for left, right in factors]

    def multiply():
        for (left, right), out in zip(factors, outputs, strict=True):
            np.matmul(left, right, out=out)

    return multiply
