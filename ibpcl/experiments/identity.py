"""Whose files are in a run's folder: ``result.json`` and ``learner.npz`` say which configuration
made them.

Their checksums only say that nothing in them has changed.  A file that was copied from the folder
of another run has a right one.
"""

import hashlib
import json

from ibpcl import storage
from ibpcl.experiments.folder import portable

KEY = "configuration"  # of the fingerprint, in both files
RESULT_KEYS = ("experiment", "method", "seed", "dataset", "stream")


def fingerprint(table):
    """Return the SHA-256 of a configuration's table, in hexadecimal; the place of the data is not
    part of it.
    """
    return hashlib.sha256(json.dumps(portable(table), sort_keys=True).encode()).hexdigest()


def check_result(result, table, path):
    """Refuse a result that another configuration gave.

    Parameters
    ----------
    result : dict
        The content of ``result.json``.
    table : dict
        The configuration of the folder, as in its ``config.toml``.
    path : path-like
        The file, for the message.

    Raises
    ------
    ValueError
        If they do not belong together.
    """
    _check(result, table, path, RESULT_KEYS)


def check_learner(meta, table, path):
    """Refuse a learner that another configuration gave, as :func:`check_result` does; ``meta`` is
    of its file.
    """
    settings = meta.get("settings", {})
    if not isinstance(settings, dict):
        raise storage.damaged("runs", path, "its settings are not a table")
    known = {key: meta[key] for key in ("seed", KEY) if key in meta}
    _check({**settings, **known}, table, path, (*settings, "seed"))


def _check(found, table, path, keys):
    for key in keys:
        if key in found and key in table and _plain(found[key]) != _plain(table[key]):
            raise storage.damaged(
                "runs", path, f"it is of another run, with {key} = {found[key]}, not {table[key]}"
            )
    if found.get(KEY) not in (None, fingerprint(table)):
        raise storage.damaged("runs", path, "it is of a run with another configuration")


def _plain(value):
    """Return a value as both kinds of files have it: TOML has no null."""
    return "none" if value is None else list(value) if isinstance(value, tuple) else value
