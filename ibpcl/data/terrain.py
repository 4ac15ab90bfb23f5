r"""Land and sea floor around Vancouver Island: regression tasks on real data that Matplotlib ships.

The file ``topobathy.npz`` holds the elevation in metres of 91 latitudes (48.02 to 49.98 degrees
north) by 120 longitudes (125.98 to 122.02 degrees west), from 1437 m below the sea to 2205 m above.
A cell is about 2.5 km wide.

Where the source knows water but not its depth it has -1 m: 1897 cells, 17 %, in the middle of
straits that are hundreds of metres deep.  These are no measurements and are left out.

A task is a strip of longitudes, west to east, and its inputs say where in *its* strip a cell lies.
So one task's inputs carry no information on another's targets, and a network that forgets a strip
has lost it.

Terrain is not Gaussian: the sea floor is smooth and the mountains are rough.  The targets are
therefore elevations on a scale that is linear near the coast and logarithmic far from it,

.. math:: y = \frac{\operatorname{arsinh}(h / 100\,\mathrm m) - 1.014}{1.722},

where 1.014 and 1.722 are mean and standard deviation of the arsinh over all cells that were
measured.
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
# the elevation of water whose depth is not known, metres
UNKNOWN = -1.0
# metres; of arsinh(h / 100 m) over measured cells
LINEAR = 100.0
MEAN = 1.014
DEVIATION = 1.722
# of the basis functions: latitudes by longitudes
CENTRES = (10, 10)
# of a basis function, in distances between centres
WIDTH = 0.7
# a latitude most of which is measured: 49.32 degrees north
ROW = 59
# share of the cells that are for testing
HELD_OUT = 0.2


class Grid(NamedTuple):
    """Elevations in metres, NaN where not measured, (91, 120); degrees north (91,) and west (120,)
    of their cells.
    """

    elevation: np.ndarray
    north: np.ndarray
    west: np.ndarray


class Line(NamedTuple):
    """One row of cells from west to east: degrees north, degrees west (N,), inputs (N, D),
    elevations (N,) or NaN.
    """

    north: float
    west: np.ndarray
    x: np.ndarray
    elevation: np.ndarray


@dataclass(frozen=True, eq=False)
class TerrainStream:
    r"""Give each task a strip of longitudes: predict the elevation of cells that were left out.

    The inputs are fixed Gaussian basis functions of the place (u, v) in the strip, each coordinate
    in 0..1,

    .. math:: \phi_{ij}(u, v) = \exp\Bigl(-\frac{(v - i/9)^2 + (u - j/9)^2}{2\,(0.7 / 9)^2}\Bigr),
              \qquad i, j = 0, \dots, 9,

    so D = 100; the first row of ten is the northernmost.  A random fifth of a strip's measured
    cells is for testing.

    Parameters
    ----------
    tasks : int, in 1 .. 30
        The number of strips, nearly equal in width.
    seed : int, at least 0
        Which cells are for testing; strip t draws from ``numpy.random.default_rng((seed, t))``.
    validation : float, between 0 and 1, optional
        Test on this share of the training cells instead, for choosing settings; the test cells are
        then not used.

    Raises
    ------
    ValueError
        If an argument is out of range.
    DataError
        If there are not so many tasks, or Matplotlib's file is not there, or is not what it should
        be.

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
        # a missing file is found now, not after a task
        _ = self.grid

    @cached_property
    def grid(self):
        """The whole :class:`Grid`, read once."""
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
        """Return the cells of strip t at one latitude (by default 49.32 degrees north), those of
        both sets, to draw.
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
        half = (west[0] - west[-1]) / (LONGITUDES - 1) / 2  # of a cell
        places = 1 if self.tasks <= 10 else 2
        return f"{west[columns[0]] + half:.{places}f} to {west[columns[-1]] - half:.{places}f} W"


def _cut(cells, share):
    first = min(max(round(share * len(cells)), 1), len(cells) - 1)  # neither part is empty
    return cells[:first], cells[first:]


def read_grid():
    """Read the grid from Matplotlib's sample data.

    Raises
    ------
    DataError
        When the file is missing or is not the grid described above; it says what to do.
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
    """Return the basis functions (rows * columns, 100) of a strip: cells row by row from the
    south-west corner.

    Values are in 0..1, basis functions row by row from the north-west corner.

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
    """Turn metres into targets of mean about 0 and standard deviation about 1 over the grid.

    >>> to_target(np.array([0.0, 1000.0])).round(3)
    array([-0.589,  1.152])
    """
    return (np.arcsinh(elevation / LINEAR) - MEAN) / DEVIATION


def to_elevation(y):
    """Turn targets into metres; the scale rises everywhere, so quantiles stay quantiles.

    >>> round(float(to_elevation(to_target(-250.0))), 6)
    -250.0
    """
    return LINEAR * np.sinh(DEVIATION * y + MEAN)
