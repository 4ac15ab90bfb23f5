import contextlib
import errno
import threading
from functools import partial

import filelock
import pytest

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments import folder as folder_module
from ibpcl.experiments.config import configure
from ibpcl.experiments.folder import LOCK, RESULTS, AtWorkError, at_work, begin, free_folder
from ibpcl.experiments.folder import claimed as locked


@pytest.fixture
def config():
    return configure()


@contextlib.contextmanager
def claimed(folder, config, force=False):
    """Claim a folder and begin a run there, as a run does."""
    with locked(folder, config, force) as folder:
        begin(folder, config)
        yield folder


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != LOCK)


def fill(folder, config):
    with claimed(folder, config):
        for name in RESULTS:
            (folder / name).write_text(f"of seed {config.seed}")


def test_the_same_run_comes_back_to_its_folder_and_another_gets_the_next(tmp_path, config):
    other = configure(epochs=3)
    assert free_folder(config, tmp_path) == tmp_path / "split-glyphs-npbcl-seed0"
    fill(free_folder(config, tmp_path), config)
    assert free_folder(config, tmp_path).name == "split-glyphs-npbcl-seed0"
    assert free_folder(other, tmp_path).name == "split-glyphs-npbcl-seed0-2"
    fill(free_folder(other, tmp_path), other)
    assert free_folder(other, tmp_path).name == "split-glyphs-npbcl-seed0-2"
    assert free_folder(configure(epochs=4), tmp_path).name == "split-glyphs-npbcl-seed0-3"
    assert free_folder(configure(seed=4), tmp_path).name == "split-glyphs-npbcl-seed4"


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", ".nfs0000000001", ".gitkeep"])
def test_a_folder_that_looks_empty_is_empty(tmp_path, config, name):
    (tmp_path / name).touch()
    with claimed(tmp_path, config) as folder:
        assert at_work(folder)
    assert (tmp_path / name).exists()


def test_a_lock_that_a_killed_process_left_on_another_machine_is_named(
    tmp_path, config, monkeypatch
):
    def no_locks(*arguments, **options):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "acquire", no_locks)
    monkeypatch.setattr(folder_module, "WAIT", 0)
    monkeypatch.setattr(storage, "_said", set())
    (tmp_path / f"{LOCK}{storage.SOFT}").write_text("4711\nnode-a\n")
    with (
        pytest.warns(UserWarning, match="without locks"),
        pytest.raises(AtWorkError, match=r"4711 of node-a.*remove the file"),
        claimed(tmp_path, config),
    ):
        raise AssertionError("this run may not start")
    (tmp_path / f"{LOCK}{storage.SOFT}").unlink()
    with claimed(tmp_path, config):
        assert "remove the file" in storage.left_behind(tmp_path / LOCK)
    assert storage.left_behind(tmp_path / LOCK) == ""


def test_a_folder_of_something_else_is_passed_over_and_refused(tmp_path, config):
    folder = tmp_path / "split-glyphs-npbcl-seed0"
    folder.mkdir()
    assert free_folder(config, tmp_path) == folder  # empty
    (folder / "thesis.tex").write_text("years of work")
    assert free_folder(config, tmp_path).name == "split-glyphs-npbcl-seed0-2"
    for force in (False, True):
        with (
            pytest.raises(UserError, match="not the folder of a run"),
            claimed(folder, config, force),
        ):
            raise AssertionError("this run may not start")
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]


def test_somebody_elses_config_does_not_make_the_folder_of_a_run(tmp_path, config):
    (tmp_path / "config.toml").write_text('seed = 0\ntitle = "a web site"\n')
    with (
        pytest.raises(UserError, match="not the folder of a run"),
        claimed(tmp_path, config, force=True),
    ):
        pass
    assert "web site" in (tmp_path / "config.toml").read_text()


def test_a_folder_is_claimed_with_its_configuration(tmp_path, config):
    with claimed(tmp_path / "a" / "b", config) as folder:
        assert storage.read_toml(folder / "config.toml") == config.table


def test_another_run_is_replaced_only_by_force(tmp_path, config):
    fill(tmp_path / "run", config)
    (tmp_path / "run" / "notes.txt").write_text("mine")
    other = configure(seed=1)
    with (
        pytest.raises(UserError, match=r"seed = 0, not 1; .*`force`"),
        claimed(tmp_path / "run", other),
    ):
        pass
    assert (tmp_path / "run" / "result.json").read_text() == "of seed 0"
    with claimed(tmp_path / "run", other, force=True):
        # No result of the other run may be taken for one of this run.
        assert names(tmp_path / "run") == ["config.toml", "notes.txt"]


def test_the_same_run_keeps_its_results_until_they_are_replaced(tmp_path, config):
    fill(tmp_path / "run", config)
    with pytest.raises(KeyboardInterrupt), claimed(tmp_path / "run", config):
        raise KeyboardInterrupt
    assert (tmp_path / "run" / "result.json").read_text() == "of seed 0"


@pytest.mark.parametrize("error", [KeyboardInterrupt, FloatingPointError])
def test_a_run_that_fails_leaves_no_folder_of_its_own(tmp_path, config, error):
    with pytest.raises(error), claimed(tmp_path / "new" / "one", config):
        raise error
    assert not list(tmp_path.iterdir())


def test_a_run_that_fails_keeps_what_it_has_written(tmp_path, config):
    with pytest.raises(KeyboardInterrupt), claimed(tmp_path / "new", config) as folder:
        (folder / "history.csv").write_text("task\n")
        raise KeyboardInterrupt
    assert names(tmp_path / "new") == ["config.toml", "history.csv"]


def test_what_an_interrupted_write_leaves_does_not_fill_a_folder(tmp_path, config):
    folder = free_folder(config, tmp_path)
    folder.mkdir()
    storage.beside(folder / "config.toml").write_text("seed")
    assert free_folder(config, tmp_path) == folder
    with claimed(folder, config):
        assert storage.read_toml(folder / "config.toml") == config.table
    (folder / "config.toml").unlink()
    (folder / ".notes.tmp").write_text("mine")
    with pytest.raises(UserError, match="not the folder of a run"), claimed(folder, config):
        pass


def test_the_same_run_may_have_its_data_elsewhere(tmp_path):
    here, there = (configure(data_dir=place) for place in ("here", "there"))
    fill(free_folder(here, tmp_path), here)
    assert free_folder(there, tmp_path) == free_folder(here, tmp_path)
    with claimed(free_folder(there, tmp_path), there) as folder:
        assert (folder / "result.json").exists()
        assert storage.read_toml(folder / "config.toml") == there.table
    with (
        pytest.raises(UserError, match="with seed = 0, not 1"),
        claimed(folder, configure(data_dir="x", seed=1)),
    ):
        pass


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_other_run_comes_into_a_folder_while_one_is_at_work_there(tmp_path, config, seed, force):
    with claimed(tmp_path / "run", config) as folder:
        (folder / "history.csv").write_text("task\n")
        assert at_work(folder)
        with (
            pytest.raises(AtWorkError, match="another run is at work"),
            claimed(folder, configure(seed=seed), force),
        ):
            raise AssertionError("this run may not start")
        assert storage.read_toml(folder / "config.toml") == config.table
        assert (folder / "history.csv").read_text() == "task\n"
    assert not at_work(folder)
    with claimed(folder, configure(seed=seed), force=True):
        assert at_work(folder)


def test_runs_that_begin_together_get_folders_of_their_own(tmp_path, config):
    choose = partial(free_folder, runs=tmp_path)
    with (
        claimed(choose, config) as first,
        claimed(choose, config) as second,
        claimed(choose, configure(epochs=3)) as third,
    ):
        found = [
            folder.name.removeprefix("split-glyphs-npbcl-seed0")
            for folder in (first, second, third)
        ]
    assert found == ["", "-2", "-3"]


def test_of_two_that_claim_a_new_folder_at_once_one_gets_it(tmp_path, config, monkeypatch):
    first_writes = threading.Event()
    second_is_done = threading.Event()
    said = []
    write = storage.write_toml

    def slow(path, table):
        first_writes.set()
        # it cannot be: it has to wait for the first
        second_is_done.wait(0.5)
        write(path, table)

    def second():
        first_writes.wait()
        try:
            with claimed(tmp_path / "run", config):
                said.append("mine")
        except UserError as error:
            said.append(str(error))
        second_is_done.set()

    monkeypatch.setattr(storage, "write_toml", slow)
    thread = threading.Thread(target=second)
    thread.start()
    with claimed(tmp_path / "run", config) as folder:
        thread.join()
        assert storage.read_toml(folder / "config.toml") == config.table
    assert len(said) == 1 and "another run is at work" in said[0]


def test_a_run_in_the_current_folder_does_not_lock_itself_out(tmp_path, config, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with claimed(".", config):
            assert at_work(".")
    assert names(tmp_path) == ["config.toml"]


def test_a_folder_that_is_only_claimed_is_as_it_was(tmp_path, config):
    fill(tmp_path / "run", config)
    with (
        pytest.raises(UserError, match="truncated"),
        locked(tmp_path / "run", configure(seed=1), force=True),
    ):
        raise UserError("mnist/train-images: truncated")
    assert (tmp_path / "run" / "result.json").read_text() == "of seed 0"
    assert storage.read_toml(tmp_path / "run" / "config.toml") == config.table


def test_what_killed_writes_left_is_swept_when_the_folder_is_claimed_again(tmp_path, config):
    fill(tmp_path / "run", config)
    storage.beside(tmp_path / "run" / "learner.npz").write_text("half")
    (tmp_path / "run" / ".mine.tmp").write_text("whole")
    with claimed(tmp_path / "run", config):
        pass
    assert [name for name in names(tmp_path / "run") if name.endswith(".tmp")] == [".mine.tmp"]


def test_a_run_begun_afresh_keeps_nothing_of_the_one_before(tmp_path, config):
    fill(tmp_path / "run", config)
    with locked(tmp_path / "run", config) as folder:
        begin(folder, config, fresh=True)
    assert names(tmp_path / "run") == ["config.toml"]


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_that_cannot_be_a_folder(tmp_path, config, place):
    (tmp_path / "file").write_text("here already")
    with pytest.raises(UserError, match="file"), claimed(tmp_path / place, config):
        pass
    assert (tmp_path / "file").read_text() == "here already"
