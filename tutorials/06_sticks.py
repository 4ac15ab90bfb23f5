# %% [markdown]
# # 2. Breaking sticks, and the Kumaraswamy distribution
#
# A network that learns many tasks should not use all of itself for the first one.  The *Indian buffet process* (IBP) is
# a prior over masks, arrays of zeros and ones that switch weights on and off, which uses the first units readily and
# later ones more and more rarely.  It is built by breaking a stick.  This tutorial goes
#
# 1. from the stick to the probabilities $\pi_k$ and to masks drawn from the prior;
# 2. to the posterior of a stick, which is a Kumaraswamy distribution: its sample and the sample's gradient;
# 3. to the KL divergence between the two, derived line by line.  One of its terms is printed wrongly in the paper, and
#    we shall see it fail.
#
# The paper is Kumar, Chatterjee and Rai, "Bayesian Structure Adaptation for Continual Learning".  Names: `S` samples,
# `K` units, `D` inputs; `a`, `b` belong to the posterior of a stick, `alpha` to its prior; `u` is uniform noise.  If
# the words *reparameterization*, *cotangent* or *complex step* are new to you, begin with tutorial 1.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.special import digamma

from ibpcl.primitives import kumaraswamy, stick_breaking
from ibpcl.verify import check

rng = np.random.default_rng(2)

# %% [markdown]
# ## The stick
#
# Take a stick of length one.  Break it and keep the share $v_1$; break what you kept and keep the share $v_2$ of it;
# and so on.  What is left after $k$ breaks is the probability that a weight into unit $k$ is on (Eqs. 3 and 4 of the
# paper):
#
# $$ v_k \sim \mathrm{Beta}(\alpha, 1), \qquad \pi_k = \prod_{i=1}^{k} v_i, \qquad
#    B_{dk} \sim \mathrm{Bernoulli}(\pi_k). $$
#
# Every $v_i$ is below one, so $\pi_1 > \pi_2 > \dots$: the units are ordered, and every task draws on the same first
# units first.  A large $\alpha$ breaks off little at a time, so that many units stay likely.
#
# First we need draws of $v$.  The density of Beta($\alpha$, 1) is $p(v) = \alpha v^{\alpha - 1}$, so its distribution
# function is $F(v) = \int_0^v \alpha t^{\alpha - 1} dt = v^\alpha$.  If $u$ is uniform on (0, 1), then $F^{-1}(u)$ has
# the distribution function $P(F^{-1}(u) \le v) = P(u \le F(v)) = F(v)$.  That is *inverting the CDF*, and here it reads
#
# $$ v = u^{1/\alpha}, \qquad \log v = \frac{\log u}{\alpha}. $$
#
# The loop, the vectorized form and the package's function:

# %%
S, K, alpha = 3, 6, 4.0
u = rng.uniform(size=(S, K))


def probabilities_loop(u, alpha):
    pi = np.zeros((S, K))
    for s in range(S):
        left = 1.0
        for k in range(K):
            left = left * u[s, k] ** (1 / alpha)
            pi[s, k] = left
    return pi


pi_loop = probabilities_loop(u, alpha)
pi_vectorized = np.cumprod(u ** (1 / alpha), axis=-1)
log_pi, _ = stick_breaking.log_probabilities(np.log(u) / alpha)
print("pi of the first sample  :", pi_loop[0].round(4))
print("largest difference, loop and vectorized:", np.abs(pi_loop - pi_vectorized).max())
print("largest difference, loop and package   :", np.abs(pi_loop - np.exp(log_pi)).max())

# %% [markdown]
# ### Why logarithms
#
# The package adds logarithms, $\log\pi_k = \sum_{i \le k} \log v_i$, instead of multiplying sticks.  A product of many
# small numbers leaves the range of floating point and becomes zero; the sum of their logarithms is a modest negative
# number.  In float32, in which networks are trained, with a small $\alpha$:

# %%
small = np.random.default_rng(0).uniform(size=200).astype(np.float32)
product = np.cumprod(small ** np.float32(1 / 0.5))
in_logs, _ = stick_breaking.log_probabilities(np.log(small) / np.float32(0.5))
for k in (1, 10, 50, 200):
    print(f"pi_{k:<3d} as a product {product[k - 1]:10.3e}   log pi_{k:<3d} as a sum {in_logs[k - 1]:9.2f}")

# %% [markdown]
# Once $\pi_k$ is zero, its logarithm is minus infinity and its gradient is lost.  Hence the rule: carry logs, and
# exponentiate last, if at all.
#
# The gradient is short.  Stick $i$ is a term of $\log\pi_k$ for every $k \ge i$, each with the derivative one; the
# chain rule adds up these paths:
#
# $$ \frac{\partial L}{\partial \log v_i} = \sum_{k \ge i} \frac{\partial L}{\partial \log\pi_k}. $$
#
# A cumulative sum forwards in the forward is a cumulative sum backwards in the gradient.

# %%
print(check(stick_breaking.log_probabilities, stick_breaking.log_probabilities_vjp, (np.log(u) / alpha,)))

# %% [markdown]
# ## What the prior expects
#
# The mean of one stick is $\mathbb E[v] = \int_0^1 v\, \alpha v^{\alpha - 1} dv = \frac{\alpha}{\alpha + 1}$.  The
# sticks are independent, so the mean of their product is the product of their means:
#
# $$ \mathbb E[\pi_k] = r^k, \qquad r = \frac{\alpha}{\alpha + 1}. $$
#
# A row of the mask has $\sum_k \mathbb E[\pi_k]$ weights on, on average.  That is a geometric sum, $r + r^2 + \dots +
# r^K = r \frac{1 - r^K}{1 - r}$, and since $1 - r = \frac{1}{\alpha + 1}$, the factor $\frac{r}{1 - r}$ is just
# $\alpha$:
#
# $$ \sum_{k=1}^{K} \mathbb E[\pi_k] = \alpha \bigl(1 - r^K\bigr). $$
#
# The paper reports (Sec. 6.3) that the first task uses "a maximum of around 15 % incoming connections", with $\alpha =
# 30$ and $K = 200$ units.  What does the prior alone say, before any data?

# %%
units, concentration = 200, 30.0
by_loop, term = 0.0, 1.0
for _ in range(units):
    term *= concentration / (concentration + 1)
    by_loop += term
print(f"loop    {by_loop:.6f} of {units} weights")
print(f"package {stick_breaking.expected_weights(concentration, units):.6f} of {units} weights")
print(f"share   {stick_breaking.expected_weights(concentration, units) / units:.2%}")

masks, log_pi = stick_breaking.sample_prior(rng.uniform(size=(200, units)), rng.uniform(size=(200, 50, units)),
                                            concentration)
share = masks.mean(axis=(1, 2))
print(f"share in {share.size} drawn masks: {share.mean():.2%} +- {share.std() / np.sqrt(share.size):.2%}")

# %% [markdown]
# So the figure is one that the prior brings along, and not a discovery about images.  (This does not make it wrong; it
# says whom to thank.)
#
# The picture: on the left the probabilities of single draws around their mean, on the right two masks from the prior.

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=(1.2, 1, 1))
index = np.arange(1, units + 1)
left.plot(index, np.exp(log_pi[:25]).T, color="C0", alpha=0.3, linewidth=0.9)
left.plot([], [], color="C0", alpha=0.5, label="25 draws")
left.plot(index, (concentration / (concentration + 1)) ** index, color="C1", linewidth=2.5, label="mean, r^k")
left.set(xlabel="unit k", ylabel="pi_k", title="The stick gets shorter")
left.legend()
for axes, mask, strength in ((middle, masks[0], concentration),
                             (right, stick_breaking.sample_prior(rng.uniform(size=(1, units)),
                                                                 rng.uniform(size=(1, 50, units)), 5.0)[0][0], 5.0)):
    axes.imshow(mask, cmap="Greys", aspect="auto", interpolation="nearest", extent=(0.5, units + 0.5, 50.5, 0.5))
    axes.set(xlabel="unit k", ylabel="input d", title=f"A mask, alpha = {strength:g}: {mask.mean():.1%} on")
plt.show()

# %% [markdown]
# ## The posterior of a stick: why not a Beta?
#
# Learning must be able to move the sticks.  The main text of the paper writes a Beta(a, b) posterior.  To use its
# samples we would again invert a distribution function, but that of Beta(a, b) is the incomplete beta function
#
# $$ F(v) = \frac{1}{B(a, b)} \int_0^v t^{a - 1} (1 - t)^{b - 1} dt, $$
#
# which has no inverse in closed form: no formula for the sample, and none for its derivative with respect to $a$ and
# $b$.  The supplement therefore takes a distribution that looks like a Beta and *starts* from a function that can be
# inverted (Kumaraswamy, 1980):
#
# $$ F(v) = 1 - (1 - v^a)^b, \qquad 0 < v < 1, \quad a, b > 0. $$
#
# Its derivative is the density.  The inner derivative of $1 - v^a$ is $-a v^{a - 1}$, and the two minus signs cancel:
#
# $$ q(v) = a b\, v^{a - 1} (1 - v^a)^{b - 1}. $$
#
# For $b = 1$ this is $a v^{a - 1}$, the density of Beta(a, 1): our prior is a member of the family.  For $a = 1$ it is
# Beta(1, b).  In between, it is close to a Beta but not equal.
#
# To sample, solve $1 - (1 - v^a)^b = u'$: first $(1 - v^a)^b = 1 - u'$, then $v^a = 1 - (1 - u')^{1/b}$.  Since $1 -
# u'$ is as uniform as $u'$, call it $u$:
#
# $$ v = \bigl(1 - u^{1/b}\bigr)^{1/a}, \qquad \log v = \frac1a \log\bigl(1 - e^s\bigr), \qquad s = \frac{\log u}{b}. $$

# %%
a = np.array([0.5, 1.0, 5.0, 31.0])
b = np.array([0.7, 3.0, 1.0, 2.0])
S, K = 8, a.size
u = rng.uniform(size=(S, K))


def sample_loop(u, a, b):
    log_v = np.zeros((S, K))
    for s in range(S):
        for k in range(K):
            log_v[s, k] = np.log((1 - u[s, k] ** (1 / b[k])) ** (1 / a[k]))
    return log_v


log_v_vectorized = np.log(1 - u ** (1 / b)) / a
log_v, cache = kumaraswamy.sample(u, a, b)
print("largest difference, loop and vectorized:", np.abs(sample_loop(u, a, b) - log_v_vectorized).max())
print("largest difference, loop and package   :", np.abs(sample_loop(u, a, b) - log_v).max())

# %% [markdown]
# ### Why the package writes it differently
#
# `kumaraswamy.sample` calls `log1mexp(s)`, which is $\log(1 - e^s)$, made to keep its digits at both ends.  Where $u$
# is near one, $u^{1/b}$ is as well, and $1 - u^{1/b}$ is a subtraction of nearly equal numbers.  Where the inner
# logarithm is a tiny number, $1 - \text{tiny}$ rounds to one.  In float32, against the same formula in float64:

# %%
print("        u     b   log v in float64   plain, float32   package, float32")
for u_one, b_one in ((0.5, 2.0), (0.9999, 2.0), (0.999999, 2.0), (0.5, 1e6), (0.5, 1e8), (1e-6, 0.5)):
    reference = kumaraswamy.sample(np.float64(np.float32(u_one))[None], np.ones(1), np.full(1, b_one))[0]
    u32, b32, one = np.float32(u_one)[None], np.float32(b_one)[None], np.ones(1, np.float32)
    with np.errstate(divide="ignore"):                   # the plain form takes the logarithm of zero
        plain = np.log((1 - u32 ** (1 / b32)) ** (1 / one))
    print(f"{u_one:9g} {b_one:5g}   {reference[0]:16.7e}   {plain[0]:14.5e}   "
          f"{kumaraswamy.sample(u32, one, b32)[0][0]:16.5e}")

# %% [markdown]
# These are not just inexact values: where $\log v$ is rounded to zero or to minus infinity, the gradient, derived next,
# is zero or infinite as well, since it contains $\log v$ and divides by $1 - e^s = v^a$.
#
# ## The gradient of the sample
#
# With respect to $a$: only the factor $1/a$ contains it, and $\frac{d}{da} \frac1a = -\frac{1}{a^2}$, so
#
# $$ \frac{\partial \log v}{\partial a} = -\frac{1}{a^2} \log(1 - e^s) = -\frac{\log v}{a}. $$
#
# With respect to $b$, in two steps.  The outer function has $\frac{d}{ds} \log(1 - e^s) = \frac{-e^s}{1 - e^s}$.  The
# inner one is $s = \log u \cdot b^{-1}$, with $\frac{ds}{db} = -\frac{\log u}{b^2} = -\frac sb$.  Multiply:
#
# $$ \frac{\partial \log v}{\partial b} = \frac1a \cdot \frac{-e^s}{1 - e^s} \cdot \Bigl(-\frac sb\Bigr)
#    = \frac{s}{a b} \cdot \frac{e^s}{1 - e^s}. $$
#
# Since $1 - e^s = v^a$, the last fraction is $e^{s - a \log v}$: one exponential of a difference, in place of a
# quotient of two numbers that may both be tiny.  Finally `a` and `b` have shape `(K,)` and were broadcast over `S`
# samples, so both gradients are summed over axis 0.

# %%
def sample_vjp_loop(dlog_v, u, a, b):
    da, db = np.zeros(K), np.zeros(K)
    for s in range(S):
        for k in range(K):
            inner = u[s, k] ** (1 / b[k])                # e^s
            log_v = np.log(1 - inner) / a[k]
            da[k] += dlog_v[s, k] * -log_v / a[k]
            db[k] += dlog_v[s, k] * np.log(u[s, k]) / b[k] / (a[k] * b[k]) * inner / (1 - inner)
    return da, db


dlog_v = rng.standard_normal((S, K))
da, db = kumaraswamy.sample_vjp(dlog_v, cache)
da_loop, db_loop = sample_vjp_loop(dlog_v, u, a, b)
print(f"largest difference, loop and package: {max(np.abs(da - da_loop).max(), np.abs(db - db_loop).max()):.1e}\n")

# %% [markdown]
# The proof by complex step: $f(b + ih) = f(b) + ih f'(b) - \dots$, so the imaginary part divided by $h$ is the
# derivative, without any subtraction.  Two lines for one entry, then `check` for all of them.  (`log1mexp` takes
# complex numbers on purpose.)

# %%
h, step = 1e-20, np.array([0, 0, 0, 1])
by_complex_step = np.sum(dlog_v * kumaraswamy.sample(u, a, b + 1j * h * step)[0]).imag / h
print(f"derived by hand {db[3]:.16f}\ncomplex step    {by_complex_step:.16f}\n")
print(check(kumaraswamy.sample, kumaraswamy.sample_vjp, (u, a, b), wrt=("a", "b")))

# %% [markdown]
# ### A mistake, and how it is caught
#
# The inner derivative is $-\log u / b^2 = -s / b$.  With $s$ already in the cache, one division by $b$ is easily lost:

# %%
def hasty_vjp(dlog_v, cache):
    s, a, _, log_v = cache
    da = -dlog_v * log_v / a
    db = dlog_v * s * np.exp(s - a * log_v) / a          # one division by b is missing
    return da.sum(axis=0), db.sum(axis=0)


print(check(kumaraswamy.sample, hasty_vjp, (u, a, b), wrt=("a", "b")))

# %% [markdown]
# The report knows that `a` is right and says what is missing in `b`.
#
# ## The KL divergence to the prior
#
# Now the divergence of $q$ = Kumaraswamy(a, b) from $p$ = Beta($\alpha$, 1).  From the definition,
#
# $$ KL = \mathbb E_q[\log q(v) - \log p(v)]
#    = \mathbb E_q\bigl[\log(ab) + (a - 1)\log v + (b - 1)\log(1 - v^a) - \log\alpha - (\alpha - 1)\log v\bigr]. $$
#
# Collect the two terms with $\log v$, since $(a - 1) - (\alpha - 1) = a - \alpha$:
#
# $$ KL = \log\frac{ab}{\alpha} + (a - \alpha)\,\mathbb E_q[\log v] + (b - 1)\,\mathbb E_q[\log(1 - v^a)]. $$
#
# Two expectations are left.
#
# **The second one.**  Our sampler says $v^a = 1 - u^{1/b}$, so $1 - v^a = u^{1/b}$ and $\log(1 - v^a) = \frac1b \log
# u$.  For a uniform $u$, $\mathbb E[\log u] = \int_0^1 \log u\, du = [u \log u - u]_0^1 = -1$.  So
# $\mathbb E_q[\log(1 - v^a)] = -\frac1b$, and this term of the KL is
#
# $$ (b - 1) \cdot \Bigl(-\frac1b\Bigr) = -\frac{b - 1}{b}. $$
#
# **The first one.**  Let $w = 1 - v^a = u^{1/b}$.  Its distribution function is $P(u^{1/b} \le w) = w^b$, its density
# $b w^{b - 1}$.  Since $\log v = \frac1a \log(1 - w)$, we need $\int_0^1 b w^{b - 1} \log(1 - w)\, dw$.  Integrate by
# parts, with $w^b - 1$ as the antiderivative of $b w^{b - 1}$ (the $-1$ makes it vanish at $w = 1$, where the logarithm
# does not exist):
#
# $$ \int_0^1 b w^{b - 1} \log(1 - w)\, dw = \underbrace{\bigl[(w^b - 1) \log(1 - w)\bigr]_0^1}_{0}
#    - \int_0^1 (w^b - 1) \cdot \frac{-1}{1 - w}\, dw = -\int_0^1 \frac{1 - w^b}{1 - w}\, dw. $$
#
# For a whole number $b$ the fraction is $1 + w + \dots + w^{b - 1}$ and the integral is $1 + \frac12 + \dots +
# \frac1b$, a harmonic number.  For any $b > 0$ it is $\gamma + \psi(b + 1)$, with Euler's constant $\gamma$ and the
# digamma function $\psi$; this is Euler's integral for harmonic numbers.  (It fits: raising $b$ by one adds
# $\int_0^1 w^b\, dw = \frac{1}{b + 1}$ on either side.)  With $\psi(b + 1) = \psi(b) + \frac1b$,
#
# $$ \mathbb E_q[\log v] = -\frac1a \Bigl(\gamma + \psi(b) + \frac1b\Bigr). $$
#
# The whole:
#
# $$ KL = \frac{a - \alpha}{a} \Bigl(-\gamma - \psi(b) - \frac1b\Bigr) + \log\frac{ab}{\alpha} - \frac{b - 1}{b}. $$

# %%
print("   b   integral of (1 - w^b) / (1 - w)   gamma + psi(b + 1)")
for b_one in (0.5, 1.0, 2.0, 3.0, 4.7):
    integral = quad(lambda w, b=b_one: -np.expm1(b * np.log(w)) / (1 - w), 0, 1)[0]
    print(f"{b_one:4.1f}   {integral:31.12f}   {np.euler_gamma + digamma(b_one + 1):18.12f}")

# %% [markdown]
# ### The paper's printed term
#
# The paper's formula has $-\frac{b}{1 - b}$ in the place of our $-\frac{b - 1}{b}$.  Which one is right?  We do not
# have to believe anybody: the definition is an integral, and an integral can be computed.  Below it is taken over $t =
# -\log v$, straight from the two densities, using no step of the derivation.

# %%
def kl_by_quadrature(a, b, alpha):
    def integrand(t):                                    # v = e^-t, dv = e^-t dt
        log_q = kumaraswamy.log_density(-t, a, b)[0]
        log_p = np.log(alpha) - (alpha - 1) * t
        return np.exp(log_q - t) * (log_q - log_p)
    middle, far = 1 / a, 60 / a + 60 / alpha             # most of the mass is near 1 / a; nothing is beyond far
    pieces = quad(integrand, 0, middle, epsabs=1e-11, limit=200), quad(integrand, middle, far, epsabs=1e-11, limit=200)
    return sum(value for value, _ in pieces)


def kl_derived(a, b, alpha):
    mean_log_v = -(np.euler_gamma + digamma(b) + 1 / b) / a
    return np.log(a * b / alpha) + (a - alpha) * mean_log_v - (b - 1) / b


def kl_printed(a, b, alpha):
    with np.errstate(divide="ignore"):                   # at b = 1 the printed term divides by zero
        return kl_derived(a, b, alpha) + (b - 1) / b - np.divide(b, 1 - b)


print("   a      b   alpha   quadrature      derived      package      printed")
for case in ((2.0, 3.0, 1.5), (31.0, 2.0, 30.0), (57.0, 0.74, 30.0), (5.0, 0.5, 30.0), (30.0, 1.0, 30.0)):
    a_one, b_one, alpha_one = (np.array([number]) for number in case)
    package = kumaraswamy.kl_to_beta(a_one, b_one, alpha_one)[0]
    print(f"{case[0]:4g} {case[1]:6g} {case[2]:7g} {kl_by_quadrature(*case):12.6f} {kl_derived(*case):12.6f} "
          f"{package:12.6f} {kl_printed(*case):12.6f}")

# %% [markdown]
# The derived form agrees with the integral everywhere.  The printed one is off in every row, gives negative values,
# which no KL divergence can have, and in the last row, where the two distributions are equal and the divergence must be
# zero, it does not even exist.  A test that costs nothing and finds such things: *look at the value where you know it.*

# %%
figure, axes = plt.subplots(figsize=(7.2, 4), layout="constrained")
line = np.concatenate([np.linspace(0.3, 0.995, 200), [np.nan], np.linspace(1.005, 4, 300)])
dots = np.array([0.35, 0.5, 0.74, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5])
axes.plot(line, kl_derived(30.0, line, 30.0), color="C0", linewidth=2, label="derived: -(b - 1) / b")
axes.plot(line, kl_printed(30.0, line, 30.0), color="C1", linewidth=2, label="as printed: -b / (1 - b)")
axes.plot(dots, [kl_by_quadrature(30.0, one, 30.0) for one in dots], "o", color="black", markersize=5,
          label="quadrature of the definition")
axes.axhline(0, color="0.6", linewidth=0.8)
axes.axvline(1, color="0.6", linewidth=0.8, linestyle=":")
axes.annotate("q = p here", (1, 0), xytext=(1.25, -1.6), arrowprops={"arrowstyle": "->"})
axes.set(xlabel="b", ylabel="KL in nats", ylim=(-4, 6), title="KL from Beta(30, 1), with a = 30: one term decides")
axes.legend()
plt.show()

# %% [markdown]
# ## The gradient of the KL
#
# Write $c = -\gamma - \psi(b) - \frac1b$, which contains $b$ only, and $\frac{a - \alpha}{a} = 1 - \frac\alpha a$.
#
# * **At $a$**: $\frac{d}{da}\bigl(1 - \frac\alpha a\bigr) = \frac{\alpha}{a^2}$, and $\log a$ gives $\frac1a$.
#   Together $\frac{\alpha c}{a^2} + \frac1a$.
# * **At $b$**: $\frac{dc}{db} = -\psi'(b) + \frac{1}{b^2}$, where $\psi'$ is the trigamma function; $\log b$ gives
#   $\frac1b$; and $-\frac{b - 1}{b} = -1 + \frac1b$ gives $-\frac{1}{b^2}$.  Together $\frac{a - \alpha}{a}
#   \bigl(\frac{1}{b^2} - \psi'(b)\bigr) + \frac1b - \frac{1}{b^2}$.
# * **At $\alpha$**: $-\frac ca$ from the first term, $-\frac1\alpha$ from $-\log\alpha$.
#
# At $a = \alpha$, $b = 1$ the divergence is at its minimum.  There $c = -\gamma - \psi(1) - 1 = -1$, because $\psi(1) =
# -\gamma$, and all three vanish; look at it in the last line below.

# %%
a_far, b_far = np.array([0.5, 4.0, 20.0, 31.0]), np.array([0.7, 3.0, 1.2, 2.0])
alphas = np.array([2.0, 3.0, 30.0, 30.0])
_, cache = kumaraswamy.kl_to_beta(a_far, b_far, alphas)
h, step = 1e-20, np.array([0, 1, 0, 0])
by_complex_step = kumaraswamy.kl_to_beta(a_far, b_far + 1j * h * step, alphas)[0].imag / h
print(f"derived by hand {kumaraswamy.kl_to_beta_vjp(1.0, cache)[1][1]:.16f}\ncomplex step    {by_complex_step:.16f}\n")
print(check(kumaraswamy.kl_to_beta, kumaraswamy.kl_to_beta_vjp, (a_far, b_far, alphas)))
_, cache = kumaraswamy.kl_to_beta(np.array([30.0]), np.array([1.0]), np.array([30.0]))
print("\nat q = p:", *(f"{one[0]:.1e}" for one in kumaraswamy.kl_to_beta_vjp(1.0, cache)))

# %% [markdown]
# ## Exercises
#
# 1. **How close is the relative?**  Draw Kumaraswamy(a, b) over Beta(a, b) for a few pairs.  Where do they differ most?
#    *Hint:* `np.exp(kumaraswamy.log_density(np.log(v), a, b)[0])` and `scipy.stats.beta.pdf`.  Start with a = b = 2,
#    and a = 1.
# 2. **The expected log-stick.**  A posterior with $a = \alpha + 1$, $b = 2$ looks like a natural place to start.  Does
#    it keep more units or fewer than the prior?  *Hint:* compare $\mathbb E_q[\log v]$, derived above, with the
#    prior's, which is the case $a = \alpha$, $b = 1$; then think of $\log\pi_{200}$ as a sum of 200 such terms.
# 3. **Another slip.**  Write a version of the KL with its gradient in which $\mathbb E[\log u] = -1$ is replaced by
#    $0$. Does `check` find a mistake in the pair?  Should it?  What finds it, then?  *Hint:* what exactly does a
#    gradient check compare, and what did the table against the quadrature compare?
