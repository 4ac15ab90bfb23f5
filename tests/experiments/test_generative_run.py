"""The experiments without labels from the command line to the folder: what is measured is what the
learner gives.
"""

import dataclasses
import shutil

import numpy as np
import pytest

from ibpcl import checkpoints, storage
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.evaluation import codes, figures, latent
from ibpcl.experiments import generative
from ibpcl.experiments.config import NEWER, OPTIONAL, RunConfig, configure, keys
from ibpcl.experiments.door import load_run
from ibpcl.experiments.measurement import Measurement
from ibpcl.experiments.presets import PRESETS
from ibpcl.experiments.run import make_stream, run
from ibpcl.methods import GENERATIVE, method

pytestmark = pytest.mark.usefixtures("no_figures")

MEASURED = {
    "likelihood_samples": 4,
    "final_samples": 12,
    "likelihood_images": 6,
    "final_images": 5,
    "code_images": 20,
    "code_test_images": 12,
    "inference_samples": 3,
}
TINY = {
    "hidden": (12,),
    "latent": 3,
    "epochs": 2,
    "finetune_epochs": 1,
    "batch": 50,
    "tasks": 3,
    "train_limit": 100,
    "test_limit": 30,
    "backend": "numpy",
    **MEASURED,
}
OF_IMAGES = (
    "stages.npz",
    "likelihood_curves.png",
    "likelihood_matrix.png",
    "samples.png",
    "reconstructions.png",
    "few_labels.png",
)
EXPERIMENTS = [name for name in PRESETS if PRESETS[name].asks == "images"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(
        configure("vae-glyphs", **TINY), tmp_path_factory.mktemp("vae") / "run", progress=False
    )


@pytest.mark.slow(reason="many samples")
def test_the_matrices_hold_what_importance_sampling_says_of_the_learner(finished):
    values = finished.result
    stream = make_stream(finished.config)
    for j, task in enumerate(stream):
        model = finished.learner.latent_model(j)
        told = latent.mean_and_errors(latent.importance_sampled(model, task.x_test[:6], 4, 0))
        for name, value in told.items():
            assert values[f"{name}_matrix"][-1][j] == pytest.approx(value, rel=1e-6)
        scores = latent.reconstruction_score(model, task.x_test[:6], 4, 0)
        assert values["reconstruction_matrix"][-1][j] == pytest.approx(scores.mean(), rel=1e-6)
        final = latent.mean_and_errors(latent.importance_sampled(model, task.x_test[:5], 12, 0))
        assert values["final"]["log_likelihood"][j] == pytest.approx(
            final["log_likelihood"], rel=1e-6
        )
        final_scores = latent.reconstruction_score(model, task.x_test[:5], 4, 0)
        assert values["final"]["reconstruction"][j] == pytest.approx(final_scores.mean(), rel=1e-6)
    assert values["average_log_likelihood"] == pytest.approx(
        np.mean(values["final"]["log_likelihood"])
    )
    assert values["average_reconstruction"] == pytest.approx(
        np.mean(values["final"]["reconstruction"])
    )
    assert values["final"]["images"] == [5, 5, 5] and values["final_samples"] == 12


def test_the_matrix_is_lower_triangular_and_its_changes_add_up(finished):
    R = np.array(finished.result["log_likelihood_matrix"], float)
    assert np.isfinite(R[np.tril_indices(3)]).all() and np.isnan(R[np.triu_indices(3, 1)]).all()
    changes = [R[1, 0] - R[0, 0], R[2, 0] - R[0, 0], R[2, 1] - R[1, 1]]
    assert finished.result["backward_transfer"] == pytest.approx(np.mean(changes))
    np.testing.assert_allclose(finished.result["log_likelihood_drop"], R.diagonal() - R[-1])


def test_codes_are_judged_by_all_three_encoders(finished):
    values = finished.result
    stream = make_stream(finished.config)
    config = finished.config
    models = [finished.learner.latent_model(t) for t in range(3)]
    images = generative.labelled(stream, config.measurement)
    assert (len(images.x), len(images.x_test)) == (60, 36)
    for way in codes.WAYS:
        tasks, tests = (
            codes.choose_tasks(way, models, x, labels, 3, 0)
            for x, labels in ((images.x, images.labels), (images.x_test, images.test_labels))
        )
        error = codes.knn_error(
            codes.encode(models, images.x, tasks),
            images.labels,
            codes.encode(models, images.x_test, tests),
            images.test_labels,
        )
        assert values["knn"][way]["means"] == error.tolist()
        assert len(values["knn"][way]["samples"]) == 4
        assert np.shape(values["few_labels"][way]["errors"]) == (
            len(values["few_labels"][way]["labels"]),
            10,
        )
        if way == "inferred":
            assert values["knn"]["task_inference"] == np.mean(tests != images.test_labels)
    assert len(values["knn"]["mask_leak"]) == 3  # six images vote: no ten neighbours


def test_the_folder_holds_the_pictures_and_reads_back(finished):
    names = {path.name for path in finished.folder.iterdir()}
    assert (
        set(OF_IMAGES) | {"config.toml", "result.json", "history.csv", "learner.npz", "history.png"}
        <= names
    )
    assert "accuracy_matrix.png" not in names
    for path in finished.folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    assert configure(finished.folder / "config.toml") == finished.config
    arrays = checkpoints.read_npz(finished.folder / "stages.npz")
    stream = make_stream(finished.config)
    model = finished.learner.latent_model(2)
    np.testing.assert_allclose(
        arrays["samples/2"][4:], latent.prior_samples(model, 2, (0, 2)), rtol=1e-6
    )
    np.testing.assert_array_equal(arrays["originals"][4:], stream[2].x_test[:2])
    np.testing.assert_allclose(
        arrays["reconstructed/2"][4:],
        latent.reconstructions(model, stream[2].x_test[:2]),
        rtol=1e-6,
    )
    assert [len(arrays[f"samples/{t}"]) for t in range(3)] == [2, 4, 6]


@pytest.mark.slow(reason="draws all figures twice")
def test_a_loaded_run_draws_the_figures_of_its_folder_again(finished, tmp_path):
    drawn = load_run(finished.folder).figures()
    assert {f"{name}.png" for name in drawn} == {
        path.name for path in finished.folder.glob("*.png")
    }
    for name, axes in drawn.items():
        figures.save(axes, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes() == (
            finished.folder / f"{name}.png"
        ).read_bytes()


def test_figures_without_their_images_are_one_line(finished, tmp_path):
    folder = shutil.copytree(finished.folder, tmp_path / "run")
    (folder / "stages.npz").write_bytes(b"nonsense")
    with pytest.raises(UserError, match=r"^figures: .*stages\.npz is damaged"):
        load_run(folder).figures()


@pytest.mark.parametrize(
    "after", [3, pytest.param(8, marks=pytest.mark.slow(reason="a task later"))]
)
def test_an_interrupted_run_goes_on_bit_for_bit(after, finished, tmp_path, interrupted):
    folder = tmp_path / "run"
    with interrupted(after), pytest.raises(KeyboardInterrupt):
        run(finished.config, folder, progress=False)
    assert not (folder / "result.json").exists()
    assert main(["run", "--resume", str(folder), "--quiet"]) == 0
    result, whole = (storage.read_json(path / "result.json") for path in (folder, finished.folder))
    for timing in ("seconds", "peak_memory_mb", "seal"):
        result.pop(timing), whole.pop(timing)
    assert result == whole
    assert (folder / "history.csv").read_bytes() == (finished.folder / "history.csv").read_bytes()
    for file in ("learner.npz", "stages.npz"):
        np.testing.assert_equal(
            *(
                {
                    name: checkpoints.read_npz(path / file)[name]
                    for name in checkpoints.read_npz(path / file)
                    if name != "meta"
                }
                for path in (folder, finished.folder)
            )
        )


def test_times_are_sums_over_all_lives_of_the_run(finished, tmp_path, interrupted):
    folder = tmp_path / "run"
    with interrupted(4), pytest.raises(KeyboardInterrupt):
        run(finished.config, folder, progress=False)
    arrays, meta, _ = checkpoints.load(folder / "checkpoint.npz")
    meta["seconds"] += 2000  # as if the life before had been longer
    meta["done"][0]["seconds"][0] += 1000
    checkpoints.save(folder / "checkpoint.npz", arrays, meta)
    assert main(["run", "--resume", str(folder), "--quiet"]) == 0
    seconds = storage.read_json(folder / "result.json")["seconds"]
    assert (
        1000 < seconds["train_per_task"][0] <= seconds["train"] < 1500
        and 2000 < seconds["total"] < 2500
    )


def test_the_command_line_says_what_it_measures(finished, capsys):
    assert main(["run", "--resume", str(finished.folder)]) == 0
    out = capsys.readouterr().out
    values = finished.result
    assert "Test log-likelihood (nats per image)" in out and "accuracy" not in out
    row = next(line for line in out.splitlines() if line.startswith(" 3 C"))
    for value in values["log_likelihood_matrix"][-1]:
        assert f"{value:.1f}" in row
    assert f"{values['average_log_likelihood']:.2f} +- " in out
    assert f"{100 * values['knn']['oracle']['means'][0]:.1f} % oracle" in out
    assert max(map(len, out.replace(str(finished.folder), "").splitlines())) <= 80
    assert main(["run", "--resume", str(finished.folder), "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("average log-likelihood -")


def test_too_few_images_for_more_neighbours_leave_the_nearest(tmp_path, capsys):
    few = {**TINY, "tasks": 2, "epochs": 1, "code_images": 1, "code_test_images": 2}
    texts = [f"--set={key}={value[0] if key == 'hidden' else value}" for key, value in few.items()]
    assert main(["run", "vae-glyphs", "--out", str(tmp_path), *texts]) == 0
    knn = storage.read_json(tmp_path / "result.json")["knn"]
    assert knn["neighbours"] == [1] and len(knn["inferred"]["means"]) == len(knn["mask_leak"]) == 1
    out = capsys.readouterr().out
    assert "log-likelihood" in out and "1-NN error" in out


def test_many_tasks_fit_a_terminal():
    from ibpcl.cli.table import LikelihoodTable
    from ibpcl.experiments.run import Report

    R = np.tril(np.full((10, 10), -100.0) - np.arange(10.0))
    done = generative.Stage(9, "J", R, *[R] * 6, None, None, [], 1.0, 2.0)
    table = LikelihoodTable(list("ABCDEFGHIJ"))
    assert table.header().split() == ["task", "newest", "mean", "change", "seconds"]
    assert table.row(Report(done, None, list("ABCDEFGHIJ"))).split() == [
        "10",
        "J",
        "-109.0",
        "-104.5",
        "+0.00",
        "3.0",
    ]


def test_the_small_experiment_has_settings_for_every_method():
    assert PRESETS["vae-glyphs"].methods.keys() == set(GENERATIVE)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("short", [full.removeprefix("vae_") for full in GENERATIVE])
def test_a_short_name_means_the_generative_learner(name, short):
    config = configure(name, {"method": short})
    assert (config.method, config.stream, config.experiment) == (f"vae_{short}", "classes", name)
    assert config == configure(name, method=f"vae_{short}")
    assert config.measurement == Measurement() and config.table["final_samples"] == 5000
    in_table = keys(config.method).keys() - {*OPTIONAL, *NEWER}
    assert config.measure == "log-likelihood" and in_table <= config.table.keys()
    assert config.table.keys() <= keys(config.method).keys()


@pytest.mark.parametrize("name", GENERATIVE)
def test_settings_of_generative_learners_are_documented_and_no_keys_of_a_run(name):
    of_method = {f.name: f.metadata["doc"] for f in dataclasses.fields(method(name).settings)}
    assert all(doc.endswith(".") for doc in of_method.values())
    taken = {f.name for kind in (RunConfig, Measurement) for f in dataclasses.fields(kind)}
    assert not taken & of_method.keys()


@pytest.mark.parametrize(
    ("target", "texts", "words"),
    [
        ("vae-glyphs", {"method": "hat"}, "method hat .*images.*vae_npbcl"),
        (
            "split-glyphs",
            {"method": "vae_npbcl"},
            "stream must be classes with the methods vae_npbcl",
        ),
        ("vae-glyphs", {"stream": "split"}, "stream must be classes"),
        ("vae-glyphs", {"final_samples": "0"}, "final_samples must be at least 1, got 0"),
        ("vae-glyphs", {"prediction_samples": "3"}, "unknown key 'prediction_samples'"),
        ("split-glyphs", {"final_samples": "3"}, "unknown key 'final_samples'"),
    ],
)
def test_what_does_not_go_together_is_refused(target, texts, words):
    with pytest.raises(UserError, match=words):
        configure(target, texts)


def test_a_file_may_ask_for_classes_without_an_experiment(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'dataset = "glyphs"\nstream = "classes"\nmethod = "npbcl"\nlatent = 7\n'
    )
    config = configure(tmp_path / "mine.toml")
    assert config.method == "vae_npbcl" and config.settings.latent == 7


def test_the_stream_has_a_class_a_task_and_limits_hold():
    stream = make_stream(
        configure("vae-glyphs", tasks=4, train_limit=30, test_limit=10, validation=0.2)
    )
    assert [task.name for task in stream] == list("ABCD") and [task.label for task in stream] == [
        0,
        1,
        2,
        3,
    ]
    assert all(task.kind == "images" for task in stream)
    assert (len(stream[1].x_train), len(stream[1].x_test)) == (30, 10)
    with pytest.raises(UserError, match="tasks must be at most 10 with stream 'classes', got 11"):
        make_stream(configure("vae-glyphs", tasks=11))


def test_another_run_takes_the_pictures_away(tmp_path):
    few = {**TINY, "epochs": 1, "tasks": 1}
    run(configure("vae-glyphs", **few), tmp_path / "run", progress=False)
    for name in OF_IMAGES:
        (tmp_path / "run" / name).write_bytes(b"of the run before")
    result = run(
        configure("vae-glyphs", **few, seed=1), tmp_path / "run", progress=False, force=True
    )
    assert not [
        name for name in OF_IMAGES if name.endswith(".png") and (tmp_path / "run" / name).exists()
    ]
    assert np.isnan(result.result["backward_transfer"])
