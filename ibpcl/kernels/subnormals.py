"""Numbers below the smallest normal one (1.2e-38 in float32): kernels take them, and give them, as zero.

Processors compute with subnormal numbers (also called denormal) in microcode, which takes long.  A network that is sure
of its labels has many: gradients of 1e-37, times the gray of a pixel at an edge.  ``ibpcl bench`` shows what they
cost.  What is lost is below 1.2e-38, and hardly anything that it is added to is so small.

The processor's control register, of which each thread has its own, says how it is done.  It is set for the time of a
kernel only, because NumPy's arithmetic, in the same thread, shall not change.
"""

import platform

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ibpcl.kernels.compilation import compiled

WORD, SHORT, BYTE = (ir.IntType(bits) for bits in (64, 32, 8))
# Which bits of the register flush results, and operands, to zero: MXCSR's FTZ and DAZ, or FPCR's FZ.
X86, ARM = ("x86_64", "AMD64"), ("aarch64", "arm64")
MACHINE = platform.machine()
BITS = 1 << 15 | 1 << 6 if MACHINE in X86 else 1 << 24 if MACHINE in ARM else 0


def _call(builder, name, result, *arguments):
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), arguments)


def _memory(builder):
    place = builder.alloca(SHORT)                            # the x86 instructions read and write memory
    return place, builder.bitcast(place, BYTE.as_pointer())


@intrinsic
def _control(typing_context):
    """Return the control register, 0 on a processor that is not known."""
    def generate(context, builder, signature, arguments):
        if MACHINE in X86:
            place, address = _memory(builder)
            _call(builder, "llvm.x86.sse.stmxcsr", ir.VoidType(), address)
            return builder.zext(builder.load(place), WORD)
        return _call(builder, "llvm.aarch64.get.fpcr", WORD) if MACHINE in ARM else WORD(0)
    return types.int64(), generate


@intrinsic
def _set_control(typing_context, value):
    """Write the control register."""
    def generate(context, builder, signature, arguments):
        if MACHINE in X86:
            place, address = _memory(builder)
            builder.store(builder.trunc(arguments[0], SHORT), place)
            _call(builder, "llvm.x86.sse.ldmxcsr", ir.VoidType(), address)
        elif MACHINE in ARM:
            _call(builder, "llvm.aarch64.set.fpcr", ir.VoidType(), arguments[0])
        return arguments[0]
    return types.int64(types.int64), generate


@compiled
def flush():
    """Let this thread take subnormal numbers as zero; return what :func:`restore` needs."""
    before = _control()
    _set_control(before | BITS)
    return before


@compiled
def restore(before):
    """Let this thread compute as it did before."""
    _set_control(before)
