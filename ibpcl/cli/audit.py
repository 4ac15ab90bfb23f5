"""The command ``ibpcl audit``: find wrong gradients that the tests of a project do not see."""

import json
import os
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

from ibpcl.errors import UserError

EPILOG = """\
target:
  layers.py         every gradient function of a file
  layers.py:conv    one of them
  mypackage         every gradient function of a folder, except in its tests

examples:
  ibpcl audit layers.py --tests "pytest tests -q"
  ibpcl audit mypackage --tests "pytest tests -q" --most 20 --fail-under 90
  ibpcl audit layers.py --tests "python -m unittest"

The command runs in a copy of the current folder. The folder itself is not
changed. An interrupted audit continues when the command is repeated.

exit code:     0  the tests catch the share of the mistakes that --fail-under
                  names
               1  they catch less
               2  the command has a mistake, or the tests cannot be used: they
                  fail without a mistake, take too long, or change files
               3  no mistake could be tried
"""
CAUGHT = 0
MISSED = 1
UNTRIED = 3
MOST_WORKERS = 256
MOST = 40  # mistakes in each function: with 40 functions, minutes and not hours


def add_parser(subparsers):
    """Add ``audit`` to the subparsers of the command line.

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
        "audit",
        help="find wrong gradients that your tests do not see",
        epilog=EPILOG,
        description=(
            "Plant known mistakes into the gradient functions of a project, one at a time and in a "
            "copy, run the project's own tests, and list the mistakes that no test sees."
        ),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command="audit")
    parser.add_argument("target", metavar="TARGET", help="a Python file or a folder")
    parser.add_argument(
        "--tests",
        required=True,
        metavar="COMMAND",
        help='the test command in quotes, such as "pytest tests -q"',
    )
    parser.add_argument(
        "--project",
        metavar="DIR",
        help="the folder that is copied and in which the tests run (default: the current folder)",
    )
    parser.add_argument(
        "--most",
        type=int,
        default=MOST,
        metavar="N",
        help="try at most N mistakes in each function, spread over its lines and the kinds of "
        f"mistakes; 0 for all (default: {MOST})",
    )
    parser.add_argument(
        "--fail-under",
        type=float,
        default=100.0,
        metavar="PERCENT",
        help="share of the mistakes that the tests must catch for exit code 0 (default: 100)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="runs of the tests at the same time (default: the number of processors)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="limit on the processor time of the tests without a mistake (default: 1800)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the inputs and cotangents at which mistakes are compared (default: 0)",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="run every mistake again, also those in the journal"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON only")
    parser.add_argument("--html", metavar="FILE", help="also write the report to an HTML page")
    parser.add_argument(
        "--sarif",
        metavar="FILE",
        help="also write the mistakes that survive as SARIF, for editors and code hosts",
    )
    return parser


def execute(options):
    """Run the audit that the command line describes.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl audit``.

    Returns
    -------
    code : int
        The exit code, see :data:`EPILOG`.
    """
    refuse(options)
    from ibpcl import __version__
    from ibpcl.audit import audit

    report = audit(
        options.target,
        options.tests,
        project=options.project,
        most=options.most,
        workers=options.workers,
        seed=options.seed,
        timeout=options.timeout,
        fresh=options.fresh,
    )
    print(json.dumps(report.to_dict(), indent=1) if options.json else report.text())
    if options.html:
        Path(options.html).write_text(report.html(), encoding="utf-8")
    if options.sarif:
        folder = Path(options.project or ".").resolve()
        Path(options.sarif).write_text(
            json.dumps(report.sarif(__version__, folder), indent=1), encoding="utf-8"
        )
    if report.score is None:
        return UNTRIED
    return CAUGHT if report.score >= options.fail_under else MISSED


def refuse(options):
    """Refuse options that have no meaning, before anything runs.

    Parameters
    ----------
    options : argparse.Namespace
        The options.

    Raises
    ------
    UserError
        If a number is out of range, or a file cannot be written.
    """
    if options.most < 0:
        raise UserError(f"audit: --most takes a number of at least 0, got {options.most}")
    if options.workers is not None and not 1 <= options.workers <= MOST_WORKERS:
        raise UserError(f"audit: --workers takes 1 to {MOST_WORKERS}, got {options.workers}")
    if not 0 <= options.fail_under <= 100:
        raise UserError(f"audit: --fail-under takes 0 to 100 percent, got {options.fail_under:g}")
    if options.timeout is not None and not 0 < options.timeout < float("inf"):
        raise UserError(f"audit: --timeout takes seconds > 0, got {options.timeout:g}")
    if options.project is not None and not Path(options.project).is_dir():
        raise UserError(f"audit: --project is not a folder: {options.project}")
    for name in ("html", "sarif"):
        path = Path(getattr(options, name) or "-")
        folder = path.absolute().parent
        if getattr(options, name) and (
            path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK)
        ):
            raise UserError(
                f"audit: --{name} cannot write {path}: name a file in an existing folder that you "
                "may write to"
            )
