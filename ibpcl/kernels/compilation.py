"""How the kernels are compiled and where the machine code is kept."""

import hashlib
import shutil
from pathlib import Path

import numba
import numba.extending

HERE = Path(__file__).parent
# The digest of all kernels names the folder: Numba itself would notice a change of the file of the function that is
# called, but not of a function in another file that was compiled into it.
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py")))).hexdigest()[:12]
# No "nnan" and no "ninf": not-a-numbers must come out again, they are how a diverging run is noticed.  No "reassoc"
# either: it would undo the exact steps of the elementary functions.
FASTMATH = frozenset(("nsz", "arcp", "contract", "afn"))
# What only compiled code calls needs no wrapper that takes Python's arguments apart: it takes longer to compile than
# many a loop.
INTERNAL = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def cache_folder(chosen):
    """Return the folder of the machine code below ``chosen`` (the user's), or below this one.

    Before it is made, those of other versions of these kernels are removed: they are of no use any more, and a process
    that still works with one makes it again.
    """
    below = Path(chosen or HERE / "__pycache__")
    folder = below / f"ibpcl-{DIGEST}"
    if not folder.exists():
        for other in below.glob("ibpcl-" + "[0-9a-f]" * len(DIGEST)):
            shutil.rmtree(other, ignore_errors=True)
    return folder


def compiled(function):
    """Compile ``function`` at its first call, without the interpreter's lock, and keep the machine code on disk.

    A cache folder that cannot be written costs the time of compiling again, nothing else.

    Division by zero gives infinity as in NumPy: Numba's default, an exception, would stop vectorization.
    """
    options = {"nogil": True, "no_cfunc_wrapper": True, "fastmath": set(FASTMATH), "error_model": "numpy"}
    chosen = numba.config.CACHE_DIR                          # the user's, from NUMBA_CACHE_DIR, or ""
    numba.config.CACHE_DIR = str(cache_folder(chosen))
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:                                     # no folder can be written, not even in the user's home
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = chosen


def part(function):
    """Compile ``function`` for other compiled functions, whose machine code is kept on disk together with it.

    Called from Python, this and the next two remain what they are, functions in Python.
    """
    return numba.extending.register_jitable(fastmath=set(FASTMATH), **INTERNAL)(function)


def inlined(function):
    """Compile ``function`` into each of its callers, whatever its length, so that their loops vectorize."""
    return numba.extending.register_jitable(forceinline=True, fastmath=set(FASTMATH), **INTERNAL)(function)


def summing(function):
    """Compile ``function`` as :func:`inlined` does, but let it add up in another order: a few sums side by side."""
    return numba.extending.register_jitable(forceinline=True, fastmath={"nsz", "contract", "reassoc"},
                                            **INTERNAL)(function)


@numba.extending.intrinsic
def wide(typing_context, length):
    """Return ``length``, and let the loops of the calling function use the widest vectors of the processor.

    With AVX-512 the compiler would prefer 256 bits, out of regard for programs that use vectors only now and then: the
    first such processors lowered their clock.  These loops do nothing else; they gain about a fifth.
    """
    def generate(context, builder, signature, arguments):
        attributes = builder.function.attributes
        if isinstance(attributes, set):                      # llvmlite's own ``add`` knows no attributes with values
            set.add(attributes, '"prefer-vector-width"="512"')
        return arguments[0]
    return length(length), generate
