"""The formula sheet has two pages, and its gradients are those of the functions."""

import numpy as np
import pytest
from scipy.special import digamma, expit, polygamma, softmax

from ibpcl.course import formula_sheet
from ibpcl.errors import UserError
from ibpcl.primitives import (
    bernoulli,
    concrete,
    convolution,
    gaussian,
    kumaraswamy,
    likelihoods,
    linear,
    local_linear,
    masked_linear,
    quadratic,
    residual,
    stick_breaking,
    sticks,
)

rng = np.random.default_rng(3)
S, N, D, K = 3, 4, 2, 5
n = rng.standard_normal
a, b, u = rng.uniform(0.5, 3, K), rng.uniform(0.5, 3, K), rng.uniform(0.1, 0.9, (S, K))


def with_cache(function, vjp, dout, *inputs):
    out, cache = function(*inputs)
    return out, vjp(dout, cache)


def gaussian_sample():
    eps, mu, s, dv = n((S, K)), n(K), n(K), n((S, K))
    yield gaussian.sample, (eps, mu, s), dv, gaussian.sample_vjp
    yield dv.sum(0), (dv * np.exp(s) * eps).sum(0)


def gaussian_log_density():
    x, mu, s, dp = n((S, K)), n(K), n(K), n((S, K))
    t = (x - mu) / np.exp(s)
    yield gaussian.log_density, (x, mu, s), dp, gaussian.log_density_vjp
    g = dp * t / np.exp(s)
    yield -g, g.sum(0), (dp * (t * t - 1)).sum(0)


def gaussian_kl():
    mu, s, m0, s0 = n(K), n(K), n(K), n(K)
    yield gaussian.kl, (mu, s, m0, s0), 1.0, gaussian.kl_vjp
    v, v0 = np.exp(2 * s), np.exp(2 * s0)
    yield (mu - m0) / v0, v / v0 - 1, -(mu - m0) / v0, 1 - (v + (mu - m0) ** 2) / v0


def kumaraswamy_sample():
    dout = n((S, K))
    log_v = kumaraswamy.sample(u, a, b)[0]
    s = np.log(u) / b
    yield kumaraswamy.sample, (u, a, b), dout, kumaraswamy.sample_vjp
    yield (
        -(dout * log_v / a).sum(0),
        (dout * s * np.exp(s) / (a * b * (1 - np.exp(s)))).sum(0),
    )


def kumaraswamy_kl_to_beta():
    alpha = 2.5
    e = -np.euler_gamma - digamma(b) - 1 / b
    yield kumaraswamy.kl_to_beta, (a, b, alpha), 1.0, kumaraswamy.kl_to_beta_vjp
    yield (
        alpha * e / a**2 + 1 / a,
        (a - alpha) / a * (1 / b**2 - polygamma(1, b)) + 1 / b - 1 / b**2,
        -(e / a + 1 / alpha).sum(),
    )


def stick_breaking_log_probabilities():
    d = n((S, K))
    yield stick_breaking.log_probabilities, (np.log(u),), d, stick_breaking.log_probabilities_vjp
    yield (np.stack([d[:, k:].sum(1) for k in range(K)], axis=1),)


def stick_breaking_logit_probabilities():
    d = n((S, K))
    yield (
        stick_breaking.logit_probabilities,
        (np.log(u),),
        d,
        stick_breaking.logit_probabilities_vjp,
    )
    yield (d / (1 - u),)


def sticks_log_odds():
    raw_a, raw_b, d = n(K), n(K), n((S, K))
    yield sticks.log_odds, (u, raw_a, raw_b), d, sticks.log_odds_vjp
    log_v, c1 = kumaraswamy.sample(u, np.logaddexp(0, raw_a), np.logaddexp(0, raw_b))
    log_pi, c2 = stick_breaking.log_probabilities(log_v)
    _, c3 = stick_breaking.logit_probabilities(log_pi)
    d_log_pi = stick_breaking.logit_probabilities_vjp(d, c3)
    da, db = kumaraswamy.sample_vjp(stick_breaking.log_probabilities_vjp(d_log_pi, c2), c1)
    yield expit(raw_a) * da, expit(raw_b) * db


def concrete_sample():
    ell, theta, dz = n((S, D, K)), n((S, D, K)), n((S, D, K))
    z = expit((theta + ell) / 0.3)
    yield concrete.sample, (ell, theta, 0.3), dz, concrete.sample_vjp
    yield (dz * z * (1 - z) / 0.3,)


def concrete_log_density_logit():
    y, theta, dq = n((S, D, K)), n((S, D, K)), n((S, D, K))
    g = dq * (1 - 2 * expit(theta - 0.3 * y))
    yield concrete.log_density_logit, (y, theta, 0.3), dq, concrete.log_density_logit_vjp
    yield -0.3 * g, g


def bernoulli_kl():
    x, y = n((S, D, K)), n((S, K))
    theta = expit(x)
    yield bernoulli.kl, (x, y), np.ones(S), bernoulli.kl_vjp
    yield theta * (1 - theta) * (x - y[:, None]), (expit(y)[:, None] - theta).sum(1)


def concrete_kl():
    x, y = n((S, D, K)), n((S, K))
    delta = x - y[:, None]
    g = (np.sinh(delta) - delta) / (np.cosh(delta) - 1)
    yield concrete.kl, (x, y), np.ones(S), concrete.kl_vjp
    yield g, -g.sum(1)


def linear_apply():
    x, w, bias, dh = n((S, N, D)), n((S, D, K)), n((S, K)), n((S, N, K))
    yield linear.apply, (x, w, bias), dh, linear.apply_vjp
    yield dh @ w.swapaxes(1, 2), x.swapaxes(1, 2) @ dh, dh.sum(1)


def masked_linear_column_activity():
    z, du = rng.uniform(size=(S, D, K)), n((S, K))
    yield masked_linear.column_activity, (z,), du, masked_linear.column_activity_vjp
    yield (np.where(z == z.max(1, keepdims=True), du[:, None], 0),)


def masked_linear_apply():
    x, v, z, bias = n((S, N, D)), n((S, D, K)), rng.uniform(size=(S, D, K)), n((S, K))
    dh = n((S, N, K))
    yield masked_linear.apply, (x, v, z, bias), dh, masked_linear.apply_vjp
    top = z.max(1)
    of_u = np.where(z == z.max(1, keepdims=True), (bias * dh.sum(1))[:, None], 0)
    dw = x.swapaxes(1, 2) @ dh
    yield dh @ (v * z).swapaxes(1, 2), z * dw, v * dw + of_u, top * dh.sum(1)


def local_linear_apply():
    eps, x = n((S, N, K)), n((S, N, D))
    mu, sigma, bias, width = n((D, K)), rng.uniform(0.5, 1, (D, K)), n(K), rng.uniform(0.5, 1, K)
    dh = n((S, N, K))
    yield local_linear.apply, (eps, x, mu, sigma, bias, width), dh, local_linear.apply_vjp
    q = x**2 @ sigma**2 + width**2
    dq = dh * eps / (2 * np.sqrt(q))
    yield (
        dh @ mu.T + 2 * x * (dq @ (sigma**2).T),
        np.einsum("snd,snk->dk", x, dh),
        2 * sigma * np.einsum("snd,snk->dk", x**2, dq),
        dh.sum((0, 1)),
        2 * width * dq.sum((0, 1)),
    )


def convolution_conv2d():
    x, w, bias = n((S, N, 4, 4, D)), n((S, 2, 2, D, K)), n((S, K))
    dh = n((S, N, 3, 3, K))
    yield convolution.conv2d, (x, w, bias), dh, convolution.conv2d_vjp
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for p, q, i, j in np.ndindex(3, 3, 2, 2):
        dw[:, i, j] += np.einsum("snd,snk->sdk", x[:, :, p + i, q + j], dh[:, :, p, q])
        dx[:, :, p + i, q + j] += np.einsum("sdk,snk->snd", w[:, i, j], dh[:, :, p, q])
    yield dx, dw, dh.sum((1, 2, 3))


def residual_add():
    h, f, z, dy = n((S, N, K)), n((S, N, K)), n(S), n((S, N, K))
    yield residual.add, (h, f, z), dy, residual.add_vjp
    yield dy, z[:, None, None] * dy, (f * dy).sum((1, 2))


def likelihoods_categorical():
    f, labels, dp = n((S, N, K)), rng.integers(K, size=N), n((S, N))
    yield likelihoods.categorical, (f, labels), dp, likelihoods.categorical_vjp
    yield (dp[..., None] * (np.eye(K)[labels] - softmax(f, -1)),)


def likelihoods_bernoulli_logistic():
    f, t = n((S, N, K)), rng.integers(2, size=(N, K)).astype(float)
    out = likelihoods.bernoulli_logistic(f, t)[0]
    dp = n(out.shape)
    yield likelihoods.bernoulli_logistic, (f, t), dp, likelihoods.bernoulli_logistic_vjp
    yield ((dp if dp.ndim == f.ndim else dp[..., None]) * (t - expit(f)),)


def quadratic_penalty():
    w, m, precision = n(K), n(K), rng.uniform(0.5, 2, K)
    yield quadratic.penalty, (w, m, precision), 1.0, quadratic.penalty_vjp
    yield precision * (w - m), -precision * (w - m), (w - m) ** 2 / 2


ROWS = [
    row["function"]
    for section in formula_sheet.rows()
    for row in section["row"]
    if "function" in row
]


@pytest.mark.parametrize("name", ROWS)
def test_a_gradient_of_the_sheet_is_that_of_the_function(name):
    case = globals()[name.replace(".", "_")]()
    function, inputs, dout, vjp = next(case)
    printed = next(case)
    found = vjp(dout, function(*inputs)[1])
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(printed)
    for one, other in zip(found, printed, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def pages(data):
    """Return the number of pages of a PDF."""
    return data.count(b"/Type /Page\n") + data.count(b"/Type /Page ")


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    path = tmp_path_factory.mktemp("sheet") / "sheet.pdf"
    formula_sheet.write(path)
    return path.read_bytes()


def test_the_sheet_has_two_pages(sheet):
    assert pages(sheet) == 2


@pytest.mark.slow(reason="the sheet is set again, for three seconds")
def test_the_sheet_has_the_same_bytes(sheet, tmp_path):
    formula_sheet.write(tmp_path / "again.pdf")
    assert (tmp_path / "again.pdf").read_bytes() == sheet


def test_formulas_that_do_not_fit_are_an_error(tmp_path):
    sections = formula_sheet.rows()
    with pytest.raises(UserError, match="fit"):
        formula_sheet.write(tmp_path / "x.pdf", sections[:1] + 9 * sections[1:2])
    wide = {"title": "Wide", "row": [{"text": "wide " * 40}]}
    with pytest.raises(UserError, match="wider"):
        formula_sheet.write(tmp_path / "x.pdf", [*sections[:1], wide])
    assert not (tmp_path / "x.pdf").exists()
