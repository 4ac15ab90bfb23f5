"""Names of a room that are loaded when they are first used (PEP 562).

The process that reads hand-ins runs without installed packages, and an autograder without those for
pages.  So importing one module of a room must not import all others.
"""

from importlib import import_module


def names(package, places):
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Name of the package.
    places : dict of str to str
        Public name to the module of the package that defines it.

    Returns
    -------
    callable
        ``__getattr__(name)``.
    """

    def load(name):
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return load
