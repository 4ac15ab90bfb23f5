"""The table of slips: it names wrong code, and read backwards it plants mistakes in right code."""

import ast
import contextlib

import numpy as np
import pytest

from ibpcl.codeview.edits import Everything, edits_of
from ibpcl.codeview.planting import SENTENCES, planted
from ibpcl.codeview.search import search
from ibpcl.codeview.syntax import Code, Recording

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))
W = RNG.normal(size=(4, 5))


def rescale(x, w):
    return 2 * np.exp(-x) @ w / 3


def source_of(function):
    code = Code(function)
    return code, code.trees[code.name]


def last_axis_first(x, w):
    return np.exp(np.moveaxis(x, -1, 0)) * w


def planted_texts(function=rescale):
    _, tree = source_of(function)
    texts = {}
    for edit in planted(tree):
        undo = edit.swap()
        texts.setdefault(ast.unparse(tree).partition("return ")[2], edit.kind)
        undo.swap()
    return texts


def test_planted_mistakes_are_the_usual_ones():
    texts = planted_texts()
    assert texts["2 * np.exp(x) @ w / 3"] == "sign"
    assert texts["np.exp(-x) @ w / 3"] == "elementwise_factor"
    assert texts["2 * np.exp(-x) @ w"] == "elementwise_factor"
    assert texts["2 * -x @ w / 3"] == "other_function"
    assert texts["2 * np.exp(-x) @ w / 4"] == "constant_factor"
    assert texts["2 * np.exp(-w) @ w / 3"] == "other_quantity"
    assert "2 * np.exp(-x) @ w / 3" not in texts
    assert set(texts.values()) <= set(SENTENCES)


def test_axes_that_are_not_moved_stand_in_another_order():
    texts = planted_texts(last_axis_first)
    assert texts["np.exp(x) * w"] == "transposed"
    assert texts["np.moveaxis(x, -1, 0) * w"] == "other_function"


def plus(x, w):
    return 2 * np.exp(x) @ w / 3


def no_division(x, w):
    return 2 * np.exp(-x) @ w * 3


def other_number(x, w):
    return 1 * np.exp(-x) @ w / 3


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [(plus, "sign"), (no_division, "elementwise_factor"), (other_number, "constant_factor")],
)
def test_the_search_finds_the_edit_that_makes_the_values_right(wrong, kind):
    code = Code(wrong)
    edits = edits_of(code, Recording(code, lambda f: f(X, W)), Everything())
    found = []

    def reached(edit, function):
        try:
            fits = np.allclose(function(X, W), rescale(X, W))
        except ValueError:  # shapes that do not fit
            return False
        found.extend([edit] if fits else [])
        return fits

    search(code, edits, reached, lambda edit: False)
    assert [edit.kind for edit in found] == [kind]
    assert np.array_equal(code.compile()(X, W), wrong(X, W))  # the edit was undone


def test_the_budget_ends_the_search():
    code = Code(plus)
    edits = edits_of(code, Recording(code, lambda f: f(X, W)), Everything())
    tried = []
    left = search(code, edits, lambda edit, f: tried.append(edit), lambda edit: len(tried) == 3)
    assert len(tried) == 3 and left == edits[3:]


def test_a_row_can_be_added():
    code = Code(other_number)
    recording = Recording(code, lambda f: f(X, W))
    row = (0.1, "sign", "exp(A)", "exp(2 * A)", "the argument must be doubled")
    plain, more = (edits_of(code, recording, Everything(), rows) for rows in ((), (row,)))
    assert len(more) == len(plain) + 1
    assert any("np.exp(2 * -x)" in edit.words() for edit in more)


def scattered(d, i, p):
    d = d.copy()
    d[:, i] = p
    return d


@pytest.mark.parametrize(("shape", "tried"), [((3, 2), True), ((2, 3, 2), False)])
def test_values_are_added_at_indices_only_where_they_fit(shape, tried):
    """NumPy's ``add.at`` reads beyond the end of values with too many axes, and may end Python."""
    code = Code(scattered)

    def run(function):
        with contextlib.suppress(ValueError):
            function(np.zeros((3, 4)), np.array([1, 1]), np.ones(shape))

    texts = []
    for edit in edits_of(code, Recording(code, run), Everything()):
        undo = edit.swap()
        texts.append(ast.unparse(code.trees[code.name]))
        undo.swap()
    found = [text for text in texts if "add.at" in text]
    assert bool(found) == tried
    assert all("np.add.at(d, (slice(None, None), i), p)" in text for text in found)
