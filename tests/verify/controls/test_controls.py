"""Right code is never called wrong, and spoiled code never right, in any form."""

import numpy as np
import pytest

from . import cores, engines, forms, measure, small, wrapped

ENOUGH = 0.95  # share of the spoiled files that must be wrong; the rest is undecided or refused


@pytest.mark.parametrize("core", cores.CORES, ids=lambda core: core.name)
def test_a_core_is_right(core):
    for name, gradient in core.evaluated().items():
        np.testing.assert_allclose(gradient, core.differences(name), rtol=1e-5, atol=1e-7)
    if core.of_output:
        of_output = core._replace(grads={"x": core.of_output})
        np.testing.assert_allclose(of_output.evaluated()["x"], core.differences("x"), rtol=1e-5)


def slope(core, expression, name, direction):
    """Return the derivative of an expression along a direction of an input."""
    at = core.drawn()[name]
    ends = [
        eval(expression, core.scope(**{name: at + sign * cores.EPSILON * direction}))
        for sign in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2 * cores.EPSILON)


@pytest.mark.parametrize("core", cores.TANGENTS, ids=lambda core: core.name)
def test_a_tangent_is_right(core):
    for name, term in core.evaluated().items():
        expected = slope(core, core.out, name, core.drawn()[f"d{name}"])
        np.testing.assert_allclose(np.broadcast_to(term, expected.shape), expected, rtol=1e-5)


@pytest.mark.parametrize("core", cores.CURVATURES, ids=lambda core: core.name)
def test_a_curvature_is_right(core):
    v = core.drawn()["v"]
    gradient = eval(core.of_output, core.scope())
    np.testing.assert_allclose(gradient @ v, slope(core, "out", "x", v), rtol=1e-5)
    product = core.evaluated()["v"]
    np.testing.assert_allclose(product, slope(core, core.of_output, "x", v), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("core", cores.JACOBIANS, ids=lambda core: core.name)
def test_a_jacobian_is_right(core):
    columns = [slope(core, "out", "x", unit) for unit in np.eye(4)]
    matrix = core.evaluated()["x"]
    np.testing.assert_allclose(matrix, np.transpose(columns), rtol=1e-5, atol=1e-7)


def expressed(scope, name, left, right):
    """Return two objects of an engine, and an expression of them with all operations."""
    kind = next(value for key, value in scope.items() if key in engines.KINDS)
    a, b = kind(left), kind(right)
    out = getattr(a * b + a, name)() * b + a
    return a, b, out @ b if hasattr(kind, "__matmul__") else out


@pytest.mark.parametrize("form", ["engine of numbers", "engine of arrays"])
def test_an_engine_is_right(form):
    for control in forms.controls([form]):
        if control.spoiled:
            continue
        scope = {}
        exec(control.source, scope)
        name = control.name.partition(": ")[2].partition("(")[0]
        rng = np.random.default_rng(4)
        at = rng.uniform(0.4, 1.2, size=(2, 3, 3) if "arrays" in form else 2)
        step = cores.EPSILON * rng.normal(size=at.shape)
        a, b, out = expressed(scope, name, *at)
        out.backward()
        ends = [np.sum(expressed(scope, name, *place)[2].data) for place in (at + step, at - step)]
        got = np.sum(a.grad * step[0] + b.grad * step[1])
        np.testing.assert_allclose(got, (ends[0] - ends[1]) / 2, rtol=1e-5)


def test_a_spoil_changes_the_gradient():
    linear = cores.CORES[0]
    kinds = [(name, kind) for name, kind, _ in forms.spoils(linear)]
    assert len(kinds) == len(set(kinds)) == 3 * 6  # nothing is square
    (square,) = (core for core in cores.CORES if core.name == "mixing")
    assert ("w", "transposed") in [(name, kind) for name, kind, _ in forms.spoils(square)]
    symmetric = square._replace(grads={"w": "np.eye(4)"}, after="")
    assert "transposed" not in [kind for _, kind, _ in forms.spoils(symmetric)]
    constant = square._replace(grads={"x": "np.ones((5, 4))"}, after="")
    kinds = {kind for _, kind, _ in forms.spoils(constant)}
    assert kinds == {"times five", "minus", "zero", "plus a constant"}


@pytest.mark.parametrize("form", forms.FORMS)
def test_each_form_has_ten_right_files_and_spoils_all_their_gradients(form):
    every = list(forms.controls([form]))
    right = [one for one in every if not one.spoiled]
    assert len({one.source for one in right}) == len(right) >= forms.VARIANTS
    assert len({one.source for one in every}) == len(every) >= 5 * len(right)


def test_a_mistake_in_another_form_changes_a_gradient():
    every = [case for case in wrapped.cases() if case.name in wrapped.right_cases()]
    assert len(every) >= 400
    wrapping = wrapped.WRAPPINGS["closure"]
    assert not any(wrapped.is_changed(case, wrapping) for case in every if case.is_right)
    wrong = [case for case in every if not case.is_right]
    assert sum(wrapped.is_changed(case, wrapping) for case in wrong) >= 0.9 * len(wrong)


def assert_trusted(outcomes, right_enough=1.0):
    """Fail with the report if a verdict is false, or too many files are not judged."""
    report = f"{measure.faults(outcomes)}\n\n{measure.table(outcomes)}"
    assert not [one for one in outcomes if one.is_fault], report
    for is_spoiled, enough in ((False, right_enough), (True, ENOUGH)):
        rows = [one for one in outcomes if one.is_promised and bool(one.spoiled) == is_spoiled]
        assert sum(one.is_expected for one in rows) >= enough * len(rows), report


def test_a_right_and_a_spoiled_file_of_each_form():
    assert_trusted(measure.run(forms.sample()))


def test_a_pair_of_the_benchmark_in_each_other_form():
    assert_trusted(measure.run(wrapped.sample()), ENOUGH)


@pytest.mark.slow(reason="six thousand files; the test command checks two of each form")
@pytest.mark.parametrize("form", forms.FORMS)
def test_the_controls(form):
    assert_trusted(measure.run(forms.controls([form])))


@pytest.mark.slow(reason="two thousand files; the test command checks two of each form")
@pytest.mark.parametrize("form", wrapped.WRAPPINGS)
def test_the_benchmark_in_other_forms(form):
    assert_trusted(measure.run(wrapped.controls([form])), ENOUGH)


@pytest.mark.parametrize("one", small.SMALL, ids=lambda one: one.name)
def test_a_small_file_has_its_verdict(one):
    (outcome,) = measure.run([one.control()])
    assert outcome.verdict in one.verdicts, str(outcome)


@pytest.mark.processes(reason="it compares with the command, which starts a process")
def test_the_command_gives_the_same_verdicts(tmp_path):
    both = list(wrapped.sample())[:2]
    assert [bool(control.spoiled) for control in both] == [False, True]
    for control in both:
        assert measure.by_command(control, tmp_path) == measure.measured(control, tmp_path).verdict
