"""The targets about doubt: what they measure, against predictions and models whose answers are
known.
"""

import json

import numpy as np
import pytest

from ibpcl.cli import main
from ibpcl.evaluation import metrics
from ibpcl.evaluation.linear import LinearModel
from ibpcl.experiments import cells, findings
from ibpcl.experiments.benchmarks import BENCHMARKS
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.streams import groups_of, make_stream
from ibpcl.models.likelihoods import mean_over_samples
from ibpcl.paper.reproduce import certainty
from ibpcl.paper.reproduce.rows import OURS, REFERENCE

pytestmark = pytest.mark.usefixtures("no_figures")


def heads(*probabilities):
    return tuple(mean_over_samples(np.log(np.array([p]))) for p in probabilities)


CERTAIN = [0.99, 0.01]
UNSURE = [0.6, 0.4]
OTHER = [0.2, 0.8]
# Two tasks with two examples each; the last example is of task 1, but the head of task 0 is surer
# of it.
FOUND = certainty.Predicted(
    heads([CERTAIN, CERTAIN, UNSURE, CERTAIN], [UNSURE, UNSURE, OTHER, OTHER]),
    np.array([0, 0, 1, 1]),
    np.array([0, 1, 1, 1]),
    certainty.RULES,
    ("a", "b"),
)


def test_task_and_class_of_four_examples_by_hand():
    chosen = np.array([0, 0, 1, 0])
    # the second has the right task and the wrong class
    assert certainty.inferred(FOUND, chosen) == (75, 50)
    assert certainty.inferred(FOUND, FOUND.tasks) == (100, 75)


def test_out_of_task_detection_by_hand():
    # The first head doubts one of the two others more, the second both: 0.75 and 1; "earlier" is
    # the second's.
    whole, earlier, later = certainty.out_of_task(FOUND, "entropy")
    assert (whole, earlier, later) == pytest.approx((0.875, 1.0, 0.75))


def test_sure_predictions_by_hand():
    # Own: two of the first head's with 0.99, none of the second's two with 0.8.  Others: one of
    # two, none of two.
    assert certainty.sure(FOUND) == (50, 25)


def measured(folder, row, benchmark, tiny):
    planned = cells.plan((row,), (BENCHMARKS[benchmark],), Choice(1, assignments=tiny, out=folder))
    return cells.measure(planned, False)[0][0]


@pytest.mark.parametrize(("row", "rules"), [(OURS, 3), (REFERENCE, 2)])
def test_every_head_predicts_all_test_examples(row, rules, tmp_path, tiny):
    m = measured(tmp_path, row, "split-glyphs", tiny)
    found = certainty.predicted(m)
    stream = make_stream(m.cell.config)
    assert len(found.heads) == 3 and found.tasks.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    assert len(found.rules) == rules and found.names == ("A/B", "C/D", "E/F")
    for t, (probabilities, labels) in enumerate(found.own()):
        np.testing.assert_array_equal(labels, stream[t].y_test)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    accuracies = [metrics.accuracy(*own) for own in found.own()]
    # ours draws other weights for more examples
    if row is REFERENCE:
        assert 100 * np.mean(accuracies) == pytest.approx(findings.final_accuracy(m))
    told = certainty.inferred(found, found.tasks)
    assert told == (100, pytest.approx(100 * np.mean(accuracies)))


class Models:
    """A learner of images whose model of class c lies on an axis of its own."""

    def latent_model(self, label):
        return LinearModel(3.0 * np.eye(16)[[label]], 0.3, prior_mean=1.0)


def test_the_task_under_whose_classes_an_image_is_most_probable(tmp_path, tiny, monkeypatch):
    supervised = measured(tmp_path, OURS, "split-glyphs", tiny)
    stream = make_stream(supervised.cell.config)
    found = certainty.predicted(supervised)
    monkeypatch.setattr(certainty, "learner", lambda m: Models())
    (cell,) = cells.plan((certainty.IMAGES,), (BENCHMARKS["vae-glyphs"],), Choice(1, out=tmp_path))
    pairs = groups_of(supervised.cell.config)
    with_head, alone = certainty.by_images(cells.Measured(cell, {}), found, stream, pairs)
    # the bright pixel is the class
    assert with_head[0] > 90 and alone[0] > 90 and alone[1] > 90
    assert with_head[1] == pytest.approx(certainty.inferred(found, found.tasks)[1], abs=10)


@pytest.mark.slow(reason="trainings of several rows")
def test_generative_models_learn_the_same_images_class_by_class(tmp_path, tiny, capsys):
    small = {
        "hidden": "8",
        "latent": "2",
        "epochs": "1",
        "finetune_epochs": "1",
        "batch": "50",
        "latent_alpha": "200",
        "alpha": "200",
    }
    texts = [
        f"--set={key}={text}"
        for key, text in tiny.items()
        if "independent" not in key and key != "tasks"
    ]
    texts += [f"--set=vae_npbcl.{key}={text}" for key, text in small.items()]
    code = main(
        [
            "reproduce",
            "without-task-names",
            "--out",
            str(tmp_path),
            "--quick",
            "--datasets",
            "glyphs",
            "--methods",
            "npbcl,generative",
            *texts,
        ]
    )
    assert (code, capsys.readouterr().err) == (0, "")
    table = json.loads(
        (tmp_path / "without-task-names-quick" / "table.json").read_text(encoding="utf-8")
    )
    assert [(cell["row"], cell["benchmark"]) for cell in table["cells"]] == [
        ("npbcl", "split-glyphs"),
        ("generative", "vae-glyphs"),
    ]
    rows = {
        entry["row"]: entry["values"][0]
        for entry in table["tables"][0]["entries"]
        if entry["column"] == "class"
    }
    assert set(rows) == {
        "ours, told the task",
        *(f"ours, {rule}" for rule in certainty.RULES),
        *certainty.BY_IMAGES,
    }
    assert all(0 <= value <= 100 for value in rows.values())
    assert rows["ours, entropy"] == rows["ours, confidence"] <= rows["ours, told the task"]


@pytest.mark.slow(reason="trainings of several rows")
def test_links_are_compared_on_the_same_tasks_with_their_log_likelihood(tmp_path, tiny, capsys):
    texts = [f"--set={key}={text}" for key, text in tiny.items() if "." not in key]
    arguments = ["--seeds", "1", "--datasets", "glyphs", "--out", str(tmp_path)]
    assert main(["reproduce", "links", *texts, *arguments]) == 0
    capsys.readouterr()
    table = json.loads((tmp_path / "links" / "table.json").read_text(encoding="utf-8"))
    (one,) = table["tables"]
    values = {(entry["row"], entry["column"]): entry["values"][0] for entry in one["entries"]}
    used = {cell["row"]: cell["settings"]["likelihood"] for cell in table["cells"]}
    assert used == {f"npbcl-{link}": link for link in ("softmax", "logistic", "probit")}
    for row in certainty.LINKS:
        m = measured(tmp_path, row, "split-glyphs", tiny)
        own = certainty.predicted(m).own()
        nll = np.mean([-np.log(p[np.arange(len(y)), y]).mean() for p, y in own])
        assert values[row.label, "NLL"] == pytest.approx(nll)
        assert values[row.label, "accuracy"] == pytest.approx(findings.final_accuracy(m))
        assert 0 <= values[row.label, "ECE"] <= 100 and 0 <= values[row.label, "Brier"] <= 2
