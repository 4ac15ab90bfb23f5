"""Exceptions whose one-line message is shown to the user instead of a traceback."""

import difflib


class UserError(ValueError):
    """A mistake in the user's configuration, data or output location.

    Any other exception indicates an error of the program.
    """


class TrainingError(ArithmeticError):
    """Training cannot continue with these settings; the message states the reason and a remedy."""


class NonFiniteError(TrainingError):
    """The objective became NaN or infinite; the message names the step and the parts."""


def nearest(word, known):
    """Return a hint for a misspelled word.

    Parameters
    ----------
    word : object
        The word; converted to text.
    known : sequence of str
        The correct words.

    Returns
    -------
    hint : str
        ``"; did you mean 'x'?"`` with the most similar word; empty if none is similar.

    Examples
    --------
    >>> nearest("epoch", ["epochs", "seed"])
    "; did you mean 'epochs'?"
    """
    close = difflib.get_close_matches(str(word), known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
