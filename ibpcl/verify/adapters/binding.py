"""How a gradient function is called: a role for each parameter, decided before numbers are seen.

The roles follow from the names of the parameters, the names of the forward's inputs and results,
and the bodies of the functions.  :func:`_role` has the table.  If two readings remain, both are
returned in words, with the change that decides between them.  The gradients are never asked which
reading fits.
"""

import ast
import inspect
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.refusals import FormError
from ibpcl.verify.adapters.signatures import tree_of

# Names that may be those of an output or of an input: `a` is an activation or a preactivation.
EITHER = frozenset({"a", "s", "y", "h", "activation", "activated"})


class Call(NamedTuple):
    """A way to call a gradient function: a role for each argument.

    A role is one of

    - "dout", the cotangent, or ``("dout", n)``, the cotangent of output n of several,
    - "out", the output,
    - "cache", everything that the forward returned besides its output, or an integer, which selects
      one of these values,
    - "rate", a learning rate,
    - "kept", an array that the forward of an object keeps in an attribute named like an output,
    - "unused", a parameter that the function never reads,
    - ``(name,)``, an input.

    Attributes
    ----------
    positional : tuple
        Roles of the positional arguments.
    keywords : tuple of (str, object)
        Name and role of each keyword argument.
    """

    positional: tuple
    keywords: tuple = ()

    @property
    def roles(self):
        """Roles of all arguments."""
        return self.positional + tuple(role for _, role in self.keywords)

    @property
    def takes_cotangent(self):
        """True if a cotangent is among the arguments."""
        return any(
            role == "dout" or role[:1] == ("dout",)
            for role in self.roles
            if not isinstance(role, int)
        )

    @property
    def takes_rate(self):
        """True if a learning rate is among the arguments; the function then updates parameters."""
        return "rate" in self.roles

    def rate(self, dout):
        """Return the learning rate to pass.

        Parameters
        ----------
        dout : ndarray, float or tuple
            The cotangent.

        Returns
        -------
        float
            :func:`rate_for` the cotangent; 1 if the function takes no cotangent.
        """
        return rate_for(dout) if self.takes_cotangent else 1.0

    def arguments(self, dout, out, extras, inputs, kept=None):
        """Return the arguments of one call.

        Parameters
        ----------
        dout : ndarray, float or tuple
            The cotangent.
        out : ndarray, float or tuple
            The output.
        extras : tuple
            Everything that the forward returned besides its output.
        inputs : dict of str to object
            The inputs of the forward by name.
        kept : object, optional
            The array that an object keeps as an output.

        Returns
        -------
        positional : list
            The positional arguments.
        keywords : dict of str to object
            The keyword arguments.
        """

        def value(role):
            if isinstance(role, tuple):
                return dout[role[1]] if len(role) == 2 else inputs[role[0]]
            if isinstance(role, int):
                return extras[role]
            return {
                "dout": dout,
                "out": out,
                "rate": self.rate(dout),
                "kept": kept,
                "unused": None,
                "cache": extras[0] if len(extras) == 1 else tuple(extras),
            }[role]

        return [value(role) for role in self.positional], {
            name: value(role) for name, role in self.keywords
        }


def rate_for(dout):
    """Return the learning rate for a backward that updates the parameters.

    The gradient is computed as the update divided by the rate.  With the inverse size of the
    cotangent as rate, the update is about as large as the weights, and no digits are lost for a
    small ``dout``.

    Parameters
    ----------
    dout : ndarray, float or tuple
        The cotangent.

    Returns
    -------
    float
        1 for a cotangent of zeros.

    Examples
    --------
    >>> rate_for(np.array([1e-8, -2e-8])), rate_for(0.0)
    (50000000.0, 1.0)
    """
    parts = dout if isinstance(dout, tuple) else (dout,)
    size = max((float(np.max(np.abs(part), initial=0.0)) for part in parts), default=0.0)
    return 1 / size if size > 0 and np.isfinite(1 / size) else 1.0


class Reading(NamedTuple):
    """One way to read a gradient function.

    Attributes
    ----------
    call : Call
        A role for each argument.
    assumed : str
        What the reading assumes, such as "`a` is the output of sigmoid"; empty if nothing else is
        possible.
    declare : str
        What to write so that no other reading remains.
    """

    call: Call
    assumed: str = ""
    declare: str = ""


class Forward(NamedTuple):
    """What is known of a forward when its gradient function is read.

    Attributes
    ----------
    name : str
        Its name.
    inputs : list of str
        Names of its arguments.
    extras : int
        Number of values that it returns besides its output.
    outputs : int
        Number of outputs; each of several outputs has a separate cotangent.
    returned : str, list or None
        Names of its results in its source.
    method : bool
        Whether it is a method, so that its object may store what the gradient needs.
    keeps : bool
        Whether the method stores anything in its object.
    bends : bool
        Whether its output is not linear in its only input, and its gradient reads nothing of the
        object: then the gradient has to take the input.
    axes : int or None
        Number of axes of the output; None if there are several outputs.
    kept : str
        Name of the attribute in which it leaves a further array as an output; empty if there is
        none.
    """

    name: str
    inputs: list
    extras: int = 0
    outputs: int = 1
    returned: object = None
    method: bool = False
    keeps: bool = False
    bends: bool = False
    axes: int | None = None
    kept: str = ""


def readings_of(gradient, parameters, forward, output=None):
    """Return the ways to read a gradient function: one, or two if the names leave two.

    Parameters
    ----------
    gradient : callable
        The gradient function, whose name and source are read.
    parameters : Parameters
        Its parameters, without ``self``.
    forward : Forward
        The forward.
    output : bool, optional
        The user's answer if a parameter may be the output or the input of the forward: True for the
        output.

    Returns
    -------
    list of Reading
        One or two readings, the likelier first.

    Raises
    ------
    FormError
        If the role of a parameter is unknown.
    """
    if not parameters.known:  # a built-in function has no names
        return [Reading(Call(tuple((name,) for name in forward.inputs)))]
    if parameters.open_ended and not parameters.required:
        words_of = f"{_title(gradient)} takes any arguments: give its parameters names"
        raise FormError(words_of, in_gradient=True)
    names = [*parameters.required, *_late_cotangent(gradient, parameters)]
    roles = {name: _role(name, names, gradient, forward) for name in names}
    open_names = [name for name, role in roles.items() if role is None]
    _by_elimination(gradient, roles, open_names, forward)
    _predictions(gradient, roles, forward)
    unknown = [name for name, role in roles.items() if role is None]
    if unknown:
        raise FormError(_question(gradient, unknown[0], forward), in_gradient=True)
    keywords = tuple(
        item for item in _optional(parameters, forward.inputs) if item[1] not in roles.values()
    )
    other = _other(gradient, roles, open_names, forward)
    if other is None:
        return [Reading(Call(tuple(roles.values()), keywords))]
    name, second = other
    changed = {**roles, name: second}
    declared = [
        _declared(Call(tuple(each.values()), keywords), name, each[name], forward)
        for each in (roles, changed)
    ]
    if output is None or "out" not in (roles[name], second):
        return declared
    return [each for each in declared if ("out" in each.call.roles) == output]


def _role(name, names, gradient, forward):
    """Return the role that its name gives to a parameter, the first in this table; else None."""
    word = words.plain(name)
    tree = tree_of(gradient)
    results = _results(forward)
    arriving = [one for one in names if _is_cotangent(one, names, gradient, forward)]
    exact = [key for key in forward.inputs if words.plain(key) == word]
    place = arriving.index(name) if name in arriving else None
    is_output = words.is_output(name) and not (forward.extras and word in EITHER)
    rules = (
        (forward.kept and word == words.plain(forward.kept), "kept"),
        (word in words.RATES and not exact and (arriving or word != "eta"), "rate"),
        (word == words.plain(forward.name), "out"),  # softmax_grad(softmax)
        (word in words.CACHES and forward.extras, results.get(word, "cache")),
        (exact, tuple(exact[:1])),
        (forward.outputs > 1 and name in arriving, ("dout", place)),
        (arriving[:1] == [name], "dout"),
        (word in results, results.get(word)),
        (tree is not None and not _is_read(tree, name), "unused"),
        (_is_foreign_label(name, names, gradient, forward), None),
        (is_output and name not in arriving, "out"),
    )
    return next((role for holds, role in rules if holds), None)


def _late_cotangent(gradient, parameters):
    """Return the first optional parameter if it is the cotangent and None cannot be meant."""
    first = parameters.optional[:1]
    if (
        not first
        or not words.is_cotangent(first[0])
        or any(map(words.is_cotangent, parameters.required))
    ):
        return []
    is_none = inspect.signature(gradient).parameters[first[0]].default is None
    return first if is_none else []


def _title(function):
    return getattr(function, "__name__", type(function).__name__)


def _is_derivative(gradient):
    """Return whether the name of a function says that it returns a derivative.

    ``tanh_prime`` returns a derivative, while ``tanh_backward`` takes a cotangent.
    """
    marks = set(words.tokens(_title(gradient)))
    derives = marks & words.DERIVATIVE_WORDS or marks & {"df", "dfn"}
    return bool(derives) and not marks & words.BACKWARD_WORDS


def _is_cotangent(name, names, gradient, forward):
    """Return whether the name of a parameter is used for a cotangent here."""
    if not words.is_cotangent(name) or _is_object(tree_of(gradient), name):
        return False
    if words.plain(name) not in words.UNCLEAR:
        return True
    # `v` is a cotangent if no other parameter is one
    others = any(words.is_cotangent(other) for other in names if other != name)
    alone = _is_derivative(gradient) and len(names) == 1 and not forward.keeps
    return not others and not alone


def _is_foreign_label(name, names, gradient, forward):
    """Return whether a parameter is a label that the forward does not take."""
    if words.plain(name) == "y":
        if _is_derivative(gradient):  # y = f(x)
            return False
        return forward.method or (len(names) > 1 and not any(map(words.is_cotangent, names)))
    return words.is_label(name)


def _results(forward):
    """Return the roles of the forward's results by their names in its source, as ``plain``."""
    returned = forward.returned
    if isinstance(returned, str):
        return {words.plain(returned): "out"}
    if not isinstance(returned, list) or len(returned) != forward.extras + 1:
        return {}
    roles = ["out", *range(forward.extras)] if forward.extras > 1 else ["out", "cache"]
    return {
        words.plain(name): role
        for name, role in zip(returned, roles, strict=True)
        if isinstance(name, str)
    }


def _by_elimination(gradient, roles, unknown, forward):
    """Give the remaining roles to the parameters whose names say nothing."""
    tree = tree_of(gradient)
    waiting = [name for name in unknown if not _is_object(tree, name)]
    takes_cotangent = any(role == "dout" or role[:1] == ("dout",) for role in _named(roles))
    may_take = forward.method or len(roles) > 1
    if waiting and waiting[0] == next(iter(roles)) and may_take and not takes_cotangent:
        is_label = _is_foreign_label(waiting[0], list(roles), gradient, forward)
        if not is_label and not _is_derivative(gradient):
            roles[waiting.pop(0)] = "dout"
    has_cache = any(role == "cache" or isinstance(role, int) for role in roles.values())
    if forward.extras and not has_cache and len(waiting) == 1:
        roles[waiting.pop()] = "cache"
    left = [(name,) for name in forward.inputs if (name,) not in roles.values()]
    left = [role for role in left if not words.is_label(role[0])] or left
    may_be_inputs = _is_derivative(gradient) or not forward.method or "dout" in roles.values()
    pairs = list(zip(waiting, left, strict=False))
    if (
        may_be_inputs
        and len(waiting) == len(left)
        and not any(words.is_data(name) and words.is_prediction(role[0]) for name, role in pairs)
    ):
        roles.update(pairs)


def _named(roles):
    """Return the roles that are known and are no positions of a result."""
    return [role for role in roles.values() if role is not None and not isinstance(role, int)]


def _is_read(tree, name):
    """Return whether a function reads a parameter."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name)
    return any(not isinstance(node.ctx, ast.Store) for node in nodes)


def _is_returned(tree, name):
    """Return whether a function returns one of its parameters as it is, as a layer passes it on."""
    returned = [node.value for node in ast.walk(tree or ast.Pass()) if isinstance(node, ast.Return)]
    return bool(returned) and all(getattr(value, "id", None) == name for value in returned)


def _is_object(tree, name):
    """Return whether a function calls a parameter, fills it, or calls a method that no array has.

    Such a parameter is an activation, an optimizer or a dict for gradients, and not an input.
    """
    return any(
        (isinstance(node, ast.Call) and getattr(node.func, "id", None) == name)
        or (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and getattr(node.value, "id", None) == name
            and isinstance(getattr(node.slice, "value", ""), str)  # "W", or f"{name}/W"
            and isinstance(node.slice, (ast.Constant, ast.JoinedStr))
        )
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and getattr(node.func.value, "id", None) == name
            and not hasattr(np.ndarray, node.func.attr)
            and not hasattr(dict, node.func.attr)
        )
        for node in ast.walk(tree or ast.Pass())
    )


def _predictions(gradient, roles, forward):
    """Read the gradient from above as the prediction where a loss cannot take it otherwise.

    ``backward(dvalues, y_true)`` of a loss ``forward(y_pred, y_true)`` needs the prediction, and
    can have it by ``dvalues`` alone.  The gradient from above has no axis if the loss is a number.
    """
    free = [name for name in forward.inputs if (name,) not in roles.values()]
    arriving = [name for name, role in roles.items() if role == "dout"]
    labels = [role for role in roles.values() if isinstance(role, tuple) and len(role) == 1]
    if (
        forward.method
        and not forward.extras
        and (not forward.keeps or _axes_read(gradient, arriving) > (forward.axes or 0))
        and len(arriving) == len(free) == 1
        and any(words.may_be_label(role[0]) for role in labels)
    ):
        roles[arriving[0]] = "kept" if forward.kept else (free[0],)


def _axes_read(gradient, names):
    """Return the number of axes that a function needs of its parameters, 0 or 1."""
    nodes = ast.walk(tree_of(gradient) or ast.Pass())
    return int(
        any(
            (isinstance(node, ast.Subscript) and getattr(node.value, "id", None) in names)
            or (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", None) == "len"
                and getattr(node.args[0], "id", None) in names
            )
            for node in nodes
        )
    )


def _other(gradient, roles, unknown, forward):
    """Return a parameter and the other role that it may have; None if all are decided."""
    tree = tree_of(gradient)
    for name, role in roles.items():
        word = words.plain(name)
        named_so = any(words.plain(key) == word for key in forward.inputs)
        free = [key for key in forward.inputs if (key,) not in roles.values()]
        if named_so and words.is_label(name):
            continue
        if _is_handed_on(tree, name, forward.name):  # it calls the forward with this parameter
            if role == "out" and len(free) == 1:
                if word not in EITHER:  # `out` says the contrary
                    return name, (free[0],)
                roles[name] = (free[0],)
        elif forward.method and len(roles) == 1 and not _is_derivative(gradient):
            is_open = named_so or (role == "out" and word in EITHER)
            if is_open and (forward.keeps or _is_returned(tree, name)):
                roles[name] = "dout"  # backward(x) of a layer takes the gradient from above
            elif is_open and not forward.bends:
                return name, "dout"
        elif role == "kept" and word != words.plain(forward.kept) and len(free) == 1:
            return name, (free[0],)
        elif (
            named_so or isinstance(role, int) or role in ("dout", "cache", "rate", "unused", "kept")
        ):
            continue
        elif role == "out" and word in EITHER and len(free) == 1 and word not in _results(forward):
            return name, (free[0],)
        elif name in unknown and len(role) == 1 and "out" not in roles.values():
            return name, "out"
    return None


def _is_handed_on(tree, name, forward):
    """Return whether a function calls its forward with one of its parameters."""
    return tree is not None and any(
        isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == forward
        and any(isinstance(argument, ast.Name) and argument.id == name for argument in node.args)
        for node in ast.walk(tree)
    )


def _declared(call, name, role, forward):
    """Return a reading with what it assumes of a parameter, and how to say so."""
    if role == "out":
        meaning = f"`{name}` is the output of {forward.name}"
        return Reading(call, meaning, "say so with output=True, or call the parameter `out`")
    if role == "kept":
        meaning = f"`{name}` is the array that {forward.name} keeps in self.{forward.kept}"
        return Reading(call, meaning, f"call the parameter `{forward.kept}`")
    if role == "dout":
        meaning = f"`{name}` is the gradient from above"
        return Reading(call, meaning, "call the parameter `dout`")
    meaning = f"`{name}` is the input {role[0]} of {forward.name}"
    return Reading(call, meaning, f"call the parameter `{role[0]}`, or say so with output=False")


def _question(gradient, name, forward):
    """Return the error for a parameter whose role is unknown."""
    title = _title(gradient)
    if words.may_be_label(name):
        return (
            f"{title} takes {name}, which {forward.name} does not take, so it contains a "
            f"loss that is computed nowhere: put the loss into the file as a function of the "
            f"output and {name} with its gradient, and let {title} take dout"
        )
    return (
        f"the meaning of `{name}` in {title} is unknown: call it like an input of "
        f"{forward.name} ({', '.join(forward.inputs)}), `out` for the output, `dout` for the "
        "gradient from above, or `cache`"
    )


def _optional(parameters, inputs):
    """Return (name, role) of the optional parameters that should be passed."""
    keys = {words.plain(key): (key,) for key in inputs}
    keys = {**dict.fromkeys(words.RATES, "rate"), **keys}
    optional = parameters.optional + parameters.keywords
    return [(name, keys[words.plain(name)]) for name in optional if words.plain(name) in keys]
