"""Arrays on disk: plain ``.npz`` files, and checkpoints with a checksum.

A checkpoint is an ``.npz`` file that ends with a checksum of itself, so that a single changed bit
is detected.  It is written atomically (:mod:`ibpcl.storage`), and its predecessor is kept, so a
damaged file costs one step and not the whole run.  Nothing is pickled.
"""

import contextlib
import hashlib
import io
import lzma
import math
import os
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl import storage

_SEAL = b"sha256:"
_SEAL_LENGTH = len(_SEAL) + 64  # 64 hexadecimal digits
# Exceptions that zipfile and NumPy raise for random bytes.  The header of an array is Python
# source.
BROKEN_ZIP = (
    ValueError,
    EOFError,
    OSError,
    RuntimeError,
    OverflowError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    SyntaxError,
    tokenize.TokenError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    MemoryError,
    NotImplementedError,
)


def write_npz(path, arrays):
    """Write named arrays as an uncompressed ``.npz`` file, atomically.

    Equal arrays give equal bytes.

    Parameters
    ----------
    path : str or path-like
        The file.
    arrays : dict of str to array_like
        Arrays of numbers or text, by names of printable characters.

    Raises
    ------
    TypeError
        If an array holds Python objects, which would need pickle.
    ValueError
        If a name is empty or not printable.
    OSError
        If the file cannot be written; the old file is then unchanged.
    """
    storage.write_pieces(path, _npz(arrays, "checkpoints.write_npz"))


def read_npz(path):
    """Read all arrays of an ``.npz`` file.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    arrays : dict of str to ndarray
        The arrays by name.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is damaged.
    """
    return _parse_npz(Path(path).read_bytes(), "checkpoints.read_npz", path)


class _Pieces:
    """A file object that collects the pieces of data written to it, without copying or seeking."""

    def __init__(self):
        self.pieces = []

    def write(self, data):
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self):
        """Do nothing: there is no buffer."""


def _npz(arrays, function, comment=b""):
    """Return the pieces of an ``.npz`` file; the last one is the comment, if there is one."""
    file = _Pieces()
    # np.savez would confuse an array called "file" with its argument
    with _archive(file) as archive:
        archive.comment = comment
        for name, array in arrays.items():
            array = np.asarray(array)
            if not isinstance(name, str) or not name or not name.isprintable():
                raise ValueError(f"{function}: names must be printable text, got {name!r}")
            if array.dtype.hasobject:
                raise TypeError(
                    f"{function}: {name} must hold numbers or text, got an array of {array.dtype}"
                )
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return file.pieces


@contextlib.contextmanager
def _archive(file):
    """Yield a zip file to write to; it is closed on success and abandoned after an error."""
    archive = zipfile.ZipFile(file, "w")
    try:
        yield archive
        archive.close()
    except BaseException:
        # Python closes the archive and its unfinished entry later; neither may raise an error then.
        archive.fp = io.BytesIO()
        archive.close = lambda: None
        raise


def _parse_npz(data, function, path):
    arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # Our files are not compressed.  A file that unpacks to more than its own size is not
            # ours, and a few MB could claim gigabytes.
            if sum(entry.file_size for entry in archive.infolist()) > len(data):
                raise ValueError("it unpacks to more bytes than its own size")
            for name in archive.namelist():
                # read() compares the CRC of the entry before the array is created.
                arrays[name.removesuffix(".npy")] = parse_npy(archive.read(name))
    except BROKEN_ZIP as error:
        raise storage.damaged(function, path, str(error) or type(error).__name__) from error
    return arrays


def parse_npy(data):
    """Return the array in the bytes of an ``.npy`` file.

    Parameters
    ----------
    data : bytes
        Contents of the file.

    Returns
    -------
    array : ndarray
        The array.

    Raises
    ------
    ValueError
        If the bytes are not one array of numbers or text.  The size in the header is compared with
        the number of bytes before memory is allocated.
    """
    file = io.BytesIO(data)
    shape, dtype = read_header(file)
    expected = math.prod(shape) * dtype.itemsize
    got = len(data) - file.tell()
    if expected != got:
        raise ValueError(f"its header requires {expected} bytes, but {got} follow")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def read_header(file):
    """Read the header of an open ``.npy`` file and leave the position at the data.

    Parameters
    ----------
    file : file object
        The file, opened for binary reading, at its beginning.

    Returns
    -------
    shape : tuple of int
        Shape of the array.
    dtype : numpy.dtype
        Type of the array.

    Raises
    ------
    ValueError
        If the header is not valid, or the array holds Python objects.
    """
    try:
        version = np.lib.format.read_magic(file)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in readers:
            raise ValueError(f"version {version} of the format is not supported")
        shape, _, dtype = readers[version](file)
    except (
        SyntaxError,
        tokenize.TokenError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        MemoryError,
        OverflowError,
        struct.error,
    ) as error:
        raise ValueError(f"its header cannot be read: {type(error).__name__}: {error}") from error
    if dtype.hasobject:
        raise ValueError("Object arrays, which would need pickle, are not supported")
    if any(size < 0 for size in shape):
        raise ValueError(f"its header has the negative shape {shape}")
    return shape, dtype


class Checkpoint(NamedTuple):
    """Contents of a checkpoint.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The arrays by name.
    meta : dict
        The metadata.
    warning : str or None
        Why this is not the newest checkpoint, in one sentence; None if it is.
    """

    arrays: dict
    meta: dict
    warning: str | None = None


def save(path, arrays, meta, keep_previous=True):
    """Write arrays and metadata to one file, atomically, and keep its predecessor.

    The predecessor is renamed to ``<name>.previous``; if it is damaged, the older one is kept
    instead.  The file is an ``.npz`` whose last bytes, a comment for zip programs, are the SHA-256
    of all bytes before them.

    Parameters
    ----------
    path : str or path-like
        The file.
    arrays : dict of str to array_like
        Arrays of numbers or text, by names of printable characters.
    meta : dict
        Metadata, as for :func:`ibpcl.storage.write_json`, except that NaN and infinities are
        preserved.
    keep_previous : bool
        Whether to keep the predecessor; False for files that can be recomputed, such as a cache.

    Raises
    ------
    TypeError
        If ``meta`` is not a dict, a value in it has another type, or an array holds Python objects.
    ValueError
        If the name of an array is empty or not printable.
    OSError
        If the file cannot be written; the old file is then unchanged.
    """
    if not isinstance(meta, dict):
        raise TypeError(f"checkpoints.save: meta must be a dict, got {type(meta)}")
    contents = {f"arrays/{name}": array for name, array in arrays.items()}
    contents["meta"] = np.frombuffer(
        storage.json_text(meta, strict=False).encode("utf-8"), dtype=np.uint8
    )
    # the length of the seal is part of the bytes that are sealed
    *body, _ = _npz(contents, "checkpoints.save", b"0" * _SEAL_LENGTH)
    if storage.is_special(path):  # a device or a FIFO has no predecessor
        storage.write_pieces(path, [*body, _seal(body)])
        return
    path = Path(os.path.realpath(path))
    temporary = storage.write_temporary(path, [*body, _seal(body)])
    try:
        if keep_previous and path.exists() and _is_sealed(path.read_bytes()):
            _keep_previous(path)
    # after an interrupt, too, no temporary file remains
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise storage.cannot_write(path, error) from error
        raise
    storage.rename(temporary, path)


def load(path):
    """Read a checkpoint after comparing its checksum.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    checkpoint : Checkpoint
        Its arrays and metadata.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is damaged: a single changed bit is detected.
    """
    contents = _parse_npz(check(path), "checkpoints.load", path)
    if "meta" not in contents:
        raise storage.damaged("checkpoints.load", path, "it has no meta")
    try:
        text = bytes(contents.pop("meta")).decode("utf-8")
    except (ValueError, TypeError) as error:
        raise storage.damaged(
            "checkpoints.load", path, f"its meta cannot be read: {error}"
        ) from error
    meta = _meta(text, path)
    return Checkpoint(
        {name.removeprefix("arrays/"): array for name, array in contents.items()}, meta
    )


def read_meta(path):
    """Read the metadata of a checkpoint after comparing its checksum, without its arrays.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    meta : dict
        The metadata.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is damaged.
    """
    with zipfile.ZipFile(io.BytesIO(check(path))) as archive:
        try:
            text = bytes(parse_npy(archive.read("meta.npy"))).decode("utf-8")
        except BROKEN_ZIP as error:
            raise storage.damaged(
                "checkpoints.load", path, f"its meta cannot be read: {error}"
            ) from error
    return _meta(text, path)


def _meta(text, path):
    """Return the metadata of a checkpoint from its text."""
    meta = storage.parse_json(text, "checkpoints.load", path, strict=False)
    if not isinstance(meta, dict):
        raise storage.damaged(
            "checkpoints.load", path, f"its meta must be a dictionary, got {type(meta).__name__}"
        )
    return meta


def check(path):
    """Return the bytes of a checkpoint after comparing its checksum.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    data : bytes
        Contents of the file.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the checksum is missing or differs.
    """
    data = Path(path).read_bytes()
    if not _is_sealed(data):
        raise storage.damaged(
            "checkpoints.load", path, f"the checksum of its {len(data)} bytes is missing or differs"
        )
    return data


def latest(folder, name="checkpoint.npz", holds=()):
    """Read the newest valid checkpoint of a folder: the file itself, or else its predecessor.

    Parameters
    ----------
    folder : str or path-like
        The folder.
    name : str
        Name of the file; its predecessor is ``<name>.previous``.
    holds : sequence of str
        Names that ``meta`` must contain.  A file without them counts as damaged.

    Returns
    -------
    checkpoint : Checkpoint
        Its arrays and metadata, with a ``warning`` if it is the predecessor.

    Raises
    ------
    FileNotFoundError
        If there is neither of the two files.
    ValueError
        If no file is valid.
    """
    path = Path(folder, name)
    previous = Path(folder, f"{name}.previous")
    try:
        return _holding(path, holds)
    except (OSError, ValueError) as error:
        if not previous.exists():
            raise
        try:
            older = _holding(previous, holds)
        except (OSError, ValueError) as second:
            raise ValueError(
                f"checkpoints.latest: no valid checkpoint in {folder}: {error}; {second}"
            ) from second
        return older._replace(warning=f"{error}; the one before it, {previous}, was taken instead")


def _holding(path, names):
    checkpoint = load(path)
    missing = [name for name in names if name not in checkpoint.meta]
    if missing:
        raise storage.damaged("checkpoints.latest", path, f"it holds no {', '.join(missing)}")
    return checkpoint


def _seal(body):
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
    return _SEAL + digest.hexdigest().encode()


def _is_sealed(data):
    return data[-_SEAL_LENGTH:] == _seal([memoryview(data)[:-_SEAL_LENGTH]])


def _keep_previous(path):
    """Give the file a second name by a hard link, so that the first never goes missing; else rename
    it.
    """
    previous = path.with_name(f"{path.name}.previous")
    link = storage.beside(path)
    try:
        os.link(path, link)
    except OSError:  # a file system without hard links
        storage.replace(path, previous)
        return
    try:
        storage.replace(link, previous)
    finally:
        # rename leaves it if both name the same file already
        link.unlink(missing_ok=True)
