# %% [markdown] slideshow={"slide_type": "slide"}
# # 11. Six other methods, each by its one equation
#
# NPBCL is one answer to forgetting. This package contains others, and a comparison is
# only as good as one's understanding of the methods that are compared. Six of them get
# one equation here, and one experiment that shows the effect of the equation. EWC, SI
# and VCL *hold* the weights that matter, HAT *reserves* units, and DEN and RCL *add*
# units. Five more follow in brief at the end.
#
# **Prerequisites:** tutorials 1 and 9. **Time:** about 75 minutes.
#
# **You will be able to**
#
# - write down what EWC, SI, VCL, HAT, DEN and RCL each add to plain training;
# - predict the behaviour of each method at the extremes of its main setting, and check
#   it;
# - name the methods that cannot forget by construction, and their costs;
# - compare methods by accuracy, forgetting and memory, on tasks that do and do not
#   conflict;
# - explain in one sentence what GEM, A-GEM, BGD, generative replay and pruning do.
#
# Names: $\theta$ are the shared weights, $\theta_{t}$ their values after task
# $t$, $L_t$ the mean negative log likelihood of task $t$. The details, and the
# differences between this package and the papers, are in `docs/baselines.md`.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import ibpcl
from ibpcl.continual import detection
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import SplitStream
from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.evaluation.latent import prior_samples
from ibpcl.evaluation.metrics import average_accuracy, backward_transfer
from ibpcl.methods import agem, bgd, gem, si

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
PAIRS = ((0, 1), (4, 5), (6, 7))  # A or B, E or F, G or H


def shrink(x):
    """Average blocks of 4 x 4 pixels: 49 inputs instead of 784."""
    return x.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)


stream = limited(SplitStream(ibpcl.datasets.load("glyphs"), PAIRS), 400, 200)
tasks = [
    replace(
        task,
        x_train=shrink(task.x_train),
        x_test=shrink(task.x_test),
        image_shape=(7, 7),
    )
    for task in stream
]
T = len(tasks)
COMMON = {
    "backend": "numpy",
    "hidden": (30,),
    "batch": 100,
    "epochs": 60,
    "rate": 0.005,
}


def learn(method, tasks=tasks, **settings):
    """Learn all tasks.

    Return the learner, the accuracy matrix, and the predictions on the first task.
    """
    learner = ibpcl.learner(method, **{**COMMON, **settings})
    R, first_predictions = np.full((len(tasks), len(tasks)), np.nan), []
    for i, task in enumerate(tasks):
        learner.learn(task, progress=False)
        for j, seen in enumerate(tasks[: i + 1]):
            p = learner.predict(seen.x_test, j)
            R[i, j] = np.mean(p.argmax(axis=1) == seen.y_test)
            if j == 0:
                first_predictions.append(p)
    return learner, R, first_predictions


# %% [markdown] slideshow={"slide_type": "slide"}
# ## EWC: a spring for each weight
#
# Elastic weight consolidation (Kirkpatrick et al., 2017) remembers each task by a
# parabola around its solution:
#
# $$ L_t(\theta) + \frac\lambda2 \sum_{s < t} \sum_i F^s_i\, (\theta_i - \theta_{s,i})^2, \qquad
#    F^s_i = \frac{1}{N_s} \sum_n \mathbb E_{y \sim p(\cdot \mid x_n)}
#    \Bigl[\Bigl(\frac{\partial \log p(y \mid x_n)}{\partial\theta_i}\Bigr)^2\Bigr]. $$
#
# > **Stop and predict.** What is EWC at $\lambda = 0$? With one head for all tasks,
# > what does the third task's accuracy tend to as $\lambda$ grows?
#
# <details><summary>Answer</summary>
#
# At $\lambda = 0$ it is naive training, bit for bit. For a large $\lambda$ no weight
# that matters to A/B may move. Then A/B is kept, and the third task stays at chance
# level.
#
# </details>

# %% slideshow={"slide_type": "slide"}
naive, R_naive, _ = learn("naive", single_head=True)
springs = {}
for strength in (0.0, 30.0, 300.0, 10_000.0, 1_000_000.0):
    learner, R, _ = learn("ewc", single_head=True, weight=strength)
    springs[strength] = R[-1]
    equal = (learner.knowledge.shared == naive.knowledge.shared).all()
    note = " (naive training, bit for bit)" if equal else ""
    print(f"lambda {strength:9g}: final accuracies {R[-1].round(3)}{note}")

# %% [markdown] slideshow={"slide_type": "slide"}
# In between, no $\lambda$ gives a good compromise here. Tutorial 1 shows the reason:
# the parabola is flat where the loss is steep. With one head per task, at the end of
# this tutorial, the same springs do well.
#
# ## SI: credit for the decrease of the loss
#
# Synaptic intelligence (Zenke, Poole and Ganguli, 2017) does not look at the solution
# but at the *training path*. Along the path each weight adds up its contribution to the
# decrease of the loss,
#
# $$ \omega_i = -\sum_{\text{steps}} \frac{\partial L}{\partial\theta_i}\, \Delta\theta_i, \qquad
#    \Omega_i \leftarrow \Omega_i + \frac{\max(0, \omega_i)}{(\theta_{t,i} - \theta_{t-1,i})^2 + \xi}, $$
#
# and $c \sum_i \Omega_i (\theta_i - \theta_{t-1,i})^2$ is the penalty for the next
# task. Why is $\omega_i$ a fair measure? Because the contributions add up: by the chain
# rule $\sum_i \omega_i$ is the decrease of the loss, up to an error that comes from
# steps of finite size. The error becomes small with the learning rate. To see $\omega$,
# we replace the class that adds it up by one that also records each instance:


# %% slideshow={"slide_type": "slide"}
class Recorded(si.PathIntegral):
    def __init__(self, places):
        super().__init__(places)
        recorded.append(self)


recorded, sums, si.PathIntegral = [], {}, Recorded
one_task = {**COMMON, "single_head": True, "batch": 400}
x, y = tasks[0].x_train, tasks[0].y_train
for rate in (0.05, 0.01, 0.002):
    losses = []
    for epochs in (0, 300):
        learner = ibpcl.learner("si", **{**one_task, "epochs": epochs, "rate": rate})
        learner.learn(tasks[0], progress=False)
        losses.append(-np.log(learner.predict(x, 0)[np.arange(len(y)), y]).mean())
    sums[rate] = recorded[-1].total.sum(), losses[0] - losses[1]
    print(
        "rate {:5g}: sum of omega {:.4f}, decrease of the loss {:.4f} nats".format(
            rate, *sums[rate]
        )
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# ## VCL: the previous posterior as prior
#
# Variational continual learning (Nguyen et al., 2018) maximizes
#
# $$ \sum_n \mathbb E_{q_t}\bigl[\log p(y_n \mid x_n, V)\bigr] - KL\bigl[q_t(V) \,\|\, q_{t-1}(V)\bigr], $$
#
# which is NPBCL with every mask on. A weight that a task determines precisely gets a
# *narrow* distribution, and a narrow prior is a stiff spring:
# $\frac{(\mu - \mu_{t-1})^2}{2 \sigma_{t-1}^2}$. So the widths are VCL's memory. Do
# they shrink where it matters?

# %% slideshow={"slide_type": "slide"}
vcl = ibpcl.learner("vcl", **{**COMMON, "rate": 0.02, "prediction_samples": 20})
contrast = tasks[0].x_train.std(axis=0)
low, high = np.quantile(contrast, (0.25, 0.75))
widths = []
print("mean width of the weights from the quarter of the pixels that varies")
for task in tasks:
    vcl.learn(task, progress=False)
    _, log_sigma = np.split(vcl.state()["shared"], 2)  # means first, then log widths
    sigma = np.exp(log_sigma[: 49 * 30].reshape(49, 30))
    widths.append(
        [sigma[pixels].mean() for pixels in (contrast <= low, contrast >= high)]
    )
    print(f"  after {task.name}: least {widths[-1][0]:.3f}, most {widths[-1][1]:.3f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## HAT: units behind gates
#
# Hard attention to the task (Serrà et al., 2018) learns a gate for each unit and task,
# $a = \sigma(s\, e)$, and makes it hard by raising $s$ during every epoch. Let $a^{<t}$
# be the maximum of the gates of all earlier tasks. A penalty discourages units that no
# earlier task uses, and the weights between units that earlier tasks use are locked:
#
# $$ L_t + c\, \frac{\sum_k a_k (1 - a_k^{<t})}{\sum_k (1 - a_k^{<t})}, \qquad
#    \text{rate of } \theta_{ij} \text{ times } 1 - \min\bigl(a^{<t}_i, a^{<t}_j\bigr). $$

# %% slideshow={"slide_type": "slide"}
hat, R_hat, first_predictions = learn("hat")
gates = np.array([hat.gates_of(t) for t in range(T)])
print("units with an open gate:", (gates > 0.5).sum(axis=1))
print("by any task:", int((gates > 0.5).any(axis=0).sum()))
hat_change = np.abs(first_predictions[-1] - first_predictions[0]).max()
print(f"largest change of a predicted probability on A/B: {hat_change:.1e}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Gates of three tasks for thirty units: each task opens a few; some are open for more than one task, most for none."}}
figure, axes = plt.subplots(figsize=(8, 1.9), layout="constrained")
axes.imshow(
    gates, cmap="Greys", vmin=0, vmax=1, aspect="auto", extent=(0.5, 30.5, T + 0.5, 0.5)
)
axes.set(xlabel="unit $k$", title="HAT: which units each task uses")
axes.set_yticks(range(1, T + 1), [task.name for task in tasks])
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# Few units are enough. Later tasks use units of earlier ones without changing them, and
# the predictions on A/B have not moved.
#
# ## DEN: retrain, add, copy
#
# The dynamically expandable network (Yoon et al., 2018) first tries to learn a task
# with the existing units. The selected weights minimize
#
# $$ L_t + \frac\kappa2 \|W\|^2 + \frac\lambda2 \|W - W^{t-1}\|^2. $$
#
# If the loss stays above a threshold, $k$ units are added to each layer. If the weights
# of a unit moved further than $\sigma$, the unit is restored, and its new version is
# added as a *copy*. A task is predicted with the units that existed when it had been
# learned.
#
# > **Stop and predict.** What happens to the number of units, and to the predictions on
# > A/B, at $\sigma = \infty$? And at $\sigma = 0$?
#
# <details><summary>Answer</summary>
#
# At infinity nothing is copied: the network stays small, and the predictions on A/B
# drift. At zero every unit that moves at all is copied: the network grows fastest, and
# the predictions on A/B stay the same, bit for bit.
#
# </details>

# %% slideshow={"slide_type": "slide"}
den = {}
print("sigma    units          final accuracies     largest change on A/B")
for threshold in (np.inf, 0.05, 0.0):
    settings = {"hidden": (10,), "head_epochs": 20, "split_threshold": threshold}
    learner, R, first_predictions = learn("den", **settings)
    units = [learner.context.hidden(t)[0] for t in range(T)]
    drift = np.abs(first_predictions[-1] - first_predictions[0]).max()
    den[threshold] = units, R, drift
    print(f"{threshold:5g}    {units}   {R[-1].round(3)}  {drift:.1e}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## RCL: a controller that searches
#
# Reinforced continual learning (Xu and Zhu, 2018) freezes all old units and lets a
# controller choose how many units to add. Each choice $a$ is trained, and rewarded with
#
# $$ R(a) = \text{accuracy on held-out examples} - \gamma \sum_l a_l. $$
#
# The controller learns from the rewards by REINFORCE, which is the score function
# estimator of tutorial 2. The best network of all trials is kept.

# %% slideshow={"slide_type": "slide"}
rcl, R_rcl, first_predictions = learn(
    "rcl", hidden=(10,), trials=6, most_units=9, epochs=40
)
trials = {t: rcl.knowledge.memory[f"trials{t}"] for t in range(1, T)}
for t, rows in trials.items():
    print(
        f"{tasks[t].name}:",
        ", ".join(f"{units:.0f} units {reward:.4f}" for units, reward in rows),
    )
    print(f"     kept {rcl.context.hidden(t)[0] - rcl.context.hidden(t - 1)[0]}")
rcl_change = np.abs(first_predictions[-1] - first_predictions[0]).max()
print(f"largest change of a predicted probability on A/B: {rcl_change:.1e}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Reward against units added, for the second and third task; a circle marks the choice that was kept, a small number of units with the largest reward."}}
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for t, rows in trials.items():
    axes.plot(*rows.T, "o", alpha=0.7, label=f"trials for {tasks[t].name}")
    best = rows[rows[:, 1].argmax()]
    axes.plot(*best, "o", markersize=14, fillstyle="none", color="black")
axes.set(xlabel="units added", ylabel="reward")
axes.set_title("RCL: six trials for each task, the best one is kept")
axes.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# With so few trials the controller hardly learns. It is a search, and each trial costs
# a whole training.
#
# ## Side by side
#
# We compare all six with naive training and NPBCL, on two streams with one head per
# task:
#
# * *letters*: the three tasks from above;
# * *permuted*: A/B three times, the second and third time with its pixels in a new
#   random order. The same pixels now mean something different in each task, so the
#   tasks conflict in the hidden layer.
#
# Memory is the size of `state()` after the last task, in kB.

# %%
order = np.random.default_rng(11)
permutations = [np.arange(49), order.permutation(49), order.permutation(49)]
permuted = [
    replace(
        tasks[0],
        name=f"order {k}",
        x_train=tasks[0].x_train[:, columns],
        x_test=tasks[0].x_test[:, columns],
    )
    for k, columns in enumerate(permutations)
]
SETTINGS = {
    "naive": {},
    "ewc": {"weight": 300.0},
    "si": {"weight": 1.0},
    "vcl": {"rate": 0.02, "prediction_samples": 20},
    "hat": {},
    "den": {"hidden": (10,), "head_epochs": 20},
    "rcl": {"hidden": (10,), "trials": 6, "most_units": 9},
}


def compare(name, tasks):
    """Return average accuracy, backward transfer, and memory in kB."""
    if name == "npbcl":
        options = {"epochs": 30, "finetune_epochs": 10, "samples": 2, "alpha": 10.0}
        learner = ibpcl.learner(
            "npbcl",
            backend="numpy",
            hidden=(30,),
            batch=100,
            prediction_samples=20,
            **options,
        )
        R = np.full((T, T), np.nan)
        for i, task in enumerate(tasks):
            learner.learn(task, progress=False)
            for j, seen in enumerate(tasks[: i + 1]):
                R[i, j] = np.mean(
                    learner.predict(seen.x_test, j).argmax(axis=1) == seen.y_test
                )
    else:
        learner, R, _ = learn(name, tasks, **SETTINGS[name])
    memory = sum(array.nbytes for array in learner.state().values()) / 1000
    return average_accuracy(R), backward_transfer(R), memory


table = {}
print("           letters              permuted")
print("method     mean %  transfer     mean %  transfer     memory kB")
for name in (*SETTINGS, "npbcl"):
    letters, again = compare(name, tasks), compare(name, permuted)
    table[name] = letters, again
    columns = "     ".join(
        f"{100 * mean:6.1f} {100 * transfer:9.1f}" for mean, transfer, _ in table[name]
    )
    print(f"{name:8s}   {columns} {letters[2]:13.1f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** Three of the eight methods must have a transfer of zero or
# > almost zero, whatever the tasks are. Which ones, and why?
#
# <details><summary>Answer</summary>
#
# RCL, because old weights never move, and each task has its own network in a corner of
# the large one. HAT, because the units of earlier tasks are locked once the gates are
# hard. And DEN, because it copies units that moved too far, up to its threshold
# $\sigma$. They pay by growing or by running out of units. EWC, SI, VCL and NPBCL can
# forget. Whether they do depends on the tasks.
#
# </details>
#
# **Why naive training is not the worst here.** On the letters naive training has a
# higher mean than EWC, SI, VCL and NPBCL. This is not a contradiction. With one head
# per task these tasks hardly conflict: strokes that tell A from B also help with E and
# F. Naive training loses about one point, and it is the only method that adapts freely
# to each new task. Protection has a cost and nothing to protect from. On the permuted
# stream the same training forgets a lot, and every method beats it. A benchmark on
# which naive training does well says nothing about forgetting, so look at its row
# first.
#
# Three small tasks and one seed do not rank methods. `ibpcl compare` uses several
# seeds, and `docs/accuracy.md` has the paper's streams with the same search for
# every method.
#
# ## Five more, in brief
#
# **GEM** (Lopez-Paz and Ranzato, 2017) stores examples of each earlier task, but does not
# train on them. It changes the *gradient*: a step must not increase the loss on any
# task's stored examples. With the gradients $g_s$ of these losses, GEM takes
#
# $$ \tilde g = \arg\min_u \tfrac12 \lVert u - g \rVert^2 \quad
#    \text{such that} \quad u^\top g_s \ge 0 \text{ for all } s < t. $$
#
# We choose three vectors of the plane. The gradient opposes both stored ones.

# %% slideshow={"slide_type": "slide"}
gradient = np.array([-2.0, -1.0])
stored = np.array([[1.0, 0.0], [0.0, 1.0]])
half = agem.project(gradient, stored.mean(axis=0))
projections = {
    "gradient": gradient,
    "GEM, first task only": gem.project(gradient, stored[:1]),
    "GEM, both tasks": gem.project(gradient, stored),
    "A-GEM": half,
}
for name, vector in projections.items():
    print(f"{name:21s} {vector}   inner products {stored @ vector}")

# %% [markdown]
# With one constraint, GEM removes the part of the gradient that opposes $g_s$. With both,
# nothing is left here: every direction would hurt one of the tasks. **A-GEM** (Chaudhry et
# al., 2019) has a single constraint, for the *mean* gradient of all stored examples. It is
# cheaper, and weaker: its step hurts one task and helps the other, and the mean stays.

# %% slideshow={"slide_type": "slide"}
projected = {name: learn(name, single_head=True)[1] for name in ("gem", "agem")}
print(f"naive: final accuracies {R_naive[-1].round(3)}")
for name, R in projected.items():
    print(f"{name:5s}: final accuracies {R[-1].round(3)}")

# %% [markdown] slideshow={"slide_type": "slide"}
# **BGD** (Zeno et al., 2018) is VCL without tasks. The posterior after one *minibatch*
# with the loss $L$ is the prior of the next:
#
# $$ \mu_i \leftarrow \mu_i - \eta\, \sigma_i^2\, \mathbb E[L'_i], \qquad
#    \sigma_i \leftarrow \sigma_i \sqrt{1 + h_i^2} - \sigma_i h_i, \qquad
#    h_i = \tfrac12 \sigma_i\, \mathbb E[L'_i\, \varepsilon_i]. $$
#
# The learning rate of a weight is $\eta \sigma_i^2$. A weight that data make certain
# gets narrow, and then hardly moves. To see it, we observe one number
# $y \sim \mathcal N(\theta, 1)$ again and again. There $\mathbb E[L'] = \mu - y$ and
# $\mathbb E[L'\, \varepsilon] = \sigma$.

# %% slideshow={"slide_type": "slide"}
y, mu, log_sigma = 2.0, np.zeros(1), np.zeros(1)
observed = []
for _ in range(100):
    sigma = np.exp(log_sigma)
    mu, log_sigma = bgd.update(mu, log_sigma, mu - y, sigma * sigma)
    observed.append([mu[0], np.exp(log_sigma[0])])
for n in (1, 10, 100):
    mean, width = observed[n - 1]
    exact = n * y / (n + 1), (n + 1) ** -0.5
    print(
        f"{n:3d} observations: BGD {mean:.3f} and {width:.3f}, "
        "Bayes' rule {:.3f} and {:.3f}".format(*exact)
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# Mean and width come close to those of Bayes' rule. The first step is the worst, because
# BGD takes both expectations at the old posterior.
#
# **Generative replay** (Shin et al., 2017) stores no example but *invents* them. After
# each task a generator learns its inputs: here NPBCL's autoencoder of tutorial 12. The
# next task is learned together with samples $x'$ of the earlier ones, which the last
# classifier labels:
#
# $$ r\, \mathbb E_{D_t}\bigl[-\log p(y \mid x, \theta)\bigr] + (1 - r)\,
#    \mathbb E_{x' \sim G_{<t}}\bigl[-\log p(y' \mid x', \theta)\bigr], \qquad
#    y' = \arg\max_y p(y \mid x', \theta_{t-1}). $$
#
# With perfect samples and labels it is joint training. So it is as good as its generator,
# and after a short training this one invents blurred letters, some of them rarely.

# %% slideshow={"slide_type": "slide"}
generator = {"generator_hidden": (40,), "generator_latent": 8, "generator_epochs": 200}
replay, R_replay, _ = learn("replay", single_head=True, **generator)
_, R_joint, _ = learn("joint", single_head=True)
for name, R in (("naive", R_naive), ("replay", R_replay), ("joint", R_joint)):
    print(f"{name:6s}: final accuracies {R[-1].round(3)}, mean {R[-1].mean():.3f}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Two rows of blurred letters of seven by seven pixels for each of three tasks: real ones above, and invented ones below, which look similar but smoother."}}
figure, axes = plt.subplots(2, T, figsize=(8, 2.4), layout="constrained")
for t, task in enumerate(tasks):
    invented = prior_samples(replay.generator.latent_model(t), 6)
    for row, images in zip(axes[:, t], (task.x_train[:6], invented), strict=True):
        sheet = np.hstack(np.pad(images.reshape(-1, 7, 7), ((0, 0), (0, 0), (0, 1))))
        row.imshow(sheet, cmap="Greys", vmin=0, vmax=1)
        row.set_axis_off()
    axes[0, t].set_title(task.name)
figure.suptitle("Generative replay: real letters (above), invented ones (below)")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# **Pruning** (Golkar et al., 2019) reserves units, like HAT, but chooses them after the
# training. A penalty on the absolute values of the weights makes units idle. Those whose
# mean activation is at or below a threshold $\vartheta$ are pruned: nothing that is in use
# reads them, and they are drawn afresh for the next task. Weights into units in use are
# frozen for ever:
#
# $$ L_t + \lambda \sum_i |\theta_i|, \qquad
#    \text{unit } k \text{ is in use if } \frac1{N_t} \sum_n h_k(x_n) > \vartheta. $$
#
# The threshold is the largest that costs at most a small margin of accuracy on held-out
# examples. So a task forgets a little, once, to leave room for the next ones.

# %% slideshow={"slide_type": "slide"}
pruning, R_pruning, first_predictions = learn("pruning")
in_use = [int(pruning.used_units(t).sum()) for t in range(T)]
pruning_change = np.abs(first_predictions[-1] - first_predictions[0]).max()
print("units in use after each task:", in_use)
print("final accuracies:", R_pruning[-1].round(3))
print(f"largest change of a predicted probability on A/B: {pruning_change:.1e}")

# %% [markdown] slideshow={"slide_type": "slide"}
# Like RCL and HAT, pruning cannot forget. When all units are in use, a new task can only
# train a head.
#
# ## Two harder settings
#
# **Class-incremental learning** (van de Ven and Tolias, 2019). So far every prediction was
# told its task. Now one softmax covers all classes that the tasks have shown, and the test
# image comes without its task. A class that no task has shown yet does not take part.
#
# > **Stop and predict.** Which of naive training, EWC and rehearsal still knows the first
# > task?
#
# <details><summary>Answer</summary>
#
# Only rehearsal. The softmax compares the classes of different tasks, and only stored
# examples hold that comparison. The others name the classes of the last task, which is a
# third of all test images here.
#
# </details>

# %% slideshow={"slide_type": "slide"}
in_one_softmax = [
    replace(
        task,
        y_train=task.y_train + 2 * t,
        y_test=task.y_test + 2 * t,
        classes=2 * T,
        class_names=tuple("ABEFGH"),
        seen=tuple(range(2 * t + 2)),
    )
    for t, task in enumerate(tasks)
]
incremental = {}
for method in ("naive", "ewc", "rehearsal"):
    _, R, _ = learn(method, in_one_softmax, single_head=True)
    incremental[method] = R[-1]
    print(f"{method:9s} final accuracies {R[-1].round(3)}, mean {R[-1].mean():.3f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# **Learning without boundaries** (Zeno et al., 2018). BGD needs no boundary. A method that
# needs one can detect it: when a new task begins, the learner predicts the minibatch badly.
# Let $z_n$ be the fall of the score of minibatch $n$ below the recent mean, in deviations.
# Page's (1954) test adds up what exceeds an allowance $k$, and raises an alarm when the sum
# is above a threshold $h$:
#
# $$ G_n = \max(0, G_{n-1} + z_n - k) > h. $$

# %% slideshow={"slide_type": "slide"}
rng = np.random.default_rng(0)
scores = rng.normal(-0.2, 0.05, 300)
scores[200:] -= 0.1  # a new task, which the learner predicts worse
rule = detection.Rule(threshold=detection.threshold(run_length=10_000))
cusum, alarms = detection.Sums(), []
for n, score in enumerate(scores):
    cusum = detection.update(cusum, score, rule)
    if cusum.fall > rule.threshold:
        alarms.append(n)
        cusum = detection.Sums()
print(f"threshold {rule.threshold:.2f}, alarms at minibatches {alarms}")

# %% [markdown]
# The fall is two deviations. No single minibatch shows it with certainty, but the sum does
# after a few. `docs/baselines.md` has both settings in full, for all methods.
#
# ## Exercises
#
# Solutions are in `solutions/11_other_methods.py`; `ibpcl check` checks their
# gradients.
#
# 1. **The Fisher information of a softmax regression.** For two classes and one weight,
#    show that $F = x^2\, p (1 - p)$, and that this is the curvature of the loss. Write
#    the loss as a pair and compare. *Hint:* compute the derivative of the gradient by
#    the complex step.
# 2. **SI without a net move.** Compute $\omega_i$ of a weight that oscillates and ends
#    where it began. What is $\Omega_i$ then? *Hint:* take $L = \frac12 \theta^2$, and
#    choose the steps yourself.
# 3. **HAT's price.** Write the share $\sum_k a_k (1 - u_k) / \sum_k (1 - u_k)$ as a
#    pair. How much does it cost to use a unit that an earlier task uses? *Hint:*
#    $u_k = a_k^{<t}$.
# 4. **One more equation.** Write down the objective of rehearsal for task $t$, with ten
#    kept examples of each earlier task. Which of the six methods is closest to it?
#    *Hint:* which method has one term for each earlier task?
# 5. **The pull of the horseshoe.** The horseshoe gives each unit a scale $\lambda$ with
#    the prior $p(x) = 1 / (2\pi \cosh \frac x2)$ of $x = \log\lambda^2$. Write $-\log p(x)$
#    as a pair. How strong can its pull on $x$ become, and why does that leave large
#    scales alone? *Hint:* compare with the pull of a Gaussian prior.
# 6. **A natural-gradient step.** For $L = \frac a2 (w - c)^2$ and $q = \mathcal N(m,
#    \sigma^2)$, write $E_q[L]$ as a pair with respect to $m$ and $\log\sigma$. Show that
#    the gradient at $\log\sigma$, divided by $\sigma^2$, is the Hessian $a$, and that one
#    step of VON with step sizes 1 ends at the exact posterior. *Hint:* the prior
#    $\mathcal N(0, 1)$ adds 1 to the precision.
# 7. **A step that an earlier task does not feel.** A layer has seen the input $h$. Write
#    the part of a step $d$ that does not change $h d$ as a pair. Why is it its own
#    projection, and why must the step be projected and not the gradient, if the
#    optimizer is Adam? *Hint:* apply the function twice.
