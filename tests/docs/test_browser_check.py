"""The check in the browser: what it loads is there, and its Python runs where NumPy is all there
is.

Whether it runs in a browser is tested in ``test_browser.py``, on a site that was built with
Pyodide.
"""

import json
import subprocess
import sys
import zipfile

import pytest
from quick import quick
from site_files import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_ext"))
browser_check = pytest.importorskip("browser_check", reason="Docutils comes with the extra 'docs'")

WORKER = (ROOT / "docs" / "_static" / "browser-worker.js").read_text(encoding="utf-8")
RUN = """
import sys
only = type("Only", (), {"find_spec": staticmethod(lambda name, *rest: refused(name))})
sys.meta_path.insert(0, only)
def refused(name):
    if name.split(".")[0] in ("scipy", "numba", "matplotlib", "tqdm", "jinja2"):
        raise ImportError(name)
"""


@pytest.fixture
def release(tmp_path):
    """Make what looks like an unpacked release of Pyodide."""
    packages = {"numpy": [], "scipy": ["numpy", "openblas"], "openblas": [], "pandas": ["numpy"]}
    lock = {
        name: {"depends": depends, "file_name": f"{name}.whl"} for name, depends in packages.items()
    }
    for name in (*browser_check.CORE, *(package["file_name"] for package in lock.values())):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "pyodide-lock.json").write_text(json.dumps({"packages": lock}))
    return tmp_path


def test_a_release_gives_its_core_and_what_the_packages_need(release):
    assert sorted(file.name for file in browser_check.needed(release)) == sorted(
        [*browser_check.CORE, "numpy.whl", "openblas.whl", "scipy.whl"]
    )


def test_a_release_without_a_package_is_refused_by_name(release):
    (release / "openblas.whl").unlink()
    with pytest.raises(FileNotFoundError, match=r"no openblas\.whl"):
        browser_check.needed(release)


@pytest.mark.processes(reason="what is loaded shows in a new process only")
@pytest.mark.parametrize(
    ("source", "words"),
    quick(
        ["line 12: da = dh * (1 - h)"],
        [
            (browser_check.EXAMPLE, "line 12: da = dh * (1 - h)"),
            (browser_check.EXAMPLE.replace("1 - h)", "1 - h * h)"), "f: ok"),
            ("x = (", "is not Python"),
            ("def f(x):\n    return x, x", "has nothing to check"),
        ],
        "each starts a process",
        name=lambda case: case[1],
    ),
)
def test_the_python_of_the_page_needs_numpy_alone(tmp_path, source, words):
    browser_check.pack(tmp_path / "ibpcl.zip")
    with zipfile.ZipFile(tmp_path / "ibpcl.zip") as archive:
        archive.extractall(tmp_path / "checker")
    start = WORKER.split("`")[1].replace("\\\\n", "\\n").replace('"/', f'"{tmp_path}/')
    code = (
        f"{RUN}\n{start}\nimport ibpcl\nassert {str(tmp_path)!r} in ibpcl.__file__\n"
        f"print(verdicts({source!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stderr == "" and words in done.stdout
