"""Findings of the judge in plain words: no internal names, no paths, no repetitions."""

import re

from ibpcl.classroom.judging.verdict import in_words

MISTAKES = {
    "ok": "right",
    "sign": "wrong sign",
    "constant_factor": "wrong constant factor",
    "mean": "a mean in place of a sum",
    "transposed": "two axes exchanged",
    "not_summed": "a sum is missing",
    "summed": "summed or averaged over too many axes",
    "missing_term": "a term is missing or too many",
    "elementwise_factor": "a factor is missing or wrong",
    "swapped": "gradients in the wrong order",
    "shifted": "entries in the wrong places",
    "few_entries": "wrong at a few entries",
    "precision": "too few digits",
    "wrong_shape": "wrong shape",
    "wrong_type": "wrong number type",
    "non_finite": "infinite or NaN",
    "piecewise_constant": "rounded, so the derivative is zero",
    "changes_cotangent": "overwrites dout",
    "changes_cache": "overwrites its cache",
    "changes_input": "overwrites its inputs",
    "noisy_forward": "draws random numbers",
    "noisy_gradient": "draws random numbers",
    "accumulates": "grows from call to call",
    "stale": "uses values of an earlier call",
    "missing": "not returned",
    "zero": "zero everywhere",
    "raises": "raises an exception",
    "wrong": "wrong, and by no single known slip: compare it term by term, one input at a time",
}
POINT = re.compile(r"point \d+ \([\w ]+ shapes\): (.*)", re.DOTALL)
EVERYWHERE = re.compile(r"wrong at (\d+) of \1 entries")
ALONE = re.compile(r"wrong at 1 of 1 entries")
# The folders of an absolute path; before a program they may have spaces in their names.
START = r"(?<![\w./\\])(?:[A-Za-z]:)?"
ABSOLUTE_PROGRAM = re.compile(START + r"[/\\][^:\n]*[/\\](?=[^/\\:\n]+\.(?:py|ipynb|zip)\b)")
ABSOLUTE = re.compile(START + r"(?:[/\\][^\s/\\:'\"]+){2,}[/\\](?=[^\s/\\:'\"])")
HALVE = (
    "set all inputs but one to zero: if the result is still wrong, the mistake concerns that input"
)


def plain(kind):
    """Return the kind of a mistake in plain words.

    Parameters
    ----------
    kind : str
        Kind of a mistake, or ``"ok"``.

    Returns
    -------
    str

    Examples
    --------
    >>> plain("not_summed"), plain("a_new_kind")
    ('a sum is missing', 'a new kind')
    """
    return MISTAKES.get(kind) or in_words(kind)


def points(value):
    """Return points as text, without trailing zeros.

    Parameters
    ----------
    value : float or None
        The points; None for a hand-in that is not graded.

    Returns
    -------
    str

    Examples
    --------
    >>> points(7.0), points(6.25), points(None)
    ('7', '6.25', 'not graded')
    """
    return "not graded" if value is None else f"{value:g}"


def plain_hint(hint):
    """Return a hint in words that a student knows.

    Parameters
    ----------
    hint : str
        A hint of the checker; one that names its functions is replaced.

    Returns
    -------
    str
    """
    return HALVE if "check_chain" in hint else hint


def plain_reason(reason):
    """Return the reason why a hand-in is not graded, without the teacher's folders.

    Parameters
    ----------
    reason : str
        Reason or error message.

    Returns
    -------
    str

    Examples
    --------
    >>> plain_reason("class: /home/t/hand ins/ada.py: byte 3 is not UTF-8")
    'ada.py: byte 3 is not UTF-8'
    >>> plain_reason("class: ada/old/hw.zip: it is empty")
    'ada/old/hw.zip: it is empty'
    """
    reason = re.sub(r"^class: ", "", reason)
    return ABSOLUTE.sub("", ABSOLUTE_PROGRAM.sub("", reason))


def reason_group(result):
    """Return what a reason has in common with those of other hand-ins: no places and no names.

    Parameters
    ----------
    result : ibpcl.classroom.judging.verdict.Result
        A hand-in that is not graded.

    Returns
    -------
    str
    """
    reason = plain_reason(result.reason).replace(result.student, "...")
    reason = re.sub(
        r"\b(?:line \d+ of )?(?:code cell \d+ of )?\S+\.(?:py|ipynb|zip)\b:?", "", reason
    )
    return " ".join(re.sub(r"\d+(?:\.\d+)?", "N", reason).split())


def told_once(lines):
    """Merge lines that repeat a sentence for several points.

    Parameters
    ----------
    lines : sequence of str
        Lines about one of several points begin with ``point 1 (small shapes):``.

    Returns
    -------
    list of str

    Examples
    --------
    >>> told_once([f"point {n} (odd shapes): wrong at {n} of {n} entries" for n in (2, 3, 4)])
    ['every entry is wrong (at 3 points)']
    """
    groups = {}
    for line in lines:
        match = POINT.fullmatch(line)
        words = ALONE.sub("the value is wrong", match[1] if match else line)
        words = EVERYWHERE.sub("every entry is wrong", words)
        same = re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "#", words) if match else line
        groups.setdefault((bool(match), same), []).append(words)
    merged = []
    for (at_points, _), words in groups.items():
        more = f" (at {len(words)} points)" if at_points and len(words) > 1 else ""
        vague = len(set(words)) > 1 and words[0].startswith("wrong at ")
        merged.append(("some entries are wrong" if vague else words[0]) + more)
    return merged
