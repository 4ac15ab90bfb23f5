"""Measure the checker on the controls: ``python -m tests.verify.controls.measure``.

Right code must never be wrong; spoiled code must never be ok.
"""

import argparse
import contextlib
import hashlib
import json
import linecache
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from textwrap import indent

import numpy as np

from ibpcl.verify.running import checking
from ibpcl.verify.running.user import Request

from . import forms, small, wrapped

TIMEOUT = 60.0
VERDICTS = ("ok", "undecided", "refused", "wrong")


@dataclass
class Outcome:
    """What the checker says about a control.

    Attributes
    ----------
    form, name, spoiled : str
        The control's.
    verdict : str
        One of :data:`VERDICTS`.
    words : str
        The reason, or the report.
    blamed : list of str
        The inputs that are called wrong.
    seconds : float
        CPU time.
    """

    form: str
    name: str
    spoiled: str
    verdict: str
    words: str
    blamed: list
    seconds: float

    @property
    def is_fault(self):
        """True if right code is called wrong, or spoiled code right."""
        return self.verdict == ("ok" if self.spoiled else "wrong")

    @property
    def is_expected(self):
        """True if right code is called right, and spoiled code wrong."""
        return self.verdict == ("wrong" if self.spoiled else "ok")

    @property
    def is_promised(self):
        """True if the guide says that the checker reads this form."""
        asked_for = "two_layers" in self.name  # their inputs have sizes that no name tells
        return self.form not in forms.FORMS or (
            forms.FORMS[self.form].is_promised and not asked_for
        )

    @property
    def is_open(self):
        """True if the code is called neither right nor wrong."""
        return self.verdict in ("undecided", "refused")

    @property
    def title(self):
        """The verdict and the control, in one line."""
        return f"{self.verdict.upper()}: {self.form}: {self.name}"

    def __str__(self):
        return f"{self.title}\n{indent(self.words, ' ' * 8)}"


def verdicts_of(path, names=(), wrt=None):
    """Check a file as ``ibpcl check`` does, without a process.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        What to check in it; everything if empty.
    wrt : list of str, optional
        The inputs whose gradients are returned.

    Returns
    -------
    list of ibpcl.verify.running.user.Checked
        One result for each function, class or group of functions.
    """
    return checking.results_here(Request(str(path), list(names), wrt=wrt, timeout=TIMEOUT))


def worst(verdicts):
    """Return the verdict on a file with several results."""
    return next(verdict for verdict in reversed(VERDICTS) if verdict in verdicts)


def written(control, folder):
    """Write a control to a new file, and return its path."""
    digest = hashlib.sha256(control.source.encode()).hexdigest()[:12]
    path = Path(folder, f"case_{digest}{'.ipynb' if control.source.startswith('{') else '.py'}")
    path.write_text(control.source, encoding="utf-8")
    return path


@contextlib.contextmanager
def restored():
    """Restore what the file of a control leaves in this process."""
    modules = set(sys.modules)
    paths = list(sys.path)
    state = np.random.get_state()  # noqa: NPY002 - files draw their weights from it
    np.random.seed(0)  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in pytest, a warning is an error
            yield
    finally:
        for name in set(sys.modules) - modules:
            if "case_" in name:
                del sys.modules[name]
        sys.path[:] = paths
        np.random.set_state(state)  # noqa: NPY002
        linecache.clearcache()


def measured(control, folder):
    """Return what the checker says about a control."""
    path = written(control, folder)
    start = time.process_time()
    with restored():
        results = verdicts_of(path, [control.target] if control.target else (), control.wrt or None)
    seconds = time.process_time() - start
    path.unlink()
    return Outcome(
        control.form,
        control.name,
        control.spoiled,
        worst([result.verdict for result in results]),
        "\n".join(result.text() for result in results),
        [item.name for one in results if one.report for item in one.report.inputs if not item.ok],
        seconds,
    )


def by_command(control, folder):
    """Return the verdict of the true command on a control."""
    path = written(control, folder)
    target = f"{path}:{control.target}" if control.target else str(path)
    wrt = ["--wrt", ",".join(control.wrt)] if control.wrt else []
    done = subprocess.run(
        [sys.executable, "-m", "ibpcl", "check", target, "--json", *wrt],
        capture_output=True,
        text=True,
    )
    return worst([item["verdict"] for item in json.loads(done.stdout)["checks"]])


def run(controls, progress=False):
    """Return the outcomes of controls; print a row for each finished form if asked for."""
    outcomes = []
    if progress:
        print(HEAD, file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for form, group in groupby(controls, lambda control: control.form):
            rows = [measured(control, folder) for control in group]
            outcomes += rows
            if progress:
                print(row(form, rows), file=sys.stderr, flush=True)
    return outcomes


HEAD = (
    "| form | right: ok | undecided | refused | WRONG | spoiled: wrong | undecided | refused | OK "
    "| blames others | seconds |\n| --- |" + " --: |" * 10
)


def row(title, outcomes):
    """Return the counts of some outcomes as a row of a Markdown table."""
    right = Counter(one.verdict for one in outcomes if not one.spoiled)
    spoiled = Counter(one.verdict for one in outcomes if one.spoiled)
    counts = [right[verdict] for verdict in VERDICTS]
    counts += [spoiled[verdict] for verdict in ("wrong", "undecided", "refused", "ok")]
    counts.append(sum(map(blames_others, outcomes)))
    counts.append(round(sum(one.seconds for one in outcomes)))
    return f"| {title} | {' | '.join(map(str, counts))} |"


def table(outcomes):
    """Return the counts of each form as a Markdown table."""
    titles = dict.fromkeys(one.form for one in outcomes)
    rows = [row(title, [one for one in outcomes if one.form == title]) for title in titles]
    return "\n".join([HEAD, *rows, row("all", outcomes)])


def blames_others(outcome):
    """Return whether a report on spoiled code blames another input than the spoiled one."""
    form = forms.FORMS.get(outcome.form)
    if not outcome.spoiled or form is None or not form.is_by_name:
        return False
    spoiled = outcome.spoiled.rpartition(" ")[-1]
    blamed = {re.split(r"\W+", name.rstrip("'\"]"))[-1] for name in outcome.blamed}
    return not all(name == spoiled or name.isdigit() for name in blamed)


def faults(outcomes, brief=False):
    """Return every outcome that is not as expected, as text."""
    right = [one for one in outcomes if not one.spoiled]
    spoiled = [one for one in outcomes if one.spoiled]
    parts = {
        "Right, and called wrong": [one for one in right if one.is_fault],
        "Spoiled, and called ok": [one for one in spoiled if one.is_fault],
        "Right, and not judged": [one for one in right if one.is_open],
        "Spoiled, and not judged": [one for one in spoiled if one.is_open],
        "Another input is blamed": [one for one in spoiled if blames_others(one)],
    }
    lines = []
    for title, rows in parts.items():
        lines += ["", f"{title}: {len(rows)}", ""]
        lines += [row.title if brief else str(row) for row in rows]
    return "\n".join(lines)


def chosen(parts=()):
    """Return the controls of forms whose names have one of some parts; all if there are none."""

    def names(table, prefix=""):
        return [name for name in table if not parts or any(p in prefix + name for p in parts)]

    own = names(forms.FORMS)
    others = names(wrapped.WRAPPINGS, "benchmark as ")
    return [
        *(forms.controls(own) if own else ()),
        *(wrapped.controls(others) if others else ()),
    ]


def surprises():
    """Return the small files with a verdict that is not right for them, as text."""
    outcomes = run(one.control() for one in small.SMALL)
    pairs = zip(small.SMALL, outcomes, strict=True)
    return "\n".join(
        f"expected {' or '.join(one.verdicts)}: {outcome}"
        for one, outcome in pairs
        if outcome.verdict not in one.verdicts
    )


def main(arguments=None):
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forms", nargs="*", default=(), help="parts of the names of forms")
    parser.add_argument("--sample", action="store_true", help="take two files of each form")
    parser.add_argument("--json", metavar="FILE", help="write all outcomes to a file")
    parser.add_argument("--brief", action="store_true", help="one line of each report only")
    parser.add_argument("--source", action="store_true", help="print the files and stop")
    options = parser.parse_args(arguments)
    sample = [*forms.sample(), *wrapped.sample()] if options.sample else None
    controls = sample or chosen(options.forms)
    if options.source:
        for control in controls:
            print(f"# {control.form}: {control.name}\n{control.source}")
        return
    outcomes = run(controls, progress=True)
    print(faults(outcomes, options.brief))
    if not options.forms:
        print(f"\nSmall files with another verdict:\n\n{surprises()}")
    print()
    print(table(outcomes))
    if options.json:
        content = [asdict(outcome) for outcome in outcomes]
        Path(options.json).write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
