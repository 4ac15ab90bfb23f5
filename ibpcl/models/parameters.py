"""Named, shaped views into one flat vector of parameters.

Adam, checkpoints, gradient checks and priors all work on the vector; the mathematics works on the
views.
"""

from math import prod
from typing import NamedTuple

import numpy as np


class Entry(NamedTuple):
    """One named parameter: its shape, and the block of the vector that it lies in."""

    name: str
    shape: tuple[int, ...]
    block: str


class Layout:
    """The order of named parameters in a vector; entries of one block lie side by side.

    Parameters
    ----------
    entries : iterable of Entry
        In the order of the vector.  A block may not be interrupted by another one.

    Raises
    ------
    ValueError
        If a name occurs twice or a block is interrupted.

    Examples
    --------
    >>> layout = Layout([Entry("w.mu", (2, 3), "mu"), Entry("b.mu", (3,), "mu"),
    ...     Entry("rho", (2, 3), "rho")])
    >>> layout.size, layout.block("mu"), layout.views(np.arange(15.0))["b.mu"]
    (15, slice(0, 9, None), array([6., 7., 8.]))
    """

    def __init__(self, entries):
        self.entries = tuple(entries)
        self.size = 0
        self._slices = {}
        self._shapes = {}
        self._blocks = {}
        for entry in self.entries:
            start = self.size
            self.size = self.size + prod(entry.shape)
            if entry.name in self._slices:
                raise ValueError(f"Layout: the name {entry.name!r} occurs twice")
            self._slices[entry.name] = slice(start, self.size)
            self._shapes[entry.name] = entry.shape
            block = self._blocks.setdefault(entry.block, slice(start, start))
            if block.stop != start:
                raise ValueError(
                    f"Layout: block {entry.block!r} is interrupted before {entry.name!r}"
                )
            self._blocks[entry.block] = slice(block.start, self.size)
        self._layers = {}  # looked up at every step
        for entry in self.entries:
            layer, _, name = entry.name.partition(".")
            self._layers.setdefault(layer, []).append((name, self._slices[entry.name], entry.shape))

    def __eq__(self, other):
        return isinstance(other, Layout) and self.entries == other.entries

    __hash__ = None

    @property
    def blocks(self):
        """The names of the blocks, in the order of the vector."""
        return tuple(self._blocks)

    def block(self, name):
        """Return the slice of the vector that holds a block."""
        return self._blocks[name]

    def views(self, vector):
        """Return a dict from name to shaped view; writing into a view writes into the vector."""
        return {name: self.view(vector, name) for name in self._slices}

    def view(self, vector, name):
        """Return one of the views, that of the parameter ``name``."""
        self._check(vector)
        return vector[self._slices[name]].reshape(self._shapes[name])

    def _check(self, vector):
        if vector.shape != (self.size,):
            raise ValueError(
                f"Layout.view: the vector must have shape ({self.size},), got {vector.shape}"
            )

    def layers(self, vector):
        """Return the views by layer: a dict of dicts, from the name before its first dot and from
        what comes after it.

        >>> Layout([Entry("head.mu", (1,), "mu"),
        ...     Entry("head.rho", (1,), "rho")]).layers(np.arange(2.0))
        {'head': {'mu': array([0.]), 'rho': array([1.])}}
        """
        self._check(vector)
        return {
            layer: {
                name: vector[place] if len(shape) == 1 else vector[place].reshape(shape)
                for name, place, shape in parts
            }
            for layer, parts in self._layers.items()
        }

    def places(self, chosen):
        """Return where the parameters are whose name ``chosen(name)`` holds: a slice if side by
        side, else indices.

        >>> layout = Layout([Entry("a.mu", (2,), "mu"), Entry("b.mu", (3,), "mu"),
        ...     Entry("b.rho", (1,), "rho")])
        >>> layout.places(lambda name: name.startswith("b."))
        slice(2, 6, None)
        """
        found = np.concatenate(
            [
                np.arange(0),
                *(
                    np.arange(place.start, place.stop)
                    for name, place in self._slices.items()
                    if chosen(name)
                ),
            ]
        )
        first, last = (found[0], found[-1] + 1) if found.size else (0, 0)
        return slice(int(first), int(last)) if last - first == found.size else found

    def within(self, larger):
        """Return where the parameters are in a vector of a larger layout: each in the corner of the
        array of its name.

        >>> Layout([Entry("w", (1, 2), "w")]).within(Layout([Entry("v", (2,), "v"),
        ...     Entry("w", (2, 3), "w")]))
        array([2, 3])
        """
        views = larger.views(np.arange(larger.size))
        return np.concatenate(
            [views[name][tuple(map(slice, shape))].ravel() for name, shape, _ in self.entries]
        )


def collect(values, views):
    """Write values, dicts by layer and name, into ``views`` (:meth:`Layout.layers`), and zeros
    where there is no value.

    >>> layout, vector = Layout([Entry("a.mu", (2,), "a"), Entry("b.mu", (2,), "b")]), np.empty(4)
    >>> collect({"b": {"mu": np.ones(2)}}, layout.layers(vector))
    >>> vector
    array([0., 0., 1., 1.])
    """
    for layer, names in views.items():
        found = values.get(layer, {})
        for name, view in names.items():
            view[...] = found.get(name, 0)


def write(views, values):
    """Write each value into the view of the same name.

    >>> views = {"mu": np.zeros(2)}
    >>> write(views, {"mu": 1.0})
    >>> views
    {'mu': array([1., 1.])}
    """
    for name, value in values.items():
        views[name][...] = value
