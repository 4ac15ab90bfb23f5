# %% [markdown]
# # 8. The ELBO and its gradient
#
# Tutorials 2, 6 and 7 derived the pieces: Gaussian weights, Kumaraswamy sticks, concrete masks, and what each of them
# pays for leaving its prior.  Here they become one objective, and we take its gradient all the way, in small leaps: one
# weight, the sticks, one layer, the head, the divergences; each is a pair of its own, proved before the next begins.
# Then they are put together, and held against the package's network.
#
# **Prerequisites:** tutorials 2 to 4, 6 and 7.  **Time:** about 75 minutes.
#
# **You will be able to**
#
# - write the evidence lower bound of a masked Bayesian network, by its four parts;
# - derive its gradient stage by stage, and say where gradients add up;
# - find a lost path in it;
# - say what each part pulls on, how noisy the gradient is, and why the likelihood alone is scaled in a minibatch.
#
# The paper is Kumar, Chatterjee and Rai, "Bayesian Structure Adaptation for Continual Learning", Sec. 3; the objective
# is its Eq. 8.  Sizes: `S` samples, `N` examples, `D` inputs, `K` hidden units, `C` classes.

# %%
import matplotlib.pyplot as plt
import numpy as np

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

rng = np.random.default_rng(5)

# %% [markdown]
# ## The objective
#
# The evidence lower bound of one task has four parts:
#
# $$ \mathcal L = \underbrace{\mathbb E_q \Bigl[\sum_n \log p(y_n \mid x_n, V, B)\Bigr]}_{\text{log-likelihood}}
#    - \underbrace{KL[q(V) \,\|\, p(V)]}_{\text{weights}}
#    - \underbrace{\mathbb E_{q(v)} KL[q(B \mid v) \,\|\, p(B \mid v)]}_{\text{masks}}
#    - \underbrace{KL[q(v) \,\|\, p(v)]}_{\text{sticks}}. $$
#
# $V$ are the weights, $B$ the masks, $v$ the sticks.  The expectations are averages over $S$ samples, and each sample
# is a formula of the parameters and of noise that knows no parameter.  With the noise held fixed $\mathcal L$ is an
# ordinary function, and its gradient is the chain rule and nothing else.
#
# ## One weight
#
# Begin with a single weight of the network.  Its value is a Gaussian sample times a relaxed mask:
#
# $$ w = z\,v, \qquad v = \mu + e^{\log\sigma} \varepsilon, \qquad
#    z = \sigma\Bigl(\frac{\rho + \operatorname{logit}\pi + \ell}{\tau}\Bigr). $$
#
# Suppose the rest of the network hands us `dw`, the gradient of the objective at $w$.  The product rule splits it: $v$
# receives $z \cdot$`dw`, the mask receives $v \cdot$`dw`.  From there it is what tutorials 2 and 7 derived, $\partial
# v / \partial\mu = 1$, $\partial v / \partial\log\sigma = \sigma\varepsilon$ and $\partial z / \partial\rho = z (1 - z)
# / \tau$; and $\operatorname{logit}\pi$ stands beside $\rho$ in a sum, so it receives the same.

# %%
eps, logistic, tau = 0.8, -0.4, 0.6                      # noise and temperature, fixed


def one_weight(mu, log_sigma, rho, logit_pi):
    noise = np.exp(log_sigma) * eps
    z = sigmoid((rho + logit_pi + logistic) / tau)
    return z * (mu + noise), (noise, z, mu + noise)


def one_weight_vjp(dw, cache):
    noise, z, v = cache
    dv, dz = dw * z, dw * v                              # the product rule
    drho = dz * z * (1 - z) / tau
    return dv, dv * noise, drho, drho                    # logit_pi is added to rho


print(check(one_weight, one_weight_vjp, {"mu": 0.5, "log_sigma": -1.0, "rho": 0.3, "logit_pi": 1.2}))

# %% [markdown]
# > **Stop and predict.**  A mask is off, $z \approx 0$.  Which of `mu`, `log_sigma` and `rho` still hears from the
# > data?
#
# <details><summary>Answer</summary>
#
# None of them, when $z$ is really zero: $\partial w / \partial\mu = z$, and $z (1 - z)$ vanishes, too.  Only the
# divergences speak to a weight that is off.
#
# </details>
#
# Look at $\partial w / \partial\mu = z$ for a moment.  Where a mask is off, $z \approx 0$, no data reach the weight's
# mean: a weight that a task does not use is not moved by it.  And $\partial w / \partial\rho \propto v$: a mask in
# front of a weight near zero learns nothing.  The product makes weights and masks depend on each other.
#
# ## The way back through the sticks
#
# In a layer, unit $k$ has one prior probability $\pi_k$ for all its $D$ weights, and the $\pi_k$ come from sticks:
#
# $$ raw \xrightarrow{\text{softplus}} (a, b) \xrightarrow{\text{sample}} \log v_i \xrightarrow{\sum_{i \le k}}
#    \log\pi_k \xrightarrow{} \operatorname{logit}\pi_k = \log\pi_k - \log(1 - \pi_k). $$
#
# Backwards, stage by stage, with what arrives as `dlogit_pi`:
#
# * $\frac{d \operatorname{logit}\pi}{d \log\pi} = \frac{1}{1 - \pi}$ (tutorial 7);
# * $\log\pi_k = \sum_{i \le k} \log v_i$ is a cumulative sum.  Stick $i$ is in all the sums with $k \ge i$, so
#   $\texttt{dlog\_v}_i = \sum_{k \ge i} \texttt{dlog\_pi}_k$: the same sum **from the other end**;
# * the sample's gradient with respect to $a$ and $b$ (tutorial 6), summed over samples;
# * softplus: $\frac{d}{dx} \log(1 + e^x) = \sigma(x)$.

# %%
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
    dlog_v = np.cumsum(dlog_pi[:, ::-1], axis=-1)[:, ::-1]       # from the other end
    da, db = kumaraswamy.sample_vjp(dlog_v, stick_cache)
    return da * sigmoid(raw_a), db * sigmoid(raw_b)


raw_a, raw_b = rng.normal(4.0, 0.3, K), rng.normal(0.5, 0.3, K)
print(check(sticks, sticks_vjp, (raw_a, raw_b)))

# %% [markdown]
# The picture of it: who hears about a change in whom?  On the left the matrix $\partial\log\pi_k / \partial\log v_i$,
# a triangle of ones; on the right $\partial\operatorname{logit}\pi_k / \partial raw_{a,i}$ of one sample.  The first
# stick moves every unit, the last one only the last.  Down a column the entries fall: the same stick changes
# $\log\pi_k$ of all units alike, but their log-odds by $\frac{1}{1 - \pi_k}$ as much, more where $\pi_k$ is larger.

# %% mystnb={"image": {"alt": "Two square matrices of units against sticks. Left: a lower triangle of ones. Right: a lower triangle whose entries fall down each column."}}
_, cache = sticks(raw_a, raw_b)
first_sample = np.zeros((K, S, K))
first_sample[np.arange(K), 0, np.arange(K)] = 1.0        # one cotangent for each unit of the first sample
jacobian = np.stack([sticks_vjp(cotangent, cache)[0] for cotangent in first_sample])

figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
titles = (r"$\partial\log\pi_k / \partial\log v_i$",
          r"$\partial\,\mathrm{logit}\,\pi_k / \partial\,raw_{a,i}$, one sample")
for axes, matrix, title in zip(panels, (np.tril(np.ones((K, K))), jacobian), titles, strict=True):
    image = axes.imshow(matrix, cmap="viridis")
    axes.set(xlabel="stick $i$", ylabel="unit $k$", title=title, xticks=range(K), yticks=range(K))
    figure.colorbar(image, ax=axes, shrink=0.8)
plt.show()

# %% [markdown]
# ## A layer
#
# A layer has weights `mu`, `log_sigma` (D, K), biases `bias_mu`, `bias_log_sigma` (K,), masks `rho` (D, K), and takes
# the log-odds of its sticks.  One detail of the model a formula easily hides: a unit's bias counts only as far as the
# unit is on, so it is multiplied by the *activity* $u_k = \max_d z_{dk}$.
#
# We draw the noise with the package, so that we can compare with it later.  Forward, in the order in which one would
# explain it; the layer returns its pre-activations and what its masks pay:

# %%
examples, alpha, prior_log_sigma = 40, 4.0, np.log(0.7)  # N of the whole task; the prior
x, labels = rng.standard_normal((N, D)), rng.integers(0, C, N)
model = classifier(D, (K,), Softmax(), C, Masked)
reference = backend("numpy")
noise = model.noise(Key(5, 0, 0, 0), S, N, reference, np.float64)
weight_eps, bias_eps, stick_u, mask_logistic = noise["hidden0"].values()


def layer(x, mu, log_sigma, bias_mu, bias_log_sigma, rho, logit_pi):
    logit_theta = rho + logit_pi[:, None, :]                                     # (S, D, K)
    z, c_mask = concrete.sample(mask_logistic, logit_theta, tau)
    v, c_weight = gaussian.sample(weight_eps, mu, log_sigma)
    activity, c_activity = masked_linear.column_activity(z)
    bias, c_bias = gaussian.sample(bias_eps, bias_mu, bias_log_sigma)
    h, c_linear = linear.apply(x, z * v, bias * activity)                        # (S, N, K)
    kl, c_kl = bernoulli.kl(logit_theta, logit_pi)                               # (S,)
    return (h, kl), (z, v, activity, bias, c_mask, c_weight, c_activity, c_bias, c_linear, c_kl)


# %% [markdown]
# Each line has a line in the backward pass, in the opposite order, and the gradient of its inputs is always
# *something_vjp* of the gradient of its outputs.  What is left to think about are the places where a value is used more
# than once, because there gradients **add up**:
#
# * `z` is used in `z * v` and in the activity;
# * `logit_theta` is used in the mask and in its divergence;
# * `logit_pi` is used in `logit_theta` and, as the prior, in the divergence.
#
# And what was repeated is summed: `rho` over the samples, `logit_pi` over the inputs.

# %%
def layer_vjp(dout, cache):
    dh, dkl = dout
    z, v, activity, bias, c_mask, c_weight, c_activity, c_bias, c_linear, c_kl = cache
    dx, dw, dscaled_bias = linear.apply_vjp(dh, c_linear)
    dmu, dlog_sigma = gaussian.sample_vjp(dw * z, c_weight)
    dbias_mu, dbias_log_sigma = gaussian.sample_vjp(dscaled_bias * activity, c_bias)
    dz = dw * v + masked_linear.column_activity_vjp(dscaled_bias * bias, c_activity)     # z is used twice
    dlogit_theta, dlogit_pi = bernoulli.kl_vjp(dkl, c_kl)
    dlogit_theta = dlogit_theta + concrete.sample_vjp(dz, c_mask)                        # and so is logit_theta
    drho = dlogit_theta.sum(axis=0)                                                      # rho was broadcast over S
    return dx, dmu, dlog_sigma, dbias_mu, dbias_log_sigma, drho, dlogit_pi + dlogit_theta.sum(axis=1)


parameters = {
    "mu": rng.normal(0, 0.5, (D, K)), "log_sigma": rng.normal(-1, 0.3, (D, K)), "bias_mu": rng.normal(0, 0.5, K),
    "bias_log_sigma": rng.normal(-1, 0.3, K), "rho": rng.normal(0, 0.7, (D, K)), "raw_a": raw_a, "raw_b": raw_b,
    "head_mu": rng.normal(0, 0.5, (K, C)), "head_log_sigma": rng.normal(-1, 0.3, (K, C)),
    "head_bias_mu": rng.normal(0, 0.5, C), "head_bias_log_sigma": rng.normal(-1, 0.3, C),
}
of_layer = {"x": x, **{name: parameters[name] for name in ("mu", "log_sigma", "bias_mu", "bias_log_sigma", "rho")},
            "logit_pi": rng.standard_normal((S, K))}
print(check(layer, layer_vjp, of_layer))

# %% [markdown]
# ### A mistake, and how it is caught
#
# The path that is forgotten most easily is the smallest one: the mask's effect on the *bias*, through the activity.
#
# > **Stop and predict.**  Without that path, which gradients are wrong, and in how many of their entries: all, or some?
#
# <details><summary>Answer</summary>
#
# Those of `rho` and `logit_pi`, which come after the masks on the way back.  Of `rho` only some entries: the activity
# is a maximum, and only the largest mask of each unit and sample is on that path.
#
# </details>

# %%
def forgetful_vjp(dout, cache):
    z, v, activity, bias, *rest = cache
    return layer_vjp(dout, (z, v, activity, 0 * bias, *rest))


report = check(layer, forgetful_vjp, of_layer)
print("right:", *(item.name for item in report.inputs if item.ok))
for item in report.inputs:
    if not item.ok:
        print(f"wrong: {item.name}, {item.numbers['wrong']} of {item.numbers['compared']} entries")
print("\nwhat it says of rho:", report["rho"].words)

# %% [markdown]
# A network would train with the wrong gradient without any complaint.
#
# ## The head and the data
#
# The head's weights `head_mu`, `head_log_sigma` (K, C) and biases are Gaussian, without a mask.  They are not drawn one
# by one: given its input $x$, each output is Gaussian, with mean $x \mu + \mu_b$ and variance $x^2 \sigma^2 +
# \sigma_b^2$, and is sampled as such: the same distribution with less noise (`local_linear`).

# %%
def head(h, head_mu, head_log_sigma, head_bias_mu, head_bias_log_sigma):
    hidden, c_relu = activations.relu(h)
    sigma, bias_sigma = np.exp(head_log_sigma), np.exp(head_bias_log_sigma)
    outputs, c_head = local_linear.apply(noise["head"]["eps"], hidden, head_mu, sigma, head_bias_mu, bias_sigma)
    log_p, c_likelihood = likelihoods.categorical(outputs, labels)                       # (S, N)
    return log_p, (c_relu, sigma, bias_sigma, c_head, c_likelihood)


def head_vjp(dlog_p, cache):
    c_relu, sigma, bias_sigma, c_head, c_likelihood = cache
    doutputs = likelihoods.categorical_vjp(dlog_p, c_likelihood)
    dhidden, dmu, dsigma, dbias_mu, dbias_sigma = local_linear.apply_vjp(doutputs, c_head)
    return activations.relu_vjp(dhidden, c_relu), dmu, dsigma * sigma, dbias_mu, dbias_sigma * bias_sigma


heads = ("head_mu", "head_log_sigma", "head_bias_mu", "head_bias_log_sigma")
print(check(head, head_vjp, {"h": layer(**of_layer)[0][0], **{name: parameters[name] for name in heads}}))

# %% [markdown]
# ## What the Gaussians pay
#
# Four groups of weights, each with the same prior $\mathcal N(0, 0.7^2)$.  The divergences add up; the gradients do not
# mix.

# %%
def paid(*beliefs):
    kls, caches = zip(*(gaussian.kl(mu, log_sigma, np.zeros_like(mu), np.full_like(log_sigma, prior_log_sigma))
                        for mu, log_sigma in zip(beliefs[::2], beliefs[1::2], strict=True)), strict=True)
    return sum(kls), caches


def paid_vjp(dkl, caches):
    return tuple(gradient for cache in caches for gradient in gaussian.kl_vjp(dkl, cache)[:2])


gaussians = ("mu", "log_sigma", "bias_mu", "bias_log_sigma", *heads)
print(check(paid, paid_vjp, tuple(parameters[name] for name in gaussians)))

# %% [markdown]
# ## All together
#
# Now the ELBO is a composition: sticks, layer, head, and the divergences.  The likelihood is scaled by (examples of the
# task) / (examples of the minibatch); the divergences are not.

# %%
def elbo(mu, log_sigma, bias_mu, bias_log_sigma, rho, raw_a, raw_b, head_mu, head_log_sigma, head_bias_mu,
         head_bias_log_sigma):
    of_head = head_mu, head_log_sigma, head_bias_mu, head_bias_log_sigma
    logit_pi, c_sticks = sticks(raw_a, raw_b)
    kl_sticks, c_kl_sticks = kumaraswamy.kl_to_beta(softplus(raw_a), softplus(raw_b), alpha)
    (h, kl_masks), c_layer = layer(x, mu, log_sigma, bias_mu, bias_log_sigma, rho, logit_pi)
    log_p, c_head = head(h, *of_head)
    kl_weights, c_paid = paid(mu, log_sigma, bias_mu, bias_log_sigma, *of_head)
    parts = examples / N * log_p.sum() / S, kl_weights, kl_masks.mean(), kl_sticks
    return parts, (c_sticks, c_kl_sticks, c_layer, c_head, c_paid, raw_a, raw_b)


def elbo_vjp(dparts, cache):
    c_sticks, c_kl_sticks, c_layer, c_head, c_paid, raw_a, raw_b = cache
    dlikelihood, dkl_weights, dkl_masks, dkl_sticks = dparts
    dh, *dhead = head_vjp(np.full((S, N), dlikelihood * examples / N / S), c_head)
    _, dmu, dlog_sigma, dbias_mu, dbias_log_sigma, drho, dlogit_pi = layer_vjp((dh, np.full(S, dkl_masks / S)), c_layer)
    draw_a, draw_b = sticks_vjp(dlogit_pi, c_sticks)
    da, db, _ = kumaraswamy.kl_to_beta_vjp(dkl_sticks, c_kl_sticks)
    of_data = (dmu, dlog_sigma, dbias_mu, dbias_log_sigma, *dhead)
    summed = [one + other for one, other in zip(of_data, paid_vjp(dkl_weights, c_paid), strict=True)]
    return (*summed[:4], drho, draw_a + da * sigmoid(raw_a), draw_b + db * sigmoid(raw_b), *summed[4:])


# %% [markdown]
# The cotangent has one number for each part: `(1, -1, -1, -1)` gives the gradient of the ELBO.
#
# ## Is it right?
#
# Three judges.  The first is the complex step, by hand: every number of every parameter gets an imaginary step of its
# own.  Nothing of the package is involved but the forward.

# %%
weights = np.array([1.0, -1.0, -1.0, -1.0])              # of the parts, in the ELBO
parts, cache = elbo(**parameters)
by_hand = dict(zip(parameters, elbo_vjp(weights, cache), strict=True))
print("log-likelihood {:.3f}, KL of weights {:.3f}, of masks {:.3f}, of sticks {:.3f}".format(*parts))


def complex_steps(name, h=1e-20):
    gradient = np.zeros_like(parameters[name])
    for place in np.ndindex(gradient.shape):
        moved = parameters[name].astype(complex)
        moved[place] += 1j * h
        gradient[place] = np.dot(weights, elbo(**{**parameters, name: moved})[0]).imag / h
    return gradient


print("\nparameter             numbers   largest relative difference to the complex step")
for name, gradient in by_hand.items():
    by_step = complex_steps(name)
    error = np.abs(gradient - by_step).max() / np.abs(by_step).max()
    assert error < 1e-9
    print(f"{name:20s} {gradient.size:8d}   {error:.1e}")

# %% [markdown]
# The second judge is `check`, part by part (a mistake in one part cannot hide behind another), with a second witness
# and random cotangents.  The third is the package's own network, which keeps all parameters in one vector; we write
# ours into it.

# %%
print(check(elbo, elbo_vjp, parameters))

vector = model.initial(starts.normal(rng, 0.5), 0.3, (alpha,), np.float64)
ours = ({"weight.mu": "mu", "weight.log_sigma": "log_sigma", "bias.mu": "bias_mu", "bias.log_sigma": "bias_log_sigma",
         "rho": "rho", "raw_a": "raw_a", "raw_b": "raw_b"},
        {"weight.mu": "head_mu", "weight.log_sigma": "head_log_sigma", "bias.mu": "head_bias_mu",
         "bias.log_sigma": "head_bias_log_sigma"})
for views, names in zip(model.layout.layers(vector).values(), ours, strict=True):
    for key, name in names.items():
        views[key][...] = parameters[name]

count = model.layout.block("mu").stop
prior = package.Prior(np.zeros(count), np.full(count, prior_log_sigma), {"hidden0": alpha})
package_parts, package_cache = package.elbo(model, vector, prior, x, labels, noise, examples, reference, None, tau)
package_gradient = package.elbo_vjp(package.GRADIENT, package_cache)
print("\nlargest difference in the parts:", max(abs(a - b) for a, b in zip(parts, package_parts, strict=False)))
difference = max(np.abs(views[key] - by_hand[name]).max() for views, names in zip(
    model.layout.layers(package_gradient).values(), ours, strict=True) for key, name in names.items())
print("largest difference to the package's elbo_vjp:", difference)
assert difference < 1e-9 * np.abs(package_gradient).max()

# %% [markdown]
# ## Who pulls on whom
#
# A cotangent of `(1, 0, 0, 0)` gives the gradient of the likelihood alone, `(0, 1, 0, 0)` that of the first divergence,
# and so on.  The norms show the structure of the model at a glance.
#
# > **Stop and predict.**  Four parts, four groups of parameters: sixteen norms.  Which of them are zero?
#
# <details><summary>Answer</summary>
#
# Seven: the weights' divergence touches means and widths only, the masks' divergence masks and sticks only, the sticks'
# divergence sticks only.  The likelihood reaches everything.
#
# </details>

# %%
groups = {"means": ("mu", "bias_mu", "head_mu", "head_bias_mu"), "widths": (
    "log_sigma", "bias_log_sigma", "head_log_sigma", "head_bias_log_sigma"), "masks": ("rho",),
    "sticks": ("raw_a", "raw_b")}
print(f"{'norm of the gradient of':26s}" + "".join(f"{group:>10s}" for group in groups))
for row, part in enumerate(("log-likelihood", "KL of weights", "KL of masks", "KL of sticks")):
    gradient = dict(zip(parameters, elbo_vjp(np.eye(4)[row], cache), strict=True))
    norms = [np.sqrt(sum(np.sum(gradient[name]**2) for name in names)) for names in groups.values()]
    print(f"{part:26s}" + "".join(f"{norm:10.4f}" for norm in norms))

# %% [markdown]
# The masks' divergence reaches the masks *and* the sticks, which are the masks' prior.  So the sticks hear three
# voices: what the data want, how many masks are on, and their own prior.
#
# What do the divergences want?  Each is a spring with a position of rest.  The force is minus the gradient:

# %% mystnb={"image": {"alt": "Forces of the three divergences. Weights: straight lines through zero, steeper for a narrow prior. Masks: zero at rho = 0; a coin's force dies out far away, the concrete one's does not. Sticks: arrows towards a = 4, b = 1."}}
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
means = np.linspace(-2, 2, 201)
for prior_sigma, shade in ((0.5, "C0"), (0.7, "C1"), (1.5, "C2")):
    one = np.full_like(means, np.log(prior_sigma))
    _, kl_cache = gaussian.kl(means, one, np.zeros_like(means), one)
    left.plot(means, -gaussian.kl_vjp(1.0, kl_cache)[0], color=shade, label=rf"prior's $\sigma = {prior_sigma:g}$")
left.set(xlabel=r"mean $\mu$ of a weight", ylabel="force", title="Weights: to the prior's mean,\nstiff if it is narrow")

offsets = np.linspace(-8, 8, 321)
for pi, shade in ((0.5, "C0"), (0.1, "C1"), (0.01, "C2")):
    l = np.full((1, 1), logit(pi))
    _, kl_cache = bernoulli.kl(l[:, None, :] + offsets[None, :, None], l)
    middle.plot(offsets, -bernoulli.kl_vjp(np.ones(1), kl_cache)[0].ravel(), color=shade,
                label=rf"coin, $\pi = {pi:g}$")
_, kl_cache = concrete.kl(offsets[None, :, None], np.zeros((1, 1)))
middle.plot(offsets, -concrete.kl_vjp(np.ones(1), kl_cache)[0].ravel(), color="black", label="concrete")
middle.set(xlabel=r"$\rho$", ylabel="force", title="Masks: to $\\rho = 0$;\na coin lets go where it is sure")

grid_a, grid_b = np.meshgrid(np.linspace(1.5, 8, 12), np.linspace(0.4, 3, 11))
_, kl_cache = kumaraswamy.kl_to_beta(grid_a.ravel(), grid_b.ravel(), alpha)
da, db, _ = kumaraswamy.kl_to_beta_vjp(1.0, kl_cache)
length = np.hypot(da, db)
arrows = right.quiver(grid_a.ravel(), grid_b.ravel(), -da / length, -db / length, np.log10(length), cmap="viridis")
right.plot(alpha, 1, "*", color="C3", markersize=14)
figure.colorbar(arrows, ax=right, label=r"$\log_{10}$ of the force")
right.set(xlabel="$a$", ylabel="$b$", title=f"Sticks: to Beta({alpha:g}, 1)")
left.legend(fontsize=8)
middle.legend(fontsize=8)
plt.show()

# %% [markdown]
# A coin that is sure of itself feels no force any more: $\theta (1 - \theta) \rho$ vanishes at both ends, so the
# Bernoulli divergence does not call a mask back that has gone far.  The concrete divergence pulls with a force that
# tends to one, however far away the mask is.  And the sticks' divergence is steep towards small $a$, where almost
# nothing of a stick would be left, and towards small $b$, where almost all of it would, and gentle towards large $a$.
#
# ## How noisy is the gradient?
#
# The gradient is an average of $S$ independent samples, so its variance is that of one sample divided by $S$: half the
# error costs four times the samples.  With a minibatch there is a second source, *which examples* were drawn, and that
# one does not depend on $S$.  Both, measured on a task of $40$ examples:

# %%
task_x = rng.standard_normal((examples, D))
task_labels = np.argmax(task_x[:, :C], axis=1)           # something that can be learned


def package_elbo_gradient(chosen, samples, step):
    fresh = model.noise(Key(9, 0, step, 0), samples, len(chosen), reference, np.float64)
    _, kept = package.elbo(model, vector, prior, task_x[chosen], task_labels[chosen], fresh, examples, reference, None,
                           tau)
    return package.elbo_vjp(package.GRADIENT, kept)


counts, draws = [1, 2, 4, 8, 16, 32], 80
variance = {"all 40 examples": [], "minibatches of 8": []}
for samples in counts:
    for size, values in zip((examples, 8), variance.values(), strict=True):
        found = np.stack([package_elbo_gradient(rng.permutation(examples)[:size], samples, step)
                          for step in range(draws)])
        values.append(found.var(axis=0, ddof=1).sum())
print("variance of the gradient, summed over all parameters")
print("   S   " + "".join(f"{name:>20s}" for name in variance))
for row, samples in enumerate(counts):
    print(f"{samples:4d}   " + "".join(f"{values[row]:20.2f}" for values in variance.values()))

# %% mystnb={"image": {"alt": "Variance of the gradient against the number of samples: with all examples it falls like 1 / S, with minibatches it bends towards a floor."}}
figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (name, values), shade in zip(variance.items(), ("C0", "C1"), strict=True):
    axes.loglog(counts, values, "o-", color=shade, label=name)
axes.loglog(counts, variance["all 40 examples"][0] / np.array(counts), ":", color="0.4", label="$1 / S$")
axes.set(xlabel="samples $S$", ylabel="variance of the gradient", title="More samples help until the minibatch decides")
axes.set_xticks(counts, [str(count) for count in counts])
axes.minorticks_off()
axes.legend()
plt.show()

# %% [markdown]
# With all the examples the variance follows $1 / S$.  With minibatches it bends towards a floor: from some $S$ on, more
# samples are a waste, and larger minibatches the better buy.
#
# ## The scale of a minibatch
#
# Why is the likelihood multiplied by $N / |b|$ and the divergences not?  The divergences belong to the task *as a
# whole*: they are paid once, not once for each minibatch.  The likelihood is a sum over $N$ examples of which a
# minibatch holds $|b|$; scaled by $N / |b|$, its average over all minibatches is the full sum.  This is not an
# approximation: cut the task into five minibatches, keep the noise of each example and of the weights, and the average
# of the five gradients *is* the gradient of the task.

# %%
whole = model.noise(Key(9, 0, 1000, 0), S, examples, reference, np.float64)


def gradient_of(chosen, scale):
    part = whole | {"head": {"eps": whole["head"]["eps"][:, chosen]}}    # the head's noise belongs to the examples
    _, kept = package.elbo(model, vector, prior, task_x[chosen], task_labels[chosen], part, scale, reference, None, tau)
    return package.elbo_vjp(package.GRADIENT, kept)


minibatches = np.arange(examples).reshape(5, 8)
full = gradient_of(np.arange(examples), examples)
scaled = np.mean([gradient_of(chosen, examples) for chosen in minibatches], axis=0)
unscaled = np.mean([gradient_of(chosen, len(chosen)) for chosen in minibatches], axis=0)
print("relative difference to the gradient of the whole task")
print(f"  likelihood times N / |b|: {np.linalg.norm(scaled - full) / np.linalg.norm(full):.1e}")
print(f"  likelihood as it is     : {np.linalg.norm(unscaled - full) / np.linalg.norm(full):.1e}")

# %% [markdown]
# Without the scale the prior weighs five times too much, and the network stays close to it.  Note that no gradient
# check would complain: it is the right gradient of the wrong objective (tutorial 4, last section).  The sum over the
# minibatches is the test that finds it.
#
# ## Exercises
#
# Solutions are in `solutions/08_elbo_gradient.py`; `ibpcl check` proves their gradients.
#
# 1. **The other divergence.**  Put `concrete.kl` in the place of `bernoulli.kl`, in the forward and in the backward
#    pass of the layer, and check.  What has become of the sticks' share in the gradient of the masks' divergence, and
#    why?  *Hint:* tutorial 7, "Masks on sticks": which two paths cancel?
# 2. **A second hidden layer.**  Let the output of the first be the input of the second, as a pair.  Which gradient of
#    the second layer, which the first did not need, is now on the way?  *Hint:* call `layer` twice; each call needs
#    noise of its own.
# 3. **Where the noise comes from.**  Measure the variance of the gradient for `mu` and for `rho` separately, at
#    temperatures $5$, $0.5$ and $0.05$.  Which of them grows, and what did tutorial 7 say about it?  *Hint:* "What
#    cooling costs".
# 4. **Sampling the head like a hidden layer.**  Draw the head's weights with `gaussian.sample` and multiply by them,
#    in place of `local_linear`.  The mean of the gradient must stay the same.  What happens to its variance?  *Hint:*
#    with one matrix per sample all examples share the same noise.
