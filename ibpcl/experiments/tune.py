"""Random search for the settings of a method, on validation data; the test set is never used.

A trial is a run whose "test" data are a share of the training data of each task (the key
``validation``); its score is the mean accuracy on them at the end. Trial 0 has the current settings
of the method. The settings of trial n > 0 are a function of the search's seed and n, so a search
can be stopped, resumed and extended. Trials are random, not on a grid, because of Bergstra and
Bengio (2012), "Random Search for Hyper-Parameter Optimization".

The seeds of the learners differ from all seeds of tables. The best of many noisy scores is too
optimistic, so the settings must be evaluated with other seeds and on the test set.
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
from ibpcl.experiments.record import Trial, is_recorded, record, recorded, this_program
from ibpcl.experiments.run import run
from ibpcl.experiments.search import HALVING, LEARNER_SEED, configuration, settings_of
from ibpcl.experiments.search_spaces import MOST, TRIALS
from ibpcl.experiments.sweep import Job, outcomes

DIGITS = 6  # decimal places of an accuracy in the record
# Name of the lock of a trial, next to the folders of its runs.
LOCK = "trial-{}.lock"


class _Enough(Exception):
    """Raised when a trial has learned the tasks of its round, and waits for the decision."""


def tune(search, trials=TRIALS, on_trial=None, workers=None, progress=False):
    """Run the trials that are not in the record yet.

    Several processes may work on the same search: each takes trials that no other has begun. The
    record is written after every trial, completely or not at all. A trial that was killed continues
    from its checkpoint.

    Parameters
    ----------
    search : Search
        From :func:`ibpcl.experiments.search.plan`.
    trials : int, at least 1
        Total number of trials; further trials in the record are kept.
    on_trial : callable, optional
        Called with each new :class:`ibpcl.experiments.record.Trial`, also with those of other
        processes.
    workers : ibpcl.experiments.sweep.Workers, optional
        Do the trials in parallel. Without them, this process does one trial after another.
    progress : bool or None
        Whether to show a progress bar; None shows it on a terminal only.

    Returns
    -------
    trials : list of ibpcl.experiments.record.Trial
        The first ``trials`` trials of the record.

    Raises
    ------
    UserError
        If ``trials`` is out of range, the record belongs to another search, the TOML file was
        changed during the search, or data are missing.
    ibpcl.errors.TrainingError
        If the workers of a trial died; the record contains the other trials.
    """
    if not 1 <= trials <= MOST:
        raise UserError(f"trials must be in 1 .. {MOST}, got {trials}")
    if search.fixed.get(HALVING, trials) != trials:
        raise UserError(
            f"trials must be {search.fixed[HALVING]} in this search, got {trials}: a search that "
            "stops bad trials cannot be extended"
        )
    # A worker may have another working directory.
    absolute = search._replace(record=search.record.absolute())
    reported = {trial.number for trial in recorded(search)}
    if not reported >= set(range(trials)):
        _check_writable(search.record)

    def enter(new):
        """Record trials; report them, and those that other processes have recorded."""
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
        """Yield each trial that is not recorded, after its first tasks, with its log-likelihood."""
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
                f"{'; '.join(lost)}; the other trials are recorded, and the same command tries "
                "these again"
            )

    alive = list(range(trials))
    halvings = (
        rounds(trials, configuration(search, {}, LEARNER_SEED).tasks)
        if HALVING in search.fixed
        else ()
    )
    for tasks, number in halvings:
        # Skip a round that has been decided already.
        if not _stopped(enter([]), tasks) and len(alive) > number:
            scored = {
                trial.number: (trial, likelihood) for trial, likelihood in attempt(alive, tasks)
            }
            failed = [trial for trial, _ in scored.values() if math.isnan(trial.accuracy)]
            if not _stopped(enter(failed), tasks):  # by another process in between
                likelihoods = {n: likelihood for n, (_, likelihood) in scored.items()}
                continuing = survivors(likelihoods, number)
                enter([trial for n, (trial, _) in scored.items() if n not in continuing])
        done = enter([])
        alive = [n for n in alive if n not in done or done[n].tasks > tasks]
    for trial, _ in attempt(alive):
        enter([trial])
    done = enter([])
    # The last process removes the folder.
    with contextlib.suppress(OSError):
        _work(search).rmdir()
    return [done[number] for number in range(trials)]


def _stopped(done, tasks):
    """Return whether trials were stopped after a given number of tasks."""
    return any(trial.tasks == tasks for trial in done.values())


def _work(search):
    """Return the folder of the running trials, next to the record."""
    return search.record.with_suffix("")


def _job(search, number, tasks):
    """Return the job of a trial, as far as its first ``tasks`` tasks; all tasks if None."""
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
    """Run a trial and return it with its log-likelihood, or None if it is recorded already."""
    settings = settings_of(search, number)
    halving = HALVING in search.fixed
    work = _work(search)
    with contextlib.ExitStack() as lock:
        try:
            work.mkdir(exist_ok=True)
            lock.enter_context(storage.locked(work / LOCK.format(number), wait=0))
        # Or another process has just removed the folder.
        except (BlockingIOError, FileNotFoundError) as error:
            raise AtWorkError(f"another process is working on trial {number}") from error
        if is_recorded(search, number):
            return None
        try:
            scores = [
                _scores(config, folder, tasks, after_task)
                for config, folder in zip(configs, folders, strict=True)
            ]
        except TrainingError:
            failed = (math.nan, math.nan, math.nan, 0 if halving else None)
            return Trial(number, settings, *failed, this_program()), math.nan
    accuracies, transfers, seconds, likelihoods = np.array(scores, float).T
    return Trial(
        number,
        settings,
        *(round(float(values.mean()), DIGITS) for values in (accuracies, transfers)),
        round(math.fsum(seconds), 1),
        (tasks or configs[0].tasks) if halving else None,
        this_program(),
    ), likelihoods.mean()


def _scores(config, folder, tasks, after_task):
    """Return accuracy, transfer, seconds and log-likelihood of a run on its first tasks."""
    seconds = []

    def watch(report):
        done = report.progress
        after_task(report)
        seconds.append(done.train_seconds + done.test_seconds)
        if len(seconds) == tasks:  # the checkpoint is written already
            raise _Enough(done.accuracy[:tasks, :tasks], done.log_likelihood[:tasks].mean())

    try:
        result = run(
            config, folder, False, watch, force=True, fresh=unusable(folder), figures=False
        ).result
    except _Enough as enough:
        R, likelihood = enough.args
        transfer = metrics.backward_transfer(R) if tasks > 1 else math.nan
        return metrics.average_accuracy(R), transfer, math.fsum(seconds), likelihood
    # The run is finished although only its first tasks were needed: another process continued it.
    return (
        result["average_accuracy"],
        result["backward_transfer"],
        result["seconds"]["total"],
        math.inf,
    )


def _remove(search, number):
    """Remove the folders of a recorded trial, unless a process is using them."""
    lock = _work(search) / LOCK.format(number)
    with contextlib.suppress(OSError), storage.locked(lock, wait=0):
        for folder in lock.parent.glob(f"trial-{number}-*"):
            shutil.rmtree(folder, ignore_errors=True)
        # Windows cannot remove a lock that is held.
        lock.unlink()


def _check_writable(record):
    """Check that a file can be written next to the record, before hours are spent on trials."""
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        storage.write_temporary(record, [b""]).unlink()
    except OSError as error:
        raise UserError(
            f"cannot write {record}: {error.strerror}; name another folder with `out`"
        ) from error


def best(trials):
    """Return the trial with the highest accuracy, the first of several.

    Trials that were stopped early are not considered.

    Parameters
    ----------
    trials : list of ibpcl.experiments.record.Trial
        At least one trial.

    Returns
    -------
    trial : ibpcl.experiments.record.Trial
        The best trial.

    Raises
    ------
    ibpcl.errors.TrainingError
        If the training of every trial failed.
    """
    # Trials that were stopped early are not compared with the others.
    last = max((trial.tasks or 0) for trial in trials)
    trained = [
        trial for trial in trials if not math.isnan(trial.accuracy) and (trial.tasks or 0) == last
    ]
    if not trained:
        raise TrainingError(f"no trial of {len(trials)} could be trained")
    return max(trained, key=lambda trial: trial.accuracy)
