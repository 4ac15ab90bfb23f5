"""Cleaning of text from a hand-in, for terminals, pages and tables.

Names and messages of exceptions, names of functions and files, and constants such as ``STUDENT``
are chosen by a stranger.  They pass through :func:`clean` once, where they enter the judge.
"""

import re

MOST = 300
FOLDERS = re.compile(r"(?<![\\/\w.:])(?:[A-Za-z]:)?(?:[\\/][\w.+@~-]+)+[\\/](?=[\w.+@~-])")


def clean(text, most=MOST):
    """Return a text as one short, printable line.

    Control characters, escape characters, direction marks, invisible characters and lone surrogates
    become spaces.

    Parameters
    ----------
    text : object
        Any object; converted to a string.
    most : int
        Largest number of characters.

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
    """Return a message without the folders in the paths of files, which are the teacher's.

    Parameters
    ----------
    text : str
        A message.

    Returns
    -------
    str

    Examples
    --------
    >>> without_folders("cannot open '/home/ada/course/key.txt'; 1/2 and a/b stay")
    "cannot open 'key.txt'; 1/2 and a/b stay"
    """
    return FOLDERS.sub("", text)
