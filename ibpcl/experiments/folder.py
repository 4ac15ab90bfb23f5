"""Which folder a run writes to: never over anything that is not the same run.

Results are a function of the configuration, so the folder of a run takes that run again, wherever
its data lay: they have checksums.  Any other folder that is not empty is left alone: without a
folder of the user's choice a number is appended to the name, with one this is an error.  While a
run is at work its folder is locked, by a file in it, so that no other process writes between its
files.
"""

import contextlib
import itertools
import time
from pathlib import Path

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments.captions import OF_RUNS
from ibpcl.experiments.config import OPTIONAL, PLACES, run_keys

CONFIG = "config.toml"
LOCK = ".lock"
RESULT = "result.json"
LEARNER = "learner.npz"
REPORT = "report.html"
# what the figures of a generative model show
IMAGES = "stages.npz"
LOCKS = (LOCK, f"{LOCK}{storage.SOFT}")
RUNS = Path("runs")
# to make a folder that others may take away meanwhile
ATTEMPTS = 10
# seconds for another process that only looks
WAIT = 0.5
# What runs write beside their configuration.
RESULTS = (RESULT, "history.csv", LEARNER, IMAGES, REPORT, *(f"{name}.png" for name in OF_RUNS))
WRITTEN = {CONFIG, *LOCKS, *RESULTS, "checkpoint.npz", "checkpoint.npz.previous"}


class AtWorkError(UserError):
    """Another process is at work in a folder."""


def free_folder(config, runs=RUNS):
    """Return the first of ``runs/<experiment>-<method>-seed<seed>``, ``...-2``, ``...-3`` that the
    run may write to.
    """
    name = f"{config.experiment}-{config.title}-seed{config.seed}"
    for number in itertools.count(1):
        folder = Path(runs, name if number == 1 else f"{name}-{number}")
        if (_empty(folder) or _same(table_of(folder), config.table)) and not at_work(folder):
            return folder


def at_work(folder, lock=LOCK):
    """Return whether a process, this one or another, is at work in a folder: whether it holds the
    lock there.
    """
    lock = Path(folder, lock)
    if not lock.exists() and not Path(f"{lock}{storage.SOFT}").exists():
        return False
    try:
        with storage.locked(lock, wait=0):
            return False
    except BlockingIOError:
        return True
    # removed meanwhile, or not ours to write
    except OSError:
        return False


def portable(table):
    """Return a configuration's table without the place of the data, which makes no other run."""
    return {key: value for key, value in table.items() if key not in PLACES}


def _same(earlier, table):
    return earlier is not None and portable(earlier) == portable(table)


@contextlib.contextmanager
def claimed(folder, config, force=False):
    """Lock a folder that a run may write to, and give its Path to the caller; nothing in it is
    changed.

    Folders that were made here are taken away again if the caller fails before it has written
    results.

    Parameters
    ----------
    folder : path-like or callable
        Made if it does not exist; or what chooses it for the configuration, as :func:`free_folder`
        does.
    config : RunConfig
        Of the run.
    force : bool
        Allow a folder with a run of another configuration.

    Raises
    ------
    AtWorkError, UserError
        If another run is at work there; if the folder holds anything else, or another run and not
        ``force``, or cannot be written.
    """
    # on an interrupt, too; the lock goes last
    with contextlib.ExitStack() as lock, contextlib.ExitStack() as undo:
        for attempt in itertools.count(1):
            chosen = Path(folder(config) if callable(folder) else folder)
            try:
                new = list(
                    itertools.takewhile(lambda path: not path.exists(), (chosen, *chosen.parents))
                )
                # before a lock is left in a folder of something else
                _check(chosen, config.table, True)
                chosen.mkdir(parents=True, exist_ok=True)
                lock.enter_context(storage.locked(chosen / LOCK, WAIT))
                _check(chosen, config.table, force)  # another process may have been faster
                storage.sweep(chosen)
                break
            except BlockingIOError as error:
                if not callable(folder):
                    raise AtWorkError(
                        f"another run is at work in {chosen}; wait for it, or name another folder "
                        "with `out`"
                    ) from error
            # taken away between two of the steps, or never possible
            except FileNotFoundError as error:
                if attempt >= ATTEMPTS:
                    raise UserError(
                        f"cannot write to the folder {chosen}: {error.strerror}"
                    ) from error
                time.sleep(0.01)
            except OSError as error:
                raise UserError(f"cannot write to the folder {chosen}: {error.strerror}") from error
        if new:
            undo.callback(_take_away, new)
        yield chosen
        undo.pop_all()


def begin(folder, config, fresh=False):
    """Write a run's configuration to its folder; results of another run, or with ``fresh`` of any,
    are removed.
    """
    table = config.table
    if fresh or not _same(table_of(folder), table):
        for path in (*(Path(folder, name) for name in RESULTS), *checkpoints_in(folder)):
            path.unlink(missing_ok=True)
    storage.write_toml(folder / CONFIG, table)


def checkpoints_in(folder):
    """Return the files from which a run in a folder could continue."""
    return [*Path(folder).glob("checkpoint.npz*"), *Path(folder).glob("checkpoint.task*.npz")]


def _check(folder, table, force):
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; name a folder with `out`")
    if _empty(folder):
        return
    if links := [
        path.name for path in folder.iterdir() if path.name in WRITTEN and path.is_symlink()
    ]:
        raise UserError(
            f"{folder}: {', '.join(links)} must be a file, not a link, which a run would "
            "overwrite; remove it, or name another folder with `out`"
        )
    earlier = table_of(folder)
    if earlier is None:
        raise UserError(
            f"{folder} is not empty and not the folder of a run; name another with `out`"
        )
    if not force and not _same(earlier, table):
        raise UserError(
            f"{folder} holds a run with {difference(portable(earlier), portable(table))}; name "
            "another folder with `out`, or replace that run with `force`"
        )


def _take_away(new):
    """Remove a new folder that holds nothing but a configuration and our lock, and its parents that
    are new, too.
    """
    # Windows does not remove a lock that is held
    with contextlib.suppress(OSError):
        if {path.name for path in new[0].iterdir()} <= {CONFIG, *LOCKS}:
            for name in (CONFIG, *LOCKS):
                Path(new[0], name).unlink(missing_ok=True)
            for folder in new:
                folder.rmdir()


def _empty(folder):
    """Return whether there is nothing in a folder but a lock and what an interrupted write
    leaves.
    """
    try:
        return not folder.exists() or (
            folder.is_dir()
            and all(path.name in LOCKS or storage.is_temporary(path) for path in folder.iterdir())
        )
    except FileNotFoundError:  # taken away meanwhile
        return True


def table_of(folder):
    """Return the configuration of the run in a folder as a table, or None if it does not hold a
    whole one.
    """
    try:
        table = storage.read_toml(Path(folder, CONFIG))
    except (OSError, ValueError):
        return None
    return table if run_keys().keys() - set(OPTIONAL) <= table.keys() else None


def difference(earlier, table):
    """Return the first key that differs, with both values, as text."""
    for key in table | earlier:
        if earlier.get(key) != table.get(key):
            return f"{key} = {earlier.get(key, 'none')}, not {table.get(key, 'none')}"
    return "another configuration"
