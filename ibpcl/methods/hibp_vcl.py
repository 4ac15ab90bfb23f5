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


class HIBPVCL(Saved):
    """Learner of IBP-VCL whose layers share the probabilities of their units.

    Kessler et al. (2021), "Hierarchical Indian Buffet Neural Networks".

    Parameters
    ----------
    settings : Settings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
        results.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
        replaces Numba where Numba is not available.

    Attributes
    ----------
    settings : Settings
        The hyperparameters.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The numerical backend.
    model : ibpcl.methods.ibp_vcl.BuffetClassifier
        Builds the network of a task and selects the parameters that tasks share.
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    refined : dict of int to ndarray
        Parameters used for predictions, by task; computed at the first prediction.
    name : str
        Name of the method, ``"hibp_vcl"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Width D of the examples; None before the first task.
    context : ibpcl.methods.sequential.Context
        Inputs of every step of the method, for the current state.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
    >>> learner = HIBPVCL(Settings(hidden=(8, 6), epochs=1), backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = Settings
    model_type = BuffetClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification with inputs as wide as those of the earlier tasks.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch, with the parts of the objective in nats for the whole task.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or not a classification.
        ValueError
            If its inputs are wider or narrower than those of earlier tasks, or it does not fit the
            single head.
        TrainingError
            If the loss is not finite.
        """
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities for inputs of a learned task.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        probabilities : ndarray, shape (N, C)
            Each row sums to 1.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return self.predict_classes(x, task_id).probabilities

    def predict_classes(self, x, task_id):
        """Return class probabilities together with their uncertainty.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        predictions : ibpcl.models.likelihoods.Classes
            Named tuple of ``probabilities`` (N, C), ``entropy`` (N,) and ``mutual_information``
            (N,), both in nats.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return predict_classes(self.context, self.refined, x, task_id)
