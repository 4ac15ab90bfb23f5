"""What students write and return is accepted where it has one meaning, and explained where it is
not.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import parallel_items
import pytest
from classroom_common import BOX, KEY, first, judged, needs_box, verdict
from quick import quick

from ibpcl.classroom import check_file, grading
from ibpcl.classroom.authoring.selftest import submission_of
from ibpcl.classroom.intake import submission as submissions
from ibpcl.classroom.intake.reading.notebooks import source_of
from ibpcl.classroom.intake.submission import Submission
from ibpcl.classroom.judging.judge import judge
from ibpcl.classroom.judging.running import parallel
from ibpcl.classroom.judging.running.accepting import Accepted
from ibpcl.cli import main
from ibpcl.errors import UserError

HEAD = (
    'ASSIGNMENT = "01_gaussian_weights"\nVARIANT = "base"\nSTUDENT = ""\n'
    'DERIVATION = "By the chain rule."\n'
)
GRADIENTS = "return dv.sum(axis=0), (dv * noise).sum(axis=(0, 1))"
KL = "return (shift * shift / 2 + (excess / 2 - log_ratio)).sum(), ("


def notebook(*cells):
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code})


def judged_notebook(*cells):
    source = source_of(notebook(*cells))
    mine = Submission(
        "s", Path("hw.ipynb"), "hw.ipynb", source, hashlib.sha256(source.encode()).hexdigest()
    )
    return judge(first(), mine, BOX, KEY, "base", figures=False)


WAYS = {
    "lists": [
        ("return mu + noise, noise", "return [(mu + noise).tolist(), noise]"),
        (GRADIENTS, GRADIENTS.replace("return ", "return [") + "]"),
    ],
    "nested lists": [(GRADIENTS, GRADIENTS.replace("(axis=0)", "(axis=0).tolist()"))],
    "dict": [
        ("return mu + noise, noise", "return [mu + noise, noise]"),
        (GRADIENTS, "return {'scale': (dv * noise).sum(axis=(0, 1)), 'mu': dv.sum(axis=0)}"),
        (KL, KL.replace("return ", "return np.array([").replace(".sum(), (", ".sum()]), (")),
    ],
    "keepdims": [
        (
            GRADIENTS,
            GRADIENTS.replace("axis=0)", "axis=0, keepdims=True)").replace(
                "1))", "1), keepdims=True)"
            ),
        ),
        ('ASSIGNMENT', 'from __future__ import annotations\nASSIGNMENT'),
    ],
    "imports": [
        (
            "import numpy as np",
            "import numpy as np\nfrom typing import Any\nfrom dataclasses import dataclass\n"
            "get_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(1)\n"
            "@dataclass\nclass Cache:\n    noise: Any\n",
        ),
        (GRADIENTS, "return {'dmu': dv.sum(axis=0), 'dscale': (dv * noise).sum(axis=(0, 1))}"),
    ],
}


@pytest.mark.parametrize(
    "way", quick(["lists"], WAYS, "each judges a hand-in, and one function accepts all")
)
def test_other_ways_to_return_the_same_earn_the_same(way):
    source = HEAD + first().source()
    for old, new in WAYS[way]:
        assert old in source
        source = source.replace(old, new, 1)
    result = judged(source)
    assert result.score == 90, [
        (each.task, each.words) for each in result.verdicts if each.state != "right"
    ]


@pytest.mark.slow(reason="judges whole hand-ins")
def test_only_what_has_one_meaning_is_accepted():
    accepted = Accepted(first())
    inputs = (np.zeros((2, 3, 4)), np.zeros((3, 4)), np.zeros(4))
    d_mu = np.ones((3, 4))
    d_scale = np.ones(4)
    for wrong in (
        {"mu": d_mu},
        {"a": d_mu, "b": d_scale},
        {"mu": d_mu, "scale": d_scale, "eps": 1.0},
    ):
        assert accepted.gradients("sample_vjp", inputs, wrong) == wrong
    out = accepted.gradients("sample_vjp", inputs, (np.ones((4, 3)), np.ones((4, 1))))
    assert out[0].shape == (4, 3) and out[1].shape == (4,)
    said = {("sample_vjp", "scale"): "the shape is (4, 1), it should be (4,)"}
    assert accepted.reshaped == said
    assert accepted.gradients("sample_vjp", inputs, (np.ones(12), None))[0].shape == (12,)


SCRATCH = (
    "undefined_name + 1",
    "print(kl(1, 2",
    "1 / 0",
    "%%bash\necho a",
    "assert False",
    "exit()",
    "raise SystemExit(3)",
    "import matplotlib.pyplot as plt\nplt.plot([1])",
    "import sys_of_mine",
)


def test_scratch_cells_that_fail_cost_nothing_and_are_named():
    result = judged_notebook(
        "import numpy as np", *SCRATCH[:-1], "np.sum?", "x = !ls", HEAD + first().source()
    )
    assert result.score == 90, result.reason
    for number in range(2, len(SCRATCH) + 1):
        assert any(f"code cell {number}" in note for note in result.notes), result.notes
    assert (
        not any("code cell 1 " in note for note in result.notes)
        and len(result.notes) == len(SCRATCH) - 1
    )
    assert judged_notebook(HEAD + first().source(), SCRATCH[-1]).reason


@pytest.mark.slow(reason="it computes until the limit of a cell ends it")
def test_a_cell_that_never_ends_costs_nothing():
    assert judged_notebook(HEAD + first().source(), "while True:\n    pass").score == 90


FAILING = {
    "exception": "print(sample(np.ones((2, 3)), np.ones(2), 1))",
    "input": "input('enter')",
    "file": "TEXT = open('derivation.md').read()",
    "exit": "raise SystemExit(3)",
    "assertion": "assert False",
}


@pytest.mark.parametrize(
    "name", quick(["exception"], FAILING, "each judges a hand-in, and all are caught in one place")
)
def test_a_line_of_a_program_that_fails_is_skipped_and_told_and_not_packed(name, tmp_path, capsys):
    text = HEAD + first().source()
    result = judged(f"{text}\n{FAILING[name]}\nx = 1\n")
    line = text.count("\n") + 2
    assert result.score == 90, result.reason
    assert any(note.startswith(f"skipped: line {line} of ") for note in result.notes), result.notes
    path = tmp_path / "mine.py"
    path.write_text(f"{text}\n{FAILING[name]}\n")
    assert main(["class", "submit", str(path)]) == 2
    assert f"line {line} of mine.py" in capsys.readouterr().err
    guarded = FAILING[name].replace("\n", "\n    ")
    path.write_text(f'{text}\nif __name__ == "__main__":\n    {guarded}\n')
    assert main(["class", "submit", str(path)]) in (None, 0)


FORGIVEN = {
    "Colab": ("!pip install ibpcl\n%matplotlib inline\n", ""),
    "an import that a drawing needs": ("import matplotlib.pyplot as plt\n", ""),
    "a late import": ("", "\ndef show():\n    import matplotlib.pyplot as plt\n"),
    "logging": ("import logging, sys\n", ""),
    "tests": ("import unittest\n", "\nif __name__ == '__main__':\n    unittest.main()\n"),
}


@pytest.mark.parametrize(
    "name", quick(["logging"], FORGIVEN, "each judges a hand-in, from which the same is left out")
)
def test_a_program_is_read_as_leniently_as_a_notebook(name, tmp_path):
    above, below = FORGIVEN[name]
    path = tmp_path / "mine.py"
    path.write_text(above + HEAD + first().source() + below)
    assert main(["class", "submit", str(path)]) in (None, 0)
    packed = submissions.read(path.with_suffix(".zip"))
    assert judged(packed.source).score == 90


def test_cells_out_of_order_are_run_again():
    head, _, rest = (HEAD + first().source()).partition("def sample(")
    result = judged_notebook(
        "unit = np.ones(1)",
        f"def sample({rest}".replace(
            "def kl(", "@np.vectorize\ndef one(x):\n    return x\n\n\ndef kl(", 1
        ),
        head,
    )
    assert result.score == 90, (result.reason, result.notes)


@pytest.mark.slow(reason="judges whole hand-ins")
def test_an_exception_in_a_notebook_names_cell_and_line():
    source = first().source().replace("    noise = np", "    nonsense\n    noise = np", 1)
    result = judged_notebook("x = 1", HEAD + source)
    line = (HEAD + source).split("\n").index("    nonsense") + 1
    assert f"line {line} of code cell 2 of hw.ipynb" in result.verdicts[0].words[0]


def test_a_long_derivation_is_not_cut():
    result = judged(HEAD.replace("By the", "word " * 180_000) + first().source())
    assert result.score == 90 and result.pending == 10


def test_a_function_under_another_name_is_a_hint():
    result = judged(HEAD + first().source().replace("def kl_vjp", "def klvjp"))
    assert any("klvjp" in note and "kl_vjp" in note for note in result.notes)
    inside = submission_of(
        first(), HEAD + "class Solution:\n    def kl_vjp(self, dkl, cache):\n        return dkl\n"
    )
    assert any(
        "Solution" in note and "kl_vjp" in note for note in submissions.notes(inside, first())
    )


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        ("\ndef f(x)\n    return x\n", "is not Python"),
        ("\nimport os, os.path as at; at.exists('x')\n", "imports os"),
        ("\ntype X = int\n", "X"),
    ],
)
def test_check_and_submit_refuse_what_grade_refuses_with_the_line(spoil, told, tmp_path, capsys):
    if "type" in spoil and sys.version_info >= (3, 12):
        pytest.skip("this Python reads it")
    path = tmp_path / "mine.py"
    path.write_text(HEAD + first().source() + spoil)
    line = path.read_text().rstrip().count("\n") + (0 if "def f" in spoil else 1)
    assert main(["class", "check", str(path)]) == 1
    printed = capsys.readouterr()
    assert f"line {line} of mine.py {told}" in printed.out or told in printed.out
    assert main(["class", "submit", str(path)]) == 2
    assert (
        f"line {line} of mine.py" in capsys.readouterr().err
        and not path.with_suffix(".zip").exists()
    )


@pytest.mark.slow(reason="judges whole hand-ins")
def test_submit_prints_the_hash_that_the_grade_has(tmp_path, capsys):
    path = tmp_path / "hw.ipynb"
    path.write_text(notebook(HEAD + first().source(), "%matplotlib inline\n1 / 0"))
    assert main(["class", "submit", str(path)]) == 0
    printed = capsys.readouterr().out
    digest = submissions.read(path).sha256
    assert f"sha256 {digest}" in printed and submissions.read(tmp_path / "hw.zip").sha256 == digest
    with zipfile.ZipFile(tmp_path / "hw.zip") as archive:
        assert sorted(archive.namelist()) == ["hw.ipynb", "manifest.json"]


def test_check_never_runs_a_folder_that_the_file_names(tmp_path, monkeypatch):
    folder = tmp_path / "evil"
    folder.mkdir()
    for name in ("assignment.toml", "inputs.py", "reference.py"):
        (folder / name).write_text("import pathlib\npathlib.Path('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    for name in ("evil", str(folder), "./evil"):
        Path("hw.py").write_text(f"ASSIGNMENT = {name!r}\n" + first().source())
        with pytest.raises(UserError, match="`assignment`"):
            check_file("hw.py")
    assert not Path("ran").exists()


@pytest.mark.processes(reason="it is about the processes of the pool")
def test_items_are_given_to_processes_and_come_back_in_order():
    items = [1, "raise", 2, 3]
    results = list(parallel.over(parallel_items.work, items, 2, failed=lambda *failed: failed))
    assert results[0::2] == [2, 4] and results[3] == 6
    assert results[1][0] == "raise" and "from inside" in results[1][1]


@pytest.mark.slow(reason="waits for processes")
def test_an_item_that_ends_its_process_costs_this_item_only():
    items = [1, "die", 2, "raise", 3, "sleep", "memory", 4]
    results = list(
        parallel.over(parallel_items.work, items, 2, 1.0, lambda item, words: (item, words))
    )
    assert [each for each in results if isinstance(each, int)] == [2, 4, 6, 8]
    assert [each[0] for each in results if isinstance(each, tuple)] == [
        "die",
        "raise",
        "sleep",
        "memory",
    ]
    assert "too long" in results[5][1] and "memory" in results[6][1]


def processes(marker):
    """Return the numbers of the processes whose environment has a marker."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="counts processes in /proc")
@pytest.mark.slow(reason="waits for a class of hand-ins that never end")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@needs_box
def test_no_process_outlives_a_command_that_was_ended(number, tmp_path):
    (tmp_path / "in").mkdir()
    for name in "abcd":
        (tmp_path / "in" / f"{name}.py").write_text("while True:\n    pass\n")
    marker = f"IBPCL_TEST_MARK={tmp_path.name}-{number}"
    command = [
        sys.executable,
        "-m",
        "ibpcl",
        "class",
        "grade",
        "1",
        str(tmp_path / "in"),
        "--out",
        str(tmp_path / "out"),
        "--jobs",
        "2",
        "--sandbox",
        BOX,
    ]
    name, _, value = marker.partition("=")
    with subprocess.Popen(
        command,
        env={**os.environ, name: value},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        end = time.monotonic() + 300
        # command, reader, two judges
        while len(processes(marker.encode())) < 4 and time.monotonic() < end:
            time.sleep(0.1)
        assert len(processes(marker.encode())) >= 4
        # now the judges wait for hand-ins that never end
        time.sleep(4.0)
        process.send_signal(number)
    # much less than a judge allows this hand-in: 60 s of processor time
    end = time.monotonic() + 50
    while processes(marker.encode()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not processes(marker.encode())


def test_whatever_goes_wrong_with_one_is_not_graded_and_the_rest_is(tmp_path, monkeypatch):
    folder = tmp_path / "in"
    folder.mkdir()
    right = HEAD + first().source().partition("def sample_vjp(")[0]  # of the first task alone
    texts = {
        "good.py": right,
        "o'brien.py": right,
        "o_brien.py": right,
        "grading.json.py": right,
        "class.html.py": right,
        "surrogate.py": HEAD + 'raise ValueError("\\ud800")\n',
        "escape.py": HEAD + 'raise ValueError("\\x1b[2J\\nbob")\n',
        "claim.py": right.replace('STUDENT = ""', 'STUDENT = "\\ud800"'),
        "number.py": HEAD + "STUDENT = 0x" + "f" * 9999,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "bad.zip").write_bytes(b"PK\3\4 and nothing")
    (Path(os.fsencode(folder).decode(errors="surrogateescape")) / "M\udcfcller.py").write_text(
        right
    )
    results = {
        each.student: each for each in grading.grade(first(), folder, tmp_path / "out", BOX, jobs=2)
    }
    assert {name for name, each in results.items() if each.score == 5} == {
        "good",
        "o'brien",
        "o_brien",
        "grading.json",
        "class.html",
        "claim",
        "Müller",
    }
    assert {name for name, each in results.items() if each.reason} == {"bad"}
    assert all(results[name].score == 0 and results[name].notes for name in ("surrogate", "escape"))
    assert main(["class", "report", str(tmp_path / "out")]) == 1
    for path in (tmp_path / "out").glob("*/result.json"):
        assert "\\u001b" not in path.read_text() and "\\n" not in str(
            json.loads(path.read_text())["notes"]
        )


@pytest.mark.parametrize(
    ("attempt", "score"),
    [
        pytest.param("last", 0, marks=pytest.mark.slow(reason="judges two hand-ins twice")),
        ("best", 90),
    ],
)
def test_the_last_or_the_best_attempt_counts(attempt, score, tmp_path):
    right = HEAD + first().source()
    wrong = HEAD + "def sample(eps, mu, scale):\n    return 0 * mu, None\n"
    for time_, text in (("2024-11-01-10-00-00", right), ("2024-11-02-10-00-00", wrong)):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"HW_ada_attempt_{time_}_hw.py").write_text(text)
    for _ in range(2):
        (result,) = grading.grade(
            first(), tmp_path / "in", tmp_path / "out", BOX, jobs=1, attempt=attempt
        )
        assert result.score == score and result.student == "ada"


LISTS = """
_ld, _ldv = log_density, log_density_vjp

def log_density(x, mu, scale):
    out, cache = _ld(x, mu, scale)
    return out.tolist(), cache

def log_density_vjp(d, cache):
    names = ("dx", "dmu", "dscale")
    return {n: g.tolist() for n, g in zip(names, _ldv(np.asarray(d), cache))}
"""


@pytest.mark.slow(reason="judges whole hand-ins")
def test_lists_have_no_precision_of_their_own_at_extremes():
    assert verdict(judged(first().source() + LISTS), "1g").points == 5
    double = LISTS.replace(".tolist()", ".astype(float)")
    assert verdict(judged(first().source() + double), "1g").points < 5
