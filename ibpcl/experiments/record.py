"""The record of a search: a CSV file with a line for each trial, in the order of their numbers.

It is written whole or not at all, and several processes may add to it.  What it holds does not
depend on the order in which trials ended, but for their seconds.
"""

from typing import NamedTuple

import numpy as np

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments import values
from ibpcl.experiments.search import DIGEST, HALVING, settings_of
from ibpcl.experiments.search_spaces import MOST

# seconds: the age of what a killed write left
OLD = 3600.0
# The columns of a record before those of the settings; the last one if the search stops bad trials.
SCORES = ("trial", "accuracy", "backward_transfer", "seconds")
TASKS = "tasks_learned"


class Trial(NamedTuple):
    """A trial: its number, the settings that were drawn for it, and its scores, means over the
    learners.

    ``accuracy`` and ``backward_transfer`` are fractions on validation data, NaN if the method could
    not be trained; ``seconds`` are of all learners together.  ``tasks`` is how many were learned in
    a search that stops bad trials, else None; the scores of a trial that was stopped are over
    these.
    """

    number: int
    settings: dict
    accuracy: float
    backward_transfer: float
    seconds: float
    tasks: int | None = None


def recorded(search):
    """Return the trials of the record, none without one; a UserError if it is damaged, or of
    another search.
    """
    if not search.record.exists():
        return []
    try:
        columns = storage.read_csv(search.record)
    except ValueError as error:
        raise UserError(f"{error}; delete it to search again") from error
    names = [*_scores(search), *search.fixed, *search.space]
    if set(columns) | {DIGEST} != set(names):
        raise _another(search, f"has the columns {', '.join(columns)}, not {', '.join(names)}")
    done = []
    for line, number in enumerate(columns["trial"].tolist()):
        if not isinstance(number, int) or not (done[-1].number if done else -1) < number < MOST:
            raise _another(search, f"has trial = {number} in line {line + 2}")
        settings = settings_of(search, number)
        for key, value in {**search.fixed, **settings}.items():
            # old records have no digest
            found = columns.get(key, {line: value})[line]
            cell = _cell(value)
            if not (
                str(found) == cell
                if isinstance(cell, str)
                else isinstance(found, np.number) and found == cell
            ):
                raise _another(
                    search,
                    f"has {key} = {found} in line {line + 2}, not {cell}"
                    if key != DIGEST
                    else "differs in keys that have no column, such as those of a TOML file",
                )
        tasks = int(columns[TASKS][line]) if TASKS in columns else None
        done.append(
            Trial(number, settings, *(float(columns[name][line]) for name in SCORES[1:]), tasks)
        )
    return done


def is_recorded(search, number):
    """Return whether the record has a trial; nothing else is read."""
    return search.record.exists() and number in storage.read_csv(search.record)["trial"]


def record(search, trials):
    """Add trials to the record, to which other processes write too; existing ones are kept."""
    with storage.locked(search.record.with_name(f".{search.record.name}.lock")):
        storage.sweep(search.record.parent, OLD)
        there = {trial.number: trial for trial in recorded(search)}
        write(
            search,
            [
                trial
                for _, trial in sorted(({trial.number: trial for trial in trials} | there).items())
            ],
        )


def write(search, trials):
    """Write the record of trials as CSV."""
    names = _scores(search)
    rows = [
        dict(zip(names, (trial.number, *trial[2 : 2 + len(names) - 1]), strict=True))
        | {key: _cell(value) for key, value in (search.fixed | trial.settings).items()}
        for trial in trials
    ]
    search.record.parent.mkdir(parents=True, exist_ok=True)
    storage.write_csv(
        search.record,
        {name: [None if row[name] != row[name] else row[name] for row in rows] for name in rows[0]},
    )


def _scores(search):
    return (*SCORES, TASKS) if HALVING in search.fixed else SCORES


def _another(search, difference):
    return UserError(
        f"{search.record} is the record of another search: it {difference}; name another folder "
        "with `out`, or delete it"
    )


def _cell(value):
    """Return a setting as it stands in the record: a number, or a word."""
    return values.toml(value) if isinstance(value, bool | tuple | None) else value
