"""A function that returns its output with a function for the gradient: ``out, pull = f(x, w)``.

``pull(dout)`` returns the gradients of ``sum(dout * out)``.  It is a closure: it keeps everything
that it needs, without a cache.
"""

import ast
import inspect

from ibpcl.verify.adapters import leaves, reading
from ibpcl.verify.adapters.arguments import Arguments
from ibpcl.verify.adapters.build import Routine, build
from ibpcl.verify.adapters.signatures import parameters_of, returned_names, tree_of


def recognise(code):
    """Return the pair of a function that returns its output with a function for the gradient.

    Parameters
    ----------
    code : Code
        The user's code.

    Returns
    -------
    Pair or None
        None for other forms.

    Raises
    ------
    FormError
        If no gradient of an input is returned.
    """
    f = code.forward
    if code.gradient is not None or not inspect.isroutine(f):
        return None
    given, keywords = code.named(parameters_of(f))
    arguments = Arguments(given, tuple(keywords))
    try:
        result = arguments.passed_to(f, leaves.duplicate(given))
    except (Exception, SystemExit):  # the adapter of a loss raises an error with a message
        return None
    if not is_closure(result):
        return None
    names = returned_names(result[1])
    inputs = arguments.spread
    moved = [leaf for leaf in inputs if reading.is_moved(leaf)]
    listed = ", ".join(given)

    def run(source, values):
        return arguments.passed_to(source, arguments.rebuilt(values))

    return build(
        Routine(
            f,
            f,
            f.__name__,
            lambda source, values, held: (run(source, values)[0], values),
            lambda source, dout, values: run(source, leaves.duplicate(list(values)))[1](dout),
            lambda result: reading.assigned(result, names, moved, inputs),
            inputs,
            f"expected: out, pull = {f.__name__}({listed}) and gradients from pull(dout), called "
            f"as ibpcl.check({f.__name__}, ({listed},))",
            returned_names=names,
            name=f.__name__,
        )
    )


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
    last = None if tree is None else tree.body[-1]
    pair = last.value if isinstance(last, ast.Return) else None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return False
    inner = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    inner |= {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    second = pair.elts[1]
    return isinstance(second, ast.Lambda) or getattr(second, "id", tree.name) in inner - {tree.name}
