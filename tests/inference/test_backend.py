"""Backends: compiled functions match their references by name and signature."""

import copy
import inspect
import pickle
import pkgutil

import pytest

import ibpcl.kernels
from ibpcl.inference.backend import APART, backend, public, reference, twins

MODULES = [module.name for module in pkgutil.iter_modules(ibpcl.kernels.__path__)]


def has_reference(module):
    """Return whether NumPy functions of this name exist; a module of the kernels without them is
    machinery.
    """
    try:
        return bool(reference(module))
    except ModuleNotFoundError:
        return False


TWINS = [(module, name) for module in MODULES if has_reference(module) for name in twins(module)]


@pytest.mark.parametrize(("module", "name"), TWINS)
def test_a_twin_has_the_name_and_the_signature_of_its_reference(module, name):
    exact = public(reference(module))[name]
    assert inspect.signature(twins(module)[name]) == inspect.signature(exact)


@pytest.mark.parametrize(("module", "name"), TWINS)
def test_a_function_and_its_gradient_are_compiled_both_or_not_at_all(module, name):
    other = name.removesuffix("_vjp") if name.endswith("_vjp") else name + "_vjp"
    assert other in twins(module) or other not in public(reference(module))


def test_known_compiled_functions_are_found():
    assert {
        ("linear", "apply"),
        ("gaussian", "kl_vjp"),
        ("noise", "draw"),
        ("adam", "update"),
    } <= set(TWINS)
    assert set(APART) <= set(MODULES)


def test_without_a_twin_the_reference_is_used():
    compiled = backend("numba")
    plain = backend("numpy")
    assert compiled.gaussian.kl is not plain.gaussian.kl
    for module, name in (
        ("gaussian", "sample"),
        ("likelihoods", "bernoulli_probit"),
        ("weibull", "kl_to_gamma"),
    ):
        exact = getattr(reference(module), name)
        assert (
            getattr(getattr(compiled, module), name)
            is exact
            is getattr(getattr(plain, module), name)
        )


def test_unknown_modules_and_backends_are_refused():
    with pytest.raises(ModuleNotFoundError):
        _ = backend("numpy").gausian
    with pytest.raises(AttributeError):
        _ = backend("numpy").gaussian.no_such_function
    with pytest.raises(
        ValueError, match=r"backend: name must be one of \('numba', 'numpy'\), got 'jax'"
    ):
        backend("jax")


@pytest.mark.parametrize("name", ["numba", "numpy"])
def test_a_backend_is_copied_and_pickled_as_its_name(name):
    who = backend(name)
    assert pickle.loads(pickle.dumps(who)) is who is copy.deepcopy(who)
