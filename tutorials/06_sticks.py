# %% [markdown] slideshow={"slide_type": "slide"}
# # 6. Sticks, and the Kumaraswamy distribution
#
# The prior of the masks is built by breaking a stick (tutorial 5). Learning must be
# able to move the sticks, so a stick gets a posterior: a Kumaraswamy distribution,
# because one can differentiate its samples. This tutorial derives the sample, its
# gradient, and the KL divergence to the prior. One term of that divergence is printed
# wrongly in the paper (Kumar, Chatterjee and Rai), and we will see it fail.
#
# **Prerequisites:** tutorials 2, 3 and 5; integration by parts. **Time:** about 60
# minutes.
#
# **You will be able to**
#
# - carry probabilities as logarithms, and explain what is lost otherwise;
# - sample a Kumaraswamy stick and derive its gradient, in a form that neither overflows
#   nor cancels;
# - derive the KL divergence to a Beta prior line by line, and find a misprint by
#   quadrature;
# - check a formula where its value is known.
#
# Names: `S` samples, `K` units. `a` and `b` belong to the posterior of a stick,
# `alpha` to its prior. `u` is uniform noise, and `log_v`, `log_pi` are the logarithms
# of a stick and of a product of sticks.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.special import digamma

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.primitives import kumaraswamy, stick_breaking
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(2)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Sticks in logarithms
#
# With sticks $v_k \sim \mathrm{Beta}(\alpha, 1)$, drawn as $v = u^{1 / \alpha}$, unit
# $k$ is on with probability
#
# $$ \pi_k = \prod_{i=1}^{k} v_i, \qquad \log\pi_k = \sum_{i=1}^{k} \log v_i, \qquad \log v = \frac{\log u}{\alpha}. $$
#
# The package adds logarithms, $\log\pi_k = \sum_{i \le k} \log v_i$, instead of
# multiplying sticks. A product of many small numbers leaves the range of floating point
# and becomes zero; the sum of their logarithms is a modest negative number. In float32,
# in which networks are trained, with a small $\alpha$:
#
# > **Stop and predict.** The smallest positive number of float32 is about
# > $10^{-45}$.  With $\alpha = \frac12$, at which of $200$ units does the product
# > become zero: never, at the last ones, or before half of them?
#
# <details><summary>Answer</summary>
#
# Before half of them: $\log v$ is $-2$ on average, so $\pi_k$ is near
# $e^{-2k}$, and $e^{-104}$ is the end.
#
# </details>

# %% slideshow={"slide_type": "slide"}
S, K, alpha = 3, 6, 4.0
u = rng.uniform(size=(S, K))
small = np.random.default_rng(0).uniform(size=200).astype(np.float32)
product = np.cumprod(small ** np.float32(1 / 0.5))
in_logs, _ = stick_breaking.log_probabilities(np.log(small) / np.float32(0.5))
first_zero = int(np.argmin(product > 0)) + 1
for k in (1, 10, 50, first_zero, 200):
    print(
        f"pi_{k:<3d} as a product {product[k - 1]:10.3e}   log pi_{k:<3d} as a sum "
        f"{in_logs[k - 1]:9.2f}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# Once $\pi_k$ is zero, its logarithm is minus infinity and its gradient is lost. Hence
# the rule: carry logs, and exponentiate last, if at all.
#
# The gradient is short. Stick $i$ is a term of $\log\pi_k$ for every $k \ge i$, each
# with the derivative one; the chain rule adds up these paths:
#
# $$ \frac{\partial L}{\partial \log v_i} = \sum_{k \ge i} \frac{\partial L}{\partial \log\pi_k}. $$
#
# A cumulative sum forwards in the forward is a cumulative sum backwards in the
# gradient.

# %% slideshow={"slide_type": "slide"}
print(
    check(
        stick_breaking.log_probabilities,
        stick_breaking.log_probabilities_vjp,
        (np.log(u) / alpha,),
    )
)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The posterior of a stick: why not a Beta?
#
# Learning must be able to move the sticks. The main text of the paper writes a Beta(a,
# b) posterior. To use its samples we would again invert a distribution function, but
# that of Beta(a, b) is the incomplete beta function
#
# $$ F(v) = \frac{1}{B(a, b)} \int_0^v t^{a - 1} (1 - t)^{b - 1} dt, $$
#
# which has no inverse in closed form: no formula for the sample, and none for its
# derivative with respect to $a$ and $b$. The supplement therefore takes a distribution
# that looks like a Beta and *starts* from a function that can be inverted (Kumaraswamy,
# 1980):
#
# $$ F(v) = 1 - (1 - v^a)^b, \qquad 0 < v < 1, \quad a, b > 0. $$
#
# Its derivative is the density. The inner derivative of $1 - v^a$ is $-a v^{a - 1}$,
# and the two minus signs cancel:
#
# $$ q(v) = a b\, v^{a - 1} (1 - v^a)^{b - 1}. $$
#
# For $b = 1$ this is $a v^{a - 1}$, the density of $\mathrm{Beta}(a, 1)$: our prior is
# a member of the family. For $a = 1$ it is $\mathrm{Beta}(1, b)$. In between, it is
# close to a Beta but not equal.
#
# To sample, solve $1 - (1 - v^a)^b = u'$: first $(1 - v^a)^b = 1 - u'$, then
# $v^a = 1 - (1 - u')^{1/b}$. Since $1 - u'$ is as uniform as $u'$, call it $u$:
#
# $$ v = \bigl(1 - u^{1/b}\bigr)^{1/a}, \qquad \log v = \frac1a \log\bigl(1 - e^s\bigr), \qquad s = \frac{\log u}{b}. $$

# %% slideshow={"slide_type": "slide"}
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
print(
    "largest difference, loop and vectorized:",
    np.abs(sample_loop(u, a, b) - log_v_vectorized).max(),
)
print(
    "largest difference, loop and package   :",
    np.abs(sample_loop(u, a, b) - log_v).max(),
)

# %% [markdown]
# ### Why the package writes it differently
#
# `kumaraswamy.sample` calls `log1mexp(s)`, which is $\log(1 - e^s)$, made to keep its
# digits at both ends. Where $u$ is near one, $u^{1/b}$ is as well, and $1 - u^{1/b}$ is
# a subtraction of nearly equal numbers. Where the inner logarithm is a tiny number,
# $1 - \text{tiny}$ rounds to one. In float32, against the same formula in float64:

# %% slideshow={"slide_type": "slide"}
print("        u     b   log v in float64   plain, float32   package, float32")
for u_one, b_one in (
    (0.5, 2.0),
    (0.9999, 2.0),
    (0.999999, 2.0),
    (0.5, 1e6),
    (0.5, 1e8),
    (1e-6, 0.5),
):
    reference = kumaraswamy.sample(
        np.float64(np.float32(u_one))[None], np.ones(1), np.full(1, b_one)
    )[0]
    u32, b32, one = (
        np.float32(u_one)[None],
        np.float32(b_one)[None],
        np.ones(1, np.float32),
    )
    with np.errstate(divide="ignore"):  # the plain form takes the logarithm of zero
        plain = np.log((1 - u32 ** (1 / b32)) ** (1 / one))
    print(
        f"{u_one:9g} {b_one:5g}   {reference[0]:16.7e}   {plain[0]:14.5e}   "
        f"{kumaraswamy.sample(u32, one, b32)[0][0]:16.5e}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# These are not just inexact values: where $\log v$ is rounded to zero or to minus
# infinity, the gradient, derived next, is zero or infinite as well, since it contains
# $\log v$ and divides by $1 - e^s = v^a$.
#
# ## The gradient of the sample
#
# With respect to $a$: only the factor $1/a$ contains it, and
# $\frac{d}{da} \frac1a = -\frac{1}{a^2}$, so
#
# $$ \frac{\partial \log v}{\partial a} = -\frac{1}{a^2} \log(1 - e^s) = -\frac{\log v}{a}. $$
#
# With respect to $b$, in two steps.  The outer function has $\frac{d}{ds} \log(1 - e^s)
# = \frac{-e^s}{1 - e^s}$.  The inner one is $s = \log u \cdot
# b^{-1}$, with $\frac{ds}{db} = -\frac{\log u}{b^2} = -\frac sb$. Multiply:
#
# $$ \frac{\partial \log v}{\partial b} = \frac1a \cdot \frac{-e^s}{1 - e^s} \cdot \Bigl(-\frac sb\Bigr)
#    = \frac{s}{a b} \cdot \frac{e^s}{1 - e^s}. $$
#
# Since $1 - e^s = v^a$, the last fraction is $e^{s - a \log v}$: one exponential of a
# difference, in place of a quotient of two numbers that may both be tiny. Finally
# `a` and `b` have shape `(K,)` and were broadcast over `S` samples, so both gradients
# are summed over the samples.


# %% slideshow={"slide_type": "slide"}
def sample_vjp_loop(dlog_v, u, a, b):
    da, db = np.zeros(K), np.zeros(K)
    for s in range(S):
        for k in range(K):
            inner = u[s, k] ** (1 / b[k])  # e^s
            log_v = np.log(1 - inner) / a[k]
            da[k] += dlog_v[s, k] * -log_v / a[k]
            db[k] += (
                dlog_v[s, k]
                * np.log(u[s, k])
                / b[k]
                / (a[k] * b[k])
                * inner
                / (1 - inner)
            )
    return da, db


dlog_v = rng.standard_normal((S, K))
da, db = kumaraswamy.sample_vjp(dlog_v, cache)
da_loop, db_loop = sample_vjp_loop(dlog_v, u, a, b)
print(
    "largest difference, loop and package: "
    f"{max(np.abs(da - da_loop).max(), np.abs(db - db_loop).max()):.1e}\n"
)

# %% [markdown]
# By the complex step (tutorial 3), two lines for one entry, then
# `check` for all of them.  (`log1mexp` takes complex numbers on purpose.)

# %% slideshow={"slide_type": "slide"}
h, step = 1e-20, np.array([0, 0, 0, 1])
by_complex_step = (
    np.sum(dlog_v * kumaraswamy.sample(u, a, b + 1j * h * step)[0]).imag / h
)
print(f"derived by hand {db[3]:.16f}\ncomplex step    {by_complex_step:.16f}\n")
print(check(kumaraswamy.sample, kumaraswamy.sample_vjp, (u, a, b), wrt=("a", "b")))

# %% [markdown] slideshow={"slide_type": "slide"}
# ### A mistake, and how it is caught
#
# The inner derivative is $-\log u / b^2 = -s / b$. With
# $s$ already in the cache, one division by $b$ is easily lost.
#
# > **Stop and predict.** A network would train with this gradient without a complaint.
# > Every stick begins with $b = 1$. How wrong is the gradient there?
#
# <details><summary>Answer</summary>
#
# Not at all: dividing by one changes nothing, and a comparison at the starting point
# would pass. `check` finds the mistake, because it also looks at nearby points. There
# it reports "right at the inputs given, wrong near by". Still, test gradients at
# generic inputs, not at special ones such as zero or one.
#
# </details>


# %% slideshow={"slide_type": "slide"}
def hasty_vjp(dlog_v, cache):
    s, a, b, log_v = cache
    da = -dlog_v * log_v / a
    db = dlog_v * s * np.exp(s - a * log_v) / a  # one division by b is missing
    return da.sum(axis=0), db.sum(axis=0)


print(check(kumaraswamy.sample, hasty_vjp, (u, a, b), wrt=("a", "b")))

# %% [markdown] slideshow={"slide_type": "slide"}
# The report confirms `a` and names the factor that is missing in `b`.
#
# ## The KL divergence to the prior
#
# Now the KL divergence of $q = \mathrm{Kumaraswamy}(a, b)$ from
# $p = \mathrm{Beta}(\alpha, 1)$. From the definition,
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
# **The second one.** By our sampler, $v^a = 1 - u^{1/b}$, so $1 - v^a = u^{1/b}$ and
# $\log(1 - v^a) = \frac1b \log u$. For a uniform $u$, $\mathbb E[\log u] = \int_0^1
# \log u\, du = [u \log u - u]_0^1 = -1$.  So $\mathbb E_q[\log(1 - v^a)] = -\frac1b$,
# and this term of the KL is
#
# $$ (b - 1) \cdot \Bigl(-\frac1b\Bigr) = -\frac{b - 1}{b}. $$
#
# **The first one.** Let $w = 1 - v^a = u^{1/b}$. Its distribution function is
# $P(u^{1/b} \le w) = w^b$, its density $b w^{b - 1}$. Since
# $\log v = \frac1a \log(1 - w)$, we need $\int_0^1 b w^{b - 1} \log(1 - w)\, dw$.
# Integrate by parts, with $w^b - 1$ as the antiderivative of $b w^{b - 1}$ (the
# $-1$ makes it vanish at $w = 1$, where the logarithm does not exist):
#
# $$ \int_0^1 b w^{b - 1} \log(1 - w)\, dw = \underbrace{\bigl[(w^b - 1) \log(1 - w)\bigr]_0^1}_{0}
#    - \int_0^1 (w^b - 1) \cdot \frac{-1}{1 - w}\, dw = -\int_0^1 \frac{1 - w^b}{1 - w}\, dw. $$
#
# For a whole number $b$ the fraction is $1 + w + \dots + w^{b -
# 1}$ and the integral is $1 + \frac12 + \dots +
# \frac1b$, a harmonic number.  For any $b > 0$ it is $\gamma + \psi(b +
# 1)$, with Euler's constant $\gamma$ and the digamma function $\psi$; this is Euler's
# integral for harmonic numbers. (It fits: raising $b$ by one adds
# $\int_0^1 w^b\, dw = \frac{1}{b + 1}$ on either side.) With
# $\psi(b + 1) = \psi(b) + \frac1b$,
#
# $$ \mathbb E_q[\log v] = -\frac1a \Bigl(\gamma + \psi(b) + \frac1b\Bigr). $$
#
# The whole:
#
# $$ KL = \frac{a - \alpha}{a} \Bigl(-\gamma - \psi(b) - \frac1b\Bigr) + \log\frac{ab}{\alpha} - \frac{b - 1}{b}. $$

# %% slideshow={"slide_type": "slide"}
print("   b   integral of (1 - w^b) / (1 - w)   gamma + psi(b + 1)")
for b_one in (0.5, 1.0, 2.0, 3.0, 4.7):
    integral = quad(lambda w, b=b_one: -np.expm1(b * np.log(w)) / (1 - w), 0, 1)[0]
    print(
        f"{b_one:4.1f}   {integral:31.12f}   "
        f"{np.euler_gamma + digamma(b_one + 1):18.12f}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# ### The paper's printed term
#
# The paper's formula has $-\frac{b}{1 - b}$ instead of our $-\frac{b - 1}{b}$. Which
# one is right? We do not have to trust either: the definition is an integral, and an
# integral can be computed. Below it is taken over $t = -\log v$, straight from the two
# densities, using no step of the derivation.
#
# > **Stop and predict.** Before you compute anything: at which $a$ and $b$ do you know
# > the value of the KL divergence, and what is the printed term there?
#
# <details><summary>Answer</summary>
#
# At $a = \alpha$, $b = 1$, where posterior and prior are equal, it must be zero. The
# printed term divides by zero there.
#
# </details>


# %%
def kl_by_quadrature(a, b, alpha):
    def integrand(t):  # v = e^-t, dv = e^-t dt
        log_q = kumaraswamy.log_density(-t, a, b)[0]
        log_p = np.log(alpha) - (alpha - 1) * t
        return np.exp(log_q - t) * (log_q - log_p)

    middle, far = (
        1 / a,
        60 / a + 60 / alpha,
    )  # most of the mass is near 1 / a; nothing is beyond far
    pieces = (
        quad(integrand, 0, middle, epsabs=1e-11, limit=200),
        quad(integrand, middle, far, epsabs=1e-11, limit=200),
    )
    return sum(value for value, _ in pieces)


def kl_derived(a, b, alpha):
    mean_log_v = -(np.euler_gamma + digamma(b) + 1 / b) / a
    return np.log(a * b / alpha) + (a - alpha) * mean_log_v - (b - 1) / b


def kl_printed(a, b, alpha):
    with np.errstate(divide="ignore"):  # at b = 1 the printed term divides by zero
        return kl_derived(a, b, alpha) + (b - 1) / b - np.divide(b, 1 - b)


print("   a      b   alpha   quadrature      derived      package      printed")
for case in (
    (2.0, 3.0, 1.5),
    (31.0, 2.0, 30.0),
    (57.0, 0.74, 30.0),
    (5.0, 0.5, 30.0),
    (30.0, 1.0, 30.0),
):
    a_one, b_one, alpha_one = (np.array([number]) for number in case)
    package = kumaraswamy.kl_to_beta(a_one, b_one, alpha_one)[0]
    print(
        f"{case[0]:4g} {case[1]:6g} {case[2]:7g} {kl_by_quadrature(*case):12.6f} "
        f"{kl_derived(*case):12.6f} "
        f"{package:12.6f} {kl_printed(*case):12.6f}"
    )

# %% [markdown]
# The derived form agrees with the integral everywhere. The printed one is wrong in
# every row, and it gives negative values, which are impossible for a KL divergence. In
# the last row the two distributions are equal and the KL divergence must be zero, but
# the printed form does not even exist. A simple test finds such mistakes: *look at the
# value where you know it.*

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "The divergence against b: quadrature points lie on the derived curve, which is zero at b = 1; the printed form runs elsewhere and is singular there."}}
figure, axes = plt.subplots(figsize=(7.2, 4), layout="constrained")
line = np.concatenate(
    [np.linspace(0.3, 0.995, 200), [np.nan], np.linspace(1.005, 4, 300)]
)
dots = np.array([0.35, 0.5, 0.74, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5])
axes.plot(
    line,
    kl_derived(30.0, line, 30.0),
    color="C0",
    linewidth=2,
    label="derived: $-(b - 1) / b$",
)
axes.plot(
    line,
    kl_printed(30.0, line, 30.0),
    color="C1",
    linewidth=2,
    label="as printed: $-b / (1 - b)$",
)
axes.plot(
    dots,
    [kl_by_quadrature(30.0, one, 30.0) for one in dots],
    "o",
    color="black",
    markersize=5,
    label="quadrature of the definition",
)
axes.axhline(0, color="0.6", linewidth=0.8)
axes.axvline(1, color="0.6", linewidth=0.8, linestyle=":")
axes.annotate(
    "$q = p$ here", (1, 0), xytext=(1.25, -1.6), arrowprops={"arrowstyle": "->"}
)
axes.set(
    xlabel="$b$",
    ylabel="KL in nats",
    ylim=(-4, 6),
    title="KL from Beta(30, 1), with $a = 30$: one term decides",
)
axes.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The gradient of the KL
#
# Write $c = -\gamma - \psi(b) - \frac1b$, which contains $b$ only, and $\frac{a -
# \alpha}{a} = 1 - \frac\alpha a$.
#
# * **At $a$**: $\frac{d}{da}\bigl(1 - \frac\alpha a\bigr) =
#   \frac{\alpha}{a^2}$, and $\log a$ gives $\frac1a$. Together
#   $\frac{\alpha c}{a^2} + \frac1a$.
# * **At $b$**: $\frac{dc}{db} = -\psi'(b) + \frac{1}{b^2}$, where $\psi'$ is the
#   trigamma function. The logarithm $\log b$ gives $\frac1b$, and $-\frac{b - 1}{b} =
#   -1 + \frac1b$ gives $-\frac{1}{b^2}$. Together $\frac{a - \alpha}{a}
#   \bigl(\frac{1}{b^2} - \psi'(b)\bigr) + \frac1b - \frac{1}{b^2}$.
# * **At $\alpha$**: $-\frac ca$ from the first term, $-\frac1\alpha$ from
#   $-\log\alpha$.
#
# At $a = \alpha$, $b = 1$ the divergence is at its minimum. There
# $c = -\gamma - \psi(1) - 1 = -1$, because $\psi(1) = -\gamma$, and all three vanish;
# look at it in the last line below.

# %% slideshow={"slide_type": "slide"}
a_far, b_far = np.array([0.5, 4.0, 20.0, 31.0]), np.array([0.7, 3.0, 1.2, 2.0])
alphas = np.array([2.0, 3.0, 30.0, 30.0])
_, cache = kumaraswamy.kl_to_beta(a_far, b_far, alphas)
h, step = 1e-20, np.array([0, 1, 0, 0])
by_complex_step = (
    kumaraswamy.kl_to_beta(a_far, b_far + 1j * h * step, alphas)[0].imag / h
)
print(
    f"derived by hand {kumaraswamy.kl_to_beta_vjp(1.0, cache)[1][1]:.16f}\ncomplex "
    f"step    {by_complex_step:.16f}\n"
)
print(check(kumaraswamy.kl_to_beta, kumaraswamy.kl_to_beta_vjp, (a_far, b_far, alphas)))
_, cache = kumaraswamy.kl_to_beta(np.array([30.0]), np.array([1.0]), np.array([30.0]))
print(
    "\nat q = p:", *(f"{one[0]:.1e}" for one in kumaraswamy.kl_to_beta_vjp(1.0, cache))
)

# %% [markdown]
# ## Exercises
#
# Solutions are in `solutions/06_sticks.py`; `ibpcl check` checks their gradients.
#
# 1. **Kumaraswamy and Beta.** Compare Kumaraswamy(a, b) with Beta(a, b) for a few
#    pairs. Where do they differ most, and for which pairs not at all? *Hint:*
#    `np.exp(kumaraswamy.log_density(np.log(v), a, b)[0])` and `scipy.stats.beta.pdf`.
# 2. **The expected log-stick.** A posterior with $a = \alpha + 1$, $b = 2$ looks like a
#    natural start. Does it keep more units or fewer than the prior? Write
#    $\mathbb E_q[\log v]$ with its gradients. *Hint:* compare it with the prior's,
#    which is the case $a = \alpha$, $b = 1$; then think of $\log\pi_{200}$ as a sum of
#    such terms.
# 3. **Another mistake.** Write a version of the KL with its gradient in which
#    $\mathbb E[\log u] = -1$ is replaced by $0$. Does `check` find a mistake in the
#    pair? Should it? Which test finds the mistake? *Hint:* what exactly does a gradient
#    check compare, and what did the table against the quadrature compare?
