"""Loading by name: where files are searched, what is refused, and the status."""

import gzip
import re

import numpy as np
import pytest

from ibpcl.data import idx, registry
from ibpcl.data.dataset import DataError
from ibpcl.data.sources import FILES, SOURCES, data_folder

SIZES = {"mnist": (60000, 10000), "fashion_mnist": (60000, 10000), "notmnist": (14974, 3750)}


def assert_same(dataset, contents):
    for array, file in zip(dataset[1:5], FILES, strict=True):
        np.testing.assert_array_equal(array, idx.parse(contents[file], file))


def test_argument_then_variable_then_cache_name_the_folder(tmp_path, monkeypatch, cache):
    assert data_folder() == cache / "data"
    monkeypatch.setenv("IBPCL_DATA", str(tmp_path / "variable"))
    assert data_folder() == tmp_path / "variable"
    assert data_folder(tmp_path / "argument") == tmp_path / "argument"


def test_plain_and_packed_files_load_from_any_of_the_folders(tiny, monkeypatch, cache):
    contents, folder = tiny
    assert_same(registry.load("mnist", folder), contents)
    monkeypatch.setenv("IBPCL_DATA", str(folder))
    assert_same(registry.load("mnist"), contents)
    monkeypatch.delenv("IBPCL_DATA")
    cache.mkdir(parents=True)
    folder.rename(cache / "data")
    dataset = registry.load("mnist")
    assert_same(dataset, contents)
    assert dataset.name == "mnist" and dataset.class_names == tuple("0123456789")


@pytest.mark.parametrize("call", [registry.load, registry.verify, registry.fetch])
def test_unknown_name_lists_the_known_ones(call):
    with pytest.raises(
        DataError,
        match=r"must be one of glyphs, glyph_digits, tiny_glyphs, .*, got 'emnist'",
    ):
        call("emnist")


def test_named_folder_without_the_files_says_what_is_missing_and_what_to_do(tiny):
    _, folder = tiny
    (folder / "mnist" / FILES[0]).unlink()
    command = re.escape(f"`ibpcl data fetch mnist --data-dir {folder}`")
    message = rf"mnist: missing {FILES[0]} \(plain or .gz\).*{command}"
    with pytest.raises(DataError, match=message):
        registry.load("mnist", folder)


@pytest.mark.parametrize("call", [registry.load, registry.verify])
def test_wrong_checksum_names_file_expected_and_got(tiny, call):
    contents, folder = tiny
    path = folder / "mnist" / FILES[2]
    changed = bytearray(contents[FILES[2]])
    changed[-1] ^= 1  # one bit of one pixel
    path.write_bytes(changed)
    expected = SOURCES["mnist"].sha256[2]
    message = (
        rf"{FILES[2]}: wrong checksum: expected sha256 {expected}.*, got [0-9a-f]{{64}}; .*ibpcl "
        r"data fetch"
    )
    with pytest.raises(DataError, match=message):
        call("mnist", folder)


def test_counts_that_differ_are_reported_before_the_checksum(tiny):
    _, folder = tiny
    (folder / "mnist" / f"{FILES[1]}.gz").write_bytes(
        gzip.compress(idx.encode(np.zeros(19, np.uint8)))
    )
    with pytest.raises(
        DataError, match=r"images-idx3-ubyte holds 20 images, but .*ubyte\.gz holds 19 labels"
    ):
        registry.load("mnist", folder)


def test_truncated_gzip_is_reported_as_that(tiny):
    _, folder = tiny
    path = folder / "mnist" / f"{FILES[1]}.gz"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DataError, match=r"labels-idx1-ubyte.gz: the gzip file is truncated"):
        registry.load("mnist", folder)


def test_verify_names_the_folder(tiny):
    assert registry.verify("mnist", tiny[1]) == tiny[1] / "mnist"


def test_a_set_of_which_some_files_are_there_is_incomplete(tiny):
    folder = tiny[1]
    next((folder / "mnist").glob("t10k-labels*")).unlink()
    status = {status.name: status for status in registry.status(folder)}["mnist"]
    assert status.summary == "incomplete" and not status.usable
    assert [file.file for file in status.files if file.problem] == ["t10k-labels-idx1-ubyte"]


def test_what_to_do_about_a_damaged_file_names_the_folder_that_was_given(tiny):
    folder = tiny[1]
    (folder / "mnist" / f"{FILES[1]}.gz").write_bytes(b"")
    with pytest.raises(
        DataError, match=f"{FILES[1]}.*`ibpcl data fetch mnist --data-dir {folder}`"
    ):
        registry.load("mnist", folder)


def test_without_a_home_the_sets_of_a_named_folder_are_listed(tiny, monkeypatch):
    def homeless():
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("IBPCL_DATA", raising=False)
    monkeypatch.setattr(registry.Path, "home", homeless)
    by_name = {status.name: status for status in registry.status(tiny[1])}
    assert (
        by_name["mnist"].summary == "verified"
        and by_name["glyphs"].summary == "rendered when asked for"
    )
    by_name = {status.name: status for status in registry.status()}
    assert "`data_dir` or IBPCL_DATA" in by_name["mnist"].summary and by_name["glyphs"].usable


def test_a_damaged_cache_is_not_called_one(tiny):
    path = registry.glyphs.cache_path("glyphs", 0)
    assert registry.cache.write_arrays(path, {"x": np.ones(3)})
    assert {status.name: status.summary for status in registry.status(tiny[1])}[
        "glyphs"
    ] == "cached"
    path.write_bytes(path.read_bytes()[:-1])
    assert {status.name: status.summary for status in registry.status(tiny[1])}[
        "glyphs"
    ] == "rendered when asked for"


def test_status_says_verified_damaged_or_missing(tiny):
    _, folder = tiny
    by_name = {status.name: status for status in registry.status(folder)}
    assert tuple(by_name) == registry.available()
    assert by_name["mnist"].summary == "verified" and by_name["mnist"].usable
    assert by_name["notmnist"].summary == "missing" and not by_name["notmnist"].usable
    assert by_name["glyphs"].summary == "rendered when asked for" and by_name["glyphs"].usable
    assert [file.path for file in by_name["notmnist"].files] == [None] * 4

    (folder / "mnist" / FILES[0]).write_bytes(b"nonsense")
    (folder / "mnist" / f"{FILES[1]}.gz").unlink()
    damaged = {status.name: status for status in registry.status(folder)}["mnist"]
    assert damaged.summary == "damaged" and not damaged.usable
    assert "not an IDX file" in damaged.files[0].problem
    assert damaged.files[1].problem == "missing" and damaged.files[2].problem == ""


@pytest.mark.data
@pytest.mark.parametrize("name", SIZES)
def test_real_sets_have_their_published_sizes_and_sums(real_data, name):
    dataset = registry.load(name, real_data)
    assert (len(dataset.train_images), len(dataset.test_images)) == SIZES[name]
    assert dataset.train_images.shape[1:] == (28, 28) and len(dataset.class_names) == 10
    counts = np.bincount(dataset.test_labels, minlength=10)
    assert counts.min() > 0 and (name == "mnist" or np.ptp(counts) == 0)


def dotted(file):
    return file.replace("-idx", ".idx")


PLACES = {
    "with a dot": lambda file: ("mnist", dotted(file)),
    "as torchvision": lambda file: ("MNIST", "raw", file),
    "torchvision's folder itself": lambda file: (file,),
    "directly, with a dot": lambda file: (dotted(file),),
    "as Kaggle": lambda file: ("mnist", file, file),
    "as Kaggle, with a dot": lambda file: (dotted(file), dotted(file)),
    "as Kaggle, both": lambda file: ("mnist", file, dotted(file)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("packed", [False, True])
def test_files_are_found_where_others_put_them(place, packed, tiny, tmp_path, monkeypatch):
    contents, _ = tiny
    monkeypatch.setitem(SOURCES, "mnist", SOURCES["mnist"]._replace(places=("MNIST/raw",)))
    for file, content in contents.items():
        path = tmp_path.joinpath("other", *PLACES[place](file))
        if packed and "Kaggle" in place:
            pytest.skip("Kaggle unpacks them")
        path = path.with_name(f"{path.name}.gz") if packed else path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if packed else content)
    assert_same(registry.load("mnist", tmp_path / "other"), contents)
    assert registry.verify("mnist", tmp_path / "other") in path.parents


def test_files_of_one_set_directly_in_the_folder_are_not_another_set(tiny):
    contents, folder = tiny
    for file, content in contents.items():
        (folder / file).write_bytes(content)
    states = {status.name: status.summary for status in registry.status(folder)}
    assert (states["mnist"], states["fashion_mnist"]) == ("verified", "missing")


def test_a_download_replaces_no_file_outside_the_folder_of_its_set(
    tiny, tmp_path, mirror, monkeypatch
):
    contents, _ = tiny
    monkeypatch.setitem(SOURCES, "mnist", SOURCES["mnist"]._replace(urls=(f"{mirror['url']}/",)))
    for file, content in contents.items():
        mirror[f"/{file}.gz"] = gzip.compress(content)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / FILES[0]).write_bytes(b"my own")
    assert registry.fetch("mnist", folder) == folder / "mnist"
    assert (folder / FILES[0]).read_bytes() == b"my own"
    assert_same(registry.load("mnist", folder), contents)


@pytest.mark.parametrize(
    "page",
    [b"<!DOCTYPE html><html>", b"\n <HTML><head>", b"\xef\xbb\xbf<html>", b"<?xml version='1'?>"],
)
def test_a_web_page_in_place_of_a_file_is_named_as_one(page, tiny):
    _, folder = tiny
    for content in (page, gzip.compress(page)):
        (folder / "mnist" / FILES[0]).write_bytes(content)
        with pytest.raises(DataError, match="web page"):
            registry.load("mnist", folder)
