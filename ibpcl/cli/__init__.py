"""The command line ``ibpcl``: parsing and printing only; the commands are modules of this package.

A command imports its module only when it runs, so that ``--help`` and ``--version`` answer at once.
A mistake of the user ends with exit code 2 and one line on standard error. A mistake of the program
keeps its traceback.
"""

import os
import sys

# 130 = 128 + SIGINT, as shells count
OK = 0
FAILED = 1
WRONG = 2
INTERRUPTED = 130
# Commands that continue where they were interrupted.
RESUMABLE = ("run", "compare", "tune", "reproduce", "audit")


def main(arguments=None):
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        The words after ``ibpcl``; those of this process if not given.

    Returns
    -------
    code : int
        0 for success, 1 for failure, 2 for a mistake of the user, 130 for an interrupt; ``ibpcl
        check`` has further codes.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        _open_closed_streams()
        from ibpcl.cli.execution import execute  # imported here, so that an interrupt is handled

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
    """Open streams that the shell has closed (``2>&-``) on the null device.

    Otherwise, a result file could get the number of a standard stream, and processes that the
    command starts inherit the three numbers. A stream that is None (pythonw), or that Python has
    closed, is opened on the null device too.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The system assigns the lowest free number, which is this one.
            opened = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(opened, True)
        stream = getattr(sys, name)
        if stream is None or getattr(stream, "closed", False):
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, "w" if number else "r", encoding="utf-8"))
