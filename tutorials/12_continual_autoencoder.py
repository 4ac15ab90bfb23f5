# %% [markdown]
# # 12. A continual autoencoder
#
# So far a task had labels. Now it has none: a task is a pile of images of one class,
# and what is learned is a model of the images themselves, from which new ones can be
# drawn. The paper does this with an autoencoder whose weights are masked as those of
# the classifier are (Kumar, Chatterjee and Rai, Sec. 3.3 and supplement G). We measure
# $\log p(x)$ where the answer is known, let one network learn three letters one after
# another, and find that three numbers which look alike are not the same, and that what
# codes know of a class depends on who encodes them.
#
# **Prerequisites:** tutorials 8 and 9; what an autoencoder is. **Time:** about 60
# minutes.
#
# **You will be able to**
#
# - estimate $\log p(x)$ by importance sampling, and judge the estimate by its weights;
# - read a matrix of likelihoods as one reads a matrix of accuracies;
# - tell a likelihood, its bound and a reconstruction score apart;
# - recognize an evaluation in which the label goes in at one end and comes out at the
#   other.
#
# The objective's gradient is tutorial 8's with one part more, the divergence of the
# codes. Names: `x` images (N, D), `z` codes (..., L), $K$ samples of $z$ for each
# image, $T$ tasks.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl.data.registry import load
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import ClassStream
from ibpcl.evaluation import codes, figures
from ibpcl.evaluation.few_labels import few_label_error
from ibpcl.evaluation.latent import (
    importance_sampled,
    mean_and_errors,
    prior_samples,
    reconstruction_score,
    reconstructions,
)
from ibpcl.evaluation.linear import LinearModel
from ibpcl.methods.npbcl_images import ImageNPBCL, ImageSettings
from ibpcl.evaluation.figures.canvas import PALETTE

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(7)

# %% [markdown]
# ## How probable is an image?
#
# The model draws a code $z \sim p(z)$ and then an image $x \sim p(x \mid z)$. The
# probability of an image is the sum over all codes that could have made it, and for a
# network this integral has no closed form:
#
# $$ p(x) = \int p(x \mid z)\, p(z)\, dz. $$
#
# Plain sampling from $p(z)$ is hopeless: hardly any code makes *this* image. The
# encoder knows better. It gives a Gaussian $q(z \mid x)$ over codes that might, and
# dividing by it keeps the average right:
#
# $$ p(x) = \mathbb E_{q(z \mid x)} \bigl[w(z)\bigr], \qquad w(z) = \frac{p(x \mid z)\, p(z)}{q(z \mid x)}
#    \quad\text{so}\quad \hat p(x) = \frac1K \sum_{k=1}^K w(z_k), \quad z_k \sim q(z \mid x). $$
#
# This *importance sampling* is right on average for every $K$ and for every $q$. But we
# want logarithms, and the logarithm is concave: $\mathbb E \log \hat p(x) \le \log
# \mathbb E\, \hat p(x) = \log p(x)$. The estimate is too low on average, less so for
# larger $K$.  For $K = 1$ it is $\mathbb E_q \log w$, an old friend: the evidence lower
# bound.
#
# > **Stop and predict.** With more samples, does the estimate of $\log p(x)$ rise, fall
# > or only become less noisy?
#
# <details><summary>Answer</summary>
#
# It rises, on average, from the ELBO at one sample to $\log p(x)$: the logarithm of a
# noisy average is too low, and the less noise there is the less it is.
#
# </details>
#
# An estimator should be tried where the answer is known. If all is linear and Gaussian,
# $x = z W + b + \sigma \epsilon$, then $x$ is Gaussian and its density is a formula
# (`LinearModel.exact`).

# %%
linear = LinearModel(0.3 * rng.standard_normal((4, 8)), noise=0.7)
x = linear.decode(rng.standard_normal((50, 4))) + 0.7 * rng.standard_normal((50, 8))
exact = linear.exact(x).mean()
counts = [1, 3, 10, 30, 100, 300, 1000]
found = [mean_and_errors(importance_sampled(linear, x, K)) for K in counts]

print(f"exact log p(x), mean of 50 points   {exact:.3f}")
print(f"ELBO, by formula                    {exact - linear.gap():.3f}")
for K, told in zip(counts, found, strict=True):
    print(
        f"K = {K:4}: {told['log_likelihood']:.3f}, worth "
        f"{told['effective_samples']:.0f} samples"
    )

# %% tags=["hide-input"] mystnb={"image": {"alt": "Estimates of log p(x) against the number of samples: they climb from the ELBO's level at one sample to the exact value."}}
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.axhline(exact, color="k", label="exact")
ax.axhline(exact - linear.gap(), color="k", linestyle=":", label="ELBO, by formula")
ax.errorbar(
    counts,
    [told["log_likelihood"] for told in found],
    fmt="o-",
    yerr=[
        0 if K == 1 else 2 * told["monte_carlo_error"]
        for K, told in zip(counts, found, strict=True)
    ],
    label="importance sampling",
)
ax.set(
    xscale="log",
    xlabel="samples $K$",
    ylabel=r"$\log p(x)$, nats",
    title="From the bound to the likelihood",
)
ax.legend()
plt.show()

# %% [markdown]
# At the left end the estimate is the ELBO, and it climbs to the exact value. How many
# samples do we need? Ask the weights themselves. If all are equal, $q$ is the exact
# posterior and one sample is enough; if one of them outweighs all others, the estimate
# hangs on it. The *effective sample size*
#
# $$ \mathrm{ESS} = \frac{(\sum_k w_k)^2}{\sum_k w_k^2} \in [1, K] $$
#
# says how many equal weights would vary as much, and the standard error of
# $\log \hat p$ is about $\sqrt{(K / \mathrm{ESS} - 1) / (K - 1)}$. Where ESS is near
# one, do not believe that error either: the samples that would tell are those that were
# not drawn. And do not believe it where $q$ is much *narrower* than the posterior in
# some direction: $w$ may then have no variance at all, although every single estimate
# of it is finite. ESS gives a hint, for its share $\mathrm{ESS} / K$ goes on falling as
# $K$ grows.  Try it without the factor $0.3$ above: the codes of that model depend on
# each other so strongly that the $q$ of best ELBO, independent Gaussians, is too
# narrow.
#
# ## Three letters, one after another
#
# The letters A, B and C are drawn from fonts here. One network learns them in turn:
# masked training, hard masks, fine-tuning, and then the posterior becomes the next
# prior (Algorithm 1). It is small and trained for seconds, so its letters are blurred;
# `ibpcl run vae-glyphs` takes minutes.

# %%
stream = limited(ClassStream(load("glyphs"), (0, 1, 2)), train=400, test=100)
names, T = [task.name for task in stream], len(stream)
settings = ImageSettings(
    hidden=(40, 40),
    latent=6,
    epochs=8,
    finetune_epochs=15,
    batch=50,
    activation="tanh",
    weight_rate=0.01,
    finetune_rate=0.01,
    prior_sigma=0.3,
    start_sigma=0.01,
    weight_kl_weight=1.0,
    hold_used=False,
    latent_prior="standard",
)
learner = ImageNPBCL(settings, 0, "numpy")

R, stages = np.full((T, T), np.nan), []
for t, task in enumerate(stream):
    learner.learn(task, progress=False)
    models = [learner.latent_model(j) for j in range(t + 1)]
    for j, model in enumerate(models):
        R[t, j] = importance_sampled(
            model, stream[j].x_test, samples=50
        ).log_likelihood.mean()
    stages.append(
        np.concatenate(
            [prior_samples(model, 2, seed=j) for j, model in enumerate(models)]
        )
    )
print(R.round(1))

# %% [markdown]
# Row $i$ is what the test images are worth after task $i$, in nats per image; column
# $j$ is one letter. Down a column you see forgetting, if there is any. Masked weights
# with yesterday's posterior as their prior are what works against it: a weight that A
# does not use may move freely, one that A uses has A's posterior to stay near. (For
# that the weights' divergence counts in full here. The package's default is another:
# `hold_used=True` holds used weights where they are, so that a column does not change
# at all, and their divergence counts a thousandth.)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Log likelihood of the test images of A, B and C after each task: three nearly level lines."}}
fig, both = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
figures.likelihood_curves(R, names, axes=both)
fig.suptitle("What later letters do to earlier ones")
plt.show()

# %% [markdown]
# And in pictures: the same codes, drawn from the prior, decoded after each task. A row
# is a stage.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Blurred letters drawn from the model of each task, after each task: the A's drawn after B and after C look as they did."}}
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
figures.image_rows(
    stages,
    stream[0].image_shape,
    names,
    names,
    group=2,
    ax=ax,
    labels=("sample of task", "after learning task"),
)
ax.set_title("The same codes, decoded after each task")
plt.show()

# %% [markdown]
# ## Three numbers that are not the same
#
# The paper reports "log-likelihoods". Its released code averages the decoder's images
# over samples of $q(z \mid x)$ and takes the cross-entropy between that mean image and
# $x$: a *reconstruction score*. Nothing is paid for the code, which was chosen after
# having seen $x$. VCL's code, with which the paper compares, does importance sampling.
# For the same model and the same images:
#
# > **Stop and predict.** Put ELBO, $\log p(x)$ and reconstruction score in order, the
# > least first.
#
# <details><summary>Answer</summary>
#
# ELBO, $\log p(x)$, score. The first two must be in this order. The score leaves out
# what the codes cost.
#
# </details>

# %%
models = [learner.latent_model(t) for t in range(T)]
print("     ELBO   log p(x)  reconstruction score")
for model, task in zip(models, stream, strict=True):
    told = mean_and_errors(importance_sampled(model, task.x_test, samples=100))
    score = reconstruction_score(model, task.x_test).mean()
    print(
        f"{task.name}  {told['elbo']:7.1f}  {told['log_likelihood']:8.1f}  "
        f"{score:20.1f}"
    )

# %% [markdown]
# The ELBO is the least of the three, and must be. It is below $\log p(x)$ by the
# divergence of $q$ from the true posterior. The score is above the ELBO, by the codes'
# divergence $KL[q(z \mid x) \,\|\, p(z)]$ at least: it leaves it out, and it averages
# *before* the logarithm. A model whose codes may cost what they like can raise the
# score at will. So two such numbers from two papers cannot be compared, and "higher"
# need not be better.
#
# ## Who encodes?
#
# Are the codes good for anything? A common test: classify a test image by its nearest
# neighbours among training images, by the distance of their codes. But every task has
# masks of its own, so there are three encoders here. Which one for an image whose class
# we do not know?
#
# * **oracle**: that of the true class. So does the paper's released code; its table has
#   an error of 0.37 % on MNIST.
# * **inferred**: that of the task under which the image is most probable.
# * **common**: one for all, say the last.

# %%
train = np.concatenate([task.x_train[:100] for task in stream])
test = np.concatenate([task.x_test[:50] for task in stream])
labels, test_labels = np.repeat(np.arange(T), 100), np.repeat(np.arange(T), 50)


def coded(way):
    pairs = ((train, labels), (test, test_labels))
    return [
        codes.encode(models, x, codes.choose_tasks(way, models, x, y)) for x, y in pairs
    ]


for way in codes.WAYS:
    known, asked = coded(way)
    print(
        f"{way:8}: 3-NN error "
        f"{codes.knn_error(known, labels, asked, test_labels, (3,))[0]:.1%}"
    )
print(
    "pixels  : 3-NN error "
    f"{codes.knn_error(train, labels, test, test_labels, (3,))[0]:.1%}"
)

# %% [markdown]
# The codes are worse than pixels, even with the right encoder. Every task's codes fill
# the same prior $\mathcal N(0, I)$, so the codes of an A under its encoder overlap with
# those of a B under another. Nothing asked them to lie apart, and how far they do is an
# accident of the encoders.
#
# So how does the paper come to 0.37 %? Its released code gives each task a prior with a
# mean $c_t$ of its own. Does that make a better model? Take ours, and for each task add
# a constant $c_t$ to the prior's mean and to the encoder's, and let the decoder
# subtract it. Not one probability changes: $p_t(x)$ is the same for every image.

# %%


class Shifted:
    """The same model of images, with its codes moved by a constant."""

    def __init__(self, model, shift):
        self.model, self.shift, self.latent = model, np.float32(shift), model.latent

    def encode(self, x):
        mean, log_sigma = self.model.encode(x)
        return mean + self.shift, log_sigma

    def prior(self):
        mean, log_sigma = self.model.prior()
        return mean + self.shift, log_sigma

    def decode(self, z):
        return self.model.decode(z - self.shift)

    def log_likelihood(self, x, z):
        return self.model.log_likelihood(x, z - self.shift)


unmoved, models = (
    models,
    [Shifted(model, 8 * rng.standard_normal(model.latent)) for model in models],
)
for task, before, after in zip(stream, unmoved, models, strict=True):
    values = [
        importance_sampled(model, task.x_test, 20).log_likelihood.mean()
        for model in (before, after)
    ]
    print(f"{task.name}: log p(x) {values[0]:.3f} before, {values[1]:.3f} after")
for way in codes.WAYS:
    known, asked = coded(way)
    print(
        f"{way:8}: 3-NN error "
        f"{codes.knn_error(known, labels, asked, test_labels, (3,))[0]:.1%}"
    )

# %% [markdown]
# The oracle's error is zero now, for a model that has learned nothing new. With the
# oracle, the class picks the encoder, the encoder leaves its mark, and the label that
# went in at one end comes out at the other. The image is not even needed: push the same
# uniform noise through each of the three (unmoved) encoders, and tell which one it was.

# %%
noise = rng.uniform(size=(60, stream[0].inputs)).astype(np.float32)
print(
    f"noise, which encoder? 3-NN error {codes.mask_leak(unmoved, noise, (3,))[0]:.1%}; "
    f"chance would be {1 - 1 / T:.1%}"
)

# %% [markdown]
# The inferred encoder's error has become the share of images whose task was not found:
# $p_t(x)$ is the classifier, and the neighbours add nothing. The common encoder has not
# changed at all. It is the only one of the three whose codes can be called a
# representation of the image.
#
# ## A few labels
#
# Unlabelled images are cheap and labels are dear. Suppose that one image of each class
# is labelled, or five, or fifty; a new image gets the label of the nearest of them. Are
# codes better than pixels then? (Careful: that each task *was* a class is a kind of
# label too, and the inferred encoder, with codes moved as above, lives on it.)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Error against labelled images per class. The inferred encoder with moved codes makes next to no errors, pixels fall from a third to a twentieth, the common encoder is worst."}}
results = {"pixels": few_label_error(train, labels, test, test_labels)}
for way in ("inferred", "common"):
    known, asked = coded(way)
    results[f"{way} encoder"] = few_label_error(known, labels, asked, test_labels)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
figures.few_labels(results, ax)
ax.set_title("Nearest of a few labelled images")
plt.show()

# %% [markdown]
# ## What a model makes of others' letters
#
# Last, a look: the model of A and the model of B encode and decode letters B.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Eight letters B, what the model of B makes of them, and what the model of A makes of them: B's model returns B's, A's model returns shapes that resemble A's."}}
shown = [
    stream[1].x_test[:8],
    reconstructions(unmoved[1], stream[1].x_test[:8]),
    reconstructions(unmoved[0], stream[1].x_test[:8]),
]
fig, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
figures.image_rows(
    shown, stream[0].image_shape, ["image", "model of B", "model of A"], ax=ax
)
ax.set_title("Letters B, reconstructed")
plt.show()

# %% [markdown]
# ## Exercises
#
# Solutions are in `solutions/12_continual_autoencoder.py`; `ibpcl check` proves their
# gradients.
#
# 1. **The divergence of the codes.** Derive
#    $KL[\mathcal N(m, s^2) \,\|\, \mathcal N(0, 1)]$ with its gradients at
#    $m$ and $\log s$, for each image, and write it as a pair. *Hint:* tutorial 2 with a
#    special prior.
# 2. **How many samples?** Give `LinearModel` a weight matrix with orthogonal rows. How
#    many samples does importance sampling need now, and why? *Hint:* when are the codes
#    independent given $x$?
# 3. **A bound in one line.** Show that the estimate with $K + 1$ samples is on average
#    no lower than with $K$, and see it in numbers.  *Hint:* the average of $K + 1$
#    weights is the average of its leave-one-out averages.
# 4. **A label leak of your own.** Draw codes for images without any information, give
#    each class's codes another mean, and classify by nearest neighbours. Which error do
#    you get with the oracle, and without it?
