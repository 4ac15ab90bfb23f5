"""Every command on Windows and macOS, as far as they can be simulated: see
``simulated/sitecustomize.py``.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="simulates other systems on Linux")

TINY = [
    f"--set={text}"
    for text in (
        "backend=numpy",
        "hidden=6",
        "epochs=1",
        "tasks=2",
        "train_limit=40",
        "test_limit=20",
    )
]
MINE = """import numpy as np

def square(x):
    return x**2, x

def square_vjp(dout, x):
    return 2 * dout * x

def endless(x):
    while True:
        pass

def endless_vjp(dout, x):
    return dout

def check_inputs():
    return {"x": np.array([1.0, 2.5])}
"""
# Runs several commands in one process, which is quicker; each answers with its exit code in a line.
SEVERAL = """
import json, sys, traceback
from ibpcl.cli import main
for words in json.loads(sys.argv[1]):
    try:
        code = main(words)
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
        code = "traceback"
    print("exit code", code, *words, flush=True)
"""


@pytest.fixture(
    params=[
        "windows",
        pytest.param("macos", marks=pytest.mark.slow(reason="Windows is further from Linux")),
    ]
)
def system(request):
    return request.param


@pytest.fixture
def commands(system, tmp_path):
    """Give a function that runs commands on the simulated system and returns their exit codes and
    all output.
    """

    def run(*several, timeout=200):
        environment = os.environ | {
            "SIMULATED_SYSTEM": system,
            "PYTHONPATH": str(HERE / "simulated"),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            "PYTHONWARNINGS": "ignore",
        }
        done = subprocess.run(
            [sys.executable, "-c", SEVERAL, json.dumps(several)],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            timeout=timeout,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("exit code ")]
        assert len(lines) == len(several), done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return [line.split()[2] for line in lines], done.stdout + done.stderr

    (tmp_path / "mine.py").write_text(MINE)
    return run


@pytest.mark.processes(reason="the other system is simulated in a process")
def test_the_simulation_hides_what_it_should(commands, system, tmp_path):
    tried = (
        "import os, sys, signal; print(hasattr(os, 'sched_getaffinity'), hasattr(os, 'fork'), "
        "sys.platform)"
    )
    code = f"exec({tried!r}, {{'__name__': 'ibpcl.tried', '__package__': 'ibpcl'}})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        text=True,
        capture_output=True,
        env=os.environ | {"SIMULATED_SYSTEM": system, "PYTHONPATH": str(HERE / "simulated")},
    )
    assert (
        done.stdout.split()
        == {"windows": ["False", "False", "win32"], "macos": ["False", "True", "darwin"]}[system]
    )


@pytest.mark.slow(reason="processes on a simulated system")
def test_a_run_and_all_that_shows_it(commands, tmp_path):
    codes, said = commands(
        ["run", "--quiet", "--out", "my run", "--method", "naive", *TINY],
        ["run", "--resume", "my run"],
        ["runs", "."],
        ["report", "my run"],
        ["predict", "my run", "--help"],
        ["settings"],
        ["methods"],
        ["data", "list"],
        ["compare", "split-glyphs", "--methods", "naive", "--seeds", "1", "--out", "table", *TINY],
    )
    assert codes == ["0"] * 9, said
    assert (tmp_path / "my run" / "report.html").exists()


@pytest.mark.slow(reason="processes on a simulated system")
def test_checks_also_of_a_file_that_never_returns(commands):
    codes, said = commands(
        ["check", "gaussian.kl", "errata/masked-prior"],
        ["check", "mine.py:square"],
        ["check", "mine.py:endless", "--timeout", "1"],
    )
    assert codes == ["0", "0", "3"], said  # 3: undecided, because it was ended


@pytest.mark.slow(reason="processes on a simulated system")
def test_a_class_from_the_key_to_the_export(commands, tmp_path):
    codes, said = commands(
        ["class", "list"],
        ["class", "key", "course.key"],
        ["class", "new", "1", "--out", "given", "--student", "ada", "--key", "course.key"],
    )
    assert codes == ["0"] * 3, said
    (stub,) = (
        path for path in (tmp_path / "given").rglob("*.py") if not path.name.startswith("test_")
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.py").write_bytes(stub.read_bytes())
    codes, said = commands(
        ["class", "check", str(stub)],
        ["class", "submit", str(stub), "--out", "ada.zip"],
        [
            "class",
            "grade",
            "1",
            "in",
            "--out",
            "graded",
            "--key",
            "course.key",
            "--jobs",
            "1",
            "--sandbox",
            "none",
        ],
        ["class", "grade", "1", "in", "--out", "boxed", "--key", "course.key", "--jobs", "1"],
        ["class", "report", "graded"],
        ["class", "similar", "graded"],
        ["class", "export", "graded", "--to", "csv"],
        ["class", "solution", "1"],
    )
    assert codes[1:3] == ["0", "0"] and codes[4:] == ["0"] * 4, said
    assert codes[3] == "2", said
    assert (tmp_path / "graded" / "class.csv").exists()


@pytest.mark.slow(reason="trains in several commands")
def test_commands_that_take_longer(commands):
    codes, said = commands(
        ["tune", "split-glyphs", "--method", "naive", "--trials", "2", "--out", "search", *TINY],
        [
            "compare",
            "split-glyphs",
            "--methods",
            "naive",
            "--seeds",
            "2",
            "--out",
            "many",
            "--workers",
            "2",
            *TINY,
        ],
        ["check", "--list"],
        ["bench", "--quick", "--out", "bench"],
        timeout=500,
    )
    assert codes == ["0"] * 4, said
