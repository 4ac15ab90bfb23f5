"""How the kernels are compiled, where the machine code is kept, and which numbers they serve.

A kernel has one signature, of float32, and is compiled when its module is imported: with an empty cache that takes some
seconds for all modules together, later the machine code is read from the disk.
"""

import contextlib
import functools
import hashlib
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numba
import numba.extending
import numpy as np
from numba import boolean, float32, float64, int64, uint64, void

__all__ = ["Own", "boolean", "compiled", "cube", "float32", "float64", "indices", "inlined", "int64", "matrix",
           "record", "summing", "twin_of", "uint64", "vector", "void"]

HERE = Path(__file__).parent
# The digest of all kernels names the folder: Numba itself would notice a change of the file of the function that is
# called, but not of a function in another file that was compiled into it.
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py")))).hexdigest()[:12]
USERS = Path.home() / ".cache" / "ibpcl"                     # of a package that is installed for all users
# The user's choice is NUMBA_CACHE_DIR.
BELOW = Path(numba.config.CACHE_DIR or (HERE / "__pycache__" if os.access(HERE, os.W_OK) else USERS))
FOLDER = BELOW / f"ibpcl-{DIGEST}"
RECORD = FOLDER / "digests.json"
COMPILING = "compiling the kernels, once after installing (about ten seconds)"
# What a second process compiles at the same time: modules that take about half of the seconds.
ELSEWHERE = ("gaussian", "masked_weights", "noise")
# No "nnan" and no "ninf": not-a-numbers must come out again, they are how a diverging run is noticed.  No "reassoc"
# either: it would undo the exact steps of the elementary functions.
FASTMATH = {"nsz", "arcp", "contract", "afn"}
# Division by zero gives infinity as in NumPy: Numba's default, an exception, would stop vectorization.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
# What only compiled code calls needs no wrapper that takes Python's arguments apart.
INTERNAL = {**OPTIONS, "no_cpython_wrapper": True}

vector, matrix, cube = float32[::1], float32[:, ::1], float32[:, :, ::1]
indices = int64[::1]


def digests():
    """Return the digest of each file of machine code."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(FOLDER.glob("**/*.nb*")) if path.is_file()}


def record():
    """Write down what the files of machine code are, when all kernels are compiled; without room, nothing is."""
    there = RECORD.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        there.write_text(json.dumps(digests()), encoding="utf-8")
        os.replace(there, RECORD)


def complete():
    """Return whether all kernels are on the disk as they were written: damaged machine code would end the process.

    A damaged folder is removed.  Where there is none for these kernels, those of other versions are removed: they are
    of no use any more, and a process that still works with one makes it again.
    """
    if not FOLDER.exists():
        for folder in BELOW.glob("ibpcl-" + "[0-9a-f]" * len(DIGEST)):
            shutil.rmtree(folder, ignore_errors=True)
    try:
        whole = json.loads(RECORD.read_text(encoding="utf-8")) == digests()
    except (FileNotFoundError, NotADirectoryError):          # no process has finished yet
        return False
    except (OSError, ValueError):
        whole = False
    if not whole:
        shutil.rmtree(FOLDER, ignore_errors=True)
    return whole


COMPLETE = complete()
KEPT = COMPLETE or not RECORD.exists()                       # not in a folder that is damaged and cannot be removed
_said = set()


def say_once(words):
    """Print a line to the standard error, once in a process."""
    if words not in _said:
        _said.add(words)
        print(f"ibpcl: {words}", file=sys.stderr)


def load():
    """Import all compiled functions; with an empty cache, say on the standard error that they are compiled.

    Returns
    -------
    seconds : float
        What compilation took; 0 where the machine code was on the disk.
    """
    from ibpcl.kernels import threads  # which imports this module

    names = [module.name for module in pkgutil.iter_modules([str(HERE)])]
    if COMPLETE:
        for name in names:
            importlib.import_module(f"ibpcl.kernels.{name}")
        return 0.0
    began, terminal = time.perf_counter(), sys.stderr.isatty()
    helper = compiling_elsewhere() if KEPT and threads.available() > 1 else None
    for i, name in enumerate(sorted(names, key=ELSEWHERE.__contains__)):
        if terminal or i == 0:
            words = f"compiling the kernels, once ({i + 1} of {len(names)})" if terminal else COMPILING
            print(f"\r{words}" if terminal else words, end="" if terminal else "\n", file=sys.stderr, flush=True)
        if helper and name in ELSEWHERE:
            helper.wait()                                    # its machine code is on the disk then
        importlib.import_module(f"ibpcl.kernels.{name}")
    record()
    if terminal:
        print("\r" + " " * 60, end="\r", file=sys.stderr, flush=True)
    return time.perf_counter() - began


def compiling_elsewhere():
    """Start a process that compiles the kernels of some modules; return None where there can be none."""
    modules = ", ".join(f"ibpcl.kernels.{name}" for name in ELSEWHERE)
    with contextlib.suppress(OSError):
        return subprocess.Popen([sys.executable, "-P", "-c", f"import {modules}"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def compiled(signature):
    """Compile a function for one signature, without the interpreter's lock, and keep the machine code on disk."""
    def kernel(function):
        options = {**OPTIONS, "nogil": True, "fastmath": FASTMATH}
        for _ in range(2 if KEPT else 0):                    # twice: another process may have removed the folder
            before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(FOLDER)
            try:
                return numba.njit(signature, cache=True, **options)(function)
            except FileNotFoundError:
                continue
            except (RuntimeError, OSError) as error:         # no folder can be written, or the disk is full
                if isinstance(error, RuntimeError) and "cannot cache" not in str(error):
                    raise
                break
            finally:
                numba.config.CACHE_DIR = before
        say_once(f"compiled kernels cannot be kept in {BELOW}: there is no room, or it cannot be written; set "
                 "NUMBA_CACHE_DIR to another folder, or each process compiles them again")
        return numba.njit(signature, **options)(function)
    return kernel


def inlined(function):
    """Compile ``function`` into each of its callers, whatever its length, so that their loops vectorize."""
    return numba.extending.register_jitable(forceinline=True, fastmath=FASTMATH, **INTERNAL)(function)


def summing(function):
    """Compile ``function`` as :func:`inlined` does, but let it add up in another order: a few sums side by side."""
    return numba.extending.register_jitable(forceinline=True, fastmath=FASTMATH | {"reassoc"}, **INTERNAL)(function)


class Own(NamedTuple):
    """The cache of a compiled function, for its own way back; that of a reference is not wrapped."""

    cache: object


def twin_of(module):
    """Make a decorator for the twin of the function of the same name in ``module``, its reference.

    The twin gets contiguous arrays and is called where all real numbers are float32; the reference serves all others.
    """
    def decorate(function):
        reference = getattr(module, function.__name__)

        @functools.wraps(function)
        def serve(*arguments, **options):
            if function.__name__.endswith("_vjp"):
                dout, cache, *rest = arguments
                if not isinstance(cache, Own):
                    return reference(dout, cache, *rest, **options)
                dout = tuple(map(_single, dout)) if isinstance(dout, tuple) else _single(dout)
                return function(dout, cache.cache, *rest, **options)
            arrays = [one for one in arguments if isinstance(one, np.ndarray) and one.dtype.kind in "fc"]
            if not arrays or any(one.dtype != np.float32 for one in arrays):
                return reference(*arguments, **options)
            out, cache = function(*(np.asarray(one, order="C") if isinstance(one, np.ndarray) else one
                                    for one in arguments), **options)
            return out, Own(cache)

        return serve
    return decorate


def _single(dout):
    # ``np.ascontiguousarray`` would make an array of shape () one-dimensional.
    return np.asarray(dout, np.float32, order="C") if isinstance(dout, np.ndarray) else np.float32(dout)
