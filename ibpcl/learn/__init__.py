"""The guided path: chapters of exercises in which a student's own code becomes the method.

``ibpcl learn`` is the command.  In a notebook, :func:`check` shows the same verdicts.

The module can also be called: ``ibpcl.learn(learner, stream)`` learns a stream of tasks, as
:func:`ibpcl.experiments.door.learn` does.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from ibpcl.learn.notebook import check
from ibpcl.learn.own import backend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ibpcl.continual.learner import Learner
    from ibpcl.continual.loop import Progress
    from ibpcl.continual.task import Task

__all__ = ["backend", "check"]


class _CallableModule(ModuleType):
    """This module, as a function: ``ibpcl.learn`` learned streams before it held the path."""

    def __call__(
        self, learner: "Learner", stream: "Sequence[Task]", progress: bool | None = False
    ) -> "Iterator[Progress]":
        """Learn every task of a stream; see :func:`ibpcl.experiments.door.learn`."""
        from ibpcl.experiments.door import learn

        return learn(learner, stream, progress)


# Python lets a module change its class (Data model, "Customizing module attribute access").
sys.modules[__name__].__class__ = _CallableModule
