"""How the temperature of the relaxed masks falls."""


def geometric(start, end, step, steps):
    r"""Interpolate geometrically from ``start`` at the first step to ``end`` at the last.

    .. math:: \tau_i = \tau_0 \Bigl(\frac{\tau_1}{\tau_0}\Bigr)^{i / (n - 1)}, \qquad i = 0 \ldots n - 1

    Kumar et al. (2021), supplement, "Hyperparameter settings": from 10 to 0.25.

    Parameters
    ----------
    start, end : float
        Both > 0.
    step, steps : int
        The step i and their number n; with a single step the temperature is ``end``.

    Returns
    -------
    tau : float
        The temperature of this step.

    Examples
    --------
    >>> [round(geometric(10.0, 0.1, i, 3), 6) for i in range(3)]
    [10.0, 1.0, 0.1]
    """
    if steps <= 1:
        return end
    return start * (end / start) ** (step / (steps - 1))
