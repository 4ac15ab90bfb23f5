# %% [markdown] slideshow={"slide_type": "slide"}
# # 7. Concrete masks: a coin with a gradient
#
# A mask $B_{dk}$ is a coin, that is, a Bernoulli variable. It is one if the weight from
# input $d$ to unit $k$ is used, and zero if it is not. Learning *which* weights a task
# uses means learning the coins' probabilities, but a coin has no useful gradient. In
# this tutorial we write the coin as a formula of its probability and of noise, and
# soften it with a temperature. We derive its gradient, its density and two KL
# divergences. Then we connect the masks with the sticks. Two formulas differ from the
# paper's: the printed density, and the link between masks and sticks, where this
# package's default departs from the paper, too.
#
# **Prerequisites:** tutorials 2, 3 and 6. **Time:** about 75 minutes.
#
# **You will be able to**
#
# - write a coin as a step of logistic noise, and soften the step by a temperature;
# - explain what is gained by a temperature, and what it costs;
# - derive the divergence of two coins, and of two concrete variables, in closed form;
# - follow a gradient on two paths, through the mask and through its prior;
# - explain what changes when $\log\pi$ replaces $\operatorname{logit}\pi$, and why the
#   default settings do so.
#
# The paper is Kumar, Chatterjee and Rai, "Bayesian Structure Adaptation for Continual
# Learning". Names: `S` samples, `D` inputs, `K` units. `logit_theta` is the log-odds of
# a mask, `logit_pi` that of its prior, and `rho` their difference.
# `tau` is the temperature, `u` uniform noise, and `logistic` logistic noise.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import kstest

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.numerics import logistic_kl, logit, sigmoid
from ibpcl.primitives import bernoulli, concrete, stick_breaking
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(3)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## From a coin to logistic noise
#
# A coin with probability $\theta$ is a uniform number compared with a threshold: $B =
# 1$ if $u' < \theta$, else $0$. The *logit*,
# $\operatorname{logit} p = \log\frac{p}{1 - p}$, rises with $p$, so it may be applied
# to both sides:
#
# $$ u' < \theta \iff \operatorname{logit} u' < \operatorname{logit}\theta
#    \iff \operatorname{logit}\theta - \operatorname{logit} u' > 0. $$
#
# With $u = 1 - u'$, as uniform as $u'$, we have $-\operatorname{logit} u' =
# \operatorname{logit} u$.  Call this noise $\ell$:
#
# $$ B = \mathbb 1\bigl[\operatorname{logit}\theta + \ell > 0\bigr], \qquad \ell = \log\frac{u}{1 - u}. $$
#
# How is $\ell$ distributed?  $P(\ell \le x) = P(u \le \sigma(x)) =
# \sigma(x)$ with the sigmoid $\sigma(x) = 1 / (1 + e^{-x})$, the inverse of the logit.
# This is the *logistic* distribution. Its density is the derivative $\sigma'(x) =
# \frac{e^{-x}}{(1 + e^{-x})^2}$.
#
# **Where Gumbel comes in.** The paper starts from Gumbel noise, $g = -\log(-\log u)$,
# one for each class, and lets the largest $\log\alpha_k + g_k$ win. With two classes
# only the difference $g_1 - g_2$ counts. Since $E = -\log u$ is an exponential
# variable, $g = -\log E$ and $g_1 - g_2 = \log(E_2 / E_1)$, so
#
# $$ P(g_1 - g_2 \le x) = P(E_2 \le e^x E_1) = \int_0^\infty e^{-t} \bigl(1 - e^{-e^x t}\bigr) dt
#    = 1 - \frac{1}{1 + e^x} = \sigma(x): $$
#
# the same logistic noise. And
# $\log\alpha_1 - \log\alpha_2 = \operatorname{logit}\theta$. So in the formula of several
# classes $\alpha_k$ is a probability, as the paper says, but in the paper's formula for a
# binary mask it has to be the *odds* $\theta / (1 - \theta)$.

# %% slideshow={"slide_type": "slide"}
gumbel = -np.log(-np.log(rng.uniform(size=(2, 20_000))))
print(
    "Gumbel difference against the logistic distribution: Kolmogorov-Smirnov p-value "
    f"{kstest(gumbel[0] - gumbel[1], 'logistic').pvalue:.2f}"
)

# %% [markdown] slideshow={"slide_type": "slide"}
# A very small p-value would be evidence against equality (tutorial 5).
#
# ## Temperature
#
# $B$ is a step of $\operatorname{logit}\theta + \ell$. Its derivative is zero
# everywhere, except at the jump, where there is none. So we replace the step by the
# sigmoid, and divide by a *temperature* $\tau > 0$ that determines how steep it is:
#
# $$ z = \sigma(Y), \qquad Y = \frac{\operatorname{logit}\theta + \ell}{\tau}. $$
#
# $z$ is called a *binary concrete* variable (the name joins *continuous* and *discrete*).
# First the loop, then the vectorized form, then the package's function.

# %% slideshow={"slide_type": "slide"}
S, D, K, tau = 4, 3, 5, 0.5
u = rng.uniform(size=(S, D, K))
logit_theta = rng.standard_normal((S, D, K))


def sample_loop(u, logit_theta, tau):
    z = np.zeros((S, D, K))
    for s in range(S):
        for d in range(D):
            for k in range(K):
                noise = np.log(u[s, d, k] / (1 - u[s, d, k]))
                z[s, d, k] = 1 / (1 + np.exp(-(logit_theta[s, d, k] + noise) / tau))
    return z


logistic = logit(u)
z_vectorized = 1 / (1 + np.exp(-(logit_theta + logistic) / tau))
z, cache = concrete.sample(logistic, logit_theta, tau)
print(
    "largest difference, loop and vectorized:",
    np.abs(sample_loop(u, logit_theta, tau) - z_vectorized).max(),
)
print(
    "largest difference, loop and package   :",
    np.abs(sample_loop(u, logit_theta, tau) - z).max(),
)

# %% [markdown]
# The package uses its own `sigmoid`, which exponentiates only negative numbers:
# $\frac{1}{1 + e^{-x}}$ for positive $x$, and the same fraction multiplied by $e^x /
# e^x$, $\frac{e^x}{1 + e^x}$, for negative $x$. A low temperature makes
# $x$ large, and then $e^{-x}$ overflows in float32 at a modest $x$:

# %% slideshow={"slide_type": "slide"}
for x in (-5.0, -80.0, -100.0):
    x32 = np.float32(x)
    with np.errstate(over="ignore"):  # the overflow is the point
        plain = 1 / (1 + np.exp(-x32))
    print(
        f"x = {x:6.0f}   plain {plain:.6e}   package {sigmoid(x32):.6e}   float64 "
        f"{sigmoid(x):.6e}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# What does the temperature do? With the same noise, take $\tau$ to zero and compare $z$
# with the coin $B$ itself. Note the last column: $z >
# \frac12$ if and only if $\operatorname{logit}\theta + \ell > 0$, that is if $B = 1$,
# at *every* temperature. Rounding a concrete mask gives the right coin.
#
# > **Stop and predict.** As $\tau$ goes from ten to a thousandth, what happens to the
# > mean of $z$ for $\theta = 0.3$? And to the share of masks above one half?
#
# <details><summary>Answer</summary>
#
# The mean goes from nearly one half to $0.3$; the share is $0.3$ all the time.
#
# </details>

# %% slideshow={"slide_type": "slide"}
theta = 0.3
noise = logit(rng.uniform(size=100_000))
coin = noise + logit(theta) > 0
print(f"theta {theta}, share of coins that are one {coin.mean():.4f}\n")
print(
    "   tau   mean of z   mean |z - B|   share within 0.01 of 0 or 1   share with "
    "z > 1/2"
)
for temperature in (10.0, 2.0, 1.0, 0.5, 0.1, 0.01, 0.001):
    one, _ = concrete.sample(noise, logit(theta), temperature)
    hard = np.minimum(one, 1 - one) < 0.01
    print(
        f"{temperature:6g}   {one.mean():9.4f}   {np.abs(one - coin).mean():12.5f} "
        f"  {hard.mean():27.4f}   "
        f"{np.mean(one > 0.5):18.4f}"
    )

# %% [markdown]
# Hot masks are all near one half, and cold ones are coins. Training starts hot, where
# gradients are tame, and cools down. The histograms show the same, with the density
# that we are about to derive drawn over them.

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Histograms of a concrete mask with theta 0.3 at temperatures 2, 1, 0.5 and 0.1: from one hump in the middle to two heaps at the ends; the density lies on them."}}
figure, all_axes = plt.subplots(
    1, 4, figsize=(9, 2.8), layout="constrained", sharey=True
)
inside = np.linspace(0.004, 0.996, 500)
for axes, temperature in zip(all_axes, (2.0, 1.0, 0.5, 0.1), strict=True):
    one, _ = concrete.sample(noise, logit(theta), temperature)
    axes.hist(
        one, bins=50, range=(0, 1), density=True, color="C0", alpha=0.5, label="samples"
    )
    axes.plot(
        inside,
        np.exp(concrete.log_density(inside, logit(theta), temperature)[0]),
        color="C1",
        label="density",
    )
    axes.axvline(theta, color="black", linestyle=":", linewidth=1, label=r"$\theta$")
    share = np.mean(np.minimum(one, 1 - one) < 0.01)
    axes.set(
        title=rf"$\tau = {temperature:g}$: {share:.0%} at the ends",
        xlabel="$z$",
        ylim=(0, 4.5),
    )
all_axes[0].set_ylabel("density")
all_axes[0].legend(fontsize=8)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The gradient of the sample
#
# First the sigmoid. From $\sigma(x) = (1 + e^{-x})^{-1}$,
#
# $$ \sigma'(x) = -(1 + e^{-x})^{-2} \cdot (-e^{-x}) = \frac{1}{1 + e^{-x}} \cdot \frac{e^{-x}}{1 + e^{-x}}
#    = \sigma(x)\,\bigl(1 - \sigma(x)\bigr). $$
#
# Then the chain rule, with $\partial Y / \partial \operatorname{logit}\theta = 1 /
# \tau$:
#
# $$ \frac{\partial z}{\partial \operatorname{logit}\theta} = \frac{z (1 - z)}{\tau}. $$
#
# Nothing is broadcast here (`logit_theta` has the full shape), so nothing is summed.
# (The package keeps $1 - z = \sigma(-Y)$ beside $z$: computed from a $z$ that has
# rounded to one it would be zero.) The check: two lines by complex step for one entry,
# the loop over all the entries, and `check`.

# %% slideshow={"slide_type": "slide"}
dz = rng.standard_normal((S, D, K))
dlogit_theta = concrete.sample_vjp(dz, cache)
h, step = 1e-20, np.zeros((S, D, K))
step[1, 2, 3] = 1.0
by_complex_step = (
    np.sum(dz * concrete.sample(logistic, logit_theta + 1j * h * step, tau)[0]).imag / h
)
print(
    f"derived by hand {dlogit_theta[1, 2, 3]:.16f}\ncomplex step    "
    f"{by_complex_step:.16f}"
)

by_loop = np.zeros((S, D, K))
for place in np.ndindex(S, D, K):
    by_loop[place] = dz[place] * z[place] * (1 - z[place]) / tau
print(
    "largest difference, loop and package: "
    f"{np.abs(by_loop - dlogit_theta).max():.1e}\n"
)
print(
    check(
        concrete.sample,
        concrete.sample_vjp,
        (logistic, logit_theta, tau),
        wrt=("logit_theta",),
    )
)

# %% [markdown]
# ### A mistake, and how it is caught
#
# $z(1 - z)$ is so familiar that the inner derivative $1 / \tau$ is forgotten.


# %% slideshow={"slide_type": "slide"}
def familiar_vjp(dz, cache):
    z, complement, tau = cache  # the complement is 1 - z
    return dz * z * complement  # and the temperature?


print(
    check(
        concrete.sample,
        familiar_vjp,
        (logistic, logit_theta, tau),
        wrt=("logit_theta",),
    )
)

# %% [markdown] slideshow={"slide_type": "slide"}
# ### What cooling costs
#
# The mean of this gradient is the gradient of $\mathbb E[z]$, which tends to that of
# $\mathbb E[B] = \theta = \sigma(\operatorname{logit}\theta)$, namely
# $\theta (1 - \theta)$.
#
# > **Stop and predict.** Why not simply train at a temperature of a thousandth from the
# > beginning, where the masks are coins? What will the gradients look like?
#
# <details><summary>Answer</summary>
#
# Nearly always zero, and occasionally huge. The mean is almost right, and the spread
# grows without bound.
#
# </details>
#
# The table shows its spread at several temperatures:

# %% slideshow={"slide_type": "slide"}
print(f"theta (1 - theta) = {theta * (1 - theta):.4f}\n")
print("   tau   mean of dz/dlogit_theta   standard deviation   largest")
for temperature in (10.0, 2.0, 1.0, 0.5, 0.1, 0.01):
    one, one_cache = concrete.sample(noise, logit(theta), temperature)
    slope = concrete.sample_vjp(np.ones_like(one), one_cache)
    error = slope.std() / np.sqrt(slope.size)
    print(
        f"{temperature:6g}   {slope.mean():13.4f} +- {error:.4f}   "
        f"{slope.std():20.3f}   {slope.max():7.2f}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# Cold gradients have the right mean and a wild spread. Hot gradients are steady, but
# they belong to another function. That is the trade-off of a temperature schedule.
#
# ## The density, and its variable
#
# Solve $Y = (\operatorname{logit}\theta + \ell) / \tau$ for the noise:
# $\ell = \tau Y - \operatorname{logit}\theta$. The density of
# $Y$ is the logistic density there, times $|d\ell / dY| = \tau$:
#
# $$ q_Y(y) = \tau\, \frac{e^{-\ell}}{(1 + e^{-\ell})^2} \quad\text{at}\quad \ell = \tau y - \operatorname{logit}\theta.
# $$
#
# With $r = -\ell = \operatorname{logit}\theta - \tau y$ its logarithm is
#
# $$ \log q_Y(y) = \log\tau + r - 2 \log(1 + e^r). $$
#
# The paper prints this formula as the density of the mask,
# $\log q(B_k; \alpha, \lambda)$. It is that of $Y = \operatorname{logit} B$. The
# density of $z = \sigma(Y)$ has one more factor, $|dy / dz|$, and since
# $\frac{dz}{dy} = z(1 - z)$,
#
# $$ \log q_z(z) = \log q_Y(\operatorname{logit} z) - \log z - \log(1 - z). $$
#
# A density must integrate to one over its own variable. That decides the matter:


# %%
def integral_over_y(log_odds, temperature):
    middle, reach = log_odds / temperature, 45 / temperature
    return quad(
        lambda y: np.exp(concrete.log_density_logit(y, log_odds, temperature)[0]),
        middle - reach,
        middle + reach,
        epsabs=1e-12,
        limit=200,
    )[0]


def integral_over_z(density, *parameters):
    return sum(
        quad(density, *ends, args=parameters, epsabs=1e-9, limit=200)[0]
        for ends in ((0, 0.5), (0.5, 1))
    )


def density_as_printed(z, log_odds, temperature):
    return np.exp(concrete.log_density_logit(logit(z), log_odds, temperature)[0])


def density_of_z(z, log_odds, temperature):
    return np.exp(concrete.log_density(z, log_odds, temperature)[0])


print("theta   tau   q_Y over y   q_Y(logit z) over z   q_z over z")
for one_theta in (0.3, 0.9):
    for temperature in (0.5, 1.0, 2.0):
        first = integral_over_y(logit(one_theta), temperature)
        second, third = (
            integral_over_z(density, logit(one_theta), temperature)
            for density in (density_as_printed, density_of_z)
        )
        print(
            f"{one_theta:5g} {temperature:5g} {first:12.6f} {second:21.6f} "
            f"{third:12.6f}"
        )

# %% [markdown]
# Does it matter? In a KL divergence, $\mathbb E[\log q - \log p]$, the factor
# $|dy / dz|$ is the same in both densities and cancels: there the formula may be used
# as it is. As a density of the mask, for a likelihood or a plot, it may not. Both
# functions of the package have their gradients:

# %% slideshow={"slide_type": "slide"}
y = (logit_theta + logistic) / tau
print(
    check(
        concrete.log_density_logit,
        concrete.log_density_logit_vjp,
        (y, logit_theta, tau),
        wrt=("y", "logit_theta"),
    )
)
inside = np.clip(z, 0.05, 0.95)  # at 0 and 1 the density has poles
print(
    check(
        concrete.log_density, concrete.log_density_vjp, (inside, logit_theta, tau),
        wrt=("z", "logit_theta"),
    )
)  # fmt: skip

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The KL divergence of two coins
#
# From the definition, a sum over the two outcomes:
#
# $$ KL = \theta \log\frac{\theta}{\pi} + (1 - \theta) \log\frac{1 - \theta}{1 - \pi}. $$
#
# In this form it fails for probabilities very close to one: in floating point
# $\theta$ rounds to one, and $0 \cdot \log 0$ is NaN. Let $m =
# \operatorname{logit}\theta$ and $l = \operatorname{logit}\pi$.  Then $\log\theta = m -
# \log(1 + e^m)$ and $\log(1 - \theta) = -\log(1 + e^m)$, and likewise for $\pi$ with
# $l$.  Insert them; the terms with $\log(1 + e^m)$ have the weights $\theta$ and
# $1 - \theta$, together one:
#
# $$ KL = \theta\,(m - l) - \log(1 + e^m) + \log(1 + e^l). $$
#
# **Gradient at $m$.** Product rule for the first term, with $\frac{d\theta}{dm} =
# \theta (1 - \theta)$; and $\frac{d}{dm} \log(1 + e^m) = \frac{e^m}{1 + e^m} = \theta$:
#
# $$ \frac{\partial KL}{\partial m} = \theta (1 - \theta)(m - l) + \theta - \theta = \theta (1 - \theta)(m - l). $$
#
# **Gradient at $l$.**  $-\theta$ from the first term, $\frac{e^l}{1 + e^l} = \pi$ from
# the last: $\frac{\partial KL}{\partial l} = \pi - \theta$. In the package one $\pi_k$
# serves all the inputs of a unit, so there the gradient at
# `logit_pi` is summed over `D`.

# %%
logit_pi = rng.standard_normal((S, K))


def coin_kl_loop(logit_theta, logit_pi):
    total = np.zeros(S)
    for s in range(S):
        for d in range(D):
            for k in range(K):
                theta, pi = sigmoid(logit_theta[s, d, k]), sigmoid(logit_pi[s, k])
                total[s] += theta * np.log(theta / pi) + (1 - theta) * np.log(
                    (1 - theta) / (1 - pi)
                )
    return total


package, _ = bernoulli.kl(logit_theta, logit_pi)
print(
    "largest difference, loop and package: "
    f"{np.abs(coin_kl_loop(logit_theta, logit_pi) - package).max():.1e}"
)
sure = np.full((1, 1, 1), 40.0)
with np.errstate(all="ignore"):
    plain = sigmoid(sure) * np.log(sigmoid(sure) / 0.5) + (1 - sigmoid(sure)) * np.log(
        (1 - sigmoid(sure)) / 0.5
    )
package = bernoulli.kl(sure, np.zeros((1, 1)))[0][0]
print(
    f"a sure coin against a fair one: plain {plain.item()}, package {package:.6f}, "
    f"log 2 = {np.log(2):.6f}\n"
)
print(check(bernoulli.kl, bernoulli.kl_vjp, (logit_theta, logit_pi)))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The KL divergence of two concrete variables
#
# The network is trained with the softened $z$, not with coins. The corresponding bound
# on the evidence needs the KL divergence of the *concrete* variables. The paper
# estimates it by sampling. With equal temperatures no sampling is needed. Here is the
# whole calculation.
#
# A KL divergence does not change when both variables go through the same invertible
# map. So take $X = \tau Y = \operatorname{logit}\theta + \ell$ for
# $q$, and $\operatorname{logit}\pi + \ell$ for $p$: two logistic variables that are
# $\Delta = \operatorname{logit}\theta - \operatorname{logit}\pi$ apart, and the
# temperature is gone. With the logistic density $f(x) = e^{-x} / (1 + e^{-x})^2$ and
# $X = \operatorname{logit}\theta + \ell$,
#
# $$ KL = \mathbb E_\ell\bigl[\log f(\ell) - \log f(\ell + \Delta)\bigr]
#    = \mathbb E_\ell\bigl[\Delta - 2 \log(1 + e^{-\ell}) + 2 \log(1 + e^{-\ell - \Delta})\bigr]. $$
#
# Now $\ell = \log\frac{u}{1 - u}$, hence $e^{-\ell} = \frac{1 - u}{u}$. With
# $c = e^{-\Delta}$,
#
# $$ 1 + e^{-\ell} = \frac1u, \qquad 1 + e^{-\ell - \Delta} = \frac{u + c (1 - u)}{u}, $$
#
# and the two $\log u$ cancel:
# $KL = \Delta + 2 \int_0^1 \log\bigl(c + (1 - c) u\bigr) du$. Substitute
# $x = c + (1 - c) u$, which runs from $c$ to $1$ with $du = dx / (1 - c)$, and use
# $\int \log x\, dx = x \log x - x$:
#
# $$ KL = \Delta + \frac{2}{1 - c} \bigl[x \log x - x\bigr]_c^1
#       = \Delta + \frac{2}{1 - c} \bigl(-1 - c \log c + c\bigr) = \Delta - 2 + \frac{2 c \Delta}{1 - c}, $$
#
# because $\log c = -\Delta$. Finally $\Delta + \frac{2 c \Delta}{1 - c} = \Delta\,
# \frac{1 + c}{1 - c}$, and $\frac{1 + e^{-\Delta}}{1 - e^{-\Delta}} =
# \coth\frac\Delta2$ (multiply both by $e^{\Delta / 2}$):
#
# $$ KL = \Delta \coth\frac\Delta2 - 2. $$
#
# We compare it with quadrature of the definition at two temperatures and with Monte
# Carlo at a third. The last column is the KL divergence of the coins.


# %%
def concrete_kl_by_quadrature(m, l, temperature, prior_temperature):
    def integrand(y):
        log_q = concrete.log_density_logit(y, m, temperature)[0]
        return np.exp(log_q) * (
            log_q - concrete.log_density_logit(y, l, prior_temperature)[0]
        )

    middle, reach = m / temperature, 45 / temperature
    return sum(
        quad(integrand, *ends, epsabs=1e-10, limit=200)[0]
        for ends in ((middle - reach, middle), (middle, middle + reach))
    )


def concrete_kl_by_sampling(m, l, temperature, prior_temperature, size=100_000):
    values = concrete.kl_monte_carlo(
        logit(rng.uniform(size=(size, 1, 1))),
        np.full((1, 1, 1), m),
        np.full((1, 1), l),
        temperature,
        prior_temperature,
    )[0]
    return values.mean(), values.std() / np.sqrt(size)


print(
    " theta    pi    Delta   closed form   tau = 0.3    tau = 2   sampled, tau = "
    "0.5     coins"
)
for one_theta, pi in (
    (0.55, 0.5),
    (0.5, 0.1),
    (0.9, 0.1),
    (0.1, 0.9),
    (0.99, 0.5),
    (0.999, 0.05),
):
    m, l = logit(one_theta), logit(pi)
    mean, error = concrete_kl_by_sampling(m, l, 0.5, 0.5)
    cold, hot = (
        concrete_kl_by_quadrature(m, l, temperature, temperature)
        for temperature in (0.3, 2.0)
    )
    coins = bernoulli.kl(np.full((1, 1, 1), m), np.full((1, 1), l))[0][0]
    print(
        f"{one_theta:6g} {pi:5g} {m - l:8.4f}   {logistic_kl(m - l):11.6f} "
        f"{cold:11.6f} {hot:10.6f}   "
        f"{mean:9.4f} +- {error:.4f} {coins:9.4f}"
    )

# %% [markdown]
# The coins' divergence is always the smaller one. This must be so: the coin is the
# rounded concrete mask, and discarding information cannot make two distributions easier
# to distinguish.
#
# **Unequal temperatures** are different. The paper does not state the temperature of
# its prior, and the authors' released code uses a colder prior than posterior. Then the
# KL divergence is positive even if $\theta = \pi$:

# %% slideshow={"slide_type": "slide"}
print(
    "  pi    tau   prior tau   KL at theta = pi        sampled      best theta   "
    "KL there"
)
for pi in (0.5, 0.1):
    for temperature, prior_temperature in (
        (0.3, 0.3),
        (0.3, 0.25),
        (0.3, 0.05),
        (10.0, 0.05),
    ):
        equal = (logit(pi), logit(pi), temperature, prior_temperature)
        mean, error = concrete_kl_by_sampling(*equal)
        best = minimize_scalar(
            concrete_kl_by_quadrature,
            bounds=(-600, 600),
            args=equal[1:],
            method="bounded",
        )
        print(
            f"{pi:4g} {temperature:6g} {prior_temperature:11g}   "
            f"{concrete_kl_by_quadrature(*equal):z16.4f}   "
            f"{mean:7.4f} +- {error:.4f} {sigmoid(best.x):12.1e} {best.fun:z10.4f}"
        )

# %% [markdown] slideshow={"slide_type": "slide"}
# With a colder prior even a mask that has learned nothing has a positive divergence.
# And where $\pi \ne \frac12$, the best posterior is not the prior: the term pulls the
# mask beyond $\pi$, towards zero or one. It does more than compare $\theta$ with $\pi$.
#
# ### Its gradient, and the form near zero
#
# The product rule with $\coth' x = -1 / \sinh^2 x$ and the inner factor $\frac12$:
#
# $$ \frac{d}{d\Delta} \Bigl(\Delta \coth\frac\Delta2 - 2\Bigr)
#    = \coth\frac\Delta2 - \frac{\Delta}{2 \sinh^2(\Delta / 2)}. $$
#
# With $2 \sinh^2\frac\Delta2 = \cosh\Delta - 1$ and $\coth\frac\Delta2 = \frac{2
# \sinh\frac\Delta2 \cosh\frac\Delta2}{2 \sinh^2\frac\Delta2} =
# \frac{\sinh\Delta}{\cosh\Delta - 1}$ this is
# $\frac{\sinh\Delta - \Delta}{\cosh\Delta - 1}$.
#
# Near zero both forms subtract nearly equal numbers, and at zero they divide zero by
# zero. Expand, with $\coth x = \frac1x + \frac x3 - \frac{x^3}{45} + \dots$:
#
# $$ KL = \frac{\Delta^2}{6} - \frac{\Delta^4}{360} + \dots, \qquad
#    \frac{d\,KL}{d\Delta} = \frac\Delta3 - \frac{\Delta^3}{90} + \dots $$
#
# The package uses these series where
# $\Delta$ is small. Every mask begins there, because $q = p$ at the start of a task.

# %% slideshow={"slide_type": "slide"}
print(
    "                                                  the gradient, divided by "
    "Delta / 3"
)
print("  Delta   Delta^2 / 6    plain formula        package       plain     package")
for delta in (1.0, 1e-2, 1e-4, 1e-6, 1e-8):
    # The plain gradient is 0 / 0, or a rounding error / 0: that depends on the machine.
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = delta / np.tanh(delta / 2) - 2
        plain_slope = np.divide(np.sinh(delta) - delta, np.cosh(delta) - 1)
    value, one_cache = concrete.kl(np.full((1, 1, 1), delta), np.zeros((1, 1)))
    slope = concrete.kl_vjp(np.ones(1), one_cache)[0].item()
    print(
        f"{delta:7.0e}   {delta**2 / 6:11.5e}   {plain:14.5e}   {value[0]:12.5e}   "
        f"{plain_slope * 3 / delta:9.6f}"
        f"   {slope * 3 / delta:9.6f}"
    )

# %% slideshow={"slide_type": "slide"}
_, cache = concrete.kl(logit_theta, logit_pi)
dlogit_theta, dlogit_pi = concrete.kl_vjp(np.ones(S), cache)
h, step = 1e-20, np.zeros((S, K))
step[0, 1] = 1.0
by_complex_step = np.sum(concrete.kl(logit_theta, logit_pi + 1j * h * step)[0]).imag / h
print(
    f"derived by hand {dlogit_pi[0, 1]:.16f}\ncomplex step    {by_complex_step:.16f}\n"
)
print(check(concrete.kl, concrete.kl_vjp, (logit_theta, logit_pi)))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Masks on sticks
#
# The paper's posterior of a mask starts from the prior's log-odds and shifts them by a
# separate number $\rho_{dk}$ (Sec. 3.2):
#
# $$ \theta_{dk} = \sigma\bigl(\rho_{dk} + \operatorname{logit}\pi_k\bigr). $$
#
# $\rho = 0$ means "equal to the prior". The sticks move all the masks of a unit
# together, and $\rho$ moves a single mask.
#
# ### $\log\pi$ instead of $\operatorname{logit}\pi$
#
# The authors' code adds $\log\pi$ instead of $\operatorname{logit}\pi$. For small
# $\pi$ the two are nearly equal. But $\sigma(\log\pi) = \frac{1}{1 + 1/\pi} =
# \frac{\pi}{1 + \pi}$, and this never exceeds one half:

# %% slideshow={"slide_type": "slide"}
print("    pi   sigmoid(logit pi)   sigmoid(log pi)   pi / (1 + pi)")
for pi in (0.99, 0.9, 0.5, 0.1, 0.01):
    print(
        f"{pi:6g}   {sigmoid(logit(pi)):17.4f}   {sigmoid(np.log(pi)):15.4f}   "
        f"{pi / (1 + pi):13.4f}"
    )

# %% [markdown]
# With this link, even a unit that the prior almost certainly uses gets mask
# probabilities of at most one half. Compared with the paper's formula it is a mistake.
# As a *model* it is a different prior, capped at one half, and it has an advantage. A
# mask is rounded to one only if the data require it. So inputs without information get
# no weights at all, for any values of the sticks. **This package's default settings use
# it** (`mask_link = "log"`), because it gave sparser masks and slightly higher
# accuracies. The paper's link is `mask_link = "logit"`. When you read a mask density or
# a $\rho$ from a run, look up which link the run used.

# %% slideshow={"slide_type": "slide"}
from ibpcl.methods.npbcl import Settings

default, paper = Settings().mask_link, Settings.preset("paper").mask_link
print(f"the default link is {default} and that of the preset 'paper' is {paper}")

# %% [markdown]
# The sticks arrive as `log_pi` (tutorial 6), so the logit is taken from the logarithm:
# $\operatorname{logit}\pi = \log\pi - \log(1 - e^{\log\pi})$. Going through $\pi$
# itself would lose both ends:

# %% slideshow={"slide_type": "slide"}
print("   log pi   logit through pi    package")
for one in (-1e-18, -1e-3, -1.0, -50.0, -800.0):
    with np.errstate(divide="ignore"):
        through_pi = np.log(np.exp(one)) - np.log(1 - np.exp(one))
    print(
        f"{one:9.0e}   {through_pi:16.6f} "
        f"{stick_breaking.logit_probabilities(np.array([[one]]))[0][0, 0]:10.6f}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# Its derivative: $\frac{d}{d\log\pi} \log(1 - e^{\log\pi}) = -\frac{\pi}{1 - \pi}$, so
#
# $$ \frac{d \operatorname{logit}\pi}{d \log\pi} = 1 + \frac{\pi}{1 - \pi} = \frac{1}{1 - \pi}. $$
#
# ### The gradients at rho and at the sticks
#
# Now we put everything together: from `rho` and `log_pi` to the mask and to the KL
# divergence of the coins. Let $m = \rho + l$ with $l = \operatorname{logit}\pi$, and
# let `dm` be the sum of the gradients that arrive at $m$ through the mask and through
# the divergence. Then
#
# * $\rho_{dk}$ has one path to $m_{sdk}$ for each sample: `drho` is `dm` summed over
#   `S`;
# * $l_{sk}$ has **two** kinds of path: directly into the divergence, as the prior, and
#   through $m_{sdk}$, as a part of the posterior, for each input $d$.
#   `dlogit_pi` is the direct part plus `dm` summed over `D`.
#
# For the divergence of the coins this means $\theta (1 - \theta)\,\rho$ at
# $\rho$ and $\sum_d \bigl(\pi - \theta + \theta (1 - \theta)\,\rho\bigr)$ at $l$. For
# the concrete divergence $\Delta = m - l = \rho$: the two paths cancel, the sticks get
# no gradient from it, and only $\rho \coth\frac\rho2 - 2$ remains.


# %% slideshow={"slide_type": "slide"}
def masks(logistic, rho, log_pi, tau):
    logit_pi, stick_cache = stick_breaking.logit_probabilities(log_pi)
    logit_theta = rho + logit_pi[:, None, :]  # (S, D, K)
    z, mask_cache = concrete.sample(logistic, logit_theta, tau)
    divergence, kl_cache = bernoulli.kl(logit_theta, logit_pi)
    return (z, divergence), (stick_cache, mask_cache, kl_cache)


def masks_vjp(dout, cache):
    (dz, ddivergence), (stick_cache, mask_cache, kl_cache) = dout, cache
    dlogit_theta, dlogit_pi = bernoulli.kl_vjp(ddivergence, kl_cache)
    dlogit_theta = dlogit_theta + concrete.sample_vjp(dz, mask_cache)
    dlogit_pi = dlogit_pi + dlogit_theta.sum(
        axis=1
    )  # the second path; logit_pi was broadcast over D
    return dlogit_theta.sum(axis=0), stick_breaking.logit_probabilities_vjp(
        dlogit_pi, stick_cache
    )


rho = rng.standard_normal((D, K))
log_pi = np.cumsum(np.log(rng.uniform(0.5, 1, size=(S, K))), axis=-1)
print(check(masks, masks_vjp, (logistic, rho, log_pi, tau), wrt=("rho", "log_pi")))

# %% [markdown]
# A likely mistake is to treat $\pi$ as the prior only, and to forget that it is also a
# part of $\theta$.


# %% slideshow={"slide_type": "slide"}
def one_path_vjp(dout, cache):
    (dz, ddivergence), (stick_cache, mask_cache, kl_cache) = dout, cache
    dlogit_theta, dlogit_pi = bernoulli.kl_vjp(ddivergence, kl_cache)
    dlogit_theta = dlogit_theta + concrete.sample_vjp(dz, mask_cache)
    return dlogit_theta.sum(axis=0), stick_breaking.logit_probabilities_vjp(
        dlogit_pi, stick_cache
    )


print(check(masks, one_path_vjp, (logistic, rho, log_pi, tau), wrt=("rho", "log_pi")))

# %% [markdown]
# How do you read such a report? `rho` is right, so the derivatives of the mask and of
# the divergence are right, too. The mistake must be on the path through the sticks. Now
# follow the hint, and check a single output at a time. Here is the mask alone:


# %% slideshow={"slide_type": "slide"}
def only_the_mask(logistic, rho, log_pi, tau):
    (z, _), cache = masks(logistic, rho, log_pi, tau)
    return z, cache


def only_the_mask_vjp(dz, cache):
    return one_path_vjp(
        (dz, np.zeros(S)), cache
    )  # nothing flows back from the divergence


print(
    check(
        only_the_mask,
        only_the_mask_vjp,
        (logistic, rho, log_pi, tau),
        wrt=("rho", "log_pi"),
    )
)

# %% [markdown]
# The mask's gradient never reaches the sticks. This is the lost path.
#
# The figure summarizes this section: the effect of the log link on the prior, and the
# cost of moving a mask away from its prior.

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Left: with the logit link the mask's probability is the prior's, with the log link it stays below one half. Right: what coins and concrete masks pay in nats for an offset rho."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.5), layout="constrained")
pi = np.linspace(0.001, 0.999, 400)
left.plot(
    pi,
    sigmoid(logit(pi)),
    color="C0",
    linewidth=2,
    label=r"$\sigma(\mathrm{logit}\,\pi) = \pi$",
)
left.plot(
    pi,
    sigmoid(np.log(pi)),
    color="C1",
    linewidth=2,
    label=r"$\sigma(\log\pi) = \pi / (1 + \pi)$",
)
left.axhline(0.5, color="0.5", linewidth=0.8, linestyle=":")
left.set(
    xlabel=r"$\pi$, the prior's probability", ylabel=r"mask probability at $\rho = 0$"
)
left.set_title("The log link: never above one half")
left.legend(fontsize=8)

offsets = np.linspace(-8, 8, 401)
right.plot(
    offsets,
    logistic_kl(offsets),
    color="black",
    linewidth=2,
    label=r"concrete, any $\pi$",
)
for one_pi, shade in ((0.5, "C0"), (0.1, "C1"), (0.01, "C2")):
    l = np.full((1, 1), logit(one_pi))
    coins = [bernoulli.kl(l[:, None, :] + offset, l)[0][0] for offset in offsets]
    right.plot(offsets, coins, color=shade, label=rf"coin, $\pi = {one_pi:g}$")
right.set(
    xlabel=r"$\rho$",
    ylabel="KL in nats",
    ylim=(-0.2, 6.2),
    title="The cost of leaving the prior",
)
right.legend(fontsize=8)
plt.show()

# %% [markdown]
# With Bernoulli masks, switching a weight *off* is cheap: the curves on the left level
# out at $-\log(1 - \pi)$. Switching on a weight that the prior considers unlikely is
# expensive: on the right the curves level out at $-\log\pi$. The concrete divergence
# has no such difference: it is even in $\rho$ and, for large
# $|\rho|$, grows like $|\rho| - 2$.
#
# ## Exercises
#
# Solutions are in `solutions/07_masks.py`; `ibpcl check` checks their gradients.
#
# 1. **A straight-through mask.** Use the rounded mask, $z > \frac12$ as floats
#    (`np.round`), in the forward and the gradient of $z$ in the backward pass. What
#    does `check` say about the pair, and why is it right to say so? *Hint:* what is the
#    true derivative of a rounded number?
# 2. **Modes of the concrete density.** At $\theta = \frac12$, for which temperatures is
#    the density of $z$ lowest in the middle? *Hint:* `concrete.log_density_vjp` gives
#    its slope. Look at its sign just right of one half. Begin with the temperature at
#    which the density is a very simple function.
# 3. **A bound, by hand.** Show for small
#    $\rho$ that the KL divergence of the coins is $\frac12 \pi (1 - \pi)
#    \rho^2$, and compare it with $\frac16 \rho^2$ for concrete masks. Which $\pi$ comes
#    closest? *Hint:* the gradient of the coins' divergence at $\rho$ is $\theta (1 -
#    \theta) \rho$; to first order, what is $\theta$?
# 4. **The log link as a pair.** Write $\theta = \sigma(\rho + \log\pi)$ with its
#    gradients at $\rho$ and $\log\pi$. Which
#    $\rho$ does a mask need to be rounded to one if $\pi =
#    \frac12$?  *Hint:* $\sigma(x) > \frac12$ if $x > 0$.
