# %% [markdown] slideshow={"slide_type": "slide"}
# # 9. Algorithm 1 by hand
#
# We have all the pieces: the ELBO and its gradient (tutorial 8), a temperature, a mask,
# a prior. Now we assemble Algorithm 1 of Kumar, Chatterjee and Rai, "Bayesian Structure
# Adaptation for Continual Learning". In about 150 lines of NumPy, which you should type
# yourself, we learn A/B and then E/F in one network. The steps are: Adam on the ELBO
# while the masks cool down, the hard mask, fine-tuning, Eq. 11, and the second task. At
# the end the package does the same with the same noise, and we compare the numbers.
#
# **Prerequisites:** tutorials 1 and 8. **Time:** about 90 minutes, if you type.
#
# **You will be able to**
#
# - write Adam, a cooling schedule and a minibatch loop yourself;
# - explain the purpose of each line of Algorithm 1, and the effect of leaving it out;
# - cut a mask, set the dropped weights to their prior, and fine-tune the rest;
# - turn a posterior into the next prior by Eq. 11.
#
# We use functions of `ibpcl.primitives`. Tutorials 2 and 5 to 8 derive their formulas.
# Some of them combine several steps that you have seen separately: `sticks.log_odds`
# goes from the raw parameters to the log-odds of the units, `masked_weights.sample`
# draws a mask, a weight and the mask's KL divergence in one pass, and
# `local_linear.sample` can apply a mask and an activation. Everything else is written
# here. Names: `p` holds the parameters by name, `prior` the parameters of the prior,
# `S` samples, `N` examples of a task, `D` inputs, `K` units, `C` classes.

# %%
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import ibpcl
from ibpcl.data import registry
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import SplitStream
from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.inference.backend import OwnPrimitives
from ibpcl.noise import Key, generator, logistic, normal, uniform
from ibpcl.numerics import inverse_softplus, sigmoid
from ibpcl.primitives import (
    activations,
    gaussian,
    likelihoods,
    linear,
    local_linear,
    masked_weights,
    sticks,
)

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)


def shrink(x):
    """Average blocks of 4 x 4 pixels: 49 inputs instead of 784."""
    return x.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)


N, D, K, C, S, BATCH = 400, 49, 20, 2, 2, 100
tasks = [
    replace(
        task,
        x_train=shrink(task.x_train),
        x_test=shrink(task.x_test),
        image_shape=(7, 7),
    )
    for task in limited(SplitStream(registry.load("glyphs"), ((0, 1), (4, 5))), N, 200)
]

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Eight blurred letters of seven by seven pixels: two each of A, B, E and F."}}
figure, grid = plt.subplots(1, 8, figsize=(9, 1.7), layout="constrained")
for i, axes in enumerate(grid):
    task, label = tasks[i // 4], i // 2 % 2
    axes.imshow(
        task.x_test[task.y_test == label][i % 2].reshape(7, 7),
        cmap="gray_r",
        vmin=0,
        vmax=1,
    )
    axes.set(xticks=[], yticks=[])
    axes.set_title(f"task {i // 4 + 1}: {task.class_names[label]}", fontsize=9)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Distributions, and where they start
#
# A layer is a dictionary of four arrays: means and log widths of weights and biases.
# For the head their names begin with `head_`. The masks add three arrays: `rho`, and
# `raw_a` and `raw_b` of the sticks. The next cell also contains all numbers that one
# has to choose. All KL divergences have weight one: this is exactly the ELBO of Eq. 8.

# %%
GAUSSIAN = ("mu", "log_sigma", "bias_mu", "bias_log_sigma")
HEAD = tuple("head_" + name for name in GAUSSIAN)
MASK = ("rho", "raw_a", "raw_b")
ALPHA, PRIOR_SIGMA, START_SIGMA, SPREAD = 5.0, 1.0, 0.05, 0.1
RATE = {"masked": 0.01, "finetune": 0.003}  # Adam's learning rate of the weights
MASK_RATE = 0.1  # Adam's learning rate of masks and sticks
TAU = (10.0, 0.25)  # temperature at the first and the last step
EPOCHS = {"masked": 60, "finetune": 20}
PREDICTION_SAMPLES = 20


def belief(mu, sigma):
    mu, log_sigma = np.float32(mu), np.float32(np.log(sigma))
    units = mu.shape[1]
    biases = np.zeros(units, np.float32), np.full(units, log_sigma)
    return dict(zip(GAUSSIAN, (mu, np.full_like(mu, log_sigma), *biases), strict=True))


def with_head(layer, head):
    return layer | dict(zip(HEAD, head.values(), strict=True))


P0 = belief(np.zeros((D, K)), PRIOR_SIGMA)  # the prior before any task
HEAD_PRIOR = belief(np.zeros((K, C)), PRIOR_SIGMA)

# %% [markdown]
# Noise is a function of seed, task, phase and step, so that the package can draw the
# same noise. A key names the block of noise:

# %%
PHASE = {"start": 0, "masked": 2, "cut": 3, "finetune": 4, "predict": 6}


def key(t, phase, step=0):
    return Key(0, 7 * t + PHASE[phase], step, 0)


def streams(key, count=5):
    return [key._replace(stream=stream) for stream in range(count)]


# %% [markdown] slideshow={"slide_type": "slide"}
# ## The gradient of the ELBO
#
# This is tutorial 8 in one piece. Adam *descends*, and we measure per example, so the
# loss is $-\mathcal L / N$. The cotangent of the likelihood is $-\frac{1}{S\,|b|}$ for
# each sample and each example of the minibatch $b$, because $\frac1N \cdot
# \frac{N}{|b|} \cdot \frac1S = \frac{1}{S\,|b|}$. The cotangent of every KL divergence
# is $\frac1N$. Two functions are used twice, so we define them first: backpropagation
# from the head to the hidden units, and the gradient of the Gaussian KL divergences.


# %%
def pull_from_data(p, hidden, labels, head_eps):
    outputs, c_head = local_linear.sample(head_eps, hidden, *(p[name] for name in HEAD))
    log_p, c_data = likelihoods.categorical(outputs, labels)
    doutputs = likelihoods.categorical_vjp(np.full_like(log_p, -1 / log_p.size), c_data)
    dhidden, *dhead = local_linear.sample_vjp(doutputs, c_head)
    return dhidden, dict(zip(HEAD, dhead, strict=True))


def add_kl(gradient, p, prior):
    for mu in ("mu", "bias_mu", "head_mu", "head_bias_mu"):
        log_sigma = mu.replace("mu", "log_sigma")
        _, cache = gaussian.kl(p[mu], p[log_sigma], prior[mu], prior[log_sigma])
        dmu, dlog_sigma, _, _ = gaussian.kl_vjp(1 / N, cache)
        gradient |= {
            mu: gradient[mu] + dmu,
            log_sigma: gradient[log_sigma] + dlog_sigma,
        }
    return gradient


def masked_gradient(p, prior, x, labels, tau, key):
    weight_key, bias_key, stick_key, mask_key, head_key = streams(key)
    # Forward: sticks, masked weights, biases times the activity of their units, data.
    logit_pi, c_sticks = sticks.log_odds(
        uniform(stick_key, (S, K)), p["raw_a"], p["raw_b"]
    )
    (w, activity, _), c_weights = masked_weights.sample(
        normal(weight_key, (S, D, K)),
        logistic(mask_key, (S, D, K)),
        p["mu"],
        p["log_sigma"],
        p["rho"],
        logit_pi,
        tau,
    )
    bias, c_bias = gaussian.sample(
        normal(bias_key, (S, K)), p["bias_mu"], p["bias_log_sigma"]
    )
    h, c_linear = linear.apply(x, w, bias * activity)
    hidden, c_relu = activations.relu(h)
    # Backward, in the opposite order.
    dhidden, gradient = pull_from_data(
        p, hidden, labels, normal(head_key, (S, len(x), C))
    )
    _, dw, dscaled = linear.apply_vjp(
        activations.relu_vjp(dhidden, c_relu), c_linear, needs_dx=False
    )
    dbias_mu, dbias_log_sigma = gaussian.sample_vjp(dscaled * activity, c_bias)
    dkl_masks = np.full(S, 1 / N / S, np.float32)
    dmu, dlog_sigma, drho, dlogit_pi = masked_weights.sample_vjp(
        (dw, dscaled * bias, dkl_masks), c_weights
    )
    draw_a, draw_b = sticks.log_odds_vjp(dlogit_pi, c_sticks)
    _, c_kl = sticks.divergence(p["raw_a"], p["raw_b"], np.float32(ALPHA))
    da, db, _ = sticks.divergence_vjp(1 / N, c_kl)
    dlayer = dmu, dlog_sigma, dbias_mu, dbias_log_sigma, drho, draw_a + da, draw_b + db
    gradient |= dict(zip(GAUSSIAN + MASK, dlayer, strict=True))
    return add_kl(gradient, p, prior)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## Adam, cooling, minibatches
#
# Adam (Kingma and Ba, 2015) keeps running means of the gradient and of its square, and
# steps by their quotient:
#
# $$ m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad s \leftarrow \beta_2 s + (1 - \beta_2)\, g^2, \qquad
#    \theta \leftarrow \theta - \eta\, \frac{m / (1 - \beta_1^n)}{\sqrt{s / (1 - \beta_2^n)} + 10^{-8}}. $$
#
# The temperature falls geometrically from the first step to the last,
# $\tau_i = \tau_0 (\tau_1 / \tau_0)^{i / (n - 1)}$.
#
# > **Stop and predict.** What goes wrong if training starts at the last temperature,
# > $0.25$, instead of $10$?
#
# <details><summary>Answer</summary>
#
# Gradients of cold masks are nearly always zero and now and then huge (tutorial 7), so
# masks would be decided before the weights behind them have learned anything. At
# $\tau = 10$ every mask is near one half. All weights learn a little, and the masks
# slowly select those that matter.
#
# </details>


# %%
def adam(p, gradient, moments, step, rate):
    for name, g in gradient.items():
        m, s = moments.get(name, (0 * g, 0 * g))
        m, s = 0.9 * m + (1 - 0.9) * g, 0.999 * s + (1 - 0.999) * g * g
        moments[name] = m, s
        root = np.sqrt(s / np.float32(1 - 0.999**step)) + 1e-8
        direction = m / np.float32(1 - 0.9**step) / root
        eta = np.float32(MASK_RATE if name in MASK else rate)
        p = p | {name: p[name] - eta * direction}
    return p


def fit(p, task, t, phase, gradient):
    moments, step, steps = {}, 0, EPOCHS[phase] * N // BATCH
    for epoch in range(EPOCHS[phase]):
        order_key = key(t, phase, epoch)._replace(stream=2**32 - 1)
        order = generator(order_key).permutation(N)
        for rows in np.split(order, N // BATCH):
            tau = TAU[0] * (TAU[1] / TAU[0]) ** (step / (steps - 1))
            data = task.x_train[rows], task.y_train[rows]
            dp = gradient(p, *data, tau, key(t, phase, step))
            step += 1
            p = adam(p, dp, moments, step, RATE[phase])
    return p


# %% [markdown] slideshow={"slide_type": "slide"}
# ## The hard mask, and the weights that it drops
#
# After masked training every mask has a probability $\theta_{dk} = \sigma(\rho_{dk} +
# \operatorname{logit}\pi_k)$, averaged over sticks. A weight is kept if it is more
# likely on than off. For a dropped weight the ELBO is easy to maximize: the likelihood
# does not depend on it, so only its KL divergence remains. That is smallest, namely
# zero, *at the prior*. The same holds for the bias of a unit without any weight, and
# for the head's weights that read such a unit.


# %%
def hard_mask(p, t):
    logit_pi, _ = sticks.log_odds(
        uniform(key(t, "cut"), (PREDICTION_SAMPLES, K)), p["raw_a"], p["raw_b"]
    )
    return sum(sigmoid(p["rho"] + row) for row in logit_pi) / PREDICTION_SAMPLES > 0.5


def select(used, chosen, other):
    unit = used.any(axis=0)  # a bias goes with its unit
    return {
        name: np.where(
            unit if name.startswith("bias") else used, chosen[name], other[name]
        )
        for name in GAUSSIAN
    }


def drop(p, prior, mask):
    rows = mask.any(axis=0)[:, None]
    head = {name: np.where(rows, p[name], prior[name]) for name in HEAD[:2]}
    return select(mask, p, prior) | {name: p[name] for name in HEAD[2:]} | head


# %% [markdown] slideshow={"slide_type": "slide"}
# ## Fine-tuning
#
# With the mask fixed nothing is relaxed any more: only the kept weights and their
# Gaussians remain. So the hidden units can be sampled at their pre-activations, as in
# the head (tutorial 8, local reparameterization). Noise is drawn for the units that are
# in use only.


# %%
def hidden_units(p, x, mask, key, samples):
    used = mask.any(axis=0)
    eps = np.zeros((samples, len(x), K), np.float32)
    eps[..., used] = normal(key, (samples, len(x), used.sum()))
    return local_linear.sample(eps, x, *(p[name] for name in GAUSSIAN), mask, "relu")


def finetune_gradient(p, prior, x, labels, mask, key):
    hidden, c_layer = hidden_units(p, x, mask, key, S)
    dhidden, gradient = pull_from_data(
        p, hidden, labels, normal(streams(key)[-1], (S, len(x), C))
    )
    _, *dlayer = local_linear.sample_vjp(dhidden, c_layer, needs_dx=False)
    return add_kl(gradient | dict(zip(GAUSSIAN, dlayer, strict=True)), p, prior)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## Eq. 11, and Algorithm 1
#
# Let $B^o$ be the union of the masks so far. The next prior is
#
# $$ p_t(V_{dk}) = B^o_{dk}\, q_{t-1}(V_{dk}) + (1 - B^o_{dk})\, p_0(V_{dk}): $$
#
# the previous posterior for a weight that some task uses, the first prior for all
# others. It looks like a mixture, but $B^o$ is binary, so it is a choice: our `select`.
# Training starts from a similar choice. Weights in use start where they are, and all
# others start at random. Now every line of Algorithm 1 has a counterpart in the code.


# %%
def learn(t, task, used, posterior, prior=None):
    rng = generator(key(t, "start"))
    fresh, head = (
        belief(rng.normal(0, SPREAD, shape), START_SIGMA) for shape in ((D, K), (K, C))
    )
    prior = prior or with_head(select(used, posterior, P0), HEAD_PRIOR)  # Eq. 11
    p = with_head(select(used, posterior, fresh), head)
    p |= {
        "rho": np.zeros((D, K), np.float32),
        "raw_a": np.full(K, inverse_softplus(ALPHA), np.float32),
        "raw_b": np.full(K, inverse_softplus(1.0), np.float32),
    }

    def masked(p, *rest):
        return masked_gradient(p, prior, *rest)

    def finetune(p, x, y, tau, key):
        return finetune_gradient(p, prior, x, y, mask, key)

    p = fit(p, task, t, "masked", masked)
    mask = hard_mask(p, t)
    p = drop(p, prior, mask)
    p = fit(p, task, t, "finetune", finetune)
    posterior, head = ({name: p[name] for name in group} for group in (GAUSSIAN, HEAD))
    return posterior, head, mask


def predict(t, posterior, head, mask, x):
    k = key(t, "predict")
    hidden, _ = hidden_units(posterior, x, mask, k, PREDICTION_SAMPLES)
    eps = normal(streams(k)[-1], (PREDICTION_SAMPLES, len(x), C))
    outputs, _ = local_linear.sample(eps, hidden, *(head[name] for name in HEAD))
    p = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return (p / p.sum(axis=-1, keepdims=True)).mean(axis=0)


# %% [markdown] slideshow={"slide_type": "slide"}
# That was all. Now the two tasks.
#
# > **Stop and predict.** After E/F is learned, what happens to the accuracy on A/B: is
# > it unchanged, a little lower, or as low as in tutorial 1? The weights that A/B uses
# > may move. What holds them?
#
# <details><summary>Answer</summary>
#
# Unchanged, or nearly. Their prior is A/B's posterior, which is narrow where the weight
# matters. And the weights that E/F's mask drops have not moved at all.
#
# </details>

# %% slideshow={"slide_type": "slide"}
used, posterior = np.zeros((D, K), bool), P0
masks, heads, after, accuracies = [], [], [], np.full((2, 2), np.nan)
for t, task in enumerate(tasks):
    posterior, head, mask = learn(t, task, used, posterior)
    used = used | mask
    masks, heads, after = [*masks, mask], [*heads, head], [*after, posterior]
    for j, seen in enumerate(tasks[: t + 1]):
        prediction = predict(j, posterior, heads[j], masks[j], seen.x_test)
        accuracies[t, j] = np.mean(prediction.argmax(axis=1) == seen.y_test)
    print(f"after {task.name}: accuracies {accuracies[t, : t + 1].round(3)}")
    print(f"  {mask.mean():.0%} of the weights in {mask.any(axis=0).sum()} units")
moved = np.abs(after[1]["mu"] - after[0]["mu"]) / np.exp(after[0]["log_sigma"])
kept, dropped = masks[0] & masks[1], masks[0] & ~masks[1]
print("move of the weights of A/B, in units of their width")
print(f"  if E/F's mask keeps them: {moved[kept].mean():.2f} on average")
print(f"  if it drops them:         {moved[dropped].max():.2f} at most")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Hard masks of A/B and E/F and their overlap, inputs against units: whole columns are on, and the first ones serve both tasks."}}
figure, panels = plt.subplots(
    1, 3, figsize=(8.6, 3.4), layout="constrained", sharey=True
)
for axes, mask, name in zip(
    panels, (*masks, masks[0] & masks[1]), ("A/B", "E/F", "both"), strict=True
):
    axes.imshow(
        mask,
        cmap="Greys",
        aspect="auto",
        interpolation="nearest",
        extent=(0.5, K + 0.5, D + 0.5, 0.5),
    )
    axes.set(xlabel="unit $k$", title=f"{name}: {mask.mean():.0%} on")
panels[0].set_ylabel("input $d$")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# A/B uses nearly all weights of its first units and none of the others. E/F uses the
# same first units, and single weights of the rest. At full weight the KL divergence of
# $D K$ masks holds each mask near the probability of its unit, and the data act mostly
# through the sticks. This follows from the ELBO. It is also why the package gives the
# masks' KL divergence a smaller weight by default (exercise 1): then more weights are
# chosen one by one.
#
# ## Comparison with the package
#
# Now the package's `NPBCL` with the same settings, the NumPy backend, and the same
# noise keys:

# %%
learner = ibpcl.learner(
    "npbcl", seed=0, backend="numpy", hidden=(K,), samples=S, batch=BATCH,
    prediction_samples=PREDICTION_SAMPLES,
    epochs=EPOCHS["masked"], finetune_epochs=EPOCHS["finetune"],
    weight_rate=RATE["masked"], mask_rate=MASK_RATE, finetune_rate=RATE["finetune"],
    finetune_average=0.0, tau_start=TAU[0], tau_end=TAU[1],
    alpha=ALPHA, alpha_rule="fixed", prior_sigma=PRIOR_SIGMA,
    start_sigma=START_SIGMA, start_spread=SPREAD,
    unused_prior="gaussian", mask_link="logit", mask_kl_weight=1.0,
)  # fmt: skip
for task in tasks:
    learner.learn(task, progress=False)

package_names = dict(
    zip(
        GAUSSIAN,
        ("weight.mu", "weight.log_sigma", "bias.mu", "bias.log_sigma"),
        strict=True,
    )
)
package_layers = []
for t in range(2):
    network, vector, _ = learner.assemble(t)
    package_layers.append(network.layout.layers(vector))
differences = {}
for ours, theirs in package_names.items():
    gap = posterior[ours] - learner.posterior["hidden0"][theirs]
    differences[f"posterior {ours}"] = np.abs(gap).max()
    gaps = [
        heads[t][f"head_{ours}"] - package_layers[t]["head"][theirs] for t in range(2)
    ]
    differences[f"both heads {ours}"] = max(np.abs(gap).max() for gap in gaps)
gaps = [
    predict(t, posterior, heads[t], masks[t], task.x_test)
    - learner.predict(task.x_test, t)
    for t, task in enumerate(tasks)
]
differences["predictions"] = max(np.abs(gap).max() for gap in gaps)
print("equal masks:", all((learner.masks(t)[0] == masks[t]).all() for t in range(2)))
for name, difference in differences.items():
    print(f"largest difference in {name:26s} {difference:.1e}")

# %% [markdown] slideshow={"slide_type": "slide"}
# The masks are identical, and the parameters agree up to rounding errors. The package
# has a compiled version of the slow lines, leaves out inputs and units that cannot
# matter, saves its state, and can grow. But what it *computes* is what you have typed.
#
# ## The purpose of each line
#
# To understand an algorithm, remove one part at a time. We do so three times:
#
# * without Eq. 11: every weight has $p_0$ as its prior for the second task, too;
# * without cooling: all of masked training runs at the last temperature;
# * without fine-tuning.
#
# > **Stop and predict.** Which of the three costs the *first* task its accuracy, and
# > which the second?
#
# <details><summary>Answer</summary>
#
# Only without Eq. 11 is something forgotten: nothing holds A/B's weights, and the
# weights that E/F's mask drops are set to $p_0$. The other two affect, if anything, the
# task that is being learned.
#
# </details>


# %% slideshow={"slide_type": "slide"}
def learn_both(**changed):
    """Return the final accuracies on both tasks, and the share of weights each uses."""
    layer, head_1, mask_1 = learn(0, tasks[0], np.zeros((D, K), bool), P0)
    layer, head_2, mask_2 = learn(1, tasks[1], mask_1, layer, **changed)
    final = []
    for t, (head, mask) in enumerate(((head_1, mask_1), (head_2, mask_2))):
        prediction = predict(t, layer, head, mask, tasks[t].x_test)
        final.append(np.mean(prediction.argmax(axis=1) == tasks[t].y_test))
    return final, [mask_1.mean(), mask_2.mean()]


variants = {
    "Algorithm 1": (accuracies[1].tolist(), [mask.mean() for mask in masks]),
    "without Eq. 11": learn_both(prior=with_head(P0, HEAD_PRIOR)),
}
TAU = (0.25, 0.25)
variants["without cooling"] = learn_both()
TAU, EPOCHS = (10.0, 0.25), {"masked": 60, "finetune": 0}
variants["without fine-tuning"] = learn_both()
EPOCHS = {"masked": 60, "finetune": 20}
print("                          A/B      E/F   weights used")
for name, (final, shares) in variants.items():
    used_weights = f"{shares[0]:.0%} and {shares[1]:.0%}"
    print(f"{name:20s} {final[0]:8.1%} {final[1]:8.1%}   {used_weights}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Bars of the accuracy on A/B and E/F after both tasks for four variants: without Eq. 11 the bar of A/B is far below the others."}}
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
places = np.arange(len(variants))
for j, name in enumerate(("A/B", "E/F")):
    heights = [100 * final[j] for final, _ in variants.values()]
    axes.bar(places + 0.4 * j - 0.2, heights, 0.38, label=name)
axes.axhline(50, color="0.6", linestyle=":", linewidth=1)
axes.set_xticks(places, list(variants))
axes.set(ylabel="accuracy (%)", title="After both tasks", ylim=(40, 102))
axes.legend(loc="lower right")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Your own modules
#
# The functions above come from `ibpcl.primitives`.  If you follow the guided path
# (`ibpcl learn`), you write the same functions yourself, in a package `my_ibpcl`.  The
# cell below puts your modules in the place of every import from `ibpcl.primitives`, and
# learns both tasks once more.  Without the folder, copies of the reference functions
# stand in.  The numbers must be the same.

# %% slideshow={"slide_type": "slide"}
mine = (
    ibpcl.learn.backend("my_ibpcl") if Path("my_ibpcl").is_dir() else OwnPrimitives({})
)
for name in (
    "activations",
    "gaussian",
    "likelihoods",
    "linear",
    "local_linear",
    "masked_weights",
    "sticks",
):
    globals()[name] = getattr(mine, name)

used_again, own_posterior = np.zeros((D, K), bool), P0
for t, task in enumerate(tasks):
    own_posterior, _, own_mask = learn(t, task, used_again, own_posterior)
    used_again = used_again | own_mask
    print(f"after {task.name}: equal masks {(own_mask == masks[t]).all()}")
difference = max(
    np.abs(own_posterior[name] - posterior[name]).max() for name in GAUSSIAN
)
print(f"your functions: {', '.join(mine.names) or 'none yet'}")
print(f"largest difference of the posterior {difference:.0e}")

# %% [markdown]
# ## Exercises
#
# Solutions are in `solutions/09_algorithm_1.py`; `ibpcl check` checks their gradients.
#
# 1. **The weight of the masks' divergence.** Multiply `dkl_masks` by $0.05$ and learn
#    both tasks again. What do the masks look like now, and how many weights do the two
#    tasks share? *Hint:* the package with `mask_kl_weight=0.05` must still give the
#    same numbers.
# 2. **The stiffness of Eq. 11.** The pull of the prior on one weight is the gradient of
#    $KL[q \,\|\, q_{t-1}]$ at its mean. Write that KL divergence with equal widths as a
#    pair. How much stiffer is a weight with $\sigma = 0.05$ than one under
#    $p_0$? *Hint:* $\frac{(\mu - \mu_0)^2}{2 \sigma_0^2}$.
# 3. **Adam's first step.** How far does a parameter move in Adam's first step, whatever
#    its gradient is? What does that mean for the learning rates of masks and weights?
#    *Hint:* after one step $m / (1 - \beta_1) = g$.
# 4. **Another union.** Add a third task, G/H. Which weights are still free? Predict how
#    the share of used weights grows, and check. *Hint:* change the pairs of letters in
#    the first cell, and print `used.mean()` after each task.
