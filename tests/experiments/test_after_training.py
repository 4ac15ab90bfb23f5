"""Nothing that happens after the training can lose it: not a figure, not the report, not the user's
Matplotlib.
"""

import os
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from quick import quick

from ibpcl.evaluation import figures
from ibpcl.experiments import page, run_figures
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.compare import compare
from ibpcl.experiments.config import configure
from ibpcl.experiments.door import load_run
from ibpcl.experiments.run import run

TINY = {
    "method": "naive",
    "hidden": (4,),
    "epochs": 1,
    "tasks": 2,
    "train_limit": 40,
    "test_limit": 20,
    "backend": "numpy",
}
RESULTS = {"result.json", "learner.npz", "history.csv"}


def broken(*arguments, **options):
    raise RuntimeError("no LaTeX here")


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow(reason="a training in a process")
def test_a_run_survives_the_backend_and_the_style_of_a_notebook(tmp_path):
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nfigure.facecolor: red\n")
    settings = [
        word
        for key, value in TINY.items()
        if key != "method"
        for word in ("--set", f"{key}={value}")
    ]
    environment = {
        **os.environ,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": str(tmp_path),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ibpcl",
            "run",
            "--method",
            "naive",
            "--quiet",
            "--out",
            "r",
            *settings,
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert names(tmp_path / "r") >= RESULTS | {"accuracy_matrix.png", "report.html"}


def test_figures_have_their_own_style(tmp_path):
    """Equal figures are equal files, whatever the settings of the process, which stay as they
    are.
    """
    R = np.array([[0.9, np.nan], [0.8, 0.7]])
    figures.save(figures.accuracy_curves(R), tmp_path / "plain.png")
    with matplotlib.rc_context(
        {"lines.linewidth": 9, "font.size": 30, "savefig.bbox": "tight", "text.usetex": True}
    ):
        figures.save(figures.accuracy_curves(R), tmp_path / "styled.png")
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "styled.png").read_bytes()


@pytest.mark.parametrize(
    "part",
    quick(["draw", "page"], ["draw", "save", "page"], "a training each; figures fail in one place"),
)
@pytest.mark.usefixtures("drawn")
def test_what_fails_after_the_training_is_a_warning(part, tmp_path, monkeypatch):
    place, name = {
        "draw": (run_figures, "figures_of"),
        "save": (figures, "save"),
        "page": (page, "of_run"),
    }[part]
    with (
        monkeypatch.context() as patch,
        pytest.warns(UserWarning, match="no LaTeX here"),
    ):
        patch.setattr(place, name, broken)
        done = run(configure("split-mnist", **TINY), tmp_path / "r")
    assert names(tmp_path / "r") >= RESULTS
    assert load_run(tmp_path / "r").result["average_accuracy"] == done.result["average_accuracy"]
    again = run(configure("split-mnist", **TINY), tmp_path / "r")
    assert again.was_finished, "it was trained again"
    assert names(tmp_path / "r") >= {"accuracy_matrix.png", "history.png", "report.html"}


def test_the_result_is_there_before_the_figures(tmp_path, drawn, monkeypatch):
    def interrupt(done):
        assert names(done.folder) >= RESULTS
        raise KeyboardInterrupt

    monkeypatch.setattr(run_figures, "draw", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(configure("split-mnist", **TINY), tmp_path / "r")
    assert load_run(tmp_path / "r").result["tasks"]


@pytest.mark.usefixtures("no_figures")
def test_a_table_survives_its_figures(tmp_path, drawn, monkeypatch):
    monkeypatch.setattr(figures, "save", broken)
    keys = {
        key: str(value)
        for key, value in TINY.items()
        if key in ("tasks", "train_limit", "test_limit", "backend")
    }
    choice = Choice(1, assignments={**keys, "naive.hidden": "4", "naive.epochs": "1"}, out=tmp_path)
    with pytest.warns(UserWarning, match="no LaTeX here"):
        compare("split-mnist", ["naive"], choice)
    assert names(tmp_path / "split-mnist") >= {
        "table.json",
        "table.md",
        "values.csv",
        "report.html",
    }


@pytest.mark.parametrize(
    "suffix",
    ["svg", pytest.param("pdf", marks=pytest.mark.slow(reason="drawn by the same code"))],
)
def test_figures_come_as_vectors_too(tmp_path, suffix):
    done = run(configure("split-glyphs", **TINY), tmp_path / "run")
    run_figures.draw(done, suffix)
    png = {path.stem for path in done.folder.glob("*.png")}
    assert png == {path.stem for path in done.folder.glob(f"*.{suffix}")} != set()
