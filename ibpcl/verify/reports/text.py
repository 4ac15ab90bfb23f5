"""Reports as text of 80 columns."""

import textwrap

import numpy as np

from ibpcl.verify.reports.words import count

WIDTH = 80
METHODS = {"complex step": "complex step", "Richardson differences": "differences"}


def of_report(report):
    """Return a report as text.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        Lines of at most 80 columns.
    """
    right = [item for item in report.inputs if item.ok and not item.words and item.reason is None]
    first = _first(report)
    lines = wrapped(first, "", "    ") if report.unjudged else [first]
    for group in grouped([item for item in report.inputs if item not in right]):
        lines += _of_group(group)
    if right:
        lines += wrapped(_of_right(right), "  ", "    ")
    kinds = {item.kind for item in report.inputs}
    for problem in report.problems:
        if problem.kind not in kinds:
            lines += wrapped(f"{problem.kind}: {problem.words}", "  ", "    ")
            lines += wrapped(f"hint: {problem.hint}", "    ", "      ")
    notes = [f"note: {habit.words}" for habit in report.habits]
    if len(right) < len(report.inputs):
        notes += _witnesses(report.inputs)
    for note in [*notes, *report.notes]:
        lines += wrapped(note, "  ", "    ")
    return "\n".join(lines)


def of_input(item):
    """Return the verdict on one input as text.

    Parameters
    ----------
    item : InputVerdict
        The verdict.

    Returns
    -------
    str
        Lines of at most 80 columns.
    """
    return "\n".join(_of_group([item]))


def grouped(items):
    """Group verdicts that are equal for several inputs.

    Parameters
    ----------
    items : sequence of InputVerdict
        The verdicts.

    Returns
    -------
    list of list of InputVerdict
        Right inputs are alone.
    """
    groups = {}
    for item in items:
        alike = (item.kind, item.words, str(item.where), item.hint, item.reason)
        groups.setdefault(id(item) if item.ok else alike, []).append(item)
    return list(groups.values())


def _first(report):
    """Return the first line: the verdict, the score, and the gradients that are not judged."""
    wrong = sum(item.verdict == "wrong" for item in report.inputs)
    weak = sum(item.ok and item.weak for item in report.inputs)
    every = len(report.inputs)
    verdict = "ok" if report.ok else report.verdict.upper()
    verdict += f" for {wrong} of {every} inputs" if wrong and not report.ok else ""
    verdict += f" ({weak} of {every} inputs hardly tested)" if weak else ""
    left = "".join(f"; not judged: {sentence}" for sentence in report.unjudged)
    return f"{report.title}: {verdict}, score {report.score:.2f}{left}"


def _of_group(items):
    """Return the lines on inputs with equal verdicts."""
    first = items[0]
    names = ", ".join(item.name for item in items)
    single = len(items) == 1
    lines = wrapped(f"{names}  {first.kind}: {_words(first)}", "  ", "      ")
    details = [line for line in [_compared(first)] if single and line]
    if not first.ok and first.where:
        details.append(str(first.where))
    slope = first.numbers.get("taylor_slope", np.nan)
    if single and not first.ok and np.isfinite(slope):
        details.append(f"Taylor remainder: slope {slope:.2f} (right: 2, wrong: 1)")
    if first.reason is not None and first.reason.words not in first.words:
        details.append(f"reason: {first.reason.words}")
    if not single:
        details += [f"{item.name}: {_compared(item)}" for item in items if _compared(item)]
    if first.hint:
        details.append(f"hint: {first.hint}")
    for line in details:
        lines += wrapped(line, "      ", "        ")
    return lines


def _words(item):
    """Return the sentence of a verdict; of a right one, the error first."""
    if not item.ok:
        return item.words
    return _error(item) + (f"; {item.words}" if item.words else "")


def _compared(item):
    """Return what was compared for a verdict that is not ok: the worst entry, or the error."""
    n = item.numbers
    if "worst" in n:
        off = "off" if item.undecided else "wrong"
        got = _apart(n["got"], n["expected"])
        return f"{off} at {n['wrong']} of {_over(n)}; worst at {n['worst']}: got {got}"
    known = item.undecided and "rtol" in n and np.isfinite(item.error)
    return _error(item) if known else ""


def _error(item):
    n = item.numbers
    allowed = f" (tolerance {n['rtol']:.0e})" if "rtol" in n else ""
    return f"error {item.error:.1e}{allowed} over {_over(n)}"


def _over(n):
    """Return over how many entries or directions a gradient was compared."""
    directions = n.get("directions")
    over = count(n.get("compared", 0)) if directions is None else f"{directions} random directions"
    return over + (f", {n['skipped']} skipped at jumps" if n.get("skipped") else "")


def _of_right(items):
    """Return one line for the inputs whose gradients are right."""
    numbers = [item.numbers for item in items]
    directed = [n["directions"] for n in numbers if "directions" in n]
    entries = sum(n.get("compared", 0) for n in numbers if "directions" not in n)
    skipped = sum(n.get("skipped", 0) for n in numbers)
    over = [count(entries)] if entries else []
    over += [f"{sum(directed)} random directions"] if directed else []
    over += [f"{skipped} skipped at jumps"] if skipped else []
    names = ", ".join(item.name for item in items)
    names = names if len(names) <= 24 else f"{len(items)} inputs"
    error = max((item.error for item in items), key=lambda error: (np.isnan(error), error))
    allowed = [n["rtol"] for n in numbers if "rtol" in n]
    tolerance = f" (tolerance {max(allowed):.0e})" if allowed else ""
    methods = dict.fromkeys(METHODS[item.witness] for item in items if item.witness)
    by = f", {' and '.join(methods)}" if methods else ""
    return f"{names}: error {error:.0e}{tolerance} over {', '.join(over)}{by}"


def _witnesses(items):
    """Return a list of at most one line: the numerical methods, and how well they agree."""
    methods = dict.fromkeys(item.witness for item in items if item.witness)
    known = [item.numbers.get("agreement", np.nan) for item in items]
    known = [agreement for agreement in known if np.isfinite(agreement)]
    confirmed = f", confirmed by Richardson differences to {max(known):.0e}" if known else ""
    return [f"witness: {' and '.join(methods)}{confirmed}"] if methods else []


def _apart(got, expected):
    """Return "..., should be ..." with enough digits to distinguish two numbers."""
    for digits in (6, 9, 12, 17):
        shown = [f"{number:.{digits}g}" for number in (got, expected)]
        if len(set(shown)) > 1:
            break
    return ", should be ".join(shown)


def wrapped(line, first="", rest="", width=WIDTH):
    """Return a line broken into lines of a width.

    Parameters
    ----------
    line : str
        The line.
    first, rest : str
        Indentation of the first line and of all others.
    width : int
        Number of columns.

    Returns
    -------
    list of str
        At least one line.
    """
    return textwrap.wrap(
        line,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    ) or [""]
