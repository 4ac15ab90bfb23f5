"""Folders that cannot be made, outputs that are no files, file systems without locks, and files of
other runs.
"""

import errno
import os
import shutil
import subprocess
import sys
import threading
import warnings

import pytest
from quick import quick

import ibpcl
from ibpcl import checkpoints, storage
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.experiments.door import load_run

pytestmark = pytest.mark.usefixtures("no_figures")

KEYS = {
    "method": "naive",
    "epochs": 1,
    "hidden": (3,),
    "tasks": 2,
    "train_limit": 40,
    "test_limit": 20,
    "backend": "numpy",
}
WORDS = [
    word
    for key, value in KEYS.items()
    if key != "method"
    for word in ("--set", f"{key}={value[0] if isinstance(value, tuple) else value}")
]
posix = pytest.mark.skipif(os.name != "posix", reason="needs a device file or a FIFO")


@pytest.fixture
def runs(tmp_path, drawn):
    """Two finished runs that differ in their seed, and one that differs in a setting."""
    for name, other in (("a", {}), ("b", {"seed": 5}), ("c", {"epochs": 2})):
        ibpcl.run("split-mnist", tmp_path / name, **(KEYS | other))
    return tmp_path


@pytest.mark.parametrize("error", [errno.ENOENT, errno.ENOTDIR, errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_made_ends_in_a_line(error, monkeypatch, capsys):
    def refuse(self, *arguments, **options):
        raise OSError(error, os.strerror(error), str(self))

    monkeypatch.setattr(storage.Path, "mkdir", refuse)
    assert main(["run", "--quiet", "--out", "nowhere/r", *WORDS]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@posix
@pytest.mark.parametrize("what", ["fifo", "device"])
def test_an_output_that_is_no_file_gets_the_data_and_stays(what, tmp_path):
    path = tmp_path / "pipe" if what == "fifo" else storage.Path("/dev/null")
    found = []
    if what == "fifo":
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
        reader.start()
    before = os.stat(path)
    storage.write_bytes(path, b"some bytes")
    if what == "fifo":
        reader.join(10)
        assert found == [b"some bytes"]
    assert os.stat(path).st_mode == before.st_mode
    if what == "device":
        checkpoints.save(path, {}, {})
        checkpoints.write_npz(path, {})
        assert os.stat(path).st_mode == before.st_mode and not list(
            path.parent.glob("null.previous")
        )


@pytest.mark.processes(reason="a lock that is refused once is said once")
@pytest.mark.parametrize(
    "refused",
    quick([str(errno.ENOLCK)], [errno.ENOLCK, errno.ENOTSUP, 524], "a process for each number"),
)
def test_without_locks_a_file_stands_for_the_lock(refused, tmp_path):
    """In a process of its own: a lock that is refused once is said once."""
    fcntl = pytest.importorskip("fcntl")
    assert fcntl
    code = (
        f"import fcntl, os, sys\ndef flock(fd, how): raise OSError({refused}, "
        f"os.strerror({refused}))\nfcntl.flock = flock\nfrom ibpcl import storage\nfrom "
        "ibpcl.experiments.folder import at_work\nwith storage.locked(sys.argv[1] + '/.lock', "
        "0):\n    print(at_work(sys.argv[1]))\nprint(at_work(sys.argv[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
    assert done.stderr.count("without locks") == 1


@pytest.mark.parametrize("name", ["result.json", "learner.npz"])
@pytest.mark.parametrize("other", ["b", "c"])
def test_a_file_of_another_run_is_refused(name, other, runs):
    shutil.copy(runs / other / name, runs / "a" / name)
    with pytest.raises(UserError, match=f"{name}.*belongs to a"):
        load_run(runs / "a")
    if name == "learner.npz":
        with pytest.raises(UserError, match="belongs to a"):
            ibpcl.load(runs / "a")
    with pytest.warns(UserWarning, match="starts again"):
        again = ibpcl.run("split-mnist", runs / "a", **KEYS)
    assert again.result["seed"] == 0
    load_run(runs / "a")


ODD = {
    "no average": lambda values: values.pop("average_accuracy"),
    "text": lambda values: values.update(average_accuracy="high"),
    "no tasks": lambda values: values.update(tasks=[]),
    "no matrix": lambda values: values.update(accuracy_matrix=[[1]]),
    "no seconds": lambda values: values.update(seconds=None),
    "another's": lambda values: values.update(seed=7),
}


@pytest.mark.parametrize("name", ODD)
def test_one_odd_run_does_not_hide_the_others(name, runs, capsys):
    values = storage.read_sealed_json(runs / "a/result.json")
    ODD[name](values)
    storage.write_sealed_json(runs / "a/result.json", values)
    capsys.readouterr()
    assert main(["runs", str(runs)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "damaged" in lines["a"] and "finished" in lines["b"] and "finished" in lines["c"]
    assert main(["runs", "--json", str(runs)]) == 0


def test_an_odd_configuration_is_told_beside_the_others(runs, capsys):
    path = runs / "a/config.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("seed = 0", "seed = [1]"), encoding="utf-8"
    )
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["runs", str(runs)]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3 and "seed" in err
