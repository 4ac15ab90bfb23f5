"""``import ibpcl``: runs, comparisons and learners from Python, for one's own data and methods
too.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ibpcl
from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.methods.ewc import EWC, ImageEWC
from ibpcl.methods.naive import Naive

LABELS = np.arange(120) % 4
INPUTS = np.random.default_rng(0).random((120, 9), np.float32)
INPUTS[np.arange(120), LABELS] += 1
TINY = {"hidden": (6,), "epochs": 2, "batch": 20, "backend": "numpy"}


class Mine(EWC):
    """A ten-line subclass is a method."""

    def predict(self, x, task_id):
        p = super().predict(x, task_id) ** 2
        return p / p.sum(axis=1, keepdims=True)


class Means:
    """Class means: a learner that is made of nothing of ours."""

    def __init__(self, settings, seed, backend_name):
        self.means = []

    def learn(self, task, progress=None):
        self.means.append(
            np.stack([task.x_train[task.y_train == c].mean(axis=0) for c in range(task.classes)])
        )
        return []

    def predict(self, x, task_id):
        p = np.exp(-((x[:, None] - self.means[task_id]) ** 2).sum(axis=-1))
        return p / p.sum(axis=1, keepdims=True)

    def state(self):
        return {str(t): means for t, means in enumerate(self.means)}

    def load_state(self, state):
        self.means = [state[str(t)] for t in range(len(state))]


class Half:
    """Not a learner."""

    def predict(self, x, task_id):
        return x


@pytest.fixture
def stream():
    return ibpcl.tasks_from_arrays(INPUTS, LABELS, classes=[(0, 1), (2, 3)], test=0.2, seed=0)


def test_every_name_is_there_and_listed():
    for name in ibpcl.__all__:
        assert getattr(ibpcl, name) is not None and name in dir(ibpcl)
    assert ibpcl.primitives.gaussian.kl.__module__ == "ibpcl.primitives.gaussian"
    with pytest.raises(AttributeError, match="module 'ibpcl' has no attribute 'lern'"):
        _ = ibpcl.lern
    with pytest.raises(AttributeError, match="'gausian'"):
        _ = ibpcl.primitives.gausian


@pytest.mark.slow(reason="it measures three processes")
def test_importing_it_takes_a_moment():
    """A part of what NumPy takes in the same process, which is as fast or slow."""
    code = (
        "import time\nstart = time.process_time()\nimport ibpcl\nbetween = time.process_time()\n"
        "import numpy\nprint((between - start) / (time.process_time() - between))"
    )
    shares = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(shares) < 0.5


def test_a_learner_learns_a_stream(stream):
    learner = ibpcl.learner("naive", rate=0.05, seed=3, **TINY | {"epochs": 20})
    assert isinstance(learner, Naive) and learner.seed == 3
    results = list(ibpcl.learn(learner, stream))
    assert [result.name for result in results] == ["0/1", "2/3"]
    assert results[-1].accuracy.diagonal().min() > 0.9


@pytest.mark.parametrize("method", ["npbcl", Mine, Means], ids=str)
def test_own_data_make_a_run_like_any_other(stream, tmp_path, method):
    settings = (
        {}
        if method is Means
        else TINY
        if method is Mine
        else {**TINY, "finetune_epochs": 1, "samples": 1}
    )
    run = ibpcl.run(stream, tmp_path / "mine", method=method, **settings)
    assert {"config.toml", "result.json", "history.csv", "learner.npz", "accuracy_curves.png"} <= {
        path.name for path in run.folder.iterdir()
    }
    loaded = ibpcl.load_run(tmp_path / "mine")
    assert loaded.result == storage.read_sealed_json(run.folder / "result.json")
    assert loaded.config.data_sha256 == stream.sha256
    x = stream[1].x_test
    for learner in (loaded.learner, ibpcl.load(run.folder), ibpcl.load(run.folder / "learner.npz")):
        assert type(learner) is type(run.learner)
        np.testing.assert_array_equal(learner.predict(x, 1), run.learner.predict(x, 1))
    axes = loaded.figures()
    assert {f"{name}.png" for name in axes} == {path.name for path in run.folder.glob("*.png")}
    assert ibpcl.run(stream, tmp_path / "mine", method=method, **settings).was_finished


@pytest.mark.usefixtures("no_figures")
def test_own_regressions_make_a_run_and_images_say_what_learns_them(tmp_path):
    def line(name, slope):
        x = np.linspace(-1, 1, 60)[:, None]
        return ibpcl.Task(name, x, slope * x, x[::3] + 0.01, slope * (x[::3] + 0.01))

    run = ibpcl.run(
        [line("up", 1.0), line("down", -1.0)],
        tmp_path / "lines",
        **TINY,
        finetune_epochs=1,
        samples=1,
    )
    assert (
        run.result["measure"] == "R^2"
        and "coverage" in run.result
        and run.config.stream == "own-regression"
    )
    assert {"reliability", "accuracy_curves"} <= ibpcl.load_run(tmp_path / "lines").figures().keys()
    with pytest.raises(UserError, match=r"ewc .*regression"):
        ibpcl.run([line("up", 1.0)], method="ewc")
    images = ibpcl.Task("a", x_train=INPUTS / 2, x_test=INPUTS / 2)
    with pytest.raises(UserError, match=r"images without labels.* ibpcl\.learn"):
        ibpcl.run([images])
    with pytest.raises(UserError, match="kind, got images and regression"):
        ibpcl.run([images, line("up", 1.0)])


@pytest.mark.usefixtures("no_figures")
def test_an_interrupted_run_on_own_data_goes_on_and_on_no_other(stream, tmp_path, interrupted):
    whole = ibpcl.run(stream, method=Mine, **TINY)
    with interrupted(3), pytest.raises(KeyboardInterrupt):
        ibpcl.run(stream, tmp_path / "mine", method=Mine, **TINY)
    other = ibpcl.tasks_from_arrays(
        INPUTS + 1e-3, LABELS, classes=[(0, 1), (2, 3)], test=0.2, seed=0
    )
    with pytest.raises(UserError, match="holds a run with data_sha256 = "):
        ibpcl.run(other, tmp_path / "mine", method=Mine, **TINY)
    run = ibpcl.run(stream, tmp_path / "mine", method=Mine, **TINY)
    assert run.result["accuracy_matrix"][1] == whole.result["accuracy_matrix"][1]
    assert run.history == whole.history


@pytest.mark.usefixtures("no_figures")
def test_methods_are_compared_on_own_data(stream, tmp_path):
    table = ibpcl.compare(
        stream, methods=["naive", Mine, Means], seeds=2, out=tmp_path, epochs=2, hidden=(6,)
    )
    text = str(table)
    assert "own (mean ± sd over 2 seeds)" in text
    assert [line.split()[0] for line in text.splitlines() if "±" in line][1:] == [
        "naive",
        "Mine",
        "Means",
    ]
    again = ibpcl.compare(
        stream, methods=["naive", Mine, Means], seeds=2, out=tmp_path, epochs=2, hidden=(6,)
    )
    assert str(again) == text  # the same runs, with their times


@pytest.mark.usefixtures("no_figures")
def test_an_executor_does_the_runs_of_a_comparison(stream, tmp_path):
    values = []
    for executor in (None, ThreadPoolExecutor(1)):
        done = ibpcl.compare(
            stream,
            methods=["naive"],
            seeds=2,
            out=tmp_path / str(executor is None),
            epochs=2,
            hidden=(6,),
            executor=executor,
        )
        values.append(done.summary.tables[0].entries[0].values)
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (Half, "has no learn, state, load_state"),
        ("nowhere.module:Class", "nowhere.module cannot be imported: Module"),
        ("ibpcl.errors:Nothing", "ibpcl.errors has no class Nothing"),
        ("a:b:c", "package.module:Class, got 'a:b:c'"),
        (3, "a name or a class, got int"),
        ("ecw", "did you mean 'ewc'"),
        (
            type("Bare", (Means,), {"__init__": lambda self: None}),
            r"Bare\(settings, seed, backend_name\)",
        ),
        (type("Odd", (Means,), {"settings_type": int}), "settings_type must be a dataclass"),
    ],
    ids=str,
)
def test_what_is_no_method(stream, method, words):
    with pytest.raises(UserError, match=words) as refused:
        ibpcl.run(stream, method=method)
    assert "\n" not in str(refused.value)


def test_a_module_that_fails_is_named(stream, tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UserError, match="broken_module cannot be imported: ZeroDivisionError: division by zero"
    ):
        ibpcl.run(stream, method="broken_module:Mine")
    sys.path.remove(str(tmp_path))


@pytest.mark.usefixtures("no_figures")
def test_a_data_file_does_not_say_what_is_imported(stream, tmp_path):
    run = ibpcl.run(stream, tmp_path / "mine", method=Means)
    from ibpcl import checkpoints

    arrays, meta, _ = checkpoints.load(run.folder / "learner.npz")
    checkpoints.save(run.folder / "learner.npz", arrays, meta | {"class": "antigravity:Means"})
    with pytest.raises(UserError, match="antigravity:Means; import its module first"):
        ibpcl.load(run.folder)
    assert "antigravity" not in sys.modules
    assert isinstance(ibpcl.load(run.folder, method=Means), Means)
    with pytest.raises(UserError, match="does not fit ewc"):
        ibpcl.load(run.folder, method=EWC)


@pytest.mark.usefixtures("no_figures")
def test_what_is_no_run_and_no_learner(stream, tmp_path):
    (tmp_path / "learner.npz").write_text("nothing")
    for path, words in ((tmp_path, "is damaged"), (tmp_path / "x.npz", "no such file or folder")):
        with pytest.raises(UserError, match=f"load: .*{words}"):
            ibpcl.load(path)
    with pytest.raises(UserError, match="is not the folder of a run"):
        ibpcl.load_run(tmp_path)
    run = ibpcl.run(stream, tmp_path / "run", method=Means)
    damaged = (run.folder / "result.json").read_text().replace("0.", "1.", 1)
    (run.folder / "result.json").write_text(damaged)
    with pytest.raises(UserError, match=r"result\.json is damaged"):
        ibpcl.load_run(run.folder)
    (run.folder / "result.json").unlink()
    with pytest.raises(UserError, match="is not finished; resume it"):
        ibpcl.load_run(run.folder)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ibpcl.learner("ewc", epoch=3), "unknown key 'epoch'.*did you mean 'epochs'"),
        (lambda: ibpcl.learner("ewc", preset="papr"), "preset must be one of default"),
        (lambda: next(ibpcl.learn(3, [])), "learner must have a method learn"),
        (
            lambda: next(ibpcl.learn(ibpcl.learner("ewc"), 3)),
            "stream must be a sequence of Task, got int",
        ),
        (lambda: ibpcl.run(3), "a sequence of Task, got int"),
        (lambda: ibpcl.run([]), "at least one Task"),
        (lambda: ibpcl.run("split-glyps"), "did you mean 'split-glyphs'"),
        (lambda: ibpcl.compare("split-glyphs", "ewc"), "methods must be a list"),
    ],
)
def test_a_slip_is_named(call, words):
    with pytest.raises(UserError, match=words):
        call()


def test_a_learner_of_images_is_made_by_its_name_or_class_and_comes_back_from_its_file(tmp_path):
    x = np.random.default_rng(0).random((30, 16))
    one, other = (
        ibpcl.learner(method, hidden=(8, 8), latent=2, epochs=1) for method in ("vae_ewc", ImageEWC)
    )
    for learner in (one, other):
        learner.learn(ibpcl.Task("a", x_train=x, x_test=x[:3]), progress=False)
    one.save(tmp_path / "learner.npz")
    copy = ibpcl.load(tmp_path / "learner.npz")
    assert type(copy) is ImageEWC and copy.settings == one.settings == other.settings
    np.testing.assert_array_equal(copy.predict(x, 0), other.predict(x, 0))
