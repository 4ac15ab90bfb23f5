# %% [markdown] slideshow={"slide_type": "slide"}
# # 3. Checking a gradient
#
# You have derived a gradient on paper and typed it in. Is it right? A computer cannot
# read the derivation, but it can compare the result with slopes that need no
# derivation. How far can such slopes be trusted? This tutorial explains how finite
# differences lose their digits, why a step into the imaginary direction loses none, and
# a test that needs no slope at all.
#
# **Prerequisites:** the chain rule, Taylor's formula, complex numbers; from tutorial 2
# the words *VJP* (`f_vjp(dout, cache)` pulls the gradient at the output back to the
# inputs) and *reparameterization*. **Time:** about 45 minutes.
#
# **You will be able to**
#
# - explain why a difference is best at a medium step, and how many digits it has there;
# - use the complex step, and name the cases in which it must not be trusted;
# - distinguish right and wrong gradients by the slope of a Taylor remainder;
# - write forward functions that can be checked: no noise inside, no `abs`.
#
# Nothing here is about Bayesian neural networks: `ibpcl.verify` knows only functions.
# Names: $h$ is a step, $\epsilon$ the relative size of a rounding error.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.primitives import gaussian
from ibpcl.verify import central, check, complex_step, richardson, taylor_slope

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(4)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two errors that pull in opposite directions
#
# The usual test is a difference, $\bigl(f(x + h) - f(x)\bigr) / h$. It has two errors.
# With a large $h$ the curve bends away from its tangent.  With a small $h$ the two
# values agree in almost all digits, and the subtraction throws those digits away.
#
# There is a way without subtraction. Take the step into the *imaginary* direction and
# expand by Taylor's formula, with $i^2 = -1$:
#
# $$ f(x + ih) = f(x) + ih f'(x) - \tfrac{h^2}{2} f''(x) - \tfrac{i h^3}{6} f^{(3)}(x) + \dots $$
#
# Real and imaginary parts never mix. The imaginary part is
# $h f'(x) - \frac{h^3}{6} f^{(3)}(x) + \dots$, so
#
# $$ f'(x) = \frac{\operatorname{Im} f(x + ih)}{h} + O(h^2). $$
#
# Nothing is subtracted, so $h$ may be $10^{-20}$, and the $O(h^2)$ vanishes far below
# the last digit. Two lines of NumPy do it. We try both on the sample of tutorial 2, $v
# = \mu + \sigma\varepsilon$, with the objective $L = \sum_{sk} \texttt{dv}_{sk}
# v_{sk}$.
#
# > **Stop and predict.** Double precision has 16 digits. How many of them does the best
# > difference keep, at which $h$?  What happens to it at $h = 10^{-20}$?
#
# <details><summary>Answer</summary>
#
# About half of them, at an $h$ near $10^{-8}$, the square root of the rounding error.
# At $h = 10^{-20}$ the sum $x + h$ rounds to $x$, so the difference is exactly zero and
# no digit is right.
#
# </details>

# %% slideshow={"slide_type": "slide"}
S, K = 6, 4
eps, dv = rng.standard_normal((2, S, K))
mu, log_sigma = np.array([0.5, -1.0, 0.0, 2.0]), np.array([0.0, -1.0, 0.5, -2.0])
dmu, dlog_sigma = gaussian.sample_vjp(dv, gaussian.sample(eps, mu, log_sigma)[1])
derived = dlog_sigma[1]
step = np.array([0, 1, 0, 0])


def of_sample(log_sigma):
    return np.sum(dv * gaussian.sample(eps, mu, log_sigma)[0])


errors_of = {}
print("     h   error of the difference   error of the complex step")
for h in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-20):
    difference = (of_sample(log_sigma + h * step) - of_sample(log_sigma)) / h
    imaginary = of_sample(log_sigma + 1j * h * step).imag / h
    errors_of[h] = (
        abs(difference - derived) / abs(derived),
        abs(imaginary - derived) / abs(derived),
    )
    print(f"{h:6.0e}   {errors_of[h][0]:23.1e}   {errors_of[h][1]:25.1e}")

# %% [markdown]
# The complex step only gets better.
#
# This was one parameter of one function.
# `check` does it for every parameter, with a random `dv`. It also compares the complex
# step with a second numerical derivative, so that a failure of one method is noticed.

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
# ## A function with a curve: the V
#
# For the pictures we take a function that bends more: a linear classifier with a
# temperature. `N` examples with `D` inputs, `C` classes:
#
# $$ f_{nc} = \frac{1}{\tau} \Bigl(\sum_d x_{nd} w_{dc} + b_c\Bigr), \qquad
#    \log p_n = f_{n y_n} - \log \sum_c e^{f_{nc}}. $$
#
# Its gradient is derived in tutorial 4, with all the mistakes that can be made. Here we
# need the one at $w$.  With $\partial \log p_n / \partial f_{nc} = \mathbb 1[c = y_n] -
# \mathrm{softmax}(f_n)_c$,
#
# $$ \frac{\partial L}{\partial w_{dc}} = \frac1\tau \sum_n x_{nd}\, \texttt{dlog\_p}_n
#    \bigl(\mathbb 1[c = y_n] - \mathrm{softmax}(f_n)_c\bigr). $$

# %%
N, D, C = 6, 4, 3
x, w, b, tau = (
    rng.standard_normal((N, D)),
    rng.standard_normal((D, C)),
    rng.standard_normal(C),
    1.7,
)
labels, dlog_p = rng.integers(0, C, N), rng.standard_normal(N)
direction = rng.standard_normal((D, C))


def objective(w):
    logits = (x @ w + b) / tau
    return np.sum(
        dlog_p * (logits[np.arange(N), labels] - np.log(np.exp(logits).sum(axis=-1)))
    )


def dw_at(w):
    logits = (x @ w + b) / tau
    softmax = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    return x.T @ (dlog_p[:, None] * (np.eye(C)[labels] - softmax)) / tau


# %% [markdown] slideshow={"slide_type": "slide"}
# Take the scalar objective $\varphi(w) = \sum_n \texttt{dlog\_p}_n \log p_n$ and go
# from $w$ into a random direction $d$. The gradient claims the slope
# $\langle \texttt{dw}, d \rangle$. Here are four ways to measure it, each with a step
# $h$:
#
# * forward difference, $\bigl(\varphi(w + hd) - \varphi(w)\bigr) / h$: by Taylor's
#   formula its error is $\frac h2 \varphi'' + \dots$, proportional to $h$;
# * central difference, $\bigl(\varphi(w + hd) - \varphi(w - hd)\bigr) / 2h$: the even
#   terms cancel, the error is $\frac{h^2}{6} \varphi''' + \dots$;
# * Richardson's extrapolation: central differences at $h, \frac h2, \frac h4, \dots$,
#   combined so that the terms in $h^2, h^4, \dots$ cancel too;
# * the complex step, $\operatorname{Im} \varphi(w + ihd) / h$.
#
# Every difference also *subtracts* two numbers that agree in all but their last digits.
# That leaves an error of about $\epsilon / h$, with $\epsilon \approx 10^{-16}$, which
# grows as $h$ shrinks. Falling and growing make a V.

#
# > **Stop and predict.** On logarithmic axes, which slope does the falling side of the
# > V have for the forward and for the central difference, and which the rising side?
# > Which curve has no rising side?
#
# <details><summary>Answer</summary>
#
# With $h$ from large to small: the error of the forward difference falls like $h$, that
# of the central one like $h^2$, and both rise like $1 / h$. The complex step, which
# subtracts nothing, has no rising side.
#
# </details>

# %% slideshow={"slide_type": "slide"}
slope = np.sum(dw_at(w) * direction)
steps = np.logspace(0, -16, 65)
errors = {
    "forward difference": [
        (objective(w + h * direction) - objective(w)) / h - slope for h in steps
    ],
    "central difference": [central(objective, w, direction, h) - slope for h in steps],
    "Richardson, from h down": [
        richardson(objective, w, direction, h, restarts=1).value - slope for h in steps
    ],
    "complex step": [complex_step(objective, w, direction, h) - slope for h in steps],
}
for name, values in errors.items():
    size = np.abs(values) / abs(slope)
    print(
        f"{name:24s} smallest error {size.min():.0e} at h = {steps[size.argmin()]:.0e}"
    )

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Relative error against the step. Left, for a right gradient: forward, central and Richardson differences make V shapes of growing depth, the complex step falls to rounding and stays. Right, for a wrong gradient: all curves level out at the mistake."}}
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.8), layout="constrained", sharey=True
)
looks = dict(zip(errors, ("C0-", "C1-", "C2-", "C3--"), strict=True))
for name, values in errors.items():
    left.loglog(
        steps, np.maximum(np.abs(values) / abs(slope), 1e-17), looks[name], label=name
    )
left.text(2e-4, 3e-3, "truncation, $h$", color="0.4")
left.text(1.5e-1, 1e-8, "$h^2$", color="0.4")
left.text(1e-7, 1e-4, "rounding, $1 / h$", color="0.4", rotation=31)
left.set(
    xlabel="step $h$",
    ylabel="relative error",
    title="Four derivatives, right gradient",
    ylim=(1e-17, 1e3),
)
left.invert_xaxis()
left.legend(fontsize=8, loc="center right", bbox_to_anchor=(1, 0.3))

wrong = tau * slope  # 1 / tau was forgotten
for name in ("central difference", "complex step"):
    values = np.array(errors[name]) + slope - wrong
    right.loglog(steps, np.abs(values) / abs(slope), looks[name], label=name)
right.set(xlabel="step $h$", title="... and against a wrong one: flat")
right.invert_xaxis()
right.legend(fontsize=8, loc="center right")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The left-hand plot shows why no single step size works. The best forward difference
# keeps half of the digits, the best central one two thirds, and where the best step
# lies depends on the function. Richardson starts with a large step, where the
# rounding error is negligible, and removes the truncation error by algebra. The complex
# step has no V at all.
#
# `check` uses the complex step as its first method and Richardson's extrapolation as
# the second, because they fail for different reasons. If both agree, there is hardly
# any doubt. With a *wrong* gradient, on the right, the curve does not fall with $h$: it
# stops at the size of the mistake.
#
# ## The Taylor remainder
#
# There is a test that needs no derivative to compare with, only values of the function.
# Subtract the linear part that the gradient claims:
#
# $$ R_1(h) = |\varphi(w + hd) - \varphi(w) - h \langle g, d \rangle|. $$
#
# If $g$ is right, Taylor's formula leaves $\frac{h^2}{2} |\varphi''| +
# \dots$, and halving $h$ divides the remainder by four. If $g$ is wrong, $h\,|\varphi' -
# \langle g, d\rangle|$ is left, and halving $h$ only halves it. On logarithmic axes
# these are lines of slope two and one. Nothing has to be tuned: the *slope* is the
# verdict. If the curvature is subtracted as well, the slope is three. This checks
# second derivatives.

# %% slideshow={"slide_type": "slide"}
halvings = 0.5 ** np.arange(1, 22)
second = 1e-4  # step of a central difference of gradients


def dw_along(w):
    return np.sum(dw_at(w) * direction)


curvature = (dw_along(w + second * direction) - dw_along(w - second * direction)) / (
    2 * second
)
middle = objective(w)
ahead = np.array([objective(w + h * direction) for h in halvings])
remainders = {
    "wrong gradient: slope 1": np.abs(ahead - middle - halvings * wrong),
    "right gradient: slope 2": np.abs(ahead - middle - halvings * slope),
    "right, and curvature: slope 3": np.abs(
        ahead - middle - halvings * slope - halvings**2 / 2 * curvature
    ),
}
slopes = (
    taylor_slope(objective, w, direction, slope),
    taylor_slope(objective, w, direction, wrong),
    taylor_slope(objective, w, direction, slope, curvature),
)
print(
    "slope, right gradient {:.3f}\nslope, wrong gradient {:.3f}\nslope, with "
    "curvature {:.3f}".format(*slopes)
)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Taylor remainders against the step on logarithmic axes: lines of slope one for a wrong gradient, two for a right one, three with the curvature taken away, down to a band of rounding."}}
figure, axes = plt.subplots(figsize=(6.6, 4), layout="constrained")
for (name, values), colour in zip(remainders.items(), ("C3", "C0", "C2"), strict=True):
    axes.loglog(halvings, values, "o-", markersize=3, color=colour, label=name)
axes.axhspan(1e-17, 2e-15, color="0.9")
axes.text(0.4, 2e-16, "rounding", color="0.4")
axes.set(
    xlabel="step $h$",
    ylabel="remainder",
    title="The slope tells right from wrong",
    ylim=(1e-17, 10),
)
axes.invert_xaxis()
axes.legend(fontsize=8)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When the forward is to blame
#
# A gradient check compares a function with its gradient, and sometimes the function is
# the problem.
#
# **Noise.** A dropout layer that draws its own mask is a different function at each
# call.


# %% slideshow={"slide_type": "slide"}
def dropout_inside(h):
    keep = np.random.default_rng().random(h.shape) < 0.8  # drawn inside
    return h * keep / 0.8, keep


def dropout(h, u):
    keep = u < 0.8  # the noise is an argument
    return h * keep / 0.8, keep


def dropout_vjp(dy, keep):
    return dy * keep / 0.8


h = rng.standard_normal((N, 5))
print(check(dropout_inside, dropout_vjp, (h,)))
print()
print(check(dropout, dropout_vjp, (h, rng.random((N, 5))), wrt=("h",)))

# %% [markdown]
# The second form is the rule of this package: **a sampler never draws; noise is an
# argument.** With the noise fixed, a sample is an ordinary function, and everything in
# it can be checked.
#
# **Kinks.** The derivative of $\max(h, 0)$ at $h = 0$ does not exist: the slope is zero
# on the left and one on the right. A difference across the kink gives one half,
# whatever the gradient says. `check` notices that the two slopes differ and stay
# different as $h$ shrinks, and asks only that the entry lies between them. A gradient
# that is one at the kink is as right as one that is zero; five would be wrong.


# %% slideshow={"slide_type": "slide"}
def relu(h):
    on = h.real > 0
    return np.where(on, h, 0), on


def relu_vjp(dy, on):
    return dy * on


at_the_kink = h.copy()
at_the_kink[0, :2] = 0.0
difference = central(lambda h: relu(h)[0], at_the_kink, np.ones_like(h), 1e-6)
print(
    "central differences of relu at 0, 0 and",
    h[0, 2].round(2),
    "are",
    difference[0, :3].round(6),
    "\n",
)
print(check(relu, relu_vjp, (at_the_kink,)))


def eager_relu(h):
    on = h.real >= 0  # one at the kink
    return np.where(on, h, 0), on


print("\nwith slope one at the kink:", check(eager_relu, relu_vjp, (at_the_kink,)).ok)

# %% [markdown]
# **Functions that lose the imaginary part.** `np.abs` of a complex number is its
# length, a real number. The complex step then sees a derivative of zero, and a check
# that relies on it alone would reject a right gradient. But the second method
# disagrees, so the report names the *forward* as not complex-safe, and the differences
# decide.

# %% slideshow={"slide_type": "slide"}
print(check(lambda h: (np.abs(h), h), lambda dy, h: dy * np.sign(h), (h,)))

# %% [markdown]
# Differences are sufficient here because the function is linear on both sides of its
# kink. For a curved function they confirm about ten digits, not sixteen. If possible,
# write the forward so that it accepts complex numbers: `np.where(h.real > 0, h, -h)`
# instead of `np.abs(h)`, and `h.real > 0` in comparisons.
#
# > **Stop and predict.** A gradient check shows that `f_vjp` belongs to `f`. You forgot
# > a minus sign in the forward and derived everything correctly from there. What is the
# > verdict?
#
# <details><summary>Answer</summary>
#
# "Right": it *is* the gradient of that function. Such a mistake is found by comparison
# with a known value, which is the topic of the end of tutorial 4.
#
# </details>
#
# ## Exercises
#
# Solutions are in `solutions/03_checking_a_gradient.py`; `ibpcl check` checks their
# gradients.
#
# 1. **The best step.** A forward difference has the error
#    $\frac h2 |f''| + \frac{2 \epsilon |f|}{h}$. For which $h$ is it least, and how
#    large is it then? The same for the central difference. *Hint:* set the derivative
#    with respect to $h$ to zero.
# 2. **A remainder of higher order.** The remainder of a *central* difference is
#    $|\varphi(w + hd) - \varphi(w - hd) - 2h \langle g, d\rangle|$. Which slope does it
#    have for a right gradient, and which for a wrong one? *Hint:* which terms of
#    Taylor's formula cancel?
# 3. **A complex-safe absolute value.** Write $\sqrt{x^2 + \delta^2}$, a smooth $|x|$,
#    as a pair, so that the complex step can check it. What does
#    `check` report for it, and for `np.abs`? *Hint:* do not square with `np.abs(x)**2`.
