# %% [markdown]
# # 4. Verifying a derivation
#
# You have derived a gradient on paper and typed it in.  Is it right?  And if it is not, *where* is it wrong?  This
# tutorial follows a student's gradient, with five mistakes in it, until nothing is left to find.  On the way it
#
# 1. finds, names and mends the mistakes one after another;
# 2. draws the two pictures that every gradient check rests on: the error of a difference against its step, and the
#    slope of the Taylor remainder;
# 3. locates a mistake in a chain of functions;
# 4. shows what happens when it is the *forward* that is to blame: noise, kinks, functions that refuse complex numbers;
# 5. puts the check into a test of your own, and says what no gradient check can find.
#
# You need the chain rule, and from tutorial 1 the words *VJP* (`f_vjp(dout, cache)` pulls the gradient at the output
# back to the inputs) and *complex step*.  Nothing here is about Bayesian neural networks: `ibpcl.verify` knows only
# functions.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl.verify import assert_correct, central, check, check_chain, complex_step, richardson, taylor_slope

rng = np.random.default_rng(4)

# %% [markdown]
# ## The function
#
# A linear classifier with a temperature.  `N` examples with `D` inputs, `C` classes:
#
# $$ f_{nc} = \frac{1}{\tau} \Bigl(\sum_d x_{nd} w_{dc} + b_c\Bigr), \qquad
#    \log p_n = f_{n y_n} - \log \sum_c e^{f_{nc}}. $$
#
# The forward returns its output and a `cache` with what the gradient will need.

# %%
def log_likelihood(x, w, b, tau, labels):
    raw = x @ w + b
    logits = raw / tau
    log_norm = np.log(np.exp(logits).sum(axis=-1))
    log_p = logits[np.arange(len(labels)), labels] - log_norm
    return log_p, (x, w, raw, tau, logits, log_norm, labels)


N, D, C = 6, 4, 3
inputs = {
    "x": rng.standard_normal((N, D)), "w": rng.standard_normal((D, C)), "b": rng.standard_normal(C), "tau": 1.7,
    "labels": rng.integers(0, C, N),
}
log_p, cache = log_likelihood(**inputs)
print("log p of the labels:", log_p.round(3))

# %% [markdown]
# ## The first attempt
#
# The student reasons: "Only the logit of the label appears, so its gradient is one.  The logits are a linear layer, and
# I know the gradient of a linear layer.  With respect to $\tau$, the derivative of $1/\tau$ is $1/\tau^2$."  Everything
# sounds plausible, the code runs, and it would train *something*.

# %%
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
# How to read this?  One verdict for each input: a *kind* (in the first word), a sentence, the entry that is furthest
# off, the slope of the Taylor remainder (more on it below), and a hint.  `labels` are whole numbers, so they have no
# gradient.
#
# With several mistakes on top of each other some verdicts have to be vague: no *single* change would mend `dx`.  Begin
# with what is said clearly, here the shapes, and check again after each step.
#
# **The shape of `w`.**  For $h = x w$ the product rule of shapes leaves no choice: `dw` must be `(D, C)`, and of `x`
# `(N, D)` and `draw` `(N, C)` only `x.T @ draw` gives that.  **The shape of `b`.**  $b_c$ was broadcast over the
# examples, so its gradient is summed over them.

# %%
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
# Shapes are right now and numbers are not; every input is wrong.  When *everything* is wrong, suspect what everything
# has in common: `dlogits`.  To look at it alone, check the part of the function that it belongs to.  The last line of
# the forward, as a pair of its own:

# %%
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

# %% [markdown]
# *A term is missing, one path of several*: nothing flows back through the `logits` inside `log_norm`, as if that line
# were constant.  And the hint says what is usually behind it: a **normalizer**.  The other logits appear as well, in
# $\log \sum_c e^{f_{nc}}$, whose derivative is
#
# $$ \frac{\partial}{\partial f_{nc}} \log \sum_j e^{f_{nj}} = \frac{e^{f_{nc}}}{\sum_j e^{f_{nj}}}
#    = \mathrm{softmax}(f_n)_c, \qquad\text{so}\qquad
#    \frac{\partial \log p_n}{\partial f_{nc}} = \mathbb 1[c = y_n] - \mathrm{softmax}(f_n)_c. $$

# %%
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
# Now all is said plainly.  `x`, `w` and `b` lack the same factor, $1/\tau$: `draw = dlogits` forgot that the logits are
# `raw / tau`.  (Why not "constant factor 1.7"?  It *is* 1.7 at this point.  But the report also tried a second point
# near by, with another $\tau$, and there it was not: a constant does not move.)  And $\tau$ itself has the wrong sign:
# $\frac{d}{d\tau} \frac1\tau = -\frac{1}{\tau^2}$.

# %%
def log_likelihood_vjp(dlog_p, cache):
    x, w, raw, tau, logits, log_norm, labels = cache
    dlogits = pick_vjp(dlog_p, (logits, log_norm, labels))
    draw = dlogits / tau
    dx, dw, db = draw @ w.T, x.T @ draw, draw.sum(axis=0)
    dtau = -(dlogits * raw).sum() / tau**2
    return dx, dw, db, dtau


print(check(log_likelihood, log_likelihood_vjp, inputs))

# %% [markdown]
# Five mistakes: a transposed product, a missing sum, a missing term, a missing factor, a sign.  These are the mistakes
# that people make.
#
# ## How does it know?  The V-curve
#
# A check compares with derivatives that need no derivation.  Take the scalar objective $\varphi(w) = \sum_n
# \texttt{dlog\_p}_n \log p_n$ and go from $w$ into a random direction $d$.  The gradient claims the slope $\langle
# \texttt{dw}, d \rangle$.  Here are four ways to measure it, each with a step $h$:
#
# * forward difference, $\bigl(\varphi(w + hd) - \varphi(w)\bigr) / h$: by Taylor's formula its error is $\frac h2
#   \varphi'' + \dots$, proportional to $h$;
# * central difference, $\bigl(\varphi(w + hd) - \varphi(w - hd)\bigr) / 2h$: the even terms cancel, the error is
#   $\frac{h^2}{6} \varphi''' + \dots$;
# * Richardson's extrapolation: central differences at $h, \frac h2, \frac h4, \dots$, combined so that the terms in
#   $h^2, h^4, \dots$ cancel too;
# * the complex step, $\operatorname{Im} \varphi(w + ihd) / h$.
#
# Every difference also *subtracts* two numbers that agree in all but their last digits.  That leaves an error of
# about $\epsilon / h$, with $\epsilon \approx 10^{-16}$, which grows as $h$ shrinks.  Falling and growing make a V.

# %%
w, dlog_p = inputs["w"], rng.standard_normal(N)
direction = rng.standard_normal((D, C))


def objective(w):
    return np.sum(dlog_p * log_likelihood(inputs["x"], w, inputs["b"], inputs["tau"], inputs["labels"])[0])


dw = log_likelihood_vjp(dlog_p, log_likelihood(**inputs)[1])[1]
slope = np.sum(dw * direction)

steps = np.logspace(0, -16, 65)
errors = {
    "forward difference": [(objective(w + h * direction) - objective(w)) / h - slope for h in steps],
    "central difference": [central(objective, w, direction, h) - slope for h in steps],
    "Richardson, from h down": [richardson(objective, w, direction, h, restarts=1).value - slope for h in steps],
    "complex step": [complex_step(objective, w, direction, h) - slope for h in steps],
}
for name, values in errors.items():
    size = np.abs(values) / abs(slope)
    print(f"{name:24s} smallest error {size.min():.0e} at h = {steps[size.argmin()]:.0e}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
looks = dict(zip(errors, ("C0-", "C1-", "C2-", "C3--"), strict=True))
for name, values in errors.items():
    left.loglog(steps, np.maximum(np.abs(values) / abs(slope), 1e-17), looks[name], label=name)
left.text(2e-4, 3e-3, "truncation, h", color="0.4")
left.text(1.5e-1, 1e-8, "h²", color="0.4")
left.text(1e-7, 1e-4, "rounding, 1 / h", color="0.4", rotation=31)
left.set(xlabel="step h", ylabel="relative error", title="Four witnesses against a right gradient", ylim=(1e-17, 1e3))
left.invert_xaxis()
left.legend(fontsize=8, loc="center right", bbox_to_anchor=(1, 0.3))

wrong = np.sum(third_vjp(dlog_p, log_likelihood(**inputs)[1])[1] * direction)
for name in ("central difference", "complex step"):
    values = np.array(errors[name]) + slope - wrong
    right.loglog(steps, np.abs(values) / abs(slope), looks[name], label=name)
right.set(xlabel="step h", title="... and against a wrong one: flat")
right.invert_xaxis()
right.legend(fontsize=8, loc="center right")
plt.show()

# %% [markdown]
# The left-hand picture says why one step size is not enough.  The best forward difference keeps half of the digits, the
# best central one two thirds, and where the best step lies depends on the function.  Richardson starts with a large
# step, where there is no rounding error to speak of, and takes the truncation error away by algebra.  The complex step
# has no V at all.
#
# `check` uses the complex step as its first witness and Richardson's extrapolation as the second, because they fail for
# different reasons.  Where both agree there is hardly a doubt left.  And against a *wrong* gradient, on the right, the
# curve does not fall with $h$: it stops at the size of the mistake.
#
# ## The Taylor remainder
#
# There is a test that needs no derivative to compare with, only values of the function.  Take away the linear part that
# the gradient claims:
#
# $$ R_1(h) = |\varphi(w + hd) - \varphi(w) - h \langle g, d \rangle|. $$
#
# If $g$ is right, Taylor's formula leaves $\frac{h^2}{2} |\varphi''| + \dots$, and halving $h$ divides the remainder by
# four.  If $g$ is wrong, $h\,|\varphi' - \langle g, d\rangle|$ is left, and halving $h$ only halves it.  On logarithmic
# axes these are lines of slope two and one.  Nothing has to be tuned: the *slope* is the verdict.  With the curvature
# taken away as well, the slope is three; that checks second derivatives.

# %%
halvings = 0.5 ** np.arange(1, 22)
second = 1e-4                                            # step of a central difference of gradients


def dw_along(w):
    gradients = log_likelihood_vjp(dlog_p, log_likelihood(**{**inputs, "w": w})[1])
    return np.sum(gradients[1] * direction)


curvature = (dw_along(w + second * direction) - dw_along(w - second * direction)) / (2 * second)
middle = objective(w)
ahead = np.array([objective(w + h * direction) for h in halvings])
remainders = {
    "wrong gradient: slope 1": np.abs(ahead - middle - halvings * wrong),
    "right gradient: slope 2": np.abs(ahead - middle - halvings * slope),
    "right, and curvature: slope 3": np.abs(ahead - middle - halvings * slope - halvings**2 / 2 * curvature),
}
print(f"slope, right gradient {taylor_slope(objective, w, direction, slope):.3f}")
print(f"slope, wrong gradient {taylor_slope(objective, w, direction, wrong):.3f}")
print(f"slope, with curvature {taylor_slope(objective, w, direction, slope, curvature):.3f}")

# %%
figure, axes = plt.subplots(figsize=(6.6, 4), layout="constrained")
for (name, values), colour in zip(remainders.items(), ("C3", "C0", "C2"), strict=True):
    axes.loglog(halvings, values, "o-", markersize=3, color=colour, label=name)
axes.axhspan(1e-17, 2e-15, color="0.9")
axes.text(0.4, 2e-16, "rounding", color="0.4")
axes.set(xlabel="step h", ylabel="remainder", title="The slope tells right from wrong", ylim=(1e-17, 10))
axes.invert_xaxis()
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## A chain of functions
#
# In a network the gradient passes through many functions, and a wrong one spoils everything that comes after it in the
# backward pass.  `check_chain` runs the chain forward, then checks each stage *at the input that it really gets*, last
# stage first.  A stage is a name, a pair, and what it takes besides the output of the stage before it.

# %%
def linear(x, w):
    return x @ w, (x, w)


def linear_vjp(dh, cache):
    x, w = cache
    return dh @ w.T, x.T @ dh


def tanh(h):
    y = np.tanh(h)
    return y, y


def hasty_tanh_vjp(dy, y):
    return dy * (1 - y)                                  # and the square?


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

# %% [markdown]
# A check of the whole network would have said that the gradients of `hidden` and of `x` are wrong, and that the head's
# is right.  That is true, but one would still have to search.
#
# ## When the forward is to blame
#
# A gradient check compares two things, and sometimes the function is the wrong one of the two.
#
# **Noise.**  A dropout layer that draws its own mask is another function each time it is called.

# %%
def dropout_inside(h):
    keep = np.random.default_rng().random(h.shape) < 0.8         # drawn inside
    return h * keep / 0.8, keep


def dropout(h, u):
    keep = u < 0.8                                               # the noise is an argument
    return h * keep / 0.8, keep


def dropout_vjp(dy, keep):
    return dy * keep / 0.8


h = rng.standard_normal((N, 5))
print(check(dropout_inside, dropout_vjp, (h,)))
print()
print(check(dropout, dropout_vjp, (h, rng.random((N, 5))), wrt=("h",)))

# %% [markdown]
# The second form is the rule of this package: **a sampler never draws; noise is an argument.**  With the noise fixed,
# a sample is an ordinary function, and everything in it can be checked.
#
# **Kinks.**  The derivative of $\max(h, 0)$ at $h = 0$ does not exist: the slope is zero on the left and one on the
# right.  A difference across the kink gives one half, whatever the gradient says.  `check` notices that the two slopes
# differ and stay different as $h$ shrinks, leaves such entries out, and says how many.  Whoever lets the gradient at
# the kink be one in place of zero is neither more right nor more wrong.

# %%
def relu(h):
    on = h.real > 0
    return np.where(on, h, 0), on


def relu_vjp(dy, on):
    return dy * on


at_the_kink = h.copy()
at_the_kink[0, :2] = 0.0
difference = central(lambda h: relu(h)[0], at_the_kink, np.ones_like(h), 1e-6)
print("central differences of relu at 0, 0 and", h[0, 2].round(2), "are", difference[0, :3].round(6), "\n")
print(check(relu, relu_vjp, (at_the_kink,)))


def eager_relu(h):
    on = h.real >= 0                                             # one at the kink
    return np.where(on, h, 0), on


print("\nwith slope one at the kink:", check(eager_relu, relu_vjp, (at_the_kink,)).ok)

# %% [markdown]
# **Functions that lose the imaginary part.**  `np.abs` of a complex number is its length, a real number.  The complex
# step then sees a derivative of zero, and a check that trusted it alone would call a right gradient wrong.  The second
# witness disagrees, so the *forward* is named as the one that cannot be measured that way, and the differences decide.

# %%
print(check(lambda h: (np.abs(h), h), lambda dy, h: dy * np.sign(h), (h,)))

# %% [markdown]
# Differences have the last word here because this function is straight on both sides of its kink; of a curved one they
# prove some ten digits, not sixteen.  Where you can, write the forward so that it carries complex numbers:
# `np.where(h.real > 0, h, -h)` in place of `np.abs(h)`, `h.real > 0` in comparisons.
#
# ## In your own tests
#
# `assert_correct` raises an `AssertionError` whose text is the report.  In a file of tests, two lines are enough, and
# `pytest` prints the diagnosis when an edit breaks the gradient next year:

# %%
def test_log_likelihood(vjp=log_likelihood_vjp):
    assert_correct(log_likelihood, vjp, inputs)


test_log_likelihood()
print("the right gradient passes\n")
try:
    test_log_likelihood(third_vjp)
except AssertionError as failure:
    print("the wrong one fails with", "\n".join(str(failure).splitlines()[:5]), "\n  ...")

# %% [markdown]
# Without any test at all, from the command line: a file `mine.py` with functions `f` and `f_vjp` and, for the inputs, a
# function `check_inputs()` that returns a dict of arrays, is checked by
#
# ```
# ibpcl check mine.py:f
# ```
#
# whose exit code is 0 only if everything is proved right: 1 stands for wrong, 3 for undecided, as after the time that
# `--timeout` allows.  It runs the file, without a sandbox.  And `ibpcl check` alone verifies every derivation of this
# package, in the same way.  Who checks the checker?  A test of this package, `pytest -m slow
# tests/verify/test_mutants.py`: it spoils every gradient in every way that it can think of, a sign, a factor, a term,
# an axis, an index, more than a thousand mistakes, and counts how many are caught and how many are called by their
# right name.
#
# ## What no gradient check can find
#
# The student's friend forgot the temperature in the *forward*, and derived everything correctly from there:

# %%
def cold_likelihood(x, w, b, tau, labels):
    log_p, inner = log_likelihood(x, w, b, 1.0, labels)          # the temperature is not used
    return log_p, inner


def cold_likelihood_vjp(dlog_p, cache):
    return (*log_likelihood_vjp(dlog_p, cache)[:3], 0.0)


print(check(cold_likelihood, cold_likelihood_vjp, inputs))

# %% [markdown]
# All correct: this *is* the gradient of that function.  A check proves that `f_vjp` belongs to `f`, never that `f` is
# what you meant.  (The zero gradient of `tau` draws a remark; take such remarks seriously.)  So each formula needs a
# second proof from outside: a value that is known (probabilities sum to one, a divergence of equal distributions is
# zero, a limit), an integral by quadrature, an average over samples.  Tutorials 1 to 3 do that for every formula, and
# `ibpcl.verify` has it ready: `density_integrates_to_one`, `sampler_matches_cdf`, `expectation_matches`,
# `reparameterization_unbiased`.

# %%
x, w, b, tau = (inputs[name] for name in ("x", "w", "b", "tau"))
everything = sum(np.exp(log_likelihood(x, w, b, tau, np.full(N, c))[0]) for c in range(C))
print("probabilities of all the classes sum to", everything.round(12))
hot = [f([[2.0]], np.array([[1.0, -1.0]]), np.zeros(2), 100.0, np.array([0]))[0] for f in (
    lambda x, *rest: log_likelihood(np.array(x), *rest), lambda x, *rest: cold_likelihood(np.array(x), *rest))]
print(f"at tau = 100 both classes should be nearly even: {np.exp(hot[0][0]):.3f}, the friend's {np.exp(hot[1][0]):.3f}")

# %% [markdown]
# ## Exercises
#
# 1. **A mean.**  Let the function return `log_p.mean()` and write its gradient, once right and once with the $1/N$ left
#    out.  What is the kind in the report?  Why can the report not know whether the gradient or the forward is meant?
#    *Hint:* which of the two did you tell it to believe?
# 2. **Overflow.**  Multiply `w` by 400 and check again.  What is reported, and whose fault is it?  Mend the forward
#    with the largest logit taken out of the sum, and then think again about the gradient.  *Hint:* `log_norm` is the
#    same number in both forms, and `exp(logits - log_norm)` never overflows.
# 3. **A remainder of higher order.**  Which slope has the remainder of a *central* difference, $|\varphi(w + hd) -
#    \varphi(w - hd) - 2h \langle g, d\rangle|$, for a right gradient, and which for a wrong one?  Draw it.  Is there a
#    function for which the plain remainder has slope three?  *Hint:* which terms of Taylor's formula cancel; and think
#    of a point with $\varphi'' = 0$.
