"""A folder from another person is safe to look at: no link is followed, no module imported, nothing
else is decoded.
"""

import os
import struct
import sys
import zlib

import fuzz_folders
import pytest

import ibpcl
from ibpcl import checkpoints, storage
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.experiments import page
from ibpcl.experiments.door import load_run

pytestmark = pytest.mark.usefixtures("no_figures")

links = pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
KEYS = {
    "method": "naive",
    "epochs": 1,
    "hidden": (3,),
    "tasks": 2,
    "train_limit": 40,
    "test_limit": 20,
    "backend": "numpy",
}
EVIL = """
import pathlib
pathlib.Path("was_here").touch()
from ibpcl.methods.naive import Naive

class Class(Naive):
    pass
"""


@pytest.fixture
def folder(tmp_path, drawn):
    ibpcl.run("split-mnist", tmp_path / "r", **KEYS)
    return tmp_path / "r"


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A current folder with a module that leaves a trace when it is imported."""
    (tmp_path / "evil_module.py").write_text(EVIL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("evil_module", None)
    sys.path[:] = [path for path in sys.path if path != str(tmp_path)]


def png(width, height):
    """Return a PNG of one grey that announces a size, in a few bytes."""

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(b"\0" * 100))
        + chunk(b"IEND", b"")
    )


@links
@pytest.mark.parametrize(
    "name", ["history.png", "report.html", "result.json", "config.toml", "history.csv"]
)
def test_no_link_is_followed(name, folder):
    secret = folder.parent / "secret"
    secret.write_text("a secret, \n1\n", encoding="utf-8")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(secret)
    try:
        page.write(folder)
    except UserError as error:
        assert "secret" not in str(error)
    assert secret.read_text(encoding="utf-8") == "a secret, \n1\n"
    if (folder / "report.html").exists() and name != "report.html":
        text = (folder / "report.html").read_text(encoding="utf-8")
        assert "a secret" not in text and "YSBzZWNyZXQ" not in text
    assert name != "report.html" or not (folder / name).is_symlink()


@links
@pytest.mark.parametrize("name", ["learner.npz", "result.json", "accuracy_matrix.png"])
def test_a_run_does_not_write_through_a_link(name, folder):
    target = folder.parent / "mine"
    target.write_bytes(b"mine")
    for path in (folder / name, folder / "result.json"):
        path.unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    assert main(["run", "--resume", str(folder), "--quiet"]) == 2
    assert target.read_bytes() == b"mine"


@pytest.mark.parametrize(
    "data",
    [
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
        b"",
        b"\x89PNG\r\n\x1a\n",
        png(20_000, 20_000),
        png(2**31 - 1, 2**31 - 1),
        png(0, 5),
    ],
)
def test_no_picture_but_a_png_of_some_size_is_read(data, folder, monkeypatch):
    Image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(Image, "open", lambda *arguments, **options: pytest.fail("it was decoded"))
    monkeypatch.setattr(page, "MOST", 0)  # so that figures must shrink
    (folder / "history.png").write_bytes(data)
    text = page.write(folder).read_text(encoding="utf-8")
    assert "history.png is left out" in text and "<img" not in text


def test_a_damaged_picture_that_must_shrink_is_kept_as_it_is(folder, monkeypatch):
    monkeypatch.setattr(page, "MOST", 0)
    (folder / "history.png").write_bytes(png(1000, 1000))
    assert "history.png is too large" in page.write(folder).read_text(encoding="utf-8")


def test_a_table_shows_no_runs_from_elsewhere(tmp_path, drawn):
    keys = {key: value for key, value in KEYS.items() if key != "method"}
    ibpcl.run("split-mnist", tmp_path / "private", **KEYS)
    ibpcl.compare("split-mnist", ["naive"], 1, tmp_path / "c", **keys)
    place = tmp_path / "c/split-mnist"
    table = storage.read_json(place / "table.json")
    assert "Runs side by side" in page.write(place).read_text(encoding="utf-8")
    for outside in ("../../private", str(tmp_path / "private")):
        table["cells"][0]["folder"] = outside
        storage.write_json(place / "table.json", table)
        assert "Runs side by side" not in page.write(place).read_text(encoding="utf-8")


def test_a_module_is_imported_only_if_the_user_names_it(folder, workplace):
    path = folder / "config.toml"
    storage.write_toml(path, storage.read_toml(path) | {"method": "evil_module:Class"})
    (folder / "result.json").unlink()
    trace = workplace / "was_here"
    alone = ["run", str(path), "--quiet", "--out", "new"]
    for words in (
        ["run", "--resume", str(folder), "--quiet"],
        alone,
        ["report", str(folder)],
        ["runs", "."],
    ):
        main(words)
        assert not trace.exists(), words
    with pytest.raises(UserError, match="evil_module"):
        load_run(folder)
    assert main(["run", "--resume", str(folder), "--quiet", "--method", "evil_module:Other"]) == 2
    assert not trace.exists()
    assert main(["run", "--resume", str(folder), "--quiet", "--method", "evil_module:Class"]) == 0
    assert trace.exists()


def test_trust_imports_what_a_file_names(folder, workplace):
    path = folder / "config.toml"
    storage.write_toml(path, storage.read_toml(path) | {"method": "evil_module:Class"})
    assert main(["run", str(path), "--quiet", "--out", "new", "--trust"]) == 0
    assert (workplace / "was_here").exists()


def test_a_prior_of_a_file_is_not_imported(folder, workplace):
    (workplace / "x.toml").write_text(
        'method = "npbcl"\nprior = "evil_module:Class"\n', encoding="utf-8"
    )
    assert main(["run", "x.toml", "--quiet"]) == 2
    assert not (workplace / "was_here").exists()


@pytest.mark.parametrize("change", ["settings", "seed", "missing", "shape", "text"])
def test_a_learner_with_a_right_seal_and_other_contents_is_refused(change, folder):
    arrays, meta, _ = checkpoints.load(folder / "learner.npz")
    name = max(arrays, key=lambda key: arrays[key].size)
    if change == "settings":
        meta["settings"] = [1]
    if change == "seed":
        meta["seed"] = {"a": 1}
    if change == "missing":
        del arrays[name]
    if change == "shape":
        arrays[name] = arrays[name].reshape(-1)[:1]
    if change == "text":
        arrays[name] = arrays[name].astype(str)
    checkpoints.save(folder.parent / "other.npz", arrays, meta)
    with pytest.raises(ValueError, match=r"load|parameters"):
        ibpcl.load(folder.parent / "other.npz").predict([[0.0] * 16], 0)


@pytest.mark.parametrize(
    "count", [12, pytest.param(100, marks=pytest.mark.slow(reason="a hundred spoiled folders"))]
)
def test_spoiled_folders_are_answered_in_a_line(count, tmp_path, drawn):
    """A few of the thousands that ``fuzz_folders.py`` tries."""
    assert fuzz_folders.run(fuzz_folders.make(tmp_path), count) == {}
