"""A method looks the same in every figure, and unlike every other."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.evaluation import figures
from ibpcl.evaluation.figures.method_looks import METHODS, OTHERS, method_looks, method_of
from ibpcl.methods import GENERATIVE
from ibpcl.methods import METHODS as NAMES
from ibpcl.paper.reproduce import pictures
from ibpcl.paper.reproduce.rows import GENERATIVE_ROWS, REFERENCE, REFERENCE_HE, method_rows

ROWS = method_rows(REFERENCE, REFERENCE_HE)
# labels of methods, of their variants, and of anything else
LABELS = st.sampled_from([*NAMES, *(row.label for row in ROWS), "ours, from 50 units"]) | st.text()
KEYS = ("color", "marker", "linestyle")


def three(look):
    return tuple(look[key] for key in KEYS)


def test_every_method_has_a_fixed_look():
    assert METHODS.keys() == NAMES.keys()


@pytest.mark.parametrize("row", [*ROWS, *GENERATIVE_ROWS], ids=lambda row: row.label)
def test_every_label_of_a_row_names_its_method(row):
    method, variant = method_of(row.label)
    assert method == row.method.removeprefix("vae_")
    assert bool(variant) == (row.label.count(",") == 1)


@pytest.mark.parametrize("name", [*NAMES, *GENERATIVE])
def test_every_name_of_a_method_names_it(name):
    assert method_of(name) == (name.removeprefix("vae_"), "")


def test_any_two_methods_differ_in_colour_and_in_marker_or_dashes():
    for one, other in itertools.combinations([*METHODS.values(), *OTHERS], 2):
        assert one.color != other.color and one[1:] != other[1:]


@pytest.mark.slow(reason="draws the lines of all methods")
@given(st.lists(LABELS, max_size=12, unique=True))
def test_lines_of_a_figure_differ_and_known_methods_have_their_look(labels):
    looks = method_looks(labels)
    assert list(looks) == labels
    assert len({three(look) for look in looks.values()}) == len(labels)
    plain = set()
    for label, look in looks.items():
        method, variant = method_of(label)
        if method is None:
            assert look["color"] != METHODS["npbcl"].color
        else:
            assert look["color"] == METHODS[method].color
            if not variant and method not in plain:
                assert three(look) == METHODS[method]
                plain.add(method)
        assert (look.get("linewidth", 0) > 0) == (three(look) == METHODS["npbcl"])


@given(st.lists(LABELS, max_size=6, unique=True), st.permutations(list(NAMES)))
def test_the_look_of_a_method_does_not_depend_on_the_others(labels, names):
    looks = method_looks([*labels, *names])
    for name in names:
        if not {method_of(label)[0] for label in labels} & {name}:
            assert three(looks[name]) == METHODS[name]


def test_a_coreset_looks_the_same_in_every_figure():
    many = method_looks(["ours", "ours, same search", "ours, coreset"])
    assert many["ours, coreset"] == method_looks(["ours, coreset"])["ours, coreset"]
    assert len({three(look) for look in many.values()}) == 3


def test_forty_unknown_names_all_differ_and_none_has_the_colour_of_ours():
    looks = method_looks([f"mine {i}" for i in range(40)])
    assert len({three(look) for look in looks.values()}) == 40
    assert METHODS["npbcl"].color not in {look["color"] for look in looks.values()}


def test_figures_draw_methods_with_their_looks():
    R = np.where(np.tri(3, dtype=bool), 0.7, np.nan)
    compared = figures.method_comparison({"mine": R, "ewc": R, "npbcl": R})
    curves, bands = pictures.panels(2)
    pictures.curves({"EWC": [R], "ours": [R]}, curves, None, [("ours", 60.0)])
    values = np.full((2, 3), 70.0)
    pictures.bands({"VCL": values, "EWC": values, "ours": values}, bands, [1, 2, 3], None, None)
    for ax, ours, ewc in (
        (compared, "npbcl", "ewc"),
        (curves, "NPBCL", "EWC"),
        (bands, "NPBCL", "EWC"),
    ):
        handles, names = ax.get_legend_handles_labels()
        drawn = dict(zip(names, handles, strict=True))
        for name, method in ((ours, "npbcl"), (ewc, "ewc")):
            line = drawn[name]
            look = (line.get_color(), line.get_marker(), line.get_linestyle())
            assert look == METHODS[method]
        assert drawn[ours].get_linewidth() > drawn[ewc].get_linewidth()
        assert drawn[ours].get_zorder() > drawn[ewc].get_zorder()
