"""Search of a file for targets: pairs of functions, classes, objects, losses with a gradient."""

import ast
import inspect

from ibpcl.verify.adapters import loss
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.closure import returns_closure
from ibpcl.verify.adapters.expression import is_users, record_of
from ibpcl.verify.adapters.function import flagged
from ibpcl.verify.adapters.methods import free_methods, methods_of
from ibpcl.verify.adapters.pairing import pairs_in
from ibpcl.verify.adapters.signatures import parameters_of, returned_keys, tree_of
from ibpcl.verify.adapters.target import Target


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
    targets = pairs_in(functions, own_functions)
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
        if inspect.isclass(kind) and _is_own(kind, module):
            targets.update(_of_free_methods(kind))
    recording = any(
        inspect.isclass(value) and is_users(value) and record_of(value) is not None
        for value in everything.values()
    )
    for name, value in own_functions.items() if recording else ():
        if name not in taken and name not in targets and _has_inputs(name, value, everything):
            targets[name] = Target(name, value)
    order = {name: n for n, name in enumerate(everything)}
    return dict(sorted(targets.items(), key=lambda item: order.get(item[0], len(order))))


def _of_free_methods(kind):
    """Return the pairs of methods of a class that need no object, such as `tanh`, `tanh_prime`.

    The forward and the backward of the class are left out: it is a target itself.  Only one pair
    in a class without them has the name of the class.
    """
    main = methods_of(kind) if is_concrete(kind) else None
    functions = {
        name: function
        for name, function in free_methods(kind).items()
        if name not in (main or ()) and _does_something(function)
    }
    found = {name: target for name, target in pairs_in(functions).items() if target.aliases}
    for name, function in functions.items():
        gradient = flagged(function)
        if gradient is not None and name not in found:
            found[name] = Target(name, function, gradient, (name,))
    title = kind.__name__
    if len(found) == 1 and main is None and not loss.method_of(kind):
        [(name, target)] = found.items()
        return {title: target._replace(name=title, aliases=(f"{title}.{name}",))}
    return {
        f"{title}.{name}": target._replace(name=f"{title}.{name}") for name, target in found.items()
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
