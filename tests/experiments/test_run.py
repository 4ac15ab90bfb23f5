import sys
from dataclasses import dataclass

import numpy as np
import pytest

from ibpcl import storage
from ibpcl.continual.learner import Saved
from ibpcl.continual.task import Task
from ibpcl.data import registry
from ibpcl.data.dataset import DataError, Dataset
from ibpcl.errors import NonFiniteError, UserError
from ibpcl.evaluation import metrics
from ibpcl.evaluation.figures.training import weighted
from ibpcl.experiments import program
from ibpcl.experiments.config import configure, keys
from ibpcl.experiments.run import make_stream, run, survey
from ibpcl.inference.backend import backend
from ibpcl.methods import METHODS
from ibpcl.methods.npbcl import NPBCL
from ibpcl.options import option

TINY = {
    "hidden": (6,),
    "samples": 1,
    "prediction_samples": 2,
    "epochs": 2,
    "finetune_epochs": 1,
    "batch": 20,
    "backend": "numpy",
}
FILES = {
    "config.toml",
    ".lock",
    "result.json",
    "history.csv",
    "learner.npz",
    "report.html",
    "accuracy_curves.png",
    "accuracy_matrix.png",
    "masks.png",
    "receptive_fields.png",
    "sharing.png",
    "history.png",
}
TIMES = ("seconds", "peak_memory_mb", "seal")


def load_small(name, data_dir=None, seed=0):
    """Ten classes of 4 x 4 images, each with a bright pixel of its own; no files are read."""
    rng = np.random.default_rng(seed)
    parts = []
    for count in (200, 100):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = rng.integers(0, 60, (count, 16), dtype=np.uint8)
        images[np.arange(count), labels] = 255
        parts += [images.reshape(count, 4, 4), labels]
    return Dataset(name, *parts, tuple("ABCDEFGHIJ"))


@pytest.fixture(autouse=True, scope="module")
def small_images():
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(registry, "load", load_small)
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(configure(**TINY), tmp_path_factory.mktemp("runs") / "run")


# times; and of locks there is nothing to compare
TIMED = ("result.json", "report.html", ".lock")


def without_times(values):
    return {key: value for key, value in values.items() if key not in TIMES}


def test_the_result_is_what_the_learner_can_do(finished):
    stream = make_stream(finished.config)
    values = finished.result
    R = np.array(values["accuracy_matrix"], float)
    for j in range(len(stream)):
        measured = metrics.accuracy(finished.learner.predict(stream[j].x_test, j), stream[j].y_test)
        assert R[-1, j] == measured
    assert np.isnan(R[np.triu_indices(5, 1)]).all() and not np.isnan(R[np.tril_indices(5)]).any()
    assert values["average_accuracy"] == R[-1].mean()
    assert values["backward_transfer"] == metrics.backward_transfer(R)
    assert values["accuracy_drop"] == [R[j, j] - R[-1, j] for j in range(5)]
    assert values["tasks"] == ["A/B", "C/D", "E/F", "G/H", "I/J"]


def test_the_result_tells_how_the_network_is_used(finished):
    values = finished.result
    masks = [finished.learner.masks(t)[0] for t in range(5)]
    assert values["mask_density"] == [[mask.mean()] for mask in masks]
    assert values["share_used"][-1] == np.logical_or.reduce(masks).mean()
    assert values["sharing"][1][0] == (masks[0] & masks[1]).sum() / masks[1].sum()
    assert np.isnan(values["sharing_with_earlier"][0])


def test_the_result_tells_what_the_run_was(finished):
    values = finished.result
    assert (values["experiment"], values["method"], values["seed"]) == ("split-glyphs", "npbcl", 0)
    assert (values["dataset"], values["stream"], values["backend"]) == ("glyphs", "split", "numpy")
    assert values["elbo_weights"] == {
        "weight_kl_weight": 1.0,
        "mask_kl_weight": 0.0021,
        "stick_kl_weight": 1.0,
        "mask_kl": "bernoulli",
        "mask_link": "log",
        "unused_prior": "none",
    }
    assert values["versions"].keys() == {
        "python",
        "ibpcl",
        "commit",
        "numpy",
        "scipy",
        "numba",
        "matplotlib",
        "blas",
    }
    assert values["processor"] == program.processor()
    assert values["versions"]["numpy"] == np.__version__
    seconds = values["seconds"]
    assert seconds["total"] >= seconds["train"] >= max(seconds["train_per_task"]) > 0
    assert values["peak_memory_mb"] > 10


def test_the_folder_is_complete(finished):
    assert {path.name for path in finished.folder.iterdir()} == FILES
    saved = storage.read_json(finished.folder / "result.json")
    assert saved["forward_transfer"] is None and saved["accuracy_matrix"][0][1] is None
    assert saved["average_accuracy"] == finished.result["average_accuracy"]
    for path in finished.folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    assert storage.read_toml(finished.folder / "config.toml") == finished.config.table


def test_the_history_has_a_row_an_epoch_and_counts_tasks(finished):
    history = storage.read_csv(finished.folder / "history.csv")
    assert history["task"].tolist() == [t for t in range(5) for _ in range(3)]
    assert history["phase"].tolist() == ["masked", "masked", "finetune"] * 5
    parts = (
        history["log_likelihood"]
        - history["kl_weights"]
        - history["kl_masks"]
        - history["kl_sticks"]
    )
    np.testing.assert_allclose(history["elbo"], parts, rtol=1e-9)


def test_the_saved_learner_predicts_as_the_learner_does(finished):
    again = NPBCL.load(finished.folder / "learner.npz")
    assert again.settings == finished.config.settings
    x = make_stream(finished.config)[2].x_test
    np.testing.assert_array_equal(again.predict(x, 2), finished.learner.predict(x, 2))


def test_the_resolved_configuration_gives_the_same_bytes(finished, tmp_path):
    again = run(configure(finished.folder / "config.toml"), tmp_path / "again")
    for path in finished.folder.iterdir():
        if not path.name.startswith(TIMED):
            assert (again.folder / path.name).read_bytes() == path.read_bytes(), path.name
    first, second = (
        storage.read_json(result.folder / "result.json") for result in (finished, again)
    )
    assert without_times(first) == without_times(second)


def test_a_flipped_bit_in_the_result_is_seen(finished, tmp_path):
    text = (finished.folder / "result.json").read_text()
    (tmp_path / "result.json").write_text(
        text.replace('"average_accuracy": 0.', '"average_accuracy": 1.', 1)
    )
    storage.read_sealed_json(finished.folder / "result.json")
    with pytest.raises(
        ValueError, match=r"result\.json is damaged: its values are not those that were sealed"
    ):
        storage.read_sealed_json(tmp_path / "result.json")
    for text in ("{}", "[]", "{"):
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(ValueError, match=r"result\.json is damaged"):
            storage.read_sealed_json(tmp_path / "result.json")


@pytest.mark.slow(reason="two trainings with figures")
def test_a_run_over_itself_leaves_one_run(finished):
    def contents():
        return {
            path.name: None if path.name.startswith(TIMED) else path.read_bytes()
            for path in finished.folder.iterdir()
        }

    before = contents()
    for fresh in (False, True):
        run(finished.config, finished.folder, fresh=fresh)
        assert contents() == before


def test_the_seed_matters(finished):
    other = run(configure(**TINY, seed=1))
    assert other.history["elbo"] != finished.history["elbo"]


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(configure(**TINY, tasks=1))
    assert result.folder is None and not list(tmp_path.iterdir())
    assert np.isnan(result.result["backward_transfer"])  # a single task has no later one


def test_reports_come_as_the_matrix_grows(finished):
    reports = []
    result = run(configure(**TINY, tasks=2), on_task=reports.append)
    assert [report.names for report in reports] == [("A/B", "C/D")] * 2
    np.testing.assert_array_equal(reports[-1].progress.accuracy, result.result["accuracy_matrix"])
    assert np.isnan(reports[0].progress.accuracy[1]).all()
    assert [report.mask_density for report in reports] == [
        row[0] for row in result.result["mask_density"]
    ]


@pytest.mark.usefixtures("no_figures")
def test_several_hidden_layers(tmp_path):
    result = run(configure(**TINY | {"hidden": (6, 4)}, tasks=2), tmp_path / "run")
    masks = [result.learner.masks(t) for t in range(2)]
    assert result.result["mask_density"] == [[layer.mean() for layer in task] for task in masks]
    used = np.concatenate([(a | b).ravel() for a, b in zip(*masks, strict=True)])
    assert result.result["share_used"][-1] == used.mean()


def test_limits_and_permutations_make_the_stream():
    stream = make_stream(configure("permuted-mnist", tasks=3, train_limit=20, test_limit=10))
    assert (len(stream), len(stream[0].x_train), len(stream[0].x_test), stream[0].classes) == (
        3,
        20,
        10,
        10,
    )
    assert not np.array_equal(stream[0].x_train, stream[1].x_train)
    # The seed is the learner's alone: methods and seeds are compared on the same tasks.
    again = make_stream(configure("permuted-mnist", tasks=3, train_limit=20, test_limit=10, seed=5))
    np.testing.assert_array_equal(stream[2].x_train, again[2].x_train)
    other = make_stream(
        configure("permuted-mnist", tasks=3, train_limit=20, test_limit=10, data_seed=5)
    )
    assert not np.array_equal(stream[2].x_train, other[2].x_train)


def test_only_shuffled_tasks_follow_the_seed():
    published, fewer, *drawn = (
        [task.name for task in make_stream(configure(**changes))]
        for changes in (
            {"seed": 1},
            {"seed": 1, "shuffled": True, "tasks": 2},
            {"seed": 1, "shuffled": True},
            {"seed": 2, "shuffled": True},
        )
    )
    assert published == [task.name for task in make_stream(configure())]
    assert published != drawn[0] != drawn[1] and fewer == drawn[0][:2]
    assert sorted(published) == sorted(drawn[0]) == sorted(drawn[1])
    limits = {"tasks": 1, "train_limit": 20, "test_limit": 10}
    pixels = [
        make_stream(configure("permuted-mnist", **limits, **changes))[0].x_train
        for changes in ({}, {"shuffled": True}, {"shuffled": True, "seed": 3})
    ]
    np.testing.assert_array_equal(pixels[0], pixels[1])
    assert not np.array_equal(pixels[0], pixels[2])


def test_a_split_stream_has_five_tasks_at_most():
    with pytest.raises(UserError, match="tasks must be at most 5 with stream 'split', got 6"):
        make_stream(configure(tasks=6))
    with pytest.raises(UserError, match="tasks must be at most 5 with stream 'resplit', got 6"):
        make_stream(configure("fashion-resplit", tasks=6))


def test_the_papers_fashion_mnist_is_all_images_cut_anew():
    published, cut = (
        make_stream(configure(name))[1] for name in ("split-fashion-mnist", "fashion-resplit")
    )
    assert (len(published.x_train), len(published.x_test), cut.name) == (40, 20, published.name)
    # 2/7 of 30 of each class, rounded, are for tests
    assert (len(cut.x_train), len(cut.x_test)) == (42, 18)
    everything = [np.concatenate([task.x_train, task.x_test]) for task in (published, cut)]
    np.testing.assert_array_equal(*(np.unique(images, axis=0) for images in everything))
    other = make_stream(configure("fashion-resplit", data_seed=1))[1]
    assert not np.array_equal(cut.x_test, other.x_test)  # which images is the tasks' seed's
    np.testing.assert_array_equal(
        cut.x_test, make_stream(configure("fashion-resplit", seed=1))[1].x_test
    )


def test_a_data_error_is_the_users_and_stops_before_the_folder(tmp_path, monkeypatch):
    def damaged(*arguments):
        raise DataError("mnist/train-images: truncated")

    monkeypatch.setattr(registry, "load", damaged)
    with pytest.raises(UserError, match="truncated"):
        run(configure(**TINY), tmp_path / "run")
    assert not list(tmp_path.iterdir())


def task(x=((0.0, 1.0),), y=(0,)):
    return Task("t", x, y, [[0.0] * len(x[0])], [0], 2)


@pytest.mark.parametrize(
    "builders, problem",
    [
        ([task, lambda: task([[0.0, np.nan]])], "finite"),
        ([lambda: task(y=[2])], "labels"),
        (
            [task, lambda: task([[0.0, 1.0, 2.0]])],
            "'t': inputs have width 3, but those of task 't' have width 2",
        ),
        ([lambda: task([["a", "b"]])], "real numbers"),
    ],
)
def test_a_bad_task_is_found_before_training(builders, problem):
    class Stream(list):
        def __getitem__(self, t):
            return list.__getitem__(self, t)()

    with pytest.raises(UserError, match=problem):
        survey(Stream(builders))


def test_a_run_that_diverges_says_so_and_leaves_nothing(tmp_path):
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError):
        run(configure(**TINY, weight_rate=1e30), tmp_path / "run")
    assert not list(tmp_path.iterdir())


class NearestMean(Saved):
    """Knows nothing of masks or histories: class means, one set a task."""

    def __init__(self, settings, seed, backend_name):
        self.settings = settings
        self.seed = seed
        self.backend = backend(backend_name)
        self.scale = settings.scale
        self.means = []

    def learn(self, task, progress=None):
        self.means.append(
            np.stack([task.x_train[task.y_train == c].mean(axis=0) for c in range(task.classes)])
        )
        return []

    def predict(self, x, task_id):
        scores = -self.scale * ((x[:, None] - self.means[task_id]) ** 2).sum(axis=-1)
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    def state(self):
        return {f"means{t}": means for t, means in enumerate(self.means)}


@dataclass(frozen=True)
class NearestMeanSettings:
    scale: float = option(1.0, "Sharpness of the probabilities.", above=0)


@pytest.mark.parametrize(
    "name, method_name, alike",
    [
        ("domain-glyphs", "naive", True),
        ("split-glyphs", "naive", False),
        ("permuted-mnist-10-domain", "vcl", True),
    ],
)
def test_with_one_head_the_number_of_the_task_says_nothing(name, method_name, alike):
    tiny = {key: value for key, value in TINY.items() if key in keys(method_name)}
    result = run(configure(name, method=method_name, train_limit=40, test_limit=20, **tiny))
    stream = make_stream(result.config)
    assert len(stream) == (10 if name.startswith("permuted") else 5)
    first, last = (
        result.learner.predict(stream[2].x_test, task_id) for task_id in (0, len(stream) - 1)
    )
    np.testing.assert_allclose(first.sum(axis=1), 1, rtol=1e-5)
    assert np.array_equal(first.argmax(axis=1), last.argmax(axis=1)) == alike


def test_a_method_needs_no_more_than_the_face_of_a_learner(tmp_path, monkeypatch):
    module = type(sys)("ibpcl.methods.nearest")
    module.__doc__ = "Nearest class mean."
    module.Settings = NearestMeanSettings
    module.NearestMean = NearestMean
    monkeypatch.setitem(sys.modules, "ibpcl.methods.nearest", module)
    monkeypatch.setitem(METHODS, "nearest", "NearestMean")
    result = run(configure(method="nearest", scale=2), tmp_path / "run")
    assert result.result["average_accuracy"] == 1.0  # the bright pixel tells the class
    assert result.result["mask_density"] is None and result.result["elbo_weights"] == {}
    assert {path.name for path in (tmp_path / "run").glob("*.png")} == {
        "accuracy_curves.png",
        "accuracy_matrix.png",
    }
    assert configure(tmp_path / "run" / "config.toml") == result.config
    with pytest.raises(UserError, match=r"^scale must be finite and above 0, got 0\.0$"):
        configure(method="nearest", scale=0)


@pytest.mark.usefixtures("no_figures")
def test_the_progress_bar_shows_the_objective_that_is_trained(tmp_path, capsys):
    config = configure("split-glyphs", tasks=2, mask_kl_weight=0.3, **TINY)
    made = run(config, tmp_path / "run", progress=True)
    shown = capsys.readouterr().err
    columns = {name: np.array(values) for name, values in made.history.items()}
    objective, _ = weighted(columns, made.result["elbo_weights"])
    for t, phase in ((0, "masked"), (1, "finetune")):
        assert f"task {t + 1} of 2, {phase}" in shown
    masked = [i for i, phase in enumerate(made.history["phase"]) if phase == "masked"]
    examples = len(made.stream[0].x_train)
    assert f"objective {objective[masked[0]] / examples:.4f}" in shown
    assert f"{made.history['elbo'][masked[0]] / examples:.4f}" not in shown
