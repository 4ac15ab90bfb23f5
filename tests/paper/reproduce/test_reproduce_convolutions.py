"""The target about convolutions: fair sizes, and which scenarios it measures."""

import json

import numpy as np
import pytest

from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.experiments import cells
from ibpcl.methods import method
from ibpcl.models.plain import network
from ibpcl.paper.reproduce.target import KINDS

pytestmark = pytest.mark.usefixtures("no_figures")


def test_both_networks_have_as_many_weights_before_the_head():
    rows = KINDS["convolutions"].rows(False)
    by_key = {row.key: row for row in rows}
    convolutions = [row for row in rows if "network" in row.settings]
    assert 2 * len(convolutions) == len(rows)
    for conv in convolutions:
        dense = by_key[conv.key.replace("-conv", "-dense")]
        for row in (dense, conv):
            method(row.method).settings(**row.settings)  # all keys exist
        # nothing but the network differs
        assert conv.settings == {
            **{key: value for key, value in dense.settings.items() if key != "hidden"},
            "network": conv.settings["network"],
        }
        wide = network(784, dense.settings["hidden"], 2)
        deep = network(784, (), 2, line=conv.settings["network"])
        sizes = [
            sum(weight.size for weight, _ in net.weights(np.zeros(net.layout.size))[:-1])
            for net in (wide, deep)
        ]
        assert abs(sizes[0] - sizes[1]) < 1e-3 * sizes[1]


def test_each_stream_has_all_scenarios_that_exist(tmp_path, monkeypatch):
    planned = []

    def measure(wanted, *_):
        planned.extend(wanted)
        raise UserError("this test trains nothing")

    monkeypatch.setattr(cells, "measure", measure)
    assert main(["reproduce", "convolutions", "--seeds", "3", "--out", str(tmp_path)]) == 2
    kind = KINDS["convolutions"]
    wanted = {(cell.row.key, cell.benchmark.name) for cell in planned}
    benchmarks = {
        *(
            f"{family}-{images}"
            for images in ("notmnist", "fashion-mnist")
            for family in ("split", "domain", "class")
        ),
        "permuted-mnist",
        "domain-permuted-mnist",
    }
    assert wanted == {(row, b) for row in kind.shown for b in benchmarks}
    assert {cell.seed for cell in planned} == {0, 1, 2}


@pytest.mark.slow(reason="trains four small networks")
def test_a_second_run_trains_nothing(tmp_path, capsys):
    keys = ("train_limit=40", "test_limit=20", "tasks=2", "epochs=1", "npbcl.finetune_epochs=1")
    arguments = [
        "--datasets",
        "permuted-glyphs",
        "--seeds",
        "1",
        "--methods",
        "npbcl-dense,npbcl-conv",
        *(f"--set={key}" for key in keys),
    ]
    tables = []
    for _ in range(2):
        assert main(["reproduce", "convolutions", "--out", str(tmp_path), *arguments]) == 0
        found = json.loads((tmp_path / "convolutions" / "table.json").read_text("utf-8"))
        tables.append([(cell["folder"], cell["seconds"]) for cell in found["cells"]])
    assert tables[0] == tables[1] and len(tables[0]) == 4
