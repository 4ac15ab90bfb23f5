"""A small project in a temporary folder."""

import sys

import pytest
from audit_projects import LAYERS, WEAK


@pytest.fixture(autouse=True)
def modules(tmp_path):
    """Forget the modules that a test has loaded from its folder: others have such names, too."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that writes a project, in which the test then works."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # pytest starts faster
    folder = tmp_path / "project"

    def write(tests=WEAK, layers=LAYERS, name="test_layers.py"):
        (folder / "tests").mkdir(parents=True)
        (folder / "layers.py").write_text(layers)
        (folder / "tests" / name).write_text(tests)
        monkeypatch.chdir(folder)
        return folder

    return write
