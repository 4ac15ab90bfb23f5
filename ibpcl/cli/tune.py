"""The command ``ibpcl tune``: print one line per trial, then the best settings."""

import math

from tqdm import tqdm

from ibpcl import shell, storage
from ibpcl.cli.making_runs import assignments, data_dir, hired, target
from ibpcl.cli.table import percent
from ibpcl.experiments import values
from ibpcl.experiments.record import recorded
from ibpcl.experiments.search import plan
from ibpcl.experiments.tune import best, tune

# Keys of the search only: the final run uses all training data, and the test set.
OF_SEARCH = ("validation", "train_limit", "test_limit")


def execute(options):
    """Search for settings of a method.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl tune``.
    """
    texts = assignments(options.assignments)
    if data_dir(options) is not None:
        texts["data_dir"] = data_dir(options)
    experiment = target(options, texts)
    search = plan(
        experiment,
        options.method,
        options.seed,
        options.repeats,
        texts,
        options.out,
        options.trials if options.halving else None,
    )
    if not options.json:
        done = len(recorded(search))
        share = percent(search.fixed["validation"], 0)
        print(
            f"{options.trials} trials of {options.method} on {search.name}, "
            f"{min(done, options.trials)} of them recorded already.\nScored on {share} of the "
            f"training data; the test set is not used.\nSearched: {', '.join(search.space)}.\n"
        )
        print("trial  accuracy  seconds  settings (trial 0: the current ones)", flush=True)
    with hired(options) as workers:
        trials = tune(
            search,
            options.trials,
            None if options.json else print_trial,
            workers,
            True if options.progress else None,
        )
    print(
        storage.json_text(
            {
                "record": str(search.record),
                "best": best(trials).number,
                "use": command(search, best(trials)),
                "trials": [trial._asdict() for trial in trials],
            },
            indent=2,
        )
        if options.json
        else summary(search, trials)
    )


def print_trial(trial):
    """Print a trial in one line, above the progress bar.

    Parameters
    ----------
    trial : ibpcl.experiments.record.Trial
        The trial.
    """
    score = "failed" if math.isnan(trial.accuracy) else f"{100 * trial.accuracy:.2f}"
    tasks = "" if trial.tasks is None else f"after {trial.tasks} task{'s' * (trial.tasks != 1)}: "
    tqdm.write(
        f"{trial.number:>5}{score:>10}{trial.seconds:>9.1f}  {tasks}{shown(trial.settings, ', ')}"
    )


def summary(search, trials):
    """Return the best trial, the command that uses it, and the file of the record.

    Parameters
    ----------
    search : ibpcl.experiments.search.Search
        The search.
    trials : list of ibpcl.experiments.record.Trial
        Its trials.

    Returns
    -------
    text : str
        Three lines.
    """
    winner = best(trials)
    return (
        f"\nbest of {len(trials)}: trial {winner.number}, {percent(winner.accuracy)} on validation "
        f"data (current settings: {percent(trials[0].accuracy)})\nuse it:  "
        f"{command(search, winner)}\nrecord:  {search.record}"
    )


def command(search, trial):
    """Return the command of a run with the settings of a trial.

    Parameters
    ----------
    search : ibpcl.experiments.search.Search
        The search.
    trial : ibpcl.experiments.record.Trial
        The trial.

    Returns
    -------
    line : str
        A line for the shell.
    """
    given = {key: text for key, text in search.texts.items() if key not in OF_SEARCH}
    chosen = given | {key: values.toml(value).strip("'") for key, value in trial.settings.items()}
    about = [search.experiment]
    if not isinstance(search.experiment, str):  # own tasks
        about = ["--data", search.experiment.place or "DATA"]
        if search.experiment.classes:
            chosen["classes"] = values.toml(search.experiment.classes)
    words = [word for key, text in chosen.items() for word in ("--set", f"{key}={text}")]
    return shell.command_line(["ibpcl", "run", *about, "--method", search.method, *words])


def shown(settings, between):
    """Return settings as ``key=value``.

    Parameters
    ----------
    settings : dict of str to object
        The settings.
    between : str
        The separator.

    Returns
    -------
    text : str
        All settings in a line.
    """
    return between.join(f"{key}={values.toml(value)}" for key, value in settings.items())
