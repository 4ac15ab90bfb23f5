# %% [markdown] slideshow={"slide_type": "slide"}
# # 4. Verifying a derivation
#
# A check shows *that* a gradient is wrong. *Where* is it wrong? This tutorial follows a
# student's gradient with five mistakes until all of them are found. Then it locates a
# mistake in a chain of functions, puts the check into a test, and discusses the
# mistakes that no gradient check can find.
#
# **Prerequisites:** tutorial 3: VJP, complex step, Taylor remainder. **Time:** about 45
# minutes.
#
# **You will be able to**
#
# - read a report of `check`: kind, sentence, entry, hint;
# - find a mistake by checking one part, or one stage, at a time;
# - keep a gradient right with a test of two lines, or with `ibpcl check mine.py:f`;
# - name the second check that a formula needs besides a gradient check.
#
# Nothing here is about Bayesian neural networks: `ibpcl.verify` knows only functions.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.verify import assert_correct, check, check_chain, taylor_slope

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(4)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The function
#
# A linear classifier with a temperature. `N` examples with `D` inputs, `C` classes:
#
# $$ f_{nc} = \frac{1}{\tau} \Bigl(\sum_d x_{nd} w_{dc} + b_c\Bigr), \qquad
#    \log p_n = f_{n y_n} - \log \sum_c e^{f_{nc}}. $$
#
# The forward returns its output and a `cache` with the values that the gradient needs.


# %% slideshow={"slide_type": "slide"}
def log_likelihood(x, w, b, tau, labels):
    raw = x @ w + b
    logits = raw / tau
    log_norm = np.log(np.exp(logits).sum(axis=-1))
    log_p = logits[np.arange(len(labels)), labels] - log_norm
    return log_p, (x, w, raw, tau, logits, log_norm, labels)


N, D, C = 6, 4, 3
inputs = {
    "x": rng.standard_normal((N, D)),
    "w": rng.standard_normal((D, C)),
    "b": rng.standard_normal(C),
    "tau": 1.7,
    "labels": rng.integers(0, C, N),
}
log_p, cache = log_likelihood(**inputs)
print("log p of the labels:", log_p.round(3))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The first attempt
#
# The student reasons: "Only the logit of the label appears, so its gradient is one. The
# logits are a linear layer, and I know the gradient of a linear layer. With respect to
# $\tau$, the derivative of $1/\tau$ is $1/\tau^2$." Everything sounds plausible, the
# code runs, and it would train *something*.
#
# > **Stop and predict.** Read `first_vjp` before you run it. There are five mistakes.
# > How many do you find?
#
# <details><summary>Answer</summary>
#
# A transposed product (`dw`), a missing sum (`db`), a missing term (the normalizer of
# the softmax), a missing factor ($1/\tau$ in `draw`), and a sign (`dtau`). The rest of
# this section shows how a report leads to each of them.
#
# </details>


# %% slideshow={"slide_type": "slide"}
def first_vjp(dlog_p, cache):
    x, w, raw, tau, logits, _, labels = cache
    dlogits = np.zeros_like(logits)
    dlogits[np.arange(len(labels)), labels] = dlog_p
    draw = dlogits
    dx, dw, db = draw @ w.T, draw.T @ x, draw
    dtau = (dlogits * raw).sum() / tau**2
    return dx, dw, db, dtau


print(check(log_likelihood, first_vjp, inputs))

# %% [markdown]
# How do you read this? The first line has a *score*, the mean over the inputs. A right
# gradient counts one. A wrong gradient counts half the share of its right entries, so
# that progress shows. Then there is one verdict for each input: a *kind* (the first
# word), a sentence, the entry with the largest error, the slope of the Taylor remainder
# (see below), and a hint. Where a gradient is right, the report gives its largest
# relative error, and the *tolerance* up to which an error counts as right. `labels` are
# whole numbers, so they have no gradient.
#
# Where several mistakes combine, some verdicts are vague: no *single* change would
# repair `dx`. Begin with the clear verdicts, here the shapes, and check again after
# each step.
#
# **The shape of `w`.** For $h = x w$ the product rule of shapes leaves no choice: `dw`
# must be `(D, C)`, and of `x` `(N, D)` and `draw` `(N, C)` only `x.T @ draw` gives
# that. **The shape of `b`.** $b_c$ was broadcast over the examples, so its gradient is
# summed over them.


# %% slideshow={"slide_type": "slide"}
def second_vjp(dlog_p, cache):
    x, w, raw, tau, logits, _, labels = cache
    dlogits = np.zeros_like(logits)
    dlogits[np.arange(len(labels)), labels] = dlog_p
    draw = dlogits
    dx, dw, db = draw @ w.T, x.T @ draw, draw.sum(axis=0)
    dtau = (dlogits * raw).sum() / tau**2
    return dx, dw, db, dtau


print(check(log_likelihood, second_vjp, inputs))

# %% [markdown]
# The shapes are right now, but the numbers are not: every input is wrong. When
# *everything* is wrong, suspect the common factor: `dlogits`. To look at it alone,
# check the part of the function that it belongs to. Here is the last line of the
# forward as a separate pair:


# %% slideshow={"slide_type": "slide"}
def pick(logits, labels):
    log_norm = np.log(np.exp(logits).sum(axis=-1))
    return logits[np.arange(len(labels)), labels] - log_norm, (logits, log_norm, labels)


def pick_first_vjp(dlog_p, cache):
    logits, _, labels = cache
    dlogits = np.zeros_like(logits)
    dlogits[np.arange(len(labels)), labels] = dlog_p
    return dlogits


logits = cache[4]
print(check(pick, pick_first_vjp, (logits, inputs["labels"])))

# %% [markdown] slideshow={"slide_type": "slide"}
# *A term is missing, one path of several*: nothing flows back through the
# `logits` inside `log_norm`, as if that line were constant. And the hint names the
# usual cause: a **normalizer**. The other logits appear as well, in
# $\log \sum_c e^{f_{nc}}$, whose derivative is
#
# $$ \frac{\partial}{\partial f_{nc}} \log \sum_j e^{f_{nj}} = \frac{e^{f_{nc}}}{\sum_j e^{f_{nj}}}
#    = \mathrm{softmax}(f_n)_c, \qquad\text{so}\qquad
#    \frac{\partial \log p_n}{\partial f_{nc}} = \mathbb 1[c = y_n] - \mathrm{softmax}(f_n)_c. $$


# %% slideshow={"slide_type": "slide"}
def pick_vjp(dlog_p, cache):
    logits, log_norm, labels = cache
    dlogits = -dlog_p[:, None] * np.exp(logits - log_norm[:, None])
    dlogits[np.arange(len(labels)), labels] += dlog_p
    return dlogits


print(check(pick, pick_vjp, (logits, inputs["labels"])), "\n")


def third_vjp(dlog_p, cache):
    x, w, raw, tau, logits, log_norm, labels = cache
    draw = dlogits = pick_vjp(dlog_p, (logits, log_norm, labels))
    dx, dw, db = draw @ w.T, x.T @ draw, draw.sum(axis=0)
    dtau = (dlogits * raw).sum() / tau**2
    return dx, dw, db, dtau


print(check(log_likelihood, third_vjp, inputs))

# %% [markdown]
# Now all verdicts are clear. `x`, `w` and `b` lack the same factor, $1/\tau$: `draw =
# dlogits` forgot that the logits are `raw / tau`. (Why not "constant factor 1.7"? It
# *is* 1.7 at this point. But the checker also tried a second point nearby, with another
# $\tau$, and there it was different. A constant would not change.) And $\tau$ itself
# has the wrong sign: $\frac{d}{d\tau} \frac1\tau = -\frac{1}{\tau^2}$.


# %% slideshow={"slide_type": "slide"}
def log_likelihood_vjp(dlog_p, cache):
    x, w, raw, tau, logits, log_norm, labels = cache
    dlogits = pick_vjp(dlog_p, (logits, log_norm, labels))
    draw = dlogits / tau
    dx, dw, db = draw @ w.T, x.T @ draw, draw.sum(axis=0)
    dtau = -(dlogits * raw).sum() / tau**2
    return dx, dw, db, dtau


print(check(log_likelihood, log_likelihood_vjp, inputs))

# %% [markdown]
# These five mistakes are typical. How far was the gradient from the right one after
# each repair? The slope of the Taylor remainder shows it without another derivative: it
# is two for a right gradient (tutorial 3). Here it is, along the same random direction
# in $w$, together with the relative error.

# %% slideshow={"slide_type": "slide"}
dlog_p, direction = rng.standard_normal(N), rng.standard_normal((D, C))
exact = log_likelihood_vjp(dlog_p, cache)[1]


def objective(w):
    return np.sum(dlog_p * log_likelihood(**{**inputs, "w": w})[0])


attempts = {"second": second_vjp, "third": third_vjp, "last": log_likelihood_vjp}
tried = {}
for name, vjp in attempts.items():
    dw = vjp(dlog_p, cache)[1]
    slope = taylor_slope(objective, inputs["w"], direction, np.sum(dw * direction))
    tried[name] = np.linalg.norm(dw - exact) / np.linalg.norm(exact), slope
    print(
        f"{name:7s} relative error {tried[name][0]:.2f}, slope of the remainder "
        f"{slope:.2f}"
    )

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Entries of each attempt's gradient at w against the right ones. The second attempt scatters, the third lies on a line that is too steep, the last on the diagonal."}}
figure, axes = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
for (name, vjp), mark in zip(attempts.items(), ("x", "s", "o"), strict=True):
    axes.plot(
        exact.ravel(),
        vjp(dlog_p, cache)[1].ravel(),
        mark,
        label=f"{name} attempt",
        fillstyle="none",
    )
axes.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
axes.axline(
    (0, 0),
    slope=inputs["tau"],
    color="0.6",
    linewidth=0.8,
    linestyle=":",
    label=r"slope $\tau$",
)
axes.set(
    xlabel=r"right $\partial L / \partial w_{dc}$",
    ylabel="returned by the attempt",
    title="A missing factor is a slope, a missing term is a cloud",
)
axes.legend(fontsize=8)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A chain of functions
#
# In a network the gradient passes through many functions, and a wrong one spoils
# everything that comes after it in the backward pass. `check_chain` runs the chain
# forward, then checks each stage *at the input that it really gets*, last stage first.
# A stage is a name, a pair, and the inputs that it needs in addition to the output of
# the previous stage.


# %% slideshow={"slide_type": "slide"}
def linear(x, w):
    return x @ w, (x, w)


def linear_vjp(dh, cache):
    x, w = cache
    return dh @ w.T, x.T @ dh


def tanh(h):
    y = np.tanh(h)
    return y, y


def hasty_tanh_vjp(dy, y):
    return dy * (1 - y)  # and the square?


hidden = rng.standard_normal((D, 5))
head = rng.standard_normal((5, C))
stages = [
    ("hidden layer", linear, linear_vjp, (hidden,)),
    ("tanh", tanh, hasty_tanh_vjp),
    ("head", linear, linear_vjp, (head,)),
    ("log-likelihood", pick, pick_vjp, (inputs["labels"],)),
]
report = check_chain(stages, inputs["x"])
print(report)
print("\nbegin with:", report.first_wrong)

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** Only the gradient of
# > `tanh` is wrong. The network has parameters in `hidden` and in `head`. Which of
# > their gradients are wrong because of it?
#
# <details><summary>Answer</summary>
#
# Those in `hidden`, and also the gradient at `x`: on its way to them the gradient
# passes through `tanh`. The gradient at the head is right, because the backward pass
# reaches it first.
#
# </details>
#
# A check of the whole network would have reported wrong gradients at `hidden` and `x`,
# and a right one at the head. That is true, but you would still have to search.
#
# ## In your own tests
#
# `assert_correct` raises an `AssertionError` whose text is the report. In a file of
# tests, two lines are enough, and `pytest` prints the diagnosis when an edit breaks the
# gradient next year:


# %% slideshow={"slide_type": "slide"}
def test_log_likelihood(vjp=log_likelihood_vjp):
    assert_correct(log_likelihood, vjp, inputs)


test_log_likelihood()
print("the right gradient passes\n")
try:
    test_log_likelihood(third_vjp)
except AssertionError as failure:
    print(
        "the wrong one fails with", "\n".join(str(failure).splitlines()[:5]), "\n  ..."
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# Without any test at all, from the command line: a file `mine.py` with functions `f`
# and `f_vjp` and, for the inputs, a function `check_inputs()` that returns a dict of
# arrays, is checked by
#
# ```
# ibpcl check mine.py:f
# ```
#
# The exit code is 0 only if all gradients are right. It is 1 if one is wrong, and 3 if
# the check is undecided, for example after the time limit of `--timeout`. The command
# runs the file, without a sandbox. Without a file, `ibpcl check` verifies every
# derivation of this package in the same way. And who checks the checker? A test of this
# package does, `pytest -m slow tests/verify/test_mutants.py`. It plants more than a
# thousand mistakes in the gradients, one at a time: a sign, a factor, a term, an axis,
# an index. Then it counts how many are caught, and how many are named correctly.
#
# ## What no gradient check can find
#
# The student's friend forgot the temperature in the *forward*, and derived everything
# correctly from there:


# %% slideshow={"slide_type": "slide"}
def cold_likelihood(x, w, b, tau, labels):
    log_p, inner = log_likelihood(x, w, b, 1.0, labels)  # the temperature is not used
    return log_p, inner


def cold_likelihood_vjp(dlog_p, cache):
    return (*log_likelihood_vjp(dlog_p, cache)[:3], 0.0)


print(check(cold_likelihood, cold_likelihood_vjp, inputs))

# %% [markdown]
# All correct: this *is* the gradient of that function. A check shows that
# `f_vjp` belongs to `f`, never that `f` is what you meant.  (The zero gradient of `tau`
# causes a remark. Take such remarks seriously.) So each formula needs a second,
# independent check: a known value (probabilities sum to one, a KL divergence of equal
# distributions is zero, a limit), an integral by quadrature, or an average over
# samples. Tutorials 2, 6 and 7 do that for every formula, and
# `ibpcl.verify` has it ready: `density_integrates_to_one`,
# `sampler_matches_cdf`, `expectation_matches`, `reparameterization_unbiased`.

# %% slideshow={"slide_type": "slide"}
x, w, b, tau = (inputs[name] for name in ("x", "w", "b", "tau"))
everything = sum(
    np.exp(log_likelihood(x, w, b, tau, np.full(N, c))[0]) for c in range(C)
)
print("probabilities of all the classes sum to", everything.round(12))
hot = [
    f([[2.0]], np.array([[1.0, -1.0]]), np.zeros(2), 100.0, np.array([0]))[0]
    for f in (
        lambda x, *rest: log_likelihood(np.array(x), *rest),
        lambda x, *rest: cold_likelihood(np.array(x), *rest),
    )
]
print(
    f"at tau = 100 both classes should be nearly even: {np.exp(hot[0][0]):.3f}, "
    f"the friend's {np.exp(hot[1][0]):.3f}"
)

# %% [markdown]
# ## Exercises
#
# Solutions are in `solutions/04_verifying_a_derivation.py`; `ibpcl check` checks their
# gradients.
#
# 1. **A mean.** Let the function return `log_p.mean()` and write its gradient, once
#    right and once with the $1/N$ left out. What is the kind in the report? Why can the
#    report not decide whether the gradient or the forward is wrong? *Hint:* which of
#    the two does it take as the definition?
# 2. **Overflow.** Multiply `w` by $400$ and check again. What is reported, and whose
#    fault is it? Write the forward with the largest logit taken out of the sum, and
#    then reconsider the gradient. *Hint:* `log_norm` is the same number in both forms,
#    and `exp(logits - log_norm)` never overflows.
# 3. **The forgotten temperature, found.** Which known value would have found that
#    `cold_likelihood` ignores $\tau$? Write that test. *Hint:* what do the
#    probabilities tend to as $\tau$ grows?
