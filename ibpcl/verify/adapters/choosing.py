"""Targets of a file with their inputs, as pairs that can be checked.

Inputs that the file does not give are guessed.  A guess must run the forward; the gradient is not
asked whether it likes the guess.  Among the guesses that run, those that hide mistakes come last:
an axis of length one, or one example.  The shapes of returned gradients then say which guess the
author had in mind, because a gradient has the shape of its input.
"""

import difflib
import inspect
import itertools
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import construction, guesses, layouts, leaves, loss
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.build import cotangent
from ibpcl.verify.adapters.forms import opened
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.adapters.pair import Pair
from ibpcl.verify.adapters.product import kind_of
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.static import is_function
from ibpcl.verify.adapters.stub import to_paste

# Guesses that run the forward and are compared by their shapes.
OPENED = 40
STEP = 1e-2  # by which one entry is changed, to see on which entries an output depends
ENTRIES = 30  # of an input whose derivatives are compared with each other
MEETING = 1e-9  # relative difference of losses, above which examples depend on each other
FLAT = 1e-12  # relative difference of equal rates
REDRAWN = 4  # guesses with other numbers
SINGLE = 3  # what a number for the main input hides: more than a derivative without a meaning
ALIKE = 0.8  # of a misspelt attribute to the right one, as difflib measures it


class Ready(NamedTuple):
    """A target that can be checked: a pair, or two functions of the standard form.

    Attributes
    ----------
    forward : Pair or callable
        The pair, or the forward function.
    gradient : callable or None
        The gradient function; None for a pair.
    inputs : dict, sequence or None
        The inputs; None for a pair.
    guessed : str
        The guessed inputs in words; empty if none were guessed.
    wrt : sequence of int or str, or None
        The inputs to differentiate if the two functions have the standard form; None for all.
    special : tuple of (str, Ready)
        Guesses that are not generic, such as a symmetric matrix or one example, with their meaning.
        A gradient that is right only there is undecided: the author may have meant just these.
    """

    forward: object
    gradient: object
    inputs: object
    guessed: str
    wrt: object = None
    special: tuple = ()


def with_inputs(target, inputs, wrt, guessed):
    """Return a target with all its inputs, converted to a pair if necessary.

    Parameters
    ----------
    target : Target
        The target.
    inputs : dict or sequence
        All its inputs.
    wrt : sequence of int or str, or None
        The inputs to differentiate; None for all.
    guessed : str
        The guessed inputs in words.

    Returns
    -------
    Ready
        The pair, or the functions with their inputs.

    Raises
    ------
    FormError
        If the forward raises, or the form of the code is not recognized.
    """
    f = target.forward
    pair = opened(f, target.gradient, inputs, wrt, ordered=False, beside=target.beside)
    if pair is None:
        return Ready(f, target.gradient, inputs, guessed, wrt)
    return Ready(pair, None, None, guessed)


class Guess(NamedTuple):
    """A guess for which the forward runs.

    Attributes
    ----------
    ready : Ready
        The target with these inputs.
    hides : int
        How much the guess hides: the number of arrays with an axis of length one, and of single
        numbers for arrays; more if a derivative without a cotangent has no meaning there.
    misfits : float
        Number of gradients whose shape is not that of their input; half of them if the gradient
        function raises, so a guess that fits most gradients is better, and one that fits few is
        not.
    gradients : int
        Number of gradients.
    returned : dict of str to tuple of int
        Shapes of the returned gradients by input, if there is one for each input of the forward.
    plain : int
        Number of signs that mistakes do not show well: the main input is a vector, which may be a
        single example; the derivative is the same number in all entries of an input.
    runs : bool
        Whether the gradient function returns anything.
    """

    ready: Ready
    hides: int
    misfits: float
    gradients: int
    returned: dict
    plain: int
    runs: bool

    @property
    def cost(self):
        """How unsuitable the guess is: by what it hides, then by its shapes, then how plain."""
        return self.hides, self.misfits, self.plain


def with_guesses(target, given, missing, wrt):
    """Return a target with given and guessed inputs.

    Parameters
    ----------
    target : Target
        The target.
    given : dict of str to object
        The given inputs.
    missing : sequence of str
        Names of missing inputs, for the message.
    wrt : sequence of int or str, or None
        The inputs to differentiate; None for all.

    Returns
    -------
    Ready
        The pair, or the functions with their inputs.

    Raises
    ------
    FormError
        If no guess runs the forward.  The message has a ``check_inputs`` to fill in.
    """
    f = target.forward
    function, skip, holder, held, beside = _source_of_guesses(target)
    unknown = guesses.unknown(function, skip, holder, {**held, **given}, beside)
    names = [name for name in unknown.names if name not in given]
    unknown = unknown._replace(names=[*names, *construction.arrays(f, given)])
    documented = unknown.documented
    is_hessian = kind_of(target.name) == "hvp"
    found = []
    error = None
    wanted = []
    for guess in _interleaved(unknown.guesses(), wanted):
        guess = guesses.labelled(guess, unknown.context)
        try:
            with np.errstate(all="ignore"):
                ready = with_inputs(
                    target, _copied({**given, **guess}), wrt, guesses.described(guess)
                )
                made = _guess(ready, guess, documented)
                if made and is_hessian and np.size(target.forward(**_copied(guess))) > 1:
                    made = made._replace(hides=made.hides + 2)  # a Hessian is that of a number
        except Exception as reason:  # code under check may raise anything
            cause = reason.__cause__ if isinstance(reason, FormError) else reason
            final = reason if isinstance(reason, FormError) else None
            if final and (final.in_gradient or _is_final(cause)):
                raise
            if _is_final(cause):
                raise FormError(raised(reason, target.name)) from reason
            wanted += guesses.changed(guess, str(reason))
            error = error or final or FormError(raised(reason, target.name))
            continue
        if made is None:
            wanted += guesses.positive(guess)
            error = error or FormError(
                f"{target.name} returns values that are not finite for {guesses.described(guess)}"
            )
            continue
        found.append((made, guess))
        raised_first = getattr(ready.forward, "raised", None)
        wanted += guesses.changed(guess, str(raised_first)) if raised_first else []
        redraws = (made.hides or made.plain) and len(found) < REDRAWN
        is_known = documented.issuperset(unknown.names) and not redraws
        if made.cost == (0, 0, 0) or is_known or len(found) >= OPENED:
            break
        wanted += _of_shapes_returned(guess, made.returned)
        if redraws:
            wanted += _drawn_again(guess, len(found))
    if not found:
        raise to_paste(target, missing, unknown, error)
    best, guess = min(found, key=lambda item: item[0].cost)
    if best.ready.guessed and 1 < best.misfits >= best.gradients and best.runs:
        words_of = f"for {best.ready.guessed}, the gradients have the shapes of other inputs"
        error = FormError(words_of)
        raise to_paste(target, missing, unknown, error)
    special = [(made.ready.guessed, made.ready) for made, _ in found if _is_simpler(made, best)]
    special += _variants(target, given, guess, wrt)
    return best.ready._replace(special=tuple(special))


def _source_of_guesses(target):
    """Return the function whose parameters are guessed, its class, and what helps to guess them.

    These are arrays that may fit, and the gradient function.
    """
    f = target.forward
    beside = target.gradient if inspect.isroutine(target.gradient) else None
    if inspect.isroutine(f) or (not inspect.isclass(f) and methods_of(type(f)) is None):
        held = {leaf.name: leaf.value for leaf in loss.globals_of(f)} if not target.gradient else {}
        if inspect.isroutine(f) or loss.method_of(type(f)) is None:
            return f, 0, None, held, beside
    kind = f if inspect.isclass(f) else type(f)
    methods = methods_of(kind)
    method = methods.forward if methods else loss.method_of(kind)
    static = isinstance(inspect.getattr_static(kind, method), (staticmethod, classmethod))
    skip = (1 if is_function(kind) else 0) if static else 1
    held = {} if inspect.isclass(f) else leaves.arrays_in(f)
    held = {str(path): value for path, value in held.items() if 0 < np.ndim(value) < 3}
    beside = getattr(kind, methods.backward) if methods else None
    return getattr(kind, method), skip, kind, dict(list(held.items())[:4]), beside


def _copied(named):
    return {name: leaves.duplicate(value) for name, value in named.items()}


def _guess(ready, guess, documented):
    """Return what a guess hides, and how many gradients do not fit; None if the output is NaN."""
    if isinstance(ready.forward, Pair):
        pair = ready.forward
        out = pair.forward(*map(leaves.duplicate, pair.inputs))[0]
        point = dict(zip(pair.names, pair.inputs, strict=True))
        wanted, returned = min(
            (_shapes_of(each, point) for each in (pair, *pair.alternatives)),
            key=lambda both: _n_misfits(*both),
        )
        shapes = pair.shapes
        unjudged = len(pair.unjudged)
        strange = (
            pair.mode == "sum"
            or (pair.mode == "mean" and not pair.excuses)  # else the code takes the mean
            or (pair.mode == "elementwise" and not _is_elementwise(pair))
        )
        judged = {name.partition("[")[0] for name in pair.wrt}
    else:
        moved = {name: value for name, value in ready.inputs.items() if leaves.is_array(value)}
        out, cache = ready.forward(**_copied(ready.inputs))
        wanted = list(map(np.shape, moved.values()))
        returned = _shapes_returned(lambda: ready.gradient(cotangent(out, 0), cache))
        shapes = dict(zip(moved, returned or (), strict=False))
        unjudged = 0
        strange = False
        judged = set(moved)
    parts = out if isinstance(out, (tuple, list)) else (out,)
    if not all(np.asarray(part).dtype.kind in "fc" and np.all(np.isfinite(part)) for part in parts):
        return None
    strange = strange or (isinstance(ready.forward, Pair) and _meets_others(ready.forward))
    misfits = _n_misfits(wanted, returned) + unjudged
    hides = _hidden(guess, parts, documented, judged) + 2 * strange
    plain = any(
        words.plain(name) in words.GENERIC and np.ndim(value) == 1 for name, value in guess.items()
    )
    if isinstance(ready.forward, Pair) and np.size(parts[0]) == 1:
        plain += _is_flat(ready.forward)
    return Guess(ready, hides, misfits, len(wanted), shapes, plain, bool(returned))


def _is_flat(pair):
    """Return whether a number depends on all entries of an input at the same rate.

    Only the forward is called.  Exchanged entries of a gradient do not show at such a point.
    """
    for n, name in enumerate(pair.names):
        size = np.size(pair.inputs[n])
        if name not in pair.wrt or not 1 < size <= ENTRIES:
            continue
        ends = []
        for at in range(size):
            values = [leaves.duplicate(value) for value in pair.inputs]
            values[n] = np.array(values[n], dtype=float)
            values[n].flat[at] += STEP
            ends.append(float(np.sum(pair.forward(*values)[0])))
        if np.ptp(ends) <= FLAT * max(map(abs, ends)):
            return True
    return False


def _meets_others(pair):
    """Return whether the label of one example meets other examples, as (3,) meets (3, 1).

    Only the forward is called.  The difference that a label makes is then another one if another
    example changes.
    """
    arrays = {
        name: value
        for name, value in zip(pair.names, pair.inputs, strict=True)
        if isinstance(value, np.ndarray) and value.ndim and not words.is_weight(name)
    }
    labels = [name for name in arrays if words.may_be_label(name)]
    others = [n for n in arrays if n not in labels and leaves.is_array(arrays[n])]
    if not labels or not others:
        return False
    count = len(arrays[labels[0]])
    axes = [n for n, size in enumerate(np.shape(arrays[others[0]])) if size == count > 1]
    if not axes:
        return False

    def total(has_other_features, has_other_label):
        values = {
            name: _nonzero(value) for name, value in zip(pair.names, pair.inputs, strict=True)
        }
        if has_other_features:
            examples = np.moveaxis(values[others[0]], axes[0], 0)
            examples[0] = 1 - examples[0]
        if has_other_label:
            values[labels[0]][1] = values[labels[0]][0]
        out = pair.forward(*values.values())[0]
        return float(np.sum(np.real(out[0] if isinstance(out, tuple) else out)))

    ends = [total(*changed) for changed in itertools.product((False, True), repeat=2)]
    meeting = ends[3] - ends[2] - ends[1] + ends[0]
    return abs(meeting) > MEETING * max(map(abs, ends))


def _nonzero(value):
    """Return a copy of an input; of zeros, with which weights often begin, other numbers."""
    if isinstance(value, np.ndarray) and leaves.is_array(value) and not np.any(value):
        return np.random.default_rng(4).normal(size=value.shape)
    return leaves.duplicate(value)


def _is_elementwise(pair):
    """Return whether each output depends on the entry of an input at the same place alone.

    Only the forward is called: elsewhere, a derivative of the shape of the input has no meaning.
    """
    out = np.asarray(pair.forward(*map(leaves.duplicate, pair.inputs))[0])
    for n, name in enumerate(pair.names):
        if name not in pair.wrt or np.size(pair.inputs[n]) != out.size:
            continue
        values = [leaves.duplicate(value) for value in pair.inputs]
        values[n] = np.array(values[n], dtype=float)
        values[n].flat[0] += STEP
        changed = np.asarray(pair.forward(*values)[0]) != out
        if np.any(changed.ravel()[1:]):
            return False
    return True


def _drawn_again(guess, seed):
    """Return a guess of the same shapes with other numbers, as an output was constant."""
    rng = np.random.default_rng(10 + seed)
    drawn = {
        name: rng.normal(size=value.shape)
        for name, value in guess.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    }
    return [{**guess, **drawn}]


def _shapes_of(pair, point):
    """Return the shapes of the inputs of a pair, and those of its gradients."""
    out, cache = pair.forward(*map(leaves.duplicate, pair.inputs))
    returned = _shapes_returned(lambda: pair.backward(cotangent(out, 0), cache))
    return [np.shape(point[name]) for name in pair.wrt], returned


def _n_misfits(wanted, returned):
    """Return the number of gradients of another shape; 1 if the gradient function raises."""
    if returned is None:
        return 1
    return len(wanted) - sum(one == other for one, other in zip(returned, wanted, strict=False))


def _shapes_returned(call):
    """Return the shapes of the gradients that a call returns, None if it raises."""
    try:
        returned = call()
    except (Exception, SystemExit):  # the mistake is found, and named, when the pair is judged
        return None
    if isinstance(returned, dict):
        returned = list(returned.values())
    gradients = returned if isinstance(returned, (tuple, list)) else [returned]
    return [None if one is None else np.shape(one) for one in gradients]


def _of_shapes_returned(guess, shapes):
    """Return guesses in which one input has the shape of its returned gradient.

    A bias or a gain stays a vector: a gradient of another form was not summed.
    """
    rng = np.random.default_rng(2)
    made = []
    for name, value in guess.items():
        items = value if isinstance(value, dict) else {name: value}
        for key, item in items.items():
            shape = shapes.get(name if items is not value else f'{name}["{key}"]')
            is_matrix = words.is_vector(key) and sum(size > 1 for size in shape or ()) > 1
            if not shape or shape == np.shape(item) or is_matrix or isinstance(item, (str, list)):
                continue
            drawn = rng.normal(size=shape)
            made.append({**guess, name: {**value, key: drawn} if items is value else drawn})
    return made


def _hidden(guess, parts, documented, judged):
    """Return how many mistakes guessed inputs may hide, as the number of arrays that are too plain.

    An axis of length one hides a missing sum and a missing transpose; so does a single number in
    the place of an array.  Square matrices hide a transpose.  A bias may be a row or a column, and
    a documented shape is meant so.
    """
    hidden = 0
    vectors = [
        name for name, value in guess.items() if np.ndim(value) == 1 and words.is_weight(name)
    ]
    for name, value in guess.items():
        if name in documented or not isinstance(value, (np.ndarray, np.generic, int, float)):
            continue
        is_main = words.plain(name) in words.GENERIC
        if isinstance(value, int):  # a count or an index, but not the main input
            hidden += is_main
        elif np.ndim(value) == 0:
            usual = words.plain(name) in layouts.NUMBERS
            known = words.is_setting(name) or words.is_noise(name) or usual
            is_loss = all(np.size(part) == 1 for part in parts)
            beside_vector = is_loss and words.is_vector(name) and len(vectors) > 0
            if (is_main or name in judged) and not known and not beside_vector:
                hidden += SINGLE if is_main else 1
        elif 1 in np.shape(value) and not (
            np.size(value) > 1 and (words.is_vector(name) or words.may_be_label(name))
        ):
            hidden += SINGLE if is_main and np.size(value) == 1 else 1
    shapes = {np.shape(value) for value in guess.values() if leaves.is_array(value)}
    compared = len(guess) == 2 and any(map(words.may_be_label, guess)) and judged.issubset(guess)
    hidden += SINGLE * (compared and len(shapes) > 1)  # of a prediction and its label
    square = [one for one in guess.values() if np.ndim(one) == 2 and np.ptp(np.shape(one)) == 0]
    hidden += len(square) > 1
    plain = any(np.size(part) == 1 < np.ndim(part) + 1 for part in parts)
    return hidden + plain + any(np.size(part) > 1 and np.ptp(part) == 0 for part in parts)


def _is_simpler(made, best):
    """Return whether a guess fits all gradients, where the more general one does not."""
    return made.misfits == 0 < best.misfits and made.hides > best.hides


def _variants(target, given, guess, wrt):
    """Return guesses that are not generic, but may be meant.

    A loss of two arrays may be one of vectors or columns, with one number for each example.  The
    matrix of a quadratic form may be symmetric.
    """
    made = []
    arrays = {one: value for one, value in guess.items() if np.ndim(value) == 2}
    if len(arrays) == len(guess) == 2 and len({value.shape for value in arrays.values()}) == 1:
        vectors = {one: value[:, 0].copy() for one, value in arrays.items()}
        columns = {one: value[:, :1].copy() for one, value in arrays.items()}
        made += [(guesses.described(one), one) for one in (vectors, columns)]
    symmetric = {
        one: (value + value.T) / 2
        for one, value in arrays.items()
        if len(set(value.shape)) == 1 < value.shape[0] and value.dtype.kind == "f"
    }
    symmetrized = {**guess, **symmetric}
    if symmetric and _value(target, {**given, **guess}) == _value(target, {**given, **symmetrized}):
        made.append((f"a symmetric {' and '.join(symmetric)}", symmetrized))
    labels = list(filter(words.is_label, arrays)) or list(filter(words.may_be_label, arrays))
    ones = {
        one: np.eye(len(arrays[one]))[:, np.arange(arrays[one].shape[1]) % len(arrays[one])]
        for one in labels
        if arrays[one].dtype.kind == "f"
    }
    made += [(f"each column of {' and '.join(ones)} has one 1", {**guess, **ones})] if ones else []
    ready = []
    for meaning, inputs in made:
        try:
            with np.errstate(all="ignore"):
                ready.append((meaning, with_inputs(target, {**given, **inputs}, wrt, meaning)))
        except Exception:  # the forward does not run there
            continue
    return ready


def _value(target, inputs):
    """Return the output of a quadratic form, rounded; it is the same for its symmetric part."""
    try:
        ready = with_inputs(target, inputs, None, "")
        forward = ready.forward
        out = forward.forward(*forward.inputs)[0] if ready.inputs is None else forward(**inputs)[0]
    except Exception:  # the forward does not run there
        return None
    return float(f"{float(out):.9e}") if np.size(out) == 1 else None


def _is_final(error):
    """Return whether an exception says that no other inputs help, such as an unknown name."""
    unknown = isinstance(error, NameError) and not isinstance(error, UnboundLocalError)
    misspelt = (
        isinstance(error, AttributeError)
        and isinstance(error.obj, (np.ndarray, np.generic))
        and not hasattr(dict, error.name)  # else a dict is meant
        and difflib.get_close_matches(error.name, dir(error.obj), cutoff=ALIKE)
    )
    return unknown or bool(misspelt) or isinstance(error, (SystemExit, NotImplementedError))


def _interleaved(combinations, wanted):
    """Yield combinations, and before the next one those that the caller has put into a list."""
    left = guesses.MOST
    for guess in combinations:
        yield guess
        while wanted and left:
            left -= 1
            yield wanted.pop(0)
