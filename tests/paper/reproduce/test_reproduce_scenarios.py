"""The target about the three scenarios: what each column measures, and which runs it shares."""

import json

import numpy as np
import pytest

from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.evaluation import metrics
from ibpcl.experiments import cells, findings
from ibpcl.experiments.benchmarks import BENCHMARKS
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.streams import make_stream
from ibpcl.methods import ABOUT, METHODS
from ibpcl.models.likelihoods import mean_over_samples
from ibpcl.paper.reproduce import certainty, scenarios
from ibpcl.paper.reproduce.rows import EXACT, OURS
from ibpcl.paper.reproduce.target import KINDS

pytestmark = pytest.mark.usefixtures("no_figures")


def measured(folder, row, benchmark, tiny):
    planned = cells.plan((row,), (BENCHMARKS[benchmark],), Choice(1, assignments=tiny, out=folder))
    return cells.measure(planned, False)[0][0]


def test_every_method_has_a_row():
    rows = KINDS["scenarios"].rows(False)
    assert {row.method for row in rows} == {*METHODS, "vae_npbcl", EXACT.method}


@pytest.mark.slow(reason="trainings of several rows")
def test_the_columns_of_each_method(tmp_path, tiny):
    methods = ("npbcl", "naive", "independent")
    tiny = {key: text for key, text in tiny.items() if key.rpartition(".")[0] in ("", *methods)}
    texts = [f"--set={key}={text}" for key, text in tiny.items()]
    arguments = ["--seeds", "1", "--datasets", "glyphs", "--methods", ",".join(methods), *texts]
    assert main(["reproduce", "scenarios", "--out", str(tmp_path), *arguments]) == 0
    table = json.loads((tmp_path / "scenarios" / "table.json").read_text(encoding="utf-8"))
    (one,) = table["tables"]
    values = {(entry["row"], entry["column"]): entry["values"] for entry in one["entries"]}
    everywhere = ("task", "domain", "class", "class, inferred task")
    assert set(values) == {
        *((row, column) for row in ("naive", "ours") for column in everywhere),
        ("ours, mask known", "domain"),
        *(("independent", column) for column in ("task", "class, inferred task")),
    }
    assert all(0 <= value <= 100 for (value,) in values.values())
    results = {
        (cell["row"], cell["benchmark"]): json.loads(
            (tmp_path / "scenarios" / cell["folder"] / "result.json").read_text(encoding="utf-8")
        )
        for cell in table["cells"]
    }
    for row, column, name in (
        ("naive", "task", "naive"),
        ("naive", "domain", "naive"),
        ("naive", "class", "naive"),
        ("ours, mask known", "domain", "npbcl"),
        ("ours", "class", "npbcl"),
    ):
        prefix = {"task": "split"}.get(column, column)
        final = 100 * results[name, f"{prefix}-glyphs"]["average_accuracy"]
        assert values[row, column] == [pytest.approx(final)]
    assert (tmp_path / "scenarios" / "scenarios.png").exists()
    # other targets share its runs
    shared = {"assignments": tiny, "out": tmp_path}
    for row in KINDS["accuracy"].rows(False):
        for name in ("split-glyphs", "domain-glyphs"):
            if (row.key, name) in results:
                (cell,) = cells.plan((row,), (BENCHMARKS[name],), Choice(1, **shared))
                m = cells.finished(cell)
                assert m is not None
                if row.key == "npbcl":  # the mask is inferred, and so is the head
                    column = {"split-glyphs": "class, inferred task"}.get(name, "domain")
                    assert values["ours", column] == [scenarios.without_task.__wrapped__(m)]


def test_each_row_is_run_where_its_method_can(tmp_path, tiny, monkeypatch):
    planned = []

    def measure(wanted, *_):
        planned.extend(wanted)
        raise UserError("this test trains nothing")

    monkeypatch.setattr(cells, "measure", measure)
    arguments = ["--datasets", "mnist", "--seeds", "1", "--out", str(tmp_path)]
    assert main(["reproduce", "scenarios", *arguments]) == 2
    of_method = {}
    for cell in planned:
        of_method.setdefault(cell.row.method, set()).add(cell.benchmark.name)
    for name, about in ABOUT.items():
        one_head = {"domain-mnist", "class-mnist"} if "domain" in about.can else set()
        assert of_method[name] == {"split-mnist"} | one_head
    assert of_method["vae_npbcl"] == {"vae-mnist"}
    # a reference names its abilities itself
    assert of_method[EXACT.method] == {"split-mnist", "domain-mnist", "class-mnist"}


def test_with_masks_the_domain_needs_the_right_class_only(tmp_path, tiny, monkeypatch):
    m = measured(tmp_path, OURS, "domain-glyphs", tiny)
    sure, unsure = np.log([0.99, 0.01]), np.log([0.4, 0.6])
    # the first head is surer of the first two, the second of the third
    heads = tuple(
        mean_over_samples(np.array([rows]))
        for rows in ([sure, sure, unsure], [unsure, unsure, sure])
    )
    found = certainty.Predicted(heads, np.array([0, 1, 1]), np.array([0, 0, 1]), (), ())
    monkeypatch.setattr(scenarios, "predicted", lambda m: found)
    scenario = scenarios.without_task.__wrapped__
    assert scenario(m) == pytest.approx(200 / 3)
    task = m._replace(cell=m.cell._replace(benchmark=BENCHMARKS["split-glyphs"]))
    assert scenario(task) == pytest.approx(100 / 3)


def test_the_mask_of_the_class_scenario_is_inferred_by_the_learner(tmp_path, tiny):
    m = measured(tmp_path, OURS, "class-glyphs", tiny)
    learned = findings.learner(m)
    stream = make_stream(m.cell.config)
    accuracies = []
    for t in range(len(stream)):
        task = stream[t]
        told = [learned.predict(task.x_test, s) for s in range(len(stream))]
        for other in told[1:]:
            np.testing.assert_array_equal(told[0], other)
        accuracies.append(metrics.accuracy(told[0], task.y_test))
    assert 100 * np.mean(accuracies) == pytest.approx(findings.final_accuracy(m))


def test_a_table_so_far_may_lack_every_run_with_a_head_per_task(tmp_path, tiny):
    m = measured(tmp_path, OURS, "class-glyphs", tiny)
    results = findings.Results(
        Choice(1, out=tmp_path), (OURS,), (BENCHMARKS["class-glyphs"],), (m,)
    )
    (table,) = scenarios.scenarios.summarize(results).tables
    assert [(entry.row, entry.column) for entry in table.entries] == [("ours", "class")]
