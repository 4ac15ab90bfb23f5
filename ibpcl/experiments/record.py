"""The record of a search: a CSV file with one line per trial, in the order of the trials.

The file is written completely or not at all, and several processes may add to it. Its content does
not depend on the order in which trials ended, except for their seconds. Each line names the program
that made it.
"""

from typing import NamedTuple

import numpy as np

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments import program, values
from ibpcl.experiments.search import DIGEST, HALVING, settings_of
from ibpcl.experiments.search_spaces import MOST

# Age in seconds from which a temporary file counts as a remain of a killed process.
OLD = 3600.0
# Columns of a record before those of the settings; TASKS only in a search with halving.
SCORES = ("trial", "accuracy", "backward_transfer", "seconds")
TASKS = "tasks_learned"
# The last columns. Lines that are older than these columns have none.
MAKER = ("commit", "processor", "versions")


class Trial(NamedTuple):
    """A trial of a search; scores are means over its learners, on validation data.

    Attributes
    ----------
    number : int
        Number of the trial, from 0.
    settings : dict of str to object
        The settings that were searched.
    accuracy : float
        Mean accuracy at the end, a fraction; NaN if training failed.
    backward_transfer : float
        A fraction; NaN if training failed.
    seconds : float
        Time of all learners together.
    tasks : int or None
        Number of tasks that were learned, in a search with halving; the scores of a stopped trial
        are over these tasks. None in a search without halving.
    maker : tuple of str
        Commit of the program, processor and versions of packages; empty if they are unknown.
    """

    number: int
    settings: dict
    accuracy: float
    backward_transfer: float
    seconds: float
    tasks: int | None = None
    maker: tuple[str, ...] = ("",) * len(MAKER)


def this_program():
    """Return the program that makes a new trial, as the trial's ``maker``.

    Returns
    -------
    maker : tuple of str
        Commit of the program, processor and versions of packages.
    """
    found = program.versions()
    return found["commit"] or "unknown", program.processor(), program.described(found)


def recorded(search):
    """Return the trials in the record of a search.

    Parameters
    ----------
    search : ibpcl.experiments.search.Search
        The search.

    Returns
    -------
    trials : list of Trial
        In the order of their numbers; empty without a record.

    Raises
    ------
    UserError
        If the record is damaged, or belongs to another search.
    """
    if not search.record.exists():
        return []
    try:
        columns = storage.read_csv(search.record)
    except ValueError as error:
        raise UserError(f"{error}; delete the file to search again") from error
    names = [*_scores(search), *search.fixed, *search.space]
    if set(columns) - set(MAKER) | {DIGEST} != set(names):
        raise _another(search, f"has the columns {', '.join(columns)}, not {', '.join(names)}")
    done = []
    for line, number in enumerate(columns["trial"].tolist()):
        if not isinstance(number, int) or not (done[-1].number if done else -1) < number < MOST:
            raise _another(search, f"has trial = {number} in line {line + 2}")
        settings = settings_of(search, number)
        for key, value in {**search.fixed, **settings}.items():
            # Old records lack the column of the digest.
            written = columns.get(key, {line: value})[line]
            cell = _cell(value)
            # In a column that has words as well, numbers are read as text.
            same_number = isinstance(written, np.number) and written == cell
            if not same_number and str(written) != str(cell):
                raise _another(
                    search,
                    f"has {key} = {written} in line {line + 2}, not {cell}"
                    if key != DIGEST
                    else "differs in keys that have no column, such as those of a TOML file",
                )
        tasks = int(columns[TASKS][line]) if TASKS in columns else None
        scores = (float(columns[name][line]) for name in SCORES[1:])
        maker = (columns[name][line] if name in columns else "" for name in MAKER)
        # A column of empty cells is read as numbers, NaN.
        known = tuple("" if text != text else str(text) for text in maker)
        done.append(Trial(number, settings, *scores, tasks, known))
    return done


def is_recorded(search, number):
    """Return whether the record contains a trial.

    Parameters
    ----------
    search : ibpcl.experiments.search.Search
        The search.
    number : int
        Number of the trial.

    Returns
    -------
    recorded : bool
        The rest of the record is not checked.
    """
    return search.record.exists() and number in storage.read_csv(search.record)["trial"]


def record(search, trials):
    """Add trials to the record, and keep those that it contains already.

    Parameters
    ----------
    search : ibpcl.experiments.search.Search
        The search.
    trials : list of Trial
        The new trials.

    Raises
    ------
    UserError
        If the record is damaged, or belongs to another search.
    """
    with storage.locked(search.record.with_name(f".{search.record.name}.lock")):
        storage.sweep(search.record.parent, OLD)
        existing = {trial.number: trial for trial in recorded(search)}
        write(
            search,
            [
                trial
                for _, trial in sorted(
                    ({trial.number: trial for trial in trials} | existing).items()
                )
            ],
        )


def write(search, trials):
    """Write trials to the record, and replace its content.

    Parameters
    ----------
    search : ibpcl.experiments.search.Search
        The search.
    trials : list of Trial
        All trials, at least one.
    """
    names = _scores(search)
    rows = [
        dict(zip(names, (trial.number, *trial[2 : 2 + len(names) - 1]), strict=True))
        | {key: _cell(value) for key, value in (search.fixed | trial.settings).items()}
        | dict(zip(MAKER, trial.maker, strict=True))
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
        f"{search.record} belongs to another search: it {difference}; name another folder with "
        "`out`, or delete the file"
    )


def _cell(value):
    """Return a setting as it is written in the record: a number or a string."""
    return values.toml(value) if isinstance(value, bool | tuple | None) else value
