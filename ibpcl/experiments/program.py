"""The program and the machine behind a result: commit, processor, versions of packages, BLAS."""

import importlib.metadata
import platform
import subprocess
from functools import cache
from pathlib import Path

import ibpcl

PACKAGES = ("numpy", "scipy", "numba", "matplotlib")
BLAS = "blas"
# Entries of threadpoolctl for a BLAS library; the architecture names the kernels.
BLAS_KEYS = ("internal_api", "version", "architecture")
# Hexadecimal digits of a commit.
DIGITS = 12
# Added to the commit if the package's files differ from it.
CHANGED = "+"
CPUS = Path("/proc/cpuinfo")


def versions():
    """Return the versions of Python, of this package and of the packages that it computes with.

    Returns
    -------
    versions : dict of str to str or None
        ``commit`` is that of the package's source, see :func:`commit`, and ``blas`` is from
        :func:`blas`. None stands for a package that is not installed, and for an unknown BLAS.
    """
    return {
        "python": platform.python_version(),
        "ibpcl": ibpcl.__version__,
        "commit": commit(),
        **{name: version(name) for name in PACKAGES},
        BLAS: blas(),
    }


def described(found):
    """Return versions as text, without the commit.

    Parameters
    ----------
    found : dict of str to str or None
        From :func:`versions`.

    Returns
    -------
    text : str
        Such as ``python 3.11.7, numpy 2.1.0``.

    Examples
    --------
    >>> described({"python": "3.11.7", "commit": "0123456789ab", "numba": None})
    'python 3.11.7'
    """
    return ", ".join(f"{name} {text}" for name, text in found.items() if text and name != "commit")


def version(package):
    """Return the version of an installed package.

    Parameters
    ----------
    package : str
        Name of the package.

    Returns
    -------
    version : str or None
        None if it is not installed.
    """
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def blas():
    """Return the BLAS libraries of this process, with their versions and kernels.

    A BLAS has several kernels for each product and chooses them by the features of the processor,
    so two processors of the same name may round differently. ``OPENBLAS_CORETYPE`` chooses the
    kernels of OpenBLAS.

    Returns
    -------
    blas : str or None
        Such as ``openblas 0.3.31 Haswell``; "and" joins several libraries that differ. None if
        threadpoolctl does not know the BLAS, such as Apple's Accelerate.
    """
    from threadpoolctl import threadpool_info

    found = {
        " ".join(str(library[key]) for key in BLAS_KEYS if library.get(key))
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return " and ".join(sorted(found)) or None


@cache
def commit():
    """Return the commit of the source from which this package runs.

    Returns
    -------
    commit : str or None
        Twelve hexadecimal digits, followed by ``+`` if a file of the package differs from the
        commit. None if the package does not run from a checkout, or without Git.
    """
    package = Path(ibpcl.__file__).resolve().parent
    # The package may be installed in an environment that lies in another project's checkout.
    if not (package.parent / ".git").exists():
        return None
    head = _git(package.parent, "rev-parse", f"--short={DIGITS}", "HEAD")
    changes = _git(package.parent, "status", "--porcelain", "--", package.name)
    if not head or changes is None:
        return None
    return head + CHANGED * bool(changes)


def _git(folder, *arguments):
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@cache
def processor():
    """Return the name of the processor.

    Returns
    -------
    processor : str
        The model's name if the system tells it, such as ``AMD EPYC 7B13``, else the architecture.
    """
    try:
        lines = CPUS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name" and value.strip():
            return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown"
