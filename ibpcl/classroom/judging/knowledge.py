r"""Knowledge: answers that names and shapes alone suggest, and the gain of an answer over them.

An answer is trivial if it is a linear combination of the inputs, an elementary function of one
input, or a product of two inputs.  For a gradient, each of these is multiplied by the cotangent.
Sums and means bring it to the right shape.  The gain of an answer is the share of the truth that it
explains beyond the trivial answers:

.. math:: 1 - \frac{\min_{a, c} \lVert t - T a - c\, g \rVert^2}{\min_a \lVert t - T a \rVert^2}

with the truth t, the answer g and the trivial answers as columns of T, over many entries at several
points.  It is 1 if the answer is a multiple of the truth, and near 0 if the two are unrelated.
"""

import functools
from itertools import combinations, combinations_with_replacement

import numpy as np

# An answer is trivial if the residual after fitting the trivial answers is below this share.
TRIVIAL = 1e-4
MOST_AXES = 4
MOST_COLUMNS = 40
ELEMENTARY = (
    np.exp,
    lambda x: np.exp(-x),
    np.tanh,
    np.square,
    np.cos,
    np.sin,
    lambda x: np.log(np.abs(x) + (x == 0)),
    lambda x: np.sqrt(np.abs(x)),
    lambda x: 1 / (x + (x == 0)),
    lambda x: 1 / (1 + np.exp(-x)),
    lambda x: np.log1p(np.exp(np.minimum(x, 30))),
    np.abs,
    lambda x: 1 / (2 + np.exp(x) + np.exp(-x)),
    lambda x: 1 - np.tanh(x) ** 2,
)


@functools.cache
def _ways(shape, target):
    """Return the smallest sets of axes after whose reduction a shape broadcasts to another."""
    for count in range(len(shape) + 1):
        ways = []
        for axes in combinations(range(len(shape)), count):
            rest = tuple(size for axis, size in enumerate(shape) if axis not in axes)
            padded = (1,) * (len(target) - len(rest)) + rest
            if len(padded) == len(target) and all(
                a in (1, b) for a, b in zip(padded, target, strict=True)
            ):
                ways.append(axes)
        if ways:
            return tuple(ways)
    return ()


def forms_of(values, shape, reductions=(np.sum, np.mean)):
    """Return arrays reduced and broadcast to a shape, in all ways that shapes alone suggest.

    As few axes are reduced as possible, so that the rest broadcasts to the shape.

    Parameters
    ----------
    values : ndarray, shape (F, ...)
        F arrays.
    shape : tuple of int
        The target shape.
    reductions : sequence of callable
        Functions such as ``np.sum`` that reduce axes.

    Returns
    -------
    rows : list of ndarray, each of the shape's size
        The results, flattened.

    Examples
    --------
    >>> [row.tolist() for row in forms_of(np.array([[[1.0, 3.0]]]), (1,))]
    [[4.0], [2.0]]
    """
    inner = values.shape[1:]
    rows = []
    if len(inner) > MOST_AXES:
        return rows
    for axes in _ways(inner, tuple(shape)):
        for reduce in reductions if axes else reductions[:1]:
            reduced = reduce(values, axis=tuple(axis + 1 for axis in axes)) if axes else values
            padded = reduced.reshape(
                len(values), *(1,) * (len(shape) - reduced.ndim + 1), *reduced.shape[1:]
            )
            rows += list(np.broadcast_to(padded, (len(values), *shape)).reshape(len(values), -1))
    return rows


def real_inputs(inputs):
    """Return the inputs that are real numbers or arrays of them, as arrays.

    Parameters
    ----------
    inputs : iterable of object
        The inputs.

    Returns
    -------
    list of ndarray
    """
    arrays = [np.asarray(value) for value in inputs.values()]
    return [array.astype(float) for array in arrays if array.dtype.kind in "fiub"]


class Columns:
    """Trivial answers at one point.

    Parameters
    ----------
    inputs : iterable of object
        Inputs of the function.
    shape : tuple of int
        Shape of the answer.
    cotangent : ndarray, optional
        The cotangent, for a gradient.

    Attributes
    ----------
    combined : list of ndarray, each of the answer's size
        Answers that are combined linearly.
    single : list of ndarray, each of the answer's size
        Answers that are compared one by one.
    """

    def __init__(self, inputs, shape, cotangent=None):
        values = real_inputs(inputs)
        scalar = np.ones((1,))
        with np.errstate(all="ignore"):
            families = [np.stack([each(value) for each in ELEMENTARY]) for value in values]
            plain = [row for value in values for row in forms_of(value[None], shape)]
            pairs = [a * b for a, b in combinations_with_replacement(plain, 2)]
            if cotangent is None:
                self.combined = [np.ones(int(np.prod(shape))), *plain]
                self.single = [row for family in families for row in forms_of(family, shape)]
                self.single += [each(row) for row in plain for each in ELEMENTARY] + pairs
                return
            down = forms_of(cotangent[None], shape, (np.sum,))[:1]
            # The simplest first: of many inputs with many axes, only the first columns are kept.
            self.combined = self._pulled(scalar, shape, cotangent)
            self.combined += [form * row for form in down for row in plain]
            self.combined += [
                row for value in values for row in self._pulled(value[None], shape, cotangent)
            ]
            self.single = [
                form * row
                for form in down
                for family in families
                for row in forms_of(family, shape)
            ]
            self.single += [
                row for family in families for row in self._pulled(family, shape, cotangent)
            ]
            self.single += [form * pair for form in down for pair in pairs]

    @staticmethod
    def _pulled(family, shape, cotangent):
        """Return the cotangent times arrays that broadcast to it, summed to the shape."""
        padded = family.reshape(
            len(family), *(1,) * (cotangent.ndim - family.ndim + 1), *family.shape[1:]
        )
        try:
            product = cotangent * padded
        except ValueError:
            return []
        if product.shape[1:] != cotangent.shape:
            return []
        return forms_of(product, shape, (np.sum,))


def stacked(columns, attribute, rows):
    """Stack the trivial answers of several points into columns.

    Parameters
    ----------
    columns : list of Columns
        Trivial answers, one entry per point.
    attribute : {"combined", "single"}
        Which of them.
    rows : int
        Number of all entries; at most a third as many columns are kept.

    Returns
    -------
    ndarray, shape (rows, number of answers)
        Only columns whose squared length is finite.
    """
    each = [getattr(point, attribute) for point in columns]
    count = min(map(len, each), default=0)
    with np.errstate(all="ignore"):
        made = [np.concatenate([point[n] for point in each]) for n in range(count)]
        made = [column for column in made if column.size == rows and np.isfinite(column @ column)]
    if attribute == "combined":
        made = made[: max(1, min(MOST_COLUMNS, rows // 3))]
    return np.array(made).T if made else np.zeros((rows, 0))


def left_over(values, columns):
    """Return the residual of the least-squares fit of values by columns.

    Parameters
    ----------
    values : ndarray, shape (N,)
        The values.
    columns : ndarray, shape (N, C)
        The columns.

    Returns
    -------
    ndarray, shape (N,)
    """
    if not columns.shape[1]:
        return values
    return values - columns @ np.linalg.lstsq(columns, values, rcond=1e-9)[0]


def _best(values, columns):
    """Return the column that explains most of some values, or no column if there are none."""
    sizes = np.sum(columns * columns, axis=0)
    explained = np.divide((values @ columns) ** 2, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    return columns[:, [np.argmax(explained)]] if explained.size else columns


def is_trivial(answer, points):
    """Return whether an answer is trivial.

    Parameters
    ----------
    answer : ndarray, shape (N,)
        Entries at all points.
    points : list of Columns
        Trivial answers, one entry per point.

    Returns
    -------
    bool
    """
    size = float(np.linalg.norm(answer))
    if not np.isfinite(size) or size == 0:
        return True
    combined = stacked(points, "combined", answer.size)
    if (
        answer.size > combined.shape[1]
        and np.linalg.norm(left_over(answer, combined)) <= TRIVIAL * size
    ):
        return True
    constant = np.ones((answer.size, 1))
    for column in stacked(points, "single", answer.size).T:
        pair = np.column_stack([column, constant[:, 0]]) if answer.size > 3 else column[:, None]
        if np.linalg.norm(left_over(answer, pair)) <= TRIVIAL * size:
            return True
    return False


def gain(answer, truth, points, beyond_one=False):
    """Return the share of the truth that an answer explains beyond the trivial answers.

    Parameters
    ----------
    answer, truth : ndarray, shape (N,)
        Entries at all points.
    points : list of Columns
        Trivial answers, one entry per point.
    beyond_one : bool
        Whether the trivial answers that are compared one by one count, too: the one that explains
        most of the truth.

    Returns
    -------
    float
        From 0 to 1.
    """
    combined = stacked(points, "combined", truth.size)
    if not np.all(np.isfinite(answer)) or truth.size <= combined.shape[1] + 1:
        return 0.0
    rest = left_over(truth, combined)
    own = left_over(answer, combined)
    if beyond_one:
        best = _best(rest, left_over(stacked(points, "single", truth.size), combined))
        rest = left_over(rest, best)
        own = left_over(own, best)
    before = float(rest @ rest)
    size = float(own @ own)
    if size <= (TRIVIAL**2) * float(answer @ answer) or before <= (TRIVIAL**2) * float(
        truth @ truth
    ):
        return 0.0
    return float((rest @ own) ** 2 / (before * size))
