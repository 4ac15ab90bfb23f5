r"""Distances of approximate beliefs from the exact posterior of two weights, in nats.

``python -m ibpcl.exact.distances --seeds 3`` prints the table of ``docs/correlated-weights.md``.

.. math:: KL[q_t \| p(w | \mathcal D_{1:t})] = \mathbb E_{q_t}\bigl[\log q_t(w)
          - \log p(w, \mathcal D_{1:t})\bigr] + \log p(\mathcal D_{1:t})

The expectation is a Gauss-Hermite sum, and the evidence is that of a grid.  The KL divergence of
any Gaussian is at least that of the best one, so a distance that grows from task to task shows what
a method loses by its approximation.
"""

import argparse

import numpy as np

from ibpcl.exact import approximations, points, tiny
from ibpcl.exact.study import write
from ibpcl.experiments.tables import DIVERGENCE, Entry, Table, text
from ibpcl.noise import Key, generator
from ibpcl.numerics import sigmoid

# Beliefs with a density; EWC keeps a single point.
RULES = {name: rule for name, rule in approximations.RULES.items() if name != "EWC"}
NETWORK = tiny.TinyNetwork(1, prior_sigma=1.5)
TASKS = 3
EXAMPLES = 20
CELLS = 301


def stream(seed=0):
    """Return the tasks: labels of one logistic regression, at inputs that move to the right.

    Parameters
    ----------
    seed : int
        Seed of the inputs and the labels.

    Returns
    -------
    data : list of (ndarray, ndarray)
        Inputs (N, 1) and labels (N,) of each task.
    """
    data = []
    for t in range(TASKS):
        rng = generator(Key(seed, t, 0, 0))
        x = t + rng.standard_normal((EXAMPLES, 1))
        data.append((x, (rng.random(EXAMPLES) < sigmoid(x[:, 0] - 1)).astype(int)))
    return data


def distance(network, belief, data):
    """Return the KL divergence of a belief from the exact posterior.

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        A network with at most 3 weights.
    belief : ibpcl.exact.approximations.Belief
        A Gaussian with a density.
    data : sequence of (ndarray, ndarray)
        Inputs and targets of the tasks that were learned.

    Returns
    -------
    divergence : float
        Nats, >= 0 up to the error of the sums.

    Examples
    --------
    >>> belief = approximations.full_vcl(NETWORK, approximations.initial(NETWORK), *stream()[0])
    >>> 0 < distance(NETWORK, belief, stream()[:1]) < 0.05
    True
    """
    posterior = points.grid(network, -8, 8, CELLS)
    log_evidence = 0.0
    for x, y in data:
        posterior, log_ratio = points.update(network, posterior, x, y)
        log_evidence += log_ratio
    cloud = points.of_gaussian(belief.mean, belief.covariance)
    log_joint = tiny.log_joint(network, cloud.weights, data)[0]
    _, log_determinant = np.linalg.slogdet(2 * np.pi * np.e * belief.covariance)
    return float(log_evidence - np.exp(cloud.log_mass) @ log_joint - log_determinant / 2)


def measured(seeds):
    """Return the distance after each task, for every rule.

    Parameters
    ----------
    seeds : int
        Number of seeds, from 0.

    Returns
    -------
    table : ibpcl.experiments.tables.Table
        In nats, with a value per seed.
    """
    runs = [stream(seed) for seed in range(seeds)]
    entries = []
    for name, rule in RULES.items():
        beliefs = [approximations.carry(rule, NETWORK, data) for data in runs]
        for t in range(TASKS):
            values = tuple(
                distance(NETWORK, each[t], data[: t + 1])
                for each, data in zip(beliefs, runs, strict=True)
            )
            entries.append(Entry(name, f"task {t + 1}", values, DIVERGENCE))
    return Table("distance to the exact posterior", tuple(entries))


def main(arguments=None):
    """Print the table, and write it on request.

    Parameters
    ----------
    arguments : list of str, optional
        Words of the command line; those of this process if not given.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--out", help="folder for values.csv")
    options = parser.parse_args(arguments)
    table = measured(options.seeds)
    print(text(table))
    if options.out:
        write(options.out, [table])


if __name__ == "__main__":
    main()
