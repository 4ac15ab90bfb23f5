"""Steps of the methods whose networks grow: new units are appended to existing layers.

An earlier network is then the leading block of every weight matrix, and the position of a unit
tells since which task it exists.  ``State.memory`` holds ``widths{t}``, the units of each hidden
layer after task t.  A task is predicted with the network as it was after that task.
"""

import numpy as np

from ibpcl.noise import generator


def known(context, network):
    """Return which parameters of a network already existed after the last task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.plain.PlainNetwork
        At least as large as the network of the last task.

    Returns
    -------
    known : ndarray of bool, shape (P,)
        True for shared parameters of the last network; all False before the first task.
    """
    chosen = np.zeros(network.layout.size, bool)
    learned = context.state.learned
    if learned:
        chosen[context.shared_layout(learned - 1).within(network.layout)] = True
    return chosen


def continued(context, network, phase="initial"):
    """Return the parameters of a network that continues the last one.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.plain.PlainNetwork
        At least as large as the network of the last task.
    phase : str
        Phase whose noise draws the new parameters, a key of ``context.model.streams``.

    Returns
    -------
    vector : ndarray, shape (P,)
        Existing shared parameters as the last task left them; all others drawn afresh.
    """
    vector = network.start(generator(context.key(phase)), context.settings.start)
    if context.state.shared is not None:
        vector[known(context, network)] = context.state.shared
    return vector
