"""Text from a hand-in, made fit for a terminal, a page or a table.

Names and messages of exceptions, names of functions and files, and what stands in ``STUDENT`` or
``FORM`` are chosen by a stranger.  They pass through :func:`clean` where they enter the judge,
once.
"""

import re

MOST = 300
FOLDERS = re.compile(r"(?<![\\/\w.:])(?:[A-Za-z]:)?(?:[\\/][\w.+@~-]+)+[\\/](?=[\w.+@~-])")


def clean(text, most=MOST):
    """Return text on one line, cut, without anything that a terminal obeys or that reorders
    letters.

    Control characters, escape sequences, marks of direction, invisible characters and halves of a
    pair become spaces.

    Parameters
    ----------
    text : object
        What is not a text is converted.
    most : int
        Number of characters that are kept.

    Returns
    -------
    str

    Examples
    --------
    >>> clean("\\x1b[2Jall right\\u202e\\n"), clean("naïve β", 5)
    (' [2Jall right  ', 'naïve')
    """
    text = str(text)[:most]
    return (
        text
        if text.isprintable()
        else "".join(each if each.isprintable() else " " for each in text)
    )


def without_folders(text):
    """Return a message with the names of files only: the folders before them are the teacher's.

    >>> without_folders("cannot open '/home/ada/course/key.txt'; 1/2 and a/b stay")
    "cannot open 'key.txt'; 1/2 and a/b stay"
    """
    return FOLDERS.sub("", text)
