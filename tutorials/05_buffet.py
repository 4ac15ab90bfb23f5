# %% [markdown] slideshow={"slide_type": "slide"}
# # 5. The Indian buffet
#
# A network that has to learn many tasks should not spend all its capacity on the first
# one. How much each task needs is not known beforehand. So we want a probability
# distribution over binary matrices, with rows for inputs and columns for units, that
# has *no fixed number of columns*. It should use a few columns often and others rarely,
# and there should always be room for another. Such a distribution is the *Indian buffet
# process* (IBP; Griffiths and Ghahramani, 2006). There are two ways to construct it: a story about
# customers and dishes, and a stick that is broken again and again. This tutorial
# explains both and shows that they are equivalent.
#
# **Prerequisites:** Bernoulli, Beta and Poisson distributions; expectations. **Time:**
# about 50 minutes.
#
# **You will be able to**
#
# - draw binary matrices from the IBP in both ways, and explain the effect of $\alpha$;
# - derive how many dishes a customer takes, how many are taken in all, and how many two
#   customers share;
# - derive the sticks from the finite model, for finite $K$ and in the limit;
# - state what a p-value shows and what it does not show;
# - compute what is lost when the process is truncated at $K$ units.
#
# Names: `D` customers are the rows (later: a layer's inputs), `K` dishes the columns
# (later: its units). `alpha` is the concentration, `v` a stick,
# `pi` the probability of a dish, and `B` the binary matrix.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta, kstest, poisson

from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.primitives import stick_breaking

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(5)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Customers and dishes
#
# An Indian restaurant has a buffet without end. The first customer takes
# $\mathrm{Poisson}(\alpha)$ dishes. Customer $n$ goes along the dishes that others have
# tasted, and takes dish $k$ with probability $m_k / n$, where $m_k$ is the number of
# earlier customers who took it. Then customer $n$ takes $\mathrm{Poisson}(\alpha / n)$
# new dishes. Popular dishes become more popular, and there are fewer and fewer new
# ones.


# %%
def buffet(customers, alpha, rng):
    """Draw a binary matrix (customers, dishes); columns in order of first taker."""
    taken = np.zeros((customers, 0), bool)
    for n in range(1, customers + 1):
        popular = taken.sum(axis=0) / n
        taken[n - 1] = rng.uniform(size=popular.size) < popular
        new = np.zeros((customers, rng.poisson(alpha / n)), bool)
        new[n - 1] = True
        taken = np.hstack([taken, new])
    return taken


D = 40
drawn = {alpha: buffet(D, alpha, rng) for alpha in (1.0, 5.0, 20.0)}

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Three binary matrices of forty customers for alpha 1, 5 and 20: the first columns are nearly full, later ones ever emptier, and a larger alpha gives more columns."}}
figure, panels = plt.subplots(
    1, 3, figsize=(9, 3.2), layout="constrained", width_ratios=(1, 2, 4)
)
for axes, (alpha, B) in zip(panels, drawn.items(), strict=True):
    extent = (0.5, B.shape[1] + 0.5, D + 0.5, 0.5)
    axes.imshow(B, cmap="Greys", aspect="auto", interpolation="nearest", extent=extent)
    axes.set(xlabel="dish $k$", title=rf"$\alpha = {alpha:g}$: {B.shape[1]} dishes")
panels[0].set_ylabel("customer $n$")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# > **Stop and predict.** With $\alpha = 5$, how many dishes does the hundredth customer
# > take: more than the first, fewer, or as many? How many different dishes have a
# > hundred customers taken together?
#
# <details><summary>Answer</summary>
#
# As many as the first: 5 on average. Together about 26. The next two paragraphs derive
# both.
#
# </details>
#
# **Each customer takes $\alpha$ dishes on average.** Suppose that each of the first $n -
# 1$ customers took $\alpha$ dishes on average. Then
# $\mathbb E \sum_k m_k = (n - 1)\, \alpha$. Customer $n$ takes $\frac{1}{n} \mathbb E
# \sum_k m_k = \frac{n - 1}{n} \alpha$ of the old dishes and $\frac\alpha
# n$ new ones: $\alpha$ together. In fact the number of dishes follows a
# $\mathrm{Poisson}(\alpha)$ distribution, because thinning and adding Poisson variables
# gives Poisson variables.
#
# **Together they take $\alpha H_D$ different dishes on average.** The numbers of new dishes are independent Poisson
# variables with means $\alpha, \frac\alpha2, \frac\alpha3, \dots$, so their sum is
# Poisson with mean
#
# $$ \alpha H_D = \alpha \Bigl(1 + \frac12 + \dots + \frac1D\Bigr) \approx \alpha\, (\log D + 0.58). $$
#
# It grows without bound, but only like the logarithm of the number of customers.

# %% slideshow={"slide_type": "slide"}
alpha, repeats, customers = 5.0, 400, 100
restaurants = [buffet(customers, alpha, rng) for _ in range(repeats)]
firsts, lasts = (np.array([B[row].sum() for B in restaurants]) for row in (0, -1))
dishes = np.array([B.shape[1] for B in restaurants])
expected_dishes = alpha * np.sum(1 / np.arange(1, customers + 1))
rows = {
    "first customer": (firsts, alpha), "last customer": (lasts, alpha),
    "all customers": (dishes, expected_dishes),
}  # fmt: skip
print("dishes of         mean            expected   variance")
for name, (counts, mean) in rows.items():
    error = counts.std() / np.sqrt(repeats)
    sampled = f"{counts.mean():6.2f} +- {error:.2f}"
    print(f"{name:15s} {sampled} {mean:11.2f} {counts.var():10.2f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# Mean and variance agree, as they do for Poisson variables. And the first customer is
# not special. If the customers came in another order, every matrix would be as probable
# as before, up to the names of the dishes. This property is called *exchangeability*.
# It makes the IBP suitable for a layer of a network, whose inputs have no order either.
#
# ## Where do the probabilities come from?
#
# Exchangeable variables behave as if each dish had its own probability, drawn
# beforehand, with which every customer takes it independently (de Finetti's theorem).
# Which probabilities are they? Begin with finitely many dishes:
#
# $$ \pi_k \sim \mathrm{Beta}\Bigl(\frac\alpha K, 1\Bigr), \qquad B_{dk} \sim \mathrm{Bernoulli}(\pi_k), \qquad
#    k = 1, \dots, K. $$
#
# Suppose $m_k$ of the first $n - 1$ customers took dish $k$. Then the posterior of
# $\pi_k$ is $\mathrm{Beta}(\frac\alpha K + m_k,\; n -
# m_k)$, and the next customer takes dish $k$ with its mean as probability,
#
# $$ \frac{\alpha / K + m_k}{\alpha / K + n} \;\longrightarrow\; \frac{m_k}{n} \qquad (K \to \infty), $$
#
# which is the rule of the buffet. Nearly $K$ dishes have not been taken by any
# customer. Each of them is taken with probability $\frac{\alpha / K}{\alpha / K +
# n}$, together $\frac\alpha n$ on average: the new dishes.
#
# ### The sticks, for finite $K$
#
# Most of these $\pi_k$ are almost zero. Sort them, the largest first: $\pi_{(1)} >
# \pi_{(2)} > \dots$. A $\mathrm{Beta}(\frac\alpha K, 1)$ variable is below $x$ with
# probability $x^{\alpha / K}$. The largest of $K$ is below $x$ if all of them are:
#
# $$ P\bigl(\pi_{(1)} \le x\bigr) = \bigl(x^{\alpha / K}\bigr)^K = x^\alpha. $$
#
# This is the distribution function of $\mathrm{Beta}(\alpha, 1)$. So the largest
# probability is a *stick* $v_1 \sim \mathrm{Beta}(\alpha, 1)$, for every $K$.
#
# Now suppose that the largest one is $\pi_{(1)} = v_1$. The other $K - 1$ are
# independent and below $v_1$. Their distribution function is $x^{\alpha /
# K}$, divided by its value at $v_1$: $(x / v_1)^{\alpha / K}$ for $x \le v_1$. So each
# is $v_1$ times a $\mathrm{Beta}(\frac\alpha K, 1)$ variable. This is the model that we
# started from, with one dish fewer. Its largest member is $v_1 v_2$ with
#
# $$ P(v_2 \le x) = \bigl(x^{\alpha / K}\bigr)^{K - 1} = x^{\alpha (K - 1) / K}. $$
#
# Repeat the argument, and you have the *stick representation of the finite model*:
#
# $$ \pi_{(k)} = \prod_{i=1}^{k} v_i, \qquad
#    v_k \sim \mathrm{Beta}\Bigl(\alpha\, \frac{K - k + 1}{K},\; 1\Bigr) \text{ independently.} $$
#
# The sticks do *not* have the same distribution: from stick to stick the parameter
# falls by $\frac\alpha K$. Only in the limit $K \to \infty$ is it
# $\alpha$ for every fixed $k$ (Teh, Görür and Ghahramani, 2007). This limit is Eq. 3 of
# Kumar, Chatterjee and Rai:
#
# $$ v_k \sim \mathrm{Beta}(\alpha, 1), \qquad \pi_k = \prod_{i=1}^{k} v_i, \qquad B_{dk} \sim
#    \mathrm{Bernoulli}(\pi_k). $$
#
# In words: take a stick of length one and keep the share
# $v_1$ of it. Of this piece keep the share $v_2$, and so on. The length after
# $k$ breaks is the probability of dish $k$. Now the dishes have an order, and the first
# dish is the most likely one.
#
# A draw of a stick is a formula: $F(v) = v^\alpha$ is inverted by $v = u^{1 / \alpha}$
# with a uniform $u$. Here are the loop and the package's function:


# %% slideshow={"slide_type": "slide"}
def sticks_loop(u, alpha):
    """Break sticks: probabilities (K,) from uniform noise (K,)."""
    pi, left = np.zeros(u.size), 1.0
    for k in range(u.size):
        left = left * u[k] ** (1 / alpha)
        pi[k] = left
    return pi


u = rng.uniform(size=(400, 60))
B, log_pi = stick_breaking.sample_prior(u, rng.uniform(size=(400, D, 60)), alpha)
gap = np.abs(sticks_loop(u[0], alpha) - np.exp(log_pi[0])).max()
print(f"largest difference, loop and package: {gap:.1e}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Checking with samples, and what a p-value shows
#
# We draw the finite model, sort the probabilities, and compute the fifth stick as the
# ratio $v_5 = \pi_{(5)} / \pi_{(4)}$. The Kolmogorov-Smirnov test compares the draws
# with a distribution. Its p-value is the probability of a difference at least as large
# *if the two distributions are equal*. We compare with two distributions: the finite
# one, with the parameter $\alpha (K - 4) / K$, and the limit, with the parameter
# $\alpha$.
#
# > **Stop and predict.** With $K = 10$ dishes and with $K = 2000$ dishes: for which of
# > the four comparisons do you expect a small p-value?
#
# <details><summary>Answer</summary>
#
# For one of them: ten dishes against the limit. With 2000 dishes the parameter of the
# finite model is 4.99 instead of 5, and the test cannot see the difference.
#
# </details>

# %% slideshow={"slide_type": "slide"}
draws = np.random.default_rng(6)
p_values = {}
print("   K   parameter of v_5   p-value, finite model   p-value, limit")
for size in (10, 2000):
    pi = np.sort(draws.beta(alpha / size, 1, size=(1000, size)), axis=1)[:, ::-1]
    fifth = pi[:, 4] / pi[:, 3]
    parameter = alpha * (size - 4) / size
    p_values[size] = [kstest(fifth, beta(a, 1).cdf).pvalue for a in (parameter, alpha)]
    finite, limit = p_values[size]
    print(f"{size:4d} {parameter:18.2f} {finite:23.3f} {limit:16.1e}")

# %% [markdown]
# A very small p-value is evidence *against* equality: with ten dishes the limit is
# clearly wrong. A large p-value is *not* evidence of equality. In the last comparison
# the two distributions differ, and yet the p-value is large. It only says that
# a thousand draws cannot tell them apart. So the derivation shows that the
# constructions are equivalent, and the test would have revealed a gross mistake in it.
#
# For a network, sticks are the better construction. They give the units an order, and we
# can differentiate with respect to a stick (tutorial 6).

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Left: 25 draws of the probabilities of the dishes fall towards zero around their mean. Right: histogram of a row's number of dishes under the points of a Poisson distribution with mean five."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
index = np.arange(1, 61)
left.plot(index, np.exp(log_pi[:25]).T, color="C0", alpha=0.3, linewidth=0.9)
left.plot([], [], color="C0", alpha=0.5, label="25 draws")
left.plot(
    index,
    (alpha / (alpha + 1)) ** index,
    color="C1",
    linewidth=2.5,
    label="mean, $r^k$",
)
left.set(xlabel="dish $k$", ylabel=r"$\pi_k$", title="The stick becomes shorter")
left.legend()
bins = np.arange(0, 17)
row_sums = B[:, 0].sum(axis=1)
right.hist(row_sums, bins=bins - 0.5, density=True, alpha=0.5, label="a row, by sticks")
right.plot(
    bins, poisson.pmf(bins, alpha), "ko", label=rf"Poisson, mean $\alpha = {alpha:g}$"
)
right.set(xlabel="dishes of a customer", ylabel="probability")
right.set_title("A row is Poisson, as in the buffet")
right.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The number of weights that the prior expects
#
# The mean of one stick is $\mathbb E[v] = \int_0^1 v\, \alpha v^{\alpha - 1} dv =
# \frac{\alpha}{\alpha + 1} = r$. The sticks are independent, so
# $\mathbb E[\pi_k] = r^k$. A network has $K$ units, not infinitely many. On average a
# row has
#
# $$ \sum_{k=1}^{K} r^k = r\, \frac{1 - r^K}{1 - r} = \alpha\, \bigl(1 - r^K\bigr) $$
#
# weights on (since $1 - r = \frac{1}{\alpha + 1}$, the factor $\frac{r}{1 - r}$ is just
# $\alpha$). The difference from $\alpha$ is the cost of truncation. The paper calls $K$
# the *truncation level*. Note that it truncates the limit: its sticks are
# $\mathrm{Beta}(\alpha, 1)$, not the sticks of the finite model.
#
# > **Stop and predict.** The paper reports (Sec. 6.3) that the first task uses "a
# > maximum of around 15 % incoming connections", with $\alpha = 30$ and $K = 200$
# > units. Did the network learn this from the images?
#
# <details><summary>Answer</summary>
#
# Compute the share that the prior expects before it has seen any data: 14.98%. The
# figure follows from the prior. It is not something that the network learned about
# images.
#
# </details>

# %% slideshow={"slide_type": "slide"}
units, concentration = 200, 30.0
expected, term = 0.0, 1.0
for _ in range(units):
    term *= concentration / (concentration + 1)
    expected += term
by_package = stick_breaking.expected_weights(concentration, units)
share = by_package / units
print(f"loop    {expected:.6f} of {units} weights")
print(f"package {by_package:.6f} of {units} weights: {share:.2%}")
masks, _ = stick_breaking.sample_prior(
    rng.uniform(size=(200, units)), rng.uniform(size=(200, 50, units)), concentration
)
masks_on = masks.mean(axis=(1, 2))
error = masks_on.std() / np.sqrt(masks_on.size)
print(f"share in {masks_on.size} drawn masks: {masks_on.mean():.2%} +- {error:.2%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Sharing
#
# Two customers share a dish with probability $\pi_k^2$. With $\mathbb E[v^2] =
# \frac{\alpha}{\alpha + 2}$ the same geometric sum gives
#
# $$ \sum_{k=1}^{\infty} \mathbb E[\pi_k^2] = \frac\alpha2. $$
#
# So the second customer also takes half of the first one's dishes, for every $\alpha$.
# (The buffet shows this immediately: the second customer takes each of them with
# probability $\frac12$.)
#
# > **Stop and predict.** Consider two *tasks* now, each with its own binary matrix.
# > When do they share more weights: if both matrices are drawn from the same sticks, or
# > if each task has separate sticks?
#
# <details><summary>Answer</summary>
#
# With the same sticks a weight is on for both tasks with probability
# $\mathbb E[\pi_k^2]$. With separate ones the probability is $\mathbb E[\pi_k]^2$,
# which is less by the variance of $\pi_k$. But the difference is small: in both cases
# the tasks share about half of their weights. Even separate sticks favour the *same
# first units*. Two matrices of equal density without any order would share only 15%.
#
# </details>

# %% slideshow={"slide_type": "slide"}
two = rng.uniform(size=(2, 2000, units))
pi_one, pi_two = np.exp(
    stick_breaking.log_probabilities(np.log(two) / concentration)[0]
)
shared = {
    "same sticks": (pi_one**2).mean(), "separate sticks": (pi_one * pi_two).mean(),
    "no order": share**2,
}  # fmt: skip
print("                  on for both tasks")
print("                  of all weights   of a task's weights")
for name, value in shared.items():
    print(f"{name:17s} {value:14.2%} {value / share:21.0%}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Two masks drawn with separate sticks, and their overlap, which is nearly all in the first columns."}}
one, other = (
    stick_breaking.sample_prior(
        rng.uniform(size=(1, units)), rng.uniform(size=(1, 50, units)), concentration
    )[0][0]
    for _ in range(2)
)
figure, panels = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained", sharey=True)
extent = (0.5, units + 0.5, 50.5, 0.5)
for axes, mask, name in zip(
    panels, (one, other, one * other), ("task 1", "task 2", "both"), strict=True
):
    axes.imshow(
        mask, cmap="Greys", aspect="auto", interpolation="nearest", extent=extent
    )
    axes.set(xlabel="unit $k$", title=f"{name}: {mask.mean():.1%} on")
panels[0].set_ylabel("input $d$")
plt.show()

# %% [markdown]
# This is what a layer of NPBCL looks like before it has seen any data. Inputs are
# customers, units are dishes, and each task has its own buffet. Tasks share the first
# units because the prior puts them first. The data decide about each single weight,
# through the mask's own offset $\rho_{dk}$ (tutorial 7). The number of units in use is
# not set by hand. $\alpha$ determines how many are expected, and it can be learned
# (tutorial 10).
#
# ## Exercises
#
# Solutions are in `solutions/05_buffet.py`; `ibpcl check` checks their gradients.
#
# 1. **The number of weights.** Derive the gradient of $\alpha\,(1 - r^K)$ with respect
#    to $\alpha$, write the pair and check it. How close is $K =
#    200$ to infinity for $\alpha = 30$, and for $\alpha = 200$? *Hint:* $r^K = e^{K
#    \log r}$ and $\log r = \log\alpha - \log(\alpha + 1)$.
# 2. **Empty units.** What is the probability that the first unit has no weight at all
#    from $784$ inputs? And the last of 200 units? Take $\alpha =
#    30$. *Hint:* given $\pi_1$ it is $(1 - \pi_1)^{784}$, and the mean over
#    $\mathrm{Beta}(\alpha, 1)$ is a Beta function. Use samples for the last unit.
# 3. **In another order.** Draw many buffets with three customers. Compare the
#    probability that the first and the third customer share exactly one dish with the
#    probability that the second and the third do. *Hint:* what does exchangeability
#    imply?
# 4. **Truncating the finite model.** Let $K = 20$ and $\alpha = 5$. How many weights
#    does a row of the *finite* model expect, and how many does a row of the truncated
#    limit expect? *Hint:* the mean of $\mathrm{Beta}(\frac\alpha K, 1)$ is
#    $\frac{\alpha / K}{\alpha / K + 1}$.
