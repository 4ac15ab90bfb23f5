"""Random search for a method's settings, on validation data cut from the training set; nothing
looks at the test set.

A trial is a run whose "test" data are a share of the training data of each task (the key
``validation``); its score is the mean accuracy on them at the end.  Trial 0 has the settings that
the method has anyway; the settings of trial n > 0 are a function of the search's seed and n, so a
search can be stopped, resumed and made longer.  Bergstra and Bengio (2012), "Random Search for
Hyper-Parameter Optimization", is why the trials are random and not on a grid.

The learner's seeds are none that a table uses.  The best of many noisy scores is an optimistic one:
what the found settings are worth, other seeds and the test set say.
"""

import contextlib
import math
import shutil
from functools import partial

import numpy as np

from ibpcl import storage
from ibpcl.errors import TrainingError, UserError
from ibpcl.evaluation import metrics
from ibpcl.experiments.cells import effort
from ibpcl.experiments.folder import AtWorkError, at_work
from ibpcl.experiments.halving import rounds, survivors
from ibpcl.experiments.journal import unusable
from ibpcl.experiments.record import Trial, is_recorded, record, recorded
from ibpcl.experiments.run import run
from ibpcl.experiments.search import HALVING, LEARNER_SEED, configuration, settings_of
from ibpcl.experiments.search_spaces import MOST, TRIALS
from ibpcl.experiments.sweep import Job, outcomes

DIGITS = 6  # of an accuracy in the record
# beside the folders of the trial's runs
LOCK = "trial-{}.lock"


class _Enough(Exception):
    """A trial has learned the tasks of its round and waits for the decision."""


def tune(search, trials=TRIALS, on_trial=None, workers=None, progress=False):
    """Run the trials that are not in the record yet, and return the first ``trials`` of it.

    Several processes may be at work on the same search: each takes trials that no other has begun.
    The record is written after every trial, whole or not at all.  A trial that is killed continues
    from its checkpoint.

    Parameters
    ----------
    search : Search
        From :func:`ibpcl.experiments.search.plan`.
    trials : int, at least 1
        How many there shall be in the end; a record with more is left as it is.
    on_trial : callable, optional
        Called with each new :class:`ibpcl.experiments.record.Trial`, also of other processes.
    workers, progress
        As in :func:`ibpcl.experiments.sweep.outcomes`.

    Raises
    ------
    UserError, TrainingError
        If the record is of another search, the TOML file was changed meanwhile, or data are
        missing; if the workers of a trial died: the record has the others.
    """
    if not 1 <= trials <= MOST:
        raise UserError(f"trials must be in 1 .. {MOST}, got {trials}")
    if search.fixed.get(HALVING, trials) != trials:
        raise UserError(
            "a search that stops bad trials has all of them from the start: "
            f"{search.fixed[HALVING]}, not {trials}"
        )
    # a worker may have another folder
    absolute = search._replace(record=search.record.absolute())
    reported = {trial.number for trial in recorded(search)}
    if not reported >= set(range(trials)):
        _check_writable(search.record)

    def enter(new):
        """Record trials; report them and those that other processes have recorded."""
        if new:
            record(search, new)
        done = {trial.number: trial for trial in recorded(search)}
        for number in sorted(done.keys() - reported):
            reported.add(number)
            _remove(absolute, number)
            if on_trial is not None and number < trials:
                on_trial(done[number])
        return done

    def attempt(numbers, tasks=None):
        """Give each trial that is not recorded, as far as its first tasks, with its log-likelihood
        on them.
        """
        jobs = [_job(absolute, number, tasks) for number in numbers if number not in reported]
        lost = []
        for job, outcome in (
            outcomes(jobs, absolute.record.parent, workers, progress) if jobs else ()
        ):
            if isinstance(outcome, TrainingError):
                lost.append(f"{job.name}: {outcome}")
            elif outcome is None:  # another process has recorded it
                _remove(absolute, job.key)
            else:
                yield outcome
        if lost:
            raise TrainingError(
                f"{'; '.join(lost)}; the record has the others, and the same command tries again"
            )

    alive = list(range(trials))
    halvings = (
        rounds(trials, configuration(search, {}, LEARNER_SEED).tasks)
        if HALVING in search.fixed
        else ()
    )
    for tasks, number in halvings:
        # the round is not decided yet
        if not _stopped(enter([]), tasks) and len(alive) > number:
            scored = {
                trial.number: (trial, likelihood) for trial, likelihood in attempt(alive, tasks)
            }
            failed = [trial for trial, _ in scored.values() if math.isnan(trial.accuracy)]
            if not _stopped(enter(failed), tasks):  # nor by another process
                on = survivors({one: likelihood for one, (_, likelihood) in scored.items()}, number)
                enter([trial for one, (trial, _) in scored.items() if one not in on])
        done = enter([])
        alive = [one for one in alive if one not in done or done[one].tasks > tasks]
    for trial, _ in attempt(alive):
        enter([trial])
    done = enter([])
    # the last process takes the folder away
    with contextlib.suppress(OSError):
        _work(search).rmdir()
    return [done[number] for number in range(trials)]


def _stopped(done, tasks):
    """Return whether trials have been stopped after so many tasks."""
    return any(trial.tasks == tasks for trial in done.values())


def _work(search):
    """Return the folder of the trials under way, beside the record."""
    return search.record.with_suffix("")


def _job(search, number, tasks):
    work = _work(search)
    configs = [
        configuration(search, settings_of(search, number), LEARNER_SEED + i)
        for i in range(search.fixed["repeats"])
    ]
    folders = tuple(work / f"trial-{number}-{i}" for i in range(len(configs)))
    until = tasks or configs[0].tasks
    return Job(
        number,
        f"trial {number}",
        effort(configs[0]) * len(configs) * until / configs[0].tasks,
        until * len(configs),
        folders,
        partial(_attempt, search, number, configs, folders, tasks),
        partial(at_work, work, LOCK.format(number)),
    )


def _attempt(search, number, configs, folders, tasks, after_task):
    """Run a trial, as far as its first tasks; return it with its log-likelihood on them, or None if
    it is recorded.
    """
    settings = settings_of(search, number)
    halving = HALVING in search.fixed
    work = _work(search)
    with contextlib.ExitStack() as lock:
        try:
            work.mkdir(exist_ok=True)
            lock.enter_context(storage.locked(work / LOCK.format(number), wait=0))
        # or the folder was taken away just now
        except (BlockingIOError, FileNotFoundError) as error:
            raise AtWorkError(f"another process is at work on trial {number}") from error
        if is_recorded(search, number):
            return None
        try:
            found = [
                _scores(config, folder, tasks, after_task)
                for config, folder in zip(configs, folders, strict=True)
            ]
        except TrainingError:
            return Trial(
                number, settings, math.nan, math.nan, math.nan, 0 if halving else None
            ), math.nan
    accuracies, transfers, seconds, likelihoods = np.array(found, float).T
    return Trial(
        number,
        settings,
        *(round(float(values.mean()), DIGITS) for values in (accuracies, transfers)),
        round(math.fsum(seconds), 1),
        (tasks or configs[0].tasks) if halving else None,
    ), likelihoods.mean()


def _scores(config, folder, tasks, after_task):
    """Return accuracy, backward transfer, seconds and log-likelihood of a run, all of it or its
    first tasks.
    """
    seconds = []

    def watch(report):
        done = report.progress
        after_task(report)
        seconds.append(done.train_seconds + done.test_seconds)
        if len(seconds) == tasks:  # its checkpoint is written
            raise _Enough(done.accuracy[:tasks, :tasks], done.log_likelihood[:tasks].mean())

    try:
        result = run(
            config, folder, False, watch, force=True, fresh=unusable(folder), figures=False
        ).result
    except _Enough as enough:
        R, likelihood = enough.args
        transfer = metrics.backward_transfer(R) if tasks > 1 else math.nan
        return metrics.average_accuracy(R), transfer, math.fsum(seconds), likelihood
    # Of a run that is finished, when its first tasks are asked for: another process has continued
    # it.
    return (
        result["average_accuracy"],
        result["backward_transfer"],
        result["seconds"]["total"],
        math.inf,
    )


def _remove(search, number):
    """Remove the folders of a trial that is recorded, where no process is at work on it."""
    lock = _work(search) / LOCK.format(number)
    with contextlib.suppress(OSError), storage.locked(lock, wait=0):
        for folder in lock.parent.glob(f"trial-{number}-*"):
            shutil.rmtree(folder, ignore_errors=True)
        # Windows does not remove a lock that is held
        lock.unlink()


def _check_writable(record):
    """Write a file beside the record and take it away, before hours are spent on what goes into
    it.
    """
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        storage.write_temporary(record, [b""]).unlink()
    except OSError as error:
        raise UserError(
            f"cannot write {record}: {error.strerror}; name another folder with `out`"
        ) from error


def best(trials):
    """Return the trial with the highest accuracy, the first of several; TrainingError if none could
    be trained.
    """
    # those that were stopped are not compared with the others
    last = max((trial.tasks or 0) for trial in trials)
    trained = [
        trial for trial in trials if not math.isnan(trial.accuracy) and (trial.tasks or 0) == last
    ]
    if not trained:
        raise TrainingError(f"none of the {len(trials)} trials could be trained")
    return max(trained, key=lambda trial: trial.accuracy)
