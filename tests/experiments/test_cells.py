"""Cells: planned, run, used again, resumed, and told apart."""

import dataclasses
import itertools
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from quick import quick

from ibpcl import checkpoints, storage
from ibpcl.data import registry
from ibpcl.data.dataset import DataError
from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments import cells, search
from ibpcl.experiments import run as run_module
from ibpcl.experiments.benchmarks import BENCHMARKS, Row, benchmark, select
from ibpcl.experiments.choice import QUICK, Choice
from ibpcl.experiments.config import configure
from ibpcl.experiments.folder import claimed
from ibpcl.methods.npbcl import NPBCL

GLYPHS = BENCHMARKS["split-glyphs"]
OURS = Row("npbcl", "ours", "npbcl")
OURS_CORESET = Row("npbcl-coreset", "ours, coreset", "npbcl", {"coreset": "random"})
REFERENCE = Row("independent", "independent", "independent")
pytestmark = pytest.mark.usefixtures("small_images", "no_figures")


@pytest.fixture
def planned(tiny):
    """Make the cells of a few small runs under a folder."""

    def plan(folder, rows=(OURS,), seeds=1, benchmarks=(GLYPHS,), assignments=tiny, **options):
        return cells.plan(
            rows, benchmarks, Choice(seeds, assignments=assignments, out=folder, **options)
        )

    return plan


def without_times(values):
    return {key: value for key, value in values.items() if key not in ("seconds", "peak_memory_mb")}


def test_a_plan_has_a_cell_for_each_row_benchmark_and_seed(tmp_path, planned):
    found = planned(tmp_path, (OURS, REFERENCE), 3, (GLYPHS, BENCHMARKS["permuted-glyphs"]))
    assert [(cell.benchmark.name, cell.row.key, cell.config.seed) for cell in found] == [
        (name, key, seed)
        for name in ("split-glyphs", "permuted-glyphs")
        for key in ("npbcl", "independent")
        for seed in range(3)
    ]
    assert len({cell.folder for cell in found}) == 12
    assert {cell.config.stream for cell in found if cell.benchmark.name == "permuted-glyphs"} == {
        "permuted"
    }


def test_a_folder_is_a_function_of_the_configuration_but_not_of_where_the_data_lie(
    tmp_path, planned, tiny
):
    (here,), (there,) = planned(tmp_path), planned(tmp_path, data_dir="elsewhere")
    (other,) = planned(tmp_path, assignments=tiny | {"alpha": "20"})
    assert here.folder == there.folder != other.folder
    assert there.config.data_dir == "elsewhere"


def test_settings_go_to_whom_they_are_for(tmp_path, planned):
    ours, coreset, reference = planned(
        tmp_path,
        (OURS, OURS_CORESET, REFERENCE),
        preset="paper",
        assignments={"alpha": "20", "independent.epochs": "7", "train_limit": "50"},
    )
    assert ours.config.settings.alpha == coreset.config.settings.alpha == 20
    assert coreset.config.settings.coreset == "random" and ours.config.settings.coreset == "none"
    assert reference.config.settings.epochs == 7 != ours.config.settings.epochs
    assert {cell.config.train_limit for cell in (ours, coreset, reference)} == {50}
    assert (ours.config.preset, reference.config.preset) == ("paper", "default")


def test_a_quick_look_is_small_and_the_user_still_wins(tmp_path, planned):
    (ours,) = planned(tmp_path, quick=True, seeds=None, assignments={"epochs": "4"})
    assert (
        ours.config.train_limit == QUICK["train_limit"]
        and ours.config.settings.samples == QUICK["samples"]
    )
    assert ours.config.settings.epochs == 4


def test_finished_cells_are_used_again(tmp_path, planned, monkeypatch):
    one = planned(tmp_path, (OURS, REFERENCE))
    seen = []
    first, failures = cells.measure(one, False, seen.append)
    assert len(first) == len(seen) == 2 and not failures
    monkeypatch.setattr(run_module, "learn_stream", None)  # nothing may be trained
    again, _ = cells.measure(
        planned(tmp_path, (OURS, REFERENCE), data_dir="elsewhere"), False, seen.append
    )
    assert [m.values for m in again] == [m.values for m in first] and len(seen) == 2


@pytest.mark.parametrize("digest", [cells.digest, lambda config: search.digest(config, ())])
def test_a_digest_does_not_depend_on_the_order_of_the_keys(digest):
    config = configure("split-glyphs")
    before = digest(config)
    assert digest(configure("split-glyphs", epochs=3)) != before
    vars(config)["table"] = dict(reversed(config.table.items()))
    assert digest(config) == before


def test_rows_with_one_configuration_share_a_run(tmp_path, planned):
    twin = Row("twin", "twin", "npbcl", {"mask_kl": "bernoulli"})
    measured, _ = cells.measure(planned(tmp_path, (OURS, twin)), False)
    assert [m.cell.row.key for m in measured] == ["npbcl", "twin"]
    assert len(list((tmp_path / "cells").iterdir())) == 1


@pytest.mark.parametrize(
    ("after", "row"),
    quick(
        [f"2-{OURS.key}", f"5-{REFERENCE.key}"],
        itertools.product([2, 5], [OURS, REFERENCE]),
        "both moments and both rows are there",
        name=lambda case: f"{case[0]}-{case[1].key}",
    ),
)
def test_an_interrupted_cell_goes_on_to_the_same_numbers(
    tmp_path, planned, interrupted, row, after
):
    (whole,), _ = cells.measure(planned(tmp_path / "whole", (row,)), False)
    (cell,) = planned(tmp_path / "parts", (row,))
    with interrupted(after), pytest.raises(KeyboardInterrupt):
        cells.measure([cell], False)
    assert cells.finished(cell) is None
    (resumed,), _ = cells.measure([cell], False)
    assert without_times(resumed.values) == without_times(whole.values)
    np.testing.assert_equal(
        checkpoints.load(cell.folder / "learner.npz").arrays,
        checkpoints.load(whole.cell.folder / "learner.npz").arrays,
    )


def test_a_finished_cell_keeps_its_learner_and_no_checkpoint(tmp_path, planned):
    (cell,) = planned(tmp_path)
    cells.measure([cell], False)
    left = {path.name for path in cell.folder.iterdir()}
    assert "learner.npz" in left and not {name for name in left if name.startswith("checkpoint")}


def test_who_keeps_all_data_is_left_out_where_they_are_many():
    joint = Row("joint", "joint", "joint")
    for name, row, assignments, hoards in (
        ("permuted-mnist", joint, {}, True),
        ("permuted-mnist", OURS, {}, False),
        ("split-mnist", joint, {}, False),
        ("permuted-mnist", joint, {"train_limit": "1000"}, False),
    ):
        (cell,) = cells.plan((row,), (BENCHMARKS[name],), Choice(1, assignments=assignments))
        assert cells.hoards(cell) == hoards, (name, row.key)


def test_a_damaged_result_or_checkpoint_costs_time_and_nothing_else(tmp_path, planned):
    (cell,) = planned(tmp_path)
    (first,), _ = cells.measure([cell], False)
    for name in ("result.json", "checkpoint.npz", "checkpoint.npz.previous"):
        (cell.folder / name).write_bytes(b"{")
    with pytest.warns(UserWarning, match=r"result\.json is damaged.*starts again"):
        (again,), _ = cells.measure([cell], False)
    assert without_times(again.values) == without_times(first.values)


def test_a_flipped_digit_in_a_result_does_not_reach_a_table(tmp_path, planned):
    (cell,) = planned(tmp_path)
    (first,), _ = cells.measure([cell], False)
    path = cell.folder / "result.json"
    text = path.read_text()
    path.write_text(text.replace('"backward_transfer": ', '"backward_transfer": 9', 1))
    with pytest.warns(UserWarning, match="its values are not those that were sealed"):
        (again,), _ = cells.measure([cell], False)
    assert without_times(again.values) == without_times(first.values)


def test_cells_of_another_version_are_named(tmp_path, planned, monkeypatch):
    cells.measure(planned(tmp_path), False)
    monkeypatch.setattr("ibpcl.__version__", "9.0")
    with pytest.warns(UserWarning, match=r"1 of the runs was made by ibpcl .*, this is 9\.0"):
        cells.measure(planned(tmp_path), False)


def test_a_run_whose_data_lay_elsewhere_is_replaced_if_it_was_not_finished(tmp_path, planned):
    (cell,) = planned(tmp_path)
    cells.measure([cell], False)
    (cell.folder / "result.json").unlink()
    (moved,), _ = cells.measure(planned(tmp_path, data_dir="elsewhere"), False)
    assert storage.read_toml(cell.folder / "config.toml")["data_dir"] == "elsewhere"
    assert moved.values["average_accuracy"] > 0


def test_what_cannot_be_trained_is_left_out_and_reported(tmp_path, planned, monkeypatch):
    learn = NPBCL.learn

    def failing(self, task, *arguments, **options):
        if self.seed == 1:
            raise TrainingError("no weight is left")
        return learn(self, task, *arguments, **options)

    monkeypatch.setattr(NPBCL, "learn", failing)
    measured, failures = cells.measure(planned(tmp_path, seeds=3), False)
    assert [m.cell.seed for m in measured] == [0, 2]
    assert [(failure.cell.seed, failure.reason) for failure in failures] == [
        (1, "no weight is left")
    ]


def test_missing_data_stop_everything_before_any_training(tmp_path, planned, monkeypatch):
    def none(*arguments):
        raise DataError("mnist: missing")

    one = planned(tmp_path, (OURS,), 1, (GLYPHS, BENCHMARKS["split-mnist"]))
    load = registry.load
    monkeypatch.setattr(
        registry, "load", lambda name, *rest: none() if name == "mnist" else load(name)
    )
    with pytest.raises(UserError, match="mnist: missing"):
        cells.measure(one, False)
    assert not (tmp_path / "cells").exists()


def test_costs_order_the_cells(tmp_path, planned):
    ours, reference = planned(tmp_path, (OURS, REFERENCE), assignments={"samples": "10"})
    assert cells.cost(ours) > cells.cost(reference) > 0
    (more,) = planned(tmp_path, assignments={"samples": "10", "epochs": "50"})
    assert cells.cost(more) > cells.cost(ours)


@pytest.mark.parametrize(
    ("assignments", "words"),
    [
        ({"epoch": "3"}, ["'epoch'", "did you mean 'epochs'"]),
        ({"seed": "3"}, ["`seeds`"]),
        ({"dataset": "mnist"}, ["`datasets`"]),
        ({"preset": "paper"}, ["`preset`"]),
        ({"nobody.epochs": "3"}, ["'nobody'"]),
        ({"independent.samples": "3"}, ["'independent.samples'"]),
        ({"independent.tasks": "3"}, ["every run"]),
    ],
)
def test_keys_that_are_not_to_be_set_are_refused(assignments, words):
    with pytest.raises(UserError) as refused:
        Choice(assignments=assignments)
    assert all(word in str(refused.value) for word in words), refused.value


def test_what_a_row_is_about_cannot_be_set(tmp_path, planned):
    with pytest.raises(UserError, match="'npbcl-coreset' sets coreset"):
        planned(tmp_path, (OURS_CORESET,), assignments={"coreset": "k_center"})


def test_names_of_benchmarks_and_rows():
    for name, full in (
        ("glyphs", "split-glyphs"),
        ("mnist", "split-mnist"),
        ("notmnist", "split-notmnist"),
        ("fashion_mnist", "split-fashion-mnist"),
        ("fashion", "split-fashion-mnist"),
        ("permuted", "permuted-mnist"),
        ("permuted-glyphs", "permuted-glyphs"),
    ):
        assert benchmark(name).name == full
    rows = (OURS, OURS_CORESET, REFERENCE)
    assert [row.key for row in select(rows, ("independent", "npbcl"))] == ["npbcl", "independent"]
    assert select(rows, None) == rows
    many = [Row(f"npbcl-{n}", "", "npbcl", {"epochs": n}) for n in (1, 2)]
    # by method where no row has the name
    assert select([*many, REFERENCE], ("npbcl",)) == tuple(many)
    with pytest.raises(UserError, match="'npbc'; did you mean 'npbcl'"):
        select(rows, ("npbc",))
    with pytest.raises(UserError, match="'cifar'"):
        benchmark("cifar")


def test_a_choice_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Choice().seeds = 3


@pytest.mark.skipif(os.name != "posix", reason="needs locks on folders")
def test_a_cell_that_another_process_is_at_work_on_is_left_to_it(tmp_path, planned, monkeypatch):
    learned = []
    learn = NPBCL.learn
    monkeypatch.setattr(
        NPBCL,
        "learn",
        lambda self, task, *rest, **options: (
            learned.append(self.seed) or learn(self, task, *rest, **options)
        ),
    )
    there = planned(tmp_path, seeds=3)
    with ThreadPoolExecutor() as pool:
        (first,), _ = cells.measure(there[:1], False)
        result = there[0].folder / "result.json"
        content = result.read_bytes()
        result.unlink()  # as if it were still at work
        with claimed(there[0].folder, there[0].config):
            others = pool.submit(cells.measure, there, False)
            while not (there[2].folder / "result.json").exists():
                assert not others.done()
                time.sleep(0.05)
            result.write_bytes(content)
        measured, failures = others.result()
    # three tasks each, the first seed once
    assert learned == [0, 0, 0, 1, 1, 1, 2, 2, 2] and not failures
    assert [m.cell.seed for m in measured] == [0, 1, 2] and measured[0].values == first.values
