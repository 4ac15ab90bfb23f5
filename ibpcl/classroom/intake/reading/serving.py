"""The program that reads hand-ins, in a process with limits on time and memory."""

import os
import time
from pathlib import Path

from ibpcl.classroom.intake.reading import archives, candidates, inspection

MOST_CLASS = 512 << 20  # bytes of a zip of a whole class, packed
MOST_UNPACKED = 2 << 30


class Program:
    """The requests that :func:`ibpcl.classroom.intake.reading.process.ask` may send.

    Attributes
    ----------
    file : str
        Empty: errors name no line.
    """

    file = ""
    read = staticmethod(candidates.read_all)
    inspect = staticmethod(inspection.inspect)

    @staticmethod
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
                place = root.joinpath(
                    *(part.encode()[:200].decode(errors="ignore") for part in parts)
                )
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(piece)
                os.utime(place, (_seconds(member.time),) * 2)
                left -= len(piece)
            except (archives.Damaged, OSError, ValueError) as error:
                ignored.append([member.name, str(error)])
        return {"ignored": ignored}


def _seconds(moment):
    """Return the time of a file in the platform's zip; 0 if its clock is unset."""
    try:
        return time.mktime((*moment, 0, 0, -1)) if moment[0] > 1980 else 0.0
    except (ValueError, OverflowError):
        return 0.0
