"""The definitions of the Fisher information on letters: the table of docs/baselines.md."""

import re
from pathlib import Path

import numpy as np
import pytest

import ibpcl
from ibpcl.continual import fisher
from ibpcl.experiments.config import configure
from ibpcl.experiments.streams import make_stream
from ibpcl.inference.backend import backend

# number of draws of labels, over which the table averages
DRAWS = 10
PAGE = Path(__file__).parents[2] / "docs" / "baselines.md"


def of_minibatches(network, vector, x, labels, size):
    """Return the mean of the squared gradients of minibatches' mean losses."""
    squares = []
    for start in range(0, len(x) - size + 1, size):
        some = slice(start, start + size)
        _, cache = network.log_likelihood(vector, x[some], labels[some], backend("numpy"))
        squares.append((network.log_likelihood_vjp(np.float32(1.0), cache) / size) ** 2)
    return np.mean(squares, axis=0)


@pytest.fixture(scope="module")
def measured():
    task = make_stream(configure("split-glyphs"))[0]
    learner = ibpcl.learner("naive", seed=0)
    learner.learn(task, progress=False)
    network, vector = learner.assemble(0)[:2]
    x = task.x_train
    y = task.y_train
    p = network.predict(vector, x, backend("numpy"))
    hidden = np.zeros(network.layout.size, bool)
    hidden[learner.context.places(network)] = True

    def compared(values):
        """Return the sum over that of the exact one, and the correlation with it, in the hidden
        layer.
        """
        return values[hidden].sum() / exact[hidden].sum(), np.corrcoef(
            values[hidden], exact[hidden]
        )[0, 1]

    exact = fisher.diagonal(network, vector, x, y, "exact", None).astype(float)
    found = {
        "exact": compared(exact),
        "empirical": compared(fisher.diagonal(network, vector, x, y, "empirical", None)),
        "true labels, squares of means of 20": compared(of_minibatches(network, vector, x, y, 20)),
    }
    draws = {}
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        labels = (p.cumsum(axis=1) < rng.random((len(x), 1))).sum(axis=1)
        one = fisher.diagonal(network, vector, x, labels, "empirical", None)
        draws.setdefault("sampled, one label per example", []).append(compared(one))
        for size in (20, 256):
            several = of_minibatches(network, vector, x, labels, size)
            draws.setdefault(f"sampled, squares of means of {size}", []).append(compared(several))
    return found | {name: tuple(np.mean(values, axis=0)) for name, values in draws.items()}


@pytest.mark.slow(reason="trainings for a table of the documentation")
def test_the_table_of_definitions_equals_a_measurement(measured):
    rows = re.findall(
        r"^\| ([a-z][^|]+) \| ([\d.]+) \| ([\d.]+) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert {name for name, *_ in rows} == set(measured)
    for name, total, correlation in rows:
        assert measured[name] == pytest.approx((float(total), float(correlation)), rel=0.05), (
            measured
        )
