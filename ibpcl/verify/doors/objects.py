"""Pairs from an object: its parameters, and the possible ways to call its backward method.

Each forward call works on a new copy of the object, with the given parameters in its attributes.
The copy is the cache.  Gradients are read from the result of the backward, from attributes, or from
the update of the parameters.
"""

import inspect
from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import draws, leaves, reading, state
from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.arguments import Arguments, is_moved
from ibpcl.verify.doors.methods import after_backward, followed, method_of
from ibpcl.verify.doors.pair import Adapted, Pair
from ibpcl.verify.doors.pairs import chosen
from ibpcl.verify.doors.preparing import initialized, kept_output, plain_steps, prepared
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import method_parameters, returned_names, store_of
from ibpcl.verify.doors.ways import Way, is_ambiguous, split, ways_of

MOST_WAYS = 6  # of calling a backward that are compared


class Found(NamedTuple):
    """Positions of the gradients after one way to call a backward method.

    Attributes
    ----------
    way : Way
        How the backward is called.
    returned : dict of str to tuple
        Paths in the result, by name of an input or a parameter.
    kept : dict of str to tuple
        Paths in the object after the call.
    updated : dict of str to tuple
        Paths of parameters that the backward updates.
    moves : bool
        Whether the backward changes any parameter.
    """

    way: Way
    returned: dict
    kept: dict
    updated: dict
    moves: bool


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


class Opened:
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
    loss : tuple of (str, callable), optional
        Name of a label and a function ``loss(out, label)``, for a backward that contains its loss.

    Raises
    ------
    FormError
        If the forward raises.
    """

    def __init__(self, holder, given, keywords, methods, loss=None):
        self.kind = type(holder)
        self.methods = methods
        self.loss = loss
        self.arguments = Arguments(given, tuple(keywords))
        self.forward, self.backward = (method_of(self.kind, name) for name in methods)
        self.store = store_of(self.backward)
        after = after_backward(self.kind)
        if after is not None and self.store is None and inspect.isfunction(self.backward):
            self.backward = followed(self.backward, methods, after)
        every = method_parameters(self.kind, methods.backward)
        self.received = every._replace(
            required=[name for name in every.required if name != self.store],
            optional=[name for name in every.optional if name != self.store],
        )
        self.holder = holder
        self.draws = False
        after, self.result = self._probe(holder)
        if self._is_prepared_by_forward(after):
            self.holder = initialized(holder, after) or prepared(holder, after)
            after, self.result = self._probe(self.holder)
        self.parameters = state.parameters_in(self.holder, after, list(given.values()))
        self.shared = [item.value for item in self.parameters if isinstance(item.value, np.ndarray)]

    def _probe(self, holder):
        """Call the forward on a copy of an object; return the copy and the result."""
        copy = leaves.duplicate(holder)
        before = draws.position()
        try:
            result = self._call(self.forward, copy, self._copies())
        except (Exception, SystemExit) as error:
            raise FormError(
                f"check: {raised(error, self._title(self.methods.forward))}; {self._usage()}"
            ) from error
        self.draws |= draws.position() != before
        return copy, result

    def _call(self, function, copy, made):
        label, loss = self.loss or (None, None)
        inputs = {name: value for name, value in made.items() if name != label}
        result = self.arguments.passed_to(lambda *a, **k: function(copy, *a, **k), inputs)
        result = kept_output(copy) if result is None else result
        if loss is None:
            return result
        out, extras = split(result, 1)
        return loss(out, made[label]), out, *extras

    def _copies(self):
        return {name: leaves.duplicate(value) for name, value in self.arguments.given.items()}

    def _is_prepared_by_forward(self, after):
        """Return whether the first forward call creates parameters with sizes from the input."""
        before = leaves.arrays_in(self.holder)
        new = [path for path in leaves.arrays_in(after) if path not in before]
        return any(
            self._is_kept(after, path)
            for path in new
            if isinstance(path[-1], str)
            and (
                words.is_learned(path[-1])
                or (len(path) > 1 and words.plain(path[-2]) in words.PARAMETER_HOLDERS)
            )
        )

    def _is_kept(self, after, path):
        """Return whether another forward keeps a changed array, and does not compute it again."""
        copy = leaves.duplicate(after)
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

    def pair(self):
        """Return the pair of the way to call the backward whose numbers fit, else the simplest one.

        Returns
        -------
        Pair
            The forward and its gradient.

        Raises
        ------
        FormError
            If no way to call the backward gives a gradient.
        """
        ways = []
        errors = []
        names = returned_names(getattr(self.kind, self.methods.backward))
        names = names if self.store is None else [names, None]
        runs = []

        def call(way, dout, out, extras):
            runs.append(self._run(way, dout))
            return runs[-1][0]

        for way in ways_of(
            self.result,
            self.received,
            self.arguments,
            call,
            names,
            method=True,
            forward=self.forward,
        ):
            if isinstance(way, Exception):
                errors.append(way)
                continue
            places = self._found(way, names, *runs[-1])
            if (places.returned or places.kept or places.updated) and self._is_consistent(
                places, *runs[-1][:3:2]
            ):
                ways.append((places, self._pair(places)))
            if len(ways) >= MOST_WAYS or (
                places.returned
                and way.fitting
                and way.call.takes_cotangent
                and words.has_clear_cotangent(self.received.required)
                and not errors
                and self._is_large(way)
                and not is_ambiguous(way, self.arguments)
            ):
                break
        if not ways:
            why = (
                raised(errors[0], self._title(self.methods.backward))
                if errors
                else f"no gradient was found after {self._title(self.methods.backward)}"
            )
            raise FormError(f"check: {why}; {self._usage()}", in_gradient=True) from (
                errors[0] if errors else None
            )
        return chosen([(places.way, pair) for places, pair in ways])

    def _is_consistent(self, places, result, after):
        """Return whether gradients in attributes have shapes that fit the way to read them."""
        if places.way.mode == "vjp" or places.returned:
            return True
        by_name = {leaf.name: leaf for leaf in self.arguments.spread}
        stored = [
            (by_name[name], after[path]) for name, path in places.kept.items() if name in by_name
        ]
        return places.way.mode in reading.modes_of(
            self._output(places.way), stored, takes_cotangent=False
        )

    def _is_large(self, way):
        """Return whether the output has several entries, so that it cannot be a loss."""
        out = self._output(way)
        return isinstance(out, (tuple, list)) or np.size(out) > 1

    def _output(self, way):
        return split(self.result, way.outputs)[0]

    def _run(self, call, dout):
        """Call forward and backward on a new copy.

        Returns the result, the object's arrays before and after, and copies of the arrays before.
        """
        copy = leaves.duplicate(self.holder)
        made = self._copies()
        result = self._seeded(lambda: self._call(self.forward, copy, made))
        outputs = 1 if isinstance(result, tuple) and len(result) > 1 else 0
        out, extras = split(result, outputs)
        before = leaves.arrays_in(copy)
        values = {path: np.array(value) for path, value in before.items()}
        positional, named = call.arguments(dout, out, extras, made, kept_output(copy))
        returned = self._gradients(self.backward, copy, positional, named)
        return returned, before, leaves.arrays_in(copy), values

    def _gradients(self, source, holder, positional, named):
        """Call a backward; return its result, and the dict in which it stores gradients."""
        if self.store is None:
            return source(holder, *positional, **named)
        stored = {}
        by_name = dict(zip(self.received.required, positional, strict=False))
        return source(holder, **by_name, **named, **{self.store: stored}), stored

    def _seeded(self, function):
        """Call a function with the same draws from NumPy's global generator each time."""
        return draws.repeated(function) if self.draws else function()

    def _found(self, way, names, result, before, after, values):
        """Return the positions of the gradients after one call of the backward."""
        moved = [leaf for leaf in self.arguments.spread if is_moved(leaf)]
        parameter_leaves = [
            reading.Leaf(item.name, item.paths[0], item.value)
            for item in self.parameters
            if isinstance(item.value, np.ndarray)
        ]
        entries = reading.entries_of(result, names)
        returned = {}
        if way.mode in ("vjp", "loss"):
            returned = reading.assigned(entries, moved + parameter_leaves)
            if len(entries) == 1 and way.paths:
                returned = dict(way.paths)
            if len(entries) > 1 and not any(leaf.name in returned for leaf in moved):
                returned = reading.assigned(entries, parameter_leaves)
        elif entries:
            returned = dict(way.paths)
        kept = {}
        updated = {}
        for leaf in moved:
            path = state.input_gradient_path(
                leaf.name,
                np.shape(leaf.value),
                after,
                before,
                sum(not words.is_label(other.name) for other in moved) == 1,
            )
            if (
                leaf.name not in returned
                and path
                and path not in kept.values()
                and not (words.is_label(leaf.name) and len(moved) > 1)
            ):
                kept[leaf.name] = path
        for item in self.parameters:
            paths = state.gradient_paths(item, after, before)
            if paths and (item.name not in returned or way.mode == "vjp"):
                kept[item.name] = paths[0]
                returned.pop(item.name, None)
            elif (
                (way.call.takes_rate or plain_steps(self.holder))
                and item.name not in returned
                and any(
                    path in after
                    and np.shape(after[path]) == np.shape(values[path])
                    and np.any(after[path] != values[path])
                    for path in item.paths
                    if path in values
                )
            ):
                updated[item.name] = item.paths[0]
        moves = any(
            path in after
            and path in values
            and np.shape(after[path]) == np.shape(values[path])
            and np.any(after[path] != values[path])
            for item in self.parameters
            for path in item.paths
        )
        return Found(way, returned, kept, updated, moves)

    def _pair(self, places):
        """Return the pair for one way to call the backward."""
        way = places.way
        spread = self.arguments.spread
        sources = {**places.returned, **places.kept, **places.updated}
        chosen_parameters = [item for item in self.parameters if item.name in sources]
        wrt = tuple(leaf.name for leaf in spread if leaf.name in sources) + tuple(
            item.name for item in chosen_parameters
        )
        shapes = {leaf.name: np.shape(leaf.value) for leaf in spread}
        shapes.update({item.name: np.shape(item.value) for item in chosen_parameters})
        own_names = {item.name for item in chosen_parameters}
        loss = way.mode == "loss" or self._ignores_dout(places)

        def forward(source, *values):
            copy = leaves.duplicate(self.holder, self.shared)
            for item, value in zip(chosen_parameters, values[len(spread) :], strict=True):
                own = (
                    np.array(value) if isinstance(value, np.ndarray) else value
                )  # it may be updated in place
                for path in item.paths:
                    leaves.put(copy, path, own)
            made = self.arguments.rebuilt(values[: len(spread)])
            result = self._seeded(lambda: self._call(source, copy, made))
            out, extras = split(result, way.outputs)
            return reading.reduced(way.mode, out), Held(copy, made, out, extras)

        def backward(source, dout, held):
            positional, named = way.call.arguments(
                dout, held.out, held.extras, held.arguments, kept_output(held.holder)
            )
            before = {
                name: np.array(leaves.get(held.holder, path))
                for name, path in places.updated.items()
            }
            holder = (
                leaves.duplicate(held.holder) if places.moves else held.holder
            )  # an update is for one step
            rate = way.call.rate(dout)
            for step in plain_steps(holder):
                step.rate = rate
            result = self._gradients(source, holder, positional, named)
            gradients = []
            for name in wrt:
                if name in places.updated:
                    value = (before[name] - leaves.get(holder, places.updated[name])) / rate
                elif name in places.kept:
                    value = reading.at(holder, places.kept[name])
                else:
                    value = reading.at(result, places.returned[name])
                if value is not None:
                    mode = "loss" if loss else way.mode
                    value = reading.pulled(mode, dout, value, shapes[name])
                    value = _shaped(value, shapes[name]) if name in own_names else value
                gradients.append(value)
            return tuple(gradients)

        values = tuple(leaf.value for leaf in spread) + tuple(
            item.value for item in chosen_parameters
        )
        names = tuple(leaf.name for leaf in spread) + tuple(item.name for item in chosen_parameters)
        pair = Pair(
            Adapted(self.forward, forward, self.kind),
            Adapted(self.backward, backward, self.kind),
            names,
            (self.forward, self.backward),
            lambda: self._pair(places),
            values,
            wrt,
            tuple(self._notes(places, loss, wrt)),
        )
        return pair

    def _ignores_dout(self, places):
        """Return whether a backward of a loss returns the same values for every ``dout``."""
        if not places.way.call.takes_cotangent or self._is_large(places.way):
            return False
        try:
            runs = [self._run(places.way.call, dout) for dout in (np.float64(1.0), np.float64(2.0))]
        except Exception:  # judged as it is
            return False
        values = [
            [reading.at(run[0], path) for path in places.returned.values()]
            + [run[2].get(path) for path in places.kept.values()]
            for run in runs
        ]
        return any(value is not None and np.any(value) for value in values[0]) and all(
            np.array_equal(a, b) for a, b in zip(*values, strict=True) if a is not None
        )

    def _notes(self, places, loss, wrt):
        title = self._title(self.methods.backward)
        if loss and places.way.call.takes_cotangent:
            yield (
                f"{title} ignores dout: it is the gradient of the loss itself, so it is right "
                "only as the last step"
            )
        elif reading.MODES[places.way.mode]:
            yield reading.MODES[places.way.mode].format(name=title)
        if places.updated:
            yield (
                f"{title} updates {', '.join(places.updated)} itself: the gradients are those "
                "updates, divided by the learning rate"
            )
        if self.draws:
            yield (
                f"{self._title(self.methods.forward)} draws from np.random: every call got the "
                "same numbers"
            )
        missing = [
            item.name
            for item in self.parameters
            if item.name not in wrt
            and isinstance(item.value, np.ndarray)
            and item.value.ndim
            and isinstance(item.paths[0][-1], str)
            and words.is_learned(item.paths[0][-1])
        ]
        if missing:
            yield f"no gradient was found for {', '.join(missing)}"


def _shaped(gradient, shape):
    """Return a gradient in the shape of its parameter if only axes of size 1 differ."""
    array = np.asarray(gradient)
    squeezed = tuple(n for n in array.shape if n != 1) == tuple(n for n in shape if n != 1)
    return array.reshape(shape) if array.shape != tuple(shape) and squeezed else gradient
