"""The experiment terrain from the command line to the folder: regression, with its intervals
checked.
"""

import dataclasses

import numpy as np
import pytest
from quick import quick

from ibpcl import checkpoints, storage
from ibpcl.cli import main
from ibpcl.continual.task import Task
from ibpcl.data import terrain
from ibpcl.data.dataset import DataError
from ibpcl.data.terrain import TerrainStream
from ibpcl.errors import UserError
from ibpcl.evaluation import calibration, metrics
from ibpcl.experiments.config import RunConfig, configure
from ibpcl.experiments.run import Run, make_stream, run

pytestmark = pytest.mark.usefixtures("no_figures")

OF_REGRESSION = ("reliability.png", "intervals.png")
TINY = {
    "hidden": (20,),
    "samples": 1,
    "prediction_samples": 20,
    "epochs": 12,
    "finetune_epochs": 6,
    "batch": 50,
    "tasks": 2,
    "train_limit": 300,
    "test_limit": 60,
    "start_sigma": 0.01,
    "weight_rate": 0.03,
    "backend": "numpy",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(
        configure("terrain", **TINY), tmp_path_factory.mktemp("terrain") / "run", progress=False
    )


def test_the_matrix_holds_r_squared_of_what_the_learner_predicts(finished):
    R = np.array(finished.result["accuracy_matrix"], float)
    stream = make_stream(finished.config)
    for j, task in enumerate(stream):
        assert R[-1, j] == metrics.r_squared(finished.learner.predict(task.x_test, j), task.y_test)
    assert R[-1].min() > 0.4 and finished.result["measure"] == "R^2"
    assert finished.result["tasks"] == ["126.0 to 124.0 W", "124.0 to 122.0 W"]


def test_the_result_tells_coverage_and_noise(finished):
    values = storage.read_json(finished.folder / "result.json")
    told = values["coverage"]
    stream = make_stream(finished.config)
    assert told["levels"] == list(calibration.LEVELS) and {0.5, 0.9} < set(told["levels"])
    assert told["examples"] == [60, 60]
    for t, task in enumerate(stream):
        prediction = finished.learner.predict_with_uncertainty(task.x_test, t)
        arrays = (prediction.mean, prediction.sigma, task.y_test)
        assert told["as_predicted"][t] == calibration.coverage(*arrays).tolist()
        assert told["recalibrated"][t] == calibration.recalibrated_coverage(*arrays).tolist()
        assert told["scales"][t] == calibration.interval_scales(*arrays).tolist()
        network, vector, _ = finished.learner.assemble(t)
        learned = np.exp(network.layout.view(vector, "noise.log_sigma"))
        np.testing.assert_allclose(values["noise_sigma"][t], learned, rtol=1e-4)
        assert abs(learned[0] / finished.config.settings.noise_sigma - 1) > 0.05
    error = calibration.calibration_error(told["as_predicted"])
    assert values["calibration_error"]["as_predicted"] == error


def test_the_folder_holds_the_figures_of_a_regression_too(finished):
    assert {path.name for path in finished.folder.iterdir()} == {
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
        *OF_REGRESSION,
    }
    for path in finished.folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    assert configure(finished.folder / "config.toml") == finished.config


def test_given_noise_stays_as_given():
    result = run(
        configure("terrain", {"learn_noise": "false", "noise_sigma": "0.45"}, **TINY),
        progress=False,
    )
    np.testing.assert_allclose(result.result["noise_sigma"], 0.45, rtol=1e-4)
    assert "noise" not in result.learner.assemble(0)[0].layout.blocks


@pytest.mark.parametrize(
    "after", quick(["35"], [4, 15, 19, 35], "each trains again; the last task is there")
)
def test_an_interrupted_regression_goes_on_bit_for_bit(after, finished, tmp_path, interrupted):
    folder = tmp_path / "run"
    with interrupted(after), pytest.raises(KeyboardInterrupt):
        run(finished.config, folder, progress=False)
    assert not (folder / "result.json").exists()
    assert main(["run", "--resume", str(folder), "--quiet"]) == 0
    result, whole = (storage.read_json(path / "result.json") for path in (folder, finished.folder))
    for key in ("accuracy_matrix", "coverage", "noise_sigma", "calibration_error"):
        assert result[key] == whole[key], key
    assert (folder / "history.csv").read_bytes() == (finished.folder / "history.csv").read_bytes()
    arrays = checkpoints.load(folder / "learner.npz").arrays
    expected = finished.learner.state()
    assert arrays.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(arrays[name], value, err_msg=name)


def test_the_command_line_says_what_it_measures(finished, capsys):
    assert main(["run", "--resume", str(finished.folder)]) == 0
    out = capsys.readouterr().out
    assert "Test R^2 (%) on each task so far" in out and "accuracy" not in out
    assert f"average R^2        {100 * finished.result['average_accuracy']:.2f} %" in out
    told = finished.result["coverage"]
    mean = 100 * np.mean(
        [[row[told["levels"].index(p)] for p in (0.5, 0.9)] for row in told["as_predicted"]], axis=0
    )
    assert (
        f"coverage           {mean[0]:.1f} % and {mean[1]:.1f} % (nominal 50 % and 90 %), as "
        "predicted\n"
    ) in out
    assert max(map(len, out.replace(str(finished.folder), "").splitlines())) <= 80
    assert main(["run", "--resume", str(finished.folder), "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("average R^2 ")


def test_another_run_takes_the_figures_of_a_regression_away(tmp_path):
    few = {**TINY, "epochs": 1, "finetune_epochs": 1, "tasks": 1}
    run(configure("terrain", **few), tmp_path / "run", progress=False)
    other = dataclasses.replace(configure("terrain", **few), seed=1)
    with pytest.raises(UserError, match="holds a run with seed = 0, not 1"):
        run(other, tmp_path / "run", progress=False)
    for name in OF_REGRESSION:
        (tmp_path / "run" / name).write_bytes(b"of the run before")
    run(other, tmp_path / "run", progress=False, force=True)
    assert not [name for name in OF_REGRESSION if (tmp_path / "run" / name).exists()]


def test_keys_of_the_run_make_the_stream():
    config = configure(
        "terrain", tasks=3, train_limit=30, test_limit=20, data_seed=4, validation=0.25
    )
    stream = make_stream(config)
    same = TerrainStream(3, 4, 0.25)
    assert (len(stream), stream.name, len(stream[0].x_train), len(stream[0].x_test)) == (
        3,
        "terrain",
        30,
        20,
    )
    np.testing.assert_array_equal(stream[2].x_test, same[2].x_test[:20])


def test_terrain_comes_in_strips_and_nothing_else_does():
    for keys in ({"stream": "split"}, {"dataset": "glyphs"}):
        with pytest.raises(UserError, match="stream must be strips with dataset terrain"):
            configure("terrain", **keys)
    with pytest.raises(
        UserError, match=r"dataset must be one of glyphs, .*, terrain, got 'relief'"
    ):
        RunConfig(dataset="relief")
    assert configure("terrain").table["stream"] == "strips"


def test_what_cannot_be_run_is_refused_before_a_folder_is_made(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"tasks must be in 1 \.\. 30, got 31"):
        run(configure("terrain", tasks=31), tmp_path / "run")
    for few in ({"test_limit": 1}, {"tasks": 30, "validation": 0.001}):
        with pytest.raises(
            UserError, match=r"test targets \(1\) of task .* are all equal.* \(see test_limit"
        ):
            run(configure("terrain", **few), tmp_path / "run")
    x, y = np.random.default_rng(0).random((2, 30, 4))
    with pytest.raises(UserError, match=r"the test targets \(5\) of task 'flat' are all equal"):
        run(configure([Task("flat", x, y, x[:5], np.ones((5, 4)))]), tmp_path / "run")
    with pytest.raises(UserError, match=r"method independent .*regression"):
        run(configure("terrain", method="independent"), tmp_path / "run")

    def missing():
        raise DataError("topobathy.npz: missing; it comes with Matplotlib")

    monkeypatch.setattr(terrain, "read_grid", missing)
    with pytest.raises(UserError, match=r"topobathy\.npz: missing"):
        run(configure("terrain"), tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_learner_of_another_kind_is_refused_only_for_regression():
    assert Run(configure("split-glyphs", method="independent")).new_learner()
