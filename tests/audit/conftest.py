"""A small project in a temporary folder."""

import pytest
from audit_projects import LAYERS, WEAK


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
