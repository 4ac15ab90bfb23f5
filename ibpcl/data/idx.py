"""The IDX file format of MNIST: a header of big-endian numbers, then the bytes of one array.

=========== ======================================================================
bytes       meaning
=========== ======================================================================
0, 1        zero
2           type of the entries; 8 = unsigned byte, the only one read here
3           number of dimensions d
4 .. 4+4d   the d sizes, each an unsigned 32-bit number
the rest    the entries, last dimension fastest
=========== ======================================================================

So the first four bytes, read as one number, are the "magic numbers" 2051 for images (d = 3) and
2049 for labels (d = 1).  Files may be compressed with gzip, which is recognized by their first two
bytes, not by their name.
"""

import gzip
import io
import math
import struct
import zlib
from pathlib import Path

import numpy as np

from ibpcl.data.dataset import DataError, starts_as_web_page

UNSIGNED_BYTE = 8
LARGEST = 2**28  # bytes of a file; the largest published one has 47 million
GZIP_START = b"\x1f\x8b"


def read(path, dimensions=None):
    """Return the array of an IDX file of unsigned bytes, compressed or not.

    Parameters
    ----------
    path : path-like
        File to read.
    dimensions : int, optional
        Required number of dimensions: 3 for images, 1 for labels; any if not given.

    Returns
    -------
    array : ndarray of uint8
        Read-only.

    Raises
    ------
    DataError
        If the file is missing, truncated, damaged, too long, or not an IDX file; the message names
        it.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse(unpack(raw, path), path, dimensions)


def unpack(raw, path):
    """Return the uncompressed bytes of an IDX file.

    At most one byte more than the header announces is decompressed.

    Parameters
    ----------
    raw : bytes
        Contents of the file, compressed with gzip or not.
    path : path-like
        Name of the file in error messages.

    Returns
    -------
    content : bytes
        Uncompressed contents; of a file that is not IDX, only the beginning.

    Raises
    ------
    DataError
        If the compressed data are truncated or damaged, or the header announces far more than any
        image set has.
    """
    if not raw.startswith(GZIP_START):
        return raw
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            start = file.read(4)
            if any(start[:2]):
                # not an IDX file; read enough to recognize what it is
                return start + file.read(1024)
            sizes = file.read(4 * start[3]) if len(start) == 4 else b""
            announced = math.prod(
                size for (size,) in struct.iter_unpack(">I", sizes[: len(sizes) // 4 * 4])
            )
            if announced > LARGEST:
                raise DataError(
                    f"{path}: the header announces {announced} bytes; no image set has more than "
                    f"{LARGEST}"
                )
            # one byte more, to detect a file that is too long
            return start + sizes + file.read(announced + 1)
    except EOFError as error:
        raise DataError(
            f"{path}: the gzip file is truncated ({len(raw)} bytes and no end)"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip file is damaged: {error}") from error


def parse(content, path, dimensions=None):
    r"""Return the array in the uncompressed contents of an IDX file.

    Parameters
    ----------
    content : bytes
        Uncompressed contents of the file.
    path : path-like
        Name of the file in error messages.
    dimensions : int, optional
        Required number of dimensions; any if not given.

    Returns
    -------
    array : ndarray of uint8
        Read-only.

    Raises
    ------
    DataError
        If the magic number is wrong, or the payload is shorter or longer than the header announces.

    Examples
    --------
    >>> parse(b"\0\0\x08\x01" + b"\0\0\0\x02" + b"\x07\x09", "labels").tolist()
    [7, 9]
    """
    if starts_as_web_page(content[:1024]):
        raise DataError(
            f"{path}: this is a web page (HTML), not an IDX file; download the file itself"
        )
    zeros = content[:2]
    kind = content[2:3]
    count = content[3:4]
    if zeros != b"\0\0" or not count:
        raise DataError(
            f"{path}: not an IDX file: it starts with {content[:8]!r}; the magic number must be "
            "2051 (images) or 2049 (labels)"
        )
    if kind[0] != UNSIGNED_BYTE:
        raise DataError(
            f"{path}: wrong magic number: entries of type {kind[0]}, but only unsigned bytes "
            f"(type {UNSIGNED_BYTE}) are read"
        )
    d = count[0]
    if dimensions is not None and d != dimensions:
        magic = int.from_bytes(content[:4], "big")
        raise DataError(
            f"{path}: wrong magic number: expected {UNSIGNED_BYTE * 256 + dimensions} for "
            f"{dimensions} dimension{'s' * (dimensions > 1)}, got {magic} for {d}"
        )
    header = 4 + 4 * d
    if len(content) < header:
        raise DataError(
            f"{path}: truncated: {len(content)} bytes, but the header alone needs {header}"
        )
    sizes = struct.unpack(f">{d}I", content[4:header])
    # Python integers, so that a damaged header cannot overflow
    expected = math.prod(sizes)
    got = len(content) - header
    if got != expected:
        raise DataError(
            f"{path}: {'truncated' if got < expected else 'too long'}: the header announces "
            f"{' x '.join(map(str, sizes)) or 'one'} = {expected} bytes, got {got}"
        )
    try:
        return np.frombuffer(content, np.uint8, offset=header).reshape(sizes)
    # more or larger dimensions than NumPy supports
    except ValueError as error:
        raise DataError(f"{path}: the header announces {d} dimensions {sizes}: {error}") from error


def encode(array):
    """Return the uncompressed contents of an IDX file.

    Parameters
    ----------
    array : array_like of uint8
        Array to encode, of any shape.

    Returns
    -------
    content : bytes
        Header and entries.

    Raises
    ------
    TypeError
        If ``array`` is not of type uint8.

    Examples
    --------
    >>> parse(encode(np.eye(2, dtype=np.uint8)), "memory").tolist()
    [[1, 0], [0, 1]]
    """
    array = np.asarray(array)
    if array.dtype != np.uint8:
        raise TypeError(f"idx.encode: array must be uint8, got {array.dtype}")
    header = struct.pack(f">2xBB{array.ndim}I", UNSIGNED_BYTE, array.ndim, *array.shape)
    return header + array.tobytes()
