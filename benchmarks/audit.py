"""``python -m benchmarks.audit``: measure `ibpcl audit` on a package of forty gradient functions.

The package is written to a temporary folder.  Its functions are those of the data set of gradients,
in five forms, and each has a test that compares with central differences.  The command prints the
report, the seconds by the clock, and the processor time of all processes.
"""

import argparse
import contextlib
import itertools
import os
import resource
import tempfile
import time
from pathlib import Path

from benchmarks.gradients import dataset
from benchmarks.gradients.forms import UnfitError

FUNCTIONS = 40
# How a test calls the function and its gradient, by form.
CALLS = {
    "cache": ("{forward}(*x)[0]", "{backward}(w, {forward}(*x)[1])"),
    "cache in a dict": ("{forward}(*x)[0]", "{backward}(w, {forward}(*x)[1])"),
    "takes the inputs": ("{forward}(*x)", "{backward}(w, *x)"),
    "closure": ("{function}(*x)[0]", "{function}(*x)[1](w)"),
    "gradients in a dict": (
        "{forward}(*x)[0]",
        "tuple({backward}(w, {forward}(*x)[1]).values())",
    ),
}
TEST = '''"""The gradients of {name} agree with central differences."""

import numpy as np

from layers import {name} as module

STEP = 1e-5
INPUTS = list(module.check_inputs().values())
MOVED = {moved}


def f(*x):
    return {call}


def gradients(w, *x):
    found = {pull}
    return found if isinstance(found, tuple) else (found,)


def slopes(n, w):
    value = np.array(INPUTS[n], dtype=float)
    result = np.empty_like(value)
    for place in np.ndindex(value.shape):
        ends = []
        for sign in (1, -1):
            moved = value.copy()
            moved[place] += sign * STEP
            ends.append(np.sum(w * f(*INPUTS[:n], moved, *INPUTS[n + 1 :])))
        result[place] = (ends[0] - ends[1]) / (2 * STEP)
    return result


def test_gradients():
    out = f(*INPUTS)
    w = np.random.default_rng(0).normal(size=np.shape(out))
    found = gradients(w if np.ndim(out) else float(w), *INPUTS)
    assert len(found) == len(MOVED)
    for n, gradient in zip(MOVED, found, strict=True):
        expected = slopes(n, w)
        assert np.shape(gradient) == expected.shape
        error = np.abs(gradient - expected).max(initial=0.0)
        assert error < 1e-5 * (1 + np.abs(expected).max(initial=0.0))
'''


def chosen(count):
    """Return functions of the data set with one array as output, each in one form.

    Parameters
    ----------
    count : int
        Their number.

    Returns
    -------
    list of benchmarks.gradients.dataset.Item
    """
    found = []
    forms = itertools.cycle(CALLS)
    for name in dataset.functions():
        item = None
        if dataset.shape(name) is not None:
            with contextlib.suppress(UnfitError):
                item = dataset.item_of(name, next(forms))
        if item is not None and list(item.parts.inputs) == list(_given(item)):
            found.append(item)
        if len(found) == count:
            break
    return found


def _given(item):
    """Return the names of the inputs in the order in which ``check_inputs()`` returns them."""
    scope = {}
    exec(compile(item.source, f"<{item.name}>", "exec"), scope)
    return scope["check_inputs"]()


def write(folder, count):
    """Write the package with its tests.

    Parameters
    ----------
    folder : Path
        An empty folder.
    count : int
        The number of functions.

    Returns
    -------
    int
        The number of functions.
    """
    for part in ("layers", "tests"):
        (folder / part).mkdir()
    (folder / "layers" / "__init__.py").write_text('"""Layers."""\n', encoding="utf-8")
    (folder / "conftest.py").write_text("", encoding="utf-8")
    items = chosen(count)
    for item in items:
        forward, backward = item.parts.pair
        names = {"function": item.name, "forward": forward, "backward": backward}
        names = {key: f"module.{name}" for key, name in names.items()}
        call, pull = (text.format(**names) for text in CALLS[item.form])
        moved = [item.parts.inputs.index(each) for each in item.parts.wrt]
        text = TEST.format(name=item.name, moved=moved, call=call, pull=pull)
        (folder / "layers" / f"{item.name}.py").write_text(item.source, encoding="utf-8")
        (folder / "tests" / f"test_{item.name}.py").write_text(text, encoding="utf-8")
    return len(items)


def main(arguments=None):
    """Write the package, audit it, and print the times.

    Parameters
    ----------
    arguments : list of str, optional
        The command line.  By default, that of the process.
    """
    from ibpcl.audit import audit

    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("--most", type=int, default=40, help="mistakes in each function")
    parser.add_argument("--workers", type=int, default=2, help="runs at the same time")
    parser.add_argument("--functions", type=int, default=FUNCTIONS, help="functions in the package")
    parser.add_argument("--keep", metavar="FOLDER", help="write the package there, and stop")
    options = parser.parse_args(arguments)
    if options.keep:
        folder = Path(options.keep)
        folder.mkdir()
        print(f"{write(folder, options.functions)} functions in {folder}")
        return
    with tempfile.TemporaryDirectory() as folder:
        count = write(Path(folder), options.functions)
        os.chdir(folder)
        before = _processor()
        start = time.perf_counter()
        report = audit(
            "layers", "pytest tests -q", most=options.most, workers=options.workers, fresh=True
        )
        seconds = time.perf_counter() - start
        used = _processor() - before
        os.chdir("/")
    print(_last(report))
    print(
        f"{count} functions: {seconds:.0f} s by the clock, {used:.0f} s of processor time, "
        f"{options.workers} workers"
    )


def _last(report):
    """Return the counts at the end of a report."""
    return report.text().rsplit("\n\n", 1)[-1]


def _processor():
    """Return the processor time of this process and of all that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(
        getattr(resource.getrusage(kind), part)
        for kind in kinds
        for part in ("ru_utime", "ru_stime")
    )


if __name__ == "__main__":
    main()
