"""Pairs from an object with a forward and a backward method: its parameters and its gradients.

Each forward call works on a new copy of the object, with the given parameters in its attributes.
The copy is the cache.  Gradients are read from the result of the backward, from attributes, or from
the update of the parameters.
"""

import ast
import inspect
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import binding, draws, leaves, reading, state
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.arguments import Arguments, is_moved
from ibpcl.verify.adapters.methods import after_backward, followed, method_of, methods_of
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.pairs import LOSS_WORDS, cotangent, joined, n_outputs, of_modes, split
from ibpcl.verify.adapters.preparing import initialized, kept_output, plain_steps, prepared
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.signatures import method_parameters, returned_names, store_of, tree_of

MOST = 100  # arrays of an object for which it is tested whether the output depends on them


class Places(NamedTuple):
    """Where the gradients are after a call of a backward method.

    Attributes
    ----------
    returned : dict of str to tuple
        Paths in the result, by name of an input or a parameter.
    kept : dict of str to tuple
        Paths in the object after the call.
    updated : dict of str to tuple
        Paths of parameters that the backward updates.
    moves : bool
        Whether the backward changes any parameter.
    extra : list of Entry
        Returned arrays that belong to no input and no parameter.
    stored : list of str
        Names of attributes that hold arrays after the call, and are the gradient of nothing else.
    """

    returned: dict
    kept: dict
    updated: dict
    moves: bool
    extra: list
    stored: list

    @property
    def names(self):
        """Names of the inputs and parameters with a gradient."""
        return {**self.returned, **self.kept, **self.updated}


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


class Run(NamedTuple):
    """One call of a forward and a backward on a copy of an object.

    Attributes
    ----------
    result : object
        What the backward returned.
    before, after : dict of tuple to ndarray
        The arrays of the object before and after the backward, by path.
    values : dict of tuple to ndarray
        Copies of the arrays before.
    """

    result: object
    before: dict
    after: dict
    values: dict


def pair_of_object(holder, given, keywords=(), methods=None, output=None):
    """Return the pair of an object that has a forward and a backward method.

    Parameters
    ----------
    holder : object
        The object.
    given : dict of str to object
        Arguments of the forward method by name.
    keywords : tuple of str
        Names of keyword-only arguments.
    methods : Methods, optional
        The names of its methods.  By default, :func:`methods_of` its class.
    output : bool, optional
        Whether the backward takes the output of the forward (True) or its input (False), if its
        names leave both.

    Returns
    -------
    Pair
        The forward and its gradient.

    Raises
    ------
    FormError
        If the forward raises, or no gradient is found.
    """
    return Opened(holder, given, keywords, methods or methods_of(type(holder))).pair(output)


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
        self.store = store_of(self.backward)
        after = after_backward(self.kind)
        if after is not None and self.store is None and inspect.isfunction(self.backward):
            self.backward = followed(self.backward, methods, after)
        every = method_parameters(self.kind, methods.backward)
        self.received = every._replace(
            required=[name for name in every.required if name != self.store],
            optional=[name for name in every.optional if name != self.store],
        )
        self.holder = leaves.widened(holder)
        self.draws = False
        after, self.result = self._probe(self.holder)
        if self._is_prepared_by_forward(after):
            self.holder = initialized(self.holder, after) or prepared(self.holder, after)
            after, self.result = self._probe(self.holder)
        found = state.parameters_in(self.holder, after, list(given.values()))
        self.used = {item.name for item in found[:MOST] if self._is_used(item)}
        self.parameters = [
            item for item in found if item.name in self.used or not state.is_gradient(item)
        ]
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
        result = self.arguments.passed_to(lambda *a, **k: function(copy, *a, **k), made)
        return kept_output(copy) if result is None else result

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
                or (
                    len(path) > 1
                    and words.plain(path[-1]) in words.PARAMETER_HOLDERS
                    and words.is_learned(path[-2])
                )
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
        extras = split(self.result, outputs)[1]
        forward = binding.Forward(
            self.methods.forward,
            list(self.arguments.given),
            len(extras),
            max(outputs, 1),
            returned_names(self.forward),
            method=True,
            keeps=_stores(self.forward),
        )
        made = []
        for way in binding.readings_of(self.backward, self.received, forward, output):
            made.append(self._of_reading(way, outputs))
        return joined(made)

    def _of_reading(self, way, outputs):
        """Return the pair of one reading."""
        out = split(self.result, outputs)[0]
        parts = out if isinstance(out, tuple) else (out,)
        if not any(map(leaves.is_array, parts)):
            raise FormError(
                f"check: {self._title(self.methods.forward)} returns "
                f"{type(out).__name__}, not an array; {self._usage()}"
            )
        try:
            run = self._run(way.call, cotangent(out, 0), outputs)
        except NotImplementedError as error:
            title = self._title(self.methods.backward)
            raise FormError(f"check: {raised(error, title)}", in_gradient=True) from error
        except (Exception, SystemExit) as error:  # the mistake is found when the pair is judged
            return replace(self._pair(way, outputs, "vjp", None), raised=error)
        places = self._places(way, run)
        if not places.names:
            raise FormError(
                f"check: no gradient was found after {self._title(self.methods.backward)}; "
                f"{self._usage()}",
                in_gradient=True,
            )
        by_name = {leaf.name: leaf for leaf in self.arguments.spread}
        for item in self.parameters:
            by_name[item.name] = reading.Leaf(item.name, item.paths[0], item.value)
        matched = [
            (by_name[name], reading.at(run.result, p)) for name, p in places.returned.items()
        ]
        matched += [(by_name[name], run.after[path]) for name, path in places.kept.items()]
        main = out[0] if isinstance(out, tuple) else out
        title = [*words.tokens(self.kind.__name__), *words.tokens(self.methods.forward)]
        of_loss = not LOSS_WORDS.isdisjoint(title)
        modes = reading.modes_of(main, matched, way.call.takes_cotangent, of_loss)
        made = of_modes(
            modes, lambda mode: self._pair(way, outputs, mode, places), self.methods.forward
        )
        shapes = reading.shapes_by_input(run.result, self._names(), self.arguments.spread)
        return replace(made, shapes=shapes)

    def _parameter_leaves(self):
        return [
            reading.Leaf(item.name, item.paths[0], item.value)
            for item in self.parameters
            if isinstance(item.value, np.ndarray) or words.is_learned(str(item.paths[0][-1]))
        ]

    def _names(self):
        """Return the names in the ``return`` of the backward."""
        names = returned_names(getattr(self.kind, self.methods.backward))
        return names if self.store is None else [names, None]

    def _run(self, call, dout, outputs):
        """Call forward and backward on a new copy."""
        copy = leaves.duplicate(self.holder)
        made = self._copies()
        out, extras = split(self._seeded(lambda: self._call(self.forward, copy, made)), outputs)
        before = leaves.arrays_in(copy)
        values = {path: np.array(value) for path, value in before.items()}
        positional, named = call.arguments(dout, out, extras, made)
        returned = self._gradients(self.backward, copy, positional, named)
        return Run(returned, before, leaves.arrays_in(copy), values)

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

    def _places(self, way, run):
        """Return the positions of the gradients after one call of the backward."""
        moved = [leaf for leaf in self.arguments.spread if is_moved(leaf)]
        parameters = self._parameter_leaves()
        found = reading.assigned(run.result, self._names(), moved, self.arguments.spread)
        of_model = [leaf for leaf in parameters if words.is_learned(leaf.keys[-1])]
        n_entries = len(reading.entries_of(run.result))
        if not way.call.takes_cotangent and n_entries == len(of_model) > 0:
            found = reading.assigned(run.result, self._names(), of_model)
        elif parameters and (found.extra or not found.paths):
            found = reading.assigned(run.result, self._names(), moved + parameters)
        returned = found.paths
        kept = {}
        for leaf in moved:
            path = state.input_gradient_path(
                leaf.name,
                np.shape(leaf.value),
                run.after,
                run.before,
                sum(not words.is_label(other.name) for other in moved) == 1,
            )
            is_data = words.is_label(leaf.name) and len(moved) > 1
            if leaf.name not in returned and path and path not in kept.values() and not is_data:
                kept[leaf.name] = path
        updated = {}
        for item in self.parameters:
            paths = state.gradient_paths(item, run.after, run.before)
            if item.name in returned:
                continue
            if paths:
                kept[item.name] = paths[0]
            elif (way.call.takes_rate or plain_steps(self.holder)) and _is_updated(item, run):
                updated[item.name] = item.paths[0]
        moves = any(_is_updated(item, run) for item in self.parameters)
        used = set(kept.values())
        stored = [path[0] for path in run.after if len(path) == 1 and path not in used]
        return Places(returned, kept, updated, moves, found.extra, stored)

    def _pair(self, way, outputs, mode, places):
        """Return the pair of one reading; without ``places`` if the backward has raised."""
        spread = self.arguments.spread
        learned = [item for item in self.parameters if _is_learned(item) or item.name in self.used]
        if places is None:
            moved = [leaf for leaf in spread if is_moved(leaf) and not reading.is_fixed(leaf)]
            names = {leaf.name for leaf in moved} | {item.name for item in learned}
        else:
            names = set(places.names)
        chosen = [item for item in self.parameters if item.name in names]
        wrt = tuple(leaf.name for leaf in spread if leaf.name in names)
        wrt += tuple(item.name for item in chosen)
        shapes = {leaf.name: np.shape(leaf.value) for leaf in spread}
        shapes.update({item.name: np.shape(item.value) for item in chosen})
        loss = mode == "loss" or (places is not None and self._ignores_dout(way, outputs, places))

        def forward(source, *values):
            copy = leaves.duplicate(self.holder, self.shared)
            for item, value in zip(chosen, values[len(spread) :], strict=True):
                own = np.array(value) if isinstance(value, np.ndarray) else value
                for path in item.paths:  # it may be updated in place
                    leaves.put(copy, path, own)
            made = self.arguments.rebuilt(values[: len(spread)])
            result = self._seeded(lambda: self._call(source, copy, made))
            out, extras = split(result, outputs)
            return reading.reduced(mode, out), Held(copy, made, out, extras)

        def backward(source, dout, held):
            positional, named = way.call.arguments(dout, held.out, held.extras, held.arguments)
            holder = held.holder
            if places is None or places.moves:  # an update is for one step
                holder = leaves.duplicate(holder)
            before = leaves.arrays_in(holder) if places is None else {}
            values = {path: np.array(value) for path, value in before.items()}
            updated = {} if places is None else places.updated
            old = {name: np.array(leaves.get(holder, path)) for name, path in updated.items()}
            rate = way.call.rate(dout)
            for step in plain_steps(holder):
                step.rate = rate
            result = self._gradients(source, holder, positional, named)
            found = places
            if found is None:
                found = self._places(way, Run(result, before, leaves.arrays_in(holder), values))
            gradients = []
            for name in wrt:
                if name in old:
                    value = (old[name] - leaves.get(holder, updated[name])) / rate
                elif name in found.kept:
                    value = reading.at(holder, found.kept[name])
                else:
                    value = reading.at(result, found.returned.get(name, ("missing",)))
                if value is not None:
                    value = reading.pulled("loss" if loss else mode, dout, value, shapes[name])
                gradients.append(value)
            return tuple(gradients)

        values = tuple(leaf.value for leaf in spread) + tuple(item.value for item in chosen)
        return Pair(
            Adapted(self.forward, forward, self.kind),
            Adapted(self.backward, backward, self.kind),
            tuple(leaf.name for leaf in spread) + tuple(item.name for item in chosen),
            (self.forward, self.backward),
            lambda: self._pair(way, outputs, mode, places),
            values,
            wrt,
            tuple(self._notes(way, mode, places, loss)) if places is not None else (),
            tuple(self._unjudged(way, places, learned)) if places is not None else (),
            way.assumed,
            way.declare,
            mode,
        )

    def _unjudged(self, way, places, learned):
        """Yield sentences about gradients that are not judged."""
        moved = [leaf for leaf in self.arguments.spread if is_moved(leaf)]
        found = reading.Assignment(places.names, places.extra)
        is_layer = way.call.takes_cotangent and not way.call.takes_rate
        yield from reading.unjudged(found, moved, is_layer)
        is_layer = is_layer or bool(places.kept or places.updated)
        missing = [item.name for item in learned if is_layer and item.name not in places.names]
        for name, value in leaves.children(self.holder):
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and any(words.is_gradient_of(other, name) for other in places.stored):
                yield f"{name} is a single number here, but a gradient is stored for it"
        if missing:
            attribute = f"d{missing[0].rpartition('.')[2]}"
            yield (
                f"no gradient was found for the parameter {', '.join(missing)}: return it, or "
                f"store it in an attribute such as {attribute}"
            )

    def _ignores_dout(self, way, outputs, places):
        """Return whether a backward of a loss returns the same values for every ``dout``."""
        if not way.call.takes_cotangent or np.size(split(self.result, outputs)[0]) > 1:
            return False
        try:
            runs = [self._run(way.call, dout, outputs) for dout in (np.float64(1), np.float64(2))]
        except Exception:  # judged as it is
            return False
        values = [
            [reading.at(run.result, path) for path in places.returned.values()]
            + [run.after.get(path) for path in places.kept.values()]
            for run in runs
        ]
        return any(value is not None and np.any(value) for value in values[0]) and all(
            np.array_equal(a, b) for a, b in zip(*values, strict=True) if a is not None
        )

    def _notes(self, way, mode, places, loss):
        title = self._title(self.methods.backward)
        if loss and way.call.takes_cotangent:
            yield (
                f"{title} ignores dout: it is the gradient of the loss itself, so it is right "
                "only as the last step"
            )
        elif reading.MODES[mode]:
            yield reading.MODES[mode].format(name=title)
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


def _stores(method):
    """Return whether a method assigns attributes of its object."""
    tree = tree_of(getattr(method, "source", method))
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree or ast.Pass())
    )


def _is_learned(item):
    """Return whether a parameter is learned according to its name, and not a number."""
    steps = [step for step in item.paths[0] if isinstance(step, str)]
    names = (
        steps[-2:] if steps and words.plain(steps[-1]) in words.PARAMETER_HOLDERS else steps[-1:]
    )
    return (
        isinstance(item.value, np.ndarray)
        and item.value.ndim > 0
        and any(map(words.is_learned, names))
    )


def _is_updated(item, run):
    """Return whether a call has changed a parameter in place."""
    return any(
        path in run.after
        and path in run.values
        and np.shape(run.after[path]) == np.shape(run.values[path])
        and np.any(run.after[path] != run.values[path])
        for path in item.paths
    )
