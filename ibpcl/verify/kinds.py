"""The kinds of mistakes by name, and what a person should look at first.

=====================  ==========================================================================
kind                   meaning
=====================  ==========================================================================
``ok``                 right
``sign``               the sign is wrong, of the whole or of one term
``constant_factor``    off by a number that is the same everywhere, or a number in the formula is wrong
``mean``               a mean where the sum over the examples belongs
``transposed``         two axes exchanged
``not_summed``         the input was broadcast; its gradient was not summed back
``summed``             summed where nothing must be, or over the wrong axis
``missing_term``       a term is missing (or too many)
``elementwise_factor`` a factor that varies from entry to entry is missing or extra
``swapped``            it is the gradient of another input
``shifted``            right numbers one place off, or in reversed order
``few_entries``        right except at a few entries
``wrong_shape``        not the shape of its input
``non_finite``         NaN or infinite where the true gradient is finite
``wrong``              none of these
=====================  ==========================================================================
"""

from typing import NamedTuple

KINDS = ("ok", "sign", "constant_factor", "mean", "transposed", "not_summed", "summed", "missing_term",
         "elementwise_factor", "swapped", "shifted", "few_entries", "wrong_shape", "non_finite", "wrong")
HINTS = {
    "sign": "look for a minus that was lost or added; d(-x) = -dx, and d(1/x) = -dx / x^2",
    "constant_factor": "compare the constants of the forward with those of its derivative, one after another",
    "mean": "the cotangent says already how the output is weighted: sum, do not average",
    "transposed": "write down the shape of every factor: for y = x @ W, dW = x.T @ dy and dx = dy @ W.T",
    "not_summed": "an input that was broadcast over an axis gets the sum over that axis: .sum(axis=...)",
    "summed": "sum over exactly the axes that broadcasting has added, and over no others",
    "missing_term": "an input that is used in two places gets two terms: product rule, or a normalizer",
    "elementwise_factor": "chain rule: every function on the way contributes its derivative, once",
    "swapped": "return the gradients in the order of the inputs",
    "shifted": "check the bounds of the slices, and the direction of cumulative sums",
    "few_entries": "look at what is special there: borders, masks, ties, repeated indices, in-place writes",
    "wrong_shape": "the gradient of an input has the shape of that input",
    "non_finite": "look for a division by zero, the log of zero, or exp that overflows; use the stable form",
    "wrong": "check the stages one by one with check_chain, or differentiate a single term at a time",
}


class Finding(NamedTuple):
    """A named mistake; ``factor`` says of a missing or extra factor which of the two, and its smallest and largest."""

    kind: str
    words: str
    where: str = ""     # source line, if known
    factor: tuple | None = None
