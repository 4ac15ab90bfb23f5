"""The short loops that several kernels are made of, over strips of numbers, with the processor's widest vectors."""

from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from ibpcl.kernels.compilation import inlined, wide
from ibpcl.kernels.elementary import exp


@intrinsic
def flat(typing_context, array, begin, end):
    """Return the elements ``begin`` ... ``end - 1`` of a contiguous array, as if it had one axis.

    What a slice, ``array.reshape(-1)[begin:end]``, is too; but that knows of negative indices and of an array's end,
    and what it does about them takes longer to compile than many a loop.
    """
    def generate(context, builder, signature, arguments):
        whole = context.make_array(signature.args[0])(context, builder, arguments[0])
        some = context.make_array(signature.return_type)(context, builder)
        populate_array(some, data=builder.gep(whole.data, [arguments[1]]),
                       shape=[builder.sub(arguments[2], arguments[1])], strides=[whole.itemsize],
                       itemsize=whole.itemsize, meminfo=whole.meminfo)
        return impl_ret_borrowed(context, builder, signature.return_type, some._getvalue())

    if not isinstance(array, types.Array) or array.layout != "C":
        return None
    return array.copy(ndim=1)(array, types.intp, types.intp), generate


@inlined
def fill(number, out):
    """Write one number everywhere."""
    for i in range(wide(out.size)):
        out[i] = number


@inlined
def copy(x, out):
    """Write x."""
    for i in range(wide(out.size)):
        out[i] = x[i]


@inlined
def add(x, out):
    """Add x."""
    for i in range(wide(out.size)):
        out[i] += x[i]


@inlined
def sum_rows(x, out):
    """Write the sums over the rows of x (N, K)."""
    fill(0, out)
    for n in range(x.shape[0]):
        row = x[n]
        for k in range(wide(out.size)):
            out[k] += row[k]


@inlined
def square(x, out):
    """Write x squared."""
    for i in range(wide(out.size)):
        out[i] = x[i] * x[i]


@inlined
def exponential(x, out):
    """Write e to the x."""
    for i in range(wide(out.size)):
        out[i] = exp(x[i])
