# %% [markdown] slideshow={"slide_type": "slide"}
# # 0. Prerequisites
#
# The tutorials use five tools again and again: the chain rule, the Gaussian
# distribution, the KL divergence, Monte Carlo estimates, and NumPy's broadcasting. This
# tutorial is a short refresher with a self-test. If all five exercises at the end are
# easy for you, skip it and begin with tutorial 1.
#
# **Prerequisites:** derivatives, integrals, and basic Python. **Time:** about 30
# minutes.
#
# **You will be able to**
#
# - write the gradient of a composed function as a sequence of vector-Jacobian products;
# - read a Gaussian density, and compute means and variances of sums;
# - compute a KL divergence, and state its three most important properties;
# - estimate an expectation by sampling, with an error bar;
# - predict the shape of a NumPy expression, and undo a broadcast in a gradient.
#
# Names: `x` is an input, `y` an output, `L` a scalar objective; `dx` is always the
# gradient of `L` with respect to `x`, in the shape of `x`.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(0)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The chain rule as a vector-Jacobian product
#
# In one dimension the chain rule is a product: if $y = f(x)$ and $L = g(y)$, then
#
# $$ \frac{dL}{dx} = \frac{dL}{dy}\, \frac{dy}{dx}. $$
#
# With vectors, $x \in \mathbb R^n$ and $y \in \mathbb R^m$, every
# $x_j$ can influence every $y_i$. We add up over all paths from $x_j$ to $L$:
#
# $$ \frac{\partial L}{\partial x_j} = \sum_{i=1}^{m} \frac{\partial L}{\partial y_i}\,
#    \frac{\partial y_i}{\partial x_j}. $$
#
# The numbers $J_{ij} = \partial y_i / \partial x_j$ form the *Jacobian* matrix. Write
# `dy` for the vector of $\partial L / \partial y_i$, and `dx` for the vector of
# $\partial L / \partial x_j$. Then
#
# $$ \texttt{dx} = \texttt{dy}^\top J, $$
#
# a *vector-Jacobian product*, or VJP. Two facts make it the basis of all gradient
# computations:
#
# * **It composes.** If $L$ depends on $x$ through several functions in sequence, apply
#   their VJPs in the opposite order. This is backpropagation. Each function needs to
#   know only itself.
# * **The matrix is never built.** For $y = \sin x$, elementwise, the Jacobian is
#   diagonal and the VJP is `dy * np.cos(x)`: $n$ multiplications instead of $n^2$.
#
# In this package every function comes as a pair. `f(x)` returns the output and a
# *cache* with the values that its gradient needs. `f_vjp(dy, cache)` returns `dx`. Here
# are two pairs and their composition, $L = \sum_i c_i \sin\bigl((A x)_i\bigr)$:

# %%
A, c = rng.standard_normal((3, 2)), rng.standard_normal(3)


def linear(x):
    return A @ x, None


def linear_vjp(dy, cache):
    return dy @ A  # the Jacobian of A x is A


def sine(y):
    return np.sin(y), y


def sine_vjp(dz, y):
    return dz * np.cos(y)  # the Jacobian is diagonal


x = np.array([0.3, -1.2])
y, linear_cache = linear(x)
z, sine_cache = sine(y)
dz = c  # L is the sum of c * z
dy = sine_vjp(dz, sine_cache)
dx = linear_vjp(dy, linear_cache)

h = 1e-6
steps = h * np.eye(2)
differences = [
    (c @ np.sin(A @ (x + step)) - c @ np.sin(A @ (x - step))) / (2 * h)
    for step in steps
]
print("by two VJPs           ", dx)
print("by finite differences ", np.array(differences))

# %% [markdown]
# The package has a function that compares a VJP with such numerical derivatives, for
# random `dy` and with error bars. Tutorial 3 explains how it works.

# %% slideshow={"slide_type": "slide"}
print(check(sine, sine_vjp, {"y": y}))

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** A value is used twice: $L = x \cdot \sin x$. How do you
# > combine the gradients of the two uses?
#
# <details><summary>Answer</summary>
#
# Add them. There are two paths from $x$ to $L$, and the chain rule sums over paths:
# $\sin x$ from the first factor, and $x \cos x$ from the second.
#
# </details>
#
# ## The Gaussian
#
# A Gaussian (normal) variable with mean $\mu$ and standard deviation $\sigma$ has the
# density
#
# $$ \mathcal N(x; \mu, \sigma^2) = \frac{1}{\sqrt{2\pi}\, \sigma}
#    \exp\Bigl(-\frac{(x - \mu)^2}{2 \sigma^2}\Bigr). $$
#
# We need three of its properties:
#
# * **Moments.** $\mathbb E[x] = \mu$ and
#   $\operatorname{Var}[x] = \mathbb E[(x - \mu)^2] = \sigma^2$, hence
#   $\mathbb E[x^2] = \mu^2 + \sigma^2$.
# * **Shifting and scaling.** If $\varepsilon \sim \mathcal N(0, 1)$, then
#   $\mu + \sigma \varepsilon \sim \mathcal N(\mu, \sigma^2)$.
# * **Sums.** If $x_1$ and $x_2$ are independent Gaussians, then $a x_1 + b x_2$ is
#   Gaussian, too. Means add up linearly, $a \mu_1 + b \mu_2$, and variances with
#   *squared* factors, $a^2 \sigma_1^2 + b^2 \sigma_2^2$.
#
# The logarithm of a density is often more useful than the density, because products
# become sums and small numbers do not underflow:
#
# $$ \log \mathcal N(x; \mu, \sigma^2) = -\frac{(x - \mu)^2}{2 \sigma^2} - \log\sigma
#    - \frac12 \log 2\pi. $$


# %% slideshow={"slide_type": "slide"}
def log_normal(x, mu, sigma):
    return -((x - mu) ** 2) / (2 * sigma**2) - np.log(sigma) - np.log(2 * np.pi) / 2


draws = 100_000
x_one, x_two = rng.normal(1.0, 2.0, draws), rng.normal(-0.5, 1.0, draws)
total = 3 * x_one - 2 * x_two
sum_mean, sum_sigma = 3 * 1.0 - 2 * (-0.5), np.sqrt(9 * 2.0**2 + 4 * 1.0**2)
print("3 x_1 - 2 x_2       sampled   derived")
print(f"mean               {total.mean():8.3f}  {sum_mean:8.3f}")
print(f"standard deviation {total.std():8.3f}  {sum_sigma:8.3f}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Histogram of the weighted sum of two Gaussian variables, with the Gaussian density of the derived mean and variance drawn over it: they agree."}}
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.hist(total, bins=80, density=True, alpha=0.5, label="samples")
line = np.linspace(sum_mean - 4 * sum_sigma, sum_mean + 4 * sum_sigma, 300)
axes.plot(line, np.exp(log_normal(line, sum_mean, sum_sigma)), label="derived density")
axes.set(
    xlabel="$3 x_1 - 2 x_2$", ylabel="density", title="A sum of Gaussians is Gaussian"
)
axes.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Monte Carlo
#
# Many expectations have no closed form. But we can *estimate* them: draw
# $S$ independent samples $x_s$ from $q$ and average,
#
# $$ \mathbb E_q[f(x)] \approx \hat f = \frac1S \sum_{s=1}^{S} f(x_s). $$
#
# The estimate is *unbiased*: its own expectation is exactly $\mathbb E_q[f]$, for every
# $S$. Its variance is $\operatorname{Var}[f] / S$, because the samples are independent.
# So its *standard error* is $\sqrt{\operatorname{Var}[f] / S}$, and we can estimate
# that from the same samples. About 95% of all estimates are within two standard errors
# of the truth.
#
# > **Stop and predict.** You want one more decimal digit. How many times more samples
# > do you need?
#
# <details><summary>Answer</summary>
#
# A hundred times more. The error falls like $1 / \sqrt S$, so a tenth of the error
# needs a hundred times the samples.
#
# </details>

# %% slideshow={"slide_type": "slide"}
truth = np.exp(0.5)  # E[exp(x)] for a standard normal x
print("samples   estimate of E[exp(x)]     error")
for size in (100, 10_000, 1_000_000):
    f = np.exp(rng.standard_normal(size))
    standard_error = f.std(ddof=1) / np.sqrt(size)
    error = f.mean() - truth
    print(f"{size:8d}   {f.mean():.4f} +- {standard_error:.4f}   {error:+12.4f}")

repeats = np.exp(rng.standard_normal((2000, 1000)))
errors = (repeats.mean(axis=1) - truth) / (repeats.std(axis=1, ddof=1) / np.sqrt(1000))
within_two = np.mean(np.abs(errors) < 2)
print(f"of 2000 estimates, within two standard errors: {within_two:.1%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The KL divergence
#
# How different are two distributions $q$ and $p$? The Kullback-Leibler divergence is
# the mean of the logarithm of their ratio, *under* $q$:
#
# $$ KL[q \,\|\, p] = \mathbb E_q\Bigl[\log\frac{q(x)}{p(x)}\Bigr]. $$
#
# With the natural logarithm its unit is the *nat* (1 nat is about 1.44 bits). Its three
# most important properties:
#
# * **It is never negative**, and it is zero only if $q = p$. Since $\log t \le t - 1$,
#   we have $-KL = \mathbb E_q[\log\frac pq] \le \mathbb E_q[\frac pq - 1] = 0$.
# * **It is not symmetric.** $KL[q \,\|\, p]$ is large where $q$ has mass and $p$ has
#   almost none. The other direction punishes the opposite.
# * **It adds up over independent variables.** If $q$ and $p$ both factorize, the
#   logarithm of the ratio is a sum, and so is its expectation.
#
# For two Bernoulli distributions with probabilities $\theta$ and $\pi$ the expectation
# has two terms:
#
# $$ KL = \theta \log\frac\theta\pi + (1 - \theta) \log\frac{1 - \theta}{1 - \pi}. $$
#
# For Gaussians tutorial 2 derives a closed form. Any KL divergence can be estimated by
# Monte Carlo, as long as we can sample from $q$ and evaluate both densities:


# %% slideshow={"slide_type": "slide"}
def bernoulli_kl(theta, pi):
    return theta * np.log(theta / pi) + (1 - theta) * np.log((1 - theta) / (1 - pi))


print(f"KL[B(0.9) | B(0.5)] = {bernoulli_kl(0.9, 0.5):.4f} nats")
print(f"KL[B(0.5) | B(0.9)] = {bernoulli_kl(0.5, 0.9):.4f} nats")

on = rng.uniform(size=100_000) < 0.9
log_ratio = np.where(on, np.log(0.9 / 0.5), np.log(0.1 / 0.5))
kl_error = log_ratio.std(ddof=1) / np.sqrt(on.size)
print(f"KL[B(0.9) | B(0.5)] by sampling: {log_ratio.mean():.4f} +- {kl_error:.4f} nats")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Broadcasting
#
# NumPy combines arrays of different shapes by *broadcasting*. Align the shapes at their
# right ends. Two sizes fit if they are equal, or if one of them is 1 or missing. The
# smaller array is then repeated along that axis:
#
# | expression | shapes | result |
# |---|---|---|
# | `eps * sigma` | `(6, 4)` and `(4,)` | `(6, 4)` |
# | `rho + logit_pi[:, None, :]` | `(5, 4)` and `(3, 1, 4)` | `(3, 5, 4)` |
# | `a + b` | `(6, 4)` and `(6,)` | an error: 4 is not 6 |
#
# `None` in an index inserts an axis of size 1. In the second row, `logit_pi` has the
# shape `(3, 4)`: three samples of four units. The result has one entry per sample,
# input and unit.
#
# In a gradient, **a repeated value receives a sum**. Each copy is a separate path to
# $L$, and the chain rule adds up over paths. So a VJP sums over exactly those axes
# along which its input was repeated. The gradient then has the shape of the input
# again.

# %% slideshow={"slide_type": "slide"}
rho, logit_pi = rng.standard_normal((5, 4)), rng.standard_normal((3, 4))


def add(rho, logit_pi):
    return rho + logit_pi[:, None, :], None


def add_vjp(dout, cache):
    drho = dout.sum(axis=0)  # rho was repeated for the 3 samples
    dlogit_pi = dout.sum(axis=1)  # logit_pi was repeated for the 5 inputs
    return drho, dlogit_pi


out, _ = add(rho, logit_pi)
drho, dlogit_pi = add_vjp(np.ones_like(out), None)
print("output", out.shape, " drho", drho.shape, " dlogit_pi", dlogit_pi.shape)
print(check(add, add_vjp, (rho, logit_pi)))

# %% [markdown]
# > **Stop and predict.** Someone forgets the sum and returns `dout` for `drho`. Its
# > shape is `(3, 5, 4)` instead of `(5, 4)`. Does the update `rho - 0.1 * drho` raise
# > an error?
#
# <details><summary>Answer</summary>
#
# No. The shapes fit, so NumPy broadcasts, and
# `rho` silently becomes an array of the shape `(3, 5, 4)`. This is why every gradient
# in this package has the shape of its parameter, and why a test compares the two.
#
# </details>
#
# ## Exercises
#
# These five exercises are the self-test. Solutions are in
# `solutions/00_prerequisites.py`; `ibpcl check` checks their gradients.
#
# 1. **A vector-Jacobian product.** The softmax function maps $x \in \mathbb R^n$ to
#    $y_i = e^{x_i} / \sum_j e^{x_j}$. Derive its Jacobian, and write the pair without
#    building the matrix. *Hint:* $\partial y_i / \partial x_j = y_i (\mathbb 1[i = j] -
#    y_j)$.
# 2. **A sum of Gaussians.** An output is $o = \sum_d x_d w_d$ with $x = (1, -2, 2)$ and
#    independent weights $w_d \sim \mathcal N(0.5, 0.1^2)$. Compute the mean and the
#    standard deviation of $o$. *Hint:* the factors are squared in the variance.
# 3. **Two directions of KL.** Let $q$ be uniform on $\{1, 2\}$ and $p$ uniform on
#    $\{1, 2, 3, 4\}$. Compute $KL[q \,\|\, p]$ and $KL[p \,\|\, q]$. *Hint:* which
#    probabilities are zero?
# 4. **An error bar.** Estimate $\pi$ from 10,000 random points in the unit square, with
#    its standard error. How many points do you need for an error of $0.001$? *Hint:* a
#    quarter of a disc has the area $\pi / 4$, and a variable that is 0 or 1 has the
#    variance $p (1 - p)$.
# 5. **Undoing a broadcast.** Write the pair for standardizing the columns of a matrix
#    with given vectors: $y_{nk} = (x_{nk} - m_k) / s_k$. *Hint:* $m$ and $s$ are
#    repeated for every row.
