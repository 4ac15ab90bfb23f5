"""Figures show their data: lines, bars and images of the returned Axes."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ibpcl.evaluation import figures, metrics, structure
from ibpcl.evaluation.figures import canvas
from ibpcl.evaluation.figures.structure import structured_units

R = np.array([[0.9, np.nan, np.nan], [0.8, 0.95, np.nan], [0.7, 0.9, 0.99]])
RNG = np.random.default_rng(0)
MASKS = [RNG.random((16, 5)) < 0.4 for _ in range(3)]
NAMES = ["A/B", "C/D", "E/F"]
HISTORY = {
    "task": [0, 0, 1, 1],
    "phase": ["masked", "finetune"] * 2,
    "elbo": [-9.0, -5.0, -8.0, -4.0],
    "log_likelihood": [-8.0, -3.0, -5.0, 0.0],
    "kl_masks": [1.0, 2, 3, 4],
}
EACH = [
    lambda **ax: figures.accuracy_curves(R, **ax),
    lambda **ax: figures.accuracy_matrix(R, **ax),
    lambda **ax: figures.method_comparison({"a": [R, R]}, **ax),
    lambda **ax: figures.receptive_fields(MASKS, **ax),
    lambda **ax: figures.share_used(MASKS, **ax),
    lambda **ax: figures.sharing_matrix(MASKS, **ax),
]


def words(ax):
    """Return the names of lines: of the legend, or at their ends."""
    legend = ax.get_legend()
    return [text.get_text() for text in (ax.texts if legend is None else legend.get_texts())]


def test_accuracy_curves_start_when_a_task_is_learned():
    ax = figures.accuracy_curves(R, NAMES)
    assert len(ax.lines) == 4
    for j, line in enumerate(ax.lines[:3]):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(j + 1, 4))
        np.testing.assert_allclose(line.get_ydata(), 100 * R[j:, j])
    np.testing.assert_allclose(ax.lines[3].get_ydata(), 100 * metrics.average_accuracy_so_far(R))
    assert words(ax) == ["A/B  70.00", "C/D  90.00", "E/F  99.00", "mean so far  86.33"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("tasks learned", "test accuracy (%)")
    low, high = ax.get_ylim()
    assert low < 70 and 99 < high < 101
    assert len({line.get_color() for line in ax.lines}) == 4


def test_accuracy_curves_of_many_tasks_name_three():
    ax = figures.accuracy_curves(np.full((30, 30), 0.5))
    assert words(ax) == ["task 1  50.00", "task 16  50.00", "task 30  50.00", "mean so far  50.00"]
    assert len(ax.lines) == 31 and len(ax.get_xticks()) <= 10


def test_names_stand_at_the_ends_of_lines_and_not_on_each_other():
    ax = figures.accuracy_curves(
        np.tril(np.full((6, 6), 0.99)) + np.triu(np.full((6, 6), np.nan), 1)
    )
    heights = sorted(text.xy[1] for text in ax.texts)
    assert (
        len(heights) == 7 and np.diff(heights).min() > 0.06 and heights[0] >= 0 and heights[-1] <= 1
    )
    high = figures.accuracy_curves(R, NAMES).texts[2].xy[1]
    low = figures.accuracy_curves(R, NAMES).texts[0].xy[1]
    assert high > 0.9 and low < 0.1


def test_lines_that_lie_on_each_other_are_drawn_apart():
    ax = figures.accuracy_curves(np.where(np.tri(3, dtype=bool), 0.99, np.nan))
    places = {tuple(line.get_transform().transform((3, 99.0))) for line in ax.lines[:3]}
    assert len(places) == 3
    # where nothing is hidden, nothing is moved
    apart = figures.accuracy_curves(R)
    assert len({tuple(line.get_transform().transform((3, 99.0))) for line in apart.lines[:3]}) == 1


def test_half_a_point_does_not_look_like_a_fall():
    low, high = figures.accuracy_curves(np.array([[0.999, np.nan], [0.994, 0.998]])).get_ylim()
    assert high - low > 5
    figures.accuracy_curves(np.full((3, 3), np.nan))  # nothing known: no limits to choose


def test_accuracy_matrix_shows_and_prints_its_numbers():
    ax = figures.accuracy_matrix(R, NAMES)
    shown = ax.images[0].get_array()
    np.testing.assert_allclose(shown.filled(np.nan), 100 * R)
    printed = {
        (round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts
    }
    assert printed == {(i, j): f"{100 * R[i, j]:.2f}" for i in range(3) for j in range(i + 1)}
    assert ax.images[0].get_clim() == (70, 100)
    assert [t.get_text() for t in ax.get_yticklabels()] == NAMES


def test_accuracy_matrix_of_many_tasks_has_a_colour_bar_instead():
    ax = figures.accuracy_matrix(np.full((12, 12), 0.5))
    assert not ax.texts and len(ax.figure.axes) == 2


def test_nothing_evaluated_yet_is_drawn_empty():
    ax = figures.accuracy_matrix(np.full((2, 2), np.nan))
    assert not ax.texts and ax.images[0].get_array().mask.all()


def test_methods_have_a_line_for_the_mean_and_a_band_of_one_standard_deviation():
    seeds = np.array([R, R - 0.1])
    ax = figures.method_comparison({"ours": seeds, "theirs": R})
    assert words(ax) == ["ours", "theirs"] and len(ax.collections) == 1
    curve = metrics.average_accuracy_so_far(R)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 100 * (curve - 0.05))
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 100 * curve)
    outline = ax.collections[0].get_paths()[0].vertices
    at_first = outline[outline[:, 0] == 1][:, 1]
    np.testing.assert_allclose(
        [at_first.min(), at_first.max()], 85 + np.array([-1, 1]) * 10 / 2**0.5
    )


@given(st.lists(st.text(), min_size=2, max_size=21, unique=True))
def test_any_two_of_21_looks_differ_in_two_of_colour_marker_and_dash(names):
    looks = canvas.looks(names)
    assert list(looks) == names
    for one, other in itertools.combinations(looks.values(), 2):
        assert sum(one[key] != other[key] for key in ("color", "marker", "linestyle")) >= 2


def test_the_lines_of_21_methods_all_differ_and_the_legend_is_whole():
    ax = figures.method_comparison({f"method {m}": R for m in range(21)})
    assert (
        len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.lines})
        == 21
    )
    ax.figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    assert box.y0 >= 0 and box.x1 <= ax.figure.bbox.x1


def test_methods_keep_the_looks_of_an_order():
    whole = figures.method_comparison(dict.fromkeys("abc", R))
    part = figures.method_comparison({"d": R, "c": R}, order="abc")
    assert part.lines[1].get_color() == whole.lines[2].get_color()
    assert part.lines[0].get_color() not in {line.get_color() for line in whole.lines}


def test_mask_matrices_are_the_masks():
    axes = figures.mask_matrices(MASKS, NAMES)
    for ax, mask, name in zip(axes, MASKS, NAMES, strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), mask)
        assert ax.get_title() == f"{name}\n{100 * mask.mean():.1f} %"
    white, ink = axes[0].images[0].to_rgba(np.array([0.0, 1.0]))
    assert white.sum() > ink.sum()  # darker means active


def test_mask_maps_are_the_shares_of_units_in_use():
    first, second = np.zeros((2, 6, 4), dtype=bool)
    # two of four units are in use
    first[:3, 0] = True
    first[0, 1] = True
    axes = figures.mask_maps(
        [first, second], ["A/B", "a name that does not fit"], image_shape=(2, 3)
    )
    np.testing.assert_allclose(axes[0].images[0].get_array(), [[100, 50, 50], [0, 0, 0]])
    assert (axes[1].images[0].get_array() == 0).all()
    assert (
        axes[0].get_title() == f"A/B\n{100 * 4 / 24:.1f} %"
        and axes[0].get_xlabel() == "2 of 4 units"
    )
    assert len(axes[1].get_title().split("\n")[0]) <= 16
    with pytest.raises(ValueError, match=r"figures\.mask_maps: image_shape must have 6 pixels"):
        figures.mask_maps([first], image_shape=(2, 2))


def picture(rows, fill=1.0):
    image = np.zeros((8, 8))
    image[:rows] = fill
    return image.ravel() > 0.5


def test_receptive_fields_are_pictures_sorted_by_use_and_no_noise():
    noise = np.random.default_rng(1).random(64) < 0.5
    mask = np.stack([noise, picture(2), np.zeros(64, bool), picture(4), np.ones(64, bool)], axis=1)
    assert structured_units([mask], (8, 8), 10).tolist() == [3, 1]
    assert structured_units([mask], (8, 8), 1).tolist() == [3]
    ax = figures.receptive_fields([mask, mask])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["4", "2"]
    sheet = ax.images[0].get_array()
    off = to_rgb("white")
    new = to_rgb("#0072B2")
    shared = to_rgb("#E69F00")
    assert sheet.shape == (2 * 8 + 1, 2 * 8 + 1, 3)  # tiles of 8 x 8 and a gap of 1
    np.testing.assert_allclose(sheet[:4, :8], np.broadcast_to(new, (4, 8, 3)))
    np.testing.assert_allclose(sheet[4:8, :8], np.broadcast_to(off, (4, 8, 3)))
    np.testing.assert_allclose(sheet[9:11, 9:], np.broadcast_to(shared, (2, 8, 3)))
    assert (sheet[8] < 1).all() and (sheet[:, 8] < 1).all()


def test_receptive_fields_of_noise_alone_are_the_units_most_in_use():
    masks = [np.stack([np.arange(16) % 2 == 0, np.zeros(16, bool), np.arange(16) < 16], axis=1)]
    ax = figures.receptive_fields(masks, units=2, image_shape=(4, 4))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["3", "1"]


def test_receptive_fields_need_pixels():
    with pytest.raises(
        ValueError, match="image_shape must have 16 pixels, the inputs of the masks, got 4 x 5"
    ):
        figures.receptive_fields(MASKS, image_shape=(4, 5))
    with pytest.raises(ValueError, match="got 3 x 3"):
        figures.receptive_fields([np.ones((10, 2))])
    with pytest.raises(ValueError, match="units must be at least 1"):
        figures.receptive_fields(MASKS, units=0)


def test_bars_of_share_used_add_up_to_the_density():
    ax = figures.share_used(MASKS, NAMES)
    new, shared = ax.containers
    np.testing.assert_allclose(
        [bar.get_height() for bar in new], 100 * structure.capacity_added(MASKS)
    )
    np.testing.assert_allclose([bar.get_y() for bar in shared], [bar.get_height() for bar in new])
    tops = [bar.get_y() + bar.get_height() for bar in shared]
    np.testing.assert_allclose(tops, 100 * structure.density(MASKS))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 100 * structure.capacity_used(MASKS))


def test_sharing_matrix_ends_in_the_chance_level():
    ax = figures.sharing_matrix(MASKS, NAMES)
    shown = ax.images[0].get_array().filled(np.nan)
    expected = 100 * structure.sharing_matrix(MASKS)
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(shown[:3], expected)
    np.testing.assert_allclose(shown[3], 100 * structure.density(MASKS))
    assert [t.get_text() for t in ax.get_yticklabels()] == [*NAMES, "chance"]
    many = figures.sharing_matrix(MASKS * 5)
    assert many.get_yticklabels()[-1].get_text() == "chance"


def test_the_history_shows_the_objective_that_is_trained_and_the_bound():
    objective, fit, costs, bound = figures.training_history(
        HISTORY, {"mask_kl_weight": 0.5}, ["A/B", "C/D"]
    )
    np.testing.assert_array_equal(
        objective.lines[0].get_data(), [[1, 2, 3, 4], [-8.5, -4.0, -6.5, -2.0]]
    )
    np.testing.assert_array_equal(fit.lines[0].get_ydata(), HISTORY["log_likelihood"])
    np.testing.assert_array_equal(costs.lines[0].get_ydata(), [0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(bound.lines[0].get_ydata(), HISTORY["elbo"])
    assert words(objective) == ["what is trained", "fine-tuning, masks fixed"]
    assert words(costs) == ["0.5 × KL of masks"]
    assert words(bound) == ["ELBO, all weights 1"]
    for ax in (objective, fit, costs, bound):
        # the second task begins
        assert list(ax.lines[1].get_xdata()) == [2.5, 2.5]
        assert [(patch.get_x(), patch.get_width()) for patch in ax.patches] == [
            (1.5, 1.0),
            (3.5, 1.0),
        ]
    assert [(text.get_text(), text.xy[0]) for text in objective.texts] == [
        ("A/B", 1.5),
        ("C/D", 3.5),
    ]
    (alone,) = figures.training_history({"log_likelihood": [-2.0, -1.0], "kl_weights": [0.0, 0.0]})
    np.testing.assert_array_equal(alone.lines[0].get_data(), [[1, 2], [-2, -1]])


def test_a_likelihood_that_ends_near_zero_is_not_squashed():
    values = -np.geomspace(1000, 0.5, 200)
    (ax,) = figures.training_history({"log_likelihood": values})
    heights = ax.transData.transform(np.column_stack([np.ones(200), values]))[:, 1]
    assert heights[-1] - heights[100] > 0.15 * (heights[-1] - heights[0])  # from -22 to -0.5


@pytest.mark.parametrize(
    ("history", "what"),
    [
        ({"loss": [1.0]}, "history must have log_likelihood"),
        ({"log_likelihood": [1.0], "kl_masks": [1.0, 2.0]}, "one length"),
    ],
)
def test_history_without_its_columns_is_refused(history, what):
    with pytest.raises(ValueError, match=r"figures\.training_history: .*" + what):
        figures.training_history(history)


@pytest.mark.parametrize("draw", EACH)
def test_axes_that_are_given_are_used(draw):
    own = draw()
    assert isinstance(own, Axes) and own.figure.canvas.__class__.__name__ == "FigureCanvasAgg"
    ax = Figure().subplots()
    assert draw(ax=ax) is ax and len(ax.figure.axes) == 1


def test_several_axes_that_are_given_are_used_or_refused():
    axes = Figure().subplots(1, 3)
    assert list(figures.mask_matrices(MASKS, axes=axes)) == list(axes)
    with pytest.raises(ValueError, match=r"figures\.mask_matrices: axes must be 3 Axes, .*got 2"):
        figures.mask_matrices(MASKS, axes=axes[:2])
    with pytest.raises(ValueError, match="axes must be 4 Axes"):
        figures.training_history(HISTORY, axes=axes)


@pytest.mark.parametrize("draw", [figures.accuracy_curves, figures.accuracy_matrix])
def test_names_must_fit(draw):
    with pytest.raises(ValueError, match=r"task_names must hold 3 names, .*got 2"):
        draw(R, NAMES[:2])
    with pytest.raises(ValueError, match=r"fractions in 0\.\.1"):
        draw(100 * R)


def test_save_writes_the_same_bytes_for_the_same_figure_and_nothing_else(tmp_path):
    for name in ("a.png", "b.png"):
        figures.save(figures.accuracy_matrix(R), tmp_path / name)
    data = (tmp_path / "a.png").read_bytes()
    assert data.startswith(b"\x89PNG") and data == (tmp_path / "b.png").read_bytes()
    figures.save(figures.mask_matrices(MASKS), tmp_path / "c.pdf")
    figures.save(figures.mask_matrices(MASKS)[0].figure, tmp_path / "d.svg")
    assert (tmp_path / "c.pdf").read_bytes().startswith(b"%PDF")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png", "c.pdf", "d.svg"]
    with pytest.raises(
        ValueError, match=r"figures\.save: path must end in \.png, \.pdf, \.svg, got .*e\.gif"
    ):
        figures.save(figures.accuracy_matrix(R), tmp_path / "e.gif")


def test_a_figure_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    from ibpcl import storage

    def full(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "a.png").write_bytes(b"old")
    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match=r"a\.png"):
        figures.save(figures.accuracy_matrix(R), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.processes(reason="the state is that of a new process")
def test_matplotlibs_global_state_is_left_alone(tmp_path):
    code = """
import sys
import matplotlib
import numpy as np
from ibpcl.evaluation import figures
before = matplotlib.rcParams.copy()
figures.save(figures.accuracy_curves(np.eye(3)), sys.argv[1])
figures.mask_matrices([np.eye(4)])
assert dict.__eq__(matplotlib.rcParams, before)       # a plain look-up would choose a backend
assert "matplotlib.pyplot" not in sys.modules
"""
    command = [sys.executable, "-W", "error", "-c", code, tmp_path / "a.png"]
    done = subprocess.run(command, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
