"""Every file is written atomically, reads back unchanged, and is rejected when damaged."""

import errno
import gc
import hashlib
import json
import math
import os
import signal
import stat
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ibpcl import checkpoints, storage

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
PRINTABLE = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats()
TYPES = st.sampled_from(["f4", "f8", ">f8", "c16", "i8", "u1", "?", "U3"])
ARRAYS = hnp.arrays(TYPES, hnp.array_shapes(min_dims=0, min_side=0, max_side=3))
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)
patient = settings(deadline=None, max_examples=40)  # a disk may be slow


def same(a, b):
    """Equality of type and value at every depth, with NaN equal to NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a, math.copysign(1, a)) == (
            b,
            math.copysign(1, b),
        )
    return a == b


def same_arrays(a, b):
    def facts(arrays):
        return [(name, array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()]

    return facts(a) == facts(b)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("storage")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# Round trips


@patient
@given(TEXT)
def test_text_comes_back(folder, text):
    storage.write_text(folder / "a.txt", text)
    assert storage.read_text(folder / "a.txt") == text


@patient
@given(JSON)
def test_json_comes_back_with_null_for_non_finite_numbers(folder, value):
    def expected(value):
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, dict):
            return {key: expected(item) for key, item in value.items()}
        return [expected(item) for item in value] if isinstance(value, list) else value

    storage.write_json(folder / "a.json", value)
    assert same(storage.read_json(folder / "a.json"), expected(value))


def test_json_takes_numpy_and_refuses_the_rest(tmp_path):
    path = tmp_path / "a.json"
    storage.write_json(path, {"R": np.array([[1, np.nan]]), "n": np.int64(3), "x": np.float32(0.5)})
    assert storage.read_json(path) == {"R": [[1.0, None]], "n": 3, "x": 0.5}
    assert "NaN" not in path.read_text()
    with pytest.raises(TypeError, match="keys must be strings, got 1"):
        storage.write_json(path, {1: 2})
    with pytest.raises(TypeError, match="got <class 'set'>"):
        storage.write_json(path, {"a": {1}})


VALUES = st.booleans() | NUMBERS | TEXT


@patient
@given(
    st.dictionaries(
        TEXT,
        VALUES | st.lists(VALUES) | st.dictionaries(TEXT, VALUES | st.lists(VALUES)),
        max_size=6,
    )
)
def test_toml_comes_back(folder, table):
    storage.write_toml(folder / "a.toml", table)
    read = storage.read_toml(folder / "a.toml")
    # sections come last, so the order may differ
    assert read.keys() == table.keys()
    assert all(same(read[key], table[key]) for key in table)


def test_toml_keeps_the_awkward_ones_apart(tmp_path):
    table = {
        "quote": '"\\"',
        "line\n": "\x00\x1f\x7f\r\n\t",
        "é": "日本 🙂",
        "": "",
        "empty": [],
        "yes": True,
        "one": 1,
        "float": 1.0,
        "big": 1e300,
        "tiny": 5e-324,
        "zero": -0.0,
        "inf": -math.inf,
        "nan": math.nan,
        "section": {"k": 1e22},
    }
    storage.write_toml(tmp_path / "a.toml", table)
    assert same(storage.read_toml(tmp_path / "a.toml"), table)


def test_toml_puts_plain_keys_before_sections_and_leaves_none_out(tmp_path):
    storage.write_toml(
        tmp_path / "a.toml", {"s": {"k": 1, "none": None}, "top": np.float64(0.5), "none": None}
    )
    assert (tmp_path / "a.toml").read_text() == "top = 0.5\n\n[s]\nk = 1\n"


@pytest.mark.parametrize(
    "table", [{"a": [None]}, {"a": object()}, {"a": {"b": {"c": object()}}}, {1: 2}]
)
def test_toml_refuses_other_types(tmp_path, table):
    with pytest.raises(TypeError, match=r"storage\.write_toml: "):
        storage.write_toml(tmp_path / "a.toml", table)
    assert names(tmp_path) == []


@patient
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=5
    ),
    st.lists(st.floats(), min_size=5, max_size=5),
    st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=5, max_size=5),
)
def test_csv_comes_back(folder, words, floats, whole):
    size = len(words)
    columns = {
        "word": ["x" + word for word in words],
        "float": floats[:size],
        'whole,"\n': whole[:size],
    }
    storage.write_csv(folder / "a.csv", columns)
    read = storage.read_csv(folder / "a.csv")
    assert list(read) == list(columns)
    assert read["word"].tolist() == columns["word"]
    assert read['whole,"\n'].dtype == np.int64 and read['whole,"\n'].tolist() == whole[:size]
    np.testing.assert_array_equal(read["float"], np.array(floats[:size]))


def test_csv_of_no_rows_and_of_empty_cells(tmp_path):
    storage.write_csv(tmp_path / "a.csv", {"step": [], "elbo": []})
    read = storage.read_csv(tmp_path / "a.csv")
    assert {name: column.shape for name, column in read.items()} == {"step": (0,), "elbo": (0,)}
    storage.write_csv(tmp_path / "a.csv", {"a": [None, 0.5], "b": [1, 2], "c": [None, None]})
    read = storage.read_csv(tmp_path / "a.csv")
    np.testing.assert_array_equal(read["a"], [np.nan, 0.5])
    np.testing.assert_array_equal(read["c"], [np.nan, np.nan])


@pytest.mark.parametrize("columns", [{}, {"a": [1], "b": [1, 2]}, {"a": [[1, 2], [3, 4]]}])
def test_csv_refuses_columns_that_are_no_table(tmp_path, columns):
    with pytest.raises(ValueError, match="columns must be 1-D"):
        storage.write_csv(tmp_path / "a.csv", columns)


@patient
@given(
    st.dictionaries(
        PRINTABLE | st.sampled_from(["file", "layer/0/mu", "a.npy"]), ARRAYS, max_size=3
    )
)
def test_npz_comes_back_and_is_the_same_bytes_each_time(folder, arrays):
    checkpoints.write_npz(folder / "a.npz", arrays)
    first = (folder / "a.npz").read_bytes()
    assert same_arrays(checkpoints.read_npz(folder / "a.npz"), arrays)
    checkpoints.write_npz(folder / "a.npz", arrays)
    assert (folder / "a.npz").read_bytes() == first


def test_npz_is_what_numpy_reads_and_writes(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.asfortranarray(np.eye(2))}
    checkpoints.write_npz(tmp_path / "a.npz", arrays)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as read:
        assert same_arrays(dict(read), arrays)
    np.savez_compressed(tmp_path / "b.npz", **arrays)
    assert same_arrays(checkpoints.read_npz(tmp_path / "b.npz"), arrays)


def test_npz_never_pickles(tmp_path):
    with pytest.raises(TypeError, match="a must hold numbers or text, got an array of object"):
        checkpoints.write_npz(tmp_path / "a.npz", {"a": [None]})
    np.savez(tmp_path / "b.npz", a=np.array([None]))
    with pytest.raises(ValueError, match="Object arrays"):
        checkpoints.read_npz(tmp_path / "b.npz")
    with pytest.raises(ValueError, match="names must be printable"):
        checkpoints.write_npz(tmp_path / "a.npz", {"a\0b": np.eye(2)})


# Damaged files


@pytest.mark.parametrize(
    ("name", "contents", "what"),
    [
        ("text", b"caf\xe9", "byte 3 is not UTF-8"),
        ("json", b"", "Expecting value"),
        ("json", b'{"a": 1', "line 1 column 8"),
        ("json", b'{"a": NaN}', "NaN is not JSON"),
        ("json", b"[" * 100_000, "is damaged"),
        ("toml", b"a = 1\nb\n", "line 2"),
        ("toml", b"a = 1\na = 2\n", "Cannot overwrite a value"),
        ("csv", b"", "it is empty"),
        ("csv", b"a,b\r\n1,2", "it ends in the middle of a line"),
        ("csv", b"a,b\r\n1,2\r\n3\r\n", "line 3 has 1 cells, not 2"),
        ("csv", b"a,a\r\n1,2\r\n", "name occurs twice"),
        ("csv", b'a\r\n"1\r\n', "unexpected end of data"),
        ("npz", b"", "not a zip file"),
        ("npz", b"PK\x03\x04 and nothing else", "not a zip file"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path, name, contents, what):
    path = tmp_path / f"the.{name}"
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=what) as error:
        getattr(checkpoints if name == "npz" else storage, f"read_{name}")(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["text", "json", "toml", "csv", "npz"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=r"the\.file"):
        getattr(checkpoints if name == "npz" else storage, f"read_{name}")(tmp_path / "the.file")


def test_an_npz_with_a_flipped_bit_is_read_as_it_was_or_refused(tmp_path):
    arrays = {"a": np.arange(4, dtype=np.uint8)}
    checkpoints.write_npz(tmp_path / "a.npz", arrays)
    data = (tmp_path / "a.npz").read_bytes()
    refused = 0
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            read = checkpoints._parse_npz(bytes(flipped), "read_npz", "a.npz")
        except ValueError:
            refused += 1
        else:
            assert [array.tolist() for array in read.values()] in ([[0, 1, 2, 3]], [])
    assert refused > 8 * 100  # the array and its header at least


# Atomic writing


def fails_with(number):
    def call(*_):
        raise OSError(number, os.strerror(number))

    return call


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "open"])
@pytest.mark.parametrize("writer", ["text", "npz", "checkpoint"])
def test_a_full_disk_leaves_the_old_file_and_names_it(tmp_path, monkeypatch, call, writer):
    path = tmp_path / "result"

    def write(number):
        if writer == "text":
            storage.write_text(path, str(number))
        elif writer == "npz":
            checkpoints.write_npz(path, {"a": np.array(number)})
        else:
            checkpoints.save(path, {}, {"number": number})

    write(1)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(storage.os, call, fails_with(errno.ENOSPC))
        with pytest.raises(OSError, match="the old file is unchanged: No space left") as error:
            write(2)
    assert error.value.errno == errno.ENOSPC and str(path) in str(error.value)
    assert path.read_bytes() == before
    assert names(tmp_path) in (["result"], ["result", "result.previous"])  # no temporary file


@pytest.mark.parametrize("name", ["config.toml", "checkpoint.npz", "n" * 90, ".hidden"])
def test_the_names_of_temporary_files_are_known(tmp_path, name):
    assert storage.is_temporary(storage.beside(tmp_path / name))
    assert not any(
        storage.is_temporary(tmp_path / other) for other in (name, f".{name}.tmp", f"{name}.tmp")
    )


def test_a_write_that_takes_a_byte_at_a_time_is_repeated(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(storage.os, "write", lambda descriptor, data: write(descriptor, data[:1]))
    storage.write_bytes(tmp_path / "a", b"all of it")
    assert (tmp_path / "a").read_bytes() == b"all of it"


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    storage.write_text(tmp_path / "a", "old")
    monkeypatch.setattr(storage.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        storage.write_text(tmp_path / "a", "new")
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


@pytest.mark.filterwarnings("error")
def test_an_interrupt_while_an_array_is_closed_stays_an_interrupt(tmp_path, monkeypatch):
    close = zipfile._ZipWriteFile.close
    calls = []

    def interrupted(entry):
        calls.append("once")
        if len(calls) == 1:
            raise KeyboardInterrupt
        close(entry)

    monkeypatch.setattr(zipfile._ZipWriteFile, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(tmp_path / "a", {"x": np.ones(3)}, {})
    # the open archive causes no warning
    gc.collect()
    assert names(tmp_path) == []


def test_a_predecessor_that_vanishes_is_none(tmp_path, monkeypatch):
    checkpoints.save(tmp_path / "a", {}, {"epoch": 1})
    write = storage.write_temporary

    def meanwhile(path, pieces):
        (tmp_path / "a").unlink()  # as another process might do
        return write(path, pieces)

    monkeypatch.setattr(storage, "write_temporary", meanwhile)
    checkpoints.save(tmp_path / "a", {}, {"epoch": 2})
    assert checkpoints.load(tmp_path / "a").meta == {"epoch": 2} and names(tmp_path) == ["a"]


@pytest.mark.skipif(os.name != "posix", reason="needs a folder that can be flushed")
def test_file_and_folder_are_flushed_in_this_order(tmp_path, monkeypatch):
    calls = []
    fsync = os.fsync
    replace = os.replace

    def record_fsync(descriptor):
        calls.append(("fsync", "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"))
        fsync(descriptor)

    def record_replace(*paths):
        calls.append(("replace",))
        replace(*paths)

    monkeypatch.setattr(storage.os, "fsync", record_fsync)
    monkeypatch.setattr(storage.os, "replace", record_replace)
    storage.write_text(tmp_path / "a", "text")
    assert calls == [("fsync", "file"), ("replace",), ("fsync", "folder")]


@pytest.mark.skipif(os.name != "posix", reason="needs a folder that can be flushed")
@pytest.mark.parametrize("name", ["EINVAL", "ENOTSUP", "ENOSYS", "EBADF", "EACCES"])
def test_a_folder_that_cannot_be_flushed_does_not_end_a_run(tmp_path, monkeypatch, name):
    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(getattr(errno, name), name)

    monkeypatch.setattr(storage.os, "fsync", fsync)
    storage.write_text(tmp_path / "a", "text")
    assert (tmp_path / "a").read_text() == "text"


@pytest.mark.skipif(os.name != "posix", reason="needs a folder that can be flushed")
def test_a_disk_that_fails_while_a_folder_is_flushed_is_an_error(tmp_path, monkeypatch):
    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(storage.os, "fsync", fsync)
    with pytest.raises(OSError, match="written but not flushed"):
        storage.write_text(tmp_path / "a", "text")


def test_a_missing_folder_and_a_folder_in_the_way_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.result\.json"):
        storage.write_json(tmp_path / "nowhere" / "result.json", {})
    (tmp_path / "result.json").mkdir()
    with pytest.raises(OSError, match=r"result\.json"):
        storage.write_json(tmp_path / "result.json", {})
    assert names(tmp_path) == ["result.json"]


def test_a_link_is_followed_and_the_usual_permissions_are_given(tmp_path):
    (tmp_path / "plain").write_text("")
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    storage.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "target").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_a_rewritten_file_keeps_its_permissions_and_its_group(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("{}")
    path.chmod(0o664)
    if os.getuid() == 0:
        os.chown(path, -1, os.getgid() + 1)
    old = path.stat()
    storage.write_json(path, {"new": 1})
    assert (path.stat().st_mode, path.stat().st_gid) == (old.st_mode, old.st_gid)


def killed(code, folder):
    """Run code in another process and require that it was killed."""
    start = """
        import os, signal, sys
        from ibpcl import checkpoints, storage

        def die(*_):
            os.kill(os.getpid(), signal.SIGKILL)
        """
    command = [sys.executable, "-c", textwrap.dedent(start) + textwrap.dedent(code), str(folder)]
    done = subprocess.run(command, capture_output=True, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.processes(reason="a process is killed")
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_between_write_and_rename_the_old_file_is_whole(tmp_path):
    path = tmp_path / "result.json"
    storage.write_json(path, {"old": 1})
    killed(
        """
        storage.os.replace = die
        storage.write_json(sys.argv[1] + "/result.json", {"new": 2})
        """,
        tmp_path,
    )
    assert storage.read_json(path) == {"old": 1}
    assert len(names(tmp_path)) == 2  # it was killed after writing the temporary file
    storage.write_json(path, {"new": 3})
    assert storage.read_json(path) == {"new": 3}


@pytest.mark.processes(reason="a process is killed")
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_between_keeping_the_old_checkpoint_and_naming_the_new_one(tmp_path):
    for step in (1, 2):
        checkpoints.save(tmp_path / "checkpoint.npz", {}, {"step": step})
    killed(
        """
        storage.rename = die
        checkpoints.save(sys.argv[1] + "/checkpoint.npz", {}, {"step": 3})
        """,
        tmp_path,
    )
    assert checkpoints.latest(tmp_path) == ({}, {"step": 2}, None)
    checkpoints.save(tmp_path / "checkpoint.npz", {}, {"step": 4})
    assert checkpoints.latest(tmp_path) == ({}, {"step": 4}, None)
    assert checkpoints.load(tmp_path / "checkpoint.npz.previous").meta == {"step": 2}


# Checkpoints


@patient
@given(st.dictionaries(PRINTABLE, ARRAYS, max_size=3), st.dictionaries(TEXT, JSON, max_size=3))
@example({}, {"never": math.inf, "unknown": [math.nan, -math.inf]})
def test_a_checkpoint_comes_back(folder, arrays, meta):
    checkpoints.save(folder / "c.npz", arrays, meta)
    read = checkpoints.load(folder / "c.npz")
    assert same_arrays(read.arrays, arrays) and same(read.meta, meta) and read.warning is None


def test_a_checkpoint_is_an_npz(tmp_path):
    checkpoints.save(tmp_path / "c.npz", {"meta": np.arange(3)}, {"step": 1})
    with np.load(tmp_path / "c.npz", allow_pickle=False) as read:
        np.testing.assert_array_equal(read["arrays/meta"], [0, 1, 2])
        assert json.loads(bytes(read["meta"])) == {"step": 1}


@settings(patient, max_examples=200)
@given(st.data())
def test_one_flipped_bit_or_a_lost_end_is_refused(folder, data):
    path = folder / "damaged.npz"
    if not (folder / "whole.npz").exists():
        checkpoints.save(folder / "whole.npz", {"a": np.arange(20.0)}, {"step": 1})
    whole = (folder / "whole.npz").read_bytes()
    if data.draw(st.booleans()):
        bit = data.draw(st.integers(0, 8 * len(whole) - 1))
        path.write_bytes(
            whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :]
        )
    else:
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(ValueError, match=r"damaged\.npz is damaged: the checksum of its \d+ bytes"):
        checkpoints.load(path)


def test_an_npz_that_is_no_checkpoint_is_refused(tmp_path):
    checkpoints.write_npz(tmp_path / "a.npz", {"a": np.eye(2)})
    with pytest.raises(ValueError, match="checksum"):
        checkpoints.load(tmp_path / "a.npz")
    with pytest.raises(TypeError, match="meta must be a dict"):
        checkpoints.save(tmp_path / "a.npz", {}, None)


def test_the_latest_valid_checkpoint_is_found(tmp_path):
    path = tmp_path / "checkpoint.npz"
    previous = tmp_path / "checkpoint.npz.previous"
    with pytest.raises(FileNotFoundError, match=r"checkpoint\.npz"):
        checkpoints.latest(tmp_path)
    for step in (1, 2):
        checkpoints.save(path, {}, {"step": step})
    assert checkpoints.latest(tmp_path) == ({}, {"step": 2}, None)
    assert names(tmp_path) == ["checkpoint.npz", "checkpoint.npz.previous"]

    path.write_bytes(path.read_bytes()[:-1])
    latest = checkpoints.latest(tmp_path)
    assert latest.meta == {"step": 1}
    assert f"{path} is damaged" in latest.warning and str(previous) in latest.warning

    checkpoints.save(path, {}, {"step": 3})  # the damaged file must not replace the valid one
    assert checkpoints.latest(tmp_path) == ({}, {"step": 3}, None)
    assert checkpoints.load(previous).meta == {"step": 1}

    path.unlink()
    latest = checkpoints.latest(tmp_path)
    assert latest.meta == {"step": 1} and "No such file" in latest.warning

    path.write_bytes(b"")
    previous.write_bytes(b"")
    with pytest.raises(ValueError, match="no valid checkpoint"):
        checkpoints.latest(tmp_path)


def test_without_hard_links_the_previous_checkpoint_is_kept_by_renaming(tmp_path, monkeypatch):
    monkeypatch.setattr(storage.os, "link", fails_with(errno.EPERM))
    for step in (1, 2):
        checkpoints.save(tmp_path / "checkpoint.npz", {}, {"step": step})
    assert checkpoints.load(tmp_path / "checkpoint.npz.previous").meta == {"step": 1}
    assert names(tmp_path) == ["checkpoint.npz", "checkpoint.npz.previous"]


@pytest.mark.parametrize("read", [checkpoints.read_npz, checkpoints.load])
def test_an_archive_that_unpacks_to_more_than_its_size_is_refused(tmp_path, read):
    np.savez_compressed(tmp_path / "bomb.npz", zeros=np.zeros(10**7))
    data = (tmp_path / "bomb.npz").read_bytes()
    # with a valid seal, as an attacker could compute
    with zipfile.ZipFile(tmp_path / "bomb.npz", "a") as archive:
        archive.comment = b"sha256:" + b"0" * 64
    data = (tmp_path / "bomb.npz").read_bytes()[:-71]
    (tmp_path / "bomb.npz").write_bytes(
        data + b"sha256:" + hashlib.sha256(data).hexdigest().encode()
    )
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="unpacks to more"):
            read(tmp_path / "bomb.npz")
        assert tracemalloc.get_traced_memory()[1] < 10**7  # of the 80 MB
    finally:
        tracemalloc.stop()


def test_a_file_that_another_program_holds_is_replaced_when_it_lets_go(tmp_path, monkeypatch):
    rename = os.replace
    tries = []

    def held(source, target):
        tries.append("once")
        if len(tries) < 3:
            raise PermissionError(13, "The process cannot access the file")
        rename(source, target)

    monkeypatch.setattr(storage, "PATIENCE", 5.0)
    monkeypatch.setattr(storage, "PAUSE", 0.001)
    monkeypatch.setattr(os, "replace", held)
    storage.write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new" and len(tries) == 3
    monkeypatch.setattr(storage, "PATIENCE", 0.0)
    tries.clear()
    with pytest.raises(PermissionError):
        storage.write_text(tmp_path / "a", "newer")
    assert (tmp_path / "a").read_text() == "new" and names(tmp_path) == ["a"]
