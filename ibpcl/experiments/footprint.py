"""Memory footprint of a method: the size of its state, measured on three tasks without training."""

import dataclasses
from typing import NamedTuple

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.methods import method

INPUTS = 784
EXAMPLES = 1000
TASKS = 3
# A value of rho so large that a mask is on, whatever its sticks are.
OPEN = 50.0


class Footprint(NamedTuple):
    """The storage that a method needs, in bytes.

    Attributes
    ----------
    once : int
        Bytes that do not depend on the number of tasks.
    per_task : int
        Bytes that each task adds.
    """

    once: int
    per_task: int


def untrained(settings):
    """Return settings with which a learner sets up everything for a task and trains nothing.

    All masks are open; under the log link they would otherwise start empty.

    Parameters
    ----------
    settings : object
        The settings of a method, a dataclass.

    Returns
    -------
    settings : object
        A copy with all numbers of epochs set to 0.

    Examples
    --------
    >>> from ibpcl.methods.npbcl_settings import Settings
    >>> untrained(Settings(epochs=20)).epochs
    0
    """
    names = {field.name for field in dataclasses.fields(settings)}
    none = {name: 0 for name in names if name.endswith("epochs")}
    return dataclasses.replace(settings, **none, **dict.fromkeys(names & {"start_rho"}, OPEN))


def footprint(name):
    """Measure the storage that a method needs at its default settings.

    Parameters
    ----------
    name : str
        Name of the method.

    Returns
    -------
    footprint : Footprint
        For binary tasks of 1000 examples with 784 inputs.

    Raises
    ------
    UserError
        If the method does not exist.

    Examples
    --------
    >>> footprint("naive")  # 784 x 200 weights; a head of 200 x 2, and their biases
    Footprint(once=628000, per_task=1616)
    """
    chosen = method(name)
    learner = chosen.learner(untrained(chosen.settings()), 0, "numpy")
    sizes = []
    for t in range(TASKS):
        rng = np.random.default_rng(t)
        x = rng.random((EXAMPLES, INPUTS), np.float32)
        y = rng.integers(0, 2, EXAMPLES)
        learner.learn(Task(f"task {t}", x, y, x[:1], y[:1], 2), progress=False)
        sizes.append(sum(value.nbytes for value in learner.state().values() if value.ndim))
    per_task = sizes[-1] - sizes[-2]
    return Footprint(sizes[-1] - TASKS * per_task, per_task)
