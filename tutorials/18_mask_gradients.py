# %% [markdown] slideshow={"slide_type": "slide"}
# # 18. Gradients of binary masks
#
# A mask is off or on. Tutorial 7 relaxed it to a number between zero and one, because a
# step has no slope. That gives a gradient, but of another objective. How wrong is it? And
# what does a gradient cost that is right on average? Here we compute the exact answer
# for small networks, and put six estimators beside it.
#
# **Prerequisites:** tutorials 7 and 8. **Time:** about 40 minutes.
#
# **You will be able to**
#
# - compute the exact gradient of a mean over masks;
# - derive four unbiased estimators: score function, ARM, DisARM and REBAR;
# - tell bias from variance, and measure both without drawing a single number;
# - say when the relaxation of the paper leads to a wrong answer;
# - choose an estimator for NPBCL.
#
# Names: `b` is a binary mask and `z` a relaxed one. `phi` are log-odds, `theta` is the
# probability $\sigma(\phi)$. `f` is the loss as a function of the masks, `u` uniform
# noise, and `tau` the temperature. `g` is an estimate of $\partial \mathbb E f /
# \partial \phi$.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from ibpcl.continual.task import Task
from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.exact import mask_gradients as lab
from ibpcl.exact import mask_study
from ibpcl.methods.npbcl import NPBCL, Settings
from ibpcl.numerics import sigmoid
from ibpcl.primitives import binary_gradients, concrete
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(18)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A step has no slope, but its mean has one
#
# Draw $u$ uniformly and set $b = 1$ if $u < \theta$. As a function of $\phi$ this is a
# step. Its slope is zero, except at one point. So the chain rule gives zero for every
# draw, and the mean of zeros is zero. Yet the mean of the loss moves:
#
# $$ \mathbb E f(b) = \theta f(1) + (1 - \theta) f(0), \qquad
#    \frac{\partial}{\partial \phi} \mathbb E f(b)
#    = \theta (1 - \theta)\,\bigl(f(1) - f(0)\bigr). $$
#
# Mean and derivative may not be exchanged here, because the step is not continuous.
# With $n$ masks the mean is a sum over $2^n$ networks:
#
# $$ \frac{\partial}{\partial \phi_i} \mathbb E f(b)
#    = \sum_b q(b)\,(b_i - \theta_i)\, f(b). $$
#
# For twelve masks these are a few thousand networks, and the sum is exact.


# %% slideshow={"slide_type": "slide"}
def one_mask_gradient(phi, f0, f1):
    return sigmoid(phi) * sigmoid(-phi) * (f1 - f0)


loss, deviations = mask_study.twelve_masks(seed=0)
phi = deviations.copy()
mean, exact = lab.exact(loss, phi)
every = lab.every_mask(12)
print(f"networks in the sum: {len(every)}, mean loss {mean:.3f} nats")
print("exact gradient", exact.round(2))

step = 1e-5 * np.eye(12)
by_differences = [
    (lab.exact(loss, phi + d)[0] - lab.exact(loss, phi - d)[0]) / 2e-5 for d in step
]
exact_error = np.abs(by_differences - exact).max()
print(f"largest difference to central differences: {exact_error:.0e}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The score function
#
# A real network has too many masks for the sum. But the sum above is a mean, so draws
# estimate it:
#
# $$ g = f(b)\, \frac{\partial \log q(b)}{\partial \phi} = f(b)\,(b - \theta). $$
#
# This is REINFORCE (Williams, 1992). It needs only the value of the loss, not its
# slope. The mean of $b - \theta$ is zero, so any constant $c$ may be subtracted from
# $f$ without a bias.
#
# > **Stop and predict.** The loss of the twelve masks is more than ten nats,
# > and its differences between networks are a few nats. How much does the variance fall if we
# > subtract the mean of the loss?
#
# <details><summary>Answer</summary>
#
# By a large factor. Without a baseline every draw is multiplied by the whole loss,
# although only differences of losses matter.
#
# </details>

# %% slideshow={"slide_type": "slide"}
DRAWS = 20_000
u = rng.random((DRAWS, 12))
without = lab.reinforce(loss, phi, u)
with_baseline = lab.reinforce(loss, phi, u, baseline=mean)


def quality(g):
    """Return the standard deviation of one draw, and the error of the mean."""
    size = np.linalg.norm(exact)
    deviation = np.sqrt(g.var(axis=0).sum()) / size
    return deviation, np.linalg.norm(g.mean(axis=0) - exact) / size


for name, g in (("no baseline", without), ("baseline", with_baseline)):
    deviation, error = quality(g)
    print(
        f"{name:12s} standard deviation {deviation:5.1f} times the gradient, "
        f"error of the mean of {DRAWS} draws {error:.3f}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# In training the mean of the loss is unknown. With several samples per step, the
# mean loss of the *other* samples is a baseline that does not depend on this sample's
# masks (Kool, van Hoof and Welling, 2019). NPBCL uses this one.
#
# ## Two masks from the same noise
#
# The second idea: use $u$ twice. The noise $1 - u$ is uniform as well, and gives masks
# that tend to be the opposite ones. If both networks have the same loss, nothing is
# learned from this draw. ARM (Yin and Zhou, 2019) weighs the difference by the noise:
#
# $$ g = \bigl(f(b) - f(\tilde b)\bigr)\,(u - \tfrac12), \qquad
#    b = 1[u > 1 - \theta], \quad \tilde b = 1[u < \theta]. $$
#
# To see that this is unbiased for one mask, let $\theta \le \frac12$. For $u$ in the
# upper part, of length $\theta$, the masks are $b = 1$ and $\tilde b = 0$. In the lower
# part they are exchanged. Between them both are zero. The mean of $u - \frac12$ over
# the upper part is $\frac{1 - \theta}{2}$, and both parts give the same:
#
# $$ \mathbb E g = 2\,\theta\,\frac{1 - \theta}{2}\,\bigl(f(1) - f(0)\bigr). $$
#
# Within a part the masks do not change, but $u$ does. That is noise without
# information. DisARM (Dong, Mnih and Tucker, 2020) replaces $u - \frac12$ by its mean
# given the two masks:
#
# $$ g = \tfrac12 \bigl(f(b) - f(\tilde b)\bigr)\,(b - \tilde b)\,
#    \sigma(\lvert\phi\rvert). $$
#
# > **Stop and predict.** For a single mask with probability one half, what is the
# > variance of DisARM?
#
# <details><summary>Answer</summary>
#
# Zero. The two masks are always opposite, so every draw evaluates both networks, and
# that is the whole sum.
#
# </details>

# %% slideshow={"slide_type": "slide"}
square = mask_study.one_mask()  # f(z) = (z - 0.45)^2
fair = np.array([0.0])
noise = rng.random((6, 1))
print("exact ", one_mask_gradient(0.0, 0.45**2, 0.55**2).round(4))
print("ARM   ", lab.arm(square, fair, noise)[:, 0].round(4))
print("DisARM", lab.disarm(square, fair, noise)[:, 0].round(4))

biased_coin = np.array([-1.0])
low, high = sigmoid(1.0), 1.0  # noise for which b is 1 and its opposite is 0
inside = np.linspace(low, high, 1001)[:-1] + (high - low) / 2000
arm_mean = lab.arm(square, biased_coin, inside[:, None]).mean()
disarm_there = lab.disarm(square, biased_coin, inside[:1, None]).item()
print(f"mean of ARM given the two masks {arm_mean:.8f}, DisARM {disarm_there:.8f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Bias and variance without drawing
#
# Between two steps of the masks, score function, ARM and DisARM are linear in each
# coordinate of the noise. So Gauss's rule with two points per piece integrates them and
# their squares exactly. The relaxation is smooth, and needs more points. This gives the
# mean and the variance of an estimator to many digits, without any sampling.
#
# Now the two estimators with a bias. The relaxation of the paper (tutorial 7) follows
# the slope of the loss at $z = \sigma((\phi + \operatorname{logit} u) / \tau)$. The
# straight-through estimator (Bengio, Leonard and Courville, 2013) draws a binary mask
# and pretends that it has the slope $\theta (1 - \theta)$:
#
# $$ g_\text{concrete} = f'(z)\, \frac{z (1 - z)}{\tau}, \qquad
#    g_\text{straight} = f'(b)\, \theta (1 - \theta). $$
#
# Both ask for the slope of the loss, which says what happens next to $z$ or $b$. The
# exact gradient asks for the difference of two losses, far apart.
#
# > **Stop and predict.** The temperature falls. What happens to the bias of the
# > relaxation, and what to its variance?
#
# <details><summary>Answer</summary>
#
# The bias falls, because $z$ tends to $b$. The variance rises: most draws have a slope
# of nearly zero, and a few have one of the size $1 / \tau$.
#
# </details>

# %% slideshow={"slide_type": "slide"}
THETA = 0.2
taus = np.geomspace(0.1, 2, 7)
curves = {"bias": [], "deviation": []}
for tau in taus:
    found = mask_study.by_quadrature("concrete", THETA, tau)
    curves["bias"].append(found.bias)
    curves["deviation"].append(found.deviation)
others = {
    name: mask_study.by_quadrature(name, THETA)
    for name in ("straight-through", "score function, baseline", "ARM", "DisARM")
}
print("one mask with probability 0.2, relative to the exact gradient")
for tau, bias, deviation in zip(taus, *curves.values(), strict=True):
    values = f"bias {bias:5.2f}   deviation {deviation:5.2f}"
    print(f"concrete, temperature {tau:4.2f}   {values}")
for name, found in others.items():
    print(f"{name:26s} bias {found.bias:5.2f}   deviation {found.deviation:5.2f}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Two panels with logarithmic axes, against the temperature. Left: the bias of the concrete relaxation rises with the temperature, crosses one, and has its largest value near a temperature of 0.7. Right: its standard deviation falls with the temperature; ARM and DisARM are horizontal lines below it."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.loglog(taus, curves["bias"], "o-", label="concrete")
left.axhline(1, color="black", lw=0.8, ls=":")
left.axhline(others["straight-through"].bias, color=PALETTE[1], ls="--")
left.set(xlabel=r"temperature $\tau$", ylabel="bias / gradient", title="bias")
right.loglog(taus, curves["deviation"], "o-", label="concrete")
for (name, found), colour in zip(others.items(), PALETTE[1:], strict=False):
    right.axhline(found.deviation, color=colour, ls="--", label=name)
right.set(xlabel=r"temperature $\tau$", ylabel="deviation / gradient", title="noise")
right.legend()
plt.show()

# %% [markdown]
# A relative bias above one is a serious matter: the mean of the estimate can have the
# wrong **sign**. Then more samples do not help. Let us follow the mean of each
# estimator downhill, as training with very many samples would do. The loss is smallest
# at $b = 0$, so $\theta$ should go to zero.

# %% slideshow={"slide_type": "slide"}
STEPS, RATE = 400, 5.0


def descend(name, tau, phi=1.0):
    """Return theta at every step of gradient descent on the mean of an estimator."""
    estimator = mask_study.ESTIMATORS[name]
    way = []
    for _ in range(STEPS):
        odds = np.array([phi])
        edges = lab.cells(odds, 5)
        g = lab.moments(
            lambda u, odds=odds: estimator.estimate(square, odds, u, tau, 0.25),
            edges,
            16,
        )
        phi -= RATE * g.mean.item()
        way.append(sigmoid(phi))
    return np.array(way)


ways = {
    "DisARM": descend("DisARM", 1.0),
    "concrete, 0.25": descend("concrete", 0.25),
    "concrete, 1": descend("concrete", 1.0),
    "straight-through": descend("straight-through", 1.0),
}
for name, way in ways.items():
    print(f"{name:18s} theta after {STEPS} steps {way[-1]:.3f}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Probability of the mask against the step. DisARM falls from 0.73 to nearly zero. The two relaxations and straight-through stop between 0.3 and 0.5."}}
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for (name, way), line in zip(ways.items(), ("-", "--", "-.", ":"), strict=True):
    axes.plot(way, line, label=name)
axes.set(xlabel="step", ylabel=r"$\theta$", title="where the mean gradient leads")
axes.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The relaxed loss has its minimum at $z = 0.45$, where no binary mask can be. The
# biased estimators stop near it. DisARM knows only $f(0)$ and $f(1)$, and finds that
# zero is better.
#
# ## REBAR: the relaxation as a helper
#
# The relaxed loss is wrong as an objective, but it is similar to the binary one. So use
# it as a *control variate*: subtract it where it makes noise, and add its mean back.
# REBAR (Tucker et al., 2017) draws a second relaxed mask $\tilde z$ **given** $b$:
#
# $$ g = \bigl(f(b) - \eta f(\tilde z)\bigr)(b - \theta)
#    + \eta\,\frac{\partial f(z)}{\partial \phi}
#    - \eta\,\frac{\partial f(\tilde z)}{\partial \phi}. $$
#
# The added terms have mean zero for every $\eta$ and every temperature. With $\eta = 0$
# this is the score function. How is $\tilde z$ drawn? Given $b = 1$, the noise of $z$ is
# uniform above $1 - \theta$. The logit of $\tilde z$, times $\tau$, is then
#
# $$ \tilde y = s \operatorname{softplus}\bigl(s \ell
#    + \operatorname{softplus}(s \phi)\bigr), \qquad s = 2 b - 1, $$
#
# with fresh logistic noise $\ell$. It is a smooth function of $\phi$, so it has a
# gradient, which the checker judges.


# %%
def sample_given(logistic, mask, phi, tau):
    s = 2 * mask - 1
    inner = s * logistic + np.logaddexp(0, s * phi)
    y = s * np.logaddexp(0, inner)
    z = sigmoid(y / tau)
    return z, (z, inner, s, phi, tau)


def sample_given_vjp(dz, cache):
    z, inner, s, phi, tau = cache
    dy = dz * z * (1 - z) / tau
    return dy * sigmoid(inner) * sigmoid(s * phi)


def one_sigmoid_short_vjp(dz, cache):
    z, inner, s, phi, tau = cache
    return dz * z * (1 - z) / tau * sigmoid(inner)


arguments = {
    "logistic": rng.logistic(size=4),
    "mask": np.array([0.0, 1.0, 1.0, 0.0]),
    "phi": rng.normal(size=4),
    "tau": 0.5,
}
reports = [
    check(sample_given, pair, arguments, wrt=["phi"])
    for pair in (sample_given_vjp, one_sigmoid_short_vjp)
]
for report in reports:
    print(report)

logistic, odds = rng.logistic(size=200_000), 0.7
b = binary_gradients.sample(logistic, np.full(200_000, odds))
again, _ = sample_given(rng.logistic(size=200_000), b, odds, 0.5)
free, _ = concrete.sample(logistic, np.full(200_000, odds), 0.5)
levels = np.linspace(0.1, 0.9, 5)
print("quantiles of z      ", np.quantile(free, levels).round(2))
print("quantiles of z tilde", np.quantile(again, levels).round(2))

# %% [markdown] slideshow={"slide_type": "slide"}
# Both have the same distribution, as they must. That is why the terms cancel in the
# mean.
#
# ## Twelve masks, all estimators

# %% slideshow={"slide_type": "slide"}
TAUS = (0.25, 0.5, 1.0, 2.0)
table = {}
for name, estimator in mask_study.ESTIMATORS.items():
    for tau in TAUS if estimator.relaxes else (0.5,):
        table[name, tau] = mask_study.by_sampling(name, 0, 0.5, tau, DRAWS)
        found = table[name, tau]
        end = f" {tau:g}" if estimator.relaxes else ""
        sign = "biased" if found.bias > 4 * found.error else ""
        print(
            f"{name + end:26s} bias {found.bias:.3f} (error {found.error:.3f})  "
            f"deviation {found.deviation:5.2f}  {sign}"
        )

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Root mean square error against the number of samples, on logarithmic axes. The two relaxations start lower, but become flat at their bias. DisARM and the score function with a baseline fall without end, and cross the relaxations."}}
samples = np.geomspace(1, 10_000, 30)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for (name, tau), line in (
    (("concrete", 2.0), "--"),
    (("concrete", 0.5), "-."),
    (("DisARM", 0.5), "-"),
    (("score function, baseline", 0.5), ":"),
):
    found = table[name, tau]
    bias = 0.0 if mask_study.ESTIMATORS[name].unbiased else found.bias
    rms = np.sqrt(bias**2 + found.deviation**2 / samples)
    label = f"{name} {tau:g}" if mask_study.ESTIMATORS[name].relaxes else name
    axes.loglog(samples, rms, line, label=label)
axes.set(
    xlabel="samples", ylabel="error / gradient", title="bias stays, noise averages out"
)
axes.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# With a few samples the noise decides, and a warm relaxation is best. This is the case
# in most training steps, and one reason why the relaxation works. With many samples, or
# over many small steps, the bias remains. The full record is on the page
# [Mask gradients](../mask-gradients.md).
#
# ## In the learner
#
# NPBCL has them all, as the setting `mask_gradient`. The loss is the negative log
# likelihood of the minibatch as a function of all masks of the network. The divergence
# of the masks needs no estimator, since it is a formula in the log-odds. On the command
# line: `ibpcl run split-mnist --set mask_gradient=disarm`.

# %% slideshow={"slide_type": "slide"}
x = rng.normal(size=(400, 2))
task = Task(
    "corners", x, (x[:, 0] * x[:, 1] > 0).astype(int), x[:50], np.zeros(50, int)
)
settings = Settings(hidden=(20,), epochs=20, finetune_epochs=20, batch=50)
accuracy = {}
for name in ("concrete", "score", "disarm", "rebar"):
    learner = NPBCL(replace(settings, mask_gradient=name), backend_name="numpy")
    learner.learn(task, progress=False)
    points = rng.normal(size=(1000, 2))
    right = learner.predict(points, 0).argmax(axis=1) == (points.prod(axis=1) > 0)
    accuracy[name] = right.mean()
    used = np.mean(learner.masks(0)[0])
    print(
        f"{name:9s} accuracy {right.mean():.2f}, share of the weights used {used:.2f}"
    )

# %% [markdown]
# ## Exercises
#
# Solutions are in `solutions/18_mask_gradients.py`; `ibpcl check` checks their
# gradients.
#
# 1. **The mean of a loss as a pair.** Write $\theta f_1 + (1 - \theta) f_0$ for arrays
#    of log-odds and losses, with its gradients at $\phi$, $f_0$ and $f_1$. *Hint:*
#    $\theta' = \theta (1 - \theta)$.
# 2. **A relaxed mask given the binary one.** Write $\tilde z$ and its gradient at the
#    log-odds, and test that $\tilde z$ rounds to $b$. *Hint:* two sigmoids, one for each
#    softplus.
# 3. **DisARM.** Write the estimate from the losses of both networks, and test its mean
#    for one mask. *Hint:* $\sigma(\lvert\phi\rvert)$ is the larger of $\theta$ and
#    $1 - \theta$.
# 4. **The best constant.** For one mask with $\theta = 0.2$, $f(1) = 3$ and $f(0) = 1$:
#    which constant baseline makes the variance of the score function zero? *Hint:* the
#    two values of $g$ must be equal. It is not the mean of the loss.
# 5. **Silent draws.** How likely is it that ARM and DisARM learn nothing from a draw,
#    for one mask with $\theta = 0.9$? *Hint:* when are both masks equal?
