# %% [markdown] slideshow={"slide_type": "slide"}
# # 2. Gaussian weights
#
# In a Bayesian neural network each weight has a probability distribution instead of a
# single value: a Gaussian with a mean and a width. Learning moves the mean and the
# width. For this we need three results:
#
# * a **sample** of the weight that can be differentiated with respect to its mean and
#   width;
# * the **KL divergence** between the weight's distribution and the prior;
# * the rule for one task after another: **the previous posterior is the next prior**.
#
# We derive each of them by hand, compare it with numbers that need no derivation, and
# draw it.
#
# **Prerequisites:** the chain rule, densities and expectations, NumPy. **Time:** about
# 60 minutes.
#
# **You will be able to**
#
# - reparameterize a Gaussian, and derive the gradient of the sample with all its sums;
# - explain why that gradient is unbiased, and why the score function estimator has a
#   much higher variance;
# - derive the KL divergence of two Gaussians with its four gradients;
# - show that Bayes' rule may be applied task by task, and do it by gradient ascent.
#
# The names are those of the package: `mu`, `log_sigma`, `eps`. There are `S` samples of
# `K` weights. `dx` is always the gradient of one scalar objective with respect to `x`,
# in the shape of `x`.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.numerics import log_sigmoid, sigmoid
from ibpcl.primitives import gaussian
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(1)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The definition
#
# A weight has the density
#
# $$ q(v) = \mathcal N(v; \mu, \sigma^2) = \frac{1}{\sqrt{2\pi}\,\sigma}
#    \exp\Bigl(-\frac{(v - \mu)^2}{2\sigma^2}\Bigr). $$
#
# We could ask a random generator for a draw from $\mathcal N(\mu, \sigma^2)$. But then
# $\mu$ and $\sigma$ disappear inside the generator and there is nothing to
# differentiate. Instead we draw noise that does not depend on any parameter, and move
# and scale it ourselves:
#
# $$ v = \mu + \sigma\,\varepsilon, \qquad \varepsilon \sim \mathcal N(0, 1). $$
#
# This is the *reparameterization*. With $\varepsilon$ held fixed, $v$ is an ordinary
# smooth function of $\mu$ and $\sigma$. Does $v$ have the right density? Its
# distribution function is $P(v \le t) = P(\varepsilon \le (t - \mu) /
# \sigma)$; differentiating with respect to $t$ gives
# $\frac1\sigma \mathcal N(\frac{t - \mu}{\sigma}; 0, 1)$, and that is $q(t)$.
#
# The width must stay positive. To guarantee this, we store its logarithm, $\log\sigma$,
# which may be any number.
#
# First the plain loop. One row of `eps` is one sample of all the weights.

# %%
S, K = 6, 4
eps = rng.standard_normal((S, K))
mu = np.array([0.5, -1.0, 0.0, 2.0])
log_sigma = np.array([0.0, -1.0, 0.5, -2.0])


def sample_loop(eps, mu, log_sigma):
    v = np.zeros((S, K))
    for s in range(S):
        for k in range(K):
            v[s, k] = mu[k] + np.exp(log_sigma[k]) * eps[s, k]
    return v


# %% [markdown]
# The same, vectorized. `mu` has shape `(K,)` and `eps` has shape `(S,
# K)`: NumPy repeats `mu` for every sample. This repetition is called *broadcasting*;
# remember it, because it comes back in the gradient.

# %% slideshow={"slide_type": "slide"}
v_loop = sample_loop(eps, mu, log_sigma)
v_vectorized = mu + np.exp(log_sigma) * eps
v_package, cache = gaussian.sample(eps, mu, log_sigma)

print("loop = vectorized :", np.array_equal(v_loop, v_vectorized))
print("loop = package    :", np.array_equal(v_loop, v_package))

# %% [markdown] slideshow={"slide_type": "slide"}
# The package's function returns two things: the output, and a `cache` with the values
# that its gradient needs. Here that is $\sigma\varepsilon$, which costs an exponential
# and is not computed twice.
#
# ## The gradient of the sample
#
# Somewhere behind `v` there is one scalar objective $L$ (later: the evidence lower
# bound). Suppose that we are given its gradient at the samples, $\texttt{dv}_{sk} =
# \partial L / \partial v_{sk}$. The chain rule says: *add up over every way in which
# the parameter reaches* $L$. The mean $\mu_k$ reaches $L$ through
# $v_{1k}, v_{2k}, \dots, v_{Sk}$, one path for each sample, so
#
# $$ \frac{\partial L}{\partial \mu_k} = \sum_{s=1}^{S} \frac{\partial L}{\partial v_{sk}}
#    \frac{\partial v_{sk}}{\partial \mu_k} = \sum_s \texttt{dv}_{sk} \cdot 1. $$
#
# For the width we differentiate $v_{sk} = \mu_k + e^{\log\sigma_k} \varepsilon_{sk}$
# with respect to $\log\sigma_k$. The derivative of $e^x$ is $e^x$, so
#
# $$ \frac{\partial v_{sk}}{\partial \log\sigma_k} = e^{\log\sigma_k} \varepsilon_{sk} = \sigma_k \varepsilon_{sk},
#    \qquad
#    \frac{\partial L}{\partial \log\sigma_k} = \sum_s \texttt{dv}_{sk}\, \sigma_k \varepsilon_{sk}. $$
#
# Both sums run over the samples. They are the mirror image of the broadcast: **what the
# forward repeats, the gradient adds up.**


# %% slideshow={"slide_type": "slide"}
def sample_vjp_loop(dv, eps, mu, log_sigma):
    dmu, dlog_sigma = np.zeros(K), np.zeros(K)
    for s in range(S):
        for k in range(K):
            dmu[k] += dv[s, k]
            dlog_sigma[k] += dv[s, k] * np.exp(log_sigma[k]) * eps[s, k]
    return dmu, dlog_sigma


dv = rng.standard_normal((S, K))
dmu_loop, dlog_sigma_loop = sample_vjp_loop(dv, eps, mu, log_sigma)
dmu, dlog_sigma = gaussian.sample_vjp(dv, cache)
print(
    "largest difference, loop and package:",
    max(np.abs(dmu - dmu_loop).max(), np.abs(dlog_sigma - dlog_sigma_loop).max()),
)

# %% [markdown] slideshow={"slide_type": "slide"}
# `gaussian.sample_vjp` is the vectorized form: `dv.sum(axis=0)` and
# `(dv * noise).sum(axis=0)`. (VJP stands for *vector-Jacobian product*: the vector `dv`
# times the matrix of all partial derivatives, without ever building it.)
#
# ## Is it right?
#
# A derivative is the slope of a small step. Our objective here is
# $L = \sum_{sk} \texttt{dv}_{sk} v_{sk}$, whose gradient at $v$ is `dv`. Move one
# parameter a little both ways, and compare:

# %% slideshow={"slide_type": "slide"}
h, step = 1e-5, np.array([0, 1, 0, 0])  # a step in log_sigma[1]


def objective(log_sigma):
    return np.sum(dv * gaussian.sample(eps, mu, log_sigma)[0])


difference = (objective(log_sigma + h * step) - objective(log_sigma - h * step)) / (
    2 * h
)
print(f"derived by hand {dlog_sigma[1]:.12f}\ndifference      {difference:.12f}")

# %% [markdown]
# This was one parameter, and the last digits differ: is that the difference's fault or
# ours? Tutorial 3 answers this question. Until then `check` does it for us, for every
# parameter, with a random `dv` and to the last digit. `wrt` names the inputs that have
# a gradient: the noise has none.

# %% slideshow={"slide_type": "slide"}
print(
    check(
        gaussian.sample,
        gaussian.sample_vjp,
        (eps, mu, log_sigma),
        wrt=("mu", "log_sigma"),
    )
)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A mistake, and how it is caught
#
# The most frequent mistake of all: forgetting the sum over the samples. The formula on
# paper looks perfectly fine, $\partial v / \partial\mu = 1$, so one writes `dmu = dv`.
#
# > **Stop and predict.** `mu` has shape `(4,)`, the wrong `dmu` has shape `(6,
# > 4)`.  Does the next step of gradient descent, `mu - 0.1 * dmu`, raise an error?
#
# <details><summary>Answer</summary>
#
# No. NumPy broadcasts, and from then on every sample silently has a separate mean.
#
# </details>


# %% slideshow={"slide_type": "slide"}
def forgetful_vjp(dv, cache):
    noise = cache
    return dv, dv * noise  # the sums over axis 0 are missing


print(
    check(gaussian.sample, forgetful_vjp, (eps, mu, log_sigma), wrt=("mu", "log_sigma"))
)
print(
    "\nshape of mu after one step with the wrong gradient:",
    (mu - 0.1 * forgetful_vjp(dv, cache)[0]).shape,
)

# %% [markdown] slideshow={"slide_type": "slide"}
# NumPy does not complain, `check` does. Hence the rule of the package: a gradient has
# the shape of its parameter, and each `.sum(axis=...)` in a `_vjp` names the broadcast
# that it undoes.
#
# ## Why the estimate is unbiased
#
# What we want to differentiate is an *expectation*, $F(\mu, \log\sigma) = \mathbb
# E_{q}[f(v)] = \int q(v; \mu, \sigma) f(v)\, dv$, where
# $f$ may be the log-likelihood of a network.  Substitute $v = \mu +
# \sigma\varepsilon$, $dv = \sigma\, d\varepsilon$:
#
# $$ F = \int \tfrac1\sigma\, \mathcal N(\varepsilon; 0, 1)\, f(\mu + \sigma\varepsilon)\, \sigma\, d\varepsilon
#      = \int \mathcal N(\varepsilon; 0, 1)\, f(\mu + \sigma\varepsilon)\, d\varepsilon. $$
#
# The density no longer contains a parameter. So the derivative goes under the integral
# (allowed when $f$ is smooth and does not grow too fast) and meets only $f$:
#
# $$ \frac{\partial F}{\partial \mu} = \mathbb E_\varepsilon\bigl[f'(\mu + \sigma\varepsilon)\bigr], \qquad
#    \frac{\partial F}{\partial \log\sigma} = \mathbb E_\varepsilon\bigl[f'(\mu + \sigma\varepsilon)\,
#    \sigma\varepsilon\bigr]. $$
#
# The right-hand sides are averages of exactly what `sample_vjp` computes. The average
# over random noise of our gradient *is* the gradient of the average: the estimate is
# unbiased for any number of samples, even one.
#
# There is an older way, the **score function** estimator. Leave the density where it is
# and use $\nabla q = q\, \nabla \log q$ (that is the derivative of the logarithm,
# turned around):
#
# $$ \nabla F = \int f(v)\, \nabla q(v)\, dv = \int q(v)\, f(v)\, \nabla\log q(v)\, dv
#    = \mathbb E_q\bigl[f(v)\, \nabla\log q(v)\bigr], $$
#
# with $\partial_\mu \log q = (v - \mu) / \sigma^2$ and
# $\partial_{\log\sigma} \log q = (v - \mu)^2 / \sigma^2 - 1$. It is unbiased as well
# and needs no derivative of $f$.  What does it cost?  Let us measure.  Our $f$ is the
# log-likelihood of a logistic regression with a single weight, and the truth comes from
# a sum over a fine grid of $v$, differentiated by central differences: no sampling and
# neither of the two formulas.
#
# > **Stop and predict.** Both estimators are right on average. Which one needs more
# > samples for the same accuracy, and how many times more: twice, ten times, a hundred
# > times?
#
# <details><summary>Answer</summary>
#
# The score function: more than 1000 times more for the mean, more than 100 times for
# the width. With the mean of $f$ subtracted, 5 to 50 times.
#
# </details>

# %%
x_data = rng.standard_normal(20)
y_data = np.where(rng.uniform(size=20) < sigmoid(1.5 * x_data), 1.0, -1.0)
yx = y_data * x_data


def f(v):
    return log_sigmoid(np.multiply.outer(v, yx)).sum(axis=-1)


def f_slope(v):  # d/dx log sigmoid(x) = sigmoid(-x)
    return (yx * sigmoid(-np.multiply.outer(v, yx))).sum(axis=-1)


weight_mu, weight_log_sigma = 0.8, -1.0
weight_sigma = np.exp(weight_log_sigma)
grid = np.linspace(weight_mu - 12 * weight_sigma, weight_mu + 12 * weight_sigma, 4001)


def expectation(m, log_s):
    return np.sum(np.exp(gaussian.log_density(grid, m, log_s)[0]) * f(grid)) * (
        grid[1] - grid[0]
    )


h = 1e-4
truth = (
    (
        expectation(weight_mu + h, weight_log_sigma)
        - expectation(weight_mu - h, weight_log_sigma)
    )
    / (2 * h),
    (
        expectation(weight_mu, weight_log_sigma + h)
        - expectation(weight_mu, weight_log_sigma - h)
    )
    / (2 * h),
)

# %% slideshow={"slide_type": "slide"}
noise = rng.standard_normal(200_000)
v = weight_mu + weight_sigma * noise
slope, value = f_slope(v), f(v)
centred = value - expectation(weight_mu, weight_log_sigma)
estimators = {  # per sample: gradient at mu, gradient at log_sigma
    "reparameterized": (slope, slope * weight_sigma * noise),
    "score": (value * noise / weight_sigma, value * (noise**2 - 1)),
    "score, f - E[f]": (centred * noise / weight_sigma, centred * (noise**2 - 1)),
}

for which, name in enumerate(("mu", "log_sigma")):
    print(f"gradient at {name}; by the grid: {truth[which]:.5f}")
    reference = estimators["reparameterized"][which].var()
    for label, both in estimators.items():
        one = both[which]
        error = one.std() / np.sqrt(one.size)
        print(
            f"  {label:16s} {one.mean():9.5f} +- {error:.5f} "
            f"({(one.mean() - truth[which]) / error:+.1f} standard "
            f"errors off), variance {one.var() / reference:8.1f} x"
        )

# %% [markdown]
# All three are unbiased: each mean is within a few standard errors of the truth. Their
# variances are not alike. The score function multiplies noise by the *value* of $f$,
# which is a large number whatever the weight does; the reparameterized estimate uses
# the *slope* of $f$, which points in the right direction. Subtracting the mean of
# $f$ (a *baseline*) helps, because $\mathbb E[\nabla\log q] = 0$ keeps the estimate
# unbiased, but part of the gap remains.
#
# A ratio of variances is a ratio of costs: so many times more samples are needed for
# the same accuracy.

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Left: histograms of three estimates of one gradient, all around the true value; the reparameterized one is by far the narrowest. Right: their errors fall as parallel lines."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.5), layout="constrained")
colors = {"reparameterized": "C0", "score": "C1", "score, f - E[f]": "C2"}
bins = np.linspace(truth[0] - 15, truth[0] + 15, 151)
for label in ("score", "score, f - E[f]", "reparameterized"):
    batches = estimators[label][0].reshape(-1, 10).mean(axis=1)
    share = np.full(
        len(batches), 1 / (len(batches) * (bins[1] - bins[0]))
    )  # of all, also of those outside
    left.hist(
        batches, bins=bins, weights=share, alpha=0.75, color=colors[label], label=label
    )
left.axvline(
    truth[0], color="black", linestyle="--", linewidth=1, label="true gradient"
)
left.set(
    yscale="log",
    ylim=(1e-3, 30),
    xlabel=r"estimate of the gradient at $\mu$, $S = 10$",
    ylabel="density",
)
left.set_title("Same mean, very different spread")
left.legend(fontsize=8, loc="upper right")

sizes = np.array([1, 10, 100, 1000])
for label in colors:
    one = estimators[label][0]
    spread = [
        np.sqrt(np.mean((one.reshape(-1, n).mean(axis=1) - truth[0]) ** 2))
        for n in sizes
    ]
    right.loglog(sizes, spread, "o-", color=colors[label])
    right.annotate(
        label,
        (sizes[2], spread[2]),
        xytext=(-6, -12),
        ha="right",
        textcoords="offset points",
        color=colors[label],
    )
right.set(xlabel="samples $S$", ylabel="root mean square error")
right.set_title(r"All fall like $1 / \sqrt{S}$")
right.grid(alpha=0.3)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The KL divergence of two Gaussians
#
# How far is the distribution $q = \mathcal N(\mu, \sigma^2)$ from the prior
# $p = \mathcal N(\mu_0, \sigma_0^2)$? By definition
#
# $$ KL[q \,\|\, p] = \mathbb E_q\bigl[\log q(v) - \log p(v)\bigr]. $$
#
# Write both logarithms out. The $-\frac12\log 2\pi$ is in both and cancels:
#
# $$ \log q(v) - \log p(v) = -\log\sigma + \log\sigma_0 - \frac{(v - \mu)^2}{2\sigma^2}
#    + \frac{(v - \mu_0)^2}{2\sigma_0^2}. $$
#
# Now take expectations under $q$. The first square is the variance by definition,
# $\mathbb E_q[(v - \mu)^2] = \sigma^2$, so the third term becomes $-\frac12$. For the
# second square put $v - \mu_0 = (v - \mu) + (\mu - \mu_0)$:
#
# $$ \mathbb E_q[(v - \mu_0)^2] = \underbrace{\mathbb E_q[(v - \mu)^2]}_{\sigma^2}
#    + 2 (\mu - \mu_0) \underbrace{\mathbb E_q[v - \mu]}_{0} + (\mu - \mu_0)^2. $$
#
# Together, for one weight,
#
# $$ KL = \log\frac{\sigma_0}{\sigma} + \frac{\sigma^2 + (\mu - \mu_0)^2}{2\sigma_0^2} - \frac12, $$
#
# and the logarithm of a product of independent densities is a sum, so the weights'
# divergences add up.
#
# The loop, the vectorized form, the package's function, and the definition itself by
# quadrature:

# %%
prior_mu = np.array([0.0, 0.0, 0.3, 1.0])
prior_log_sigma = np.array([0.0, 0.2, 0.0, -1.0])


def kl_loop(mu, log_sigma, prior_mu, prior_log_sigma):
    total = 0.0
    for k in range(K):
        sigma, prior_sigma = np.exp(log_sigma[k]), np.exp(prior_log_sigma[k])
        total += (
            np.log(prior_sigma / sigma)
            + (sigma**2 + (mu[k] - prior_mu[k]) ** 2) / (2 * prior_sigma**2)
            - 0.5
        )
    return total


def kl_terms(mu, log_sigma, prior_mu, prior_log_sigma):
    squares = np.exp(2 * log_sigma) + (mu - prior_mu) ** 2
    return (
        prior_log_sigma - log_sigma + squares / (2 * np.exp(2 * prior_log_sigma)) - 0.5
    )


def kl_by_quadrature(m, log_s, prior_m, prior_log_s):
    def integrand(v):
        log_q, log_p = (
            gaussian.log_density(v, m, log_s)[0],
            gaussian.log_density(v, prior_m, prior_log_s)[0],
        )
        return np.exp(log_q) * (log_q - log_p)

    reach = 15 * np.exp(log_s)  # beyond 15 standard deviations nothing is left
    return quad(integrand, m - reach, m + reach, epsabs=1e-12)[0]


beliefs = (mu, log_sigma, prior_mu, prior_log_sigma)
print(f"loop       {kl_loop(*beliefs):.12f}")
print(f"vectorized {kl_terms(*beliefs).sum():.12f}")
print(f"package    {gaussian.kl(*beliefs)[0]:.12f}")
print(
    "quadrature "
    f"{sum(kl_by_quadrature(*one) for one in zip(*beliefs, strict=True)):.12f}"
)

# %% [markdown]
# ### Why the package writes it differently
#
# `gaussian.kl` computes $\frac12 (e^{2r} - 1) - r$ with $r = \log\sigma - \log\sigma_0$
# and `np.expm1`. On paper that is the same. In the computer it matters where a weight
# is *near its prior*, as most weights are when a new task begins. There the divergence
# is a tiny number, $r^2 + \frac23 r^3 + \dots$ (expand the exponential), left over
# after terms of size one half cancel.

# %% slideshow={"slide_type": "slide"}
print("     r    r^2 + 2/3 r^3   plain formula     package")
for r in (1e-2, 1e-4, 1e-6, 1e-8):
    close = (np.zeros(1), np.full(1, r), np.zeros(1), np.zeros(1))
    print(
        f"{r:6.0e}    {r * r + 2 / 3 * r**3:13.6e}   {kl_terms(*close).sum():13.6e}"
        f"   {gaussian.kl(*close)[0]:.6e}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# The plain formula rounds to a multiple of about $10^{-16}$, whatever is left over; in
# the last line that is nothing at all. `expm1` keeps the digits much longer, and it
# does so where they matter most: the gradient at $\log\sigma$, derived next, is `expm1`
# itself, without any cancellation.
#
# ## The gradient of the KL
#
# One weight at a time, since the sum does not mix them.
#
# * **At $\mu$**: only the square contains it, and $\frac{d}{d\mu} \frac{(\mu -
#   \mu_0)^2}{2\sigma_0^2} = \frac{\mu - \mu_0}{\sigma_0^2}$.
# * **At $\mu_0$**: the same square with the opposite sign, $-\frac{\mu -
#   \mu_0}{\sigma_0^2}$.
# * **At $\log\sigma$**: write $\sigma^2 =
#   e^{2\log\sigma}$.  Then $\log\frac{\sigma_0}{\sigma}$ gives
#   $-1$ and $\frac{e^{2\log\sigma}}{2\sigma_0^2}$ gives
#   $\frac{2\sigma^2}{2\sigma_0^2}$; together $\frac{\sigma^2}{\sigma_0^2} - 1$.
# * **At $\log\sigma_0$**: write $\frac{1}{2\sigma_0^2} = \frac12 e^{-2\log\sigma_0}$,
#   whose derivative is $-\frac{1}{\sigma_0^2}$. Together with the
#   $+1$ of the logarithm: $1 - \frac{\sigma^2 + (\mu - \mu_0)^2}{\sigma_0^2}$.
#
# All four are zero at $q = p$, as they must be at a minimum. All of them, compared
# entry by entry with derivatives that need no derivation:

# %% slideshow={"slide_type": "slide"}
print(check(gaussian.kl, gaussian.kl_vjp, beliefs))

# %% [markdown]
# What does this gradient *do*? The figure shows the KL divergence from a standard
# normal prior over the two parameters. The arrows are the direction of steepest
# descent. A distribution that is too wide is pulled in hard, because it has mass where
# the prior has none: the contour lines are close together at the top. A distribution
# that is too narrow only pays the logarithm of its width.

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Contours of the divergence over mean and log width, with arrows of steepest descent: all lead to the prior at the origin; the contours crowd where the width is large."}}
grid_mu, grid_log_sigma = np.meshgrid(
    np.linspace(-3, 3, 121), np.linspace(-2.5, 1.25, 121)
)
landscape = kl_terms(grid_mu, grid_log_sigma, 0.0, 0.0)
coarse = (slice(6, None, 12), slice(6, None, 12))
_, coarse_cache = gaussian.kl(
    grid_mu[coarse], grid_log_sigma[coarse], np.zeros(()), np.zeros(())
)
down_mu, down_log_sigma, _, _ = gaussian.kl_vjp(-1.0, coarse_cache)
length = np.hypot(down_mu, down_log_sigma)

figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
levels = [0.1, 0.25, 0.5, 1, 2, 3, 4, 6, 8]
axes.pcolormesh(
    grid_mu, grid_log_sigma, np.sqrt(landscape), cmap="Blues", vmax=5, shading="gouraud"
)
contours = axes.contour(
    grid_mu, grid_log_sigma, landscape, levels=levels, colors="C0", linewidths=0.8
)
axes.clabel(contours, fontsize=7, fmt="%g")
axes.quiver(
    grid_mu[coarse],
    grid_log_sigma[coarse],
    down_mu / length,
    down_log_sigma / length,
    color="0.25",
    scale=28,
    width=0.003,
)
axes.plot(0, 0, "o", color="C1", label="the prior: KL $= 0$")
axes.set(
    xlabel=r"$\mu$",
    ylabel=r"$\log\sigma$",
    title="KL from a standard normal in nats, and the way down",
)
axes.legend(loc="lower right")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The previous posterior is the next prior
#
# Now the point of it all. Let an unknown
# $v$ be measured in three tasks, one after another, $y_n = v +
# \text{noise}$ with a known noise variance $s^2$. Bayes' rule for the data of two
# tasks, which are independent given $v$:
#
# $$ p(v \mid D_1, D_2) \propto p(D_2 \mid v)\, p(D_1 \mid v)\, p(v) \propto p(D_2 \mid v)\, p(v \mid D_1). $$
#
# The second step only groups the factors. But read it as a program: *once task 1 has
# been turned into* $p(v \mid D_1)$, *its data are not needed any more.* The posterior
# takes the place of the prior.
#
# For Gaussians every step has a closed form. The exponent of $p(D \mid v)\, p(v)$ is
#
# $$ -\frac12 \Bigl[ \frac{(v - \mu_0)^2}{\sigma_0^2} + \sum_{n=1}^{N} \frac{(y_n - v)^2}{s^2} \Bigr]
#    = -\frac12 \Bigl[ v^2 \Bigl(\frac1{\sigma_0^2} + \frac{N}{s^2}\Bigr)
#    - 2 v \Bigl(\frac{\mu_0}{\sigma_0^2} + \frac{\sum_n y_n}{s^2}\Bigr) \Bigr] + \text{const}, $$
#
# and a Gaussian $\mathcal N(\mu, \sigma^2)$ has the exponent $-\frac12 [v^2 / \sigma^2 -
# 2 v \mu / \sigma^2] + \text{const}$. Compare the factors of $v^2$ and of $v$:
#
# $$ \frac{1}{\sigma^2} = \frac{1}{\sigma_0^2} + \frac{N}{s^2}, \qquad
#    \frac{\mu}{\sigma^2} = \frac{\mu_0}{\sigma_0^2} + \frac{\sum_n y_n}{s^2}. $$
#
# Both are sums over the data, and sums may be taken in portions.
#
# > **Stop and predict.** Three tasks of different sizes arrive one after another. Is
# > the last posterior equal to that of all the data at once, nearly equal, or closer to
# > the last task? Does their order matter?
#
# <details><summary>Answer</summary>
#
# It is *exactly* that of all the data at once, to the last digits of the arithmetic, in
# whatever order they come.
#
# </details>

# %% slideshow={"slide_type": "slide"}
noise_sigma, true_v = 1.0, 1.3
tasks = [true_v + noise_sigma * rng.standard_normal(n) for n in (4, 10, 6)]


def posterior(y, prior_mu, prior_sigma):
    precision = 1 / prior_sigma**2 + y.size / noise_sigma**2
    return (
        prior_mu / prior_sigma**2 + y.sum() / noise_sigma**2
    ) / precision, precision**-0.5


belief, beliefs_online = (0.0, 2.0), [(0.0, 2.0)]
for y in tasks:
    belief = posterior(y, *belief)  # the posterior becomes the prior
    beliefs_online.append(belief)
batch = posterior(np.concatenate(tasks), 0.0, 2.0)
forgetful = posterior(tasks[-1], 0.0, 2.0)  # starts every task from the first prior

print(f"task by task      mu {belief[0]:.15f}  sigma {belief[1]:.15f}")
print(f"all data at once  mu {batch[0]:.15f}  sigma {batch[1]:.15f}")
print(
    f"fresh prior       mu {forgetful[0]:.15f}  sigma {forgetful[1]:.15f}   (knows "
    "the last task only)"
)

# %% [markdown] slideshow={"slide_type": "slide"}
# A network's posterior has no closed form. There one *maximizes the evidence lower
# bound* (ELBO). [Tutorial 8](08_elbo_gradient.py) derives it, and shows that its
# maximum is the distribution $q$ that is closest to the posterior:
#
# $$ \mathcal L = \mathbb E_q[\log p(D_t \mid v)] - KL[q \,\|\, q_{t-1}], $$
#
# with the previous posterior $q_{t-1}$ as the prior. In our example the best $q$ is the
# exact posterior, because that is a Gaussian, so gradient ascent has to find it. The
# expected log-likelihood is $-\frac{1}{2s^2} \sum_n \mathbb E_q[(y_n - v)^2] +
# \text{const}$, and by the same split as above
# $\mathbb E_q[(y_n - v)^2] = (y_n - \mu)^2 + \sigma^2$. Hence its gradients
# $\frac{1}{s^2} \sum_n (y_n - \mu)$ at $\mu$ and $-\frac{N}{s^2}
# \sigma^2$ at $\log\sigma$. We have just derived the gradient of the KL divergence.

# %% slideshow={"slide_type": "slide"}
q_mu, q_log_sigma = np.zeros(1), np.full(1, np.log(2.0))
for y in tasks:
    last_mu, last_log_sigma = q_mu, q_log_sigma
    rate = 0.5 / (
        np.exp(-2 * last_log_sigma) + y.size / noise_sigma**2
    )  # half of one over the curvature
    for _ in range(100):
        _, kl_cache = gaussian.kl(q_mu, q_log_sigma, last_mu, last_log_sigma)
        dmu, dlog_sigma, _, _ = gaussian.kl_vjp(
            -1.0, kl_cache
        )  # minus: the KL is subtracted
        dmu = dmu + np.sum(y - q_mu) / noise_sigma**2
        dlog_sigma = dlog_sigma - y.size * np.exp(2 * q_log_sigma) / noise_sigma**2
        q_mu, q_log_sigma = q_mu + rate * dmu, q_log_sigma + 0.25 * dlog_sigma

print(f"by gradient ascent  mu {q_mu[0]:.12f}  sigma {np.exp(q_log_sigma[0]):.12f}")
print(
    f"distance from the posterior of all the data: {abs(q_mu[0] - batch[0]):.1e}, "
    f"{abs(np.exp(q_log_sigma[0]) - batch[1]):.1e}"
)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Densities of the belief after each of three tasks, ever narrower; the last lies on that of all data at once. The one that saw only the last task is wider and elsewhere."}}
figure, axes = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
line = np.linspace(-1.0, 3.5, 500)


def density(belief):
    return np.exp(gaussian.log_density(line, belief[0], np.log(belief[1]))[0])


shades = plt.get_cmap("Blues")(np.linspace(0.35, 0.95, len(beliefs_online)))
for t, (belief, shade) in enumerate(zip(beliefs_online, shades, strict=True)):
    axes.plot(
        line,
        density(belief),
        color=shade,
        linewidth=2,
        label=f"after task {t}" if t else "prior",
    )
axes.plot(
    line, density(batch), "--", color="C1", linewidth=1.5, label="all data at once"
)
axes.plot(
    line,
    density(forgetful),
    ":",
    color="0.3",
    linewidth=1.5,
    label="last task, fresh prior",
)
axes.axvline(true_v, color="black", linewidth=0.8, label="true $v$")
axes.set(
    xlabel="$v$",
    ylabel="density",
    title="Three tasks, one after another: nothing is lost",
)
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# The dashed curve lies on the last solid one; the dotted one has forgotten the first
# two tasks. With a network the same recursion is an approximation, because each
# posterior is squeezed into a Gaussian, but the idea is this one.
#
# ## Exercises
#
# Solutions are in `solutions/02_gaussian_weights.py`; `ibpcl check` checks their
# gradients.
#
# 1. **Another width.** Some codes carry the log *variance*,
#    `log_variance = 2 * log_sigma`. Derive the gradient of the sample with respect to
#    it, write the pair and check it. *Hint:* $\sigma = e^{\texttt{log\_variance} / 2}$;
#    which factor does the chain rule add? Leave it out on purpose and read what the
#    report says.
# 2. **The other direction.** Compare $KL[p \,\|\, q]$ with $KL[q \,\|\, p]$ for a
#    belief that is too narrow and for one that is too wide. Which mistake does each
#    direction punish hard? *Hint:* `gaussian.kl` takes the two Gaussians in either
#    order.
# 3. **A slope of zero.** Let $f(v) = 1$ if $v > 0$, else $0$. Which of the two gradient
#    estimators still works, and what does the other return? Where does the proof of
#    unbiasedness break? *Hint:* $\mathbb
#    E_q[f]$ is the normal distribution function at $\mu / \sigma$. Tutorial 7 is about
#    what one can do for such an $f$.
