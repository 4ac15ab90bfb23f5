# %% [markdown] slideshow={"slide_type": "slide"}
# # 1. Why networks forget
#
# A network learns to tell A from B. Then it learns to tell E from F, and can no longer
# tell A from B. This is called *catastrophic forgetting*. In this tutorial we measure
# it, look at *where in the space of weights* it happens, and study one of the first
# remedies: elastic weight consolidation (EWC; Kirkpatrick et al., 2017). Tutorials 2 to
# 9 then build another remedy, NPBCL, the method of Kumar, Chatterjee and Rai, "Bayesian
# Structure Adaptation for Continual Learning". Tutorial 14 compares four methods on the
# tasks of this tutorial.
#
# **Prerequisites:** softmax regression and gradient descent. The Fisher information is
# explained where it first appears. **Time:** about 45 minutes.
#
# **You will be able to**
#
# - measure forgetting, and draw the loss of an old task along the path to a new one;
# - explain why gradient descent destroys what the network has learned;
# - derive EWC's penalty as an approximation of the old task's loss;
# - show where that approximation is good and where it fails.
#
# Names: $\theta$ is the vector of all weights,
# `theta_1` its value after the first task, `theta_2` its value after the second.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import ibpcl
from ibpcl.continual import fisher
from ibpcl.continual.task import Task
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import SplitStream
from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.evaluation.metrics import accuracy
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import Watch

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
TRAIN, TEST = 400, 200  # examples per task
UNITS = 30  # hidden units: few, to be quick
EPOCHS = 33  # per task
PAIRS = ((0, 1), (4, 5), (6, 7))  # A or B, E or F, G or H
numpy_backend = backend("numpy")


def halve(x):
    """Average blocks of 2 x 2 pixels: 196 inputs instead of 784."""
    return x.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)


stream = limited(SplitStream(ibpcl.datasets.load("glyphs"), PAIRS), TRAIN, TEST)
tasks = [
    replace(
        task,
        x_train=halve(task.x_train),
        x_test=halve(task.x_test),
        image_shape=(14, 14),
    )
    for task in stream
]
first, second = tasks[0], tasks[1]

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Three rows of small grey letters: A and B, E and F, G and H; in each row the first letter is class 0, the second class 1."}}
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
figure.suptitle("Three tasks, learned one after another", fontsize=10)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Forgetting, measured
#
# Every task has two classes, called $0$ and $1$, so *one* head with two outputs can
# serve all tasks: A, E and G are class $0$, and B, F and H are class $1$. The method
# `naive` simply continues training on each new task. For task $t$ it minimizes
#
# $$ L_t(\theta) = -\frac{1}{N_t} \sum_n \log p(y_n \mid x_n, \theta) $$
#
# and starts from the weights of the previous task. We keep the weights after every
# epoch for later. `Watch` combines a progress bar, which we switch off, with a function
# that is called after every epoch.
#
# > **Stop and predict.** The network will learn A or B, then E or F. How well does it
# > still tell A from B: almost as well as before, halfway to chance, or at chance
# > level? Look at the letters and their classes before you answer.
#
# <details><summary>Answer</summary>
#
# Close to chance level. B looks like E, and they have different classes (A and F matter
# less). A network that learns "E is $0$" also learns "B is $0$". The tasks do not just
# share weights: they contradict each other where their inputs are alike.
#
# </details>


# %% slideshow={"slide_type": "slide"}
def make(name, **settings):
    common = {"backend": "numpy", "hidden": (UNITS,), "batch": 100}
    common |= {"single_head": True, "epochs": EPOCHS, "rate": 0.002}
    return ibpcl.learner(name, **{**common, **settings})


def test(learner, task, task_id=0):
    return accuracy(learner.predict(task.x_test, task_id), task.y_test)


naive = make("naive")
naive.learn(first, progress=False)
theta_1, before = naive.knowledge.shared, test(naive, first)
trail = []  # the weights after each epoch on the second task
naive.learn(second, progress=Watch(False, lambda _, theta: trail.append(theta.copy())))
theta_2 = naive.knowledge.shared
print(f"after A/B:  A/B {before:.1%}")
print(f"after E/F:  A/B {test(naive, first):.1%}, E/F {test(naive, second):.1%}")

# %% [markdown]
# Guessing would give 50%, so hardly anything of A/B is left. Is the network too small
# for both tasks? We train it on the examples of both at once, from the same start
# $\theta_1$:

# %% slideshow={"slide_type": "slide"}
both = Task(
    "both", np.vstack([first.x_train, second.x_train]),
    np.append(first.y_train, second.y_train), first.x_test, first.y_test, 2,
    ("A or E", "B or F"),
)  # fmt: skip
joint = make("naive")
joint.learn(first, progress=False)
joint.learn(both, progress=False)
theta_both = joint.knowledge.shared
print(f"together:   A/B {test(joint, first):.1%}, E/F {test(joint, second):.1%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# The network is large enough. Weights that solve both tasks exist, and gradient descent
# reaches them from $\theta_1$ if it sees both tasks.
#
# ## Along a line
#
# With one head the whole network is one vector $\theta$, and two vectors can be joined
# by a straight line:
#
# $$ \theta(s) = (1 - s)\, \theta_1 + s\, \theta_2. $$
#
# At $s = 0$ the network has learned the first task only, at $s = 1$ both, one after the
# other. We walk along the line, a little beyond both ends, and measure the loss of both
# tasks on test data.
#
# > **Stop and predict.** Sketch the two losses over $s$ before you look. Is the first
# > task's loss a straight ramp? Where does naive training stop on this line: where the
# > sum of both losses is lowest?
#
# <details><summary>Answer</summary>
#
# The first task's loss is flat at first, then it climbs. Naive training stops at the
# minimum of the *second* task's loss. It cannot find the minimum of the sum, because it
# has no data of the first task any more. Every method against forgetting is a way to
# remember something about the first curve.
#
# </details>

# %%
network = naive.context.next_network(2)


def loss_of(theta, task):
    """Return the mean negative log likelihood of a task's test data, in nats."""
    p = network.predict(theta.astype(np.float32), task.x_test, numpy_backend)
    return -np.log(p[np.arange(len(p)), task.y_test]).mean()


shares = np.linspace(-0.25, 1.25, 31)
line = [(1 - s) * theta_1 + s * theta_2 for s in shares]
losses = {
    task.name: [loss_of(theta, task) for theta in line] for task in (first, second)
}

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Loss against the share s of the line from theta 1 to theta 2: the loss of A/B is flat and then climbs, the loss of E/F falls; their mean has its minimum in between."}}
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, values in losses.items():
    axes.plot(shares, values, label=f"loss of {name}")
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
    xlabel=r"share $s$ of the line from $\theta_1$ to $\theta_2$", ylabel="loss (nats)"
)
axes.set(title="Downhill for one task is uphill for the other")
axes.legend(loc="upper center")
plt.show()

# %% [markdown]
# The first third of the line costs the first task almost nothing, and brings the second
# task half of its gain. The last quarter brings the second task little, and causes most
# of the first task's loss. The mean of both losses (dashed) has its minimum in between.
# Joint training would follow this mean.
#
# How hard does each task pull at the start of the line? Here are the gradients of both
# losses at $\theta_1$, on training data:


# %% slideshow={"slide_type": "slide"}
def gradient_of(theta, task):
    _, cache = network.log_likelihood(theta, task.x_train, task.y_train, numpy_backend)
    return network.log_likelihood_vjp(-1 / len(task.x_train), cache)


pulls = [gradient_of(theta_1, task) for task in (first, second)]
sizes = [np.linalg.norm(pull) for pull in pulls]
cosine = pulls[0] @ pulls[1] / (sizes[0] * sizes[1])
print(f"norm of the gradient at theta_1: first {sizes[0]:.3f}, second {sizes[1]:.3f}")
print(f"cosine of the angle between the gradients: {cosine:.2f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# At $\theta_1$ the first task has almost no gradient, so *at first* it offers no
# resistance. Resistance comes from the curvature of its loss, which only matters once
# the weights have moved. This is why protection needs second-order information: how
# fast does the loss of the first task grow when a weight moves?
#
# ## In a plane
#
# Two points give a line, three points give a plane: $\theta_1$, $\theta_2$, and the
# solution for both tasks $\theta_{both}$. We build two perpendicular directions by
# Gram-Schmidt orthogonalization. Then we draw the losses over the plane, together with
# the projection of the training path.

# %%
across = theta_2 - theta_1
length = np.linalg.norm(across)
across = across / length
up = theta_both - theta_1
up = up - (up @ across) * across  # the rest is perpendicular to `across`
up = up / np.linalg.norm(up)


def project(theta):
    """Return coordinates in the plane, in units of the line from theta_1 to theta_2."""
    return np.array([(theta - theta_1) @ across, (theta - theta_1) @ up]) / length


corner = project(theta_both)
xs = np.linspace(-0.5, max(1, corner[0]) + 0.6, 21)
ys = np.linspace(min(0, corner[1]) - 0.5, max(0, corner[1]) + 0.5, 21)
surface = {}
for task in (first, second):
    surface[f"loss of {task.name}"] = np.array(
        [
            [loss_of(theta_1 + length * (x * across + y * up), task) for x in xs]
            for y in ys
        ]
    )
surface["mean of both"] = np.mean(list(surface.values()), axis=0)
path = np.array([project(theta) for theta in [theta_1, *trail]])

plane = np.stack([across, up])
off = [
    np.linalg.norm(theta - theta_1 - length * (project(theta) @ plane))
    for theta in trail
]
print("largest distance of the path from the plane, in units of the line's length:")
print(f"{max(off) / length:.2f}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Three contour maps over a plane through theta 1, theta 2 and theta both: the training path leaves the valley of A/B for the valley of E/F, and misses the region where the two overlap."}}
ends = {r"$\theta_1$": theta_1, r"$\theta_2$": theta_2, r"$\theta_{both}$": theta_both}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained", sharey=True)
levels = np.log10(np.geomspace(0.03, 3, 13))
box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
for axes, (name, values) in zip(panels, surface.items(), strict=True):
    filled = axes.contourf(
        xs, ys, np.log10(values), levels=levels, cmap="viridis", extend="both"
    )
    axes.plot(*path.T, ".-", color="white", linewidth=1, markersize=4)
    for label, theta in ends.items():
        axes.plot(*project(theta), "o", color="C1", markersize=6)
        axes.annotate(
            label, project(theta), xytext=(6, 6), textcoords="offset points", bbox=box
        )
    axes.set(xlabel=r"from $\theta_1$ to $\theta_2$", title=name)
panels[0].set_ylabel(r"towards $\theta_{both}$")
bar = figure.colorbar(filled, ax=panels, label="loss (nats)")
bar.set_ticks(np.log10([0.03, 0.1, 0.3, 1, 3]), labels=["0.03", "0.1", "0.3", "1", "3"])
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The path is white, with one dot per epoch. On the left it leaves the valley of the
# first task. In the middle it runs down the valley of the second task, the only one
# that training sees. The right panel shows the valley of both, with $\theta_{both}$ in
# it. The two valleys **overlap**. The path misses the overlap because the loss of the
# first task is no longer available.
#
# Be careful with such pictures. The network has thousands of weights, and the plane
# shows two directions. Where the path leaves the plane, the white line is only its
# projection.
#
# ## EWC: a parabola instead of the data
#
# Elastic weight consolidation remembers the *shape* of the first task's loss. Expand
# the loss around $\theta_1$ to second order. The gradient is almost zero there, so the
# first-order term drops out. Keep only the diagonal of the second-order term: one
# curvature $F_i$ per weight. The result is a parabola,
#
# $$ L_1(\theta) \approx L_1(\theta_1) + \frac12 \sum_i F_i\, (\theta_i - \theta_{1, i})^2. $$
#
# For the curvature EWC takes the diagonal of the *Fisher information*,
#
# $$ F_i = \frac1N \sum_n \mathbb E_{y \sim p(\cdot \mid x_n)} \Bigl[ \Bigl(
#    \frac{\partial \log p(y \mid x_n)}{\partial \theta_i} \Bigr)^2 \Bigr]. $$
#
# It measures how much the predicted probabilities change when weight $i$ changes. At a
# minimum where the network predicts the labels well, it approximates the curvature of
# the loss. Its advantage is that it needs first derivatives only and is never negative.
#
# Training on the second task then minimizes $L_2(\theta) + \frac{\lambda}{2} \sum_i F_i
# (\theta_i - \theta_{1, i})^2$. How good is the parabola? Along our line we can compare
# it with the true loss. We also train with several values of $\lambda$.

# %% slideshow={"slide_type": "slide"}
F = fisher.diagonal(network, theta_1, first.x_train, first.y_train, "exact", None)
step = theta_2 - theta_1
rise = shares**2 * (F * step**2).sum() / 2  # of the parabola, along the line
bottom = loss_of(theta_1, first)

strengths = (0, 10, 100, 1000, 10_000, 100_000)
kept, gained = [], []
for strength in strengths:
    learner = make("ewc", weight=float(strength))
    for task in (first, second):
        learner.learn(task, progress=False)
    kept.append(100 * test(learner, first))
    gained.append(100 * test(learner, second, 1))
    print(f"lambda {strength:6d}: A/B {kept[-1]:5.1f}%, E/F {gained[-1]:5.1f}%")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Left: EWC's parabola stays near zero where the true loss of A/B climbs. Right: accuracy on A/B falls and on E/F rises as lambda falls; no lambda reaches the point of joint training."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
left.plot(shares, losses[first.name], color="C0", label="loss of the first task")
left.plot(
    shares, bottom + rise, "--", color="C2", label=r"EWC's parabola, $\lambda = 1$"
)
left.plot(shares, bottom + 100 * rise, ":", color="C2", label=r"$\lambda = 100$")
left.set(xlabel="share $s$ of the line", ylabel="loss (nats)", ylim=(0, 1.5))
left.set_title("The parabola and the true loss")
left.legend()

right.plot(gained, kept, "o-", color="C2", label="EWC")
for strength, *point in zip(strengths, gained, kept, strict=True):
    at_right = point[0] < 70 or strength == 100
    right.annotate(
        rf"$\lambda = {strength:g}$", point, textcoords="offset points", fontsize=7,
        xytext=(8 if at_right else -8, -3), ha="left" if at_right else "right",
    )  # fmt: skip
together = 100 * test(joint, second), 100 * test(joint, first)
right.plot(*together, "*", color="C1", markersize=14, label="both tasks at once")
right.set(xlabel="accuracy on the second task (%)", ylabel="accuracy on the first (%)")
right.set_title(r"$\lambda$ trades one task against the other")
right.margins(x=0.25)
right.legend(loc="lower left")
plt.show()

# %% [markdown]
# **Left.** At $\theta_1$ the network is sure of its predictions. Then $p (1 - p)$ is
# small, and so is the Fisher information. The parabola is far too flat for the steep
# rise that follows. The approximation is *local*, but training moves far. This is why
# EWC works best with $\lambda$ far above one, although one is the value that Bayes'
# rule gives for a Gaussian posterior.
#
# **Right.** $\lambda$ trades one task against the other. At $\lambda =
# 0$ EWC is naive training; with a very large $\lambda$ the network stays at
# $\theta_1$. No $\lambda$ reaches the star. The diagonal is one reason. It has no terms
# $\theta_i \theta_j$. If two weights could change *together* without harm, the diagonal
# penalty still holds both of them. It cannot represent a flat direction that is not
# parallel to an axis.
#
# ## Where to go from here
#
# EWC remembers one number per weight, its importance. A Bayesian network remembers a
# distribution per weight, and NPBCL adds a binary mask that decides *which* weights a
# task uses at all. Tutorials 2 to 9 derive this method. If you first want to see how
# the methods behave on the three tasks above, read [tutorial
# 14](14_comparing_methods.py) now. It treats them as black boxes.
#
# ## Exercises
#
# Solutions, with their numbers, are in `solutions/01_why_networks_forget.py`.
#
# 1. **The other order.** Swap the tasks, so that E/F comes first. Is E/F forgotten as
#    completely? *Hint:* everything follows from `PAIRS`.
# 2. **Stop in time.** On the line of naive training, find the $s$ where the mean of
#    both losses is lowest. Use only *ten* kept examples of the first task, and all
#    examples of the second. (You have invented rehearsal.) *Hint:* `line` holds the
#    weights.
# 3. **A better parabola.** Estimate the true curvature along the line from the loss
#    itself, $L_1''(0) \approx (L_1(h) - 2 L_1(0) + L_1(-h)) / h^2$, and compare it with
#    EWC's $\sum_i F_i\, \delta_i^2$, where $\delta = \theta_2 - \theta_1$. *Hint:* use
#    training data for both.
# 4. **Which layer forgets?** Put the *head* of
#    $\theta_1$ onto the hidden layer of $\theta_2$, and the other way round. Guess
#    first: how much of the accuracy on A/B does each combination bring back? *Hint:*
#    the head has the last `network.head_size` numbers of the vector.
# 5. **EWC's penalty as a pair.** Write the penalty
#    $\frac\lambda2 \sum_i F_i (\theta_i - \theta_{1,i})^2$ as a function with its
#    gradient, and check it with `ibpcl check`. *Hint:* tutorial 3 explains how to write
#    such a pair of functions.
