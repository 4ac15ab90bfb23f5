"""User-defined methods and priors, given by name or as a class.

A user-defined method is a class named ``package.module:Class``, or the class itself.  It has the
interface of :class:`ibpcl.continual.learner.Learner` and is constructed as ``Class(settings, seed,
backend_name)``.  Its ``settings_type`` is a dataclass of settings, declared with
:func:`ibpcl.options.option`; a class without it has no settings.  A subclass of an existing method
inherits all of this and overrides only the differences::

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

INTERFACE = ("learn", "predict", "state", "load_state")
# user-defined classes that were passed as objects, by name
_given = {}


@documented
@dataclass(frozen=True, init=False)
class NoSettings(Checked):
    """Settings of a method without settings."""


def name_of(learner):
    """Return the name of a method.

    Parameters
    ----------
    learner : str or type
        Name of a method, or a class with the interface of a learner.  A user-defined class is
        remembered under its name.

    Returns
    -------
    name : str
        The string itself, the name of a method of this package, or ``"package.module:Class"``.

    Raises
    ------
    UserError
        If ``learner`` is neither a string nor a class.

    Examples
    --------
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
    """Return the user-defined method with a name.

    Its module is imported, unless the class was passed to :func:`name_of` before.

    Parameters
    ----------
    name : str
        ``"package.module:Class"``; the current directory is searched, too.

    Returns
    -------
    method : ibpcl.methods.Method
        The method, checked for the interface of a learner.

    Raises
    ------
    UserError
        If the name is malformed, the module cannot be imported, or the class lacks part of the
        interface.
    """
    learner = _given.get(name) or _imported(name, "method")
    if not isinstance(learner, type):
        raise UserError(f"method {name} must be a class, got {type(learner).__name__}")
    missing = [member for member in INTERFACE if not callable(getattr(learner, member, None))]
    if missing:
        raise UserError(
            f"method {name} has no {', '.join(missing)}; a method is a class with "
            f"{', '.join(INTERFACE)}"
        )
    settings = getattr(learner, "settings_type", NoSettings)
    if not is_dataclass(settings):
        raise UserError(f"method {name}: settings_type must be a dataclass, got {settings!r}")
    try:
        inspect.signature(learner).bind(settings, 0, "numpy")
    except TypeError as error:
        raise UserError(
            f"method {name} must be constructed as {learner.__name__}(settings, seed, "
            f"backend_name): {error}"
        ) from error
    return Method(
        name,
        settings,
        learner,
        first_paragraph(learner.__doc__ or name),
        presets_of(settings),
    )


def own_prior(name):
    """Return the user-defined prior with a name, after a test on three weights.

    A prior has ``kl(mu, log_sigma) -> (nats, cache)``, the KL divergence of Gaussians from it,
    summed over weights, and ``kl_vjp(dkl, cache) -> (dmu, dlog_sigma)``.

    Parameters
    ----------
    name : str
        ``"package.module:Prior"``; the current directory is searched, too.  A class is instantiated
        without arguments.

    Returns
    -------
    prior : object
        The prior.

    Raises
    ------
    UserError
        If the name is malformed, the module cannot be imported, or the prior fails the test.
    """
    imported = _imported(name, "prior")
    try:
        prior = imported() if isinstance(imported, type) else imported
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
        # appended last, so that no file there hides a standard module
        sys.path.append(os.getcwd())
    try:
        value = import_module(module)
    except Exception as error:  # whatever the user's own file raises
        raise UserError(
            f"{what} {name}: {module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for attribute in path.split("."):
        value = getattr(value, attribute, None)
    if value is None:
        raise UserError(f"{what} {name}: {module} has no class {path}")
    return value
