"""Methods of one's own: a class named ``package.module:Class``, or handed over, takes its place
beside the others.

The class has the face of :class:`ibpcl.continual.learner.Learner` and is made by ``Class(settings,
seed, backend_name)``.  Its ``settings_type`` is a dataclass of settings, declared by
:func:`ibpcl.options.option`; a class without one has no settings.  A subclass of a method has all
of this, and needs to change only what differs::

    from ibpcl.methods.ewc import EWC

    class Mine(EWC):
        def predict(self, x, task_id):
            return super().predict(x, task_id) ** 2          # and so on
"""

import inspect
import os
import re
import sys
from dataclasses import dataclass, is_dataclass
from importlib import import_module

import numpy as np

from ibpcl.errors import UserError
from ibpcl.methods import OF_LEARNER, Method, first_paragraph
from ibpcl.methods.settings_docs import documented
from ibpcl.options import Checked, presets_of

FACE = ("learn", "predict", "state", "load_state")
# classes that were handed over, by their names
_given = {}


@documented
@dataclass(frozen=True, init=False)
class NoSettings(Checked):
    """The settings of a method that has none."""


def name_of(learner):
    """Return the name of a method: a text as it is, a class as ``package.module:Class``, which is
    remembered.

    >>> from ibpcl.methods.ewc import EWC
    >>> name_of("vcl"), name_of(EWC), name_of(type("Mine", (EWC,), {"__module__": "mine"}))
    ('vcl', 'ewc', 'mine:Mine')
    """
    if isinstance(learner, str):
        return learner
    if not isinstance(learner, type):
        raise UserError(f"method must be a name or a class, got {type(learner).__name__}")
    if learner.__name__ in OF_LEARNER and learner.__module__.startswith("ibpcl.methods."):
        return OF_LEARNER[learner.__name__]
    name = f"{learner.__module__}:{learner.__qualname__}"
    _given[name] = learner
    return name


def own_method(name):
    """Return the :class:`ibpcl.methods.Method` of a name ``package.module:Class``; its module is
    imported.

    A UserError says what the name, its module or the class lacks to be a learner.
    """
    learner = _given.get(name) or _imported(name, "method")
    if not isinstance(learner, type):
        raise UserError(f"method {name} must be a class, got {type(learner).__name__}")
    missing = [one for one in FACE if not callable(getattr(learner, one, None))]
    if missing:
        raise UserError(
            f"method {name} has no {', '.join(missing)}; a method is a class with {', '.join(FACE)}"
        )
    settings = getattr(learner, "settings_type", NoSettings)
    if not is_dataclass(settings):
        raise UserError(f"method {name}: settings_type must be a dataclass, got {settings!r}")
    try:
        inspect.signature(learner).bind(settings, 0, "numpy")
    except TypeError as error:
        raise UserError(
            f"method {name} must be made by {learner.__name__}(settings, seed, backend_name): "
            f"{error}"
        ) from error
    return Method(
        name,
        settings,
        learner,
        first_paragraph(learner.__doc__ or name),
        presets_of(settings),
    )


def own_prior(name):
    """Return the prior of a name ``package.module:Prior``, tried on three weights; its module is
    imported.

    It has ``kl(mu, log_sigma) -> (nats, cache)``, the divergence of Gaussians from it, summed over
    weights, and ``kl_vjp(dkl, cache) -> (dmu, dlog_sigma)``; a class is made without arguments.  A
    UserError says what is missing, or what they return instead.
    """
    found = _imported(name, "prior")
    try:
        prior = found() if isinstance(found, type) else found
        kl, cache = prior.kl(
            np.array([0.0, 0.5, -2.0], np.float32), np.array([-1.0, 0.0, 0.5], np.float32)
        )
        gradients = prior.kl_vjp(1.0, cache)
    except Exception as error:  # whatever the user's own file raises
        raise UserError(
            f"prior {name}: {type(error).__name__}: {error} (it needs kl(mu, log_sigma) -> (nats, "
            "cache) and kl_vjp(dkl, cache) -> (dmu, dlog_sigma))"
        ) from error
    if np.ndim(kl) or not np.isfinite(kl):
        raise UserError(
            f"prior {name}: kl must return a finite number of nats and a cache, got {kl!r}"
        )
    if len(gradients) != 2 or any(np.shape(gradient) != (3,) for gradient in gradients):
        raise UserError(
            f"prior {name}: kl_vjp must return dmu and dlog_sigma of the weights' shape (3,), got "
            f"shapes {[np.shape(gradient) for gradient in gradients]}"
        )
    return prior


def _imported(name, what):
    if not re.fullmatch(r"\w+(\.\w+)*:\w+(\.\w+)*", name):
        raise UserError(f"{what} must be a name, or package.module:Class, got {name!r}")
    module, _, path = name.partition(":")
    if os.getcwd() not in sys.path:
        # last: no file there hides a module of Python
        sys.path.append(os.getcwd())
    try:
        found = import_module(module)
    except Exception as error:  # whatever the user's own file raises
        raise UserError(
            f"{what} {name}: {module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for part in path.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise UserError(f"{what} {name}: {module} has no class {path}")
    return found
