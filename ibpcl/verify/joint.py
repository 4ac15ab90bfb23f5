"""Mistakes made in several places at once: one name for another, an index off by one where it is read and written."""

from itertools import combinations

import numpy as np

from ibpcl.verify.edits import Edit, shifted

MOST_USES = 6


def joint_edits(steps, recorder):
    """Yield edits that change several steps in the same way.

    Parameters
    ----------
    steps : sequence of Step
        Suspects.
    recorder : Recorder
        Of an unchanged run.
    """
    yield from _exchanged(steps, recorder)
    yield from _written(steps, recorder)


def _exchanged(steps, recorder):
    """Yield one cached value in the place of another in several of its uses: all, then fewer."""
    for name, value in recorder.roots.items():
        uses = [(step, at) for step in steps for at, label in enumerate(step.labels)
                if label == name and np.shape(step.operands[at]) == value.shape and step.name != "setitem"]
        others = [other for other, array in recorder.roots.items() if other != name and array.shape == value.shape
                  and array.dtype == value.dtype]
        if not 1 < len(uses) <= MOST_USES:
            continue
        for count in range(len(uses), 1, -1):
            for chosen in combinations(uses, count):
                for other in others:
                    yield _exchange(name, other, chosen)


def _exchange(name, other, uses):
    places = {}
    for step, at in uses:
        places.setdefault(step.index, (step, []))[1].append(at)
    changes = [(step, _Put(other, tuple(ats))) for step, ats in places.values()]
    (first, change), *rest = changes
    sums = all(step.name in ("add", "subtract") for step, _ in changes)
    where = " and ".join(f"`{step.label}`" for step, _ in changes)
    return Edit(0, first, change, "missing_term" if sums else "elementwise_factor",
                f"`{name}` stands where `{other}` belongs, in {where}",
                tuple((step.index, change) for step, change in rest))


class _Put:
    """Put a cached value in the place of some operands."""

    def __init__(self, name, places):
        self.name, self.places = name, places

    def __call__(self, compute, operands, options, recorder):
        value = recorder.roots[self.name]
        return compute(*(value if at in self.places else operand for at, operand in enumerate(operands)), **options)


def _written(steps, recorder):
    """Yield an index one off in ``x[index] += ...``, where it is read and written."""
    for step in steps:
        if step.name != "setitem":
            continue
        twin = next((other for other in recorder.steps[:step.index] if other.name == "getitem"
                     and other.labels[0] == step.labels[0] and _same(other.operands[1], step.operands[1])), None)
        parts = step.operands[1] if isinstance(step.operands[1], tuple) else (step.operands[1],)
        for i, part in enumerate(parts):
            for moved, words in shifted(part):
                change = _Index((*parts[:i], moved, *parts[i + 1:]))
                yield Edit(0, step, change, "shifted", f"off by one in index {i} of `{step.label}`: {words}",
                           ((twin.index, change),) if twin is not None else ())


class _Index:
    """Read or write at another index."""

    def __init__(self, index):
        self.index = index

    def __call__(self, compute, operands, options, recorder):
        return compute(operands[0], self.index, *operands[2:])


def _same(first, second):
    first, second = (item if isinstance(item, tuple) else (item,) for item in (first, second))
    return len(first) == len(second) and all(type(a) is type(b) and np.all(a == b)
                                             for a, b in zip(first, second, strict=True))
