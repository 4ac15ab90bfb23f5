"""``ibpcl check``: what it prints, what it writes, and how it ends."""

import argparse
import functools
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from quick import quick

from ibpcl.cli import check as command
from ibpcl.cli import main
from ibpcl.paper import catalogue, equations
from ibpcl.primitives import gaussian


@pytest.fixture
def started(capfd):
    """Run the command, with a process for each file; return exit code, standard output and
    standard error.
    """

    def run(*arguments):
        parser = argparse.ArgumentParser(prog="ibpcl")
        command.add_parser(parser.add_subparsers())
        code = command.execute(parser.parse_args(["check", *map(str, arguments)]))
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def check(started, checked_here, monkeypatch):
    """Run the command as ``started`` does, but check everything in this process."""
    monkeypatch.setattr(catalogue, "_pool", lambda checks: None)
    return started


def test_errata_stand_beside_each_other(check):
    code, out, err = check("errata")
    assert (code, err) == (0, "")
    (row,) = (line for line in out.splitlines() if "kumaraswamy-kl-constant" in line)
    assert row.split() == ["ok", "kumaraswamy-kl-constant", "2.42796", "0.261294", "=", "0.261294"]
    assert max(map(len, out.splitlines())) <= 80
    assert sum(line.startswith("note ") for line in out.splitlines()) >= 10
    assert "all 27 ok" in out or "all " in out.splitlines()[-1]


@pytest.mark.processes(reason="a user's file runs in a process")
def test_what_a_users_file_prints_does_not_come_into_the_json(started, tmp_path):
    (tmp_path / "mine.py").write_text(
        "print('hello')\ndef square(x):\n    print('here')\n    return x * x, x\ndef "
        "square_vjp(d, x):\n    return 2 * d * x\n",
        encoding="utf-8",
    )
    code, out, err = started("--json", f"{tmp_path / 'mine.py'}:square", "--shape", "x=3")
    assert code == 0 and json.loads(out)["ok"] and "hello" in err and "here" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--list", "--json"), "--list cannot be combined with --json"),
        (("mine.py:f", "--shape", "x=0"), "sizes of at least 1"),
    ],
)
def test_what_would_say_nothing_is_refused(check, tmp_path, arguments, words):
    (tmp_path / "mine.py").write_text(
        "def f(x):\n    return x, x\ndef f_vjp(d, x):\n    return d\n", encoding="utf-8"
    )
    code, out, err = check(
        *(
            str(tmp_path / argument) if argument.startswith("mine") else argument
            for argument in arguments
        )
    )
    assert code == 2 and words in err.lower()
    if "--json" in arguments:
        assert json.loads(out)["ok"] is False and words in json.loads(out)["error"]
    else:
        assert out == ""


def test_the_summary_counts_and_names_the_largest_error(check):
    code, out, _ = check("gradients/gaussian.*", "gradients/layers.Gaussian.forward")
    assert code == 0
    assert "all 4 ok" in out
    assert "largest relative error among 4 gradients" in " ".join(out.split())


def test_a_failure_is_told_in_full_and_ends_with_one(check, monkeypatch):
    right = gaussian.kl_vjp
    monkeypatch.setattr(
        gaussian,
        "kl_vjp",
        functools.wraps(right)(lambda d, cache: (-right(d, cache)[0], *right(d, cache)[1:])),
    )
    code, out, _ = check("gradients/gaussian.kl")
    assert code == 1
    assert "WRONG gaussian.kl" in out
    assert "the sign is wrong" in out
    assert "1 of 1 WRONG: gradients/gaussian.kl" in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_all_that_is_printed(check):
    code, out, _ = check(
        "--json", "divergences/kumaraswamy.kl_to_beta", "gradients/gaussian.kl", "--seed", "3"
    )
    report = json.loads(out)
    assert code == 0
    assert report["ok"]
    assert report["seed"] == 3
    assert report["largest_gradient_error"]["name"] == "gaussian.kl"
    entry = next(entry for entry in report["checks"] if entry["name"] == "kumaraswamy.kl_to_beta")
    assert {"group", "name", "ok", "words", "seconds", "numbers"} <= set(entry)


def test_html_has_every_report_with_its_curves(check, tmp_path):
    code, _, _ = check("gaussian.kl", "errata/acc-denominator", "--html", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert code == 0
    assert page.count("<h2") == 3  # gradient, divergence and erratum
    assert page.count("<svg") > 1  # error and remainder
    assert "errata/acc-denominator" in page


@pytest.mark.parametrize(
    "numbers",
    [
        (3, 11, 13),
        pytest.param(
            range(1, 14),
            marks=pytest.mark.slow(reason="the tests of tests/paper have each equation"),
        ),
    ],
    ids=["a part", "all"],
)
def test_the_paper_with_every_verdict(check, monkeypatch, numbers):
    """Each check of all equations is in the default tests by itself, in
    ``tests/paper/test_catalogue.py``.
    """
    if len(numbers) < 13:
        monkeypatch.setattr(
            equations, "EQUATIONS", [row for row in equations.EQUATIONS if row.number in numbers]
        )
    code, out, _ = check("--paper")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    lines = out.splitlines()
    assert any(line.startswith("D.2    Eq. 13    corrected ") for line in lines)
    assert any(line.startswith("3.1    Eq. 3     consistent ") for line in lines)
    assert "FAILED" not in out
    assert all(f"Eq. {number} " in out for number in numbers)


def test_the_paper_notices_a_failure(check, monkeypatch):
    right = gaussian.kl
    monkeypatch.setattr(
        gaussian,
        "kl",
        functools.wraps(right)(lambda *inputs: (1.1 * right(*inputs)[0], right(*inputs)[1])),
    )
    monkeypatch.setattr(
        equations, "EQUATIONS", [row for row in equations.EQUATIONS if row.number in (3, 7)]
    )
    code, out, _ = check("--paper", "--json")
    report = json.loads(out)
    assert code == 1
    verdicts = {row["number"]: row["verdict"] for row in report["equations"] if row["number"]}
    assert verdicts[7] == "FAILED"
    assert verdicts[3] == "consistent"


def test_the_list_names_them_all(check):
    code, out, _ = check("--list")
    assert code == 0
    assert "  kumaraswamy.sample" in out
    assert "errata (" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "no check is called 'nonsense'"),
        (["--paper", "errata"], "--paper takes no TARGET"),
        (["--shape", "x=3"], "--shape and --wrt"),
        (["--html", "nowhere/at/all.html"], "--html cannot write"),
        (["there/is/no.py:f"], "there is no file"),
    ],
)
def test_mistakes_end_with_two_and_one_line(check, arguments, message):
    code, out, err = check(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


MINE = '''
import numpy as np
from beside import FACTOR

def square(x):
    return FACTOR * x**2, x

def square_vjp(dout, x):
    return {sign}2 * FACTOR * x * dout

def affine(x, w, b):
    return x @ w + b, (x, w)

def affine_vjp(dout, cache):
    x, w = cache
    return dout @ w.T, x.T @ dout, dout.sum(axis=0)

def lonely(x):
    return x, x

def check_inputs():
    return dict(x=np.arange(12.0).reshape(3, 4) - 5.5, w=np.ones((4, 2)))
'''


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "beside.py").write_text("FACTOR = 3.0\n")
    path = tmp_path / "mine.py"
    path.write_text(MINE.format(sign=""))
    return path


def test_a_pair_of_ones_own(check, mine):
    code, out, _ = check(f"{mine}:square")
    assert code == 0
    assert "square: ok" in out
    mine.write_text(MINE.format(sign="-"))
    code, out, _ = check(f"{mine}:square")
    assert code == 1
    assert "the sign is wrong" in out
    assert "hint" in out


@pytest.mark.starts(reason="what is loaded shows in a new process only")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param([], marks=pytest.mark.slow(reason="the other needs no more")),
        ["--json", "--html"],
    ],
)
def test_a_file_is_checked_without_the_paper(mine, tmp_path, page):
    """Nor without anything that is only for the package's own checks; for all outputs."""
    code = (
        "import sys\nfrom ibpcl.cli import main\ncode = main(['check', sys.argv[1], '--shape', "
        "'b=2', *sys.argv[2:]])\nwings = sorted({name.split('.')[1] for name in sys.modules if "
        "name.startswith('ibpcl.')})\nprint(code, *wings, file=sys.stderr)"
    )
    options = [*page, str(tmp_path / "page.html")] if page else []
    done = subprocess.run(
        [sys.executable, "-c", code, str(mine), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    code_and_wings = done.stderr.split()
    assert code_and_wings[0] == "0" and "verify" in code_and_wings
    assert not {"paper", "primitives", "models", "methods"} & set(code_and_wings)
    if page:
        assert "yours/" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow(reason="processes and checks of the package")
def test_a_file_and_checks_of_the_package_are_counted_together(check, mine):
    code, out, _ = check(f"{mine}:square", "divergences/gaussian.kl")
    assert code == 0 and "square: ok" in out and "all 2 ok" in out
    mine.write_text(MINE.format(sign="-"))
    code, out, _ = check(f"{mine}:square", "divergences/gaussian.kl")
    assert code == 1 and "1 of 2 WRONG: yours/" in " ".join(out.split())


def test_shapes_complete_the_inputs_and_a_file_alone_means_all_its_pairs(check, mine):
    code, out, _ = check(f"{mine}:affine")
    assert code == 0
    assert "guessed: b (2,)" in out
    code, out, _ = check(mine, "--shape", "b=2")
    assert code == 0
    assert "square: ok" in out
    assert "affine: ok" in out
    mine.write_text(MINE.format(sign="").replace("check_inputs", "nothing"))
    assert (
        check(
            f"{mine}:affine",
            "--shape",
            "x=3,4",
            "--shape",
            "w=4,2",
            "--shape",
            "b=2",
            "--seed",
            "-1",
        )[0]
        == 0
    )


def test_a_tuple_of_inputs_and_the_choice_of_what_is_differentiated(check, tmp_path):
    path = tmp_path / "power.py"
    path.write_text(
        "import numpy as np\ndef power(x, p):\n    return x**p, (x, p)\ndef power_vjp(dout, "
        "cache):\n    return dout * cache[1] * cache[0]**(cache[1] - 1)\ndef check_inputs():\n   "
        " return np.array([1.5, 2.5]), 3.0\n"
    )
    code, out, _ = check(f"{path}:power")
    assert code == 0  # a number such as the power is a setting
    assert "no gradient is returned for p" in " ".join(out.split())
    assert check(f"{path}:power", "--wrt", "x")[0] == 0
    code, _, err = check(f"{path}:power", "--wrt", "q")
    assert code == 2
    assert "wrt names 'q'" in err


@pytest.mark.parametrize(
    ("target", "shapes", "message"),
    [
        (":nope", [], "has no function 'nope' (it has: square, affine)"),
        pytest.param(
            ":nope",
            ["x=3"],
            "has no function 'nope' (it has: square, affine)",
            marks=pytest.mark.slow(reason="a process for the same answer"),
        ),
        (":lonely", [], "has no lonely_vjp"),
        (":square", ["q=3"], "of square (x)"),
        (":square", ["x"], "--shape takes NAME=SIZES"),
        (":square", ["x=3,a"], "--shape takes NAME=SIZES"),
    ],
)
def test_mistakes_with_ones_own_file(check, mine, target, shapes, message):
    code, out, err = check(
        f"{mine}{target}", *(part for shape in shapes for part in ("--shape", shape))
    )
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "place", "words"),
    quick(
        ["SyntaxError", "ZeroDivisionError"],
        [
            ("import numpy as np\nx = np.ones(2) @ np.ones(3)\n", "line 2", "ValueError"),
            ("def f(x:\n", "line 1", "SyntaxError"),
            ("import sys\nsys.exit(3)\n", "line 2", "SystemExit"),
            (
                "def f(x):\n    return x, x\ndef f_vjp(d, c):\n    return d\ndef "
                "check_inputs():\n    1 / 0\n",
                "line 6",
                "ZeroDivisionError",
            ),
        ],
        "each starts a process; a file that cannot be read and one that raises are there",
        name=lambda case: case[2],
    ),
)
def test_an_error_in_ones_own_file_is_shown_with_its_place_there(
    check, tmp_path, text, place, words
):
    path = tmp_path / "broken.py"
    path.write_text(text)
    code, out, err = check(f"{path}:f", *([] if "check_inputs" in text else ["--shape", "x=2"]))
    assert (code, out) == (2, "")
    assert place in err
    assert words in err
    assert "importlib" not in err
    assert "ibpcl/" not in err.replace(str(path), "")


def test_a_forward_that_draws_numbers_is_told(check, tmp_path):
    path = tmp_path / "noisy.py"
    path.write_text(
        "import numpy as np\nrng = np.random.default_rng(0)\n"
        "def f(x):\n    return x + rng.normal(size=x.shape), x\ndef f_vjp(d, c):\n    return d\n"
    )
    code, out, _ = check(f"{path}:f", "--shape", "x=3")
    assert code == 0
    assert "note: the forward draws random numbers" in " ".join(out.split())


@pytest.mark.slow(reason="a process for the search path")
def test_the_user_s_file_leaves_the_search_path_as_it_was(started, mine):
    before = list(sys.path)
    started(f"{mine}:square")
    assert sys.path == before


PAIRS = """
import os, sys, time
import numpy as np

def square(x):
    return x * x, x

def square_vjp(d, x):
    return 2 * d * x

def second(x):
    return np.sin(x), x

def second_vjp(d, x):
    {second}
    return d * np.cos(x)

def third(x):
    return np.exp(x), x

def third_vjp(d, x):
    return d * np.exp(x)

def check_inputs():
    return dict(x=np.linspace(0.1, 1, 4))
"""


def command_line(*arguments):
    """Run the command as a user does: exit code, standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "ibpcl", "check", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def pairs(tmp_path):
    """Write a file with three pairs, of which the second does something."""

    def write(second):
        path = tmp_path / "pairs.py"
        path.write_text(PAIRS.replace("{second}", second), encoding="utf-8")
        return path

    return write


def verdicts(out):
    return {
        entry["name"].rpartition(":")[2]: entry["verdict"] for entry in json.loads(out)["checks"]
    }


BAD_PAIRS = {
    "exception": ("raise KeyError('lost')", "wrong", "KeyError: 'lost'", 1),
    "SystemExit": ("sys.exit(0)", "wrong", "SystemExit: 0", 1),
    "exit": ("os._exit(0)", "undecided", "ended the process with exit code 0", 3),
    "signal": ("os.kill(os.getpid(), 9)", "undecided", "by signal 9", 3),
    "endless": ("while True: time.sleep(0.1)", "undecided", "not finished within 5 s", 3),
}


@pytest.mark.processes(reason="the pair ends or holds a process")
@pytest.mark.parametrize(
    ("second", "verdict", "words", "code"),
    quick(
        ["SystemExit", "signal"],
        [pytest.param(*case, id=name) for name, case in BAD_PAIRS.items()],
        "each starts processes; one ends the pair and one the process",
    ),
)
def test_one_bad_pair_costs_its_own_verdict_only(started, pairs, second, verdict, words, code):
    path = pairs(second)
    got, out, _ = started("--json", path, "--timeout", "5" if "while" in second else "120")
    assert got == code and json.loads(out)["ok"] is False
    assert verdicts(out) == {"square": "ok", "second": verdict, "third": "ok"}
    assert words in json.dumps(json.loads(out), ensure_ascii=False)


def test_a_pair_that_raises_is_shown_with_its_lines(check, pairs):
    path = pairs("raise KeyError('lost')")
    code, out, err = check(path)
    assert (code, err) == (1, "")
    text = " ".join(out.split())
    assert "second: WRONG" in text and "KeyError: 'lost'" in text and "line 15 of pairs.py" in text
    assert "ibpcl/verify" not in out and "square: ok" in out and "third: ok" in out
    assert "2 ok; 1 of 3 WRONG: yours/" in text


@pytest.mark.slow(reason="waits for two limits; the limits of the worker have tests of their own")
def test_code_that_swallows_every_error_is_ended_from_outside(started, pairs, monkeypatch):
    from ibpcl.verify.running import user

    monkeypatch.setattr(user, "GRACE", 3.0)
    path = pairs("""while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass""")
    code, out, _ = started(path, "--timeout", "4")
    assert code == 3
    assert "second: UNDECIDED: not finished within 4 s" in out and "third: ok" in out
    assert "1 of 3 UNDECIDED" in out


@pytest.mark.slow(reason="a command that starts a process")
@pytest.mark.parametrize(
    ("line", "code"),
    quick(
        ["exit"],
        [
            pytest.param("os._exit(0)", 3, id="exit"),
            pytest.param("sys.exit(0)", 2, id="SystemExit"),
            pytest.param("import time\nwhile True: time.sleep(0.1)", 3, id="endless"),
        ],
        "processes, and the last waits for its limit",
    ),
)
def test_a_file_that_ends_or_hangs_at_its_import_has_no_verdict(pairs, line, code):
    path = pairs("pass")
    path.write_text(f"import os, sys\n{line}\n{path.read_text()}")
    with ThreadPoolExecutor() as both:  # a file that hangs is waited for
        done = list(
            both.map(
                lambda options: command_line(f"{path}:square", "--timeout", "1", *options),
                ((), ("--json",)),
            )
        )
    for got, out, _ in done:
        assert got == code and "square: ok" not in out
    assert json.loads(out)["ok"] is False and json.loads(out)["verdict"] != "ok"


@pytest.mark.processes(reason="the file changes what its process says")
def test_a_verdict_is_made_of_the_kinds_not_of_what_the_file_puts_in_place_of_ok(started, pairs):
    path = pairs("return -d * np.cos(x)")
    path.write_text(
        "from ibpcl.verify.reports.report import InputVerdict, Report\n"
        "Report.ok = InputVerdict.ok = True\nReport.verdict = InputVerdict.verdict = 'ok'\n"
        "Report.text = lambda self: 'ok'\n" + path.read_text()
    )
    code, out, _ = started(path)
    assert code == 1 and "the sign is wrong" in out


@pytest.mark.slow(reason="a process for its last moment")
def test_what_exits_after_the_verdicts_changes_nothing(started, pairs):
    path = pairs("return -d * np.cos(x)")
    path.write_text("import atexit, os\natexit.register(os._exit, 0)\n" + path.read_text())
    assert started(path)[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere.py:f"],
        ["nonsense"],
        ["{path}:nope"],
        pytest.param(
            ["{path}", "nope"], marks=pytest.mark.slow(reason="a process for the same answer")
        ),
        ["{path}", "--timeout", "0"],
        ["{path}:square", "--wrt", "q"],
    ],
)
def test_a_mistake_is_json_too(check, pairs, arguments):
    path = pairs("pass")
    code, out, err = check("--json", *(argument.format(path=path) for argument in arguments))
    assert code == 2 and json.loads(out)["ok"] is False
    assert json.loads(out)["error"] == err.strip().removeprefix("ibpcl: ")


def test_what_is_undecided_has_an_exit_code_of_its_own(check, tmp_path):
    path = tmp_path / "slow.py"
    path.write_text(
        "import time\nimport numpy as np\ndef slow(x):\n    time.sleep(0.1)\n    return "
        "np.sin(x), x\ndef slow_vjp(d, x):\n    return d * np.cos(x)\n"
    )
    code, out, _ = check(
        f"{path}:slow", "--shape", "x=30", "--timeout", "0.5", "--html", tmp_path / "page.html"
    )
    assert code == 3
    assert "slow: UNDECIDED" in out and "not finished within 0.5 s" in out
    assert '<h2 class="undecided">' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_check_of_the_package_has_a_limit_too(check, monkeypatch):
    from ibpcl.verify.running import trap

    monkeypatch.setattr(trap, "LAG", 0.0)
    code, out, _ = check("gradients/gaussian.kl", "--timeout", "0.001")
    assert code == 3
    assert "UNDECIDED gaussian.kl" in out and "1 of 1 UNDECIDED: gradients/gaussian.kl" in out


@pytest.mark.slow(reason="seven commands")
def test_a_bare_name_beside_a_file_is_a_function_of_it(check, pairs):
    path = pairs("pass")
    path.write_text(path.read_text().replace("third", "errata"))
    code, out, _ = check(path, "errata", "--json")
    assert code == 0 and verdicts(out) == {"errata": "ok"}
    code, out, _ = check(f"{path}:square", "second_vjp", "--json")
    assert code == 0 and verdicts(out) == {"square": "ok", "second": "ok"}
    for name in ("f", "gaussian.k"):  # the beginning of a check's name
        code, out, err = check(path, name)
        assert (code, out) == (2, "") and f"write {path}:{name}" in err
    code, out, _ = check(f"{path}:square", "gaussian.kl", "--json")
    groups = [entry["group"] for entry in json.loads(out)["checks"]]
    assert code == 0 and groups == ["yours", "gradients", "divergences"]


@pytest.mark.parametrize(
    ("returned", "judged", "missing"),
    quick(
        ["None, d * x", "(-d * w,)", "dict(x=d * w)"],
        [
            ("d * w, None", ("x", "ok"), "w"),
            ("None, d * x", ("w", "ok"), "x"),
            ("d * w", ("x", "ok"), "w"),
            ("(-d * w,)", ("x", "sign"), "w"),
            ("dict(x=d * w)", ("x", "ok"), "w"),
            ("dict(dx=None, dw=d * x)", ("w", "ok"), "x"),
        ],
        "None, a tuple and a dict are there",
        name=lambda case: case[0],
    ),
)
def test_a_gradient_that_is_missing_is_never_ok(check, tmp_path, returned, judged, missing):
    path = tmp_path / "product.py"
    path.write_text(
        "def product(x, w):\n    return x * w, (x, w)\n"
        f"def product_vjp(d, cache):\n    x, w = cache\n    return {returned}\n"
    )
    code, out, err = check(f"{path}:product", "--shape", "x=3", "--shape", "w=3", "--json")
    assert (code, err) == (3 if judged[1] == "ok" else 1, "")
    numbers = json.loads(out)["checks"][0]["numbers"]
    assert [(item["name"], item["kind"]) for item in numbers["inputs"]] == [judged]
    assert f"for {missing}" in numbers["unjudged"][0]


def test_functions_without_a_gradient_are_named(check, mine):
    code, out, _ = check(mine, "--shape", "b=2")
    assert code == 0 and f"no gradient found: {mine}:lonely" in " ".join(out.split())
    code, out, _ = check(mine, "--shape", "b=2", "--json")
    assert json.loads(out)["left_out"] == [f"{mine}:lonely"]


def test_the_help_names_the_exit_codes_and_that_the_file_is_run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    out = capsys.readouterr().out
    words = " ".join(out.split())
    assert "3 nothing is wrong, but a check is undecided" in words
    assert (
        "without a sandbox" in words
        and "ibpcl class grade" in words
        and "--timeout SECONDS" in words
    )
    assert max(map(len, out.splitlines())) <= 80
