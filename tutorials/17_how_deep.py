# %% [markdown] slideshow={"slide_type": "slide"}
# # 17. How deep?
#
# Tutorial 16 asked which filters a task uses. Here we ask how many layers it uses. A
# *residual block* adds something to its input, so it can be switched off without
# breaking the network: its input then passes unchanged. We give every block a switch
# and tie the switches to the sticks of tutorial 6. Then the depth of a network is
# random, it has a prior, and each task can choose its own. The paper names this as
# future work.
#
# **Prerequisites:** tutorials 6, 7 and 8. **Time:** about 45 minutes.
#
# **You will be able to**
#
# - explain why gradients survive in deep residual networks;
# - write a residual sum with a switch, and its gradient on three paths;
# - read the gradient at a switch as the value of a block;
# - choose a prior over the depth;
# - let a later task add blocks while the predictions for earlier tasks stay, bit for bit.
#
# Names: $h_l$ is the output of block $l$ and $f_l$ its function. `z` are the switches,
# one for each of `L` blocks. `alpha` is the concentration of the sticks, `theta` the
# posterior probability that a block is on.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl import adam
from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.inference.backend import backend
from ibpcl.models import starts
from ibpcl.models.depth import Blocks
from ibpcl.models.elbo import GRADIENT, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Gaussian, Pass
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import Network
from ibpcl.noise import Key, generator
from ibpcl.numerics import sigmoid
from ibpcl.primitives import residual, stick_breaking
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(17)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A path with slope one
#
# A plain deep network is a chain, $h_l = f_l(h_{l-1})$. Its gradient is a product of
# $L$ matrices. Products of many matrices usually vanish or explode. A residual network
# (He, Zhang, Ren and Sun, 2016) adds instead:
#
# $$ h_l = h_{l-1} + f_l(h_{l-1}), \qquad
#    \frac{\partial h_l}{\partial h_{l-1}} = I + \frac{\partial f_l}{\partial h_{l-1}}. $$
#
# The identity $I$ stands in every factor. So the product contains a path on which the
# gradient is copied from the last block to the first.
#
# > **Stop and predict.** We stack forty layers of tanh units with small random weights.
# > How large is the gradient at the input, without and with the residual sum?
#
# <details><summary>Answer</summary>
#
# Without the sum it is practically zero. With it, it is of the size of the gradient at
# the output, and rather larger.
#
# </details>

# %% slideshow={"slide_type": "slide"}
WIDTH, DEEPEST = 20, 40
stack = rng.normal(0, 0.7 / np.sqrt(WIDTH), (DEEPEST, WIDTH, WIDTH))
start = rng.standard_normal((50, WIDTH))


def gradient_norm(depth, copies):
    """Return how many times a gradient grows from the output to the input."""
    h, slopes = start, []
    for w in stack[:depth]:
        f = np.tanh(h @ w)
        slopes.append(1 - f * f)
        h = copies * h + f
    dh = first = np.ones_like(h)
    for w, slope in zip(stack[:depth][::-1], slopes[::-1], strict=True):
        dh = copies * dh + (dh * slope) @ w.T
    return np.linalg.norm(dh) / np.linalg.norm(first)


depths = np.arange(0, DEEPEST + 1, 4)
norms = {
    name: [gradient_norm(depth, copies) for depth in depths]
    for name, copies in (("chain", 0.0), ("residual", 1.0))
}
print("layers        chain   residual")
for depth, *values in zip(depths, *norms.values(), strict=True):
    print(f"{depth:6d}" + "".join(f"{value:11.1e}" for value in values))

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Size of the gradient at the input against the number of layers, on a logarithmic scale. For the chain it falls in a straight line by many powers of ten; for the residual network it stays near one and rises slowly."}}
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for (name, values), marker in zip(norms.items(), "os", strict=True):
    axes.semilogy(depths, values, marker=marker, label=name)
axes.set(xlabel="layers", ylabel="gradient at the input", title="Copies survive")
axes.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A switch
#
# Now multiply the new part by a switch $z_l$ in $[0, 1]$:
#
# $$ h_l = h_{l-1} + z_l\, f_l(h_{l-1}). $$
#
# The two ends are networks that we know. With all switches on this is the plain
# residual network. If a switch is off, the block is not there. This is not an
# approximation: the numbers agree to the last bit.

# %% slideshow={"slide_type": "slide"}
blocks = stack[:6]


def network(x, z):
    h = x
    for w, switch in zip(blocks, z, strict=True):
        h, _ = residual.add(h, np.tanh(h @ w), np.array([switch]))
    return h


def plain(x, count):
    h = x[None]
    for w in blocks[:count]:
        h = h + np.tanh(h @ w)
    return h


x = start[None]
for count in (0, 2, 6):
    switched = network(x, np.arange(6) < count)
    equal = np.array_equal(switched, plain(start, count))
    print(
        f"{count} of 6 blocks on, and a network of {count} blocks: equal bits {equal}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# One caution. If $f_l$ overflows, $0 \cdot \infty$ is not zero but NaN. The package's
# `Blocks` therefore do not multiply by zero. They skip a block that is off. This also
# saves its time.
#
# The gradient has three parts, by the product rule. The switch multiplies all examples
# and units, so its gradient is a sum over them:
#
# $$ dh = dy, \qquad df = z\, dy, \qquad dz = \sum_{n, k} f_{nk}\, dy_{nk}. $$
#
# The input of the block gets two gradients: $dy$ directly, and $df$ through the block.
# We write a whole block as a pair, and let the checker see the right gradient and two
# popular mistakes.


# %% slideshow={"slide_type": "slide"}
def block(h, w, z):
    f = np.tanh(h @ w)
    return h + z * f, (h, w, z, f)


def block_vjp(dy, cache):
    h, w, z, f = cache
    da = z * dy * (1 - f * f)
    return dy + da @ w.T, h.T @ da, np.sum(f * dy)


def without_the_copy_vjp(dy, cache):
    _, dw, dz = block_vjp(dy, cache)
    return block_vjp(dy, cache)[0] - dy, dw, dz


def without_f_vjp(dy, cache):
    dh, dw, _ = block_vjp(dy, cache)
    return dh, dw, np.sum(dy)


inputs = rng.standard_normal((4, 3)), rng.standard_normal((3, 3)), np.array(0.7)
reports = {
    pair.__name__: check(block, pair, inputs)
    for pair in (block_vjp, without_the_copy_vjp, without_f_vjp)
}
for report in reports.values():
    print(report)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The gradient at a switch is the value of a block
#
# What does $dz_l$ say? If the loss is $\mathcal L$ and the switch goes from zero to
# one, then to first order the loss changes by $dz_l = \partial \mathcal L / \partial z_l$,
# taken at $z_l = 0$. It is computed for all blocks in one backward pass, **also for
# blocks that are off.** A block is worth its price if the loss falls by more than the
# KL divergence of switching it on.
#
# To see this, we make up a target that needs the first four blocks, and switch on two.

# %%
needed = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
target = network(x, needed) + 0.5 * rng.standard_normal((1, 50, WIDTH))


def loss(z):
    return np.mean((network(x, z) - target) ** 2) / 2


def switch_gradient(z):
    caches, h = [], x
    for w, switch in zip(blocks, z, strict=True):
        f = np.tanh(h @ w)
        h, cache = residual.add(h, f, np.array([switch]))
        caches.append((cache, f, w))
    dh, dz = (h - target) / h.size, []
    for cache, f, w in reversed(caches):
        dh, df, dswitch = residual.add_vjp(dh, cache)
        dh = dh + (df * (1 - f * f)) @ w.T
        dz.append(dswitch[0])
    return np.array(dz[::-1])


two_on = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
values = switch_gradient(two_on)
changes = np.array([loss(two_on + unit) - loss(two_on) for unit in np.eye(6)])
for l in range(2, 6):
    print(
        f"block {l + 1}, off: gradient at its switch {values[l]:+.3f}, change of the "
        f"loss when it is turned on {changes[l]:+.3f}"
    )
step = 1e-6 * np.eye(6)
by_differences = [(loss(two_on + e) - loss(two_on - e)) / 2e-6 for e in step]
switch_error = np.abs(values - by_differences).max()
print(f"largest difference to central differences: {switch_error:.0e}")

# %% [markdown] slideshow={"slide_type": "slide"}
# The gradient finds the two blocks that are missing. It exaggerates their value, since
# the loss is curved in the switch. At the two blocks that nobody needs it is small, and
# turning one of them on makes the loss worse.
#
# ## A prior over the depth
#
# Switches need a prior. We take that of the masks of a layer (tutorial 6), with blocks
# in the place of units:
#
# $$ z_l \sim \mathrm{Bernoulli}(\pi_l), \qquad \pi_l = \prod_{i \le l} v_i, \qquad
#    v_i \sim \mathrm{Beta}(\alpha, 1). $$
#
# Every stick is shorter than the last one, so early blocks are preferred. In the mean
# $\mathbb E[\pi_l] = (\frac{\alpha}{\alpha + 1})^l$, and the expected number of blocks is
#
# $$ \mathbb E\Bigl[\sum_{l=1}^L z_l\Bigr]
#    = \alpha \Bigl(1 - \Bigl(\frac{\alpha}{\alpha + 1}\Bigr)^L\Bigr), $$
#
# which tends to $\alpha$ if there are enough blocks. **The concentration is the depth
# that we expect**, and the number $L$ in the program is only a limit.
#
# > **Stop and predict.** There are thirty blocks and $\alpha$ is two. How likely is it
# > that a task uses more than six of them? Compare the mean and the variance of the
# > depth. Which distribution is this?
#
# <details><summary>Answer</summary>
#
# It is rare, less than one percent. Mean and variance are equal, as in a Poisson
# distribution.
#
# </details>

# %% slideshow={"slide_type": "slide"}
ALPHAS = (0.5, 1.0, 2.0, 4.0, 8.0)
MOST, DRAWS = 30, 20_000
depth_draws = {}
for alpha in ALPHAS:
    log_v = np.log(rng.uniform(size=(DRAWS, MOST))) / alpha  # Beta(alpha, 1)
    pi = np.exp(np.cumsum(log_v, axis=1))
    z = rng.random(pi.shape) < pi
    depth_draws[alpha] = z.sum(axis=1)
    depth = depth_draws[alpha]
    expected = stick_breaking.expected_weights(alpha, MOST)
    print(
        f"alpha {alpha:3g}: expected depth {expected:.3f}, drawn {depth.mean():.3f}, "
        f"variance {depth.var():6.2f}, more than six blocks {np.mean(depth > 6):.3f}"
    )

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Two panels. Left: a heat map of the probability of a depth, one row per concentration from a half to eight: the mass moves from zero blocks to around eight and becomes broad. Right: the probability that each block is on, falling with its number, faster for small concentrations."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
table = np.array(
    [np.bincount(depth, minlength=21)[:21] / DRAWS for depth in depth_draws.values()]
)
image = left.imshow(table, cmap="Blues", aspect="auto", vmin=0)
left.set_yticks(range(len(ALPHAS)), [f"{alpha:g}" for alpha in ALPHAS])
left.set(xlabel="blocks that are on", ylabel=r"$\alpha$", title="prior of the depth")
figure.colorbar(image, ax=left, label="probability")
numbers = np.arange(1, 13)
for alpha, marker in zip(ALPHAS, "osD^v", strict=True):
    right.plot(
        numbers, (alpha / (alpha + 1)) ** numbers, marker=marker, label=f"{alpha:g}"
    )
right.set(xlabel="block $l$", ylabel=r"$E[\pi_l]$", title="probability of a block")
right.legend(title=r"$\alpha$")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The variance equals the mean. This is no accident: without a limit the depth has a
# **Poisson distribution with mean** $\alpha$. In the buffet of tutorial 5, a network
# with one switch per block is the first customer, and the first customer takes
# $\mathrm{Poisson}(\alpha)$ dishes.
#
# ## Two tasks, two depths
#
# Now the posterior. Given the sticks, $q(z_l = 1) = \theta_l = \sigma(\rho_l +
# \operatorname{logit}\pi_l)$, as for masks in tutorial 7. In training a switch is a
# concrete variable between zero and one, with a temperature that falls. All weights are
# Gaussian, with the prior $\mathcal N(0, 1)$.
#
# This is where a block pays its price: **a block in use has weights that differ from
# their prior**. Their KL divergence is tens of nats, far more than that of the switch.
# A block that is off keeps its weights at the prior, at no cost.
#
# In the first task the class is drawn: class one has the probability $\sigma(3 (x_1 +
# x_2))$, so the border is a line, and soft. In the second task the class is the inside
# or the outside of a disc. The network has a linear layer of six units, four blocks and
# a head. Without blocks it is a linear classifier.
#
# > **Stop and predict.** How many blocks does each of the tasks need at least? Which
# > will use more?
#
# <details><summary>Answer</summary>
#
# The line needs none: its probability is exactly what a linear classifier computes. The
# disc needs one or more, because a linear classifier cannot enclose a region. In this
# run the line takes no block and the disc takes two.
#
# </details>

# %% slideshow={"slide_type": "slide"}
ROWS, WIDE, LIMIT, ALPHA = 1000, 6, 4, 1.0
NUMPY = backend("numpy")


def make(kind, seed):
    rng = generator(Key(seed, 0, 0, 0))
    points = rng.uniform(-1.5, 1.5, (ROWS, 2))
    squares = (points**2).sum(axis=1)
    label = {
        "line": rng.random(ROWS) < sigmoid(3 * points.sum(axis=1)),
        "disc": squares > 1.2,
        "half": (squares < 1.2) & (points.sum(axis=1) > 0),
    }[kind]
    return points, label.astype(int)


KINDS = ("line", "disc", "half")
tasks = {kind: make(kind, 1) for kind in KINDS}
tests = {kind: make(kind, 2) for kind in KINDS}
net = Network(
    (
        Gaussian("stem", 2, WIDE, None),
        Blocks(tuple(Gaussian(f"block{l}", WIDE, WIDE, "tanh") for l in range(LIMIT))),
        Gaussian("head", WIDE, 2),
    ),
    Softmax(),
)
depth_names = ("depth.rho", "depth.raw_a", "depth.raw_b")
print("parameters", net.layout.size, "of which belong to switches", 3 * LIMIT)

# %% [markdown]
# The training loop is that of tutorial 9, and `elbo` is the package's. The gradient at
# the switches comes out of it with all others.


# %%
def places(*names):
    """Return the indices of some parameters in the vector of all parameters."""
    index = np.arange(net.layout.size)
    return np.concatenate([net.layout.view(index, name).ravel() for name in names])


def probabilities(vector):
    """Return theta of each block, a mean over draws of the sticks."""
    switches = net.layout.layers(vector)["depth"]
    u = np.random.default_rng(0).uniform(size=(500, LIMIT))
    logit_pi, _ = NUMPY.sticks.log_odds(
        u, switches["raw_a"], switches["raw_b"], "logit"
    )
    return sigmoid(switches["rho"][0] + logit_pi).mean(axis=0)


def draws(rng, template):
    """Return fresh noise of the same kinds and shapes."""
    kinds = {"stick": rng.uniform, "mask": rng.logistic}
    return {
        layer: {
            kind: kinds.get(kind, rng.standard_normal)(size=array.shape)
            for kind, array in kinds_of_layer.items()
        }
        for layer, kinds_of_layer in template.items()
    }


def fit(vector, prior, data, steps, held=(), wait=0.0, switch_rate=0.03):
    """Maximize the ELBO; return the parameters, and theta on the way.

    The switches do not move before the share ``wait`` of the steps.
    """
    x, y = data
    rates = np.full(vector.size, 0.02)
    rates[places(*depth_names)] = 0.0
    rates[list(held)] = 0.0
    rng = np.random.default_rng(0)
    template = net.noise(Key(0, 0, 0, 0), 2, 100, NUMPY, np.float64)
    state, way = adam.start(vector), [probabilities(vector)]
    for step in range(steps):
        if step == int(wait * steps):
            rates[places(*depth_names)] = switch_rate
        batch = rng.integers(0, len(x), 100)
        tau = 0.3 ** (step / steps)
        noise = draws(rng, template)
        _, cache = elbo(
            net, vector, prior, x[batch], y[batch], noise, len(x), NUMPY, None, tau
        )
        gradient = elbo_vjp(GRADIENT, cache)
        vector, state = adam.update(
            vector, -gradient, state, rates, factor=0.1 ** (step / steps)
        )
        if step % 50 == 49:
            way.append(probabilities(vector))
    return vector, np.array(way)


def first_vector(seed=0):
    he = starts.he(np.random.default_rng(seed))
    return net.initial(he, 0.1, (ALPHA,), np.float64)


weights = len(first_vector()[net.layout.block("mu")])
first_prior = Prior(np.zeros(weights), np.zeros(weights), {"depth": ALPHA})


def predict(vector, switches, x):
    """Return the probability of class 1, a mean over drawn weights."""
    noise = net.noise(Key(9, 0, 0, 0), 20, len(x), NUMPY, np.float64, relaxed=False)
    options = Pass(NUMPY, {"depth": switches[None]})
    (outputs, _), _ = net.forward(vector, x, noise, options)
    return sigmoid(outputs[..., 1] - outputs[..., 0]).mean(axis=0)


def accuracy(vector, switches, kind):
    x, y = tests[kind]
    return np.mean((predict(vector, switches, x) > 0.5) == y)


STEPS = {"line": 800, "disc": 1200, "half": 900}
learned = {}
for kind in ("line", "disc"):
    vector, way = fit(first_vector(), first_prior, tasks[kind], STEPS[kind])
    on = way[-1] > 0.5
    learned[kind] = vector, way, on
    print(
        f"{kind}: theta {way[-1].round(2)}, {on.sum()} blocks on, accuracy with them "
        f"{accuracy(vector, on, kind):.3f}"
    )

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Four panels. Two show the probability of each of the four blocks during training: for the line all fall to zero, for the disc the first two rise to one and the others fall. Two show the points of the tasks with the learned boundary: an oblique line through mixed points, and a closed curve."}}
LINES = ("-", "--", "-.", ":")


def draw_way(axes, way, title):
    for l in range(LIMIT):
        axes.plot(50 * np.arange(len(way)), way[:, l], LINES[l], label=f"block {l + 1}")
    axes.set(xlabel="step", title=title, ylim=(-0.03, 1.03))


def draw_boundary(axes, probability, kind, title):
    side = np.linspace(-1.5, 1.5, 40)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    values = probability(grid).reshape(40, 40)
    axes.contourf(
        side, side, values, [0, 0.5, 1], colors=[PALETTE[4], PALETTE[5]], alpha=0.4
    )
    x, y = tests[kind]
    for label, marker in ((0, "o"), (1, "x")):
        some = x[:200][y[:200] == label]
        axes.plot(*some.T, marker, ms=3, color=PALETTE[6], mfc="none", lw=0)
    axes.set(title=title, xticks=[], yticks=[], aspect="equal")


figure, panels = plt.subplots(1, 4, figsize=(9, 2.7), layout="constrained")
for (kind, (vector, way, on)), axes, right in zip(
    learned.items(), panels[::2], panels[1::2], strict=True
):
    draw_way(axes, way, f"{kind}: blocks on")
    draw_boundary(right, lambda x, v=vector, z=on: predict(v, z, x), kind, kind)
panels[0].set_ylabel(r"$\theta_l$")
panels[0].legend(fontsize=7)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The depth was not tuned. Both networks started with the same four switches, and the
# blocks that do not earn their price went off. The order is that of the sticks: the
# first blocks are used, not any two of the four.
#
# ## A later task adds blocks
#
# The network of the disc now learns a second task: the class is the upper right *half*
# of the disc. We **hold** what the first task uses: the linear layer, and the blocks
# that are on. Their weights have rate zero. Each task has its own switches and its own
# head. A held block is already paid for: its posterior is the prior (Eq. 11), so it
# costs nothing to use it again. Blocks that the first task does not use are free, and
# the second task may train them.
#
# One thing is different. A new block is of no use before it has learned, and a switch
# that is judged too early goes off. So all switches start open, and wait for a part of
# the training.


# %% slideshow={"slide_type": "slide"}
def names_of(*layers):
    return [e.name for e in net.layout.entries if e.name.partition(".")[0] in layers]


first, _, first_on = learned["disc"]
used = ["stem", *(f"block{l}" for l in range(LIMIT) if first_on[l])]
held = places(*names_of(*used))

start_again = first_vector(seed=1)
start_again[held] = first[held]
start_again[places("depth.rho")] = 4.0  # open
mu, log_sigma = (net.layout.block(name) for name in ("mu", "log_sigma"))
is_held = np.isin(np.arange(net.layout.size), held)
second_prior = Prior(
    np.where(is_held[mu], first[mu], 0.0),
    np.where(is_held[log_sigma], first[log_sigma], 0.0),
    {"depth": ALPHA},
)
second, second_way = fit(
    start_again, second_prior, tasks["half"], STEPS["half"], held, 0.4, 0.05
)
second_on = second_way[-1] > 0.5
old_only = accuracy(second, second_on & first_on, "half")
print("held:", *used)
print(f"theta of the half disc     {second_way[-1].round(2)}")
print(f"accuracy                   {accuracy(second, second_on, 'half'):.3f}")
print(f"without the new blocks     {old_only:.3f}")
print(f"share of the larger class  {1 - tests['half'][1].mean():.3f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** The network now has other weights in the new blocks. By how
# > much do the predictions for the first task change?
#
# <details><summary>Answer</summary>
#
# Not at all, not by a single bit. The first task uses its own head, and weights that
# were held. The new blocks are off for it, and a block that is off is not there.
#
# </details>

# %% slideshow={"slide_type": "slide"}
head = places(*names_of("head"))
for_first = second.copy()
for_first[head] = first[head]  # each task has its own head
x_disc, _ = tests["disc"]
before = predict(first, first_on, x_disc)
after = predict(for_first, first_on, x_disc)
with_new = predict(for_first, second_on, x_disc)
moved = np.mean(second[~is_held] != first[~is_held])
print(f"share of the other parameters that have changed   {moved:.2f}")
print("predictions for the first task, equal bits       ", (before == after).all())
largest = np.abs(with_new - before).max()
print(f"largest change if the new blocks were on for it   {largest:.2f}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Three panels: the probability of the blocks while the half disc is learned after the disc, with held and new blocks on; the boundary of the disc, unchanged; and that of the half disc."}}
figure, panels = plt.subplots(1, 3, figsize=(8, 2.8), layout="constrained")
draw_way(panels[0], second_way, "half disc, later: blocks on")
panels[0].set_ylabel(r"$\theta_l$")
panels[0].legend(fontsize=7)
draw_boundary(
    panels[1], lambda x: predict(for_first, first_on, x), "disc", "disc, after the half"
)
draw_boundary(panels[2], lambda x: predict(second, second_on, x), "half", "half disc")
plt.show()

# %% [markdown]
# NPBCL on a network with blocks (`ibpcl run --network resnet`) does not hold weights.
# It lets them move under Eq. 11, as all other weights. Predictions for earlier tasks
# then move a little. The switches work in the same way, and every block has masks
# inside.
#
# ## Exercises
#
# Solutions are in `solutions/17_how_deep.py`; `ibpcl check` checks their gradients.
#
# 1. **A residual block as a pair.** Write $h + z \max(0, h W + b)$ with its gradients
#    at $h$, $W$, $b$ and $z$, and check it. *Hint:* the input has two paths.
# 2. **The expected depth as a pair.** Write $\alpha (1 - (\frac{\alpha}{\alpha + 1})^L)$
#    with its derivative, and find the $\alpha$ for an expected depth of three among
#    eight blocks. *Hint:* $\frac{d}{d\alpha} \log\frac{\alpha}{\alpha + 1}
#    = \frac{1}{\alpha (\alpha + 1)}$, and Newton's method.
# 3. **Poisson or not?** Compare the distribution of the depth for $\alpha = 2$ with the
#    Poisson distribution, for limits of three and of thirty blocks. *Hint:* draw, and
#    compare frequencies.
# 4. **Gaps.** A switch can be on although an earlier one is off. How often does this
#    happen under the prior with four blocks and $\alpha = 1$? Does it harm? *Hint:*
#    look for a one behind a zero.
# 5. **The price of a block.** A block of width six has weights with means of size
#    $m$ and standard deviation $s$, under the prior $\mathcal N(0, 1)$. What does it
#    cost in nats for $m = 0.5$ and $s = 0.3$? How many examples pay for it, if each
#    gains a hundredth of a nat? *Hint:* the divergence of tutorial 2.
