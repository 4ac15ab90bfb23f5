"""The cache returns what was stored or nothing, and never fails."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibpcl import places
from ibpcl.data.cache import cache_folder, read_arrays, write_arrays
from ibpcl.data.dataset import DataError

ARRAYS = {"x": np.arange(60, dtype=np.uint8).reshape(3, 20), "y": np.zeros(3)}


def test_arrays_come_back(tmp_path):
    path = tmp_path / "new" / "folder" / "a.npz"
    assert write_arrays(path, ARRAYS)
    arrays = read_arrays(path)
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_anywhere_counts_as_absent(tmp_path, data):
    path = tmp_path / "a.npz"
    assert write_arrays(path, ARRAYS)
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    damaged = bytearray(content)
    damaged[position] ^= data.draw(st.integers(1, 255))
    for bad in (bytes(damaged), bytes(content[:position]), bytes(content) + b"x"):
        path.write_bytes(bad)
        assert read_arrays(path) is None


def test_missing_and_unreadable_count_as_absent(tmp_path):
    assert read_arrays(tmp_path / "absent.npz") is None
    assert read_arrays(tmp_path) is None


def test_a_cache_that_cannot_be_written_is_not_an_error(tmp_path):
    (tmp_path / "file").write_text("a file where the folder should be")
    assert write_arrays(tmp_path / "file" / "a.npz", ARRAYS) is False


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", "/home/me/.cache/ibpcl"),
        ("darwin", "/home/me/Library/Caches/ibpcl"),
        ("win32", "/home/me/AppData/Local/ibpcl"),
    ],
)
def test_folder_follows_the_platform(monkeypatch, platform, expected):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(places.sys, "platform", platform)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored
    assert cache_folder() == Path(expected)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/ibpcl")


def test_no_home_folder_says_what_to_set(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(DataError, match="set the environment variable XDG_CACHE_HOME"):
        cache_folder()
