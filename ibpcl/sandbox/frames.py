r"""Frames of raw bytes between a worker and its parent: arrays and plain values, never pickled
objects.

A frame is eight bytes of length of the header, eight bytes of length of the body (both
little-endian), the header as JSON, and the body: the arrays' numbers one after another, in C order.
In the header an array is ``{"array": ["<f8", [3, 4]]}``; numbers, text, tuples, lists and dicts
have one entry each.

Both sides use this file.  It imports NumPy only when an array travels.
"""

import json
import os
import struct

LENGTHS = struct.Struct("<QQ")
MOST_HEADER = 1 << 26  # a hand-in of 1 MB and its checker fit
MOST_BODY = 1 << 26
TYPES = (
    "|b1",
    "|i1",
    "<i2",
    "<i4",
    "<i8",
    "|u1",
    "<u2",
    "<u4",
    "<u8",
    "<f2",
    "<f4",
    "<f8",
    "<c8",
    "<c16",
)
MOST_DEPTH = 32


class FrameError(ValueError):
    """A frame that is damaged, too long, or contains a forbidden type."""


class Channel:
    """A pair of pipes that carry frames.

    Parameters
    ----------
    source, target : int
        File descriptors to read from and to write to.
    """

    def __init__(self, source, target):
        self.source = source
        self.target = target

    def write(self, data):
        """Write bytes, all of them.

        Parameters
        ----------
        data : bytes
            A frame.
        """
        left = memoryview(data)
        while left:
            left = left[os.write(self.target, left) :]

    def receive(self, most_header=MOST_HEADER, most_body=MOST_BODY):
        """Return the value of the next frame.

        Parameters
        ----------
        most_header, most_body : int
            Largest lengths of header and body in bytes.

        Returns
        -------
        object

        Raises
        ------
        EOFError
            If the other side has closed the pipe.
        FrameError
            If the frame is malformed or too long.
        """
        header, body = lengths(self._read(LENGTHS.size), most_header, most_body)
        return unpack(self._read(header), self._read(body))

    def _read(self, count):
        pieces = []
        while count:
            piece = os.read(self.source, min(count, 1 << 20))
            if not piece:
                raise EOFError
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


def pack(value, most_header=MOST_HEADER, most_body=MOST_BODY):
    """Return a value as the bytes of one frame.

    Parameters
    ----------
    value : dict
        The value; it may contain None, booleans, numbers, text, arrays, and tuples, lists and
        dicts of these.
    most_header, most_body : int
        Largest lengths of header and body in bytes.

    Returns
    -------
    bytes

    Raises
    ------
    FrameError
        If the value contains another type, which the message names, or is too large.
    """
    pieces = []
    header = json.dumps(_described(value, pieces, 0)).encode()
    size = sum(map(len, pieces))
    if len(header) > most_header or size > most_body:
        raise FrameError(
            f"the answer is too large: {size} bytes of numbers, {len(header)} bytes of shapes and "
            f"texts; allowed are {most_body} and {most_header}"
        )
    return LENGTHS.pack(len(header), size) + header + b"".join(pieces)


def unpack(header, body):
    """Return the value of a frame.

    Parameters
    ----------
    header, body : bytes
        Header and body, which need not be trusted.

    Returns
    -------
    object

    Raises
    ------
    FrameError
        If the frame is malformed.
    """
    try:
        described = json.loads(header)
        value, end = _restored(described, memoryview(body), 0, 0)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise FrameError(f"not a frame: {error}") from None
    if end != len(body):
        raise FrameError(f"not a frame: {len(body) - end} bytes too many")
    return value


def lengths(prefix, most_header=MOST_HEADER, most_body=MOST_BODY):
    """Return the lengths of header and body.

    Parameters
    ----------
    prefix : bytes
        The first sixteen bytes of a frame.
    most_header, most_body : int
        Largest lengths of header and body in bytes.

    Returns
    -------
    header, body : int

    Raises
    ------
    FrameError
        If a length is too large.
    """
    header, body = LENGTHS.unpack(prefix)
    if header > most_header or body > most_body:
        raise FrameError(f"a frame of {header} + {body} bytes is too long")
    return header, body


def _described(value, pieces, depth):
    """Return the header's entry for a value, and append its arrays' bytes to ``pieces``."""
    if depth > MOST_DEPTH:
        raise FrameError("nested too deeply")
    if value is None or type(value) in (bool, int, float, str):
        return {"value": value}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_described(item, pieces, depth + 1) for item in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: _described(item, pieces, depth + 1) for key, item in value.items()}}
    if isinstance(value, tuple):  # a named tuple
        return _described(tuple(value), pieces, depth)
    import numpy as np

    if not isinstance(value, (np.ndarray, np.generic, complex)):
        raise FrameError(
            f"{type(value).__name__} cannot be sent: return arrays, numbers, or tuples of these"
        )
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise FrameError(f"an array of {array.dtype} cannot be sent: return numbers")
    wide = {"f": "<f8", "c": "<c16"}.get(array.dtype.kind)
    kind = array.dtype.newbyteorder("<").str
    array = np.array(array, dtype=kind if kind in TYPES else wide, order="C", subok=False)
    pieces.append(array.tobytes())
    name = "array" if isinstance(value, np.ndarray) else "scalar"
    return {name: [array.dtype.str, list(array.shape)]}


def _restored(described, body, start, depth):
    """Return the value that a header describes, and where in the body the next one begins."""
    if depth > MOST_DEPTH or type(described) is not dict or len(described) != 1:
        raise FrameError("not a frame: bad header")
    ((name, item),) = described.items()
    if name == "value" and (
        item is None
        or type(item) in (bool, float, str)
        or (type(item) is int and abs(item) < 1 << 63)
    ):
        return item, start
    if name in ("array", "scalar"):
        return _array(item, body, start, name)
    if name in ("tuple", "list") and type(item) is list:
        values = []
        for one in item:
            value, start = _restored(one, body, start, depth + 1)
            values.append(value)
        return (tuple(values) if name == "tuple" else values), start
    if name == "dict" and type(item) is dict:
        values = {}
        for key, one in item.items():
            values[key], start = _restored(one, body, start, depth + 1)
        return values, start
    raise FrameError("not a frame: bad header")


def _array(item, body, start, name):
    import numpy as np

    kind, shape = item
    if (
        kind not in TYPES
        or type(shape) is not list
        or len(shape) > 16
        or not all(type(n) is int and 0 <= n <= MOST_BODY for n in shape)
    ):
        raise FrameError("not a frame: bad array")
    size = np.dtype(kind).itemsize
    for n in shape:
        size *= n
    if size > len(body) - start:
        raise FrameError("not a frame: an array is cut off")
    array = np.frombuffer(body[start : start + size], dtype=kind).reshape(shape).copy()
    return (array if name == "array" else array[()]), start + size
