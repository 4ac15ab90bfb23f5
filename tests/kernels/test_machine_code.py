"""The folder of machine code: its owner, and that damage to it never ends a run."""

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from quick import quick

from ibpcl import places
from ibpcl.kernels import machine_code


def python(code, *flags, check=True, **environment):
    """Run code in another process and return what it printed to both outputs."""
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        check=check,
        text=True,
        capture_output=True,
        timeout=900,
        env=os.environ | {"PYTHONWARNINGS": "ignore"} | environment,
    )


LOAD = (
    "from ibpcl.inference.backend import backend; b = backend('numba'); print(b.name, "
    "b.compile_seconds > 0)"
)


@pytest.mark.processes(reason="Numba is loaded once in a process")
@pytest.mark.parametrize(
    ("environment", "words"),
    quick(
        ["NUMBA_NUM_THREADS=0"],
        [
            ({"NUMBA_NUM_THREADS": "0"}, "Numba cannot be imported"),
            ({"NUMBA_NUM_THREADS": "-1"}, "Numba cannot be imported"),
            ({"NUMBA_DISABLE_JIT": "1"}, "NUMBA_DISABLE_JIT is set"),
        ],
        "each starts a process",
        name=lambda case: "=".join(*case[0].items()),
    ),
)
def test_without_numba_numpy_is_used_and_the_reason_printed(environment, words):
    done = python(LOAD, **environment)
    assert (
        done.stdout == "numpy False\n"
        and len(done.stderr.splitlines()) == 1
        and words in done.stderr
    )


@pytest.mark.processes(reason="Numba is loaded once in a process")
@pytest.mark.parametrize(
    ("broken", "words"),
    quick(
        ["Numba is broken"],
        [
            ("sys.modules['numba'] = None", "Numba is not installed"),
            ("sys.modules['llvmlite'] = None", "Numba is broken"),
            ("import numpy; numpy.__version__ = '99.0.0'", "Numba cannot be imported"),
        ],
        "each starts a process",
        name=lambda case: case[1],
    ),
)
def test_a_broken_numba_is_not_called_missing(broken, words):
    done = python(f"import sys; {broken}; {LOAD}")
    assert done.stdout == "numpy False\n" and done.stderr.startswith(f"ibpcl: {words}")
    assert len(done.stderr.splitlines()) == 1


# Two modules that compile quickly, one of them in the second process, represent all.
FEW = (
    "from types import SimpleNamespace; import ibpcl.kernels.compilation as few; few.ELSEWHERE = "
    "('adam',); few.pkgutil.iter_modules = lambda path: [SimpleNamespace(name=name) for name in "
    "('activations', 'adam')]; "
)
BEND = (
    "import numpy as np; from ibpcl.kernels import activations; "
    "print(activations.relu_vjp(*activations.relu(np.sin(np.arange(9, "
    "dtype=np.float32)).reshape(1, 3, 3))).tobytes().hex())"
)
SAY = f"{FEW}{LOAD}; {BEND}"
OTHER = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Return a folder with machine code of two modules, and what one of them computed."""
    folder = tmp_path_factory.mktemp("cache")
    first = python(SAY, NUMBA_CACHE_DIR=str(folder))
    assert first.stdout.startswith("numba True\n") and len(first.stderr.splitlines()) == 1
    return folder, first.stdout.split()[-1]


def of(folder):
    """Return the finished folders of machine code below one; there is nothing else."""
    found = sorted(folder.iterdir())
    assert all(path.name.startswith("ibpcl-") for path in found)
    return found


@pytest.mark.slow(reason="compiles in a new process")
def test_the_next_process_compiles_nothing_and_is_silent(cache):
    folder, expected = cache
    done = python(SAY, NUMBA_CACHE_DIR=str(folder))
    assert (done.stdout.split(), done.stderr) == (["numba", "False", expected], "")


@pytest.mark.slow(reason="compiles kernels in new processes, twice")
def test_processors_and_python_oo_have_separate_folders(cache):
    folder, _ = cache
    (mine,) = of(folder)
    before = machine_code.digests(mine)
    for compiles in ("True", "False"):  # once each, regardless of the other
        assert [
            python(SAY, *flags, NUMBA_CACHE_DIR=str(folder), **environment).stdout.split()[1]
            for flags, environment in (((), OTHER), (("-OO",), {}))
        ] == [compiles] * 2
    assert len(of(folder)) == 3 and machine_code.digests(mine) == before
    assert python(SAY, NUMBA_CACHE_DIR=str(folder)).stdout.startswith("numba False\n")
    for path in of(folder):
        if path != mine:
            for file in sorted(path.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            path.rmdir()


@pytest.mark.slow(reason="each compiles kernels in a new process")
@pytest.mark.parametrize("damage", [None, b"", b"nonsense" * 1000])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_machine_code_is_found_and_compiled_again(cache, kind, damage):
    folder, expected = cache
    paths = sorted(folder.glob(f"**/*.{kind}"))
    assert paths
    for path in paths:
        path.write_bytes(
            path.read_bytes()[: path.stat().st_size // 2] if damage is None else damage
        )
    for compiles in ("True", "False"):
        assert python(SAY, NUMBA_CACHE_DIR=str(folder)).stdout.split() == [
            "numba",
            compiles,
            expected,
        ]


# Root may write everywhere, so the refusal of the system calls is simulated.
READ_ONLY = """
import os, tempfile
def refuse(*arguments, **options): raise OSError(30, 'Read-only file system')
os.mkdir = os.replace = os.utime = os.unlink = os.rmdir = tempfile.TemporaryFile = refuse
access = os.access
os.access = lambda path, mode, **options: not mode & os.W_OK and access(path, mode, **options)
"""


@pytest.mark.slow(reason="compiles in a new process")
def test_read_only_machine_code_is_used(cache):
    folder, expected = cache
    done = python(READ_ONLY + SAY, NUMBA_CACHE_DIR=str(folder))
    assert (done.stdout.split(), done.stderr) == (["numba", "False", expected], "")


@pytest.mark.slow(reason="compiles in a new process; a full disk is reported in the same way")
def test_an_unwritable_folder_is_reported_once(cache):
    done = python(BEND, NUMBA_CACHE_DIR=os.devnull + "/folder")
    assert done.stdout.strip() == cache[1]
    assert (
        len(done.stderr.splitlines()) == 1 and "compiled kernels cannot be stored in" in done.stderr
    )


@pytest.mark.slow(reason="compiles in a new process")
def test_a_full_disk_is_reported_once(cache, tmp_path):
    fill = (
        "import errno, os; import numba; keep = os.replace\ndef full(*names):\n    if '.nb' in "
        "str(names[-1]): raise OSError(errno.ENOSPC, 'No space left on device')\n    return "
        "keep(*names)\nos.replace = full\n"
    )
    done = python(fill + BEND, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout.strip() == cache[1]
    assert len(done.stderr.splitlines()) == 1 and "NUMBA_CACHE_DIR" in done.stderr
    assert not list(tmp_path.iterdir())  # an incomplete folder is removed


def store(folder):
    """Return a store below a folder that has compiled one file."""
    made = machine_code.Store(folder)
    (made.to_read_or_write() / "kernel.nbi").write_bytes(b"code")
    return made


def test_of_two_simultaneous_compilations_the_first_stays(tmp_path):
    first = store(tmp_path)
    second = store(tmp_path)
    assert first.building != second.building and not machine_code.Store(tmp_path).complete
    first.publish()
    second.publish()
    assert first.complete and second.complete and list(tmp_path.iterdir()) == [first.folder]
    assert machine_code.Store(tmp_path).complete


def test_a_folder_that_cannot_be_published_is_dropped(tmp_path, monkeypatch):
    made = store(tmp_path)
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(PermissionError()))
    made.publish()
    assert not made.complete and not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".nbi", ".json"])
def test_a_failing_read_leaves_the_folder_to_those_who_can_read_it(tmp_path, monkeypatch, suffix):
    made = store(tmp_path)
    made.publish()
    read = Path.read_bytes

    def stale(path):
        if path.suffix == suffix:
            raise OSError(errno.ESTALE, "Stale file handle")
        return read(path)

    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_bytes", stale)
        assert not machine_code.Store(tmp_path).complete
    assert machine_code.Store(tmp_path).complete
    # what can be read and differs is damaged, and goes
    (made.folder / "kernel.nbi").write_bytes(b"other code")
    assert not machine_code.Store(tmp_path).complete and not made.folder.exists()


def test_a_clock_that_is_an_hour_ahead_removes_no_folder_of_a_living_process(tmp_path, monkeypatch):
    building = store(tmp_path).building
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * machine_code.LEFT)
    store(tmp_path)
    assert building.exists()
    os.utime(building, (now - 2 * machine_code.LEFT,) * 2)
    store(tmp_path)
    assert not building.exists()


def test_only_outdated_or_long_unused_code_is_removed(tmp_path):
    made = store(tmp_path)
    outdated = tmp_path / f"ibpcl-{made.maker}-0123456789"
    unused = tmp_path / "ibpcl-0123456789-0123456789"
    used = tmp_path / "ibpcl-abcdefabcd-0123456789"
    others = [tmp_path / "ibpcl-mine", tmp_path / "numba"]
    for folder in (outdated, unused, used, *others):
        folder.mkdir()
        (folder / machine_code.RECORD).write_text("{}")
    old = time.time() - machine_code.UNUSED - 60
    os.utime(unused / machine_code.RECORD, (old, old))
    made.publish()
    assert sorted(tmp_path.iterdir()) == sorted([made.folder, used, *others])


def test_the_name_depends_on_the_whole_environment(monkeypatch):
    names = {machine_code.maker()}
    for place, name, value in (
        (machine_code.numba, "__version__", "0.1"),
        (machine_code, "HERE", Path("elsewhere")),
        (machine_code.llvmlite, "__version__", "0.1"),
        (machine_code.numba.config, "CPU_NAME", "generic"),
        (machine_code.sys.implementation, "cache_tag", "cpython-399"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value)
            names.add(machine_code.maker())
    assert len(names) == 6


def test_paths_are_short_enough_for_windows(tmp_path):
    """Windows allows 260 characters, and Numba's temporary files have 21 more than its files."""
    made = machine_code.Store(tmp_path)
    longest = max(len(path.as_posix()) for path in (machine_code.HERE.glob("*.py")))
    assert longest  # there are kernels
    local = r"C:\Users\twenty.characters.xx\AppData\Local\ibpcl\kernels"
    folder = f".{made.folder.name}-01234567\\kernels_{'0' * 40}"
    files = [len(name.split("/")[-1]) for name in machine_code.digests(machine_code.store.folder)]
    assert len(local) + 1 + len(folder) + 1 + max(files, default=60) + 21 < 250


@pytest.mark.parametrize("home", ["none", "/"])
def test_without_a_home_the_code_is_kept_in_a_private_folder(home, tmp_path, monkeypatch):
    """In a container with any user id there is no home, or it is the root, which cannot be
    written.
    """
    monkeypatch.setattr(machine_code.numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(places.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(
        places, "user_cache", lambda: None if home == "none" else Path(os.devnull, "ibpcl")
    )
    found = machine_code.choose()
    assert found.below == tmp_path / f"ibpcl-{os.getuid()}" / "kernels" and found.below.is_dir()
    assert not found.below.parent.stat().st_mode & 0o077


@pytest.mark.parametrize("kind", ["link", "open to others"])
def test_a_temporary_folder_that_others_can_write_is_not_used(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(places.tempfile, "gettempdir", lambda: str(tmp_path))
    path = tmp_path / f"ibpcl-{os.getuid()}"
    if kind == "link":
        (tmp_path / "elsewhere").mkdir()
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.mkdir()
        path.chmod(0o777)
    assert places.private_temporary() is None


def test_a_record_is_json_of_digests(tmp_path):
    made = store(tmp_path)
    made.publish()
    assert list(json.loads((made.folder / machine_code.RECORD).read_text())) == ["kernel.nbi"]
