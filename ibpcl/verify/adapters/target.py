"""Target of a check: a function, class or object in a file, with its gradient."""

from typing import NamedTuple


class Target(NamedTuple):
    """One thing in a file that can be checked.

    Attributes
    ----------
    name : str
        Name that the report shows, and that ``FILE:NAME`` refers to.
    forward : callable, type or object
        The forward function, the class or object that holds it, or a function that returns a loss
        with its gradient.
    gradient : callable or None
        The gradient function; None if ``forward`` provides the gradient itself.
    aliases : tuple of str
        Further names that refer to this target.
    beside : callable or None
        For a Hessian-vector product, the gradient function whose derivative the product is.
    """

    name: str
    forward: object
    gradient: object = None
    aliases: tuple = ()
    beside: object = None
