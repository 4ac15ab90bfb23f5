"""``ibpcl check``: the derivations, verified.

A file of the user's is a matter of :mod:`ibpcl.verify` alone; :mod:`ibpcl.paper` is imported for
everything else.
"""

import json
import math
import os
import sys
import time
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

from ibpcl import console
from ibpcl.cli.verdicts import CODES, as_dict, as_page, joint, summary, wrapped
from ibpcl.errors import UserError

EPILOG = """\
targets:
  a group      gradients, densities, samplers, divergences, estimators,
               definitions, errata
  a name       its beginning or a pattern: kumaraswamy, '*.kl', errata/mask-*
               (together with a file of yours: the whole name or a pattern)
  your file    mine.py:NAME or homework.ipynb:NAME, where NAME is a function
               with its gradient beside it (f and f_vjp, f_forward and
               f_backward, f and grad_f, f and f_prime ...), a class with
               forward and backward, or a function that returns loss,
               gradient; without NAME, everything in the file is checked.
               Inputs: from check_inputs() in the file, by --shape, or guessed.
               The file runs with your permissions and without a sandbox; for
               work of others, use ibpcl class grade.

exit code:     0 everything is right; 1 something is wrong, raises or ends the
               process; 2 a mistake in the command, or a pair whose form cannot
               be checked; 3 nothing is wrong, but something is undecided (out
               of time, or witnesses too coarse)
"""
TIMEOUT = 120.0  # seconds


def add_parser(subparsers):
    """Add ``check`` to the subparsers of the command line and return its parser."""
    parser = subparsers.add_parser(
        "check",
        help="verify the derivations of the package, or your own",
        epilog=EPILOG,
        description=(
            "Verify every derivation of the package numerically, or a gradient of your own."
        ),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command="check")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="what to check (default: everything)"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"limit for each pair or check, which is undecided after it (default: {TIMEOUT:g})",
    )
    parser.add_argument(
        "--paper", action="store_true", help="print every equation of the paper with its verdict"
    )
    parser.add_argument("--list", action="store_true", help="list the names of all checks and stop")
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="print every detail of each check"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON only")
    parser.add_argument(
        "--html", metavar="FILE", help="write one page with all reports, V-curves and Taylor plots"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of inputs and draws (default: 0)"
    )
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=SIZES",
        help="draw an input of your function in this shape: x=3,4; may be given several times",
    )
    parser.add_argument(
        "--wrt",
        metavar="NAMES",
        help="the inputs that your f_vjp differentiates, in its order: x,w",
    )
    return parser


def execute(options):
    """Verify what the command line names and return the exit code, see :data:`EPILOG`.

    A mistake of the user is printed to standard error with all its lines (it may be a traceback of
    the user's file) and, with ``--json``, as an object on standard output.
    """
    try:
        return _execute(options)
    except UserError as error:
        print(f"ibpcl: {error}", file=sys.stderr)
        if options.json:
            print(json.dumps({"ok": False, "error": str(error)}, indent=1))
        return CODES["refused"]


def _execute(options):
    from ibpcl.verify.running import user

    files = [target for target in options.targets if user.is_file(target)]
    _refuse(options, files)
    functions, names = assigned(
        files, [target for target in options.targets if target not in files]
    )
    selected = select(names, list(functions)) if names or not (files or options.paper) else []
    if options.list:
        from ibpcl.paper import rendering

        print(rendering.listing(selected or select([])))
        return CODES["ok"]
    start = time.perf_counter()
    items, more = check_files(functions, options)
    if options.paper:
        results, equations = check_paper(options, start)
        items = items + results
        more = {**more, "equations": equations}
    elif selected:
        items += run(selected, options, show=not options.json)
        if not options.json and ("errata" in names or not names):
            from ibpcl.paper import rendering

            print(rendering.notes(options.verbose))
    seconds = time.perf_counter() - start
    if not (options.json or options.paper) and (selected or len(items) > 1):
        print(summary(items, seconds))
    if options.json:
        print(json.dumps({**as_dict(items, seconds, options.seed), **more}, indent=1))
    if options.html:
        Path(options.html).write_text(as_page(items), encoding="utf-8")
    return CODES[joint(items)]


def assigned(files, names):
    """Return the functions to check by file, all its pairs if there are none, and the names that
    are of no file.
    """
    from ibpcl.verify.running import user

    # (path, function), all functions if ""
    chosen = list(map(user.split, files))
    left = []
    paths = dict.fromkeys(path for path, _ in chosen)
    for name in names:
        function = name.removesuffix("_vjp")
        owners = [path for path in paths if user.binds(path, function)]
        left += [] if owners else [name]
        chosen = [(path, other) for path, other in chosen if other or path not in owners]
        chosen += [(path, function) for path in owners]
    functions = {
        path: list(dict.fromkeys(name for other, name in chosen if other == path)) for path in paths
    }
    return {path: [] if "" in some else some for path, some in functions.items()}, left


def select(names, files=()):
    """Return the checks of the package that the names mean, all if there is none.

    Beside files of the user's ``f`` is rather a function that is not there than the beginning of a
    name: a name must then be a group, the whole name of a check or a pattern.
    """
    from ibpcl.paper import catalogue

    every = (
        {word for check in catalogue.checks() for word in (check.group, check.name, str(check))}
        if files
        else ()
    )
    for name in names if files else ():
        if not set("*?[") & set(name) and name.removesuffix("/") not in every:
            raise UserError(
                f"check: {name!r} is neither a function of {' or '.join(files)} nor the whole "
                f"name of a check: for a function of a file write {files[0]}:{name} (`ibpcl check "
                "--list` names the checks)"
            )
    return catalogue.select(names)


def _refuse(options, files):
    """Refuse options that contradict each other, or that would have no effect."""
    if (options.shape or options.wrt) and not files:
        raise UserError(
            "check: --shape and --wrt belong to a function of your own: give "
            "path/to/mine.py:function"
        )
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
            raise UserError(
                f"check: --html cannot write {options.html}: give a file in a folder that exists "
                "and may be written"
            )


def check_files(functions, options):
    """Check the pairs of the user's files, and print each verdict as it comes.

    Returns these verdicts, and what the JSON has of functions that were not checked, and of
    mistakes.
    """
    from ibpcl.verify.running import user

    wrt = [name.strip() for name in options.wrt.split(",")] if options.wrt else None
    shapes = user.parse_shapes(options.shape)
    yours = []
    alone = []
    mistakes = []
    for path, names in functions.items():
        run = user.FileRun(
            path, names, shapes, wrt, options.seed, options.timeout, bool(options.html)
        )
        for item in run:
            if item.verdict != "refused" and not options.json:
                print(item.text(), flush=True)
            # check_inputs() may raise for each
            elif item.verdict == "refused" and item.words not in mistakes:
                print(f"ibpcl: {item.words}", file=sys.stderr, flush=True)
                mistakes.append(item.words)
            item.title = f"yours/{item.title}"
            yours.append(item)
        alone += [f"{path}:{name}" for name in run.left_out]
        for failure in run.failures:
            print(wrapped(f"note: {path}: {failure}", "  "), file=sys.stderr)
    if alone and not options.json:
        print(wrapped(f"left out, without a gradient: {', '.join(alone)}", "  "))
    return yours, {
        **({"left_out": alone} if alone else {}),
        **({"error": mistakes[0]} if mistakes else {}),
    }


def check_paper(options, start):
    """Run the checks that the paper's equations need, and print each equation with its verdict.

    Returns the results, and what the JSON has of the equations.
    """
    from ibpcl.paper import catalogue, equations, rendering

    needed = {name for equation in equations.EQUATIONS for name in equation.checks}
    results = run(
        [check for check in catalogue.checks() if str(check) in needed], options, show=False
    )
    outcomes = {str(result.check): result.outcome for result in results}
    if not options.json:
        for equation in equations.EQUATIONS:
            print(rendering.paper_line(equation, outcomes, options.verbose))
        print(rendering.paper_summary(equations.EQUATIONS, outcomes, time.perf_counter() - start))
    return results, [equation.to_dict(outcomes) for equation in equations.EQUATIONS]


def run(selected, options, show):
    """Run checks of the package and return their results; ``show`` prints each under the head of
    its group.
    """
    from tqdm import tqdm

    from ibpcl.paper import catalogue, rendering

    results = []
    group = None
    if reason := catalogue.left_out(selected):
        console.tell(f"ibpcl: {reason}")
    with tqdm(
        total=len(selected),
        unit="check",
        leave=False,
        file=sys.stderr,
        disable=console.bar_is_off(None) or not selected,
    ) as bar:
        for result in catalogue.run_all(
            selected, options.seed, options.timeout, bool(options.html)
        ):
            results.append(result)
            if show:
                head = [rendering.head(result.check.group)] if result.check.group != group else []
                group = result.check.group
                bar.write(
                    "\n".join([*head, rendering.line(result, options.verbose)]), file=sys.stdout
                )
                sys.stdout.flush()
            bar.update()
    return results
