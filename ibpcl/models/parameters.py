"""Named and shaped views into one flat vector of parameters.

Adam, checkpoints, gradient checks and priors work on the vector; the mathematics works on the
views.
"""

from math import prod
from typing import NamedTuple

import numpy as np


class Entry(NamedTuple):
    """One named parameter array.

    Attributes
    ----------
    name : str
        Name in the form ``layer.parameter``, such as ``hidden0.weight.mu``.
    shape : tuple of int
        Shape of the array.
    block : str
        Block of the vector that contains the array, such as ``mu``.
    groups : int
        Number of groups of the rows, see :func:`corner`.
    """

    name: str
    shape: tuple[int, ...]
    block: str
    groups: int = 1


def corner(shape, larger, groups=1):
    """Return the index of the entries of a larger array that a smaller one occupies.

    Units are appended, so a smaller array is the corner with the lowest indices.  In a convolution,
    and in a layer that reads images, there is one group of rows for each position, with one row per
    channel.  Every group grows, so in each group the first rows are occupied.

    Parameters
    ----------
    shape : tuple of int
        Shape of the smaller array, (D, K) or (K,).
    larger : tuple of int
        Shape of the larger array, with the same number of axes.
    groups : int
        Number of groups of rows, which divides both numbers of rows.

    Returns
    -------
    index : tuple of ndarray or slice
        Selects an array of shape ``shape`` from the larger array.

    Examples
    --------
    >>> np.arange(8).reshape(4, 2)[corner((2, 1), (4, 2), groups=2)]
    array([[0],
           [4]])
    """
    if groups == 1 or len(shape) == 1:
        return tuple(map(slice, shape))
    first = np.arange(groups)[:, None] * (larger[0] // groups)
    rows = (first + np.arange(shape[0] // groups)).reshape(-1)
    return np.ix_(rows, np.arange(shape[1]))


class Layout:
    """The order of named parameters in a vector; the entries of one block are contiguous.

    Parameters
    ----------
    entries : iterable of Entry
        The parameters, in the order of the vector.

    Attributes
    ----------
    entries : tuple of Entry
        The parameters, in the order of the vector.
    size : int
        Number P of elements of the vector.

    Raises
    ------
    ValueError
        If a name occurs twice, or entries of another block interrupt a block.

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
        self._layers = {}  # computed once, because layers() is called at every step
        for entry in self.entries:
            layer, _, name = entry.name.partition(".")
            self._layers.setdefault(layer, []).append((name, self._slices[entry.name], entry.shape))

    def __eq__(self, other):
        return isinstance(other, Layout) and self.entries == other.entries

    __hash__ = None

    @property
    def blocks(self):
        """Names of the blocks, in the order of the vector."""
        return tuple(self._blocks)

    def block(self, name):
        """Return the slice of the vector that holds a block.

        Parameters
        ----------
        name : str
            Name of the block, one of ``blocks``.

        Returns
        -------
        block : slice
            Positions of the block in the vector.

        Raises
        ------
        KeyError
            If there is no such block.
        """
        return self._blocks[name]

    def views(self, vector):
        """Return views of all parameters; writing into a view writes into the vector.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The vector.

        Returns
        -------
        views : dict of str to ndarray
            Shaped views by the full name of the parameter.

        Raises
        ------
        ValueError
            If the vector has another shape.
        """
        return {name: self.view(vector, name) for name in self._slices}

    def view(self, vector, name):
        """Return the view of one parameter; writing into it writes into the vector.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The vector.
        name : str
            Full name of the parameter.

        Returns
        -------
        view : ndarray
            The parameter in its shape.

        Raises
        ------
        ValueError
            If the vector has another shape.
        KeyError
            If there is no such parameter.
        """
        self._check(vector)
        return vector[self._slices[name]].reshape(self._shapes[name])

    def _check(self, vector):
        if vector.shape != (self.size,):
            raise ValueError(
                f"Layout: the vector must have shape ({self.size},), got {vector.shape}"
            )

    def layers(self, vector):
        """Return the views grouped by layer; writing into a view writes into the vector.

        A name is split at its first dot: the layer before it, the parameter after it.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The vector.

        Returns
        -------
        views : dict of str to dict
            Shaped views, ``views[layer][parameter]``.

        Raises
        ------
        ValueError
            If the vector has another shape.

        Examples
        --------
        >>> Layout([Entry("head.mu", (1,), "mu"),
        ...     Entry("head.rho", (1,), "rho")]).layers(np.arange(2.0))
        {'head': {'mu': array([0.]), 'rho': array([1.])}}
        """
        self._check(vector)
        return {
            layer: {
                name: vector[place] if len(shape) == 1 else vector[place].reshape(shape)
                for name, place, shape in entries
            }
            for layer, entries in self._layers.items()
        }

    def places(self, chosen):
        """Return the positions of selected parameters in the vector.

        Parameters
        ----------
        chosen : callable
            ``chosen(name)`` returns whether the parameter of this name is selected.

        Returns
        -------
        positions : slice or ndarray of int
            A slice if the positions are contiguous, otherwise their indices.

        Examples
        --------
        >>> layout = Layout([Entry("a.mu", (2,), "mu"), Entry("b.mu", (3,), "mu"),
        ...     Entry("b.rho", (1,), "rho")])
        >>> layout.places(lambda name: name.startswith("b."))
        slice(2, 6, None)
        """
        positions = np.concatenate(
            [
                np.arange(0),
                *(
                    np.arange(place.start, place.stop)
                    for name, place in self._slices.items()
                    if chosen(name)
                ),
            ]
        )
        first, last = (positions[0], positions[-1] + 1) if positions.size else (0, 0)
        return slice(int(first), int(last)) if last - first == positions.size else positions

    def within(self, larger):
        """Return the positions of the parameters in the vector of a larger layout.

        Each array occupies the :func:`corner` of the larger array of the same name.

        Parameters
        ----------
        larger : Layout
            A layout with all names of this one, and arrays that are at least as large.

        Returns
        -------
        positions : ndarray of int, shape (P,)
            Position of each element of this layout's vector.

        Examples
        --------
        >>> Layout([Entry("w", (1, 2), "w")]).within(Layout([Entry("v", (2,), "v"),
        ...     Entry("w", (2, 3), "w")]))
        array([2, 3])
        """
        views = larger.views(np.arange(larger.size))
        return np.concatenate(
            [
                views[entry.name][
                    corner(entry.shape, views[entry.name].shape, entry.groups)
                ].ravel()
                for entry in self.entries
            ]
        )


def collect(values, views):
    """Write values into all views, and zeros where no value is given.

    Parameters
    ----------
    values : dict of str to dict
        Arrays by layer and name; layers and names may be missing.
    views : dict of str to dict
        Result of :meth:`Layout.layers`, written to.

    Examples
    --------
    >>> layout, vector = Layout([Entry("a.mu", (2,), "a"), Entry("b.mu", (2,), "b")]), np.empty(4)
    >>> collect({"b": {"mu": np.ones(2)}}, layout.layers(vector))
    >>> vector
    array([0., 0., 1., 1.])
    """
    for layer, names in views.items():
        given = values.get(layer, {})
        for name, view in names.items():
            view[...] = given.get(name, 0)


def write(views, values):
    """Write each value into the view of the same name.

    Parameters
    ----------
    views : dict of str to ndarray
        Views by name, written to.
    values : dict of str to array_like
        Values by name; they must broadcast to the shape of their view.

    Examples
    --------
    >>> views = {"mu": np.zeros(2)}
    >>> write(views, {"mu": 1.0})
    >>> views
    {'mu': array([1., 1.])}
    """
    for name, value in values.items():
        views[name][...] = value
