r"""Reading and writing the files of a run folder, atomically and with checks for damage.

Every writer creates a temporary file in the same folder, flushes it to the disk and renames it over
the old file.  So a reader sees either the old contents or the new, even after a crash or on a full
disk.  A process that is killed in the middle cannot clean up: its temporary file,
``.<name>.<random>.tmp``, remains until :func:`sweep` removes it, and is never read.

Readers raise ``FileNotFoundError`` for a missing file and ``ValueError`` for a damaged one; the
message names the path and the damage.  Nothing is pickled.

Text, JSON, TOML and CSV are UTF-8.  Arrays are written by :mod:`ibpcl.checkpoints`.
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
import zipfile
from pathlib import Path

import numpy as np
import tomli_w

# In seconds: how long to retry while another program on Windows holds a file, and the pause between
# two attempts.
PATIENCE = 2.0 if os.name == "nt" else 0.0
PAUSE = 0.05

_INTEGER = re.compile(r"[+-]?[0-9]+")
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")
_SEAL = "seal"  # the key of a sealed file's checksum
# ending of the file that replaces a lock on file systems without locks
SOFT = ".soft"
# Errors of file systems without locks: NFS without its lock service, FUSE, and Linux's ENOTSUPP,
# 524, which has no name in Python.
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, 524}
# Errors of file systems that cannot flush a folder: the file itself is on the disk.
_NO_FLUSH = {
    errno.EINVAL,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.ENOSYS,
    errno.EBADF,
    errno.EACCES,
    errno.EPERM,
    524,
}
_said = set()  # warnings that were already given: each is given once per process
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf|nan")


def write_bytes(path, data, follow=True):
    """Replace the contents of a file atomically.

    A device or a FIFO, such as ``/dev/null``, is not replaced; the data is written to it.

    Parameters
    ----------
    path : str or path-like
        The file.
    data : bytes
        Its new contents.
    follow : bool
        For a symbolic link: whether to replace the file that it points to (True) or the link
        itself.

    Raises
    ------
    OSError
        If the disk is full, or the folder is missing or not writable; the old file is then
        unchanged.
    """
    write_pieces(path, [data], follow)


def write_pieces(path, pieces, follow=True):
    """Replace the contents of a file atomically by several pieces of data.

    A device or a FIFO, such as ``/dev/null``, is not replaced; the data is written to it.  A file
    keeps its group and its permissions.

    Parameters
    ----------
    path : str or path-like
        The file.
    pieces : sequence of bytes
        Its new contents, in order.
    follow : bool
        For a symbolic link: whether to replace the file that it points to (True) or the link
        itself.

    Raises
    ------
    OSError
        If the disk is full, or the folder is missing or not writable; the old file is then
        unchanged.
    """
    if not follow and os.path.islink(path):
        rename(write_temporary(Path(path), pieces), Path(path))
        return
    if is_special(path):
        with open(path, "wb") as file:
            file.writelines(pieces)
        return
    path = Path(os.path.realpath(path))
    temporary = write_temporary(path, pieces)
    with contextlib.suppress(OSError):  # no old file, or a file system without permissions
        old = path.stat()
        # the group first, because changing it may clear permissions
        if hasattr(os, "chown") and old.st_gid != temporary.stat().st_gid:
            os.chown(temporary, -1, old.st_gid)
        temporary.chmod(stat.S_IMODE(old.st_mode))
    rename(temporary, path)


def is_special(path):
    """Return whether a path exists and is neither a regular file nor a folder, such as a device.

    Parameters
    ----------
    path : str or path-like
        The path.

    Returns
    -------
    special : bool
        True for a device, a FIFO or a socket.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def write_temporary(path, pieces):
    """Write data to a new temporary file beside a path and flush it to the disk.

    Parameters
    ----------
    path : pathlib.Path
        The file that it will replace.
    pieces : sequence of bytes
        The contents, in order.

    Returns
    -------
    temporary : pathlib.Path
        The new file.

    Raises
    ------
    OSError
        If it cannot be written; no temporary file remains.
    """
    temporary = beside(path)
    # after an interrupt, too, no temporary file remains
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
                        rest = rest[os.write(descriptor, rest) :]  # may write only a part
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise cannot_write(path, error) from error
        undo.pop_all()
    return temporary


def beside(path):
    """Return an unused name for a temporary file in the folder of a file.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    temporary : pathlib.Path
        ``.<name>.<random>.tmp``; nothing is created.
    """
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.tmp")


def is_temporary(path):
    """Return whether a file has the name of a temporary file, as :func:`beside` forms it.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    temporary : bool
        True for a name of this form.
    """
    return _TEMPORARY.fullmatch(path.name) is not None


def sweep(folder, age=0.0):
    """Remove the temporary files that killed processes left in a folder.

    Parameters
    ----------
    folder : str or path-like
        The folder.
    age : float
        Only files that are at least this many seconds old are removed.
    """
    for path in Path(folder).iterdir():
        with contextlib.suppress(OSError):  # owned by another user, or already removed
            if is_temporary(path) and time.time() - path.stat().st_mtime >= age:
                path.unlink()


@contextlib.contextmanager
def locked(path, wait=None):
    """Hold a lock that only one process can have at a time, within a ``with`` block.

    The lock ends with the process, even if the process is killed.

    Parameters
    ----------
    path : path-like
        The lock file.  It is created if necessary and remains afterwards.
    wait : float, optional
        Seconds to wait for another process; without limit by default.

    Raises
    ------
    BlockingIOError
        If another process still holds the lock after this time.
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
                f"{Path(path).parent} is on a file system without locks ({error.strerror}); the "
                f"file {Path(path).name}{SOFT} marks the folder as in use instead"
            )
            lock = SoftFileLock(f"{path}{SOFT}")
            lock.acquire(timeout=timeout, poll_interval=0.02)
    except Timeout as error:
        raise BlockingIOError(errno.EAGAIN, "locked by another process", str(path)) from error
    try:
        yield
    finally:
        lock.release()


def left_behind(path):
    """Return what to do about the file that replaces a lock, in a sentence.

    Such a file remains if its process was killed on another machine, where its state is unknown.

    Parameters
    ----------
    path : path-like
        The lock file, as for :func:`locked`.

    Returns
    -------
    sentence : str
        Empty if there is no such file.
    """
    file = Path(f"{path}{SOFT}")
    try:
        process, host, *_ = [*file.read_text(encoding="utf-8").split(), "unknown", "unknown"]
    except (OSError, ValueError):
        return ""
    return (
        f"{file} marks it as in use by process {process} of {host}; if that process has ended, "
        "remove the file"
    )


def _say_once(message):
    if message not in _said:
        _said.add(message)
        warnings.warn(message, stacklevel=4)


def rename(temporary, path):
    """Move a temporary file to its path and flush the folder to the disk.

    Parameters
    ----------
    temporary : pathlib.Path
        The temporary file; it is removed if it cannot be moved.
    path : pathlib.Path
        The file to replace.

    Raises
    ------
    OSError
        If the file cannot be replaced, or the folder cannot be flushed.
    """
    try:
        replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    if os.name == "posix":  # other systems cannot open a folder
        try:
            folder = os.open(path.parent, os.O_RDONLY)
        except PermissionError:  # one may write to it, but not read it
            return
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in _NO_FLUSH:
                raise OSError(
                    error.errno,
                    f"storage: written but not flushed to the disk: {error.strerror}",
                    str(path),
                ) from error
        finally:
            os.close(folder)


def replace(source, target):
    """Rename a file or a folder over another one, with repeated attempts on Windows.

    On Windows, :func:`os.replace` fails while another program has the file open.  A virus scanner,
    an indexer or a synchronized folder opens every new file for a moment, so attempts continue for
    two seconds.

    Parameters
    ----------
    source : path-like
        The file or folder to rename.
    target : path-like
        Its new name.

    Raises
    ------
    OSError
        If it cannot be renamed.
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
    """Return an OSError of the same kind that names the file that the user knows.

    Parameters
    ----------
    path : path-like
        The file.
    error : OSError
        The original error, which may name a temporary file.

    Returns
    -------
    error : OSError
        The new error.
    """
    return OSError(
        error.errno,
        f"storage: cannot write, the old file is unchanged: {error.strerror}",
        str(path),
    )


def damaged(function, path, what):
    """Return the ValueError for a damaged file.

    Parameters
    ----------
    function : str
        Name of the function, which begins the message.
    path : path-like
        The file.
    what : str
        What is wrong with it.

    Returns
    -------
    error : ValueError
        The error, to be raised by the caller.
    """
    return ValueError(f"{function}: {path} is damaged: {what}")


def write_text(path, text):
    """Write text as UTF-8, atomically; line ends are not changed.

    Parameters
    ----------
    path : str or path-like
        The file.
    text : str
        Its new contents.

    Raises
    ------
    OSError
        If the file cannot be written; the old file is then unchanged.
    """
    write_bytes(path, text.encode("utf-8"))


def read_text(path):
    """Read UTF-8 text.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    text : str
        Its contents; line ends are not changed.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is not UTF-8; the message gives the position of the first invalid byte.
    """
    try:
        return Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise damaged("storage.read_text", path, f"byte {error.start} is not UTF-8") from error


def write_json(path, value):
    """Write a value as strict JSON, atomically.

    NaN and infinity, which JSON does not have, become null.  NumPy numbers and arrays become
    numbers and lists.

    Parameters
    ----------
    path : str or path-like
        The file.
    value : dict, list, tuple, str, bool, int, float, ndarray or None
        The value, possibly nested.

    Raises
    ------
    TypeError
        If a value has another type, or the key of a dictionary is not a string.
    OSError
        If the file cannot be written; the old file is then unchanged.
    """
    write_text(path, json_text(value, indent=2) + "\n")


def read_json(path):
    """Read strict JSON; NaN or Infinity in the file counts as damage.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    value : dict, list, str, bool, int, float or None
        The value.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is not valid JSON.
    """
    return parse_json(read_text(path), "storage.read_json", path)


def write_sealed_json(path, values):
    """Write a dictionary as strict JSON with a checksum, atomically.

    The last entry, ``seal``, is the SHA-256 of all others.

    Parameters
    ----------
    path : str or path-like
        The file.
    values : dict
        The entries, as for :func:`write_json`; an entry ``seal`` is ignored.

    Raises
    ------
    TypeError
        If a value has a type that JSON does not have, or a key is not a string.
    OSError
        If the file cannot be written; the old file is then unchanged.
    """
    values = json.loads(json_text({name: value for name, value in values.items() if name != _SEAL}))
    write_json(path, {**values, _SEAL: _digest(values)})


def read_sealed_json(path):
    """Read a dictionary that :func:`write_sealed_json` wrote, and compare its checksum.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    values : dict
        The entries without the checksum.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is not valid JSON, or the checksum is missing or differs.
    """
    values = read_json(path)
    if not isinstance(values, dict) or _SEAL not in values:
        raise damaged("storage.read_sealed_json", path, "its checksum (seal) is missing")
    if values.pop(_SEAL) != _digest(values):
        raise damaged("storage.read_sealed_json", path, "its values are not those that were sealed")
    return values


def _digest(values):
    return "sha256:" + hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def json_text(value, indent=None, strict=True):
    """Return a value as JSON text.

    Parameters
    ----------
    value : dict, list, tuple, str, bool, int, float, ndarray or None
        The value, possibly nested.
    indent : int, optional
        Spaces per level; a single line by default.
    strict : bool
        Whether NaN and infinities become null.  Otherwise they become NaN and Infinity, which are
        not strict JSON.

    Returns
    -------
    text : str
        The JSON text.

    Raises
    ------
    TypeError
        If a value has another type, or the key of a dictionary is not a string.
    """
    return json.dumps(
        _as_json(value, strict), indent=indent, ensure_ascii=False, allow_nan=not strict
    )


def _as_json(value, strict):
    """Return a value with Python types, and with null for non-finite numbers if strict."""
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


def zipped(files, programs=()):
    """Return the bytes of a zip; the same files give the same bytes.

    Parameters
    ----------
    files : dict of str to str
        Name to text.
    programs : collection of str
        Names of the files that are executable.

    Returns
    -------
    bytes
    """
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            item = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            item.compress_type = zipfile.ZIP_DEFLATED
            item.external_attr = (0o755 if name in programs else 0o644) << 16
            archive.writestr(item, text)
    return data.getvalue()


def parse_json(text, function, path, strict=True):
    """Return the value of JSON text.

    Parameters
    ----------
    text : str
        The JSON text.
    function : str
        Name of the function, which begins the message of an error.
    path : path-like
        The file, named in the message.
    strict : bool
        Whether NaN and Infinity are errors.

    Returns
    -------
    value : dict, list, str, bool, int, float or None
        The value.

    Raises
    ------
    ValueError
        If the text is not valid JSON.
    """

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse if strict else None)
    except (ValueError, RecursionError) as error:
        raise damaged(function, path, str(error)) from error


def write_csv(path, columns):
    """Write a table as CSV, atomically: a line with the column names, then one line per row.

    Parameters
    ----------
    path : str or path-like
        The file.
    columns : dict of str to sequence
        Columns of equal length, with numbers or strings; None becomes an empty cell.

    Raises
    ------
    ValueError
        If there are no columns, or they differ in length.
    OSError
        If the file cannot be written; the old file is then unchanged.
    """
    columns = {name: np.asarray(column, dtype=object) for name, column in columns.items()}
    lengths = {name: column.shape for name, column in columns.items()}
    if (
        not columns
        or len(set(lengths.values())) != 1
        or any(len(shape) != 1 for shape in lengths.values())
    ):
        raise ValueError(
            f"storage.write_csv: columns must be 1-D and of equal length, got {lengths}"
        )
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    write_text(path, _csv_text([tuple(columns), *rows]))


def append_csv(path, row):
    """Append a row to a CSV table, not atomically.

    An interrupt may leave an incomplete line.

    Parameters
    ----------
    path : str or path-like
        The file; created if it does not exist.
    row : sequence
        The cells.
    """
    with open(path, "a", encoding="utf-8", newline="") as file:
        file.write(_csv_text([row]))


def _csv_text(rows):
    text = io.StringIO()
    # RFC 4180: lines end with \r\n, and cells with \r or \n are quoted.
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def read_csv(path):
    """Read a CSV table as a dictionary of columns.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    columns : dict of str to ndarray
        One 1-D array per column.  A column of integers is int64.  A column of numbers is float64,
        with NaN for empty cells.  Any other column is an array of strings.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is empty or incomplete, a name occurs twice, or a row has too few or too many
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
    """Write a table as TOML, atomically; entries that are None are omitted.

    Parameters
    ----------
    path : str or path-like
        The file.
    table : dict
        Strings, numbers, booleans, lists of these, and dictionaries of such entries as sections.

    Raises
    ------
    TypeError
        If a key is not a string, or a value has another type.
    OSError
        If the file cannot be written; the old file is then unchanged.
    """
    write_text(path, tomli_w.dumps(_for_toml(table)))


def read_toml(path):
    """Read a TOML file.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    table : dict
        Its entries.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is not valid TOML; the message names the line.
    """
    # the byte order mark, which some editors on Windows write
    text = read_text(path).removeprefix("\ufeff")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"storage.read_toml: {path} is not TOML: {error}") from error


def _for_toml(value, key=""):
    """Return a value with Python types, without entries that are None."""
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
