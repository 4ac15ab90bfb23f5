"""Candidates for a missing factor or term: known arrays, their functions, products and sums."""

import re
from functools import partial
from itertools import combinations, combinations_with_replacement, product

import numpy as np

MOST_ARGUMENTS = 60  # largest number of arrays to which functions are applied
SHORT = 24  # largest number of characters in the text of such an array
MOST_PLAIN = 40  # largest number of arrays in elementwise products of two
MOST_FACTORS = 14  # largest number of arrays in products of matrices
MOST_SUMMED = 10  # largest number of arrays in sums over axes
LONGEST = 60  # largest number of characters in the text of an array or a place
MOST_NUMBERS = 300_000  # larger arrays are left out, so that a search needs little memory
LARGEST = 1e100  # arrays with larger entries are left out
# Matrix products by the numbers of axes, of which the first counts the calls.
SUBSCRIPTS = {
    (3, 3): "nij,njk->nik",
    (3, 2): "nij,nj->ni",
    (2, 3): "nj,njk->nk",
    (2, 2): "ni,nj->nij",
}


def _digamma(x):
    """Return the digamma function."""
    from scipy.special import digamma  # slow to import

    return digamma(x)


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
    "sin({})": np.sin,
    "cos({})": np.cos,
    "log(1 - {})": lambda x: np.log(1 - x),
    "digamma({})": _digamma,
    "abs({})": np.abs,
    "sign({})": np.sign,
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


class Expression:
    """An expression of known arrays: its source text, and its values for all trials.

    Each value is computed on first use.

    Parameters
    ----------
    text : str
        Source text.
    function : callable
        Function of arrays.
    *operands : sequence of ndarray, or Expression
        Its arguments, each with one array for each trial.
    first : ndarray, optional
        The value in the first trial, if it is known already.
    """

    def __init__(self, text, function, *operands, first=None):
        self.text = text
        self.function = function
        self.operands = operands
        self.made = {} if first is None else {0: first}

    def __len__(self):
        return len(self.operands[0])

    def __getitem__(self, trial):
        if trial not in self.made:
            value = self.function(*(operand[trial] for operand in self.operands))
            self.made[trial] = np.asarray(value, dtype=float)
        return self.made[trial]


class Known:
    """Known arrays by name, with one value for each trial.

    The first axis of each array counts the calls of a place in a loop.  Every method returns
    expressions whose values are broadcast to a shape.

    Parameters
    ----------
    views : list of dict
        For each trial the arrays by name.  Names whose arrays are not numeric, are empty or change
        their shape from trial to trial are left out, and so are repeated arrays.

    Attributes
    ----------
    arrays : list of Expression
        The arrays, as floats.
    """

    def __init__(self, views):
        self.arrays = []
        seen = set()
        for name in views[0]:
            values = [np.asarray(view.get(name)) for view in views]
            turned = name.removesuffix(".T")  # the transpose of every array is tried anyway
            if (
                (turned != name and turned in views[0])
                or len(name) > LONGEST
                or any(
                    v.dtype.kind not in "fbiu"
                    or not 0 < v.size <= MOST_NUMBERS
                    or v.shape != values[0].shape
                    for v in values
                )
            ):
                continue
            values = [v.astype(float, copy=False) for v in values]
            key = (values[0].shape, *(v.tobytes() for v in values))
            if key not in seen:
                seen.add(key)
                self.arrays.append(Expression(name, np.asarray, values))

    def plain(self, shape):
        """Return the arrays themselves, and transposes that fit the shape.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of Expression
        """
        return [
            placed
            for array in self.arrays
            for placed in _placements(array, shape)
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
        list of Expression
            With texts such as ``1 - x**2``.
        """
        made = []
        plain = [array for array in self.plain(shape) if len(array.text) <= SHORT][:MOST_ARGUMENTS]
        stacked = np.array([array[0] for array in plain]).reshape(len(plain), -1)
        for text, function in FUNCTIONS.items() if plain else ():
            results = np.asarray(function(stacked), dtype=float)
            useful = np.all(np.abs(results) < LARGEST, axis=1) & np.any(results, axis=1)
            for n in np.flatnonzero(useful):
                name = plain[n].text if "({})" in text else bracketed(plain[n].text)
                first = results[n].reshape(shape)
                made.append(Expression(text.format(name), function, plain[n], first=first))
        return made + self._winners(shape)

    def _winners(self, shape):
        """Return integers as one-hot rows, and the positions of maxima along each axis."""
        made = []
        for array in self.arrays:
            values = array[0]
            name = array.text
            if (
                len(shape) > 1
                and values.shape == shape[:-1]
                and np.all(values == np.floor(values))
                and values.min() >= 0
                and values.max() < shape[-1]
            ):
                one_hot = partial(np.equal, np.arange(shape[-1]))
                rows = Expression(name, lambda x: x[..., None], array)
                made.append(Expression(f"one_hot({name})", one_hot, rows))
            for axis in range(1, len(shape)) if values.shape == shape else ():
                largest = Expression(name, partial(np.max, axis=axis, keepdims=True), array)
                text = f"{name} == {name}.max(axis={axis - 1})"
                made.append(Expression(text, np.equal, array, largest))
        return made

    def two(self, shape):
        """Return products, quotients and differences of two arrays.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of Expression
        """
        arrays = (self.plain(shape) + self._winners(shape))[:MOST_PLAIN]
        return [
            Expression(f"{text} {sign} {bracketed(b.text)}", function, a, b)
            for a, b in combinations(arrays, 2)
            for text, sign, function in (
                (bracketed(a.text), "*", np.multiply),
                (bracketed(a.text), "/", np.divide),
                (a.text, "-", np.subtract),
            )
        ]

    def _shortest(self, fits, most):
        """Return some arrays that fit, by increasing length of their names."""
        chosen = [array for array in self.arrays if fits(array[0])]
        return sorted(chosen, key=lambda array: len(array.text))[:most]

    def pairs(self, shape):
        """Return matrix products and outer products of two arrays.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of Expression
        """
        factors = self._shortest(lambda v: v.ndim in (2, 3) and v[0].size > 1, MOST_FACTORS)
        factors += [
            Expression(f"{array.text}.T", lambda x: x.swapaxes(1, 2), array)
            for array in factors
            if array[0].ndim == 3
        ]
        products = (_matrix_product(a, b, shape) for a, b in product(factors, repeat=2))
        return list(filter(None, products))

    def sums(self, shape):
        """Return sums over an axis, alone or times a third array, as in the gradient of a softmax.

        Parameters
        ----------
        shape : tuple of int
            Shape of the place, with the calls first.

        Returns
        -------
        list of Expression
            With texts such as ``p * (d - sum(p * d, axis=1))``.
        """
        same = self._shortest(lambda v: v.shape == shape, MOST_SUMMED)
        every = tuple(range(1, len(shape)))
        made = []
        for axes in dict.fromkeys((*((axis,) for axis in every), every)) if every else ():
            over = "" if axes == every else f", axis={axes[0] - 1}"

            def total(x, axes=axes):
                return np.broadcast_to(np.sum(x, axes, keepdims=True), shape)

            for term in [*same, *_products(same)]:
                summed = Expression(f"sum({term.text}{over})", total, term)
                made.append(summed)
                made += [
                    Expression(f"{array.text} * {summed.text}", np.multiply, array, summed)
                    for array in same
                ]
            made += [
                Expression(
                    f"{a.text} * ({b.text} - sum({a.text} * {b.text}{over}))",
                    lambda x, y, total=total: x * (y - total(x * y)),
                    a,
                    b,
                )
                for a, b in product(same, repeat=2)
            ]
        size = int(np.prod(shape))
        larger = self._shortest(lambda v: v.size > size, MOST_SUMMED)
        made += [
            Expression(
                f"sum({term.text}, axis={axis - 1})",
                lambda x, axis=axis: x.sum(axis).reshape(shape),
                term,
            )
            for term in [*larger, *_products(larger)]
            for axis in range(1, term[0].ndim)
            if term[0].size == size * term[0].shape[axis]
        ]
        return made


def _products(arrays):
    """Return the products of arrays of equal shape, with themselves too."""
    return [
        Expression(f"{a.text} * {b.text}", np.multiply, a, b)
        for a, b in combinations_with_replacement(arrays, 2)
        if a[0].shape == b[0].shape
    ]


def _matrix_product(a, b, shape):
    """Return the product of two matrices or vectors after their first axis, None if it misfits."""
    subscripts = SUBSCRIPTS[a[0].ndim, b[0].ndim]
    is_outer = subscripts == "ni,nj->nij"
    left = a[0].shape if is_outer else a[0].shape[:-1]
    right = b[0].shape[1:] if is_outer else b[0].shape[2:]
    fits = is_outer or a[0].shape[-1] == b[0].shape[1]
    if not fits or (*left, *right) != shape:  # before the product, which may be large
        return None
    text = f"outer({a.text}, {b.text})" if is_outer else f"{a.text} @ {b.text}"
    return Expression(text, partial(np.einsum, subscripts), a, b)


def _placements(array, shape):
    """Yield an array broadcast to a shape, with its axes in order or reversed."""
    turned = Expression(
        f"{bracketed(array.text)}.T", lambda x: x.transpose(0, *range(x.ndim - 1, 0, -1)), array
    )
    seen = []
    for own in (array, turned) if array[0].ndim > 2 else (array,):
        for axes in combinations(range(1, len(shape)), own[0].ndim - 1):
            sizes = [len(own[0]), *[1] * (len(shape) - 1)]
            for axis, size in zip(axes, own[0].shape[1:], strict=True):
                sizes[axis] = size
            if any(size not in (1, n) for size, n in zip(sizes[1:], shape[1:], strict=True)):
                continue

            def placed(x, sizes=sizes):
                return np.broadcast_to(x.reshape(sizes), shape)

            made = Expression(own.text, placed, own)
            if not any(np.array_equal(made[0], other) for other in seen):
                seen.append(made[0])
                yield made
