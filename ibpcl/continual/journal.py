"""What it takes to go on with a task in the middle: kept after every epoch by whoever runs the learner."""

from typing import NamedTuple, Protocol

from ibpcl.inference.loop import Snapshot
from ibpcl.inference.objectives import Fit


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


def phase_fit(learner, phase, epochs, key, progress, journal, partial):
    """Return how a phase of a learner's training goes: from where it was interrupted, if it was, and kept every epoch.

    ``partial(snapshot)`` returns the :class:`Partial` to keep; the learner has ``settings`` and ``backend``.
    """
    settings, resumed = learner.settings, journal.resume if journal else None
    snapshot = resumed.snapshot if resumed is not None and resumed.snapshot.phase == phase else None
    save = None if journal is None else lambda now: journal.save(partial(now))
    return Fit(phase, epochs, settings.batch, settings.samples, key, learner.backend, progress, snapshot, save,
               settings.rate_end)
