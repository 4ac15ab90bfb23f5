"""Repeat a recorded run on plain arrays, from a changed operation on: much quicker than to record it again.

A repetition follows the operands of every step, not the code.  Where a value is written into an array, it would be
wrong, and :class:`Program` says so if it can be seen.  It cannot be seen where the array is a plain one, or where a
value becomes a Python number: whoever uses a program compares it with the code first.
"""

import numpy as np

from ibpcl.verify.trace import Traced, plain

IN_PLACE = ("setitem", "put_along_axis", "copyto", "place", "put", "fill_diagonal")


class Program:
    """The steps of one run, each with the places its operands come from.

    Parameters
    ----------
    recorder : Recorder
        Of an unchanged run that kept its steps.
    outputs : sequence
        What the run returned, as it returned it.

    Attributes
    ----------
    valid : bool
        Whether the record is complete enough to be repeated.
    roots, results : as of the recorder
    """

    def __init__(self, recorder, outputs):
        self.roots, self.results = recorder.roots, list(recorder.results)
        self.steps = recorder.computations
        self.outputs = outputs
        self.sources = [_sources(operands) for _, operands, _ in self.steps]
        self.valid = len(self.steps) == len(recorder.steps) == len(self.results) and not any(
            step.name in IN_PLACE for step in recorder.steps) and not any(None in found for found in self.sources) \
            and not any(_sources(tuple(options.values())) for _, _, options in self.steps) \
            and None not in _sources(tuple(outputs))

    def run(self, changes):
        """Return the outputs as plain arrays with some steps changed; only what depends on them is computed."""
        results, touched = list(self.results), set()
        recorder = _Record(self.roots, results)
        for index in range(min(changes), len(self.steps)):
            if index not in changes and touched.isdisjoint(self.sources[index]):
                continue
            compute, operands, options = self.steps[index]
            operands = [_value(item, results) for item in operands]
            change = changes.get(index)
            results[index] = compute(*operands, **options) if change is None else \
                change(compute, operands, options, recorder)
            touched.add(index)
        return tuple(np.asarray(_value(output, results)) for output in self.outputs)


class _Record:
    """What a change may look at: the cached arrays, and the results so far."""

    def __init__(self, roots, results):
        self.roots, self.results = roots, results


def _sources(items):
    """Return the steps that items come from; None stands for a recording array that no step has made."""
    found = set()
    for item in items:
        if isinstance(item, Traced):
            if item.origin != "root":
                found.add(item.origin)
        elif isinstance(item, (tuple, list)):
            found |= _sources(item)
    return found


def _value(item, results):
    if isinstance(item, Traced):
        return plain(item) if item.origin == "root" else results[item.origin]
    if isinstance(item, (tuple, list)) and not hasattr(item, "_fields"):
        return type(item)(_value(part, results) for part in item)
    return item
