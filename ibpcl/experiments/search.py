"""Plan of a search for settings: experiment, method, space, and the settings of each trial."""

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
LEARNER_SEED = 1000  # seeds of tables count from 0
# The column with the digest of all keys that are not searched. The records in benchmarks/settings
# are older and lack it.
DIGEST = "configuration"
HALVING = "halving"


class Search(NamedTuple):
    """The plan of a search.

    Attributes
    ----------
    name : str
        Name of the experiment.
    experiment : str or ibpcl.data.own.OwnTasks
        The name of the experiment, its TOML file, or your own tasks.
    method : str
        Name of the method.
    space : dict
        The settings that are searched, and the distributions that they are drawn from.
    fixed : dict
        Keys that all trials have in common; columns of the record.
    texts : dict of str to str
        Keys that the user sets for all trials, with values as text.
    record : Path
        The file with the record of the trials.
    """

    name: str
    experiment: Any
    method: str
    space: dict
    fixed: dict
    texts: dict
    record: Path


def plan(experiment, method, seed=0, repeats=1, texts=None, out=OUT, halving=None):
    """Return the plan of a search; nothing is run.

    Parameters
    ----------
    experiment : str, Path or sequence of Task
        The name of an experiment, a TOML file, or your own tasks.
    method : str
        Name of the method, or ``package.module:Class``.
    seed : int, at least 0
        Seed of the settings that are drawn.
    repeats : int, at least 1
        Learners with different seeds per trial; the score of a trial is their mean.
    texts : dict of str to str, optional
        Keys for all trials, with values as text; a setting that is given is not searched.
    out : path-like
        Folder of the record.
    halving : int, optional
        The number of trials of a search that stops bad trials early
        (:mod:`ibpcl.experiments.halving`).

    Returns
    -------
    search : Search
        The plan.

    Raises
    ------
    UserError
        If an argument is out of range, the experiment has no accuracies, or nothing is left to
        search.
    """
    texts = dict(texts or {})
    for key, instead in (
        ("method", "`method`"),
        ("seed", "`seed`, the seed of the search"),
        ("experiment", "`experiment`"),
    ):
        if key in texts:
            raise UserError(f"{key} cannot be set here: use {instead}")
    for name, value, least, most in (
        ("seed", seed, 0, LARGEST_SEED),
        ("repeats", repeats, 1, MOST),
    ):
        if not least <= value <= most:
            raise UserError(f"{name} must be in {least} .. {most}, got {value}")
    # This refuses wrong keys before anything is run.
    config = configure(experiment, texts, method=method)
    if config.validation is None and "validation" not in texts:
        texts["validation"] = str(VALIDATION)
        config = configure(experiment, texts, method=method)
    if config.measure != "accuracy":
        raise UserError(
            f"experiment {config.experiment} measures {config.measure}; a search needs accuracies"
        )
    if config.validation is None:
        raise UserError(
            "validation must be a share of the training data, because a search never uses the "
            "test set"
        )
    declared = space_of(method)
    if config.experiment in FEWER and "epochs" in declared and "max_steps" not in keys(method):
        declared = declared | {"epochs": FEWER[config.experiment]}
    space = {key: where for key, where in declared.items() if key not in texts}
    if not space:
        raise UserError(f"{', '.join(declared)} are all given, so nothing is left to search")
    if halving is not None and not rounds(halving, config.tasks):
        raise UserError(
            f"`halving` needs at least 2 trials and 2 tasks, got {halving} trials and "
            f"{config.tasks} tasks"
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
    """Return the search space of a method.

    A user's own class defines it as ``search_space``, or inherits the space of its base class.

    Parameters
    ----------
    name : str
        Name of the method, or ``package.module:Class``.

    Returns
    -------
    space : dict
        The settings that are searched, and the distributions that they are drawn from.

    Raises
    ------
    UserError
        If the method has no search space.

    Examples
    --------
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
        f"method {name} has no search space (these have one: {', '.join(SPACES)}; your own class "
        "can define search_space, as in ibpcl/experiments/search_spaces.py)"
    )


def settings_of(search, number):
    """Return the searched settings of a trial; they are a function of the search's seed and the
    number.

    Parameters
    ----------
    search : Search
        The search.
    number : int, at least 0
        Number of the trial; trial 0 has the current settings of the method.

    Returns
    -------
    settings : dict of str to object
        One value per setting in the search space.
    """
    if number == 0:
        return {
            key: getattr(configuration(search, {}, LEARNER_SEED).settings, key)
            for key in search.space
        }
    rng = np.random.default_rng((search.fixed["search_seed"], number))
    return {key: where.draw(rng) for key, where in search.space.items()}


def configuration(search, settings, seed):
    """Return the configuration of a learner of a trial.

    Parameters
    ----------
    search : Search
        The search.
    settings : dict of str to object
        The searched settings of the trial.
    seed : int
        Seed of the learner.

    Returns
    -------
    config : RunConfig
        The configuration.

    Raises
    ------
    UserError
        If the file of the experiment was changed during the search.
    """
    config = configure(search.experiment, search.texts, **settings, method=search.method, seed=seed)
    if digest(config, search.space) != search.fixed[DIGEST]:
        raise UserError(f"{search.experiment} was changed during the search; start it again")
    return config


def digest(config, space):
    """Return a digest of the keys that are not searched, without the seed and the location of the
    data.

    Parameters
    ----------
    config : RunConfig
        A configuration of the search.
    space : collection of str
        The settings that are searched.

    Returns
    -------
    digest : str
        "sha256:" and ten hexadecimal digits.
    """
    table = {
        key: value
        for key, value in sorted(config.table.items())
        if key not in {*space, "seed", *PLACES}
    }
    return f"sha256:{hashlib.sha256(storage.json_text(table).encode()).hexdigest()[:10]}"
