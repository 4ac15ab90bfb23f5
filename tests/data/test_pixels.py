"""The same pixels of any type give the same inputs, in training and for predictions."""

import fuzz_arrays
import numpy as np
import pytest

from ibpcl.cli import main
from ibpcl.data.dataset import DataError
from ibpcl.data.own import read_tasks, tasks_from_arrays
from ibpcl.data.pixels import as_trained, scaled

pytestmark = pytest.mark.usefixtures("no_figures")

LABELS = np.arange(80) % 4
PIXELS = np.random.default_rng(0).integers(0, 256, (80, 16)).astype(np.uint8)
TYPES = (np.uint8, np.int64, np.uint16, np.float32, np.float64)


@pytest.mark.parametrize("dtype", TYPES)
def test_pixels_of_any_type_are_the_same_tasks(dtype):
    expected = tasks_from_arrays(PIXELS / 255, LABELS).sha256
    assert tasks_from_arrays(PIXELS.astype(dtype), LABELS).sha256 == expected


@pytest.mark.parametrize(
    "x", [[[0, 17, 90]], [[-1, 17, 200]], [[0, 17, 256]], [[0.5, 17.0, 200.0]]]
)
def test_numbers_that_are_no_pixels_stay_as_they_are(x):
    assert scaled(np.array(x)).tolist() == x


@pytest.mark.parametrize("train", [*TYPES, "unit"])
@pytest.mark.parametrize("test", [*TYPES, "unit"])
def test_training_and_test_pixels_have_one_scale(train, test, tmp_path):
    x_train, x_test = (
        (PIXELS / 255 if dtype == "unit" else PIXELS.astype(dtype)) for dtype in (train, test)
    )
    np.savez(tmp_path / "d.npz", x_train=x_train, y_train=LABELS, x_test=x_test, y_test=LABELS)
    task = read_tasks(tmp_path / "d.npz")[0]
    np.testing.assert_array_equal(task.x_train, task.x_test)
    assert task.x_train.max() == 1


@pytest.mark.parametrize("x_test", [PIXELS * 0.99, PIXELS.astype(int) * 2, PIXELS.astype(int) - 20])
def test_a_mixture_of_scales_is_refused(x_test, tmp_path):
    np.savez(tmp_path / "d.npz", x_train=PIXELS / 255, y_train=LABELS, x_test=x_test, y_test=LABELS)
    with pytest.raises(DataError, match="x_test must be on the scale"):
        read_tasks(tmp_path / "d.npz")


def test_numbers_near_one_are_no_pixels():
    x = np.array([[-0.1, 1.3, 2.0]])
    assert as_trained(x, True, "x") is x


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a run on bytes, one on pixels in 0..1, and one on numbers that are no
    pixels.
    """
    place = tmp_path_factory.mktemp("pixels")
    for name, x in (("bytes", PIXELS), ("unit", PIXELS / 255), ("real", PIXELS * 0.5 - 60)):
        np.savez(
            place / f"{name}.npz", x_train=x, y_train=LABELS, x_test=x[:20], y_test=LABELS[:20]
        )
        assert (
            main(
                [
                    "run",
                    "--data",
                    str(place / f"{name}.npz"),
                    "--method",
                    "naive",
                    "--quiet",
                    "--out",
                    str(place / name),
                    "--set",
                    "epochs=3",
                    "--set",
                    "hidden=5",
                    "--set",
                    "backend=numpy",
                ]
            )
            == 0
        )
    return place


def predicted(folder, name, x, capsys):
    np.save(folder / "x.npy", x)
    code = main(["predict", str(folder / name), str(folder / "x.npy"), "--task", "0"])
    out, err = capsys.readouterr()
    return out if code == 0 else err


@pytest.mark.parametrize("name", ["bytes", "unit"])
def test_predictions_do_not_depend_on_the_type_of_the_pixels(name, folder, capsys):
    expected = predicted(folder, name, PIXELS / np.float32(255), capsys)
    assert len(expected.splitlines()) == len(PIXELS)
    for dtype in TYPES:
        assert predicted(folder, name, PIXELS.astype(dtype), capsys) == expected
    assert "scale" in predicted(folder, name, PIXELS.astype(int) * 2, capsys)
    assert "scale" in predicted(folder, name, PIXELS * 0.99, capsys)


def test_numbers_that_are_no_pixels_are_predicted_as_they_are(folder, capsys):
    x = PIXELS[:3].astype(np.uint8)
    assert predicted(folder, "real", x, capsys) == predicted(
        folder, "real", x.astype(float), capsys
    )


@pytest.mark.parametrize("shape", [(0, 16), (16, 0), (0, 4, 4), (0, 0)])
def test_no_inputs_are_refused_in_a_line(shape, folder, capsys):
    assert "at least one row" in predicted(folder, "bytes", np.zeros(shape), capsys)


def test_spoiled_files_are_refused_in_a_line(tmp_path):
    """A few of the thousands that ``fuzz_arrays.py`` tries."""
    assert fuzz_arrays.run(tmp_path, 150) == {}
