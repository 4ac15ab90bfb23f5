"""CIFAR-10 and CIFAR-100: made archives in the published format, and what is refused."""

import hashlib
import io
import tarfile

import numpy as np
import pytest

from ibpcl.data import cifar, registry
from ibpcl.data.dataset import DataError
from ibpcl.experiments.config import RunConfig
from ibpcl.experiments.streams import make_stream

SIZES = {"cifar10": (10, 4), "cifar100": (200, 100)}  # images of each file for training, for tests


def made(name, rng, change=None):
    """An archive in the published format, with few images, and its files before packing."""
    archive = cifar.ARCHIVES[name]
    files = {archive.names: "".join(f"thing {c}\n" for c in range(archive.classes)).encode()}
    for file, count in [(f, SIZES[name][0]) for f in archive.train] + [
        (archive.test, SIZES[name][1])
    ]:
        labels = np.arange(count)[:, None] % archive.classes
        coarse = rng.integers(0, 20, (count, archive.labels - 1))
        pixels = rng.integers(0, 256, (count, cifar.PIXELS))
        files[file] = np.hstack([coarse, labels, pixels]).astype(np.uint8).tobytes()
    if change:
        change(files)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for file, content in files.items():
            member = tarfile.TarInfo(f"some-folder/{file}")
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return buffer.getvalue(), files


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Put a made archive into a folder, as if its checksum were the published one."""

    def put_archive(name, change=None):
        content, files = made(name, np.random.default_rng(0), change)
        folder = tmp_path / name
        folder.mkdir()
        (folder / cifar.ARCHIVES[name].file).write_bytes(content)
        digest = hashlib.md5(content).hexdigest()
        monkeypatch.setitem(cifar.ARCHIVES, name, cifar.ARCHIVES[name]._replace(md5=digest))
        return tmp_path, files

    return put_archive


@pytest.mark.parametrize("name", cifar.ARCHIVES)
def test_pixels_and_labels_are_those_of_the_records(name, put):
    folder, files = put(name)
    data = registry.load(name, folder)
    archive = cifar.ARCHIVES[name]
    per_file = SIZES[name][0]
    assert data.train_images.shape == (per_file * len(archive.train), 32, 32, 3)
    assert data.test_images.shape == (SIZES[name][1], 32, 32, 3)
    assert data.class_names[1] == "thing 1" and len(data.class_names) == archive.classes
    # row 5, column 7 of the image 3 of the last file: red, green and blue lie 1024 bytes apart
    record = files[archive.train[-1]][3 * (archive.labels + 3072) :]
    place = archive.labels + 5 * 32 + 7
    image = data.train_images[per_file * (len(archive.train) - 1) + 3]
    assert image[5, 7].tolist() == [record[place + 1024 * colour] for colour in range(3)]
    assert data.train_labels[3] == 3


def test_tasks_have_the_colours_last_and_no_shape_of_a_gray_image(put):
    folder, _ = put("cifar10")
    stream = make_stream(RunConfig("x", dataset="cifar10", stream="split", data_dir=str(folder)))
    data = registry.load("cifar10", folder)
    assert len(stream) == 5 and stream[0].inputs == 3072 and stream[0].image_shape is None
    first = data.train_images[np.flatnonzero(data.train_labels < 2)[0]]
    np.testing.assert_allclose(255 * stream[0].x_train[0], first.reshape(-1), rtol=1e-6)


def test_cifar100_has_twenty_tasks_of_five_classes(put):
    folder, _ = put("cifar100")
    keys = {"dataset": "cifar100", "stream": "split", "tasks": 20, "data_dir": str(folder)}
    stream = make_stream(RunConfig("x", **keys))
    assert len(stream) == 20 and stream[19].outputs == 5
    assert stream[19].class_names[0] == "thing 95"


def test_a_changed_archive_is_damaged(put):
    folder, _ = put("cifar10")
    path = folder / "cifar10" / cifar.ARCHIVES["cifar10"].file
    assert registry.verify("cifar10", folder) == path.parent
    assert {s.name: s.summary for s in registry.status(folder)}["cifar10"] == "verified"
    changed = bytearray(path.read_bytes())
    changed[-9] ^= 1
    path.write_bytes(changed)
    for call in (registry.load, registry.verify):
        with pytest.raises(DataError, match=r"wrong checksum: expected md5 [0-9a-f]{32}, got"):
            call("cifar10", folder)
    assert {s.name: s.summary for s in registry.status(folder)}["cifar10"] == "damaged"


def test_a_missing_archive_says_where_to_put_it(tmp_path):
    place = tmp_path / "cifar100" / "cifar-100-binary.tar.gz"
    for call in (registry.load, registry.verify, registry.fetch):
        with pytest.raises(DataError, match=r"cifar\.html") as raised:
            call("cifar100", tmp_path)
        assert str(place) in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda files: files.pop("test_batch.bin"), "lacks test_batch.bin"),
        (lambda files: files.update({"data_batch_2.bin": b"12345"}), "records of 3073 bytes"),
        (lambda files: files.update({"test_batch.bin": b""}), "got a file of 0 bytes"),
        (lambda files: files.update({"batches.meta.txt": b"a\nb\n"}), "10 classes, got 2"),
        (
            lambda files: files.update({"test_batch.bin": b"\xff" * 3073}),
            "labels must lie in 0 .. 9",
        ),
    ],
)
def test_archives_of_another_content_are_refused(put, change, words):
    folder, _ = put("cifar10", change)
    with pytest.raises(DataError) as raised:
        registry.load("cifar10", folder)
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_the_published_checksums_are_those_of_the_page():
    assert {len(archive.md5) for archive in cifar.ARCHIVES.values()} == {32}
    assert len({archive.md5 for archive in cifar.ARCHIVES.values()}) == 2
