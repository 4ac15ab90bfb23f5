"""Tasks from a user's arrays and files: how they are cut, identified and refused."""

import pickle
import tracemalloc

import numpy as np
import pytest

from ibpcl.continual.task import Task
from ibpcl.data.dataset import DataError
from ibpcl.data.own import own_tasks, read_tasks, tasks_from_arrays

LABELS = np.repeat([0, 1, 2, 5], 10)
INPUTS = np.random.default_rng(0).random((40, 6)).astype(np.float32)
PAIRS = [(0, 1), (5, 2)]


@pytest.fixture
def file(tmp_path):
    """Write a file of arrays; gives a function that writes one with other contents."""

    def write(name="mine.npz", save=np.savez, **other):
        arrays = {
            "x_train": INPUTS,
            "y_train": LABELS,
            "x_test": INPUTS[::2],
            "y_test": LABELS[::2],
        } | other
        save(tmp_path / name, **{key: value for key, value in arrays.items() if value is not None})
        return tmp_path / name

    write()
    return write


def test_each_task_has_its_classes_and_each_example_is_in_one_part():
    tasks = tasks_from_arrays(INPUTS, LABELS, PAIRS, test=0.3)
    assert [task.name for task in tasks] == ["0/1", "5/2"]
    for task, labels in zip(tasks, PAIRS, strict=True):
        assert (len(task.x_train), len(task.x_test)) == (14, 6)
        for x, y in ((task.x_train, task.y_train), (task.x_test, task.y_test)):
            for row, label in zip(x, y, strict=True):
                (place,) = np.flatnonzero((row == INPUTS).all(axis=1))
                assert LABELS[place] == labels[label]
        rows = np.concatenate([task.x_train, task.x_test])
        assert len(np.unique(rows, axis=0)) == len(rows) == 20


def test_which_examples_are_for_testing_is_a_function_of_the_seed():
    first, again, other = (
        tasks_from_arrays(INPUTS, LABELS, PAIRS, seed=seed) for seed in (0, 0, 1)
    )
    assert first.sha256 == again.sha256 != other.sha256


def test_images_are_rows_in_0_to_1_and_keep_their_shape():
    (task,) = tasks_from_arrays(np.full((40, 2, 3), 51, np.uint8), LABELS)
    assert task.image_shape == (2, 3) and np.allclose(task.x_train, 0.2)
    assert task.class_names == ("0", "1", "2", "5") and task.classes == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((INPUTS, LABELS[:-1]), "y must have one label for each of the 40 rows of x, got 39"),
        ((INPUTS[0], LABELS), r"x must have shape \(N, D\).*got \(6,\)"),
        ((INPUTS, LABELS / 2), "y must hold whole numbers.*float64"),
        ((np.where(LABELS[:, None] == 1, np.nan, INPUTS), LABELS), "x must be finite.* NaN"),
        ((INPUTS, LABELS, [(0, 1), (2, 3)]), "y has no examples of 3"),
        ((INPUTS, LABELS, [(0, 1)]), "y has labels that no task has: 2, 5"),
        ((INPUTS, LABELS, [(0, 0), (1, 2, 5)]), "different labels"),
        ((INPUTS, LABELS, []), "at least one label"),
        ((INPUTS, LABELS, 3), "a list of whole numbers for each task"),
        ((INPUTS, LABELS, PAIRS, 1.0), "between 0 and 1"),
        ((INPUTS, LABELS, PAIRS, 0.2, 0, ["a", "b"]), "class_names must name every label"),
        ((INPUTS[::10], LABELS[::10]), "1 example of label 0; training and testing need"),
    ],
)
def test_arrays_that_make_no_tasks(arguments, words):
    with pytest.raises(ValueError, match=words):
        tasks_from_arrays(*arguments)


def test_a_file_is_cut_into_tasks_and_a_folder_has_a_task_a_file(file, tmp_path):
    tasks = read_tasks(file(), PAIRS)
    assert [task.name for task in tasks] == ["0/1", "5/2"]
    assert tasks.name == "mine" and tasks.classes == ((0, 1), (5, 2))
    np.testing.assert_array_equal(tasks[1].x_test, INPUTS[::2][np.isin(LABELS[::2], (2, 5))])
    (whole,) = read_tasks(file("mine.npz", np.savez_compressed))
    assert whole.classes == 4
    file("another.npz", y_train=LABELS[::-1])
    tasks = read_tasks(tmp_path)
    assert [task.name for task in tasks] == ["another", "mine"] and tasks[0].class_names == (
        "0",
        "1",
        "2",
        "5",
    )


@pytest.mark.parametrize(
    ("other", "classes", "words"),
    [
        ({"y_test": None}, None, "mine.npz has no array y_test .*it has x_train, y_train, x_test"),
        ({"y_train": np.array([{}] * 40)}, None, "holds Python objects, which are not read"),
        ({"x_test": INPUTS[:, :-1], "y_test": LABELS}, None, "must be as wide as x_train"),
        ({"x_train": np.full_like(INPUTS, np.inf)}, PAIRS, "finite"),
        (
            {"y_train": LABELS[:-1]},
            PAIRS,
            "y_train must have one label for each of the 40 rows of x_train",
        ),
        ({}, [(0, 9)], "no examples of 9"),
        ({"y_test": np.full(20, 7)}, PAIRS, "labels that no task has: 7"),
    ],
)
def test_files_that_make_no_tasks(file, tmp_path, other, classes, words):
    file(**other)
    with pytest.raises(DataError, match=words) as refused:
        read_tasks(tmp_path / "mine.npz", classes)
    assert "mine.npz" in str(refused.value) and "\n" not in str(refused.value)


def test_places_that_hold_no_tasks(file, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.npz").write_text("not a zip")
    (tmp_path / "half.npz").write_bytes(file().read_bytes()[:-300])
    for place, words in (
        ("nowhere", "no such file"),
        ("empty", r"no \.npz file"),
        ("text.npz", r"valid \.npz"),
        ("half.npz", r"valid \.npz"),
    ):
        with pytest.raises(DataError, match=words):
            read_tasks(tmp_path / place)
    (tmp_path / "text.npz").unlink(), (tmp_path / "half.npz").unlink()
    with pytest.raises(DataError, match="cut one file into tasks, not a folder"):
        read_tasks(tmp_path, PAIRS)


class Trap:
    """Unpickled, it would tell."""

    def __reduce__(self):
        return pytest.fail, ("it was unpickled",)


def test_nothing_is_executed_from_a_file(tmp_path, file):
    file(y_train=np.array([Trap()] * 40, object))
    (tmp_path / "plain.npz").write_bytes(pickle.dumps(Trap()))
    for name in ("mine.npz", "plain.npz"):
        with pytest.raises(DataError):
            read_tasks(tmp_path / name)


def test_a_small_file_that_unpacks_to_much_is_not_read(file):
    path = file("bomb.npz", np.savez_compressed, x_train=np.zeros((40, 2**20)))
    assert path.stat().st_size < 10**6
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"unpacks to 335.* it is not read"):
            read_tasks(path)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_streams_are_identified_by_arrays_and_names():
    task = Task("a", INPUTS, LABELS, INPUTS, LABELS, 6, tuple("uvwxyz"))
    same = own_tasks([Task("a", INPUTS.copy(), LABELS, INPUTS, LABELS, 6, tuple("uvwxyz"))])
    assert own_tasks([task]).sha256 == same.sha256 and own_tasks(same) is same
    moved = INPUTS.copy()
    moved[3, 3] = np.nextafter(moved[3, 3], 1)
    for other in (
        [Task("b", INPUTS, LABELS, INPUTS, LABELS, 6, tuple("uvwxyz"))],
        [task, task],
        [Task("a", moved, LABELS, INPUTS, LABELS, 6, tuple("uvwxyz"))],
        [Task("a", INPUTS, LABELS, INPUTS, LABELS, 6, tuple("uvwxyx"))],
    ):
        assert own_tasks(other).sha256 != same.sha256


@pytest.mark.parametrize(
    "stream", [3, [3], [], Task("a", INPUTS, LABELS, INPUTS, LABELS, 6, tuple("uvwxyz"))]
)
def test_an_object_that_is_not_a_stream_is_refused(stream):
    with pytest.raises(DataError, match="Task"):
        own_tasks(stream)
