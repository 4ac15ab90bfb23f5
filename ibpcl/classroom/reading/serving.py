"""The process that reads hand-ins, within limits on time and memory."""

import json
import os
import sys
from pathlib import Path

from ibpcl.classroom.inside.limits import end_with_parent
from ibpcl.classroom.reading import archives
from ibpcl.classroom.reading.candidates import read_all
from ibpcl.classroom.reading.inspection import inspect

SECONDS = 10  # seconds of processor time for a request
MEMORY = 1536 << 20
MOST_CLASS = 512 << 20  # bytes of a zip of a whole class, packed
MOST_UNPACKED = 2 << 30


def serve(parent=None):
    """Answer requests until the input is closed; each is a length in eight bytes, and JSON.

    Parameters
    ----------
    parent : int, optional
        Id of the process that asks; this process ends with it.
    """
    end_with_parent(parent)
    _limit_memory()
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    actions = {"read": read_all, "inspect": inspect, "unpack": unpack}
    while True:
        size = int.from_bytes(requests.read(8), "little")
        if not size:
            return
        request = json.loads(requests.read(size))
        _limit_time()
        try:
            reply = actions[request.pop("do")](**request)
        except MemoryError:
            reply = {"failed": f"it needs more than {MEMORY >> 20} MB of memory to read"}
        except Exception as error:
            reply = {"failed": f"it cannot be read: {type(error).__name__}: {str(error)[:200]}"}
        data = json.dumps(reply).encode()
        replies.write(len(data).to_bytes(8, "little") + data)
        replies.flush()


def unpack(path, target):
    """Unpack the zip of a whole class to a folder.

    Parameters
    ----------
    path : path-like
        The zip.
    target : path-like
        The folder.

    Returns
    -------
    list of [str, str]
        Name of each file that was left out, and the reason.
    """
    with open(path, "rb") as file:
        data = file.read(MOST_CLASS + 1)
    if len(data) > MOST_CLASS:
        raise ValueError(f"it has more than {MOST_CLASS >> 20} MB: unpack it first")
    left = MOST_UNPACKED
    ignored = []
    root = Path(target)
    for member in archives.members(data):
        parts = [part for part in member.name.split("/") if part not in ("", ".", "..")]
        try:
            if member.link or not parts:
                raise archives.Damaged("a link")
            piece = archives.content(data, member.item, min(left, MOST_CLASS))
            place = root.joinpath(*(part.encode()[:200].decode(errors="ignore") for part in parts))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(piece)
            left -= len(piece)
        except (archives.Damaged, OSError, ValueError) as error:
            ignored.append([member.name, str(error)])
    return {"ignored": ignored}


def _limit_memory():
    try:
        import resource
    except ImportError:  # Windows
        return
    if sys.platform != "darwin":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time():
    """Allow additional seconds of processor time from now on."""
    try:
        import resource
    except ImportError:
        return
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + SECONDS + 1, hard))


if __name__ == "__main__":
    serve()
