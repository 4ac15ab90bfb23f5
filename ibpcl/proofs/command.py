"""``ibpcl check``: what is typed, and what is printed."""

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
    parser.add_argument("--mutants", action="store_true",
                        help="plant mistakes in every gradient and count how many the checker catches and names")
    parser.add_argument("--list", action="store_true", help="list the names of all checks and stop")
    parser.add_argument("--verbose", "-v", action="store_true", help="print all that is known of each check")
    parser.add_argument("--json", action="store_true", help="print the results as JSON only")
    parser.add_argument("--html", metavar="FILE", help="write one page with all reports, V-curves and Taylor plots")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of inputs and draws (default: 0)")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=SIZES",
                        help="draw an input of your function in this shape: x=3,4; may be given several times")
    parser.add_argument("--wrt", metavar="NAMES", help="the inputs that your f_vjp differentiates, in its order: x,w")
    return parser


def run(arguments):
    """Do what the parsed arguments say and return the exit code.

    Returns
    -------
    int
        0 if everything is right, 1 if something fails, 2 for a mistake of the user (said on standard error).
    """
    try:
        return _run(arguments)
    except UserError as error:
        print(f"ibpcl: {error}", file=sys.stderr)
        return 2


def _run(arguments):
    from ibpcl.proofs import catalogue, rendering, user
    files = [target for target in arguments.targets if user.is_file(target)]
    names = [target for target in arguments.targets if target not in files]
    if (arguments.shape or arguments.wrt) and not files:
        raise UserError("check: --shape and --wrt belong to a function of your own: give path/to/mine.py:function")
    if arguments.paper and arguments.targets:
        raise UserError("check: --paper takes no target: it runs what the equations need")
    apart = [name for name in ("mutants", "list", "paper", "html") if getattr(arguments, name)]
    if len(apart) > 1 and apart[0] in ("mutants", "list"):
        raise UserError(f"check: --{apart[0]} goes without --{apart[1]}")
    if arguments.list and arguments.json:
        raise UserError("check: --list goes without --json: it prints names, a line each")
    if arguments.mutants:
        return _mutants(arguments)
    if arguments.html:
        _refuse_no_folder(arguments.html)
    if arguments.list:
        print(rendering.listing(catalogue.select(names)))
        return 0
    if arguments.paper:
        return _paper(arguments)
    wrt = [name.strip() for name in arguments.wrt.split(",")] if arguments.wrt else None
    shapes = user.parse_shapes(arguments.shape)
    # What their code prints shall not come between the lines of the JSON.
    with contextlib.redirect_stdout(sys.stderr) if arguments.json else contextlib.nullcontext():
        results = [_of_user(report) for target in files
                   for report in user.check_target(target, shapes, wrt, arguments.seed)]
    if not arguments.json:
        for result in results:
            print(result.outcome.text)
    selected = catalogue.select(names) if names or not files else []
    printer = _Printer(arguments, selected)
    with printer.bar:
        for check in selected:
            results.append(catalogue.run(check, arguments.seed))
            printer.show(results[-1])
    if selected and not arguments.json:
        if "errata" in arguments.targets or not arguments.targets:
            print(rendering.notes(arguments.verbose))
        print(rendering.summary(results, printer.seconds()))
    return _finish(arguments, results, printer.seconds())


def _finish(arguments, results, seconds, more=None):
    from ibpcl.proofs import rendering
    if arguments.json:
        print(json.dumps({**rendering.to_dict(results, seconds, arguments.seed), **(more or {})}, indent=1))
    if arguments.html:
        with open(arguments.html, "w", encoding="utf-8") as file:
            file.write(rendering.html(results))
    return 0 if all(result.outcome.ok for result in results) else 1


def _mutants(arguments):
    from ibpcl.proofs import mutants
    if arguments.targets:
        raise UserError("check: --mutants takes no target: it plants mistakes in every gradient")
    summary = mutants.run(seed=arguments.seed)
    print(json.dumps(summary.to_dict()) if arguments.json else mutants.report(summary, arguments.verbose))
    return 0 if summary.ok else 1


def _paper(arguments):
    from ibpcl.proofs import catalogue, paper, rendering
    equations = paper.equations()
    needed = {name for equation in equations for name in equation.checks}
    selected = [check for check in catalogue.checks() if str(check) in needed]
    printer = _Printer(arguments, selected)
    with printer.bar:
        results = []
        for check in selected:
            results.append(catalogue.run(check, arguments.seed))
            printer.bar.update()
    outcomes = {str(result.check): result.outcome for result in results}
    if not arguments.json:
        for equation in equations:
            print(rendering.paper_line(equation, outcomes, arguments.verbose))
        print(rendering.paper_summary(equations, outcomes, printer.seconds()))
    return _finish(arguments, results, printer.seconds(),
                   {"equations": [equation.to_dict(outcomes) for equation in equations]})


def _of_user(report):
    from ibpcl.proofs.catalogue import Result
    from ibpcl.proofs.outcome import Check, Outcome
    return Result(Check("yours", report.title, None), Outcome(report.ok, "", {}, report.text(), report), 0.0)


def _refuse_no_folder(path):
    folder = Path(path).absolute().parent
    if not folder.is_dir() or Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"check: --html cannot write {path}: give a file in a folder that exists and may be written")


class _Printer:
    """Prints a line for each result, under the name of its group, above a progress bar where there is a terminal."""

    def __init__(self, arguments, selected):
        from tqdm import tqdm
        self.arguments, self.group, self.start = arguments, None, time.perf_counter()
        self.bar = tqdm(total=len(selected), unit="check", leave=False, file=sys.stderr,
                        disable=not sys.stderr.isatty() or not selected)

    def seconds(self):
        return time.perf_counter() - self.start

    def show(self, result):
        from ibpcl.proofs import rendering
        if not self.arguments.json:
            if result.check.group != self.group:
                self.group = result.check.group
                self.write(rendering.head(self.group))
            self.write(rendering.line(result, self.arguments.verbose))
        self.bar.update()

    def write(self, text):
        if self.bar.disable:
            print(text, flush=True)
        else:
            self.bar.write(text, file=sys.stdout)
