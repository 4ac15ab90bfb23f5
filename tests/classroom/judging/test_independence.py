"""Proofs are second, independent ways, whatever other names the first way has."""

import numpy as np
import pytest
from classroom_common import first, judged, verdict

from ibpcl.classroom.authoring.selftest import submission_of
from ibpcl.classroom.judging import independence
from ibpcl.classroom.judging.running.client import SubmissionError
from ibpcl.classroom.judging.running.session import Session

SOURCE = first().source()
OTHER_NAMES = {
    "alias": "_same = kl\ndef kl_by_quadrature(*i): return _same(*i)[0]",
    "default argument": "def kl_by_quadrature(*i, f=kl): return f(*i)[0]",
    "closure": (
        "_same = (lambda f: lambda *i: f(*i)[0])(kl)\ndef kl_by_quadrature(*i): return _same(*i)"
    ),
    "wrapper of NumPy": (
        "_same = np.frompyfunc(kl, 4, 2)\ndef kl_by_quadrature(*i): return _same(*i)[0]"
    ),
    "attribute of a module": "np._same = kl\ndef kl_by_quadrature(*i): return np._same(*i)[0]",
    "class": (
        "class K:\n    same = staticmethod(kl)\ndef kl_by_quadrature(*i): return K.same(*i)[0]"
    ),
    "code": (
        "_same = type(kl)(kl.__code__, kl.__globals__)\ndef kl_by_quadrature(*i): return "
        "_same(*i)[0]"
    ),
    "wrapper": (
        "_same = kl\ndef kl(*i): return _same(*i)\ndef kl_by_quadrature(*i): return _same(*i)[0]"
    ),
}
RENAMED = SOURCE.replace("def kl(", "def _first(").replace("def kl_by_quadrature(", "def _second(")
BEHIND = {
    "assignment": "kl = _first\ndef kl_by_quadrature(*i): return _first(*i)[0]",
    "lambda": "kl = lambda *i: _first(*i)\nkl_by_quadrature = lambda *i: _first(*i)[0]",
    "decorator": "def _plain(f): return f\n@_plain\ndef kl(*i):\n    return _first(*i)\n"
    "def kl_by_quadrature(*i): return _first(*i)[0]",
}


def proved(text):
    """Call the proof as the judge does: independence does not rest on the box."""
    assignment = first()
    session = Session(submission_of(assignment, text), assignment, "none")
    try:
        return session.plain(
            "kl_by_quadrature", (np.ones((2, 1)), np.ones((2, 1)), np.ones(1), 1.0), ("kl",)
        )
    finally:
        session.close()


@pytest.mark.parametrize("text", OTHER_NAMES.values(), ids=OTHER_NAMES)
def test_proof_by_another_name_raises(text, monkeypatch):
    monkeypatch.setattr(np, "_same", None, raising=False)  # one of them sets it
    with pytest.raises(SubmissionError, match="RuntimeError") as caught:
        proved(f"{SOURCE}\n\n{text}\n")
    assert "must not use kl" in caught.value.message


@pytest.mark.parametrize("text", BEHIND.values(), ids=BEHIND)
def test_proof_by_what_stands_behind_the_function_raises(text):
    with pytest.raises(SubmissionError, match=r"RuntimeError|NameError"):
        proved(f"{RENAMED}\n\n{text}\n")


def test_proof_by_another_name_loses_its_points_only():
    result = judged(f"{SOURCE}\n\n{OTHER_NAMES['alias']}\n")
    assert (verdict(result, "1i").state, verdict(result, "1i").points, result.score) == (
        "raises",
        0,
        80,
    )


@pytest.mark.slow(reason="judges a whole hand-in")
def test_module_that_uses_its_functions_when_loaded_keeps_its_points():
    used = (
        "\n_o = np.ones((2, 2))\n_checked = kl(_o, _o, np.ones(2), 1.0)[0]\nassert _checked == "
        "_checked\n"
    )
    assert judged(SOURCE + used).score == 90


def test_pasted_copy_under_another_name_is_flagged():
    body = SOURCE[SOURCE.index("def kl(") : SOURCE.index("def kl_vjp(")]
    renamed = (
        body.replace("def kl(", "def _helper(").replace("shift", "moved").replace("excess", "rest")
    )
    text = f"{SOURCE}\n\n{renamed}\ndef kl_by_quadrature(*i):\n    return _helper(*i)[0] * 1 + 0\n"
    assert independence.copies(text, ("kl",), "kl_by_quadrature") == ["kl"]
    assert independence.copies(SOURCE, ("kl",), "kl_by_quadrature") == []


@pytest.mark.parametrize(
    "text",
    [
        "@memo\ndef kl(a,\n       b):\n    return 1\nx = 2",
        "kl = lambda a: (\n    a)\nx = 2",
        "if True:\n    def kl(): return 1\nx = 2",
        "try:\n    kl = f = lambda: 1\nexcept Exception: pass\nx = 2",
        "s = 'ä'; kl = lambda: 'ü'; x = 2",
        "kl, y = (lambda: 1), 5\nx = 2",
    ],
)
def test_changed_text_raises_and_keeps_its_lines(text):
    changed = independence.without(text, ("kl",), "proof")
    space = {"memo": lambda f: f}
    exec(compile(changed, "changed", "exec"), space)
    assert space["x"] == 2
    assert changed.count("\n") == text.count("\n")
    assert changed.splitlines()[-1].endswith("x = 2")
    with pytest.raises(RuntimeError, match="proof must not use kl"):
        space["kl"]()


def test_helpers_that_both_may_use_stay_alive():
    text = (
        "def _sigma(s):\n    return s\ndef kl(s):\n    t = _sigma(s)\n    return t\n"
        "def proof(s):\n    return _sigma(s)"
    )
    space = {}
    exec(independence.without(text, ("kl",), "proof"), space)
    assert space["proof"](3) == 3


@pytest.mark.parametrize(
    "head", ["", "# %% notebook\n\n# %% code cell 1\n"], ids=["program", "notebook"]
)
def test_statement_that_uses_the_function_is_passed_over_in_the_middle_of_a_text(head):
    middle = SOURCE.index("def kl_by_quadrature(")
    text = (
        f"{head}{SOURCE[:middle]}\n_o = kl(np.ones((1, 1)), np.ones((1, 1)), np.ones(1), 1.0)\n"
        f"{SOURCE[middle:]}"
    )
    assert proved(text) == pytest.approx(proved(SOURCE))
