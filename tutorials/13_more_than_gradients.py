# %% [markdown] slideshow={"slide_type": "slide"}
# # 13. Verify more than gradients
#
# A gradient check compares a function with its own derivative. If the function itself
# is wrong, its derivative is useless, but no gradient check will detect it. This
# tutorial checks the functions themselves: a density, a sampler, a closed form, a KL
# divergence.
#
# **Prerequisites:** tutorial 4 (reports of the checker) and tutorial 6 (the Kumaraswamy
# distribution). **Time:** about 40 minutes.
#
# **You will be able to**
#
# - find the right values of a forward function, without another implementation of it;
# - check a distribution with `ibpcl.check_distribution`, or a whole file with `ibpcl
#   check mine.py`;
# - read the name of a mistake in a formula;
# - find mistakes in the paper's own formulas.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import betaln, digamma

from ibpcl import check_distribution, check_identity, check_value
from ibpcl.evaluation.figures.canvas import PALETTE

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What are the right values?
#
# A derivative can be compared with a difference quotient. A density can be checked as
# well:
#
# - It integrates to one.
# - The draws of its sampler follow it: if $F$ is the distribution function, then $F(x)$
#   is uniform for a draw $x$.
# - Its mean is $\int x \, p(x) \, dx$, its entropy is $-\int p(x) \log p(x) \, dx$.
#   Both are integrals over one variable. A computer evaluates them to twelve digits
#   without any formula.
#
# Here are the functions of the Kumaraswamy distribution from tutorial 6. A stick $v$
# has the density
#
# $$ p(v) = a \, b \, v^{a - 1} (1 - v^a)^{b - 1}, \qquad 0 < v < 1. $$


# %% slideshow={"slide_type": "slide"}
def log_density(v, a, b):
    return np.log(a) + np.log(b) + (a - 1) * np.log(v) + (b - 1) * np.log1p(-(v**a))


def sample(u, a, b):
    return (1 - u ** (1 / b)) ** (1 / a)


def mean(a, b):
    return b * np.exp(betaln(1 + 1 / a, b))


print(check_distribution(log_density, sample=sample, mean=mean, title="Kumaraswamy"))

# %% [markdown] slideshow={"slide_type": "slide"}
# Three lines report ok, and each gives its reason. The notes list the assumptions:
# values for $a$ and $b$, and the region where the density has its mass.
#
# The sampler was not checked by statistics. It is a function of the noise
# $u$, so $F(v(u))$ must be $u$ or $1 - u$, to all digits.
#
# ## A sampler that is almost right
#
# > **Stop and predict.** The next sampler has $a$ and $b$ exchanged. All of its draws
# > are numbers between 0 and 1, and a network trains with it. Could a gradient check of
# > this sampler find the mistake?
#
# <details><summary>Answer</summary>
#
# No. The wrong sampler and its derivative form a consistent pair. The check would
# report ok, and correctly so: the gradient belongs to the function that was written.
#
# </details>


# %% slideshow={"slide_type": "slide"}
def exchanged(u, a, b):
    return (1 - u ** (1 / a)) ** (1 / b)


report = check_distribution(log_density, sample=exchanged, support=(0, 1))
print(report)

a, b = 5.0, 2.0
u = np.random.default_rng(13).uniform(size=20_000)
v = np.linspace(0.005, 0.995, 200)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "A density and histograms of two samplers; only one of them follows it."}}
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.plot(v, np.exp(log_density(v, a, b)), color="black", label="density")
ax.hist(sample(u, a, b), bins=50, density=True, alpha=0.5, label="right sampler")
ax.hist(exchanged(u, a, b), bins=50, density=True, alpha=0.5, label="a and b exchanged")
ax.set(xlabel="stick v", ylabel="density", title="Two samplers for one density")
ax.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The picture shows *that* the draws are wrong. The report says *what* is wrong: the
# sampler is right if it gets its two parameters in the other order. The checker tries
# small changes that people make by mistake. It reports a change that makes all values
# right, at several sets of parameters.
#
# ## A closed form from an encyclopedia
#
# For years, Wikipedia and a large library contained a wrong entropy of this
# distribution. This was the formula:


# %% slideshow={"slide_type": "slide"}
def entropy_until_2019(a, b):
    harmonic = digamma(b + 1) + np.euler_gamma
    return (1 - 1 / a) + (1 - 1 / b) * harmonic + np.log(a) + np.log(b)


def entropy(a, b):
    harmonic = digamma(b + 1) + np.euler_gamma
    return (1 - 1 / b) + (1 - 1 / a) * harmonic - np.log(a) - np.log(b)


for formula in (entropy_until_2019, entropy):
    report = check_distribution(log_density, entropy=formula, support=(0, 1))
    print(report[formula.__name__])

# %% [markdown] slideshow={"slide_type": "slide"}
# The old formula has two mistakes. The report therefore names none and only gives the
# right number. This is the rule: a mistake is named only if one change explains all
# values.
#
# ## A divergence in the wrong direction
#
# > **Stop and predict.** A student writes $KL[p \,\|\, q]$ instead of $KL[q \,\|\, p]$.
# > The student then tests that the result is never negative, and that it is zero for
# > two equal distributions. What do these tests find?
#
# <details><summary>Answer</summary>
#
# Nothing. Both directions are KL divergences, so both pass. Only the values distinguish
# them.
#
# </details>


# %% slideshow={"slide_type": "slide"}
def normal(x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)


def kl(mu_q, sigma_q, mu_p, sigma_p):
    ratio = (sigma_p / sigma_q) ** 2
    return 0.5 * (ratio + ((mu_q - mu_p) / sigma_q) ** 2 - 1 - np.log(ratio))


print(check_distribution(normal, kl=kl)["kl"])

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A term of the paper
#
# The appendix of the paper prints the divergence between a Kumaraswamy and a Beta
# distribution. Its last term is $-\frac{b}{1 - b}$. The right one is
# $-\frac{b - 1}{b}$. If you know the right function, or can integrate it, compare the
# two by `check_identity`.


# %% slideshow={"slide_type": "slide"}
def printed(a, b, alpha):
    first = (a - alpha) / a * (-np.euler_gamma - digamma(b) - 1 / b)
    return first + np.log(a * b) - np.log(alpha) - b / (1 - b)


def by_quadrature(a, b, alpha):
    nodes, weights = np.polynomial.legendre.leggauss(400)
    s = (nodes + 1) / 2
    # Flat at both ends, where the integrand may have a pole.
    v = s**3 * (10 - 15 * s + 6 * s**2)
    weights = weights / 2 * 30 * s**2 * (1 - s) ** 2
    log_q = log_density(v, a, b)
    log_p = np.log(alpha) + (alpha - 1) * np.log(v)
    return np.sum(weights * np.exp(log_q) * (log_q - log_p))


points = [
    {"a": 2.0, "b": 3.0, "alpha": 1.5},
    {"a": 3.0, "b": 2.5, "alpha": 2.0},
    {"a": 4.0, "b": 2.0, "alpha": 3.0},
]
print(check_identity(printed, by_quadrature, points))

# %% [markdown] slideshow={"slide_type": "slide"}
# The report names the quotient: it is upside down, and its sign is wrong. No gradient
# check could find this, because the derivative of the printed function is a right
# derivative of a wrong function.
#
# Three more of the paper's formulas are checked in the same way on the page *Verify
# more than gradients*, each by one command.
#
# ## Numbers
#
# The answer to an exercise is often one number. `check_value` compares it with the
# right one, and names common mistakes. Suppose that the exercise asks for the entropy
# of a fair coin, and the answer is 1:

# %% slideshow={"slide_type": "slide"}
print(check_value(1.0, np.log(2), name="entropy of a fair coin"))

# %% [markdown]
# The answer is right in bits, but the expected unit is nats.
#
# ## Exercises
#
# Solutions are in `solutions/13_more_than_gradients.py`; `ibpcl check` checks their
# functions.
#
# 1. **A log-normal density.** Write the log density of $x = e^z$ with
#    $z \sim \mathcal N(\mu, \sigma^2)$. Leave out the Jacobian $-\log x$ on purpose.
#    What does the integral become, and what does the report say? *Hint:* substitute
#    $z = \log x$ in the integral.
# 2. **One number.** Compute the entropy of the exponential distribution with rate $2$
#    by hand, and give your number to `check_value(yours, entropy(2.0))`. Then give it
#    the entropy in bits, and the entropy for the rate $1/2$. Which of the two gets a
#    name? *Hint:* $E[\log p(x)] = \log \lambda - \lambda E[x]$.
# 3. **A mistake that the density cannot show.** Write a sampler of the exponential
#    distribution with $u$ instead of $1 - u$. Is that a mistake? Do the same in the
#    quantile function. Why is the verdict different? *Hint:* what is the distribution
#    of $1 - u$?
