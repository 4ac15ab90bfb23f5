"""What a missing factor or term may be made of: known arrays, functions, products and sums of
them.
"""

import re
from itertools import combinations, combinations_with_replacement, product

import numpy as np

MOST_ARGUMENTS = 60  # arrays that functions are taken of
SHORT = 24  # characters of the text of such an array
MOST_PLAIN = 40  # arrays that may be one of two factors
MOST_FACTORS = 14  # ... of a product of matrices
MOST_SUMMED = 10  # ... under a sum
LONGEST = 60
LARGEST = 1e100  # of what a factor may be


def _digamma(x):
    from scipy.special import digamma  # slow to import

    return digamma(x)


def _trigamma(x):
    """Compute trigamma of positive numbers; of others SciPy's takes as many steps as their size,
    for ever at -1e12.
    """
    from scipy.special import polygamma

    return polygamma(1, np.where(x > 0, x, np.nan))


def _sigmoid(x):
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
    """Return an expression in brackets, unless it is a name, a number or one call already."""
    return (
        text
        if re.fullmatch(r"[\w.]+(\(.*\)|\[.*\])?", text) and text.count("(") <= 1
        else f"({text})"
    )


class Lazy:
    """A function of values, one for each trial, computed when it is asked for."""

    def __init__(self, function, *values, first=None):
        self.function = function
        self.values = values
        self.made = {} if first is None else {0: first}

    def __len__(self):
        return len(self.values[0])

    def __getitem__(self, t):
        if t not in self.made:
            self.made[t] = np.asarray(
                self.function(*(value[t] for value in self.values)), dtype=float
            )
        return self.made[t]


class Known:
    """Arrays by name, with one value for each trial; the first axis counts the calls of a place in
    a loop.

    They come from a view (name to value) of each trial, if they have the same shape in all.  Every
    method returns pairs of a text and its values that broadcast to a shape.
    """

    def __init__(self, views):
        self.arrays = {}
        seen = set()
        for name in views[0]:
            values = [np.asarray(view.get(name)) for view in views]
            turned = name.removesuffix(".T")  # transposes are tried of every array
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
        """Return the arrays themselves."""
        return [
            (f"{bracketed(name)}.T" if turned else name, placed)
            for name, values in self.arrays.items()
            for placed, turned in _placements(values, shape)
            if np.any(placed[0]) and np.max(np.abs(placed[0])) < LARGEST
        ]

    def functions(self, shape):
        """Return elementary functions of them, their winners along an axis, and integers as one-hot
        rows.
        """
        found = []
        plain = [item for item in self.plain(shape) if len(item[0]) <= SHORT][:MOST_ARGUMENTS]
        names = [name for name, _ in plain]
        around = [bracketed(name) for name, _ in plain]
        stacked = np.array([values[0] for _, values in plain]).reshape(len(plain), -1)
        for text, function in FUNCTIONS.items() if plain else ():
            made = np.asarray(function(stacked), dtype=float)
            useful = np.all(np.abs(made) < LARGEST, axis=1) & np.any(made, axis=1)
            found += [
                (
                    text.format((names if "({})" in text else around)[n]),
                    Lazy(function, plain[n][1], first=made[n].reshape(shape)),
                )
                for n in np.flatnonzero(useful)
            ]
        return found + self._winners(shape)

    def _winners(self, shape):
        found = []
        for name, values in self.arrays.items():
            v = values[0]
            if (
                len(shape) > 1
                and v.shape == shape[:-1]
                and np.all(v == np.floor(v))
                and v.min() >= 0
                and v.max() < shape[-1]
            ):
                found.append(
                    (
                        f"one_hot({name})",
                        Lazy(lambda v: v[..., None] == np.arange(shape[-1]), values),
                    )
                )
            for axis in range(1, len(shape)) if v.shape == shape else ():
                found.append(
                    (
                        f"{name} == {name}.max(axis={axis - 1})",
                        Lazy(lambda v, axis=axis: v == v.max(axis, keepdims=True), values),
                    )
                )
        return found

    def two(self, shape):
        """Return products, quotients and differences of two."""
        found = []
        for (a, x), (b, y) in combinations(
            (self.plain(shape) + self._winners(shape))[:MOST_PLAIN], 2
        ):
            found += [
                (f"{bracketed(a)} * {bracketed(b)}", Lazy(np.multiply, x, y)),
                (f"{bracketed(a)} / {bracketed(b)}", Lazy(np.divide, x, y)),
                (f"{a} - {bracketed(b)}", Lazy(np.subtract, x, y)),
            ]
        return found

    def _shortest(self, fits, most):
        """Return the arrays that fit, those of short names first, some at most."""
        return sorted(
            ((n, v) for n, v in self.arrays.items() if fits(v[0])), key=lambda item: len(item[0])
        )[:most]

    def pairs(self, shape):
        """Return matrix and outer products of two arrays."""
        factors = self._shortest(lambda v: v.ndim in (2, 3) and v[0].size > 1, MOST_FACTORS)
        return [item for item in _matrix_products(_both_ways(factors)) if item[1][0].shape == shape]

    def sums(self, shape):
        """Return sums over an axis of an array or of a product of two, alone or times a third; what
        a softmax gives.
        """
        same = self._shortest(lambda v: v.shape == shape, MOST_SUMMED)
        found = []
        every = tuple(range(1, len(shape)))
        for axis in dict.fromkeys((*every, every)) if len(every) > 1 else every:
            over = f", axis={axis - 1}" if isinstance(axis, int) and len(every) > 1 else ""

            def sums_of(x, y=1.0, axis=axis):
                return np.broadcast_to(np.sum(x * y, axis, keepdims=True), shape)

            totals = [(n, Lazy(sums_of, v)) for n, v in same]
            totals += [
                (f"{a} * {b}", Lazy(sums_of, x, y))
                for (a, x), (b, y) in combinations_with_replacement(same, 2)
            ]
            for text, summed in totals:
                found.append((f"sum({text}{over})", summed))
                found += [
                    (f"{n} * sum({text}{over})", Lazy(np.multiply, v, summed)) for n, v in same
                ]
            found += [
                (
                    f"{a} * ({b} - sum({a} * {b}{over}))",
                    Lazy(lambda x, y, total=sums_of: x * (y - total(x, y)), x, y),
                )
                for a, x in same
                for b, y in same
            ]
        larger = self._shortest(lambda v: v[0].size > np.prod(shape[1:]), MOST_SUMMED)
        larger += [
            (f"{a} * {b}", Lazy(np.multiply, x, y))
            for (a, x), (b, y) in combinations_with_replacement(larger, 2)
            if x[0].shape == y[0].shape
        ]
        for text, values in larger:
            for axis in range(1, values[0].ndim):
                if np.sum(values[0], axis).size == np.prod(shape):
                    found.append(
                        (
                            f"sum({text}, axis={axis - 1})",
                            Lazy(lambda x, axis=axis: x.sum(axis).reshape(shape), values),
                        )
                    )
        return found


def _both_ways(arrays):
    """Return arrays and the transposes of the matrices among them."""
    return [
        *arrays,
        *((f"{n}.T", Lazy(lambda x: x.swapaxes(1, 2), v)) for n, v in arrays if v[0].ndim == 3),
    ]


def _matrix_products(arrays):
    """Return the products of two arrays, matrices or vectors behind their first axis, that
    exist.
    """
    found = []
    letters = {
        (3, 3): "nij,njk->nik",
        (3, 2): "nij,nj->ni",
        (2, 3): "nj,njk->nk",
        (2, 2): "ni,nj->nij",
    }
    for (a, x), (b, y) in product(arrays, repeat=2):
        way = letters.get((x[0].ndim, y[0].ndim))
        if way and (way == letters[2, 2] or x[0].shape[-1] == y[0].shape[1]):
            text = f"outer({a}, {b})" if way == letters[2, 2] else f"{a} @ {b}"
            found.append((text, Lazy(lambda p, q, way=way: np.einsum(way, p, q), x, y)))
    return found


def _placements(values, shape):
    """Yield values broadcast to a shape in every way that keeps the order of the axes, or reverses
    it (True).
    """
    seen = []
    for turned in (False, True):
        for axes in combinations(range(1, len(shape)), values[0].ndim - 1):
            arrays = (
                [v.transpose(0, *range(v.ndim - 1, 0, -1)) for v in values] if turned else values
            )
            if any(
                n not in (1, shape[axis]) for n, axis in zip(arrays[0].shape[1:], axes, strict=True)
            ):
                continue
            where = dict(zip((0, *axes), arrays[0].shape, strict=True))
            sizes = [where.get(axis, 1) for axis in range(len(shape))]
            placed = [np.broadcast_to(v.reshape(sizes), shape) for v in arrays]
            if not any(np.array_equal(placed[0], other) for other in seen):
                seen.append(placed[0])
                yield placed, turned
