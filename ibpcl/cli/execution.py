"""Execution of a command: parsing, running, and reporting mistakes in one line."""

import contextlib
import importlib
import json
import os
import re
import sys
import warnings
from functools import partial

from ibpcl import console
from ibpcl.cli import FAILED, OK, WRONG
from ibpcl.cli.parser import parser
from ibpcl.errors import TrainingError, UserError

# Arguments without a flag.
POSITIONAL = ("experiment", "target")
# Arguments of the library whose option has another name: attribute of the options, and flag.
OTHER_NAMES = {
    "platform": ("platform", "--from"),
    "level": ("hints", "--hints"),
    "per_day": ("late_penalty", "--late-penalty"),
    "at_most": ("late_at_most", "--late-at-most"),
}
# Modules of the commands `check`, `audit` and `class`.
READS_DOCSTRINGS = ("check", "audit", "classroom")


def execute(arguments):
    """Run one command and return its exit code; a mistake of the program keeps its traceback.

    Parameters
    ----------
    arguments : list of str
        The words after ``ibpcl``.

    Returns
    -------
    code : int
        The exit code.
    """
    complete()
    options = None
    try:
        options = parsed(arguments)
        if options.command is None:
            parser().print_help()
            return OK
        if empty := [name for name, value in vars(options).items() if value == ""]:
            raise UserError(
                f"{', '.join(empty)} must not be empty (is a variable of the shell not set?)"
            )
        if sys.flags.optimize >= 2 and options.command in READS_DOCSTRINGS:
            raise UserError(
                f"ibpcl {options.command} needs docstrings, which Python removes with -OO; "
                "unset PYTHONOPTIMIZE"
            )
        # NumPy and Matplotlib read it, one when it is imported and one when it writes a figure.
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "0")
        if not epoch.isascii() or not epoch.isdigit():
            raise UserError(
                f"the environment variable SOURCE_DATE_EPOCH must be a whole number of seconds, "
                f"got {epoch!r}; unset it, or set it to a number"
            )
        # A terminal that lacks a character such as "±" must not end a command.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        with warnings.catch_warnings():
            warnings.showwarning = partial(tell, command=options, otherwise=warnings.showwarning)
            code = importlib.import_module(f"ibpcl.cli.{options.command}").execute(options)
        if hasattr(sys.stdout, "flush"):
            sys.stdout.flush()  # flush here, so that a closed pipe is handled
        return code or OK
    # The reader of the pipe, such as head, has ended.
    except BrokenPipeError:
        with contextlib.suppress(AttributeError, OSError):  # in a notebook, it has no number
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except UserError as error:
        return complain(in_words_of(options, error), WRONG)
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}" if error.filename else error, WRONG)
    except MemoryError as error:
        smaller = (
            "use fewer --jobs"
            if options.command == "classroom"
            else "make hidden, samples or batch smaller"
        )
        return complain(f"not enough memory: {error}; {smaller}", FAILED)
    except TrainingError as error:
        return complain(in_words_of(options, error), FAILED)


def in_words_of(options, message):
    """Return a message of the library in terms of a command: its arguments become options.

    The library names its arguments in backticks, such as `out`.

    Parameters
    ----------
    options : argparse.Namespace or None
        The options of the command; None if the command line could not be parsed.
    message : object
        The message or the exception.

    Returns
    -------
    message : str
        The message with options such as ``--out``.

    Examples
    --------
    >>> import argparse
    >>> options = argparse.Namespace(experiment="a", data_dir=None, platform=None)
    >>> in_words_of(options, "name another `experiment`, or a folder with `data_dir` or `x`")
    'name another EXPERIMENT, or a folder with --data-dir or `x`'
    >>> in_words_of(options, "see `platform`")
    'see --from'
    """

    def option(match):
        name = match[1]
        attribute, flag = OTHER_NAMES.get(name, (name, f"--{name.replace('_', '-')}"))
        if attribute not in known:
            return match[0]
        return name.upper() if name in POSITIONAL else flag

    known = vars(options) if options is not None else {}
    return re.sub(r"`(\w+)`", option, str(message))


def complete():
    """Answer a shell that completes a command line, and end the process; otherwise do nothing."""
    if "_ARGCOMPLETE" in os.environ:
        # Without the package argcomplete, nothing is completed.
        with contextlib.suppress(ModuleNotFoundError):
            import argcomplete

            argcomplete.autocomplete(parser())


def parsed(arguments):
    """Parse a command line; ``ibpcl check --json`` answers in JSON even if the line is refused.

    Parameters
    ----------
    arguments : list of str
        The words after ``ibpcl``.

    Returns
    -------
    options : argparse.Namespace
        The options, with ``command``.

    Raises
    ------
    UserError
        If the command line has a mistake.
    """
    try:
        return parser().parse_args(arguments)
    except UserError as error:
        if arguments[:1] == ["check"] and "--json" in arguments:
            print(json.dumps({"ok": False, "verdict": "refused", "error": str(error)}))
        raise


def tell(message, category, *place, command, otherwise, **options):
    """Print a warning of this package in one line; show warnings for developers as Python does.

    Parameters
    ----------
    message : Warning
        The warning.
    category : type
        Its class; ``UserWarning`` for warnings of this package.
    *place
        File and line.
    command : argparse.Namespace
        The options of the command.
    otherwise : callable
        ``warnings.showwarning`` of Python.
    **options
        Further arguments of ``warnings.showwarning``.
    """
    if category is UserWarning:
        complain(in_words_of(command, message), OK)
    else:
        otherwise(message, category, *place, **options)


def complain(message, code):
    """Print one line on standard error.

    Parameters
    ----------
    message : object
        The message or the exception.
    code : int
        An exit code.

    Returns
    -------
    code : int
        The same code.
    """
    console.tell(f"ibpcl: {' '.join(str(message).split())}")
    return code
