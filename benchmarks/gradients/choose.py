"""``python -m benchmarks.gradients.choose``: choose the wrong items, and write ``wrong.jsonl``.

A maintainer runs it once for each version of the data set; the file stands beside this module.  The
mistakes of ``cases/mistakes.toml`` come first.  Others are planted into the gradient functions by
the rules of :mod:`ibpcl.codeview.planting`.  A mistake is left out if its numbers are those of the
right function or of another mistake, or if it raises an exception.  A changed comparison is left
out if it shows at a kink only, where both slopes are allowed.

Two runs give the same file: all points are drawn from seeds, and the text of a mistake is formatted
without the settings of any folder.
"""

import ast
import difflib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.gradients import spoiled
from benchmarks.gradients.dataset import (
    LEAST,
    SAME,
    WRONG,
    by_hand,
    distance,
    functions,
    gradients_of,
    item_of,
)
from benchmarks.gradients.forms import FORMS, UnfitError
from ibpcl.codeview.planting import SENTENCES, planted
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.running.trap import limit

MOST_STATEMENTS = 2  # that one mistake changes
STRANGE = re.compile(r"-0\b|\b0 \* 0\b")  # nobody writes it
EACH = 8  # planted mistakes in each function
PATIENCE = 10.0  # seconds for one mistake: it may loop for ever
ADDED = 1e-3  # most that is added to inputs, so that they leave a kink
DIGITS = 6  # significant digits in which two mistakes with the same numbers agree
RUFF = [sys.executable, "-m", "ruff", "format", "-q", "--isolated", "--line-length", "120"]
PLAIN = "cache"  # the form in which mistakes are compared


def key_of(gradients):
    """Return a text that gradients with the same numbers share.

    Parameters
    ----------
    gradients : list of tuple of ndarray
        Gradients at several points.

    Returns
    -------
    str
    """
    return json.dumps([[_written(each) for each in point] for point in gradients if point])


def _written(gradient):
    """Return the shape and the digits of a gradient; its type if it is not an array of numbers."""
    if gradient.dtype.kind not in "fiub":
        return str(gradient.dtype)
    return gradient.shape, [f"{x:.{DIGITS - 1}e}" for x in np.ravel(gradient) + 0.0]


def text_of(node):
    """Return the text of a statement, with no brackets around a tuple that is its value."""
    text = ast.unparse(node)
    value = getattr(node, "value", None)
    if isinstance(node, (ast.Return, ast.Assign)) and isinstance(value, ast.Tuple):
        inside = ast.unparse(value)
        return text.removesuffix(inside) + inside[1:-1]
    return text


def candidates(source):
    """Yield a function's source with a planted mistake, its kind and its line.

    Parameters
    ----------
    source : str
        The right pair.

    Yields
    ------
    dict
        ``source``, ``kind``, ``line``, ``old`` and ``new``.
    """
    tree = ast.parse(source)
    lines = source.splitlines()
    (function,) = (
        each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "f_vjp"
    )
    for edit in planted(function):
        around = [
            node for node in function.body[1:] if node.lineno <= edit.node.lineno <= node.end_lineno
        ]
        if not around or any(put[3] is None for put in edit.puts):
            continue
        parent, field, index, new = edit.puts[0]
        old = getattr(parent, field) if index is None else getattr(parent, field)[index]
        texts = ast.unparse(old), ast.unparse(new)
        undo = edit.swap()
        try:
            body = [text_of(node) for node in function.body[1:]]
        except (AttributeError, ValueError):
            continue
        finally:
            undo.swap()
        before = [text_of(node) for node in function.body[1:]]
        changed = [n for n in range(len(body)) if body[n] != before[n]]
        made = "\n".join(body[n] for n in changed)
        if len(changed) > MOST_STATEMENTS or STRANGE.search(made) or "cache" in made:
            continue
        text = list(lines)
        for n in reversed(changed):
            node = function.body[1:][n]
            text[node.lineno - 1 : node.end_lineno] = [
                " " * node.col_offset + line for line in body[n].splitlines()
            ]
        yield {
            "source": "\n".join(text) + "\n",
            "kind": edit.kind,
            "line": edit.node.lineno,
            "old": texts[0],
            "new": texts[1],
        }


@cache
def right_gradients(name, form):
    """Return the gradients of a right item at several points."""
    return gradients_of(item_of(name, form))


def judged(name, source, form):
    """Return the gradients of a wrong pair in a form, and how far they are off.

    Parameters
    ----------
    name : str
        The function.
    source : str
        The pair with a mistake.
    form : str
        The form.

    Returns
    -------
    gradients : list of tuple of ndarray, or None
        None if the pair raises an exception at every point.
    far : float
        See :func:`benchmarks.gradients.dataset.distance`.
    """
    right = right_gradients(name, form)
    try:
        with limit(PATIENCE):
            wrong = gradients_of(item_of(name, form, source, "wrong"))
    except TimeUp:
        return None, np.inf
    return wrong, distance(right, wrong)


def of_function(name):
    """Return the mistakes in a function that may be chosen.

    Parameters
    ----------
    name : str
        The function.

    Returns
    -------
    found : list of dict
        Those by hand: ``row`` is the line of the file, ``source`` the pair with the mistake.
    made : list of dict
        Planted ones, see :func:`candidates`.
    """
    source = functions()[name]
    seen = set()
    found = []
    for (function, label), mistake in by_hand().items():
        if function != name:
            continue
        wrong = spoiled(source, mistake)
        try:
            gradients, far = judged(name, wrong, PLAIN)
        except (UnfitError, SyntaxError):
            continue
        if far > LEAST:
            found.append({"row": {"function": name, "label": label}, "source": wrong})
            seen |= set() if gradients is None else {key_of(gradients)}
    made = []
    for each in in_rounds(name, list(candidates(source))):
        if len(made) == EACH:
            break
        try:
            gradients, far = judged(name, each["source"], PLAIN)
        except (UnfitError, SyntaxError):
            continue
        if gradients is None or not LEAST < far < np.inf:
            continue
        key = key_of(gradients)
        if key not in seen:
            seen.add(key)
            made.append(each)
    return found, made


def in_rounds(name, made):
    """Return planted mistakes in an order that is even over the lines and the kinds.

    Parameters
    ----------
    name : str
        The function; it is the seed.
    made : list of dict
        The mistakes.

    Returns
    -------
    list of dict
    """
    rng = np.random.default_rng(sum(map(ord, name)))
    groups = {}
    for n in rng.permutation(len(made)):
        groups.setdefault((made[n]["line"], made[n]["kind"]), []).append(made[n])
    depths = [
        (depth, at, each)
        for at, group in enumerate(groups.values())
        for depth, each in enumerate(group)
    ]
    return [each for _, _, each in sorted(depths, key=lambda item: item[:2])]


def tidied(made):
    """Return planted mistakes as rows, each with the lines that change, as ruff formats them.

    Parameters
    ----------
    made : list of tuple
        Name of a function and a candidate.

    Returns
    -------
    list of dict
        ``row`` and ``source``.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for n, (_, each) in enumerate(made):
            path = Path(folder, f"m{n}.py")
            path.write_text(each["source"], encoding="utf-8")
            paths.append(path)
        subprocess.run(
            [*RUFF, folder],
            check=True,
        )
        texts = [path.read_text(encoding="utf-8") for path in paths]
    found = []
    for (name, each), text in zip(made, texts, strict=True):
        right = functions()[name].splitlines(keepends=True)
        wrong = text.splitlines(keepends=True)
        blocks = [
            block
            for block in difflib.SequenceMatcher(None, right, wrong, False).get_opcodes()
            if block[0] != "equal"
        ]
        first, last = blocks[0][1], blocks[-1][2]
        start, end = blocks[0][3], blocks[-1][4]
        while functions()[name].count("".join(right[first:last])) != 1:
            first, start = first - 1, start - 1
        row = {
            "function": name,
            "label": f"{SENTENCES[each['kind']]}: {each['new']} in place of {each['old']}",
            "kinds": [each["kind"]],
            "replace": "".join(right[first:last]),
            "by": "".join(wrong[start:end]),
        }
        found.append({"row": row, "source": spoiled(functions()[name], row)})
    return found


def in_forms(found):
    """Return the rows, each with the form that has the fewest mistakes so far and can hold it.

    Parameters
    ----------
    found : list of dict
        ``row`` and ``source``.

    Returns
    -------
    list of dict
    """
    counts = Counter()
    rows = []
    for each in found:
        name = each["row"]["function"]
        order = list(FORMS)
        shift = len(rows) % len(order)
        order = [*order[shift:], *order[:shift]]
        for form in sorted(order, key=counts.__getitem__):
            try:
                _, far = judged(name, each["source"], form)
            except (UnfitError, SyntaxError):
                continue
            if far > LEAST:
                counts[form] += 1
                rows.append({"form": form, **each["row"]})
                break
    return rows


def is_allowed(row):
    """Return whether a changed comparison shows at a kink only, where both slopes are allowed.

    Parameters
    ----------
    row : dict
        A line of ``wrong.jsonl``.

    Returns
    -------
    bool
    """
    if row.get("kinds") != ["comparison"]:
        return False
    name = row["function"]
    wrong = item_of(name, PLAIN, spoiled(functions()[name], row), "wrong")
    right = gradients_of(item_of(name, PLAIN), ADDED)
    return distance(right, gradients_of(wrong, ADDED)) <= SAME


def require_right():
    """Raise an error unless every function has the same gradients in every form."""
    for name in functions():
        plain = gradients_of(item_of(name, PLAIN))
        for form in FORMS:
            if form == "loss and gradients":
                continue  # another function
            try:
                far = distance(plain, gradients_of(item_of(name, form)))
            except UnfitError:
                continue
            if not far <= SAME:
                raise SystemExit(f"{name} as {form} is off by {far:.1e}")


def main():
    """Choose the wrong items, and write the file."""
    from tqdm import tqdm

    require_right()
    hand = []
    made = []
    for name in tqdm(functions(), desc="planting"):
        ours, planted_here = of_function(name)
        hand += ours
        made += [(name, each) for each in planted_here]
    found = in_forms(tqdm([*hand, *tidied(made)], desc="forms"))
    rows = [row for row in found if not is_allowed(row)]
    WRONG.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"{len(rows)} wrong items: {Counter(row['form'] for row in rows)}")


if __name__ == "__main__":
    main()
