r"""Land and sea floor around Vancouver Island: regression tasks on real data that Matplotlib ships.

The file ``topobathy.npz`` holds the elevation in metres at 91 latitudes (48.02 to 49.98 degrees
north) and 120 longitudes (125.98 to 122.02 degrees west), from 1437 m below the sea to 2205 m
above.  A cell is about 2.5 km wide.

Where the source knows of water but not its depth, the value is -1 m: 1897 cells, 17 %,
in the middle of straits that are hundreds of metres deep.  These values are not measurements and
are left out.

A task is a strip of longitudes, from west to east, and its inputs give the position of a cell
within *its* strip.  So the inputs of one task carry no information about the targets of another,
and a network that forgets a strip has lost it.

The sea floor is smooth and the mountains are rough, so elevations are not Gaussian.  The targets
are therefore elevations on a scale that is linear near the coast and logarithmic far from it,

.. math:: y = \frac{\operatorname{arsinh}(h / 100\,\mathrm m) - 1.014}{1.722},

where 1.014 and 1.722 are the mean and the standard deviation of the arsinh over all measured cells.
"""

import operator
import zipfile
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ibpcl import plotting
from ibpcl.continual.task import Task
from ibpcl.data.dataset import DataError
from ibpcl.data.tasks import check_index

FILE = "topobathy.npz"
LATITUDES = 91
LONGITUDES = 120
UNKNOWN = -1.0  # metres: marks water of unknown depth
LINEAR = 100.0  # metres
# mean and standard deviation of arsinh(h / 100 m) over measured cells
MEAN = 1.014
DEVIATION = 1.722
CENTRES = (10, 10)  # number of basis functions: latitudes by longitudes
WIDTH = 0.7  # width of a basis function, in distances between centres
ROW = 59  # 49.32 degrees north, where most cells are measured
HELD_OUT = 0.2  # share of the cells for testing


class Grid(NamedTuple):
    """Elevations of all cells.

    Attributes
    ----------
    elevation : ndarray, shape (91, 120)
        Metres above the sea; NaN where not measured.
    north : ndarray, shape (91,)
        Latitudes, degrees north.
    west : ndarray, shape (120,)
        Longitudes, degrees west.
    """

    elevation: np.ndarray
    north: np.ndarray
    west: np.ndarray


class Line(NamedTuple):
    """One row of cells from west to east.

    Attributes
    ----------
    north : float
        Latitude, degrees north.
    west : ndarray, shape (N,)
        Longitudes, degrees west.
    x : ndarray, shape (N, D)
        Inputs of the cells.
    elevation : ndarray, shape (N,)
        Metres above the sea; NaN where not measured.
    """

    north: float
    west: np.ndarray
    x: np.ndarray
    elevation: np.ndarray


@dataclass(frozen=True, eq=False)
class TerrainStream:
    r"""Stream of regression tasks, each of which predicts the elevation in a strip of longitudes.

    The inputs are fixed Gaussian basis functions of the position (u, v) in the strip, each
    coordinate in 0..1,

    .. math:: \phi_{ij}(u, v) = \exp\Bigl(-\frac{(v - i/9)^2 + (u - j/9)^2}{2\,(0.7 / 9)^2}\Bigr),
              \qquad i, j = 0, \dots, 9,

    so D = 100; the first row of ten is the northernmost.  A random fifth of a strip's measured
    cells is held out for testing.

    Parameters
    ----------
    tasks : int
        Number of strips, in 1 .. 30; they are nearly equal in width.
    seed : int
        Seed of the choice of test cells, at least 0; strip t draws from
        ``numpy.random.default_rng((seed, t))``.
    validation : float, optional
        Share of the training cells to test on instead, strictly between 0 and 1, for choosing
        settings; the test cells are then not used.

    Attributes
    ----------
    name : str
        ``"terrain"``.
    grid : Grid
        Elevations of all cells.

    Raises
    ------
    ValueError
        If ``seed`` or ``validation`` is out of range.
    DataError
        If ``tasks`` is out of range, or Matplotlib's file is missing or wrong.

    Examples
    --------
    >>> task = TerrainStream(tasks=5)[0]
    >>> task.name, task.x_train.shape, task.y_test.shape
    ('126.0 to 125.2 W', (1592, 100), (398, 1))
    """

    tasks: int = 5
    seed: int = 0
    validation: float | None = None
    name = "terrain"

    def __post_init__(self):
        if not 1 <= operator.index(self.tasks) <= LONGITUDES // 4:
            raise DataError(
                f"TerrainStream: tasks must be in 1 .. {LONGITUDES // 4}, got {self.tasks}"
            )
        if operator.index(self.seed) < 0:
            raise ValueError(f"TerrainStream: seed must be at least 0, got {self.seed}")
        if self.validation is not None and not 0 < self.validation < 1:
            raise ValueError(
                "TerrainStream: validation must lie strictly between 0 and 1, got "
                f"{self.validation}"
            )
        # reading now detects a missing file before the first task is learned
        _ = self.grid

    @cached_property
    def grid(self):
        """Elevations of all cells, read once."""
        return read_grid()

    def __len__(self):
        return self.tasks

    def __getitem__(self, t):
        t = check_index(t, self)
        columns = self._columns(t)
        x = features(LATITUDES, len(columns))
        y = to_target(self.grid.elevation[:, columns]).reshape(-1, 1)
        order = np.random.default_rng((self.seed, t)).permutation(np.flatnonzero(np.isfinite(y)))
        test, train = _cut(order, HELD_OUT)
        if self.validation is not None:
            test, train = _cut(train, self.validation)
        return Task(self._name(columns), x[train], y[train], x[test], y[test], image_shape=CENTRES)

    def line(self, t, row=ROW):
        """Return the cells of a strip at one latitude, training and test cells, for drawing.

        Parameters
        ----------
        t : int
            Number of the strip, from 0; negative numbers count from the end.
        row : int
            Number of the latitude, in 0 .. 90; 49.32 degrees north by default.

        Returns
        -------
        line : Line
            The cells from west to east.

        Raises
        ------
        IndexError
            If there is no such strip or latitude.
        """
        columns = self._columns(check_index(t, self))
        x = features(LATITUDES, len(columns)).reshape(LATITUDES, len(columns), -1)[row]
        return Line(
            float(self.grid.north[row]),
            self.grid.west[columns],
            x,
            self.grid.elevation[row, columns],
        )

    def _columns(self, t):
        return np.array_split(np.arange(LONGITUDES), self.tasks)[t]

    def _name(self, columns):
        west = self.grid.west
        half = (west[0] - west[-1]) / (LONGITUDES - 1) / 2  # half the width of a cell
        places = 1 if self.tasks <= 10 else 2
        return f"{west[columns[0]] + half:.{places}f} to {west[columns[-1]] - half:.{places}f} W"


def _cut(cells, share):
    first = min(max(round(share * len(cells)), 1), len(cells) - 1)  # neither part is empty
    return cells[:first], cells[first:]


def read_grid():
    """Return the grid in Matplotlib's sample data.

    Returns
    -------
    grid : Grid
        Elevations of all cells.

    Raises
    ------
    DataError
        If the file is missing or is not the expected grid; the message explains what to do.
    """
    plotting.load()
    from matplotlib import cbook

    path = cbook.get_sample_data(FILE, asfileobj=False)
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            elevation, longitude, latitude = (
                file[name].astype(float) for name in ("topo", "longitude", "latitude")
            )
    except FileNotFoundError as error:
        raise DataError(
            f"{path}: missing; it comes with Matplotlib, whose installation without sample data "
            "lacks it: install Matplotlib with pip, or run another experiment"
        ) from error
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path}: not the elevations that Matplotlib ships ({error}); install it again"
        ) from error
    shapes = (elevation.shape, latitude.shape, longitude.shape)
    if (
        shapes != ((LATITUDES, LONGITUDES), (LATITUDES,), (LONGITUDES,))
        or not np.isfinite(elevation).all()
    ):
        raise DataError(
            f"{path}: not the elevations that Matplotlib ships: shapes {shapes}; install it again"
        )
    return Grid(np.where(elevation == UNKNOWN, np.nan, elevation), latitude, 360.0 - longitude)


def features(rows, columns):
    """Return the basis functions of all cells of a strip.

    Parameters
    ----------
    rows : int
        Number of latitudes.
    columns : int
        Number of longitudes of the strip.

    Returns
    -------
    x : ndarray, shape (rows * columns, 100)
        Values in 0..1.  Cells are in rows from the south-west corner, basis functions in rows from
        the north-west corner.

    Examples
    --------
    >>> features(19, 10).shape, int(features(19, 10)[0].argmax())
    ((190, 100), 90)
    """
    along = [
        _bumps(np.linspace(0, 1, cells), centres)
        for cells, centres in zip((rows, columns), CENTRES, strict=True)
    ]
    x = along[0][:, None, ::-1, None] * along[1][None, :, None, :]
    return x.reshape(rows * columns, -1)


def _bumps(place, centres):
    distance = 1 / (centres - 1)
    return np.exp(-0.5 * ((place[:, None] - np.linspace(0, 1, centres)) / (WIDTH * distance)) ** 2)


def to_target(elevation):
    """Return the targets of elevations.

    Over the grid, their mean is about 0 and their standard deviation about 1.

    Parameters
    ----------
    elevation : float or ndarray
        Metres above the sea.

    Returns
    -------
    y : float or ndarray
        Targets without unit, of the same shape.

    Examples
    --------
    >>> to_target(np.array([0.0, 1000.0])).round(3)
    array([-0.589,  1.152])
    """
    return (np.arcsinh(elevation / LINEAR) - MEAN) / DEVIATION


def to_elevation(y):
    """Return the elevations of targets, the inverse of :func:`to_target`.

    The scale is increasing, so quantiles of targets become quantiles of elevations.

    Parameters
    ----------
    y : float or ndarray
        Targets.

    Returns
    -------
    elevation : float or ndarray
        Metres above the sea, of the same shape.

    Examples
    --------
    >>> round(float(to_elevation(to_target(-250.0))), 6)
    -250.0
    """
    return LINEAR * np.sinh(DEVIATION * y + MEAN)
