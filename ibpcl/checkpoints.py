"""Arrays on disk: plain ``.npz`` files, and checkpoints that are refused when a single bit differs.

A checkpoint is an ``.npz`` that ends in a checksum of itself; it is written atomically
(:mod:`ibpcl.storage`) and its predecessor is kept, so that a damaged file costs one step and not
the run.  Nothing is pickled.
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
# What zipfile and NumPy raise on random bytes; the header of an array is a text that Python reads.
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
    """Write named arrays as an uncompressed ``.npz``, atomically; equal arrays give equal bytes.

    Parameters
    ----------
    arrays : dict of str to array_like
        Names of printable characters.  Arrays of Python objects are refused: they would need
        pickle.
    """
    storage.write_pieces(path, _npz(arrays, "checkpoints.write_npz"))


def read_npz(path):
    """Read all arrays of an ``.npz`` file as a dictionary."""
    return _parse_npz(Path(path).read_bytes(), "checkpoints.read_npz", path)


class _Pieces:
    """A file that keeps what is written to it, piece by piece, and cannot be rewound; so no piece
    is copied.
    """

    def __init__(self):
        self.pieces = []

    def write(self, data):
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self):
        """Do nothing: there is nothing behind it."""


def _npz(arrays, function, comment=b""):
    """Return the pieces of an ``.npz``; the last one is the comment, if there is one."""
    file = _Pieces()
    # np.savez would take an array called "file" for the file
    with _archive(file) as archive:
        archive.comment = comment
        for name, array in arrays.items():
            array = np.asarray(array)
            if not isinstance(name, str) or not name or not name.isprintable():
                raise ValueError(f"{function}: a name must be printable text, got {name!r}")
            if array.dtype.hasobject:
                raise TypeError(
                    f"{function}: {name} must hold numbers or text, got an array of {array.dtype}"
                )
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return file.pieces


@contextlib.contextmanager
def _archive(file):
    """Give a zip file to write to, which is closed if that ends well, and else dropped as it is."""
    archive = zipfile.ZipFile(file, "w")
    try:
        yield archive
        archive.close()
    except BaseException:
        # Python closes the archive and its unfinished entry later.  Neither must complain then.
        archive.fp = io.BytesIO()
        archive.close = lambda: None
        raise


def _parse_npz(data, function, path):
    arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # We write uncompressed.  What unpacks to more than the file is not ours: a few MB can
            # announce gigabytes.
            if sum(entry.file_size for entry in archive.infolist()) > len(data):
                raise ValueError("it unpacks to more bytes than it has")
            for name in archive.namelist():
                # It compares the entry's CRC before anything is made of it.
                arrays[name.removesuffix(".npy")] = parse_npy(archive.read(name))
    except BROKEN_ZIP as error:
        raise storage.damaged(function, path, str(error) or type(error).__name__) from error
    return arrays


def parse_npy(data):
    """Return the array that the bytes of an ``.npy`` file hold.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    array : ndarray

    Raises
    ------
    ValueError
        If the bytes are not those of one array of numbers or text.  The size that the header
        announces is compared with what is there before any memory is taken.
    """
    file = io.BytesIO(data)
    shape, dtype = read_header(file)
    expected = math.prod(shape) * dtype.itemsize
    got = len(data) - file.tell()
    if expected != got:
        raise ValueError(f"its header announces {expected} bytes, {got} follow")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def read_header(file):
    """Return the shape and the type of the array in an open ``.npy`` file, and leave the file where
    its numbers begin.

    Raises
    ------
    ValueError
        If there is no sound header, or the array holds Python objects.
    """
    try:
        version = np.lib.format.read_magic(file)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in readers:
            raise ValueError(f"version {version} of the format is not read")
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
        raise ValueError("Object arrays, which would need pickle, are not read")
    if any(size < 0 for size in shape):
        raise ValueError(f"its header announces the shape {shape}")
    return shape, dtype


class Checkpoint(NamedTuple):
    """What a checkpoint holds; ``warning`` says, in a sentence, why it is not the newest one, if
    so.
    """

    arrays: dict
    meta: dict
    warning: str | None = None


def save(path, arrays, meta, keep_previous=True):
    """Write arrays and a dictionary to one file, atomically, and keep its predecessor as
    ``<name>.previous``.

    The file is an ``.npz`` whose last bytes (a comment to zip programs) are the SHA-256 of all
    bytes before them.  A damaged predecessor is not kept, so that the one before it is.

    Parameters
    ----------
    arrays : dict of str to array_like
        As in :func:`write_npz`.
    meta : dict
        As in :func:`ibpcl.storage.write_json`, but NaN and infinities are kept.
    keep_previous : bool
        False for what can be made again, such as a cache.
    """
    if not isinstance(meta, dict):
        raise TypeError(f"checkpoints.save: meta must be a dict, got {type(meta)}")
    contents = {f"arrays/{name}": array for name, array in arrays.items()}
    contents["meta"] = np.frombuffer(
        storage.json_text(meta, strict=False).encode("utf-8"), dtype=np.uint8
    )
    # its length is part of what is sealed
    *body, _ = _npz(contents, "checkpoints.save", b"0" * _SEAL_LENGTH)
    if storage.is_special(path):  # a device or a FIFO has no predecessor
        storage.write_pieces(path, [*body, _seal(body)])
        return
    path = Path(os.path.realpath(path))
    temporary = storage.write_temporary(path, [*body, _seal(body)])
    try:
        if keep_previous and path.exists() and _is_sealed(path.read_bytes()):
            _keep_previous(path)
    # an interrupt, too, leaves nothing behind
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise storage.cannot_write(path, error) from error
        raise
    storage.rename(temporary, path)


def load(path):
    """Read a checkpoint after comparing its checksum; returns a :class:`Checkpoint`.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is none; if a single bit differs from what was written.
    """
    contents = _parse_npz(check(path), "checkpoints.load", path)
    if "meta" not in contents:
        raise storage.damaged("checkpoints.load", path, "it holds no meta")
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
    """Return the ``meta`` of a checkpoint after comparing its checksum; no array is made.

    Raises
    ------
    FileNotFoundError, ValueError
        As :func:`load`.
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
    """Return the dictionary that a checkpoint's meta is as text."""
    meta = storage.parse_json(text, "checkpoints.load", path, strict=False)
    if not isinstance(meta, dict):
        raise storage.damaged(
            "checkpoints.load", path, f"its meta must be a table, got {type(meta).__name__}"
        )
    return meta


def check(path):
    """Return the bytes of a checkpoint, or raise as :func:`load` does if its checksum is not
    theirs.
    """
    data = Path(path).read_bytes()
    if not _is_sealed(data):
        raise storage.damaged(
            "checkpoints.load", path, f"the checksum of its {len(data)} bytes is missing or differs"
        )
    return data


def latest(folder, name="checkpoint.npz", holds=()):
    """Read the newest sound checkpoint of a folder: the file itself, else its predecessor, with a
    warning.

    A file whose ``meta`` lacks one of the entries ``holds`` is another one's, and counts as
    damaged.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is neither; if both are damaged.
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
                f"checkpoints.latest: no sound checkpoint in {folder}: {error}; {second}"
            ) from second
        return older._replace(warning=f"{error}; the one before it, {previous}, was taken instead")


def _holding(path, names):
    found = load(path)
    missing = [name for name in names if name not in found.meta]
    if missing:
        raise storage.damaged("checkpoints.latest", path, f"it holds no {', '.join(missing)}")
    return found


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
