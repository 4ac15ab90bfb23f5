"""Mistakes in the whole gradient of an input: its sign, a constant, digits, entries, axes, sums."""

from itertools import combinations, permutations

import numpy as np

from ibpcl.verify.explain.evidence import close
from ibpcl.verify.reports.kinds import Finding
from ibpcl.verify.reports.words import axis_words, constant_name, count, place

FEW = 1 / 3  # at most this share of wrong entries counts as "a few"
MOST_AXES = 5  # arrays with more axes are not rearranged: there are too many permutations
REDUCTIONS = (("summed", np.sum), ("averaged", np.mean))


def whole_gradient(evidence, j, wrong):
    """Return the mistake in the whole gradient of one input.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input.
    wrong : sequence of int
        Positions of all inputs whose gradients are wrong.  Only their gradients count as swapped.

    Returns
    -------
    Finding or None
        None if no mistake of this module explains the gradient.
    """
    got = evidence.got(j, 0)
    shape = evidence.problem.shape(j)
    if got is None or got.dtype.kind not in "fiub" or got.shape != shape:
        return wrong_shape(evidence, j)
    invalid = ~np.isfinite(got.astype(float))
    if np.any(invalid):
        return Finding(
            "non_finite",
            f"not finite at {invalid.sum()} of {count(got.size)}, first at "
            f"{place(np.flatnonzero(invalid)[0], shape)}; the true gradient is finite there",
        )
    if not np.any(evidence.reference(j).jacobian):
        return _flat(evidence, j)
    if all(not np.any(evidence.got(j, trial)) for trial in range(len(evidence.trials))):
        return Finding(
            "missing_term", "the gradient is zero everywhere: all of its terms are missing"
        )
    if evidence.explains(j, evidence.each(lambda trial: -evidence.got(j, trial))):
        return Finding("sign", "the sign is wrong: it is minus the true gradient")
    if evidence.explains(j, evidence.each(lambda trial: evidence.got(j, trial))):
        # the error is so small that every hypothesis would fit
        gap, scale = _gap_and_scale(evidence, j, 0)
        return few_entries(evidence, j) or _precision(max(gap / (scale or 1.0), 1e-16))
    other = swapped(evidence, j)
    if other in wrong:
        return Finding(
            "swapped",
            "gradients of two inputs are swapped: this is the gradient of "
            f"{evidence.problem.names[other]}",
        )
    return _constant(evidence, j) or rearranged(evidence, j) or digits_of(evidence, j)


def _flat(evidence, j):
    """Return the mistake of a nonzero gradient where the true derivative is zero everywhere."""
    problem = evidence.problem
    x = np.asarray(evidence.problem.point[j])
    func = problem.function_of(j)
    output = problem.vector()
    distant = [func(x + step * (np.abs(x) + 0.1)) for step in (-1.0, -0.3, 0.3, 1.0)]
    if any(np.any(np.isfinite(other) & (other != output)) for other in distant):
        return Finding(
            "piecewise_constant",
            "the forward is piecewise constant in this input (rounded, thresholded or "
            "one-hot), so its true derivative is zero; the returned value is a straight-through "
            "estimate, not a gradient",
        )
    return Finding(
        "missing_term",
        "the forward does not depend on this input at all, so its true gradient is zero: the "
        "gradient has a term too many",
    )


def digits_of(evidence, j, most=1e-3):
    """Return the mistake of a gradient that is right to a few digits everywhere.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input.
    most : float
        Largest error, relative to the largest entry of the true gradient.

    Returns
    -------
    Finding or None
        None if the error is larger, or if it is above 1e-6 and only at a few entries.
    """
    sizes = evidence.each(lambda trial: _gap_and_scale(evidence, j, trial))
    if not all(scale for _, scale in sizes):
        return None
    worst = max(gap / scale for gap, scale in sizes)
    if not 0 < worst < most or (worst > 1e-6 and few_entries(evidence, j)):
        return None
    return _precision(worst)


def _precision(worst):
    """Return the mistake of a gradient with a small relative error."""
    digits = int(-np.log10(worst))
    why = (
        "a float32 intermediate value"
        if 1e-9 < worst < 3e-6
        else "a numerical derivative, an epsilon, or cancellation"
    )
    return Finding(
        "precision",
        f"right to {digits} digits only (relative error {worst:.1e}): probably {why}",
    )


def _gap_and_scale(evidence, j, trial):
    """Return the largest error of a gradient in one trial, and its largest true entry."""
    value, _ = evidence.expected(j, trial)
    measured = ~np.isnan(value)
    gap = np.abs(evidence.got(j, trial)[measured] - value[measured])
    return float(np.max(gap, initial=0.0)), float(np.max(np.abs(value[measured]), initial=0.0))


def _constant(evidence, j):
    """Return the mistake if one constant relates the gradient to the true one in all trials."""
    value, _ = evidence.expected(j, 0)
    measured = ~np.isnan(value)
    got = evidence.got(j, 0)
    square = float(np.sum(value[measured] ** 2))
    factor = float(np.sum(got[measured] * value[measured])) / square if square > 0 else 0.0
    if factor == 0 or not evidence.explains(
        j, evidence.each(lambda trial: evidence.got(j, trial) / factor)
    ):
        return None
    shape = evidence.problem.shape(j)
    outputs = evidence.problem.call()[0]
    for n, words in _sizes(evidence.problem, j, outputs):
        if n > 1 and abs(factor * n - 1) < 1e-6:
            if (n > 2 and n not in shape) or any(
                out.shape.count(n) > shape.count(n) for out in outputs
            ):
                words = f"a mean instead of a sum: off by {factor:.4g} (= 1/{n}, {words})"
                return Finding("mean", words)
            words = f"constant factor {factor:.4g} (= 1/{n}, {words}?)"
            return Finding("constant_factor", words)
        if n > 1 and abs(abs(factor) / n - 1) < 1e-6:
            minus, sign = ("minus ", "; the sign is wrong too") if factor < 0 else ("", "")
            words = f"{minus}{words}: a sum instead of a mean?"
            return Finding("constant_factor", f"constant factor {factor:.4g} (= {words}){sign}")
    digits = 4 if abs(factor - 1) > 1e-3 else 12
    words = f"constant factor {factor:.{digits}g}{constant_name(factor)}"
    return Finding("constant_factor", words)


def _sizes(problem, j, outputs):
    """Yield (number, words) for the sizes that a mean may have divided by.

    These are the lengths of all axes of the outputs and inputs, and the total sizes.
    """
    arrays = [(" of the output", out) for out in outputs] + [("", problem.point[j])]
    arrays += [(f" of {name}", v) for name, v in zip(problem.names, problem.point, strict=True)]
    for whose, array in arrays:
        for axis, n in enumerate(np.shape(array)):
            yield n, f"the size of axis {axis}{whose}"
    for whose, array in arrays:
        yield np.size(array), f"the size{whose or ' of this input'}"


def few_entries(evidence, j):
    """Return the mistake of a gradient that is wrong at a few entries only.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input.

    Returns
    -------
    Finding or None
        None if more than a third of the measured entries are wrong, none is wrong, or fewer than
        three were measured.
    """
    (off, known), value = evidence.off(j), evidence.expected(j, 0)[0]
    wrong = int(off.sum())
    total = int(known.sum())
    if total < 3 or wrong == 0 or wrong > max(1, FEW * total):
        return None
    gap = np.where(off, np.abs(evidence.got(j, 0) - value), -1)
    words = (
        f"wrong at {wrong} of {total} entries, worst at {place(int(np.argmax(gap)), value.shape)}"
    )
    for axis, places in enumerate(np.nonzero(off)):
        if len(set(places.tolist())) == 1 and value.ndim > 1 and wrong > 1:
            words += f", all at index {places[0]} of axis {axis}"
    zero = off & (evidence.got(j, 0) == 0)
    if np.array_equal(zero, off):
        words += "; these entries are zero, so nothing flows back to them"
    return Finding("few_entries", words)


def late_factor(evidence, j):
    """Return the mistake of a gradient that multiplies by a factor after the sums, not before.

    If ``y = g * h(x)``, the gradient of ``x`` is that of ``h`` for the cotangent ``g * dout``.  In
    a normalization, ``dout`` is summed over the features, so ``g`` cannot be taken out of the sum.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input.

    Returns
    -------
    Finding or None
        None if no other input is such a factor, or if there are several outputs.
    """
    outputs, *_ = evidence.problem.call()
    if len(outputs) > 1:
        return None
    shape = np.shape(outputs[0])
    for k in evidence.problem.wrt:
        factor = evidence.problem.point[k]
        if k == j or np.size(factor) < 2 or np.ndim(factor) > len(shape):
            continue
        arrays = []
        try:
            for point, cotangent in evidence.trials:
                at = evidence.problems[point]
                scale = np.broadcast_to(at.point[k], shape).ravel()
                unit = at.at(at.with_input(k, np.ones_like(at.point[k])))
                gradients = unit.gradients(scale * evidence.w[cotangent])
                arrays.append(np.asarray(gradients[at.wrt.index(j)], dtype=float))
        except Exception:  # the factor does not fit, or code under check raises
            continue
        if evidence.explains(j, arrays):
            name = evidence.problem.names[k]
            return Finding(
                "elementwise_factor",
                f"the factor {name} comes too late: it must multiply dout before the sums "
                f"(`dout * {name}`), not their result",
            )
    return None


def before_activation(evidence, j):
    """Return the mistake of a gradient that goes back through an activation too many.

    A loss takes probabilities ``p``, and its gradient is ``g``.  Where a softmax made ``p``, the
    gradient for the logits is ``p * (g - sum(p * g))``; for a sigmoid it is ``p * (1 - p) * g``.
    The usual ``p - y`` is such a gradient of the cross-entropy.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input.

    Returns
    -------
    Finding or None
        None if the input is not between 0 and 1, or if the gradient is not a multiple of these.
    """
    trials = range(len(evidence.trials))
    p = [np.asarray(evidence.problems[point].point[j]) for point, _ in evidence.trials]
    right = [evidence.expected(j, trial)[0] for trial in trials]
    if not all(np.all((x > 0) & (x < 1)) for x in p) or np.any(np.isnan(right)):
        return None
    softmaxes = [
        (
            f"softmax over axis {axis}",
            lambda x, g, axis=axis: x * (g - np.sum(x * g, axis, keepdims=True)),
        )
        for axis in reversed(range(p[0].ndim))
        if p[0].shape[axis] > 1
    ]
    for name, pulled in [*softmaxes, ("sigmoid", lambda x, g: x * (1 - x) * g)]:
        logits = [pulled(x, g) for x, g in zip(p, right, strict=True)]
        got = evidence.got(j, 0)
        square = float(np.sum(logits[0] ** 2))
        factor = float(np.sum(got * logits[0])) / square if square > 0 else 0.0
        if factor == 0 or not all(
            np.allclose(evidence.got(j, trial), factor * logits[trial], rtol=1e-6, atol=0.0)
            for trial in trials
        ):
            continue
        words = (
            f"this is the gradient for the logits: it goes back through a {name}, which the "
            "forward does not have"
        )
        if abs(factor - 1) > 1e-6:
            words += f"; and it is off by the factor {factor:.4g}{constant_name(factor)}"
        return Finding("missing_term", words)
    return None


def axis_sets(ndim):
    """Yield every non-empty set of axes, small sets first.

    Parameters
    ----------
    ndim : int
        Number of axes.

    Yields
    ------
    tuple of int
    """
    for size in range(1, ndim + 1):
        yield from combinations(range(ndim), size)


def rearrangements(shape, to):
    """Yield the rearrangements and sums of an array that are easily made by mistake.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    to : tuple of int
        Shape of the result.

    Yields
    ------
    kind : str
        Kind of the mistake.
    words : str
        Description of the mistake.
    change : callable
        ``change(array)`` returns the rearranged array.  Axes over which it is summed have length 1.
    """

    def shifted(array, axis, step):
        moved = np.roll(array, step, axis)
        np.moveaxis(moved, axis, 0)[0 if step > 0 else -1] = np.nan
        return moved

    ndim = len(shape)
    if max(ndim, len(to)) > MOST_AXES:
        return
    for axes in permutations(range(ndim)):
        if axes != tuple(range(ndim)) and tuple(shape[a] for a in axes) == to:
            yield "transposed", "transposed", lambda array, axes=axes: np.transpose(array, axes)
    for axis in range(ndim) if shape == to else ():
        yield (
            "shifted",
            f"in reversed order along axis {axis} (flipped)",
            lambda array, axis=axis: np.flip(array, axis),
        )
        for step in (1, -1) if shape[axis] > 2 else ():
            yield (
                "shifted",
                (f"shifted by one along axis {axis}: entry i has the value of entry i {-step:+d}"),
                lambda array, axis=axis, step=step: shifted(array, axis, step),
            )
    for axes in axis_sets(ndim):
        for word, reduce in REDUCTIONS:
            if all(shape[a] > 1 for a in axes):
                yield (
                    "summed",
                    f"{word} over {axis_words(axes)}, although it must not be",
                    lambda array, axes=axes, reduce=reduce: reduce(array, axes, keepdims=True),
                )


def wrong_shape(evidence, j):
    """Return the mistake in a gradient that does not have the shape of its input.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input.

    Returns
    -------
    Finding
        With both shapes.  Its kind is "wrong_shape", unless a simpler mistake explains the shape.
    """
    shape = evidence.problem.shape(j)
    got = evidence.got(j, 0)
    if got is None or got.dtype.kind not in "fiub":
        what = "None" if got is None else got.dtype
        return Finding("wrong_shape", f"the gradient is {what}, not an array of numbers")
    other = swapped(evidence, j)
    exchanged = Finding(
        "swapped",
        f"this is the gradient of another input, {evidence.problem.names[other or 0]}",
    )
    # Before the sum, the gradient of a broadcast input equals that of the input beside it.
    if other in evidence.wrong:
        return exchanged
    base = f"shape {got.shape}, but the input has shape {shape}"
    if max(got.ndim, len(shape)) <= MOST_AXES:
        attempts = [
            ("wrong_shape", "right numbers in the wrong shape", np.asarray),
            *rearrangements(shape, got.shape),
        ]
        for kind, words, change in attempts:
            if equals(evidence, j, change):
                return Finding(kind, f"{words}: {base}")
        for axes in axis_sets(got.ndim):
            remaining = tuple(n for axis, n in enumerate(got.shape) if axis not in axes)
            if int(np.prod(remaining)) == int(np.prod(shape)) < got.size and evidence.explains(
                j,
                evidence.each(
                    lambda trial, axes=axes: evidence.got(j, trial).sum(axis=axes).reshape(shape)
                ),
            ):
                words = f"not summed over {axis_words(axes)}: this input was broadcast ({base})"
                return Finding("not_summed", words)
    if other is not None:
        return exchanged
    if got.ndim > len(shape) and got.shape[got.ndim - len(shape) :] == shape:
        base += "; an axis is not summed, and the numbers are wrong too"
    return Finding("wrong_shape", f"wrong shape: {base}")


def equals(evidence, j, change):
    """Return whether a change of the true gradient gives the gradient under test in every trial.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input.
    change : callable
        ``change(array)`` returns the changed gradient.  The shapes may differ, but the sizes agree,
        or the result is broadcast.

    Returns
    -------
    bool
    """
    for trial in range(len(evidence.trials)):
        right, allowed = evidence.expected(j, trial)
        got = evidence.got(j, trial)
        value = np.asarray(change(right))
        value = np.broadcast_to(value, got.shape) if got.shape == right.shape else value
        # at the second point only some entries are measured, so sums may be unknown
        if trial and np.all(np.isnan(value)):
            continue
        largest = np.max(allowed[~np.isnan(allowed)], initial=0.0) * max(
            1, allowed.size / max(1, value.size)
        )
        if got.size != value.size or not close(
            got.reshape(value.shape), value, np.full(value.shape, largest)
        ):
            return False
    return True


def swapped(evidence, j):
    """Return the input whose true gradient was returned for another input.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input whose gradient is wrong.

    Returns
    -------
    int or None
        Position of the other input, None if there is no such input.
    """
    got = evidence.each(lambda trial: evidence.got(j, trial))
    others = (other for other in evidence.problem.wrt if other != j)
    return next((other for other in others if evidence.explains(other, got)), None)


def rearranged(evidence, j):
    """Return the rearrangement or sum that was applied to the whole gradient by mistake.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    j : int
        Position of the input.

    Returns
    -------
    Finding or None
        None if no rearrangement that keeps the shape explains the gradient.
    """
    shape = evidence.problem.shape(j)
    for kind, words, change in rearrangements(shape, shape) if np.prod(shape) > 1 else ():
        if equals(evidence, j, change):
            return Finding(kind, words)
    return None
