"""Usual slips in one expression or statement, as a table of wrong and right patterns.

Each row has a rank, the kind of the mistake, the wrong and the right pattern, and the reason.
Simpler slips have smaller ranks.  In a reason, ``{A}`` is replaced by the expression that ``A``
stands for.  The patterns are Python source with placeholders:

``A``, ``B``, ``C``
    any expression
``NAME``, ``INDEX``
    a variable: with floating-point values, or any that is not shifted already
``NUMBER``
    a number in the source
``SQUARE``
    an array whose last two axes have equal size
``MATRIX``, ``VECTOR``
    a variable or an item, with two or more axes, or with any number of axes
``COMPLEX``
    a complex array
``UNIT``, ``SIGNED``
    an array of numbers between 0 and 1, or between -1 and 1
``KERNEL``
    an array with a small window
``FLAT``
    an array that is reshaped or flattened
``WHOLE``
    a whole value that is assigned, returned or passed to a function
``TARGET``, ``STORED``
    a target of an assignment: one that had a value before, or any with a floating-point value
``VALUE``, ``FORMULA``
    a short expression; a short expression or a number
``TERMS``
    a number of terms in a loop, 3 or more
``RESULT``
    a whole returned value
``STEP``
    a step of a slice, such as the 2 in ``x[::2]``
``FUNCTION``, ``REDUCTION``
    any function, or one that can run over some axes: a sum, a mean and the like
``AXIS``, ``ORDER``, ``FLIP``
    in the right pattern: each axis of ``A``, each order of its axes, the reversed window
``OTHER``, ``ANY``
    in the right pattern: each array of the same shape, or each array, that can be read there
``PARAMETER``, ``RATIO``
    in the right pattern: each argument and attribute that is a number or an array of numbers, each
    ratio of two of them that count examples

Functions match by their names, as methods or from any module.  Further arguments are kept.

The table is read from wrong to right to name mistakes.  :mod:`ibpcl.codeview.planting` reads it in
both directions to plant them.
"""

LATE = 7  # edits of this rank and above are tried after everything else
TOGETHER = 99  # slips of this rank are undone in several places only
PRODUCT = " in a matrix product (a transpose is missing or too many)"
BLOCKS = "sum(A[{0}i::STEP, j::C] for i in range(STEP) for j in range(C))"
BLOCK = "one entry of each block is taken, not the sum over the block"
ACTIVATED = "the derivative is taken at another value, such as the activated one"
AXES = "`{REDUCTION}` runs over the wrong axes"
JOINED = "a transpose is missing before the axes are joined"
SLIPS = [
    (0, "sign", "-A", "A", "the sign is wrong"),
    (0.5, "sign", "WHOLE", "-WHOLE", "the sign is wrong"),
    (1, "sign", "A + B", "A - B", "the sign is wrong: this must be a difference"),
    (1, "sign", "A - B", "A + B", "the sign is wrong: this must be a sum"),
    (2, "sign", "A - B", "B - A", "the operands are exchanged, so the sign is wrong"),
    (3, "term", "A + B", "A", "a term too many, `{B}`"),
    (3, "term", "A + B", "B", "a term too many, `{A}`"),
    (3, "term", "A - B", "A", "a term too many, `{B}`"),
    (3, "term", "A - B", "-B", "a term too many, `{A}`"),
    (4, "missing_term", "NAME", "NAME - 1", "a term is missing"),
    (4, "missing_term", "NAME", "NAME + 1", "a term is missing"),
    (2, "factor", "A * B", "A", "a factor too many, `{B}`"),
    (2, "factor", "A * B", "B", "a factor too many, `{A}`"),
    (2, "factor", "A / B", "A", "a factor too many, a division by `{B}`"),
    (2, "factor", "A / B", "B", "a factor too many, `{A}`"),
    (3, "elementwise_factor", "A * B", "A / B", "this must be a quotient, a division by `{B}`"),
    (3, "elementwise_factor", "A / B", "A * B", "this must be a product with `{B}`"),
    (3, "elementwise_factor", "A / B", "B / A", "the operands are exchanged"),
    (
        4,
        "elementwise_factor",
        "A / B",
        "A / B**2",
        "the divisor must be squared, one more factor `{B}`",
    ),
    (3, "elementwise_factor", "(A - B)**2", "A - B**2", "only `{B}` must be squared"),
    (3, "elementwise_factor", "square(A - B)", "A - B**2", "only `{B}` must be squared"),
    (3, "elementwise_factor", "A - B**2", "(A - B)**2", "the whole difference must be squared"),
    (1, "constant_factor", "A // B", "A / B", "// rounds down to whole numbers"),
    (4, "elementwise_factor", "NAME", "1 - NAME", "one minus this variable is meant"),
    (5, "elementwise_factor", "NAME", "NAME**2", "a factor `{NAME}` is missing"),
    (3, "elementwise_factor", "where(A, B, C)", "where(A, C, B)", "the two branches are exchanged"),
    (5, "elementwise_factor", "FUNCTION(A)", "A", "this function must not be applied here"),
    (3, "transposed", "A @ B", "B @ A", f"the operands must be exchanged{PRODUCT}"),
    (3, "transposed", "A @ B", "A.T @ B", f"the first operand must be transposed{PRODUCT}"),
    (3, "transposed", "A @ B", "A @ B.T", f"the second operand must be transposed{PRODUCT}"),
    (3, "transposed", "A @ B", "(A @ B).T", "the result must be transposed"),
    (3, "transposed", "A.T", "A", "transposed once too often"),
    (3, "transposed", "transpose(A)", "A", "transposed once too often"),
    (4.5, "transposed", "transpose(A)", "A.transpose(ORDER)", "the axes are in another order"),
    (
        4.5,
        "transposed",
        "FLAT",
        "FLAT.transpose(ORDER)",
        JOINED,
    ),
    (5, "transposed", "SQUARE", "SQUARE.T", "transposed"),
    (
        6,
        "missing_term",
        "SQUARE",
        "(SQUARE + SQUARE.T) / 2",
        "`{SQUARE}` is treated as symmetric: a term with its transpose is missing (it "
        "is used twice, in two different ways)",
    ),
    (
        3,
        "transposed",
        "outer(A, B)",
        "outer(B, A)",
        "the operands are exchanged, so the result is transposed",
    ),
    (3, "transposed", "solve(A, B)", "solve(A.T, B)", "the matrix must be transposed"),
    (3, "transposed", "inv(A)", "inv(A.T)", "the matrix must be transposed"),
    (
        3,
        "transposed",
        "solve_triangular(A, B)",
        "solve_triangular(A, B, trans=1)",
        "the matrix must be transposed",
    ),
    (
        4,
        "transposed",
        "COMPLEX",
        "np.conj(COMPLEX)",
        "the complex conjugate is missing (without it the kernel runs in reversed order)",
    ),
    (1.5, "not_summed", "A[::STEP]", "sum(A[i::STEP] for i in range(STEP))", BLOCK),
    (1.5, "not_summed", "A[::STEP, ::C]", BLOCKS.format(""), BLOCK),
    (1.5, "not_summed", "A[:, ::STEP, ::C]", BLOCKS.format(":, "), BLOCK),
    (1.5, "not_summed", "A[:, :, ::STEP, ::C]", BLOCKS.format(":, :, "), BLOCK),
    *(
        (1, "shifted", old, "A", "a kernel must not be flipped here")
        for old in ("flip(A)", "rot90(A)", "A[::-1, ::-1]", "A[:, :, ::-1, ::-1]")
    ),
    (3.5, "shifted", "KERNEL", "KERNEL[FLIP]", "a kernel must be flipped along its window"),
    (1, "constant_factor", "sum(A)", "mean(A)", "a sum instead of a mean"),
    (1, "mean", "mean(A)", "sum(A)", "a mean instead of a sum"),
    (
        1,
        "summed",
        "sum(A)",
        "sum(A, axis=AXIS)",
        "summed over the wrong axes instead of axis {AXIS}",
    ),
    (
        1,
        "summed",
        "mean(A)",
        "mean(A, axis=AXIS)",
        "averaged over the wrong axes instead of axis {AXIS}",
    ),
    (
        1,
        "summed",
        "cumsum(A)",
        "cumsum(A, axis=AXIS)",
        "summed over the wrong axis instead of axis {AXIS}",
    ),
    (
        2,
        "summed",
        "cumsum(A)",
        "np.flip(cumsum(np.flip(A)))",
        "the sum must run from the end to the beginning (reversed)",
    ),
    (
        3,
        "summed",
        "FUNCTION(A)",
        "FUNCTION(A, axis=AXIS)",
        "along the wrong axis instead of axis {AXIS}",
    ),
    (4, "elementwise_factor", "FUNCTION(UNIT)", "UNIT * (1 - UNIT)", ACTIVATED),
    (4, "elementwise_factor", "FUNCTION(SIGNED)", "1 - SIGNED**2", ACTIVATED),
    (4.2, "elementwise_factor", "FUNCTION(A)", "FUNCTION(OTHER)", ACTIVATED),
    *(
        (2, "number", "NUMBER", new, "a constant is wrong")
        for new in (
            "NUMBER - 1",
            "NUMBER + 1",
            "0.5 * NUMBER",
            "2 * NUMBER",
            "-NUMBER",
            "1",
            "2",
            "0.5",
            "3",
        )
    ),
    (TOGETHER, "summed", "REDUCTION(A)", "REDUCTION(A, axis=AXIS, keepdims=True)", AXES),
    *(
        (
            LATE,
            "constant_factor",
            "A * B",
            f"{number} * (A * B)",
            f"a constant factor {number} is missing",
        )
        for number in (2, 0.5, 3)
    ),
    (
        1,
        "missing_term",
        "TARGET = B",
        "TARGET += B",
        "`{TARGET}` is overwritten where contributions must be accumulated (the earlier terms are "
        "missing)",
    ),
    (5, "missing_term", "STORED = B", "STORED = B + OTHER", "a term is missing, `+ {OTHER}`"),
    (5, "missing_term", "STORED = B", "STORED = B - OTHER", "a term is missing, `- {OTHER}`"),
    (1, "sign", "A += B", "A -= B", "the sign is wrong"),
    (1, "sign", "A -= B", "A += B", "the sign is wrong"),
    (3, "term", "A += B", "pass", "a term too many, `{B}`"),
    (3, "term", "A -= B", "pass", "a term too many, `{B}`"),
    (0, "few_entries", "A[B] = 0", "pass", "an extra step overwrites values that must stay"),
    *(
        (
            2,
            "few_entries",
            f"A[B] {sign} PARTS",
            "np.add.at(A, B, PARTS)",
            "repeated indices keep the last contribution only: accumulate with np.add.at",
        )
        for sign in ("=", "+=")
    ),
]
TWINS = (
    "sin cos, exp expm1, log log1p, cosh sinh, maximum minimum, max min, floor ceil, rfft irfft, "
    "digamma gammaln"
)
OFTEN = "tril triu, argmax argmin, fft ifft"  # twins that are often confused in gradients
for pairs, rank in ((TWINS, LATE), (OFTEN, 3)):
    SLIPS += [
        (rank, "elementwise_factor", f"{old}(A)", f"{new}(A)", f"`{new}` is meant, not `{old}`")
        for pair in pairs.split(", ")
        for old, new in (pair.split(), pair.split()[::-1])
    ]
for less, more in ((">", ">="), ("<", "<=")):
    SLIPS += [
        (5, "few_entries", f"A {a} B", f"A {b} B", "the comparison is wrong")
        for a, b in ((less, more), (more, less))
    ]
# The same for an expression in an index, in ``range``, and for the steps of a loop.
OFF = "off by one in an index (shifted)"
BOUND = "the loop leaves out a step, or takes one too many"
INDICES = [
    (2.5, "shifted", "NUMBER", "NUMBER + 1", OFF),
    (2.5, "shifted", "NUMBER", "NUMBER - 1", OFF),
    (2.5, "shifted", "A + B", "A", OFF),
    (2.5, "shifted", "A - B", "A", OFF),
    (3, "shifted", "INDEX", "INDEX - 1", OFF),
    (3, "shifted", "INDEX", "INDEX + 1", OFF),
    (3, "shifted", "A - INDEX", "INDEX", "an index is mirrored (the order is reversed)"),
]
RANGES = [(rank, "missing_term", old, new, BOUND) for rank, _, old, new, _ in INDICES[:-1]]
DIRECTION = (
    "the loop runs in the wrong order: it must run {}, so that terms of later steps flow back to "
    "earlier ones"
)
SINGLE = "terms are missing: the loop goes back through one step only"
LOOPS = [
    (1, "missing_term", "[A]", "reversed(range(A + 1))", SINGLE),
    (1, "missing_term", "(A,)", "reversed(range(A + 1))", SINGLE),
    (2, "shifted", "reversed(A)", "A", DIRECTION.format("forward")),
    (2, "shifted", "A", "reversed(list(A))", DIRECTION.format("backward (reversed)")),
]
# Slips after which shapes do not fit, so that the function raises.  They are not tried in a
# function that runs: there, most of them would only change the shape of a result.
KEPT = "the axis must {}be kept (keepdims)"
OPERANDS = "the operands of the matrix product are exchanged or must be transposed"
SHAPES = [
    (0.8, "summed", "REDUCTION(A)", "REDUCTION(A, keepdims=True)", KEPT.format("")),
    (0.8, "summed", "REDUCTION(A)", "REDUCTION(A, keepdims=False)", KEPT.format("not ")),
    (0.9, "summed", "REDUCTION(A)", "REDUCTION(A, axis=AXIS)", AXES),
    (0.9, "summed", "REDUCTION(A)", "REDUCTION(A, axis=None)", AXES),
    (1.2, "summed", "REDUCTION(A)", "REDUCTION(A, axis=AXIS, keepdims=True)", AXES),
    (1.2, "summed", "REDUCTION(A)", "REDUCTION(A, axis=AXIS, keepdims=False)", AXES),
    (2.8, "transposed", "reshape(A)", "A", "this must keep its shape"),
    (2.9, "transposed", "reshape(A, B, C)", "reshape(A, C, B)", "the sizes are exchanged"),
    (2.9, "transposed", "reshape(A, (B, C))", "reshape(A, (C, B))", "the sizes are exchanged"),
    *(
        (3.5, "transposed", "A @ B", new, OPERANDS)
        for new in ("B.T @ A", "B @ A.T", "B.T @ A.T", "A.T @ B.T")
    ),
    (4, "transposed", "MATRIX", "MATRIX.T", "a transpose is missing"),
    (5, "raises", "VECTOR", "ANY", "another variable is meant"),
    *(
        (LATE, "raises", "VECTOR", new, "an axis is missing")
        for new in ("VECTOR[..., None]", "VECTOR[:, None]", "VECTOR[None]")
    ),
]
