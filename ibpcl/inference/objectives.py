"""The three fits of the method: maximum likelihood, masked training, and training with a fixed mask."""

from typing import NamedTuple

import numpy as np

from ibpcl.adam import State
from ibpcl.inference.loop import fit
from ibpcl.inference.schedules import geometric
from ibpcl.models.supervised import Elbo


class Data(NamedTuple):
    """The examples of a fit: inputs (N, D), and labels (N,) or targets (N, C)."""

    x: np.ndarray
    y: np.ndarray


class Fit(NamedTuple):
    """How a fit goes: passes over the data, the largest minibatch, samples a step, and who does it under which key.

    ``resume``, ``on_epoch`` and ``rate_end`` as in :func:`ibpcl.inference.loop.fit`.
    """

    phase: str
    epochs: int
    batch: int
    samples: int
    key: object
    backend: object
    progress: bool | None = None
    resume: object = None
    on_epoch: object = None
    rate_end: float = 1.0


def block_rates(layout, **rate_of_block):
    """Return a learning rate for every element of a vector: 0 in blocks that are not named."""
    rates = np.zeros(layout.size, np.float32)
    for block, rate in rate_of_block.items():
        if block in layout.blocks:
            rates[layout.block(block)] = rate
    return rates


def maximize_likelihood(model, vector, prior, data, how, rate):
    """Fit the means alone, without masks and without noise (supplement B.1: "similar to VCL")."""
    masks = [np.ones(shape, bool) for shape in model.shapes]
    examples = len(data.x)

    def objective(vector, rows, step, steps):
        silent = tuple(np.zeros((1, len(rows), width), np.float32) for width in (*model.hidden, model.outputs))
        parts, cache = model.fixed_elbo(vector, prior, masks, data.x[rows], data.y[rows], silent, examples, how.backend)
        return parts, -model.fixed_elbo_vjp(Elbo(1.0, 0.0, 0.0, 0.0), cache) / examples, 0.0

    return _fit(vector, objective, block_rates(model.layout, mu=rate, noise=rate), data, how)


def train_fixed(model, vector, prior, masks, data, how, rate, kl_weight=1.0):
    """Maximize the ELBO over the weights that a fixed mask keeps (Sec. 4.5, "Selective Finetuning")."""
    examples = len(data.x)

    def objective(vector, rows, step, steps):
        noise = model.fixed_noise(how.key._replace(step=step), how.samples, len(rows), how.backend)
        parts, cache = model.fixed_elbo(vector, prior, masks, data.x[rows], data.y[rows], noise, examples, how.backend)
        return parts, -model.fixed_elbo_vjp(Elbo(1.0, -kl_weight, 0.0, 0.0), cache) / examples, 0.0

    return _fit(vector, objective, block_rates(model.layout, mu=rate, log_sigma=rate, noise=rate), data, how)


class Growing(NamedTuple):
    """How a network grows: every so many steps ``look(model, vector, step)`` gives (model, vector, prior), or None."""

    every: int
    look: object


def train_masked(model, vector, prior, data, how, rates, weights, tau, growing=None):
    """Maximize the ELBO over weights, masks and sticks while the temperature falls.

    Parameters
    ----------
    rates : dict of str to float
        Learning rate of each block of the layout.
    weights : Elbo
        Cotangent of the parts: (1, -1, -1, -1, -1) for the true ELBO.
    tau : (float, float)
        Temperature at the first and at the last step.
    growing : Growing, optional
        Looks every so many steps whether the network has to grow.

    Returns
    -------
    model : Supervised
        The network, larger than before if it grew.
    vector : ndarray, shape (P,)
        Its parameters.
    history : list of Record
        One row an epoch.
    """
    examples, now = len(data.x), {"model": model, "prior": prior}

    def objective(vector, rows, step, steps):
        temperature = geometric(*tau, step, steps)
        model = now["model"]
        noise = model.noise(how.key._replace(step=step), how.samples, len(rows), how.backend)
        parts, cache = model.elbo(vector, now["prior"], data.x[rows], data.y[rows], noise, temperature, examples,
                                  how.backend)
        return parts, -model.elbo_vjp(weights, cache) / examples, temperature

    def adapt(step, vector, state, element_rates):
        grown = growing.look(now["model"], vector, step) if (step + 1) % growing.every == 0 else None
        if grown is None:
            return vector, state, element_rates
        old, (now["model"], vector, now["prior"]) = now["model"], grown
        layout = now["model"].layout
        return vector, _grow_state(old.layout, state, layout), block_rates(layout, **rates)

    vector, history = _fit(vector, objective, block_rates(model.layout, **rates), data, how, adapt if growing else None)
    return now["model"], vector, history


def _grow_state(layout, state, larger):
    """Grow Adam's state with its network: what it knows of old parameters stays, new ones start without a history."""
    moments = []
    for moment in (state.first, state.second):
        grown = np.zeros(larger.size, moment.dtype)
        layout.transfer(moment, larger, grown)
        moments.append(grown)
    return State(*moments, state.step)


def _fit(vector, objective, rates, data, how, adapt=None):
    return fit(vector, objective, rates, examples=len(data.x), epochs=how.epochs, batch=how.batch, key=how.key,
               backend=how.backend, phase=how.phase, progress=how.progress, adapt=adapt, resume=how.resume,
               on_epoch=how.on_epoch, rate_end=how.rate_end)
