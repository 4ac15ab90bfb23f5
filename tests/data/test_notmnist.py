"""The published archive is converted to the published split, byte for byte."""

import gzip
import hashlib
import io
import tarfile

import numpy as np
import pytest
from PIL import Image

from ibpcl.data import idx, notmnist, registry
from ibpcl.data.dataset import DataError
from ibpcl.data.sources import FILES, SOURCES


def png(picture, level=1):
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="png", compress_level=level)
    return buffer.getvalue()


def tar(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members:
            information = tarfile.TarInfo(name)
            information.size = len(content)
            archive.addfile(information, io.BytesIO(content))
    return buffer.getvalue()


def pictures(counts, seed=0):
    rng = np.random.default_rng(seed)
    return {
        letter: rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        for letter, count in zip("ABCDEFGHIJ", counts, strict=True)
    }


def members(by_letter):
    return [
        (f"notMNIST_small/{letter}/{i:05d}.png", png(picture))
        for letter, stack in by_letter.items()
        for i, picture in enumerate(stack)
    ]


def test_png_reader_gives_every_byte_value_exactly():
    picture = (np.arange(784) % 256).astype(np.uint8).reshape(28, 28)
    np.testing.assert_array_equal(notmnist.read_png(png(picture), "p"), picture)


def test_split_is_stratified_complete_and_follows_the_rule():
    by_letter = pictures(range(5, 15))
    # the order in the archive does not matter
    archive = tar(members(by_letter)[::-1])
    train_images, train_labels, test_images, test_labels = notmnist.convert(
        archive, test_per_class=2
    )
    assert np.bincount(test_labels).tolist() == [2] * 10
    assert np.bincount(train_labels).tolist() == list(range(3, 13))
    for label, letter in enumerate("ABCDEFGHIJ"):
        got = np.concatenate(
            [train_images[train_labels == label], test_images[test_labels == label]]
        )
        assert sorted(p.tobytes() for p in got) == sorted(p.tobytes() for p in by_letter[letter])

    # the rule, written once more: which test picture is where
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(stack)) for stack in by_letter.values()]
    rng.permutation(len(train_labels))
    place = rng.permutation(20)
    for i, source in enumerate(place):
        label, k = divmod(int(source), 2)
        np.testing.assert_array_equal(
            test_images[i], by_letter["ABCDEFGHIJ"[label]][orders[label][k]]
        )


def test_names_are_sorted_by_byte_value_not_by_alphabet():
    by_letter = pictures([4] * 10)
    plain = notmnist.convert(tar(members(by_letter)), test_per_class=1)
    names = ["B.png", "a.png", "\u00e9.png", "\u4e2d.png"]  # 42 < 61 < c3 a9 < e4 b8 ad
    renamed = [
        (f"x/{letter}/{name}", png(picture))
        for letter, stack in by_letter.items()
        for name, picture in zip(names, stack, strict=True)
    ]
    for array, again in zip(plain, notmnist.convert(tar(renamed), test_per_class=1), strict=True):
        np.testing.assert_array_equal(array, again)


def test_unreadable_pictures_and_other_files_are_skipped():
    good = members(pictures([3] * 10))
    extra = [
        ("notMNIST_small/A/0.png", b""),
        ("notMNIST_small/F/0.png", b"not a picture"),
        ("notMNIST_small/B/00000.png~", b"x"),
        ("notMNIST_small/K/1.png", good[0][1]),
        ("README", b"text"),
        ("notMNIST_small/C/cut.png", good[0][1][:60]),
    ]
    for array, again in zip(
        notmnist.convert(tar(good), test_per_class=1),
        notmnist.convert(tar(good + extra), test_per_class=1),
        strict=True,
    ):
        np.testing.assert_array_equal(array, again)


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"", "not a readable archive"),
        (b"<html>" * 200, "not a readable archive"),
        (gzip.compress(tar(members(pictures([3] * 10))))[:-2000], "not a readable archive"),
        (
            tar(members(pictures([3] * 9 + [1]))),
            "1 readable pictures of J, but more than 1 are needed",
        ),
        (
            tar([("x/A/1.png", png(np.zeros((28, 27), np.uint8)))]),
            r"x/A/1.png: expected a grey-scale .* 27 x 28",
        ),
        (
            tar([("x/A/1.png", png(np.zeros((28, 28, 3), np.uint8)))]),
            r"x/A/1.png: expected .* \(28, 28, 3\)",
        ),
    ],
)
def test_bad_archive_is_named(archive, message):
    with pytest.raises(DataError, match=f"^where.*: .*{message}|^where: {message}"):
        notmnist.convert(archive, "where", test_per_class=1)


def test_fetch_converts_the_archive_and_checks_the_sums(mirror, monkeypatch, tmp_path):
    pytest.importorskip("pooch", reason="downloads need the extra data")
    archive = gzip.compress(tar(members(pictures([377] * 10))), compresslevel=1)
    arrays = notmnist.convert(archive)
    sums = tuple(hashlib.sha256(idx.encode(array)).hexdigest() for array in arrays)
    mirror["/small.tar.gz"] = archive
    source = SOURCES["notmnist"]._replace(urls=(f"{mirror['url']}/small.tar.gz",), size=None)
    monkeypatch.setitem(SOURCES, "notmnist", source)
    with pytest.raises(DataError, match=rf"small.tar.gz, converted to {FILES[0]}: wrong checksum"):
        registry.fetch("notmnist", tmp_path)
    monkeypatch.setitem(SOURCES, "notmnist", source._replace(sha256=sums))
    registry.fetch("notmnist", tmp_path)
    for array, again in zip(arrays, registry.load("notmnist", tmp_path)[1:5], strict=True):
        np.testing.assert_array_equal(array, again)


@pytest.mark.slow(reason="ten thousands of pictures")
@pytest.mark.data
def test_real_split_comes_back_from_an_archive_of_its_pictures(real_data):
    """Undo the rule on the published split, pack the pictures, convert them: the published sums
    come out.
    """
    real = registry.load("notmnist", real_data)
    counts = np.bincount(real.train_labels) + np.bincount(real.test_labels)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(count) for count in counts]
    train = np.empty_like(real.train_images)
    test = np.empty_like(real.test_images)
    train[rng.permutation(len(train))] = real.train_images
    test[rng.permutation(len(test))] = real.test_images
    by_letter = {}
    used = 0
    for label, order in enumerate(orders):
        stack = np.empty((len(order), 28, 28), np.uint8)
        stack[order[:375]] = test[375 * label : 375 * (label + 1)]
        stack[order[375:]] = train[used : used + len(order) - 375]
        used += len(order) - 375
        by_letter["ABCDEFGHIJ"[label]] = stack
    arrays = notmnist.convert(tar(members(by_letter)))
    sums = tuple(hashlib.sha256(idx.encode(array)).hexdigest() for array in arrays)
    assert sums == SOURCES["notmnist"].sha256
