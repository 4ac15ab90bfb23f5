"""Folders of runs: which folder a run may write to, and the lock that protects it.

The results are a function of the configuration. A folder with a run therefore accepts the same run
again; the location of the data may differ, because data have checksums. Any other folder that is
not empty is left alone: if the user named it, this is an error; if not, a number is appended to
its name. While a run is at work, a lock file in its folder keeps other processes from writing.
"""

import contextlib
import itertools
import time
from pathlib import Path

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments.captions import OF_RUNS
from ibpcl.experiments.config import NEWER, OPTIONAL, PLACES, run_keys

CONFIG = "config.toml"
LOCK = ".lock"
RESULT = "result.json"
LEARNER = "learner.npz"
REPORT = "report.html"
# Images for the figures of a generative model.
IMAGES = "stages.npz"
# Files that systems and tools make in a folder that looks empty; NFS adds `.nfs...`.
UNSEEN = (".DS_Store", "Thumbs.db", "desktop.ini", ".gitkeep", ".keep", "lost+found")
LOCKS = (LOCK, f"{LOCK}{storage.SOFT}")
RUNS = Path("runs")
# Attempts to make a folder, because other processes may remove it in between.
ATTEMPTS = 10
# Seconds to wait for a lock: another process may only be checking it.
WAIT = 0.5
# Files that runs write in addition to their configuration.
RESULTS = (RESULT, "history.csv", LEARNER, IMAGES, REPORT, *(f"{name}.png" for name in OF_RUNS))
WRITTEN = {CONFIG, *LOCKS, *RESULTS, "checkpoint.npz", "checkpoint.npz.previous"}


class AtWorkError(UserError):
    """Another process is at work in a folder."""


def free_folder(config, runs=RUNS):
    """Return the first default folder that a run may write to.

    Parameters
    ----------
    config : RunConfig
        The configuration of the run.
    runs : path-like
        The parent folder.

    Returns
    -------
    folder : Path
        The first of ``<experiment>-<method>-seed<seed>``, ``...-2``, ``...-3`` that is empty or
        holds the same run, and has no process at work.
    """
    name = f"{config.experiment}-{config.title}-seed{config.seed}"
    for number in itertools.count(1):
        folder = Path(runs, name if number == 1 else f"{name}-{number}")
        if (_empty(folder) or _same(table_of(folder), config.table)) and not at_work(folder):
            return folder


def at_work(folder, lock=LOCK):
    """Return whether a process, this one or another, is at work in a folder.

    Parameters
    ----------
    folder : path-like
        The folder.
    lock : str
        Name of the lock file.

    Returns
    -------
    busy : bool
        Whether the lock is held.
    """
    lock = Path(folder, lock)
    if not lock.exists() and not Path(f"{lock}{storage.SOFT}").exists():
        return False
    try:
        with storage.locked(lock, wait=0):
            return False
    except BlockingIOError:
        return True
    # The file was removed in between, or may not be written.
    except OSError:
        return False


def portable(table):
    """Return the table of a configuration without the location of the data.

    Parameters
    ----------
    table : dict
        A configuration, as :attr:`ibpcl.experiments.config.RunConfig.table`.

    Returns
    -------
    table : dict
        Without the keys of :data:`ibpcl.experiments.config.PLACES`.
    """
    return {key: value for key, value in table.items() if key not in PLACES}


def _same(earlier, table):
    return earlier is not None and portable(earlier) == portable(table)


@contextlib.contextmanager
def claimed(folder, config, force=False):
    """Lock a folder for a run while the ``with`` block runs; leave its content unchanged.

    If the block fails before it has written results, new folders are removed again.

    Parameters
    ----------
    folder : path-like or callable
        The folder, which is created if necessary; or a function that chooses it for a
        configuration, such as :func:`free_folder`.
    config : RunConfig
        The configuration of the run.
    force : bool
        Whether the folder may hold a run with another configuration.

    Yields
    ------
    folder : Path
        The locked folder.

    Raises
    ------
    AtWorkError
        If another run is at work there.
    UserError
        If the folder holds anything else, or another run without ``force``, or cannot be written.
    """
    # Both are undone on an interrupt too; the lock is released last.
    with contextlib.ExitStack() as lock, contextlib.ExitStack() as undo:
        for attempt in itertools.count(1):
            chosen = Path(folder(config) if callable(folder) else folder)
            try:
                new = list(
                    itertools.takewhile(lambda path: not path.exists(), (chosen, *chosen.parents))
                )
                # Check first, so that no lock is left in a folder with other content.
                _check(chosen, config.table, True)
                chosen.mkdir(parents=True, exist_ok=True)
                lock.enter_context(storage.locked(chosen / LOCK, WAIT))
                _check(chosen, config.table, force)  # again: another process may have been faster
                storage.sweep(chosen)
                break
            except BlockingIOError as error:
                if not callable(folder):
                    left = storage.left_behind(chosen / LOCK)
                    raise AtWorkError(
                        f"another run is at work in {chosen}; wait for it, or name another folder "
                        f"with `out`{left and f' ({left})'}"
                    ) from error
            # The folder was removed between two steps, or cannot be made.
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
    """Write the configuration of a run to its folder, and remove results of other runs.

    Parameters
    ----------
    folder : Path
        The folder, locked by :func:`claimed`.
    config : RunConfig
        The configuration of the run.
    fresh : bool
        Whether to remove the results of the same run too.
    """
    table = config.table
    if fresh or not _same(table_of(folder), table):
        for path in (*(Path(folder, name) for name in RESULTS), *checkpoints_in(folder)):
            path.unlink(missing_ok=True)
    storage.write_toml(folder / CONFIG, table)


def checkpoints_in(folder):
    """Return the files from which a run in a folder could continue.

    Parameters
    ----------
    folder : path-like
        The folder of a run.

    Returns
    -------
    paths : list of Path
        The checkpoint, the one before, and the results of each task.
    """
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
            f"{folder} is not empty and not the folder of a run; name another folder with `out`"
        )
    if not force and not _same(earlier, table):
        raise UserError(
            f"{folder} holds a run with {difference(portable(earlier), portable(table))}; name "
            "another folder with `out`, or replace that run with `force`"
        )


def _take_away(new):
    """Remove a new folder that holds only a configuration and a lock, and its new parents."""
    # Windows cannot remove a lock that is held.
    with contextlib.suppress(OSError):
        if {path.name for path in new[0].iterdir()} <= {CONFIG, *LOCKS}:
            for name in (CONFIG, *LOCKS):
                Path(new[0], name).unlink(missing_ok=True)
            for folder in new:
                folder.rmdir()


def _empty(folder):
    """Return whether a folder holds nothing of a user.

    A lock, the remains of an interrupted write and the files of :data:`UNSEEN` do not count.
    """
    try:
        return not folder.exists() or (
            folder.is_dir()
            and all(
                path.name in (*LOCKS, *UNSEEN)
                or path.name.startswith(".nfs")
                or storage.is_temporary(path)
                for path in folder.iterdir()
            )
        )
    except FileNotFoundError:  # removed in between
        return True


def table_of(folder):
    """Return the configuration of the run in a folder.

    Parameters
    ----------
    folder : path-like
        The folder.

    Returns
    -------
    table : dict or None
        None if the folder holds no complete configuration.
    """
    try:
        table = storage.read_toml(Path(folder, CONFIG))
    except (OSError, ValueError):
        return None
    return table if run_keys().keys() - {*OPTIONAL, *NEWER} <= table.keys() else None


def difference(earlier, table):
    """Return the first key in which two configurations differ, as text.

    Parameters
    ----------
    earlier, table : dict
        Two configurations.

    Returns
    -------
    text : str
        Such as ``alpha = 30.0, not 20.0``.
    """
    for key in table | earlier:
        if earlier.get(key) != table.get(key):
            return f"{key} = {earlier.get(key, 'none')}, not {table.get(key, 'none')}"
    return "another configuration"
