"""Names for the kinds of mistakes, with their meaning and a hint for each of them.

A side effect that leaves the numbers right in normal use is reported as a note with the same kind.
"""

from typing import NamedTuple

from ibpcl.codeview.location import NOWHERE, Location


class Kind(NamedTuple):
    """A kind of mistake.

    Attributes
    ----------
    meaning : str
        What the gradient, or the pair, does.
    hint : str
        Advice on where to look first.
    """

    meaning: str
    hint: str


TABLE = {
    "sign": Kind(
        "the sign is wrong, of the whole or of one term",
        "look for a minus that was lost or added; d(-x) = -dx, and d(1/x) = -dx / x^2",
    ),
    "constant_factor": Kind(
        "off by a factor that is the same everywhere, or a number in the formula is wrong",
        "compare the constants of the forward with those of its derivative, one after another",
    ),
    "mean": Kind(
        "a mean where the sum over the examples belongs",
        "dout already contains the weight of every output: sum, do not average (a course "
        "may let each layer divide by the batch size; then its loss must not divide, too)",
    ),
    "transposed": Kind(
        "two axes exchanged, or the operands of a product of matrices",
        "write down the shape of every factor: for y = x @ W, dW = x.T @ dy and dx = dy @ W.T",
    ),
    "not_summed": Kind(
        "the input was broadcast; its gradient was not summed back",
        "an input that was broadcast over an axis gets the sum over that axis: .sum(axis=...)",
    ),
    "summed": Kind(
        "summed where no sum belongs, or over the wrong axis",
        "sum over exactly the axes that broadcasting has added, and over no others",
    ),
    "missing_term": Kind(
        "a term, a path, a step or a use is missing (or there is one too many)",
        "an input that is used in two places gets two terms: product rule, or a normalizer",
    ),
    "elementwise_factor": Kind(
        "a factor that varies from entry to entry is missing, extra or wrong",
        "chain rule: every function on the path contributes its derivative once",
    ),
    "swapped": Kind(
        "it is the gradient of another input",
        "return the gradients in the order of the inputs",
    ),
    "shifted": Kind(
        "right numbers in the wrong places: off by one, reversed, permuted",
        "check the bounds of the slices, the direction of cumulative sums, and flipped kernels",
    ),
    "few_entries": Kind(
        "right except at a few entries",
        "look for special entries: borders, masks, ties, repeated indices, in-place writes",
    ),
    "precision": Kind(
        "right to some digits only",
        "compute in float64, and differentiate by hand rather than by differences",
    ),
    "piecewise_constant": Kind(
        "the forward is rounded or thresholded, so its derivative is zero",
        "a straight-through estimate is not a gradient: check the smooth part, without the "
        "rounding",
    ),
    "not_linear": Kind(
        "not linear in dout",
        "every term of a vector-Jacobian product is dout times something that does not "
        "depend on dout",
    ),
    "layout": Kind(
        "right only for some memory layouts of dout",
        "use dout as an array: no .data, no strides, no assignment to dout.shape",
    ),
    "kink": Kind(
        "at a kink, it is not between the one-sided derivatives",
        "at a kink return a value between the derivatives on both sides, such as 0 or 1 for a ReLU",
    ),
    "guard": Kind(
        "it leaves out an epsilon or a bound of the forward, or adds another one",
        "differentiate the guard, too, or make it smaller: it is not small beside the "
        "numbers that it guards",
    ),
    "forward": Kind(
        "the backward is right for a forward that differs in one place",
        "compare the line with the formula that you wanted to write down",
    ),
    "undecided": Kind(
        "the numerical derivatives are too coarse here for a verdict",
        "use float64 throughout, smaller and better conditioned inputs, fewer exact zeros, "
        "and a forward that takes complex numbers (no np.abs, .real or cast); or check the "
        "stages one by one",
    ),
    "wrong_shape": Kind(
        "its shape differs from that of its input",
        "the gradient of an input has the shape of that input",
    ),
    "non_finite": Kind(
        "NaN or infinite where the true gradient is finite",
        "look for a division by zero, the log of zero, or exp that overflows; use the stable form",
    ),
    "wrong": Kind(
        "wrong in another way",
        "halve the function with check_chain and see which half is wrong, or set all inputs "
        "but one to zero",
    ),
    "raises": Kind(
        "the gradient function raises an exception",
        "write down the shape of every array on this line; the gradient of an input has the "
        "shape of that input",
    ),
    "changes_cotangent": Kind(
        "it overwrites dout (a note)",
        "write into a copy: dout still belongs to the caller",
    ),
    "changes_cache": Kind(
        "it overwrites or uses up the cache (a note)",
        "write into a copy (p = p.copy()): a second call of the gradient gives another result",
    ),
    "changes_input": Kind(
        "the pair overwrites its inputs (a note if the numbers stay right)",
        "work on a copy, or write the result into a new array",
    ),
    "noisy_gradient": Kind(
        "it draws random numbers",
        "read the noise of the forward from the cache",
    ),
    "accumulates": Kind(
        "it grows from call to call (a note for an object that the user resets)",
        "start from zeros in every call: a buffer outside the function, or a default "
        "argument, keeps its values",
    ),
    "stale": Kind(
        "it uses values of an earlier call, not its cache (a note if it has no cache)",
        "read every value from the cache that is passed to the gradient, not from a global "
        "or an attribute",
    ),
}
# Problems of the forward that prevent any verdict on a gradient.
UNFIT_TABLE = {
    "noisy_forward": Kind(
        "the forward draws random numbers",
        "make the noise an argument of the forward, and draw it outside",
    ),
    "non_finite_forward": Kind(
        "the forward is not finite at the inputs",
        "choose inputs inside the domain, or use a stable form (log1p, expm1, logsumexp)",
    ),
}
HINTS = {name: kind.hint for name, kind in TABLE.items()}
UNFIT = {name: kind.hint for name, kind in UNFIT_TABLE.items()}
KINDS = ("ok", *TABLE)


class Reason(NamedTuple):
    """Explanation of the whole difference between a gradient and the derivatives of the forward.

    It stands beside a verdict.  See :mod:`ibpcl.verify.explain.reasons`.

    Attributes
    ----------
    kind : {"guard", "constant", "cast", "limit"}
        An epsilon or a bound, a rounded constant, numbers of a small type, or a limit such as
        ``np.clip``.
    words : str
        The reason as a sentence.
    where : Location
        Its place in the source; false if unknown.
    """

    kind: str
    words: str
    where: Location = NOWHERE


class Factor(NamedTuple):
    """A wrong factor.

    Attributes
    ----------
    relation : {"missing", "extra"}
        Whether the gradient lacks it or has it once too often.
    smallest, largest : float
        Its smallest and largest value.
    """

    relation: str
    smallest: float
    largest: float


class Finding(NamedTuple):
    """A mistake with its kind.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`, or a key of :data:`UNFIT`.
    words : str
        The mistake as a sentence.
    where : Location
        The place of the mistake in the source; false if unknown.
    factor : Factor or None
        The wrong factor, if the mistake is one.
    inputs : tuple of int or str
        Positions of the inputs whose gradients a side effect changes; in a report, their names.
    repair : tuple of Replacement
        The text that repairs the source; empty if unknown.
    """

    kind: str
    words: str
    where: Location = NOWHERE
    factor: Factor | None = None
    inputs: tuple = ()
    repair: tuple = ()

    @property
    def hint(self):
        """Advice on where to look first."""
        return UNFIT.get(self.kind) or HINTS[self.kind]
