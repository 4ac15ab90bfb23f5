"""Every hand-in in ``attacks/`` fails in words: no points, no crash, no hang, nothing written, read
or sent.

The first line of each says what it is added to (the stub, or the reference), in which variant, the
most points it may earn, and what the feedback and the teacher's flags must say; perhaps what the
feedback must never say, the seconds of one call, and what the box must have here (``needs: tree``).
Names between ``@`` are filled in when it is judged: the path of a neighbour's file, or the text of
the package's own derivations, which is not committed a second time.
"""

import re
from pathlib import Path

import pytest
from attacking import SECRET, attempt, has_tree, header

from ibpcl.classroom.judging.running import client, parallel
from ibpcl.sandbox import boxes

FOLDER = Path(__file__).with_name("attacks")
HERE = "none"  # in this process, see the fixture ``judged_here``
SECONDS = 180  # less than the 200 s that a hand-in with these limits may wait in all
# The security model's attacks, row by row, and the hand-ins that try them.
TABLE = {
    "imports of the package": [
        "imports_the_package",
        "imports_the_package_by_a_back_door",
        "reads_the_reference",
        "packs_its_code",
    ],
    "pasted package source, a neighbour's file": ["pastes_the_package", "copies_a_neighbour"],
    "sys.exit, os._exit, fork, threads left behind": [
        "raises_system_exit",
        "exits",
        "exits_on_loading",
        "crashes_the_interpreter",
        "forks",
        "starts_a_program",
        "kills_the_judge",
        "leaves_threads_behind",
        "calls_in_32_bits",
    ],
    "a judge that is kept waiting": [
        "stops_itself",
        "closes_its_pipes",
        "answers_byte_by_byte",
        "loads_slowly",
    ],
    "patched numpy, harness, frames, gc": [
        "patches_numpy",
        "replaces_the_worker",
        "looks_at_the_harness",
    ],
    "rigged objects": ["returns_rigged_objects", "returns_rubbish"],
    "a forged result": ["forges_answers", "sends_a_huge_frame", "writes_a_file"],
    "output floods": ["floods_the_output", "answers_with_megabytes", "answers_with_many_gradients"],
    "a teacher's terminal": [
        "writes_to_the_terminal",
        "writes_to_the_terminal_on_loading",
        "tells_the_teachers_folders",
    ],
    "learned inputs": ["learned_inputs"],
    "loop, memory, fork bomb": [
        "loops_for_ever",
        "takes_all_memory",
        "recurses",
        "forks",
        "starts_threads",
    ],
    "network, environment, other files": [
        "uses_the_network",
        "reads_the_environment",
        "reads_another_hand_in",
        "lists_files",
        "changes_modes",
        "watches_a_folder",
        "asks_about_a_file",
    ],
    "hidden values in feedback": [
        "leaks_hidden_inputs",
        "leaks_by_the_name_of_an_exception",
        "leaks_by_the_number_of_gradients",
        "leaks_by_the_exit_code",
        "leaks_by_the_line",
    ],
    "no derivation": [
        "differentiates_numerically",
        "forward_of_zero",
        "passes_the_cotangent_on",
        "is_not_python",
        "proves_by_another_name",
        "skips_large_inputs",
    ],
}
ATTACKS = sorted({name for names in TABLE.values() for name in names})
WHY_NOT = {box: client.probe(box) for box in ("bubblewrap", "landlock")}
# What the test command tries: in the first box that works here, attacks on each limit of a box; and
# in this process, attacks on the marks alone.
ON_THE_BOX = {"exits", "forges_answers", "loops_for_ever", "patches_numpy", "uses_the_network"}
ON_THE_MARKS = {
    "differentiates_numerically",
    "imports_the_package",
    "leaks_hidden_inputs",
    "learned_inputs",
    "pastes_the_package",
    "raises_system_exit",
    "returns_rigged_objects",
    "writes_to_the_terminal",
}
USUAL = next((box for box in WHY_NOT if not WHY_NOT[box]), None)
HAS_TREE = {
    "bubblewrap": True,
    "landlock": has_tree("landlock") if not WHY_NOT["landlock"] else False,
}


def tried(name, box):
    """Return one case: skipped, with the reason, in a box that does not work here."""
    marks = [pytest.mark.skipif(bool(WHY_NOT[box]), reason=f"{box}: {WHY_NOT[box]}")]
    if header(FOLDER / f"{name}.py").get("needs") == "tree" and not HAS_TREE[box]:
        marks.append(pytest.mark.skip(reason=f"{box}: no file tree of its own here"))
    if name in ON_THE_BOX and box == USUAL:
        marks.append(pytest.mark.processes(reason="it attacks the box"))
    else:
        marks.append(pytest.mark.slow(reason="a process; attacks of each kind are quick"))
    return pytest.param(name, box, marks=marks, id=f"{name}-{box}")


@pytest.mark.parametrize("row", TABLE)
def test_every_row_of_the_table_is_tried(row):
    for name in TABLE[row]:
        assert {"base", "most", "expect"} <= set(header(FOLDER / f"{name}.py")), name


def test_every_hand_in_belongs_to_a_row():
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == ATTACKS


@pytest.fixture(scope="module")
def attempts(request, tmp_path_factory):
    """Judge all slow attacks that were asked for, several at the same time: {(name, box):
    Attempt}.
    """
    asked = [
        (item.callspec.params["name"], item.callspec.params["box"])
        for item in request.session.items
        if item.function is test_attack_fails_in_words and any(item.iter_markers("slow"))
    ]
    asked = [(name, box) for name, box in asked if not WHY_NOT[box]]
    jobs = [(FOLDER / f"{name}.py", box, tmp_path_factory.mktemp(name)) for name, box in asked]
    return dict(zip(asked, parallel.over(attempt, jobs), strict=True))


CASES = [
    *(tried(name, box) for name in ATTACKS for box in WHY_NOT),
    *(pytest.param(name, HERE, id=f"{name}-{HERE}") for name in sorted(ON_THE_MARKS)),
]


@pytest.mark.parametrize(("name", "box"), CASES)
def test_attack_fails_in_words(name, box, attempts, tmp_path):
    made = attempts.get((name, box)) or attempt((FOLDER / f"{name}.py", box, tmp_path))
    assert re.search(made.expected, made.told), made.told
    assert made.score is None or made.score <= made.most, made.told
    assert not made.reason.startswith("the judge failed"), made.reason
    assert made.seconds < SECONDS
    assert not made.never or not re.search(made.never, made.told + made.exported), made.told
    assert all(each.isprintable() or each == "\n" for each in made.told + made.exported), repr(
        made.told
    )
    assert SECRET not in made.everything
    assert "LEAK" not in made.shown and "FOUND" not in made.told
    assert not made.changed and not made.connected
    if made.flag:
        assert any(made.flag in each for each in made.flags), made.flags


def test_without_a_box_grading_is_refused_and_the_risk_is_told():
    with pytest.raises(
        Exception, match=r"no sandbox works here .*`sandbox`.*it can read the course key"
    ):
        boxes.choose("auto", lambda name: "not here")
    assert boxes.choose("none") == "none"
