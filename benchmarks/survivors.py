"""``python -m benchmarks.survivors AUDIT.json``: confirm each survivor of an audit, in the project.

``AUDIT.json`` is what ``ibpcl audit ... --json`` has written, and the current folder is the project
that was audited.  Each change that survived is planted again, in a copy.  Then the changed file is
loaded, and its gradients are compared with those of the file without the change, at the input and
the cotangent that the audit has printed.  The gradients without the change are compared with
central differences of the forward.  All tests of the project run once with each change.
"""

import argparse
import json
import linecache
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl.audit import planting, project
from ibpcl.audit.auditing import Settings
from ibpcl.audit.comparing import SAME, distance
from ibpcl.audit.pasting import variable
from ibpcl.audit.planning import found_in
from ibpcl.audit.points import Family, gradients_at, makers_of, points_near, rounded
from ibpcl.audit.running import command_of, limit_of
from ibpcl.audit.tracing import trace
from ibpcl.audit.trying import Copies, changed
from ibpcl.codeview.syntax import text_of
from ibpcl.errors import UserError
from ibpcl.verify.adapters import discovery, loading
from ibpcl.verify.prepare import prepare

STEP = 1e-5
PRINTED = 2e-3  # relative error of gradients that are printed with four digits
PAIRS = 6  # calls of the project's tests, or guesses, among which a printed input is searched


class Shown(NamedTuple):
    """A survivor at the printed input.

    Attributes
    ----------
    text : str
        The changed file; empty if the change was not found again.
    apart : float
        Difference of the gradients with and without the change, relative to the largest entry; NaN
        if they could not be evaluated.
    error : float
        Error of the same gradients without the change, against central differences.
    """

    text: str
    apart: float = np.nan
    error: float = np.nan


def main(arguments=None):
    """Confirm the survivors of an audit, and print a line for each.

    Parameters
    ----------
    arguments : list of str, optional
        Arguments of the command line.

    Returns
    -------
    int
        0 if every survivor is confirmed, else 1.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.survivors", description=__doc__)
    parser.add_argument("audit", help="JSON report of an audit of the project in this folder")
    report = json.loads(Path(parser.parse_args(arguments).audit).read_text(encoding="utf-8"))
    folder = Path.cwd()
    rows = []
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as private:
            for place, shown, outcome in confirmed(report, folder, Path(private).resolve()):
                rows.append((shown.apart > SAME, outcome == "survived"))
                print(
                    f"{place}: the gradients differ by {shown.apart:.2g}, those without the change "
                    f"by {shown.error:.2g} from differences; {outcome}",
                    flush=True,
                )
    finally:
        os.chdir(folder)
    differing, passing = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0)
    print(
        f"{len(rows)} survivors: the gradients of {differing} differ, all tests pass with {passing}"
    )
    return 0 if len(rows) == differing == passing else 1


def confirmed(report, folder, private):
    """Yield each survivor of an audit, at its printed input and with all tests of the project.

    Parameters
    ----------
    report : dict
        The report.
    folder : pathlib.Path
        The project.
    private : pathlib.Path
        A folder for copies.

    Yields
    ------
    place : str
        File, line and kind of the mistake.
    shown : Shown
        Its gradients.
    outcome : str
        "survived" if all tests pass.
    """
    settings = Settings(report["target"], report["command"], workers=1)
    loaded = private / "loaded" / folder.name
    project.copy(folder, loaded)
    functions = {
        (function["file"], function["name"]): [
            each for each in function["mistakes"] if each["outcome"] == "survived"
        ]
        for function in report["functions"]
    }
    files = sorted({Path(file) for (file, _), survivors in functions.items() if survivors})
    copies = Copies(command_of(settings.tests), folder, private)
    forwards = found_in(files, loaded, "")[1] if files else []
    traced = trace(copies.runner("traced"), settings, files, forwards)
    runner = copies.runner("runs", traced.modules)
    sys.path[:0] = [str(loaded), str(loaded / "src")]
    os.chdir(loaded)
    for (file, name), survivors in functions.items():
        calls = traced.calls.get(f"{file}::{name}", [])
        found = at_printed_inputs(loaded / file, name, calls, survivors)
        for mistake, shown in zip(survivors, found, strict=True):
            outcome = "not planted"
            if shown.text:
                with changed(runner.folder / file, lambda _, text=shown.text: text):
                    run = runner.selected(traced.tests or None, limit_of(traced.total))
                outcome = run.outcome
            yield f"{file}:{mistake['line']} {mistake['kind']}", shown, outcome
    runner.close()


def at_printed_inputs(path, name, calls, survivors):
    """Yield each survivor in a function at its printed input.

    Parameters
    ----------
    path : pathlib.Path
        The file, in a copy of the project.
    name : str
        The gradient function.
    calls : list of dict
        Arguments with which the project's tests call it.
    survivors : list of dict
        Its survivors.

    Yields
    ------
    Shown
    """
    if not survivors:
        return
    text = path.read_text(encoding="utf-8")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        pairs, target = pairs_of(path, name, calls)
        families = [
            Family(points_near(rounded(problem), target, np.random.default_rng(0)))
            for problem in pairs.values()
        ]
        texts = [changed_text(families, mistake, text) for mistake in survivors]
        for mistake, new in zip(survivors, texts, strict=True):
            shown = Shown(new)
            for n, pair in pairs.items():  # objects in different states may have the same gradients
                if new and is_printed(pair, mistake) and not shown.apart > SAME:
                    shown = at_pair(path, name, calls, n, pair, mistake, new)
                    path.write_text(text, encoding="utf-8")
            yield shown


def at_pair(path, name, calls, n, pair, mistake, new):
    """Return a survivor at its printed input, with one of the pairs; the file is changed."""
    at, w = printed(pair, mistake)
    right = gradients_at(at, w)
    path.write_text(new, encoding="utf-8")
    try:
        wrong = gradients_at(*printed(pairs_of(path, name, calls, n)[0][n], mistake))
    except (UserError, AttributeError, TypeError, ValueError, LookupError):
        wrong = ()  # its form has no gradient any more
    is_complete = len(right) == len(wrong)
    apart = list(map(gap, wrong, right)) if is_complete else [np.inf] * len(right)
    errors = [
        gap(true, differences(at, w, j))
        for true, j, far in zip(right, at.wrt, apart, strict=True)
        if far > SAME
    ]
    return Shown(new, max(apart), max(errors, default=np.nan))


def gap(got, true):
    """Return the difference of two gradients, relative to the largest entry of both."""
    return distance(got, true, np.abs(got).max(initial=0.0) if got.dtype.kind in "fiub" else 0.0)


def pairs_of(path, name, calls, only=None):
    """Return a function with its gradient at inputs of each kind, by number, and what it is."""
    linecache.clearcache()
    module = loading.load(path).module
    target = discovery.find(discovery.targets_in(module), name)
    pairs = {}
    for n, make in enumerate(makers_of(module, target, calls, 0)):
        if only not in (None, n):
            continue
        try:
            prepared = prepare(make())
        except Exception:  # the arguments of a call may not fit
            continue
        if only == n or not (prepared.raised or prepared.is_unfit):
            pairs[n] = prepared.problem
        if len(pairs) == PAIRS or only == n:
            break
    return pairs, target


def printed(problem, mistake):
    """Return a pair at the printed input, and the printed cotangent."""
    values = values_in(line for line in mistake["paste"] if not line.startswith("#"))
    at = problem.at([values[variable(name)] for name in problem.names])
    dout = values.get("dout", np.ones(at.value.shape))
    parts = dout if isinstance(dout, tuple) else (dout,)
    return at, np.concatenate([np.ravel(part) for part in parts]).astype(float)


def values_in(lines):
    """Return the values that pasted lines define."""
    values = {}
    exec("\n".join(lines), {"np": np, "nan": np.nan, "inf": np.inf}, values)
    return values


def is_printed(problem, mistake):
    """Return whether the gradients at the printed input are those that the audit calls right."""
    mark = "# right:"
    right = values_in(
        line.removeprefix(mark).strip() for line in mistake["paste"] if line.startswith(mark)
    )
    try:
        at, w = printed(problem, mistake)
        found = {
            f"d{variable(at.names[j])}": g for j, g in zip(at.wrt, gradients_at(at, w), strict=True)
        }
    except Exception:  # it does not run with these inputs
        return False
    return all(
        name in found and gap(found[name], np.asarray(value)) < PRINTED
        for name, value in right.items()
    )


def changed_text(families, mistake, text):
    """Return the text of the file with a mistake; empty if the change is not found."""
    for family in families:
        code = family.backward
        for name in code.trees if code else ():
            for edit, _ in family.edits(name):
                parent, field, index, new = edit.puts[0]
                old = getattr(parent, field) if index is None else getattr(parent, field)[index]
                is_it = (
                    edit.kind == mistake["kind"]
                    and len(edit.puts) == mistake["places"]
                    and code.location(edit.node).line == mistake["line"]
                    and [text_of(old), text_of(new)] == [mistake["old"], mistake["new"]]
                )
                parts = code.repair(edit) if is_it else ()
                if parts:
                    made = planting.replaced(text, parts)
                    first = min(part.where.line for part in parts)
                    if made.splitlines()[first - 1].strip() == mistake["after"]:
                        return made
    return ""


def differences(problem, w, j):
    """Return central differences of the outputs, weighted with the cotangent."""
    function = problem.function_of(j)
    value = np.array(problem.point[j], dtype=float)
    result = np.empty_like(value)
    for place in np.ndindex(value.shape):
        ends = []
        for sign in (1, -1):
            moved = value.copy()
            moved[place] += sign * STEP
            ends.append(w @ function(moved))
        result[place] = (ends[0] - ends[1]) / (2 * STEP)
    return result


if __name__ == "__main__":
    sys.exit(main())
