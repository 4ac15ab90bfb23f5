r"""Kronecker Laplace: the prior of the next task knows which weights of a layer move together.

Ritter, Botev and Barber (2018), "Online Structured Laplace Approximations For Overcoming
Catastrophic Forgetting", Eqs. 7 to 12.  As in :mod:`ibpcl.methods.laplace`, the prior of the next
task is a Gaussian around the last solution,

.. math:: \mu_t = \arg\max_\theta \sum_n \log p(y_n | x_n, \theta) - \frac\lambda2 (\theta -
          \mu_{t - 1})^\top \Lambda_{t - 1} (\theta - \mu_{t - 1}), \qquad
          \Lambda_t = \Lambda_{t - 1} + N_t F^t,

but its precision is not diagonal.  For one example, the slope at the weights of a layer is the
outer product of the layer's inputs :math:`\tilde h`, with a constant 1 behind them for the bias,
and the slopes :math:`\delta` at its outputs.  So the Fisher information of the layer, which for
the softmax is the generalized Gauss-Newton matrix, is

.. math:: \mathbb E_y\bigl[(\tilde h \otimes \delta)(\tilde h \otimes \delta)^\top\bigr] = \tilde h
          \tilde h^\top \otimes \mathbb E_y\bigl[\delta \delta^\top\bigr],

exactly.  For N examples it is the mean of such products, for which the product of the means stands
(Martens and Grosse, 2015):

.. math:: F^t \approx A_t \otimes G_t, \qquad
          A_t = \frac1N \sum_n \tilde h_n \tilde h_n^\top, \qquad
          G_t = \frac1N \sum_n \mathbb E_y\bigl[\delta_n \delta_n^\top\bigr].

Different layers count as independent.  The matrices (D + 1, D + 1) and (K, K) stand for one of
:math:`((D + 1) K)^2` numbers.  With :math:`\Delta = W - W_{t - 1}`, the penalty and its gradient
are products of small matrices (:mod:`ibpcl.primitives.kronecker`),

.. math:: \frac\lambda2 \sum_{s < t} N_s \operatorname{tr}(G_s\, \Delta^\top A_s\, \Delta), \qquad
          \lambda \sum_{s < t} N_s\, A_s\, \Delta\, G_s .

**Sums over tasks.**  A sum of Kronecker products is not a Kronecker product.  ``sums = "separate"``
keeps the factors of every task, so the sum is exact.  ``"added"`` keeps one pair per layer,
:math:`\frac{\sum_s N_s A_s}{\sum_s N_s} \otimes \sum_s N_s G_s`, so memory does not grow.

**Exact limits.**  One example has the full Gauss-Newton block.  Diagonal factors (``factors =
"diagonal"``) leave only the products of means :math:`\overline{h_d^2}\; \overline{\delta_k^2}`;
for one example they are the precision of :mod:`ibpcl.methods.laplace`.  In a linear layer with
Gaussian noise, :math:`\mathbb E[\delta \delta^\top]` is the same for all examples.  The product
of means is then exact, and learning task by task is learning all tasks at once.  With
:math:`\lambda = 0` this is :mod:`ibpcl.methods.naive`, bit for bit.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import fisher
from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.ewc import Information, examples
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    accept,
    keep,
    pull,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option
from ibpcl.primitives import kronecker


@documented
@dataclass(frozen=True, init=False)
class Settings(Information):
    """Settings of the Kronecker-factored Laplace approximation."""

    method = "kronecker"

    weight: float = option(1.0, "Weight lambda of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the prior of a weight before the first task.", above=0
    )
    factors: str = option(
        "full", "Whole factors (full), or only their diagonals.", choices=("full", "diagonal")
    )
    sums: str = option(
        "separate",
        "One pair of factors per layer and task (separate), or one per layer, added over tasks.",
        choices=("separate", "added"),
    )


def together(weight, bias):
    """Return weights with the biases as their last row.

    Parameters
    ----------
    weight : ndarray, shape (D, K)
        Weights of a layer.
    bias : ndarray, shape (K,)
        Biases.

    Returns
    -------
    both : ndarray, shape (D + 1, K)
        A new array.
    """
    return np.concatenate([weight, bias[None]])


def penalty(network, vector, places, memory, settings):
    r"""Return the negative log prior up to a constant, and its gradient.

    .. math:: \frac{\lambda}{2 \sigma_0^2} |\theta - \mu|^2 + \frac\lambda2 \sum_{l, s}
              \operatorname{tr}(G_{ls}\, \Delta_l^\top A_{ls}\, \Delta_l)

    where :math:`G_{ls}` contains the number of examples.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Network of the task.
    vector : ndarray, shape (P,)
        Current parameters.
    places : slice or ndarray of int
        Positions of the shared parameters, from ``context.places(network)``.
    memory : dict of str to ndarray
        ``mean``, and the factors of each layer and task; empty before the first task.
    settings : Settings
        ``weight`` and ``prior_sigma`` are read.

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,)
        Gradient of the penalty.
    """
    mean = np.zeros_like(vector)
    if memory:
        mean[places] = memory["mean"]
    prior = np.full_like(vector, settings.weight * settings.prior_sigma**-2)
    total, gradient = pull(vector, slice(None), (mean, prior))
    moved = network.layout.layers(vector - mean)
    slopes = network.layout.layers(gradient)
    for layer, pairs in factors_of(memory).items():
        delta = together(moved[layer]["weight.mu"], moved[layer]["bias.mu"])
        for of_inputs, of_slopes in pairs:
            value, cache = kronecker.penalty(delta, of_inputs, of_slopes)
            (slope,) = kronecker.penalty_vjp(settings.weight, cache)
            total += settings.weight * float(value)
            slopes[layer]["weight.mu"] += slope[:-1]
            slopes[layer]["bias.mu"] += slope[-1]
    return total, gradient


def factors_of(memory):
    """Return the Kronecker factors of each layer.

    Parameters
    ----------
    memory : dict of str to ndarray
        From :func:`remember`; may be empty.

    Returns
    -------
    factors : dict of str to list of tuple
        By layer, pairs (A, G) of shapes (D + 1, D + 1) and (K, K), one per task, or one in all.
    """
    found = {}
    for name, of_inputs in memory.items():
        kind, _, rest = name.partition(".")
        if kind.startswith("inputs"):
            of_slopes = memory[f"{kind.replace('inputs', 'slopes')}.{rest}"]
            found.setdefault(rest, []).append((of_inputs, of_slopes))
    return found


def remember(memory, settings, shared, gained, count, t):
    """Return the memory after a task: its solution, and the factors of its curvature.

    Parameters
    ----------
    memory : dict of str to ndarray
        Memory before the task.
    settings : Settings
        ``factors`` and ``sums`` are read.
    shared : ndarray, shape (Q,)
        Shared parameters of the solution.
    gained : dict of str to ibpcl.continual.fisher.Factors
        Mean Kronecker factors of each shared layer.
    count : int
        Number of training examples of the task.
    t : int
        Number of the task.

    Returns
    -------
    memory : dict of str to ndarray
        ``mean`` (Q,), and ``inputs{s}.{layer}`` and ``slopes{s}.{layer}`` of each task s; with
        added factors ``inputs.{layer}``, ``slopes.{layer}`` and the number of ``examples``.
    """
    memory = memory | {"mean": shared}
    separate = settings.sums == "separate"
    number = t if separate else ""
    so_far = 0 if separate else int(memory.get("examples", 0))
    for layer, (of_inputs, of_slopes) in gained.items():
        if settings.factors == "diagonal":
            of_inputs = np.diag(np.diag(of_inputs))
            of_slopes = np.diag(np.diag(of_slopes))
        of_slopes = count * of_slopes  # the sum over examples stands in this factor
        if so_far:
            before = memory[f"inputs.{layer}"]
            of_inputs = (so_far * before + count * of_inputs) / (so_far + count)
            of_slopes = memory[f"slopes.{layer}"] + of_slopes
        memory |= {
            f"inputs{number}.{layer}": of_inputs.astype(shared.dtype),
            f"slopes{number}.{layer}": of_slopes.astype(shared.dtype),
        }
    return memory if separate else memory | {"examples": np.array(so_far + count)}


@documented_step
def learn_task(context, task):
    """Learn one more task with a Kronecker-factored Laplace approximation."""
    context = accept(context, task)
    settings = context.settings
    memory = context.state.memory
    network = context.next_network(task.outputs)
    places = context.places(network)

    def prior(vector, gradient):
        return penalty(network, vector, places, memory, settings)

    vector = start(context, network, task)
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, vector, data, penalty=prior)
    chosen, rng = examples(context, task)
    gained = fisher.factors(network, vector, *chosen, settings.fisher, rng)
    shared = {name: each for name, each in gained.items() if context.model.shares(f"{name}.")}
    solution = vector[places].copy()
    memory = remember(memory, settings, solution, shared, len(data.x), context.state.learned)
    return keep(context, network, vector, memory), history


@documented_learner
class KroneckerLaplace(Saved):
    """Learner with an online Laplace approximation whose precision is Kronecker-factored.

    Ritter et al. (2018), "Online Structured Laplace Approximations".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``mean``, the shared parameters of
        the last solution, and ``inputs{s}.{layer}`` (D + 1, D + 1) and ``slopes{s}.{layer}`` (K, K)
        of each layer and task s; with added factors there is one pair per layer.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
