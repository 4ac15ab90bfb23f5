r"""The marking scheme: the share of a task's points that each outcome earns.

=========================================  ========================================================
outcome                                    share
=========================================  ========================================================
right                                      1
gradient right for a wrong forward         0.9, if that forward is recognizably the required one
a named mistake (sign, missing sum, ...)   0.6 for one input of a gradient; 0.4 for a forward
another mistake                            the share of right entries, halved, as `ibpcl.verify`
                                           scores it
zero, non-finite, missing, exception       0
=========================================  ========================================================

The points of a gradient are shared equally among its inputs, those of a forward among the points it
is compared at.
"""

NAMED_GRADIENT = 0.6
NAMED_FORWARD = 0.4
FOLLOW_THROUGH = 0.9
UNNAMED = ("wrong", "wrong_shape", "wrong_type", "non_finite", "zero", "missing", "not_counted")


def forward_share(kind):
    """Return the share that a forward earns at one point.

    Parameters
    ----------
    kind : str
        Kind of the mistake, or ``"ok"``.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> forward_share("ok"), forward_share("sign"), forward_share("wrong")
    (1.0, 0.4, 0.0)
    """
    if kind == "ok":
        return 1.0
    return 0.0 if kind in UNNAMED else NAMED_FORWARD


def rounded(points):
    """Return points rounded to hundredths.

    Parameters
    ----------
    points : float
        Any number of points.

    Returns
    -------
    float
    """
    return round(points + 1e-9, 2)
