"""The rendered sets: sizes, balance, repeatability, disjoint fonts, and a cache that only saves
time.
"""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from ibpcl.data import glyphs, registry
from ibpcl.data.dataset import DataError
from ibpcl.data.drawing import DEFAULT, signed_distance


@pytest.fixture(scope="module")
def letters():
    return glyphs.render(glyphs.CHARACTERS["glyphs"], seed=0)


@pytest.fixture
def small(monkeypatch):
    """Make the sets small, so that loading them is quick."""
    monkeypatch.setattr(glyphs, "TRAIN_PER_CLASS", 3)
    monkeypatch.setattr(glyphs, "TEST_PER_CLASS", 2)
    monkeypatch.setattr(glyphs, "TRAIN_FONTS", glyphs.TRAIN_FONTS[:2])
    monkeypatch.setattr(glyphs, "TEST_FONTS", glyphs.TEST_FONTS[:2])
    render = glyphs.render
    calls = []

    def counted(characters, seed, name="glyphs"):
        calls.append(seed)
        return render(characters, seed, 3, 2, name)

    monkeypatch.setattr(glyphs, "render", counted)
    return calls


def assert_equal(one, other):
    for array, again in zip(one[1:5], other[1:5], strict=True):
        np.testing.assert_array_equal(array, again)


def test_sizes_and_balance(letters):
    assert letters.train_images.shape == (10000, 28, 28) and letters.test_images.shape == (
        2000,
        28,
        28,
    )
    assert letters.train_images.dtype == np.uint8 and letters.class_names == tuple("ABCDEFGHIJ")
    assert np.bincount(letters.train_labels).tolist() == [1000] * 10
    assert np.bincount(letters.test_labels).tolist() == [200] * 10
    # mostly background, as MNIST
    assert 0.15 < (letters.train_images > 0).mean() < 0.3


def test_order_is_mixed(letters):
    assert len(set(letters.train_labels[:50].tolist())) == 10
    assert len(set(letters.test_labels[:50].tolist())) == 10


def test_no_two_images_are_the_same(letters):
    images = np.concatenate([letters.train_images, letters.test_images])
    assert len({image.tobytes() for image in images}) == len(images)


@pytest.mark.usefixtures("all_fonts")
def test_test_fonts_do_not_occur_in_training():
    assert not set(glyphs.TRAIN_FONTS) & set(glyphs.TEST_FONTS)
    shapes = {
        part: {(signed_distance(font, letter) > 0).tobytes() for font in fonts for letter in "AGJ"}
        for part, fonts in (("train", glyphs.TRAIN_FONTS), ("test", glyphs.TEST_FONTS))
    }
    assert not shapes["train"] & shapes["test"]


def test_images_look_like_their_letter(letters):
    """The mean of a letter's test images is nearest to the mean of the same letter's training
    images.
    """

    def means(images, labels):
        stack = np.stack([images[labels == label].mean(0).ravel() for label in range(10)])
        stack -= stack.mean(0)
        return stack / np.linalg.norm(stack, axis=1, keepdims=True)

    alike = (
        means(letters.test_images, letters.test_labels)
        @ means(letters.train_images, letters.train_labels).T
    )
    assert alike.argmax(1).tolist() == list(range(10)) and np.diag(alike).min() > 0.8


@pytest.mark.processes(reason="each process has other hashes")
def test_same_seed_same_bytes_even_in_another_process():
    code = (
        "import hashlib, ibpcl.data.glyphs as g; d = g.render('AB', 3, 20, 10)\n"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in d[1:5])).hexdigest())"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "1"},  # where this process has a random one
    )
    mine = glyphs.render("AB", 3, 20, 10)
    digest = hashlib.sha256(b"".join(array.tobytes() for array in mine[1:5])).hexdigest()
    assert other.stdout.strip() == digest
    assert_equal(mine, glyphs.render("AB", 3, 20, 10))


def test_another_seed_gives_other_images():
    one = glyphs.render("AB", 0, 20, 10)
    other = glyphs.render("AB", 1, 20, 10)
    assert (one.train_images != other.train_images).any((1, 2)).all()


def test_second_load_comes_from_the_cache(small, cache):
    first = registry.load("glyphs", seed=5)
    second = registry.load("glyphs", seed=5)
    assert small == [5] and glyphs.cache_path("glyphs", 5).is_file()
    assert_equal(first, second)
    registry.load("glyphs", seed=6)
    assert small == [5, 6]


def test_digits_are_a_set_of_their_own(small):
    assert registry.load("glyph_digits").class_names == tuple("0123456789")
    assert registry.load("glyphs").class_names == tuple("ABCDEFGHIJ")
    assert small == [0, 0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[:1000],
        lambda content: content[:500] + b"x" + content[501:],
    ],
)
def test_damaged_cache_is_made_anew(small, damage):
    first = registry.load("glyphs")
    path = glyphs.cache_path()
    content = path.read_bytes()
    path.write_bytes(damage(content))
    assert_equal(registry.load("glyphs"), first)
    assert small == [0, 0] and path.read_bytes() == content


def test_cache_with_other_arrays_is_made_anew(small):
    first = registry.load("glyphs")
    from ibpcl.data.cache import write_arrays

    assert write_arrays(
        glyphs.cache_path(),
        {**first._asdict(), "name": 0, "class_names": 0, "train_labels": first.train_labels[:-1]},
    )
    assert_equal(registry.load("glyphs"), first)
    assert small == [0, 0]


def test_cache_that_cannot_be_written_costs_only_time(small, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert_equal(registry.load("glyphs"), registry.load("glyphs"))
    assert small == [0, 0]


def test_no_home_folder_costs_only_time(small, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert registry.load("glyphs").train_images.shape == (30, 28, 28)


def test_cache_key_changes_with_all_that_the_pictures_depend_on(monkeypatch):
    paths = {
        glyphs.cache_path("glyphs", 0),
        glyphs.cache_path("glyphs", 1),
        glyphs.cache_path("glyph_digits", 0),
    }
    for name, value in (
        ("VERSION", -1),
        ("DEFAULT", DEFAULT._replace(noise=0.5)),
        ("TEST_FONTS", ("cmr10",)),
        ("TRAIN_PER_CLASS", 7),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(glyphs, name, value)
            paths.add(glyphs.cache_path("glyphs", 0))
    monkeypatch.setattr("importlib.metadata.version", lambda package: "another")
    paths.add(glyphs.cache_path("glyphs", 0))
    assert len(paths) == 8


def test_tiny_glyphs_are_the_means_of_blocks_of_the_glyphs(small):
    letters = registry.load("glyphs")
    tiny = registry.load("tiny_glyphs")
    assert tiny.name == "tiny_glyphs" and tiny.class_names == letters.class_names
    np.testing.assert_array_equal(tiny.train_labels, letters.train_labels)
    for images, whole in (
        (tiny.train_images, letters.train_images),
        (tiny.test_images, letters.test_images),
    ):
        assert images.shape == (len(whole), 4, 4)
        np.testing.assert_allclose(images[:, 1, 3], whole[:, 7:14, 21:].mean(axis=(1, 2)), atol=0.5)
    assert glyphs.cache_path("tiny_glyphs") == glyphs.cache_path("glyphs")


@pytest.mark.parametrize("seed", [-1, 0.5, "0", True, None])
def test_bad_seed_is_refused(seed):
    with pytest.raises(ValueError, match="glyphs: seed must be an integer at least 0"):
        registry.load("glyphs", seed=seed)


def test_bad_name_is_refused():
    with pytest.raises(DataError, match=r"name must be one of glyphs, .*, got 'runes'"):
        glyphs.load("runes")


@pytest.mark.slow(reason="a process; tests/test_package.py has one for the package")
def test_looking_at_the_data_loads_neither_matplotlib_nor_numba_nor_pooch():
    code = (
        "import sys, ibpcl.data.registry as r, ibpcl.data.subsets; r.status()\n"
        "print(sorted({'matplotlib', 'numba', 'pooch', 'PIL'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.usefixtures("all_fonts")
def test_a_font_that_matplotlib_lacks_is_left_out_with_a_warning(monkeypatch):
    path = glyphs.font_path
    monkeypatch.setattr(
        glyphs, "font_path", lambda font: path("absent" if font == "cmti10" else font)
    )
    with pytest.warns(UserWarning, match="cmti10"):
        drawn = glyphs.render("AB", seed=0, train=32, test=8)
    assert drawn.test_images.shape == (16, 28, 28)
    monkeypatch.undo()
    whole = glyphs.render("AB", seed=0, train=32, test=8)
    # training is as it was
    assert_equal((None, *drawn[1:3], *drawn[1:3]), (None, *whole[1:3], *whole[1:3]))
    assert not np.array_equal(drawn.test_images, whole.test_images)


def test_without_any_font_of_a_family_nothing_is_drawn(monkeypatch):
    path = glyphs.font_path
    monkeypatch.setattr(
        glyphs, "font_path", lambda font: path("absent" if font in glyphs.TEST_FONTS else font)
    )
    with pytest.raises(DataError, match="cmr10"):
        glyphs.render("AB", seed=0, train=3, test=2)


def test_clutter_adds_ink_of_other_letters_and_removes_none():
    plain = glyphs.render("AB", 0, 8, 5, "glyphs").train_images
    cluttered = glyphs.clutter(plain, np.random.default_rng(0))
    assert cluttered.dtype == np.uint8 and (cluttered >= plain).all()
    changed = (cluttered != plain).any(axis=0)
    assert changed.sum() > 100  # anywhere in the image
    assert (cluttered != plain).sum(axis=(1, 2)).max() <= glyphs.PIECES * glyphs.PIECE**2


def test_cluttered_letters_are_shifted_further_and_stay_inside():
    def spread(name):
        images = glyphs.render("I", 0, 160, 20, name).train_images.astype(float)
        if name == "glyphs":
            images[images < 100] = 0
        rows = np.arange(28) @ images.sum(axis=2).T / images.sum(axis=(1, 2))
        return rows.std()

    assert spread("cluttered_glyphs") > 1.5 * spread("glyphs")
    assert glyphs.cache_path("cluttered_glyphs") != glyphs.cache_path("glyphs")
