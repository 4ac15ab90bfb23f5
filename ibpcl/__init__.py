"""Bayesian structure adaptation for continual learning, in NumPy with hand-derived gradients.

The package implements Kumar, Chatterjee and Rai, "Bayesian Structure Adaptation for Continual
Learning".  Names are loaded when they are first used, so importing the package loads neither NumPy,
Matplotlib nor Numba.

==========================  ========================================================
``learner``                 create a learner of any method, by name or class
``learn``                   learn a stream of tasks, and test after each; also the
                            guided path: ``learn.check()``
``run``, ``compare``        functions of the commands ``ibpcl run`` and ``ibpcl compare``
``load_run``, ``load``      load a finished run from a folder; load a saved learner
``Task``                    one task, from arrays
``tasks_from_arrays``       divide arrays into tasks
``check``                   verify a derivative: ``check(f, f_vjp, inputs)``
``check_distribution``      verify a density with its sampler, moments and divergence
``check_identity``          verify that two functions are equal
``check_value``             compare a number with the correct one, and name the mistake
``primitives``              the derivations: ``primitives.gaussian.kl``
``datasets``                image data sets: ``datasets.load("mnist")``
==========================  ========================================================
"""

from importlib import import_module
from os.path import isdir
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ibpcl import primitives
    from ibpcl.continual.task import Task
    from ibpcl.data import registry as datasets
    from ibpcl.data.own import tasks_from_arrays
    from ibpcl.experiments.door import compare, learner, load, load_run, run
    from ibpcl.learn import _CallableModule
    from ibpcl.verify import check, check_distribution, check_identity, check_value

    learn: _CallableModule

if not isdir(__path__[0]):
    raise ImportError(
        f"ibpcl cannot be used from inside a zip file ({__path__[0]}), because it reads its own "
        "data files; install it with pip, or unpack the zip file",
        name=__name__,
    )

__version__ = "0.3.0"
__all__ = [
    "Task",
    "__version__",
    "check",
    "check_distribution",
    "check_identity",
    "check_value",
    "compare",
    "datasets",
    "learn",
    "learner",
    "load",
    "load_run",
    "primitives",
    "run",
    "tasks_from_arrays",
]
# The module that defines each name.
_PLACES = {
    **dict.fromkeys(("compare", "learner", "load", "load_run", "run"), "ibpcl.experiments.door"),
    "Task": "ibpcl.continual.task",
    "tasks_from_arrays": "ibpcl.data.own",
    **dict.fromkeys(
        ("check", "check_distribution", "check_identity", "check_value"), "ibpcl.verify"
    ),
}
_MODULES = {
    "primitives": "ibpcl.primitives",
    "datasets": "ibpcl.data.registry",
    "learn": "ibpcl.learn",  # a module that can be called
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used (PEP 562)."""
    if name in _MODULES:
        value = import_module(_MODULES[name])
    elif name in _PLACES:
        value = getattr(import_module(_PLACES[name]), name)
    else:
        raise AttributeError(
            f"module 'ibpcl' has no attribute {name!r} (it has {', '.join(sorted(__all__))})"
        )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
