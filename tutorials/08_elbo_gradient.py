# %% [markdown] slideshow={"slide_type": "slide"}
# # 8. The ELBO and its gradient
#
# Tutorials 2, 6 and 7 derived the pieces: Gaussian weights, Kumaraswamy sticks,
# concrete masks, and a KL divergence for each of them. Here they become one objective,
# the *evidence lower bound* (ELBO). We first derive the bound, and then its gradient
# step by step: one weight, the sticks, one layer, the head, the KL divergences. Each
# step is a pair of functions that is checked before the next step begins. At the end we
# put the pieces together and compare them with the package's network.
#
# **Prerequisites:** tutorials 2 to 4, 6 and 7. **Time:** about 90 minutes.
#
# **You will be able to**
#
# - derive the ELBO, and explain why maximizing it approximates the posterior;
# - write the ELBO of a masked Bayesian network as a sum of four parts;
# - derive its gradient stage by stage, and name the places where gradients add up;
# - derive local reparameterization, and explain why it reduces the gradient's variance;
# - explain why a minibatch scales the likelihood but not the KL divergences.
#
# The paper is Kumar, Chatterjee and Rai, "Bayesian Structure Adaptation for Continual
# Learning", Sec. 3; the objective is its Eq. 8. Sizes: `S` samples, `N` examples,
# `D` inputs, `K` hidden units, `C` classes.

# %%
import matplotlib.pyplot as plt
import numpy as np

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.inference.backend import backend
from ibpcl.models import elbo as package
from ibpcl.models import starts
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked
from ibpcl.models.network import classifier
from ibpcl.noise import Key
from ibpcl.numerics import logit, sigmoid, softplus
from ibpcl.primitives import (
    activations,
    bernoulli,
    concrete,
    gaussian,
    kumaraswamy,
    likelihoods,
    linear,
    local_linear,
    masked_linear,
    stick_breaking,
)
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(5)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Where the ELBO comes from
#
# Collect everything that we do not know in one symbol, $h = (V, B, v)$: the weights
# $V$, the masks $B$ and the sticks $v$. The model has a prior $p(h)$ and a likelihood
# $p(\mathcal D \mid h)$. We want the posterior
#
# $$ p(h \mid \mathcal D) = \frac{p(\mathcal D \mid h)\, p(h)}{p(\mathcal D)}, \qquad
#    p(\mathcal D) = \int p(\mathcal D \mid h)\, p(h)\, dh. $$
#
# The integral $p(\mathcal D)$ is called the *evidence*. It runs over all networks, so
# it cannot be computed. Instead we choose a family of distributions $q(h)$ that we can
# sample from, and look for the member that is closest to the posterior. Closeness is
# the KL divergence. Write it out and insert Bayes' rule, $\log p(h \mid \mathcal D) =
# \log p(\mathcal D \mid h) + \log p(h) - \log p(\mathcal D)$:
#
# $$ KL[q(h) \,\|\, p(h \mid \mathcal D)]
#    = \mathbb E_q\bigl[\log q(h) - \log p(h \mid \mathcal D)\bigr]
#    = \mathbb E_q\bigl[\log q(h) - \log p(h) - \log p(\mathcal D \mid h)\bigr]
#    + \log p(\mathcal D). $$
#
# The evidence came out of the expectation because it does not depend on $h$. Now solve
# for it:
#
# $$ \log p(\mathcal D) = \underbrace{\mathbb E_q[\log p(\mathcal D \mid h)]
#    - KL[q(h) \,\|\, p(h)]}_{\text{ELBO}}
#    + KL[q(h) \,\|\, p(h \mid \mathcal D)]. $$
#
# This one line contains the whole method:
#
# * A KL divergence is never negative. So the ELBO is a **lower bound** of the log
#   evidence, hence its name.
# * The left-hand side does not depend on $q$. If $q$ changes and the ELBO rises by some
#   amount, the KL divergence to the posterior falls by exactly that amount.
#   **Maximizing the ELBO approximates the posterior**, although neither the posterior
#   nor the evidence appears in it.
# * The gap is zero if and only if $q$ is the posterior.
#
# We can check the identity where every term has a closed form: one unknown
# $h$ with the prior $\mathcal N(0, 1)$ and one measurement $y = h +
# \text{noise}$ with noise variance $s^2$. The evidence is then
# $\mathcal N(y; 0, 1 + s^2)$.

# %% slideshow={"slide_type": "slide"}
y, s = 1.5, 0.5
log_evidence = gaussian.log_density(y, 0.0, np.log(1 + s**2) / 2)[0]
posterior_mu, posterior_sigma = y / (1 + s**2), s / np.sqrt(1 + s**2)
identity = []
print("       q            ELBO   KL to posterior       sum   log evidence")
for q_mu, q_sigma in ((0.0, 1.0), (1.0, 0.8), (posterior_mu, posterior_sigma)):
    one = np.full(1, q_mu), np.full(1, np.log(q_sigma))
    expected = gaussian.log_density(y, q_mu, np.log(s))[0] - q_sigma**2 / (2 * s**2)
    bound = expected - gaussian.kl(*one, np.zeros(1), np.zeros(1))[0]
    gap, _ = gaussian.kl(
        *one, np.full(1, posterior_mu), np.full(1, np.log(posterior_sigma))
    )
    identity.append((bound, gap))
    row = f"N({q_mu:.1f}, {q_sigma:.2f}^2) {bound:10.6f} {gap:17.6f}"
    print(f"{row} {bound + gap:9.6f} {log_evidence:14.6f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Why the KL divergence splits into three
#
# In our model the joint distributions are products. The prior draws weights and sticks
# independently, and the masks given the sticks. The approximate posterior copies this
# structure:
#
# $$ p(h) = p(V)\, p(v)\, p(B \mid v), \qquad q(h) = q(V)\, q(v)\, q(B \mid v). $$
#
# The logarithm turns the products into sums, so $KL[q(h) \,\|\, p(h)]$ is the
# expectation of
#
# $$ \log\frac{q(V)}{p(V)} + \log\frac{q(v)}{p(v)} + \log\frac{q(B \mid v)}{p(B \mid v)}. $$
#
# The first term depends on $V$ only, so its expectation is $KL[q(V) \,\|\,
# p(V)]$. The second one depends on $v$ only and gives $KL[q(v) \,\|\, p(v)]$. The third
# one depends on $B$ *and* on $v$. Take the expectation in two steps, first over
# $B$ given $v$ and then over $v$:
#
# $$ \mathbb E_{q(v)}\, \mathbb E_{q(B \mid v)} \Bigl[\log\frac{q(B \mid v)}{p(B \mid v)}\Bigr]
#    = \mathbb E_{q(v)}\, KL[q(B \mid v) \,\|\, p(B \mid v)]. $$
#
# The inner expectation is a KL divergence with a closed form (tutorial 7). The outer
# one remains, because the sticks are random and they are the masks' prior. Hence the
# ELBO of one task, with four parts:
#
# $$ \mathcal L = \underbrace{\mathbb E_q \Bigl[\sum_n \log p(y_n \mid x_n, V, B)\Bigr]}_{\text{log-likelihood}}
#    - \underbrace{KL[q(V) \,\|\, p(V)]}_{\text{weights}}
#    - \underbrace{\mathbb E_{q(v)} KL[q(B \mid v) \,\|\, p(B \mid v)]}_{\text{masks}}
#    - \underbrace{KL[q(v) \,\|\, p(v)]}_{\text{sticks}}. $$
#
# The split is easy to check with one stick and one mask. We draw both many times,
# average $\log q(v, B) - \log p(v, B)$, and compare it with the two KL divergences. The
# mask has the log-odds $\rho + \operatorname{logit} v$ under
# $q$, and $\operatorname{logit} v$ under $p$.

# %% slideshow={"slide_type": "slide"}
draws = np.random.default_rng(8)
q_a, q_b, prior_alpha, rho_one, repeats = 5.0, 2.0, 3.0, 1.0, 1_000_000
log_v, _ = kumaraswamy.sample(
    draws.uniform(size=(repeats, 1)), np.full(1, q_a), np.full(1, q_b)
)
log_v = log_v.ravel()
v = np.exp(log_v)
theta = sigmoid(rho_one + logit(v))
on = draws.uniform(size=repeats) < theta
log_ratio_v = (
    np.log(q_a * q_b) + (q_a - 1) * log_v + (q_b - 1) * np.log1p(-(v**q_a))
) - (np.log(prior_alpha) + (prior_alpha - 1) * log_v)
log_ratio_B = np.where(on, np.log(theta / v), np.log((1 - theta) / (1 - v)))
joint = log_ratio_v + log_ratio_B
kl_v, _ = kumaraswamy.kl_to_beta(np.full(1, q_a), np.full(1, q_b), prior_alpha)
kl_B = theta * np.log(theta / v) + (1 - theta) * np.log((1 - theta) / (1 - v))
joint_error = joint.std() / np.sqrt(repeats)
print(f"joint KL, sampled     {joint.mean():.4f} +- {joint_error:.4f} nats")
print(
    f"sticks + masks        {kl_v + kl_B.mean():.4f} = {kl_v:.4f} + {kl_B.mean():.4f}"
)

# %% [markdown] slideshow={"slide_type": "slide"}
# In continual learning the prior of task $t$ is the posterior of task $t - 1$ (tutorial
# 2). Nothing else changes in these formulas.
#
# We estimate the expectations by averages over $S$ samples. Each sample is a function
# of the parameters and of noise whose distribution has no parameter. With the noise
# held fixed, $\mathcal L$ is an ordinary function, and its gradient follows from the
# chain rule alone.
#
# ## One weight
#
# Begin with a single weight of the network. Its value is a Gaussian sample times a
# relaxed mask:
#
# $$ w = z\,v, \qquad v = \mu + e^{\log\sigma} \varepsilon, \qquad
#    z = \sigma\Bigl(\frac{\rho + \operatorname{logit}\pi + \ell}{\tau}\Bigr). $$
#
# Suppose the rest of the network gives us `dw`, the gradient of the objective at $w$.
# The product rule splits it: $v$ receives $z \cdot$`dw`, the mask receives
# $v \cdot$`dw`. The remaining derivatives are known: $\partial v / \partial\mu = 1$ and
# $\partial v / \partial\log\sigma = \sigma\varepsilon$ from [tutorial
# 2](02_gaussian_weights.py), and $\partial z / \partial\rho = z (1 - z) / \tau$ from
# [tutorial 7](07_masks.py). In the mask $\operatorname{logit}\pi$ is added to $\rho$,
# so both receive the same gradient.

# %% slideshow={"slide_type": "slide"}
eps, logistic, tau = 0.8, -0.4, 0.6  # noise and temperature, fixed


def one_weight(mu, log_sigma, rho, logit_pi):
    noise = np.exp(log_sigma) * eps
    z = sigmoid((rho + logit_pi + logistic) / tau)
    return z * (mu + noise), (noise, z, mu + noise)


def one_weight_vjp(dw, cache):
    noise, z, v = cache
    dv, dz = dw * z, dw * v  # the product rule
    drho = dz * z * (1 - z) / tau
    return dv, dv * noise, drho, drho  # logit_pi is added to rho


print(
    check(
        one_weight,
        one_weight_vjp,
        {"mu": 0.5, "log_sigma": -1.0, "rho": 0.3, "logit_pi": 1.2},
    )
)

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** A mask is off, $z \approx 0$. Which of `mu`, `log_sigma` and
# > `rho` still receives a gradient from the data?
#
# <details><summary>Answer</summary>
#
# None of them, when $z$ is exactly zero: $\partial w / \partial\mu = z$, and $z (1 -
# z)$ vanishes, too. Only the KL divergences act on a weight that is off.
#
# </details>
#
# Look again at $\partial w / \partial\mu = z$. Where a mask is off, $z \approx 0$, the
# data do not change the weight's mean: a weight that a task does not use is not moved
# by that task. And because $\partial w / \partial\rho \propto v$, a mask in front of a
# weight near zero learns nothing. The product makes weights and masks depend on each
# other.
#
# ## Backward through the sticks
#
# In a layer, unit $k$ has one prior probability $\pi_k$ for all its
# $D$ weights, and the $\pi_k$ come from sticks:
#
# $$ raw \xrightarrow{\text{softplus}} (a, b) \xrightarrow{\text{sample}} \log v_i \xrightarrow{\sum_{i \le k}}
#    \log\pi_k \xrightarrow{} \operatorname{logit}\pi_k = \log\pi_k - \log(1 - \pi_k). $$
#
# The backward pass takes these stages in the opposite order. It starts from
# `dlogit_pi`:
#
# * $\frac{d \operatorname{logit}\pi}{d \log\pi} = \frac{1}{1 - \pi}$ ([tutorial
#   7](07_masks.py));
# * $\log\pi_k = \sum_{i \le k} \log v_i$ is a cumulative sum. Stick
#   $i$ is in all the sums with $k \ge i$, so $\texttt{dlog\_v}_i = \sum_{k \ge i}
#   \texttt{dlog\_pi}_k$: a cumulative sum **from the other end**;
# * the gradient of the Kumaraswamy sample with respect to $a$ and $b$ ([tutorial
#   6](06_sticks.py)), summed over samples;
# * softplus: $\frac{d}{dx} \log(1 + e^x) = \sigma(x)$.

# %% slideshow={"slide_type": "slide"}
S, N, D, K, C = 3, 8, 6, 5, 3
stick_u = rng.uniform(size=(S, K))


def sticks(raw_a, raw_b):
    a, b = softplus(raw_a), softplus(raw_b)
    log_v, stick_cache = kumaraswamy.sample(stick_u, a, b)
    log_pi = np.cumsum(log_v, axis=-1)
    logit_pi, logit_cache = stick_breaking.logit_probabilities(log_pi)
    return logit_pi, (raw_a, raw_b, stick_cache, logit_cache)


def sticks_vjp(dlogit_pi, cache):
    raw_a, raw_b, stick_cache, logit_cache = cache
    dlog_pi = stick_breaking.logit_probabilities_vjp(dlogit_pi, logit_cache)
    dlog_v = np.cumsum(dlog_pi[:, ::-1], axis=-1)[:, ::-1]  # from the other end
    da, db = kumaraswamy.sample_vjp(dlog_v, stick_cache)
    return da * sigmoid(raw_a), db * sigmoid(raw_b)


raw_a, raw_b = rng.normal(4.0, 0.3, K), rng.normal(0.5, 0.3, K)
print(check(sticks, sticks_vjp, (raw_a, raw_b)))

# %% [markdown]
# Which units depend on which sticks? The figure shows it. The left matrix is
# $\partial\log\pi_k / \partial\log v_i$, a triangle of ones. The right one is
# $\partial\operatorname{logit}\pi_k / \partial raw_{a,i}$ for one sample. The first
# stick moves every unit, the last one only the last unit. The entries fall down each
# column. A stick changes $\log\pi_k$ of all units by the same amount, but their
# log-odds by $\frac{1}{1 - \pi_k}$ times as much, which is more where $\pi_k$ is
# larger.

# %%
_, cache = sticks(raw_a, raw_b)
first_sample = np.zeros((K, S, K))
first_sample[np.arange(K), 0, np.arange(K)] = 1.0  # one cotangent per unit of sample 0
jacobian = np.stack([sticks_vjp(cotangent, cache)[0] for cotangent in first_sample])
matrices = {
    r"$\partial\log\pi_k / \partial\log v_i$": np.tril(np.ones((K, K))),
    r"$\partial\,\mathrm{logit}\,\pi_k / \partial\,raw_{a,i}$, one sample": jacobian,
}

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Two square matrices of units against sticks. Left: a lower triangle of ones. Right: a lower triangle whose entries fall down each column."}}
figure, panels = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for axes, (title, matrix) in zip(panels, matrices.items(), strict=True):
    image = axes.imshow(matrix, cmap="viridis")
    axes.set(xlabel="stick $i$", ylabel="unit $k$", title=title)
    axes.set(xticks=range(K), yticks=range(K))
    figure.colorbar(image, ax=axes, shrink=0.8)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A layer
#
# A layer has weights `mu`, `log_sigma` (D, K), biases `bias_mu`, `bias_log_sigma` (K,)
# and masks `rho` (D, K). Its input is `x` and the log-odds `logit_pi` of its sticks.
# The formula of the model easily hides one detail: each bias is multiplied by the
# *activity* of its unit, $u_k = \max_d z_{dk}$. A unit without any weight has no bias
# either.
#
# The package draws the noise, so that we can compare our gradient with the package's
# later. `classifier` builds a network of one hidden layer of the kind `Masked` and a
# softmax head. `Key` names a block of noise by four numbers: seed, task, step and
# stream. The same key always gives the same noise.
#
# The layer returns its pre-activations and the KL divergence of its masks:

# %%
examples, alpha, prior_log_sigma = (
    40,
    4.0,
    np.log(0.7),
)  # N of the whole task; the prior
x, labels = rng.standard_normal((N, D)), rng.integers(0, C, N)
model = classifier(D, (K,), Softmax(), C, Masked)
reference = backend("numpy")
noise = model.noise(Key(5, 0, 0, 0), S, N, reference, np.float64)
weight_eps, bias_eps, stick_u, mask_logistic = noise["hidden0"].values()


def layer(x, mu, log_sigma, bias_mu, bias_log_sigma, rho, logit_pi):
    logit_theta = rho + logit_pi[:, None, :]  # (S, D, K)
    z, c_mask = concrete.sample(mask_logistic, logit_theta, tau)
    v, c_weight = gaussian.sample(weight_eps, mu, log_sigma)
    activity, c_activity = masked_linear.column_activity(z)
    bias, c_bias = gaussian.sample(bias_eps, bias_mu, bias_log_sigma)
    h, c_linear = linear.apply(x, z * v, bias * activity)  # (S, N, K)
    kl, c_kl = bernoulli.kl(logit_theta, logit_pi)  # (S,)
    caches = c_mask, c_weight, c_activity, c_bias, c_linear, c_kl
    return (h, kl), (z, v, activity, bias, caches)


# %% [markdown]
# Every line has a counterpart in the backward pass, in the opposite order: the gradient
# at its inputs is `f_vjp` of the gradient at its outputs. Only the values that are used
# more than once need thought, because there gradients **add up**:
#
# * `z` is used in `z * v` and in the activity;
# * `logit_theta` is used in the mask and in its KL divergence;
# * `logit_pi` is used in `logit_theta` and, as the prior, in the KL divergence.
#
# Values that were broadcast are summed: `rho` over the samples, `logit_pi` over the
# inputs.


# %%
def layer_vjp(dout, cache):
    dh, dkl = dout
    z, v, activity, bias, caches = cache
    c_mask, c_weight, c_activity, c_bias, c_linear, c_kl = caches
    dx, dw, dscaled_bias = linear.apply_vjp(dh, c_linear)
    dmu, dlog_sigma = gaussian.sample_vjp(dw * z, c_weight)
    dbias_mu, dbias_log_sigma = gaussian.sample_vjp(dscaled_bias * activity, c_bias)
    # z is used twice,
    dz = dw * v + masked_linear.column_activity_vjp(dscaled_bias * bias, c_activity)
    # and so is logit_theta.
    dlogit_theta, dlogit_pi = bernoulli.kl_vjp(dkl, c_kl)
    dlogit_theta = dlogit_theta + concrete.sample_vjp(dz, c_mask)
    drho = dlogit_theta.sum(axis=0)  # rho was broadcast over S
    dlogit_pi = dlogit_pi + dlogit_theta.sum(axis=1)  # logit_pi over D
    return dx, dmu, dlog_sigma, dbias_mu, dbias_log_sigma, drho, dlogit_pi


parameters = {
    "mu": rng.normal(0, 0.5, (D, K)),
    "log_sigma": rng.normal(-1, 0.3, (D, K)),
    "bias_mu": rng.normal(0, 0.5, K),
    "bias_log_sigma": rng.normal(-1, 0.3, K),
    "rho": rng.normal(0, 0.7, (D, K)),
    "raw_a": raw_a,
    "raw_b": raw_b,
    "head_mu": rng.normal(0, 0.5, (K, C)),
    "head_log_sigma": rng.normal(-1, 0.3, (K, C)),
    "head_bias_mu": rng.normal(0, 0.5, C),
    "head_bias_log_sigma": rng.normal(-1, 0.3, C),
}
names = ("mu", "log_sigma", "bias_mu", "bias_log_sigma", "rho")
layer_inputs = {"x": x, **{name: parameters[name] for name in names}}
layer_inputs["logit_pi"] = rng.standard_normal((S, K))
print(check(layer, layer_vjp, layer_inputs))

# %% [markdown] slideshow={"slide_type": "slide"}
# ### A mistake, and how it is caught
#
# The path that is forgotten most easily is the smallest one: the mask's effect on the
# *bias*, through the activity.
#
# > **Stop and predict.** Without that path, which gradients are wrong? In all their
# > entries, or only in some?
#
# <details><summary>Answer</summary>
#
# Those of `rho` and `logit_pi`, which come after the masks in the backward pass. In
# `rho` only some entries are wrong: the activity is a maximum, and only the largest
# mask of each unit and sample is on that path.
#
# </details>


# %% slideshow={"slide_type": "slide"}
def forgetful_vjp(dout, cache):
    z, v, activity, bias, caches = cache
    return layer_vjp(dout, (z, v, activity, 0 * bias, caches))


report = check(layer, forgetful_vjp, layer_inputs)
print("right:", *(item.name for item in report.inputs if item.ok))
for item in report.inputs:
    if not item.ok:
        wrong, compared = item.numbers["wrong"], item.numbers["compared"]
        print(f"wrong: {item.name}, {wrong} of {compared} entries")
print("\nthe report on rho:", report["rho"].words)

# %% [markdown] slideshow={"slide_type": "slide"}
# A network would train with the wrong gradient without any complaint.
#
# ## The head: local reparameterization
#
# The head's weights `head_mu`, `head_log_sigma` (K, C) and biases are Gaussian, without
# a mask. We could draw them as in the layer. There is a better way, which the package
# uses for the head, for fine-tuning and for every prediction.
#
# **The moments.** Take one output of the head, $o = \sum_k x_k w_k + b$, for a *given*
# input $x$. It is a linear combination of independent Gaussians, so it is Gaussian
# itself. Two numbers describe it completely. Expectations are linear, so the mean is
#
# $$ m = \mathbb E[o] = \sum_k x_k \mu_k + \mu_b. $$
#
# Variances of independent terms add up, and $\operatorname{Var}[x_k w_k] = x_k^2
# \operatorname{Var}[w_k]$:
#
# $$ s^2 = \operatorname{Var}[o] = \sum_k x_k^2 \sigma_k^2 + \sigma_b^2. $$
#
# So we may draw the pre-activation directly, $o = m + s\,\zeta$ with
# $\zeta \sim \mathcal N(0, 1)$, with separate noise for each example. This is *local
# reparameterization* (Kingma, Salimans and Welling, 2015). Different outputs use
# different weights, so they stay independent. One thing does change. With one weight
# matrix per sample, all examples share their weights, and their outputs are correlated.
# Now they are independent. The ELBO does not notice: its log-likelihood is a *sum* over
# examples, and the expectation of a sum needs the distribution of each term only.
#
# **The gradient's variance.** Let $g_n = \partial \log p(y_n \mid o_n) / \partial o_n$
# be the slope for example $n$, which depends on its output $o_n$ alone. The gradients
# are
#
# | | sampled weights, $w_k = \mu_k + \sigma_k \varepsilon_k$ | sampled outputs, $o_n = m_n + s_n \zeta_n$ |
# |---|---|---|
# | at $\mu_k$ | $\sum_n g_n x_{nk}$ | $\sum_n g_n x_{nk}$ |
# | at $\sigma_k$ | $\sum_n g_n x_{nk}\, \varepsilon_k$ | $\sum_n g_n x_{nk}\, \zeta_n \frac{x_{nk} \sigma_k}{s_n}$ |
#
# The second row of the last column is the chain rule: $\partial o_n / \partial \sigma_k
# = \zeta_n\, \partial s_n / \partial \sigma_k$. The gradient has less variance for two
# reasons:
#
# 1. *No covariances between examples.* The variance of a sum is $\sum_n
#    \operatorname{Var}[\cdot] + \sum_{n \ne m} \operatorname{Cov}[\cdot, \cdot]$. Of
#    these terms, $N$ are variances and $N (N - 1)$ are covariances. With sampled
#    outputs all covariances are zero. With sampled weights they are not. Take equal
#    widths and the gradient at $\mu$. The covariance of $o_n$ and $o_m$ has the sign of
#    $x_n \cdot x_m$, and so has the covariance of $g_n$ and $g_m$, because
#    $g$ falls as $o$ rises. Summed over $k$ the gradient multiplies it by $\sum_k
#    x_{nk} x_{mk} = x_n \cdot x_m$. The product is not negative: the covariances add
#    up.
# 2. *Fewer sources of noise.* For one example, $\varepsilon_k$ and $o_n$ are jointly
#    Gaussian with covariance $x_{nk} \sigma_k$. So the mean of
#    $\varepsilon_k$ given $o_n$ is $\frac{x_{nk} \sigma_k}{s_n^2} (o_n - m_n) =
#    \frac{x_{nk} \sigma_k}{s_n} \zeta_n$. This is exactly the factor in the last
#    column: the local gradient is the conditional expectation of the other one, given
#    the output. A conditional expectation has the same mean, and its variance is never
#    larger (the Rao-Blackwell theorem).
#
# Both claims can be checked. First the moments of one output, and then the variance of
# both gradients for a logistic regression with $40$ examples:

# %% slideshow={"slide_type": "slide"}
draws = np.random.default_rng(11)
inputs, binary = draws.standard_normal((examples, K)), draws.integers(0, 2, examples)
mean_w, sigma_w = draws.normal(0, 0.5, K), np.full(K, 0.4)
w = mean_w + sigma_w * draws.standard_normal((100_000, K))
o_weights = w @ inputs.T  # all examples share the weights of a sample
m, s = inputs @ mean_w, np.sqrt(inputs**2 @ sigma_w**2)
zeta = draws.standard_normal((100_000, examples))
o_local = m + s * zeta
print("first output          sampled   derived")
print(f"  mean                {o_weights[:, 0].mean():7.3f}   {m[0]:7.3f}")
print(f"  standard deviation  {o_weights[:, 0].std():7.3f}   {s[0]:7.3f}")

g_weights, g_local = binary - sigmoid(o_weights), binary - sigmoid(o_local)
eps_w = (w - mean_w) / sigma_w
gradients = {
    "mu": (g_weights @ inputs, g_local @ inputs),
    "sigma": ((g_weights @ inputs) * eps_w, (g_local * zeta / s) @ inputs**2 * sigma_w),
}
ratios, shifts = {}, {}
print("gradient   difference of the means     variance: weights / outputs")
for name, (by_weights, by_outputs) in gradients.items():
    shift = np.abs(by_weights.mean(axis=0) - by_outputs.mean(axis=0))
    error = np.sqrt((by_weights.var(axis=0) + by_outputs.var(axis=0)) / len(w))
    shifts[name] = (shift / error).max()
    ratios[name] = by_weights.var(axis=0).sum() / by_outputs.var(axis=0).sum()
    print(f"{name:8s} {shifts[name]:9.1f} standard errors {ratios[name]:19.1f}")

# %% [markdown]
# The means agree, so both gradients are unbiased estimates of the same number. The
# variances do not. Now the head of the network, with the package's `local_linear`:


# %% slideshow={"slide_type": "slide"}
def head(h, head_mu, head_log_sigma, head_bias_mu, head_bias_log_sigma):
    hidden, c_relu = activations.relu(h)
    sigma, bias_sigma = np.exp(head_log_sigma), np.exp(head_bias_log_sigma)
    outputs, c_head = local_linear.apply(
        noise["head"]["eps"], hidden, head_mu, sigma, head_bias_mu, bias_sigma
    )
    log_p, c_likelihood = likelihoods.categorical(outputs, labels)  # (S, N)
    return log_p, (c_relu, sigma, bias_sigma, c_head, c_likelihood)


def head_vjp(dlog_p, cache):
    c_relu, sigma, bias_sigma, c_head, c_likelihood = cache
    doutputs = likelihoods.categorical_vjp(dlog_p, c_likelihood)
    dhidden, dmu, dsigma, dbias_mu, dbias_sigma = local_linear.apply_vjp(
        doutputs, c_head
    )
    dh = activations.relu_vjp(dhidden, c_relu)
    return dh, dmu, dsigma * sigma, dbias_mu, dbias_sigma * bias_sigma


head_names = ("head_mu", "head_log_sigma", "head_bias_mu", "head_bias_log_sigma")
(h, _), _ = layer(**layer_inputs)
head_inputs = {"h": h, **{name: parameters[name] for name in head_names}}
print(check(head, head_vjp, head_inputs))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The KL divergence of the Gaussian weights
#
# Four groups of Gaussian parameters have the same prior $\mathcal N(0, 0.7^2)$: weights
# and biases of the layer and of the head. Their KL divergences add up. Each gradient
# depends on its own group only.


# %% slideshow={"slide_type": "slide"}
def weights_kl(*gaussians):
    total, caches = 0.0, []
    for mu, log_sigma in zip(gaussians[::2], gaussians[1::2], strict=True):
        prior = np.zeros_like(mu), np.full_like(log_sigma, prior_log_sigma)
        kl, cache = gaussian.kl(mu, log_sigma, *prior)
        total = total + kl
        caches.append(cache)
    return total, caches


def weights_kl_vjp(dkl, caches):
    gradients = []
    for cache in caches:
        gradients += gaussian.kl_vjp(dkl, cache)[:2]
    return tuple(gradients)


gaussian_names = ("mu", "log_sigma", "bias_mu", "bias_log_sigma", *head_names)
print(
    check(
        weights_kl, weights_kl_vjp, tuple(parameters[name] for name in gaussian_names)
    )
)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All together
#
# Now the ELBO is a composition: sticks, layer, head, and the KL divergences. The
# likelihood is multiplied by (examples of the task) / (examples of the minibatch), the
# KL divergences are not. The last section explains why.


# %%
def elbo(
    mu, log_sigma, bias_mu, bias_log_sigma, rho, raw_a, raw_b,
    head_mu, head_log_sigma, head_bias_mu, head_bias_log_sigma,
):  # fmt: skip
    hidden_gaussians = mu, log_sigma, bias_mu, bias_log_sigma
    head_gaussians = head_mu, head_log_sigma, head_bias_mu, head_bias_log_sigma
    logit_pi, c_sticks = sticks(raw_a, raw_b)
    kl_sticks, c_kl_sticks = kumaraswamy.kl_to_beta(
        softplus(raw_a), softplus(raw_b), alpha
    )
    (h, kl_masks), c_layer = layer(x, *hidden_gaussians, rho, logit_pi)
    log_p, c_head = head(h, *head_gaussians)
    kl_weights, c_weights = weights_kl(*hidden_gaussians, *head_gaussians)
    parts = examples / N * log_p.sum() / S, kl_weights, kl_masks.mean(), kl_sticks
    return parts, (c_sticks, c_kl_sticks, c_layer, c_head, c_weights, raw_a, raw_b)


def elbo_vjp(dparts, cache):
    c_sticks, c_kl_sticks, c_layer, c_head, c_weights, raw_a, raw_b = cache
    dlikelihood, dkl_weights, dkl_masks, dkl_sticks = dparts
    dlog_p = np.full((S, N), dlikelihood * examples / N / S)
    dh, *dhead = head_vjp(dlog_p, c_head)
    _, *dhidden, drho, dlogit_pi = layer_vjp((dh, np.full(S, dkl_masks / S)), c_layer)
    draw_a, draw_b = sticks_vjp(dlogit_pi, c_sticks)
    da, db, _ = kumaraswamy.kl_to_beta_vjp(dkl_sticks, c_kl_sticks)
    # The Gaussians receive gradients from the data and from their KL divergence.
    from_kl = weights_kl_vjp(dkl_weights, c_weights)
    dgaussians = [a + b for a, b in zip((*dhidden, *dhead), from_kl, strict=True)]
    draw_a, draw_b = draw_a + da * sigmoid(raw_a), draw_b + db * sigmoid(raw_b)
    return (*dgaussians[:4], drho, draw_a, draw_b, *dgaussians[4:])


# %% [markdown] slideshow={"slide_type": "slide"}
# The cotangent has one number per part: `(1, -1, -1, -1)` gives the gradient of the
# ELBO.
#
# ## Is it right?
#
# We compare the gradient with three others. The first comes from the complex step, by
# hand: we give each entry of each parameter an imaginary step. This uses only our
# forward functions.

# %% slideshow={"slide_type": "slide"}
signs = np.array([1.0, -1.0, -1.0, -1.0])  # of the parts, in the ELBO
parts, cache = elbo(**parameters)
by_hand = dict(zip(parameters, elbo_vjp(signs, cache), strict=True))
for name, part in zip(
    ("log-likelihood", "KL of weights", "KL of masks", "KL of sticks"),
    parts,
    strict=True,
):
    print(f"{name:15s} {part:9.3f} nats")


def complex_steps(name, h=1e-20):
    gradient = np.zeros_like(parameters[name])
    for place in np.ndindex(gradient.shape):
        moved = parameters[name].astype(complex)
        moved[place] += 1j * h
        moved_parts, _ = elbo(**{**parameters, name: moved})
        gradient[place] = np.dot(signs, moved_parts).imag / h
    return gradient


print(
    "\nparameter             numbers   largest relative difference to the complex step"
)
for name, gradient in by_hand.items():
    by_step = complex_steps(name)
    error = np.abs(gradient - by_step).max() / np.abs(by_step).max()
    assert error < 1e-9
    print(f"{name:20s} {gradient.size:8d}   {error:.1e}")

# %% [markdown]
# The second comparison is `check`. It looks at each part separately, so that a mistake
# in one part cannot hide behind another, and it adds finite differences and random
# cotangents.

# %% slideshow={"slide_type": "slide"}
print(check(elbo, elbo_vjp, parameters))

# %% [markdown]
# The third comparison is the package's own network. It keeps all parameters in one
# vector. `model.initial` makes such a vector: the means are drawn with standard
# deviation $0.5$, all widths are $0.3$, and the sticks start at their prior.
# `model.layout.layers` gives views of the vector by layer and name, and we write our
# parameters into them. `package.Prior` holds the prior's means, log widths, and the
# concentration $\alpha$ of each masked layer.

# %%
vector = model.initial(starts.normal(rng, 0.5), 0.3, (alpha,), np.float64)
gaussian_keys = ("weight.mu", "weight.log_sigma", "bias.mu", "bias.log_sigma")
hidden_keys = dict(zip(gaussian_keys, gaussian_names[:4], strict=True))
hidden_keys |= {name: name for name in ("rho", "raw_a", "raw_b")}
head_keys = dict(zip(gaussian_keys, head_names, strict=True))


def matching(vector):
    """Yield each view of the package's vector with the name of our parameter."""
    layers = model.layout.layers(vector).values()
    for views, keys in zip(layers, (hidden_keys, head_keys), strict=True):
        for key, name in keys.items():
            yield views[key], name


for view, name in matching(vector):
    view[...] = parameters[name]

count = model.layout.block("mu").stop
prior = package.Prior(
    np.zeros(count), np.full(count, prior_log_sigma), {"hidden0": alpha}
)
package_parts, package_cache = package.elbo(
    model, vector, prior, x, labels, noise, examples, reference, None, tau
)
package_gradient = package.elbo_vjp(package.GRADIENT, package_cache)
gap = max(abs(a - b) for a, b in zip(parts, package_parts, strict=False))
difference = max(
    np.abs(view - by_hand[name]).max() for view, name in matching(package_gradient)
)
print(f"largest difference in the parts:              {gap:.1e}")
print(f"largest difference to the package's elbo_vjp: {difference:.1e}")
assert difference < 1e-9 * np.abs(package_gradient).max()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which part acts on which parameters
#
# A cotangent of `(1, 0, 0, 0)` gives the gradient of the likelihood alone,
# `(0, 1, 0, 0)` the gradient of the first KL divergence, and so on. Their norms show
# the structure of the model at a glance.
#
# > **Stop and predict.** Four parts, four groups of parameters: sixteen norms. Which of
# > them are zero?
#
# <details><summary>Answer</summary>
#
# Seven: the weights' KL divergence acts on means and widths only, the masks' on masks
# and sticks only, the sticks' on sticks only. The likelihood reaches everything.
#
# </details>

# %% slideshow={"slide_type": "slide"}
groups = {
    "means": ("mu", "bias_mu", "head_mu", "head_bias_mu"),
    "widths": ("log_sigma", "bias_log_sigma", "head_log_sigma", "head_bias_log_sigma"),
    "masks": ("rho",),
    "sticks": ("raw_a", "raw_b"),
}
norms = np.zeros((4, 4))
for row in range(4):
    gradient = dict(zip(parameters, elbo_vjp(np.eye(4)[row], cache), strict=True))
    for column, members in enumerate(groups.values()):
        norms[row, column] = np.sqrt(
            sum(np.sum(gradient[name] ** 2) for name in members)
        )
print(f"{'norm of the gradient of':26s}" + "".join(f"{group:>10s}" for group in groups))
for name, row in zip(
    ("log-likelihood", "KL of weights", "KL of masks", "KL of sticks"),
    norms,
    strict=True,
):
    print(f"{name:26s}" + "".join(f"{norm:10.4f}" for norm in row))

# %% [markdown]
# The masks' KL divergence acts on the masks *and* on the sticks, because the sticks are
# the masks' prior. So three terms act on the sticks: the likelihood, the masks' KL
# divergence and their own.
#
# In which direction does each KL divergence pull? Each acts like a spring with a
# position of rest. The force is minus the gradient:

# %%
means, offsets = np.linspace(-2, 2, 201), np.linspace(-8, 8, 321)
weight_forces, mask_forces = {}, {}
for prior_sigma in (0.5, 0.7, 1.5):
    width = np.full_like(means, np.log(prior_sigma))
    _, kl_cache = gaussian.kl(means, width, np.zeros_like(means), width)
    label = rf"prior's $\sigma = {prior_sigma:g}$"
    weight_forces[label] = -gaussian.kl_vjp(1.0, kl_cache)[0]
for pi in (0.5, 0.1, 0.01):
    log_odds = np.full((1, 1), logit(pi))
    logit_theta = log_odds[:, None, :] + offsets[None, :, None]
    _, kl_cache = bernoulli.kl(logit_theta, log_odds)
    force = -bernoulli.kl_vjp(np.ones(1), kl_cache)[0].ravel()
    mask_forces[rf"Bernoulli, $\pi = {pi:g}$"] = force
_, kl_cache = concrete.kl(offsets[None, :, None], np.zeros((1, 1)))
mask_forces["concrete"] = -concrete.kl_vjp(np.ones(1), kl_cache)[0].ravel()

grid_a, grid_b = np.meshgrid(np.linspace(1.5, 8, 12), np.linspace(0.4, 3, 11))
_, kl_cache = kumaraswamy.kl_to_beta(grid_a.ravel(), grid_b.ravel(), alpha)
da, db, _ = kumaraswamy.kl_to_beta_vjp(1.0, kl_cache)
length = np.hypot(da, db)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Forces of the three KL divergences. Weights: straight lines through zero, steeper for a narrow prior. Masks: zero at rho = 0; a Bernoulli mask's force dies out far away, the concrete one's does not. Sticks: arrows towards a = 4, b = 1."}}
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(9, 3.4), layout="constrained"
)
for label, force in weight_forces.items():
    left.plot(means, force, label=label)
for (label, force), color in zip(
    mask_forces.items(), ("C0", "C1", "C2", "black"), strict=True
):
    middle.plot(offsets, force, color=color, label=label)
arrows = right.quiver(
    grid_a.ravel(),
    grid_b.ravel(),
    -da / length,
    -db / length,
    np.log10(length),
    cmap="viridis",
)
right.plot(alpha, 1, "*", color="C1", markersize=14)
figure.colorbar(arrows, ax=right, label=r"$\log_{10}$ of the force")
left.set(
    xlabel=r"mean $\mu$ of a weight",
    ylabel="force",
    title="Weights: to the prior's mean",
)
middle.set(xlabel=r"$\rho$", ylabel="force", title="Masks: to $\\rho = 0$")
right.set(xlabel="$a$", ylabel="$b$", title=f"Sticks: to Beta({alpha:g}, 1)")
left.legend(fontsize=7)
middle.legend(fontsize=7)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# On a Bernoulli mask with a probability close to zero or one the force vanishes:
# $\theta (1 - \theta) \rho$ tends to zero at both ends. The Bernoulli divergence does
# not bring back a mask that has gone far. The concrete divergence pulls with a force
# that tends to one, however far away the mask is. The sticks' divergence is steep
# towards small $a$, where almost nothing of a stick would be left. It is steep towards
# small $b$ as well, where almost all of a stick would be left. Towards large $a$ it is
# gentle.
#
# ## How noisy is the gradient?
#
# The gradient is an average of $S$ independent samples, so its variance is the variance
# of one sample divided by $S$: half the error costs four times the samples. A minibatch
# adds a second source of noise, the choice *which examples* were drawn. That source
# does not depend on $S$. Here are both, measured on a task of $40$ examples:

# %% slideshow={"slide_type": "slide"}
task_x = rng.standard_normal((examples, D))
task_labels = np.argmax(task_x[:, :C], axis=1)  # labels that can be learned


def package_elbo_gradient(chosen, scale, noise):
    data = task_x[chosen], task_labels[chosen]
    _, cache = package.elbo(
        model, vector, prior, *data, noise, scale, reference, None, tau
    )
    return package.elbo_vjp(package.GRADIENT, cache)


counts, repeats = [1, 2, 4, 8, 16, 32], 80
variance = {"all 40 examples": [], "minibatches of 8": []}
for samples in counts:
    for size, values in zip((examples, 8), variance.values(), strict=True):
        estimates = []
        for step in range(repeats):
            chosen = rng.permutation(examples)[:size]
            fresh = model.noise(
                Key(9, 0, step, 0), samples, size, reference, np.float64
            )
            estimates.append(package_elbo_gradient(chosen, examples, fresh))
        values.append(np.var(estimates, axis=0, ddof=1).sum())
print("variance of the gradient, summed over all parameters")
print("   S   " + "".join(f"{name:>20s}" for name in variance))
for samples, *row in zip(counts, *variance.values(), strict=True):
    print(f"{samples:4d}   " + "".join(f"{value:20.2f}" for value in row))

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Variance of the gradient against the number of samples: with all examples it falls like 1 / S, with minibatches it approaches a lower limit."}}
figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, values in variance.items():
    axes.loglog(counts, values, "o-", label=name)
inverse = variance["all 40 examples"][0] / np.array(counts)
axes.loglog(counts, inverse, ":", color="0.4", label="$1 / S$")
axes.set(xlabel="samples $S$", ylabel="variance of the gradient")
axes.set(title="More samples help until the minibatch decides")
axes.set_xticks(counts, [str(count) for count in counts])
axes.minorticks_off()
axes.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# With all the examples the variance follows $1 / S$. With minibatches it approaches a
# lower limit. From some $S$ on, more samples are a waste, and a larger minibatch is the
# better investment.
#
# ## The scale of a minibatch
#
# Why is the likelihood multiplied by $N / |b|$, and the KL divergences not? The KL
# divergences belong to the task *as a whole*. They count once per task, not once per
# minibatch. The likelihood is a sum over $N$ examples, and a minibatch holds $|b|$ of
# them. Multiplied by $N / |b|$, its average over all minibatches is the full sum. This
# is not an approximation. Cut the task into five minibatches, and keep the noise of
# each example and of the weights. Then the average of the five gradients *is* the
# gradient of the task.

# %% slideshow={"slide_type": "slide"}
whole = model.noise(Key(9, 0, 1000, 0), S, examples, reference, np.float64)


def gradient_of(chosen, scale):
    # The noise of the head belongs to the examples.
    head_noise = {"eps": whole["head"]["eps"][:, chosen]}
    return package_elbo_gradient(chosen, scale, whole | {"head": head_noise})


minibatches = np.arange(examples).reshape(5, 8)
full = gradient_of(np.arange(examples), examples)
scaled = np.mean([gradient_of(chosen, examples) for chosen in minibatches], axis=0)
unscaled = np.mean([gradient_of(chosen, len(chosen)) for chosen in minibatches], axis=0)
print("relative difference to the gradient of the whole task")
for name, average in (
    ("likelihood times N / |b|", scaled),
    ("likelihood unscaled", unscaled),
):
    print(f"  {name:25s} {np.linalg.norm(average - full) / np.linalg.norm(full):.1e}")

# %% [markdown]
# Without the scale the prior has five times too much weight, and the network stays
# close to it. Note that no gradient check would complain: it is the right gradient of
# the wrong objective (tutorial 4, last section). The average over the minibatches is
# the test that finds it.
#
# ## Exercises
#
# Solutions are in `solutions/08_elbo_gradient.py`; `ibpcl check` checks their
# gradients.
#
# 1. **The other divergence.** Replace `bernoulli.kl` by `concrete.kl` in the forward
#    and in the backward pass of the layer, and check. What happens to the sticks'
#    gradient from the masks' divergence, and why? *Hint:* tutorial 7, "Masks on
#    sticks": which two paths cancel?
# 2. **A second hidden layer.** Use the output of the first layer as the input of the
#    second one, and write both as one pair. Which gradient of the second layer do you
#    need now that you could ignore before? *Hint:* call `layer` twice; each call needs
#    separate noise.
# 3. **Where the noise comes from.** Measure the variance of the gradient for
#    `mu` and for `rho` separately, at temperatures $5$, $0.5$ and $0.05$. Which of them
#    grows? *Hint:* tutorial 7, "What cooling costs".
# 4. **Sampling the head like a hidden layer.** Draw the head's weights with
#    `gaussian.sample` instead of using `local_linear`, and compare the gradients at the
#    means for $N = 10$, $40$ and $160$ examples. How does each variance grow with $N$?
#    *Hint:* count the variances and the covariances in the section on local
#    reparameterization.
