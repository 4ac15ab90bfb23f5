"""Boxes show the shared libraries that NumPy and SciPy load, also where they lie beside hundreds of
others.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from classroom_common import WORKING, needs_box

from ibpcl.classroom.judging.running import client
from ibpcl.sandbox import boxes

SITE = Path(np.__file__).parents[1]
PROBE = """
import sys
from ibpcl.classroom.judging.running import client
from ibpcl.sandbox import boxes
import os
python = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
shown = boxes._files(python)[0]
lib = os.path.realpath(sys.argv[1])
print(repr(client.probe(sys.argv[2])))
print(sum(path.startswith(lib + "/lib") and ".so" in path for path in shown))
print(os.path.join(lib, "secret.so") in shown or lib in shown)
"""


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def rewritten(path, folder, prefix):
    """Let a library look in ``PREFIX/lib``: the search path in the file is replaced by one that is
    not longer.
    """
    data = path.read_bytes()
    for ups in range(4, 0, -1):
        old = b"$ORIGIN/" + b"../" * ups + folder.encode() + b"\0"
        new = b"$ORIGIN/" + os.path.relpath(prefix / "lib", path.parent).encode()
        if old in data and len(new) < len(old):
            path.unlink()
            path.write_bytes(data.replace(old, new.ljust(len(old), b"\0")))
            return


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Return a prefix as conda makes it: NumPy's and SciPy's libraries in ``PREFIX/lib``, packages
    below.
    """
    if not (SITE / "numpy.libs").is_dir() or not (SITE / "scipy.libs").is_dir():
        pytest.skip("NumPy and SciPy are not from wheels")
    made = tmp_path_factory.mktemp("prefix")
    packages = made / "lib" / "python3" / "site-packages"
    for name in ("numpy", "scipy"):
        shutil.copytree(
            SITE / name, packages / name, copy_function=link, ignore=shutil.ignore_patterns("tests")
        )
        for library in (SITE / f"{name}.libs").iterdir():
            shutil.copy2(library, made / "lib" / library.name)
        for module in packages.rglob(f"{name}/**/*.so"):
            rewritten(module, f"{name}.libs", made)
    (made / "lib" / "secret.so").write_bytes(b"no library")
    return made


@pytest.mark.slow(reason="copies NumPy and SciPy, and starts two processes")
@needs_box
@pytest.mark.parametrize("box", WORKING)
def test_libraries_in_the_folder_of_the_prefix_are_found(prefix, box):
    paths = [prefix / "lib" / "python3" / "site-packages", Path(boxes.__file__).parents[2], SITE]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    answer = subprocess.run(
        [sys.executable, "-c", PROBE, str(prefix / "lib"), box],
        env=environment,
        text=True,
        capture_output=True,
        check=True,
    ).stdout.splitlines()
    assert answer[0] == "''"
    assert int(answer[1]) >= 2
    assert answer[2] == "False"


def test_a_library_that_is_missing_is_named_in_one_line():
    error = client.SubmissionError(
        "ImportError",
        "IMPORTANT: PLEASE READ THIS\n"
        + "advice\n" * 200
        + "Original error was: libopenblas.so.0: cannot open shared object file: No such file",
    )
    reason = client._does_not_start(error)
    assert "libopenblas.so.0" in reason and len(reason) < 120
    with pytest.raises(Exception, match=r"libopenblas") as caught:
        boxes.choose("landlock", lambda _: reason)
    assert "apt-get" not in str(caught.value)
