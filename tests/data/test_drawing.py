"""The drawing shows the right character, and each distortion has its effect and no other."""

import numpy as np
import pytest
from matplotlib import ft2font, get_data_path
from quick import quick

from ibpcl.data import drawing, glyphs
from ibpcl.data.dataset import DataError
from ibpcl.data.drawing import CANVAS, CAPITAL, NOMINAL, SIDE, Distortion, distort, signed_distance

STILL = Distortion(
    rotation=0, shear=0, log_scale=0, shift=0, weight=(0, 0), contrast=(1, 1), noise=0
)
FONTS = glyphs.TRAIN_FONTS + glyphs.TEST_FONTS
DISK = (50 - np.hypot(*np.indices((CANVAS, CANVAS)) - (CANVAS - 1) / 2)).astype(np.float32)
BAR = (12 - np.abs(np.indices((CANVAS, CANVAS))[1] - (CANVAS - 1) / 2)).astype(np.float32)


def draw(distance, count=20, seed=0, **ranges):
    return distort(distance, count, np.random.default_rng(seed), STILL._replace(**ranges)).astype(
        float
    )


def centroid(images):
    rows, columns = np.indices((SIDE, SIDE))
    ink = images.sum((1, 2))
    return np.stack([(images * rows).sum((1, 2)) / ink, (images * columns).sum((1, 2)) / ink], 1)


@pytest.fixture(params=quick(FONTS[::5], FONTS, "the fonts of a release do not change"))
def font(request):
    """Give the name of each font, in turn."""
    if request.param == "cmti10":
        request.getfixturevalue("all_fonts")
    return request.param


def test_every_font_has_every_character_with_a_shape_of_its_own(font):
    face = ft2font.FT2Font(f"{get_data_path()}/fonts/ttf/{font}.ttf")
    codes = {face.get_charmap().get(ord(character)) for character in "ABCDEFGHIJ0123456789"}
    assert len(codes - {None, 0}) == 20
    shapes = {
        (signed_distance(font, character) > 0).tobytes() for character in "ABCDEFGHIJ0123456789"
    }
    assert len(shapes) == 20


def test_capitals_are_64_high_and_the_ink_stays_inside(font):
    for character in "ABCDEFGHIJ0123456789":
        distance = signed_distance(font, character)
        rows, columns = np.nonzero(distance > 0)
        edge = np.concatenate([distance[0], distance[-1], distance[:, 0], distance[:, -1]])
        assert edge.max() < -10
        # the box around it is centred
        assert abs(rows.min() + rows.max() - (CANVAS - 1)) <= 1
        assert abs(columns.min() + columns.max() - (CANVAS - 1)) <= 1
        if character == "H":
            assert abs(np.ptp(rows) + 1 - CAPITAL) <= 2


@pytest.mark.slow(reason="draws with fonts that lack letters")
@pytest.mark.usefixtures("all_fonts")
def test_fonts_without_the_letters_are_detected():
    placeholders = {
        (signed_distance("LastResortHE-Regular", letter) > 0).tobytes() for letter in "ABCDEFGHIJ"
    }
    assert len(placeholders) == 1
    with pytest.raises(DataError, match=r"STIXSizOneSymReg.ttf: the font has no 'A'"):
        signed_distance("STIXSizOneSymReg", "A")


def test_missing_font_file_is_named():
    with pytest.raises(DataError, match=r"NoSuchFont\.ttf: missing"):
        signed_distance("NoSuchFont", "A")


def test_distance_is_signed_and_changes_by_at_most_one_a_pixel():
    distance = signed_distance("DejaVuSans", "B")
    assert distance.max() > 2 and distance.min() < -20
    # 2 across the outline
    assert max(np.abs(np.diff(distance, axis=axis)).max() for axis in (0, 1)) <= 2.0


def test_without_distortion_all_images_are_the_same_disk():
    images = draw(DISK)
    assert (images == images[0]).all()
    radius = 50 * NOMINAL / CAPITAL
    assert images[0].sum() / 255 == pytest.approx(np.pi * radius**2, rel=0.01)
    np.testing.assert_array_equal(images[0], images[0].T)
    np.testing.assert_array_equal(images[0], images[0][::-1])


def test_shift_moves_the_centroid_within_its_range_in_both_directions():
    moved = centroid(draw(DISK, 200, shift=1.5)) - 13.5
    assert np.abs(moved).max() <= 1.55
    assert (moved.min(0) < -1.2).all() and (moved.max(0) > 1.2).all()
    assert abs(np.corrcoef(moved.T)[0, 1]) < 0.3


def test_rotation_leaves_a_disk_and_turns_a_bar():
    np.testing.assert_allclose(draw(DISK, rotation=30), draw(DISK), atol=8)
    turned = draw(BAR, 200, rotation=30)
    tilt = np.rad2deg(np.arctan((turned[:, 8].argmax(1) - turned[:, 19].argmax(1)) / 11))
    assert np.abs(tilt).max() < 36 and np.abs(tilt).max() > 22 and tilt.min() < 0 < tilt.max()


def test_scale_changes_the_area_within_its_range():
    area = draw(DISK, 200, log_scale=0.2).sum((1, 2)) / draw(DISK, 1).sum()
    assert (
        area.min() > np.exp(-0.4) - 0.02 and area.max() < np.exp(0.4) + 0.02 and np.ptp(area) > 0.5
    )


def test_shear_keeps_the_area_and_slants_the_bar():
    sheared = draw(DISK, 50, shear=0.4)
    np.testing.assert_allclose(sheared.sum((1, 2)), draw(DISK, 1).sum(), rtol=0.02)
    bars = draw(BAR, 200, shear=0.4)
    rows = centroid(bars[:, 4:8].repeat(7, 1))[:, 1], centroid(bars[:, 20:24].repeat(7, 1))[:, 1]
    slant = (rows[1] - rows[0]) / 16
    assert (
        np.abs(slant).max() == pytest.approx(0.4, abs=0.05)
        and slant.min() < -0.3
        and slant.max() > 0.3
    )


@pytest.mark.parametrize("weight", [-0.5, 0.0, 1.0])
def test_weight_is_pixels_all_around(weight):
    bars = draw(BAR, 1, weight=(weight, weight))
    assert bars[0, 14].sum() / 255 == pytest.approx(24 * NOMINAL / CAPITAL + 2 * weight, abs=0.02)


def test_contrast_is_the_darkest_ink():
    darkest = draw(DISK, 200, contrast=(0.5, 0.8)).max((1, 2)) / 255
    assert darkest.min() >= 0.498 and darkest.max() <= 0.802 and np.ptp(darkest) > 0.25


def test_noise_replaces_at_most_its_share_and_leaves_the_rest():
    changed = (draw(DISK, 300, noise=0.2) != draw(DISK, 300)).mean((1, 2))
    assert changed.max() < 0.2 + 4 * np.sqrt(0.16 / 784) and changed.min() < 0.02
    assert changed.mean() == pytest.approx(0.1, abs=0.015)


@pytest.mark.usefixtures("all_fonts")
def test_the_default_keeps_every_character_in_the_frame():
    rng = np.random.default_rng(0)
    clean = drawing.DEFAULT._replace(noise=0)
    for font in FONTS:
        for character in "ABCDEFGHIJ":
            images = distort(signed_distance(font, character), 5, rng, clean).astype(float)
            border = images[:, [0, -1]].sum() + images[:, :, [0, -1]].sum()
            assert border < 0.1 * images.sum()
            assert images.max((1, 2)).min() > 60  # the thinnest hairline is still there
