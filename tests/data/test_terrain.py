"""Strips of the terrain: real elevations, cut as documented, with a wrong file refused."""

import numpy as np
import pytest
from matplotlib import cbook

from ibpcl.data import terrain
from ibpcl.data.dataset import DataError
from ibpcl.data.subsets import limited
from ibpcl.data.terrain import TerrainStream, features, to_elevation, to_target


def rows(task):
    """Every example of a task as one row: inputs and target."""
    return np.concatenate(
        [np.hstack([task.x_train, task.y_train]), np.hstack([task.x_test, task.y_test])]
    )


def test_the_strips_hold_every_measured_cell_once_and_the_constants_standardize_them():
    stream = TerrainStream(tasks=5)
    targets = np.concatenate([rows(task)[:, -1] for task in stream])
    elevation = stream.grid.elevation
    measured = elevation[~np.isnan(elevation)]
    np.testing.assert_allclose(np.sort(targets), np.sort(to_target(measured)), rtol=1e-6, atol=1e-6)
    assert (elevation.shape, len(targets), np.isnan(elevation).sum()) == ((91, 120), 9023, 1897)
    assert -1 not in measured and (measured.min(), measured.max()) == (-1437, 2205)
    assert abs(targets.mean()) < 1e-3 and abs(targets.std() - 1) < 1e-3
    for task in stream:
        assert len(task.x_test) == round(0.2 * (len(task.x_test) + len(task.x_train)))
        # no two cells alike
        assert len(np.unique(task.x_train @ np.arange(1.0, 101.0))) == len(task.x_train)


def test_names_tell_the_longitudes_from_west_to_east():
    assert [task.name for task in TerrainStream(tasks=2)] == [
        "126.0 to 124.0 W",
        "124.0 to 122.0 W",
    ]
    names = [task.name for task in TerrainStream(tasks=30)]
    assert len(set(names)) == 30 and names[-1] == "122.13 to 122.00 W"


@pytest.mark.parametrize("tasks", [1, 5, 7, 30])
def test_all_tasks_have_one_width(tasks):
    stream = TerrainStream(tasks=tasks)
    assert [(task.inputs, task.image_shape) for task in stream] == [(100, (10, 10))] * tasks
    with pytest.raises(IndexError):
        stream[tasks]


def test_the_seed_chooses_the_test_cells_and_nothing_else():
    one = TerrainStream()[1]
    same = TerrainStream()[1]
    other = TerrainStream(seed=1)[1]
    np.testing.assert_array_equal(one.x_test, same.x_test)
    assert not np.array_equal(one.x_test, other.x_test)

    def sort(task):
        table = rows(task)
        return table[np.lexsort(table.T)]

    np.testing.assert_array_equal(sort(one), sort(other))


def test_limits_keep_the_first_cells():
    whole = TerrainStream()[2]
    few = limited(TerrainStream(), train=50, test=20)[2]
    np.testing.assert_array_equal(few.x_train, whole.x_train[:50])
    np.testing.assert_array_equal(few.y_test, whole.y_test[:20])


def test_validation_cells_come_out_of_the_training_cells():
    whole = TerrainStream()[0]
    cut = TerrainStream(validation=0.25)[0]
    assert len(cut.x_test) == round(0.25 * len(whole.x_train))
    np.testing.assert_array_equal(np.concatenate([cut.x_test, cut.x_train]), whole.x_train)
    np.testing.assert_array_equal(np.concatenate([cut.y_test, cut.y_train]), whole.y_train)


def test_a_basis_function_is_one_at_its_centre_and_falls_with_distance():
    # a centre on every second row and on every column
    grid = features(19, 10).reshape(19, 10, 10, 10)
    for i, j in ((0, 0), (4, 7), (9, 9)):
        bump = grid[:, :, i, j]
        # centres count from the north, cells from the south
        row = 18 - 2 * i
        assert bump[row, j] == bump.max() == 1
        beside = bump[row, j + 1 if j < 9 else j - 1]
        np.testing.assert_allclose(beside, np.exp(-0.5 / 0.7**2))
    assert grid.min() >= 0


def test_the_scale_of_the_targets_goes_back_to_metres():
    heights = np.array([-1437.0, -100.0, 0.0, 3.0, 2205.0])
    np.testing.assert_allclose(to_elevation(to_target(heights)), heights, atol=1e-9)
    assert (np.diff(to_target(heights)) > 0).all()


def test_a_line_goes_through_the_cells_of_its_task():
    stream = TerrainStream(tasks=3)
    line = stream.line(1)
    task = stream[1]
    assert line.x.shape == (40, 100) and line.elevation.shape == line.west.shape == (40,)
    assert (np.diff(line.west) < 0).all() and line.west[0] < 124.7 and 49.31 < line.north < 49.33
    everything = rows(task)
    for x, y in zip(line.x.astype(np.float32), to_target(line.elevation), strict=True):
        found = np.flatnonzero((everything[:, :-1] == x).all(axis=1))
        np.testing.assert_allclose(everything[found, -1], [] if np.isnan(y) else [y], rtol=1e-5)
    assert 0 < np.isnan(line.elevation).sum() < 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": 0}, r"tasks must be in 1 \.\. 30, got 0"),
        ({"tasks": 31}, "got 31"),
        ({"seed": -1}, "seed must be"),
        ({"validation": 1.0}, "validation must lie strictly between 0 and 1, got 1.0"),
    ],
)
def test_arguments_out_of_range_are_refused(change, message):
    with pytest.raises(
        ValueError, match=f"TerrainStream: {message}" if "got 31" not in message else message
    ):
        TerrainStream(**change)


def save(path, shape=(91, 120), **change):
    arrays = {
        "topo": np.zeros(shape),
        "longitude": np.zeros(120),
        "latitude": np.zeros(91),
    } | change
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: None, "missing; it comes with Matplotlib"),
        (
            lambda path: path.write_bytes(b"PK\x03\x04 cut short"),
            "not the elevations that Matplotlib ships",
        ),
        (lambda path: path.write_bytes(b""), "not the elevations that Matplotlib ships"),
        (lambda path: save(path, (4, 5)), "not the elevations that Matplotlib ships: shapes"),
        (lambda path: save(path, topo=np.full((91, 120), np.nan)), "not the elevations"),
        (lambda path: np.savez(path, other=np.zeros(3)), "not the elevations"),
    ],
)
def test_a_file_that_is_missing_or_another_is_named(write, message, tmp_path, monkeypatch):
    path = tmp_path / terrain.FILE
    write(path)
    monkeypatch.setattr(cbook, "get_sample_data", lambda name, asfileobj: path)
    with pytest.raises(DataError, match=message) as caught:
        TerrainStream()
    assert str(path) in str(caught.value)
