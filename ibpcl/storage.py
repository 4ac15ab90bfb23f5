r"""The files of a run folder: each written whole or not at all, and refused when damaged.

Every writer makes a temporary file in the same folder, flushes it to the disk and renames it over
the old one.  Reading the path gives the old contents or the new ones, also after a crash or on a
full disk.  (A process killed in the middle cannot clean up: its temporary file,
``.<name>.<random>.tmp``, stays behind and is never read; :func:`sweep` removes it.)

Readers raise ``FileNotFoundError`` for a missing file and ``ValueError`` for a damaged one, with
the path and what is wrong.  Nothing is pickled.

Text, JSON, TOML and CSV are UTF-8; arrays are for :mod:`ibpcl.checkpoints`.
"""

import contextlib
import csv
import errno
import hashlib
import io
import json
import math
import os
import re
import secrets
import stat
import time
import tomllib
import warnings
from pathlib import Path

import numpy as np
import tomli_w

# Seconds: how long another program on Windows may hold a file that is to be replaced, and between
# two attempts.
PATIENCE = 2.0 if os.name == "nt" else 0.0
PAUSE = 0.05

_INTEGER = re.compile(r"[+-]?[0-9]+")
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")
_SEAL = "seal"  # the key of a sealed file's checksum
# of the file that stands for a lock where there are none
SOFT = ".soft"
# How file systems refuse locks: NFS without its lock service, FUSE, and Linux's own ENOTSUPP, which
# has no name.
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, 524}
_said = set()  # warnings that one process gives once
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf|nan")


def write_bytes(path, data, follow=True):
    """Replace the file at ``path`` by ``data``, whole or not at all.

    A symbolic link is followed: the file it names is replaced; without ``follow`` the link itself
    is.  What is no regular file, such as ``/dev/null`` or a FIFO, stays and gets the data.

    Raises
    ------
    OSError
        If the disk is full, the folder is missing or may not be written; the old file is then as it
        was.
    """
    write_pieces(path, [data], follow)


def write_pieces(path, pieces, follow=True):
    """Replace a file by pieces of data, as :func:`write_bytes` does."""
    if not follow and os.path.islink(path):
        rename(write_temporary(Path(path), pieces), Path(path))
        return
    if is_special(path):
        with open(path, "wb") as file:
            file.writelines(pieces)
        return
    path = Path(os.path.realpath(path))
    rename(write_temporary(path, pieces), path)


def is_special(path):
    """Return whether something exists at a path that can be written to and is no regular file: a
    device, a FIFO.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def write_temporary(path, pieces):
    """Write pieces of data to a new file beside ``path``, down to the disk, and return where."""
    temporary = beside(path)
    # on an interrupt, too, nothing stays behind
    with contextlib.ExitStack() as undo:
        try:
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
            )
            undo.callback(temporary.unlink)
            try:
                for piece in pieces:
                    rest = memoryview(piece)
                    while rest:
                        rest = rest[os.write(descriptor, rest) :]  # may write less than asked
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise cannot_write(path, error) from error
        undo.pop_all()
    return temporary


def beside(path):
    """Return a new name for a temporary file in the same folder."""
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.tmp")


def is_temporary(path):
    """Return whether a file has a name that :func:`beside` gives."""
    return _TEMPORARY.fullmatch(path.name) is not None


def sweep(folder, age=0.0):
    """Remove the temporary files of killed writes from a folder: all, or those older than ``age``
    seconds.
    """
    for path in Path(folder).iterdir():
        with contextlib.suppress(OSError):  # not ours, or gone meanwhile
            if is_temporary(path) and time.time() - path.stat().st_mtime >= age:
                path.unlink()


@contextlib.contextmanager
def locked(path, wait=None):
    """Hold a lock, which no other process has meanwhile; it ends with the process, however that
    ends.

    Parameters
    ----------
    path : path-like
        The lock's file.  It is made, and stays.
    wait : float, optional
        Seconds to wait for another process; as long as it takes if not given.

    Raises
    ------
    BlockingIOError
        If another process holds it that long.
    OSError
        If the file cannot be written.
    """
    from filelock import FileLock, SoftFileLock, Timeout

    timeout = -1 if wait is None else wait
    try:
        lock = FileLock(path)
        try:
            lock.acquire(timeout=timeout, poll_interval=0.02)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            _say_once(
                f"{Path(path).parent} is on a file system without locks ({error.strerror}); a "
                f"file, {Path(path).name}{SOFT}, shows instead that a process is at work there"
            )
            lock = SoftFileLock(f"{path}{SOFT}")
            lock.acquire(timeout=timeout, poll_interval=0.02)
    except Timeout as error:
        raise BlockingIOError(errno.EAGAIN, "locked by another process", str(path)) from error
    try:
        yield
    finally:
        lock.release()


def _say_once(message):
    if message not in _said:
        _said.add(message)
        warnings.warn(message, stacklevel=4)


def rename(temporary, path):
    """Put the temporary file in the place of ``path`` and flush the folder that records it."""
    try:
        replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        except OSError as error:
            # EINVAL: a file system that does not flush folders
            if error.errno != errno.EINVAL:
                raise OSError(
                    error.errno, f"storage: written, not flushed: {error.strerror}", str(path)
                ) from error
        finally:
            os.close(folder)


def replace(source, target):
    """Rename a file or a folder over another one, as :func:`os.replace` does; on Windows, try for
    two seconds.

    There it fails while another program has the file open, and a virus scanner, an indexer or a
    synchronized folder opens every new file for a moment.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if time.monotonic() >= until:
                raise
        time.sleep(PAUSE)


def cannot_write(path, error):
    """Return the error of the same kind that names the file the user knows."""
    return OSError(
        error.errno,
        f"storage: cannot write, the old file is unchanged: {error.strerror}",
        str(path),
    )


def damaged(function, path, what):
    """Return the error for a file whose contents are not what they should be."""
    return ValueError(f"{function}: {path} is damaged: {what}")


def write_text(path, text):
    """Write a string as UTF-8, atomically; line ends stay as they are."""
    write_bytes(path, text.encode("utf-8"))


def read_text(path):
    """Read UTF-8 text, or raise ValueError naming the first byte that is none."""
    try:
        return Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise damaged("storage.read_text", path, f"byte {error.start} is not UTF-8") from error


def write_json(path, value):
    """Write dictionaries, lists, text, numbers and arrays as strict JSON, atomically.

    NaN and infinity, which JSON does not have, become null.  NumPy numbers and arrays become
    numbers and lists.

    Raises
    ------
    TypeError
        If a value is of another type, or the key of a dictionary is not a string.
    """
    write_text(path, json_text(value, indent=2) + "\n")


def read_json(path):
    """Read strict JSON: a NaN or Infinity in the file counts as damage."""
    return parse_json(read_text(path), "storage.read_json", path)


def write_sealed_json(path, values):
    """Write a dictionary as :func:`write_json` does, with the SHA-256 of its other entries as the
    last one.
    """
    values = json.loads(json_text({name: value for name, value in values.items() if name != _SEAL}))
    write_json(path, {**values, _SEAL: _digest(values)})


def read_sealed_json(path):
    """Read what :func:`write_sealed_json` wrote, without its seal.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file; if it is no JSON, or its seal is missing or that of other values.
    """
    values = read_json(path)
    if not isinstance(values, dict) or _SEAL not in values:
        raise damaged("storage.read_sealed_json", path, "its seal is missing")
    if values.pop(_SEAL) != _digest(values):
        raise damaged("storage.read_sealed_json", path, "its values are not those that were sealed")
    return values


def _digest(values):
    return "sha256:" + hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def json_text(value, indent=None, strict=True):
    """Return a value as JSON: NaN and infinities become null, or if not strict the words NaN and
    Infinity.
    """
    return json.dumps(
        _as_json(value, strict), indent=indent, ensure_ascii=False, allow_nan=not strict
    )


def _as_json(value, strict):
    """Return the value with NumPy's types and, if strict, non-finite numbers replaced."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return None if strict and not math.isfinite(value) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [_as_json(item, strict) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"storage.write_json: keys must be strings, got {key!r}")
        return {key: _as_json(item, strict) for key, item in value.items()}
    raise TypeError(
        "storage.write_json: value must be a dict, list, string, number, array or None, got "
        f"{type(value)}"
    )


def parse_json(text, function, path, strict=True):
    """Read what :func:`json_text` wrote; ``function`` and ``path`` are named in the error."""

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse if strict else None)
    except (ValueError, RecursionError) as error:
        raise damaged(function, path, str(error)) from error


def write_csv(path, columns):
    """Write a table, atomically: the names in the first line, then a line per row.

    Parameters
    ----------
    columns : dict of str to sequence
        Columns of one length, of numbers or strings; None becomes an empty cell.

    Raises
    ------
    ValueError
        If there is no column, or columns differ in length.
    """
    columns = {name: np.asarray(column, dtype=object) for name, column in columns.items()}
    lengths = {name: column.shape for name, column in columns.items()}
    if (
        not columns
        or len(set(lengths.values())) != 1
        or any(len(shape) != 1 for shape in lengths.values())
    ):
        raise ValueError(f"storage.write_csv: columns must be 1-D and of one length, got {lengths}")
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    write_text(path, _csv_text([tuple(columns), *rows]))


def append_csv(path, row):
    """Add a line to a table, after those that are there; an interrupt may leave a part of it."""
    with open(path, "a", encoding="utf-8", newline="") as file:
        file.write(_csv_text([row]))


def _csv_text(rows):
    text = io.StringIO()
    # RFC 4180; with \r\n at a line's end, \r and \n inside a cell are quoted.
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def read_csv(path):
    """Read a table as a dictionary of 1-D arrays.

    A column of whole numbers is int64.  A column of numbers is float64, with NaN for empty cells.
    Any other column is an array of strings.

    Raises
    ------
    ValueError
        If the file is empty or cut off, a name occurs twice, or a row has too few or too many
        cells.
    """
    text = read_text(path)
    if not text.endswith("\n"):
        raise damaged(
            "storage.read_csv", path, "it ends in the middle of a line" if text else "it is empty"
        )
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        names = next(reader)
        rows = []
        for row in reader:
            if len(row) != len(names):
                what = f"line {reader.line_num} has {len(row)} cells, not {len(names)}"
                raise damaged("storage.read_csv", path, what)
            rows.append(row)
    except csv.Error as error:
        raise damaged("storage.read_csv", path, f"{error} in line {reader.line_num}") from error
    if len(set(names)) != len(names):
        raise damaged("storage.read_csv", path, f"a column's name occurs twice in {names}")
    return {name: _column([row[i] for row in rows]) for i, name in enumerate(names)}


def _column(cells):
    if cells and all(
        _INTEGER.fullmatch(cell) and len(cell) < 30 and abs(int(cell)) < 2**63 for cell in cells
    ):
        return np.array(cells, dtype=np.int64)
    if all(cell == "" or _NUMBER.fullmatch(cell) for cell in cells):
        return np.array([float(cell or "nan") for cell in cells], dtype=float)
    return np.array(cells, dtype=str)


def write_toml(path, table):
    """Write a table as TOML, atomically; entries that are None are left out.

    Parameters
    ----------
    path : path-like
    table : dict
        Of texts, numbers, booleans, lists of these, and dicts of such entries as sections.

    Raises
    ------
    TypeError
        If a key is not text, or a value has another type.
    """
    write_text(path, tomli_w.dumps(_for_toml(table)))


def read_toml(path):
    """Read TOML, or raise ValueError naming the line that is none."""
    # which editors on Windows begin a file with
    text = read_text(path).removeprefix("\ufeff")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"storage.read_toml: {path} is not TOML: {error}") from error


def _for_toml(value, key=""):
    """Return a value with plain types only, and tables without entries that are None."""
    if isinstance(value, dict):
        if wrong := [name for name in value if not isinstance(name, str)]:
            raise TypeError(f"storage.write_toml: keys must be strings, got {wrong[0]!r}")
        return {name: _for_toml(entry, name) for name, entry in value.items() if entry is not None}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_for_toml(entry, key) for entry in value]
    if isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"storage.write_toml: {key} must be text, a number, boolean or a list of these, got "
        f"{type(value)}"
    )
