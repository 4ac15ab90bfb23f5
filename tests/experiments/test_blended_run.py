"""Runs on a blended stream: their limits, their detected tasks, their files, and resuming."""

import json
import math

import numpy as np
import pytest
from quick import quick

from ibpcl.cli import main
from ibpcl.errors import NonFiniteError, UserError
from ibpcl.evaluation import figures
from ibpcl.experiments.config import BLENDED, configure
from ibpcl.experiments.run import run
from ibpcl.experiments.streams import make_stream
from ibpcl.methods import ABOUT, ONLINE

pytestmark = pytest.mark.usefixtures("no_figures")

TINY = {
    "npbcl": {"samples": 1, "epochs": 4, "finetune_epochs": 16, "alpha": 10.0},
    "bgd": {"samples": 2, "epochs": 3, "start_sigma": 0.1},
    "naive": {"epochs": 3},
}


def config_of(name="npbcl", **changes):
    own = dict(TINY[name])
    if name != "naive":
        own["prediction_samples"] = 5
    base = {
        "hidden": (8,),
        "batch": 10,
        "tasks": 3,
        "test_limit": 20,
        "backend": "numpy",
        "blend_width": 0.4,
    }
    return configure("blended-glyphs", method=name, **{**base, **own, **changes})


def assert_same(one, other):
    np.testing.assert_array_equal(
        np.array(one.result["accuracy_matrix"], float),
        np.array(other.result["accuracy_matrix"], float),
    )
    ours, theirs = one.learner.state(), other.learner.state()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def test_sharp_and_known_it_is_the_ordinary_stream_bit_for_bit(drawn):
    blend = run(config_of("naive", blend_width=0.0, boundaries="known"), progress=False)
    ordinary = run(
        configure(
            "domain-glyphs",
            method="naive",
            hidden=(8,),
            batch=10,
            tasks=3,
            test_limit=20,
            backend="numpy",
            **TINY["naive"],
        ),
        progress=False,
    )
    assert_same(blend, ordinary)
    assert blend.result["log_likelihood"] == ordinary.result["log_likelihood"]
    # a fade changes it, and so does an optimizer that goes on
    for change in ({"blend_width": 0.4, "boundaries": "known"}, {"blend_width": 0.0}):
        other = run(config_of("naive", **change), progress=False)
        assert other.learner.state()["shared"].tolist() != (
            ordinary.learner.state()["shared"].tolist()
        )


@pytest.mark.parametrize(
    "name",
    quick(
        [name for name in ONLINE if name != "npbcl"],
        ONLINE,
        "npbcl trains twice as long as the rest",
    ),
)
def test_an_interrupted_run_goes_on_bit_for_bit(name, drawn, tmp_path, interrupted):
    # an alarm every few minibatches, so that a lost state of the test would show
    config = config_of(name, run_length=20.0)
    whole = run(config, tmp_path / "whole", progress=False, figures=False)
    epochs = len(whole.history["epoch"])
    with interrupted(epochs * 2 // 3 + 1), pytest.raises(KeyboardInterrupt):
        run(config, tmp_path / "killed", progress=False, figures=False)
    behind = []
    again = run(config, tmp_path / "killed", progress=False, on_resume=behind.append, figures=False)
    assert behind == [2]
    assert_same(whole, again)
    assert whole.result["blended"] == again.result["blended"]
    files = [tmp_path / name / "history.csv" for name in ("whole", "killed")]
    assert files[0].read_bytes() == files[1].read_bytes()
    # and as read from the files
    loaded = run(config, tmp_path / "whole", progress=False, figures=False)
    assert loaded.was_finished and loaded.learner.learned == whole.learner.learned


@pytest.fixture(scope="module")
def detected(drawn_once):
    """A run with a nervous test for new tasks."""
    return run(config_of(run_length=100.0), progress=False)


def test_each_alarm_begins_a_task_and_each_task_has_its_masks(detected):
    found = detected.result["blended"]
    assert len(found["alarms"]) > 0
    assert detected.learner.learned == found["learned_tasks"] == len(found["alarms"]) + 1
    assert found["false_alarms"] + len(found["delays"]) == len(found["alarms"])
    assert found["misses"] + len(found["delays"]) == 2
    # 40 images, 4 minibatches a pass, 20 passes; the fade begins 0.2 tasks before the boundary
    assert found["ends"] == [80, 160, 240] and found["starts"] == [64, 144]
    assert len(found["scores"]) == 240
    for t, learned in enumerate(found["learned"]):
        current = np.searchsorted(found["alarms"], np.arange(80 * t, 80 * t + 80), side="right")
        assert learned == np.bincount(current).argmax()
        density = [mask.mean() for mask in detected.learner.masks(learned)]
        assert detected.result["mask_density"][t] == density
    axes = detected.figures()
    assert {"scores", "accuracy_curves", "masks"} <= axes.keys()


def test_a_finished_run_is_printed_again_with_the_masks_of_its_tasks(drawn, tmp_path, capsys):
    settings = [
        f"--set={key}={value}"
        for key, value in {
            **TINY["npbcl"],
            "hidden": 8,
            "batch": 40,
            "tasks": 2,
            "backend": "numpy",
            "prediction_samples": 5,
        }.items()
    ]
    printed = []
    for _ in range(2):
        assert main(["run", "blended-glyphs", "--out", str(tmp_path / "run"), *settings]) == 0
        printed.append(capsys.readouterr().out.splitlines()[-6:-1])
    # the second time nothing is trained, also if no task was detected
    assert json.loads((tmp_path / "run" / "result.json").read_text())["blended"]["alarms"] == []
    assert printed[1]


def test_a_score_is_the_likelihood_of_a_minibatch_that_was_not_learned_yet(drawn):
    """So the first score does not depend on the learning rate, and those without learning are those
    of chance.
    """
    slow, fast = (
        run(config_of("naive", rate=rate), progress=False).result["blended"]["scores"]
        for rate in (0.0, 0.1)
    )
    assert slow[0] == fast[0] and slow[1] != fast[1]
    assert np.mean(slow) == pytest.approx(-math.log(2), abs=0.1)


def test_known_boundaries_are_not_detected(drawn):
    found = run(config_of(boundaries="known", run_length=10.0), progress=False).result["blended"]
    assert found["alarms"] == [] and found["learned"] == [0, 1, 2] and found["misses"] is None


@pytest.mark.parametrize("name", ["naive", "bgd"])
def test_methods_that_need_no_boundary_learn_one_long_task(name, drawn):
    made = run(config_of(name), progress=False)
    assert made.learner.learned == 1
    assert made.result["blended"]["learned"] == [0, 0, 0]
    last = made.result["accuracy_matrix"][-1]
    assert made.result["blended"]["accuracy_inferred"] == last
    assert made.result["mask_density"] is None


def test_the_keys_of_a_blended_stream():
    config = config_of()
    assert config.boundaries == "hidden" and config.settings.single_head
    assert configure("blended-permuted-mnist").table["blend_of"] == "permuted"
    for key, value in BLENDED.items():
        assert key not in configure("split-glyphs").table
        assert key in config.table
        with pytest.raises(UserError, match=f"{key} must be left out unless stream is blended"):
            configure("split-glyphs", **{key: value})
    with pytest.raises(UserError, match=r"cannot do 'blended', .* naive, bgd"):
        configure("blended-glyphs", method="ewc")
    with pytest.raises(UserError, match="method must be one of npbcl, naive, bgd with single_head"):
        configure("split-glyphs", stream="blended")
    with pytest.raises(UserError, match=r"blend_width must be in 0 \.\. 1"):
        configure("blended-glyphs", blend_width=-0.1)
    with pytest.raises(UserError, match=r"run_length must be in 10 \.\."):
        configure("blended-glyphs", run_length=3.0)
    assert all("domain" in ABOUT[name].can for name in ONLINE)


def test_a_setting_that_needs_whole_tasks_is_refused_before_training(drawn):
    with pytest.raises(UserError, match="coreset must be 'none' on a blended stream"):
        run(config_of(coreset="random", coreset_size=5), progress=False)


def test_an_overflow_in_the_last_step_is_reported(drawn):
    """One pass of one minibatch, so nothing but the predictions can show it."""
    with (
        np.errstate(all="ignore"),
        pytest.raises(NonFiniteError, match="predictions of task 1 are not fin"),
    ):
        run(config_of("naive", rate=1e38, epochs=1, batch=40), progress=False)


def test_the_figure_refuses_scores_that_do_not_fit():
    with pytest.raises(ValueError, match="ends must end with the number of scores, 3, got"):
        figures.stream_scores([0.0, 0.1, 0.2], [1, 2])


def test_the_order_of_a_stream_is_that_of_its_seed(drawn):
    first, again, other = (
        np.concatenate([m.x for m in make_stream(config_of(seed=seed)).minibatches(0, 10, 1)])
        for seed in (0, 0, 1)
    )
    assert (first == again).all() and (first != other).any()
