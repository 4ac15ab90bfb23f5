"""What a missing factor or term may be made of: known arrays, and elementary functions of them."""

import re
from itertools import combinations, combinations_with_replacement, product

import numpy as np
from scipy import special

MOST_ARGUMENTS = 60     # arrays that functions are taken of
SHORT = 24              # characters of the text of such an array
MOST_PLAIN = 40         # arrays that may be one of two factors
MOST_FACTORS = 14       # ... of a product of matrices
MOST_THIRD = 4          # ... of three square ones
MOST_SUMMED = 10        # ... under a sum


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _inverse(x):
    """Compute the inverses of square matrices, NaN of singular ones."""
    regular = (np.linalg.cond(x) < 1e10)[:, None, None]
    return np.where(regular, np.linalg.inv(np.where(regular, x, np.eye(x.shape[1]))), np.nan)


def _trigamma(x):
    """Compute trigamma of positive numbers; of others SciPy's takes as many steps as their size, for ever at -1e12."""
    return special.polygamma(1, np.where(x > 0, x, np.nan))


FUNCTIONS = {
    "{}**2": lambda x: x * x, "1 - {}": lambda x: 1 - x, "1 - {}**2": lambda x: 1 - x * x,
    "{0} * (1 - {0})": lambda x: x * (1 - x), "{} > 0": lambda x: x > 0, "{} < 0": lambda x: x < 0,
    "{} != 0": lambda x: x != 0, "sqrt({})": np.sqrt,
    "exp({})": np.exp, "exp(-{})": lambda x: np.exp(-x), "log({})": np.log, "1 + {}": lambda x: 1 + x,
    "1 + {}**2": lambda x: 1 + x * x, "sigmoid({})": _sigmoid, "sigmoid(-{})": lambda x: _sigmoid(-x),
    "tanh({})": np.tanh, "1 - tanh({})**2": lambda x: 1 - np.tanh(x) ** 2, "1 - exp({})": lambda x: -np.expm1(x),
    "1 + exp({})": lambda x: 1 + np.exp(x), "sin({})": np.sin, "cos({})": np.cos, "cosh({})": np.cosh,
    "{}**3": lambda x: x ** 3, "exp(2 * {})": lambda x: np.exp(2 * x), "exp({}**2 / 2)": lambda x: np.exp(x * x / 2),
    "tanh({} / 2)": lambda x: np.tanh(x / 2), "exp({}**2)": lambda x: np.exp(x * x),
    "log(1 - {})": lambda x: np.log(1 - x), "digamma({})": special.digamma, "trigamma({})": _trigamma,
    "abs({})": np.abs, "sign({})": np.sign, "2 * {} - 1": lambda x: 2 * x - 1,
    "log(1 + exp({}))": lambda x: np.logaddexp(0, x),
}
LONGEST = 60
LARGEST = 1e100         # of what a factor may be


def bracketed(text):
    """Return an expression in brackets, unless it is a name, a number or one call already."""
    return text if re.fullmatch(r"[\w.]+(\(.*\)|\[.*\])?", text) and text.count("(") <= 1 else f"({text})"


class Lazy:
    """A function of values, one for each trial, computed when it is asked for."""

    def __init__(self, function, *values):
        self.function, self.values, self.made = function, values, {}

    def __len__(self):
        return len(self.values[0])

    def __getitem__(self, t):
        if t not in self.made:
            self.made[t] = np.asarray(self.function(*(value[t] for value in self.values)), dtype=float)
        return self.made[t]


class Known:
    """Arrays by name, with one value for each trial; the first axis counts the calls of a place in a loop.

    Parameters
    ----------
    views : list of dict
        For each trial, name -> value; a name counts if it has a number or an array of the same shape in every trial.
    """

    def __init__(self, views):
        self.arrays, seen = {}, set()
        for name in views[0]:
            values = [view.get(name) for view in views]
            if name.removesuffix(".T") != name and name.removesuffix(".T") in views[0]:
                continue                                # transposes are tried of every array
            if any(not isinstance(v, (np.ndarray, np.generic, int, float)) or isinstance(v, bool) for v in values):
                continue
            values = [np.asarray(v) for v in values]
            if any(v.dtype.kind not in "fbiu" or v.size == 0 or v.shape != values[0].shape for v in values):
                continue
            key = (values[0].shape, *(np.asarray(v, dtype=float).tobytes() for v in values))
            if len(name) <= LONGEST and key not in seen:
                seen.add(key)
                self.arrays[name] = [v.astype(float) for v in values]

    def plain(self, shape):
        """Return (text, values): the arrays that broadcast to ``shape``."""
        return [(f"{bracketed(name)}.T" if turned else name, placed) for name, values in self.arrays.items()
                for placed, turned in _placements(values, shape)
                if np.any(placed[0]) and np.max(np.abs(placed[0])) < LARGEST]

    def functions(self, shape):
        """Return (text, values): elementary functions of the arrays that broadcast to ``shape``."""
        found, plain = [], [item for item in self.plain(shape) if len(item[0]) <= SHORT][:MOST_ARGUMENTS]
        for text, function in FUNCTIONS.items():
            for name, values in plain:
                made = Lazy(function, values)
                if np.all(np.isfinite(made[0])) and np.any(made[0]) and np.max(np.abs(made[0])) < LARGEST:
                    found.append((text.format(name if "({})" in text else bracketed(name)), made))
        return found

    def winners(self, shape):
        """Return (text, values): where an array is the largest along an axis, and integers as one-hot rows."""
        found = [(f"one_hot({name})", Lazy(lambda v: v[..., None] == np.arange(shape[-1]), values))
                 for name, values in self.arrays.items() if len(shape) > 1 and values[0].shape == shape[:-1]
                 and np.all(values[0] == np.floor(values[0])) and values[0].min() >= 0 and values[0].max() < shape[-1]]
        for name, values in self.arrays.items():
            for axis in range(1, len(shape)) if values[0].shape == shape else ():
                made = Lazy(lambda v, axis=axis: v == v.max(axis, keepdims=True), values)
                found.append((f"{name} == {name}.max(axis={axis - 1})", made))
        return found

    def products(self, given):
        """Return (text, values): matrix products of a place's values with known matrices, from either side."""
        found, ndim = [], given[0].ndim - 1
        for name, values in self.arrays.items():
            if values[0].ndim != 3 or ndim not in (1, 2):
                continue
            for text, matrices in ((name, values), (f"{name}.T", [v.swapaxes(1, 2) for v in values])):
                ways = (("... @ " + text, "nij,njk->nik" if ndim == 2 else "nj,njk->nk", (0, 1)),
                        (text + " @ ...", "nij,njk->nik" if ndim == 2 else "nij,nj->ni", (1, 0)))
                for words, letters, order in ways:
                    pairs = [[(e, m)[n] for n in order] for e, m in zip(given, matrices, strict=True)]
                    try:
                        made = [np.einsum(letters, *pair) for pair in pairs]
                    except ValueError:
                        continue
                    if made[0].shape == given[0].shape:
                        found.append((words, made))
        return found

    def pairs(self, shape):
        """Return (text, values): matrix and outer products of two known arrays that have a shape."""
        found = []
        arrays = sorted(((n, v) for n, v in self.arrays.items() if v[0].ndim in (2, 3) and v[0][0].size > 1),
                        key=_length)[:MOST_FACTORS]
        turned = [*arrays, *((f"{n}.T", [x.swapaxes(1, 2) for x in v]) for n, v in arrays if v[0].ndim == 3)]
        letters = {(3, 3): "nij,njk->nik", (3, 2): "nij,nj->ni", (2, 3): "nj,njk->nk", (2, 2): "ni,nj->nij"}
        for a, x in turned:
            for b, y in turned:
                way = letters[x[0].ndim, y[0].ndim]
                size = dict(zip(way.replace(",", "").split("->")[0], (*x[0].shape, *y[0].shape), strict=True))
                fits = all(size[letter] == n for letter, n in zip(way, x[0].shape, strict=False))
                if not fits or tuple(size[letter] for letter in way.split("->")[1]) != shape:
                    continue
                text = f"outer({a}, {b})" if way == letters[2, 2] else f"{a} @ {b}"
                found.append((text, [np.einsum(way, p, q) for p, q in zip(x, y, strict=True)]))
        return found

    def triples(self, shape):
        """Return (text, values): square matrices that have a shape, their inverses, and products of three."""
        square = sorted(((n, v) for n, v in self.arrays.items() if v[0].shape == shape), key=_length)[:MOST_THIRD]
        if len(shape) != 3 or shape[1] != shape[2]:
            return []
        square += [(f"inv({n})", Lazy(_inverse, v)) for n, v in square]
        square += [(f"{n}.T", Lazy(lambda x: x.swapaxes(1, 2), v)) for n, v in square]
        return square + [(f"{a} @ {b} @ {c}", Lazy(lambda x, y, z: x @ y @ z, x, y, z))
                for (a, x), (b, y), (c, z) in product(square, repeat=3)]

    def sums(self, shape):
        """Return (text, values): sums over an axis of one array or of a product of two, alone or times a third."""
        same = sorted(((n, v) for n, v in self.arrays.items() if v[0].shape == shape), key=_length)[:MOST_SUMMED]
        found, every = [], tuple(range(1, len(shape)))
        for axis in dict.fromkeys((*every, every)) if len(every) > 1 else every:
            over = f", axis={axis - 1}" if isinstance(axis, int) and len(every) > 1 else ""

            def sums_of(x, y=1.0, axis=axis):
                return np.broadcast_to(np.sum(x * y, axis, keepdims=True), shape)

            def centred(x, y, axis=axis):
                return x * (y - np.sum(x * y, axis, keepdims=True))

            totals = [(n, Lazy(sums_of, v)) for n, v in same]
            totals += [(f"{a} * {b}", Lazy(sums_of, x, y)) for (a, x), (b, y) in combinations_with_replacement(same, 2)]
            for text, summed in totals:
                found.append((f"sum({text}{over})", summed))
                found += [(f"{n} * sum({text}{over})", Lazy(np.multiply, v, summed)) for n, v in same]
            found += [(f"{a} * ({b} - sum({a} * {b}{over}))", Lazy(centred, x, y)) for a, x in same for b, y in same]
        return found + self._reductions(shape) + self._running(shape)

    def _reductions(self, shape):
        """Return (text, values): sums of larger arrays, and of their products, that have a shape."""
        found = []
        larger = sorted(((n, v) for n, v in self.arrays.items() if v[0][0].size > np.prod(shape[1:])),
                        key=_length)[:MOST_SUMMED]
        pairs = [(f"{a} * {b}", Lazy(np.multiply, x, y)) for (a, x), (b, y) in combinations_with_replacement(larger, 2)
                 if x[0].shape == y[0].shape]
        for text, values in [*larger, *pairs]:
            for axis in range(1, values[0].ndim):
                kept = np.sum(values[0], axis, keepdims=True).shape
                if shape in (kept, kept[:axis] + kept[axis + 1:]):
                    found.append((f"sum({text}, axis={axis - 1})",
                                  Lazy(lambda x, axis=axis: x.sum(axis).reshape(shape), values)))
        return found

    def _running(self, shape):
        """Return (text, values): cumulative sums of arrays of a shape, from either end."""
        found = []
        for name, values in self.arrays.items():
            for axis in range(1, len(shape)) if values[0].shape == shape else ():
                for text, step in ((f"cumsum({name}, axis={axis - 1})", 1),
                                   (f"cumsum of {name} from the end, axis {axis - 1}", -1)):
                    found.append((text, Lazy(lambda x, axis=axis, step=step: np.flip(
                        np.cumsum(np.flip(x, axis), axis), axis) if step < 0 else np.cumsum(x, axis), values)))
        return found


def _length(item):
    return len(item[0])


def _placements(values, shape):
    """Yield values broadcast to a shape in every way that keeps the order of the axes, or reverses it (True)."""
    seen = []
    for turned in (False, True):
        for axes in combinations(range(1, len(shape)), values[0].ndim - 1):
            arrays = [v.transpose(0, *range(v.ndim - 1, 0, -1)) for v in values] if turned else values
            if any(n not in (1, shape[axis]) for n, axis in zip(arrays[0].shape[1:], axes, strict=True)):
                continue
            where = dict(zip((0, *axes), arrays[0].shape, strict=True))
            sizes = [where.get(axis, 1) for axis in range(len(shape))]
            placed = [np.broadcast_to(v.reshape(sizes), shape) for v in arrays]
            if not any(np.array_equal(placed[0], other) for other in seen):
                seen.append(placed[0])
                yield placed, turned
