"""``ibpcl check``: the derivations, verified.

A file of the user's is a matter of :mod:`ibpcl.verify` alone; :mod:`ibpcl.paper` is imported for everything else.
"""

import contextlib
import json
import os
import sys
import time
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

from ibpcl.errors import UserError

EPILOG = """\
targets:
  a group      gradients, densities, samplers, divergences, estimators,
               definitions, errata
  a name       its beginning or a pattern: kumaraswamy, '*.kl', errata/mask-*
  your file    mine.py:f checks f against f_vjp; mine.py checks every pair in it.
               Inputs: from check_inputs() in the file, or by --shape.

exit code:     0 all right, 1 something fails, 2 a mistake in the command
"""


def add_parser(subparsers):
    """Add ``check`` to the subparsers of the command line and return its parser."""
    parser = subparsers.add_parser(
        "check", help="verify the derivations of the package, or your own", epilog=EPILOG,
        description="Verify every derivation of the package numerically, or a gradient of your own.",
        formatter_class=RawDescriptionHelpFormatter)
    parser.set_defaults(command="check")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to check (default: everything)")
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
        0 if everything is right, 1 if something fails, 2 for a mistake of the user, which is printed to standard error
        with all its lines: it may be a traceback of the user's file.
    """
    try:
        return _execute(options)
    except UserError as error:
        print(f"ibpcl: {error}", file=sys.stderr)
        return 2


def _execute(options):
    from ibpcl.verify import user
    files = [target for target in options.targets if user.is_file(target)]
    names = [target for target in options.targets if target not in files]
    _refuse(options, files)
    if options.list:
        from ibpcl.paper import catalogue, rendering
        print(rendering.listing(catalogue.select(names)))
        return 0
    reports = check_files(files, options) if files else []
    printer, results, more = Printer(options), [], {}
    if options.paper:
        results, more = check_paper(printer)
    elif names or not files:
        results = check_package(names, printer, reports)
    seconds = printer.seconds()
    if options.json:
        print(json.dumps({**as_dict(reports, results, seconds, options.seed), **more}, indent=1))
    if options.html:
        Path(options.html).write_text(as_page(reports, results), encoding="utf-8")
    return 0 if all(report.ok for report in reports) and all(result.outcome.ok for result in results) else 1


def _refuse(options, files):
    """Refuse options that contradict each other, or that would have no effect."""
    if (options.shape or options.wrt) and not files:
        raise UserError("check: --shape and --wrt belong to a function of your own: give path/to/mine.py:function")
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


def check_files(files, options):
    """Check the pairs of the user's files, print their reports, and return them."""
    from ibpcl.verify import user
    wrt = [name.strip() for name in options.wrt.split(",")] if options.wrt else None
    shapes = user.parse_shapes(options.shape)
    # What their code prints must not come between the lines of the JSON.
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        reports = [report for target in files for report in user.check_target(target, shapes, wrt, options.seed)]
    if not options.json:
        for report in reports:
            print(report.text())
    return reports


def check_package(names, printer, reports=()):
    """Run the checks of the package that are named, all of them if none is, print them, and return the results.

    ``reports`` are those of the user's own functions, which the last lines count too.
    """
    from ibpcl.paper import catalogue, rendering
    selected = catalogue.select(names)
    results = printer.run(selected)
    if not printer.options.json:
        if "errata" in names or not names:
            print(rendering.notes(printer.options.verbose))
        print(rendering.summary(results, printer.seconds(), reports))
    return results


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


def as_dict(reports, results, seconds, seed):
    """Return everything as plain values, ready for JSON: the user's ``reports``, the package's ``results``."""
    gradients = [(report.title, report) for report in reports]
    gradients += [(result.check.name, result.outcome.report) for result in results if result.outcome.report is not None]
    name, worst = max(gradients, key=lambda pair: pair[1].error, default=(None, None))
    entries = [{"group": "yours", "name": report.title, "seconds": 0.0, "ok": report.ok, "words": "",
                "numbers": report.to_dict()} for report in reports]
    return {"ok": all(report.ok for report in reports) and all(result.outcome.ok for result in results),
            "seed": seed, "seconds": seconds,
            "largest_gradient_error": (
                None if worst is None else {"name": name, "error": worst.to_dict()["error"]}),
            "checks": [*entries, *(result.to_dict() for result in results)]}


def as_page(reports, results):
    """Return one HTML page with every result."""
    from ibpcl.verify.page import page
    for report in reports:
        report.title = f"yours/{report.title}"
    sections = list(reports)
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

        from ibpcl.paper import catalogue, rendering
        results, group = [], None
        with tqdm(total=len(selected), unit="check", leave=False, file=sys.stderr,
                  disable=not sys.stderr.isatty() or not selected) as bar:
            for check in selected:
                results.append(catalogue.run(check, self.options.seed))
                if show and not self.options.json:
                    lines = [rendering.head(check.group)] if check.group != group else []
                    group = check.group
                    for text in (*lines, rendering.line(results[-1], self.options.verbose)):
                        if bar.disable:
                            print(text, flush=True)
                        else:
                            bar.write(text, file=sys.stdout)
                bar.update()
        return results
