"""Which folder a run writes to: never over anything that is not the same run.

Results are a function of the configuration, so a run may replace an earlier run of the same configuration, wherever its
data lay: they have checksums.  Any other folder that is not empty is left alone: without a folder of the user's choice
a number is appended to the name, with one the user is told.  While a run is at work its folder is locked, so that no
other process writes between its files.
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


class AtWorkError(UserError):
    """Another process is at work in a folder."""


def free_folder(config, runs=RUNS):
    """Return the first of ``runs/<experiment>-<method>-seed<seed>``, ``...-2``, ``...-3`` that the run may write to."""
    name = f"{config.experiment}-{config.method}-seed{config.seed}"
    for number in itertools.count(1):
        folder = Path(runs, name if number == 1 else f"{name}-{number}")
        if (_empty(folder) or _same(_earlier(folder), as_table(config))) and not at_work(folder):
            return folder


def at_work(folder):
    """Say whether a run is at work in a folder, in this process or another; no where there are no locks."""
    try:
        with _locked(folder, wait=False):
            return False
    except BlockingIOError:
        return True


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
    folder : path-like or callable
        Made if it does not exist; or what chooses it for the configuration, as :func:`free_folder` does, while no other
        process claims one beside it.
    config : RunConfig
        Of the run.
    force : bool
        Replace the results of a run with another configuration.

    Yields
    ------
    folder : Path

    Raises
    ------
    AtWorkError
        If another run is at work there.
    UserError
        If the folder holds anything else, or another run and not ``force``, or cannot be written.
    """
    choose = folder if callable(folder) else lambda config: folder
    folder = Path(choose(config))
    with contextlib.ExitStack() as undo, contextlib.ExitStack() as lock:     # on an interrupt, too
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _locked(folder.parent):
                folder = Path(choose(config))                # somebody may have been faster
                new = not folder.exists()
                if not new:
                    lock.enter_context(_locked(folder, wait=False))
                _claim(folder, as_table(config), force)
                if new:
                    lock.enter_context(_locked(folder, wait=False))
                written = _identity(folder)
        except BlockingIOError as error:
            raise AtWorkError(f"another run is at work in {folder}; wait for it, or name another folder with "
                              "--out") from error
        except OSError as error:
            raise UserError(f"cannot write to the folder {folder}: {error.strerror}") from error
        if new:
            undo.callback(_take_away, folder, written)
        yield folder
        undo.pop_all()


@contextlib.contextmanager
def _locked(folder, wait=True):
    """Keep other processes out of what asks for this lock, where the system can.

    Raises
    ------
    BlockingIOError
        If somebody else has it, and not ``wait``.
    """
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            try:
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)         # which ends the lock
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise
            except OSError:                                  # not there, not for us, or a file system without locks
                pass
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
                raise UserError(f"{folder} holds a run with {difference(portable(earlier), portable(table))}; name "
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
    with _locked(folder.parent), contextlib.suppress(OSError):   # without locks somebody may be faster
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


def is_run(folder):
    """Say whether a folder holds the whole configuration of a run."""
    return _earlier(Path(folder)) is not None


def difference(earlier, table):
    """Name the first key that differs."""
    for key in table | earlier:
        if earlier.get(key) != table.get(key):
            return f"{key} = {earlier.get(key, 'none')}, not {table.get(key, 'none')}"
    return "another configuration"
