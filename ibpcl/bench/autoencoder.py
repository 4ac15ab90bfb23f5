"""What training an autoencoder costs beside its matrix products."""

import time

import numpy as np

from ibpcl.bench.problem import images
from ibpcl.bench.timing import interleave
from ibpcl.continual.task import ImageTask
from ibpcl.methods.vae_npbcl import VAENPBCL
from ibpcl.methods.vae_npbcl_settings import Settings
from ibpcl.models.autoencoder import Autoencoder

DIGIT = 0


class Clock:
    """A journal (:mod:`ibpcl.continual.journal`) that keeps nothing but the time at the end of every epoch."""

    resume = None

    def __init__(self):
        self.times = []

    def save(self, partial):
        """Note the time."""
        self.times.append((partial.snapshot.phase, time.perf_counter()))

    def epoch_seconds(self, phase):
        """Return the median time of an epoch of a phase, without its first one."""
        return float(np.median(np.diff([moment for name, moment in self.times if name == phase])))


def measure(plan, data_dir):
    """Measure one task at the default settings, some epochs of fine-tuning: a step of each phase, over its products.

    The products are all of the network's, dense and at full width, BLAS on all threads.  A step of training is the mean
    of the phases' steps, weighted by the default numbers of epochs.
    """
    settings, small = Settings(), plan.examples is not None
    found = images((DIGIT,), data_dir)
    x = (found.x[: plan.examples] / 255).astype(np.float32)
    chosen = Settings(hidden=(20, 20), latent=5, epochs=2, finetune_epochs=2) if small else Settings(finetune_epochs=5)
    clock = Clock()
    VAENPBCL(chosen).learn(ImageTask("digits", x, x[:1], label=DIGIT), progress=False, journal=clock)
    steps = -(-len(x) // chosen.batch)
    masked, finetune = (1000 * clock.epoch_seconds(phase) / steps for phase in ("masked", "finetune"))
    shapes = Autoencoder(x.shape[1], chosen.hidden, chosen.latent, chosen.hidden[::-1]).shapes.values()
    times = interleave({"products": products(shapes, min(chosen.batch, len(x)))}, plan.rounds)
    share = settings.epochs / (settings.epochs + settings.finetune_epochs)
    step, dense = share * masked + (1 - share) * finetune, times.median("products")
    return {"vae_masked_step_ms": masked, "vae_finetune_step_ms": finetune, "vae_products_ms": dense,
            "vae_step_over_products": step / dense, "vae_masked_step_over_products": masked / dense,
            "vae_finetune_step_over_products": finetune / dense}


def products(shapes, batch):
    """Return a function that computes a step's dense products of layers (D, K): forward, and the gradients at both."""
    factors = []
    for i, (fan_in, fan_out) in enumerate(shapes):
        x, w = np.ones((batch, fan_in), np.float32), np.full((fan_in, fan_out), 0.1, np.float32)
        dh = np.ones((batch, fan_out), np.float32)
        factors += [(x, w), (x.T, dh)] + [(dh, w.T)] * (i > 0)           # the images need no gradient
    outputs = [np.empty((left.shape[0], right.shape[1]), np.float32) for left, right in factors]

    def multiply():
        for (left, right), out in zip(factors, outputs, strict=True):
            np.matmul(left, right, out=out)
    return multiply
