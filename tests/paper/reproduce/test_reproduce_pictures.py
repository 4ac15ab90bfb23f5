"""Pictures of several rows are whole, and a row looks the same in all panels and unlike any
other.
"""

import itertools
import math

import numpy as np
import pytest
from quick import quick

from ibpcl.evaluation import figures
from ibpcl.experiments import tables
from ibpcl.experiments.tables import Entry, Printed
from ibpcl.paper.reproduce import natural, pictures
from ibpcl.paper.reproduce.rows import REFERENCE, method_rows

pytestmark = pytest.mark.usefixtures("no_figures")

# of the target with most
LABELS = [tables.shown(row.label) for row in method_rows(REFERENCE)]
RNG = np.random.default_rng(0)
MASKS = [RNG.random((16, 5)) < 0.4 for _ in range(5)]


def draw_curves(ax, labels=LABELS):
    R = np.where(np.tri(5, dtype=bool), 0.7, np.nan)
    pictures.curves(
        {label: [R + 0.3 * i / len(labels)] for i, label in enumerate(labels)},
        ax,
        "Split MNIST",
        [(labels[0], 60.0)],
    )


def draw_bands(ax, labels=LABELS):
    lines = {label: RNG.uniform(60, 90, (2, 5)) for label in labels}
    pictures.bands(lines, ax, [1, 2, 3, 4, 5], "tasks learned", "test accuracy (%)", "task 1")


def draw_shares(ax):
    figures.share_used(MASKS, ax=ax)


def looks(ax):
    """Return the look of each line in the legend, by name."""
    return {
        line.get_label(): (line.get_color(), line.get_marker(), line.get_linestyle())
        for line in ax.get_legend_handles_labels()[0]
    }


@pytest.mark.parametrize(
    ("draw", "count"),
    quick(
        ["draw_curves-1", "draw_curves-4", "draw_bands-3", "draw_shares-2"],
        itertools.product([draw_curves, draw_bands, draw_shares], [1, 2, 3, 4]),
        "each kind of panel and each number of panels is there",
        name=lambda case: f"{case[0].__name__}-{case[1]}",
    ),
)
def test_nothing_of_panels_and_their_legend_is_cut_off_or_overlaps(draw, count):
    axes = pictures.panels(count)
    for ax in axes:
        draw(ax)
    pictures.one_legend(axes)
    figure = axes[0].figure
    figure.set_dpi(150)  # a saved file's
    figure.draw_without_rendering()
    (legend,) = figure.legends
    boxes = [legend.get_window_extent(), *(ax.get_tightbbox() for ax in axes)]
    for i, box in enumerate(boxes):
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[:i])
    assert [text.get_text() for text in legend.get_texts()] == axes[0].get_legend_handles_labels()[
        1
    ]
    # of 62 mm a panel
    assert min(ax.get_window_extent().height for ax in axes) > 40 / 25.4 * figure.dpi


def test_a_legend_has_no_more_rows_than_it_needs():
    heights = []
    for count, labels in ((1, LABELS), (2, LABELS), (1, list("abc"))):
        axes = pictures.panels(count)
        draw_curves(axes[0], labels)
        pictures.one_legend(axes)
        (legend,) = axes[0].figure.legends
        heights.append(
            legend.get_window_extent().height / legend.get_texts()[0].get_window_extent().height
        )
    # in heights of a name: the last is one row
    assert len(LABELS) > heights[0] > 1.5 * heights[1] and heights[2] < 3


def test_panels_without_lines_have_no_legend():
    axes = pictures.panels(2)
    pictures.one_legend(axes)
    assert not axes[0].figure.legends


@pytest.mark.parametrize("draw", [draw_curves, draw_bands])
def test_every_row_of_a_figure_has_its_own_look(draw):
    ax = pictures.panels(1)[0]
    draw(ax)
    assert list(looks(ax)) == LABELS and len(set(looks(ax).values())) == len(LABELS)


@pytest.mark.parametrize("draw", [draw_curves, draw_bands])
def test_a_row_that_a_panel_lacks_leaves_the_looks_of_the_others(draw):
    whole, part = pictures.panels(2)
    draw(whole)
    draw(part, [*LABELS[3:], "new"])
    assert looks(part).items() - looks(whole).items() == {("new", looks(part)["new"])}
    assert looks(part)["new"] not in looks(whole).values()


def test_what_the_paper_prints_has_the_colour_and_the_marker_of_its_row_but_hollow():
    whole, part = pictures.panels(2)
    draw_curves(whole)
    draw_curves(part, LABELS[3:])
    (mark,) = (line for line in part.lines if line.get_markerfacecolor() == "white")
    assert (mark.get_color(), mark.get_marker()) == looks(part)[LABELS[3]][:2]
    assert mark.get_linestyle() == "None"


def test_a_table_has_a_line_for_each_row_and_a_mark_for_each_column():
    table = [
        Entry("a", "x", (1.0, 3.0)),
        Entry("a", "y", (5.0,)),
        Entry("b", "y", (6.0,)),
        Entry("c", "x", (math.nan,)),
    ]
    ax = pictures.compare(table, pictures.panels(1)[0])
    marks = {group.get_label(): group.lines[0].get_xydata().tolist() for group in ax.containers}
    assert marks == {"x": [[2.0, 0.0]], "y": [[5.0, 0.0], [6.0, 1.0]]}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]


def test_the_legend_of_one_column_names_what_is_beside_printed_numbers():
    alone = pictures.compare([Entry("a", "x", (1.0,))], pictures.panels(1)[0])
    assert alone.get_legend_handles_labels()[1] == []
    printed = Printed(2.0, None, "Sec. 6")
    beside = pictures.compare([Entry("a", "x", (1.0,), printed=printed)], pictures.panels(1)[0])
    assert beside.get_legend_handles_labels()[1] == ["here", "paper"]


def test_an_optimizer_has_a_line_through_its_means_and_a_point_for_each_seed():
    axes = np.ravel(pictures.panels(1))[0]
    few, many = [(1.0, 90.0), (3.0, 92.0)], [(4.0, 95.0), (6.0, 99.0)]
    natural.against_time(axes, "Adam", [few, many])
    means, seeds = axes.lines
    np.testing.assert_array_equal(means.get_xydata(), [(2, 91), (5, 97)])
    np.testing.assert_array_equal(seeds.get_xydata(), few + many)
    assert seeds.get_color() == means.get_color() and seeds.get_linestyle() == "None"
    assert [text.get_text() for text in axes.legend().texts] == ["Adam"]
