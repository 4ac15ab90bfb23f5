"""Unpacking of zips piece by piece, within limits on memory and time.

``zipfile`` unpacks a whole piece of bzip2 or LZMA at once, and trusts the sizes that an archive
states.  Here each decompressor returns a bounded number of bytes at a time.
"""

import bz2
import contextlib
import io
import lzma
import stat
import zipfile
import zlib
from typing import NamedTuple

PIECE = 1 << 16
MOST_MEMBERS = 20_000
METHODS = {9: "Deflate64", 93: "Zstandard", 95: "XZ", 98: "PPMd", 99: "AES encryption"}


class Damaged(ValueError):
    """An archive, or a file in it, that cannot be read; the message gives the reason."""


class Member(NamedTuple):
    """A file in an archive.

    Attributes
    ----------
    name : str
        Path, with ``/`` between the folders.
    item : zipfile.ZipInfo
        Entry of the table of contents.
    time : tuple of int
        Year, month, day, hour, minute, second.
    link : bool
        Whether it is a symbolic link.
    """

    name: str
    item: zipfile.ZipInfo
    time: tuple
    link: bool


def members(data):
    """Return the files of a zip in the order of its table of contents, without folders.

    Parameters
    ----------
    data : bytes
        The zip.

    Returns
    -------
    list of Member

    Raises
    ------
    Damaged
        If the bytes are not a zip.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            items = archive.infolist()
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        ValueError,
        EOFError,
        OSError,
        OverflowError,
    ) as error:
        raise Damaged(_kind(data) or f"it is not a zip that can be read ({error})") from None
    if len(items) > MOST_MEMBERS:
        raise Damaged(f"it has {len(items)} files, more than {MOST_MEMBERS}")
    return [
        Member(_name(item), item, item.date_time, stat.S_ISLNK(item.external_attr >> 16))
        for item in items
        if not item.is_dir() and not item.filename.endswith("\\")
    ]


def content(data, item, most):
    """Return the bytes of a file in a zip.

    Parameters
    ----------
    data : bytes
        The zip.
    item : zipfile.ZipInfo
        Entry of the file.
    most : int
        Largest number of bytes.

    Returns
    -------
    bytes

    Raises
    ------
    Damaged
        If the file is encrypted, damaged or longer than allowed.
    """
    if item.flag_bits & 0x1:
        raise Damaged("it is encrypted: pack it without a password")
    if item.file_size > most:
        raise Damaged(f"it has more than {most >> 20} MB")
    start = _start(data, item)
    packed = memoryview(data)[start : start + item.compress_size]
    pieces = []
    size = 0
    checksum = 0
    try:
        for piece in _unpacked(packed, item):
            size += len(piece)
            if size > most:
                raise Damaged(f"it has more than {most >> 20} MB")
            checksum = zlib.crc32(piece, checksum)
            pieces.append(piece)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, IndexError) as error:
        raise error if isinstance(error, Damaged) else Damaged(f"it is damaged ({error})") from None
    if checksum != item.CRC:
        raise Damaged("it is damaged (its checksum is wrong)")
    return b"".join(pieces)


def _start(data, item):
    """Return the offset of the packed bytes of a file."""
    header = data[item.header_offset : item.header_offset + 30]
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise Damaged("it is damaged (its place in the zip is wrong)")
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    return item.header_offset + 30 + name + extra


def _unpacked(packed, item):
    """Yield the unpacked bytes in pieces of bounded length."""
    method = item.compress_type
    if method == zipfile.ZIP_STORED:
        for at in range(0, len(packed), PIECE):
            yield bytes(packed[at : at + PIECE])
        return
    if method == zipfile.ZIP_DEFLATED:
        yield from _inflated(packed)
        return
    if method == zipfile.ZIP_BZIP2:
        decompressor = bz2.BZ2Decompressor()
        rest = packed
    elif method == zipfile.ZIP_LZMA:
        decompressor, rest = _lzma(packed)
    else:
        raise Damaged(
            f"it is packed by {METHODS.get(method, f'method {method}')}: make an ordinary zip"
        )
    piece = decompressor.decompress(bytes(rest), PIECE)
    while True:
        yield piece
        if decompressor.eof or decompressor.needs_input:
            return
        piece = decompressor.decompress(b"", PIECE)


def _inflated(packed):
    decompressor = zlib.decompressobj(-15)
    rest = bytes(packed)
    while rest and not decompressor.eof:
        yield decompressor.decompress(rest, PIECE)
        rest = decompressor.unconsumed_tail
    yield decompressor.flush()


def _lzma(packed):
    """Return the decompressor and the remaining bytes; a zip puts an extra header before LZMA's
    properties.
    """
    size = int.from_bytes(packed[2:4], "little")
    properties = bytes(packed[4 : 4 + size])
    if len(properties) < 5:
        raise Damaged("it is damaged")
    mode = properties[0]
    dictionary = int.from_bytes(properties[1:5], "little")
    filters = [
        {
            "id": lzma.FILTER_LZMA1,
            "dict_size": max(4096, dictionary),
            "lc": mode % 9,
            "lp": mode // 9 % 5,
            "pb": mode // 45,
        }
    ]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters), packed[4 + size :]


def _name(item):
    """Return a member's name, also if it is in UTF-8 without the corresponding flag."""
    name = item.filename
    if not item.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _kind(data):
    kinds = (
        (b"Rar!", "a RAR archive"),
        (b"7z\xbc\xaf", "a 7z archive"),
        (b"\x1f\x8b", "a gzip file"),
        (b"%PDF", "a PDF"),
    )
    found = next((kind for magic, kind in kinds if data.startswith(magic)), "")
    return f"it is {found}, not a zip" if found else "it is empty" if not data else ""
