"""The shared libraries that Python, NumPy and SciPy load, wherever they are installed.

Wheels bring their libraries in separate folders; conda and many clusters have them in
``PREFIX/lib``, beside hundreds of others.  A box contains only the required ones.  They are located
as the loader locates them: by the names and search paths in the libraries themselves.  The format
is ELF, that of Linux.
"""

import mmap
import os
import struct
from pathlib import Path
from typing import NamedTuple

# types of segments
LOAD = 1
DYNAMIC = 2
# tags of the dynamic section
NEEDED = 1
STRINGS = 5
RPATH = 15
RUNPATH = 29
# loaded by name at run time, by the first of them
FAMILIES = ("libmkl_", "libiomp", "libtbb")
MOST_ENTRIES = 10_000


class Wants(NamedTuple):
    """The libraries that a file needs.

    Attributes
    ----------
    names : list of str
        Names of the libraries.
    folders : list of str
        Search paths.
    """

    names: list
    folders: list


def needed_by(files, covered=()):
    """Return the libraries that files need, directly or indirectly, and that are not covered yet.

    Parameters
    ----------
    files : list of pathlib.Path
        Programs and libraries; the search paths of the first, the interpreter, hold for all.
    covered : sequence of str
        Folders whose libraries may be read anyway.

    Returns
    -------
    list of str
        Sorted; where a name is a link, the name and the file that it leads to.
    """
    everywhere = wants(files[0]).folders if files else []
    everywhere += [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    paths = set()
    waiting = list(files)
    seen = set()
    while waiting:
        file = waiting.pop()
        asked = wants(file)
        folders = [*asked.folders, *everywhere, str(Path(file).parent)]
        for name in asked.names:
            key = (name, tuple(folders))
            if key in seen:
                continue
            seen.add(key)
            for path in _located(name, folders):
                if path not in paths and not _is_below(path, covered):
                    paths |= {path, os.path.realpath(path)}
                    waiting.append(path)
    return sorted(paths)


def wants(path):
    """Return the libraries that an ELF file needs.

    Parameters
    ----------
    path : path-like
        Any file.

    Returns
    -------
    Wants
        Empty if the file is not ELF or cannot be read.
    """
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _wants(data, path)
    except (OSError, ValueError, OverflowError, struct.error):
        return Wants([], [])


def _wants(data, path):
    if data[:4] != b"\x7fELF" or data[4] != 2 or data[5] != 1:  # 64 bits, little-endian
        return Wants([], [])
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, start + at * size) for at in range(count)]
    loaded = [
        (address, offset, length)
        for kind, _, offset, address, _, length in segments
        if kind == LOAD
    ]
    entries = []
    for kind, _, offset, _, _, length in segments:
        if kind == DYNAMIC:
            entries = [
                struct.unpack_from("<qQ", data, offset + at)
                for at in range(0, min(length, 16 * MOST_ENTRIES), 16)
            ]
    strings = next((_offset(value, loaded) for tag, value in entries if tag == STRINGS), None)
    if strings is None:
        return Wants([], [])

    def text(value):
        return data[strings + value : data.find(b"\0", strings + value)].decode(
            "utf-8", "surrogateescape"
        )

    names = [text(value) for tag, value in entries if tag == NEEDED]
    origins = dict.fromkeys(
        [os.path.dirname(os.path.abspath(path)), os.path.dirname(os.path.realpath(path))]
    )
    folders = [
        folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin)
        for tag, value in entries
        if tag in (RPATH, RUNPATH)
        for folder in text(value).split(":")
        if folder
        for origin in origins
    ]
    return Wants(names, folders)


def _offset(address, loaded):
    """Return the file offset of an address in memory."""
    return next(
        (
            address - first + offset
            for first, offset, length in loaded
            if first <= address < first + length
        ),
        address,
    )


def _located(name, folders):
    """Return the paths of a library in the first folder that has it, and of the libraries that it
    loads at run time.
    """
    for folder in folders:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path):
            family = next((prefix for prefix in FAMILIES if name.startswith(prefix)), None)
            others = (
                []
                if family is None
                else [
                    str(each) for prefix in FAMILIES for each in Path(folder).glob(f"{prefix}*.so*")
                ]
            )
            return [path, *others]
    return []


def _is_below(path, folders):
    return any(
        os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep) for folder in folders
    )
