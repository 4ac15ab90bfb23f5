r"""A laboratory of mask gradients: bias and variance of every estimator, where the truth is known.

``python -m ibpcl.exact.mask_study --seeds 5`` prints the tables of ``docs/mask-gradients.md``, and
``--out DIR`` writes them, and the figures, to a folder.

There are two losses of masks, and the exact gradient of their means is a sum over all masks:

- *one mask*: :math:`f(z) = (z - 0.45)^2`, the example of Tucker et al. (2017).  Mean and variance
  of every estimator are integrals over its noise, computed by Gauss's rule;
- *twelve masks*: the negative log likelihood of 20 labels, under a network with two tanh units and
  a mask on each of its 12 weights.  The exact gradient is a sum over 4,096 networks, and the
  estimators are sampled.

Bias and standard deviation are norms over all masks, divided by the norm of the exact gradient: a
bias of 0.1 says that ten percent of the gradient is wrong, however many samples are drawn.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl.evaluation.figures import save
from ibpcl.evaluation.figures.canvas import DASHES, LINE, MARKERS, PALETTE, new_axes
from ibpcl.exact import mask_gradients as lab
from ibpcl.exact import study, tiny
from ibpcl.experiments.tables import FRACTION, Entry, Table, text
from ibpcl.inference.loop import progress_bar
from ibpcl.noise import Key, generator
from ibpcl.numerics import logit
from ibpcl.plotting import styled

NETWORK = tiny.TinyNetwork(2, hidden=2, outputs=2, likelihood="softmax")
EXAMPLES = 20
WEIGHT_SIGMA = 2.0  # of the weights of the network: large enough for masks to matter
SPREAD = 0.5  # standard deviation of the log-odds around their common value
TARGET = 0.45
TAUS = (0.1, 0.25, 0.5, 1.0, 2.0)
THETAS = (0.05, 0.2, 0.5, 0.8, 0.95)
TAU = 0.5  # where the probability is varied; the learner's last temperature
THETA = 0.5  # where the temperature is varied
DRAWS = 40_000
# Parts of the quadrature for one mask. Six give both smooth estimators to six digits.
PARTS = 6
ORDER = 24
LOSS, NOISE = range(2)  # streams of the noise


def one_mask():
    r"""Return the loss of one mask, :math:`(z - 0.45)^2`.

    Returns
    -------
    loss : ibpcl.exact.mask_gradients.Loss
        With its slope.
    """
    return lab.Loss(lambda b: (b[:, 0] - TARGET) ** 2, lambda b: 2 * (b - TARGET))


def twelve_masks(seed=0):
    """Return the loss of a network with 12 masked weights, and deviations of their log-odds.

    Parameters
    ----------
    seed : int
        Seed of the examples, the labels, the weights and the log-odds.

    Returns
    -------
    loss : ibpcl.exact.mask_gradients.Loss
        Negative log likelihood of the labels in nats, with its slope.
    deviations : ndarray, shape (12,)
        To be added to the common log-odds.
    """
    rng = generator(Key(seed, 0, 0, LOSS))
    x = rng.standard_normal((EXAMPLES, NETWORK.inputs))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    w = WEIGHT_SIGMA * rng.standard_normal(NETWORK.size)
    return lab.of_network(NETWORK, w, x, y), SPREAD * rng.standard_normal(NETWORK.size)


class Estimator(NamedTuple):
    """An estimator of the laboratory.

    Attributes
    ----------
    estimate : callable
        ``estimate(loss, logit_theta, noise, tau, mean)`` returns estimates (S, n); ``mean`` is the
        mean of the loss, for a baseline.
    noise : int
        Numbers of noise per mask.
    relaxes : bool
        Whether it depends on the temperature.
    evaluations : int
        Evaluations of the loss per draw.
    unbiased : bool
        Whether its mean is the exact gradient.
    """

    estimate: object
    noise: int = 1
    relaxes: bool = False
    evaluations: int = 1
    unbiased: bool = True


ESTIMATORS = {
    "concrete": Estimator(
        lambda loss, phi, noise, tau, mean: lab.relaxed(loss, phi, noise, tau),
        relaxes=True,
        unbiased=False,
    ),
    "straight-through": Estimator(
        lambda loss, phi, noise, tau, mean: lab.straight_through(loss, phi, noise), unbiased=False
    ),
    "score function": Estimator(
        lambda loss, phi, noise, tau, mean: lab.reinforce(loss, phi, noise)
    ),
    "score function, baseline": Estimator(
        lambda loss, phi, noise, tau, mean: lab.reinforce(loss, phi, noise, mean)
    ),
    "ARM": Estimator(lambda loss, phi, noise, tau, mean: lab.arm(loss, phi, noise), evaluations=2),
    "DisARM": Estimator(
        lambda loss, phi, noise, tau, mean: lab.disarm(loss, phi, noise), evaluations=2
    ),
    "REBAR": Estimator(
        lambda loss, phi, noise, tau, mean: lab.rebar(loss, phi, noise, tau),
        noise=2,
        relaxes=True,
        evaluations=3,
    ),
}


class Quality(NamedTuple):
    """Bias and deviation of an estimator, relative to the norm of the exact gradient.

    Attributes
    ----------
    bias : float
        Norm of the difference between its mean and the exact gradient.
    deviation : float
        Standard deviation of one draw: the square root of the sum of all variances.
    error : float
        Standard error of ``bias`` from sampling; 0 for a quadrature.
    """

    bias: float
    deviation: float
    error: float = 0.0


def by_quadrature(name, theta=THETA, tau=TAU):
    """Integrate an estimator for one mask.

    Parameters
    ----------
    name : str
        A key of :data:`ESTIMATORS`.
    theta : float
        Probability of the mask, in (0, 1).
    tau : float
        Temperature, > 0.

    Returns
    -------
    quality : Quality
        Without a sampling error.

    Examples
    --------
    >>> found = by_quadrature("DisARM", theta=0.5)
    >>> abs(round(found.bias, 12)), abs(round(found.deviation, 12))
    (0.0, 0.0)
    """
    estimator = ESTIMATORS[name]
    loss = one_mask()
    phi = np.array([logit(theta)])
    edges = lab.cells(phi, PARTS) + [np.linspace(0, 1, 9)] * (estimator.noise - 1)
    mean, exact = lab.exact(loss, phi)
    found = lab.moments(lambda u: estimator.estimate(loss, phi, u, tau, mean), edges, ORDER)
    return _quality(found, exact)


def by_sampling(name, seed=0, theta=THETA, tau=TAU, draws=DRAWS):
    """Sample an estimator for twelve masks.

    Parameters
    ----------
    name : str
        A key of :data:`ESTIMATORS`.
    seed : int
        Seed of the network and of the noise.
    theta : float
        Probability of a mask whose log-odds are not moved, in (0, 1).
    tau : float
        Temperature, > 0.
    draws : int
        Number of draws, at least 2.

    Returns
    -------
    quality : Quality
        With its sampling error.
    """
    estimator = ESTIMATORS[name]
    loss, deviations = twelve_masks(seed)
    phi = logit(theta) + deviations
    rng = generator(Key(seed, 0, 0, NOISE))
    mean, exact = lab.exact(loss, phi)
    g = estimator.estimate(loss, phi, rng.random((draws, estimator.noise * len(phi))), tau, mean)
    found = lab.Moments(g.mean(axis=0), g.var(axis=0, ddof=1))
    return _quality(found, exact, draws)


def _quality(found, exact, draws=None):
    size = np.linalg.norm(exact)
    deviation = np.sqrt(found.variance.sum())
    error = 0.0 if draws is None else deviation / np.sqrt(draws)
    return Quality(
        float(np.linalg.norm(found.mean - exact) / size),
        float(deviation / size),
        float(error / size),
    )


def settings_of(name):
    """Return the temperatures at which an estimator is measured, with the ends of its row's name.

    Parameters
    ----------
    name : str
        A key of :data:`ESTIMATORS`.

    Returns
    -------
    settings : list of (str, float)
        One for an estimator without a temperature.
    """
    if not ESTIMATORS[name].relaxes:
        return [("", TAU)]
    return [(f", temperature {tau:g}", tau) for tau in TAUS]


def measured(seeds, draws=DRAWS, progress=None):
    """Return the tables of the laboratory.

    Parameters
    ----------
    seeds : int
        Number of networks, from seed 0.
    draws : int
        Number of draws for each.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.

    Returns
    -------
    tables : list of ibpcl.experiments.tables.Table
        One mask, as a function of the temperature and of the probability; then the same for twelve
        masks, with a value per seed.
    """
    rows = [(name + end, name, tau) for name in ESTIMATORS for end, tau in settings_of(name)]
    tables = []
    total = seeds * (len(rows) + len(ESTIMATORS) * len(THETAS))
    with progress_bar(total, "mask gradients", progress) as bar:

        def sampled(name, theta, tau):
            found = []
            for seed in range(seeds):
                found.append(by_sampling(name, seed, theta, tau, draws))
                bar.update()
            return found

        def integrated(name, theta, tau):
            return [by_quadrature(name, theta, tau)]

        for title, measure in (("one mask", integrated), ("twelve masks", sampled)):
            columns = Quality._fields[: 2 if measure is integrated else 3]
            by_temperature = []
            by_probability = {"bias": [], "deviation": []}
            for row, name, tau in rows:
                found = measure(name, THETA, tau)
                for column in columns:
                    by_temperature.append(_entry(row, column, found, column))
            for name in ESTIMATORS:
                for theta in THETAS:
                    found = measure(name, theta, TAU)
                    for column, entries in by_probability.items():
                        entries.append(_entry(name, f"{theta:g}", found, column))
            tables.append(Table(f"{title}, by temperature", tuple(by_temperature)))
            tables += [
                Table(f"{title}, {column} by probability", tuple(entries))
                for column, entries in by_probability.items()
            ]
    return tables


def _entry(row, column, found, field):
    """Return the cell of a table with one field of several qualities, one per seed."""
    return Entry(row, column, tuple(getattr(one, field) for one in found), FRACTION)


@styled
def draw(tables, title):
    """Draw bias and standard deviation against the temperature and the probability.

    Parameters
    ----------
    tables : list of ibpcl.experiments.tables.Table
        From :func:`measured`.
    title : {"one mask", "twelve masks"}
        Which loss.

    Returns
    -------
    axes : ndarray of matplotlib.axes.Axes, shape (2, 2)
        Means over seeds.  A bias of an unbiased estimator is not drawn: it is the error of the
        sampling.
    """
    panels = new_axes(170, 110, 2, 2)
    found = {
        (table.title, entry.row, entry.column): entry.mean
        for table in tables
        for entry in table.entries
    }
    for (name, estimator), marker, colour in zip(ESTIMATORS.items(), MARKERS, PALETTE, strict=True):
        look = {"marker": marker, "color": colour, "label": name, **LINE}
        for i, column in enumerate(("bias", "deviation")):
            if column == "bias" and estimator.unbiased:
                continue
            ends = [end for end, _ in settings_of(name)]
            values = [found[f"{title}, by temperature", name + end, column] for end in ends]
            if estimator.relaxes:
                panels[0, i].loglog(TAUS, values, **look)
            else:
                panels[0, i].loglog(TAUS, values * len(TAUS), DASHES[1], **look | {"marker": ""})
            values = [
                found[f"{title}, {column} by probability", name, f"{theta:g}"] for theta in THETAS
            ]
            panels[1, i].semilogy(THETAS, values, **look)
    for i, column in enumerate(("bias", "standard deviation")):
        panels[0, i].set(xlabel="temperature", title=f"{column} / gradient")
        panels[1, i].set(xlabel="probability of a mask")
    handles, labels = panels[0, 1].get_legend_handles_labels()
    panels[0, 0].figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return panels


def main(arguments=None):
    """Print the tables, and write tables and figures on request.

    Parameters
    ----------
    arguments : list of str, optional
        Words of the command line; those of this process if not given.
    """
    parser = argparse.ArgumentParser(
        prog="python -m ibpcl.exact.mask_study", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--seeds", type=int, default=5, help="number of networks")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws for each estimate")
    parser.add_argument("--out", help="folder for values.csv and the figures")
    options = parser.parse_args(arguments)
    if options.seeds < 1 or options.draws < 2:
        parser.error("--seeds must be at least 1, and --draws at least 2")
    results = measured(options.seeds, options.draws)
    print("\n\n".join(map(text, results)))
    if options.out:
        study.write(options.out, results)
        for title in ("one mask", "twelve masks"):
            path = Path(options.out, f"mask-gradients-{title.replace(' ', '-')}.png")
            save(draw(results, title), path)


if __name__ == "__main__":
    main()
