"""The second, unscored run: have the checker look, inside the box, for the lines of mistakes in a hand-in's gradient.

It works on the hand-in's own functions, so it needs no right answer: the truth is the derivative of the own forward.
The checker arrives as text, since no file of it can be read here.
"""

import importlib.util
import sys

MOST_WORDS = 1000


class Library:
    """Imports modules from texts: {dotted name: source}."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        """Return the specification of a module that there is a text of."""
        if name not in self.sources:
            return None
        package = any(other.startswith(f"{name}.") for other in self.sources)
        return importlib.util.spec_from_loader(name, self, is_package=package)

    def create_module(self, spec):
        """Return None: an ordinary module will do."""

    def exec_module(self, module):
        """Run the text of a module."""
        exec(compile(self.sources[module.__name__], f"<{module.__name__}>", "exec"), module.__dict__)


def install(sources):
    """Make the modules of a library importable."""
    sys.meta_path.append(Library(sources))


def locate(f, f_vjp, inputs, wrt, seconds):
    """Check a gradient of the hand-in against its own forward, and describe what is wrong.

    Parameters
    ----------
    f, f_vjp : callable
    inputs : dict of str to array
    wrt : sequence of str
    seconds : float

    Returns
    -------
    list of (str, str, str)
        Input, the mistake in words, and where it is, for each mistake that has a place.
    """
    from ibpcl.verify import check
    report = check(f, f_vjp, tuple(inputs.values()), list(wrt), names=list(inputs), timeout=seconds)
    return [(item.name, item.words[:MOST_WORDS], item.numbers["where"][:MOST_WORDS]) for item in report.inputs
            if not item.ok and item.numbers.get("where")]
