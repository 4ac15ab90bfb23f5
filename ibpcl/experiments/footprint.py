"""What a method stores: measured on its own state, for three tasks that it is given without
training on them.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.methods import method

INPUTS = 784
EXAMPLES = 1000
TASKS = 3
# rho at which a mask is on whatever its sticks say
OPEN = 50.0


class Footprint(NamedTuple):
    """Bytes that are there whatever the number of tasks, and bytes that each task adds."""

    once: int
    per_task: int


def untrained(settings):
    """Return settings with which a learner makes all that a task needs and trains nothing.

    Masks, which start empty under the log link, are all open.

    >>> from ibpcl.methods.npbcl_settings import Settings
    >>> untrained(Settings(epochs=20)).epochs
    0
    """
    names = {field.name for field in dataclasses.fields(settings)}
    none = {name: 0 for name in names if name.endswith("epochs")}
    return dataclasses.replace(settings, **none, **dict.fromkeys(names & {"start_rho"}, OPEN))


def footprint(name):
    """Measure what a method stores at its default settings.

    Parameters
    ----------
    name : str
        Of the method.

    Returns
    -------
    footprint : Footprint
        Bytes, for binary tasks of 1000 examples with 784 inputs.

    Examples
    --------
    >>> footprint("naive")  # 784 x 200 weights; a head of 200 x 2, and their biases
    Footprint(once=628000, per_task=1616)
    """
    found = method(name)
    learner = found.learner(untrained(found.settings()), 0, "numpy")
    sizes = []
    for t in range(TASKS):
        rng = np.random.default_rng(t)
        x = rng.random((EXAMPLES, INPUTS), np.float32)
        y = rng.integers(0, 2, EXAMPLES)
        learner.learn(Task(f"task {t}", x, y, x[:1], y[:1], 2), progress=False)
        sizes.append(sum(value.nbytes for value in learner.state().values() if value.ndim))
    per_task = sizes[-1] - sizes[-2]
    return Footprint(sizes[-1] - TASKS * per_task, per_task)
