"""An object or class with a forward and a backward method: its parameters and its gradients.

Each forward call works on a new copy of the object, with the given parameters in its attributes.
The copy is the cache.  Gradients are read from the result of the backward, from attributes, or from
the update of the parameters.
"""

import ast
import inspect
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import binding, draws, leaves, meaning, reading, state
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.arguments import Arguments
from ibpcl.verify.adapters.build import (
    LOSS_WORDS,
    Routine,
    build,
    evaluated,
    joined,
    require_output,
)
from ibpcl.verify.adapters.construction import constructed
from ibpcl.verify.adapters.function import n_outputs, split, with_all_outputs
from ibpcl.verify.adapters.methods import keeps_in_call, method_of, methods_of
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.signatures import (
    method_parameters,
    parameters_of,
    returned_names,
    tree_of,
)

# Steps of the paths in :class:`Gradients`.
RETURNED = leaves.Attribute("returned")
KEPT = leaves.Attribute("kept")
UPDATES = leaves.Attribute("updates")
MOST = 100  # arrays of an object for which it is tested whether the output depends on them


class Gradients(NamedTuple):
    """What a backward method leaves.

    Attributes
    ----------
    returned : object
        Its result.
    kept : object
        The object after the call.
    updates : dict of str to ndarray
        The updates of the parameters that it makes itself, divided by the learning rate.
    arrays : dict of tuple to ndarray
        The arrays of the object after the call, by path.
    before : dict of tuple to ndarray
        The arrays of the object before the call.
    values : dict of tuple to ndarray
        Copies of these arrays before the call.
    """

    returned: object
    kept: object
    updates: dict
    arrays: dict
    before: dict
    values: dict


class Held(NamedTuple):
    """The cache of a forward method.

    Attributes
    ----------
    holder : object
        The object after the forward.
    arguments : dict of str to object
        The arguments by name.
    out : ndarray, float or tuple
        The output.
    extras : tuple
        Everything else that the forward returned.
    """

    holder: object
    arguments: dict
    out: object
    extras: tuple


def recognise(code):
    """Return the pair of an object or a class that has a forward and a backward method.

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
        If no object can be made, the forward raises, or no gradient is found.
    """
    if code.gradient is not None or inspect.isroutine(code.forward):
        return None
    holder = code.forward
    inputs = code.inputs
    if inspect.isclass(holder):
        if methods_of(holder) is None:
            return None
        holder, inputs = constructed(holder, inputs)
    methods = methods_of(type(holder))
    if methods is None:
        return None
    parameters = parameters_of(getattr(holder, methods.forward))
    given, keywords = code._replace(inputs=inputs).named(parameters)
    if "copy" in parameters.optional and "copy" not in given:  # else it works in place
        given["copy"] = True
        keywords = [*keywords, "copy"]
    flag = next((name for name in parameters.optional if words.is_training(name)), None)
    notes = ()
    if flag is not None and flag not in given:  # a forward may keep what is needed in training only
        given[flag] = True
        keywords = [*keywords, flag]
        notes = (f"the forward is called with {flag}=True",)
    pair = Layer(holder, given, keywords, methods).pair(code.output)
    if pair.raised is not None and keeps_in_call(type(holder), methods.forward):
        methods = methods._replace(forward="__call__")
        pair = Layer(holder, given, keywords, methods).pair(code.output)
    return replace(pair, notes=(*pair.notes, *notes))


class Layer:
    """An object under test, with its methods and its parameters.

    Parameters
    ----------
    holder : object
        The object.
    given : dict of str to object
        Arguments of the forward by name.
    keywords : sequence of str
        Names of keyword-only arguments.
    methods : Methods
        Names of its forward and backward methods.

    Raises
    ------
    FormError
        If the forward raises.
    """

    def __init__(self, holder, given, keywords, methods):
        self.kind = type(holder)
        self.methods = methods
        self.arguments = Arguments(given, tuple(keywords))
        self.forward, self.backward = (method_of(self.kind, name) for name in methods)
        self.received = method_parameters(self.kind, methods.backward)
        self.holder = leaves.widened(holder)
        self.draws = False
        self.moves = False  # whether the backward changes parameters; an update is for one step
        self.after, self.result = self._probe(self.holder)
        self._refuse_made_by_forward()
        found = state.parameters_in(self.holder, self.after, list(given.values()))
        self.used = {item.name for item in found[:MOST] if self._is_used(item)}
        self.parameters = [
            item for item in found if item.name in self.used or not state.is_gradient(item)
        ]
        self.shared = [item.value for item in self.parameters if isinstance(item.value, np.ndarray)]

    def _probe(self, holder):
        """Call the forward on a copy of an object; return the copy and the result."""
        copy = leaves.duplicate(holder)
        before = draws.position()
        result = evaluated(
            lambda: self._call(self.forward, copy, self._copies()),
            self._title(self.methods.forward),
            self._usage(),
        )
        self.draws |= draws.position() != before
        return copy, result

    def _call(self, function, copy, made):
        result = self.arguments.passed_to(lambda *a, **k: function(copy, *a, **k), made)
        return state.kept_output(copy) if result is None else result

    def _copies(self):
        return {name: leaves.duplicate(value) for name, value in self.arguments.given.items()}

    def _is_used(self, item):
        """Return whether the output of the forward depends on an array of the object."""
        if not isinstance(item.value, np.ndarray) or item.value.dtype.kind != "f":
            return False
        outs = []
        for step in (0.0, 0.5):
            copy = leaves.duplicate(self.holder)
            for path in item.paths:
                leaves.put(copy, path, item.value + step)
            try:
                out = self._seeded(lambda copy=copy: self._call(self.forward, copy, self._copies()))
            except (Exception, SystemExit):  # code under check may raise anything
                return True
            outs.append(leaves.arrays_in(out) if leaves.is_container(out) else {(): out})
        return any(not np.array_equal(outs[0][path], outs[1].get(path)) for path in outs[0])

    def _refuse_made_by_forward(self):
        """Raise an error for parameters that the first forward makes with sizes of its input."""
        before = leaves.arrays_in(self.holder)
        new = [path for path in leaves.arrays_in(self.after) if path not in before]
        lazy = [path for path in new if state.is_parameter(path) and self._is_kept(path)]
        if lazy:
            forward = f"layer.{self.methods.forward}({', '.join(self.arguments.given)})"
            raise FormError(
                f"the first forward of {self.kind.__name__} makes {leaves.text_of(lazy[0])}",
                f"make an object in the file and call it once: layer = {self.kind.__name__}(...), "
                f"{forward}",
                in_gradient=True,
            )

    def _is_kept(self, path):
        """Return whether another forward keeps a changed array, and does not compute it again."""
        copy = leaves.duplicate(self.after)
        array = leaves.arrays_in(copy)[path]
        changed = array + 1
        array[...] = changed
        try:
            self._call(self.forward, copy, self._copies())
        except (Exception, SystemExit):  # code under check may raise anything
            return True
        now = leaves.arrays_in(copy).get(path)
        return np.shape(now) == changed.shape and bool(np.all(now == changed))

    def _title(self, method):
        return f"{self.kind.__name__}.{method}"

    def _usage(self):
        inputs = ", ".join(self.arguments.given)
        return (
            f"expected: out = layer.{self.methods.forward}({inputs or 'x'}) and gradients from "
            f"layer.{self.methods.backward}(dout), returned or in attributes such as layer.dW, "
            f"called as ibpcl.check(layer, ({inputs or 'x'},))"
        )

    def pair(self, output=None):
        """Return the pair of the object's forward and backward.

        Parameters
        ----------
        output : bool, optional
            Whether the backward takes the output of the forward (True) or its input (False), if its
            names leave both.

        Returns
        -------
        Pair
            The forward and its gradient; with alternatives if the names leave two readings.

        Raises
        ------
        FormError
            If the meaning of a parameter of the backward is unknown, or it gives no gradient.
        """
        outputs = n_outputs(self.result, self.received)
        out, extras = split(self.result, outputs)
        self.is_number = not isinstance(out, tuple) and np.ndim(out) == 0
        backward = self._title(self.methods.backward)
        require_output(out, self._title(self.methods.forward), backward, self._usage())
        self._refuse_identity(out)
        forward = binding.Forward(
            self.methods.forward,
            list(self.arguments.given),
            len(extras),
            max(outputs, 1),
            returned_names(self.forward),
            method=True,
            keeps=_stores(self.forward),
            bends=self._bends(out),
            axes=np.ndim(out) if outputs < 2 else None,
            kept=self._kept_beside(),
        )
        ways = binding.readings_of(self.backward, self.received, forward, output)
        made = [build(self._routine(way, outputs, forward)) for way in ways]
        pair = joined(made)
        if pair.raised is not None:
            self._refuse_unset(pair.raised)
        return with_all_outputs(
            pair,
            ways[0],
            self.result,
            outputs,
            self._title(self.methods.forward),
            lambda every: build(self._routine(ways[0], every, forward)),
        )

    def _bends(self, out):
        """Return whether only an input can tell the gradient where the forward was evaluated."""
        moved = {n: x for n, x in self.arguments.given.items() if leaves.is_array(x)}
        if len(moved) != 1 or isinstance(out, tuple) or _stores(self.forward):
            return False
        [(name, value)] = moved.items()

        def at(scale):
            made = {**self._copies(), name: scale * np.asarray(value)}
            copy = leaves.duplicate(self.holder)
            result = self._seeded(lambda: self._call(self.forward, copy, made))
            return split(result, n_outputs(result, self.received))[0]

        with np.errstate(all="ignore"):
            return not np.allclose(at(-2) + 2 * at(1), 3 * at(0), equal_nan=True)

    def _kept_beside(self):
        """Return the name of an attribute that keeps an array as output beside a number."""
        named = dict(leaves.children(self.after)) if self.is_number else {}
        return next(
            (
                name
                for name, value in named.items()
                if words.plain(name) in words.KEPT_OUTPUTS and np.ndim(value)
            ),
            "",
        )

    def _refuse_identity(self, out):
        """Raise an error for a loss whose forward returns an input as it is."""
        given = self.arguments.given.values()
        if self._is_loss() and any(np.ndim(out) and np.array_equal(out, one) for one in given):
            raise FormError(
                f"{self._title(self.methods.forward)} returns its input, not the loss: let "
                "it return what its backward differentiates",
                in_gradient=True,
            )

    def _is_loss(self):
        """Return whether a name says that the forward is a loss."""
        title = [*words.tokens(self.kind.__name__), *words.tokens(self.methods.forward)]
        return not LOSS_WORDS.isdisjoint(title)

    def _refuse_unset(self, error):
        """Raise an error for a backward that may lack what others give it, and so raises."""
        title = self._title(self.methods.backward)
        unset = [step for step, value in leaves.children(self.holder) if value is None]
        if isinstance(error, (AttributeError, TypeError)) and "NoneType" in str(error) and unset:
            raise FormError(
                f"{raised(error, title)}; {', '.join(unset)} is None: if others set it, "
                f"make an object in the file and set it: layer = {self.kind.__name__}(...), "
                f"layer.{unset[0]} = value",
                in_gradient=True,
            )

    def _routine(self, way, outputs, forward):
        """Return how the object is run in one reading."""
        inputs = self.arguments.spread
        self.moves |= way.call.takes_rate
        by_name = {item.name: item for item in self.parameters}
        learned = [item.name for item in self.parameters if self._is_learned(item)]

        def evaluate(source, values, held):
            copy = leaves.duplicate(self.holder, self.shared)
            for name, value in held.items():
                own = np.array(value) if isinstance(value, np.ndarray) else value
                for path in by_name[name].paths:  # it may be updated in place
                    leaves.put(copy, path, own)
            made = self.arguments.rebuilt(values)
            out, extras = split(self._seeded(lambda: self._call(source, copy, made)), outputs)
            return out, Held(copy, made, out, extras)

        def pull(source, dout, held):
            kept = getattr(held.holder, forward.kept) if forward.kept else None
            positional, named = way.call.arguments(
                dout, held.out, held.extras, held.arguments, kept
            )
            holder = leaves.duplicate(held.holder) if self.moves else held.holder
            before = leaves.arrays_in(holder)
            values = {path: np.array(value) for path, value in before.items()}
            result = source(holder, *positional, **named)
            after = leaves.arrays_in(holder)
            self.moves |= any(_is_updated(item, after, values) for item in self.parameters)
            updates = {
                item.name: (values[path] - after[path]) / way.call.rate(dout)
                for item in self.parameters
                for path in item.paths[:1]
                if way.call.takes_rate and _is_updated(item, after, values)
            }
            return Gradients(result, holder, updates, after, before, values)

        made = Routine(
            self.forward,
            self.backward,
            self._title(self.methods.backward),
            evaluate,
            pull,
            lambda gradients: self._assigned(way, gradients),
            inputs,
            self._usage(),
            way.call.takes_cotangent,
            self._parameter_leaves(),
            self._names(),
            self._is_loss(),
            self.methods.forward,
            self.kind,
            way.assumed,
            way.declare,
        )
        ignores = self._ignores_dout(made)

        def notes(found, mode):
            return [*self._notes(made, found, mode, ignores)]

        return made._replace(
            takes_cotangent=made.takes_cotangent and not ignores,
            omits=way.call.takes_rate,
            notes=notes,
            unjudged=lambda found: self._unjudged(way, found, ignores, learned),
            expected={leaf.name for leaf in made.moved if not reading.is_fixed(leaf)} | {*learned},
            is_averaged=_is_averaged(self.kind, self.methods.forward),
        )

    def _is_learned(self, item):
        """Return whether a parameter is learned: by its name, or as the output depends on it."""
        return item.name in self.used or (
            isinstance(item.value, np.ndarray)
            and item.value.ndim > 0
            and state.is_parameter(item.paths[0])
        )

    def _parameter_leaves(self):
        return [
            reading.Leaf(item.name, item.paths[0], item.value)
            for item in self.parameters
            if isinstance(item.value, np.ndarray) or words.is_learned(str(item.paths[0][-1]))
        ]

    def _names(self):
        """Return the names in the ``return`` of the backward."""
        return returned_names(getattr(self.kind, self.methods.backward))

    def _seeded(self, function):
        """Call a function with the same draws from NumPy's global generator each time."""
        return draws.repeated(function) if self.draws else function()

    def _assigned(self, way, gradients):
        """Return where the gradient of each input and parameter is after a backward call."""
        inputs = self.arguments.spread
        moved = [leaf for leaf in inputs if reading.is_moved(leaf)]
        parameters = self._parameter_leaves()
        result, _, updates, after, before, _ = gradients
        found = reading.assigned(result, self._names(), moved, inputs)
        of_model = [leaf for leaf in parameters if words.is_learned(leaf.keys[-1])]
        if not way.call.takes_cotangent and len(reading.entries_of(result)) == len(of_model) > 0:
            found = reading.assigned(result, self._names(), of_model)
        elif parameters and (found.extra or not found.paths):
            found = reading.assigned(
                result, self._names(), moved + parameters, [*inputs, *parameters]
            )
        returned = {name: (RETURNED, *path) for name, path in found.paths.items()}
        kept = {}
        n_data = sum(not words.may_be_label(leaf.name) for leaf in moved)
        for leaf in moved:
            shape = np.shape(leaf.value)
            path = state.input_gradient_path(leaf.name, shape, after, before, n_data == 1)
            is_data = words.may_be_label(leaf.name) and len(moved) > 1
            if leaf.name not in returned and path and path not in kept.values() and not is_data:
                kept[leaf.name] = path
        stored = state.gradients_in(self.parameters, after, before)
        kept.update({name: path for name, path in stored.items() if name not in returned})
        updated = {name: (UPDATES, name) for name in updates}
        places = {name: (KEPT, *path) for name, path in kept.items()}
        extra = found.extra + self._gradients_of_numbers(after, kept.values())
        return reading.Assignment({**updated, **places, **returned}, extra)

    def _gradients_of_numbers(self, after, used):
        """Return stored arrays that are gradients of an attribute with a single number."""
        numbers = [
            name
            for name, value in leaves.children(self.holder)
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        ]
        return [
            reading.Entry(path, path[0], value)
            for path, value in after.items()
            if len(path) == 1
            and path not in used
            and np.ndim(value)
            and any(words.is_gradient_of(path[0], name) for name in numbers)
        ]

    def _unjudged(self, way, found, ignores, learned):
        """Yield sentences about parameters whose gradients are not judged."""
        is_layer = way.call.takes_cotangent and not way.call.takes_rate and not ignores
        is_layer = is_layer or any(path[0] != RETURNED for path in found.paths.values())
        missing = [name for name in learned if is_layer and name not in found.paths]
        if missing:
            attribute = f"d{missing[0].rpartition('.')[2]}"
            yield (
                f"no gradient was found for the parameter {', '.join(missing)}: return it, or "
                f"store it in an attribute such as {attribute}"
            )

    def _ignores_dout(self, routine):
        """Return whether a backward of a loss returns the same values for every ``dout``."""
        if not self.is_number or not (routine.takes_cotangent and self._is_loss()):
            return False
        found = []
        for dout in (np.float64(1), np.float64(2)):
            values = [leaves.duplicate(leaf.value) for leaf in routine.inputs]
            _, cache = routine.evaluate(routine.forward, values, {})
            try:
                gradients = routine.pull(routine.backward, dout, cache)
            except (Exception, SystemExit):  # found when the pair is judged
                return False
            paths = routine.assign(gradients).paths.values()
            found.append([reading.at(gradients, path) for path in paths])
        return any(value is not None and np.any(value) for value in found[0]) and all(
            np.array_equal(a, b) for a, b in zip(*found, strict=True) if a is not None
        )

    def _notes(self, routine, found, mode, ignores):
        idle = [
            name
            for name, value in leaves.children(self.holder)
            if words.is_penalty(str(name)) and isinstance(value, float) and value == 0
        ]
        if idle:
            yield f"checked with {' = '.join(idle)} = 0, so without the gradient of a penalty"
        if ignores:
            yield (
                f"{routine.title} ignores dout: it is the gradient of the loss itself, so it is "
                "right only as the last step"
            )
        elif meaning.MODES[mode]:
            yield meaning.MODES[mode].format(name=routine.title)
        updated = [name for name, path in found.paths.items() if path[0] == UPDATES]
        if updated:
            yield (
                f"{routine.title} updates {', '.join(updated)} itself: the gradients are those "
                "updates, divided by the learning rate"
            )
        if self.draws:
            yield (
                f"{self._title(self.methods.forward)} draws from np.random: every call got the "
                "same numbers"
            )


def _is_averaged(kind, forward):
    """Return whether a method of a class takes the mean of its forward, as `calculate` does."""
    for name in dir(kind):
        method = getattr(kind, name)
        tree = tree_of(method) if inspect.isfunction(method) and name != forward else None
        called = {
            node.func.attr
            for node in ast.walk(tree or ast.Pass())
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        if called >= {forward, "mean"}:
            return True
    return False


def _stores(method):
    """Return whether a method assigns attributes of its object, or items of them."""
    tree = tree_of(getattr(method, "source", method))
    return any(
        isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree or ast.Pass())
    )


def _is_updated(item, after, values):
    """Return whether a call has changed a parameter."""
    return any(
        path in after
        and path in values
        and np.shape(after[path]) == np.shape(values[path])
        and np.any(after[path] != values[path])
        for path in item.paths
    )
