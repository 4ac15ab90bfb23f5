"""The choice of backend: the NumPy reference, or compiled functions that are tested against it.

A backend is a namespace of modules.  ``backend().gaussian.kl`` is the compiled function ``kl`` of
``ibpcl.kernels.gaussian`` if it exists, and otherwise the function of
``ibpcl.primitives.gaussian``.  A compiled function has the name and the signature of its reference.
Numba is imported, and the functions are compiled, when the backend ``"numba"`` is first requested.
"""

import builtins
import importlib.util
from functools import cache
from inspect import getsource, isfunction
from types import ModuleType, SimpleNamespace

from ibpcl import blas_threads, console

BACKENDS = ("numba", "numpy")
# Reference modules outside ibpcl.primitives, because their functions have no gradient.
APART = ("adam", "noise")


class Backend:
    """Namespace of the functions that compute: ``backend.module.function``.

    With the name "numba", functions with a compiled version are replaced by it; all others are
    those of the NumPy reference.  Backends are created by :func:`backend`.

    Parameters
    ----------
    name : {"numba", "numpy"}
        Name of the backend.
    compile_seconds : float
        Time that compilation took.

    Attributes
    ----------
    name : {"numba", "numpy"}
        Name of the backend.
    compile_seconds : float
        Time that compilation took.
    """

    def __init__(self, name, compile_seconds=0.0):
        self.name = name
        self.compile_seconds = compile_seconds

    def __getattr__(self, module):
        if module.startswith("_"):
            raise AttributeError(module)
        functions = public(reference(module))
        if self.name == "numba":
            functions |= twins(module)
        setattr(self, module, SimpleNamespace(**functions))  # from now on a plain attribute
        return getattr(self, module)

    def __reduce__(self):
        """Copy and pickle a backend by its name."""
        return backend, (self.name,)


class OwnPrimitives(Backend):
    """The NumPy backend with some functions replaced by a user's.

    Compositions call the replaced functions too: ``sticks.log_odds`` draws its sticks with the
    user's ``kumaraswamy.sample``.  So every primitive module is run again as a copy whose imports
    of other primitives lead to the copies.

    Parameters
    ----------
    functions : dict of str to dict of str to callable
        Replacements by module and name, such as ``{"gaussian": {"kl": kl, "kl_vjp": kl_vjp}}``.
    folder : str
        Folder that they come from.
    sha256 : str
        Hash of their source, which identifies runs with them.

    Attributes
    ----------
    names : list of str
        Replaced functions without their gradients, such as ``gaussian.kl``.

    Examples
    --------
    >>> def relu(x):
    ...     return 2 * x, None
    >>> made = OwnPrimitives({"activations": {"relu": relu}})
    >>> made.activations.relu(3.0), made.names
    ((6.0, None), ['activations.relu'])
    """

    def __init__(self, functions, folder="", sha256=""):
        super().__init__("numpy")
        self.folder = folder
        self.sha256 = sha256
        self._functions = functions
        self._copies = {}

    @property
    def names(self):
        """Replaced functions without their gradients."""
        return [
            f"{module}.{name}"
            for module, replaced in self._functions.items()
            for name in replaced
            if not name.endswith("_vjp")
        ]

    def __getattr__(self, module):
        if module.startswith("_") or module in APART:
            return super().__getattr__(module)
        if module not in self._copies:
            self._copies[module] = self._copied(module)
        return self._copies[module]

    def replace(self, module, functions):
        """Replace functions of a module, in its copy too if there is one already.

        Parameters
        ----------
        module : str
            Name of a module of :mod:`ibpcl.primitives`.
        functions : dict of str to callable
            Replacements by name.
        """
        self._functions.setdefault(module, {}).update(functions)
        if module in self._copies:
            vars(self._copies[module]).update(functions)

    def _copied(self, module):
        """Return a copy of a primitive module with its replaced functions."""
        original = reference(module)
        copy = ModuleType(original.__name__)
        copy.__builtins__ = {**vars(builtins), "__import__": self._import}
        exec(compile(getsource(original), original.__file__, "exec"), vars(copy))
        vars(copy).update(self._functions.get(module, {}))
        return copy

    def _import(self, name, *rest):
        """Import a module; in place of the package of primitives, return this backend."""
        return self if name == "ibpcl.primitives" else importlib.__import__(name, *rest)

    def __reduce__(self):
        raise TypeError("a backend with own primitives cannot be sent to another process")


def reference(module):
    """Return a module of the NumPy reference.

    Parameters
    ----------
    module : str
        Name of a module of :mod:`ibpcl.primitives`, or ``"adam"`` or ``"noise"``.

    Returns
    -------
    reference : module
        The module.

    Raises
    ------
    ModuleNotFoundError
        If there is no such module.
    """
    return importlib.import_module(
        f"ibpcl.{module}" if module in APART else f"ibpcl.primitives.{module}"
    )


def twins(module):
    """Return the compiled functions of a module.

    Parameters
    ----------
    module : str
        Name of a module of :mod:`ibpcl.kernels`.

    Returns
    -------
    functions : dict of str to callable
        Compiled functions by name; empty if there is no such module.
    """
    spec = importlib.util.find_spec(f"ibpcl.kernels.{module}")
    return public(importlib.import_module(spec.name)) if spec else {}


def public(module):
    """Return the public functions that a module defines.

    Parameters
    ----------
    module : module
        The module.

    Returns
    -------
    functions : dict of str to callable
        Functions by name, without imported ones and names with a leading underscore.
    """
    return {
        name: value
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def why_not():
    """Return the reason why Numba cannot be used, as a str; None if it can be used."""
    try:
        import numba
    except ModuleNotFoundError as error:
        if error.name == "numba":
            return "Numba is not installed"
        return f"Numba is broken ({error})"
    # for example a NumPy version that it does not support
    except Exception as error:
        return f"Numba cannot be imported ({' '.join(str(error).split())})"
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set"
    if numba.config.NUMBA_NUM_THREADS < 1:
        return f"NUMBA_NUM_THREADS must be at least 1, got {numba.config.NUMBA_NUM_THREADS}"
    return None


@cache
def backend(name="numba"):
    """Return a backend by name.

    If Numba cannot be used, "numba" gives the NumPy backend instead, and a message on standard
    error states the reason.

    Parameters
    ----------
    name : {"numba", "numpy"} or Backend
        "numba" is compiled and fast.  "numpy" is written like the derivations and also accepts
        complex numbers.  A backend is returned as it is.

    Returns
    -------
    backend : Backend
        The backend; the same object for the same name.

    Raises
    ------
    ValueError
        If the name is not one of the two.

    Examples
    --------
    >>> backend("numpy").gaussian.kl is backend("numba").gaussian.kl
    False
    """
    if isinstance(name, Backend):
        return name
    if name not in BACKENDS:
        raise ValueError(f"backend: name must be one of {BACKENDS}, got {name!r}")
    if name == "numba" and (reason := why_not()):
        console.tell(f"ibpcl: {reason}: using the NumPy backend, which is several times slower")
        return backend("numpy")
    seconds = 0.0
    if name == "numba":
        from ibpcl.kernels import compilation

        seconds = compilation.load()
    say_if_unlimited()
    return Backend(name, seconds)


@cache
def say_if_unlimited():
    """Report once on standard error if BLAS cannot be limited to one thread."""
    if reason := blas_threads.why_unlimited():
        console.tell(f"ibpcl: {reason}")
