r"""GPM, gradient projection memory: no step moves the outputs that earlier tasks have seen.

Saha, Garg and Roy (2021), "Gradient Projection Memory for Continual Learning", Algorithm 1.  A
layer computes :math:`h W + b` from its inputs h.  A step :math:`\Delta W` that is orthogonal to
every input h of an earlier task, :math:`h\, \Delta W = 0`, does not change the layer's outputs for
that task.  With a constant 1 behind the inputs, the bias is one more row of W, and the condition
covers it.  So each layer keeps an orthonormal basis M (D + 1, r) of the inputs of earlier tasks,
and every step loses its part in their span:

.. math:: \Delta W \leftarrow \Delta W - M M^\top \Delta W .

**After a task**, the basis grows by the directions that it does not cover.  Let R (n, D + 1) be the
inputs of the layer for n examples of the task, and :math:`\hat R = R - R M M^\top`.  The first k
right singular vectors of :math:`\hat R` are added, with the smallest k for which

.. math:: \|R M M^\top\|^2 + \sum_{i \le k} \hat\sigma_i^2 \ge \epsilon\, \|R\|^2 .

The share :math:`\epsilon` (``threshold``) trades forgetting against room for later tasks.  With 0
nothing is kept, and this is naive training.  With 1 the outputs for these examples never change.

The paper projects the gradient and uses plain gradient descent without biases.  Adam divides each
entry of a gradient by its own size, which would turn it out of the allowed space.  Therefore the
*step* of Adam is projected here.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.noise import generator
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of GPM."""

    method = "gpm"

    network: str = option("", "Always empty: the inputs of dense layers are kept.", choices=("",))
    threshold: float = option(
        0.95,
        "Share epsilon of the squared inputs of each layer that its basis must cover after a task; "
        "0 keeps nothing.",
        at_least=0,
        at_most=1,
    )
    examples: int = option(
        300, "Training examples of a task whose inputs enter the basis.", at_least=1
    )


def shared_layers(context, network):
    """Return the layers whose parameters all tasks share.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings: ``learner.context`` of a learner.
    network : ibpcl.models.plain.PlainNetwork
        Network of a task.

    Returns
    -------
    names : list of str
        The hidden layers, and the head if there is a single one.
    """
    return [name for name in network.layers if context.model.shares(f"{name}.weight.mu")]


@on_one_thread
def inputs_of_layers(network, vector, x):
    """Return the inputs of every layer, with a constant 1 behind them for the bias.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The network.
    vector : ndarray, shape (P,)
        Its parameters.
    x : ndarray, shape (N, D)
        Inputs of the network.

    Returns
    -------
    inputs : list of ndarray, shape (N, D + 1)
        One array per layer, the head's last.
    """
    inputs = []
    h = x
    for weight, bias in network.weights(vector):
        inputs.append(np.concatenate([h, np.ones((len(h), 1), h.dtype)], axis=1))
        h = np.maximum(h @ weight + bias, 0)
    return inputs


@on_one_thread
def extended(basis, inputs, threshold):
    """Return an orthonormal basis that covers enough of some inputs.

    Parameters
    ----------
    basis : ndarray, shape (D, r)
        The basis so far, with orthonormal columns; r may be 0.
    inputs : ndarray, shape (N, D)
        Inputs R of a layer.
    threshold : float
        Share of the squared inputs that the basis must cover, in 0 .. 1.

    Returns
    -------
    basis : ndarray, shape (D, r + k)
        With the fewest further columns.

    Examples
    --------
    >>> r = np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> np.abs(extended(np.zeros((3, 0)), r, 0.9)).tolist()
    [[1.0], [0.0], [0.0]]
    """
    inputs = inputs.astype(np.float64)
    covered = inputs @ basis
    rest = inputs - covered @ basis.T
    _, singular, directions = np.linalg.svd(rest, full_matrices=False)
    reached = np.sum(covered**2) + np.concatenate([[0.0], np.cumsum(singular**2)])
    needed = threshold * np.sum(inputs**2)
    # what is within rounding of the whole is the whole
    enough = np.flatnonzero(reached >= needed * (1 - 1e-12))
    count = int(enough[0]) if len(enough) else len(singular)
    # a direction without size is not determined
    count = min(count, int(np.sum(singular > 1e-9 * max(1e-300, np.abs(inputs).max(initial=0)))))
    columns = np.concatenate([basis, directions[:count].T], axis=1)
    return np.linalg.qr(columns)[0] if columns.shape[1] else columns


def bases(context):
    """Return the basis of each shared layer.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the tasks: ``learner.context`` of a learner.

    Returns
    -------
    bases : dict of str to ndarray, shape (D + 1, r)
        By layer; empty before the first task.
    """
    start = "basis."
    memory = context.state.memory
    return {name.removeprefix(start): memory[name] for name in memory if name.startswith(start)}


def projection(network, bases, began):
    """Return the function that takes the part in the bases out of every step.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Network of the task.
    bases : dict of str to ndarray, shape (D + 1, r)
        Basis of each layer; layers that are missing move freely.
    began : ndarray, shape (P,)
        Parameters before the first step.

    Returns
    -------
    project : callable
        ``project(step, vector, state, rates)``, as :func:`ibpcl.inference.loop.fit` calls it.
    """
    last = began.copy()

    def project(step, vector, state, rates):
        nonlocal last
        moved = vector - last
        views = network.layout.layers(moved)
        for name, basis in bases.items():
            weight = views[name]["weight.mu"]
            bias = views[name]["bias.mu"]
            both = np.concatenate([weight, bias[None]])
            both -= basis @ (basis.T @ both)
            weight[...] = both[:-1]
            bias[...] = both[-1]
        vector = last + moved
        last = vector.copy()
        return vector, state, rates

    return project


@documented_step
def learn_task(context, task):
    """Learn one more task with projected steps, and extend the bases by its inputs."""
    context = accept(context, task)
    settings = context.settings
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    kept = {name: basis for name, basis in bases(context).items() if basis.shape[1]}
    adapt = projection(network, kept, vector) if kept else None
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, vector, data, adapt=adapt)
    order = generator(context.key("buffer")).permutation(len(task.x_train))
    inputs = inputs_of_layers(network, vector, task.x_train[order[: settings.examples]])
    memory = {}
    shared = shared_layers(context, network)
    for name, rows in zip(network.layers, inputs, strict=True):
        if name in shared:
            before = kept.get(name, np.zeros((rows.shape[1], 0)))
            basis = extended(before, rows, settings.threshold)
            memory[f"basis.{name}"] = basis.astype(np.float32)
    return keep(context, network, vector, memory), history


@documented_learner
class GPM(Saved):
    """Learner whose steps do not move the outputs that earlier tasks have seen.

    Saha et al. (2021), "Gradient Projection Memory for Continual Learning".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``basis.{layer}`` (D + 1, r), an
        orthonormal basis of the inputs of each shared layer.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
