# %% [markdown]
# # 10. Reading a run
#
# A run of `ibpcl` leaves a folder. This tutorial makes one, opens every file of it, and
# recomputes what the tables say; then it uses what was learned: how sure the network
# is, what coresets are for, how a network grows, and what becomes of $\alpha$ if it is
# learned.
#
# **Prerequisites:** tutorial 9. **Time:** about 60 minutes.
#
# **You will be able to**
#
# - say what is in each file of a run's folder, and recompute accuracy, transfer and the
#   share of the network used;
# - read a history, and tell the ELBO from the objective that was maximized;
# - load a learner again, and split its uncertainty into what more data would remove and
#   what they would not;
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

# %% [markdown]
# ## A run
#
# In a shell this is `ibpcl run split-glyphs --out run --set tasks=3 ...`. Everything is
# small here, to take seconds: three tasks, $500$ examples of each, $40$ units.

# %%
temporary = tempfile.TemporaryDirectory()
keys = {
    "tasks": 3,
    "train_limit": 500,
    "test_limit": 200,
    "hidden": 40,
    "epochs": 15,
    "finetune_epochs": 15,
    "batch": 100,
    "samples": 1,
    "prediction_samples": 20,
    "backend": "numpy",
}
with contextlib.chdir(temporary.name):
    main(
        [
            "run",
            "split-glyphs",
            "--out",
            "run",
            *(
                word
                for name, value in keys.items()
                for word in ("--set", f"{name}={value}")
            ),
        ]
    )
folder = Path(temporary.name, "run")
print(
    *sorted(file.name for file in folder.iterdir() if not file.name.startswith(".")),
    sep="\n",
)

# %% [markdown]
# * `config.toml`: the whole configuration, every setting, so that the run can be made
#   again (`ibpcl run config.toml`).
# * `result.json`: what came out, for programs; with versions, seconds and memory.
# * `history.csv`: one row per epoch of each phase, the parts of the ELBO in nats for
#   the whole task.
# * `learner.npz`: everything that was learned; no pickle, so opening it runs no code.
# * `report.html`: all of it as one page to read or to send; `ibpcl report run` writes
#   it again.
# * the figures; and while a run is going on, a checkpoint from which
#   `ibpcl run --resume` continues, bit for bit.
#
# ## `result.json`
#
# The table on the screen is in it, and more. The matrix has `null` where nothing was
# measured: a task that has not been learned yet.

# %%
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

# %% [markdown]
# > **Stop and predict.** Add up the shares of the three tasks. Why is the last number
# > of the second line smaller? And what would it be if each task had picked its weights
# > at random?
#
# <details><summary>Answer</summary>
#
# Because tasks share weights. At random, a weight is left out by all tasks with
# probability $\prod_t (1 - d_t)$, so the union would be $1 - \prod_t (1 - d_t)$. The
# next cell computes it: it is nearly what the run found. These masks share little more
# than chance; single weights are chosen, not units.
#
# </details>

# %%
densities = np.array([task[0] for task in result["mask_density"]])
at_random = 1 - np.prod(1 - densities)
print(
    f"sum of the shares {densities.sum():.1%}, union {result['share_used'][-1]:.1%}"
    f", union at random {at_random:.1%}"
)

# %% [markdown]
# ## `history.csv`
#
# Each row has the phase, the temperature and the parts of the ELBO. Draw them for the
# first task:

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

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: parts of the ELBO of the first task by epoch; the masks' divergence rises to thousands of nats while the temperature falls, and is gone with fine-tuning. Right: the objective rises, the ELBO at weight one falls and jumps up."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
labels = {
    "log_likelihood": r"$\log p$",
    "kl_weights": "KL of weights",
    "kl_masks": "KL of masks",
    "kl_sticks": "KL of sticks",
}
for name, label in labels.items():
    left.plot(
        np.abs(parts[name]), label=label if name != "log_likelihood" else r"$-\log p$"
    )
right.plot(parts["elbo"], color="C7", label=r"ELBO, all weights one")
right.plot(objective, color="C3", label=rf"objective, masks' KL times {weight:g}")
for axes in (left, right):
    axes.axvline(masked - 0.5, color="0.7", linestyle=":")
    axes.set(xlabel="epoch: masked training, then fine-tuning", ylabel="nats")
    axes.legend(fontsize=8)
left.set(title="The parts", yscale="symlog")
right.set_title("The ELBO, and what was maximized")
plt.show()

# %% [markdown]
# > **Stop and predict.** During masked training the column `elbo` *falls*, by more than
# > a thousand nats. Is the training broken?
#
# <details><summary>Answer</summary>
#
# No. The column has every divergence at weight one. The default settings count the
# masks' divergence 0.0021, and *that* objective rises (red). As the data choose single
# weights, masks move away from their prior, which costs thousands of nats at full
# weight and a few at this one. `elbo_weights` in `result.json` says what was maximized;
# read it before you compare ELBOs of two runs.
#
# </details>
#
# In fine-tuning the masks are fixed, their divergence is a constant, and it is left
# out: the curve jumps.
#
# ## The figures

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two figures of the run. Masks of the three tasks as images of pixels. Shares of the network used by each task, split into new and shared weights, and the matrix of sharing."}}
figure, panels = plt.subplots(2, 1, figsize=(9, 7), layout="constrained")
for axes, name in zip(panels, ("masks", "sharing"), strict=True):
    axes.imshow(plt.imread(folder / f"{name}.png"))
    axes.set_axis_off()
    axes.set_title(f"{name}.png", fontsize=9)
plt.show()

# %% [markdown]
# `masks.png` shows each mask of the first layer as an image: a pixel's colour is the
# share of the units in use to which its weight is on. With the default link a weight is
# on only if the data ask for it (tutorial 7): pixels that are inked in few letters have
# few weights. The next cell counts.
#
# ## The learner comes back

# %%
stream = limited(
    SplitStream(registry.load("glyphs"), ((0, 1), (2, 3), (4, 5))), 500, 200
)
learner = ibpcl.load_run(folder).learner
again = [
    np.mean(learner.predict(task.x_test, t).argmax(axis=1) == task.y_test)
    for t, task in enumerate(stream)
]
print("accuracies of the loaded learner:", np.round(again, 3).tolist())
print("equal to the file's:", np.allclose(again, R[-1]))
ink = stream[0].x_train.std(axis=0)
faint, strong = ink <= np.quantile(ink, 0.25), ink >= np.quantile(ink, 0.75)
in_use = [float(learner.masks(0)[0][pixels].mean()) for pixels in (faint, strong)]
print(
    "weights in use from the quarter of the pixels that varies least "
    f"{in_use[0]:.1%}, most {in_use[1]:.1%}"
)

# %% [markdown]
# ## How sure is it?
#
# A prediction averages over $S$ samples of the weights, $\bar p = \frac1S \sum_s
# p^s$.  Its entropy $H[\bar p]$ says how sure the network is. It has two sources, which
# one can tell apart:
#
# $$ H[\bar p] = \underbrace{\frac1S \sum_s H[p^s]}_{\text{each sample is unsure}}
#    + \underbrace{H[\bar p] - \frac1S \sum_s H[p^s]}_{\text{the samples disagree}}. $$
#
# The second part is the *mutual information* of the prediction and the weights (Houlsby
# et al., 2011): what knowing the weights, by more data, would remove. We ask the first
# task's network, which knows A and B, about three kinds of images: its own test
# letters, letters of another task, and noise.
#
# > **Stop and predict.** It is shown an E. Will it say "I do not know", with one half
# > for A and for B?
#
# <details><summary>Answer</summary>
#
# No. 96 % of the strangers get more than 95 % for one of the two letters, as many as of
# the letters that it knows. A softmax has to choose among the classes that it knows,
# and a Bayesian network is unsure only where its *weights* are: an E has strokes that
# they know. Noise has none, and there the samples disagree.
#
# </details>

# %%
shown = {
    "A or B": stream[0].x_test,
    "E or F": stream[2].x_test,
    "noise": np.random.default_rng(10)
    .uniform(size=stream[0].x_test.shape)
    .astype(np.float32),
}
uncertain = {name: learner.predict_with_uncertainty(x, 0) for name, x in shown.items()}
print("shown     entropy   mutual information   more than 95 % for one class")
for name, found in uncertain.items():
    sure = np.mean(found.probabilities.max(axis=1) > 0.95)
    print(
        f"{name:8s} {found.entropy.mean():8.3f} "
        f"{found.mutual_information.mean():20.4f} {sure:30.0%}"
    )
own = uncertain["A or B"]
wrong = own.probabilities.argmax(axis=1) != stream[0].y_test
print(
    f"entropy where it is right {own.entropy[~wrong].mean():.3f}, where it is "
    f"wrong {own.entropy[wrong].mean():.3f} "
    f"({wrong.sum()} images)"
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Cumulative distributions of entropy and of mutual information for three kinds of images: those of A or B and of E or F coincide, noise lies far to the right in both."}}
figure, panels = plt.subplots(
    1, 2, figsize=(10, 3.6), layout="constrained", sharey=True
)
for name, found in uncertain.items():
    for axes, values in zip(
        panels, (found.entropy, found.mutual_information), strict=True
    ):
        axes.plot(
            np.sort(np.maximum(values, 1e-6)),
            np.linspace(0, 1, len(values)),
            label=name,
        )
panels[0].set(
    xscale="log",
    xlabel=r"entropy $H[\bar p]$ (nats)",
    ylabel="share of images below",
    title="How unsure",
)
panels[1].set(
    xscale="log",
    xlabel="mutual information (nats)",
    title="How far the samples disagree",
)
panels[0].legend()
plt.show()

# %% [markdown]
# ## Coresets
#
# VCL, and NPBCL after it (Sec. 4.3), can keep a few examples of each task, taken *out*
# of its training. Before predictions a copy of the posterior is trained on them, the
# mask fixed. With them the memory of an old task is refreshed. For the comparisons that
# follow the images are shrunk to $7 \times 7$ pixels.


# %%
def shrunk(x):
    return x.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)


tasks = [
    replace(
        task,
        x_train=shrunk(task.x_train),
        x_test=shrunk(task.x_test),
        image_shape=(7, 7),
    )
    for task in limited(
        SplitStream(registry.load("glyphs"), ((0, 1), (4, 5), (6, 7))), 300, 200
    )
]
SMALL = {
    "hidden": (30,),
    "samples": 2,
    "prediction_samples": 30,
    "epochs": 30,
    "finetune_epochs": 5,
    "batch": 100,
    "alpha": 10.0,
    "start_sigma": 0.05,
    "start_spread": 0.1,
}


def learned(**changed):
    """Learn all tasks; return the learner, its final accuracies, and what it was after each task."""
    learner, course = (
        ibpcl.learner("npbcl", backend="numpy", **{**SMALL, **changed}),
        [],
    )
    for task in tasks:
        learner.learn(task, progress=False)
        course.append((learner.hidden[0], float(learner.alpha[0])))
    return (
        learner,
        np.array(
            [
                np.mean(learner.predict(task.x_test, t).argmax(axis=1) == task.y_test)
                for t, task in enumerate(tasks)
            ]
        ),
        course,
    )


kept = {}
for name, settings in (
    ("none", {}),
    ("random", {"coreset": "random", "coreset_size": 40}),
    ("k_center", {"coreset": "k_center", "coreset_size": 40}),
):
    coreset_learner, kept[name], _ = learned(**settings)
    stored = sum(
        value.nbytes
        for entry, value in coreset_learner.state().items()
        if entry.startswith(("memory.x", "memory.y"))
    )
    print(
        f"coreset {name:9s} accuracies {kept[name]}, mean {kept[name].mean():.1%}, "
        f"{stored / 1000:.0f} kB kept"
    )

# %% [markdown]
# Here they change next to nothing, for there is next to nothing to refresh: Eq. 11 and
# the masks hold what was learned. (`random` draws the examples, `k_center` chooses them
# far from each other.) For a method that forgets more, such as VCL, they matter;
# exercise 2.
#
# ## A network that grows
#
# How many units does a layer need? With `expand` it begins small and keeps some
# trailing units empty: whenever fewer are, it adds what is missing (Sec. 4.6). A new
# unit starts as the prior says.

# %%
_, grown_accuracies, course = learned(
    expand=True, hidden=(8,), empty_units=4, expand_every=20, alpha=3.0
)
_, cramped_accuracies, _ = learned(hidden=(8,), alpha=3.0)
print(
    "units after each task:",
    [units for units, _ in course],
    "accuracies",
    grown_accuracies,
)
print("without growth        :", [8, 8, 8], "accuracies", cramped_accuracies)

# %% [markdown]
# It grew with every task, because each task takes some new units, and stopped when
# enough were empty. The small network has to do three tasks with eight units, and one
# of the tasks suffers.
#
# ## A learned alpha
#
# $\alpha$ says how many weights the prior expects. It may stay (`alpha_rule =
# "fixed"`), follow the largest $a_k$ (`max`, the paper's rule, which can only rise), or
# be *learned*: a Gamma prior with mean $\alpha$ and a Weibull posterior, whose
# divergences are closed. The learned one from three starting points:

# %%
alphas = {}
for rule, start in (
    ("max", 10.0),
    ("learned", 2.0),
    ("learned", 10.0),
    ("learned", 60.0),
):
    alpha_learner, accuracies, course = learned(alpha=start, alpha_rule=rule)
    alphas[rule, start] = [start, *(alpha for _, alpha in course)]
    used = np.mean([alpha_learner.masks(t)[0].mean() for t in range(3)])
    print(
        f"{rule:8s} alpha "
        f"{' -> '.join(f'{alpha:.1f}' for alpha in alphas[rule, start])}; "
        f"{used:.0%} of the weights in use, mean accuracy {accuracies.mean():.1%}"
    )

# %% tags=["hide-input"] mystnb={"image": {"alt": "Alpha after each task. The rule max rises with every task from 10; learned from 2, 10 and 60 it jumps once and stays, and the three do not meet."}}
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for (rule, start), values in alphas.items():
    axes.plot(
        range(4),
        values,
        "o-" if rule == "learned" else "s:",
        color={2.0: "C0", 10.0: "C1", 60.0: "C2"}[start],
        label=f"{rule}, from {start:g}",
    )
axes.set(
    yscale="log",
    xlabel="tasks learned",
    ylabel=r"$\alpha$",
    title=r"What becomes of $\alpha$",
)
axes.set_xticks(range(4))
axes.legend(fontsize=8, ncols=2)
plt.show()

# %% [markdown]
# The rule `max` is a ratchet: $\alpha$ rises with every task. The learned one jumps
# once and stays, but where it ends depends on where its prior stands: thirty units say
# little about $\alpha$ against a prior. The accuracies hardly depend on any of this;
# what $\alpha$ changes is how many weights are in use.

# %%
temporary.cleanup()

# %% [markdown]
# ## Exercises
#
# Solutions are in `solutions/10_reading_a_run.py`; `ibpcl check` proves their
# gradients.
#
# 1. **Entropy.** Derive the gradient of the entropy of a softmax at its logits, write
#    the pair and check it. Where is it zero? *Hint:*
#    $\frac{\partial H}{\partial f_c} = -p_c (\log p_c + H)$.
# 2. **Coresets for VCL.** Train `vcl` with one head on the three small tasks, with a
#    coreset of $40$ examples per task and without. Is there something to refresh?
#    *Hint:* `ibpcl.learner("vcl", ...)`.
# 3. **How much of it is shared?** From masks alone: which share of a task's weights was
#    used by an earlier task? Compare it with `sharing_with_earlier` in `result.json`.
#    *Hint:* `learner.masks(t)[0]`.
# 4. **An honest stranger.** Which threshold on the mutual information accepts all but
#    one in twenty of A and B, and how many of the noise images does it accept? *Hint:*
#    `np.quantile`.
