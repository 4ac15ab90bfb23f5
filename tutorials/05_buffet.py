# %% [markdown]
# # 5. The Indian buffet
#
# A network that learns many tasks should not use all of itself for the first one, and
# nobody can say beforehand how much each task needs. So we want a probability
# distribution over binary matrices, rows for inputs and columns for units, that has *no
# fixed number of columns*: it uses a few readily, others rarely, and always has one
# more. That is the *Indian buffet process* (IBP; Griffiths and Ghahramani, 2006). It
# can be told as a story about customers and dishes, or built from a stick that is
# broken again and again. This tutorial tells both and shows that they are one.
#
# **Prerequisites:** Bernoulli, Beta and Poisson distributions; expectations. **Time:**
# about 45 minutes.
#
# **You will be able to**
#
# - draw binary matrices from the IBP in both ways, and say what $\alpha$ does to them;
# - derive how many dishes a customer takes, how many are taken in all, and how many two
#   customers share;
# - derive the first stick from the finite model, in one line;
# - say what is lost when the process is cut off at $K$ units, and what the prior alone
#   says about a network.
#
# Names: `D` customers are the rows (later: a layer's inputs), `K` dishes the columns
# (later: its units); `alpha` is the concentration, `v` a stick,
# `pi` the probability of a dish; `B` the binary matrix.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import kstest, poisson

from ibpcl.primitives import stick_breaking

rng = np.random.default_rng(5)

# %% [markdown]
# ## Customers and dishes
#
# An Indian restaurant has a buffet without end. The first customer takes
# $\mathrm{Poisson}(\alpha)$ dishes.  Customer $n$ goes along the dishes that others
# have tasted, and takes dish $k$ with probability $m_k / n$, where $m_k$ of the
# customers before took it; then $\mathrm{Poisson}(\alpha / n)$ new ones. Popular dishes
# become more popular, and there are ever fewer new ones.


# %%
def buffet(customers, alpha, rng):
    """Draw a binary matrix (customers, dishes) from the IBP, dishes in the order in which they were first taken."""
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

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three binary matrices of forty customers for alpha 1, 5 and 20: the first columns are nearly full, later ones ever emptier, and a larger alpha gives more columns."}}
figure, panels = plt.subplots(
    1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=(1, 2, 4)
)
for axes, (alpha, B) in zip(panels, drawn.items(), strict=True):
    axes.imshow(
        B,
        cmap="Greys",
        aspect="auto",
        interpolation="nearest",
        extent=(0.5, B.shape[1] + 0.5, D + 0.5, 0.5),
    )
    axes.set(xlabel="dish $k$", title=rf"$\alpha = {alpha:g}$: {B.shape[1]} dishes")
panels[0].set_ylabel("customer $n$")
plt.show()

# %% [markdown]
# > **Stop and predict.** With $\alpha = 5$, how many dishes does the hundredth customer
# > take: more than the first, fewer, or as many? How many different dishes have a
# > hundred customers taken together?
#
# <details><summary>Answer</summary>
#
# As many as the first: 5 on average. Together about 26. The next two paragraphs say
# why.
#
# </details>
#
# **Each customer takes $\alpha$ dishes on average.**  Let customer $n$ come last so
# far, and suppose that each of the $n - 1$ before took
# $\alpha$ on average.  Then $\mathbb E \sum_k m_k = (n - 1)\, \alpha$, customer $n$
# takes $\frac{1}{n} \mathbb E \sum_k m_k = \frac{n - 1}{n} \alpha$ of the old dishes
# and $\frac\alpha n$ new ones: $\alpha$ together. (The number is even
# $\mathrm{Poisson}(\alpha)$: thinning and adding Poisson variables gives Poisson
# variables.)
#
# **All together take $\alpha H_D$.** The new dishes are independent Poisson variables
# with means $\alpha, \frac\alpha2, \frac\alpha3, \dots$, so their number is Poisson
# with mean
#
# $$ \alpha H_D = \alpha \Bigl(1 + \frac12 + \dots + \frac1D\Bigr) \approx \alpha\, (\log D + 0.58). $$
#
# It grows without bound, but only like the logarithm of the customers.

# %%
alpha, repeats, customers = 5.0, 400, 100
restaurants = [buffet(customers, alpha, rng) for _ in range(repeats)]
firsts, lasts = (np.array([B[row].sum() for B in restaurants]) for row in (0, -1))
dishes = np.array([B.shape[1] for B in restaurants])
expected_dishes = alpha * np.sum(1 / np.arange(1, customers + 1))
for name, counts, mean in (
    ("first customer", firsts, alpha),
    ("last customer", lasts, alpha),
    ("all customers", dishes, expected_dishes),
):
    print(
        f"{name:15s} {counts.mean():6.2f} +- {counts.std() / np.sqrt(repeats):.2f} dishes, expected {mean:6.2f}; "
        f"variance {counts.var():6.2f}"
    )

# %% [markdown]
# Mean and variance agree, as they do for Poisson variables. And the first customer is
# not special: if all of them came in another order, every matrix would be as probable
# as before (dishes being renamed). That is called *exchangeability*. It is what makes
# the story fit for a layer of a network, whose inputs have no order either.
#
# ## Where do the probabilities come from?
#
# Exchangeable things behave as if each dish had a probability of its own, drawn
# beforehand, at which every customer takes it independently (de Finetti's theorem).
# Which probabilities? Begin with finitely many dishes:
#
# $$ \pi_k \sim \mathrm{Beta}\Bigl(\frac\alpha K, 1\Bigr), \qquad B_{dk} \sim \mathrm{Bernoulli}(\pi_k), \qquad
#    k = 1, \dots, K. $$
#
# Given that $m_k$ of the $n - 1$ customers before took dish $k$, the posterior of
# $\pi_k$ is $\mathrm{Beta}(\frac\alpha K + m_k,\; n - m_k)$, and the next customer
# takes it with its mean,
#
# $$ \frac{\alpha / K + m_k}{\alpha / K + n} \;\longrightarrow\; \frac{m_k}{n} \qquad (K \to \infty), $$
#
# which is the rule of the buffet. The dishes that nobody has taken, nearly
# $K$ of them, each have $\frac{\alpha / K}{\alpha / K + n}$, together $\frac\alpha n$
# on average: the new ones.
#
# Most of these $\pi_k$ are almost zero. Let us sort them, the largest first. A
# $\mathrm{Beta}(\frac\alpha K, 1)$ variable is below $x$ with probability
# $x^{\alpha / K}$. The largest of $K$ is below $x$ if all are:
#
# $$ P\bigl(\max_k \pi_k \le x\bigr) = \bigl(x^{\alpha / K}\bigr)^K = x^\alpha. $$
#
# That is the distribution function of $\mathrm{Beta}(\alpha, 1)$, for *every*
# $K$.  The largest probability is a stick $v_1 \sim \mathrm{Beta}(\alpha, 1)$. Given
# it, the others are again such variables, squeezed into $(0,
# v_1)$, so the second largest is $v_1 v_2$, and so on (Teh, Görür and Ghahramani,
# 2007). This is Eq. 3 of Kumar, Chatterjee and Rai:
#
# $$ v_k \sim \mathrm{Beta}(\alpha, 1), \qquad \pi_k = \prod_{i=1}^{k} v_i, \qquad B_{dk} \sim
#    \mathrm{Bernoulli}(\pi_k). $$
#
# Take a stick of length one, keep the share $v_1$ of it, of that the share $v_2$, and
# so on: what is left after $k$ breaks is the probability of dish $k$. Now the dishes
# have an order: the first is the most likely one.
#
# A draw of a stick is a formula. $F(v) = v^\alpha$ is inverted by $v = u^{1 / \alpha}$
# with a uniform $u$. The loop, and the package's function:


# %%
def sticks_loop(u, alpha):
    """Break sticks: probabilities (K,) from uniform noise (K,)."""
    pi, left = np.zeros(u.size), 1.0
    for k in range(u.size):
        left = left * u[k] ** (1 / alpha)
        pi[k] = left
    return pi


u = rng.uniform(size=(400, 60))
B, log_pi = stick_breaking.sample_prior(u, rng.uniform(size=(400, D, 60)), alpha)
print(
    "largest difference, loop and package:",
    np.abs(sticks_loop(u[0], alpha) - np.exp(log_pi[0])).max(),
)

finite = np.sort(rng.beta(alpha / 2000, 1, size=(400, 2000)), axis=1)[:, ::-1]
for k in (1, 2, 5):
    p_value = kstest(np.exp(log_pi[:, k - 1]), finite[:, k - 1]).pvalue
    print(
        f"pi_{k}: sticks against the sorted finite model, Kolmogorov-Smirnov p-value {p_value:.2f}"
    )

# %% [markdown]
# A small p-value, below a hundredth say, would speak against equality. So the two
# constructions are one; for a network the sticks are the better one, because a unit
# *has* an order and a number, and because a stick is a number that one can
# differentiate with respect to (tutorial 6).

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: 25 draws of the probabilities of the dishes fall towards zero around their mean. Right: histogram of a row's number of dishes over the bars of a Poisson distribution with mean five."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
index = np.arange(1, 61)
left.plot(index, np.exp(log_pi[:25]).T, color="C0", alpha=0.3, linewidth=0.9)
left.plot([], [], color="C0", alpha=0.5, label="25 draws")
left.plot(
    index,
    (alpha / (alpha + 1)) ** index,
    color="C1",
    linewidth=2.5,
    label=r"mean, $r^k$",
)
left.set(xlabel="dish $k$", ylabel=r"$\pi_k$", title="The stick gets shorter")
left.legend()
rows = B[:, 0].sum(axis=1)
bins = np.arange(0, 17)
right.hist(
    rows, bins=bins - 0.5, density=True, color="C0", alpha=0.5, label="a row, by sticks"
)
right.plot(
    bins,
    poisson.pmf(bins, alpha),
    "o",
    color="black",
    label=rf"Poisson, mean $\alpha = {alpha:g}$",
)
right.set(
    xlabel="dishes of a customer",
    ylabel="probability",
    title="Sticks or buffet, the row is Poisson",
)
right.legend()
plt.show()

# %% [markdown]
# ## What the prior expects of a network
#
# The mean of one stick is $\mathbb E[v] = \int_0^1 v\, \alpha v^{\alpha - 1} dv =
# \frac{\alpha}{\alpha + 1} = r$. The sticks are independent, so
# $\mathbb E[\pi_k] = r^k$. A network has $K$ units, not infinitely many, so a row has
#
# $$ \sum_{k=1}^{K} r^k = r\, \frac{1 - r^K}{1 - r} = \alpha\, \bigl(1 - r^K\bigr) $$
#
# weights on, on average (with $1 - r = \frac{1}{\alpha + 1}$, the factor
# $\frac{r}{1 - r}$ is just $\alpha$).  What is missing to $\alpha$ is what the cut
# costs; the paper calls $K$ the *truncation level*.
#
# > **Stop and predict.** The paper reports (Sec. 6.3) that the first task uses "a
# > maximum of around 15 % incoming connections", with $\alpha = 30$ and $K = 200$
# > units. Is that something the network found out about images?
#
# <details><summary>Answer</summary>
#
# Compute the share that the prior expects before it has seen any data: 14.98 %. The
# figure is one that the prior brings along, not a discovery about images.
#
# </details>

# %%
units, concentration = 200, 30.0
expected, term = 0.0, 1.0
for _ in range(units):
    term *= concentration / (concentration + 1)
    expected += term
share = stick_breaking.expected_weights(concentration, units) / units
print(f"loop    {expected:.6f} of {units} weights")
print(
    f"package {stick_breaking.expected_weights(concentration, units):.6f} of {units} weights: {share:.2%}"
)
masks, _ = stick_breaking.sample_prior(
    rng.uniform(size=(200, units)), rng.uniform(size=(200, 50, units)), concentration
)
shares = masks.mean(axis=(1, 2))
print(
    f"share in {shares.size} drawn masks: {shares.mean():.2%} +- {shares.std() / np.sqrt(shares.size):.2%}"
)

# %% [markdown]
# ## Who shares what
#
# Two customers share a dish with probability $\pi_k^2$.  With $\mathbb E[v^2] =
# \frac{\alpha}{\alpha + 2}$ the same geometric sum gives
#
# $$ \sum_{k=1}^{\infty} \mathbb E[\pi_k^2] = \frac\alpha2. $$
#
# Half of what one customer takes, the other takes, too, for every $\alpha$. (The buffet
# says so at once: the second customer takes each of the first one's dishes with
# probability $\frac12$.)
#
# > **Stop and predict.** Two *tasks* now, each with a binary matrix of its own. When do
# > they share more weights: if both matrices are drawn from the same sticks, or if each
# > task breaks sticks of its own?
#
# <details><summary>Answer</summary>
#
# From the same sticks a weight is on for both with probability $\mathbb E[\pi_k^2]$,
# from separate ones with $\mathbb E[\pi_k]^2$, which is less by the variance of
# $\pi_k$. But that is little: both share about half of what each task uses, for even
# separate sticks favour the *same first units*. Two matrices of equal density without
# any order would share 15 % of it.
#
# </details>

# %%
two = rng.uniform(size=(2, 2000, units))
pi_one, pi_two = np.exp(
    stick_breaking.log_probabilities(np.log(two) / concentration)[0]
)
shared = {
    "same sticks": (pi_one**2).mean(),
    "separate sticks": (pi_one * pi_two).mean(),
    "no order": share**2,
}
for name, value in shared.items():
    print(
        f"{name:15s}: {value:.2%} of all weights are on for both tasks, {value / share:.0%} of a task's own"
    )

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two masks drawn with separate sticks, and their overlap, which is nearly all in the first columns."}}
one, other = (
    stick_breaking.sample_prior(
        rng.uniform(size=(1, units)), rng.uniform(size=(1, 50, units)), concentration
    )[0][0]
    for _ in range(2)
)
figure, panels = plt.subplots(1, 3, figsize=(12, 3), layout="constrained", sharey=True)
for axes, mask, name in zip(
    panels, (one, other, one * other), ("task 1", "task 2", "both"), strict=True
):
    axes.imshow(
        mask,
        cmap="Greys",
        aspect="auto",
        interpolation="nearest",
        extent=(0.5, units + 0.5, 50.5, 0.5),
    )
    axes.set(xlabel="unit $k$", title=f"{name}: {mask.mean():.1%} on")
panels[0].set_ylabel("input $d$")
plt.show()

# %% [markdown]
# So this is what a layer of NPBCL is before it has seen data: inputs are customers,
# units are dishes, and each task has a buffet of its own. Tasks share the first units
# because the prior puts them first, and the data decide about each single weight: that
# is the mask's own offset $\rho_{dk}$ (tutorial 7). How many units are in use is not
# set by hand; $\alpha$ says how many are expected, and can be learned (tutorial 10).
#
# ## Exercises
#
# Solutions are in `solutions/05_buffet.py`; `ibpcl check` proves their gradients.
#
# 1. **How many weights does $\alpha$ buy?**  Derive the gradient of $\alpha\,(1 -
#    r^K)$ with respect to $\alpha$, write the pair and check it. How close is $K = 200$
#    to infinity for $\alpha = 30$, and for $\alpha = 200$? *Hint:* $r^K = e^{K \log r}$
#    and $\log r = \log\alpha - \log(\alpha + 1)$.
# 2. **Empty units.** What is the probability that the first unit has no weight at all
#    from $784$ inputs?  *Hint:* given $\pi_1$ it is $(1 - \pi_1)^{784}$; the mean over
#    $\mathrm{Beta}(\alpha, 1)$ is a Beta function. Then the fiftieth unit, by sampling.
# 3. **In another order.** Draw many buffets with three customers. Compare the
#    probabilities that the first and the third, or the second and the third, share
#    exactly one dish. *Hint:* exchangeability says what must come out.
