"""How a command is run, and what its mistakes are answered with."""

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

# the modules of the commands `check` and `class`
# arguments without a flag
POSITIONAL = ("experiment", "target")
READS_DOCSTRINGS = ("check", "classroom")


def execute(arguments):
    """Run one command and return its exit code; a mistake of the program keeps its traceback."""
    complete()
    options = None
    try:
        options = parsed(arguments)
        if options.command is None:
            parser().print_help()
            return OK
        if empty := [name for name, value in vars(options).items() if value == ""]:
            raise UserError(
                f"{', '.join(empty)} must not be empty (a variable of the shell that is not set?)"
            )
        if sys.flags.optimize >= 2 and options.command in READS_DOCSTRINGS:
            raise UserError(
                f"ibpcl {options.command} reads docstrings, which Python leaves out with -OO; "
                "unset PYTHONOPTIMIZE"
            )
        # a terminal without "±" must not end a command
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        with warnings.catch_warnings():
            warnings.showwarning = partial(tell, command=options, otherwise=warnings.showwarning)
            code = importlib.import_module(f"ibpcl.cli.{options.command}").execute(options)
        if hasattr(sys.stdout, "flush"):
            sys.stdout.flush()  # here, where a closed pipe is understood
        return code or OK
    # the reader, such as head, has seen enough
    except BrokenPipeError:
        with contextlib.suppress(AttributeError, OSError):  # an object of a notebook has no number
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
    """Return a message of the library with its arguments as the options of a command.

    The library names its arguments in backticks, such as `out`.

    Parameters
    ----------
    options : argparse.Namespace or None
        Of the command; None if its line could not be parsed.
    message : object

    Examples
    --------
    >>> import argparse
    >>> options = argparse.Namespace(experiment="a", data_dir=None)
    >>> in_words_of(options, "name another `experiment`, or a folder with `data_dir` or `x`")
    'name another EXPERIMENT, or a folder with --data-dir or `x`'
    """

    def option(match):
        name = match[1]
        if name not in known:
            return match[0]
        return name.upper() if name in POSITIONAL else f"--{name.replace('_', '-')}"

    known = vars(options) if options is not None else {}
    return re.sub(r"`(\w+)`", option, str(message))


def complete():
    """Answer a shell that completes a command line, and end the process; else do nothing."""
    if "_ARGCOMPLETE" in os.environ:
        # without the extra "completion" nothing is completed
        with contextlib.suppress(ModuleNotFoundError):
            import argcomplete

            argcomplete.autocomplete(parser())


def parsed(arguments):
    """Parse a command line; `ibpcl check --json` is answered in JSON even if it is refused."""
    try:
        return parser().parse_args(arguments)
    except UserError as error:
        if arguments[:1] == ["check"] and "--json" in arguments:
            print(json.dumps({"ok": False, "verdict": "refused", "error": str(error)}))
        raise


def tell(message, category, *place, command, otherwise, **options):
    """Print a plain warning on standard error in a line; one for developers, such as a deprecation,
    as Python does.
    """
    if category is UserWarning:
        complain(in_words_of(command, message), OK)
    else:
        otherwise(message, category, *place, **options)


def complain(message, code):
    """Print one line on standard error and return the exit code."""
    console.tell(f"ibpcl: {' '.join(str(message).split())}")
    return code
