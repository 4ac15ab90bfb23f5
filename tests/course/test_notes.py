"""Notes for instructors name planted mistakes, and their demonstrations run."""

import contextlib
import copy
import io

import pytest

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.course import notes
from ibpcl.errors import UserError


@pytest.mark.parametrize("name", names())
def test_every_assignment_has_notes(name):
    page = notes.page(name)
    assert page.count("\nAsk: ") == 3
    assert "## A question for discussion" in page


@pytest.mark.parametrize("name", names())
def test_the_demonstration_runs_and_shows_something(name):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(notes.program(notes.read(name)), {"__name__": "__main__"})
    assert printed.getvalue().strip()


def spoiled(change):
    table = copy.deepcopy(notes.read("01_gaussian_weights"))
    change(table)
    return table


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda t: t["mistake"].pop(), "three mistakes"),
        (lambda t: t["mistake"][0].update(planted="a slip that is not planted"), "not planted"),
        (lambda t: t["mistake"][0].update(ask=""), "ask"),
        (lambda t: t["discussion"].update(question="Say something."), "question"),
        (lambda t: t["demonstration"]["step"].pop(), "10 minutes"),
    ],
)
def test_incomplete_notes_are_refused(change, word):
    with pytest.raises(UserError, match=word):
        notes.checked(spoiled(change), find("1"))


def test_the_demonstrations_show_what_their_text_says(capsys):
    """The numbers behind the words "almost ten times", "the mean settles", "the same place"."""
    exec(notes.program(notes.read("06_the_elbo")), {})
    wide = [float(line.split()[2]) for line in capsys.readouterr().out.splitlines()]
    assert 9 < wide[1] / wide[0] < 10
    exec(notes.program(notes.read("03_masks")), {})
    rows = [list(map(float, line.split())) for line in capsys.readouterr().out.splitlines()[3:]]
    assert abs(rows[-1][1] - rows[-2][1]) < 0.02 and rows[-1][2] > 2 * rows[-2][2]
    exec(notes.program(notes.read("08_the_referee")), {})
    plain, adam = (line.split()[1:] for line in capsys.readouterr().out.splitlines())
    assert abs(float(adam[0]) - float(adam[1])) < 1e-6 < abs(float(plain[0]) - float(plain[1]))
