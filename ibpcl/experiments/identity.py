"""Identity of a run's files: each records the configuration of its run.

The checksums of ``result.json`` and ``learner.npz`` only show that nothing in them has changed. A
file that was copied from another run has a correct checksum too.
"""

import hashlib
import json

from ibpcl import storage
from ibpcl.experiments.folder import portable

KEY = "configuration"  # entry with the fingerprint, in both files
RESULT_KEYS = ("experiment", "method", "seed", "dataset", "stream")


def fingerprint(table):
    """Return the SHA-256 of a configuration, without the location of the data.

    Parameters
    ----------
    table : dict
        A configuration, as :attr:`ibpcl.experiments.config.RunConfig.table`.

    Returns
    -------
    digest : str
        64 hexadecimal digits.
    """
    return hashlib.sha256(json.dumps(portable(table), sort_keys=True).encode()).hexdigest()


def check_result(result, table, path):
    """Refuse a result of another configuration.

    Parameters
    ----------
    result : dict
        The content of ``result.json``.
    table : dict
        The configuration in the ``config.toml`` of the folder.
    path : path-like
        The file, for the message.

    Raises
    ------
    ValueError
        If the result belongs to another configuration.
    """
    _check(result, table, path, RESULT_KEYS)


def check_learner(meta, table, path):
    """Refuse a learner of another configuration.

    Parameters
    ----------
    meta : dict
        The metadata of ``learner.npz``.
    table : dict
        The configuration in the ``config.toml`` of the folder.
    path : path-like
        The file, for the message.

    Raises
    ------
    ValueError
        If the learner belongs to another configuration.
    """
    settings = meta.get("settings", {})
    if not isinstance(settings, dict):
        raise storage.damaged("runs", path, "its settings are not a table")
    known = {key: meta[key] for key in ("seed", KEY) if key in meta}
    _check({**settings, **known}, table, path, (*settings, "seed"))


def _check(recorded, table, path, keys):
    for key in keys:
        if key in recorded and key in table and _plain(recorded[key]) != _plain(table[key]):
            raise storage.damaged(
                "runs",
                path,
                f"it belongs to another run, with {key} = {recorded[key]}, not {table[key]}",
            )
    if recorded.get(KEY) not in (None, fingerprint(table)):
        raise storage.damaged("runs", path, "it belongs to a run with another configuration")


def _plain(value):
    """Return a value in the form that both kinds of files have in common: TOML has no null."""
    return "none" if value is None else list(value) if isinstance(value, tuple) else value
