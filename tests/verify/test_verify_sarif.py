"""SARIF logs are complete, underline the mistake, and their fixes repair it."""

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pytest

from ibpcl.cli import check as command
from ibpcl.verify import KINDS

pytestmark = pytest.mark.usefixtures("checked_here")

# The properties that the schema of SARIF 2.1.0 requires, by the key under which objects stand.
REQUIRED = {
    "runs": {"tool"},
    "tool": {"driver"},
    "driver": {"name"},
    "rules": {"id"},
    "results": {"message"},
    "message": {"text"},
    "invocations": {"executionSuccessful"},
    "toolExecutionNotifications": {"message"},
    "fixes": {"artifactChanges"},
    "artifactChanges": {"artifactLocation", "replacements"},
    "replacements": {"deletedRegion"},
}

MISTAKES = '''import numpy as np


def square(x, w):
    return x * x * w, (x, w)


def square_vjp(dout, cache):
    x, w = cache
    return 2 * x * w * dout, x * dout


class Linear:
    """A layer with an indented backward: ä ö ü."""

    def __init__(self):
        self.w = np.arange(12.0).reshape(3, 4) / 7

    def forward(self, x):
        self.x = x
        return x @ self.w

    def backward(self, dout):
        self.dw = self.x.T @ dout
        return {"ä": dout @ self.w}["ä"]


def shifted(a, b):
    return (a + b) ** 2, (a, b)


def shifted_vjp(dout, cache):
    a, b = cache
    return 2 * dout * (a + b), 2 * dout * (a - b)


def right(x):
    return np.sin(x), x


def right_vjp(dout, x):
    return dout * np.cos(x)


def odd(q):
    return q["a"] * 2.0, q


def odd_vjp(dout, q):
    return dout


def check_inputs():
    rng = np.random.default_rng(0)
    return {name: rng.uniform(0.5, 2, (2, 3)) for name in "xwab"}
'''


@pytest.fixture
def log(tmp_path, monkeypatch, capfd):
    """Write a file, check it, and return the exit code and the SARIF log."""
    monkeypatch.chdir(tmp_path)

    def run(text, name="mine.py"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        parser = argparse.ArgumentParser(prog="ibpcl")
        command.add_parser(parser.add_subparsers())
        code = command.execute(parser.parse_args(["check", name, "--sarif", "out.sarif"]))
        capfd.readouterr()
        return code, json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))

    return run


def objects(value, key=""):
    """Yield each object of a log with the key under which it stands."""
    if isinstance(value, dict):
        yield key, value
    for inner, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, (dict, list)):
            yield from objects(item, inner if isinstance(inner, str) else key)


def between(text, region):
    """Return the start and the end of a region with columns."""
    lines = text.splitlines(keepends=True)
    start, end = (
        sum(map(len, lines[: region[f"{side}Line"] - 1])) + region[f"{side}Column"] - 1
        for side in ("start", "end")
    )
    return start, end


def repaired(text, results):
    """Return a text after all fixes of some results."""
    replacements = {
        between(text, part["deletedRegion"]): part["insertedContent"]["text"]
        for result in results
        for fix in result.get("fixes", ())
        for change in fix["artifactChanges"]
        for part in change["replacements"]
    }
    for (start, end), new in sorted(replacements.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def test_fixes_repair_what_is_underlined(log):
    code, made = log(MISTAKES)
    (run,) = made["runs"]
    wrong = [result for result in run["results"] if result["level"] == "error"]
    assert code == 1 and wrong
    for result in wrong:
        (place,) = result["locations"]
        assert place["physicalLocation"]["artifactLocation"] == {"uri": "mine.py"}
        assert place["physicalLocation"]["region"]["startLine"] > 1
    underlined = {
        MISTAKES[slice(*between(MISTAKES, place["physicalLocation"]["region"]))]
        for result in wrong
        for place in result["locations"]
        if "startColumn" in place["physicalLocation"]["region"]
    }
    assert {"dout @ self.w", "a - b"} <= underlined
    text = repaired(MISTAKES, wrong)
    assert "dout @ self.w.T}" in text and "* (a + b), 2 * dout * (a + b)" in text
    names = {result["locations"][0]["logicalLocations"][-1]["name"] for result in wrong}
    assert names == {"Linear.backward", "backward", "shifted_vjp", "square_vjp"}
    _, again = log(text)
    assert all(result["level"] != "error" for result in again["runs"][0]["results"])


def test_a_log_has_what_the_schema_requires(log):
    _, made = log(MISTAKES)
    assert made["version"] == "2.1.0" and made["$schema"].endswith("sarif-schema-2.1.0.json")
    seen = set()
    for key, item in objects(made):
        assert REQUIRED.get(key, set()) <= set(item), (key, item)
        seen.add(key)
    assert set(REQUIRED) <= seen
    (run,) = made["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} >= set(KINDS) - {"ok"}
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
    (refused,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "odd" in refused["message"]["text"]


def test_a_right_gradient_gives_no_result(log):
    code, made = log(
        "import numpy as np\ndef f(x):\n    return x * x\ndef f_prime(x):\n    return 2 * x\n"
    )
    assert code == 0 and made["runs"][0]["results"] == []


@pytest.mark.parametrize(
    "returned", ["dout @ w.T, x.T @ dout * 2", "dout @ w, x.T @ dout", "(dout @ w)[0, 99], dout"]
)
def test_a_mistake_in_a_notebook_names_its_cell(log, returned):
    cells = [
        "import numpy as np",
        "def f(x, w):\n    return x @ w, (x, w)",
        f"\ndef f_vjp(dout, cache):\n    x, w = cache\n    return {returned}",
    ]
    notebook = {
        "cells": [{"cell_type": "code", "source": cell, "metadata": {}} for cell in cells],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    code, made = log(json.dumps(notebook), "mine.ipynb")
    assert code == 1 and made["runs"][0]["results"]
    for result in made["runs"][0]["results"]:
        (place,) = result["locations"]
        assert place["physicalLocation"] == {"artifactLocation": {"uri": "mine.ipynb"}}
        assert place["logicalLocations"][0]["name"].startswith("cell 3, line ")
        assert re.search(r"line (\d+)", result["message"]["text"]).group(1) in "24"
        assert "fixes" not in result


def test_a_wrong_distribution_points_to_its_expression(log):
    text = (
        "import numpy as np\n\n\ndef log_density(x, mu, sigma):\n"
        "    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)\n\n\n"
        "def entropy(mu, sigma):\n    return 0.5 * np.log(2 * np.pi * np.e) - np.log(sigma)\n"
    )
    code, made = log(text)
    (wrong,) = (result for result in made["runs"][0]["results"] if result["level"] == "error")
    assert code == 1
    assert wrong["locations"][0]["physicalLocation"]["region"]["startLine"] == 9
    (change,) = wrong["fixes"][0]["artifactChanges"]
    (part,) = change["replacements"]
    line = text.splitlines()[part["deletedRegion"]["startLine"] - 1]
    start, end = (part["deletedRegion"][key] - 1 for key in ("startColumn", "endColumn"))
    mended = line[:start] + part["insertedContent"]["text"] + line[end:]
    values = {"np": np, "sigma": 1.7}
    belongs = 0.5 * np.log(2 * np.pi * np.e) + np.log(1.7)
    assert eval(mended.removeprefix("    return "), values) == pytest.approx(belongs)


def test_an_undecided_distribution_points_to_its_statement(log):
    code, made = log("def log_density(x, alien):\n    return float('nan')\n")
    (result,) = made["runs"][0]["results"]
    assert (code, result["level"]) == (3, "warning")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


@pytest.mark.parametrize(
    ("call", "ending"),
    [("missing(x)", (3, "undecided")), ("np.linalg.cholesky(x)", (1, "raises"))],
)
def test_a_forward_that_raises_is_underlined(call, ending, log):
    text = (
        f"import numpy as np\n\n\ndef f(x):\n    return {call}, x\n\n\n"
        "def f_vjp(dout, x):\n    return dout\n\n\ncheck_inputs = {'x': np.ones(3)}\n"
    )
    code, made = log(text)
    (result,) = made["runs"][0]["results"]
    (place,) = result["locations"]
    assert (code, result["ruleId"]) == ending
    assert place["physicalLocation"]["region"]["startLine"] == 5


@pytest.mark.parametrize("arguments", [["--sarif", "x.sarif"], ["mine.py", "--sarif", "no/x"]])
def test_sarif_needs_a_file_to_check_and_a_folder(arguments, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("x = 1\n")
    parser = argparse.ArgumentParser(prog="ibpcl")
    command.add_parser(parser.add_subparsers())
    assert command.execute(parser.parse_args(["check", *arguments])) == 2
    assert "--sarif" in capfd.readouterr().err
