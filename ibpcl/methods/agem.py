r"""A-GEM, averaged GEM: no step may increase the mean loss on the earlier tasks' examples.

Chaudhry et al. (2019), "Efficient lifelong learning with A-GEM", Sec. 4.  With the gradient g of
the loss of a minibatch, and the gradient :math:`g_{ref}` of the mean loss on all stored examples, a
step follows

.. math::

    \tilde g = g - \frac{g^\top g_{ref}}{g_{ref}^\top g_{ref}}\, g_{ref}
    \quad \text{if } g^\top g_{ref} < 0, \qquad \tilde g = g \quad \text{otherwise}.

It is the nearest vector to g with :math:`\tilde g^\top g_{ref} \ge 0`: the problem of GEM
(:mod:`ibpcl.methods.gem`) with one constraint for all earlier tasks.  With one earlier task the two
methods are the same.  The paper draws a batch of the stored examples in each step; here all of them
are used.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.gem import Episodic, learn_projected
from ibpcl.methods.sequential import Context, PlainClassifier
from ibpcl.methods.settings_docs import documented


@documented
@dataclass(frozen=True, init=False)
class Settings(Episodic):
    """Settings of A-GEM."""

    method = "agem"


def project(gradient, reference):
    r"""Return the nearest vector that has no negative inner product with a reference.

    .. math:: \tilde g = g - \frac{\min(g^\top g_{ref}, 0)}{g_{ref}^\top g_{ref}}\, g_{ref}

    Parameters
    ----------
    gradient : ndarray, shape (Q,)
        The gradient g.
    reference : ndarray, shape (Q,)
        The reference :math:`g_{ref}`.

    Returns
    -------
    projected : ndarray, shape (Q,)
        The vector, computed in float64; ``gradient`` itself if it needs no change, and NaN if the
        inner product is NaN.

    Examples
    --------
    >>> project(np.array([-3.0, 1.0]), np.array([2.0, 0.0]))
    array([0., 1.])
    """
    reference = np.asarray(reference, float)
    product = reference @ np.asarray(gradient, float)
    if product >= 0:
        return gradient
    return gradient - product / (reference @ reference) * reference


def reference_of(gradients, examples):
    """Return the gradient of the mean loss on all stored examples.

    Parameters
    ----------
    gradients : ndarray, shape (S, Q)
        Gradient of the mean loss on the stored examples of each task, from
        :func:`ibpcl.methods.gem.memory_gradients`.
    examples : ndarray of int, shape (S,)
        Number of stored examples of each task.

    Returns
    -------
    reference : ndarray, shape (Q,)
        Mean of the rows, weighted by the numbers of examples.

    Examples
    --------
    >>> reference_of(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([30, 10]))
    array([0.75, 0.25])
    """
    return examples / examples.sum() @ gradients


@documented_step
def learn_task(context, task):
    """Learn one more task with A-GEM.

    The state also keeps examples of the task.
    """
    return learn_projected(
        context,
        task,
        lambda gradient, gradients, examples: project(gradient, reference_of(gradients, examples)),
    )


@documented_learner
class AGEM(Saved):
    """Learner with averaged gradient episodic memory.

    Chaudhry et al. (2019), "Efficient lifelong learning with A-GEM".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``x{s}`` and ``y{s}``, the
        stored examples of task s, and ``examples{s}``, its number of training examples.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
