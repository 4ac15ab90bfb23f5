"""Every name of ``import ibpcl``, used with its types; mypy reads this file, and nothing runs it.

An annotation that is missing or wrong makes ``mypy`` fail here: without one, a type is ``Any``.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import assert_type

import numpy as np

import ibpcl
from ibpcl.continual.learner import Learner
from ibpcl.continual.loop import Progress
from ibpcl.data.dataset import Dataset
from ibpcl.experiments.report import Report as Comparison
from ibpcl.experiments.run import Run
from ibpcl.verify import ForwardReport, ForwardVerdict, Report


def gradients(f: Callable[..., object], f_vjp: Callable[..., object]) -> None:
    """Check a gradient, a distribution, an identity and a value."""
    assert_type(ibpcl.check(f, f_vjp, (np.ones(3),), wrt=["x"], rtol=1e-9), Report)
    assert_type(ibpcl.check(f, f_vjp, {"x": 1.0}, wrt=[0], output=True), Report)
    assert_type(
        ibpcl.check_distribution(f, support=(0.0, np.inf), parameters={"rate": 1.0}), ForwardReport
    )
    assert_type(ibpcl.check_identity(f, f, [{"x": 0.3}]), ForwardVerdict)
    assert_type(ibpcl.check_value(1.4, np.ones(2), {"half": 0.5}), ForwardVerdict)


def learning(tasks: list[ibpcl.Task], folder: Path) -> None:
    """Learn, run, compare and load."""
    learner = ibpcl.learner("npbcl", seed=1, epochs=5)
    assert_type(learner, Learner)
    assert_type(ibpcl.learn(learner, tasks, progress=None), Iterator[Progress])
    assert_type(ibpcl.run("split-glyphs", folder, fresh=True), Run)
    assert_type(ibpcl.compare(tasks, ["npbcl", "vcl"], seeds=3), Comparison)
    assert_type(ibpcl.load_run(str(folder)), Run)
    assert_type(ibpcl.load(folder / "learner.npz"), Learner)
    assert_type(ibpcl.datasets.load("mnist", folder), Dataset)
    assert_type(ibpcl.__version__, str)


def mistakes(learner: Learner) -> None:
    """Arguments that mypy must refuse: an unused "ignore" is an error, too."""
    ibpcl.run(3)  # type: ignore[arg-type]
    ibpcl.load_run(learner)  # type: ignore[arg-type]
    ibpcl.check_value(1.0, 1.0, rtol="small")  # type: ignore[arg-type]
    ibpcl.check(abs, seed=None)  # type: ignore[arg-type]
