r"""Sums of scaled rows of a matrix, kept in registers while they are added up: the innermost loop of sparse products.

.. math:: out_k \leftarrow out_k + \sum_{j = begin}^{end - 1} values_j \, matrix_{places_j\, k}

for a strip of neighbouring k.  A compiler that is given this as two loops reads and writes the sums once for each
summand, or for each few of them.  So it is written in the compiler's own language: a strip is one to seven vectors of
64 bytes, and one value, one place and as many multiply-adds are a round of the loop.  Seven vectors hide the latency of
a multiply-add (four cycles, two a cycle), and are 14 of the 16 registers of a processor with half as wide vectors.

Strips of the matrix are whole vectors, and begin a cache line: a vector that straddles two costs two loads.  Those of
the sums need neither, for they are read and written but once; of their last vector only the numbers within the
``width`` of the strip are touched.  The sums that come later are asked for meanwhile, because a processor does not
foresee which strip of a long row is next.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ibpcl.kernels.compilation import inlined

VECTOR_BYTES = 64
LONGEST = 7                                                  # vectors a strip
INDEX, LANE, BYTES = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()


def _strip(vectors):
    @intrinsic
    def add(typing_context, sums, at, width, later, tile, values, places, begin, end):
        def generate(context, builder, signature, arguments):
            data = {name: context.make_array(signature.args[i])(context, builder, arguments[i]).data
                    for name, i in (("sums", 0), ("tile", 4), ("values", 5), ("places", 6))}
            at, width, later, begin, end = (arguments[i] for i in (1, 2, 3, 7, 8))
            bytes_ = sums.dtype.bitwidth // 8
            lanes = VECTOR_BYTES // bytes_
            vector = ir.VectorType(context.get_value_type(sums.dtype), lanes)
            masks, kind = ir.VectorType(ir.IntType(1), lanes), f"v{lanes}f{8 * bytes_}"
            every = ir.Constant(ir.VectorType(LANE, lanes), [0] * lanes)

            def known(name, result, *inputs):
                return builder.module.globals.get(name) or ir.Function(
                    builder.module, ir.FunctionType(result, inputs), name)

            multiply_add = known(f"llvm.fmuladd.{kind}", vector, vector, vector, vector)
            masked_load = known(f"llvm.masked.load.{kind}.p0{kind}", vector, vector.as_pointer(), LANE, masks, vector)
            masked_store = known(f"llvm.masked.store.{kind}.p0{kind}", ir.VoidType(), vector, vector.as_pointer(), LANE,
                                 masks)

            def in_all_lanes(scalar, kind):
                one = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, LANE(0))
                return builder.shuffle_vector(one, one, every)

            def place(base, i):
                return builder.bitcast(builder.gep(base, [INDEX(i * lanes)]), vector.as_pointer())

            target = builder.gep(data["sums"], [at])
            indices = ir.VectorType(INDEX, lanes)
            mask = builder.icmp_signed("<", ir.Constant(indices, list(range((vectors - 1) * lanes, vectors * lanes))),
                                       in_all_lanes(width, indices))
            first = [builder.load(place(target, i), align=bytes_) for i in range(vectors - 1)]
            first.append(builder.call(masked_load, [place(target, vectors - 1), LANE(bytes_), mask,
                                                    ir.Constant(vector, [0.0] * lanes)]))
            prefetch = known("llvm.prefetch.p0i8", ir.VoidType(), BYTES, LANE, LANE, LANE)
            for i in range(vectors):
                there = builder.bitcast(place(builder.gep(data["sums"], [later]), i), BYTES)
                builder.call(prefetch, [there, LANE(1), LANE(3), LANE(1)])     # to be written, to be kept, data
            before = builder.block
            loop, after = (builder.append_basic_block(name) for name in ("rows", "done"))
            builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)

            builder.position_at_end(loop)
            j, totals = builder.phi(INDEX), [builder.phi(vector) for _ in range(vectors)]
            value = in_all_lanes(builder.load(builder.gep(data["values"], [j])), vector)
            row = builder.zext(builder.load(builder.gep(data["places"], [j])), INDEX)
            row = builder.gep(data["tile"], [builder.mul(row, INDEX(vectors * lanes))])
            new = [builder.call(multiply_add, [builder.load(place(row, i), align=VECTOR_BYTES), value, total])
                   for i, total in enumerate(totals)]
            following = builder.add(j, INDEX(1))
            for phi, start, later in zip((j, *totals), (begin, *first), (following, *new), strict=True):
                phi.add_incoming(start, before)
                phi.add_incoming(later, loop)
            builder.cbranch(builder.icmp_signed("<", following, end), loop, after)

            builder.position_at_end(after)
            totals = [builder.phi(vector) for _ in range(vectors)]
            for total, start, later in zip(totals, first, new, strict=True):
                total.add_incoming(start, before)
                total.add_incoming(later, loop)
            for i, total in enumerate(totals[:-1]):
                builder.store(total, place(target, i), align=bytes_)
            # A processor without masks of lanes (AVX2) takes a dozen cycles for a masked store.
            last, rest = place(target, vectors - 1), builder.sub(width, INDEX((vectors - 1) * lanes))
            with builder.if_else(builder.icmp_signed("==", rest, INDEX(lanes))) as (whole, part):
                with whole:
                    builder.store(totals[-1], last, align=bytes_)
                with part, builder.if_else(builder.icmp_signed("==", rest, INDEX(lanes // 2))) as (half, other):
                    with half:
                        first_half = builder.shuffle_vector(
                            totals[-1], totals[-1], ir.Constant(ir.VectorType(LANE, lanes // 2), [*range(lanes // 2)]))
                        builder.store(first_half, builder.bitcast(last, first_half.type.as_pointer()), align=bytes_)
                    with other:
                        builder.call(masked_store, [totals[-1], last, LANE(bytes_), mask])
            return context.get_dummy_value()

        return types.void(sums, at, width, later, tile, values, places, begin, end), generate
    return add


# STRIPS[v] adds scaled rows of ``tile``, v vectors each, to ``width`` numbers of ``sums`` from index ``at`` on; v
# vectors must cover the width and v - 1 must not.  Both arrays are flat.  The sums from ``later`` on, which may lie
# beyond the array, are fetched into the first-level cache.
STRIPS = (None, *(_strip(vectors) for vectors in range(1, LONGEST + 1)))
ADD1, ADD2, ADD3, ADD4, ADD5, ADD6, ADD7 = STRIPS[1:]


@inlined
def add(vectors, sums, at, width, later, tile, values, places, begin, end):
    """Add the rows ``places`` of ``tile``, times ``values``, to the ``width`` numbers of ``sums`` from ``at`` on."""
    if vectors == 7:
        ADD7(sums, at, width, later, tile, values, places, begin, end)
    elif vectors == 6:
        ADD6(sums, at, width, later, tile, values, places, begin, end)
    elif vectors == 5:
        ADD5(sums, at, width, later, tile, values, places, begin, end)
    elif vectors == 4:
        ADD4(sums, at, width, later, tile, values, places, begin, end)
    elif vectors == 3:
        ADD3(sums, at, width, later, tile, values, places, begin, end)
    elif vectors == 2:
        ADD2(sums, at, width, later, tile, values, places, begin, end)
    else:
        ADD1(sums, at, width, later, tile, values, places, begin, end)


@inlined
def aligned(size, like):
    """Make a flat array of zeros that begins a cache line."""
    lanes = VECTOR_BYTES // like.itemsize
    memory = np.zeros(size + lanes, like.dtype)
    first = -memory.ctypes.data % VECTOR_BYTES // like.itemsize
    return memory[first:first + size]
