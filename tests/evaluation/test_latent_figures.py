"""Figures of generative models show the given numbers and images."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from ibpcl.evaluation import figures
from ibpcl.evaluation.few_labels import FewLabels

R = np.array([[-90.0, np.nan, np.nan], [-91.0, -80.0, np.nan], [-94.0, -80.5, -100.0]])
NAMES = ["A", "B", "C"]
RNG = np.random.default_rng(0)


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_many_encoders_with_few_labels_have_different_lines():
    ax = figures.few_labels(
        {f"encoder {i}": FewLabels([1, 2], np.full((2, 1), i / 21)) for i in range(21)}
    )
    assert (
        len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.lines})
        == 21
    )


def test_likelihoods_and_their_change_begin_when_a_task_is_learned():
    levels, changes = figures.likelihood_curves(R.tolist(), NAMES)
    for j in range(3):
        np.testing.assert_array_equal(levels.lines[j].get_data(), [np.arange(j + 1, 4), R[j:, j]])
        np.testing.assert_allclose(changes.lines[j].get_ydata(), R[j:, j] - R[j, j])
    np.testing.assert_allclose(changes.lines[3].get_data(), [[2, 3], [-1.0, (-4.0 - 0.5) / 2]])
    assert words(changes) == [*NAMES, "mean of earlier tasks"]
    assert len(figures.likelihood_curves([[-3.0]])[1].lines) == 1


def test_the_matrix_of_likelihoods_is_printed_in_nats():
    ax = figures.likelihood_matrix(R, NAMES)
    np.testing.assert_allclose(ax.images[0].get_array().filled(np.nan), R)
    assert {t.get_text() for t in ax.texts} == {"-90", "-91", "-80", "-94", "-100"} and len(
        ax.texts
    ) == 6
    assert ax.images[0].get_clim() == (-100, -80)
    figures.likelihood_matrix([[-3.0]])  # one value: a scale all the same
    with pytest.raises(ValueError, match=r"figures\.likelihood_matrix: R must be square"):
        figures.likelihood_matrix(np.zeros((2, 3)))


def test_images_stand_in_rows_with_gaps_and_rows_may_end_early():
    rows = [RNG.random((2, 6)), RNG.random((4, 6))]
    ax = figures.image_rows(rows, (2, 3), ["first", "second"], ["x", "y"], group=2)
    sheet = ax.images[0].get_array()
    # Tiles of 2 x 3, gaps of 1 between them and of 2 more between groups.
    assert sheet.shape == (2 * 2 + 1, 4 * 3 + 3 * 1 + 2)
    filled = sheet.filled(np.nan)
    lefts = (0, 4, 10, 14)
    for r, row in enumerate(rows):
        for left, image in zip(lefts, row, strict=False):
            np.testing.assert_array_equal(
                filled[3 * r : 3 * r + 2, left : left + 3], image.reshape(2, 3)
            )
    assert (
        np.isnan(filled[:2, 8:]).all()
        and np.isnan(filled[2]).all()
        and np.isnan(filled[:, 3]).all()
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == ["first", "second"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["x", "y"]
    dark, light = ax.images[0].to_rgba(np.array([1.0, 0.0]))
    assert dark[:3].sum() < light[:3].sum()  # ink is dark
    assert figures.image_rows(rows, (2, 3), ax=(own := Figure().subplots())) is own


@pytest.mark.parametrize("rows", [[], [np.zeros((0, 6))], [np.zeros((2, 5))], [np.zeros(6)]])
def test_invalid_rows_of_images_are_refused(rows):
    with pytest.raises(ValueError, match=r"figures\.image_rows: rows must hold images of 6 pixels"):
        figures.image_rows(rows, (2, 3))


def test_maps_of_codes_have_a_panel_each_and_a_colour_a_class():
    points = RNG.standard_normal((30, 2))
    labels = np.repeat([0, 1, 2], 10)
    first, second = figures.code_maps({"oracle": points, "common": -points}, labels, NAMES)
    assert (first.get_title(), second.get_title()) == ("oracle", "common") and words(
        second
    ) == NAMES
    for c, cloud in enumerate(second.collections):
        np.testing.assert_allclose(cloud.get_offsets(), -points[labels == c])
    assert len({tuple(cloud.get_facecolor()[0]) for cloud in first.collections}) == 3
    with pytest.raises(ValueError, match=r"figures\.code_maps: axes must be 2 Axes"):
        figures.code_maps({"a": points, "b": points}, labels, NAMES, axes=[Figure().subplots()])


def test_few_labels_have_a_line_and_a_band_in_percent():
    errors = np.array([[0.5, 0.3], [0.2, 0.2]])
    ax = figures.few_labels(
        {"codes": FewLabels(np.array([1, 10]), errors), "pixels": ([1], [[0.6]])}
    )
    np.testing.assert_allclose(ax.lines[0].get_data(), [[1, 10], [40, 20]])
    np.testing.assert_allclose(ax.lines[1].get_data(), [[1], [60]])
    outline = ax.collections[0].get_paths()[0].vertices
    at_first = outline[outline[:, 0] == 1][:, 1]
    np.testing.assert_allclose(
        [at_first.min(), at_first.max()], 40 + np.array([-1, 1]) * 10 * 2**0.5
    )
    assert words(ax) == ["codes", "pixels"] and [t.get_text() for t in ax.get_xticklabels()] == [
        "1",
        "10",
    ]
    assert ax.get_ylim()[0] == 0 and len(ax.collections) == 1


def test_a_history_of_codes_is_drawn_and_one_without_is_not():
    history = {"log_likelihood": [-2.0, -1.0], "kl_weights": [1.0, 1.0], "kl_latent": [3.0, 2.0]}
    assert words(figures.training_history(history)[2]) == ["KL of weights", "KL of codes"]
    assert words(figures.training_history(history | {"kl_latent": [0.0, 0.0]})[2]) == [
        "KL of weights"
    ]
