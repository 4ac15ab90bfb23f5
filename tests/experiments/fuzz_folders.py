"""Mutate the files of a run's folder and of a table's, and look at them as every command does.

``python tests/experiments/fuzz_folders.py COUNT [SEED]`` makes the folders and tries so many
mutations.  Each must be answered: by a page or a list, or by an error of one line.
"""

import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

import ibpcl
from ibpcl import checkpoints, storage
from ibpcl.cli import main
from ibpcl.experiments.folder import CONFIG, LEARNER, RESULT

VALUES = (
    None,
    True,
    -1,
    0,
    7,
    2**70,
    1e308,
    "",
    "x",
    "../..",
    "__main__:A",
    "evil:Class",
    [],
    [[]],
    [None],
    {},
    {"a": 1},
    [1, "a"],
    [[1, 2], [3]],
    "\x1b[31m",
    "<script>",
    float("1e-320"),
)
SMALL = {
    "methods": ["naive"],
    "epochs": 1,
    "hidden": (3,),
    "tasks": 2,
    "train_limit": 40,
    "test_limit": 20,
    "backend": "numpy",
}


def make(place):
    """Make a table of one run with its files, once."""
    keys = {key: value for key, value in SMALL.items() if key != "methods"}
    ibpcl.compare("split-glyphs", SMALL["methods"], seeds=1, out=place / "c", **keys)
    (run,) = (place / "c/cells").iterdir()
    shutil.copytree(run, place / "run")
    return place


def mutated(value, rng):
    """Return a value of JSON or TOML with one entry, anywhere in it, replaced or left out."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.3:
            return {name: item for name, item in value.items() if name != key}
        return {
            **value,
            key: mutated(value[key], rng) if rng.random() < 0.5 else rng.choice(VALUES),
        }
    if isinstance(value, list) and value and rng.random() < 0.7:
        i = rng.randrange(len(value))
        return [*value[:i], mutated(value[i], rng), *value[i + 1 :]]
    return rng.choice(VALUES)


def spoil(path, rng):
    """Change a file: its values with a right seal, or its bytes."""
    if path.name == RESULT and rng.random() < 0.8:
        values = mutated(storage.read_sealed_json(path), rng)
        storage.write_sealed_json(path, values if isinstance(values, dict) else {"tasks": values})
    elif path.suffix == ".json" and rng.random() < 0.8:
        path.write_text(
            json.dumps(mutated(json.loads(path.read_text(encoding="utf-8")), rng)), encoding="utf-8"
        )
    elif path.name == CONFIG and rng.random() < 0.8:
        table = mutated(storage.read_toml(path), rng)
        with contextlib.suppress(TypeError, AttributeError):
            storage.write_toml(path, table)
    elif path.name == LEARNER and rng.random() < 0.8:
        arrays, meta, _ = checkpoints.load(path)
        if rng.random() < 0.5:
            meta = mutated(meta, rng)
            meta = meta if isinstance(meta, dict) else {}
        else:
            name = rng.choice(list(arrays))
            array = arrays.pop(name)
            if rng.random() < 0.7:
                arrays[name] = rng.choice(
                    (
                        np.atleast_1d(array)[:1],
                        array.astype(str),
                        np.zeros((2, 0)),
                        np.array(7),
                        array * np.nan,
                    )
                )
        checkpoints.save(path, arrays, meta, keep_previous=False)
    else:
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice((1, 1, 3, 40))):
            if data and rng.random() < 0.5:
                data[rng.randrange(len(data))] = rng.randrange(256)
            elif data:
                del data[rng.randrange(len(data)) :]
            else:
                data = bytearray(rng.randbytes(20))
        path.write_bytes(bytes(data))


def look(arguments):
    """Run a command; return a description of what is wrong with its answer, or None."""
    out = io.StringIO()
    err = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            code = main(arguments)
    except BaseException:
        return traceback.format_exc()
    lines = err.getvalue().splitlines()
    return (
        None
        if code in (0, 1, 2) and (code == 0 or len(lines) == 1)
        else f"exit {code}: {err.getvalue()[:500]}"
    )


def attack(place, rng):
    """Try one mutation; return the mutated file and what went wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "f")
        whole = rng.choice(("run", "c"))
        shutil.copytree(place / whole, work)
        files = [
            path for path in sorted(work.rglob("*")) if path.is_file() and path.name != ".lock"
        ]
        important = [
            path
            for path in files
            if path.name in (RESULT, CONFIG, LEARNER, "table.json", "history.csv")
        ]
        for _ in range(rng.choice((1, 1, 2))):
            with contextlib.suppress(ValueError):  # it was spoiled before
                spoil(rng.choice(important if rng.random() < 0.8 else files), rng)
        np.save(work.parent / "x.npy", np.zeros((2, 784), np.float32))
        runs = [path.parent for path in files if path.name == CONFIG]
        views = [
            ["report", str(work / "split-glyphs" if whole == "c" else work)],
            ["report", str(work)],
            ["runs", str(work)],
            ["runs", "--json", str(work)],
            ["runs", "--compare", str(runs[0]), str(place / "run")],
            ["predict", str(runs[0]), str(work.parent / "x.npy"), "--task", "0"],
            ["predict", str(runs[0] / LEARNER), str(work.parent / "x.npy"), "--task", "0"],
        ]
        for view in views:
            if (problem := look(view)) is not None:
                return view[0], problem
    return None


def run(place, count, seed=0):
    """Try mutations; return the problems found, by their last line."""
    problems = {}
    rng = random.Random(seed)
    for _ in range(count):
        if (found := attack(place, rng)) is not None:
            problems.setdefault((found[0], found[1].strip().splitlines()[-1][:160]), found[1])
    return problems


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        trouble = run(
            make(Path(where)), int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
        )
    for (command, last), whole in trouble.items():
        print(f"--- {command}: {last}\n{whole[-1500:]}")
    print(f"{len(trouble)} kinds of problems")
