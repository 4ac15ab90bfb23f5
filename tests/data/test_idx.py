"""IDX files are read back as written; malformed files are refused with their name and a reason."""

import gzip
import re
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ibpcl.data import idx
from ibpcl.data.dataset import DataError

IMAGES = np.arange(2 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(2, 28, 28)
GOOD = idx.encode(IMAGES)


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)))
def test_encode_and_parse_are_inverse(array):
    again = idx.parse(idx.encode(array), "memory", array.ndim)
    np.testing.assert_array_equal(again, array)
    assert again.dtype == np.uint8 and again.shape == array.shape and not again.flags.writeable


def test_magic_numbers_are_those_of_mnist():
    assert int.from_bytes(GOOD[:4], "big") == 2051
    assert int.from_bytes(idx.encode(IMAGES[0, 0])[:4], "big") == 2049


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_contents_tell_whether_a_file_is_packed_not_its_name(tmp_path, pack, name):
    path = tmp_path / name
    path.write_bytes(pack(GOOD))
    np.testing.assert_array_equal(idx.read(path, 3), IMAGES)


PACKED = gzip.compress(GOOD)
BAD = {
    "empty": (b"", 3, "not an IDX file"),
    "half a magic number": (GOOD[:3], 3, "not an IDX file"),
    "a web page": (b"<!DOCTYPE html>", 3, "web page.*not an IDX file"),
    "wrong magic": (b"\x01" + GOOD[1:], 3, "magic number must be 2051"),
    "other entries": (GOOD[:2] + b"\x0d" + GOOD[3:], 3, "wrong magic number: entries of type 13"),
    "labels for images": (
        idx.encode(np.zeros(4, np.uint8)),
        3,
        "expected 2051 for 3 dimensions, got 2049 for 1",
    ),
    "images for labels": (GOOD, 1, "expected 2049 for 1 dimension, got 2051 for 3"),
    "truncated header": (GOOD[:10], 3, "truncated: 10 bytes, but the header alone needs 16"),
    "truncated payload": (
        GOOD[:-1],
        3,
        "truncated: the header announces 2 x 28 x 28 = 1568 bytes, got 1567",
    ),
    "no payload": (GOOD[:16], 3, "truncated: .* got 0"),
    "overlong payload": (GOOD + b"\0", 3, "too long: .* 1568 bytes, got 1569"),
    "wild sizes": (GOOD[:4] + b"\xff" * 12 + GOOD[16:], 3, "truncated: .* got 1568"),
    "impossible dimensions": (
        b"\0\0\x08\xff" + b"\0\0\0\1" * 255 + b"7",
        None,
        "announces 255 dimensions",
    ),
    "truncated gzip": (PACKED[:-20], 3, "the gzip file is truncated"),
    "gzip header only": (PACKED[:10], 3, "the gzip file is truncated"),
    "two bytes of gzip": (PACKED[:2], 3, "the gzip file is truncated"),
    "damaged gzip data": (
        PACKED[:40] + bytes([PACKED[40] ^ 255]) + PACKED[41:],
        3,
        "the gzip file is damaged",
    ),
    "damaged gzip sum": (
        PACKED[:-5] + bytes([PACKED[-5] ^ 1]) + PACKED[-4:],
        3,
        "the gzip file is damaged",
    ),
    "garbage after gzip": (PACKED + b"garbage", 3, "the gzip file is damaged"),
}


@pytest.mark.parametrize("case", BAD)
def test_malformed_file_is_named_with_what_is_wrong(tmp_path, case):
    content, dimensions, message = BAD[case]
    path = tmp_path / "the-file"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: .*{message}") as caught:
        idx.read(path, dimensions)
    assert "\n" not in str(caught.value)


@given(st.data())
def test_no_damage_to_the_packed_file_goes_unnoticed_or_ends_in_another_error(data):
    # before: name and time of the packing
    position = data.draw(st.integers(10, len(PACKED) - 1))
    changed = bytearray(PACKED)
    changed[position] ^= data.draw(st.integers(1, 255))
    for raw in (bytes(changed), PACKED[:position]):
        with pytest.raises(DataError, match=r"^name: "):
            idx.parse(idx.unpack(raw, "name"), "name", 3)


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_file_that_cannot_be_read_is_named(tmp_path, make):
    make(tmp_path / "absent")
    with pytest.raises(DataError, match=r"absent: cannot be read: "):
        idx.read(tmp_path / "absent")


def test_only_bytes_are_encoded():
    with pytest.raises(TypeError, match="must be uint8, got float64"):
        idx.encode(np.zeros(3))


@pytest.mark.parametrize(
    ("announced", "message"),
    [
        (10, "too long: the header announces 10"),
        (2**32 - 1, "announces 4294967295 bytes; no image set has more"),
    ],
)
def test_no_more_is_unpacked_than_the_header_announces(announced, message):
    packed = gzip.compress(struct.pack(">2xBBI", 8, 1, announced) + bytes(10**8))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=message):
            idx.parse(idx.unpack(packed, "labels.gz"), "labels.gz")
        assert tracemalloc.get_traced_memory()[1] < 10**7  # of the 100 MB that it unpacks to
    finally:
        tracemalloc.stop()
