"""Random search for a method's settings, on validation data cut from the training set; nothing looks at the test set.

A trial is a run whose "test" data are a share of the training data of each task (the key ``validation``); its score is
the mean accuracy on them at the end.  Trial 0 has the settings that the method has anyway; the settings of trial n > 0
are a function of the search's seed and n, so a search can be stopped, resumed and made longer.  Bergstra and Bengio
(2012), "Random Search for Hyper-Parameter Optimization", is why the trials are random and not on a grid.

The learner's seeds are none that a table uses.  The best of many noisy scores is an optimistic one: what the found
settings are worth, other seeds and the test set say.
"""

import contextlib
import hashlib
import math
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ibpcl import storage
from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments import values
from ibpcl.experiments.config import LARGEST_SEED, PLACES, as_table, configure, keys
from ibpcl.experiments.journal import unusable
from ibpcl.experiments.run import run
from ibpcl.experiments.search_spaces import MOST, OUT, SPACES, TRIALS
from ibpcl.methods import method as method_of

VALIDATION = 0.1
LOOK, OLD = 0.5, 3600.0                                      # seconds between looks; age of what a killed write left
LEARNER_SEED = 1000                                          # tables count theirs from 0
# The columns of a record before those of the settings.
SCORES = ("trial", "accuracy", "backward_transfer", "seconds")
# The column with the digest of all keys that are not searched; the records of docs/search are from before it was there.
DIGEST = "configuration"


class Trial(NamedTuple):
    """A trial: its number, the settings that were drawn for it, and its scores, means over the learners.

    ``accuracy`` and ``backward_transfer`` are fractions on validation data, NaN if the method could not be trained;
    ``seconds`` are of all learners together.
    """

    number: int
    settings: dict
    accuracy: float
    backward_transfer: float
    seconds: float


class Search(NamedTuple):
    """A search: on what, for whom, in which space, what all trials have in common, and the file of its record.

    Attributes
    ----------
    name : str
        Of the experiment.
    experiment : str or OwnTasks
        Its name, its TOML file, or one's own tasks.
    method : str
    space : dict
        Of settings to what they are drawn from.
    fixed : dict
        Keys that all trials have; in the record they are columns.
    texts : dict of str to str
        Keys with their texts, for the configuration of every trial.
    record : Path
    """

    name: str
    experiment: Any
    method: str
    space: dict
    fixed: dict
    texts: dict
    record: Path


def plan(experiment, method, seed=0, repeats=1, texts=None, out=OUT):
    """Say what a search is; nothing is run.

    Parameters
    ----------
    experiment : str or sequence of Task
        Its name, a TOML file, or one's own tasks.
    method : str
        Whose settings.
    seed : int, at least 0
        Of the settings of the trials.
    repeats : int, at least 1
        Learners with different seeds a trial; a trial's score is their mean.
    texts : dict of str to str, optional
        Keys for all trials, as a command line has them; a setting that is given is not searched.
    out : path-like
        Folder of the record.

    Raises
    ------
    UserError
        If the method has no space, or there is no such experiment, method or key.
    """
    texts = dict(texts or {})
    for key, instead in (("method", "--method"), ("seed", "--seed, of the search"), ("experiment", "EXPERIMENT")):
        if key in texts:
            raise UserError(f"{key} is not for --set here: use {instead}")
    for name, value, least, most in (("seed", seed, 0, LARGEST_SEED), ("repeats", repeats, 1, MOST)):
        if not least <= value <= most:
            raise UserError(f"{name} must be in {least} .. {most}, got {value}")
    config = configure(experiment, texts, method=method)     # refuses what is wrong with them, before anything is run
    if config.validation is None and "validation" not in texts:
        texts["validation"] = str(VALIDATION)
        config = configure(experiment, texts, method=method)
    if config.measure != "accuracy":
        raise UserError(f"experiment {config.experiment} measures {config.measure}; a search goes by accuracy")
    if config.validation is None:
        raise UserError("validation must be a share of the training data: a search does not look at the test set")
    declared = space_of(method)
    space = {key: where for key, where in declared.items() if key not in texts}
    if not space:
        raise UserError(f"{', '.join(declared)} are all given: nothing is left to search; use ibpcl run")
    known = keys(method)
    given = {key: values.parse(key, text, known[key].kind) for key, text in texts.items() if key != "data_dir"}
    fixed = {"validation": config.validation, "search_seed": seed, "learner_seed": LEARNER_SEED, "repeats": repeats}
    target = str(experiment) if isinstance(experiment, str | Path) else experiment
    return Search(config.experiment, target, method, space, fixed | given | {DIGEST: _digest(config, space)}, texts,
                  Path(out, f"{config.experiment}-{config.title}.csv"))


def space_of(name):
    """Return where the settings of a method are searched; of one's own, its ``search_space`` or its base's space.

    >>> list(space_of("naive"))
    ['epochs', 'rate', 'rate_end']
    """
    if name in SPACES:
        return SPACES[name]
    learner, known = method_of(name).learner, keys(name)
    if hasattr(learner, "search_space"):
        return learner.search_space
    for base in learner.__mro__:
        space = SPACES.get(base.__module__.rpartition(".")[2], {})
        if space and base.__module__.startswith("ibpcl.methods.") and space.keys() <= known.keys():
            return space
    raise UserError(f"no search space is declared for {name} (there are: {', '.join(SPACES)}; a class of one's own has "
                    "a search_space, as in ibpcl/experiments/search_spaces.py)")


def settings_of(search, number):
    """Return the settings of a trial, those that are searched."""
    if number == 0:
        return {key: getattr(_config(search, {}, LEARNER_SEED).settings, key) for key in search.space}
    rng = np.random.default_rng((search.fixed["search_seed"], number))
    return {key: where.draw(rng) for key, where in search.space.items()}


def tune(search, trials=TRIALS, on_trial=None):
    """Run the trials that are not in the record yet, and return all of them.

    Several processes may be at work on the same search: each takes trials that no other has begun.  The record is
    written after every trial, whole or not at all.  A trial that is killed goes on where it was.

    Parameters
    ----------
    search : Search
        From :func:`plan`.
    trials : int, at least 1
        How many there shall be in the end; a record with more is left as it is.
    on_trial : callable, optional
        Called with each new :class:`Trial`, also of other processes.

    Returns
    -------
    trials : list of Trial
        The first ``trials`` of the record.

    Raises
    ------
    UserError
        If the record is of another search, the TOML file was changed meanwhile, or data are missing.
    """
    if not 1 <= trials <= MOST:
        raise UserError(f"trials must be in 1 .. {MOST}, got {trials}")
    known = {trial.number for trial in recorded(search)}
    if not known >= set(range(trials)):
        _check_writable(search.record)
    while True:
        done = {trial.number: trial for trial in recorded(search)}
        for number in sorted(done.keys() - known):
            if on_trial is not None and number < trials:
                on_trial(done[number])
        known |= done.keys()
        missing = [number for number in range(trials) if number not in done]
        if not missing:
            return [done[number] for number in range(trials)]
        if not any(_attempt(search, number) for number in missing):
            time.sleep(LOOK)                                 # other processes are at work on all of them


def _attempt(search, number):
    """Run a trial and record it; return False if another process is at work on it."""
    work = search.record.with_suffix("")                     # a folder beside the record
    work.mkdir(exist_ok=True)
    lock = work / f"trial-{number}.lock"
    try:
        with storage.locked(lock, wait=0):
            if number not in {trial.number for trial in recorded(search)}:
                _record(search, _try(search, number, work))
            for folder in work.glob(f"trial-{number}-*"):
                shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):               # Windows does not remove a lock that is held
                lock.unlink()
    except (BlockingIOError, FileNotFoundError):
        return False
    with contextlib.suppress(OSError):                       # the last one takes the folder away
        work.rmdir()
    return True


def _record(search, trial):
    """Add a trial to the record, to which other processes write too."""
    with storage.locked(search.record.with_name(f".{search.record.name}.lock")):
        storage.sweep(search.record.parent, OLD)
        write(search, sorted([*recorded(search), trial]))


def _check_writable(record):
    """Write a file beside the record and take it away, before hours are spent on what goes into it."""
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        storage.write_temporary(record, [b""]).unlink()
    except OSError as error:
        raise UserError(f"cannot write {record}: {error.strerror}; name another folder with --out") from error


def best(trials):
    """Return the trial with the highest accuracy, the first of several.

    Raises
    ------
    TrainingError
        If none could be trained.
    """
    trained = [trial for trial in trials if not math.isnan(trial.accuracy)]
    if not trained:
        raise TrainingError(f"none of the {len(trials)} trials could be trained")
    return max(trained, key=lambda trial: trial.accuracy)


def recorded(search):
    """Return the trials of the record, none if there is no record.

    Raises
    ------
    UserError
        If it is damaged, or of another search.
    """
    if not search.record.exists():
        return []
    try:
        columns = storage.read_csv(search.record)
    except ValueError as error:
        raise UserError(f"{error}; delete it to search again") from error
    names = [*SCORES, *search.fixed, *search.space]
    if set(columns) | {DIGEST} != set(names):
        raise _another(search, f"has the columns {', '.join(columns)}, not {', '.join(names)}")
    done = []
    for line, number in enumerate(columns["trial"].tolist()):
        if not isinstance(number, int) or not (done[-1].number if done else -1) < number < MOST:
            raise _another(search, f"has trial = {number} in line {line + 2}")
        settings = settings_of(search, number)
        for key, value in {**search.fixed, **settings}.items():
            if key not in columns:                           # the digest
                continue
            found, cell = columns[key][line], _cell(value)
            same = str(found) == cell if isinstance(cell, str) else isinstance(found, np.number) and found == cell
            if not same and key == DIGEST:
                raise _another(search, "differs in keys that have no column, such as those of a TOML file")
            if not same:
                raise _another(search, f"has {key} = {found} in line {line + 2}, not {cell}")
        done.append(Trial(number, settings, *(float(columns[name][line]) for name in SCORES[1:])))
    return done


def write(search, trials):
    """Write the record of trials as CSV."""
    rows = [dict(zip(SCORES, (trial.number, trial.accuracy, trial.backward_transfer, trial.seconds), strict=True))
            | {key: _cell(value) for key, value in (search.fixed | trial.settings).items()} for trial in trials]
    search.record.parent.mkdir(parents=True, exist_ok=True)
    storage.write_csv(search.record, {name: [None if row[name] != row[name] else row[name] for row in rows]
                                      for name in rows[0]})


def _try(search, number, work):
    settings, found = settings_of(search, number), []
    for repeat in range(search.fixed["repeats"]):
        folder = work / f"trial-{number}-{repeat}"
        try:
            config = _config(search, settings, LEARNER_SEED + repeat)
            found.append(run(config, folder, False, force=True, fresh=unusable(folder), figures=False).result)
        except TrainingError:
            return Trial(number, settings, math.nan, math.nan, math.nan)
    accuracy, transfer = (round(float(np.array([one[name] for one in found], float).mean()), 6)
                          for name in ("average_accuracy", "backward_transfer"))
    return Trial(number, settings, accuracy, transfer, round(math.fsum(one["seconds"]["total"] for one in found), 1))


def _config(search, settings, seed):
    config = configure(search.experiment, search.texts, **settings, method=search.method, seed=seed)
    if _digest(config, search.space) != search.fixed[DIGEST]:
        raise UserError(f"{search.experiment} was changed during the search; start it again")
    return config


def _digest(config, space):
    """Return what differs for configurations that differ in keys that are not searched, but for the data's place."""
    table = {key: value for key, value in sorted(as_table(config).items()) if key not in {*space, "seed", *PLACES}}
    return f"sha256:{hashlib.sha256(storage.json_text(table).encode()).hexdigest()[:10]}"


def _another(search, difference):
    return UserError(f"{search.record} is the record of another search: it {difference}; name another folder with "
                     "--out, or delete it")


def _cell(value):
    """Return a setting as it stands in the record: a number, or a word."""
    if isinstance(value, bool) or value is None or isinstance(value, tuple):
        return values.toml(value)
    return value
