"""Points are for knowledge: guesses earn nothing, and one misconception costs its own task."""

import ast
from itertools import product
from types import SimpleNamespace

import guessing
import misconceptions
import numpy as np
import pytest
from classroom_common import KEY, judged

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.authoring.selftest import submission_of
from ibpcl.classroom.authoring.stubs import stub
from ibpcl.classroom.judging.judge import Case
from ibpcl.classroom.judging.naming.naming_gradients import trivial_truths
from ibpcl.classroom.judging.running import parallel

pytestmark = pytest.mark.slow(reason="hundreds of hand-ins are judged")

MOST_FOR_A_GUESS = 3  # of 90
MOST_LOST = 10  # of 90, on average over misconceptions
VARIANTS = [(name, variant) for name in names() for variant in find(name).variants]
SAMPLE = [
    ("smooth", None),
    ("first plus product", "cotangent times first"),
    ("exp of sum", "cotangent, hardly changed"),
]
# a logarithm is much like the log-odds that are asked for, and so are other trivial answers
NEAR = ("02_sticks", "base", "log", None)
GUESSES = [
    *product(guessing.FORWARDS, [None]),
    *product(["smooth", "zeros", "mean"], guessing.GRADIENTS),
]


def points(job):
    name, variant, forward, gradient = job
    assignment = find(name)
    result = judged(
        guessing.hand_in_of(assignment, variant, forward, gradient), assignment, variant=variant
    )
    return result.score, result.flags, result.reason


def refuse_points(jobs):
    found = zip(parallel.over(points, jobs), jobs, strict=True)
    assert [
        (job, earned) for (earned, *_), job in found if earned is None or earned > MOST_FOR_A_GUESS
    ] == []


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_guesses_have_the_shapes_that_are_asked_for(name, variant):
    """Without the right shapes, no guess could earn anything."""
    assignment = find(name)
    stubbed = {
        node.name: node
        for node in ast.parse(stub(assignment, variant)).body
        if isinstance(node, ast.FunctionDef)
    }
    for task in assignment.tasks:
        if task.kind not in ("forward", "proof", "step") or task.function not in stubbed:
            continue
        shape, count = guessing.shape_of(stubbed[task.function], variant)
        inputs = assignment.maker(task.inputs)(np.random.default_rng(0), "odd")
        out = getattr(assignment.reference(variant), task.function)(*inputs.values())
        out = out if task.is_plain else out[0]
        first = out[0] if isinstance(out, tuple) else out
        assert (count == 2) is isinstance(out, tuple), task.function
        assert eval(shape, {"np": np}, dict(inputs)) == np.shape(first), task.function


def test_a_guess_earns_nothing():
    variants = {name: list(find(name).variants) for name in names()}
    refuse_points(
        [
            (name, variants[name][at % len(variants[name])], *SAMPLE[at % len(SAMPLE)])
            for at, name in list(enumerate(variants))[::4]
        ]
        + [NEAR]
    )


@pytest.mark.slow(reason="judges every guess in every variant")
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_no_guess_earns_anything_in_any_variant(name, variant):
    refuse_points([(name, variant, *guess) for guess in GUESSES])


def judged_misconception(case):
    assignment = find(case.assignment)
    return judged(f"{assignment.source()}\n{case.text}", assignment)


def verdicts_on(cases):
    """Judge misconceptions: [(case, points lost, kinds in its own task)]."""
    found = []
    for case, result in zip(cases, parallel.over(judged_misconception, cases), strict=True):
        most = sum(each.most for each in result.verdicts if each.kind != "text")
        kinds = {
            part.kind for each in result.verdicts if each.task == case.task for part in each.parts
        }
        found.append((case, most - result.score, kinds - {"ok"}))
    return found


def refuse_unfair(found):
    misnamed = [
        (case.task, case.label, kinds) for case, _, kinds in found if kinds - {*case.kinds, "wrong"}
    ]
    assert misnamed == []
    assert [(case.task, case.label) for case, _, kinds in found if not kinds] == [], (
        "these were not noticed"
    )
    assert sum(lost for _, lost, _ in found) / len(found) <= MOST_LOST


def test_a_misconception_costs_its_own_task_and_is_not_misnamed():
    refuse_unfair(verdicts_on(misconceptions.EVERY[::7]))


@pytest.mark.slow(reason="judges some hundred hand-ins")
def test_all_misconceptions():
    refuse_unfair(verdicts_on(misconceptions.EVERY))


WRONG_MOMENTS = """
import numpy as np

def masked_moments(mu, log_sigma, bias_mu, bias_log_sigma, mask):
    s = mask * np.exp(log_sigma)
    bs = np.exp(bias_log_sigma)  # the bias of a dead unit counts, too
    return (mask * mu, s, bias_mu * 1.0, bs), (mask, s, bs)


def masked_moments_vjp(dout, cache):
    mask, s, bs = cache
    dm, ds, dbm, dbs = dout
    return dm * mask, ds * s, dbm, dbs * bs
"""


class TwoOutputs:
    """Forwards with two outputs, one of them with a gradient that shapes suggest."""

    @staticmethod
    def plain(x, y):
        return (x + y, np.sum(x) - y[0]), None

    @staticmethod
    def plain_vjp(dout, cache):
        return dout[0] + dout[1], dout[0] - dout[1] * (np.arange(4) == 0)

    @staticmethod
    def deep(x, y):
        return (x + y, np.sum(np.sin(x) * y**2)), (x, y)

    @staticmethod
    def deep_vjp(dout, cache):
        x, y = cache
        return dout[0] + dout[1] * np.cos(x) * y**2, dout[0] + dout[1] * 2 * y * np.sin(x)


@pytest.mark.parametrize(("function", "expected"), [("plain", {"x"}), ("deep", set())])
def test_a_gradient_of_several_outputs_is_trivial_if_it_is_for_each(function, expected):
    task = SimpleNamespace(forward=function, function=f"{function}_vjp", wrt=("x", "y"))
    case = SimpleNamespace(
        reference=TwoOutputs,
        rng=lambda task, words, at: np.random.default_rng(at),
        inputs=lambda task, size, at: dict(
            zip("xy", np.random.default_rng([9, int(at[8:])]).normal(size=(2, 4)), strict=True)
        ),
    )
    found = set(trivial_truths(task, case, ("x", "y")))
    assert expected <= found <= (expected | {"y"} if expected else set())


def test_a_wrong_forward_with_several_outputs_is_judged():
    assignment = find("chapter_08")
    task = next(each for each in assignment.tasks if each.function == "masked_moments")
    source = assignment.source() + WRONG_MOMENTS
    result = judged(source, assignment, public_only=True)
    (verdict,) = (each for each in result.verdicts if each.task == task.id)
    assert result.status == "graded" and verdict.state in ("wrong", "partial")


@pytest.mark.parametrize("variant", find("9").variants)
def test_the_gradient_of_a_bias_is_trivial_beside_images(variant):
    ninth = find("9")
    case = Case(ninth, submission_of(ninth, ""), KEY, variant, None, False)
    assert trivial_truths(ninth.task("9b"), case, ["w", "bias"]) == ["bias"]
