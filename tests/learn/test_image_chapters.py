"""Chapters 16 to 18: right solutions in unusual forms pass, and wrong ones do not.

Each file of ``forms/`` solves a whole chapter in another way than the reference.  A wrong solution
is the reference with one piece of text replaced; the first wrong pieces of all exercises are judged
together, then the second ones, and so on.
"""

from pathlib import Path

import pytest
from quick import quick

from ibpcl.classroom.assignments.slices import imports, sliced
from ibpcl.learn.chapters import chapter_of
from ibpcl.learn.checking import check_chapter
from ibpcl.learn.folder import Folder

FORMS = sorted(Path(__file__).with_name("forms").glob("chapter_*/*.py"))
FEWEST_RIGHT = 3
FEWEST_WRONG = 5

ROWS = "rows = windows.reshape(*windows.shape[:-3], height * width * x.shape[-1])"
MOVED = "windows = np.moveaxis(windows[..., ::stride, ::stride, :, :, :], -3, -1)"
CONV2D = "return dx, dmatrix.reshape(shape), db"
CONV1D = 'return np.convolve(dh, taps, "full"), np.correlate(sequence, dh, "valid")'
STRIDED = "return dframed[padding : height - padding, padding : width - padding], dkernel"
MASKED = "return (v * dw).sum(axis=(0, 1, 2)) + b * dscaled, z * dw, z * dscaled"
DENSE = "return x.reshape(len(x), -1) @ w.reshape(-1, w.shape[-1])"
WINS = "return np.array([0.0, 1.0, 3.0, 2.0, 1.0])"
SUM = "return dh, z[:, None, None] * dy, (f * dy).sum(axis=(1, 2))"
BLOCK = "return dy + da @ w.T, h.T @ da, da.sum(axis=0), np.sum(f * dy)"
DEPTH = "return ddepth * (1 - power - limit * power / (alpha + 1))"
GAPS = "return np.mean((z[:, 1:] & ~z[:, :-1]).any(axis=1))"
PRICE = "return 42 * (-np.log(0.3) + (0.3**2 + 0.5**2 - 1) / 2)"

MEAN = "return dmean * theta * (1 - theta) * (f1 - f0), dmean * (1 - theta), dmean * theta"
GIVEN = "return dz * z * (1 - z) / tau * sigmoid(inner) * sigmoid(s * phi)"
OPPOSITE = "return gap * (b - opposite) / 2 * sigmoid(np.abs(phi))"
CONSTANT = "    return 0.8 * 3 + 0.2 * 1\n"

LETTERS = ("a", "b", "c", "d", "", "left", 3, None, ("c",))


def letters(right, head):
    """Return wrong answers to a question: other letters, and what is not a letter."""
    old = f'{head}\n    return "{right}"'
    return [(old, f"{head}\n    return {each!r}") for each in LETTERS if each != right]


# exercise: (text of the reference, wrong text)
WRONG = {
    "16.1": [
        (MOVED, "windows = windows[..., ::stride, ::stride, :, :, :]"),
        (MOVED, MOVED.replace("::stride, ::stride", ":, ::stride")),
        (ROWS, ROWS + "[..., ::-1]"),
        ("[(padding, padding)] * 2", "[(0, 2 * padding)] * 2"),
        ("j : j + stride * across : stride, :] += (", "j : j + stride * across : stride, :] = ("),
        ("padding : padding + rows, padding : padding + columns, :]", ":rows, :columns, :]"),
        ("dwindows[..., i, j, :]", "dwindows[..., height - 1 - i, j, :]"),
    ],
    "16.2": [
        (CONV2D, "return dx, dmatrix.reshape(shape), -db"),
        (CONV2D, "return -dx, dmatrix.reshape(shape), db"),
        (CONV2D, "return dx, dmatrix.reshape(shape) / len(dmatrix), db"),
        (CONV2D, "return dx, dmatrix.reshape(shape)[:, ::-1, ::-1], db"),
        (CONV2D, "return dx, dmatrix.reshape(shape), db / dh[0, ..., 0].size"),
        ("linear.apply(one_axis(rows), matrix, b)", "linear.apply(one_axis(rows), matrix, 0 * b)"),
    ],
    "16.3": [
        (
            'return np.correlate(sequence, taps, "valid")',
            'return np.convolve(sequence, taps, "valid")',
        ),
        (
            'return np.correlate(sequence, taps, "valid")',
            'return np.correlate(sequence, taps, "full")',
        ),
        (CONV1D, CONV1D.replace("np.convolve(dh, taps", "np.correlate(dh, taps")),
        (CONV1D, CONV1D.replace("np.correlate(sequence, dh,", "np.convolve(sequence, dh,")),
        (CONV1D, CONV1D.replace("return ", "return -")),
        (CONV1D, CONV1D + " / len(dh)"),
    ],
    "16.4": [
        ("            b = q * stride\n            h[p", "            b = q\n            h[p"),
        ("np.sum(framed[a", "np.mean(framed[a"),
        ("] += dh[p, q] * kernel", "] = dh[p, q] * kernel"),
        (STRIDED, STRIDED.replace("padding : height - padding", ": height - 2 * padding")),
        (STRIDED, STRIDED + "[::-1, ::-1]"),
        (STRIDED, STRIDED.replace("return ", "return -")),
    ],
    "16.5": [
        ("return (z * v, z * b), (z", "return (z * v, b), (z"),
        (MASKED, MASKED.replace(" + b * dscaled", "")),
        (MASKED, MASKED.replace("sum(axis", "mean(axis")),
        (MASKED, MASKED.replace("z * dw", "dw")),
        (MASKED, MASKED.replace("z * dscaled", "dscaled")),
        (MASKED, MASKED.replace(".sum(axis=(0, 1, 2))", ".sum(axis=(0, 1))[0]")),
    ],
    "16.6": [
        ("return 36.0", f"return {x}") for x in ("1 / 36", "6.0", "9.0", "64.0", "-36", "'a'")
    ],
    "16.7": [
        (DENSE, DENSE.replace("x.reshape", "x.swapaxes(1, 2).reshape")),
        (DENSE, DENSE + ".T"),
        (DENSE, DENSE + " / w.shape[0]"),
        (DENSE, DENSE.replace("w.reshape", "w[::-1, ::-1].reshape")),
        (DENSE, "return x.mean(axis=(1, 2)) @ w.sum(axis=(0, 1))"),
        (DENSE, DENSE.replace("return ", "return -")),
    ],
    "16.8": letters("c", '    """Choose the meaning of a kernel of one pixel."""'),
    "16.9": [
        (WINS, "return np.arange(5.0)"),
        (WINS, "return np.arange(5.0)[::-1]"),
        (WINS, "return np.array([1.0, 5.0, 2.0])"),
        (WINS, "return np.array([1.0, 5.0])"),
        (WINS, "return np.array([0.0, 1.0, 4.0, 9.0])"),
        (WINS, "return 'x'"),
    ],
    "17.1": [
        ("return h + z[:, None, None] * f, (", "return z[:, None, None] * f, ("),
        (SUM, SUM.replace("(f * dy)", "dy")),
        (SUM, SUM.replace("sum(axis=(1, 2))", "mean(axis=(1, 2))")),
        (SUM, SUM.replace("z[:, None, None] * dy", "dy")),
        ("dh = dy.sum(axis=0) if dimensions == 2 else dy", "dh = dy"),
        (SUM, SUM.replace("return dh", "return -dh")),
    ],
    "17.2": [
        ("return h + z * f, (h, w", "return h + f, (h, w"),
        (BLOCK, BLOCK.replace("dy + ", "")),
        (BLOCK, BLOCK.replace("np.sum(f * dy)", "np.sum(dy)")),
        (BLOCK, BLOCK.replace("da @ w.T", "da @ w")),
        ("da = z * dy * (f > 0)", "da = z * dy"),
        ("da = z * dy * (f > 0)", "da = dy * (f > 0)"),
    ],
    "17.3": [
        ("power = (alpha / (alpha + 1)) ** limit", "power = (1 / (alpha + 1)) ** limit"),
        ("return alpha * (1 - power), (", "return 1 - power, ("),
        (DEPTH, DEPTH.replace(" - limit * power / (alpha + 1)", "")),
        (DEPTH, DEPTH.replace("- limit", "+ limit")),
        (DEPTH, DEPTH.replace("/ (alpha + 1)", "/ alpha")),
        (DEPTH, "return ddepth"),
    ],
    "17.4": [
        ("    return np.exp(-2)\n", f"    return {x}\n")
        for x in ("1 - np.exp(-2)", "2 * np.exp(-2)", "1 / 3", "np.exp(-0.5)", "0.0", "'none'")
    ],
    "17.5": [
        (GAPS, GAPS.replace("z[:, 1:] & ~z[:, :-1]", "~z[:, 1:] & z[:, :-1]")),
        (GAPS, GAPS.replace(".any(axis=1)", "")),
        (GAPS, "return 1 - " + GAPS.removeprefix("return ")),
        (GAPS, GAPS.replace("np.mean", "np.sum")),
        (GAPS, GAPS.replace("any", "all")),
        (GAPS, "return np.mean(~z.all(axis=1))"),
    ],
    "17.6": [
        (PRICE, PRICE.replace("42", "36")),
        (PRICE, PRICE.replace("42", "1")),
        (PRICE, PRICE.replace("- 1)", ")")),
        (PRICE, PRICE.replace("-np.log", "np.log")),
        (PRICE, PRICE + " / np.log(2)"),
        (PRICE, "return None"),
    ],
    "17.7": letters(
        "b", '    """Choose the meaning of the gradient at the switch of a block that is off."""'
    ),
    "17.8": letters("b", '    """Choose what happens to the predictions for the first task."""'),
    "18.1": [
        ("return theta * f1 + (1 - theta) * f0, (", "return theta * f0 + (1 - theta) * f1, ("),
        (MEAN, MEAN.replace("theta * (1 - theta) * (f1", "(f1")),
        (MEAN, MEAN.replace("(f1 - f0)", "(f0 - f1)")),
        (
            MEAN,
            MEAN.replace(
                "dmean * (1 - theta), dmean * theta", "dmean * theta, dmean * (1 - theta)"
            ),
        ),
        (MEAN, MEAN.replace("dmean * (1 - theta), ", "dmean, ")),
        (MEAN, MEAN.replace("theta * (1 - theta) * (f1", "theta * (f1")),
    ],
    "18.2": [
        ("inner = s * logistic +", "inner = logistic +"),
        ("z = sigmoid(s * softplus(inner) / tau)", "z = sigmoid(softplus(inner) / tau)"),
        (GIVEN, GIVEN.replace(" * sigmoid(s * phi)", "")),
        (GIVEN, GIVEN.replace(" / tau", "")),
        (GIVEN, GIVEN.replace("sigmoid(inner) * ", "")),
        (GIVEN, GIVEN.replace("sigmoid(s * phi)", "sigmoid(phi)")),
        (GIVEN, GIVEN.replace("return dz", "return s * dz")),
    ],
    "18.3": [
        (OPPOSITE, OPPOSITE.replace(" / 2", "")),
        (OPPOSITE, OPPOSITE.replace("np.abs(phi)", "phi")),
        (OPPOSITE, OPPOSITE.replace("np.abs(phi)", "-np.abs(phi)")),
        (OPPOSITE, OPPOSITE.replace("(b - opposite)", "(opposite - b)")),
        (OPPOSITE, OPPOSITE.replace("(b - opposite) / 2", "(b - 0.5)")),
        (OPPOSITE, OPPOSITE + ".mean(axis=0)"),
    ],
    "18.4": [(CONSTANT, f"    return {x}\n") for x in ("1.4", "2.0", "0.32", "2.2", "-2.6", "'c'")],
    "18.5": [
        ("    return 0.8\n", f"    return {x}\n") for x in ("0.2", "0.9", "0.82", "0.1", "1", "[]")
    ],
    "18.6": letters(
        "b", '    """Choose what happens to bias and variance as the temperature falls."""'
    ),
    "18.7": letters("a", '    """Choose the losses for which straight-through has no bias."""'),
    "18.8": letters("c", '    """Choose what REBAR is with eta = 0."""'),
}
CALLERS = {"16.2"}  # exercises that call the functions of another one
# A caller is judged apart from what it calls, so that it is refused for its own mistake.
APART = [
    CALLERS,
    {name for name in WRONG if name.startswith("16.")} - CALLERS,
    {name for name in WRONG if name.startswith("17.")},
    {name for name in WRONG if name.startswith("18.")},
]
ROUNDS = [(names, n) for names in APART for n in range(max(len(WRONG[name]) for name in names))]
REASON = "a chapter is judged for each"


def checked(tmp_path, number, source):
    """Return the verdicts on a solution of a chapter: {exercise: Checked}."""
    chapter = chapter_of(number)
    folder = Folder(tmp_path / "mine")
    folder.start(chapter)
    for stem in chapter.files:
        names = [t.function for t in chapter.assignment.tasks if chapter.file_of(t) == stem]
        text = "\n".join(dict.fromkeys(imports(source))) + "\n\n\n" + sliced(source, names) + "\n"
        folder.file(stem).write_text(text, encoding="utf-8")
    return {each.exercise: each for each in check_chapter(folder, chapter)}


@pytest.mark.parametrize(
    "path",
    quick(
        ["chapter_16-right_loops", "chapter_17-right_loops", "chapter_18-right_loops"],
        FORMS,
        REASON,
        name=lambda path: f"{path.parent.name}-{path.stem}",
    ),
)
def test_a_right_solution_in_an_unusual_form_passes(tmp_path, path):
    verdicts = checked(tmp_path, path.parent.name[-2:], path.read_text(encoding="utf-8"))
    assert [(name, each.lines) for name, each in verdicts.items() if not each.ok] == []


@pytest.mark.parametrize(
    ("names", "at"),
    quick(
        [f"{min(names)}-0" for names in APART],
        ROUNDS,
        REASON,
        name=lambda case: f"{min(case[0])}-{case[1]}",
    ),
)
def test_a_wrong_solution_of_an_exercise_is_refused(tmp_path, names, at):
    number = min(names).partition(".")[0]
    source = chapter_of(number).assignment.source()
    wrong = {name for name in names if at < len(WRONG[name])}
    for name in wrong:
        old, new = WRONG[name][at]
        assert source.count(old) == 1, (name, old, source.count(old))
        source = source.replace(old, new)
    verdicts = checked(tmp_path, number, source)
    refused = {name for name, each in verdicts.items() if not each.ok}
    assert wrong <= refused <= wrong | CALLERS


@pytest.mark.parametrize("number", [16, 17, 18])
def test_every_exercise_has_wrong_and_right_forms(number):
    assert all(len(WRONG[name]) >= FEWEST_WRONG for name in chapter_of(number).exercises)
    assert sum(path.parent.name == f"chapter_{number}" for path in FORMS) >= FEWEST_RIGHT
