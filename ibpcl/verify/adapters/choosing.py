"""Choice of inputs that a file does not give.

A guess must run the forward; the gradient is not asked whether it likes the guess.  Among the
guesses that run, those that hide mistakes come last: an axis of length one, or one example.  The
shapes of returned gradients then indicate the guess that the author had in mind, because a gradient
has the shape of its input.
"""

from collections import deque
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import guesses, layouts, leaves
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.build import cotangent
from ibpcl.verify.adapters.forms import recognised
from ibpcl.verify.adapters.pair import Pair
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.stub import to_paste

# Guesses that run the forward and are compared with each other.
OPENED = 40
STEP = 1e-2  # by which one entry is changed, to see on which entries an output depends
SYMMETRIC = "a symmetric"
SINGLE = 3  # what a number for the main input hides: more than a derivative without a meaning

NEAR = 0.1  # the cost of a gradient whose shape differs by axes of length one


class Guess(NamedTuple):
    """Guessed inputs for which the forward runs.

    Attributes
    ----------
    inputs : dict of str to object
        The guessed inputs.
    pair : Pair
        The target with them.
    hides : int
        How much they hide: the number of arrays with an axis of length one, and of single numbers
        for arrays; more if a derivative without a cotangent has no meaning there.
    misfits : float
        Number of gradients whose shape is not that of their input; 1 if the gradient function
        raises, so a guess that fits most gradients is better, and one that fits few is not.
    is_strange : bool
        Whether no gradient fits, although several are returned.
    returned : dict of str to tuple
        Shapes of returned gradients that are not those of their inputs: evidence for another guess.
    """

    inputs: dict
    pair: Pair
    hides: int
    misfits: float
    is_strange: bool
    returned: dict

    @property
    def cost(self):
        """Cost of the guess: how much it hides, then the misfits of its shapes."""
        return self.hides, self.misfits


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
    Pair
        With the same code at special inputs, for which it may be meant.

    Raises
    ------
    FormError
        If no guess runs the forward.  The message has a ``check_inputs`` to fill in.
    """
    unknown = guesses.unknown(target, given)
    found, error = _running(target, given, unknown, wrt)
    best = min(found, key=lambda guess: guess.cost, default=None)
    if best is not None and best.is_strange:
        where = guesses.described(best.inputs)
        error = FormError(f"for {where}, the gradients have the shapes of other inputs")
    if best is None or best.is_strange:
        raise to_paste(target, missing, unknown, error)
    special = [guess.pair for guess in found if _is_simpler(guess, best)]
    for meaning, inputs in _variants(best.inputs, unknown.is_for_one_row):
        try:
            with np.errstate(all="ignore"):
                other = _opened(target, given, inputs, wrt, meaning)
                if meaning.startswith(SYMMETRIC) and _total(other) != _total(best.pair):
                    continue
        except Exception:  # the forward does not run there
            continue
        special.append(other)
    return replace(best.pair, special=tuple(special))


def _running(target, given, unknown, wrt):
    """Return the guesses for which the forward runs, and why another one is refused."""
    found = []
    unread = []  # the forward runs, and returns something of no form
    failed = []
    waiting = deque()
    is_told = False
    for inputs in _interleaved(unknown.guesses(), waiting):
        try:
            with np.errstate(all="ignore"):
                guess = _guess(target, given, inputs, unknown.documented, wrt)
        except Exception as error:  # code under check may raise anything
            refusal = error if isinstance(error, FormError) else None
            cause = error.__cause__ if refusal else error
            if refusal and (refusal.in_gradient or _is_final(cause)):
                raise
            reason = refusal or FormError(raised(error, target.name))
            if _is_final(cause):
                raise reason from error
            waiting += guesses.as_indices(inputs, str(error))
            (failed if cause else unread).append(reason)
            continue
        if guess is None:
            waiting += guesses.positive(inputs)
            where = guesses.described(inputs)
            failed.append(FormError(f"{target.name} is not finite for {where}"))
            continue
        found.append(guess)
        if guess.returned and not is_told:  # once, as a result may grow with its input
            is_told = True
            waiting.append(guesses.reshaped(inputs, guess.returned))
        waiting += guesses.as_indices(inputs, str(guess.pair.raised))
        is_known = unknown.documented.issuperset(unknown.names)
        if guess.cost == (0, 0) or is_known or len(found) >= OPENED:
            break
    return found, next(iter(unread + failed), None)


def _interleaved(combinations, waiting):
    """Yield combinations, and before the next one those that the caller has put into a queue."""
    for guess in combinations:
        yield guess
        while waiting:
            yield waiting.popleft()


def _opened(target, given, guess, wrt, meaning):
    """Return a target with given and guessed inputs as a pair."""
    inputs = leaves.duplicate({**given, **guess})
    return replace(recognised(target.code(inputs), wrt), guessed=meaning)


def _guess(target, given, inputs, documented, wrt):
    """Return a guess with its costs; None if the output is not finite."""
    pair = _opened(target, given, inputs, wrt, guesses.described(inputs))
    out = pair.forward(*map(leaves.duplicate, pair.inputs))[0]
    parts = out if isinstance(out, (tuple, list)) else (out,)
    if not all(np.asarray(part).dtype.kind in "fc" and np.all(np.isfinite(part)) for part in parts):
        return None
    misfits, returns, other = min(
        map(_misfits, (pair, *pair.alternatives)), key=lambda one: one[:2]
    )
    misfits += len(pair.unjudged)
    judged = {name.partition("[")[0] for name in pair.wrt}
    hides = _hidden(inputs, parts, documented, judged) + 2 * _has_no_meaning(pair)
    # a function that returns its loss with gradients returns a number, or gradients that fit
    is_no_loss = target.gradient is None and target.kind is None and pair.mode == "elementwise"
    is_strange = returns and (misfits > 0 if is_no_loss else 1 < misfits >= len(pair.wrt))
    return Guess(inputs, pair, hides, misfits, is_strange, other)


def _has_no_meaning(pair):
    """Return whether a derivative without a cotangent has no meaning for an output of this shape.

    Only the forward is called.  A derivative of the shape of the input has none if an output
    depends on other entries than that at its place.
    """
    if pair.mode != "elementwise":
        return pair.mode == "sum" or (pair.mode == "mean" and not pair.excuses)
    out = np.asarray(pair.forward(*map(leaves.duplicate, pair.inputs))[0])
    for n, name in enumerate(pair.names):
        if name not in pair.wrt or np.size(pair.inputs[n]) != out.size:
            continue
        values = [leaves.duplicate(value) for value in pair.inputs]
        values[n] = np.array(values[n], dtype=float)
        values[n].flat[0] += STEP
        changed = np.asarray(pair.forward(*values)[0]) != out
        if np.any(changed.ravel()[1:]):
            return True
    return False


def _misfits(pair):
    """Return how many gradients have another shape, whether any is returned, and these shapes."""
    point = dict(zip(pair.names, pair.inputs, strict=True))
    out, cache = pair.forward(*map(leaves.duplicate, pair.inputs))
    try:
        gradients = pair.backward(cotangent(out, 0), cache)
    except (Exception, SystemExit):  # the mistake is found, and named, when the pair is judged
        return 1, False, {}
    shapes = {name: np.shape(one) for name, one in zip(pair.wrt, gradients, strict=True)}
    costs = {name: _misfit(np.shape(point[name]), shape) for name, shape in shapes.items()}
    return sum(costs.values()), True, {name: shapes[name] for name, cost in costs.items() if cost}


def _misfit(wanted, given):
    """Return 0 for equal shapes, 1 for others, and :data:`NEAR` if only axes of one differ.

    A gradient (4,) of a bias (1, 4) speaks against the guess, but less than one that raises.
    """
    if wanted == given:
        return 0
    return NEAR if _sides(wanted) == _sides(given) else 1


def _sides(shape):
    return tuple(side for side in shape if side != 1)


def _hidden(guess, parts, documented, judged):
    """Return how many mistakes guessed inputs may hide, as the number of arrays that are too plain.

    An axis of length one hides a missing sum and a missing transpose; so does a single number in
    the place of an array.  Square matrices hide a transpose.  A bias may be a row or a column, and
    a documented shape is meant so.
    """
    hidden = 0
    is_loss = all(np.size(part) == 1 for part in parts)
    has_vector = any(np.ndim(value) == 1 and words.is_weight(name) for name, value in guess.items())
    for name, value in guess.items():
        if name in documented or not isinstance(value, (np.ndarray, np.generic, int, float)):
            continue
        is_main = words.plain(name) in words.GENERIC
        if isinstance(value, int):  # a count or an index, but not the main input
            hidden += is_main
        elif np.ndim(value) == 0:
            is_known = words.is_setting(name) or words.is_noise(name)
            is_known |= words.plain(name) in layouts.NUMBERS and not words.is_vector(name)
            beside_vector = is_loss and words.is_vector(name) and has_vector
            if (is_main or name in judged) and not is_known and not beside_vector:
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


def _is_simpler(guess, best):
    """Return whether a guess fits all gradients, where the more general one does not."""
    return guess.misfits == 0 < best.misfits and guess.hides > best.hides


def _variants(guess, is_for_one_row):
    """Return inputs that are not generic, but may be meant, with their meaning.

    A loss of two arrays may be one of vectors or columns, with one number for each example.  The
    matrix of a quadratic form may be symmetric.  Labels may have one 1 in each column.  A gradient
    that reads the first row alone may be for one row.
    """
    made = []
    arrays = {name: value for name, value in guess.items() if np.ndim(value) == 2}
    if is_for_one_row and len(arrays) == 1:
        rows = {**guess, **{name: value[:1].copy() for name, value in arrays.items()}}
        made.append((guesses.described(rows), rows))
    lengths = {len(value) if np.ndim(value) else 0 for value in guess.values()}
    if arrays and len(guess) == 2 and len(lengths) == 1:
        vectors = {**guess, **{name: value[:, 0].copy() for name, value in arrays.items()}}
        columns = {**guess, **{name: value[:, :1].copy() for name, value in arrays.items()}}
        made += [(guesses.described(inputs), inputs) for inputs in (vectors, columns)]
    square = {name: value for name, value in arrays.items() if len(set(value.shape)) == 1}
    if square:  # a quadratic form is the same for the symmetric part of its matrix
        symmetric = {name: (value + value.T) / 2 for name, value in square.items()}
        made.append((f"{SYMMETRIC} {' and '.join(symmetric)}", {**guess, **symmetric}))
    labels = list(filter(words.is_label, arrays)) or list(filter(words.may_be_label, arrays))
    ones = {
        name: np.eye(len(arrays[name]))[:, np.arange(arrays[name].shape[1]) % len(arrays[name])]
        for name in labels
        if arrays[name].dtype.kind == "f"
    }
    if ones:
        made.append((f"each column of {' and '.join(ones)} has one 1", {**guess, **ones}))
    return made


def _total(pair):
    """Return the sum of the output of a pair, rounded."""
    out = pair.forward(*map(leaves.duplicate, pair.inputs))[0]
    return float(f"{float(np.sum(out)):.9e}")


def _is_final(error):
    """Return whether an exception says that no other inputs help, such as an unknown name."""
    is_unknown = isinstance(error, NameError) and not isinstance(error, UnboundLocalError)
    return is_unknown or isinstance(error, (SystemExit, NotImplementedError, ImportError))
