"""Guards, casts and rounded constants are reasons beside the verdict, and hide no mistake."""

import numpy as np
import pytest

from ibpcl.verify import Report, check

X = np.random.default_rng(3).normal(size=(3, 4))
P = np.array([0.3, 0.8, 0.1])
SMALL = 1e-7


def logarithm(eps):
    return (
        lambda x: (np.log(x + eps), x),
        lambda dout, x: dout / (x + eps),
        lambda dout, x: dout / x,
    )


def inside_a_root(eps):
    return (
        lambda x: (np.sqrt(x + eps), x),
        lambda dout, x: dout / (2 * np.sqrt(x + eps)),
        lambda dout, x: dout / (2 * (np.sqrt(x) + eps)),
    )


def beside_a_root(eps):
    return (
        lambda x: (1 / (np.sqrt(x) + eps), x),
        lambda dout, x: -dout / (2 * np.sqrt(x) * (np.sqrt(x) + eps) ** 2),
        lambda dout, x: -dout / (2 * np.sqrt(x) * np.sqrt(x) ** 2),
    )


def denominator(eps):
    return (
        lambda x: (1 / (x + eps), x),
        lambda dout, x: -dout / (x + eps) ** 2,
        lambda dout, x: -dout / x**2,
    )


def of_the_gradient(eps):
    return (
        lambda x: (np.sqrt(x), x),
        lambda dout, x: dout / (2 * np.sqrt(x)),
        lambda dout, x: dout / (2 * np.sqrt(x) + eps),
    )


GUARDED = [logarithm, inside_a_root, beside_a_root, denominator, of_the_gradient]


@pytest.mark.parametrize("eps", [1e-2, 1e-3])
@pytest.mark.parametrize("guarded", GUARDED)
def test_a_gradient_that_treats_a_guard_otherwise_is_wrong_with_the_numbers_of_the_forward(
    guarded, eps
):
    forward, right, other = guarded(eps)
    report = check(forward, right, (P,))
    assert report.ok and report["x"].reason is None
    verdict = check(forward, other, {"x": 0.07})["x"]
    assert verdict.kind == verdict.reason.kind == "guard"
    assert "eps" in verdict.reason.words and verdict.reason.where.line > 0
    assert verdict.numbers["got"] / verdict.numbers["expected"] == pytest.approx(
        other(1.0, 0.07) / right(1.0, 0.07), rel=1e-9
    )


def test_a_guard_is_quoted_as_it_is_written():
    verdict = check(lambda x: (np.log(x + 1e-3), x), lambda dout, x: dout / x, (P,))["x"]
    assert "1e-3" in verdict.reason.words


@pytest.mark.parametrize(
    ("eps", "x", "expected"),
    [
        (1e-8, 0.1, "ok"),
        (1e-8, 1e-4, "undecided"),
        (1e-8, 1e-6, "wrong"),
        (1e-5, 10.0, "wrong"),  # too large to be there for safety alone
        (1e-3, 1e4, "ok"),
    ],
)
@pytest.mark.parametrize("guarded", [logarithm, denominator])
def test_the_size_of_the_difference_decides(guarded, eps, x, expected):
    forward, right, left_out = guarded(eps)
    assert check(forward, right, {"x": x}).ok
    verdict = check(forward, left_out, {"x": x})["x"]
    assert verdict.verdict == expected
    assert verdict.reason.kind == "guard"
    # no guard explains twice the difference
    factor = 1 + 2 * (left_out(1.0, x) / right(1.0, x) - 1)
    unexplained = check(forward, lambda dout, x: factor * right(dout, x), {"x": x})["x"]
    assert unexplained.verdict == "wrong" and unexplained.reason is None


def normalize(x):
    centered = x - x.mean(axis=0)
    variance = (centered**2).mean(axis=0)
    deviation = np.sqrt(variance + 1e-5)
    h = centered / deviation
    return h, (h, variance, deviation)


def normalize_vjp(dout, cache):
    h, _, deviation = cache
    return (dout - dout.mean(axis=0) - h * (dout * h).mean(axis=0)) / deviation


def normalize_vjp_outside(dout, cache):
    h, variance, _ = cache
    deviation = np.sqrt(variance) + 1e-5
    return (dout - dout.mean(axis=0) - h * (dout * h).mean(axis=0)) / deviation


def tanh_with_a_shifted_result(eps):
    def forward(x):
        out = np.tanh(x) + eps
        return out, out

    return forward


@pytest.mark.parametrize(("eps", "verdict"), [(1e-9, "ok"), (1e-3, "wrong")])
def test_a_guard_added_to_the_result_is_a_reason_and_its_size_decides(eps, verdict):
    found = check(tanh_with_a_shifted_result(eps), lambda dout, out: dout * (1 - out**2), (X,))["x"]
    assert found.verdict == verdict
    assert found.reason.kind == "guard" and "eps" in found.reason.words


def test_a_guard_in_another_place_is_wrong():
    assert check(normalize, normalize_vjp, (X,)).ok
    assert check(normalize, normalize_vjp_outside, (X,))["x"].kind == "guard"


def density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * 3.14159), x


def short_density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * 3.14), x


def mistyped_density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * 3.14519), x


def density_vjp(dout, x):
    return -dout * x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def test_a_rounded_constant_is_a_reason_and_not_a_pardon():
    verdict = check(density, density_vjp, (X,))["x"]
    assert verdict.ok and verdict.reason.kind == "constant" and "3.14159" in verdict.reason.words
    verdict = check(short_density, density_vjp, (X,))["x"]
    assert verdict.kind == "constant_factor" and verdict.reason.kind == "constant"
    verdict = check(mistyped_density, density_vjp, (X,))["x"]
    assert verdict.verdict == "wrong" and verdict.reason is None


def test_mistyped_constant_is_named():
    def backward(dout, x):
        return dout * 2.4178 * x

    report = check(lambda x: (1.2345 * x**2, x), backward, (X,))
    assert report["x"].kind == "constant_factor"


def single(x):
    return np.tanh(x).astype(np.float32), x


def single_vjp(dout, x):
    return dout * (1 - np.tanh(x) ** 2)


def test_a_forward_in_float32_is_measured_in_float64_and_says_so():
    verdict = check(single, single_vjp, (X,))["x"]
    assert verdict.ok and verdict.reason.kind == "cast" and "float32" in verdict.reason.words


SINGLE = np.float32


class Layer:
    dtype = np.dtype("float32")

    def forward(self, x):
        return np.tanh(x).astype(self.dtype), x

    def backward(self, dout, x):
        return single_vjp(dout, x)


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: (np.tanh(x).astype(SINGLE), x),
        lambda x, dtype=SINGLE: (np.tanh(x).astype(dtype), x),
        lambda x: (np.asarray(np.tanh(x), dtype="f"), x),
        Layer().forward,
    ],
)
def test_a_type_may_have_any_name(forward):
    assert check(forward, single_vjp, (X,))["x"].reason.kind == "cast"
    wrong = check(forward, lambda dout, x: 1.0001 * single_vjp(dout, x), (X,))
    assert wrong.verdict == "wrong"


HIDDEN = [np.float32, np.float16]


@pytest.mark.parametrize("n", [0, 1])
def test_a_forward_that_rounds_confirms_no_zero(n):
    def forward(x):
        p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
        return -np.log(p.astype(HIDDEN[n]).astype(float)[:, 0]).sum(), p

    assert check(forward, lambda dout, p: 0 * p, (X,)).verdict == "wrong"


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-6])
def test_a_cast_of_the_forward_hides_no_mistake(size):
    verdict = check(single, lambda dout, x: (1 + size) * single_vjp(dout, x), (X,))["x"]
    assert verdict.verdict == "wrong"


def test_a_cast_of_the_forward_excuses_no_smaller_type_in_the_gradient():
    report = check(single, lambda dout, x: single_vjp(dout, x).astype(np.float16), (X,))
    assert report.verdict == "wrong"


def test_a_cast_of_the_forward_excuses_no_cancellation_in_the_gradient():
    def forward(x):
        return np.cos(x) * np.ones(x.shape, dtype=np.float32), x

    def cancelling(dout, x):
        return -dout * ((np.sin(x) + 1e4).astype(np.float32) - np.float32(1e4)).astype(float)

    assert check(forward, lambda dout, x: -dout * np.sin(x), (X,)).ok
    assert not check(forward, cancelling, (X,)).ok


def in_a_small_buffer(dout, x):
    gradient = np.zeros(x.shape, dtype=np.float32)
    gradient += single_vjp(dout, x)
    return gradient


def test_a_gradient_in_float32_is_right_for_an_input_in_float32_alone():
    def forward(x):
        return np.tanh(x), x

    small = X.astype(np.float32)
    report = check(forward, in_a_small_buffer, (small,))
    assert report.ok and report["x"].reason.kind == "cast"
    assert check(forward, in_a_small_buffer, (X,)).verdict == "wrong"
    wrong = check(forward, lambda dout, x: in_a_small_buffer(1.00001 * dout, x), (small,))
    assert wrong.verdict == "wrong"


def entropy(x):
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    return -np.log(p[:, 0] + SMALL).sum(), p


def entropy_vjp(dout, p):
    dx = p.copy()
    dx[:, 0] -= 1
    return dout * dx


PAIRS = [(entropy, entropy_vjp), (density, density_vjp), (single, single_vjp)]


@pytest.mark.parametrize(("forward", "backward"), PAIRS)
def test_a_reason_hides_no_mistake(forward, backward):
    assert check(forward, backward, (X,)).verdict != "wrong"
    assert check(forward, lambda d, c: -backward(d, c), (X,))["x"].verdict == "wrong"
    assert check(forward, lambda d, c: 1.01 * backward(d, c), (X,))["x"].verdict == "wrong"


@pytest.mark.parametrize(
    ("forward", "backward"),
    # the second gradient takes the guard into account
    [(entropy, entropy_vjp), (normalize, normalize_vjp)],
)
def test_a_mistake_beside_a_guard_is_named(forward, backward):
    report = check(forward, lambda d, c: -backward(d, c), (X,))
    assert report["x"].kind == "sign" and not report.habits


def with_weights(x, w):
    return -np.log(x + 1e-8).sum() + (x * w).sum(), (x, w)


def test_a_guard_of_one_input_changes_no_verdict_on_another():
    def backward(dout, cache, factor=1.0):
        x, w = cache
        return dout * (w - 1 / x), factor * dout * x

    weights = np.array([1.0, 2.0, 3.0])
    right = check(with_weights, backward, (P, weights))
    assert right.ok and right["x"].reason.kind == "guard" and right["w"].reason is None
    wrong = check(with_weights, lambda d, c: backward(d, c, 2.0), (P, weights))
    assert wrong["x"].ok and wrong["x"].reason.kind == "guard"
    assert wrong["w"].kind == "constant_factor"


@pytest.mark.parametrize("rounded", [False, True])
def test_a_reason_hides_no_mistake_that_the_inputs_hide(rounded):
    def forward(x, w):
        if rounded:
            return (3.14159 * x * w).sum(), (x, w)
        return (x * w).sum() - np.log(x + 1e-8).sum(), (x, w)

    def backward(dout, cache, power=1):
        x, w = cache
        if rounded:
            return dout * np.pi * w**power, dout * np.pi * x
        return dout * (w**power - 1 / x), dout * x

    inputs = P, np.ones(3)
    right = check(forward, backward, inputs)
    assert right.ok and right["x"].reason is not None
    assert check(forward, lambda d, c: backward(d, c, 0), inputs)["x"].verdict == "wrong"


def test_a_reason_survives_json_and_appears_in_the_text():
    for x in (0.1, 1e-4, 1e-6):
        report = check(*logarithm(1e-8)[::2], {"x": x})
        again = Report.from_dict(report.to_dict())
        assert again["x"].reason == report["x"].reason is not None
        assert report["x"].reason.words in " ".join(report.text().split())
        assert again.text() == report.text()


def test_a_guard_in_a_file_beside_is_found_and_named(tmp_path, monkeypatch):
    (tmp_path / "losses_beside.py").write_text(
        "import numpy as np\ndef entropy(p, y):\n    return -np.sum(y * np.log(p + 1e-8))\n"
    )
    (tmp_path / "layers_beside.py").write_text(
        "import numpy as np\nfrom losses_beside import entropy\n"
        "def f(z, y):\n    p = np.exp(z) / np.exp(z).sum()\n    return entropy(p, y), (p, y)\n"
        "def f_vjp(dout, cache):\n    p, y = cache\n    return dout * (p - y)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import layers_beside as layers

    y = np.array([0.0, 1.0, 0.0])
    inputs = np.array([0.3, -1.0, 0.8]), y
    report = check(layers.f, layers.f_vjp, inputs, wrt=["z"])
    assert report.ok and report["z"].reason.where.position == "line 3 of losses_beside.py"
    wrong = check(layers.f, lambda d, c: 1.001 * layers.f_vjp(d, c), inputs, wrt=["z"])
    assert wrong["z"].verdict == "wrong"


def test_a_bound_below_one_is_a_guard():
    def capped(p):
        return -np.log(np.clip(p, 1e-12, 1 - 1e-9) + np.minimum(p, 0.9999)), p

    def without_the_bound(dout, p):
        return -dout / p

    p = np.array([0.99995, 0.3])
    report = check(capped, without_the_bound, (p,))
    assert report.verdict == "wrong" and report.inputs[0].reason.kind == "guard"
