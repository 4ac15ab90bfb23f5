"""Values that are put into a watched run, and the places of a tree."""

import ast
import importlib

import numpy as np

from ibpcl.codeview.syntax import Code, children_of, names_in, putting, read, statements_in

X = np.array([1.0, 2.0])


def scaled(x):
    total = x.sum()
    return x / total


def number_of(code, text):
    """Return the number of the place with a source text."""
    (number,) = (n for n, place in enumerate(code.places) if place.text == text)
    return number


def test_a_value_that_is_put_in_replaces_that_of_its_place():
    code = Code(scaled)
    hook = putting({number_of(code, "total"): [np.float64(10.0)]})
    assert np.array_equal(code.watched()(hook)(X), X / 10)


def test_a_value_is_put_in_once_for_each_evaluation():
    code = Code(scaled)
    function = code.watched()(putting({number_of(code, "total"): [np.float64(10.0)]}))
    function(X)
    assert np.array_equal(function(X), X / 3)


def test_a_value_of_another_shape_is_not_put_in():
    code = Code(scaled)
    hook = putting({number_of(code, "total"): [np.ones(2)], number_of(code, "x / total"): ["text"]})
    assert np.array_equal(code.watched()(hook)(X), X / 3)


def test_a_function_without_source_cannot_be_read():
    assert read(np.sin, lambda f: f(1.0)) is None
    assert list(read(scaled, lambda f: f(X)).trees) == ["scaled"]


def test_statements_of_both_branches_have_their_places():
    tree = ast.parse("if a:\n    b = c\nelse:\n    d = 1\n")
    found = {(ast.unparse(node), field) for node, _, field, _ in statements_in(tree)}
    assert {("b = c", "body"), ("d = 1", "orelse")} <= found
    for node, parent, field, index in statements_in(tree):
        assert (node, field, index) in list(children_of(parent))


def test_names_that_are_read_and_stored_differ():
    tree = ast.parse("y = x + y")
    assert names_in(tree) == {"x", "y"} and names_in(tree, ast.Store) == {"y"}


def layer_with_helpers(tmp_path, monkeypatch, beginning, body, own=""):
    """Return the code of a layer that calls a helper of a helper in another file."""
    monkeypatch.syspath_prepend(tmp_path)
    name = f"code_of_{tmp_path.name}"
    tools = (
        f"{beginning}\n\ndef inner(x):\n    return {body}\n\ndef outer(x):\n    return inner(x)\n"
    )
    (tmp_path / f"{name}_tools.py").write_text(tools)
    layer = f"import {name}_tools as tools\n{own}\n\ndef layer(x):\n    return tools.outer(x)\n"
    (tmp_path / f"{name}.py").write_text(layer)
    return Code(importlib.import_module(name).layer)


def test_a_helper_of_a_helper_in_another_file_finds_the_names_of_its_file(tmp_path, monkeypatch):
    code = layer_with_helpers(tmp_path, monkeypatch, "from math import prod", "prod(x)")
    assert len(code.trees) == 3 and "inner" in code.trees
    assert code.compile()([2, 3]) == 6


def test_a_name_with_another_meaning_in_the_own_file_leaves_a_helper_as_it_is(
    tmp_path, monkeypatch
):
    code = layer_with_helpers(tmp_path, monkeypatch, "SCALE = 2", "SCALE * x", own="SCALE = 5")
    assert len(code.trees) == 2 and "inner" not in code.trees
    assert code.compile()(3) == 6
