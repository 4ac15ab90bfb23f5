"""Findings in words: a product that fits, a constant with a name, and what can be said where nothing fits."""

from fractions import Fraction

import numpy as np

from ibpcl.verify.kinds import Finding
from ibpcl.verify.labels import bracketed
from ibpcl.verify.search import free_of_cotangent, is_missing_pattern, varying_factor


def match_words(kind, match, free=False):
    """Turn a product that fits into a finding; ``free``: it is what belongs beside a missing cotangent."""
    if match.factors == 0 and not free:
        if kind == "term":
            return Finding("missing_term", f"one term missing: what is left over is dout times {match.constant:.6g}")
        factor = match.constant if kind == "extra" else 1 / match.constant
        return Finding("constant_factor", f"constant factor {factor:.6g}{constant_name(factor)}")
    words = match.words or "1"
    if abs(match.constant - 1) > 1e-6:
        words = f"-{bracketed(words)}" if abs(match.constant + 1) < 1e-6 else \
            f"{match.constant:.6g} * {bracketed(words)}"
    factor = (kind, match.smallest, match.largest)
    if free:
        beside = f"dout * {bracketed(words)}" if kind == "missing" else f"dout / {bracketed(words)}"
        return Finding("elementwise_factor", f"the gradient does not depend on dout: the factor {beside} is missing",
                       "", factor)
    if kind in ("missing", "extra"):
        inverse = f", or a division by {words} is missing" if kind == "extra" and match.factors == 1 else ""
        return Finding("elementwise_factor", f"an elementwise factor is {kind}: {words}{inverse}", "", factor)
    return Finding("missing_term", f"one term missing: what is left over is proportional to dout times {words}")


def constant_name(factor):
    """Return a short name of a constant, such as " (= 1/6)" or " (= 2 pi)"; empty if it has none."""
    for value, name in ((np.pi, "pi"), (np.sqrt(2 * np.pi), "sqrt(2 pi)"), (np.log(2), "log 2"),
                        (np.sqrt(2), "sqrt 2"), (np.e, "e")):
        for power, text in ((1, name), (-1, f"1/{name}")):
            ratio = Fraction(factor / value ** power).limit_denominator(12)
            if ratio != 0 and abs(float(ratio) * value ** power / factor - 1) < 1e-7 and abs(ratio) <= 12:
                return f" (= {text})" if ratio == 1 else f" (= {ratio} * {text})"
    ratio = Fraction(factor).limit_denominator(1000)
    if ratio != 0 and abs(float(ratio) / factor - 1) < 1e-7 and ratio.denominator > 1:
        return f" (= {ratio})"
    return ""


def unnamed(evidence, j, linear):
    """Say what can be said of a mistake for which no expression was found."""
    if linear and is_missing_pattern(evidence, j):
        return Finding("missing_term", "one term missing: the gradient is right where it is not zero, but some "
                       "outputs do not flow back to some entries")
    value, _ = evidence.expected(j, 0)
    known = ~np.isnan(value)
    size = np.linalg.norm(value[known])
    ratio = np.linalg.norm(evidence.got(j, 0)[known]) / size if size > 0 else np.inf
    if free_of_cotangent(evidence, j):
        return Finding("elementwise_factor", "the gradient does not depend on dout: the factor dout is missing, if "
                       "not more")
    off, known = evidence.off(j)
    where = "everywhere" if np.all(off[known]) else f"at {off.sum()} of {known.sum()} entries"
    everywhere = f"wrong {where}: its norm is {ratio:.3g} times the true one's"
    if not linear:
        return Finding("wrong", f"{everywhere}; it is not linear in dout, which every right one is")
    factor = varying_factor(evidence, j)
    if factor is None or value.size < 2:
        return Finding("wrong", everywhere)
    quotients, claimed = factor
    if np.ptp(claimed) <= 1e-9 * abs(claimed[0]):
        low, high = sorted((float(np.min(claimed / quotients)), float(np.max(claimed / quotients))))
        times = "" if abs(claimed[0] - 1) < 1e-9 else f" {claimed[0]:.6g} *"
        return Finding("elementwise_factor", f"the gradient is{times} dout and nothing else: the derivative is "
                       f"missing, which varies from {low:.3g} to {high:.3g}", "", ("missing", low, high))
    return Finding("elementwise_factor", f"off by a factor that varies from {quotients.min():.6g} to "
                   f"{quotients.max():.6g}, whatever the cotangent: a factor is wrong, or a term inside one; no "
                   "expression known here fits")
