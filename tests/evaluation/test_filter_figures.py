"""The figure of filters: a tile per task and filter, with a frame that says who uses it."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ibpcl.continual.task import Task
from ibpcl.evaluation import figures
from ibpcl.evaluation.figures import canvas
from ibpcl.evaluation.figures import filters as module
from ibpcl.evaluation.figures.networks import COLORS
from ibpcl.experiments.run_figures import first_convolution
from ibpcl.methods import method

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(3, 2, 2, 4))
# whole filters of 12 weights: 0 is shared, 1 is new and then unused, 2 is new in the second task
USED = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], bool)
MASKS = [np.broadcast_to(row, (12, 4)).copy() for row in USED]
EXPECTED = [["new", "new", "free", "free"], ["reused", "earlier", "new", "free"]]


def tiles(ax, tasks=2, units=4):
    """Return the tiles of the image, [task][filter] (rows, columns, 3), without the gaps."""
    (image,) = ax.images
    sheet = image.get_array()
    height, width = (module.ZOOM * size + 2 * module.FRAME for size in (3, 2))
    down, across = height + module.GAP, width + module.GAP
    assert sheet.shape == (tasks * down - module.GAP, units * across - module.GAP, 3)
    return [
        [sheet[t * down : t * down + height, k * across : k * across + width] for k in range(units)]
        for t in range(tasks)
    ]


def test_the_frame_says_which_task_uses_a_filter():
    ax = figures.filter_pictures(WEIGHTS, MASKS, ["A/B", "C/D"])
    colors = COLORS | {"free": module.FREE}
    for row, states in zip(tiles(ax), EXPECTED, strict=True):
        for tile, state in zip(row, states, strict=True):
            for edge in (tile[0], tile[-1], tile[:, 0], tile[:, -1]):
                np.testing.assert_allclose(edge, np.broadcast_to(to_rgb(colors[state]), edge.shape))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["A/B", "C/D"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3", "4"]


def test_a_picture_shows_the_weights_that_the_mask_keeps():
    masks = [mask.copy() for mask in MASKS]
    masks[1][:4, 0] = False  # the first row of the kernel: two columns of two channels
    inside = slice(module.FRAME, -module.FRAME)
    for t, row in enumerate(tiles(figures.filter_pictures(WEIGHTS, masks))):
        for k, tile in enumerate(row):
            picture = tile[inside, inside][:: module.ZOOM, :: module.ZOOM]
            kept = (WEIGHTS * masks[t].reshape(WEIGHTS.shape))[..., k].mean(axis=2)
            white = (picture == 1).all(axis=-1)
            np.testing.assert_array_equal(white, kept == 0)
            # green above zero has less red than blue or green, pink below has most red
            np.testing.assert_array_equal(picture[kept > 0].argmin(axis=-1), 0)
            np.testing.assert_array_equal(picture[kept < 0].argmax(axis=-1), 0)


def test_a_filter_without_weights_is_white_and_few_filters_may_be_shown():
    ax = figures.filter_pictures(0 * WEIGHTS, MASKS, most=2)
    inside = slice(module.FRAME, -module.FRAME)
    assert all((tile[inside, inside] == 1).all() for row in tiles(ax, units=2) for tile in row)
    assert "4" in ax.get_xlabel()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: figures.filter_pictures(WEIGHTS, [np.ones((11, 4), bool)]), "masks"),
        (lambda: figures.filter_pictures(WEIGHTS, MASKS, most=0), "most"),
        (lambda: figures.filter_pictures(WEIGHTS, MASKS, ["A"]), "task_names"),
        (lambda: figures.filter_pictures(WEIGHTS, [WEIGHTS.reshape(12, 4)]), "mask"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()


def test_given_axes_are_drawn_on():
    ax = canvas.new_axes()
    assert figures.filter_pictures(WEIGHTS, MASKS, ax=ax) is ax
    assert len(ax.get_legend().get_texts()) == len(module.NAMES)


def test_the_filters_of_a_learner_are_those_of_its_first_convolution():
    rng = np.random.default_rng(1)
    task = Task("a", *(rng.uniform(size=(20, 36)), np.arange(20) % 2) * 2, 2)
    quick = {"epochs": 1, "finetune_epochs": 0, "samples": 1, "batch": 20}
    for line, shape in (
        ("image:6x6x1;masks:filter;conv:3;dense:4", (3, 3, 1, 3)),
        ("dense:4", None),
    ):
        chosen = method("npbcl")
        learner = chosen.learner(chosen.settings(network=line, **quick), 0, "numpy")
        learner.learn(task)
        weights = first_convolution(learner)
        assert shape == (None if weights is None else weights.shape)
        if weights is not None:
            mask = learner.masks(0)[0]
            assert figures.filter_pictures(weights, [mask]).images
            flat = learner.posterior["conv0"]["weight.mu"]
            np.testing.assert_array_equal(weights.reshape(flat.shape), flat)
