"""Mistakes in functions that Numba compiles are planted, compiled and judged by their numbers."""

import contextlib
import types
from pathlib import Path

import numpy as np
import pytest

from ibpcl import audit
from ibpcl.audit import compiled, planning, planting, running, tracing, trying
from ibpcl.audit.agent import written
from ibpcl.sandbox.worker import Ended
from ibpcl.verify.adapters import discovery, loading

pytest.importorskip("numba")
LAYERS = '''import numpy as np
from numba import njit


@njit
def _slope(d, out):
    return d * (1 - out * out)


@njit
def _double(x):
    return x + x


@njit
def scale(x, w):
    return np.tanh(_double(x) * w), (x, w)


@njit
def scale_vjp(dout, cache):
    x, w = cache
    dw = np.zeros_like(w)
    dx = np.empty_like(x)
    for i in range(x.size):
        dz = _slope(dout[i], np.tanh(_double(x[i]) * w[i]))
        dx[i] = 2 * dz * w[i]
        dw[i] = 2 * dz * x[i]
    return dx, dw


def check_inputs():
    return {"x": np.array([0.3, -0.5, 0.8]), "w": np.array([1.2, -0.7, 0.4])}
'''
SLOPE_AND_VJP = ("_slope(d, out)", "scale_vjp(dout, cache)")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "layers.py"
    path.write_text(LAYERS)
    return path


def test_the_functions_of_the_gradient_alone_are_changed(file):
    module = loading.load(str(file)).module
    target = discovery.find(discovery.targets_in(module), "scale")
    code = compiled.Compiled(module, target, str(file))
    assert code.is_compiled and code.own == {"_slope", "scale_vjp"}
    plain = LAYERS.replace("@njit\n", "").replace("from numba import njit\n", "")
    file.write_text(plain)
    module = loading.load(str(file)).module
    target = discovery.find(discovery.targets_in(module), "scale")
    assert not compiled.Compiled(module, target, str(file)).is_compiled


@pytest.mark.parametrize("most", [2])
def test_wrong_changes_are_kept_and_the_file_stays_as_it_is(file, monkeypatch, most):
    monkeypatch.setattr(compiled, "MOST", most)
    (message,) = planting.Program().plant(str(file), [], {}, 0, 200.0)
    assert message["state"] == "planted" and message["planted"] == most and message["left"] > 0
    assert message["mutants"] and file.read_text() == LAYERS
    (enough,) = planting.Program().plant(str(file), [], {}, 0, 200.0, trying=1)
    assert len(enough["mutants"]) == 1 and enough["planted"] + enough["left"] == (
        message["planted"] + message["left"]
    )
    assert [path.name for path in file.parent.glob("*.py")] == ["layers.py"]
    for mutant in message["mutants"]:
        text = planting.replaced(LAYERS, planning.replacements_of(mutant))
        # Without the compiler, the changed text has the wrong numbers that the judge has seen.
        scope = {}
        exec(text.replace("@njit\n", "").replace("from numba import njit\n", ""), scope)
        exec("\n".join(mutant["paste"]), {"np": np}, scope)
        found = scope["scale_vjp"](scope["dout"], scope["scale"](scope["x"], scope["w"])[1])
        right = {}
        exec(LAYERS.replace("@njit\n", "").replace("from numba import njit\n", ""), right)
        true = right["scale_vjp"](scope["dout"], right["scale"](scope["x"], scope["w"])[1])
        assert max(np.abs(a - b).max() for a, b in zip(found, true, strict=True)) > 1e-4


def test_kernels_are_judged_in_single_precision(monkeypatch):
    """A kernel serves single precision alone; in double precision, its reference would run."""
    kernels = pytest.importorskip("ibpcl.kernels.gaussian")
    module = loading.load(kernels.__file__).module
    target = discovery.find(discovery.targets_in(module), "kl")
    code = compiled.Compiled(module, target, kernels.__file__)
    assert code.is_compiled and {"_means", "_scales", "_gradients"} <= code.own
    rng = np.random.default_rng(0)
    names = ("mu", "log_sigma", "prior_mu", "prior_log_sigma")
    drawn = {name: rng.normal(size=(2, 3)).astype(np.float32) for name in names}
    calls = [{name: written(value, [100]) for name, value in drawn.items()}]
    [(_, points), *_] = compiled._points(module, target, calls, 0)
    assert {each.dtype for point in points for each in point.right} == {np.dtype("float32")}
    wide = [{name: {**call, "dtype": "float64"} for name, call in calls[0].items()}]
    [(_, points), *_] = compiled._points(module, target, wide, 0)
    assert {each.dtype for point in points for each in point.right} == {np.dtype("float64")}


def test_functions_that_the_forward_hands_to_the_gradient_are_changed(file):
    """The forward calls none of them; it puts one into the cache for the gradient."""
    text = LAYERS.replace("return np.tanh(_double(x) * w), (x, w)", "return x * w, (_pull_vjp, x)")
    text += "\n\n@njit\ndef _pull_vjp(dout, x):\n    return _twice(dout) * x\n"
    text += "\n\n@njit\ndef _twice(x):\n    return 2 * x\n"
    file.write_text(text)
    module = loading.load(str(file)).module
    target = discovery.find(discovery.targets_in(module), "scale")
    code = compiled.Compiled(module, target, str(file))
    assert code.own == {"_slope", "_double", "scale_vjp", "_pull_vjp", "_twice"}


def test_tests_of_the_callers_run_first_and_all_others_after_them(file):
    module = loading.load(str(file)).module
    target = discovery.find(discovery.targets_in(module), "scale")
    code = compiled.Compiled(module, target, str(file))
    (start, end), *others = code.callers("_slope")
    first, last = (LAYERS.splitlines().index(f"def {name}:") + 2 for name in SLOPE_AND_VJP)
    assert start == first and others[0][0] == last and len(others) == 1 and end == first
    lines = {"layers.py": {last: ["slow", "fast"], 1: [tracing.EVERY]}}
    traced = tracing.Traced(
        ["other", "slow", "fast"], {"slow": 2.0, "fast": 1.0}, 9.0, lines, {}, [], []
    )
    assert traced.reaching_any("layers.py", code.callers("_slope")) == ["fast", "slow"]
    assert traced.reaching_any("layers.py", []) == []
    for outcome, expected in (("caught", 1), ("survived", 2)):
        runs = []
        forgotten = []
        runner = types.SimpleNamespace(
            folder=file.parent,
            selected=lambda tests, limit, of=runs, outcome=outcome: (
                of.append(tests) or running.Run(outcome)
            ),
            forget_machine_code=lambda of=runs, at=forgotten: at.append(len(of)),
        )
        mistake = types.SimpleNamespace(file="layers.py", function="_slope")
        trial = planning.Trial(mistake, [], (start, end), ["fast", "slow"], True, True, "one")
        known = trying.Unreached(), trying.Catchers()
        assert trying.outcome_of(trial, runner, traced, *known).outcome == outcome
        assert runs == [["fast", "slow"], None][:expected]
        assert forgotten == [0, expected]  # no machine code from before, and none left


SLOPES = '''import functools
import numpy as np


def logged(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*(each.value if isinstance(each, Box) else each for each in arguments))

    return call


class Box:
    def __init__(self, value):
        self.value = value


def square(x):
    out = x * x
    slope = 2 * x
    return out, Box(slope)


@logged
def square_vjp(dout, slope):
    return dout * slope


def check_inputs():
    return {"x": np.array([0.3, -0.5, 0.8])}
'''


def test_slopes_of_the_forward_and_a_wrapped_gradient_are_changed(file):
    """The source of the gradient alone does not run, because a decorator opens the cache."""
    file.write_text(SLOPES)
    (message,) = planting.Program().plant(str(file), [], {}, 0, 200.0)
    assert message["state"] == "planted", message
    lines = [SLOPES.splitlines()[each["line"] - 1] for each in message["mutants"]]
    assert any("slope = 2" in line for line in lines)
    assert any("dout * slope" in line for line in lines)
    assert message["forward"] > 0 and not any("out = x" in line for line in lines)


@pytest.mark.slow(reason="each run of the tests compiles the functions again")
def test_an_audit_runs_the_tests_with_compiled_mistakes(file):
    tests = file.parent / "test_layers.py"
    tests.write_text(
        "import numpy as np\nfrom layers import check_inputs, scale, scale_vjp\n\n\n"
        "def test_the_gradient_of_the_weights():\n"
        "    x, w = check_inputs().values()\n"
        "    dx, dw = scale_vjp(np.ones(3), scale(x, w)[1])\n"
        "    step = 1e-6\n"
        "    slope = (scale(x, w + step)[0] - scale(x, w - step)[0]) / (2 * step)\n"
        "    assert np.allclose(dw, slope, atol=1e-6) and dx.shape == x.shape\n"
    )
    report = audit.audit("layers.py", "pytest -q", project=str(file.parent), most=6, fresh=True)
    (function,) = report.functions
    assert function.counted == 6
    assert all(each.wrt == ["x"] for each in report.survivors)


def test_a_change_that_ends_the_process_costs_no_other(file, monkeypatch):
    """The judge says nothing any more, and leaves the file of the change that it tried."""
    asked = []

    class Judge:
        def stream(self, *_, names, without, **__):
            asked.append((names, without))
            if 4 not in without:
                file.with_name("layers_changed_4.py").write_text("")
                raise Ended("exit")
            yield {"name": names[0], "state": "planted"}
            raise Ended("exit")  # while it judges the next function

    monkeypatch.setattr(planning, "_judge", lambda folder: contextlib.nullcontext(Judge()))
    settings = types.SimpleNamespace(seed=0, most=2)
    messages = list(
        planning._messages(file.parent, Path(file.name), ["scale", "fatal"], {}, settings)
    )
    assert [each["state"] for each in messages] == ["planted", "left out"]
    assert asked == [(["scale", "fatal"], []), (["scale", "fatal"], [4])]
    assert compiled.unfinished(file) is None


@pytest.mark.parametrize("number", [0, 1])
def test_the_changes_that_end_the_process_count_as_raising(file, monkeypatch, number):
    monkeypatch.setattr(compiled, "MOST", 2)
    (message,) = planting.Program().plant(str(file), [], {}, 0, 200.0)
    (fewer,) = planting.Program().plant(str(file), [], {}, 0, 200.0, without=[number])
    assert fewer["planted"] == message["planted"] == 2
    assert fewer["raising"] == message["raising"] + 1
