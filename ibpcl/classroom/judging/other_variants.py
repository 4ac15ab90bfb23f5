"""Answers to another variant of an assignment, as in a copy of a neighbour's hand-in.

A student may confuse two parametrizations in one function, which is a mistake like any other.  A
hand-in that answers two functions or more in the same other variant has solved that variant.  It
earns nothing where the two variants differ.
"""

from collections import defaultdict

from ibpcl.classroom.judging.marking import settle

# From this number of functions on, a hand-in is an answer to the other variant.
LEAST = 2
WORDS = (
    "several functions answer another variant of the assignment, which earns nothing: read the "
    "statement of your variant"
)


def withdraw(case, verdicts):
    """Withdraw the points of answers to another variant, and of gradients right for these only.

    Parameters
    ----------
    case : ibpcl.classroom.judging.judge.Case
        ``case.wrong`` has the explanations of the wrong functions.
    verdicts : list of ibpcl.classroom.judging.verdict.Verdict
        Changed in place.
    """
    functions = defaultdict(set)
    for function, partial_credit in case.wrong.items():
        variant = getattr(partial_credit.explanation, "variant", "")
        if variant:
            functions[variant].add(function)
    copied = {function for names in functions.values() if len(names) >= LEAST for function in names}
    if not copied:
        return
    for verdict in verdicts:
        task = case.assignment.task(verdict.task)
        own = task.function in copied
        if not own and task.forward not in copied:
            continue
        before = verdict.points
        for part in verdict.parts:
            if part.follows or (own and (part.kind != "ok" or task.kind == "extremes")):
                case.marking.limit(part, "another_variant")
        settle(verdict)
        if verdict.points < before:
            verdict.words.append(WORDS)
