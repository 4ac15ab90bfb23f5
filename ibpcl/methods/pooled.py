"""Training on several tasks at once, with all their heads: joint training, rehearsal.

The parameters of all tasks stand in one vector: what tasks share, then what each has of its own.
"""

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ibpcl.inference.loop import Step, fit
from ibpcl.methods.sequential import keep, start
from ibpcl.models.elbo import Elbo
from ibpcl.noise import generator


class Group(NamedTuple):
    """Examples of one task.

    Attributes
    ----------
    x : ndarray, shape (N, D)
    labels : ndarray of int, shape (N,)
    task : int
    scale : float
        How many examples of the whole each of these stands for.
    """

    x: np.ndarray
    labels: np.ndarray
    task: int
    scale: float = 1.0


def heads(context, outputs):
    """Return the network of each task so far and of the next one, and its places in the vector.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
    outputs : int
        Width of the next task's outputs.

    Returns
    -------
    heads : list of (network, ndarray of int)
    """
    networks = [context.next_network(count) for count in (*context.state.outputs, outputs)]
    # what tasks share comes first in each network's vector
    shared = context.places(networks[0]).stop
    ends = accumulate((network.layout.size - shared for network in networks), initial=shared)
    return [
        (network, np.r_[:shared, begin:end])
        for network, (begin, end) in zip(networks, pairwise(ends), strict=True)
    ]


def start_all(context, task, restart):
    """Return where training starts: the parameters so far, and fresh ones for the task's own.

    With ``restart`` all of them are fresh, as each task's were when it came.
    """
    network = context.next_network(task.outputs)
    fresh = start(context, network, task)
    shared = context.places(network)
    vector = np.concatenate([fresh[shared], *context.state.own, np.delete(fresh, shared)])
    if restart:
        # of what tasks share the first task's start stays
        for t, (network, places) in reversed(list(enumerate(heads(context, task.outputs)))):
            rng = generator(context.key(task_id=t))
            vector[places] = network.start(rng, context.settings.start)
    return vector


def train_all(context, task, groups, pool_size, restart=False):
    """Fit the network and all heads.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
    task : ibpcl.continual.task.Task
    groups : callable
        ``groups(rows)`` returns the groups of examples that the rows of a step are, and how many
        examples there are in the whole.
    pool_size : int
        How many examples an epoch passes over.
    restart : bool
        Whether all parameters start afresh.

    Returns
    -------
    vector : ndarray
        What tasks share, then what each has of its own.
    history : list of ibpcl.inference.loop.Record
    """
    vector = start_all(context, task, restart)
    rates = np.full(len(vector), context.settings.rate, np.float32)
    objective = pooled_likelihood(context, task, groups)
    return fit(vector, objective, rates, pool_size, context.fit())


def pooled_likelihood(context, task, groups):
    """Return the objective of a fit to groups of examples, see :func:`train_all`."""
    parts = heads(context, task.outputs)

    def objective(vector, rows, step, steps):
        found, whole = groups(rows)
        gradient = np.zeros_like(vector)
        likelihood = 0.0
        for group in found:
            # what tasks share gathers the gradients of all groups
            if len(group.x):
                network, places = parts[group.task]
                total, cache = network.log_likelihood(
                    vector[places], group.x, group.labels, context.backend
                )
                likelihood += group.scale * total
                gradient[places] += network.log_likelihood_vjp(-group.scale / whole, cache)
        return Step(Elbo(likelihood), gradient)

    return objective


def keep_all(context, task, vector, memory):
    """Return the state with one more task, and with the trained heads of the tasks before.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
    task : ibpcl.continual.task.Task
    vector : ndarray
        What tasks share, then what each has of its own.
    memory : dict of str to ndarray
    """
    *before, (network, last) = heads(context, task.outputs)
    own = tuple(np.delete(vector[places], context.places(net)) for net, places in before)
    context = replace(context, state=replace(context.state, own=own))
    return keep(context, network, vector[last], memory)


def remembered(memory, task_id, scale=1.0):
    """Return the examples that are kept of a task."""
    return Group(memory[f"x{task_id}"], memory[f"y{task_id}"], task_id, scale)
