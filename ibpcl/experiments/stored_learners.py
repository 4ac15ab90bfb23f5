"""Stored learners: load the learner of a run's folder, or one that saved itself."""

import sys
from os import PathLike
from pathlib import Path

import numpy as np

from ibpcl import checkpoints
from ibpcl.continual.learner import Learner, check_form
from ibpcl.errors import UserError
from ibpcl.experiments import identity
from ibpcl.experiments.folder import LEARNER, table_of
from ibpcl.methods import OF_LEARNER
from ibpcl.methods import method as method_of
from ibpcl.methods.own import name_of


def trained_on_unit_range(path: str | PathLike) -> bool | None:
    """Return whether a stored learner was trained on inputs in 0..1, as scaled pixels are.

    Parameters
    ----------
    path : path-like
        The folder of a run, or a ``learner.npz``.

    Returns
    -------
    unit : bool or None
        None if the file does not contain this: the learner saved itself, or an older version wrote
        it.

    Raises
    ------
    OSError, ValueError
        If the file does not exist, or is damaged.
    """
    path = Path(path)
    unit = checkpoints.load(path / LEARNER if path.is_dir() else path).meta.get("unit_range")
    return unit if isinstance(unit, bool) else None


def load(path: str | PathLike, method: type | None = None) -> Learner:
    """Return the learner of a run's folder, or of a file that a learner saved.

    Nothing in the file is executed. The file names the class of the learner: a class outside this
    package must have been imported before, or be given.

    Parameters
    ----------
    path : path-like
        The folder of a run, or a ``learner.npz``.
    method : class, optional
        The class of the learner, if it is not in this package.

    Returns
    -------
    learner : Learner
        As it was saved, ready to predict or to learn a further task.

    Raises
    ------
    UserError
        If the file does not exist, is damaged, or its class is not available.

    Examples
    --------
    >>> load("nowhere.npz")
    Traceback (most recent call last):
    ...
    ibpcl.errors.UserError: load: nowhere.npz: there is no such file or folder
    """
    if not isinstance(path, str | PathLike):
        raise UserError(f"load: path must be a path, got {path!r}")
    if method is not None and not isinstance(method, type):
        raise UserError(f"load: method must be a class, got {method!r}")
    path = Path(path)
    file = path / LEARNER if path.is_dir() else path
    try:
        arrays, meta, _ = checkpoints.load(file)
        check_form(meta, file)
        if path.is_dir() and (table := table_of(path)) is not None:
            identity.check_learner(meta, table, file)
    except FileNotFoundError as error:
        raise UserError(f"load: {file}: there is no such file or folder") from error
    except (OSError, ValueError) as error:
        raise UserError(f"load: {error}") from error
    known = {"method": str, "class": str, "seed": int, "backend": str, "settings": dict}
    if missing := [
        key for key, kind in known.items() if key != "class" and not isinstance(meta.get(key), kind)
    ]:
        raise UserError(
            f"load: {file} holds no learner: {', '.join(missing)} is missing or of another type"
        )
    place, _, name = str(meta.get("class", "")).partition(":")
    if method is None and not place.startswith("ibpcl."):
        method = getattr(sys.modules.get(place), name, None)
        if not isinstance(method, type):
            raise UserError(
                f"load: {file} holds a learner of the class {meta.get('class') or meta['method']}; "
                "import its module first, or give the class package.module:Class by `method`"
            )
    if method is None:
        if meta["method"] not in OF_LEARNER:
            raise UserError(
                f"load: {file} holds a {meta['method']}, which this version does not have"
            )
        method = method_of(OF_LEARNER[meta["method"]]).learner
    chosen = method_of(name_of(method))
    settings = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in meta["settings"].items()
    }
    try:
        learner = chosen.learner(chosen.settings(**settings), meta["seed"], meta["backend"])
        learner.load_state(
            _numbers(arrays) if chosen.learner.__module__.startswith("ibpcl.") else arrays
        )
        _check_state(learner.state(), arrays)
    # Any error: the arrays may be arbitrary, and the class may be the user's.
    except Exception as error:
        raise UserError(
            f"load: {file} does not fit {chosen.name}: {type(error).__name__}: {error}"
        ) from error
    return learner


def _numbers(arrays):
    """Return the arrays of a learner of this package, all of which must hold numbers."""
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold numbers, got {array.dtype}")
    return arrays


def _check_state(state, arrays):
    """Refuse arrays that do not fit the state of a learner in names or shapes."""
    if different := sorted(state.keys() ^ arrays.keys()):
        raise ValueError(f"its arrays differ in {', '.join(different[:3])}")
    for name, value in state.items():
        if np.shape(value) != arrays[name].shape:
            raise ValueError(f"{name} must have shape {np.shape(value)}, got {arrays[name].shape}")
