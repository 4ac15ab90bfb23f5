# %% [markdown] slideshow={"slide_type": "slide"}
# # 15. What exact Bayes forgets
#
# Variational continual learning, Laplace, EWC and NPBCL approximate one rule: the
# posterior of one task is the prior of the next. With few weights this rule can be
# computed *exactly*. So we can ask what a method forgets because of its approximation,
# and what even exact inference forgets, because the model cannot fit all tasks.
#
# Kessler, Cobb, Rudner, Zohren and Roberts (2023), "On Sequential Bayesian Inference
# for Continual Learning", asked this question with Hamiltonian Monte Carlo. They fitted
# a density to the draws of each task, to use it as the next prior. We need no such fit:
# our tasks are small enough to be kept, and the log likelihoods add up.
#
# **Prerequisites:** tutorials 1, 2 and 11. **Time:** about 45 minutes.
#
# **You will be able to**
#
# - compute a posterior on a grid, and carry it from task to task;
# - explain what an approximation with a diagonal covariance loses;
# - write a leapfrog step and check it;
# - divide the forgetting of a method into the part of its model and the part of its
#   approximation;
# - run exact Bayes on images, with a linear output layer.
#
# Names: $w$ are the weights and $\mathcal D_t$ the data of task $t$. $\ell_t(j)$ is the
# mean log predictive density of the test examples of task $j$ after task $t$, in nats,
# and $\ell^*_t(j)$ that of the exact posterior.

# %%
import matplotlib.pyplot as plt
import numpy as np

import ibpcl
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import CONSECUTIVE_PAIRS as PAIRS
from ibpcl.data.tasks import IncrementalStream, SplitStream
from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.exact import hmc, linear, points, study, tiny
from ibpcl.exact.approximations import RULES, carry
from ibpcl.exact.forgetting import decompose
from ibpcl.noise import Key, generator
from ibpcl.numerics import sigmoid

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two weights and three tasks
#
# The first model has two weights, a slope $w_1$ and an intercept $w_2$:
#
# $$ p(y = 1 | x, w) = \sigma(w_1 x + w_2), \qquad w \sim \mathcal N(0, 2^2 I). $$
#
# There are three tasks with different ranges of $x$. In each of them the probability of
# $y = 1$ rises with $x$. But it reaches one half at a different place: at $1.5$ in the
# first task, at $-1.5$ in the second and at $0$ in the third. A single logistic curve
# rises only once, so **the model is wrong**: it cannot fit all three tasks.

# %%
line = tiny.TinyNetwork(inputs=1, prior_sigma=2.0)
RANGES = ((0, 3), (-3, 0), (-1.5, 1.5))
TRAIN, TEST = 40, 200


def line_task(t, train=TRAIN, seed=0):
    """Return inputs and labels of a task for training, then those for testing."""
    rng = generator(Key(seed, t, 0, 0))
    x = rng.uniform(*RANGES[t], (train + TEST, 1))
    middle = np.mean(RANGES[t])
    y = (rng.random(len(x)) < sigmoid(2 * (x[:, 0] - middle))).astype(int)
    return x[:train], y[:train], x[train:], y[train:]


lines = [line_task(t) for t in range(3)]
train = [(x, y) for x, y, _, _ in lines]
test = [(x, y) for _, _, x, y in lines]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Bayes' rule on a grid
#
# With two weights the posterior can be stored: a table of probabilities on a grid of
# weights. Bayes' rule multiplies every entry by the likelihood and divides by the sum.
# On the grid, "the posterior of one task is the prior of the next" is a loop of three
# lines:
#
# $$ p(w | \mathcal D_{1:t}) \propto p(w | \mathcal D_{1:t - 1})\, p(\mathcal D_t | w). $$
#
# > **Stop and predict.** We compute the posterior of all three tasks twice: task by
# > task, and from all data at once. How much do the two tables differ?
#
# <details><summary>Answer</summary>
#
# By rounding errors only. The product of the likelihoods does not depend on how it is
# computed. So exact sequential inference is exact joint inference: it forgets nothing
# about the *data*. We will see that it can still forget a *task*.
#
# </details>

# %% slideshow={"slide_type": "slide"}
prior = points.grid(line, -8, 8)
exact = []
posterior = prior
for x, y in train:
    posterior, log_evidence = points.update(line, posterior, x, y)
    exact.append(posterior)

together = [np.concatenate(arrays) for arrays in zip(*train, strict=True)]
joint, _ = points.update(line, prior, *together)
difference = np.abs(np.exp(exact[-1].log_mass) - np.exp(joint.log_mass)).max()
print(f"cells of the grid                       {len(prior.weights)}")
print(f"largest difference of two probabilities {difference:.0e}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Five approximations
#
# Each approximation keeps a Gaussian instead of the table. All use the rules of the
# package's learners, but optimize to convergence:
#
# * **full Laplace** has a mode and a full covariance;
# * **Laplace** keeps only the diagonal of the precision;
# * **EWC** has a quadratic penalty per earlier task, no prior, and predicts with a
#   single weight vector;
# * **VCL** has independent Gaussians that maximize the ELBO;
# * **BGD** makes a step of Bayes' rule after every example.
#
# NPBCL is missing: its masks are in hidden layers. Without a hidden layer it is VCL.

# %% slideshow={"slide_type": "slide"}
beliefs = {name: carry(rule, line, train) for name, rule in RULES.items()}

print("mean and standard deviation of the slope after each task")
for name, after in {"exact": exact, **beliefs}.items():
    print(f"  {name:13s}", end="")
    for belief in after:
        if name == "exact":
            mean, covariance = points.mean(belief), points.covariance(belief)
        else:
            mean, covariance = belief.mean, belief.covariance
        print(f"{mean[0]:8.2f} ± {np.sqrt(covariance[0, 0]):.2f}", end="")
    print()

# %% [markdown]
# The first figure shows the exact posterior (grey) with the approximations after each
# task. An ellipse contains 90% of a Gaussian.

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Three panels, one per task: grey contours of the exact posterior of slope and intercept, and an ellipse per method. After the first task the posterior is a long oblique ridge, and the ellipses of the diagonal methods are much smaller. After the second task the exact posterior has moved far along the ridge, and the diagonal methods have stayed behind; only the full Laplace ellipse follows it."}}
COLORS = {"full Laplace": "C0", "Laplace": "C2", "EWC": "C4", "VCL": "C1", "BGD": "C3"}
angles = np.linspace(0, 2 * np.pi, 100)
circle = np.sqrt(-2 * np.log(0.1)) * np.stack([np.cos(angles), np.sin(angles)])
figure, panels = plt.subplots(
    1, 3, figsize=(9, 3.6), layout="constrained", sharex=True, sharey=True
)
for t, axes in enumerate(panels):
    shape = [len(axis) for axis in prior.axes]
    mass = np.exp(exact[t].log_mass)
    ranked = np.sort(mass)[::-1]
    levels = [ranked[np.searchsorted(ranked.cumsum(), p)] for p in (0.99, 0.9, 0.5)]
    axes.contourf(
        *prior.axes, mass.reshape(shape).T, [*levels, 1], colors=["0.9", "0.75", "0.55"]
    )
    for name, color in COLORS.items():
        belief = beliefs[name][t]
        root = np.linalg.cholesky(belief.covariance + 1e-12 * np.eye(2))
        axes.plot(*belief.mean[:, None], "o", ms=3, color=color)
        axes.plot(*(belief.mean[:, None] + root @ circle), color=color, label=name)
    axes.set(xlabel="slope $w_1$", title=f"after task {t + 1}")
    axes.set(xlim=(-0.4, 4), ylim=(-5.5, 1.5))
panels[0].set_ylabel("intercept $w_2$")
panels[2].legend(loc="lower right")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# **After the first task** the exact posterior is an oblique ridge. The data determine
# where the curve crosses one half, so $-w_2 / w_1$ is known well. They determine less
# well how steep it is. A diagonal covariance cannot describe a ridge. Laplace and VCL
# keep the part of it where both weights are near the centre, and their standard
# deviations are about half of the exact ones. This is the optimum of the ELBO: the
# variance of a mean-field Gaussian is the *conditional* variance of a weight, with the
# other weights held fixed.
#
# **After the second task** the exact posterior has moved a long way: a flat curve
# with its middle near zero is the best compromise. The full Laplace approximation
# follows it. The diagonal ones stay behind. They are certain of a slope that the
# first task does not determine.
#
# > **Stop and predict.** The diagonal methods stay closer to the first task. Do they
# > forget less of it than exact inference?
#
# <details><summary>Answer</summary>
#
# No, not in this run. They neither fit the first task as well as they did, nor have
# they learned the second one. See the last column of the table below.
#
# </details>
#
# ## Forgetting in two parts
#
# A method forgets $\ell_j(j) - \ell_T(j)$ of task $j$: the log predictive density just
# after the task, less that after all $T$ tasks. We divide it with the help of the exact
# posterior:
#
# $$ \ell_j(j) - \ell_T(j) = \underbrace{\ell^*_j(j) - \ell^*_T(j)}_{\text{model}} +
#    \underbrace{\bigl[\ell^*_T(j) - \ell_T(j)\bigr] -
#    \bigl[\ell^*_j(j) - \ell_j(j)\bigr]}_{\text{approximation}}. $$
#
# The *model's* part is what exact inference forgets. No better approximation of the
# same model can avoid it. The *approximation's* part is the growth of the gap between
# the method and the exact posterior. The gap that exists just after task $j$ is a third
# quantity. It is not forgetting, but a measure of how badly the method *learned* the task.
# An approximation that is too rigid shows up there.

# %% slideshow={"slide_type": "slide"}
tables = {}
for name, after in {"exact": exact, **beliefs}.items():
    clouds = [
        cloud if name == "exact" else points.of_gaussian(cloud.mean, cloud.covariance)
        for cloud in after
    ]
    tables[name] = np.full((3, 3), np.nan)
    for t, j in zip(*np.tril_indices(3), strict=True):
        tables[name][t, j] = points.log_predictive(line, clouds[t], *test[j]).mean()

two_weights = {name: decompose(tables["exact"], tables[name]) for name in RULES}
print("nats per test example     task 1: total  model  approx.   task 2: gap when new")
for name, parts in two_weights.items():
    print(
        f"  {name:28s}{parts.total[0]:9.3f}{parts.model[0]:7.3f}"
        f"{parts.approximation[0]:9.3f}{parts.gap[1]:23.3f}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# Full Laplace forgets almost exactly what exact inference forgets: its part of the
# forgetting is near zero, although the first task got worse. Here *the model* is to
# blame. The other methods forget more than that. Their greater fault is in the last
# column: they learned the second task badly. For Laplace, VCL and BGD the reason is the
# prior that came out of the first task, which is far too narrow.
#
# So forgetting alone is not enough to judge a method. The gap of new tasks belongs
# beside it.
#
# ## More weights: Hamiltonian Monte Carlo
#
# A grid of 120 cells per weight is impossible for seventeen weights. Hamiltonian Monte
# Carlo (Neal, 2011) draws from the posterior with the help of its gradient. It adds a
# momentum $r$ to the weights and follows the motion of a ball on the surface $-\log
# p(w)$. The energy
#
# $$ H(w, r) = -\log p(w | \mathcal D) + \tfrac12 \|r\|^2 $$
#
# of the ball does not change, so it can travel far. A computer makes leapfrog steps:
#
# $$ r \leftarrow r + \tfrac\epsilon2 \nabla \log p(w), \qquad w \leftarrow w + \epsilon
#    r, \qquad r \leftarrow r + \tfrac\epsilon2 \nabla \log p(w). $$
#
# They conserve the energy up to an error of order $\epsilon^2$. The end of a trajectory
# is accepted with probability $\min(1, e^{H_{\text{start}} - H_{\text{end}}})$. This
# corrects the error exactly, because the steps can be reversed and preserve volume.
#
# We check all of this on the two weights, where the grid knows the answer. The number
# $\hat R$ compares the chains with one another, and is near $1$ if they agree. The
# effective number of draws divides by the correlation of successive draws.

# %% slideshow={"slide_type": "slide"}
density = tiny.with_gradient(line, train)
start = generator(Key(1, 0, 0, 0)).normal(0, 2, (12, 2))
momentum = generator(Key(2, 0, 0, 0)).standard_normal((12, 2))
scale = np.ones(2)


def energy(w, r):
    return (r * r).sum(axis=1) / 2 - density(w)[0]


place = points.mean(exact[-1]) + 0.1 * start
for steps in (10, 20, 40):
    w, r, _ = hmc.leapfrog(density, place, momentum, 0.8 / steps, scale, steps)
    error = np.abs(energy(w, r) - energy(place, momentum)).mean()
    print(f"step {0.8 / steps:.2f}: mean error of the energy {error:.5f} nats")
back, _, _ = hmc.leapfrog(density, w, -r, 0.8 / steps, scale, steps)
print(f"start reached again, with an error of {np.abs(back - place).max():.0e}")

chains = hmc.sample(density, start, draws=250, warm_up=200, steps=8)
error = hmc.standard_error(chains.draws)
sampled = chains.draws.mean(axis=(0, 1))
print("mean of the weights, grid     ", points.mean(exact[-1]).round(3))
print("mean of the weights, sampled  ", sampled.round(3), "±", error.round(3))
print("split R-hat                   ", hmc.split_rhat(chains.draws).round(3))
print("effective draws of 3000       ", hmc.effective_size(chains.draws).round(-2))

# %% [markdown] slideshow={"slide_type": "slide"}
# A step of half the length has a quarter of the error. The means agree with the grid
# within their standard errors.
#
# ## Seventeen weights and the package's learners
#
# Now a real network: two inputs, three ReLU units and two outputs with a softmax. It
# has one head for all tasks, and does not know the task. On it we run the learners
# themselves, as in tutorial 14, beside the exact posterior. There are two streams of
# three tasks:
#
# * **compatible**: one bent boundary, $x_2 = |x_1|$. The tasks show its left part, its
#   bend and its right part. Three ReLU units can draw the whole boundary, so the model
#   is right.
# * **conflicting**: the inputs are the same, and the boundary turns by a third of a
#   half-turn from task to task. No network without the task's number can fit them all.
#
# > **Stop and predict.** In which of the streams does the exact posterior forget? Which
# > method can forget *less* than the exact posterior?
#
# <details><summary>Answer</summary>
#
# In the conflicting stream only: there the labels contradict one another, and Bayes'
# rule looks for a compromise. NPBCL can forget less, because it has another model. It
# is given the number of the task, and selects a mask by it.
#
# </details>

# %% slideshow={"slide_type": "slide"}
results = {}
for kind in study.STREAMS:
    parts, error, rhat = study.compare(kind)
    results[kind] = parts
    print(f"{kind}: R-hat at most {rhat:.2f}, error of an exact score {error:.3f} nats")
    print(f"  exact     forgets {parts['vcl'].model.round(2)} of tasks 1 and 2")
    for name, each in parts.items():
        print(f"  {name:10s}forgets {each.total.round(2)}, gap {each.gap.round(2)}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Bars of forgetting for six methods and two tasks, in two panels. In the compatible stream the model's part is near zero everywhere and most bars are the approximation's. In the conflicting stream the model's part is clearly positive for task 1, and the approximation's part is several times larger for all methods but NPBCL, where it is negative."}}
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for axes, (kind, parts) in zip(panels, results.items(), strict=True):
    for j, shift in enumerate((-0.2, 0.2)):
        places = np.arange(len(parts)) + shift
        model = np.array([each.model[j] for each in parts.values()])
        rest = np.array([each.approximation[j] for each in parts.values()])
        # a bar of the same sign stands on the first one; another sign starts at zero
        base = np.where(model * rest > 0, model, 0)
        alpha = (1.0, 0.55)[j]
        axes.bar(places, model, 0.36, color="C0", alpha=alpha, label=f"model, {j + 1}")
        axes.bar(
            places, rest, 0.36, base, color="C3", alpha=alpha, label=f"approx., {j + 1}"
        )
        axes.plot(places, model + rest, "k_", ms=12)
    axes.axhline(0, color="0.4", lw=0.8)
    axes.set_xticks(range(len(parts)), list(parts))
    axes.set(title=f"{kind} tasks", ylim=(-0.5, 4.2))
panels[0].set_ylabel("forgetting (nats per test example)")
panels[0].legend(title="part, task", ncols=2)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The dark bars are task 1 and the light ones task 2. A black dash marks the total.
#
# **The compatible stream.** Exact inference forgets nothing worth mentioning. What a
# method forgets here, it forgets because of its approximation. Laplace and VCL forget
# next to nothing: they carry uncertainty, and the tasks do not ask for a large change.
#
# **The conflicting stream.** Exact inference forgets the first task, and nothing in the
# algorithm can be blamed for it. But the approximations forget far more. A quadratic
# penalty and independent Gaussians describe the posterior near one of its many modes.
# The new data pull the weights away from there, to where the description is wrong. This
# agrees with tutorial 14, where the predicted rise of the old loss was far too low.
#
# **NPBCL** has a negative part. Its "approximation" contains a different *model*: each
# task has a mask. On conflicting tasks this is worth more than exact inference in the
# wrong model. On compatible tasks it brings no such gain. Kessler et al. (2023) draw the
# same conclusion: the model of the sequence of tasks matters, not only the quality of
# the inference.
#
# Three caveats. BGD does not start from the prior of the others: its first standard
# deviation is $0.1$, and it counts the data again in every epoch. EWC has no prior at
# all. And this is one seed; the page [Sequential Bayes](../sequential-bayes.md) has
# five.
#
# ## Exact Bayes on images
#
# One model needs neither a grid nor a sampler, however many weights it has: linear
# regression with Gaussian noise. With features $\Phi$ of the inputs of a task and
# targets $Y$, the log joint density is a quadratic in $W$. So the posterior is a
# Gaussian, and Bayes' rule adds to its precision and to its precision times mean:
#
# $$ \Lambda \leftarrow \Lambda + \frac{\Phi^\top \Phi}{\sigma^2}, \qquad
#    b \leftarrow b + \frac{\Phi^\top Y}{\sigma^2}, \qquad
#    \mu = \Lambda^{-1} b. $$
#
# Sums do not depend on their order. **After all tasks, this learner is the one that was
# trained on all data at once, in any order of the tasks.** It cannot forget because of
# an approximation, since there is none.
#
# The features are a hidden layer of ReLU units with random weights that never change.
# The targets are labels, one-hot. We learn ten letters, two at a time, with *one*
# output layer and without the number of the task.
#
# > **Stop and predict.** Does the order of the tasks change the predictions? And if we
# > keep only the diagonal of $\Lambda$, as the mean-field methods above do?
#
# <details><summary>Answer</summary>
#
# The order changes nothing but rounding. With a diagonal, the correlations between
# features are lost, the posterior depends on the order, and most letters of earlier
# tasks are no longer recognized.
#
# </details>

# %%
letters = IncrementalStream(
    limited(SplitStream(ibpcl.datasets.load("glyphs"), PAIRS), 300, 100)
)
new_images = np.concatenate([task.x_test for task in letters])
new_labels = np.concatenate([task.y_test for task in letters])
random_weights = generator(Key(3, 0, 0, 0)).normal(0, np.sqrt(2 / 784), (784, 300))


def features(x):
    return np.column_stack([np.ones(len(x)), np.maximum(x @ random_weights, 0)])


def learn(order, diagonal=False):
    belief = linear.prior(301, 10, prior_sigma=1.0, noise_sigma=0.3)
    for t in order:
        x, y = letters[t].x_train, letters[t].y_train
        after = linear.update(belief, features(x), np.eye(10)[y])
        if diagonal:
            precision = np.diag(np.diag(after.precision))
            after = after._replace(
                precision=precision, shift=precision @ linear.mean(after)
            )
        belief = after
    return features(new_images) @ linear.mean(belief)


for diagonal in (False, True):
    one = learn((0, 1, 2, 3, 4), diagonal)
    other = learn((3, 0, 4, 2, 1), diagonal)
    right = [(each.argmax(axis=1) == new_labels).mean() for each in (one, other)]
    print(
        f"{'diagonal' if diagonal else 'exact':9s}letters named in two orders: ", end=""
    )
    print(f"{right[0]:.3f}, {right[1]:.3f}; ", end="")
    print(f"largest difference of two outputs {np.abs(one - other).max():.0e}")

# %% [markdown]
# `ibpcl.exact.random_features` makes a learner of this, and [three
# scenarios](../baselines.md#three-scenarios) has its row. With one softmax for all
# classes, it is far ahead of the other methods there that neither store nor generate
# examples of earlier tasks; a generative model for each class is better still. It is
# not a better model, since its features never learn. It shows that naming all classes,
# one task after another, needs no stored examples where Bayes' rule is exact.
#
# ## Exercises
#
# Solutions are in `solutions/15_exact_bayes.py`; `ibpcl check` checks their gradients.
#
# 1. **A log posterior as a pair.** Write the log joint density of $w$ and the labels for
#    the two-weight model, with its gradients at $w$ and $x$, and check it. *Hint:* $\log p(y|x, w)
#    = -\log(1 + e^{-s (w_1 x + w_2)})$ with $s = 2 y - 1$.
# 2. **A leapfrog trajectory.** Write a function that makes $L$ leapfrog steps for a
#    Gaussian with precision matrix $A$ and mean $0$. Show that it can be reversed.
#    *Hint:* the gradient of the log density is $-A w$.
# 3. **Bayes' rule for a linear model.** With Gaussian noise the posterior is Gaussian.
#    Write its update, from mean and precision to mean and precision. Show that task by
#    task and all at once agree, and that they do not if only the diagonal of the
#    precision is kept. *Hint:* precisions add up, and so do precisions times means.
# 4. **Forgetting in two parts.** Write the decomposition as a function of two tables.
#    Show that a constant gap to the exact posterior is no forgetting. *Hint:* `np.diag`.
# 5. **An unequal pair of tasks.** Give the first task of the two-weight model $20$
#    examples and the second $200$. Does the exact posterior forget more of the first task
#    than with $110$ examples each? *Hint:* `line_task(t, train)`.
