"""The command line: ``ibpcl run``, ``ibpcl data``, ``ibpcl settings``; parsing and printing only.

What does the work is imported when a command runs, so that ``--help`` and ``--version`` answer at
once.  A mistake of the user ends with exit code 2 and one line on standard error; a mistake of the
program keeps its traceback.
"""

import os
import sys

# 130 = 128 + SIGINT, as shells count
OK = 0
FAILED = 1
WRONG = 2
INTERRUPTED = 130
# commands that continue where they were interrupted
RESUMABLE = ("run", "compare", "tune", "reproduce")


def main(arguments=None):
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Those of the process if not given.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        _open_closed_streams()
        from ibpcl.cli.execution import execute  # here, where an interrupt is understood

        return execute(arguments)
    except KeyboardInterrupt:
        from ibpcl import console

        again = ""
        if arguments[:1] and arguments[0] in RESUMABLE:
            from ibpcl import shell

            words = [word for word in arguments if word != "--fresh"]
            again = f"; to continue: {shell.command_line(['ibpcl', *words])}"
        console.tell(f"ibpcl: interrupted{again}")
        return INTERRUPTED


def _open_closed_streams():
    """Open what the shell has closed (``2>&-``) on the null device, before a result file gets its
    number.

    Processes that a command starts inherit the three numbers.  A stream that is None (pythonw) or
    that Python has closed is opened on the null device, too.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # the lowest free number, which is this one
            opened = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(opened, True)
        stream = getattr(sys, name)
        if stream is None or getattr(stream, "closed", False):
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, "w" if number else "r", encoding="utf-8"))
