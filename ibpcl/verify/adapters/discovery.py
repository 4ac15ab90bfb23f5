"""Search of a file for targets: pairs of functions, classes, objects, losses with a gradient."""

import ast
import inspect
import re

from ibpcl.verify.adapters import loss
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.closure import returns_closure
from ibpcl.verify.adapters.expression import is_users, record_of
from ibpcl.verify.adapters.function import flagged
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.adapters.signatures import (
    method_parameters,
    parameters_of,
    returned_keys,
    tree_of,
)
from ibpcl.verify.adapters.static import is_function
from ibpcl.verify.adapters.target import Target

# Forwards of a gradient function whose name contains no other word, such as `gradient`.
OBJECTIVES = ("f", "loss", "cost", "objective", "func", "fun", "function", "J")
# Words for an objective, which the name of its gradient may lack: `logistic_loss`, `logistic_grad`.
OBJECTIVE_WORDS = frozenset({"loss", "cost", "objective", "function", "func", "fun", "fn", "f"})
# Verbs in a name that do not distinguish functions: `compute` in `compute_cost`.
FILLERS = frozenset({"compute", "calculate", "calc", "get", "eval", "evaluate"})


def targets_in(module):
    """Return the targets of a module, in the order of its source.

    Parameters
    ----------
    module : module
        The module.

    Returns
    -------
    dict of str to Target
        The targets by name.
    """
    everything = vars(module)
    functions = {
        name: value
        for name, value in everything.items()
        if callable(value) and not inspect.isclass(value) and not name.startswith("__")
    }
    own_functions = {name: value for name, value in functions.items() if _is_own(value, module)}
    targets = _pairs(own_functions, functions)
    taken = {alias for target in targets.values() for alias in (target.name, *target.aliases)}
    for name, value in own_functions.items():
        gradient = flagged(value) if name not in taken and inspect.isfunction(value) else None
        if gradient is not None:
            targets[name] = Target(name, value, gradient)
            taken.add(name)
    for name, value in own_functions.items():
        if (
            name not in taken
            and inspect.isfunction(value)
            and parameters_of(value).required
            and (loss.returns_gradients(value) or returns_closure(value))
        ):
            targets[name] = Target(name, value)
    targets.update(_classes(everything, module, targets))
    for kind in everything.values():
        if inspect.isclass(kind) and _is_own(kind, module) and kind.__name__ not in targets:
            targets.update(_static_pairs(kind))
    recording = any(
        inspect.isclass(value) and is_users(value) and record_of(value) is not None
        for value in everything.values()
    )
    for name, value in own_functions.items() if recording else ():
        if name not in taken and name not in targets and _has_inputs(name, value, everything):
            targets[name] = Target(name, value)
    order = {name: n for n, name in enumerate(everything)}
    return dict(sorted(targets.items(), key=lambda item: order.get(item[0], len(order))))


def _static_pairs(kind):
    """Return the pairs of static methods of a class, which belong together by their names."""
    functions = {
        name: getattr(kind, name)
        for name, value in vars(kind).items()
        if isinstance(value, staticmethod)
    }
    return {
        f"{kind.__name__}.{name}": target._replace(name=f"{kind.__name__}.{name}")
        for name, target in _pairs(functions, functions).items()
        if target.aliases
    }


def _has_inputs(name, function, everything):
    """Return whether a file gives the inputs of a function of recorded objects."""
    if not inspect.isfunction(function) or name.startswith("check_inputs"):
        return False
    if f"check_inputs_{name}" in everything:
        return True
    keys = returned_keys(everything.get("check_inputs"))
    required = parameters_of(function).required
    return name in keys or (bool(required) and keys.issuperset(required))


def _is_own(value, module):
    return getattr(value, "__module__", None) == module.__name__ or not hasattr(value, "__module__")


def _pairs(own, functions):
    """Return the pairs that follow from the names of functions."""
    plain = {}
    marked = {}
    for name in functions:
        parts = words.tokens(name)
        if any(part in words.FORWARD_WORDS for part in parts):
            marked.setdefault(_without(parts, words.FORWARD_WORDS), name)
        plain.setdefault(tuple(parts), name)
    pairs = {}
    used = set()
    for kind, marks in (
        ("pair", words.BACKWARD_WORDS),
        ("pair", words.DERIVATIVE_WORDS),
        ("jvp", words.JVP_WORDS),
        ("hvp", words.HVP_WORDS),
    ):
        for name in functions:
            if name in used:
                continue
            forward = _forward_of(name, marks, plain, marked, kind)
            if (
                forward is None
                or forward == name
                or (name not in own and not name.endswith("_vjp"))
                or (kind == "pair" and forward in pairs)
            ):
                continue
            title = forward if kind == "pair" else name
            beside = pairs[forward].gradient if kind == "hvp" and forward in pairs else None
            base = "_".join(_without(words.tokens(name), marks))
            aliases = (name, base) if kind == "pair" else ()
            pairs[title] = Target(title, functions[forward], functions[name], aliases, beside)
            used.add(name)
            if kind == "pair":
                used.add(forward)
    return pairs


def _forward_of(name, marks, plain, marked, kind):
    """Return the name of the forward that belongs to a gradient's name, or None."""
    parts = words.tokens(name)
    for phrase in words.HVP_PHRASES if kind == "hvp" else ():
        if tuple(parts[-len(phrase) :]) == phrase:
            parts = [*parts[: -len(phrase)], "hvp"]
    if any(part in marks for part in parts):
        for base in (_without(parts, marks), _without(parts, marks | words.DERIVATIVE_WORDS)):
            if base and base in marked:
                return marked[base]
            if base and base in plain:
                return plain[base]
            if not base:
                alone = marked.get(()) if marks is words.BACKWARD_WORDS else None
                return (
                    alone
                    or next((o for o in OBJECTIVES if (o,) in plain and o != name), None)
                    or _objective_of(name, marks, plain)
                )
        if found := _objective_of(name, marks, plain):
            return found
    for ending in ("prime", "derivative", "gradient", "grad", "deriv"):  # tanhprime
        found = plain.get(tuple(words.tokens(name.removesuffix(ending))))
        if marks is words.DERIVATIVE_WORDS and found not in (None, name):
            return found
    quotient = re.fullmatch(r"d_?(\w+?)_?d_?[a-z]\w?", name)  # dUdx
    if marks is words.DERIVATIVE_WORDS and quotient and quotient[1] in plain.values():
        return quotient[1]
    if marks is words.DERIVATIVE_WORDS and name.startswith("d") and len(name) > 1:
        rest = name[1:]
        if tuple(words.tokens(rest)) in plain and plain[tuple(words.tokens(rest))] == rest:
            return rest
    return None


def _objective_of(name, marks, plain):
    """Return the name of the objective of a function such as `compute_gradient`, or None.

    One with the same filler is taken first: `compute_cost` before `calculate_cost` and `cost`.
    """
    parts = words.tokens(name)
    rest = _without(parts, marks | FILLERS | OBJECTIVE_WORDS)
    fillers = FILLERS.intersection(parts)
    found = [
        (fillers != FILLERS.intersection(other), len(other), its_name)
        for other, its_name in plain.items()
        if _without(other, FILLERS | OBJECTIVE_WORDS) == rest
        and OBJECTIVE_WORDS.intersection(other)
        and its_name != name
    ]
    return min(found)[-1] if found else None


def _without(parts, marks):
    return tuple(part for part in parts if part not in marks)


def _classes(everything, module, targets):
    """Return the classes that a module defines, and the objects that it makes of them."""
    kinds = {
        name: value
        for name, value in everything.items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and name not in targets
    }
    usable = {name: kind for name, kind in kinds.items() if is_concrete(kind)}
    objects = {name: value for name, value in everything.items() if type(value) in usable.values()}
    made = {}
    for name, kind in usable.items():
        instances = {key: value for key, value in objects.items() if type(value) is kind}
        if not instances:
            made[name] = Target(name, kind)
        elif len(instances) == 1:
            made[name] = Target(name, *instances.values(), aliases=tuple(instances))
        else:
            made.update({key: Target(key, value) for key, value in instances.items()})
    return made


def is_concrete(kind):
    """Return whether a class implements a forward with a backward, or a loss with its gradient.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    bool
        False for a base class whose methods do nothing.
    """
    methods = methods_of(kind)
    if methods is None:
        return loss.method_of(kind) is not None
    return not inspect.isabstract(kind) and all(
        _does_something(getattr(kind, name)) and not _is_left_to_others(kind, name)
        for name in methods
    )


def _is_left_to_others(kind, name):
    """Return whether a method calls a forward or backward that only derived classes have."""
    nodes = ast.walk(tree_of(getattr(kind, name)) or ast.Module([], []))
    return any(
        isinstance(node, ast.Attribute)
        and getattr(node.value, "id", "") in ("self", "cls")
        and node.attr in ("forward", "backward")
        and not hasattr(kind, node.attr)
        for node in nodes
    )


def _does_something(function):
    tree = tree_of(function)
    if tree is None:
        return True
    body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    if len(body) == 1 and isinstance(body[0], ast.Return):
        return not _is_not_implemented(body[0].value)
    return not (len(body) == 0 or (len(body) == 1 and isinstance(body[0], (ast.Pass, ast.Raise))))


def _is_not_implemented(value):
    called = value.func if isinstance(value, ast.Call) else value
    return value is None or (
        isinstance(called, ast.Name) and called.id.startswith("NotImplemented")
    )


def find(targets, name):
    """Return the target with a name.

    The name may be that of the forward, the gradient, the class or an object.  ``softmax`` also
    finds ``softmax_forward``.

    Parameters
    ----------
    targets : dict of str to Target
        The targets by name.
    name : str
        The name.

    Returns
    -------
    Target or None
        None if there is no such target.
    """
    if name in targets:
        return targets[name]
    wanted = words.plain(name)
    for target in targets.values():
        if name in target.aliases or wanted in map(words.plain, target.aliases):
            return target
    return None


def takes_inputs(target):
    """Return the parameters of the function or method that takes a target's inputs.

    Parameters
    ----------
    target : Target
        The target.

    Returns
    -------
    Parameters
        Without ``self`` or a context.
    """
    f = target.forward
    kind = f if inspect.isclass(f) else type(f)
    methods = None if inspect.isroutine(f) else methods_of(kind)
    if methods or loss.method_of(kind) or inspect.isclass(f):
        if is_function(kind):
            return parameters_of(kind.forward, skip=1)
        return method_parameters(kind, methods.forward if methods else loss.method_of(kind))
    return parameters_of(f)
