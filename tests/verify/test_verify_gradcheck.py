"""The checker accepts right gradients in every form, and rejects wrong ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick import quick
from scipy.special import expit

from ibpcl.verify import assert_correct, check

RNG = np.random.default_rng(7)


def affine(x, w, b):
    return x @ w + b, (x, w)


def affine_vjp(dout, cache):
    x, w = cache
    return dout @ w.T, x.T @ dout, dout.sum(axis=0)


POINT = (RNG.standard_normal((5, 3)), RNG.standard_normal((3, 4)), RNG.standard_normal(4))


def test_a_right_gradient_passes_with_two_witnesses_at_1e_9():
    report = check(affine, affine_vjp, POINT)
    assert report.ok
    assert report.score == 1
    assert [item.name for item in report.inputs] == ["x", "w", "b"]
    assert all(item.witness == "complex step" for item in report.inputs)
    assert max(item.numbers["agreement"] for item in report.inputs) < 1e-7
    assert report.error < 1e-14


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-8])
def test_small_errors_are_caught_far_below_the_reach_of_differences(size):
    report = check(
        affine,
        lambda d, c: tuple(g * s for g, s in zip(affine_vjp(d, c), (1, 1 + size, 1), strict=True)),
        POINT,
    )
    assert [item.ok for item in report.inputs] == [True, False, True]
    assert check(
        affine, lambda d, c: tuple(g * (1 + size) for g in affine_vjp(d, c)), POINT, rtol=2 * size
    ).ok


ELEMENTWISE = [
    (np.sin, np.cos),
    (np.exp, np.exp),
    (lambda x: x**2, lambda x: 2 * x),
    (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    (lambda x: x * np.sin(x), lambda x: np.sin(x) + x * np.cos(x)),
    (lambda x: 1 / (1 + np.exp(-x)), lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
]


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(ELEMENTWISE),
    st.lists(st.integers(0, 4), max_size=3),
    st.integers(0, 9),
    st.data(),
)
def test_random_functions_shapes_and_broadcasts(pair, shape, seed, data):
    f, derivative = pair
    rng = np.random.default_rng(seed)
    kept = [data.draw(st.booleans()) for _ in shape]
    small = tuple(n if keep else 1 for n, keep in zip(shape, kept, strict=True))
    axes = tuple(axis for axis, keep in enumerate(kept) if not keep)

    def forward(x, scale):
        return f(x) * scale, (x, scale)

    def backward(dout, cache):
        x, scale = cache
        return dout * scale * derivative(x), np.sum(dout * f(x), axis=axes, keepdims=True)

    inputs = (rng.uniform(-1, 1, shape), rng.uniform(0.5, 2, small))
    assert_correct(forward, backward, inputs, seed=seed)
    if inputs[0].size:
        report = check(
            forward, lambda d, c: (backward(d, c)[0], -backward(d, c)[1]), inputs, seed=seed
        )
        assert (report["x"].kind, report["scale"].kind) == ("ok", "sign")


def test_inputs_by_name_are_put_into_the_order_of_the_parameters():
    x, w, b = POINT
    report = check(affine, affine_vjp, {"b": b, "w": w, "x": x})
    assert report.ok
    assert [item.name for item in report.inputs] == ["x", "w", "b"]


def test_scalars_integers_and_constants_are_told_apart():
    def forward(x, tau, labels):
        return (x[labels] / tau).sum(), (x, tau, labels)

    def backward(dout, cache):
        x, tau, labels = cache
        dx = np.zeros_like(x)
        np.add.at(dx, labels, dout / tau)
        return dx, -dout * x[labels].sum() / tau**2

    inputs = (RNG.standard_normal(4), 0.7, np.array([0, 2, 2]))
    assert check(forward, backward, inputs).ok
    assert check(forward, lambda d, c: backward(d, c)[0], inputs, wrt="x").ok
    assert check(forward, lambda d, c: backward(d, c)[1], inputs, wrt=[1]).ok


def test_several_outputs_and_an_integer_one():
    report = check(
        lambda x: ((np.sin(x), x.sum(), np.arange(3)), x),
        lambda d, x: d[0] * np.cos(x) + d[1],
        (RNG.standard_normal(4),),
    )
    assert report.ok


def test_float32_is_converted_with_a_note():
    x = RNG.standard_normal(4).astype(np.float32)
    report = check(lambda x: (np.tanh(x), x), lambda d, x: d * (1 - np.tanh(x) ** 2), (x,))
    assert report.ok
    assert "float64" in report.text()


def test_a_miscount_of_gradients_asks_for_wrt():
    report = check(affine, lambda d, c: affine_vjp(d, c)[:2], POINT)
    assert report.undecided and "b" in report.unjudged[0] and "wrt" in report.unjudged[0]
    assert check(affine, lambda d, c: (*affine_vjp(d, c)[:2], None), POINT).undecided
    with pytest.raises(ValueError, match="wrt names 1 inputs"):
        check(affine, affine_vjp, POINT, wrt=["x"])


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"mode.*fast"):
        check(affine, affine_vjp, POINT, mode="fast")
    with pytest.raises(ValueError, match=r"wrt.*'y'.*x, w, b"):
        check(affine, affine_vjp, POINT, wrt=("y",))
    with pytest.raises(ValueError, match=r"names.*3.*1"):
        check(affine, affine_vjp, POINT, names=["x"])
    with pytest.raises(TypeError, match=r"inputs.*str"):
        check(affine, affine_vjp, "x")
    with pytest.raises(TypeError, match=r"missing .* 'w' and 'b'.*ibpcl\.check\("):
        check(affine, affine_vjp, POINT[0])
    with pytest.raises(TypeError, match="no gradient of n"):
        check(lambda n: (n * 1.0, n), lambda d, c: d, (3,))


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        # TypeError for complex
        (lambda x: (expit(x), expit(x)), lambda d, s: d * s * (1 - s)),
        # loses the imaginary part
        (lambda x: (np.abs(x) * x, x), lambda d, x: 2 * d * np.abs(x)),
        # casts it away
        (lambda x: (np.sin(np.asarray(x, dtype=float)), x), lambda d, x: d * np.cos(x)),
    ],
)
def test_a_forward_that_is_not_complex_safe_is_named_and_not_blamed_on_the_gradient(
    forward, backward
):
    x = np.array([0.3, -1.2, 2.0])
    report = check(forward, backward, (x,))
    assert report.ok
    assert report["x"].witness == "Richardson differences"
    assert "not complex-safe" in report.text()
    wrong = check(forward, lambda d, c: 1.00001 * backward(d, c), (x,))
    assert wrong["x"].kind == "constant_factor"


AT_ZERO = np.array([0.0, 1.0, -1.0, 0.0, 2.0])


def relu(x):
    return np.maximum(x, 0), x


def relu_vjp(at_zero):
    return lambda d, x: d * np.where(x == 0, at_zero, x > 0)


@pytest.mark.parametrize("at_zero", [0.0, 0.5, 1.0])
def test_at_a_kink_every_value_between_the_derivatives_on_both_sides_is_right(at_zero):
    report = check(relu, relu_vjp(at_zero), (AT_ZERO,))
    assert report.ok
    assert report.score == 1
    assert (report["x"].numbers["kinks"], report["x"].numbers["skipped"]) == (2, 0)


@pytest.mark.parametrize("at_zero", [5.0, -1.0, 1.1])
def test_at_a_kink_other_values_are_wrong(at_zero):
    report = check(relu, relu_vjp(at_zero), (AT_ZERO,))
    assert report["x"].kind == "kink"
    assert "at a kink" in report.text()
    assert report["x"].numbers["wrong"] == 2


def test_kinks_that_the_inputs_do_not_meet_are_made():
    x = RNG.standard_normal((3, 4))
    assert check(relu, relu_vjp(5.0), (x,))["x"].kind == "kink"
    assert check(relu, relu_vjp(1.0), (x,)).ok

    def dense(x, b):
        return np.maximum(x @ POINT[1] + b, 0), (x, b)

    def dense_vjp(dout, cache, at_zero):
        x, b = cache
        z = x @ POINT[1] + b
        d = dout * np.where(z == 0, at_zero, z > 0)
        return d @ POINT[1].T, d.sum(axis=0)

    assert check(dense, lambda d, c: dense_vjp(d, c, 0.0), (POINT[0], POINT[2])).ok
    assert check(dense, lambda d, c: dense_vjp(d, c, 5.0), (POINT[0], POINT[2]))["b"].kind == "kink"


def test_ties_may_go_to_one_or_be_shared_but_not_more():
    tie = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0]])
    for share in (1.0, 0.5):
        report = check(
            lambda x: (x.max(axis=1), x),
            lambda d, x, share=share: (
                d[:, None]
                * np.where(
                    np.sum(x == x.max(axis=1, keepdims=True), axis=1, keepdims=True) > 1, share, 1.0
                )
                * (x == x.max(axis=1, keepdims=True))
            ),
            (tie,),
        )
        assert report.ok

    def squared(dout, x):
        return dout * np.sum(x == x.max()) ** 2.0 * (x == x.max())

    report = check(lambda x: (x.max(), x), squared, (tie[0],))
    assert report["x"].kind == "kink"


def test_wrong_elsewhere_is_wrong_at_kinks_or_not():
    x = AT_ZERO
    wrong = check(lambda x: (np.maximum(x, 0), x), lambda d, x: d, (x,))
    assert not wrong.ok
    tie = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0]])
    report = check(
        lambda x: (x.max(axis=1), x),
        lambda d, x: d[:, None] * (x == x.max(axis=1, keepdims=True)),
        (tie,),
    )
    assert report.ok
    assert report["x"].numbers["kinks"] == 2


def test_a_forward_that_is_coarse_inside_is_judged_no_finer_than_it_is():
    def f(x):
        return np.sin(np.real(x)).astype(np.float32).astype(float), np.real(x)

    x = np.linspace(0.1, 2, 9)
    assert check(f, lambda d, x: d * np.cos(x), (x,))["x"].numbers["rtol"] > 1e-6
    report = check(f, lambda d, x: d * np.cos(x) * x, (x,))
    assert report["x"].kind == "elementwise_factor"


def test_kinks_everywhere_hide_no_mistake_elsewhere():
    assert check(lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x > 0), (np.zeros(3),)).ok
    report = check(lambda x: (np.maximum(x, 0), x), lambda d, x: d, (np.zeros(3),))
    assert report.verdict == "wrong"
    assert "your inputs hide it" in report["x"].words


def test_jumps_everywhere_are_no_pass():
    report = check(lambda x: (np.where(x.real >= 1, x + 1, x), x), lambda d, x: d, (np.ones(3),))
    assert report.undecided or report.score < 1


def test_ill_conditioned_forwards_are_given_room_but_only_as_much_as_they_need():
    def forward(x):
        return np.sin(1e6 * x), x

    x = np.array([0.3, 0.7])
    assert check(forward, lambda d, x: 1e6 * d * np.cos(1e6 * x), (x,)).ok
    assert check(forward, lambda d, x: 1e6 * d * np.cos(1e6 * x * (1 + 1e-16)), (x,)).ok
    assert not check(forward, lambda d, x: 1.0001e6 * d * np.cos(1e6 * x), (x,)).ok


def test_a_derivative_that_vanishes_up_to_rounding_is_zero():
    def forward(shift):
        e = np.exp(np.array([0.3, -0.2, 1.1]) + shift)
        return e / e.sum(), e / e.sum()

    assert check(forward, lambda d, p: np.sum(d * p) - np.sum(d * p) * np.sum(p), (0.4,)).ok
    assert not check(forward, lambda d, p: np.sum(d * p), (0.4,)).ok


def test_a_large_offset_does_not_hide_an_error():
    report = check(
        lambda x: (1e6 + 1e-3 * x, x), lambda d, x: 1.00001e-3 * d, (np.array([0.5, 0.7]),)
    )
    assert not report.ok


def big(x, w):
    y = np.tanh(x @ w)
    return y, (x, w, y)


def big_vjp(dout, cache):
    x, w, y = cache
    g = dout * (1 - y * y)
    return g @ w.T, x.T @ g


LARGE = (0.1 * RNG.standard_normal((4, 60)), 0.1 * RNG.standard_normal((60, 40)))


def test_large_inputs_go_by_random_directions():
    report = check(big, big_vjp, LARGE)
    assert report.ok
    assert report["w"].numbers["directions"] > 0
    assert "directions" not in report["x"].numbers
    assert (
        "directions"
        not in check(
            lambda x, w: big(x, w[:, :30]),
            lambda d, c: (big_vjp(d, c)[0], np.pad(big_vjp(d, c)[1], ((0, 0), (0, 10)))),
            LARGE,
            mode="full",
        )["w"].numbers
    )


def test_one_wrong_entry_of_a_large_input_is_found():
    def wrong(dout, cache):
        dx, dw = big_vjp(dout, cache)
        dw = dw.copy()
        dw[17, 23] *= 1.001
        return dx, dw

    report = check(big, wrong, LARGE, mode="directional")
    assert [item.kind for item in report.inputs] == ["ok", "constant_factor"]
    assert report["w"].numbers["worst"] == (17, 23)


def test_the_verdict_is_a_function_of_the_seed():
    first, second = (
        check(affine, lambda d, c: tuple(2 * g for g in affine_vjp(d, c)), POINT, seed=3)
        for _ in "ab"
    )
    assert first.to_dict() == second.to_dict()


def test_assert_correct_fails_with_the_text_of_the_report():
    with pytest.raises(AssertionError, match="sign: "):
        assert_correct(affine, lambda d, c: tuple(-g for g in affine_vjp(d, c)), POINT)
    assert assert_correct(affine, affine_vjp, POINT).ok


def test_a_gradient_that_is_zero_everywhere_gets_a_warning():
    report = check(lambda x: (x * 0.0, x), lambda d, x: 0.0 * d, (np.ones(3),))
    assert report.ok and "1 of 1 inputs hardly tested" in report.text()


def test_a_gradient_that_is_zero_only_at_the_given_point_was_tested():
    report = check(affine, affine_vjp, (POINT[0], np.zeros_like(POINT[1]), *POINT[2:]))
    assert report.ok and "hardly tested" not in report.text()


def test_an_input_that_is_one_or_symmetric_is_no_blind_spot_where_other_values_are_tried_too():
    square = np.eye(3)
    report = check(lambda x, g: ((x @ x.T) * g, (x, g)), outer_vjp, (square, np.ones(3)))
    assert report.ok and not [note for note in report.notes if "can't be seen" in note]
    missing = check(
        lambda x, g: ((x @ x.T) * g, (x, g)),
        lambda d, c: (outer_vjp(d, (c[0], np.ones(3)))[0], outer_vjp(d, c)[1]),
        (square, np.ones(3)),
    )
    assert missing["x"].verdict == "wrong"


def outer_vjp(dout, cache):
    """Return the gradients of ``(x @ x.T) * g``."""
    x, g = cache
    dz = dout * g
    return (dz + dz.T) @ x, (dout * (x @ x.T)).sum(axis=0)


def test_only_a_size_one_axis_that_could_be_longer_is_a_blind_spot():
    def forward(w, x, b):
        return w @ x + b, (w, x)

    def backward(dout, cache):
        w, x = cache
        return dout @ x.T, w.T @ dout, dout.sum(axis=1, keepdims=True)

    def inputs(batch):
        rng = np.random.default_rng(0)
        return rng.normal(size=(3, 2)), rng.normal(size=(2, batch)), rng.normal(size=(3, 1))

    batch, single = (check(forward, backward, inputs(n)) for n in (4, 1))
    assert batch.ok and not [note for note in batch.notes if "size 1" in note]
    assert [note.split()[0] for note in single.notes if "size 1" in note] == ["x", "b"]


def test_notes_that_differ_only_by_their_input_are_one_note():
    report = check(
        lambda x, y: (expit(x) * expit(y), (x, y)),
        lambda d, c: tuple(d * expit(a) * (1 - expit(a)) * expit(b) for a, b in (c, c[::-1])),
        (np.array([0.3, 1.0]), np.array([-0.4, 0.2])),
    )
    assert report.ok and report.text().count("not complex-safe") == 1
    assert report.text().count("complex x, y") == 1


@pytest.mark.parametrize("off", [1e-12, 1e-14])
def test_the_error_is_the_one_that_was_measured_not_zero_below_the_tolerance(off):
    x = np.array([0.3, 1.7, -0.4])
    report = check(lambda x: (3 * x, x), lambda d, _: 3 * d * (1 + off), (x,))
    assert report.ok
    assert report.error == pytest.approx(off, rel=0.1)
    exact = check(lambda x: (3 * x, x), lambda d, _: 3 * d, (x,))
    assert exact.error <= 4e-16


def square_but(wrong):
    """Return the gradient of a square with the entries at ``wrong`` set to zero."""

    def vjp(dout, x):
        dx = 2 * x * dout
        dx[wrong] = 0
        return dx

    return vjp


@pytest.mark.parametrize("seed", quick(["0"], range(3), "a large input takes a while"))
@pytest.mark.parametrize("mode", ["auto", "directional"])
def test_a_wrong_column_of_a_large_input_is_found_whatever_the_seed(mode, seed):
    x = np.random.default_rng(0).normal(size=(100, 300))
    report = check(
        lambda x: ((x * x).sum(), x), square_but(np.s_[:, 77]), (x,), seed=seed, mode=mode
    )
    assert report["x"].kind == "few_entries"
    assert "all at index 77 of axis 1" in report["x"].words


@pytest.mark.slow(reason="a large input")
def test_a_single_wrong_entry_is_found_where_few_columns_fit_into_memory():
    x = np.random.default_rng(0).normal(size=150_000)
    report = check(lambda x: (x * x, x), square_but(8), (x,))
    assert not report.ok
    assert report["x"].numbers["worst"] == (8,)


@pytest.mark.slow(reason="a large input")
def test_wrong_entries_that_are_spread_over_a_large_input_are_found():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200_000)
    report = check(
        lambda x: ((x * x).sum(), x), square_but(rng.choice(x.size, 198, replace=False)), (x,)
    )
    assert not report.ok
    assert report["x"].numbers["wrong"] > 1


def test_directions_that_fail_are_enough_to_call_a_gradient_wrong(monkeypatch):
    monkeypatch.setattr("ibpcl.verify.large_inputs.PROBES", 0)
    x = np.random.default_rng(0).normal(size=20_000)
    report = check(lambda x: ((x * x).sum(), x), square_but(7), (x,))
    assert report["x"].kind == "wrong"
    words = report["x"].words
    assert "5 of 5 random directions" in words and "not found" in words
    assert "check_chain" in report["x"].hint
    assert report.score == 0.5


@pytest.mark.parametrize(
    "share", [0.001, pytest.param(0.5, marks=pytest.mark.slow(reason="takes seconds"))]
)
# the second is not complex-safe
@pytest.mark.parametrize("smooth", [lambda x: x**2, lambda x: x * np.abs(x)])
def test_kinks_of_a_large_input_are_left_out_and_the_rest_is_judged(smooth, share):
    rng = np.random.default_rng(2)
    x = rng.normal(size=3000)
    x[rng.random(x.size) < share] = 0.0

    def forward(x):
        return (np.maximum(x, 0) + smooth(x)).sum(), x

    def backward(dout, x):
        return dout * ((x > 0) + 2 * (x if smooth(-1.0) > 0 else np.abs(x)))

    report = check(forward, backward, (x,))
    assert report.ok
    assert report["x"].numbers["directions"] == 5
    assert report["x"].numbers["kinks"] == np.sum(x == 0)
    place = np.flatnonzero(x)[-1]
    report = check(
        forward, lambda d, x: np.where(np.arange(x.size) == place, 0, backward(d, x)), (x,)
    )
    assert report["x"].numbers["worst"] == (place,)


def test_a_wrong_gradient_behind_exact_zeros_is_found():
    """Exact zeros sit at the kink of a ReLU; they hide nothing about the other entries."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=20_000)
    x[rng.random(x.size) < 0.5] = 0.0
    right = check(lambda x: (np.maximum(x, 0).sum(), x), lambda d, x: d * (x > 0), (x,))
    assert right.ok
    assert right["x"].numbers["kinks"] == np.sum(x == 0)
    assert (
        check(
            lambda x: (np.maximum(x, 0).sum(), x), lambda d, x: d * (x > 0) * (x < 2.5), (x,)
        ).verdict
        == "wrong"
    )


@pytest.mark.parametrize(
    ("size", "factor"),
    # seconds each, for forward calls of so many numbers
    quick(
        ["20000, 2.0"],
        [(200_000, -1.0), (20_000, -1.0), (20_000, 2.0)],
        "a factor is harder to see than a sign",
        name=lambda case: f"{case[0]}, {case[1]}",
    ),
)
def test_a_float32_mean_hides_neither_a_sign_nor_a_factor(size, factor):
    x = np.random.default_rng(4).normal(size=size)

    def forward(x):
        return np.mean(np.asarray(x, dtype=np.float32) ** 2), x

    def backward(dout, x):
        return dout * 2 * np.real(x) / x.size

    right = check(forward, backward, (x,))
    assert right.ok
    assert right["x"].reason.kind == "cast"
    assert check(forward, lambda d, x: factor * backward(d, x), (x,)).verdict == "wrong"


def test_a_gradient_that_vanishes_up_to_rounding_is_zero_along_directions_too():
    def forward(x):
        e = np.exp(x - x.max())
        return (e / e.sum()).sum(), e / e.sum()

    x = np.random.default_rng(0).normal(size=2000)
    report = check(forward, lambda d, p: p * (d - (p * d).sum()), (x,))
    assert report.ok
    assert report["x"].numbers["directions"] == 5


def test_a_jump_is_a_kink_and_confirms_nothing():
    report = check(
        lambda x: (np.where(x.real >= 1, x + 1, x), x), lambda d, x: d, (np.array([0.0, 1.0, 2.0]),)
    )
    assert (report["x"].numbers["compared"], report["x"].numbers["kinks"]) == (2, 1)
    assert report["x"].numbers["agreement"] < 1e-7


def test_a_forward_in_loops_is_looked_at_along_directions_by_its_steps_not_by_the_clock():
    def looped(x, steps=50_000):
        total = 0.0
        for n in range(steps):
            total = total + x[n % x.size] ** 2
        return total, (x, steps)

    x = np.linspace(0.1, 1, 40)

    def looped_vjp(d, c):
        return d * 2 * c[0] * (c[1] / c[0].size)

    report = check(looped, looped_vjp, (x,))
    assert report.ok and report["x"].numbers["directions"] == 5
    text = " ".join(report.text().split())
    assert "40 entries" in text and "mode='full'" in text
    again = check(looped, looped_vjp, (x,))
    assert again.to_dict() == report.to_dict()


@pytest.mark.parametrize("condition", [1e4, 1e6, 1e8])
def test_an_ill_conditioned_forward_that_drops_the_imaginary_part_is_no_false_alarm(condition):
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    s = q @ np.diag(np.logspace(0, -np.log10(condition), 4)) @ q.T

    def likelihood(s, y):
        root = np.linalg.cholesky((s + s.T).real / 2)
        z = np.linalg.solve(root, y)
        return 0.5 * np.sum(z * z) + np.sum(np.log(np.diag(root))), (s, y)

    def likelihood_vjp(d, cache):
        s, y = cache
        inverse = np.linalg.inv((s + s.T) / 2)
        v = inverse @ y
        return d * 0.5 * (inverse - np.outer(v, v)), d * v

    report = check(likelihood, likelihood_vjp, ((s + s.T) / 2, rng.normal(size=4)))
    assert report.verdict == ("ok" if condition < 1e7 else "undecided")
    if report.undecided:
        assert "ill-conditioned" in report["s"].words and "better conditioned" in report["s"].hint


def test_noise_confirms_nothing_and_that_is_said():
    report = check(
        lambda x: (np.sin(x) + 1e-3 * np.sin(1e9 * x.real), x.real),
        lambda d, x: d * np.cos(x),
        (np.array([0.3, 1.0, 2.0]),),
    )
    assert "confirmed by" not in report.text()
    assert "the complex step in x is not confirmed" in report.text()


def test_an_input_without_entries_gets_a_warning():
    report = check(lambda x: (x.sum(axis=0), x), lambda d, x: np.zeros((0, 4)), (np.zeros((0, 4)),))
    assert report.ok
    assert "nothing was compared" in report["x"].words
    assert "confirmed" not in report.text()


@pytest.mark.parametrize(
    "step", [lambda x: x > 0, lambda x: (x > 0) * 1, lambda x: np.rint(x).astype(int)]
)
def test_a_forward_that_returns_no_floats_is_not_judged(step):
    """Any gradient would fit: such an output has none."""
    with pytest.raises(TypeError, match="no derivative"):
        check(lambda x: (step(x), None), lambda dout, cache: 100.0 * dout, (np.linspace(-1, 1, 4),))


@pytest.mark.parametrize("axis", [0, 1])
def test_probabilities_that_are_data_still_sum_to_one_at_the_second_point(axis):
    def forward(z, y):
        z = z - z.max(axis=axis, keepdims=True)
        log_p = z - np.log(np.exp(z).sum(axis=axis, keepdims=True))
        return -(y * log_p).sum(), (np.exp(log_p), y)

    def backward(dout, cache):
        p, y = cache
        return dout * (p - y)  # right only if y sums to one

    rng = np.random.default_rng(2)
    y = rng.uniform(0.2, 0.8, (3, 4))
    inputs = rng.normal(size=(3, 4)), y / y.sum(axis=axis, keepdims=True)
    assert check(forward, backward, inputs, wrt=["z"]).ok
    assert not check(forward, backward, (inputs[0], y), wrt=["z"]).ok
