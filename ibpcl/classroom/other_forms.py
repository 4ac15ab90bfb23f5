"""The answer to another form of an assignment, as a copy of a neighbour's hand-in gives it.

A student may take the parametrization of one function for another, which is a mistake like others.
Whoever answers two functions or more in the same other form has solved that form.  It earns nothing
where the two forms differ.
"""

from collections import defaultdict

# functions in the same other form that make a hand-in an answer to that form
LEAST = 2
WORDS = (
    "several functions answer another form of the assignment, which earns nothing: read the "
    "statement of yours"
)


def withdraw(case, verdicts):
    """Take the points of answers to another form, and of what is right for these answers only.

    Parameters
    ----------
    case : ibpcl.classroom.judge.Case
        ``case.wrong`` has the explanations of the wrong functions.
    verdicts : list of ibpcl.classroom.verdict.Verdict
        Changed in place.
    """
    functions = defaultdict(set)
    for function, standing in case.wrong.items():
        form = getattr(standing.explanation, "form", "")
        if form:
            functions[form].add(function)
    copied = {function for names in functions.values() if len(names) >= LEAST for function in names}
    if not copied:
        return
    for verdict in verdicts:
        task = case.assignment.task(verdict.task)
        own = task.function in copied
        if not own and task.forward not in copied:
            continue
        for part in verdict.parts:
            if part.follows or (own and part.kind != "ok"):
                part.share = 0.0
        if task.kind in ("extremes", "referee") and own:
            _set_points(verdict, 0.0)
        elif verdict.parts:
            _set_points(verdict, sum(part.share for part in verdict.parts) / len(verdict.parts))


def _set_points(verdict, share):
    points = round(share * verdict.most, 2)
    if points < verdict.points:
        verdict.points = points
        verdict.state = "partial" if points else "wrong"
        verdict.words.append(WORDS)
