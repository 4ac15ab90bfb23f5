# %% [markdown] slideshow={"slide_type": "slide"}
# # 12. A continual autoencoder
#
# So far tasks had labels. Now they have none: a task is a set of images of one class,
# and the network learns a model of the images themselves, from which new images can be
# drawn. The paper does this with an autoencoder whose weights are masked like those of
# the classifier (Kumar, Chatterjee and Rai, Sec. 3.3 and supplement G). We first
# measure $\log p(x)$ where the answer is known. Then one network learns three letters,
# one after another. We will see that three similar numbers have different meanings, and
# that the information of a code about its class depends on the choice of the encoder.
#
# **Prerequisites:** tutorials 8 and 9; what an autoencoder is. **Time:** about 60
# minutes.
#
# **You will be able to**
#
# - estimate $\log p(x)$ by importance sampling, and judge the estimate by its weights;
# - read a matrix of likelihoods like a matrix of accuracies;
# - distinguish a likelihood, its bound and a reconstruction score;
# - recognize label leakage in an evaluation.
#
# The gradient of the objective is that of tutorial 8 with one more part, the KL
# divergence of the codes. We use the package's learner
# `ImageNPBCL` as a black box. Names: `x` images (N, D), `z` codes (..., L),
# $K$ samples of $z$ for each image, $T$ tasks.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl.data.registry import load
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import ClassStream
from ibpcl.evaluation import codes, figures
from ibpcl.evaluation.few_labels import few_label_error
from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.evaluation.latent import (
    importance_sampled,
    mean_and_errors,
    prior_samples,
    reconstruction_score,
    reconstructions,
)
from ibpcl.evaluation.linear import LinearModel
from ibpcl.methods.npbcl_images import ImageNPBCL, ImageSettings

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(7)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How probable is an image?
#
# The model draws a code $z \sim p(z)$ and then an image $x \sim p(x \mid z)$. The
# probability of an image is the sum over all codes that could have made it, and for a
# network this integral has no closed form:
#
# $$ p(x) = \int p(x \mid z)\, p(z)\, dz. $$
#
# Plain sampling from $p(z)$ is hopeless: hardly any code produces *this* image. The
# encoder gives a Gaussian $q(z \mid x)$ over the plausible codes. We sample from it,
# and dividing by it keeps the average right:
#
# $$ p(x) = \mathbb E_{q(z \mid x)} \bigl[w(z)\bigr], \qquad w(z) = \frac{p(x \mid z)\, p(z)}{q(z \mid x)}
#    \quad\text{so}\quad \hat p(x) = \frac1K \sum_{k=1}^K w(z_k), \quad z_k \sim q(z \mid x). $$
#
# This *importance sampling* is right on average for every $K$ and for every $q$. But we
# want logarithms, and the logarithm is concave: $\mathbb E \log \hat p(x) \le \log
# \mathbb E\, \hat p(x) = \log p(x)$. The estimate is too low on average, less so for
# larger $K$. For $K = 1$ it is $\mathbb E_q \log w$, the evidence lower bound.
#
# > **Stop and predict.** With more samples, does the estimate of $\log p(x)$ rise, fall
# > or only become less noisy?
#
# <details><summary>Answer</summary>
#
# It rises, on average, from the ELBO at one sample to $\log p(x)$. The logarithm of a
# noisy average is too low, and less so when there is less noise.
#
# </details>
#
# An estimator should be tried where the answer is known. If everything is linear and
# Gaussian, $x = z W + b + \sigma \epsilon$, then $x$ is Gaussian and its density is a
# formula (`LinearModel.exact`).

# %% slideshow={"slide_type": "slide"}
linear = LinearModel(0.3 * rng.standard_normal((4, 8)), noise=0.7)
x = linear.decode(rng.standard_normal((50, 4))) + 0.7 * rng.standard_normal((50, 8))
exact = linear.exact(x).mean()
counts = [1, 3, 10, 30, 100, 300, 1000]
estimates = [mean_and_errors(importance_sampled(linear, x, K)) for K in counts]

print(f"exact log p(x), mean of 50 points   {exact:.3f}")
print(f"ELBO, by formula                    {exact - linear.gap():.3f}")
for K, estimate in zip(counts, estimates, strict=True):
    print(
        f"K = {K:4}: {estimate['log_likelihood']:.3f}, worth "
        f"{estimate['effective_samples']:.0f} samples"
    )

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Estimates of log p(x) against the number of samples: they climb from the ELBO's level at one sample to the exact value."}}
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.axhline(exact, color="k", label="exact")
ax.axhline(exact - linear.gap(), color="k", linestyle=":", label="ELBO, by formula")
values = [estimate["log_likelihood"] for estimate in estimates]
errors = [2 * estimate["monte_carlo_error"] for estimate in estimates]
errors[0] = 0  # a single sample has no error bar
ax.errorbar(counts, values, yerr=errors, fmt="o-", label="importance sampling")
ax.set(xscale="log", xlabel="samples $K$", ylabel=r"$\log p(x)$, nats")
ax.set_title("From the bound to the likelihood")
ax.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# At the left end the estimate is the ELBO, and it climbs to the exact value. How many
# samples do we need? The weights themselves show it. If all are equal, $q$ is the exact
# posterior and one sample is enough. If one of them outweighs all others, the estimate
# depends on that one. The *effective sample size*
#
# $$ \mathrm{ESS} = \frac{(\sum_k w_k)^2}{\sum_k w_k^2} \in [1, K] $$
#
# is the number of equal weights with the same variation. The standard error of
# $\log \hat p$ is about $\sqrt{(K / \mathrm{ESS} - 1) / (K - 1)}$. Do not trust this
# error where ESS is close to one: the important samples were not drawn. Do not trust it
# either where $q$ is much *narrower* than the posterior in some direction. Then the
# variance of $w$ may be infinite, although every estimate of it is finite. A sign of
# this is that the share $\mathrm{ESS} / K$ keeps falling as
# $K$ grows. Try it without the factor $0.3$ above. The codes of that model depend on
# each other so strongly that independent Gaussians with the best ELBO are too narrow.
#
# ## Three letters, one after another
#
# The letters A, B and C come from fonts. One network learns them one after another:
# masked training, hard masks, fine-tuning, and then the posterior becomes the next
# prior (Algorithm 1). It is small and trained for seconds, so its letters are blurred.
# `ibpcl run vae-glyphs` trains a larger one for minutes.

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
# Row $i$ shows $\log p(x)$ of the test images after task $i$, in nats per image. Column
# $j$ is one letter. Forgetting would appear as a decrease down a column. Masks together
# with the previous posterior as prior prevent it. A weight that A does not use may move
# freely, and a weight that A uses is held near A's posterior. (For this the weights' KL
# divergence has full weight here. The package's default is different: `hold_used=True`
# fixes the used weights, so that a column does not change at all, and their KL
# divergence has a weight of one thousandth.)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Log likelihood of the test images of A, B and C after each task: three nearly level lines."}}
fig, both = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
figures.likelihood_curves(R, names, axes=both)
fig.suptitle("The effect of later letters on earlier ones")
plt.show()

# %% [markdown]
# The same in pictures: the same codes, drawn from the prior, are decoded after each
# task. Each row is one stage.

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Blurred letters drawn from the model of each task, after each task: the A's drawn after B and after C look as they did."}}
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

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three numbers that are not the same
#
# The paper reports "log-likelihoods". Its released code averages the decoder's images
# over samples of $q(z \mid x)$ and takes the cross-entropy between that mean image and
# $x$: a *reconstruction score*. It contains no KL divergence for the code, although the
# code was chosen after seeing $x$. VCL's released program, with which the paper
# compares, uses importance sampling. We compute all three numbers for the same model
# and the same images.
#
# > **Stop and predict.** Put ELBO, $\log p(x)$ and reconstruction score in order, the
# > least first.
#
# <details><summary>Answer</summary>
#
# ELBO, $\log p(x)$, score. The first two must be in this order. The score leaves out
# the cost of the codes.
#
# </details>

# %% slideshow={"slide_type": "slide"}
models = [learner.latent_model(t) for t in range(T)]
print("     ELBO   log p(x)  reconstruction score")
for model, task in zip(models, stream, strict=True):
    values = mean_and_errors(importance_sampled(model, task.x_test, samples=100))
    score = reconstruction_score(model, task.x_test).mean()
    print(
        f"{task.name}  {values['elbo']:7.1f}  {values['log_likelihood']:8.1f}  "
        f"{score:20.1f}"
    )

# %% [markdown] slideshow={"slide_type": "slide"}
# The ELBO is always the lowest. It is below $\log p(x)$ by the KL divergence of $q$
# from the true posterior (tutorial 8). The score is above the ELBO by at least $KL[q(z
# \mid x) \,\|\, p(z)]$: it leaves this term out, and it averages *before* the
# logarithm. If codes are free, a model can raise the score arbitrarily. So two such
# numbers from two papers cannot be compared, and a higher one is not necessarily
# better.
#
# ## Label leakage: which encoder?
#
# Are the codes useful? A common test is to classify a test image by its nearest
# neighbours among the training images, measured by the distance of their codes. But
# every task has its own masks, so there are three encoders here. Which one do we use
# for an image whose class we do not know?
#
# * **oracle**: the encoder of the true class. The paper's released code does this, and
#   its reported error on MNIST is 0.37%.
# * **inferred**: the encoder of the task under which the image is most probable.
# * **common**: one encoder for all images, for example the last.

# %% slideshow={"slide_type": "slide"}
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
# The codes are worse than pixels, even with the right encoder. The codes of all tasks
# have the same prior $\mathcal N(0, I)$, so the codes of an A under its encoder overlap
# with the codes of a B under another. No term of the objective separates them, and the
# distance between them is accidental.
#
# So how does the paper arrive at 0.37%? Its released code gives each task a prior with
# a separate mean $c_t$. Does that make a better model? Take our model, add a constant
# $c_t$ for each task to the means of the prior and the encoder, and let the decoder
# subtract it. No probability changes: $p_t(x)$ is the same for every image.

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
# oracle, the label selects the encoder, and the encoder's codes reveal the label. This
# is *label leakage*. The image is not even needed. Send the same uniform noise through
# each of the three (unmoved) encoders, and classify the codes by their encoder:

# %% slideshow={"slide_type": "slide"}
noise = rng.uniform(size=(60, stream[0].inputs)).astype(np.float32)
print(
    f"noise, which encoder? 3-NN error {codes.mask_leak(unmoved, noise, (3,))[0]:.1%}; "
    f"chance would be {1 - 1 / T:.1%}"
)

# %% [markdown] slideshow={"slide_type": "slide"}
# The error of the inferred encoder is now the share of images whose task was not
# identified: $p_t(x)$ is the classifier, and the neighbours add nothing. The error of
# the common encoder has not changed at all. Only its codes can be called a
# representation of the image.
#
# ## A few labels
#
# Unlabelled images are cheap, and labels are expensive. Suppose that one image of each
# class is labelled, or five, or fifty. A new image gets the label of the nearest of
# them. Are codes better than pixels then? (Be careful: each task *was* one class, which
# is a kind of label, too. The inferred encoder with moved codes exploits it.)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Error against labelled images per class. The inferred encoder with moved codes makes almost no errors, pixels fall from a third to a twentieth, the common encoder is worst."}}
results = {"pixels": few_label_error(train, labels, test, test_labels)}
for way in ("inferred", "common"):
    known, asked = coded(way)
    results[f"{way} encoder"] = few_label_error(known, labels, asked, test_labels)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
figures.few_labels(results, ax)
ax.set_title("Nearest of a few labelled images")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Reconstructing letters of another task
#
# Finally, the model of A and the model of B encode and decode letters B.

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Eight letters B, their reconstructions by the model of B, which are B's, and by the model of A, which resemble A's."}}
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
# Solutions are in `solutions/12_continual_autoencoder.py`; `ibpcl check` checks their
# gradients.
#
# 1. **The KL divergence of the codes.** Derive
#    $KL[\mathcal N(m, s^2) \,\|\, \mathcal N(0, 1)]$ with its gradients at
#    $m$ and $\log s$, for each image, and write it as a pair. *Hint:* tutorial 2 with a
#    special prior.
# 2. **How many samples?** Give `LinearModel` a weight matrix with orthogonal rows. How
#    many samples does importance sampling need now, and why? *Hint:* when are the codes
#    independent given $x$?
# 3. **A bound in one line.** Show that the estimate with $K + 1$ samples is on average
#    no lower than with $K$, and confirm it by numbers. *Hint:* the average of $K + 1$
#    weights is the average of its leave-one-out averages.
# 4. **Make a label leak.** Draw codes that contain no information about images. Give
#    the codes of each class a different mean, and classify them by nearest neighbours.
#    Which error do you get with the oracle, and without it? *Hint:* without the oracle
#    all classes have the same mean.
