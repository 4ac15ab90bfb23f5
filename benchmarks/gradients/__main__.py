"""``python -m benchmarks.gradients``: measure gradient checkers on the data set of mistakes."""

import argparse
import importlib
import json
import sys
from pathlib import Path

from tqdm import tqdm

from benchmarks.gradients import HEAD, cases, dataset, score
from benchmarks.gradients.adapters import CHECKERS, installed

# Reads the file of an item, and not only the pair in it.
FILES = "ibpcl check FILE"


def chosen(names, known):
    """Return checkers by name.

    Parameters
    ----------
    names : sequence of str
        Names of :data:`benchmarks.gradients.adapters.CHECKERS`, or ``package.module:function``
        for any other checker.  If empty, all known ones.
    known : dict of str to callable
        The installed checkers.

    Returns
    -------
    dict of str to callable
        The checkers.

    Raises
    ------
    SystemExit
        If a checker is unknown or not installed.
    """
    checkers = {}
    for name in names or known:
        if ":" in name:
            module, _, function = name.partition(":")
            checkers[name] = getattr(importlib.import_module(module), function)
        elif name in known:
            checkers[name] = known[name]
        else:
            why = "is not installed" if name in CHECKERS else "is unknown"
            raise SystemExit(
                f"benchmarks.gradients: {name} {why}; known are {', '.join(known)}, or "
                "package.module:function, called as checker(f, f_vjp, inputs, wrt)"
            )
    return checkers


def main(arguments=None):
    """Measure the checkers named on the command line, and print a table.

    Parameters
    ----------
    arguments : list of str, optional
        The command line.  By default, that of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradients", description=__doc__)
    parser.add_argument(
        "checkers",
        nargs="*",
        metavar="CHECKER",
        help=f"one of {', '.join(CHECKERS)}, or package.module:function (default: all installed)",
    )
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="take only every N-th case (default: 1)"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write the scores and the missed cases to this file"
    )
    parser.add_argument(
        "--forms",
        action="store_true",
        help="measure on the data set in twelve forms instead (see DATASHEET.md)",
    )
    parser.add_argument(
        "--missed",
        action="store_true",
        help="print the missed mistakes and the false alarms",
    )
    options = parser.parse_args(arguments)
    if options.every < 1:
        parser.error("--every takes a number of at least 1")
    every = dataset.items(options.every) if options.forms else cases(options.every)
    known = {**installed(), **({FILES: dataset.check_file} if options.forms else {})}
    checkers = chosen(options.checkers, known)
    scores = []
    print(HEAD)
    for name, checker in checkers.items():
        with tqdm(total=len(every), desc=name, leave=False, disable=None) as bar:
            result = score(name, checker, every, bar.update)
        scores.append(result)
        print(result.row(), flush=True)
        for title in (
            [*result.missed, *(f"{name}: false alarm" for name in result.alarms)]
            if options.missed
            else ()
        ):
            print(f"    {title}", file=sys.stderr)
    if options.forms:
        for result in scores:
            print(f"\n{dataset.by_form(result)}")
    if options.json:
        Path(options.json).write_text(
            json.dumps([result.to_dict() for result in scores], indent=1), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
