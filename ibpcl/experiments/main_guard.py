"""Detection of scripts without a main guard, whose workers would run the whole script again.

A process that is started by spawn or forkserver imports the script of its parent. Windows and macOS
start processes by spawn, and Python 3.14 starts them by forkserver on Linux. A script that starts
workers when it is imported therefore starts them in each worker too; Python refuses that with two
tracebacks.
"""

import ast
import sys
from pathlib import Path

LINE = (
    "the worker processes cannot start, because each of them runs this script again; put the "
    'statements of the script under `if __name__ == "__main__":`'
)


def refuse_to_begin_again(workers):
    """End a worker process that is still importing the script and is about to start workers itself.

    It ends silently: its parent notices, and prints :data:`LINE`.

    Parameters
    ----------
    workers : object or None
        The workers to start; None if the jobs need no worker processes.

    Raises
    ------
    SystemExit
        With the exit code 1.
    """
    if workers is None:
        return
    # loaded when it is used: a browser tab, which runs the tutorials, has no processes
    import multiprocessing

    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def is_missing(executor):
    """Return whether the processes of an executor import a script that has no main guard.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        The executor.

    Returns
    -------
    missing : bool
        False for executors whose processes do not import the script.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    if not isinstance(executor, ProcessPoolExecutor):
        return False
    context = getattr(executor, "_mp_context", None) or multiprocessing
    if context.get_start_method() == "fork":
        return False
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    # An interactive session, or `python -m`: no script is run again.
    if path is None or getattr(main, "__spec__", None) is not None:
        return False
    return not has_guard(path)


def has_guard(path):
    """Return whether a script tests ``__name__`` anywhere.

    Parameters
    ----------
    path : path-like
        The script.

    Returns
    -------
    guarded : bool
        True also for a script that cannot be read.
    """
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(tree))
