"""The command ``ibpcl check``: verify the derivations of this package, or a gradient of your own.

Checking a user's file needs :mod:`ibpcl.verify` only; :mod:`ibpcl.paper` is imported for everything
else.
"""

import json
import math
import os
import sys
import time
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

from ibpcl import console
from ibpcl.cli.verdicts import CODES, as_dict, as_page, as_sarif, joint, summary, wrapped
from ibpcl.errors import UserError

EPILOG = """\
targets:
  a group      gradients, densities, samplers, divergences, estimators,
               definitions, errata
  a check      a name, its beginning or a pattern: kumaraswamy, '*.kl',
               errata/mask-* (if your own file is checked too: only the full
               name or a pattern)
  your file    mine.py:NAME or homework.ipynb:NAME, where NAME is one of
               - a function with its gradient in the same file: f and f_vjp,
                 f_forward and f_backward, f and grad_f, f and f_prime ...
               - a class with the methods forward and backward
               - a function that returns (loss, gradient), or its output and
                 a function of dout that returns the gradients
               Without :NAME, everything in the file is checked. Inputs come
               from check_inputs() in the file or from --shape, or are guessed.
               The file runs with your permissions and without a sandbox; to
               check the work of others, use `ibpcl class grade`.

examples:      ibpcl check
               ibpcl check kumaraswamy
               ibpcl check mine.py:f --shape x=3,4 --shape w=4

exit code:     0  everything is correct
               1  something is wrong, raises an error or ends the process
               2  the command has a mistake, or a function cannot be checked
               3  nothing is wrong, but a check is undecided (out of time, or
                  the numerical differences are too inaccurate)
"""
TIMEOUT = 120.0  # seconds


def add_parser(subparsers):
    """Add ``check`` to the subparsers of the command line.

    Parameters
    ----------
    subparsers : object
        The return value of ``ArgumentParser.add_subparsers``.

    Returns
    -------
    parser : argparse.ArgumentParser
        The parser of the command.
    """
    parser = subparsers.add_parser(
        "check",
        help="verify the gradients of this package, or your own",
        epilog=EPILOG,
        description=(
            "Verify every derivation of this package numerically, or a gradient of your own."
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
        help="time limit per check; after it, the check counts as undecided (default: "
        f"{TIMEOUT:g})",
    )
    parser.add_argument(
        "--paper", action="store_true", help="print every equation of the paper with its verdict"
    )
    parser.add_argument("--list", action="store_true", help="list the names of all checks and stop")
    parser.add_argument(
        "--names",
        action="store_true",
        help="list the names by which functions of a distribution are found and stop",
    )
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="print every detail of each check"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON only")
    parser.add_argument(
        "--html", metavar="FILE", help="also write all reports with figures to an HTML page"
    )
    parser.add_argument(
        "--sarif",
        metavar="FILE",
        help="also write the mistakes in your files as SARIF, for editors and code hosts",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the random inputs (default: 0)"
    )
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=SIZES",
        help="shape of a random input of your function, such as x=3,4; may be given several times",
    )
    parser.add_argument(
        "--wrt",
        metavar="NAMES",
        help="the inputs for which your f_vjp returns gradients, in its order, such as x,w",
    )
    return parser


def execute(options):
    """Run the checks that the command line names.

    An error is printed on standard error with all its lines, because it may be a traceback of the
    user's file; with ``--json``, also as an object on standard output.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl check``.

    Returns
    -------
    code : int
        The exit code, see :data:`EPILOG`.
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

    if options.names:
        from ibpcl.verify.distributions.vocabulary import text_of_names

        print(text_of_names())
        return CODES["ok"]
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
    yours, more = check_files(functions, options)
    items = [item for _, item in yours]
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
    if options.sarif:
        Path(options.sarif).write_text(json.dumps(as_sarif(yours), indent=1), encoding="utf-8")
    return CODES[joint(items)]


def assigned(files, names):
    """Assign the names on the command line to the user's files.

    Parameters
    ----------
    files : list of str
        Targets such as ``mine.py:f`` or ``mine.py``.
    names : list of str
        The other targets.

    Returns
    -------
    functions : dict of str to list of str
        The functions to check by file; an empty list means all.
    left : list of str
        The names that no file defines.
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
    """Return the checks of the package with the given names.

    If files of the user are given too, a name must be a group, the full name of a check, or a
    pattern: the beginning of a name could be a misspelt function.

    Parameters
    ----------
    names : list of str
        Names, beginnings of names, groups or patterns; an empty list selects all checks.
    files : sequence of str
        The user's files.

    Returns
    -------
    checks : list of ibpcl.paper.catalogue.Check
        In the order of the catalogue.

    Raises
    ------
    UserError
        If a name matches no check.
    """
    from ibpcl.paper import catalogue

    every = (
        {word for check in catalogue.select([]) for word in (check.group, check.name, str(check))}
        if files
        else ()
    )
    for name in names if files else ():
        if not set("*?[") & set(name) and name.removesuffix("/") not in every:
            raise UserError(
                f"check: {name!r} is neither a function of {' or '.join(files)} nor the full name "
                f"of a check; for a function of a file write {files[0]}:{name} (`ibpcl check "
                "--list` lists the checks)"
            )
    return catalogue.select(names)


def _refuse(options, files):
    """Refuse options that contradict each other, or that would have no effect."""
    if (options.shape or options.wrt or options.sarif) and not files:
        applied = "--sarif applies" if options.sarif else "--shape and --wrt apply"
        raise UserError(
            f"check: {applied} to your own function only: give path/to/mine.py:function"
        )
    if not (options.timeout > 0 and math.isfinite(options.timeout)):
        raise UserError(f"check: --timeout takes seconds > 0, got {options.timeout:g}")
    if options.paper and options.targets:
        raise UserError("check: --paper takes no TARGET: it runs the checks of all equations")
    apart = [name for name in ("paper", "html", "json", "sarif") if getattr(options, name)]
    if options.list and apart:
        raise UserError(f"check: --list cannot be combined with --{apart[0]}: it only prints names")
    for name in ("html", "sarif"):
        path = Path(getattr(options, name) or "-")
        folder = path.absolute().parent
        if getattr(options, name) and not (
            folder.is_dir() and not path.is_dir() and os.access(folder, os.W_OK)
        ):
            raise UserError(
                f"check: --{name} cannot write {path}: name a file in an existing folder that you "
                "may write to"
            )


def check_files(functions, options):
    """Check the pairs in the user's files, and print each verdict as it comes.

    Parameters
    ----------
    functions : dict of str to list of str
        From :func:`assigned`.
    options : argparse.Namespace
        The options of ``ibpcl check``.

    Returns
    -------
    items : list of (str, ibpcl.verify.running.user.Checked)
        Each file with a verdict.
    more : dict
        Entries for the JSON output: functions without a gradient, and the first error.
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
            # check_inputs() may raise the same error for each function: print it once.
            elif item.verdict == "refused" and item.words not in mistakes:
                print(f"ibpcl: {item.words}", file=sys.stderr, flush=True)
                mistakes.append(item.words)
            item.title = f"yours/{item.title}"
            yours.append((path, item))
        alone += [f"{path}:{name}" for name in run.left_out]
        for failure in run.failures:
            print(wrapped(f"note: {path}: {failure}", "  "), file=sys.stderr)
    if alone and not options.json:
        print(wrapped(f"not checked, no gradient found: {', '.join(alone)}", "  "))
    return yours, {
        **({"left_out": alone} if alone else {}),
        **({"error": mistakes[0]} if mistakes else {}),
    }


def check_paper(options, start):
    """Run the checks of the paper's equations, and print each equation with its verdict.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl check``.
    start : float
        When the command started, by :func:`time.perf_counter`.

    Returns
    -------
    results : list of ibpcl.paper.catalogue.Result
        The verdicts of the checks.
    equations : list of dict
        Entries for the JSON output.
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
    """Run checks of the package.

    Parameters
    ----------
    selected : list of ibpcl.paper.catalogue.Check
        The checks.
    options : argparse.Namespace
        The options of ``ibpcl check``.
    show : bool
        Whether to print each verdict, below the heading of its group.

    Returns
    -------
    results : list of ibpcl.paper.catalogue.Result
        One per check.
    """
    from tqdm import tqdm

    from ibpcl.paper import catalogue, rendering

    results = []
    group = None
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
    if reason := catalogue.left_out(selected):
        console.tell(f"ibpcl: {reason}")
    return results
