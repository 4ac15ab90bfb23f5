"""Drawings of small networks show their masks: which weight is new, reused, or free."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex, to_rgb

from ibpcl.evaluation import figures, structure
from ibpcl.evaluation.figures import canvas, networks

RNG = np.random.default_rng(0)


def grown(widths, inputs=5, density=0.4, seed=0):
    """Return masks of a layer that grows to the given widths."""
    rng = np.random.default_rng(seed)
    return [rng.random((inputs, width)) < density for width in widths]


MASKS = grown((3, 4, 6))


def lines(ax):
    """Return the segments of each colour."""
    return {
        to_hex(group.get_color()[0]).upper(): np.array(group.get_segments())
        for group in ax.collections
        if hasattr(group, "get_segments")
    }


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 100))
def test_states_follow_from_the_order_of_the_tasks(widths, seed):
    masks = grown(sorted(widths), seed=seed)
    found = networks.states(masks)
    seen = np.zeros(masks[-1].shape, bool)
    for mask, state in zip(masks, found, strict=True):
        now = np.zeros_like(seen)
        now[:, : mask.shape[1]] = mask
        np.testing.assert_array_equal(state == "new", now & ~seen)
        np.testing.assert_array_equal(state == "reused", now & seen)
        np.testing.assert_array_equal(state == "earlier", seen & ~now)
        np.testing.assert_array_equal(state == "free", ~seen & ~now)
        seen |= now


def test_every_used_weight_is_one_line_of_its_colour():
    axes = figures.network_structure(MASKS, 2, ["A/B", "C/D", "E/F"])
    found = networks.states(MASKS)
    for t, ax in enumerate(axes):
        drawn = lines(ax)
        for state in ("new", "reused", "earlier"):
            count = int((found[t] == state).sum())
            assert len(drawn.get(networks.COLORS[state].upper(), ())) == count
        # every unit in use leads to both outputs of the task
        used = int(MASKS[t].any(axis=0).sum())
        assert len(drawn[networks.HEAD.upper()]) == 2 * used
        new, reused = ((found[t] == state).sum() for state in ("new", "reused"))
        assert ax.get_title().split("\n") == [
            ("A/B", "C/D", "E/F")[t],
            f"{new} new, {reused} reused",
        ]


def test_a_line_joins_the_input_and_the_unit_of_its_weight():
    mask = np.zeros((4, 3), bool)
    mask[1, 2] = mask[3, 0] = True
    (ax,) = figures.network_structure([mask])
    segments = lines(ax)[networks.NEW.upper()]
    inputs, units = (networks._column(x, count, 4) for x, count in ((0, 4), (1, 3)))
    np.testing.assert_array_equal(segments, [[inputs[1], units[2]], [inputs[3], units[0]]])
    assert inputs[0, 1] > inputs[1, 1]  # the first is on top


def test_units_that_do_not_exist_yet_are_not_drawn_and_free_ones_are_hollow():
    first = np.array([[1, 0], [1, 0]], bool)
    second = np.array([[0, 1, 1, 0], [0, 0, 1, 0]], bool)
    axes = figures.network_structure([first, second])

    def hidden(ax):
        dots = {}
        for group in ax.collections:
            if not hasattr(group, "get_segments"):
                count = int((np.asarray(group.get_offsets())[:, 0] == 1).sum())
                color = to_hex(group.get_facecolor()[0])
                dots[color] = dots.get(color, 0) + count
        return {color: count for color, count in dots.items() if count}

    new, earlier = to_hex(networks.NEW), to_hex(networks.EARLIER)
    assert hidden(axes[0]) == {new: 1, "#ffffff": 1}
    assert hidden(axes[1]) == {earlier: 1, new: 2, "#ffffff": 1}


def test_several_layers_have_a_column_each():
    second = [RNG.random((mask.shape[1], 3)) < 0.5 for mask in MASKS]
    axes = figures.network_structure(list(zip(MASKS, second, strict=True)))
    assert [label.get_text() for label in axes[0].get_xticklabels()] == [
        "inputs",
        "hidden 1",
        "hidden 2",
        "heads",
    ]


def test_a_schematic_shows_masks_heads_and_shared_weights():
    codes = [np.ones((mask.shape[1], 2), bool) for mask in MASKS]
    ax = figures.network_schematic({"encoder": MASKS, "codes": codes}, (2, 2), list("ABC"))
    assert len(ax.child_axes) == 6
    colors = canvas.task_colors(3)
    for t, inset in enumerate(ax.child_axes[:3]):
        shown = inset.images[0].to_rgba(inset.images[0].get_array())[..., :3]
        width = MASKS[t].shape[1]
        existing = shown[:, :width]
        assert {tuple(pixel) for pixel in existing[MASKS[t]]} == {to_rgb(colors[t])}
        assert (existing[~MASKS[t]] == 1).all()
        assert {tuple(pixel) for pixel in shown[:, width:].reshape(-1, 3)} <= {
            to_rgb(networks.GREY)
        }
    assert len(ax.patches) == 3 * 4
    drawn = [
        (to_hex(group.get_color()[0]), len(group.get_segments()))
        for group in ax.collections
        if hasattr(group, "get_segments")
    ]
    shared = structure.used_weights(MASKS).any(axis=0).sum()
    assert drawn[0] == (to_hex(networks.EARLIER), shared)
    assert drawn[2:] == [(to_hex(color), 2) for color in colors]
    texts = [text.get_text() for text in ax.texts]
    for part in ("encoder", "codes", r"\theta_S", r"\theta^H_{3}$  C"):
        assert any(part in text for text in texts)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        # a convolution reads patches: its inputs are not the units before it
        (lambda: figures.network_structure([[np.ones((9, 4)), np.ones((36, 8))]]), "masks"),
        (lambda: figures.network_structure(MASKS, task_names=["A"]), "task_names must hold 3"),
        (lambda: figures.network_structure([np.full((2, 2), 0.5)]), "network_structure"),
        (lambda: figures.network_structure(MASKS, axes=[canvas.new_axes()]), "axes must be 3"),
        (lambda: figures.network_schematic({"a": [np.ones(3)]}, (1, 1)), "network_schematic"),
    ],
)
def test_bad_masks_names_and_axes_are_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_a_drawing_is_saved_whole_and_repeats_exactly(tmp_path):
    for name in ("a.png", "b.png"):
        figures.save(figures.network_structure(MASKS), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
