"""What is shipped: the source distribution has everything, the wheel what is needed, and both work
where they land.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import ibpcl
from ibpcl import storage
from ibpcl.classroom.assignments import assignment

ROOT = Path(ibpcl.__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "setup.cfg").exists(), reason="needs the source tree")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build both distributions from a copy of what git knows; give their files."""
    pytest.importorskip("build")
    source = tmp_path_factory.mktemp("source")
    out = tmp_path_factory.mktemp("dist")
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    ).stdout.split("\0")[:-1]
    for name in names:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(out), str(source)],
        check=True,
        capture_output=True,
    )
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel, [name for name in names if (ROOT / name).is_file()]


# Of each floor some tests that together take seconds: derivations, the verifier, a configuration, a
# run by its door.
QUICK = (
    "tests/primitives/test_gaussian.py",
    "tests/primitives/test_kumaraswamy.py",
    "tests/primitives/test_masks.py",
    "tests/primitives/test_stick_breaking.py",
    "tests/verify/test_verify_gradcheck.py",
    "tests/experiments/test_values.py",
    "tests/experiments/test_config.py",
    "tests/experiments/test_door.py",
)
LONG = (
    "large or mean or few_columns or loops or spread or takes_a_moment or regressions or "
    "executor or compared or images"
)


@pytest.mark.slow(reason="builds the distribution and runs its tests")
def test_the_source_distribution_has_all_tests_docs_and_tutorials_and_its_tests_run(
    built, tmp_path
):
    sdist, _, names = built
    with tarfile.open(sdist) as tar:
        there = {name.partition("/")[2] for name in tar.getnames()}
        tar.extractall(tmp_path, filter="data")
    wanted = {
        name for name in names if name.split("/")[0] in ("ibpcl", "tests", "docs", "tutorials")
    }
    assert not wanted - there
    assert {
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "LICENSE",
        "LICENSE-CC-BY",
        "SECURITY.md",
        "README.md",
        "ruff.toml",
    } <= there
    (folder,) = tmp_path.iterdir()
    # The package of the archive, not the one that is installed: a test that imports another one
    # would prove nothing.
    where = f"import ibpcl, sys; sys.exit(not ibpcl.__file__.startswith({str(folder)!r}))"
    for command in (
        ["-c", where],
        [
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            *QUICK,
            "-k",
            f"not ({LONG})",
        ],
    ):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            text=True,
            capture_output=True,
            env=os.environ | {"PYTHONPATH": str(folder)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed > 200 and "failed" not in done.stdout, done.stdout


@pytest.mark.slow(reason="builds the distribution")
def test_the_wheel_has_the_package_and_its_page_is_sound(built):
    sdist, wheel, names = built
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
    assert {
        name for name in names if name.startswith("ibpcl/")
    } <= there and "ibpcl/py.typed" in there
    assert not {
        name
        for name in there
        if name.split("/")[0] not in ("ibpcl", f"ibpcl-{ibpcl.__version__}.dist-info")
    }
    pytest.importorskip("twine")
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)],
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout


BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import numpy as np
import ibpcl
from ibpcl.cli import main
inputs = np.ones(3), np.zeros(3), np.zeros(3), np.ones(3)
assert ibpcl.check(ibpcl.primitives.gaussian.kl, ibpcl.primitives.gaussian.kl_vjp, inputs).ok
sys.exit(max(main(words.split()) for words in " ".join(sys.argv[1:]).split(" + ")))
"""


@pytest.mark.slow(reason="runs in processes without Numba; test_machine_code.py has one")
def test_without_numba_what_is_numpy_works(tmp_path):
    tiny = [
        f"--set={text}"
        for text in (
            "backend=numpy",
            "hidden=6",
            "samples=1",
            "epochs=1",
            "finetune_epochs=1",
            "tasks=1",
            "train_limit=40",
            "test_limit=20",
        )
    ]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, "run", "--quiet", "--out", str(tmp_path / "run"), *tiny],
        text=True,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert storage.read_sealed_json(tmp_path / "run" / "result.json")["backend"] == "numpy"


@pytest.mark.slow(reason="a process that imports everything")
def test_without_numba_the_third_door_is_open(tmp_path):
    commands = ["check", "--list", "+", "check", "gaussian.kl", "errata/masked-prior"]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *commands], text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert (
        "gradients (" in done.stdout
        and "kernels." not in done.stdout
        and "Traceback" not in done.stderr
    )
    assert "Numba is not installed" in done.stderr


@pytest.mark.slow(reason="every command in processes without Numba")
def test_without_numba_every_command_works(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef f(x): return x**2, x\ndef f_vjp(d, x): return 2*d*x\n"
        "def check_inputs(): return {'x': np.array([1.0, 2.5])}\n"
    )
    commands = " + ".join(
        ("check", "check --paper", "check mine.py:f errata", "bench --quick --out bench", "methods")
    )
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *commands.split()],
        text=True,
        capture_output=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {ibpcl.__version__}\n" in text and "1912.03624" in text
    assert f"## {ibpcl.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    recipe = (ROOT / ".ci" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{ibpcl.__version__}"' in recipe


def test_the_paper_cites_what_its_bibliography_has_and_counts_what_the_package_has():
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    bibliography = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE)
    assert sorted(entries) == sorted(set(re.findall(r"@(\w+)", text)))
    hours = [assignment.find(name).hours for name in assignment.names()]
    numbers = {10: "ten", 20: "twenty"}
    assert f"{numbers[len(hours)]} assignments of about {sum(hours):g} hours" in text
    tutorials = list((ROOT / "tutorials").glob("[0-9]*.py"))
    assert f"{numbers[len(tutorials)]} tutorials" in text
