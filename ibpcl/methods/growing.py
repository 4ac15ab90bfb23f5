"""Steps of methods whose network grows: new units come behind those that are there.

The network that a task knew is then the leading block of every weight matrix, and the stamp of a
unit is its place.  ``State.memory`` has ``widths{t}``, the units of each hidden layer after task t.
A task is predicted with the network that there was after it.
"""

import numpy as np

from ibpcl.noise import generator


def known(context, network):
    """Return which parameters of a network the last task's network shares.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
    network : ibpcl.models.plain.PlainNetwork
        At least as large as the last task's.

    Returns
    -------
    known : ndarray of bool, shape (P,)
        All False before the first task.
    """
    chosen = np.zeros(network.layout.size, bool)
    learned = context.state.learned
    if learned:
        chosen[context.shared_layout(learned - 1).within(network.layout)] = True
    return chosen


def continued(context, network, phase="initial"):
    """Return the parameters (P,) of a network that continues the last task's, all else fresh.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
    network : ibpcl.models.plain.PlainNetwork
    phase : str
        The phase whose noise draws the fresh ones.
    """
    vector = network.start(generator(context.key(phase)), context.settings.start)
    if context.state.shared is not None:
        vector[known(context, network)] = context.state.shared
    return vector
