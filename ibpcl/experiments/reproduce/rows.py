"""Who is measured: a row of a table is a method with some of its settings."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ibpcl.errors import UserError
from ibpcl.experiments.config import keys, nearest
from ibpcl.methods import METHODS


class Row(NamedTuple):
    """A method with some of its settings.

    Attributes
    ----------
    key : str
        What ``--methods`` and the paper's tables call it.
    label : str
        For people.
    method : str
        A module of ``ibpcl.methods``.
    settings : mapping
        What the row changes; nobody else may.
    """

    key: str
    label: str
    method: str
    settings: Mapping = MappingProxyType({})


OURS = Row("npbcl", "ours", "npbcl")
OURS_CORESET = Row("npbcl-coreset", "ours, coreset", "npbcl", {"coreset": "random"})
REFERENCE = Row("independent", "independent", "independent")
REFERENCE_HE = Row("independent-he", "independent, He", "independent", {"start": "he"})
# The rows of the paper's table, in its order; a method is measured when it is there.
OTHERS = (
    Row("naive", "naive", "naive"), Row("rehearsal", "rehearsal", "rehearsal"), Row("ewc", "EWC", "ewc"),
    Row("imm", "IMM (mode)", "imm"), Row("vcl", "VCL", "vcl"),
    Row("vcl-coreset", "VCL, coreset", "vcl", {"coreset": "random"}), Row("den", "DEN", "den"),
    Row("rcl", "RCL", "rcl"),
)

# How people write the names of methods that the paper's table does not have.
LABELS = {"si": "SI", "laplace": "online Laplace", "hat": "HAT", "ibp_vcl": "IBP-VCL"}

# The rows of the paper's figures of generative models.
GENERATIVE_ROWS = (
    Row("naive", "naive", "vae_naive"), Row("ewc", "EWC", "vae_ewc"), Row("vcl", "VCL", "vae_vcl"),
    Row("npbcl", "ours", "vae_npbcl"),
)


def method_rows(*references, unlisted=True):
    """Return a row for every method there is: the paper's table, others unless not ``unlisted``, ours, references."""
    listed = {row.method for row in (*OTHERS, OURS, REFERENCE)}
    others = [row for row in OTHERS if row.method in METHODS and row.settings.keys() <= keys(row.method).keys()]
    more = [Row(name, LABELS.get(name, name), name) for name in METHODS if name not in listed and unlisted]
    return (*others, *more, OURS, OURS_CORESET, *references)


def select(rows, names):
    """Return the rows that are named, by key or by method; all if ``names`` is None.

    Raises
    ------
    UserError
        If a name is neither.
    """
    if names is None:
        return tuple(rows)
    chosen = set()
    for name in names:
        found = {row.key for row in rows if row.key == name} or {row.key for row in rows if row.method == name}
        if not found:
            known = [row.key for row in rows]
            raise UserError(f"no row {name!r} here{nearest(name, known)} (known: {', '.join(known)})")
        chosen |= found
    return tuple(row for row in rows if row.key in chosen)
