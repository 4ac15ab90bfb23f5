"""The directive ``explore``: a chart with sliders, computed for all positions when the site is
built.

Without scripts, the chart stays at its first position.
"""

import itertools
import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive
from picture import Axes, keys, powers

from ibpcl.numerics import logit, sigmoid
from ibpcl.primitives import concrete, gaussian, kumaraswamy, stick_breaking


class Explorable(NamedTuple):
    """A chart with sliders.

    Attributes
    ----------
    title : str
        Title, also its description.
    axes : Axes
        Ranges, labels and ticks.
    sliders : dict of str to (list, int)
        Label of each slider to its values and the index of its first position.
    legend : dict
        CSS class to text, in the order of drawing.
    frame : callable
        ``frame(*values)`` returns the ``d`` attribute of each path, and a sentence.
    """

    title: str
    axes: Axes
    sliders: dict
    legend: dict
    frame: Callable


LOG_V = np.log(np.array([[0.2], [0.7]]))
B = np.array([1.5])
ERROR = Axes((-16, 0), (-17, 2), "step h", "relative error", powers(-16, 0, 4), powers(-16, 0, 4))


def power_of_ten(value):
    """Return a number with one digit in powers of ten.

    >>> power_of_ten(3.1e-07), power_of_ten(1e-6), power_of_ten(0.25)
    ('3 · 10⁻⁷', '10⁻⁶', '0.2')
    """
    if value >= 0.01:
        return f"{value:.1g}"
    digit, exponent = f"{value:.0e}".split("e")
    power = powers(int(exponent), int(exponent))[int(exponent)]
    return power if digit == "1" else f"{digit} · {power}"


def slider_text(value):
    """Return the text of a slider's value."""
    return power_of_ten(value) if isinstance(value, float) and 0 < value < 0.01 else f"{value:g}"


def _density(a):
    return kumaraswamy.log_density(LOG_V, np.array([a]), B)[0].sum()


def error_against_step(power, planted):
    """Return the errors of three numerical derivatives, relative to a gradient with a planted
    relative error.
    """
    a = 2.0
    h = 10.0**power
    gradient = kumaraswamy.log_density_vjp(
        np.ones((2, 1)), kumaraswamy.log_density(LOG_V, np.array([a]), B)[1]
    )[1]
    kinds = (
        lambda h: (_density(a + h) - _density(a)) / h,
        lambda h: (_density(a + h) - _density(a - h)) / (2 * h),
        lambda h: _density(a + 1j * h).imag / h,
    )

    def error(kind, h):
        return max(abs(kind(h) / (gradient.item() * (1 + planted)) - 1), 1e-17)

    powers_of_ten = np.arange(-16, 0.1, 0.25)
    paths = [
        ERROR.line(powers_of_ten, np.log10([error(kind, 10.0**p) for p in powers_of_ten]))
        for kind in kinds
    ]
    forward, central, complex_step = (power_of_ten(error(kind, h)) for kind in kinds)
    return (
        [*paths, ERROR.line([power, power], [-17, 2])],
        f"At h = {power_of_ten(h)} the relative error is {forward} for the forward difference, "
        f"{central} for the central difference and {complex_step} for the complex step."
        + (f" The gradient itself is off by {power_of_ten(planted)}." if planted else ""),
    )


MASK = Axes(
    (0, 1),
    (0, 6),
    "mask z",
    "density of z",
    {0: "0", 0.5: "0.5", 1: "1"},
    {0: "0", 2: "2", 4: "4", 6: "6"},
)


def temperature(tau, theta):
    """Return the density of a binary concrete mask at a temperature."""
    z = np.concatenate([np.geomspace(1e-4, 0.05, 25), np.linspace(0.06, 0.5, 30)])
    z = np.concatenate([z, 1 - z[-2::-1]])
    log_odds = logit(theta)
    density = np.exp(concrete.log_density(z, log_odds, tau)[0])
    near = sigmoid(tau * logit(0.05) - log_odds) + sigmoid(tau * logit(0.05) + log_odds)
    return (
        [MASK.line(z, density)],
        f"At temperature {tau:g}, {100 * near:.0f} % of the masks are within 0.05 of 0 or 1. "
        f"At every temperature, {100 * theta:.0f} % are above one half.",
    )


UNITS = 40
INPUTS = 16
STICKS = Axes(
    (0, UNITS),
    (-1.25, 1),
    "column k, one for each unit",
    "masks  |  probability",
    {0: "0", 10: "10", 20: "20", 30: "30", 40: "40"},
    {0: "0", 0.5: "0.5", 1: "1"},
)


def concentration(alpha, draw):
    """Return probabilities and masks drawn from the prior, with the same noise for every alpha."""
    rng = np.random.default_rng(draw)
    masks, log_pi = stick_breaking.sample_prior(
        rng.random((1, UNITS)), rng.random((1, INPUTS, UNITS)), alpha
    )
    rows, columns = np.nonzero(masks[0])
    used = np.unique(columns).size
    k = np.arange(UNITS)
    high = 1.2 / INPUTS
    expected = stick_breaking.expected_weights(alpha, UNITS) * INPUTS
    return (
        [
            STICKS.boxes(k + 0.1, 0 * k, 0.8, np.exp(log_pi[0])),
            STICKS.boxes(columns + 0.1, -0.05 - high * (rows + 0.9), 0.8, 0.8 * high),
        ],
        f"With alpha = {alpha:g}, {len(rows)} of {UNITS * INPUTS} masks are on ({expected:.0f} on "
        f"average), in {used} of {UNITS} columns.",
    )


WEIGHT = Axes(
    (-3, 3),
    (0, 3),
    "weight v",
    "density",
    {k: f"{k}" for k in range(-3, 4)},
    {0: "0", 1: "1", 2: "2", 3: "3"},
)


def posterior(sigma, examples):
    """Return the prior N(0, sigma^2) of a weight, and its posterior after observations v + N(0, 1)
    with mean 1.
    """
    v = np.linspace(-3, 3, 181)
    precision = 1 / sigma**2 + examples
    mean = examples / precision
    width = precision**-0.5
    paths = [
        WEIGHT.line(v, np.exp(gaussian.log_density(v, m, np.log(s))[0]))
        for m, s in ((0.0, sigma), (mean, width))
    ]
    divergence, _ = gaussian.kl(*map(np.atleast_1d, (mean, np.log(width), 0.0, np.log(sigma))))
    return paths, (
        f"With the prior N(0, {sigma:g}²) and {examples} observations around 1, the posterior has "
        f"mean {mean:.2f} and standard deviation {width:.2f}. Its KL divergence from the prior is "
        f"{float(divergence):.2f} nats."
    )


EXPLORABLES = {
    "error-against-step": Explorable(
        "Error of a numerical derivative against its step",
        ERROR,
        {
            "Step h, as a power of ten": (list(range(-16, 1)), 10),
            "Relative error planted in the gradient": ([0, 1e-10, 1e-6, 1e-2], 0),
        },
        {
            "line-0": "forward difference",
            "line-1": "central difference",
            "line-2": "complex step",
            "marker": "the chosen step",
        },
        error_against_step,
    ),
    "temperature": Explorable(
        "Density of a concrete mask at a temperature",
        MASK,
        {
            "Temperature tau": ([0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10], 2),
            "Probability theta that the mask is on": (
                [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
                4,
            ),
        },
        {"line-0": "density of the relaxed mask z"},
        temperature,
    ),
    "alpha": Explorable(
        "Sticks and masks drawn from the Indian buffet process",
        STICKS,
        {
            "Concentration alpha": ([0.5, 1, 2, 3, 5, 8, 12, 20, 30, 50], 4),
            "Draw": ([1, 2, 3, 4, 5, 6], 0),
        },
        {
            "bars": "probability of column k",
            "cells": "masks that are on, a row for each of 16 inputs",
        },
        concentration,
    ),
    "posterior": Explorable(
        "Prior and posterior of one weight",
        WEIGHT,
        {
            "Standard deviation of the prior": ([0.2, 0.3, 0.5, 0.8, 1, 1.5, 2, 3], 4),
            "Observations": ([0, 1, 2, 3, 5, 8, 12, 20, 30], 3),
        },
        {"line-3": "prior", "line-0": "posterior"},
        posterior,
    ),
}


def figure(name):
    """Return the HTML of a chart with sliders: the chart, its legend, its sentence, and all frames
    as data.
    """
    title, axes, sliders, legend, frame = EXPLORABLES[name]
    values = [values for values, _ in sliders.values()]
    frames = [frame(*chosen) for chosen in itertools.product(*values)]
    start = np.ravel_multi_index([at for _, at in sliders.values()], [len(each) for each in values])
    paths, words = frames[start]
    data = {
        "sliders": [
            {"label": label, "values": [slider_text(value) for value in each], "at": at}
            for label, (each, at) in sliders.items()
        ],
        "frames": [{"paths": each, "words": said} for each, said in frames],
    }
    return (
        f'<figure class="chart explore" id="explore-{name}">'
        f"{axes.svg(list(zip(legend, paths, strict=True)), f'{title}.')}<figcaption>"
        f'<p class="words" aria-live="polite">{escape(words)}</p>{keys(legend)}'
        f"<noscript><p>Scripts are off, so the sliders are missing.</p></noscript></figcaption>"
        f'<script type="application/json">{json.dumps(data)}</script></figure>'
    )


class Explore(Directive):
    """``{explore} name``."""

    required_arguments = 1

    def run(self):
        """Return the chart as HTML."""
        self.state.document.settings.env.note_dependency(str(Path(__file__).resolve()))
        return [nodes.raw("", figure(self.arguments[0]), format="html")]


def setup(app):
    """Add the directive."""
    app.add_directive("explore", Explore)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
