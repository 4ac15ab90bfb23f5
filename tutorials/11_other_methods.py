# %% [markdown]
# # 11. Six other methods, each by its one equation
#
# NPBCL is one answer to forgetting. Six others are in this package, and a comparison is
# only as good as one's understanding of what is compared. Each of them gets one
# equation here, and one experiment that shows what the equation does: EWC, SI and VCL
# *hold* weights that matter; HAT *reserves* units; DEN and RCL *add* units.
#
# **Prerequisites:** tutorials 1 and 9. **Time:** about 60 minutes.
#
# **You will be able to**
#
# - write down what EWC, SI, VCL, HAT, DEN and RCL each add to plain training;
# - predict what each does at the ends of its main setting, and check it;
# - say which of them cannot forget by construction, and what they pay for it;
# - compare methods by accuracy, forgetting and memory.
#
# Names: $\theta$ are the shared weights, $\theta_{t}$ where task $t$ left them, $L_t$
# the mean negative log likelihood of task $t$. Details, and where this package departs
# from the papers, are in `docs/baselines.md`.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import ibpcl
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import SplitStream
from ibpcl.evaluation.metrics import average_accuracy, backward_transfer
from ibpcl.methods import si


def shrunk(x):
    """Average blocks of 4 x 4 pixels: 49 inputs instead of 784."""
    return x.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)


tasks = [
    replace(
        task,
        x_train=shrunk(task.x_train),
        x_test=shrunk(task.x_test),
        image_shape=(7, 7),
    )
    for task in limited(
        SplitStream(ibpcl.datasets.load("glyphs"), ((0, 1), (4, 5), (6, 7))), 400, 200
    )
]
T = len(tasks)
COMMON = {
    "backend": "numpy",
    "hidden": (30,),
    "batch": 100,
    "epochs": 60,
    "rate": 0.005,
}


def learned(method, **settings):
    """Learn all tasks; return the learner, the accuracy matrix, and its predictions of A/B after each task."""
    learner, R, of_first = (
        ibpcl.learner(method, **{**COMMON, **settings}),
        np.full((T, T), np.nan),
        [],
    )
    for i, task in enumerate(tasks):
        learner.learn(task, progress=False)
        predictions = [
            learner.predict(seen.x_test, j) for j, seen in enumerate(tasks[: i + 1])
        ]
        R[i, : i + 1] = [
            np.mean(p.argmax(axis=1) == seen.y_test)
            for p, seen in zip(predictions, tasks, strict=False)
        ]
        of_first.append(predictions[0])
    return learner, R, of_first


# %% [markdown]
# ## EWC: a spring for each weight
#
# Elastic weight consolidation (Kirkpatrick et al., 2017) remembers each task by a
# parabola around its solution:
#
# $$ L_t(\theta) + \frac\lambda2 \sum_{s < t} \sum_i F^s_i\, (\theta_i - \theta_{s,i})^2, \qquad
#    F^s_i = \frac{1}{N_s} \sum_n \mathbb E_{y \sim p(\cdot \mid x_n)}
#    \Bigl[\Bigl(\frac{\partial \log p(y \mid x_n)}{\partial\theta_i}\Bigr)^2\Bigr]. $$
#
# > **Stop and predict.** What is EWC at $\lambda = 0$? What does the third task's
# > accuracy tend to as $\lambda$ grows, with one head for all tasks?
#
# <details><summary>Answer</summary>
#
# At $\lambda = 0$ it is naive training, to the last bit. For a large $\lambda$ nothing
# that A/B cares about may move: A/B is kept, and the third task gets what a coin gets.
#
# </details>

# %%
naive, R_naive, _ = learned("naive", single_head=True)
springs = {}
for weight in (0.0, 30.0, 300.0, 10_000.0, 1_000_000.0):
    learner, R, _ = learned("ewc", single_head=True, weight=weight)
    springs[weight] = R[-1]
    same = (
        " (naive training, bit for bit)"
        if (learner.knowledge.shared == naive.knowledge.shared).all()
        else ""
    )
    print(f"lambda {weight:9g}: final accuracies {R[-1].round(3)}{same}")

# %% [markdown]
# In between it is a compromise that no $\lambda$ makes well here: tutorial 1 shows why
# (the parabola is flat where the loss is steep). With a head for each task, at the end
# of this tutorial, the same springs do well.
#
# ## SI: what helped while it was learned
#
# Synaptic intelligence (Zenke, Poole and Ganguli, 2017) does not look at the solution
# but at the *way*. Along the path of training each weight adds up its part in the fall
# of the loss,
#
# $$ \omega_i = -\sum_{\text{steps}} \frac{\partial L}{\partial\theta_i}\, \Delta\theta_i, \qquad
#    \Omega_i \leftarrow \Omega_i + \frac{\max(0, \omega_i)}{(\theta_{t,i} - \theta_{t-1,i})^2 + \xi}, $$
#
# and $c \sum_i \Omega_i (\theta_i - \theta_{t-1,i})^2$ is the next task's penalty. Why
# is $\omega_i$ a fair share? Because the shares add up: by the chain rule $\sum_i
# \omega_i$ is, step by step, the fall of the loss. For steps that are not infinitely
# small there is an error; a small rate makes it small:


# %%
class Noted(si.PathIntegral):  # the same, and every one that is made is noted
    def __init__(self, places):
        super().__init__(places)
        paths.append(self)


paths, sums, si.PathIntegral = [], {}, Noted
for rate in (0.05, 0.01, 0.002):
    learner = ibpcl.learner(
        "si",
        **{**COMMON, "single_head": True, "batch": 400, "epochs": 300, "rate": rate},
    )
    start = ibpcl.learner(
        "si", **{**COMMON, "single_head": True, "batch": 400, "epochs": 0}
    )
    falls = []
    for one in (start, learner):
        one.learn(tasks[0], progress=False)
        p = one.predict(tasks[0].x_train, 0)
        falls.append(-np.log(p[np.arange(len(p)), tasks[0].y_train]).mean())
    sums[rate] = paths[-1].total.sum(), falls[0] - falls[1]
    print(
        f"rate {rate:5g}: sum of omega {sums[rate][0]:.4f}, fall of the loss {sums[rate][1]:.4f} nats"
    )

# %% [markdown]
# ## VCL: yesterday's posterior
#
# Variational continual learning (Nguyen et al., 2018) maximizes
#
# $$ \sum_n \mathbb E_{q_t}\bigl[\log p(y_n \mid x_n, V)\bigr] - KL\bigl[q_t(V) \,\|\, q_{t-1}(V)\bigr], $$
#
# which is NPBCL with every mask on. What a task is sure of becomes *narrow*, and a
# narrow prior is a stiff spring: $\frac{(\mu - \mu_{t-1})^2}{2 \sigma_{t-1}^2}$. So the
# widths are VCL's memory. Do they shrink where it matters?

# %%
vcl = ibpcl.learner("vcl", **{**COMMON, "rate": 0.02, "prediction_samples": 20})
ink = tasks[0].x_train.std(axis=0)
faint, strong = ink <= np.quantile(ink, 0.25), ink >= np.quantile(ink, 0.75)
widths = []
for task in tasks:
    vcl.learn(task, progress=False)
    _, log_sigma = np.split(vcl.state()["shared"], 2)  # means first, then log-widths
    sigma = np.exp(log_sigma[: 49 * 30].reshape(49, 30))
    widths.append([sigma[pixels].mean() for pixels in (faint, strong)])
    print(
        f"after {task.name}: mean width of weights from pixels that vary least {widths[-1][0]:.3f}, "
        f"most {widths[-1][1]:.3f}"
    )

# %% [markdown]
# ## HAT: units behind gates
#
# Hard attention to the task (Serra et al., 2018) learns a gate for each unit and task,
# $a = \sigma(s\, e)$, and makes it hard by raising $s$ in every epoch. Using units that
# earlier tasks did not use costs, and what earlier tasks use is locked:
#
# $$ L_t + c\, \frac{\sum_k a_k (1 - a_k^{<t})}{\sum_k (1 - a_k^{<t})}, \qquad
#    \text{rate of } \theta_{ij} \text{ times } 1 - \min\bigl(a^{<t}_i, a^{<t}_j\bigr). $$

# %%
hat, R_hat, of_first = learned("hat")
gates = np.array([hat.gates_of(t) for t in range(T)])
print(
    "units with an open gate:",
    (gates > 0.5).sum(axis=1),
    "by any task:",
    int((gates > 0.5).any(axis=0).sum()),
)
hat_change = np.abs(of_first[-1] - of_first[0]).max()
print(
    f"largest change of a predicted probability on A/B since it was learned: {hat_change:.1e}"
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Gates of three tasks for thirty units: each task opens a few; some are open for more than one task, most for none."}}
figure, axes = plt.subplots(figsize=(8, 1.9), layout="constrained")
axes.imshow(
    gates, cmap="Greys", vmin=0, vmax=1, aspect="auto", extent=(0.5, 30.5, T + 0.5, 0.5)
)
axes.set(xlabel="unit $k$", title="HAT: which units each task uses")
axes.set_yticks(range(1, T + 1), [task.name for task in tasks])
plt.show()

# %% [markdown]
# Few units are enough, later tasks use units of earlier ones as they are, and A/B's
# predictions have not moved.
#
# ## DEN: retrain, add, copy
#
# The dynamically expandable network (Yoon et al., 2018) first tries to do with what
# there is. The selected weights learn under
#
# $$ L_t + \frac\kappa2 \|W\|^2 + \frac\lambda2 \|W - W^{t-1}\|^2. $$
#
# If the loss stays above a threshold, $k$ units are added to each layer; and a unit
# whose weights moved further than $\sigma$ is put back, with a *copy* of what it had
# become beside it. A task is predicted with the units that were there when it had been
# learned.
#
# > **Stop and predict.** What happens at $\sigma = \infty$, and what at $\sigma = 0$:
# > to the number of units, and to the predictions of A/B?
#
# <details><summary>Answer</summary>
#
# At infinity nothing is copied: few units, and A/B's predictions drift. At zero every
# unit that moves at all is copied: the network grows fastest, and what A/B predicts
# stays what it is, bit for bit.
#
# </details>

# %%
den = {}
for threshold in (np.inf, 0.05, 0.0):
    learner, R, of_first = learned(
        "den", hidden=(10,), head_epochs=20, split_threshold=threshold
    )
    den[threshold] = (
        [learner.context.hidden(t)[0] for t in range(T)],
        R,
        np.abs(of_first[-1] - of_first[0]).max(),
    )
    print(
        f"sigma {threshold:4g}: units {den[threshold][0]}, final accuracies {R[-1].round(3)}, "
        f"largest change of A/B's predictions {den[threshold][2]:.1e}"
    )

# %% [markdown]
# ## RCL: a controller that tries
#
# Reinforced continual learning (Xu and Zhu, 2018) freezes everything old and lets a
# controller choose how many units to add. Each choice $a$ is trained, and rewarded with
#
# $$ R(a) = \text{accuracy on held-out examples} - \gamma \sum_l a_l, $$
#
# from which the controller learns by REINFORCE; the best network of all trials is kept.

# %%
rcl, R_rcl, of_first = learned("rcl", hidden=(10,), trials=6, most_units=9, epochs=40)
trials = {t: rcl.knowledge.memory[f"trials{t}"] for t in range(1, T)}
for t, rows in trials.items():
    print(
        f"{tasks[t].name}: "
        + ", ".join(f"{added:.0f} units {reward:.4f}" for added, reward in rows)
        + f"; kept {rcl.context.hidden(t)[0] - rcl.context.hidden(t - 1)[0]}"
    )
rcl_change = np.abs(of_first[-1] - of_first[0]).max()
print(
    f"largest change of a predicted probability on A/B since it was learned: {rcl_change:.1e}"
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Reward against units added, for the second and third task; a circle marks the choice that was kept, a small number of units with the largest reward."}}
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for t, rows in trials.items():
    axes.plot(
        rows[:, 0], rows[:, 1], "o", alpha=0.7, label=f"trials for {tasks[t].name}"
    )
    best = rows[rows[:, 1].argmax()]
    axes.plot(*best, "o", markersize=14, fillstyle="none", color="black")
axes.set(
    xlabel="units added",
    ylabel="reward",
    title="RCL: six trials for each task, the best one is kept",
)
axes.legend()
plt.show()

# %% [markdown]
# With so few trials the controller hardly learns; it is a search, and it pays for one
# whole training per trial.
#
# ## Side by side
#
# All with a head for each task, and beside them naive training and NPBCL. Memory is
# what `state()` holds, in kB.

# %%
SIDE = {
    "naive": {},
    "ewc": {"weight": 300.0},
    "si": {"weight": 1.0},
    "vcl": {"rate": 0.02, "prediction_samples": 20},
    "hat": {},
    "den": {"hidden": (10,), "head_epochs": 20},
    "rcl": {"hidden": (10,), "trials": 6, "most_units": 9},
}
table = {}
for name, settings in SIDE.items():
    learner, R, _ = learned(name, **settings)
    table[name] = (
        average_accuracy(R),
        backward_transfer(R),
        sum(a.nbytes for a in learner.state().values()) / 1000,
    )
learner, R = (
    ibpcl.learner(
        "npbcl",
        backend="numpy",
        hidden=(30,),
        samples=2,
        prediction_samples=20,
        epochs=30,
        finetune_epochs=10,
        batch=100,
        alpha=10.0,
    ),
    np.full((T, T), np.nan),
)
for i, task in enumerate(tasks):
    learner.learn(task, progress=False)
    R[i, : i + 1] = [
        np.mean(learner.predict(seen.x_test, j).argmax(axis=1) == seen.y_test)
        for j, seen in enumerate(tasks[: i + 1])
    ]
table["npbcl"] = (
    average_accuracy(R),
    backward_transfer(R),
    sum(a.nbytes for a in learner.state().values()) / 1000,
)
print("method    mean %   transfer, points   memory kB")
for name, (mean, transfer, memory) in table.items():
    print(f"{name:8s} {100 * mean:7.1f} {100 * transfer:18.1f} {memory:11.1f}")

# %% [markdown]
# > **Stop and predict.** Three of the eight rows must have a transfer of zero or all
# > but zero, whatever the tasks are. Which ones, and why?
#
# <details><summary>Answer</summary>
#
# RCL, because nothing old ever moves and each task has its own network in the corner of
# the large one; HAT, because what earlier tasks use is locked once the gates are hard;
# and DEN, because it copies what moved too far, up to its threshold $\sigma$. They pay
# by growing or by running out of units. EWC, SI, VCL and NPBCL can forget, and do so or
# not as the tasks demand.
#
# </details>
#
# Three small tasks do not rank methods. `ibpcl compare` does it with several seeds, and
# `docs/reproduction.md` has the paper's streams with the same search for every method.
#
# ## Exercises
#
# Solutions are in `solutions/11_other_methods.py`; `ibpcl check` proves their
# gradients.
#
# 1. **The Fisher information of a softmax regression.** Show that $F = x^2\, p (1 - p)$
#    for two classes and one weight, as the curvature of the loss. Write the loss as a
#    pair and compare. *Hint:* the derivative of the gradient, by the complex step.
# 2. **SI without a way.** What is $\omega_i$ of a weight that oscillates and ends where
#    it began? What is $\Omega_i$ then? *Hint:* take $L = \frac12 \theta^2$ and steps of
#    your own.
# 3. **HAT's price.** Write the share $\sum_k a_k (1 - u_k) / \sum_k (1 - u_k)$ as a
#    pair. What does a unit cost that an earlier task uses? *Hint:* $u_k = a_k^{<t}$.
# 4. **One equation more.** Write rehearsal's objective for task $t$ with ten kept
#    examples of each earlier task. Which of the six is closest to it?
