"""Every public function with arguments documents them and its result, as numpydoc reads them.

``python tests/docs/test_docstrings.py PACKAGE [...]`` lists the gaps of packages or modules.
"""

import importlib
import inspect
import pkgutil
import sys

import pytest

pytest.importorskip("numpydoc", reason="numpydoc comes with ibpcl[docs]")
from numpydoc.validate import get_doc_object, validate

# The packages that a reader opens.
PACKAGES = (
    "adam",
    "noise",
    "numerics",
    "primitives",
    "models",
    "inference",
    "continual",
    "methods",
    "data",
    "evaluation",
    "verify",
    "exact",
    "experiments",
    "learn",
    "paper",
)
CODES = ("PR01", "PR02", "PR03", "RT01")


def modules_of(package):
    """Yield the public modules of a package, the package itself included."""
    module = importlib.import_module(f"ibpcl.{package}")
    yield module
    for info in pkgutil.walk_packages(getattr(module, "__path__", []), module.__name__ + "."):
        parts = info.name.split(".")
        if not any(part.startswith("_") for part in parts) and "cases" not in parts:
            yield importlib.import_module(info.name)


def public_objects(module):
    """Yield (name, object) for each public function, class and method that a module defines."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield f"{module.__name__}.{name}", value
        elif inspect.isclass(value):
            yield f"{module.__name__}.{name}", value
            for key, method in vars(value).items():
                plain = getattr(method, "__func__", method)
                if not key.startswith("_") and inspect.isfunction(plain):
                    yield f"{module.__name__}.{name}.{key}", plain


def has_arguments(value):
    """Return whether a callable takes arguments besides ``self`` and ``cls``."""
    if getattr(value, "_is_protocol", False):  # an interface is not constructed
        return False
    try:
        names = list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return False
    return bool([name for name in names if name not in ("self", "cls")])


def gaps(name, value):
    """Return what numpydoc misses in the docstring of an object, as a list of lines."""
    if not has_arguments(value) or name.endswith("_vjp"):
        return []
    try:
        errors = [error for error in validate(name)["errors"] if error[0] in CODES]
    except (AttributeError, ImportError):
        return []
    if not inspect.isclass(value):
        return [f"{name}: {code} {words}" for code, words in errors]
    # A class may document its arguments as attributes: a named tuple, a dataclass.
    doc = get_doc_object(value, config={"show_class_members": False})
    documented = {
        each.strip().lstrip("*")
        for section in ("Parameters", "Attributes")
        for entry in doc[section]
        for each in entry.name.split(",")
    }
    wanted = [each for each in inspect.signature(value).parameters if each not in ("self", "cls")]
    missing = [each for each in wanted if each not in documented]
    return [f"{name}: PR01 Parameters {missing} not documented"] if missing else []


def gaps_of(package):
    """Return the gaps of all public objects of a package."""
    return [
        gap
        for module in modules_of(package)
        for name, value in public_objects(module)
        for gap in gaps(name, value)
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_public_functions_document_their_arguments_and_results(package):
    assert gaps_of(package) == []


if __name__ == "__main__":
    for package in sys.argv[1:] or PACKAGES:
        found = gaps_of(package.removeprefix("ibpcl."))
        print(*found, sep="\n")
        print(f"{package}: {len(found)} gaps")
