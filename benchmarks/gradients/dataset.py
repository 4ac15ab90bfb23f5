"""The data set of right and wrong gradients in twelve forms.

``python -m benchmarks.gradients.dataset FOLDER`` writes it: one file for each item, and
``index.jsonl`` with the truth.  ``DATASHEET.md`` beside this module describes it.

The right items are the functions of ``cases/`` and ``functions/`` in every form that can hold them.
The wrong items are listed in ``wrong.jsonl``: each is a mistake in one function, in one form.  No
two of them give the same numbers in the same function.
"""

import argparse
import copy
import inspect
import json
import re
import sys
import tempfile
import tomllib
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks.gradients import FOLDER, Case, Verdict, spoiled
from benchmarks.gradients.forms import FORMS, Parts, UnfitError, parts_of, shape_of, written
from benchmarks.gradients.forms import target_of as named_target
from ibpcl.errors import UserError
from ibpcl.verify.running import checking
from ibpcl.verify.running.user import Request

HERE = Path(__file__).parent
WRONG = HERE / "wrong.jsonl"
VERSION = "1.0"
LEAST = 1e-3  # relative difference of a wrong gradient; less is no clear mistake
SAME = 1e-9  # relative difference of right gradients, by rounding
POINTS = 3  # inputs at which gradients are compared
TIMEOUT = 60.0  # seconds for one file
MOVED = 0.1  # share by which inputs are moved


@dataclass(frozen=True)
class Item(Case):
    """A file of the data set, with its truth.

    Attributes
    ----------
    form : str
        One of :data:`benchmarks.gradients.forms.FORMS`.
    origin : str
        "by hand" or "planted"; empty if the item is right.
    parts : Parts
        The pair that the file holds.
    """

    form: str = ""
    origin: str = ""
    parts: Parts | None = None

    @property
    def target(self):
        """Name that a checker of files is given."""
        return named_target(self.form, self.parts)

    def load(self):
        """Return the pair as a namespace with ``f``, ``f_vjp``, ``check_inputs`` and ``WRT``."""
        module = super().load()
        f, backward = FORMS[self.form].bridge(module, self.parts)
        given = module.check_inputs()
        names = _parameters(self, given)
        inputs = tuple(given[name] for name in names)
        kinds = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        signature = inspect.Signature(kinds)

        def forward(*values, **options):
            return f(*signature.bind(*values, **options).args)

        def f_vjp(dout, cache):
            return backward(dout, cache)

        forward.__signature__ = signature
        return SimpleNamespace(
            __name__=module.__name__,
            f=forward,
            f_vjp=f_vjp,
            check_inputs=lambda: copy.deepcopy(inputs),
            WRT=[names.index(name) for name in self.parts.wrt],
        )


def _parameters(item, given):
    """Return the names of the inputs in the order in which the bridge takes them."""
    more = [name for name in given if name not in item.parts.inputs]
    return [*item.parts.inputs, *more]


@cache
def functions():
    """Return the sources of the right pairs that can be taken apart, by name.

    Returns
    -------
    dict of str to str
        The beginning "right_" of a file's name is left out, since a name must not give the answer.

    Examples
    --------
    >>> len(functions()) >= 95
    True
    """
    found = {}
    for path in sorted([*FOLDER.glob("*.py"), *(HERE / "functions").glob("*.py")]):
        name = path.stem.removeprefix("right_")
        source = path.read_text(encoding="utf-8")
        try:
            parts = parts_of(name, source)
        except UnfitError:
            continue
        if len(parts.gradients) == len(parts.wrt):
            found[name] = source
    return found


@cache
def shape(name):
    """Return the shape of a function's output; None if it is not one array."""
    module = Case(name, "", functions()[name]).load()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        out = module.f(**module.check_inputs())[0]
    sys.modules.pop(module.__name__, None)
    return shape_of(out)


def item_of(name, form, source=None, label="", origin="", kinds=()):
    """Return a function in a form.

    Parameters
    ----------
    name : str
        The function.
    form : str
        The form.
    source : str, optional
        Source of the pair, with a mistake.  By default, that of the right pair.
    label : str
        The mistake in words; empty if the pair is right.
    origin : str
        "by hand" or "planted".
    kinds : sequence of str or dict
        Kinds that name the mistake.

    Returns
    -------
    Item

    Raises
    ------
    UnfitError
        If the form cannot hold the pair.
    """
    parts = parts_of(name, source or functions()[name])
    text = written(form, parts, shape(name))
    return Item(name, label, text, kinds, "", form, origin, parts)


def right_items():
    """Yield every function in every form that can hold it."""
    for name in functions():
        for form in FORMS:
            try:
                yield item_of(name, form)
            except UnfitError:
                continue


@cache
def by_hand():
    """Return the entries of ``mistakes.toml`` by function and label."""
    listed = tomllib.loads((FOLDER / "mistakes.toml").read_text(encoding="utf-8"))["mistake"]
    return {(item["function"].removeprefix("right_"), item["label"]): item for item in listed}


def wrong_items():
    """Yield the mistakes of ``wrong.jsonl``, each in its form."""
    for line in WRONG.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        name = row["function"]
        mistake = row if "replace" in row else by_hand()[name, row["label"]]
        yield item_of(
            name,
            row["form"],
            spoiled(functions()[name], mistake),
            row["label"],
            "planted" if "replace" in row else "by hand",
            mistake["kinds"],
        )


def items(every=1):
    """Return the items of the data set: right ones, then wrong ones.

    Parameters
    ----------
    every : int
        Take only every n-th right item and every n-th wrong one.

    Returns
    -------
    list of Item
    """
    return [*list(right_items())[::every], *list(wrong_items())[::every]]


def gradients_of(item, added=0.0):
    """Return the gradients of an item at several points, with cotangents that are drawn.

    Parameters
    ----------
    item : Item
        A right or a wrong item.
    added : float
        The most that is added to each entry of the differentiated inputs.  By default, an entry
        that is zero stays zero, and so at a kink.

    Returns
    -------
    list of tuple of ndarray, or None
        None if the item raises an exception at every point.
    """
    module = item.load()
    found = []
    for n in range(POINTS):
        rng = np.random.default_rng([75, n])
        inputs = list(module.check_inputs())
        for j in module.WRT if n else ():
            inputs[j] = inputs[j] * (1 + MOVED * rng.uniform(-1, 1, size=np.shape(inputs[j])))
        for j in module.WRT if added else ():
            inputs[j] = inputs[j] + added * rng.uniform(-1, 1, size=np.shape(inputs[j]))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                out, kept = module.f(*inputs)
                result = module.f_vjp(_cotangent(out, rng), kept)
                result = result if isinstance(result, (tuple, list)) else (result,)
                found.append(tuple(np.array(each) for each in result))
        except Exception:  # a mistake may raise anything
            found.append(None)
    sys.modules.pop(module.__name__, None)
    return found if any(each is not None for each in found) else None


def _cotangent(out, rng):
    if isinstance(out, tuple):
        return tuple(_cotangent(each, rng) for each in out)
    drawn = rng.normal(size=np.shape(out)).astype(np.asarray(out).dtype)
    return drawn if np.ndim(out) else drawn[()]


def distance(right, wrong):
    """Return by how much gradients differ.

    Parameters
    ----------
    right, wrong : list of tuple of ndarray, or None
        Gradients at the same points.

    Returns
    -------
    float
        The largest difference, relative to the largest entry of the right gradient at all points;
        infinite if numbers are missing or have another shape.
    """
    if wrong is None:
        return np.inf
    far = 0.0
    pairs = [
        (a, b)
        for a, b in zip(right, wrong, strict=True)
        if a is not None and all(np.all(np.isfinite(each)) for each in a)
    ]
    scales = [
        max(float(np.abs(a[j]).max(initial=0.0)) for a, _ in pairs) or 1.0
        for j in range(len(pairs[0][0]))
    ]
    for a, b in pairs:
        if b is None or len(a) != len(b):
            return np.inf
        for x, y, scale in zip(a, b, scales, strict=True):
            if x.shape != y.shape or y.dtype.kind not in "fiubc" or not np.all(np.isfinite(y)):
                return np.inf
            far = max(far, float(np.abs(x - y).max(initial=0.0)) / scale)
    return far


def write(folder, progress=None):
    """Write the data set.

    Parameters
    ----------
    folder : str or Path
        An empty or new folder.
    progress : callable, optional
        Called without arguments after each file.

    Returns
    -------
    int
        The number of files.

    Raises
    ------
    SystemExit
        If the folder is not empty.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"benchmarks.gradients.dataset: {folder} is not empty; name a new folder")
    rows = []
    for n, item in enumerate(items()):
        name = f"{n:04d}_{item.form.replace(' ', '_')}"
        path = folder / "right" if item.is_right else folder / "wrong"
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{name}.py").write_text(item.source, encoding="utf-8")
        rows.append(
            {
                "file": f"{path.name}/{name}.py",
                "right": item.is_right,
                "function": item.name,
                "form": item.form,
                "target": item.target,
                "inputs": item.parts.inputs,
                "differentiated": item.parts.wrt,
                "mistake": item.label,
                "kinds": item.kinds if item.kinds else [],
                "origin": item.origin,
            }
        )
        if progress is not None:
            progress()
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "index.jsonl").write_text(lines, encoding="utf-8")
    for name in ("DATASHEET.md", "../../LICENSE-CC-BY"):
        text = (HERE / name).read_text(encoding="utf-8")
        (folder / Path(name).name).write_text(text, encoding="utf-8")
    return len(rows)


def check_file(item):
    """Return the verdict of ``ibpcl check FILE:NAME`` on the file of an item.

    Parameters
    ----------
    item : Item
        The item.

    Returns
    -------
    Verdict
        With kinds.

    Raises
    ------
    UserError
        If the command does not judge the file.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"case_{item.name}.py")
        path.write_text(item.source, encoding="utf-8")
        modules = set(sys.modules)
        # The gradients of an object with parameters are found in the object.
        wrt = None if "layer with" in item.form else item.parts.wrt
        request = Request(str(path), [item.target], wrt=wrt, timeout=TIMEOUT)
        results = checking.results_here(request)
        for name in set(sys.modules) - modules:
            if "case_" in name:
                del sys.modules[name]
    verdicts = {result.verdict for result in results}
    if not results or ("refused" in verdicts and "wrong" not in verdicts):
        raise UserError("; ".join(result.words for result in results))
    reports = [result.report for result in results if result.report]
    kinds = {
        re.split(r"\W+", one.name.rstrip("'\"]"))[-1]: one.kind
        for report in reports
        for one in report.inputs
        if one.verdict == "wrong"
    }
    noted = tuple(habit.kind for report in reports for habit in report.habits)
    words = "\n".join(result.text() for result in results)
    return Verdict("wrong" in verdicts, kinds, words, noted)


check_file.reads_files = True


def by_form(score):
    """Return the counts of a score for each form, as a Markdown table.

    Parameters
    ----------
    score : benchmarks.gradients.Score
        The score on items.

    Returns
    -------
    str
    """
    rows = [
        f"| {score.checker}: form | caught | false alarms | cannot take |",
        "| --- |" + " --: |" * 3,
    ]
    for form in FORMS:
        here = [each for each in score.outcomes if each["form"] == form]
        wrong = [each for each in here if each["label"]]
        right = [each for each in here if not each["label"]]
        rows.append(
            f"| {form} | {sum(each['caught'] for each in wrong)} of {len(wrong)} "
            f"| {sum(each['caught'] for each in right)} of {len(right)} "
            f"| {sum(each['failed'] for each in here)} |"
        )
    return "\n".join(rows)


def main(arguments=None):
    """Write the data set to the folder that the command line names.

    Parameters
    ----------
    arguments : list of str, optional
        The command line.  By default, that of the process.
    """
    from tqdm import tqdm

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gradients.dataset", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("folder", metavar="FOLDER", help="a new folder")
    folder = parser.parse_args(arguments).folder
    with tqdm(desc="writing", unit="file", disable=None) as bar:
        count = write(folder, bar.update)
    print(f"{count} files and index.jsonl in {folder}")


if __name__ == "__main__":
    main()
