"""What it takes to go on with a task in the middle: kept after every epoch by whoever runs the learner."""

from typing import NamedTuple, Protocol

from ibpcl.inference.loop import Snapshot


class Partial(NamedTuple):
    """A task after some of its epochs.

    ``snapshot``: the fit that was under way.  ``hidden``: the widths of the layers by then.  ``masks``: the task's hard
    masks once they are cut, else None.  ``history``: the records of the phases before.
    """

    snapshot: Snapshot
    hidden: tuple[int, ...]
    masks: tuple | None
    history: tuple


class Journal(Protocol):
    """Keeps the progress of a task: ``resume`` is where it had been, or None to start from the beginning."""

    resume: Partial | None

    def save(self, partial):
        """Keep the progress, whole or not at all."""
