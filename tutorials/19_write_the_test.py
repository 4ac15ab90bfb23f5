# %% [markdown] slideshow={"slide_type": "slide"}
# # 19. Write the test
#
# A test of a gradient can pass although the gradient is wrong. Then it is worse than no
# test, because nobody looks again. Which tests would fail if the gradient had a
# mistake? There is a simple way to find out: make the mistake, and run the test. This
# tutorial does it with one function and seven tests.
#
# **Prerequisites:** tutorials 3 and 4. **Time:** about 35 minutes.
#
# **You will be able to**
#
# - measure a test by the mistakes that it catches;
# - choose a cotangent and inputs at which mistakes show;
# - choose the step and the tolerance of a comparison with differences;
# - say what a test cannot show, even if it catches every mistake that was tried.
#
# Names: `dout` is the gradient at the output, also called the cotangent. A *test* here is
# a function that takes a gradient function and returns whether it passes.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(19)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The function
#
# Each column of a batch gets mean zero and variance one. This is the core of batch
# normalization. With $c = x - \bar x$, $s = 1 / \sqrt{\overline{c^2}}$ and the output
# $y = s\,c$, the gradient is
#
# $$ dx = s\,\bigl(dy - \overline{dy} - y\,\overline{dy\,y}\bigr). $$
#
# A bar is the mean over the batch. The two means stand there because each example
# moves the mean and the variance of all others.


# %% slideshow={"slide_type": "slide"}
def standardize(x):
    centered = x - x.mean(axis=0)
    scale = 1 / np.sqrt(np.mean(centered**2, axis=0))
    return centered * scale, (centered * scale, scale)


def standardize_vjp(dout, cache):
    y, scale = cache
    return scale * (dout - dout.mean(axis=0) - y * np.mean(dout * y, axis=0))


batch = rng.normal(size=(5, 3)) * (0.5, 1.0, 2.0)
print(check(standardize, standardize_vjp, (batch,)))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The mistakes
#
# Here are eight ways to get it wrong: a path that was forgotten, a wrong sign, a factor
# too many, a sum in place of a mean, a mean over the wrong axis.


# %% slideshow={"slide_type": "slide"}
def no_mean_path(dout, cache):
    y, scale = cache
    return scale * (dout - y * np.mean(dout * y, axis=0))


def no_variance_path(dout, cache):
    y, scale = cache
    return scale * (dout - dout.mean(axis=0))


def wrong_sign(dout, cache):
    y, scale = cache
    return scale * (dout - dout.mean(axis=0) + y * np.mean(dout * y, axis=0))


def scale_twice(dout, cache):
    y, scale = cache
    return scale**2 * (dout - dout.mean(axis=0) - y * np.mean(dout * y, axis=0))


def no_scale(dout, cache):
    y, scale = cache
    return dout - dout.mean(axis=0) - y * np.mean(dout * y, axis=0)


def sum_for_mean(dout, cache):
    y, scale = cache
    return scale * (dout - dout.mean(axis=0) - y * np.sum(dout * y, axis=0))


def mean_of_everything(dout, cache):
    y, scale = cache
    return scale * (dout - dout.mean() - y * np.mean(dout * y, axis=0))


def no_output(dout, cache):
    y, scale = cache
    return scale * (dout - dout.mean(axis=0) - np.mean(dout * y, axis=0))


MISTAKES = [
    no_mean_path,
    no_variance_path,
    wrong_sign,
    scale_twice,
    no_scale,
    sum_for_mean,
    mean_of_everything,
    no_output,
]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Tests that look reasonable
#
# The first compares shapes. The second uses a cotangent of ones, because the sum of all
# outputs is always zero and so is its gradient. The third uses a random cotangent and
# compares with differences, but for a batch of two examples. The fourth knows a
# property: adding a constant to a column does not change the output, so the gradient
# of each column adds up to zero. The last three compare with differences at a random
# cotangent. They have different batches: one column, columns that are already
# standardized, and columns of different scales.


# %% slideshow={"slide_type": "slide"}
STEP = 1e-5


def differences(x, dout):
    """Return the slopes of sum(dout * standardize(x)) in each entry of x."""
    slopes = np.empty_like(x)
    for place in np.ndindex(x.shape):
        change = np.zeros_like(x)
        change[place] = STEP
        above, below = standardize(x + change)[0], standardize(x - change)[0]
        slopes[place] = np.sum(dout * (above - below)) / (2 * STEP)
    return slopes


def error(gradient, x, dout):
    """Return the largest error of a gradient, relative to its largest entry."""
    slopes = differences(x, dout)
    claimed = gradient(dout, standardize(x)[1])
    return np.abs(claimed - slopes).max() / np.abs(slopes).max()


two = rng.normal(size=(2, 3))
one_column = rng.normal(size=(5, 1))
unit = standardize(rng.normal(size=(5, 3)))[0]
random_dout = rng.normal(size=(5, 3))


def shapes(gradient):
    return gradient(random_dout, standardize(batch)[1]).shape == batch.shape


def ones(gradient):
    return np.abs(gradient(np.ones((5, 3)), standardize(batch)[1])).max() < 1e-9


def two_examples(gradient):
    dout = rng.normal(size=(2, 3))
    claimed = gradient(dout, standardize(two)[1])
    return np.allclose(claimed, differences(two, dout), atol=1e-6)


def adds_up_to_zero(gradient):
    dx = gradient(random_dout, standardize(batch)[1])
    return np.abs(dx.sum(axis=0)).max() < 1e-9


def at_one_column(gradient):
    return error(gradient, one_column, random_dout[:, :1]) < 1e-6


def at_unit_scale(gradient):
    return error(gradient, unit, random_dout) < 1e-6


def generic(gradient):
    return error(gradient, batch, random_dout) < 1e-6


TESTS = [
    shapes,
    ones,
    two_examples,
    adds_up_to_zero,
    at_one_column,
    at_unit_scale,
    generic,
]
caught = np.array([[not test(wrong) for wrong in MISTAKES] for test in TESTS])
for test, row in zip(TESTS, caught, strict=True):
    print(f"{test.__name__:16s} catches {row.sum()} of {len(MISTAKES)}")
print("right gradient passes:", all(test(standardize_vjp) for test in TESTS))

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** The test with ones compares with the exact gradient, which is
# > zero. Why does it accept a gradient without the scale?
#
# <details><summary>Answer</summary>
#
# With ones, `dout` minus its mean is zero, and the mean of `dout * y` is the mean of
# `y`, which is zero too. The whole bracket vanishes. A factor in front of zero is
# invisible, and so is the sign of a term that is zero.
#
# </details>
#
# The table shows who catches what. A filled square is a mistake that the test catches.

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "A grid of tests and mistakes. The row of shapes is empty, the rows in between are partly filled, and the row of the generic test is full."}}
figure, axis = plt.subplots(figsize=(7.0, 3.2), layout="constrained")
axis.imshow(caught, cmap="Greys", vmin=0, vmax=1.6, aspect="auto")
axis.set_xticks(
    range(len(MISTAKES)),
    [wrong.__name__.replace("_", " ") for wrong in MISTAKES],
    rotation=35,
    ha="right",
)
axis.set_yticks(range(len(TESTS)), [test.__name__.replace("_", " ") for test in TESTS])
axis.set_title("Mistakes that each test catches")
axis.set_xlabel("mistake")
axis.set_ylabel("test")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# Each weak test has its own blind spot:
#
# - **Shapes** say nothing about numbers.
# - **Two examples.** A standardized column of two numbers is always plus one and minus
#   one. The right gradient is zero for every cotangent.
# - **A property** is a good test of some terms, and blind for all changes that keep the
#   property. A wrong factor keeps it.
# - **One column** hides which axis a mean runs along. So do square matrices hide a
#   missing transpose, and equal lengths of axes hide their confusion.
# - **Unit scale.** Inputs that are zero or one hide factors and terms. A bias of zero, a
#   gain of one, a batch that is already normalized: all of them are common first
#   values.
#
# The last test has none of this: random inputs with different lengths of all axes, away
# from zero and one, and a random cotangent. It compares with something that was not derived.
#
# ## The step and the tolerance
#
# Tutorial 3 showed that a difference is not exact. A tolerance must be larger than
# the error of the difference, and smaller than the error of a mistake. How wide is the
# gap between them?

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Relative errors over the step. The curve of the right gradient has the form of a V far below the flat lines of the wrong gradients; a dashed line for the tolerance lies between them."}}
steps = np.logspace(-11, -1, 41)
saved_step = STEP
curves = {}
for gradient in (standardize_vjp, *MISTAKES):
    values = []
    for STEP in steps:  # noqa: B007 - the differences use it
        values.append(error(gradient, batch, random_dout))
    curves[gradient.__name__] = np.array(values)
STEP = saved_step
figure, axis = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
for name, values in curves.items():
    is_right = name == "standardize_vjp"
    axis.loglog(
        steps,
        values,
        color=PALETTE[0] if is_right else "0.7",
        label="right" if is_right else "wrong" if name == "no_scale" else None,
    )
axis.axhline(1e-6, linestyle="--", color=PALETTE[1], label="tolerance")
axis.set_title("Errors of the right gradient and of eight wrong ones")
axis.set_xlabel("step")
axis.set_ylabel("relative error")
axis.legend()
plt.show()
right = curves["standardize_vjp"]
least = min(curves[wrong.__name__][np.argmin(right)] for wrong in MISTAKES)
print(f"right gradient, best step: {right.min():.0e}; smallest mistake: {least:.2f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# The gap is many orders of magnitude wide. There is no need for a loose tolerance: a
# test that must be loosened to pass has found something. The error is measured
# relative to the *largest* entry of the gradient, because a small entry has few right
# digits.
#
# > **Stop and predict.** A colleague computes the expected gradient in the test with the
# > formula of the derivation, typed a second time. Which mistakes does this test find?
#
# <details><summary>Answer</summary>
#
# Mistakes of typing in one of the two places. If a term was forgotten on paper, it is
# missing on both sides, and the test passes. The expected numbers must come from
# something that was not derived in the same way: differences, the complex step, a
# brute-force sum, a special case with a known answer.
#
# </details>
#
# ## From a list of mistakes to an audit
#
# The share of mistakes that a test catches is its *mutation score*. The command
# `ibpcl audit` computes it for a whole project: it plants known mistakes into the gradient
# functions, one at a time and in a copy, and runs the project's own tests.
#
# ```sh
# ibpcl audit layers.py --tests "pytest tests -q"
# ```
#
# For each mistake that survives, it prints an input and a cotangent at which a test
# would have failed. A planted change that leaves all numbers as they are is not a mistake, and
# it is not counted. The page about [auditing tests](../auditing-tests.md) describes it.
#
# ## What a full score does not mean
#
# The audit takes the forward as right, and changes one gradient. So a full score does
# not show that the forward is right. It does not show that the gradient is right at
# inputs that no test uses. Mistakes that nobody planted stay open, and so do two that
# cancel. It shows that the test would have noticed each mistake that was tried.

# %% [markdown]
# ## Exercises
#
# Solutions are in `solutions/19_write_the_test.py`; `ibpcl check` checks their
# gradients.
#
# 1. **Behind a cotangent of ones.** At another cotangent, the gradient of `standardize`
#    is orthogonal to the output: the sum of $dx \cdot y$ over a column is zero. Which of the eight
#    mistakes does a test of this property catch? *Hint:* multiply the input by a number;
#    what does the output do?
# 2. **A test for a layer.** Take a loss as the last layer: write the mean squared error of
#    a batch as a pair, and a test that catches a sum in place of the mean, a missing two,
#    and the other sign. Which batch hides the first of them? *Hint:* a mean of one number.
# 3. **The tolerance of a test.** Compute the error of the right gradient at ten random
#    batches with the step of this tutorial. Which tolerance accepts all of them with a
#    margin of a factor ten? Compare it with the smallest mistake. *Hint:* the maximum of
#    the errors.
