"""Names for the kinds of mistakes, with a hint for each of them.

A side effect that leaves the numbers right in normal use is reported as a note with the same kind.

======================  ===========================================================================
kind                    meaning
======================  ===========================================================================
``ok``                  right
``undecided``           the numerical derivatives are too coarse here for a verdict
``sign``                the sign is wrong, of the whole or of one term
``constant_factor``     off by a factor that is the same everywhere, or a number in the formula is
                        wrong
``mean``                a mean where the sum over the examples belongs
``transposed``          two axes exchanged, or the operands of a product of matrices
``not_summed``          the input was broadcast; its gradient was not summed back
``summed``              summed where no sum belongs, or over the wrong axis
``missing_term``        a term, a path, a step or a use is missing (or there is one too many)
``elementwise_factor``  a factor that varies from entry to entry is missing, extra or wrong
``swapped``             it is the gradient of another input
``shifted``             right numbers in the wrong places: off by one, reversed, permuted
``few_entries``         right except at a few entries
``precision``           right to some digits only
``wrong_shape``         its shape differs from that of its input
``non_finite``          NaN or infinite where the true gradient is finite
``piecewise_constant``  the forward is rounded or thresholded, so its derivative is zero
``not_linear``          not linear in ``dout``
``layout``              right only for some memory layouts of ``dout``
``kink``                at a kink, it is not between the one-sided derivatives
``guard``               it leaves out an epsilon or a bound of the forward, or adds another one
``forward``             the backward is right for a forward that differs in one place
``changes_cotangent``   it overwrites ``dout`` (a note)
``changes_cache``       it overwrites or uses up the cache (a note)
``changes_input``       the pair overwrites its inputs (a note if the numbers stay right)
``noisy_gradient``      it draws random numbers
``accumulates``         it grows from call to call (a note for an object that the user resets)
``stale``               it uses values of an earlier call, not its cache (a note if it has no
                        cache)
``raises``              the gradient function raises an exception
``wrong``               wrong in another way
======================  ===========================================================================
"""

from typing import NamedTuple

HINTS = {
    "sign": "look for a minus that was lost or added; d(-x) = -dx, and d(1/x) = -dx / x^2",
    "constant_factor": (
        "compare the constants of the forward with those of its derivative, one after another"
    ),
    "mean": (
        "dout already contains the weight of every output: sum, do not average (a course may let "
        "each layer divide by the batch size; then its loss must not divide, too)"
    ),
    "transposed": (
        "write down the shape of every factor: for y = x @ W, dW = x.T @ dy and dx = dy @ W.T"
    ),
    "not_summed": (
        "an input that was broadcast over an axis gets the sum over that axis: .sum(axis=...)"
    ),
    "summed": "sum over exactly the axes that broadcasting has added, and over no others",
    "missing_term": (
        "an input that is used in two places gets two terms: product rule, or a normalizer"
    ),
    "elementwise_factor": "chain rule: every function on the path contributes its derivative once",
    "swapped": "return the gradients in the order of the inputs",
    "shifted": (
        "check the bounds of the slices, the direction of cumulative sums, and flipped kernels"
    ),
    "few_entries": (
        "look for special entries: borders, masks, ties, repeated indices, in-place writes"
    ),
    "precision": "compute in float64, and differentiate by hand rather than by differences",
    "piecewise_constant": (
        "a straight-through estimate is not a gradient: check the smooth part, without the rounding"
    ),
    "not_linear": (
        "every term of a vector-Jacobian product is dout times something that does not depend on "
        "dout"
    ),
    "layout": "use dout as an array: no .data, no strides, no assignment to dout.shape",
    "kink": (
        "at a kink return a value between the derivatives on both sides, such as 0 or 1 for a ReLU"
    ),
    "guard": (
        "differentiate the guard, too, or make it smaller: it is not small beside the numbers "
        "that it guards"
    ),
    "forward": "compare the line with the formula that you wanted to write down",
    "undecided": (
        "use float64 throughout, smaller and better conditioned inputs, fewer exact zeros, and a "
        "forward that takes complex numbers (no np.abs, .real or cast); or check the stages one "
        "by one"
    ),
    "wrong_shape": "the gradient of an input has the shape of that input",
    "non_finite": (
        "look for a division by zero, the log of zero, or exp that overflows; use the stable form"
    ),
    "wrong": (
        "halve the function with check_chain and see which half is wrong, or set all inputs but "
        "one to zero"
    ),
    "raises": (
        "write down the shape of every array on this line; the gradient of an input has the shape "
        "of that input"
    ),
    "changes_cotangent": "write into a copy: dout still belongs to the caller",
    "changes_cache": (
        "write into a copy (p = p.copy()): a second call of the gradient gives another result"
    ),
    "changes_input": "work on a copy, or write the result into a new array",
    "noisy_gradient": "read the noise of the forward from the cache",
    "accumulates": (
        "start from zeros in every call: a buffer outside the function, or a default argument, "
        "keeps its values"
    ),
    "stale": (
        "read every value from the cache that is passed to the gradient, not from a global or an "
        "attribute"
    ),
}
UNFIT = {  # problems of the forward that prevent any verdict on a gradient
    "noisy_forward": "make the noise an argument of the forward, and draw it outside",
    "non_finite_forward": (
        "choose inputs inside the domain, or use a stable form (log1p, expm1, logsumexp)"
    ),
}
KINDS = ("ok", *HINTS)


class Reason(NamedTuple):
    """What explains the whole difference between a gradient and the derivatives of the forward.

    It stands beside a verdict.  See :mod:`ibpcl.verify.diagnosis.reasons`.

    Attributes
    ----------
    kind : {"guard", "constant", "cast", "limit"}
        An epsilon or a bound, a rounded constant, numbers of a small type, or a limit such as
        ``np.clip``.
    words : str
        The reason as a sentence.
    where : str
        Its source line; empty if unknown.
    """

    kind: str
    words: str
    where: str = ""


class Finding(NamedTuple):
    """A mistake with its kind.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`, or a key of :data:`UNFIT`.
    words : str
        The mistake as a sentence.
    where : str
        The source line of the mistake; empty if unknown.
    factor : tuple of (str, float, float) or None
        For a wrong factor, "missing" or "extra" with its smallest and largest value.
    inputs : tuple of int
        Positions of the inputs whose gradients a side effect changes.
    """

    kind: str
    words: str
    where: str = ""
    factor: tuple | None = None
    inputs: tuple = ()

    @property
    def hint(self):
        """Advice on where to look first."""
        return UNFIT.get(self.kind) or HINTS[self.kind]
