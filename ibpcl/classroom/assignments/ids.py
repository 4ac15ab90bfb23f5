"""Ids of students in one normal form, which all commands share.

Unicode is composed (NFC), with no space at the ends and one space between words.  Letter case is
displayed but not compared: ``Ada`` and ``ada`` are the same student.
"""

import re
import unicodedata

# bytes of a file name that is not UTF-8
LATIN = {code: code - 0xDC00 for code in range(0xDC80, 0xDD00)}


def shown(student):
    """Return an id for display: composed, one space between words, no invisible characters.

    Parameters
    ----------
    student : str
        An id in any spelling.

    Returns
    -------
    str

    Examples
    --------
    >>> shown("  Zoe\\u0308   Byron ")
    'Zoë Byron'
    """
    text = "".join(
        each
        for each in unicodedata.normalize("NFC", str(student).translate(LATIN))
        if each.isspace() or unicodedata.category(each) not in ("Cc", "Cf", "Cs", "Co")
    )
    return " ".join(text.split())


def folded(student):
    """Return an id for comparison: as :func:`shown` writes it, without letter case.

    Parameters
    ----------
    student : str
        An id in any spelling.

    Returns
    -------
    str

    Examples
    --------
    >>> folded("Ada ") == folded("ADA"), folded("weiß") == folded("weiss")
    (True, False)
    """
    return unicodedata.normalize("NFC", shown(student).lower())


def variant_id(student):
    """Return an id for the computation of the variant.

    The id is folded, and characters that file names lose become ``_``: platforms and file systems
    replace them, so they must not change the variant.

    Parameters
    ----------
    student : str
        An id in any spelling.

    Returns
    -------
    str

    Examples
    --------
    >>> variant_id("O'Brien"), variant_id("o_brien")
    ('o_brien', 'o_brien')
    """
    return re.sub(r"[^\w@.+-]", "_", folded(student))
