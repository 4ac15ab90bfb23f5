"""Downloads from a server on this machine: verified before they are stored, with clear errors."""

import gzip
import sys

import numpy as np
import pytest

from ibpcl.data import download, idx, registry
from ibpcl.data.dataset import DataError
from ibpcl.data.sources import FILES, SOURCES


@pytest.fixture
def served(tiny, mirror, monkeypatch):
    """Offer the tiny MNIST at a second address; at the first there is nothing."""
    pytest.importorskip("pooch", reason="downloads need the extra data")
    contents, _ = tiny
    for file, content in contents.items():
        mirror[f"/good/{file}.gz"] = gzip.compress(content)
    urls = (f"{mirror['url']}/gone/", f"{mirror['url']}/good/")
    monkeypatch.setitem(SOURCES, "mnist", SOURCES["mnist"]._replace(urls=urls))
    return contents, mirror


def test_loading_downloads_into_the_cache_once(served, cache):
    contents, mirror = served
    first = registry.load("mnist")
    assert sorted(file.name for file in (cache / "data" / "mnist").iterdir()) == sorted(
        f"{f}.gz" for f in FILES
    )
    url = mirror["url"]
    mirror.clear()
    mirror["url"] = url
    second = registry.load("mnist")
    for array, again, file in zip(first[1:5], second[1:5], FILES, strict=True):
        np.testing.assert_array_equal(array, idx.parse(contents[file], file))
        np.testing.assert_array_equal(array, again)


def test_a_folder_the_user_has_named_is_not_written_to_by_loading(served, tmp_path):
    with pytest.raises(DataError, match="missing"):
        registry.load("mnist", tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


def test_fetch_repairs_what_is_wrong_and_leaves_what_is_right(served, tiny):
    _, folder = tiny
    plain = folder / "mnist" / FILES[0]
    packed = folder / "mnist" / f"{FILES[1]}.gz"
    plain.write_bytes(b"nonsense")
    packed.unlink()
    right = folder / "mnist" / FILES[2]
    before = right.stat().st_mtime_ns
    assert registry.fetch("mnist", folder) == folder / "mnist"
    assert registry.verify("mnist", folder)
    assert plain.read_bytes() == served[0][FILES[0]] and right.stat().st_mtime_ns == before


def test_variable_names_the_folder_that_is_fetched_into(served, tmp_path, monkeypatch):
    monkeypatch.setenv("IBPCL_DATA", str(tmp_path / "mine"))
    assert registry.fetch("mnist") == tmp_path / "mine" / "mnist"
    assert registry.verify("mnist", tmp_path / "mine")


def other_last_pixel(content):
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: raw[:-9], "the gzip file is truncated"),
        (lambda raw: b"<html>you must log in to this network</html>", "web page.*not an IDX file"),
        (lambda raw: gzip.compress(other_last_pixel(gzip.decompress(raw))), "wrong checksum"),
    ],
)
def test_wrong_download_is_not_kept_and_all_mirrors_are_named(served, cache, damage, message):
    _, mirror = served
    path = f"/good/{FILES[0]}.gz"
    mirror[path] = damage(mirror[path])
    with pytest.raises(
        DataError, match=f"mnist could not be downloaded: .*/gone/.*404.*/good/.*{message}"
    ):
        registry.load("mnist")
    assert list((cache / "data" / "mnist").iterdir()) == []


def test_a_download_that_does_not_end_is_refused(served, cache, monkeypatch):
    monkeypatch.setattr(download, "LARGEST", 100)
    with pytest.raises(DataError, match="the download failed: it is larger than 100 bytes"):
        registry.load("mnist")
    assert list((cache / "data" / "mnist").iterdir()) == []


def test_progress_is_shown_on_request_only(served, tmp_path, capsys):
    registry.fetch("mnist", tmp_path / "quiet")
    silent = capsys.readouterr()
    registry.fetch("mnist", tmp_path / "shown", progress=True)
    shown = capsys.readouterr()
    assert silent == ("", "") and shown.out == "" and "100%" in shown.err


def test_no_connection_is_one_clear_line(tiny):
    pytest.importorskip("pooch", reason="downloads need the extra data")
    with pytest.raises(DataError, match=r"http://127\.0\.0\.1:9/.*the download failed") as caught:
        registry.load("mnist")
    assert "\n" not in str(caught.value) and "Max retries" not in str(caught.value)
    assert "put the files into" in str(caught.value) and "IBPCL_DATA" in str(caught.value)


def test_without_pooch_the_message_says_what_to_install(tiny, monkeypatch, cache):
    monkeypatch.setitem(sys.modules, "pooch", None)  # makes the import fail
    with pytest.raises(DataError, match="pip install pooch"):
        registry.load("mnist")
    assert not cache.exists()


def test_folder_that_cannot_be_written_is_named(served, tmp_path):
    (tmp_path / "file").write_text("a file where the folder should be")
    with pytest.raises(DataError, match="file/mnist: cannot be written"):
        registry.fetch("mnist", tmp_path / "file")


@pytest.mark.slow(reason="renders a whole set of images")
def test_fetching_what_is_rendered_fills_the_cache(cache):
    assert registry.fetch("glyphs") == cache / "glyphs"
    assert registry.status()[0].summary == "cached"
