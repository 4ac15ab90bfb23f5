r"""Masked weights, their activity and the divergence of their masks, fused: the twin of ``primitives.masked_weights``.

The reference writes a dozen arrays of shape (S, D, K), this only weights w and masks z.  The backward pass does without
the noise: since :math:`z \sigma \varepsilon = w - z \mu`,

.. math:: \frac{\partial}{\partial \mu} = \sum_s dw_s z_s, \qquad
          \frac{\partial}{\partial \log\sigma} = \sum_s (dw_s w_s - dw_s z_s \mu), \qquad
          \frac{\partial}{\partial \lambda_s} = dw_s w_s (1 - z_s) / \tau

with :math:`\lambda` the mask's log-odds.  In the second, digits are lost to the difference where
:math:`\sigma \ll |\mu|`, by :math:`|\mu| / \sigma` units of the last place: then it is small beside the divergence's.

**Pieces.**  A piece is a block of at most 64 rows of D, for all samples: its parameters (some 50 KB an array at
K = 200) stay in the second-level cache while the samples pass.  The number of blocks is a multiple of four, and they
differ by a row at most, so that two or four threads have the same to do.  Rows are laid end to end and worked on in
strips of about 500 numbers, a whole number of rows, against tiles of the sticks' row repeated as often.

**Loops.**  The work on a strip is cut into short loops which hand on strips of scratch.  One long loop would read and
write a dozen arrays; to vectorize it the compiler would have to check that no two overlap, and beyond eight such checks
it gives up.
"""

import functools

import numpy as np

from ibpcl.kernels import logistic_divergence, loops, threads
from ibpcl.kernels.compilation import compiled, inlined, summing, wide
from ibpcl.kernels.elementary import exp, log_of
from ibpcl.kernels.loops import fill, flat
from ibpcl.kernels.memory import TYPES, as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another

ROWS, EVEN, STRIP = 64, 4, 512
TOGETHER = 18                                                # log-odds: of four numbers e^-18, no product underflows
LIMITS = {dtype: dtype.type(-0.995 * np.log(np.finfo(dtype).tiny)) for dtype in TYPES}


@inlined
def _exp(x, sign, out):
    for i in range(wide(out.size)):
        out[i] = exp(sign * x[i])


@inlined
def _decay(rho, out):
    zero, smallest = out.dtype.type(0), out.dtype.type(2e-38)
    for i in range(wide(out.size)):                          # float32's exp stays at e^-87, but this goes to zero
        e = exp(-abs(rho[i]))
        out[i] = zero if e < smallest else e


@inlined
def _mask(logistic, rho, logit_pi, inverse_tau, z):
    one = z.dtype.type(1)
    for i in range(wide(z.size)):
        z[i] = one / (one + exp(-(rho[i] + logit_pi[i] + logistic[i]) * inverse_tau))


@inlined
def _weight(eps, mu, sigma, z, w):
    for i in range(wide(w.size)):
        w[i] = z[i] * (mu[i] + sigma[i] * eps[i])


@inlined
def _largest(z, row, first, best, where):
    """Keep the larger ones of z and of ``best``, and the numbers of their rows.

    By arithmetic, which is exact here: a choice between a new number and the one that is there becomes a masked store,
    which takes processors without AVX-512 a dozen cycles.
    """
    zero, one = z.dtype.type(0), z.dtype.type(1)
    for i in range(wide(z.size)):
        new = one if z[i] > best[i] else zero                # strictly: of equals, the first stays
        best[i] = new * z[i] + (one - new) * best[i]
        where[i] = new * (first + row[i]) + (one - new) * where[i]


@inlined
def _relative_odds(rho, decay, yes, no, zero):
    p, q = (no, yes) if rho > zero else (yes, no)
    on = p * decay
    return q + on, p - on, on * abs(rho)


@summing
def _bernoulli_kl(rho0, rho1, rho2, rho3, decay0, decay1, decay2, decay3, pi, not_pi):
    r"""Return the divergence of four strips of masks: a division and a logarithm for four masks, and no exponential.

    With :math:`E = e^{-|\rho|}`, and p = pi for rho <= 0 and 1 - pi for rho > 0 (the divergence does not change when
    masks and complements change places), both odds are p / (1 - p) and E p / (1 - p), so that with R = 1 - p + p E

    .. math:: KL = -\frac{p E}{R} |\rho| - \log R.

    The fractions of four masks are brought to one denominator, the product of their R, whose logarithm is taken.  What
    R and the products lack to one is kept beside them, or digits of logarithms near zero would be lost.
    """
    out = zero = pi.dtype.type(0)
    for i in range(wide(pi.size)):
        yes, no = pi[i], not_pi[i]                           # loaded before the choice, or it becomes a gather
        r0, lack0, part0 = _relative_odds(rho0[i], decay0[i], yes, no, zero)
        r1, lack1, part1 = _relative_odds(rho1[i], decay1[i], yes, no, zero)
        r2, lack2, part2 = _relative_odds(rho2[i], decay2[i], yes, no, zero)
        r3, lack3, part3 = _relative_odds(rho3[i], decay3[i], yes, no, zero)
        r01, lack01, part01 = r0 * r1, lack0 + r0 * lack1, part0 * r1 + part1 * r0
        r23, lack23, part23 = r2 * r3, lack2 + r2 * lack3, part2 * r3 + part3 * r2
        r = r01 * r23
        out -= (part01 * r23 + part23 * r01) / r + log_of(r, lack01 + r01 * lack23)
    return out


@inlined
def _block_kl(rho, decay, quarter, pi, not_pi, together):
    """Return the divergence of a block of four quarters, after which come masks that have none (rho is 0).

    Unless quarters may be taken ``together`` (:data:`TOGETHER`), each is taken with three times those.
    """
    out, length = pi.dtype.type(0), pi.size
    for turn in range(1 if together else 4):
        for i in range(0, quarter, length):
            n = min(length, quarter - i)
            a = turn * quarter + i
            b = a + quarter if together else 4 * quarter
            c, d = (b + quarter, b + 2 * quarter) if together else (b, b)
            out += _bernoulli_kl(
                flat(rho, a, a + n), flat(rho, b, b + n), flat(rho, c, c + n), flat(rho, d, d + n),
                flat(decay, a, a + n), flat(decay, b, b + n), flat(decay, c, c + n), flat(decay, d, d + n),
                flat(pi, 0, n), flat(not_pi, 0, n))
    return out


@inlined
def _fold_largest(best, best_row, largest, where):
    for k in range(wide(best.size)):
        # Without the branches of "or" and "and", so that it vectorizes.
        new = (best[k] > largest[k]) | ((best[k] == largest[k]) & (best_row[k] < where[k]))
        largest[k] = best[k] if new else largest[k]
        where[k] = best_row[k] if new else where[k]


@inlined
def _span(block, blocks, size, K):
    """Return where a block of whole rows begins and ends; some are a row longer than others."""
    D = size // K
    return block * D // blocks * K, (block + 1) * D // blocks * K


@compiled
def forward(
    turns, eps, logistic, mu, log_sigma, rho, sticks, together, inverse_tau, bernoulli, row, w, z, largest,
    where, divergence,
):
    """Sample some blocks; D and K are one axis, but in ``largest`` and ``where``, (B, S, K).

    ``divergence`` is (B, S).
    """
    (S, length), (blocks, _, K), dtype = sticks.shape[1:], largest.shape, w.dtype
    rows = mu.size // K // blocks + 1                        # of a block, at most
    longest, padded = rows * K, (rows + 3) // 4 * 4 * K + length
    all_sigma, offset, decay = np.empty(longest, dtype), np.empty(padded, dtype), np.empty(padded, dtype)
    best, best_row = np.empty(length, dtype), np.empty(length, dtype)
    while another(turns):
        for block in range(turns[BEGIN], turns[END]):
            begin, end = _span(block, blocks, mu.size, K)
            sigma, size = flat(all_sigma, 0, end - begin), end - begin
            _exp(flat(log_sigma, begin, end), dtype.type(1), sigma)
            fill(0, offset)
            loops.copy(flat(rho, begin, end), flat(offset, 0, size))
            _decay(offset, decay)
            quarter = (size // K + 3) // 4 * K
            for s in range(S):
                logit_pi, pi, not_pi = sticks[0, s], sticks[1, s], sticks[2, s]
                fill(-1, best)                               # a mask is not negative
                fill(0, best_row)
                first, last = s * mu.size + begin, s * mu.size + end
                normals, logistics = flat(eps, first, last), flat(logistic, first, last)
                weights, masks = flat(w, first, last), flat(z, first, last)
                for i in range(0, end - begin, length):
                    j = min(i + length, end - begin)
                    mask = flat(masks, i, j)
                    _mask(flat(logistics, i, j), flat(offset, i, j), logit_pi, inverse_tau, mask)
                    _weight(flat(normals, i, j), flat(mu, begin + i, begin + j), flat(sigma, i, j), mask,
                            flat(weights, i, j))
                    _largest(mask, row, dtype.type((begin + i) // K), best, best_row)
                fill(-1, largest[block, s])
                fill(0, where[block, s])
                for i in range(0, length, K):
                    _fold_largest(flat(best, i, i + K), flat(best_row, i, i + K), largest[block, s], where[block, s])
                if bernoulli:
                    divergence[block, s] = _block_kl(offset, decay, quarter, pi, not_pi, together[s])


@compiled
def combine(largest, where, partial, activity, rows, divergence):
    """Find the largest of all blocks, the first of equals, and add up their divergences."""
    for s in range(activity.shape[0]):
        fill(0, activity[s])
        fill(0, rows[s])
        total = 0.0
        for block in range(largest.shape[0]):
            _fold_largest(largest[block, s], where[block, s], activity[s], rows[s])
            total += partial[block, s]
        divergence[s] = total


@inlined
def _gradients(dw, w, z, mu, inverse_tau, dmu, dlog_sigma, dlogit):
    one = z.dtype.type(1)
    for i in range(wide(dlogit.size)):
        by_value, by_weight = dw[i] * z[i], dw[i] * w[i]
        dmu[i] += by_value
        dlog_sigma[i] += by_weight - by_value * mu[i]
        dlogit[i] = by_weight * (one - z[i]) * inverse_tau


@compiled
def add_activity(dactivity, activity, rows, inverse_tau, partial, dlogit, drho, dlogit_pi):
    """Add up the blocks' gradients at the sticks, and add those at the masks that are the activity, (S, K).

    The activity of column k is its mask in row ``rows[s, k]``; ``dlogit`` (S, K) is scratch, so that the products are
    not fused with the sums that take them, which would round once less.
    """
    (blocks, S, K), one = partial.shape, activity.dtype.type(1)
    for s in range(S):
        for k in range(K):
            z = activity[s, k]
            dlogit[s, k], dlogit_pi[s, k] = dactivity[s, k] * z * (one - z) * inverse_tau, 0
            for block in range(blocks):
                dlogit_pi[s, k] += partial[block, s, k]
    for s in range(S if drho.size > 0 else 0):
        for k in range(K):
            dlogit_pi[s, k] += dlogit[s, k]
            drho[int(rows[s, k]), k] += dlogit[s, k]


@inlined
def _posterior(odds_against_rho, odds_against_pi, theta):
    one = theta.dtype.type(1)
    for i in range(wide(theta.size)):                        # sigmoid(rho + logit_pi), by e^(x + y) = e^x e^y
        theta[i] = one / (one + odds_against_rho[i] * odds_against_pi[i])


@inlined
def _bernoulli_kl_vjp(ddivergence, theta, rho, dlogit, drho):
    one = theta.dtype.type(1)
    for i in range(wide(dlogit.size)):
        dlogit[i] += ddivergence * theta[i] * (one - theta[i]) * rho[i]
        drho[i] += dlogit[i]


@inlined
def _sticks(ddivergence, theta, pi, dlogit, dlogit_pi):
    for i in range(wide(dlogit.size)):
        dlogit_pi[i] += dlogit[i] + ddivergence * (pi[i] - theta[i])


@compiled
def backward(
    turns, dw, ddivergence, w, z, mu, rho, sticks, inverse_tau, dmu, dlog_sigma, drho, dlogit_pi
):
    """Write the gradients of some blocks; ``dlogit_pi``, (B, S, K), gets one partial sum a block.

    ``ddivergence`` is the gradient at the Bernoulli divergence, zero if another one is used.
    """
    (S, length), (blocks, _, K), dtype = sticks.shape[1:], dlogit_pi.shape, dw.dtype
    odds_against_rho = np.empty((mu.size // K // blocks + 1) * K, dtype)
    dlogit, theta, dsticks = np.empty(length, dtype), np.empty(length, dtype), np.empty(length, dtype)
    while another(turns):
        for block in range(turns[BEGIN], turns[END]):
            begin, end = _span(block, blocks, mu.size, K)
            _exp(flat(rho, begin, end), dtype.type(-1), flat(odds_against_rho, 0, end - begin))
            for gradient in (dmu, dlog_sigma, drho):
                fill(0, flat(gradient, begin, end))
            for s in range(S):
                pi, odds_against_pi = sticks[1, s], sticks[3, s]
                fill(0, dsticks)
                for i in range(begin, end, length):
                    j = min(i + length, end)
                    first, last = s * mu.size + i, s * mu.size + j
                    by_logit, by_rho = flat(dlogit, 0, j - i), flat(drho, i, j)
                    _gradients(flat(dw, first, last), flat(w, first, last), flat(z, first, last), flat(mu, i, j),
                               inverse_tau, flat(dmu, i, j), flat(dlog_sigma, i, j), by_logit)
                    _posterior(flat(odds_against_rho, i - begin, j - begin), odds_against_pi, flat(theta, 0, j - i))
                    _bernoulli_kl_vjp(ddivergence[s], theta, flat(rho, i, j), by_logit, by_rho)
                    _sticks(ddivergence[s], theta, pi, by_logit, dsticks)
                fill(0, dlogit_pi[block, s])
                for i in range(0, length, K):
                    loops.add(flat(dsticks, i, i + K), dlogit_pi[block, s])


def _flat(arrays):
    """Join the axes D and K, the last two of each array."""
    return [array.reshape(*array.shape[:-2], array.shape[-2] * array.shape[-1]) for array in arrays]


@compiled
def follow(logit_pi, odds_against, out, together):
    """Write what follows from the sticks (S, K) to the first rows of ``out`` (4, S, rows, K).

    First ``logit_pi``, then pi, 1 - pi (by itself: a difference would lose its digits near pi = 1), and (1 - pi) / pi.
    ``together`` (S,) says of which samples quarters may be taken together.
    """
    one = out.dtype.type(1)
    for s in range(logit_pi.shape[0]):
        together[s] = True
        for k in range(logit_pi.shape[1]):
            odds = odds_against[s, k]
            pi = one / (one + odds)
            out[0, s, 0, k], out[1, s, 0, k], out[2, s, 0, k], out[3, s, 0, k] = logit_pi[s, k], pi, odds * pi, odds
            together[s] &= abs(logit_pi[s, k]) < TOGETHER


def _tiles(logit_pi, rows):
    """Return what :func:`follow` writes, so many times, as (4, S, rows * K), and which samples may be taken together.

    In all but the first, and so in the divergence, log-odds end where these would not be normal numbers: at 86.9 in
    float32, 704.8 in float64.
    """
    S, K = logit_pi.shape
    limit, out, together = LIMITS[logit_pi.dtype], np.empty((4, S, rows, K), logit_pi.dtype), np.empty(S, bool)
    follow(logit_pi, np.exp(np.minimum(np.maximum(-logit_pi, -limit), limit)), out, together)
    out[:, :, 1:] = out[:, :, :1]
    return out.reshape(4, S, rows * K), together


@functools.lru_cache(maxsize=256)
def _row_numbers(rows, K, dtype):
    """Return the number of its row for each element of a strip of so many rows."""
    return np.repeat(np.arange(rows, dtype=dtype), K)


def _blocks(D, K):
    return min(D, -(-D // (EVEN * ROWS)) * EVEN) if K > 0 else 0


def sample(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    """Draw masked weights, their activity and divergence: the twin of :func:`primitives.masked_weights.sample`.

    The inputs must be float32 or float64.
    """
    if mask_kl not in ("bernoulli", "concrete"):
        raise ValueError(f"masked_weights.sample: mask_kl must be 'bernoulli' or 'concrete', got {mask_kl!r}")
    eps, logistic, mu, log_sigma, rho, logit_pi = as_arrays(
        "masked_weights.sample", eps, logistic, mu, log_sigma, rho, logit_pi)
    (S, D, K), dtype = eps.shape, eps.dtype
    blocks, bernoulli = _blocks(D, K), mask_kl == "bernoulli"
    w, z = empty((S, D, K), dtype), empty((S, D * K), dtype)
    largest, where = empty((blocks, S, K), dtype), empty((blocks, S, K), dtype)
    partial = np.zeros((blocks, S), dtype)
    inverse_tau = dtype.type(1 / tau)
    per_strip = max(STRIP // max(K, 1), 1)
    sticks, together = _tiles(logit_pi, per_strip)
    threads.run(
        forward, blocks, *_flat((eps, logistic, mu, log_sigma, rho)), sticks, together, inverse_tau,
        bernoulli, _row_numbers(per_strip, K, dtype), w.reshape(S, D * K), z, largest, where, partial)
    (activity, rows), divergence = np.empty((2, S, K), dtype), np.empty(S, dtype)
    combine(largest, where, partial, activity, rows, divergence)
    if not bernoulli:                                        # a function of rho alone, the same for each sample
        divergence[:] = logistic_divergence.value(rho).sum(dtype=np.float64)
    return (w, activity, divergence), (w, z, mu, rho, sticks, inverse_tau, bernoulli, activity, rows)


def sample_vjp(dout, cache):
    """Pull the gradients back to ``mu, log_sigma, rho, logit_pi``: twin of ``primitives.masked_weights.sample_vjp``."""
    w, z, mu, rho, sticks, inverse_tau, bernoulli, activity, rows = cache
    (S, D, K), dtype = w.shape, w.dtype
    dw, dactivity, ddivergence = (np.ascontiguousarray(d, dtype) for d in dout)
    blocks = _blocks(D, K)
    dmu, dlog_sigma, drho = (empty((D, K), dtype) for _ in range(3))
    partial = empty((blocks, S, K), dtype)
    threads.run(
        backward, blocks, dw.reshape(S, D * K), ddivergence * dtype.type(bernoulli), w.reshape(S, D * K), z,
        *_flat((mu, rho)), sticks, inverse_tau, *_flat((dmu, dlog_sigma, drho)), partial)
    dlogit, dlogit_pi = np.empty((2, S, K), dtype)
    add_activity(dactivity, activity, rows, inverse_tau, partial, dlogit, drho, dlogit_pi)
    if not bernoulli:                                        # the sticks cancel in this divergence
        drho += ddivergence.sum() * logistic_divergence.slope(rho)
    return dmu, dlog_sigma, drho, dlogit_pi
