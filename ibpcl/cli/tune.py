"""``ibpcl tune``: a line a trial, then the best settings and how to use them."""

import math
import shlex

import numpy as np

from ibpcl.cli.runs import assignments
from ibpcl.cli.table import percent
from ibpcl.experiments import values
from ibpcl.experiments.tune import best, plan, recorded, tune

# Keys of the search's own: without them the command uses all training data, and the test set.
OF_SEARCH = ("validation", "train_limit", "test_limit")


def execute(options):
    """Search as the command line says."""
    texts = assignments(options.assignments)
    if options.data_dir is not None:
        texts["data_dir"] = options.data_dir
    search = plan(options.experiment, options.method, options.seed, options.repeats, texts, options.out)
    there = len(recorded(search))
    share = percent(search.fixed["validation"], 0)
    print(f"{options.trials} trials of {options.method} on {options.experiment}, {min(there, options.trials)} of them "
          f"in the record.\nScored on {share} of the training data; nothing looks at the test set.\n"
          f"Searched: {', '.join(search.space)}.\n")
    print("trial  accuracy  seconds  settings; trial 0 has them as they are", flush=True)
    # An overflow is about to stop a run with a message that says more than NumPy's warning.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        trials = tune(search, options.trials, print_trial)
    print(summary(search, trials))


def print_trial(trial):
    """Print a trial in a line."""
    score = "failed" if math.isnan(trial.accuracy) else f"{100 * trial.accuracy:.2f}"
    print(f"{trial.number:>5}{score:>10}{trial.seconds:>9.1f}  {shown(trial.settings, ', ')}", flush=True)


def summary(search, trials):
    """Return the best trial, how to use it, and where all are."""
    found = best(trials)
    given = {key: text for key, text in search.texts.items() if key not in OF_SEARCH}
    chosen = given | {key: values.toml(value).strip("'") for key, value in found.settings.items()}
    command = f"ibpcl run {shlex.quote(search.experiment)} --method {search.method} " + " ".join(
        f"--set {key}={shlex.quote(text)}" for key, text in chosen.items())
    return (f"\nbest of {len(trials)}: trial {found.number}, {percent(found.accuracy)} on validation data (as it is: "
            f"{percent(trials[0].accuracy)})\nuse it:  {command}\nrecord:  {search.record}")


def shown(settings, between):
    """Write settings as ``key=value``."""
    return between.join(f"{key}={values.toml(value)}" for key, value in settings.items())
