r"""The marking scheme: which share of a task's points each outcome earns.

============================================  ======================================================================
outcome                                       share
============================================  ======================================================================
right                                         1
gradient fits the own, wrong forward          0.8, if that forward is recognizably the one asked for
a mistake with a name (sign, missing sum)     0.6 of a gradient's input; 0.4 of a forward
another mistake                               the share of right entries, halved, as `ibpcl.verify` scores it
zero, not finite, missing, raises             0
============================================  ======================================================================

The points of a gradient are shared equally among its inputs, those of a forward among the points it is compared at.
"""

NAMED_GRADIENT = 0.6
NAMED_FORWARD = 0.4
FOLLOW_THROUGH = 0.8
UNNAMED = ("wrong", "wrong_shape", "wrong_type", "non_finite", "zero", "missing")


def gradient_share(kind, score, idle):
    """Return the share of an input's points, from the kind of its mistake and the checker's score.

    ``idle``: the gradient is zero, or the bare cotangent where a factor is missing, so there is no work to reward.

    >>> gradient_share("sign", 0.0, False), gradient_share("wrong", 0.25, False), gradient_share("sign", 0, True)
    (0.6, 0.25, 0.0)
    """
    if kind == "ok":
        return 1.0
    if idle:
        return 0.0
    return score if kind in UNNAMED else max(NAMED_GRADIENT, score)


def forward_share(kinds):
    """Return the share of a forward's points, from the kind found at each point.

    >>> forward_share(["ok", "ok", "wrong", "wrong"]), forward_share(["sign", "sign"])
    (0.5, 0.4)
    """
    shares = [1.0 if kind == "ok" else 0.0 if kind in UNNAMED else NAMED_FORWARD for kind in kinds]
    return sum(shares) / len(shares) if shares else 0.0


def rounded(points):
    """Return points to a hundredth, so that sums read well."""
    return round(points + 1e-9, 2)
