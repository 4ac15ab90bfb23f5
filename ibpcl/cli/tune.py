"""``ibpcl tune``: a line per trial, then the best settings and how to use them."""

import math

from tqdm import tqdm

from ibpcl import shell, storage
from ibpcl.cli.making_runs import assignments, data_dir, hired, target
from ibpcl.cli.table import percent
from ibpcl.experiments import values
from ibpcl.experiments.record import recorded
from ibpcl.experiments.search import plan
from ibpcl.experiments.tune import best, tune

# Keys of the search's own: without them the command uses all training data, and the test set.
OF_SEARCH = ("validation", "train_limit", "test_limit")


def execute(options):
    """Search as the command line says."""
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
        there = len(recorded(search))
        share = percent(search.fixed["validation"], 0)
        print(
            f"{options.trials} trials of {options.method} on {search.name}, "
            f"{min(there, options.trials)} of them recorded already.\nScored on {share} of the "
            f"training data; the test set is not used.\nSearched: {', '.join(search.space)}.\n"
        )
        print("trial  accuracy  seconds  settings; trial 0 has the present ones", flush=True)
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
    """Print a trial in a line, above the progress bar."""
    score = "failed" if math.isnan(trial.accuracy) else f"{100 * trial.accuracy:.2f}"
    tasks = "" if trial.tasks is None else f"after {trial.tasks} task{'s' * (trial.tasks != 1)}: "
    tqdm.write(
        f"{trial.number:>5}{score:>10}{trial.seconds:>9.1f}  {tasks}{shown(trial.settings, ', ')}"
    )


def summary(search, trials):
    """Return the best trial, how to use it, and where all are."""
    found = best(trials)
    return (
        f"\nbest of {len(trials)}: trial {found.number}, {percent(found.accuracy)} on validation "
        f"data (present settings: {percent(trials[0].accuracy)})\nuse it:  "
        f"{command(search, found)}\nrecord:  {search.record}"
    )


def command(search, trial):
    """Return the command of a run with the settings of a trial."""
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
    """Write settings as ``key=value``."""
    return between.join(f"{key}={values.toml(value)}" for key, value in settings.items())
