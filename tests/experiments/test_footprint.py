"""What a method stores, and the list of methods."""

import pytest

from ibpcl.cli import main
from ibpcl.cli.methods import size
from ibpcl.experiments.footprint import EXAMPLES, INPUTS, footprint
from ibpcl.methods import ABOUT, METHODS, method

HIDDEN = 4 * (INPUTS + 1) * 200
HEAD = 4 * (200 + 1) * 2


@pytest.mark.parametrize(
    "name, once, per_task",
    [
        ("naive", HIDDEN, HEAD),
        ("independent", 0, HIDDEN + HEAD),
        ("joint", HIDDEN, HEAD + EXAMPLES * (4 * INPUTS + 8)),
        ("rehearsal", HIDDEN, HEAD + 200 * (4 * INPUTS + 8)),
        ("agem", HIDDEN, HEAD + 200 * (4 * INPUTS + 8)),
        ("gem", HIDDEN, HEAD + 200 * (4 * INPUTS + 8)),
        ("ewc", 3 * HIDDEN, HEAD),  # weights, anchor, information
        ("imm", HIDDEN, HEAD + 2 * HIDDEN),  # a solution and an information a task
        ("vcl", 2 * HIDDEN, 2 * HEAD),  # a mean and a scale
        ("bgd", 2 * HIDDEN, 2 * HEAD),
        ("ivon", 2 * HIDDEN, 2 * HEAD),
        ("ucb", 2 * HIDDEN, 2 * HEAD),
        # knowledge base, column, anchor, information
        ("progress", 4 * HIDDEN, HEAD),
        # weights and anchor; two factors of the layer
        ("kronecker", 2 * HIDDEN, HEAD + 4 * ((INPUTS + 1) ** 2 + 200**2)),
        ("hat", HIDDEN, HEAD + 4 * 200),  # the embedding
        ("pruning", HIDDEN + 2 * 200, HEAD),  # the task that took a unit into use
        # Ten units a later task, and how many there are.
        ("den", HIDDEN - 4 * (INPUTS + 1) * 10 - 4 * 60, HEAD + 4 * (INPUTS + 1) * 10 + 4 * 40 + 8),
        # A mean and a scale, and alpha; a bit a hidden weight, a head of both, and the layer's
        # units.
        ("npbcl", 2 * HIDDEN + 8, INPUTS * 200 // 8 + 2 * HEAD + 8),
        # two numbers a scale, of units and of the layer; a bit a unit
        ("horseshoe", 2 * HIDDEN + 2 * 4 * 201, 2 * HEAD + 2 * 4 * 3 + 200 // 8),
        # two sticks a unit; an offset of a task
        ("ibp_vcl", 2 * HIDDEN + 2 * 4 * 200, 2 * HEAD + 4 * 200),
    ],
)
def test_a_method_stores_what_its_equations_say(name, once, per_task):
    found = footprint(name)
    # the list of classes grows by a number a task
    assert found.per_task == pytest.approx(per_task, abs=8)
    assert found.once == pytest.approx(once, abs=8)


def test_every_method_is_described():
    assert set(ABOUT) == set(METHODS)
    for name in METHODS:
        assert method(name).summary.endswith(".") and ABOUT[name].can[0] == "task"
        without = ("independent", "hat", "den", "rcl", "pruning", "m2")
        assert ("domain" in ABOUT[name].can) == (name not in without)


def test_the_command_lists_all_within_80_columns(capsys):
    assert main(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    header = next(i for i, line in enumerate(lines) if line.startswith("method "))
    assert [line.split()[0] for line in lines[header + 1 :] if not line.startswith(" ")] == list(
        METHODS
    )
    row = next(i for i, line in enumerate(lines) if line.startswith("ewc"))
    assert lines[row].split() == ["ewc", "1.88", "MB", "1.62", "KB", "task,", "domain,", "images"]
    assert "Kirkpatrick et al. (2017)" in " ".join(line.strip() for line in lines[row + 1 :])
    assert size(999) == "999 B"
