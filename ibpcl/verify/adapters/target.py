"""Target of a check: a function, class or object in a file, with its gradient."""

from typing import NamedTuple


class Target(NamedTuple):
    """One thing in a file that can be checked.

    Attributes
    ----------
    name : str
        Name that the report shows, and that ``FILE:NAME`` refers to.
    kind : str
        One of "pair", "jvp", "hvp", "class", "object" and "loss".
    forward : callable, type or object
        The forward function, or the class or object that holds it.
    gradient : callable or None
        The gradient function; None if ``forward`` provides the gradient itself.
    aliases : tuple of str
        Further names that refer to this target.
    beside : callable or None
        For "hvp", the gradient function whose derivative the product is.
    """

    name: str
    kind: str
    forward: object
    gradient: object = None
    aliases: tuple = ()
    beside: object = None
