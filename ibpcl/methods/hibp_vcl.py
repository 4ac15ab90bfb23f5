r"""H-IBP-VCL: IBP-VCL whose layers share one Indian buffet process.

Kessler, Nguyen, Zohren and Roberts (2021), "Hierarchical Indian Buffet Neural Networks for Bayesian
Continual Learning", the model with a hierarchical Indian buffet process.  One process has the
probabilities :math:`\pi_k = \prod_{i \le k} v_i`, and each hidden layer l has its own around them,

.. math:: v_k \sim \mathrm{Beta}(\alpha, 1), \qquad
          \pi_{lk} \sim \mathrm{Beta}\bigl(c\, \pi_k,\; c\, (1 - \pi_k)\bigr), \qquad
          z_{lnk} \sim \mathrm{Bernoulli}(\pi_{lk}).

The posterior has Kumaraswamy sticks, and as in the authors' code the children and the masks keep
their prior given the sticks, :math:`q(\pi_l | v) = p(\pi_l | v)`.  Only then is this true:

**The children can be integrated out.**  The bound is a sum over examples, and an example has one
mask per unit.  Given the sticks, its masks are independent, and on with the probability

.. math:: \mathbb E[\pi_{lk} | v] = \frac{c\, \pi_k}{c\, \pi_k + c\, (1 - \pi_k)} = \pi_k .

So the bound does not depend on c, and its gradient needs no samples of Beta distributions, whose
implicit gradients the authors' code uses.  What remains is IBP-VCL with one set of sticks for all
layers: a layer with K units uses the first K of them, and the widest layer uses all
(:func:`ibpcl.models.units.with_shared_sticks`).  The gradient at the sticks is the sum of those of
the layers, and their divergence counts once.

With ``offsets``, each layer and task moves the log-odds of its units, at a price for every example;
then layers differ.  **With one hidden layer this is IBP-VCL, bit for bit**; the default has two.
"""

from dataclasses import dataclass

from ibpcl.continual.learner import Saved
from ibpcl.methods import ibp_vcl
from ibpcl.methods.frame import (
    documented_learner,
    learning,
    mean_probabilities,
    predicting_classes,
)
from ibpcl.methods.ibp_vcl import BuffetClassifier
from ibpcl.methods.sequential import Context
from ibpcl.methods.settings_docs import documented
from ibpcl.methods.vcl import learn_task, predict_classes
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(ibp_vcl.Settings):
    """Settings of H-IBP-VCL."""

    method = "hibp_vcl"

    hidden: tuple[int, ...] = option(
        (200, 200), "Units of each hidden layer; the largest is the truncation level of the IBP."
    )

    # fixed: all layers share their sticks
    hierarchical = True


@documented_learner
class HIBPVCL(Saved):
    """Learner of IBP-VCL whose layers share the probabilities of their units.

    Kessler et al. (2021), "Hierarchical Indian Buffet Neural Networks".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    refined : dict of int to ndarray
        Parameters used for predictions, by task; computed at the first prediction.
    """

    settings_type = Settings
    model_type = BuffetClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)
