"""Numbers of models and methods from an earlier version, for comparison.

``python tests/oracles/test_oracles.py`` writes them again; use it only for intended changes.
"""

import itertools
import json
import time
from pathlib import Path

import numpy as np
import oracle_methods
import oracle_models
import pytest
from fingerprints import fingerprint, gap
from quick import quick

from ibpcl.inference.backend import backend
from ibpcl.methods import ABOUT, GENERATIVE

FILE = Path(__file__).with_name("oracles.json")
# Of models in float64 and float32; of runs, whose steps multiply what float32 rounds, otherwise on
# another processor.
TOLERANCES = {"numpy": 1e-10, "numba": 1e-5, "run": 1e-4}
DTYPES = {"numpy": np.float64, "numba": np.float32}


def fingerprints(found):
    return {name: fingerprint(name, value) for name, value in found.items()}


def model(name, who):
    return fingerprints(oracle_models.CASES[name](backend(who), DTYPES[who]))


def run(name, who):
    return fingerprints(oracle_methods.cases()[name](who))


def stored(group):
    return json.loads(FILE.read_text())[group]


def compare(found, kept, tolerance):
    """Compare fingerprints; parts of a history are all in nats and have one scale, that of the log
    likelihood.
    """
    assert kept.keys() <= found.keys()
    # what it did not have
    wrong = {name: found[name] for name in found.keys() - kept.keys() if found[name][0] != 0}
    for name in kept:
        task, _, part = name.partition(".")
        scale = (
            kept[f"{task}.log_likelihood"][0]
            if part and part != "tau" and task.startswith("history")
            else None
        )
        difference = gap(found[name], kept[name], scale)
        if not difference <= tolerance:
            wrong[name] = difference
    assert not wrong, f"relative differences above {tolerance:g}: {wrong}"


@pytest.mark.parametrize("who", ["numpy", "numba"])
@pytest.mark.parametrize("name", oracle_models.CASES)
def test_a_model_gives_the_numbers_that_it_gave(name, who):
    compare(model(name, who), stored("models")[f"{name}/{who}"], TOLERANCES[who])


@pytest.mark.parametrize(
    ("name", "who"),
    quick(
        [f"{name}-numpy" for name in (*ABOUT, *GENERATIVE)],
        itertools.product(oracle_methods.cases(), ["numpy", "numba"]),
        "each method is there; the models above have the compiled functions",
        name="-".join,
    ),
)
def test_a_method_learns_what_it_learned(name, who):
    compare(run(name, who), stored("methods")[f"{name}/{who}"], TOLERANCES["run"])


if __name__ == "__main__":

    def timed(f, name, who):
        start = time.perf_counter()
        found = f(name, who)
        print(f"{time.perf_counter() - start:6.2f} s  {name}/{who}")
        return {key: [float(f"{value:.15g}") for value in values] for key, values in found.items()}

    whole = {
        group: {f"{name}/{who}": timed(f, name, who) for name in names for who in DTYPES}
        for group, f, names in (
            ("models", model, oracle_models.CASES),
            ("methods", run, oracle_methods.cases()),
        )
    }
    FILE.write_text(json.dumps(whole, separators=(",", ":")).replace('},"', '},\n"') + "\n")
