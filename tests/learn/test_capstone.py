"""Tutorial 9 on a student's own modules in place of every primitive."""

import runpy
from pathlib import Path

import matplotlib
import pytest

from ibpcl.classroom.assignments.assignment import PRIMITIVES
from ibpcl.learn.chapters import chapters
from ibpcl.learn.folder import Folder

TUTORIAL = Path(__file__).parents[2] / "tutorials" / "09_algorithm_1.py"
# The primitives that Algorithm 1 needs.
NEEDED = {
    "activations.softplus",
    "bernoulli.kl",
    "concrete.sample",
    "gaussian.kl",
    "gaussian.sample",
    "kumaraswamy.kl_to_beta",
    "kumaraswamy.sample",
    "likelihoods.categorical",
    "linear.apply",
    "local_linear.apply",
    "local_linear.masked_moments",
    "masked_linear.column_activity",
    "masked_weights.sample",
    "stick_breaking.log_probabilities",
    "stick_breaking.logit_probabilities",
    "sticks.divergence",
    "sticks.log_odds",
}


@pytest.mark.slow(reason="trains a whole tutorial")
def test_tutorial_9_gives_the_same_numbers_on_own_modules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    folder = Folder("my_ibpcl")
    for chapter in chapters():
        folder.start(chapter)
    for stem in {task.module for c in chapters() for task in c.assignment.tasks if task.module}:
        source = (PRIMITIVES / f"{stem}.py").read_text(encoding="utf-8")
        own = source.replace("from ibpcl.primitives import", "from my_ibpcl import")
        folder.file(stem).write_text(own, encoding="utf-8")
    names = runpy.run_path(str(TUTORIAL))
    assert set(names["mine"].names) >= NEEDED
    assert names["difference"] == 0
    assert names["differences"]["predictions"] < 1e-5
