"""Functions that return their output with a function for the gradient: ``out, pull = f(x, w)``.

``pull(dout)`` returns the gradients of ``sum(dout * out)``.  It is a closure: it keeps everything
that it needs, without a cache.
"""

import ast
import inspect

import numpy as np

from ibpcl.verify.adapters import leaves, reading
from ibpcl.verify.adapters.arguments import Arguments, is_moved
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.pairs import cotangent
from ibpcl.verify.adapters.refusals import FormError
from ibpcl.verify.adapters.signatures import returned_names, tree_of


def returns_closure(function):
    """Return whether a function returns a value followed by a function, according to its source.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    bool
        False if the source is not available.
    """
    tree = tree_of(function) if inspect.isroutine(function) else None
    if tree is None:
        return False
    inner = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node is not tree
    }
    inner |= {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    last = tree.body[-1]
    pair = last.value if isinstance(last, ast.Return) else None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return False
    second = pair.elts[1]
    return isinstance(second, ast.Lambda) or getattr(second, "id", None) in inner


def is_closure(result):
    """Return whether the result of a function is an output with a function for the gradient.

    Parameters
    ----------
    result : object
        What the function has returned.

    Returns
    -------
    bool
        True for ``(out, pull)``.

    Examples
    --------
    >>> is_closure((2.0, lambda dout: 3 * dout)), is_closure((2.0, 3.0))
    (True, False)
    """
    return isinstance(result, tuple) and len(result) == 2 and inspect.isroutine(result[1])


def pair_of_closure(function, given, keywords, result):
    """Return the pair of a function that returns its output and a function for the gradient.

    Parameters
    ----------
    function : callable
        The function.
    given : dict of str to object
        Its arguments by name.
    keywords : tuple of str
        Names of keyword-only arguments.
    result : tuple
        What the function returns for these arguments.

    Returns
    -------
    Pair
        The forward and its gradient.

    Raises
    ------
    FormError
        If no gradient of an input is returned.
    """
    arguments = Arguments(given, tuple(keywords))
    title = getattr(function, "__name__", "f")
    moved = [leaf for leaf in arguments.spread if is_moved(leaf)]
    plain = [leaf.value for leaf in arguments.spread]
    names = returned_names(result[1])
    judged = [leaf for leaf in moved if not reading.is_fixed(leaf)] or moved
    unjudged = ()
    shapes = {}
    raised = None
    try:
        returned = result[1](cotangent(result[0], 0))
    except (Exception, SystemExit) as error:  # the mistake is found when the pair is judged
        raised = error
    else:
        found = reading.assigned(returned, names, moved, arguments.spread)
        if not found.paths:
            raise FormError(
                f"check: {title} returns no gradient of {', '.join(given)}; expected: out, pull = "
                f"{title}({', '.join(given)}) and gradients from pull(dout), called as "
                f"ibpcl.check({title}, ({', '.join(given)},))",
                in_gradient=True,
            )
        judged = [leaf for leaf in moved if leaf.name in found.paths]
        unjudged = tuple(reading.unjudged(found, moved, True))
        shapes = reading.shapes_by_input(returned, names, arguments.spread)
    wrt = tuple(leaf.name for leaf in judged)

    def run(called, values):
        return arguments.passed_to(called, arguments.rebuilt(values))

    def forward(called, *values):
        return run(called, values)[0], values

    def backward(called, dout, values):
        returned = run(called, [leaves.duplicate(value) for value in values])[1](dout)
        paths = reading.assigned(returned, names, moved, arguments.spread).paths
        gradients = [reading.at(returned, paths[name]) if name in paths else None for name in wrt]
        return tuple(None if item is None else np.asarray(item) for item in gradients)

    fixed = [leaf.name for leaf in moved if leaf not in judged]
    note = f"no gradient is returned for {', '.join(fixed)}, which is treated as data"
    return Pair(
        Adapted(function, forward),
        Adapted(function, backward),
        tuple(leaf.name for leaf in arguments.spread),
        (function, function),
        None,
        tuple(plain),
        wrt,
        (note,) if fixed and not unjudged else (),
        unjudged,
        shapes=shapes,
        raised=raised,
    )
