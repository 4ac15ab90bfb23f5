# %% [markdown] slideshow={"slide_type": "slide"}
# # 10. Reading a run
#
# A run of `ibpcl` leaves a folder. In this tutorial we make one, open every file in it,
# and recompute the numbers of its tables. Then we use the trained network: how sure is
# it, what are coresets for, how does a network grow, and what happens to $\alpha$ if it
# is learned?
#
# **Prerequisites:** tutorial 9. **Time:** about 60 minutes.
#
# **You will be able to**
#
# - name the content of each file of a run, and recompute accuracy, transfer and the
#   share of the network used;
# - read a history, and distinguish the ELBO from the objective that was maximized;
# - load a learner, and split its uncertainty into an epistemic part, which more data
#   would reduce, and an aleatoric part, which they would not;
# - judge coresets, growth and a learned $\alpha$ by their effect.
#
# Names: $R_{ij}$ is the accuracy on task $j$ after task $i$; $H$ an entropy, in nats.

# %%
import contextlib
import csv
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import ibpcl
from ibpcl.cli import main
from ibpcl.data import registry
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import SplitStream
from ibpcl.evaluation.figures.canvas import PALETTE

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A run
#
# In a shell this is `ibpcl run split-glyphs --out run --set tasks=3 ...`. Everything is
# small here, to take seconds: three tasks, $500$ examples of each, $40$ units.

# %% slideshow={"slide_type": "slide"}
temporary = tempfile.TemporaryDirectory()
keys = {
    "tasks": 3, "train_limit": 500, "test_limit": 200, "hidden": 40, "epochs": 15,
    "finetune_epochs": 15, "batch": 100, "samples": 1, "prediction_samples": 20,
    "backend": "numpy",
}  # fmt: skip
command = ["run", "split-glyphs", "--out", "run"]
for name, value in keys.items():
    command += ["--set", f"{name}={value}"]
with contextlib.chdir(temporary.name):
    main(command)
folder = Path(temporary.name, "run")
names = sorted(file.name for file in folder.iterdir())
print(*(name for name in names if not name.startswith(".")), sep="\n")

# %% [markdown] slideshow={"slide_type": "slide"}
# * `config.toml`: the whole configuration, so that the run can be repeated (`ibpcl run
#   config.toml`).
# * `result.json`: the results, for programs, with versions, seconds and memory.
# * `history.csv`: one row per epoch of each phase, with the parts of the ELBO in nats
#   for the whole task.
# * `learner.npz`: the trained learner. It contains no pickle, so opening it runs no
#   code.
# * `report.html`: all results as one page to read or to send. `ibpcl report run` writes
#   it again.
# * The figures. While a run is in progress there is also a checkpoint, from which
#   `ibpcl run --resume` continues, bit for bit.
#
# ## `result.json`
#
# It contains the table that the screen shows, and more. The matrix has `null` where
# nothing was measured, because that task had not been learned yet.

# %% slideshow={"slide_type": "slide"}
result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
R = np.array(result["accuracy_matrix"], dtype=float)
T = len(R)
by_hand = {
    "average_accuracy": R[-1].mean(),
    "backward_transfer": np.mean(
        [R[i, j] - R[j, j] for i in range(T) for j in range(i)]
    ),
}
print(R)
for name, value in by_hand.items():
    print(f"{name}: by hand {value:.6f}, in the file {result[name]:.6f}")
print(
    "share of the weights that each task uses  ",
    np.round([task[0] for task in result["mask_density"]], 3),
)
print("share that is used by any task so far     ", np.round(result["share_used"], 3))

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** Add up the shares of the three tasks. Why is the last number
# > of the second line smaller? And how large would it be if each task had chosen its
# > weights at random?
#
# <details><summary>Answer</summary>
#
# It is smaller because tasks share weights. At random, a weight is left out by all
# tasks with probability $\prod_t (1 - d_t)$, so the union would be
# $1 - \prod_t (1 - d_t)$. The next cell computes it: it is nearly the same as in the
# run. These masks share little more than chance. Single weights are chosen, not units.
#
# </details>

# %% slideshow={"slide_type": "slide"}
densities = np.array([task[0] for task in result["mask_density"]])
at_random = 1 - np.prod(1 - densities)
print(f"sum of the shares  {densities.sum():.1%}")
print(f"union              {result['share_used'][-1]:.1%}")
print(f"union at random    {at_random:.1%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## `history.csv`
#
# Each row has the phase, the temperature and the parts of the ELBO. Here are the parts
# for the first task:

# %%
with open(folder / "history.csv", encoding="utf-8", newline="") as file:
    history = [row for row in csv.DictReader(file) if row["task"] == "0"]
parts = {
    name: np.array([float(row[name]) for row in history])
    for name in ("elbo", "log_likelihood", "kl_weights", "kl_masks", "kl_sticks", "tau")
}
masked = sum(row["phase"] == "masked" for row in history)
weight = result["elbo_weights"]["mask_kl_weight"]
objective = (
    parts["log_likelihood"]
    - parts["kl_weights"]
    - weight * parts["kl_masks"]
    - parts["kl_sticks"]
)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Left: parts of the ELBO of the first task by epoch; the masks' divergence rises to thousands of nats while the temperature falls, and is gone with fine-tuning. Right: the ELBO falls while the objective rises, in masked training."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(-parts["log_likelihood"], label=r"$-\log p$")
for name in ("weights", "masks", "sticks"):
    left.plot(np.maximum(parts[f"kl_{name}"], 0.1), label=f"KL of {name}")
right.plot(parts["elbo"], color="0.5", label="ELBO, all weights one")
right.plot(objective, color="C1", label=rf"objective, masks' KL times {weight:g}")
for axes in (left, right):
    axes.axvline(masked - 0.5, color="0.7", linestyle=":")
    axes.set(xlabel="epoch: masked training, then fine-tuning", ylabel="nats")
    axes.legend()
left.set(title="The parts", yscale="log")
right.set_title("The ELBO and the objective")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** During masked training the column `elbo` *falls*, by more than
# > a thousand nats. Is the training broken?
#
# <details><summary>Answer</summary>
#
# No. In this column every KL divergence has weight one. The default settings multiply
# the masks' KL divergence by 0.0021, and *that* objective rises. As the data select
# single weights, masks move away from their prior. This costs thousands of nats at full
# weight and a few at the smaller one. `elbo_weights` in `result.json` contains the
# weights of the objective. Read it before you compare the ELBOs of two runs.
#
# </details>
#
# In fine-tuning the masks are fixed. Their KL divergence is a constant and is left out,
# so the curve jumps.
#
# ## The figures

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Two figures of the run. Masks of the three tasks as images of pixels. Shares of the network used by each task, split into new and shared weights, and the matrix of sharing."}}
figure, panels = plt.subplots(2, 1, figsize=(8, 6.4), layout="constrained")
for axes, name in zip(panels, ("masks", "sharing"), strict=True):
    axes.imshow(plt.imread(folder / f"{name}.png"))
    axes.set_axis_off()
    axes.set_title(f"{name}.png", fontsize=9)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# `masks.png` shows each mask of the first layer as an image. The colour of a pixel is
# the share of the units in use to which its weight is on. With the default link a
# weight is on only if the data require it (tutorial 7), so pixels that are inked in few
# letters have few weights. The next cell counts them.
#
# ## Loading the learner

# %% slideshow={"slide_type": "slide"}
glyphs = SplitStream(registry.load("glyphs"), ((0, 1), (2, 3), (4, 5)))
stream = limited(glyphs, 500, 200)
learner = ibpcl.load_run(folder).learner
again = [
    np.mean(learner.predict(task.x_test, t).argmax(axis=1) == task.y_test)
    for t, task in enumerate(stream)
]
print("accuracies of the loaded learner:", np.round(again, 3).tolist())
print("equal to the file's:", np.allclose(again, R[-1]))
contrast = stream[0].x_train.std(axis=0)
low, high = np.quantile(contrast, (0.25, 0.75))
mask = learner.masks(0)[0]
in_use = [float(mask[pixels].mean()) for pixels in (contrast <= low, contrast >= high)]
print("weights in use from the quarter of the pixels that varies")
print(f"  least {in_use[0]:.1%}, most {in_use[1]:.1%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How sure is it?
#
# A prediction averages over $S$ samples of the weights, $\bar p = \frac1S \sum_s
# p^s$. Its entropy $H[\bar p]$ measures how unsure the network is. It is the sum of two
# parts:
#
# $$ H[\bar p] = \underbrace{\frac1S \sum_s H[p^s]}_{\text{aleatoric: each sample is unsure}}
#    + \underbrace{H[\bar p] - \frac1S \sum_s H[p^s]}_{\text{epistemic: the samples disagree}}. $$
#
# The *aleatoric* part would remain even if the weights were known. The *epistemic* part
# comes from not knowing the weights, and more data would reduce it. It is the *mutual
# information* of the prediction and the weights (Houlsby et al., 2011). We ask the
# first task's network, which knows A and B, about three kinds of images: its own test
# letters, letters of another task, and noise. The last two are *out-of-distribution*
# inputs.
#
# > **Stop and predict.** The network sees an E. Will its answer be undecided, one half
# > for A and one half for B?
#
# <details><summary>Answer</summary>
#
# No. 96% of the unfamiliar letters get more than 95% for one of the two letters, as
# many as of the letters that it was trained on. A softmax has to choose among the known
# classes. And a Bayesian network is unsure only where its *weights* are unsure: an E
# consists of strokes that the network has learned. Noise does not, and there the
# samples disagree.
#
# </details>

# %% slideshow={"slide_type": "slide"}
noise = np.random.default_rng(10).uniform(size=stream[0].x_test.shape)
shown = {
    "A or B": stream[0].x_test, "E or F": stream[2].x_test,
    "noise": noise.astype(np.float32),
}  # fmt: skip
uncertain = {name: learner.predict_with_uncertainty(x, 0) for name, x in shown.items()}
print("shown     entropy   mutual information   more than 95% for one class")
for name, result_on in uncertain.items():
    entropy, information = result_on.entropy, result_on.mutual_information
    sure = np.mean(result_on.probabilities.max(axis=1) > 0.95)
    print(f"{name:8s} {entropy.mean():8.3f} {information.mean():20.4f} {sure:28.0%}")
known = uncertain["A or B"]
wrong = known.probabilities.argmax(axis=1) != stream[0].y_test
print(f"entropy on A or B: where it is right {known.entropy[~wrong].mean():.3f}, ")
print(f"  where it is wrong ({wrong.sum()} images) {known.entropy[wrong].mean():.3f}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Cumulative distributions of entropy and of mutual information for three kinds of images: those of A or B and of E or F coincide, noise lies far to the right."}}
figure, panels = plt.subplots(
    1, 2, figsize=(8.4, 3.4), layout="constrained", sharey=True
)
for name, result_on in uncertain.items():
    measures = result_on.entropy, result_on.mutual_information
    for axes, values in zip(panels, measures, strict=True):
        share = np.linspace(0, 1, len(values))
        axes.plot(np.sort(np.maximum(values, 1e-6)), share, label=name)
panels[0].set(
    xscale="log", xlabel=r"entropy $H[\bar p]$ (nats)", title="Total uncertainty"
)
panels[0].set_ylabel("share of images below")
panels[1].set(xscale="log", xlabel="mutual information (nats)", title="Epistemic part")
panels[0].legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Coresets
#
# VCL, and NPBCL as well (Sec. 4.3), can keep a few examples of each task. They are
# taken *out* of its training data. Before a prediction, a copy of the posterior is
# trained on them with the mask fixed. This refreshes the memory of an old task. For the
# following comparisons the images are reduced to $7 \times 7$ pixels.


# %%
def shrink(x):
    return x.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)


letters = SplitStream(registry.load("glyphs"), ((0, 1), (4, 5), (6, 7)))
tasks = [
    replace(
        task,
        x_train=shrink(task.x_train),
        x_test=shrink(task.x_test),
        image_shape=(7, 7),
    )
    for task in limited(letters, 300, 200)
]
SMALL = {
    "hidden": (30,), "samples": 2, "prediction_samples": 30, "epochs": 30,
    "finetune_epochs": 5, "batch": 100, "alpha": 10.0, "start_sigma": 0.05,
    "start_spread": 0.1,
}  # fmt: skip


def learn(**changed):
    """Learn all tasks.

    Return the learner, its final accuracies, and (units, alpha) after each task.
    """
    learner = ibpcl.learner("npbcl", backend="numpy", **{**SMALL, **changed})
    course = []
    for task in tasks:
        learner.learn(task, progress=False)
        course.append((learner.hidden[0], float(learner.alpha[0])))
    accuracies = [
        np.mean(learner.predict(task.x_test, t).argmax(axis=1) == task.y_test)
        for t, task in enumerate(tasks)
    ]
    return learner, np.array(accuracies), course


kept = {}
for name in ("none", "random", "k_center"):
    coreset_learner, kept[name], _ = learn(coreset=name, coreset_size=40)
    state = coreset_learner.state().items()
    stored = sum(v.nbytes for k, v in state if k.startswith(("memory.x", "memory.y")))
    print(
        f"coreset {name:9s} accuracies {kept[name]}, mean {kept[name].mean():.1%}, "
        f"{stored / 1000:.0f} kB kept"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# Here coresets change almost nothing, because hardly anything was forgotten: Eq. 11 and
# the masks protect the old tasks. (`random` draws the examples, `k_center` chooses
# examples that are far from each other.) For a method that forgets more, such as VCL,
# coresets matter (see exercise 2).
#
# ## A network that grows
#
# How many units does a layer need? With `expand` it begins small and keeps some
# trailing units empty. Whenever there are fewer, it adds new ones (Sec. 4.6). A new
# unit starts at the prior.

# %% slideshow={"slide_type": "slide"}
growth = {"expand": True, "empty_units": 4, "expand_every": 20}
_, grown_accuracies, course = learn(hidden=(8,), alpha=3.0, **growth)
_, cramped_accuracies, _ = learn(hidden=(8,), alpha=3.0)
print("units after each task:", [units for units, _ in course], end=" ")
print("accuracies", grown_accuracies)
print("without growth        :", [8, 8, 8], "accuracies", cramped_accuracies)

# %% [markdown] slideshow={"slide_type": "slide"}
# The network grew with every task, because each task uses some new units. It stopped
# when enough were empty. The small network has to learn three tasks with eight units,
# and one of the tasks suffers.
#
# ## A learned alpha
#
# $\alpha$ determines how many weights the prior expects. There are three rules. It may
# stay `fixed`. It may follow the largest $a_k$ (`max`, the paper's rule, under which it
# can only rise). Or it may be `learned`, with a Gamma prior whose mean is $\alpha$ and
# a Weibull posterior, whose KL divergence has a closed form. Here is the learned
# $\alpha$ from three starting points:

# %% slideshow={"slide_type": "slide"}
alphas, means = {}, {}
for rule, start in (
    ("max", 10.0),
    ("learned", 2.0),
    ("learned", 10.0),
    ("learned", 60.0),
):
    alpha_learner, accuracies, course = learn(alpha=start, alpha_rule=rule)
    alphas[rule, start] = [start, *(alpha for _, alpha in course)]
    means[rule, start] = accuracies.mean()
    used = np.mean([alpha_learner.masks(t)[0].mean() for t in range(3)])
    course = " -> ".join(f"{alpha:.1f}" for alpha in alphas[rule, start])
    print(f"{rule:8s} alpha {course}")
    print(f"         {used:.0%} of the weights in use, ", end="")
    print(f"mean accuracy {accuracies.mean():.1%}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Alpha after each task. The rule max rises with every task from 10; learned from 2, 10 and 60 it jumps once and stays, and the three do not meet."}}
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
colors = {2.0: "C0", 10.0: "C1", 60.0: "C2"}
for (rule, start), values in alphas.items():
    line = "o-" if rule == "learned" else "s:"
    axes.plot(
        range(4), values, line, color=colors[start], label=f"{rule}, from {start:g}"
    )
axes.set(yscale="log", xlabel="tasks learned", ylabel=r"$\alpha$")
axes.set_title(r"$\alpha$ after each task")
axes.set_xticks(range(4))
axes.legend(ncols=2)
plt.show()

# %% [markdown]
# Under the rule `max`, $\alpha$ rises with every task and never falls. The learned
# $\alpha$ jumps once and then stays, but its final value depends on its prior: thirty
# units contain little information about $\alpha$. The accuracies hardly depend on any
# of this. $\alpha$ mainly changes the number of weights in use.

# %%
temporary.cleanup()

# %% [markdown]
# ## Exercises
#
# Solutions are in `solutions/10_reading_a_run.py`; `ibpcl check` checks their
# gradients.
#
# 1. **Entropy.** Derive the gradient of the entropy of a softmax at its logits, write
#    the pair and check it. Where is it zero? *Hint:*
#    $\frac{\partial H}{\partial f_c} = -p_c (\log p_c + H)$.
# 2. **Coresets for VCL.** Train `vcl` with one head on the three small tasks, with a
#    coreset of $40$ examples per task and without. Which accuracies does the coreset
#    improve? *Hint:* `ibpcl.learner("vcl", ...)`.
# 3. **How much is shared?** Compute from the masks alone: which share of a task's
#    weights was used by an earlier task? Compare it with
#    `sharing_with_earlier` in `result.json`. *Hint:* `learner.masks(t)[0]`.
# 4. **A threshold for unfamiliar images.** Which threshold on the mutual information
#    accepts 19 of 20 images of A and B, and how many of the noise images does it
#    accept? *Hint:* `np.quantile`.
