"""Candidates for a missing factor or term: known arrays, their functions, products and sums."""

import re
from itertools import combinations, combinations_with_replacement, product

import numpy as np

MOST_ARGUMENTS = 60  # largest number of arrays to which functions are applied
SHORT = 24  # largest number of characters in the text of such an array
MOST_PLAIN = 40  # largest number of arrays in elementwise products of two
MOST_FACTORS = 14  # largest number of arrays in products of matrices
MOST_SUMMED = 10  # largest number of arrays in sums over axes
LONGEST = 60  # largest number of characters in the text of an array or a place
LARGEST = 1e100  # arrays with larger entries are left out


def _digamma(x):
    """Return the digamma function."""
    from scipy.special import digamma  # slow to import

    return digamma(x)


def _trigamma(x):
    """Return the trigamma function of positive numbers, NaN for others.

    SciPy's function takes a number of steps proportional to a negative argument: at -1e12 it hangs.
    """
    from scipy.special import polygamma

    return polygamma(1, np.where(x > 0, x, np.nan))


def _sigmoid(x):
    """Return the logistic function."""
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "{}**2": lambda x: x * x,
    "1 - {}": lambda x: 1 - x,
    "1 - {}**2": lambda x: 1 - x * x,
    "{0} * (1 - {0})": lambda x: x * (1 - x),
    "{} > 0": lambda x: x > 0,
    "{} < 0": lambda x: x < 0,
    "{} != 0": lambda x: x != 0,
    "sqrt({})": np.sqrt,
    "exp({})": np.exp,
    "exp(-{})": lambda x: np.exp(-x),
    "log({})": np.log,
    "1 + {}": lambda x: 1 + x,
    "1 + {}**2": lambda x: 1 + x * x,
    "sigmoid({})": _sigmoid,
    "sigmoid(-{})": lambda x: _sigmoid(-x),
    "tanh({})": np.tanh,
    "1 - tanh({})**2": lambda x: 1 - np.tanh(x) ** 2,
    "1 - exp({})": lambda x: -np.expm1(x),
    "1 + exp({})": lambda x: 1 + np.exp(x),
    "sin({})": np.sin,
    "cos({})": np.cos,
    "cosh({})": np.cosh,
    "{}**3": lambda x: x**3,
    "exp({}**2 / 2)": lambda x: np.exp(x * x / 2),
    "log(1 - {})": lambda x: np.log(1 - x),
    "digamma({})": _digamma,
    "trigamma({})": _trigamma,
    "abs({})": np.abs,
    "sign({})": np.sign,
    "2 * {} - 1": lambda x: 2 * x - 1,
    "log(1 + exp({}))": lambda x: np.logaddexp(0, x),
}


def bracketed(text):
    """Return an expression in brackets, unless it is a name, a number or a single call.

    Parameters
    ----------
    text : str
        Source text of an expression.

    Returns
    -------
    str
    """
    return (
        text
        if re.fullmatch(r"[\w.]+(\(.*\)|\[.*\])?", text) and text.count("(") <= 1
        else f"({text})"
    )


class Lazy:
    """The values of a function for all trials, each computed on first use.

    Parameters
    ----------
    function : callable
        Function of arrays.
    *values : sequence of ndarray
        Its arguments, each with one array for each trial.
    first : ndarray, optional
        The value in the first trial, if it is known already.
    """

    def __init__(self, function, *values, first=None):
        self.function = function
        self.values = values
        self.made = {} if first is None else {0: first}

    def __len__(self):
        return len(self.values[0])

    def __getitem__(self, trial):
        if trial not in self.made:
            self.made[trial] = np.asarray(
                self.function(*(value[trial] for value in self.values)), dtype=float
            )
        return self.made[trial]


class Known:
    """Known arrays by name, with one value for each trial.

    The first axis of each array counts the calls of a place in a loop.  Every method returns pairs
    of a source text and its values for all trials, broadcast to a shape.

    Parameters
    ----------
    views : list of dict
        For each trial the arrays by name.  Names whose arrays are not numeric, are empty or change
        their shape from trial to trial are left out, and so are repeated arrays.

    Attributes
    ----------
    arrays : dict
        List of float arrays, one for each trial, by name.
    """

    def __init__(self, views):
        self.arrays = {}
        seen = set()
        for name in views[0]:
            values = [np.asarray(view.get(name)) for view in views]
            turned = name.removesuffix(".T")  # the transpose of every array is tried anyway
            if (
                (turned != name and turned in views[0])
                or len(name) > LONGEST
                or any(
                    v.dtype.kind not in "fbiu" or v.size == 0 or v.shape != values[0].shape
                    for v in values
                )
            ):
                continue
            key = (values[0].shape, *(v.astype(float).tobytes() for v in values))
            if key not in seen:
                seen.add(key)
                self.arrays[name] = [v.astype(float) for v in values]

    def plain(self, shape):
        """Return the arrays themselves, and transposes that fit the shape.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of tuple
            Pairs of a text and its values.
        """
        return [
            (f"{bracketed(name)}.T" if turned else name, placed)
            for name, values in self.arrays.items()
            for placed, turned in _placements(values, shape)
            if np.any(placed[0]) and np.max(np.abs(placed[0])) < LARGEST
        ]

    def functions(self, shape):
        """Return elementary functions, one-hot rows and maxima of the arrays.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of tuple
            Pairs of a text such as ``1 - x**2`` and its values.
        """
        pairs = []
        plain = [item for item in self.plain(shape) if len(item[0]) <= SHORT][:MOST_ARGUMENTS]
        names = [name for name, _ in plain]
        in_brackets = [bracketed(name) for name, _ in plain]
        stacked = np.array([values[0] for _, values in plain]).reshape(len(plain), -1)
        for text, function in FUNCTIONS.items() if plain else ():
            results = np.asarray(function(stacked), dtype=float)
            useful = np.all(np.abs(results) < LARGEST, axis=1) & np.any(results, axis=1)
            pairs += [
                (
                    text.format((names if "({})" in text else in_brackets)[n]),
                    Lazy(function, plain[n][1], first=results[n].reshape(shape)),
                )
                for n in np.flatnonzero(useful)
            ]
        return pairs + self._winners(shape)

    def _winners(self, shape):
        """Return integers as one-hot rows, and the positions of maxima along each axis."""
        pairs = []
        for name, values in self.arrays.items():
            array = values[0]
            if (
                len(shape) > 1
                and array.shape == shape[:-1]
                and np.all(array == np.floor(array))
                and array.min() >= 0
                and array.max() < shape[-1]
            ):
                pairs.append(
                    (
                        f"one_hot({name})",
                        Lazy(lambda array: array[..., None] == np.arange(shape[-1]), values),
                    )
                )
            for axis in range(1, len(shape)) if array.shape == shape else ():
                pairs.append(
                    (
                        f"{name} == {name}.max(axis={axis - 1})",
                        Lazy(
                            lambda array, axis=axis: array == array.max(axis, keepdims=True), values
                        ),
                    )
                )
        return pairs

    def two(self, shape):
        """Return products, quotients and differences of two arrays.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of tuple
            Pairs of a text and its values.
        """
        pairs = []
        for (text, values), (other_text, other_values) in combinations(
            (self.plain(shape) + self._winners(shape))[:MOST_PLAIN], 2
        ):
            pairs += [
                (
                    f"{bracketed(text)} * {bracketed(other_text)}",
                    Lazy(np.multiply, values, other_values),
                ),
                (
                    f"{bracketed(text)} / {bracketed(other_text)}",
                    Lazy(np.divide, values, other_values),
                ),
                (f"{text} - {bracketed(other_text)}", Lazy(np.subtract, values, other_values)),
            ]
        return pairs

    def _shortest(self, fits, most):
        """Return some arrays that fit, by increasing length of their names."""
        return sorted(
            ((n, v) for n, v in self.arrays.items() if fits(v[0])), key=lambda item: len(item[0])
        )[:most]

    def pairs(self, shape):
        """Return matrix products and outer products of two arrays.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of tuple
            Pairs of a text and its values.
        """
        factors = self._shortest(lambda v: v.ndim in (2, 3) and v[0].size > 1, MOST_FACTORS)
        return [item for item in _matrix_products(_both_ways(factors)) if item[1][0].shape == shape]

    def sums(self, shape):
        """Return sums over an axis, alone or times a third array, as in the gradient of a softmax.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of tuple
            Pairs of a text such as ``p * (d - sum(p * d, axis=1))`` and its values.
        """
        same = self._shortest(lambda v: v.shape == shape, MOST_SUMMED)
        pairs = []
        all_axes = tuple(range(1, len(shape)))
        for axis in dict.fromkeys((*all_axes, all_axes)) if len(all_axes) > 1 else all_axes:
            over = f", axis={axis - 1}" if isinstance(axis, int) and len(all_axes) > 1 else ""

            def sums_of(x, y=1.0, axis=axis):
                return np.broadcast_to(np.sum(x * y, axis, keepdims=True), shape)

            totals = [(name, Lazy(sums_of, v)) for name, v in same]
            totals += [
                (f"{name} * {other_name}", Lazy(sums_of, x, y))
                for (name, x), (other_name, y) in combinations_with_replacement(same, 2)
            ]
            for text, summed in totals:
                pairs.append((f"sum({text}{over})", summed))
                pairs += [
                    (f"{name} * sum({text}{over})", Lazy(np.multiply, v, summed))
                    for name, v in same
                ]
            pairs += [
                (
                    f"{name} * ({other_name} - sum({name} * {other_name}{over}))",
                    Lazy(lambda x, y, total=sums_of: x * (y - total(x, y)), x, y),
                )
                for name, x in same
                for other_name, y in same
            ]
        larger = self._shortest(lambda v: v[0].size > np.prod(shape[1:]), MOST_SUMMED)
        larger += [
            (f"{name} * {other_name}", Lazy(np.multiply, x, y))
            for (name, x), (other_name, y) in combinations_with_replacement(larger, 2)
            if x[0].shape == y[0].shape
        ]
        for text, values in larger:
            for axis in range(1, values[0].ndim):
                if np.sum(values[0], axis).size == np.prod(shape):
                    pairs.append(
                        (
                            f"sum({text}, axis={axis - 1})",
                            Lazy(lambda x, axis=axis: x.sum(axis).reshape(shape), values),
                        )
                    )
        return pairs


def _both_ways(arrays):
    """Return arrays and the transposes of the matrices among them."""
    return [
        *arrays,
        *((f"{n}.T", Lazy(lambda x: x.swapaxes(1, 2), v)) for n, v in arrays if v[0].ndim == 3),
    ]


def _matrix_products(arrays):
    """Return the existing products of two arrays, matrices or vectors after their first axis."""
    pairs = []
    subscripts_of = {
        (3, 3): "nij,njk->nik",
        (3, 2): "nij,nj->ni",
        (2, 3): "nj,njk->nk",
        (2, 2): "ni,nj->nij",
    }
    for (text, values), (other_text, other_values) in product(arrays, repeat=2):
        subscripts = subscripts_of.get((values[0].ndim, other_values[0].ndim))
        if subscripts and (
            subscripts == subscripts_of[2, 2] or values[0].shape[-1] == other_values[0].shape[1]
        ):
            product_text = (
                f"outer({text}, {other_text})"
                if subscripts == subscripts_of[2, 2]
                else f"{text} @ {other_text}"
            )
            pairs.append(
                (
                    product_text,
                    Lazy(
                        lambda p, q, subscripts=subscripts: np.einsum(subscripts, p, q),
                        values,
                        other_values,
                    ),
                )
            )
    return pairs


def _placements(values, shape):
    """Yield (values, reversed): values broadcast to a shape, with axes in order or reversed."""
    seen = []
    for turned in (False, True):
        for axes in combinations(range(1, len(shape)), values[0].ndim - 1):
            arrays = (
                [v.transpose(0, *range(v.ndim - 1, 0, -1)) for v in values] if turned else values
            )
            if any(
                size not in (1, shape[axis])
                for size, axis in zip(arrays[0].shape[1:], axes, strict=True)
            ):
                continue
            size_at = dict(zip((0, *axes), arrays[0].shape, strict=True))
            sizes = [size_at.get(axis, 1) for axis in range(len(shape))]
            placed = [np.broadcast_to(v.reshape(sizes), shape) for v in arrays]
            if not any(np.array_equal(placed[0], other) for other in seen):
                seen.append(placed[0])
                yield placed, turned
