"""Runs that are finished, and what is in their folders: the result, the history, the learner, the figures."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ibpcl import checkpoints, storage
from ibpcl.experiments.config import RunConfig, as_table
from ibpcl.experiments.folder import CONFIG, LEARNER, RESULT, portable
from ibpcl.experiments.journal import HISTORY
from ibpcl.methods import method


@dataclass(frozen=True, eq=False)
class Run:
    """What a run gave.

    Attributes
    ----------
    config : RunConfig
        What it is a function of.
    result : dict
        The content of ``result.json``; NaN, or None if it was read from there, for what was not measured.
    history : dict of str to sequence
        The columns of ``history.csv``.
    folder : Path or None
        Where the files are, if they were asked for.
    learner : Learner
        After its last task, ready to predict; a run that is loaded reads it when it is first asked for.
    """

    config: RunConfig
    result: dict
    history: dict
    folder: Path | None
    made: Any = field(default=None, repr=False)

    @cached_property
    def learner(self):
        """The learner after its last task."""
        return method(self.config.method).learner.load(self.folder / LEARNER) if self.made is None else self.made


def finished(folder, config):
    """Return the run that a folder holds, if it is finished and of this configuration, else None.

    What is there but damaged is reported by a warning, and counts as not there.
    """
    folder = Path(folder)
    try:
        if portable(storage.read_toml(folder / CONFIG)) != portable(as_table(config)):
            return None
        run = Run(config, storage.read_sealed_json(folder / RESULT), storage.read_csv(folder / HISTORY), folder)
        checkpoints.check(folder / LEARNER)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        warnings.warn(f"{error}; the run is made again", stacklevel=2)
        return None
    return run
