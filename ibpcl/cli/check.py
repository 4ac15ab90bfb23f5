"""``ibpcl check``: the derivations, verified.

A file of the user's is a matter of :mod:`ibpcl.verify` alone; :mod:`ibpcl.paper` is imported for everything else.
"""

import json
import math
import os
import sys
import textwrap
import time
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

from ibpcl.errors import UserError

EPILOG = """\
targets:
  a group      gradients, densities, samplers, divergences, estimators,
               definitions, errata
  a name       its beginning or a pattern: kumaraswamy, '*.kl', errata/mask-*
               (beside a file of yours: the whole name or a pattern)
  your file    mine.py:f checks f against f_vjp, and so does mine.py f; mine.py
               checks every pair in it.  Inputs: from check_inputs() in the
               file, or by --shape.  The file is run, with your rights and
               without a sandbox; for the work of others use ibpcl class grade.

exit code:     0 all is proved right; 1 something is wrong, raises or ends the
               process; 2 a mistake in the command, or a pair that does not
               have the form that can be checked; 3 nothing is wrong, but
               something is undecided (out of time, or witnesses too coarse)
"""
TIMEOUT = 120.0                                              # seconds
OK, WRONG, REFUSED, UNDECIDED = range(4)                     # exit codes


def add_parser(subparsers):
    """Add ``check`` to the subparsers of the command line and return its parser."""
    parser = subparsers.add_parser(
        "check", help="verify the derivations of the package, or your own", epilog=EPILOG,
        description="Verify every derivation of the package numerically, or a gradient of your own.",
        formatter_class=RawDescriptionHelpFormatter)
    parser.set_defaults(command="check")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to check (default: everything)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, metavar="SECONDS",
                        help="for each pair or check; what is not finished by then is undecided "
                             f"(default: {TIMEOUT:g})")
    parser.add_argument("--paper", action="store_true", help="print every equation of the paper with its verdict")
    parser.add_argument("--list", action="store_true", help="list the names of all checks and stop")
    parser.add_argument("--verbose", "-v", action="store_true", help="print all that is known of each check")
    parser.add_argument("--json", action="store_true", help="print the results as JSON only")
    parser.add_argument("--html", metavar="FILE", help="write one page with all reports, V-curves and Taylor plots")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of inputs and draws (default: 0)")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=SIZES",
                        help="draw an input of your function in this shape: x=3,4; may be given several times")
    parser.add_argument("--wrt", metavar="NAMES", help="the inputs that your f_vjp differentiates, in its order: x,w")
    return parser


def execute(options):
    """Verify what the command line names and return the exit code.

    Returns
    -------
    int
        0 if everything is proved right, 1 if something fails, 3 if something is undecided and nothing fails.  2 for a
        mistake of the user, which is printed to standard error with all its lines (it may be a traceback of the user's
        file) and, with ``--json``, as an object on standard output.
    """
    try:
        return _execute(options)
    except UserError as error:
        print(f"ibpcl: {error}", file=sys.stderr)
        if options.json:
            print(json.dumps({"ok": False, "error": str(error)}, indent=1))
        return REFUSED


def _execute(options):
    from ibpcl.verify import user
    files = [target for target in options.targets if user.is_file(target)]
    names = [target for target in options.targets if target not in files]
    _refuse(options, files)
    functions, names = assigned(files, names)
    selected = select(names, list(functions)) if names or not (files or options.paper) else []
    if options.list:
        from ibpcl.paper import rendering
        print(rendering.listing(selected or select([])))
        return OK
    printer, results, more = Printer(options), [], {}
    yours, left_out = check_files(functions, options)
    if options.paper:
        results, more = check_paper(printer)
    elif selected:
        results = check_package(selected, names, printer)
    if not (options.json or options.paper) and (selected or len(yours) > 1):
        print(summary(yours, results, printer.seconds()))
    if options.json:
        print(json.dumps({**as_dict(yours, results, printer.seconds(), options.seed), **more, **left_out}, indent=1))
    if options.html:
        Path(options.html).write_text(as_page(yours, results), encoding="utf-8")
    return exit_code([item.verdict for item in yours] + [result.outcome.verdict for result in results])


def exit_code(verdicts):
    """Return the exit code: what is wrong comes before a mistake in the command, and that before what is undecided.

    >>> exit_code(["ok", "undecided"]), exit_code(["undecided", "wrong"])
    (3, 1)
    """
    for verdict, code in (("wrong", WRONG), ("refused", REFUSED), ("undecided", UNDECIDED)):
        if verdict in verdicts:
            return code
    return OK


def assigned(files, names):
    """Give bare names to the files that have a function of that name.

    Returns
    -------
    functions : dict of str to list of str
        The functions to check in each file; all its pairs if the list is empty.
    names : list of str
        The names that are left.
    """
    from ibpcl.verify import user
    functions, whole = {}, set()
    for target in files:
        path, name = user.split(target)
        functions.setdefault(path, [])
        if name:
            functions[path] += [name] * (name not in functions[path])
        else:
            whole.add(path)
    left = []
    for name in names:
        function = name.removesuffix("_vjp")
        owners = [path for path in functions if user.binds(path, function)]
        for path in owners:
            functions[path] += [function] * (function not in functions[path])
            whole.discard(path)
        if not owners:
            left.append(name)
    return {path: [] if path in whole else chosen for path, chosen in functions.items()}, left


def select(names, files=()):
    """Return the checks of the package that the names mean, all if there is none.

    Parameters
    ----------
    names : list of str
    files : list of str
        Files of the user's among the targets.  Beside them ``f`` is rather a function that is not there than the
        beginning of a name: a name must be a group, the whole name of a check or a pattern.
    """
    from ibpcl.paper import catalogue
    if not files:
        return catalogue.select(names)
    checks = catalogue.checks()

    def means(name):
        if set("*?[") & set(name):
            return [check for check in checks if catalogue.matches(check, name)]
        return [check for check in checks if name.removesuffix("/") in (check.group, check.name, str(check))]

    for name in names:
        if not means(name):
            raise UserError(f"check: {name!r} is neither a function of {' or '.join(files)} nor the whole name of a "
                            f"check: for a function of a file write {files[0]}:{name} (`ibpcl check --list` names the "
                            "checks)")
    chosen = {str(check) for name in names for check in means(name)}
    return [check for check in checks if str(check) in chosen]


def _refuse(options, files):
    """Refuse options that contradict each other, or that would have no effect."""
    if (options.shape or options.wrt) and not files:
        raise UserError("check: --shape and --wrt belong to a function of your own: give path/to/mine.py:function")
    if not (options.timeout > 0 and math.isfinite(options.timeout)):
        raise UserError(f"check: --timeout takes seconds > 0, got {options.timeout:g}")
    if options.paper and options.targets:
        raise UserError("check: --paper takes no target: it runs what the equations need")
    apart = [name for name in ("paper", "html", "json") if getattr(options, name)]
    if options.list and apart:
        raise UserError(f"check: --list goes without --{apart[0]}: it prints names, a line each")
    if options.html:
        folder = Path(options.html).absolute().parent
        if not folder.is_dir() or Path(options.html).is_dir() or not os.access(folder, os.W_OK):
            raise UserError(f"check: --html cannot write {options.html}: give a file in a folder that exists and may "
                            "be written")


def check_files(functions, options):
    """Check the pairs of the user's files, and print each verdict as it comes.

    Returns
    -------
    yours : list of ibpcl.verify.user.Checked
    left_out : dict
        What the JSON has of functions that were not checked, and of mistakes.
    """
    from ibpcl.verify import user
    wrt = [name.strip() for name in options.wrt.split(",")] if options.wrt else None
    shapes = user.parse_shapes(options.shape)
    yours, alone, mistakes = [], [], []
    for path, names in functions.items():
        run = user.FileRun(path, names, shapes, wrt, options.seed, options.timeout, bool(options.html))
        for item in run:
            yours.append(item)
            if item.verdict == "refused":
                if item.words not in mistakes:               # check_inputs() may raise for every pair
                    print(f"ibpcl: {item.words}", file=sys.stderr, flush=True)
                    mistakes.append(item.words)
            elif not options.json:
                print(item.text(), flush=True)
        alone += [f"{path}:{name}" for name in run.left_out]
    if alone and not options.json:
        print("\n".join(textwrap.wrap(f"left out, without a gradient: {', '.join(alone)}", 80, subsequent_indent="  ",
                                      break_long_words=False, break_on_hyphens=False)))
    return yours, {**({"left_out": alone} if alone else {}), **({"error": mistakes[0]} if mistakes else {})}


def check_package(selected, names, printer):
    """Run checks of the package, print them, and return the results; ``names`` are those that selected them."""
    from ibpcl.paper import rendering
    results = printer.run(selected)
    if not printer.options.json and ("errata" in names or not names):
        print(rendering.notes(printer.options.verbose))
    return results


def summary(yours, results, seconds):
    """Return the last lines: how many verdicts of which kind, how long, and the largest error among the gradients."""
    verdicts = [(f"yours/{item.title}", item.verdict) for item in yours]
    verdicts += [(str(result.check), result.outcome.verdict) for result in results]
    parts = []
    for verdict in ("wrong", "refused", "undecided"):
        names = [name for name, other in verdicts if other == verdict]
        if names:
            word = "not checked" if verdict == "refused" else verdict.upper()
            parts.append(f"{len(names)} of {len(verdicts)} {word}: {', '.join(names)}")
    rows = [f"{'; '.join(parts) or f'all {len(verdicts)} ok'}; {seconds:.1f} s"]
    gradients = [(item.report.error, item.title) for item in yours if item.report is not None]
    gradients += [(result.outcome.report.error, result.check.name) for result in results if result.outcome.report]
    if gradients:
        error, name = max(gradients, key=lambda pair: pair[0])
        rows.append(f"largest relative error among {len(gradients)} gradients: {error:.1e} ({name})")
    return "\n".join(["", *(line for row in rows for line in textwrap.wrap(
        row, 80, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False))])


def check_paper(printer):
    """Run the checks that the paper's equations need, and print each equation with its verdict.

    Returns the results, and what the JSON has besides them.
    """
    from ibpcl.paper import catalogue, equations, rendering
    needed = {name for equation in equations.EQUATIONS for name in equation.checks}
    results = printer.run([check for check in catalogue.checks() if str(check) in needed], show=False)
    outcomes = {str(result.check): result.outcome for result in results}
    if not printer.options.json:
        for equation in equations.EQUATIONS:
            print(rendering.paper_line(equation, outcomes, printer.options.verbose))
        print(rendering.paper_summary(equations.EQUATIONS, outcomes, printer.seconds()))
    return results, {"equations": [equation.to_dict(outcomes) for equation in equations.EQUATIONS]}


def as_dict(yours, results, seconds, seed):
    """Return everything as plain values, ready for JSON: the user's own pairs, the package's ``results``."""
    gradients = [(item.title, item.report) for item in yours if item.report is not None]
    gradients += [(result.check.name, result.outcome.report) for result in results if result.outcome.report is not None]
    name, worst = max(gradients, key=lambda pair: pair[1].error, default=(None, None))
    entries = [item.to_dict() for item in yours]
    entries += [{**result.to_dict(), "verdict": result.outcome.verdict} for result in results]
    code = exit_code([entry["verdict"] for entry in entries])
    return {"ok": code == OK, "verdict": ("ok", "wrong", "refused", "undecided")[code],
            "seed": seed, "seconds": seconds,
            "largest_gradient_error": (
                None if worst is None else {"name": name, "error": worst.to_dict()["error"]}),
            "checks": entries}


def as_page(yours, results):
    """Return one HTML page with every result."""
    from ibpcl.verify.page import page
    for item in yours:
        item.title = f"yours/{item.title}"
    sections = list(yours)
    if results:
        from ibpcl.paper import rendering
        sections += rendering.sections(results)
    return page(sections, "What ibpcl proves")


class Printer:
    """Runs checks of the package, and prints a line for each above a progress bar, where there is a terminal."""

    def __init__(self, options):
        self.options, self.start = options, time.perf_counter()

    def seconds(self):
        """Return the time since the beginning."""
        return time.perf_counter() - self.start

    def run(self, selected, show=True):
        """Run checks and return their results; each is printed under the head of its group if ``show`` and no JSON."""
        from tqdm import tqdm

        from ibpcl.paper import rendering
        results, group = [], None
        with tqdm(total=len(selected), unit="check", leave=False, file=sys.stderr,
                  disable=not sys.stderr.isatty() or not selected) as bar:
            for check in selected:
                results.append(self._result(check))
                if show and not self.options.json:
                    lines = [rendering.head(check.group)] if check.group != group else []
                    group = check.group
                    lines.append(rendering.line(results[-1], self.options.verbose))
                    for text in lines:
                        if bar.disable:
                            print(text, flush=True)
                        else:
                            bar.write(text, file=sys.stdout)
                bar.update()
        return results

    def _result(self, check):
        from ibpcl.paper import catalogue, checks
        from ibpcl.verify.trap import Interrupted, limit
        start, seconds = time.perf_counter(), self.options.timeout
        try:
            with limit(seconds):
                return catalogue.run(check, self.options.seed)
        except Interrupted as error:
            outcome = checks.Outcome(False, str(error), {"timeout": seconds}, str(error))
            return catalogue.Result(check, outcome, time.perf_counter() - start)
