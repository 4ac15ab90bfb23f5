r"""The paper's equations, one by one: where each is, what of the package computes it, and which checks prove it.

The table itself is in :mod:`ibpcl.proofs.equations_main` and :mod:`ibpcl.proofs.equations_supplement`; nothing that the
paper displays or defines is missing from it.  Sections, equation numbers and source lines are those of Kumar,
Chatterjee and Rai, "Bayesian Structure Adaptation for Continual Learning", main text and supplement.
"""

import importlib

from ibpcl.proofs import equations_main, equations_supplement


def equations():
    """Return all rows in the order of the paper."""
    return (*equations_main.EQUATIONS, *equations_supplement.EQUATIONS)


def resolve(name):
    """Return the function or class that a dotted name means.

    Raises
    ------
    AttributeError, ModuleNotFoundError
        If it is gone.

    Examples
    --------
    >>> resolve("ibpcl.primitives.gaussian.kl").__name__
    'kl'
    """
    parts = name.split(".")
    # Modules are lower case; a class starts the part that is looked up inside the module.
    depth = next((i for i, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    value = importlib.import_module(".".join(parts[:depth]))
    for part in parts[depth:]:
        value = getattr(value, part)
    return value
