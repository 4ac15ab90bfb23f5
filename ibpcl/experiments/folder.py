"""Which folder a run writes to: never over anything that is not the same run.

Results are a function of the configuration, so a run may replace an earlier run of the same configuration, wherever its
data lay: they have checksums.  Any other folder that is not empty is left alone: without a folder of the user's choice
a number is appended to the name, with one the user is told.
"""

import contextlib
import itertools
import os
from pathlib import Path

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments.config import as_table, run_keys

try:
    import fcntl
except ModuleNotFoundError:                                  # Windows
    fcntl = None

CONFIG = "config.toml"
RUNS = Path("runs")
# What a run writes beside its configuration.
RESULTS = ("result.json", "history.csv", "learner.npz", "checkpoint.npz", "checkpoint.npz.previous",
           "accuracy_curves.png", "accuracy_matrix.png", "masks.png",
           "receptive_fields.png", "sharing.png", "history.png")
OF_REGRESSION = ("reliability.png", "intervals.png")
OF_IMAGES = ("stages.npz", "likelihood_curves.png", "likelihood_matrix.png", "samples.png", "reconstructions.png",
             "few_labels.png")


def free_folder(config, runs=RUNS):
    """Return the first of ``runs/<experiment>-<method>-seed<seed>``, ``...-2``, ``...-3`` that the run may write to."""
    name = f"{config.experiment}-{config.method}-seed{config.seed}"
    for number in itertools.count(1):
        folder = Path(runs, name if number == 1 else f"{name}-{number}")
        if _empty(folder) or _same(_earlier(folder), as_table(config)):
            return folder


def portable(table):
    """Return a configuration's table without the place of the data, which makes no other run."""
    return {key: value for key, value in table.items() if key != "data_dir"}


def _same(earlier, table):
    return earlier is not None and portable(earlier) == portable(table)


@contextlib.contextmanager
def claimed(folder, config, force=False):
    """Make sure that a run may write to a folder, write its configuration there, and give the folder to the caller.

    A folder that was made here is taken away again if the caller fails before it has written anything, and nobody else
    has claimed it.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.
    config : RunConfig
        Of the run.
    force : bool
        Replace the results of a run with another configuration.

    Yields
    ------
    folder : Path

    Raises
    ------
    UserError
        If the folder holds anything else, or another run and not ``force``, or cannot be written.
    """
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent):
            new = not folder.exists()
            _claim(folder, as_table(config), force)
            written = _identity(folder)
    except OSError as error:
        raise UserError(f"cannot write to the folder {folder}: {error.strerror}") from error
    with contextlib.ExitStack() as undo:                     # on an interrupt, too
        if new:
            undo.callback(_take_away, folder, written)
        yield folder
        undo.pop_all()


@contextlib.contextmanager
def _alone(parent):
    """Keep other processes from claiming or taking away a folder inside ``parent`` meanwhile, where the system can."""
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError):               # may not be read, or on a file system without locks
                descriptor = os.open(parent, os.O_RDONLY)
                stack.callback(os.close, descriptor)         # which ends the lock
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _claim(folder, table, force):
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; name a folder with --out")
    if not _empty(folder):
        earlier = _earlier(folder)
        if earlier is None:
            raise UserError(f"{folder} is not empty and not the folder of a run; name another with --out")
        if not _same(earlier, table):
            if not force:
                raise UserError(f"{folder} holds a run with {_difference(portable(earlier), portable(table))}; name "
                                "another folder with --out, or replace that run with --force")
            for name in (*RESULTS, *OF_REGRESSION, *OF_IMAGES):
                Path(folder, name).unlink(missing_ok=True)
    folder.mkdir(exist_ok=True)
    storage.write_toml(folder / CONFIG, table)


def _identity(folder):
    """Return what tells the configuration that was written from one that another process writes later."""
    status = Path(folder, CONFIG).stat()
    return status.st_ino, status.st_mtime_ns


def _take_away(folder, written):
    """Remove a folder that holds nothing but the configuration that was written."""
    with _alone(folder.parent), contextlib.suppress(OSError):    # without locks somebody may be faster
        if [path.name for path in folder.iterdir()] == [CONFIG] and _identity(folder) == written:
            Path(folder, CONFIG).unlink()
            folder.rmdir()


def _empty(folder):
    """Say whether there is nothing in a folder but what an interrupted write leaves."""
    try:
        return not folder.exists() or (folder.is_dir() and all(map(storage.is_temporary, folder.iterdir())))
    except FileNotFoundError:                                # taken away meanwhile
        return True


def _earlier(folder):
    """Return the configuration of the run in a folder, or None if it holds no run."""
    try:
        table = storage.read_toml(folder / CONFIG)
    except (OSError, ValueError):
        return None
    return table if run_keys().keys() - {"data_dir"} <= table.keys() else None


def _difference(earlier, table):
    """Name the first key that differs."""
    for key in table | earlier:
        if earlier.get(key) != table.get(key):
            return f"{key} = {earlier.get(key, 'none')}, not {table.get(key, 'none')}"
    return "another configuration"
