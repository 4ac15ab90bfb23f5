r"""Sticks, fused: the twin of ``primitives.sticks``.

A layer has some hundred sticks, and a step of NumPy's on so few numbers takes as long as its call: a millisecond a step
for both compositions and their gradients.  Both logarithms of a complement are one, :math:`\log(1 - e^x) = \log r`
with :math:`r = -(e^x - 1)`, whose own complement is :math:`e^x`.  Digamma and trigamma come from their recurrences, up
to 10, and from Stirling's series beyond (Abramowitz and Stegun, 6.3.18 and 6.4.12), in float64.
"""

import math

import numpy as np

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled, inlined, part, wide
from ibpcl.kernels.elementary import exp, expm1, log_of
from ibpcl.kernels.memory import as_arrays
from ibpcl.kernels.turns import BEGIN, END, another
from ibpcl.primitives.kumaraswamy import EULER_GAMMA
from ibpcl.primitives.stick_breaking import LEAST_LOG_REST


@inlined
def _softplus(x, out):
    zero, one = out.dtype.type(0), out.dtype.type(1)
    for k in range(wide(out.size)):
        e = exp(-abs(x[k]))
        out[k] = (zero if x[k] < zero else x[k]) + log_of(one + e, -e)    # so that a not-a-number comes through


@inlined
def _draw(u, a, b, log_power, log_v):
    one = log_v.dtype.type(1)
    for k in range(wide(log_v.size)):
        s = log_of(u[k], one - u[k]) / b[k]
        log_power[k] = s
        power = log_of(abs(expm1(s)), exp(s))                # not -expm1(s), which may be a negative zero
        log_v[k] = (power if s == s else s) / a[k]


@inlined
def _log_odds(log_pi, least, log_rest):
    for k in range(wide(log_rest.size)):
        rest = log_of(abs(expm1(log_pi[k])), exp(log_pi[k]))
        log_rest[k] = rest if rest > least else least


@compiled
def forward(turns, u, raw_a, raw_b, logit, a, b, log_power, log_v, log_rest, out):
    """Write the log-odds of some rows: u (S, R, K), parameters (R, K); a piece is a row of these.

    ``log_power`` are the logarithms of :math:`u^{1 / b}`, ``log_rest`` those of 1 - pi.
    """
    least, zero = out.dtype.type(LEAST_LOG_REST), out.dtype.type(0)
    while another(turns):
        for r in range(turns[BEGIN], turns[END]):
            _softplus(raw_a[r], a[r])
            _softplus(raw_b[r], b[r])
            for s in range(u.shape[0]):
                _draw(u[s, r], a[r], b[r], log_power[s, r], log_v[s, r])
                log_pi = zero
                for k in range(u.shape[2]):
                    log_pi += log_v[s, r, k]
                    out[s, r, k] = log_pi
                if logit:
                    _log_odds(out[s, r], least, log_rest[s, r])
                    for k in range(u.shape[2]):
                        out[s, r, k] -= log_rest[s, r, k]


@inlined
def _through_logit(log_rest, least, dlog_pi):
    one = dlog_pi.dtype.type(1)
    for k in range(wide(dlog_pi.size)):
        dlog_pi[k] *= exp(-log_rest[k]) if log_rest[k] > least else one


@inlined
def _through_draw(dlog_v, log_power, log_v, a, b, da, db):
    for k in range(wide(da.size)):
        da[k] -= dlog_v[k] * log_v[k] / a[k]
        db[k] += dlog_v[k] * log_power[k] * exp(log_power[k] - a[k] * log_v[k]) / (a[k] * b[k])


@inlined
def _through_softplus(raw, gradient):
    one = gradient.dtype.type(1)
    for k in range(wide(gradient.size)):
        gradient[k] *= one / (one + exp(-raw[k]))


@compiled
def backward(turns, dlogit_pi, raw_a, raw_b, logit, a, b, log_power, log_v, log_rest, draw_a, draw_b):
    """Write the gradients at some rows of the parameters."""
    (S, _, K), dtype = dlogit_pi.shape, dlogit_pi.dtype
    least, gradient = dtype.type(LEAST_LOG_REST), np.empty(K, dtype)
    while another(turns):
        for r in range(turns[BEGIN], turns[END]):
            draw_a[r], draw_b[r] = 0, 0
            for s in range(S):
                loops.copy(dlogit_pi[s, r], gradient)
                if logit:
                    _through_logit(log_rest[s, r], least, gradient)
                for k in range(K - 2, -1, -1):               # a stick is in all later products
                    gradient[k] += gradient[k + 1]
                _through_draw(gradient, log_power[s, r], log_v[s, r], a[r], b[r], draw_a[r], draw_b[r])
            _through_softplus(raw_a[r], draw_a[r])
            _through_softplus(raw_b[r], draw_b[r])


@part
def _psi(x):
    """Compute digamma and trigamma of x > 0."""
    digamma, trigamma = 0.0, 0.0
    while x < 10:
        inverse = 1 / x
        digamma -= inverse
        trigamma += inverse * inverse
        x += 1
    t = 1 / (x * x)
    # Bernoulli numbers over 2 n, and alone: at x = 10 the first term left out is below 1e-15.
    digamma += math.log(x) - 0.5 / x - t * (
        1 / 12 - t * (1 / 120 - t * (1 / 252 - t * (1 / 240 - t * (1 / 132 - t * 691 / 32760)))))
    trigamma += 1 / x + t / 2 + t / x * (
        1 / 6 - t * (1 / 30 - t * (1 / 42 - t * (1 / 30 - t * (5 / 66 - t * 691 / 2730)))))
    return digamma, trigamma


@part
def _shape(raw):
    """Return softplus and sigmoid."""
    return max(raw, 0.0) + math.log1p(math.exp(-abs(raw))), 1 / (1 + math.exp(-raw))


@compiled
def divergences(raw_a, raw_b, alpha, draw_a, draw_b):
    """Add up the divergences of sticks (K,), and write their gradients; return the sum and the gradient at alpha."""
    total, dalpha = 0.0, 0.0
    for k in range(raw_a.size):
        (a, slope_a), (b, slope_b) = _shape(np.float64(raw_a[k])), _shape(np.float64(raw_b[k]))
        digamma, trigamma = _psi(b + 1)
        mean_log = -EULER_GAMMA - digamma                    # a E[log v]
        total += (1 - alpha / a) * mean_log + math.log(a * b / alpha) - (b - 1) / b
        draw_a[k] = slope_a * (alpha * mean_log / (a * a) + 1 / a)
        draw_b[k] = slope_b * ((1 - 1 / b) / b - (1 - alpha / a) * trigamma)
        dalpha -= mean_log / a + 1 / alpha
    return total, dalpha


def _rows(array, axes):
    """Return an array of rows of sticks: with an axis of length one where there is but one row."""
    return array if array.ndim == axes else array[..., None, :]


def log_odds(u, raw_a, raw_b, link="logit"):
    """Draw the prior log-odds of masks: the twin of :func:`ibpcl.primitives.sticks.log_odds`."""
    u, raw_a, raw_b = as_arrays("sticks.log_odds", u, raw_a, raw_b)
    if link not in ("logit", "log"):
        raise ValueError(f"sticks.log_odds: link must be 'logit' or 'log', got {link!r}")
    if raw_a.shape != u.shape[1:] or raw_b.shape != raw_a.shape:
        raise ValueError(f"sticks.log_odds: parameters must have shape {u.shape[1:]}, got {raw_a.shape} and "
                         f"{raw_b.shape}")
    rows, raw = _rows(u, 3), [_rows(array, 2) for array in (raw_a, raw_b)]
    shapes, drawn = np.empty((2, *raw[0].shape), u.dtype), np.empty((4, *rows.shape), u.dtype)
    threads.run(forward, len(raw[0]), rows, *raw, link == "logit", *shapes, *drawn)
    return drawn[3].reshape(u.shape), (raw, link == "logit", shapes, drawn[:3], raw_a.shape)


def log_odds_vjp(dlogit_pi, cache):
    """Pull the gradient back to both parameters: the twin of :func:`ibpcl.primitives.sticks.log_odds_vjp`."""
    raw, logit, shapes, drawn, shape = cache
    given, found = np.ascontiguousarray(dlogit_pi, shapes.dtype).reshape(drawn.shape[1:]), np.empty_like(shapes)
    threads.run(backward, len(raw[0]), given, *raw, logit, *shapes, *drawn, *found)
    return found[0].reshape(shape), found[1].reshape(shape)


def divergence(raw_a, raw_b, alpha):
    """Compute the divergence of all sticks: the twin of :func:`ibpcl.primitives.sticks.divergence`."""
    raw_a, raw_b = as_arrays("sticks.divergence", raw_a, raw_b)
    gradient = np.empty((2, *raw_a.shape), raw_a.dtype)
    total, dalpha = divergences(raw_a.reshape(-1), raw_b.reshape(-1), float(alpha), *gradient.reshape(2, -1))
    return raw_a.dtype.type(total), (gradient, dalpha)


def divergence_vjp(ddivergence, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.sticks.divergence_vjp`."""
    gradient, dalpha = cache
    draw_a, draw_b = gradient.dtype.type(ddivergence) * gradient
    return draw_a, draw_b, gradient.dtype.type(ddivergence * dalpha)
