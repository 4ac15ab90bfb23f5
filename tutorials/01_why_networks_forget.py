# %% [markdown]
# # 1. Why networks forget
#
# A network learns to tell A from B. Then it learns to tell E from F, and can no longer
# tell A from B. We look at *where in the space of weights* this happens, and at what
# four methods do about it. NPBCL, the method of Kumar, Chatterjee and Rai, "Bayesian
# Structure Adaptation for Continual Learning", is one of the four; here it is a box.
# Tutorials 2 to 9 open the box.
#
# **Prerequisites:** softmax regression and gradient descent. What a Fisher information
# is, is said where it is used. **Time:** about 75 minutes.
#
# **You will be able to**
#
# - measure forgetting, and draw the loss of an old task on the way to a new one;
# - say what EWC believes about that loss, and where the belief is wrong;
# - read an accuracy matrix, its mean and its backward transfer;
# - compare methods fairly: by what each is told, and by how long each is trained.
#
# Names: $\theta$ is the vector of all weights, `theta_1` after the first task,
# `theta_2` after the second; $R_{ij}$ is the accuracy on task $j$ after task $i$.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import ibpcl
from ibpcl.continual import fisher
from ibpcl.continual.task import Task
from ibpcl.data import registry
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import SplitStream
from ibpcl.evaluation.figures.accuracy import accuracy_matrix
from ibpcl.evaluation.metrics import accuracy, average_accuracy, backward_transfer
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import Watch
from ibpcl.methods.npbcl_settings import FIRST

TRAIN, TEST, UNITS = (
    400,
    200,
    30,
)  # a task's examples, and hidden units: small, to be quick
EPOCHS = 33  # a task, for every method
PAIRS = ((0, 1), (4, 5), (6, 7))  # A or B, E or F, G or H
numpy_backend = backend("numpy")


def halved(task):
    """Average blocks of 2 x 2 pixels: 196 inputs instead of 784."""
    x_train, x_test = (
        x.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
        for x in (task.x_train, task.x_test)
    )
    return replace(task, x_train=x_train, x_test=x_test, image_shape=(14, 14))


tasks = [
    halved(task)
    for task in limited(SplitStream(registry.load("glyphs"), PAIRS), TRAIN, TEST)
]
first, second = tasks[0], tasks[1]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three rows of small grey letters: A and B, E and F, G and H; in each row the first letter is class 0, the second class 1."}}
figure, grid = plt.subplots(len(tasks), 8, figsize=(8, 3.2), layout="constrained")
for task, row in zip(tasks, grid, strict=True):
    for column, axes in enumerate(row):
        label = column // 4
        image = task.x_test[task.y_test == label][column % 4]
        axes.imshow(image.reshape(14, 14), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        if column % 4 == 0:
            axes.set_title(
                f"{task.class_names[label]}: class {label}", fontsize=9, loc="left"
            )
figure.suptitle("Three tasks, one after another", fontsize=10)
plt.show()

# %% [markdown]
# ## Forgetting, in two numbers
#
# Every task has two classes, called $0$ and $1$, so *one* head with two outputs can
# serve all tasks: A, E and G are class $0$, and B, F and H are class $1$. The method
# `naive` just goes on training. It minimizes, one task after the other,
#
# $$ L_t(\theta) = -\frac{1}{N_t} \sum_n \log p(y_n \mid x_n, \theta) $$
#
# and starts each task where the last one ended. We keep the weights after every epoch,
# for later: `Watch` is a progress bar (none here) and a function that is called after
# each.
#
# > **Stop and predict.** The network will learn A or B, then E or F. How much of A/B is
# > left then: nearly all, half of the way to a coin, or no more than a coin knows? Look
# > at the letters and their classes before you answer.
#
# <details><summary>Answer</summary>
#
# Little more than a coin knows. B looks like E, and they have different classes (A and
# F help less). A network that learns "E is $0$" learns "B is $0$" with it: the tasks do
# not just share weights, they contradict each other where their inputs are alike.
#
# </details>


# %%
def make(name, **settings):
    return ibpcl.learner(name, backend="numpy", hidden=(UNITS,), batch=100, **settings)


def test(learner, task, task_id=0):
    return accuracy(learner.predict(task.x_test, task_id), task.y_test)


naive = make("naive", single_head=True, epochs=EPOCHS, rate=0.002)
naive.learn(first, progress=False)
theta_1, before, trail = naive.knowledge.shared, test(naive, first), []
naive.learn(
    second, progress=Watch(False, lambda record, weights: trail.append(weights.copy()))
)
theta_2 = naive.knowledge.shared
print(f"after A/B:  A/B {before:.1%}")
print(f"after E/F:  A/B {test(naive, first):.1%}, E/F {test(naive, second):.1%}")

# %% [markdown]
# A coin, which is right in 50 % of the cases, would be nearly as good on A/B now. Is
# the network too small for both tasks? Train it on the examples of both at once, from
# the same start $\theta_1$:

# %%
joint = make("naive", single_head=True, epochs=EPOCHS, rate=0.002)
joint.learn(first, progress=False)
joint.learn(
    Task(
        "both",
        np.vstack([first.x_train, second.x_train]),
        np.append(first.y_train, second.y_train),
        first.x_test,
        first.y_test,
        2,
        ("A or E", "B or F"),
    ),
    progress=False,
)
theta_both = joint.knowledge.shared
print(f"together:   A/B {test(joint, first):.1%}, E/F {test(joint, second):.1%}")

# %% [markdown]
# No: weights that can do both exist, in the same network, and gradient descent reaches
# them from $\theta_1$ if it is shown both tasks.
#
# ## Along a line
#
# With one head the whole network is one vector $\theta$, and between two vectors there
# is a straight line:
#
# $$ \theta(s) = (1 - s)\, \theta_1 + s\, \theta_2. $$
#
# At $s = 0$ the network has learned the first task only, at $s = 1$ both in turn. We
# walk along the line, a bit beyond both ends, and measure both tasks' losses on test
# data.
#
# > **Stop and predict.** Sketch the two losses over $s$ before you look. Is the first
# > task's loss a straight ramp? And where does naive training stop on this line: where
# > the sum of both losses is lowest?
#
# <details><summary>Answer</summary>
#
# The first task's loss is flat at first, then it climbs. Naive training stops at the
# minimum of the *second* task's loss; it cannot know where the sum is lowest, because
# there are no data of the first task any more. Everything that prevents forgetting is a
# way to remember something about the first curve.
#
# </details>

# %%
network = naive.context.next_network(2)


def loss_of(theta, task):
    """The mean negative log likelihood of a task's test data, in nats."""
    p = network.predict(theta.astype(np.float32), task.x_test, numpy_backend)
    return -np.log(p[np.arange(len(p)), task.y_test]).mean()


shares = np.linspace(-0.25, 1.25, 31)
line = [(1 - s) * theta_1 + s * theta_2 for s in shares]
losses = {
    task.name: [loss_of(theta, task) for theta in line] for task in (first, second)
}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Loss against the share s of the way from theta 1 to theta 2: that of A/B is flat and then climbs, that of E/F falls; their mean has its minimum in between."}}
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for (name, values), color in zip(losses.items(), ("C0", "C1"), strict=True):
    axes.plot(shares, values, color=color, label=f"loss of {name}")
axes.plot(
    shares,
    np.mean(list(losses.values()), axis=0),
    "--",
    color="0.4",
    label="their mean",
)
for s, name in ((0, "after the first"), (1, "after the second")):
    axes.axvline(s, color="0.8", zorder=0)
    axes.text(s, axes.get_ylim()[1], f" {name}", va="top", fontsize=8, color="0.4")
axes.set(
    xlabel=r"share $s$ of the way from $\theta_1$ to $\theta_2$",
    ylabel="loss (nats)",
    title="What is downhill for one task is uphill for the other",
)
axes.legend(loc="upper center")
plt.show()

# %% [markdown]
# The first task's loss is flat around $\theta_1$, then it climbs. A third of the way
# costs it almost nothing, and brings the second task half of its gain. The last quarter
# brings the second task little, and costs the first one most of what it loses. The mean
# of both (dashed), which is what joint training would follow on this line, has its
# minimum in between.
#
# Who pulls how hard, at the start? Gradients of both losses at $\theta_1$, on training
# data:


# %%
def gradient_of(theta, task):
    _, cache = network.log_likelihood(theta, task.x_train, task.y_train, numpy_backend)
    return network.log_likelihood_vjp(-1 / len(task.x_train), cache)


pulls = [gradient_of(theta_1, task) for task in (first, second)]
sizes = [np.linalg.norm(pull) for pull in pulls]
cosine = pulls[0] @ pulls[1] / (sizes[0] * sizes[1])
print(
    f"norm of the gradient at theta_1: first task {sizes[0]:.3f}, second task {sizes[1]:.3f}; cosine {cosine:.2f}"
)

# %% [markdown]
# At its own solution the first task has next to no gradient. It does not resist *at
# first*, not even if it is asked: what resists is the curvature, and that shows only on
# the way. This is why protection has to be about second order: how fast does the loss
# of the first task grow when a weight moves?
#
# ## In a plane
#
# A line shows two points. Three points make a plane: $\theta_1$, $\theta_2$, and the
# solution for both tasks $\theta_{both}$. We build two directions at right angles by
# Gram and Schmidt, and draw the losses over the plane, with the way that training took,
# projected onto it.

# %%
across = theta_2 - theta_1
length = np.linalg.norm(across)
across = across / length
up = theta_both - theta_1
up = up - (up @ across) * across  # what is left is at a right angle
up = up / np.linalg.norm(up)


def place(theta):
    """Coordinates in the plane, in units of the distance from theta_1 to theta_2."""
    return np.array([(theta - theta_1) @ across, (theta - theta_1) @ up]) / length


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three contour maps over a plane through theta 1, theta 2 and theta both: the way of training leaves the valley of A/B for that of E/F, past where the two overlap."}}
ends = {r"$\theta_1$": theta_1, r"$\theta_2$": theta_2, r"$\theta_{both}$": theta_both}
corner = place(theta_both)
xs = np.linspace(-0.5, max(1, corner[0]) + 0.6, 21)
ys = np.linspace(min(0, corner[1]) - 0.5, max(0, corner[1]) + 0.5, 21)
surface = {
    task.name: np.array(
        [
            [loss_of(theta_1 + length * (x * across + y * up), task) for x in xs]
            for y in ys
        ]
    )
    for task in (first, second)
}
path = np.array([place(theta) for theta in [theta_1, *trail]])

figure, panels = plt.subplots(
    1, 3, figsize=(12.5, 3.9), layout="constrained", sharey=True
)
levels = np.geomspace(0.03, 3, 13)
maps = {
    **{f"loss of {name}": values for name, values in surface.items()},
    "mean of both": np.mean(list(surface.values()), axis=0),
}
for axes, (name, values) in zip(panels, maps.items(), strict=True):
    filled = axes.contourf(
        xs, ys, np.log10(values), levels=np.log10(levels), cmap="viridis", extend="both"
    )
    axes.plot(*path.T, ".-", color="white", linewidth=1, markersize=4)
    for label, theta in ends.items():
        axes.plot(*place(theta), "o", color="C3", markersize=6)
        axes.annotate(
            label,
            place(theta),
            textcoords="offset points",
            xytext=(5, 5),
            color="white",
            fontsize=9,
        )
    axes.set(xlabel=r"from $\theta_1$ to $\theta_2$", title=name)
panels[0].set_ylabel(r"towards $\theta_{both}$")
bar = figure.colorbar(filled, ax=panels, label="loss (nats)")
bar.set_ticks(np.log10([0.03, 0.1, 0.3, 1, 3]), labels=["0.03", "0.1", "0.3", "1", "3"])
plt.show()

off = [
    np.linalg.norm(theta - theta_1 - length * (place(theta) @ np.stack([across, up])))
    for theta in trail
]
print(
    f"farthest from the plane, the way is {max(off) / length:.2f} distances from theta_1 to theta_2 away from it"
)

# %% [markdown]
# On the left the way (white, a dot an epoch) leaves the valley of the first task; in
# the middle it runs down the valley of the second, which is all that it sees. On the
# right: the valley of both, with $\theta_{both}$ in it. The two valleys **overlap**,
# and the way misses the overlap because the first task's map is not there any more.
#
# Mind the slice: the network has thousands of weights, the plane two of their
# directions. As far as the way leaves the plane, the white line is its shadow.
#
# ## What EWC believes
#
# Elastic weight consolidation keeps a *memory of the map* instead of the data: a
# parabola around $\theta_1$, with a curvature for each weight,
#
# $$ L_1(\theta) \approx L_1(\theta_1) + \frac12 \sum_i F_i\, (\theta_i - \theta_{1, i})^2, \qquad
#    F_i = \frac1N \sum_n \mathbb E_{y \sim p(\cdot \mid x_n)} \Bigl[ \Bigl(
#    \frac{\partial \log p(y \mid x_n)}{\partial \theta_i} \Bigr)^2 \Bigr]. $$
#
# $F$ is the diagonal of the Fisher information. Training on the second task then adds
# $\frac{\lambda}{2} \sum_i F_i (\theta_i - \theta_{1, i})^2$ to its loss. How good is
# the belief? On the line we can hold it against the truth.

# %%
F = fisher.diagonal(network, theta_1, first.x_train, first.y_train, "exact", None)
step = theta_2 - theta_1
believed = loss_of(theta_1, first) + shares**2 * (F * step**2).sum() / 2

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: EWC's parabola stays near zero where the true loss of A/B climbs. Right: accuracy on A/B falls and on E/F rises as lambda falls; no lambda reaches the point of joint training."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(shares, losses[first.name], color="C0", label="the loss of the first task")
left.plot(shares, believed, "--", color="C2", label="what EWC believes, weight 1")
left.plot(
    shares,
    loss_of(theta_1, first) + 100 * (believed - loss_of(theta_1, first)),
    ":",
    color="C2",
    label="with weight 100",
)
left.set(
    xlabel="share $s$ of the way",
    ylabel="loss (nats)",
    ylim=(0, 1.5),
    title="A parabola, and the truth",
)
left.legend(fontsize=8)

weights = (0, 10, 100, 1000, 10_000, 100_000)
kept_by_weight, gained = [], []
for weight in weights:
    learner = make(
        "ewc", single_head=True, epochs=EPOCHS, rate=0.002, weight=float(weight)
    )
    for task in (first, second):
        learner.learn(task, progress=False)
    kept_by_weight.append(100 * test(learner, first))
    gained.append(100 * test(learner, second, 1))
right.plot(gained, kept_by_weight, "o-", color="C2")
places = {}
for weight, *at in zip(weights, gained, kept_by_weight, strict=True):
    places.setdefault(tuple(np.round(at)), []).append(f"{weight:g}")
for i, (at, here) in enumerate(
    places.items()
):  # weights that come to the same share a label
    right.annotate(
        ", ".join(here),
        at,
        textcoords="offset points",
        xytext=(6, (4, -10)[i % 2]),
        fontsize=8,
    )
right.plot(
    100 * test(joint, second),
    100 * test(joint, first),
    "*",
    color="C3",
    markersize=14,
    label="both at once",
)
right.set(
    xlabel="accuracy on the second task (%)",
    ylabel="accuracy on the first (%)",
    title=r"What a weight $\lambda$ buys, and what it costs",
)
right.legend(fontsize=8, loc="lower left")
plt.show()

# %% [markdown]
# Left: at $\theta_1$ the network is sure of itself, $p (1 - p)$ is small, and so is the
# Fisher information: the parabola is far too flat for the wall that comes. The belief
# is *local*, and training walks far. This is why EWC wants a $\lambda$ far above the
# one that Bayes' rule for a Gaussian says, which is $\lambda = 1$.
#
# Right: the weight trades one task against the other. At $\lambda = 0$ this is naive
# training; with a large one the network stays at $\theta_1$. No weight reaches the
# star: the curve is what a diagonal parabola can buy here. It has no terms $\theta_i
# \theta_j$, so of two weights that could move *together* without any harm it holds
# both: a direction that is flat for the first task, but not along an axis, does not
# exist for a diagonal.
#
# ## Four methods on the same tasks
#
# * `naive`: nothing.
# * `ewc`: the parabola, $\lambda = 300$.
# * `vcl`: a Gaussian for each weight; the posterior of the last task is the prior of
#   the next. A weight that is known well has a small $\sigma$ and is held, a weight
#   that was not needed keeps a large one and is free.
# * `npbcl`: Gaussians too, and a binary mask for each task, learned under the Indian
#   buffet process: each task uses a part of the connections, and the prior holds what
#   earlier tasks use. `FIRST` holds the paper's link and temperatures. Three things
#   depart from the paper's ELBO: the divergence of the masks counts $\frac{1}{784}$, a
#   weight that no task uses has no prior, and a weight that a mask drops goes back to
#   its prior. With that divergence at full weight A/B loses some points in what
#   follows; try it. The package's default has another link and other temperatures
#   (tutorial 7).
#
# All four pass over a task's examples equally often: `EPOCHS`, which NPBCL divides
# between masked training and fine-tuning. The learning rates are *not* equal: a belief,
# whose mean and width must both move far, needs larger steps than a number. Each has
# rates with which it learns a single task well.
#
# Each learns three tasks in turn, with one head and with a head for each task. After
# each task we keep `state()`, a dict of arrays with all that the method knows, and fill
# a row of the **accuracy matrix**: $R_{ij}$ is the accuracy on task $j$ after learning
# task $i$.

# %%
SETTINGS = {
    "naive": {"epochs": EPOCHS, "rate": 0.002},
    "ewc": {"epochs": EPOCHS, "rate": 0.002, "weight": 300.0},
    "vcl": {
        "epochs": EPOCHS,
        "likelihood_epochs": 0,
        "rate": 0.02,
        "rate_end": 0.1,
        "prediction_samples": 20,
    },
    "npbcl": {
        **FIRST,
        "epochs": 25,
        "finetune_epochs": 8,
        "samples": 2,
        "prediction_samples": 20,
        "alpha": 6.0,
        "weight_rate": 0.01,
        "mask_rate": 0.1,
        "finetune_rate": 0.01,
        "mask_kl_weight": 1 / 784,
    },
}
HEADS = {"one head": True, "a head each": False}
learners, states, matrices = {}, {}, {}
for heads, single_head in HEADS.items():
    for name, settings in SETTINGS.items():
        learner = make(name, single_head=single_head, **settings)
        R, kept = np.full((len(tasks), len(tasks)), np.nan), []
        for i, task in enumerate(tasks):
            learner.learn(task, progress=False)
            kept.append(learner.state())
            R[i, : i + 1] = [test(learner, tasks[j], j) for j in range(i + 1)]
        learners[heads, name], states[heads, name], matrices[heads, name] = (
            learner,
            kept,
            R,
        )

print(
    "accuracy on A/B after each task (%)" + "".join(f"{heads:>22s}" for heads in HEADS)
)
for name in SETTINGS:
    columns = (
        "  ".join(f"{100 * value:5.1f}" for value in matrices[heads, name][:, 0])
        for heads in HEADS
    )
    print(f"  {name:33s}" + "".join(f"{column:>22s}" for column in columns))

# %% [markdown]
# ## Their lines
#
# Now the first picture again, for every method: the loss of the *first* task on the way
# from its state after the first task to its state after the second. A state is a dict
# of arrays, so a state in between is the dict of the arrays in between; what is no real
# number (a mask, a count) is taken from the end.


# %%
def between(start, end, s):
    """The state at a share s of the way from one state to another."""
    mixed = dict(end)
    for name, value in start.items():
        if value.dtype.kind == "f" and value.shape == end[name].shape:
            mixed[name] = ((1 - s) * value + s * end[name]).astype(value.dtype)
    return mixed


def line_of(heads, name):
    learner, (start, end, last), values = learners[heads, name], states[heads, name], []
    for s in shares[::2]:
        learner.load_state(between(start, end, s))
        p = learner.predict(first.x_test, 0)
        values.append(
            -np.log(np.maximum(p[np.arange(len(p)), first.y_test], 1e-9)).mean()
        )
    learner.load_state(last)
    return values


# %% tags=["hide-input"] mystnb={"image": {"alt": "Loss of A/B on each method's way from the first to the second task. With one head three methods climb and NPBCL stays flat; with a head for each task all lines are nearly flat."}}
figure, panels = plt.subplots(
    1, 2, figsize=(10, 3.8), layout="constrained", sharey=True
)
for axes, heads in zip(panels, HEADS, strict=True):
    for name, color in zip(SETTINGS, ("C0", "C2", "C1", "C3"), strict=True):
        axes.plot(shares[::2], line_of(heads, name), color=color, label=name)
    for s in (0, 1):
        axes.axvline(s, color="0.8", zorder=0)
    axes.set(
        xlabel="share of the method's own way from task 1 to task 2",
        title=f"Loss of A/B, {heads}",
    )
panels[0].set_ylabel("loss of the first task (nats)")
panels[0].legend()
plt.show()

# %% [markdown]
# With one head three methods climb the same wall, and NPBCL's line is flat. With a head
# for each task (right) all lines are nearly flat, on this first step; the third task
# still costs some of them points (last rows of the matrices below). The second task has
# a head of its own now, which can read what it needs from the hidden layer as it is;
# with one head the hidden layer has to be bent until what it says of an E means $0$,
# and says the same of a B.
#
# In the table above, A/B comes *back* with the third task where there is one head.
# Nothing remembered it: to tell G from H seems to need strokes that tell A from B, with
# the same labels, so the network learns some of A/B anew.
#
# A head for each task seems to solve most of it. But it has to be told which task an
# input is from; without that, one would have to guess the head, and that is another
# problem. The same holds for NPBCL's flat line, for its masks are *also* for each task:
# with one head it is told as much about the task as the others are with a head each.
#
# > **Stop and predict.** NPBCL is tested on A/B with the mask of E/F. How many percent
# > are right?
#
# <details><summary>Answer</summary>
#
# About as many as a coin gets right, as the next table shows. The masks carry the
# memory: which connections belong to which task is knowledge that cannot be
# overwritten, and that has to be asked for with the right name. A fair comparison says
# what each method is told.
#
# </details>

# %%
learner = learners["one head", "npbcl"]
print(
    "NPBCL, one head, accuracy on      with the mask of "
    + "  ".join(f"{task.name:>6s}" for task in tasks)
)
for task in tasks:
    row = "  ".join(f"{100 * test(learner, task, t):6.1f}" for t in range(len(tasks)))
    print(f"  {task.name:48s}" + row)
masks = [learner.masks(t)[0] for t in range(2)]
used, free = masks[0], ~masks[0]
print(
    f"connections used by A/B {used.mean():.1%}, by E/F {masks[1].mean():.1%}, "
    f"by both {(used & masks[1]).mean():.1%}"
)

# %% [markdown]
# ## Who was allowed to move?
#
# EWC, VCL and NPBCL answer the same question, *which weights are free*, with three
# different measures. The states after the first and after the second task say how far
# each weight went:
#
# * naive training and EWC started from the same $\theta_1$ and saw the same
#   minibatches, so the ratio of their moves is what the parabola did; we look at it by
#   how much Fisher information a weight has;
# * VCL measures a move of a mean in units of the old $\sigma$: half the square of that
#   is what it costs, in nats;
# * NPBCL has four groups of connections: used by A/B only, by both, by E/F only, by
#   neither.


# %%
def change(name, entry):
    start, end = (states["one head", name][t][entry] for t in range(2))
    return start, end - start


_, free_move = change("naive", "shared")
_, held_move = change("ewc", "shared")
information = states["one head", "ewc"][0]["memory.fisher"]
informed = np.flatnonzero(information > 0)  # a pixel that is never on knows nothing
groups = np.array_split(informed[np.argsort(information[informed])], 10)
ratios = [
    np.abs(held_move[group]).mean() / np.abs(free_move[group]).mean()
    for group in groups
]

(_, log_sigma), (mu_move, widening) = (
    np.split(part, 2) for part in change("vcl", "shared")
)  # means, log-widths
moves = np.abs(mu_move) / np.exp(log_sigma)
believed = float(
    (mu_move**2 / (2 * np.exp(2 * log_sigma)) + (np.exp(2 * widening) - 1) / 2).sum()
)

_, move = change("npbcl", "shared")
move = (
    learners["one head", "npbcl"]
    .context.shared_layout(1)
    .view(move, "hidden0.weight.mu")
)
rested = {
    name: (move[group] == 0).mean()
    for name, group in (
        ("used by A/B, dropped by E/F", used & ~masks[1]),
        ("used by neither", free & ~masks[1]),
        ("dropped by E/F, all of them", ~masks[1]),
    )
}
for name, share in rested.items():
    print(f"NPBCL, connections that did not move: {name}: {share:.0%}")
users = {
    "A/B\nonly": used & ~masks[1],
    "both": used & masks[1],
    "E/F\nonly": free & masks[1],
    "neither": free & ~masks[1],
}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: under EWC the best known tenth of the weights moves least. Middle: nearly all of VCL's means move less than one sigma. Right: NPBCL's connections that A/B uses do not move, all others do."}}
figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
panels[0].plot(range(1, 11), ratios, "o-", color="C2")
panels[0].set(
    xlabel="tenth of the weights, by Fisher information",
    ylabel="move under EWC / move without",
    title="EWC: what is known best moves less",
    ylim=(0, None),
)
panels[1].hist(moves, bins=40, color="C1", log=True)
panels[1].set(
    xlabel=r"move of a mean, in its old $\sigma$",
    ylabel="weights",
    title=r"VCL: nearly all within one $\sigma$",
)
panels[2].bar(
    list(users),
    [np.abs(move[chosen]).mean() if chosen.any() else 0 for chosen in users.values()],
    color="C3",
)
panels[2].set(
    xlabel="who uses the connection",
    ylabel="move, mean",
    title="NPBCL: what A/B uses rests",
)
plt.show()

# %%
costs = {"ewc": TRAIN * (information * held_move**2).sum() / 2, "vcl": believed}
print(f"leaving the first task, in nats for its {TRAIN} examples    believed     true")
for name, cost in costs.items():
    learner, (start, end, last), risen = (
        learners["one head", name],
        states["one head", name],
        [],
    )
    settings = learner.settings
    if name == "vcl":  # the mean loss over weights, not the loss of the mean
        learner.settings = replace(settings, prediction_samples=1)
    for state in (start, end):
        learner.load_state(state)
        p = learner.predict(first.x_train, 0)
        risen.append(
            -np.log(np.maximum(p[np.arange(TRAIN), first.y_train], 1e-9)).sum()
        )
    learner.load_state(last)
    learner.settings = settings
    print(f"  {name:53s}{cost:8.1f} {risen[1] - risen[0]:8.1f}")

# %% [markdown]
# The parabola did what it can: the tenth of the weights that is known best moved about
# two thirds as far as in naive training.
#
# VCL tells another story. Nearly all of its means stayed within one $\sigma$ of where
# they were: by the measure of each weight hardly anything happened. But there are
# thousands of them, and the second task pulls them all in the direction that serves it.
# Independent Gaussians cannot say "each of us, but not all of us together".
#
# The table has the bill: what each method believed that it would cost the first task to
# leave, and what it did cost. EWC's belief is its parabola (without
# $\lambda$).  VCL's is the rise of $-\log q_1$, averaged over the posterior $q$ before
# and after: $\sum_i \frac{(\mu_i - \mu_{1,i})^2}{2 \sigma_{1,i}^2} + \frac12
# \bigl(\frac{\sigma_i^2} {\sigma_{1,i}^2} - 1\bigr)$; so what it did cost is averaged
# over weights too. Both expect too little, EWC by far.
#
# NPBCL does not move what the first task uses: what A/B alone uses *exactly* not, for
# the second task's mask drops it, and given the mask the best place for such a
# connection, by the ELBO, is its prior, which is where the first task left it (the
# paper does not set it there, this package does); what both use hardly, for the prior
# holds it. This is *not* so for all that the mask drops: 88 % of it moved. That is what
# no task uses. It has no posterior to return to, and by default no prior either, so
# every task starts it afresh, at random. It may: no task's output depends on it.
#
# ## The accuracy matrix
#
# All eight runs at a glance, in one scale. A row is a moment (after learning this
# task), a column is a task; read a column from top to bottom and you see what becomes
# of one task.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Eight accuracy matrices, four methods with one head and with a head for each task. Columns of naive training, EWC and VCL with one head turn pale downwards; those of NPBCL do not."}}
figure, panels = plt.subplots(2, 4, figsize=(12, 5.4), layout="constrained")
for row, heads in zip(panels, HEADS, strict=True):
    for axes, name in zip(row, SETTINGS, strict=True):
        accuracy_matrix(
            matrices[heads, name], [task.name for task in tasks], axes, lowest=50
        )
        axes.set_title(f"{name}, {heads}", fontsize=9)
plt.show()

# %%
print(f"{'':8s}" + "".join(f"{heads + ': mean, transfer':>28s}" for heads in HEADS))
for name in SETTINGS:
    cells = (
        f"{100 * average_accuracy(matrices[heads, name]):.1f} %"
        f"{100 * backward_transfer(matrices[heads, name]):+9.1f}"
        for heads in HEADS
    )
    print(f"{name:8s}" + "".join(f"{cell:>28s}" for cell in cells))

# %% [markdown]
# Two numbers sum a matrix up. The **average accuracy** is the mean of the last row. The
# **backward transfer** is the mean of what later tasks did to earlier ones,
#
# $$ \mathrm{BWT} = \frac{2}{T (T - 1)} \sum_{i > j} (R_{ij} - R_{jj}), $$
#
# in points: below zero is forgetting. One without the other says little: a method that
# never learns anything new has a perfect backward transfer; and a task that is learned
# anew by accident, as A/B here, counts as well as one that was kept. EWC's average with
# one head is the lowest because what it holds for A/B is missing for G/H.
#
# These are small networks, three tasks and one seed. Which method is "best" cannot be
# read off here; *why* each column falls or stays can.
#
# ## Exercises
#
# Solutions, with their numbers, are in `solutions/01_why_networks_forget.py`.
#
# 1. **The other order.** Swap the tasks, E/F first. Is the wall on E/F's line as high?
#    *Hint:* everything follows from `PAIRS`.
# 2. **Stop in time.** On naive training's line, at which $s$ is the mean of both losses
#    least? Find it from *ten* kept examples of the first task, and all of the second.
#    You have invented rehearsal. *Hint:* `line` holds the weights.
# 3. **A better parabola.** Take the true curvature along the line from the loss itself,
#    $L_1''(0) \approx (L_1(h) - 2 L_1(0) + L_1(-h)) / h^2$, and compare it with EWC's
#    $\sum_i F_i\, \delta_i^2$. *Hint:* use training data for both.
# 4. **Which layer forgets?** Put the *head* of
#    $\theta_1$ back onto the hidden layer of $\theta_2$, and the other way round. Guess
#    first: how much of the accuracy on A/B does each bring back? *Hint:* the head has
#    the last `network.head_size` numbers of the vector.
# 5. **EWC's penalty as a pair.** Write the penalty
#    $\frac\lambda2 \sum_i F_i (\theta_i - \theta_{1,i})^2$ as a function with its
#    gradient, and let `ibpcl check` prove it. *Hint:* tutorial 3 says what a pair is.
