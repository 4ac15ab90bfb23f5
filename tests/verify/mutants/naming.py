"""Which names of a planted mistake are right: decided from the mutation and from values, never from
the report.

Every kind of mutation has a name of its own.  What a mutation *does* may deserve another one, and
then that is accepted as well; these are all the rules, and each is decided by the syntax of what
was changed, by what the changed expression evaluates to, or by the two gradients:

- ``sign``: ``sign``.  ``term``: ``missing_term``.  ``axis``: ``summed`` or ``not_summed``; of a
  flip ``shifted``. ``sum``: ``not_summed`` for a lost sum, ``mean`` for a mean.  ``slice``:
  ``shifted``.
- ``factor``: ``constant_factor`` if what was dropped is one number, the same everywhere and at two
  independent points, else ``elementwise_factor``; and if it was 1 + x or 1 - x, then
  ``missing_term`` too: (1 - x) y without the first is y - x y without the second.
- ``cache``: a value that stood as a term is a ``missing_term``, any other an
  ``elementwise_factor``.
- ``constant``: ``constant_factor``; in an exponent ``elementwise_factor``; a number that is a term
  also ``missing_term``, and then ``constant_factor`` counts only with the line.
- ``operands``: the difference the other way round has the other ``sign``, a product of matrices is
  ``transposed``, exchanged results are ``swapped``, anything else is a wrong
  ``elementwise_factor``.
- Whatever is changed inside an exponential is a factor of the result, and a term that leaves a
  plain number behind in a product was the whole of a factor: ``elementwise_factor``.

And by what it does to the gradient:

- It is a constant times the right one, the same constant at both points: ``sign`` if that is -1,
  else ``constant_factor``, and ``mean`` too if it is one over the size of an axis.
- It is zero everywhere: ``missing_term``.  It is not finite: ``non_finite``.
- It is the right gradient of another input, whatever its shape: ``swapped``.
- It has another shape: ``not_summed`` if a sum of it is the right one, ``summed`` if it is a sum of
  the right one, ``transposed`` if its transpose is the right one; else ``wrong_shape``, but not for
  a mistake in an axis or a sum.
- It is the right one in reversed order or one place off: ``shifted``.  It is a sum of the right
  one, broadcast: ``summed``.
- Of three entries or more it is wrong at a third at most: ``few_entries``.

An ``elementwise_factor`` counts only if the report also says the line, or the names of what was
dropped or exchanged (an input may stand for a cached value that equals it, ``dout`` for a name
given to a part of it), or a factor that has the smallest and the largest value of what was dropped.
"""

import re

import numpy as np

OWN = {
    "sign": {"sign"},
    "term": {"missing_term"},
    "axis": {"summed", "not_summed"},
    "sum": {"not_summed", "mean"},
    "slice": {"shifted"},
}
OPERANDS = {"-": {"sign"}, "@": {"transposed"}, "results": {"swapped"}}
TOLERANCE = 1e-7


def by_cause(mutation, values):
    """Return the kinds that name what was done to the source.

    Parameters
    ----------
    mutation : mutants.mutations.Mutation
    values : dict of int to list of ndarray
        What the expressions of the unchanged function evaluate to, at two points.
    """
    kinds = set(OWN.get(mutation.kind, ()))
    value = values.get(mutation.path)
    if mutation.kind == "factor":
        kinds = {"constant_factor" if is_constant(value) else "elementwise_factor"}
        kinds |= {"missing_term"} if re.match(r"1 [-+] ", mutation.part) else set()
    elif mutation.kind == "axis" and mutation.operator == "flip":
        kinds = {"shifted"}
    elif mutation.kind == "constant":
        kinds = {"constant_factor"} | ({"missing_term"} if mutation.role == "term" else set())
    elif mutation.kind == "cache":
        kinds = {
            "missing_term" if role == "term" else "elementwise_factor"
            for role in mutation.role.split()
        }
        # of one part of several, by its index
        kinds |= {"shifted"} if " - 1` in `" in mutation.words else set()
    elif mutation.kind == "operands":
        kinds = set(OPERANDS.get(mutation.operator, {"elementwise_factor"}))
    if mutation.exponent:
        kinds.add("elementwise_factor")
    if mutation.kind == "term" and is_constant(values.get(mutation.rest)):
        kinds.add("elementwise_factor")
    return kinds


def is_constant(value):
    """Tell whether an expression is one number, the same at both points."""
    if value is None:
        return False
    numbers = np.concatenate([one.ravel() for one in value])
    return numbers.size > 0 and bool(np.all(numbers == numbers[0]))


def by_effect(mutation, subject, j, gradients):
    """Return the kinds that the two gradients themselves prove.

    Parameters
    ----------
    mutation : mutants.mutations.Mutation
    subject : mutants.subject.Subject
    j : int
        Which input.
    gradients : list of tuple of ndarray
        Of the mutant, for each trial.
    """
    got = [g[j] for g in gradients]
    right = [g[j] for g in subject.truth]
    swapped = any(
        other != j and _close(got, [g[other] for g in subject.truth])
        for other in range(len(subject.names))
    )
    kinds = {"swapped"} if swapped else set()
    if got[0].shape != right[0].shape:
        explained = kinds | _other_shape(got, right)
        return explained or (set() if mutation.kind in ("axis", "sum") else {"wrong_shape"})
    if not all(np.all(np.isfinite(g)) for g in got):
        return {"non_finite"}
    if not any(np.any(g) for g in got):
        return {"missing_term"}
    constant = _constant(got, right)
    if constant is not None:
        sizes = {n for array in subject.arrays() for n in array.shape}
        mean = any(abs(constant * n - 1) < TOLERANCE for n in sizes)
        return (
            kinds
            | {"sign" if abs(constant + 1) < TOLERANCE else "constant_factor"}
            | ({"mean"} if mean else set())
        )
    axes = range(right[0].ndim)
    if any(
        _close(got, [np.flip(r, axis) for r in right])
        or any(
            _close(
                _inner(got, axis, step), _inner([np.roll(r, step, axis) for r in right], axis, step)
            )
            for step in (1, -1)
        )
        for axis in axes
    ):
        kinds.add("shifted")
    if any(
        _close(got, [np.broadcast_to(total(r, axis=axis, keepdims=True), r.shape) for r in right])
        for axis in (*axes, None)
        for total in (np.sum, np.mean)
    ):
        kinds.add("summed")
    if right[0].size >= 3:
        size = max(np.max(np.abs(r)) for r in right)
        off = np.any(
            [np.abs(g - r) > TOLERANCE * size for g, r in list(zip(got, right, strict=True))[:2]],
            axis=0,
        )
        kinds |= {"few_entries"} if off.sum() <= max(1, off.size / 3) else set()
    return kinds


def _other_shape(got, right):
    """Name a gradient of another shape that a sum or a transposition explains; an empty set if none
    does.
    """
    if _close([g.T for g in got], right):
        return {"transposed"}
    for few, many, kind in ((right, got, "not_summed"), (got, right, "summed")):
        for axes in _axes(many[0].ndim):
            if any(_close([total(m, axis=axes) for m in many], few) for total in (np.sum, np.mean)):
                return {kind}
    return set()


def _axes(ndim):
    return [tuple(a for a in range(ndim) if n >> a & 1) for n in range(1, 1 << ndim)]


def _inner(arrays, axis, step):
    """Leave out the border that a roll by one step has brought from the other end."""
    return [
        np.moveaxis(a, axis, 0)[1:] if step > 0 else np.moveaxis(a, axis, 0)[:-1] for a in arrays
    ]


def _close(first, second):
    return all(
        a.shape == b.shape
        and a.size > 0
        and bool(np.all(np.abs(a - b) <= TOLERANCE * np.max(np.abs(b))))
        for a, b in zip(first, second, strict=True)
    )


def _constant(got, right):
    """Return the constant that the wrong gradient is times the right one, in all trials, or
    None.
    """
    g = np.concatenate([one.ravel() for one in got])
    r = np.concatenate([one.ravel() for one in right])
    constant = float(g @ r / (r @ r)) if np.any(r) else 0.0
    return constant if constant != 0 and _close(got, [constant * one for one in right]) else None


def names(mutation, verdict, subject, j, gradients):
    """Tell whether a verdict names the mistake in input ``j``; arguments as in
    :func:`by_effect`.
    """
    values = subject.values(mutation.function)
    if verdict.kind in by_effect(mutation, subject, j, gradients):
        return True
    if verdict.kind not in by_cause(mutation, values):
        return False
    if verdict.kind == "elementwise_factor":
        return (
            located(mutation, verdict)
            or mentioned(mutation, verdict, subject)
            or measured(mutation, verdict, subject)
        )
    if (
        verdict.kind == "constant_factor"
        and mutation.kind == "constant"
        and mutation.role == "term"
    ):
        return located(mutation, verdict)
    return True


def located(mutation, verdict):
    """Tell whether the report gives a line of the mistake."""
    lines = mutation.source.splitlines()
    return str(verdict.where) in {f"line {n}: {lines[n - 1].strip()}" for n in mutation.lines}


def mentioned(mutation, verdict, subject):
    """Tell whether the report says every name of which the dropped or exchanged expression is
    made.
    """
    said = set(re.findall(r"[A-Za-z_]\w*", verdict.words))
    value = subject.values(mutation.function).get(mutation.path)
    if value is not None and any(
        name in said and np.array_equal(value[0], array) for name, array in subject.inputs.items()
    ):
        return True
    expression = subject.expression(mutation) if mutation.exponent else mutation.part
    cotangents = subject.cotangent_names(mutation.function)
    names = set(re.findall(r"[A-Za-z_]\w*(?![\w(.])", expression)) - {"None"}
    # its own name, or the usual one
    general = {"dout" if name in cotangents else name for name in names}
    return bool(names) and (names <= said or general <= said)


def measured(mutation, verdict, subject):
    """Tell whether the report's factor is in smallest and largest value the one that was dropped,
    or one over it.
    """
    reported = verdict.factor
    dropped = dropped_factor(mutation, subject.values(mutation.function))
    if reported is None or dropped is None or dropped.size == 0:
        return False
    reported = np.array([reported.smallest, reported.largest])
    ways = [dropped, *subject.over_cotangent(dropped)]
    ways += [1 / way for way in ways if np.all(way != 0)]
    return any(
        np.allclose(reported, [np.min(sign * way), np.max(sign * way)], rtol=1e-5, atol=0)
        for way in ways
        for sign in (1, -1)
    )


def dropped_factor(mutation, values):
    """Return the factor that a mutation takes away, at the point of the check; None if it takes
    away none.
    """
    if mutation.path not in values or mutation.kind not in ("factor", "term"):
        return None
    if mutation.kind == "factor":
        return values[mutation.path][0]
    if mutation.exponent:
        return np.exp(values[mutation.path][0])
    return (
        values[mutation.whole][0] / values[mutation.rest][0]
        if is_constant(values.get(mutation.rest))
        else None
    )
