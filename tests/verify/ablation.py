"""What each part of the diagnosis contributes: leave it out, and count the mistakes that lose their
name.

    python tests/verify/ablation.py [--cases FILE.json ...] [PART ...]

prints a row of a table for each part: its lines, and the names lost of the students' mistakes and
of those in further files (by function: ``wrt``, and ``mistakes`` with ``source``, ``kinds`` and
``should_mention``).  A part is left out only of the mistakes for which it returns something; a
first pass, which takes some minutes, finds out which these are.
"""

import argparse
import inspect
import json
import os
import re
import sys
import tempfile
import types
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from test_students import MISTAKES, judged, spoiled

import ibpcl.codeview.edits as edits
import ibpcl.codeview.patterns as patterns
import ibpcl.codeview.slips as slips
import ibpcl.codeview.variables as variables
import ibpcl.verify.explain.known_arrays as known
import ibpcl.verify.explain.missing_factor as missing_factor
import ibpcl.verify.explain.missing_path as missing_path
import ibpcl.verify.explain.naming as diagnosis
import ibpcl.verify.explain.rewrites as rewrites
import ibpcl.verify.explain.whole as whole
import ibpcl.verify.prepare as preparation
from ibpcl.verify.reports.kinds import Finding


class Part(NamedTuple):
    """A part of the diagnosis: (object, name) of its functions, what they return without it, and
    its code.
    """

    hooks: tuple
    nothing: object  # () -> what stands for the result
    code: tuple  # modules and functions
    # whether it acts without a result of its own, so that it is left out of all mistakes
    everywhere: bool = False


def none():
    """Return nothing."""


PARTS = {
    "whole gradient: one constant": Part(
        ((whole, "_constant"),), none, (whole._constant, whole._sizes)
    ),
    "... right to some digits": Part(
        ((whole, "digits_of"), (diagnosis, "digits_of")), none, (whole.digits_of, whole._precision)
    ),
    "... a few entries": Part(
        ((whole, "few_entries"), (diagnosis, "few_entries")), none, (whole.few_entries,)
    ),
    "... transposed, reversed, shifted, summed": Part(
        ((whole, "rearrangements"),), tuple, (whole.rearrangements, whole.rearranged)
    ),
    "... swapped": Part(((whole, "swapped"),), none, (whole.swapped,)),
    "... another shape": Part(
        ((whole, "wrong_shape"),), lambda: Finding("wrong_shape", ""), (whole.wrong_shape,)
    ),
    "edits: rows of the table": Part(((edits, "edits_at"),), tuple, (slips, patterns)),
    "... slices, strides": Part(
        ((edits, "_of_subscript"),), tuple, (edits._of_subscript, edits._other_slices)
    ),
    "... values that a loop passes on": Part(
        ((edits, "_of_carries"),), tuple, (edits._of_carries,)
    ),
    "... several places": Part(((edits, "_repeated"),), tuple, (edits._repeated,)),
    "... variables": Part(((edits, "of_names"),), tuple, (variables,)),
    "... variables in every use": Part(
        ((variables, "_in_every_use"),), tuple, (variables._in_every_use,)
    ),
    "suspects": Part(
        ((rewrites.Suspects, "suspect"), (rewrites.Suspects, "allow")),
        lambda: True,
        (rewrites.Suspects,),
        True,
    ),
    "paths": Part(((diagnosis, "forgotten_path"),), dict, (missing_path,)),
    "... two at once": Part(((missing_path, "_pair"),), list, (missing_path._pair,)),
    "places: measured at all": Part(
        ((diagnosis, "measured_places"),), list, (missing_factor, known), True
    ),
    "... what belongs there": Part(((diagnosis, "best_match"),), none, (missing_factor, known)),
    **{
        f"... {stage}": Part((), none, (getattr(known.Known, stage),))
        for stage in missing_factor.STAGES
    },
    "... order": Part(((diagnosis, "patterned"),), none, (missing_factor.patterned,)),
    "the second point": Part(((preparation, "neighbour"),), none, (preparation.neighbour,), True),
}


def without_stage(stage):
    """Leave out one stage of the search for what belongs in a place."""
    candidates = missing_factor.candidates
    diagnosis.candidates = lambda measured, at: [] if at == stage else candidates(measured, at)


class Tracer:
    """Notes which parts do something for a mistake: they return a result, or made the edit that is
    named.
    """

    def __init__(self):
        self.touched = set()
        self.origin = {}
        self.kept = []
        for label, part in PARTS.items():
            for holder, name in part.hooks:
                setattr(holder, name, self._traced(getattr(holder, name), label))
        matched = diagnosis.Search._fits
        repaired = diagnosis.repaired

        def fits(search, measured, stage, *rest):
            for found in matched(search, measured, stage, *rest):
                self.touched.add(f"... {stage}")
                yield found

        def named(code, edit, more=""):
            self.touched |= self.origin.get(id(edit.puts), set())
            return repaired(code, edit, more)

        diagnosis.Search._fits = fits
        diagnosis.repaired = named

    def _traced(self, function, label):
        def around(*arguments, **options):
            result = function(*arguments, **options)
            if isinstance(result, types.GeneratorType):
                return (self._note(label, item) for item in result)
            return self._note(label, result)

        return around

    def _note(self, label, result):
        if isinstance(result, edits.Edit):
            self.origin.setdefault(id(result.puts), set()).add(label)
            self.kept.append(result)  # so that no other edit gets its id
        elif result is not None and (not hasattr(result, "__len__") or len(result)):
            self.touched.add(label)
        return result

    def trace(self, case, folder):
        """Return whether a mistake is named, and the parts that did something for it."""
        self.touched = set()
        self.origin = {}
        self.kept = []
        return is_named(case, folder), sorted(self.touched)


def cases(files):
    """Return (set, source, wrt, kinds, pattern) of every mistake."""
    found = [
        ("own", spoiled(mistake), None, mistake["kinds"], mistake["mentions"])
        for mistake in MISTAKES
    ]
    for path in files:
        found += [
            (
                Path(path).parent.name,
                mistake["source"],
                case["wrt"],
                mistake["kinds"],
                mistake["should_mention"],
            )
            for case in json.loads(Path(path).read_text()).values()
            for mistake in case["mistakes"]
        ]
    return found


def is_named(case, folder):
    """Return whether a mistake is named; one on which the checker fails is not."""
    _, source, wrt, kinds, pattern = case
    try:
        report = judged(source if wrt is None else f"{source}\nWRT = {wrt!r}\n", folder)
    except Exception:  # without a part, anything may happen
        return False
    if isinstance(report, str):
        return bool(re.search(pattern, report, re.IGNORECASE))
    wrong = [item for item in report.inputs if item.verdict == "wrong"]
    return bool(wrong) and all(
        item.kind in (kinds.get(item.name, ()) if isinstance(kinds, dict) else kinds)
        for item in wrong
    )


def in_child(prepare, every):
    """Prepare a process of its own, and return what the function that this returns says of each
    mistake.
    """
    read, write = os.pipe()
    if os.fork() == 0:
        judge = prepare()
        with os.fdopen(write, "w") as out, tempfile.TemporaryDirectory() as folder:
            json.dump([judge(case, Path(folder)) for case in every], out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as back:
        results = json.loads(back.read())
    os.wait()
    return results


def without(label):
    """Leave a part out of this process."""
    part = PARTS[label]
    for holder, name in part.hooks:
        setattr(holder, name, lambda *arguments, **options: part.nothing())
    if not part.hooks:
        without_stage(label.removeprefix("... "))
    return is_named


def main(arguments):
    """Print a row for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--cases", action="append", default=[], metavar="FILE")
    options = parser.parse_args(arguments)
    every = cases(options.cases)
    before = in_child(lambda: Tracer().trace, every)
    sets = {
        which: sum(ok for case, (ok, _) in zip(every, before, strict=True) if case[0] == which)
        for which in dict.fromkeys(case[0] for case in every)
    }
    print(
        "| left out | lines | "
        f"{' | '.join(f'{which} ({count} named)' for which, count in sets.items())} |"
    )
    print("| --- " + "| --: " * (1 + len(sets)) + "|", flush=True)
    for label in options.parts or PARTS:
        part = PARTS[label]
        some = [
            case
            for case, (ok, touched) in zip(every, before, strict=True)
            if ok and (part.everywhere or label in touched)
        ]
        after = in_child(lambda label=label: without(label), some)
        lost = [case[0] for case, ok in zip(some, after, strict=True) if not ok]
        lines = sum(len(inspect.getsource(item).splitlines()) for item in part.code)
        print(
            f"| {label} | {lines} | {' | '.join(str(lost.count(which)) for which in sets)} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
