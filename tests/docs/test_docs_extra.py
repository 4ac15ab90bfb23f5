"""The extra ``docs`` has every package that the site imports, so that its command works in a fresh
environment.
"""

import ast
import configparser
import re
import sys

import pytest
from site_files import ROOT

# Imported names whose package has another name, or comes with one of the extra.
COMES_WITH = {
    "docutils": "sphinx",
    "jinja2": "jinja2",
    "jupyter_cache": "myst-nb",
    "llvmlite": "numba",
    "markupsafe": "jinja2",
    "nbformat": "jupytext",
    "PIL": "matplotlib",
}


def imported(source):
    """Return the packages that a module imports when it is imported, but for the standard library.

    Imports inside functions, and those whose failure is caught, do not count.
    """
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names)


def required(extra="docs"):
    """Return the names of the packages that the project and one extra require."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = [
        *setup["options"]["install_requires"].splitlines(),
        *setup["options.extras_require"][extra].splitlines(),
    ]
    return {re.split(r"[><=;]", line)[0].strip().lower() for line in lines} - {""}


def missing(source, own=()):
    """Return the packages that a module of the site imports and the extra lacks."""
    names = imported(source) - {"ibpcl", *own}
    return {COMES_WITH.get(name, name.replace("_", "-")) for name in names} - required()


EXTENSIONS = sorted((ROOT / "docs" / "_ext").glob("*.py"))
# The pages of the reference import every module.
MODULES = sorted(path for path in (ROOT / "ibpcl").rglob("*.py"))


def test_the_site_imports_nothing_that_the_extra_lacks():
    own = {path.stem for path in EXTENSIONS}
    found = {
        path.relative_to(ROOT).as_posix(): lacking
        for path in (ROOT / "docs" / "conf.py", *EXTENSIONS, *MODULES)
        if (lacking := missing(path.read_text(encoding="utf-8"), own))
    }
    assert found == {}


def test_the_extensions_and_the_theme_are_in_the_extra():
    tree = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    settings = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and getattr(node.targets[0], "id", "") in ("extensions", "html_theme")
    }
    own = {path.stem for path in EXTENSIONS}
    names = {each.partition(".")[0] for each in settings["extensions"]} - own
    names = {name.replace("_", "-") for name in (*names, settings["html_theme"])}
    assert names <= required()


@pytest.mark.parametrize(
    ("source", "lacks"),
    [
        ("import torch", {"torch"}),
        ("from sklearn.manifold import TSNE", {"sklearn"}),
        ("import numpy as np\nimport re\nimport pytest\nfrom docutils import nodes", set()),
        ("def f():\n    import torch", set()),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None", set()),
    ],
)
def test_what_the_extra_lacks_is_found(source, lacks):
    assert missing(source) == lacks
