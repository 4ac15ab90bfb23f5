"""What a search for settings is: on what, for whom, in which space, and which settings each of its
trials has.
"""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments import values
from ibpcl.experiments.config import LARGEST_SEED, PLACES, configure, keys
from ibpcl.experiments.halving import rounds
from ibpcl.experiments.search_spaces import FEWER, MOST, OUT, SPACES
from ibpcl.methods import method as method_of

VALIDATION = 0.1
LEARNER_SEED = 1000  # tables count theirs from 0
# The column with the digest of all keys that are not searched; the records of docs/search are from
# before it was there.
DIGEST = "configuration"
HALVING = "halving"


class Search(NamedTuple):
    """A search: on what, for which method, in which space, what all trials have in common, and its
    record's file.
    """

    name: str  # of the experiment
    experiment: Any  # its name, its TOML file, or own tasks
    method: str
    # settings, and what they are drawn from
    space: dict
    # keys that all trials have; columns of the record
    fixed: dict
    texts: dict  # keys with their texts, for all trials
    record: Path


def plan(experiment, method, seed=0, repeats=1, texts=None, out=OUT, halving=None):
    """Return the description of a search, without running it.

    Parameters
    ----------
    experiment : str or sequence of Task
        Its name, a TOML file, or one's own tasks.
    method : str
    seed : int, at least 0
        Of the settings of the trials.
    repeats : int, at least 1
        Learners with different seeds per trial; a trial's score is their mean.
    texts : dict of str to str, optional
        Keys for all trials, as a command line has them; a setting that is given is not searched.
    out : path-like
        Folder of the record.
    halving : int, optional
        The number of trials, if bad ones are stopped early (:mod:`ibpcl.experiments.halving`).
    """
    texts = dict(texts or {})
    for key, instead in (
        ("method", "`method`"),
        ("seed", "`seed`, of the search"),
        ("experiment", "`experiment`"),
    ):
        if key in texts:
            raise UserError(f"{key} is not a setting here: use {instead}")
    for name, value, least, most in (
        ("seed", seed, 0, LARGEST_SEED),
        ("repeats", repeats, 1, MOST),
    ):
        if not least <= value <= most:
            raise UserError(f"{name} must be in {least} .. {most}, got {value}")
    # refuses what is wrong with them, before anything is run
    config = configure(experiment, texts, method=method)
    if config.validation is None and "validation" not in texts:
        texts["validation"] = str(VALIDATION)
        config = configure(experiment, texts, method=method)
    if config.measure != "accuracy":
        raise UserError(
            f"experiment {config.experiment} measures {config.measure}; a search goes by accuracy"
        )
    if config.validation is None:
        raise UserError(
            "validation must be a share of the training data: a search does not look at the test "
            "set"
        )
    declared = space_of(method)
    if config.experiment in FEWER and "epochs" in declared and "max_steps" not in keys(method):
        declared = declared | {"epochs": FEWER[config.experiment]}
    space = {key: where for key, where in declared.items() if key not in texts}
    if not space:
        raise UserError(
            f"{', '.join(declared)} are all given: nothing is left to search; use ibpcl run"
        )
    if halving is not None and not rounds(halving, config.tasks):
        raise UserError(
            f"`halving` needs at least 2 trials and 2 tasks, got {halving} and {config.tasks}"
        )
    known = keys(method)
    given = {
        key: values.parse(key, text, known[key].kind)
        for key, text in texts.items()
        if key != "data_dir"
    }
    fixed = {
        "validation": config.validation,
        "search_seed": seed,
        "learner_seed": LEARNER_SEED,
        "repeats": repeats,
        **({} if halving is None else {HALVING: halving}),
    }
    target = str(experiment) if isinstance(experiment, str | Path) else experiment
    return Search(
        config.experiment,
        target,
        method,
        space,
        fixed | given | {DIGEST: digest(config, space)},
        texts,
        Path(out, f"{config.experiment}-{config.title}.csv"),
    )


def space_of(name):
    """Return where the settings of a method are searched; of one's own, its ``search_space`` or its
    base's space.

    >>> list(space_of("naive"))
    ['epochs', 'rate', 'rate_end']
    """
    if name in SPACES:
        return SPACES[name]
    learner = method_of(name).learner
    known = keys(name)
    if hasattr(learner, "search_space"):
        return learner.search_space
    for base in learner.__mro__:
        space = SPACES.get(base.__module__.rpartition(".")[2], {})
        if space and base.__module__.startswith("ibpcl.methods.") and space.keys() <= known.keys():
            return space
    raise UserError(
        f"no search space is declared for {name} (there are: {', '.join(SPACES)}; a class of "
        "one's own has a search_space, as in ibpcl/experiments/search_spaces.py)"
    )


def settings_of(search, number):
    """Return the settings of a trial, those that are searched."""
    if number == 0:
        return {
            key: getattr(configuration(search, {}, LEARNER_SEED).settings, key)
            for key in search.space
        }
    rng = np.random.default_rng((search.fixed["search_seed"], number))
    return {key: where.draw(rng) for key, where in search.space.items()}


def configuration(search, settings, seed):
    """Return the configuration of a learner of a trial; a UserError if the experiment's file was
    changed meanwhile.
    """
    config = configure(search.experiment, search.texts, **settings, method=search.method, seed=seed)
    if digest(config, search.space) != search.fixed[DIGEST]:
        raise UserError(f"{search.experiment} was changed during the search; start it again")
    return config


def digest(config, space):
    """Return what differs for configurations that differ in keys that are not searched, but for the
    data's place.
    """
    table = {
        key: value
        for key, value in sorted(config.table.items())
        if key not in {*space, "seed", *PLACES}
    }
    return f"sha256:{hashlib.sha256(storage.json_text(table).encode()).hexdigest()[:10]}"
