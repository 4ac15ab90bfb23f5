r"""The marking scheme: which share of a task's points each outcome earns.

=========================================  ========================================================
outcome                                    share
=========================================  ========================================================
right                                      1
gradient fits the own, wrong forward       0.9, if that forward is recognizably the one asked for
a mistake with a name (sign, missing sum)  0.6 of a gradient's input; 0.4 of a forward
another mistake                            the share of right entries, halved, as `ibpcl.verify`
                                           scores it
zero, not finite, missing, raises          0
=========================================  ========================================================

The points of a gradient are shared equally among its inputs, those of a forward among the points it
is compared at.
"""

NAMED_GRADIENT = 0.6
NAMED_FORWARD = 0.4
FOLLOW_THROUGH = 0.9
UNNAMED = ("wrong", "wrong_shape", "wrong_type", "non_finite", "zero", "missing", "not_counted")


def forward_share(kind):
    """Return the share of a point of a forward, from the kind of its mistake.

    >>> forward_share("ok"), forward_share("sign"), forward_share("wrong")
    (1.0, 0.4, 0.0)
    """
    if kind == "ok":
        return 1.0
    return 0.0 if kind in UNNAMED else NAMED_FORWARD


def rounded(points):
    """Return points to a hundredth, so that sums read well."""
    return round(points + 1e-9, 2)
