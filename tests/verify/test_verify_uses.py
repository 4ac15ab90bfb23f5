"""Side effects are notes beside the verdict, and mistakes if normal use gets other numbers."""

import numpy as np
import pytest

from ibpcl.verify import Report, check
from ibpcl.verify.derivative.problem import make_problem
from ibpcl.verify.prepare import prepare
from ibpcl.verify.side_effects import alike, same_bits

X = np.array([0.3, -0.7, 1.1])
W = np.array([[0.5, -0.2], [0.1, 0.9], [-0.4, 0.3]])


def mistakes(forward, backward, point=(X,)):
    report = check(forward, backward, point)
    assert not report.ok
    assert report.score == 0
    return [problem.kind for problem in report.problems]


def habits(forward, backward, point=(X,)):
    report = check(forward, backward, point)
    assert report.ok, str(report)
    assert report.score == 1
    return [habit.kind for habit in report.habits]


def test_drawing_forward_is_judged_with_repeated_draws():
    rng = np.random.default_rng(0)

    def dropout(x):
        mask = rng.random(9) < 0.7
        return x * mask, mask

    x = np.linspace(-1, 1, 9) + 0.03
    assert habits(dropout, lambda d, mask: d * mask, (x,)) == ["noisy_forward"]
    assert check(dropout, lambda d, mask: d * mask * 2, (x,))["x"].kind == "constant_factor"


def test_forward_with_unrepeatable_draws_is_unfit():
    assert mistakes(
        lambda x: (x * np.random.default_rng().standard_normal(3), x), lambda d, x: d
    ) == ["noisy_forward"]


@pytest.mark.parametrize(("size", "ok"), [(1e-15, True), (1e-9, False)])
def test_rounding_between_calls_is_not_noise(size, ok):
    signs = iter(range(1, 10_000))
    report = check(lambda x: (2 * x, x), lambda d, x: 2 * d * (1 + size * (next(signs) % 2)), (X,))
    assert report.ok is ok
    assert [problem.kind for problem in report.problems] == ([] if ok else ["noisy_gradient"])


def test_forward_with_changing_summation_order_is_not_noisy():
    orders = iter(np.random.default_rng(1).permutation(3) for _ in range(100_000))

    def forward(x):
        return np.exp(sum(x[n] for n in next(orders))), x

    assert habits(forward, lambda d, x: d * np.exp(x.sum()) + 0 * x) == []


def test_noisy_gradient_is_a_mistake():
    rng = np.random.default_rng(0)
    assert "noisy_gradient" in mistakes(
        lambda x: (2 * x, x), lambda d, x: 2 * d * (1 + 1e-6 * rng.random())
    )


def test_non_finite_forward_is_unfit():
    with np.errstate(all="ignore"):
        assert mistakes(lambda x: (np.log(x), x), lambda d, x: d / x) == ["non_finite_forward"]


def into_dout(dout, x):
    dout *= 2
    return dout


def into_cache(dout, cache):
    cache[0] *= 2
    return cache[0] * dout


def frees_cache(dout, cache):
    return 2 * cache.pop() * dout


@pytest.mark.parametrize(
    ("forward", "backward", "kind"),
    [
        (lambda x: (2 * x, x), into_dout, "changes_cotangent"),
        (lambda x: (x * x, [x.copy()]), into_cache, "changes_cache"),
        (lambda x: (x * x, [x]), frees_cache, "changes_cache"),
    ],
)
def test_overwritten_arguments_of_the_backward_are_a_note(forward, backward, kind):
    assert habits(forward, backward) == [kind]


def test_overwritten_input_is_a_mistake_if_numbers_change():
    def relu_in_place(x):
        x[x < 0] = 0
        return 1 * x, x > 0

    def residual_in_place(x):
        x -= 1
        return x**2, x.copy()

    assert habits(relu_in_place, lambda d, on: d * on) == ["changes_input"]
    assert mistakes(residual_in_place, lambda d, r: 2 * d * r) == ["changes_input"]


class Layer:
    def __init__(self):
        self.dw = np.zeros_like(W)

    def forward(self, x, w):
        self.x = x
        self.w = w
        return x @ w

    def backward(self, dout):
        self.dw += np.outer(self.x, dout)
        return self.w @ dout, self.dw


def test_accumulating_object_is_judged_when_fresh():
    def forward(x, w):
        layer = Layer()
        return layer.forward(x, w), layer

    assert habits(forward, lambda d, layer: layer.backward(d), (X, W)) == ["accumulates"]
    wrong = check(forward, lambda d, layer: [-g for g in layer.backward(d)], (X, W))
    assert [item.kind for item in wrong.inputs] == ["sign", "sign"]


class Reduced:
    """A loss whose backward takes one from the array that its forward keeps."""

    def forward(self, x):
        e = np.exp(x - x.max())
        self.p = e / e.sum()
        return -np.log(self.p[0])

    def backward(self, dout):
        self.p[0] -= 1
        return dout * self.p


def test_a_cache_that_changes_by_the_same_amount_is_overwritten_and_not_accumulated():
    def forward(x):
        layer = Reduced()
        return layer.forward(x), layer

    assert habits(forward, lambda d, layer: layer.backward(d), (X,)) == ["changes_cache"]


def test_shared_object_is_judged_one_backward_per_forward():
    layer = Layer()
    found = habits(lambda x, w: (layer.forward(x, w), None), lambda d, _: layer.backward(d), (X, W))
    assert set(found) == {"accumulates", "stale"}


def test_hidden_accumulating_buffer_is_a_mistake():
    def backward(dout, x, buffer=np.zeros(3)):  # noqa: B008
        buffer += 2 * dout
        return buffer

    report = check(lambda x: (2 * x, x), backward, (X,))
    assert [problem.kind for problem in report.problems] == ["accumulates"]
    assert "training step" in report.problems[0].words


def test_unused_cache_is_a_mistake_after_two_forwards():
    def forward(x):
        forward.last = x
        return x * x, (x,)

    report = check(forward, lambda d, cache: 2 * forward.last * d, (X,))
    assert [problem.kind for problem in report.problems] == ["stale"]
    assert "two forward" in report.problems[0].words


def test_habits_survive_json_and_appear_in_the_text():
    report = check(lambda x: (2 * x, x), into_dout, (X,))
    again = Report.from_dict(report.to_dict())
    assert again.ok
    assert again.habits == report.habits
    assert report.habits[0].words in " ".join(report.text().split())


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
        (np.ones(2), np.ones(3), False),
        (np.ones(2), np.ones(2, dtype=np.float32), False),
        (np.ones(1), np.ones(1) + 2.3e-16, False),
    ],
)
def test_same_bits_compares_shape_type_and_value(a, b, same):
    assert same_bits(a, b) is same
    assert alike(a, b) or not same


def squares(x):
    return x**2, [x.copy()]


def slope(dout, cache):
    return 2 * cache[0] * dout


def slope_in_the_cache(dout, cache):
    cache[0] *= 2
    return cache[0] * dout


def slope_in_a_buffer_of_the_cache(dout, cache):
    cache[0][...] = 2 * cache[0] * dout if len(cache) == 1 else cache[0]
    cache.append(dout)
    return cache[0]


def slope_with_a_larger_cotangent(dout, cache):
    dout *= 2
    return cache[0] * dout


@pytest.mark.parametrize(
    ("f_vjp", "shared"),
    [
        (slope, True),
        (slope_in_the_cache, False),
        (slope_in_a_buffer_of_the_cache, False),
        (slope_with_a_larger_cotangent, False),
    ],
)
def test_a_forward_serves_several_backward_calls_only_without_side_effects(f_vjp, shared):
    problem = make_problem(squares, f_vjp, {"x": np.array([0.4, -1.3])})
    assert prepare(problem).problem.shared is shared
    assert check(squares, f_vjp, {"x": np.array([0.4, -1.3])}).ok


def test_the_last_forward_of_a_pair_is_not_shared_if_its_gradient_reads_it():
    last = []

    def remembers(x):
        last[:] = [x]
        return x**2, None

    problem = make_problem(remembers, lambda dout, _: 2 * last[0] * dout, {"x": np.ones(2)})
    assert not prepare(problem).problem.shared
