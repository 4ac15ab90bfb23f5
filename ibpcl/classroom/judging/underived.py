"""Gradients that nobody derived, and proofs that do not integrate: flags with lines, no verdicts.

By its values, a gradient from complex steps, differences, dual numbers or automatic differentiation
is a right one.  Its text shows it: the gradient uses the forward itself, a function that calls a
function that it is given, complex numbers, products of dual numbers, or a class with its own
arithmetic.  What hides from the text shows while the gradient runs (``Program.calls`` in
:mod:`ibpcl.classroom.judging.running.inside`).
"""

import ast

from ibpcl.classroom.judging import independence, similarity

COMPLEX = {
    "complex",
    "complex64",
    "complex128",
    "complexfloating",
    "csingle",
    "cdouble",
    "imag",
    "emath",
    "scimath",
}
ARITHMETIC = {
    "__add__",
    "__radd__",
    "__sub__",
    "__mul__",
    "__rmul__",
    "__truediv__",
    "__pow__",
    "__array_ufunc__",
    "__array_function__",
}
LEAST_OPERATIONS = 2
# What makes the nodes of a quadrature, or the sum over them.
INTEGRALS = {
    "quad",
    "quad_vec",
    "fixed_quad",
    "nquad",
    "dblquad",
    "tanhsinh",
    "cubature",
    "trapezoid",
    "trapz",
    "simpson",
    "simps",
    "romb",
    "leggauss",
    "hermgauss",
    "hermegauss",
    "laggauss",
    "chebgauss",
    "roots_legendre",
    "roots_hermite",
    "roots_hermitenorm",
    "roots_jacobi",
    "roots_sh_legendre",
    "linspace",
    "arange",
    "logspace",
    "geomspace",
    "mgrid",
    "ogrid",
    "random",
    "default_rng",
    "expect",
}
FILLING = ("append", "extend", "insert", "add", "update", "fill")  # methods that change an object
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)


def flags(source, assignment):
    """Return the places of a text at which a derivation or an integral is missing.

    Parameters
    ----------
    source : str
        Python text.
    assignment : ibpcl.classroom.assignments.assignment.Assignment
        The assignment, whose tasks name gradients, forwards and proofs.

    Returns
    -------
    list of (int, str)
        Line and description, in the order of the lines.
    """
    try:
        tree = similarity.parsed(source)
    except SyntaxError:
        return []
    if tree is None:
        return []
    bound = independence.bindings(tree)
    gradients = {
        task.function: task.forward for task in assignment.tasks if task.kind in ("vjp", "step")
    }
    if any(task.kind == "referee" for task in assignment.tasks):
        gradients = {name: name.removesuffix("_vjp") for name in bound if name.endswith("_vjp")}
    found = {}
    for gradient, forward in gradients.items():
        for line, words in _underived(tree, bound, gradient, forward):
            found.setdefault(line, words)
    for line, words in _arithmetic(tree):
        found.setdefault(line, words)
    for task in assignment.tasks:
        node = bound.get(task.function)
        if task.integral and node is not None and not _integrates(node, bound):
            found[node.lineno] = (
                f"{task.function} has no integral: neither nodes nor a sum over them"
            )
    return sorted(found.items())


def _underived(tree, bound, gradient, forward):
    """Yield line and description of each sign in what a gradient uses."""
    node = bound.get(gradient)
    if node is None:
        return
    if not isinstance(node, (*FUNCTIONS, ast.Name)):
        yield node.lineno, f"{gradient} is not written out: an expression makes it"
    twins = independence.implementers(tree, [forward]) - {gradient}
    for name in independence.reachable(bound, gradient, twins) - twins:
        inside = list(ast.walk(bound[name]))
        # The cache may be a function that the forward has made: then its text is the gradient's.
        given = {
            argument.arg
            for each in inside
            if isinstance(each, FUNCTIONS) and not (name == gradient and each is node)
            for argument in ast.walk(each.args)
            if isinstance(argument, ast.arg)
        }
        for each in inside:
            called = each.func if isinstance(each, ast.Call) else None
            if isinstance(each, ast.Name) and each.id in twins and each.id not in given:
                yield each.lineno, f"{gradient} uses {each.id}, which computes {forward}"
            elif isinstance(called, ast.Name) and called.id in given:
                yield (
                    each.lineno,
                    f"{gradient} uses {name}, which calls the function that it is given",
                )
            elif _is_complex(each):
                yield each.lineno, f"{gradient} computes with complex numbers"
            elif name != gradient and _is_dual_product(each):
                yield each.lineno, f"{gradient} computes with dual numbers"


def _is_complex(node):
    if isinstance(node, ast.Constant):
        text = node.value if isinstance(node.value, str) else ""
        return isinstance(node.value, complex) or text.startswith("complex")
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in COMPLEX


def _is_dual_product(node):
    """Return whether a pair is a product and its derivative, ``a * b`` and ``a * db + da * b``,
    whatever the names and the order.
    """
    if not isinstance(node, (ast.Tuple, ast.List)) or len(node.elts) != 2:
        return False
    for value, slope in (node.elts, node.elts[::-1]):
        if isinstance(slope, ast.BinOp) and isinstance(slope.op, ast.Add) and _factors(value):
            first, second = _factors(value)
            terms = [_factors(each) or () for each in (slope.left, slope.right)]
            if any(first in a and second in b for a, b in (terms, terms[::-1])):
                return True
    return False


def _factors(node):
    """Return the texts of the factors of a product of two different ones, else None."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
        return None
    factors = ast.unparse(node.left), ast.unparse(node.right)
    return factors if factors[0] != factors[1] else None


def _arithmetic(tree):
    """Yield line and description of each class with its own arithmetic."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names = {
                each.name if isinstance(each, independence.DEFINITIONS) else each.id
                for each in ast.walk(node)
                if isinstance(each, independence.DEFINITIONS)
                or (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
            }
            if len(names & ARITHMETIC) >= LEAST_OPERATIONS:
                yield (
                    node.lineno,
                    f"class {node.name} has its own arithmetic: dual numbers, or automatic "
                    "differentiation",
                )


def _integrates(node, bound):
    """Return whether the result of a proof, if it has one, depends on nodes or on a loop."""
    if not isinstance(node, FUNCTIONS):
        return True  # an expression made the function, so its source is unknown
    sources = _sources(node)
    waiting = (
        [node.body]
        if isinstance(node, ast.Lambda)
        else [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
    )
    if not waiting:
        return True  # not filled in
    met = set()
    while waiting:
        for each in ast.walk(waiting.pop()):
            name = each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")
            if name in INTEGRALS or _is_sum(each):
                return True
            if isinstance(each, ast.Name) and name not in met:
                met.add(name)
                waiting += sources.get(name) or ([bound[name]] if name in bound else [])
    return False


def _is_sum(node):
    """Return whether a loop uses what it runs over, so that it may be a sum over nodes."""
    if not isinstance(node, LOOPS) or isinstance(node, ast.While):
        return isinstance(node, ast.While)
    over = [node] if isinstance(node, ast.For) else node.generators
    targets = {
        name.id for each in over for name in ast.walk(each.target) if isinstance(name, ast.Name)
    }
    inside = node.body if isinstance(node, ast.For) else [node.elt]
    return any(
        isinstance(name, ast.Name) and name.id in targets
        for each in inside
        for name in ast.walk(each)
    )


def _sources(function):
    """Return {name: the nodes in a function from which its value comes}."""
    sources = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            changed = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            changed = [node.target]
        elif isinstance(node, ast.For):
            changed = [node]  # all that the loop assigns
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in FILLING:
            changed = [node.func.value]
        else:
            continue
        for each in changed:
            for name in ast.walk(each):
                if isinstance(name, ast.Name):
                    sources.setdefault(name.id, []).append(node)
    return sources
