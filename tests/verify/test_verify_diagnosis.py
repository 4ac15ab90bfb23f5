"""Mistakes planted into right gradients are caught and named."""

import functools

import numpy as np
import pytest

from ibpcl.verify import KINDS, check
from ibpcl.verify.reports.kinds import HINTS
from ibpcl.verify.reports.words import constant_name

RNG = np.random.default_rng(11)


def layer(x, w, b, g):
    h = x @ w + b
    y = np.tanh(h) * g
    return y, (x, w, h, g)


def layer_vjp(dy, cache):
    x, w, h, g = cache
    t = np.tanh(h)
    dh = dy * g * (1 - t * t)
    return dh @ w.T, x.T @ dh, dh.sum(axis=0), (dy * t).sum(axis=0)


POINT = (
    RNG.standard_normal((5, 3)),
    RNG.standard_normal((3, 3)),
    RNG.standard_normal(3),
    RNG.uniform(0.5, 2, 3),
)
NAMES = ("x", "w", "b", "g")


class planted:
    """The right gradient function with some results changed: an object without readable source."""

    def __init__(self, **wrong):
        self.wrong = wrong

    def __call__(self, dy, cache):
        right = zip(NAMES, layer_vjp(dy, cache), strict=True)
        return tuple(self.wrong[name](g) if name in self.wrong else g for name, g in right)


def shifted(array):
    return np.roll(array, 1, axis=0)


def at(place, change):
    def plant(array):
        array = array.copy()
        array[place] = change(array[place])
        return array

    return plant


@pytest.mark.parametrize(
    ("name", "plant", "kind", "details"),
    [
        ("x", np.negative, "sign", ["minus"]),
        ("w", lambda g: g / 6, "constant_factor", ["0.1667", "1/6"]),
        ("w", lambda g: g * 2 * np.pi, "constant_factor", ["2 * pi"]),
        ("x", lambda g: g / 5, "constant_factor", ["1/5", "axis 0"]),
        ("b", lambda g: g / 5, "mean", ["1/5", "axis 0"]),
        ("w", np.transpose, "transposed", ["transposed"]),
        ("x", np.transpose, "transposed", ["(3, 5)", "(5, 3)"]),
        ("x", lambda g: g.sum(axis=0), "summed", ["summed", "axis 0"]),
        (
            "w",
            lambda g: np.broadcast_to(g.mean(axis=1, keepdims=True), g.shape),
            "summed",
            ["averaged", "axis 1"],
        ),
        ("w", at((1, 2), lambda v: v + 1), "few_entries", ["1 of 9 entries", "(1, 2)"]),
        ("x", at(4, lambda v: 0 * v), "few_entries", ["3 of 15 entries", "index 4 of axis 0"]),
        ("x", shifted, "shifted", ["by one", "axis 0"]),
        ("w", lambda g: g[::-1], "shifted", ["reversed", "axis 0"]),
        ("w", lambda g: g.ravel(), "wrong_shape", ["right numbers", "(9,)", "(3, 3)"]),
        ("g", lambda g: g[:2], "wrong_shape", ["(2,)", "(3,)"]),
        ("g", lambda g: np.append(g, 1.0), "wrong_shape", ["(4,)", "(3,)"]),
        ("b", at(1, lambda v: np.nan), "non_finite", ["1 of 3 entries", "(1,)"]),
        ("x", lambda g: 0 * g, "missing_term", ["zero everywhere"]),
        ("x", lambda g: np.sort(g, axis=0), "wrong", ["no simple mistake"]),
        ("x", lambda g: np.tanh(g) + g[::-1] ** 2, "wrong", ["not linear in dout"]),
    ],
)
def test_planted_errors_are_named(name, plant, kind, details):
    report = check(layer, planted(**{name: plant}), POINT)
    assert not report.ok
    assert report[name].kind == kind
    assert [detail for detail in details if detail not in report[name].words] == []
    assert [item.name for item in report.inputs if not item.ok] == [name]
    assert report[name].hint == HINTS[kind]


def test_right_numbers_in_another_order_are_named_in_their_place():
    weights = np.array([0.5, 2.0, -1.0, 3.0, 0.7])

    def weighted_order(x):
        return x[np.argsort(np.real(x))] * weights, None

    def in_sorted_order(dout, cache):
        return dout * weights

    x = np.array([0.3, -1.2, 2.0, 0.9, -0.4])
    verdict = check(weighted_order, in_sorted_order, (x,))["x"]
    assert verdict.kind == "shifted" and "permuted" in verdict.words and verdict.where


def test_swapped_gradients_are_both_named():
    report = check(layer, lambda d, c: [layer_vjp(d, c)[i] for i in (0, 1, 3, 2)], POINT)
    assert [item.kind for item in report.inputs] == ["ok", "ok", "swapped", "swapped"]
    assert report["b"].words.endswith("gradient of g")


def without_the_sum(dy, cache):
    x, w, h, g = cache
    dh = dy * g * (1 - np.tanh(h) ** 2)
    return dh @ w.T, x.T @ dh, dh, (dy * np.tanh(h)).sum(axis=0)


def test_missing_sum_over_broadcast_axis_is_named():
    report = check(layer, without_the_sum, POINT)
    assert report["b"].kind == "not_summed"
    assert "axis 0" in report["b"].words


def density(x, a):
    return a * np.log(x) - x * a**2, (x, a)


def density_right(d, cache):
    x, a = cache
    return d * (a / x - a**2), (d * (np.log(x) - 2 * x * a)).sum(axis=0)


def density_sign(d, cache):
    x, a = cache
    return d * (a / x + a**2), (d * (np.log(x) - 2 * x * a)).sum(axis=0)


def density_factor(d, cache):
    x, a = cache
    return d * (1 / x - a**2), (d * (np.log(x) - 2 * x * a)).sum(axis=0)


def density_term(d, cache):
    x, a = cache
    return d * (a / x), (d * (np.log(x) - 2 * x * a)).sum(axis=0)


def density_constant(d, cache):
    x, a = cache
    return d * (a / x - a**2), (d * (np.log(x) - 3 * x * a)).sum(axis=0)


def density_cached(d, cache):
    x, a = cache
    return d * (a / x - a * x), (d * (np.log(x) - 2 * x * a)).sum(axis=0)


def density_cotangent(d, cache):
    x, a = cache
    return d * (a / x - a**2), (np.log(x) - 2 * x * a).sum(axis=0)


@pytest.mark.parametrize(
    ("vjp", "name", "kinds", "words"),
    [
        (density_sign, "x", {"sign"}, "`a / x + a ** 2` should be `a / x - a ** 2`"),
        (density_factor, "x", {"elementwise_factor"}, "`a`"),
        (density_term, "x", {"missing_term"}, "a"),
        (density_constant, "a", {"constant_factor"}, "`3` should be `2`"),
        (density_cached, "x", {"elementwise_factor"}, "`x` should be `a`"),
        (density_cotangent, "a", {"elementwise_factor"}, "`d`"),
    ],
)
def test_mistake_inside_one_term_is_named_with_its_line(vjp, name, kinds, words):
    inputs = (RNG.uniform(0.5, 2, (4, 3)), RNG.uniform(0.5, 2, 3))
    assert check(density, density_right, inputs).ok
    report = check(density, vjp, inputs)
    assert [item.name for item in report.inputs if not item.ok] == [name]
    assert report[name].kind in kinds
    assert words in report[name].words
    assert not report[name].where or "return" in report[name].where.text


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p, p


def softmax_wrong_axis(d, p):
    return p * (d - (p * d).sum(axis=0, keepdims=True))


def softmax_one_term(d, p):
    return p * d


@pytest.mark.parametrize(
    ("vjp", "kind", "words"),
    [
        (softmax_wrong_axis, "summed", "axis 1"),
        (softmax_one_term, "missing_term", "`- sum(p * d, axis=1)`"),
        (lambda d, p: p * (1 - p) * d, "missing_term", "`p * (d - sum(p * d, axis=1))`"),
    ],
)
def test_softmax_mistakes_are_named(vjp, kind, words):
    report = check(softmax, vjp, (RNG.standard_normal((3, 3)),))
    assert report["x"].kind == kind
    assert words in report["x"].words


def test_missing_factor_is_found_among_known_arrays():
    def f(x, s):
        return np.exp(s * x), (x, s)

    report = check(
        f,
        lambda d, c: (d * np.exp(c[0] * c[1]), (d * c[0] * np.exp(c[0] * c[1])).sum()),
        (RNG.standard_normal(5), 1.3),
    )
    assert report["x"].kind == "elementwise_factor"
    assert "missing: `c[1]`" in report["x"].words
    report = check(lambda x: (np.tanh(x), x), lambda d, x: d, (RNG.standard_normal(5),))
    assert "1 - tanh(x)**2" in report["x"].words or "1 - out**2" in report["x"].words


def test_candidates_of_the_user_are_tried():
    secret = RNG.uniform(1, 2, 5)
    report = check(
        lambda x: (secret * x, 0.0),
        lambda d, c: d,
        (RNG.standard_normal(5),),
        candidates={"secret": secret},
    )
    assert "secret" in report["x"].words


def test_ignored_or_negated_outputs_are_named():
    def f(x):
        return (np.sin(x), x**2), x

    x = RNG.standard_normal(4)
    ignored = check(f, lambda d, x: d[0] * np.cos(x), (x,))["x"]
    assert (ignored.kind, "`x` in `x ** 2`" in ignored.words) == ("missing_term", True)
    turned = check(f, lambda d, x: -d[0] * np.cos(x) + 2 * d[1] * x, (x,))["x"]
    assert (turned.kind, "`-d[0]`" in turned.words) == ("sign", True)


def test_scalar_input_with_wrong_factor_is_no_constant_factor():
    def f(x, tau):
        return np.exp(-x / tau), (x, tau)

    def vjp(d, cache):
        x, tau = cache
        y = np.exp(-x / tau)
        return -d * y / tau, (d * y * x / tau).sum()  # one more 1 / tau is due

    report = check(f, vjp, (RNG.uniform(0.5, 1, 4), 0.6))
    assert report["tau"].kind == "elementwise_factor"
    assert "tau" in report["tau"].words


def test_constant_arrays_as_gradients_are_caught():
    report = check(
        layer, lambda d, c: tuple(np.ones(g.shape) * 0.37 for g in layer_vjp(d, c)), POINT
    )
    assert [item.ok for item in report.inputs] == [False] * 4
    assert all(item.kind in KINDS for item in report.inputs)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1 / 6, " (= 1/6)"),
        (np.pi, " (= pi)"),
        (-0.5, " (= -1/2)"),
        (np.sqrt(2 * np.pi), " (= sqrt(2 pi))"),
        (0.1234567, ""),
        (2 * np.log(2), " (= 2 * log 2)"),
        (3.0, ""),
    ],
)
def test_constant_name_recognizes_common_constants(value, name):
    assert constant_name(value) == name


def test_hints_cover_every_kind():
    assert set(HINTS) == set(KINDS) - {"ok"}


def logistic(x, w, s):
    return s / (1 + np.exp(-(x @ w))), (x, w, s)


def logistic_right(d, cache):
    x, w, s = cache
    p = 1 / (1 + np.exp(-(x @ w)))
    dh = d * s * p * (1 - p)
    return dh @ w.T, x.T @ dh, (d * p).sum(axis=0)


def other_axis(d, cache):
    dx, dw, _ = logistic_right(d, cache)
    return dx, dw, (d / (1 + np.exp(-(cache[0] @ cache[1])))).sum(axis=1)


def other_order(d, cache):
    dx, dw, ds = logistic_right(d, cache)
    return dw, dx, ds


LOGISTIC = (RNG.standard_normal((5, 4)), RNG.standard_normal((4, 3)), RNG.uniform(0.5, 2, 3))


@pytest.mark.parametrize(
    ("vjp", "name", "kind", "words"),
    [
        (other_axis, "s", "summed", "axis 0"),
        (other_order, "x", "swapped", "input, w"),
        (other_order, "w", "swapped", "input, x"),
    ],
)
def test_gradient_of_another_shape_is_explained(vjp, name, kind, words):
    assert check(logistic, logistic_right, LOGISTIC).ok
    verdict = check(logistic, vjp, LOGISTIC)[name]
    assert verdict.kind == kind
    assert words in verdict.words


def test_names_that_contradict_the_order_are_undecided_until_the_order_is_declared():
    def backward(dout, x, w, s):  # not the standard form, whose order is known
        dx, dw, ds = logistic_right(dout, logistic(x, w, s)[1])
        return dw, dx, ds

    report = check(logistic, backward, LOGISTIC)
    assert report.undecided and "order x, w, s" in report.inputs[0].words
    assert check(logistic, other_order, LOGISTIC, wrt=("w", "x", "s")).ok


def test_number_instead_of_array_is_explained():
    verdict = check(
        lambda x, s: (s * np.exp(x), (x, s)),
        lambda d, c: (d * c[1] * np.exp(c[0]), d[0, 0] * 0 + c[1]),
        (RNG.standard_normal((3, 2)), 1.5),
        wrt=("x", "s"),
    )["s"]
    assert verdict.kind == "elementwise_factor"
    report = check(
        lambda x, s: (s * np.exp(x), (x, s)),
        lambda d, c: (d.sum() * c[1], (d * np.exp(c[0])).sum()),
        (RNG.standard_normal((3, 2)), 1.5),
    )
    assert report["x"].kind == "wrong_shape"
    assert "()" in report["x"].words
    assert "(3, 2)" in report["x"].words


def test_forgotten_cotangent_is_named_with_lost_factor():
    x = RNG.uniform(0.5, 2, (4, 3))
    s = RNG.uniform(0.5, 2, 3)
    verdict = check(
        lambda x, s: (np.sin(x) * s, (x, s)), lambda d, c: np.cos(c[0]), (x, s), wrt=("x",)
    )["x"]
    assert verdict.kind == "elementwise_factor"
    assert "d * c[1]" in verdict.words


def test_forgotten_term_is_named_by_its_forward_place():
    x, a, b = (RNG.uniform(0.5, 2, 6) for _ in range(3))

    def f(x, a, b):
        return a * np.sin(x) + b * x**3, (x, a, b)

    verdict = check(f, lambda d, c: d * c[1] * np.cos(c[0]), (x, a, b), wrt=("x",))["x"]
    assert verdict.kind == "missing_term"
    assert "`x` in `x ** 3`" in verdict.words


def test_forgotten_use_in_matrix_product_is_named():
    x = RNG.standard_normal((5, 4))
    w = RNG.standard_normal((4, 3))
    v = RNG.standard_normal((4, 3))

    def f(x, w, v):
        return x @ w + np.sin(x) @ v, (x, w, v)

    verdict = check(f, lambda d, c: (d * 1.0) @ c[1].T, (x, w, v), wrt=("x",))["x"]
    assert verdict.kind == "missing_term"
    assert "`x` in `np.sin(x)`" in verdict.words


def test_wrong_number_beside_right_matrices_is_caught():
    def f(x, w, tau):
        return (x @ w) / tau, (x, w, tau)

    def vjp(d, cache):
        x, w, tau = cache
        return d @ w.T / tau, x.T @ d / tau, (d * (x @ w) ** 2).sum() / tau

    report = check(f, vjp, (RNG.standard_normal((5, 4)), RNG.standard_normal((4, 3)), 1.7))
    assert [item.ok for item in report.inputs] == [True, True, False]


def test_number_lost_in_one_term_is_named():
    x = RNG.uniform(0.5, 2, (4, 3))
    a = RNG.uniform(0.5, 2, 3)
    verdict = check(
        lambda x, a: (np.log(x) + 0.7 / x + a * x, (x, a)),
        lambda d, c: d * (1 / c[0] - 1 / c[0] ** 2 + c[1]),
        (x, a),
        wrt=("x",),
    )["x"]
    assert verdict.kind == "constant_factor"
    assert "1.42857 (= 10/7)" in verdict.words


def summed_bias(shape, axis, factor=1.0):
    """Return the verdict on a bias whose gradient is a factor times the sum over an axis."""
    inputs = RNG.standard_normal((3, 4)), RNG.standard_normal(shape)
    return check(
        lambda x, b: (x + b, None),
        lambda dout, _: (dout, factor * dout.sum(axis=axis)),
        inputs,
    )["b"]


def test_a_column_summed_without_keepdims_has_the_wrong_shape():
    # (3,) minus a column (3, 1) is a matrix
    verdict = summed_bias((3, 1), 1)
    assert verdict.kind == "wrong_shape"
    assert "right numbers" in verdict.words


def test_a_row_summed_without_keepdims_is_undecided_if_its_numbers_are_right():
    # (4,) minus a row (1, 4) is a row
    verdict = summed_bias((1, 4), 0)
    assert verdict.kind == "undecided"
    assert "(4,)" in verdict.words and "(1, 4)" in verdict.words
    assert summed_bias((1, 4), 0, factor=2.0).kind == "wrong_shape"


def test_unmeasured_wrong_entries_are_no_constant_factor():
    x = np.random.default_rng(3).normal(size=2000)

    def vjp(dout, x):
        dx = dout * np.cos(x)
        dx[7] = 0.3 * float(dout[7])
        return dx

    verdict = check(lambda x: (np.sin(x), x), vjp, (x,))["x"]
    assert verdict.kind != "constant_factor"


def test_error_within_slack_is_no_constant_factor():
    x = np.array([-3.0, 0, 1, 25])

    class Spoiled:  # an object, so there is no source to read
        def __call__(self, d, x):
            return d * np.exp(x) * [1, 1, 1.1, 1]

    verdict = check(lambda x: (np.exp(x), x), Spoiled(), (x,))["x"]
    assert verdict.kind not in ("ok", "constant_factor")


def test_partly_wrong_gradient_counts_wrong_entries():
    x = np.array([0.0, 0.7, 1.2, -0.5])
    verdict = check(
        lambda x: (np.tanh(x) * x[::-1], x), lambda d, x: d * np.sin(3 * x) * [1, 1, 1, 0], (x,)
    )["x"]
    assert "wrong at 3 of 4 entries" in verdict.words


def test_size_factor_with_wrong_sign_is_named_with_both():
    verdict = check(
        lambda x: (x.sum(axis=0), x),
        lambda d, x: -3 * np.broadcast_to(d, x.shape),
        (RNG.standard_normal((3, 4)),),
    )["x"]
    assert "-3" in verdict.words
    assert "the size of axis 0" in verdict.words
    assert "sign" in verdict.words


class Scaled:
    """A layer as a class, whose gradient is a method."""

    def forward(self, x, w):
        h = np.tanh(x @ w)
        return h, (x, w, h)

    def backward(self, dout, cache):
        x, w, h = cache
        da = dout * (1 - h)
        return da @ w.T, x.T @ da


LAYER = Scaled()


def test_methods_are_followed_and_restored():
    backward = Scaled.backward
    report = check(
        lambda x, w: LAYER.forward(x, w),
        lambda dout, cache: LAYER.backward(dout, cache),
        (RNG.standard_normal((3, 2)), RNG.standard_normal((2, 4))),
    )
    assert "`h` should be `h ** 2`" in report["x"].words
    assert "da = dout * (1 - h)" in report["x"].where.text
    assert Scaled.backward is backward


def test_regularizer_missing_in_forward_is_an_extra_term():
    def backward(dout, cache):
        x, w = cache
        dw = x.T @ dout
        dw += 2 * 0.01 * w
        return dout @ w.T, dw

    report = check(lambda x, w: (x @ w, (x, w)), backward, POINT[:2])
    assert "too many" in report["w"].words
    assert "0.01 * w" in report["w"].words
    assert "dw += 2 * 0.01 * w" in report["w"].where.text


def test_a_scale_that_multiplies_after_the_sums_is_named():
    def norm(x, gamma):
        centered = x - x.mean(axis=1, keepdims=True)
        scale = 1 / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-5)
        h = centered * scale
        return gamma * h, (h, scale, gamma)

    def late(dout, cache):
        h, scale, gamma = cache
        mean = dout.mean(axis=1, keepdims=True)
        dx = gamma * scale * (dout - mean - h * (dout * h).mean(axis=1, keepdims=True))
        return dx, (dout * h).sum(axis=0)

    rng = np.random.default_rng(1)
    report = check(norm, late, (rng.normal(size=(3, 4)), rng.normal(size=4)))
    assert report["x"].kind == "elementwise_factor" and "gamma comes too late" in report["x"].words
    assert report["gamma"].ok


def test_outputs_of_different_shapes_have_a_diagnosis():
    def two(x, w):
        return x @ w, x.sum(axis=1), (x, w)

    def backward(dy, ds, cache):
        x, w = cache
        return np.tanh(dy @ w.T) + np.sqrt(np.abs(ds))[:, None], x.T @ dy

    report = check(two, backward, POINT[:2])
    assert report["x"].kind == "wrong" and "in the checker" not in report["x"].words


def test_two_outputs_may_have_two_gradients_as_arguments():
    def two(x, w):
        return x @ w, x.sum(axis=1), (x, w)

    def backward(dy, ds, cache):
        x, w = cache
        return dy @ w.T + ds[:, None], x.T @ dy

    assert check(two, backward, POINT[:2]).ok


def test_a_product_without_the_incoming_gradient_lacks_a_factor():
    def scaled(x):
        y = np.exp(3 * x)
        return y, y

    def backward(dout, cache):
        return 3 * cache

    report = check(scaled, backward, POINT[:1])
    assert report["x"].kind == "elementwise_factor"
    assert "`dout`" in report["x"].words


def windows(x, n):
    return np.lib.stride_tricks.sliding_window_view(x, (n, n))


def correlation(x, w):
    return np.einsum("abij,ij->ab", windows(x, 3), w), (x, w)


def correlation_without_a_flip(dy, cache):
    x, w = cache
    dw = np.einsum("abij,ab->ij", windows(x, 3), dy)
    padded = np.pad(dy, 2)
    dx = np.einsum("abij,ij->ab", windows(padded, 3), w)
    return dx, dw


def convolution(x, w):
    return np.einsum("abij,ij->ab", windows(x, 3), w[::-1, ::-1]), (x, w)


def convolution_with_a_flip(dy, cache):
    x, w = cache
    dw = np.einsum("abij,ab->ij", windows(x, 3), dy)[::-1, ::-1]
    padded = np.pad(dy, 2)
    dx = np.einsum("abij,ij->ab", windows(padded, 3), np.rot90(w, 2))
    return dx, dw


def filtered(x, w):
    return np.convolve(x, w, "valid"), (x, w)


def filtered_without_a_flip(dy, cache):
    x, w = cache
    return np.convolve(dy, w), np.convolve(x[::-1], dy, "valid")


@pytest.mark.parametrize(
    ("f", "g", "words"),
    [
        (correlation, correlation_without_a_flip, "`w` should be `w[::-1, ::-1]`"),
        (convolution, convolution_with_a_flip, "`np.rot90(w, 2)` should be `w`"),
    ],
)
def test_a_kernel_that_is_flipped_wrongly_is_named(f, g, words):
    report = check(f, g, (RNG.standard_normal((6, 5)), RNG.standard_normal((3, 3))))
    assert report["w"].ok
    assert report["x"].kind == "shifted" and words in report["x"].words


def test_a_window_along_one_axis_is_flipped_along_it():
    report = check(
        filtered, filtered_without_a_flip, (RNG.standard_normal(9), RNG.standard_normal(3))
    )
    assert report["w"].ok
    assert report["x"].kind == "shifted" and "`w` should be `w[::-1]`" in report["x"].words


def test_a_gradient_without_source_has_no_line():
    def gradient(factor, dout, x):
        return factor * x

    report = check(lambda x: x**2, functools.partial(gradient, 2.0), (np.array([1.0, 2.0, 0.5]),))
    (verdict,) = report.inputs
    assert verdict.kind == "elementwise_factor" and not verdict.where


def test_one_slip_in_all_its_places_is_named_once():
    def layer_norm(x):
        s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        h = (x - x.mean(-1, keepdims=True)) / s
        return h, (h, s)

    def with_the_axes_of_batch_norm(dout, cache):
        h, s = cache
        return (dout - dout.mean(0) - h * (dout * h).mean(0)) / s

    [verdict] = check(layer_norm, with_the_axes_of_batch_norm, (RNG.normal(size=(4, 6)),)).inputs
    assert verdict.kind == "summed" and "`dout.mean(1, keepdims=True)`" in verdict.words

    def gated(x, y):
        a = np.tanh(x)
        return a * y + a**2, (a, y)

    def with_the_same_term_twice(dout, cache):
        a, y = cache
        dx = dout * y * (1 - a**2 - a) + dout * 2 * a * (1 - a**2 - a)
        return dx, dout * a

    point = RNG.normal(size=(2, 3, 4))
    report = check(gated, with_the_same_term_twice, tuple(point))
    assert [item.ok for item in report.inputs] == [False, True]
    assert "`1 - a ** 2`" in report["x"].words


def test_numbers_are_quoted_as_they_are_written():
    def norm(x):
        s = np.sqrt((x**2).mean(0) + 1e-5)
        return x / s, s

    def without_the_scale(dout, cache):
        return dout / cache

    x = RNG.normal(size=(5, 3))
    words = check(norm, without_the_scale, (x,))["x"].words
    assert "1e-5" in words and "1e-05" not in words

    def shifted(x, y):
        return (x + 25e-2) * y, (x, y)

    def with_a_sign(dout, cache):
        x, y = cache
        return dout * y, dout * (x - 25e-2)

    words = check(shifted, with_a_sign, (x, x + 1))["y"].words
    assert "`x - 25e-2`" in words and "`x + 25e-2`" in words


LABELS = np.eye(3)[[0, 2, 1, 1]]
PROBABILITIES = np.random.default_rng(5).dirichlet(np.ones(3), 4)


def cross_entropy(p):
    return -np.sum(LABELS * np.log(p)), p


def binary_cross_entropy(p):
    return -np.sum(LABELS * np.log(p) + (1 - LABELS) * np.log(1 - p)), p


@pytest.mark.parametrize("scale", [1.0, 0.25])
@pytest.mark.parametrize(
    ("loss", "activation"), [(cross_entropy, "softmax"), (binary_cross_entropy, "sigmoid")]
)
def test_a_gradient_for_the_logits_of_probabilities_is_named(loss, activation, scale):
    verdict = check(loss, lambda dout, p: scale * dout * (p - LABELS), (PROBABILITIES,))["p"]
    assert verdict.kind == "missing_term"
    assert activation in verdict.words and "logits" in verdict.words
    assert ("0.25" in verdict.words) == (scale != 1)


@pytest.mark.parametrize("loss", [cross_entropy, binary_cross_entropy])
def test_no_other_gradient_of_a_cross_entropy_is_taken_for_that_of_the_logits(loss):
    others = [
        lambda dout, p: dout * (p - LABELS) * p,
        lambda dout, p: dout * (p - 2 * LABELS),
        lambda dout, p: dout * (p**2 - LABELS),
    ]
    for other in others:
        verdict = check(loss, other, (PROBABILITIES,))["p"]
        assert verdict.verdict == "wrong" and "logits" not in verdict.words
