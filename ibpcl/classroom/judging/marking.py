"""The marking scheme: the share of a task's points that each kind of evidence earns.

The scheme is the table ``marking.toml`` beside this file, with a reason in each row.  A teacher may
grade with a changed copy.  The judges state evidence; only this module turns it into points.
"""

import functools
import tomllib
from pathlib import Path
from typing import NamedTuple

from ibpcl.errors import UserError
from ibpcl.storage import read_text

FILE = Path(__file__).with_name("marking.toml")
# Kinds of mistakes that say only that something is wrong.
UNNAMED = ("wrong", "wrong_shape", "wrong_type", "non_finite", "zero", "missing", "not_counted")
EXHIBIT = ("exhibit_kind", "exhibit_line", "exhibit_gradient", "exhibit_proof")


class Row(NamedTuple):
    """One row of the marking scheme.

    Attributes
    ----------
    share : float
        Share of the points of a part, from 0 to 1.
    reason : str
        Why the evidence earns this share.
    """

    share: float
    reason: str


class Marking(NamedTuple):
    """A marking scheme.

    Attributes
    ----------
    rows : dict of str to Row
        Evidence to row.

    Examples
    --------
    >>> default().rows["fits_own_forward"].share
    0.9
    """

    rows: dict

    def earn(self, part, evidence, times=1.0):
        """Give a part the share of a row.

        Parameters
        ----------
        part : ibpcl.classroom.judging.verdict.Part
            Changed in place.
        evidence : str
            The row.
        times : float
            Share of the evidence that is present, such as the share of right entries.
        """
        part.evidence = evidence
        part.share = self.rows[evidence].share * times

    def raise_to(self, part, evidence):
        """Give a part the share of a row if that is more than it has.

        Parameters
        ----------
        part : ibpcl.classroom.judging.verdict.Part
            Changed in place.
        evidence : str
            The row.
        """
        if self.rows[evidence].share > part.share:
            self.earn(part, evidence)

    def limit(self, part, evidence):
        """Give a part the share of a row if that is less than it has.

        Parameters
        ----------
        part : ibpcl.classroom.judging.verdict.Part
            Changed in place.
        evidence : str
            The row.
        """
        if self.rows[evidence].share < part.share:
            self.earn(part, evidence)


def settle(verdict):
    """Set points and state of a verdict from its parts.

    Parameters
    ----------
    verdict : ibpcl.classroom.judging.verdict.Verdict
        Changed in place; one without parts stays as it is.
    """
    if not verdict.parts:
        return
    share = sum(part.share for part in verdict.parts)
    if verdict.kind != "referee":
        share /= len(verdict.parts)
    verdict.points = round(share * verdict.most + 1e-9, 2)
    verdict.state = "right" if share > 1 - 1e-9 else "partial" if share else "wrong"


@functools.cache
def default():
    """Return the marking scheme of the package.

    Returns
    -------
    Marking
    """
    return read(FILE)


def read(path):
    """Return the marking scheme in a file.

    Parameters
    ----------
    path : path-like
        A copy of ``marking.toml``.

    Returns
    -------
    Marking

    Raises
    ------
    UserError
        If the file is not TOML, a row is missing, unknown or double, a share is not from 0 to 1, a
        right answer does not earn 1, or the shares of an exhibit do not add up to 1.
    """
    try:
        table = tomllib.loads(read_text(path))
    except (OSError, ValueError) as error:
        raise UserError(f"class: the marking scheme {path} cannot be read: {error}") from None
    rows = {}
    for row in table.get("row", ()):
        evidence = str(row.get("evidence"))
        share = row.get("share")
        if evidence in rows:
            raise UserError(f"class: {path}: two rows have the evidence {evidence!r}")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise UserError(f"class: {path}: {evidence}: share must be from 0 to 1, got {share!r}")
        rows[evidence] = Row(float(share), str(row.get("reason", "")))
    names = set(rows) if path == FILE else set(default().rows)
    for evidence in sorted(names ^ set(rows)):
        what = "is missing" if evidence in names else "is no evidence that the judge states"
        raise UserError(f"class: {path}: the row {evidence!r} {what}")
    if rows["right"].share != 1:
        raise UserError(f"class: {path}: right: share must be 1, got {rows['right'].share:g}")
    if abs(sum(rows[evidence].share for evidence in EXHIBIT) - 1) > 1e-9:
        raise UserError(f"class: {path}: the shares of {', '.join(EXHIBIT)} must add up to 1")
    return Marking(rows)
