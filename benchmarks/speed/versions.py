"""Compare the start, a short run and its memory with an earlier version, alternately.

``nox -s speed`` installs both versions beside the same dependencies and calls this program.  Each
command runs as a process of its own, the two versions alternate, and the table has the ratios of
neighbouring runs.  So a change of the machine's load or speed meets both.  Times are processor
times, in seconds, of a process and its children.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SHORT = "tasks=2", "epochs=2", "finetune_epochs=1"


class Used(NamedTuple):
    """What one process used.

    Attributes
    ----------
    seconds : float
        Processor time.
    mebibytes : float
        Largest memory.
    """

    seconds: float
    mebibytes: float


class Row(NamedTuple):
    """One line of the table.

    Attributes
    ----------
    name : str
        What was measured.
    old, new : float
        Medians of the two versions.
    ratios : tuple of float
        New divided by old, for each pair of runs.
    """

    name: str
    old: float
    new: float
    ratios: tuple[float, ...]


def commands(out):
    """Return the arguments of Python for each measured command, by name.

    Parameters
    ----------
    out : path-like
        Folder for the results of a run, which does not exist.

    Returns
    -------
    commands : dict of str to list of str
    """
    settings = [f"--set={setting}" for setting in SHORT]
    return {
        "start (ibpcl --help)": ["-m", "ibpcl", "--help"],
        "import of the front door": ["-c", "import ibpcl; ibpcl.check, ibpcl.learner"],
        "short run": ["-m", "ibpcl", "run", "split-glyphs", *settings, "--out", str(out)],
    }


def used(arguments, packages):
    """Run Python, and return what the process used.

    Parameters
    ----------
    arguments : list of str
        Arguments of Python.
    packages : path-like
        Folder that holds the version of the package.

    Returns
    -------
    used : Used

    Raises
    ------
    RuntimeError
        If the exit code is not 0.
    """
    # absolute, because the process runs in another folder
    packages = Path(packages).resolve()
    environment = {
        **os.environ,
        "PYTHONPATH": str(packages),
        "OPENBLAS_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(packages / "numba-cache"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment,
            cwd=tempfile.gettempdir(),
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip()
            raise RuntimeError(f"python {' '.join(arguments)}, from {packages}: {text[-2000:]}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def refuse_another_package(packages):
    """Check that Python imports the package from a folder, not from where it is installed.

    Parameters
    ----------
    packages : path-like
        Folder that holds a version of the package.

    Raises
    ------
    RuntimeError
        If the folder does not hold the package that is imported.
    """
    folder = str(Path(packages).resolve())
    used(
        ["-c", f"import ibpcl; assert ibpcl.__file__.startswith({folder!r}), ibpcl.__file__"],
        folder,
    )


def compare(name, measure, old, new, rounds):
    """Measure two versions alternately, after one run of each that is not counted.

    Parameters
    ----------
    name : str
        Name of the command.
    measure : callable
        Returns the :class:`Used` of a version.
    old, new : object
        The versions, arguments of ``measure``.
    rounds : int
        Counted pairs of runs, at least 1.

    Returns
    -------
    rows : list of Row
        Processor time in seconds, and memory in MiB.
    """
    pairs = [(measure(old), measure(new)) for _ in range(rounds + 1)][1:]
    rows = []
    for field, unit in (("seconds", "s"), ("mebibytes", "MiB")):
        before, after = zip(*([getattr(use, field) for use in pair] for pair in pairs), strict=True)
        ratios = tuple(b / a for a, b in zip(before, after, strict=True))
        rows.append(
            Row(f"{name}, {unit}", statistics.median(before), statistics.median(after), ratios)
        )
    return rows


def lost(rows, limit):
    """Return the rows whose median ratio is above a limit.

    Parameters
    ----------
    rows : list of Row
        Lines of the table.
    limit : float
        Largest accepted ratio.

    Returns
    -------
    lost : list of Row
    """
    return [row for row in rows if statistics.median(row.ratios) > limit]


def main():
    """Print the table; return 1 if a ratio is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", type=Path, help="folder with the old package")
    parser.add_argument("new", type=Path, help="folder with the new package")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs (default: 5)")
    parser.add_argument("--limit", type=float, help="exit code 1 if a median ratio is above it")
    arguments = parser.parse_args()
    for packages in (arguments.old, arguments.new):
        refuse_another_package(packages)
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for name in commands(""):

            def measure(packages, name=name):
                out = tempfile.mkdtemp(dir=folder)
                return used(commands(Path(out) / "run")[name], packages)

            rows += compare(name, measure, arguments.old, arguments.new, arguments.rounds)
    print(f"{'':30}{'old':>9}{'new':>9}  new / old: median (least to most)")
    for row in rows:
        middle, least, most = statistics.median(row.ratios), min(row.ratios), max(row.ratios)
        print(
            f"{row.name:30}{row.old:9.2f}{row.new:9.2f}  {middle:.2f} ({least:.2f} to {most:.2f})"
        )
    above = lost(rows, arguments.limit) if arguments.limit else []
    for row in above:
        print(f"above {arguments.limit}: {row.name}")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
