"""The search for a change of the source after which a goal holds, within a budget.

The budget is a number of runs, so the result does not depend on the speed of the machine.
"""

# approximate seconds to compile a function, and to run one expression of it
COMPILING = 3e-4
RUNNING = 2e-6


def affordable(seconds, executed, compiling=COMPILING):
    """Return how often a function can be run in a time limit, by its number of expressions.

    The estimate does not depend on the speed of the machine, so results are reproducible.

    Parameters
    ----------
    seconds : float
        Time limit.
    executed : int
        Number of expressions that one run evaluates.
    compiling : float
        Seconds that it takes to compile the function before each run.

    Returns
    -------
    int
    """
    return int(seconds / (5e-5 + compiling + RUNNING * executed))


def search(code, edits, reached, stop):
    """Try edits one after another until one reaches the goal.

    Parameters
    ----------
    code : Code
        Source of the function.  Each edit is undone after its trial.
    edits : sequence of Edit
        The edits, in the order in which they are tried.
    reached : callable
        ``reached(edit, function)`` returns True if the changed function ends the search.
    stop : callable
        ``stop(edit)`` returns True if the budget is used up before this edit.

    Returns
    -------
    list of Edit
        The edits that were not tried.
    """
    for number, edit in enumerate(edits):
        if stop(edit):
            return edits[number:]
        function = after(code, edit)
        if function is not None and reached(edit, function):
            return edits[number + 1 :]
    return []


def after(code, edit):
    """Return a function after an edit.

    Parameters
    ----------
    code : Code
        Source of the function.  The edit is undone afterwards.
    edit : Edit
        The edit.

    Returns
    -------
    callable or None
        None if the changed source does not compile.
    """
    undo = edit.swap()
    try:
        return code.compile()
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    finally:
        undo.swap()
