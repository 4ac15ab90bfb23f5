"""What a user types and sees; the commands run in this process, but for the ones about the process
itself.
"""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import ibpcl
from ibpcl.cli import main
from ibpcl.cli.run import AS_PRINTED
from ibpcl.cli.table import WIDTH, AccuracyTable
from ibpcl.continual.loop import Progress
from ibpcl.continual.task import Task
from ibpcl.data import idx, registry
from ibpcl.data.dataset import Dataset
from ibpcl.data.sources import FILES, SOURCES, Source
from ibpcl.experiments import run as run_module
from ibpcl.experiments.config import keys
from ibpcl.experiments.presets import PRESETS
from ibpcl.experiments.run import Report
from ibpcl.inference.backend import backend

TINY = [
    "--set=hidden=6",
    "--set=samples=1",
    "--set=prediction_samples=2",
    "--set=epochs=1",
    "--set=finetune_epochs=1",
    "--set=batch=20",
    "--set=backend=numpy",
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own and sees no image sets but those it makes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("IBPCL_DATA", raising=False)
    return tmp_path


@pytest.fixture
def small_glyphs(monkeypatch):
    """Replace the glyphs by noise, which takes no time to draw."""

    def load(name, data_dir=None, seed=0):
        rng = np.random.default_rng(0)
        labels = np.arange(100, dtype=np.uint8) % 10
        images = rng.integers(0, 256, (100, 4, 4), dtype=np.uint8)
        return Dataset(name, images, labels, images, labels, tuple("ABCDEFGHIJ"))

    monkeypatch.setattr(registry, "load", load)


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    """Put a small MNIST into ``data/mnist``; gives a function that replaces one of its files."""
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    sums = dict.fromkeys(FILES, "")

    def put(file, content, pack=gzip.compress, known=True):
        (folder / f"{file}.gz").write_bytes(pack(content))
        if known:  # as if it had been published like this
            sums[file] = hashlib.sha256(content).hexdigest()
        monkeypatch.setitem(SOURCES, "mnist", Source(tuple("0123456789"), tuple(sums.values()), ()))

    rng = np.random.default_rng(0)
    for file, count in zip(FILES, (100, 100, 50, 50), strict=True):
        put(
            file,
            idx.encode(
                rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
                if "images" in file
                else np.arange(count, dtype=np.uint8) % 10
            ),
        )
    return put


def typed(capsys, *arguments):
    """Run a command; return its exit code, the lines of standard output, and those of standard
    error.
    """
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err.splitlines()


def refused(capsys, *arguments, code=2):
    """Run a command that is wrong and return its complaint: one line, and nothing else."""
    got, out, err = typed(capsys, *arguments)
    assert (got, out, len(err)) == (code, [], 1), (got, out, err)
    assert err[0].startswith("ibpcl: ") and "Traceback" not in err[0]
    return err[0]


def run_folder():
    return Path("runs", "split-glyphs-npbcl-seed0")


# What a run prints.


@pytest.mark.usefixtures("no_figures")
def test_a_run_prints_the_matrix_row_by_row_and_a_summary(capsys, small_glyphs):
    code, out, err = typed(capsys, "run", *TINY)
    assert (code, err) == (0, [])
    assert all(len(line) <= WIDTH for line in out)
    result = json.loads((run_folder() / "result.json").read_text())
    rows = [line.split() for line in out[4:9]]
    for t, row in enumerate(rows):
        measured = [100 * value for value in result["accuracy_matrix"][t][: t + 1]]
        assert row[:2] == [str(t + 1), result["tasks"][t]]
        assert row[2:] == [f"{value:.2f}" for value in (*measured, np.mean(measured))] + [
            f"{100 * result['mask_density'][t][0]:.1f}",
            row[-1],
        ]
    assert f"average accuracy   {100 * result['average_accuracy']:.2f} %" in "\n".join(out)
    assert out[-1].endswith("split-glyphs-npbcl-seed0")


@pytest.mark.usefixtures("no_figures")
def test_a_run_of_the_printed_settings_ends_with_what_to_expect_of_them(capsys, small_glyphs):
    _, out, _ = typed(capsys, "run", *TINY, "--preset", "paper", "--set", "likelihood_epochs=1")
    assert "\n".join(out).endswith(AS_PRINTED[False]) and all(len(line) <= WIDTH for line in out)
    _, again, _ = typed(capsys, "run", *TINY, "--preset", "unweighted")
    assert again[-1].endswith("-2")  # the folder, and no word of the paper


@pytest.mark.usefixtures("no_figures")
def test_the_same_command_works_twice_with_the_same_result(capsys, small_glyphs):
    results = []
    for fresh in ([], ["--fresh"]):
        code, (line,), err = typed(capsys, "run", "--quiet", *TINY, *fresh)
        assert (code, err) == (0, []) and line.endswith(str(run_folder()))
        results.append(json.loads((run_folder() / "result.json").read_text()))
        for timing in ("seconds", "peak_memory_mb", "seal"):
            del results[-1][timing]
    assert results[0] == results[1]
    assert [path.name for path in run_folder().parent.iterdir()] == [run_folder().name]


@pytest.mark.usefixtures("no_figures")
def test_a_finished_run_is_told_again_not_made_again(capsys, small_glyphs, monkeypatch):
    _, first, _ = typed(capsys, "run", *TINY)
    monkeypatch.setattr("ibpcl.methods.npbcl.NPBCL.learn", None)
    for option in ((), ("--quiet",), ("--json",)):
        code, out, err = typed(capsys, "run", *TINY, *option)
        assert code == 0 and len(err) == 1
        assert all(part in err[0] for part in ("nothing was trained", str(run_folder()), "--fresh"))
        if not option:
            assert out == first


@pytest.mark.usefixtures("no_figures")
def test_other_settings_go_to_another_folder(capsys, small_glyphs):
    typed(capsys, "run", "--quiet", *TINY)
    before = (run_folder() / "result.json").read_bytes()
    _, (line,), _ = typed(capsys, "run", "--quiet", *TINY, "--set", "alpha=20")
    assert line.endswith("split-glyphs-npbcl-seed0-2")
    assert (run_folder() / "result.json").read_bytes() == before
    assert "alpha = 69.0, not 20.0" in refused(
        capsys, "run", "--out", run_folder(), *TINY, "--set=alpha=20"
    )
    code, _, _ = typed(
        capsys, "run", "--quiet", "--out", run_folder(), *TINY, "--set=alpha=20", "--force"
    )
    assert code == 0 and (run_folder() / "result.json").read_bytes() != before


@pytest.mark.usefixtures("no_figures")
def test_json_is_the_result_file_and_nothing_else(capsys, small_glyphs):
    assert main(["run", "--json", "--out", "here", *TINY]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (Path("here", "result.json").read_text(), "")
    assert json.loads(out)["experiment"] == "split-glyphs"


@pytest.mark.slow(reason="a training; test_run.py has the same without the command")
def test_a_resolved_configuration_runs_again(capsys, small_glyphs):
    typed(capsys, "run", "--quiet", "--out", "a", "--seed", 3, *TINY)
    code, _, _ = typed(capsys, "run", "a/config.toml", "--quiet", "--out", "b")
    assert code == 0
    for name in ("config.toml", "history.csv", "learner.npz", "masks.png"):
        with open(f"a/{name}", "rb") as first, open(f"b/{name}", "rb") as second:
            assert first.read() == second.read(), name


@pytest.mark.usefixtures("no_figures")
def test_options_win_over_set(capsys, small_glyphs):
    _, (line,), _ = typed(
        capsys, "run", "--quiet", *TINY, "--set", "seed=1", "--seed", 2, "--set=tasks=1"
    )
    assert line.endswith("split-glyphs-npbcl-seed2")


def test_the_real_glyphs_and_the_default_backend(capsys):
    # compiles where there is no machine code yet, and says so
    backend()
    capsys.readouterr()
    code, out, err = typed(
        capsys, "run", "--set=tasks=2", "--set=train_limit=60", "--set=test_limit=20", *TINY[:-1]
    )
    assert (code, err) == (0, [])
    assert "A/B" in "\n".join(out) and (run_folder() / "receptive_fields.png").is_file()


# What a user gets wrong.


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "split-minst"], ["'split-minst'", "did you mean 'split-mnist'"]),
        (["run", "nowhere.toml"], ["nowhere.toml", "No such file"]),
        (["run", "--method", "nbpcl"], ["unknown method 'nbpcl'", "'npbcl'"]),
        (["run", "--set", "epoch=3"], ["unknown key 'epoch'", "did you mean 'epochs'"]),
        (["run", "--set", "epochs"], ["--set takes KEY=VALUE", "'epochs'"]),
        (["run", "--set", "=3"], ["--set takes KEY=VALUE"]),
        (["run", "--set", "epochs=many"], ["epochs must be a whole number", "'many'"]),
        (["run", "--set", "hidden=[]"], ["hidden must be non-empty"]),
        (["run", "--seed", "x"], ["seed must be a whole number", "'x'"]),
        (["run", "--seed", "-1"], ["seed must be in 0", "-1"]),
        (["run", "--set", "samples=2147483647"], ["samples must be in 1 .. 1000"]),
        (["run", "--set", "samples=0"], ["samples must be in 1 .. 1000", "0"]),
        (["run", "--set", "backend=torch"], ["backend must be one of", "'torch'"]),
        (["run", "--set", "dataset=cifar"], ["dataset must be one of", "'cifar'"]),
        (["run", "--set", "tasks=6"], ["tasks must be at most 5", "6"]),
        (["run", "--bogus"], ["unrecognized arguments: --bogus", "--help"]),
        (["run", "--json", "--quiet"], ["not allowed with"]),
        (["walk"], ["'walk'"]),
        (["settings", "vlc"], ["unknown method 'vlc'"]),
        (["data"], ["ACTION"]),
        (["data", "fetch"], ["NAME"]),
        (["data", "fetch", "cifar"], ["'cifar'", "mnist"]),
        (["data", "verify", "cifar"], ["'cifar'", "mnist"]),
        (["data", "verify", "mnist"], ["mnist", "missing", "--data-dir"]),
        (["run", "split-mnist", "--data-dir", "nowhere"], ["nowhere", "missing", "--data-dir"]),
        (["run", "--data", os.devnull], ["a device or a pipe", ".npz"]),
    ],
)
def test_a_slip_of_the_keyboard(capsys, arguments, words):
    complaint = refused(capsys, *arguments)
    assert all(word in complaint for word in words), complaint


@pytest.mark.parametrize(
    "text, words",
    [
        ("epoch = 3", ["unknown key 'epoch'", "'epochs'"]),
        ('epochs = "3"', ["epochs must be a whole number", "text"]),
        ("epochs = ", ["not TOML"]),
        ('experiment = "split-mnits"', ["'split-mnits'", "'split-mnist'"]),
        ("samples = 0", ["samples must be in 1 .. 1000"]),
        ("hidden = [2.5]", ["hidden must be a list of whole numbers"]),
    ],
)
def test_a_slip_in_a_file(capsys, own_folder, text, words):
    (own_folder / "mine.toml").write_text(text)
    complaint = refused(capsys, "run", "mine.toml")
    assert all(word in complaint for word in ["mine.toml", *words]), complaint


def test_a_command_line_that_is_refused_is_refused_in_json_too(capsys):
    assert main(["check", "--json", "--unheard-of"]) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "ok": False,
        "verdict": "refused",
        "error": ("unrecognized arguments: --unheard-of (see `ibpcl --help`)"),
    }
    assert "unrecognized arguments" in printed.err


def test_an_output_folder_that_cannot_be_written(capsys, small_glyphs, own_folder):
    (own_folder / "taken").write_text("a file")
    assert "taken is a file" in refused(capsys, "run", "--out", "taken", *TINY)
    assert "cannot write to the folder taken" in refused(
        capsys, "run", "--out", "taken/below", *TINY
    )
    (own_folder / "thesis").mkdir()
    (own_folder / "thesis" / "thesis.tex").write_text("years of work")
    assert "thesis is not empty" in refused(capsys, "run", "--out", "thesis", "--force", *TINY)
    (own_folder / "runs").write_text("a file")
    assert "runs" in refused(capsys, "run", *TINY)


def labels(*values):
    return idx.encode(np.array(values, np.uint8))


IMAGES, LABELS = FILES[:2]


@pytest.mark.usefixtures("no_figures")
def test_image_files_that_are_as_published(capsys, mnist):
    code, out, err = typed(capsys, "run", "split-mnist", "--data-dir", "data", *TINY)
    assert (code, err) == (0, []) and "0/1" in "\n".join(out)
    code, out, err = typed(capsys, "data", "verify", "--data-dir", "data")
    assert (code, err) == (0, []) and any(line.startswith("mnist: verified") for line in out)
    code, out, err = typed(capsys, "data", "verify", "glyphs")
    assert (code, out, err) == (0, ["glyphs: rendered by the program, nothing to verify"], [])


def test_a_folder_that_is_named_for_bench_must_have_mnist(capsys, own_folder):
    assert "missing" in refused(capsys, "bench", "--quick", "--data-dir", "nowhere")


def test_a_missing_file(capsys, mnist, own_folder):
    (own_folder / "data" / "mnist" / f"{LABELS}.gz").unlink()
    assert f"missing {LABELS}" in refused(capsys, "run", "split-mnist", "--data-dir", "data", *TINY)


@pytest.mark.parametrize(
    "damage, words",
    [
        (
            lambda put: put(
                LABELS, labels(*range(10)), lambda content: gzip.compress(content)[:-9]
            ),
            [LABELS, "truncated"],
        ),
        (lambda put: put(LABELS, b"\0\0\x08\x03" + labels(1, 2)[4:]), [LABELS, "magic"]),
        (lambda put: put(LABELS, labels(1, 2, 3)), [LABELS, "3", "100"]),
        (lambda put: put(LABELS, labels(*[11] * 100)), ["labels", "11"]),
        (lambda put: put(LABELS, labels(*[1] * 100), known=False), [LABELS, "checksum"]),
        (lambda put: put(LABELS, labels(*[0] * 100)), ["2/3", "empty"]),
    ],
    ids=[
        "truncated gzip",
        "magic number",
        "counts",
        "label out of range",
        "checksum",
        "empty task",
    ],
)
def test_a_damaged_file(capsys, mnist, own_folder, damage, words):
    damage(mnist)
    complaint = refused(capsys, "run", "split-mnist", "--data-dir", "data", *TINY)
    assert all(word in complaint for word in words), complaint
    assert not (own_folder / "runs").exists()


def test_a_damaged_file_is_listed(capsys, mnist):
    mnist(LABELS, labels(1, 2, 3), known=False)
    code, out, _ = typed(capsys, "data", "list", "--data-dir", "data")
    line = next(i for i, text in enumerate(out) if text.startswith("mnist"))
    assert code == 0 and "damaged" in out[line] and LABELS in out[line + 1]
    assert LABELS in refused(capsys, "data", "verify", "mnist", "--data-dir", "data")


class Stream(list):
    """Tasks that are built, and so checked, when they are asked for."""

    def __getitem__(self, t):
        sound = {"x_train": [[0.0, 1.0]], "y_train": [0], "x_test": [[1.0, 0.0]], "y_test": [1]}
        return Task(f"task {t}", **sound | list.__getitem__(self, t), classes=2)


@pytest.mark.parametrize(
    "broken, word",
    [
        ({"x_train": [[0.0, np.nan]]}, "finite"),
        ({"x_test": [[np.inf, 0.0]]}, "finite"),
        ({"y_train": [2]}, "0 .. 1"),
        ({"y_test": [-1]}, "0 .. 1"),
        ({"x_train": np.empty((0, 2)), "y_train": np.empty(0, int)}, "empty"),
        ({"x_train": [[0.0] * 3], "x_test": [[0.0] * 3]}, "width 3"),
        ({"y_train": [0, 1]}, "as many rows as x_train"),
    ],
    ids=["NaN", "infinite", "label too high", "label too low", "empty", "another width", "counts"],
)
def test_a_task_that_cannot_be_learned(capsys, monkeypatch, own_folder, broken, word):
    monkeypatch.setattr(run_module, "make_stream", lambda config: Stream([{}, broken]))
    complaint = refused(capsys, "run", *TINY)
    assert "'task 1'" in complaint and word in complaint
    assert not (own_folder / "runs").exists()


def test_an_elbo_that_is_not_finite(capsys, small_glyphs):
    complaint = refused(capsys, "run", *TINY, "--set", "weight_rate=1e30", code=1)
    assert "not finite" in complaint and "learning rates" in complaint
    assert not (run_folder() / "result.json").exists()


def test_more_memory_than_there_is(capsys, small_glyphs):
    complaint = refused(capsys, "run", *TINY, "--set", "hidden=2147483647", code=1)
    assert "not enough memory" in complaint


def test_an_interrupt_is_one_line(capsys, small_glyphs, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("ibpcl.methods.npbcl.NPBCL.learn", interrupted)
    again = f"ibpcl: interrupted; to continue: ibpcl run {' '.join(TINY)}"
    assert refused(capsys, "run", *TINY, code=130) == again
    assert (
        refused(capsys, "run", *TINY, "--fresh", "--out", "a b", code=130) == f"{again} --out 'a b'"
    )


def test_a_mistake_of_the_program_keeps_its_traceback(small_glyphs, monkeypatch):
    def broken(*arguments, **options):
        raise ValueError("shapes (3,) and (4,) do not fit")

    monkeypatch.setattr("ibpcl.methods.npbcl.NPBCL.learn", broken)
    with pytest.raises(ValueError, match="do not fit"):
        main(["run", *TINY])


def test_a_disk_that_fills_is_one_line(capsys, small_glyphs, monkeypatch):
    def full(path, *arguments, **options):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("ibpcl.checkpoints.save", full)
    code, _, err = typed(capsys, "run", "--quiet", *TINY)
    assert code == 2 and len(err) == 1 and "checkpoint.task0.npz: No space left on device" in err[0]


@pytest.fixture
def process(tmp_path_factory):
    """Give a function that runs a command in a process of its own; they share the cache of
    glyphs.
    """

    def start(
        *arguments,
        code="from ibpcl.cli import main; import sys; sys.exit(main(sys.argv[1:]))",
        shell="",
        **env,
    ):
        command = [sys.executable, "-c", code, *arguments]
        if shell:
            command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
        env["XDG_CACHE_HOME"] = str(tmp_path_factory.getbasetemp() / "cache")
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | env)

    return start


QUICK = [*TINY, "--set=train_limit=40", "--set=test_limit=20", "--set=tasks=1"]


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.slow(reason="trainings in processes")
@pytest.mark.parametrize("shell", ["2>&-", ">&- 2>&-"])
def test_a_shell_that_closes_the_streams_does_not_end_a_run(process, shell):
    done = process("run", *QUICK, shell=shell)
    assert (done.returncode, done.stderr) == (0, "") and (run_folder() / "result.json").exists()


@pytest.mark.slow(reason="every command in a process of its own")
def test_without_docstrings_commands_work(process):
    commands = (["run", *QUICK], ["settings", "ewc"], ["methods"])
    done = process(
        code=f"from ibpcl.cli import main; import sys; sys.exit(max(map(main, {commands})))",
        PYTHONOPTIMIZE="2",
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow(reason="the option -OO needs a process")
def test_without_docstrings_what_needs_them_says_so(process):
    done = process("check", PYTHONOPTIMIZE="2")
    assert (
        done.returncode == 2
        and "unset PYTHONOPTIMIZE" in done.stderr
        and len(done.stderr.splitlines()) == 1
    )


@pytest.mark.processes(reason="the start of a process")
def test_an_interrupt_in_the_first_moment_is_one_line(process):
    early = """
import sys
class Interrupt:
    def find_spec(self, name, *rest):
        if name == "ibpcl.cli.execution":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from ibpcl.cli import main
sys.exit(main(["run", "split-glyphs"]))
"""
    done = process(code=early)
    assert done.returncode == 130
    assert done.stderr == "ibpcl: interrupted; to continue: ibpcl run split-glyphs\n"


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("setting", ["prior_sigma=1e-300", "rate_end=1e8"])
def test_absurd_settings_end_in_a_line(capsys, small_glyphs, setting, backend):
    with warnings.catch_warnings(record=True) as warned:  # they would be further lines
        warnings.simplefilter("default")
        code, _, err = typed(
            capsys,
            "run",
            *QUICK,
            "--quiet",
            "--set",
            setting,
            f"--set=backend={backend}",
            "--set=epochs=5",
        )
    told = [line for line in err if not line.startswith("compiling the kernels, once")]
    assert code in (1, 2) and (len(told), warned) == (1, []), (err, warned)


def test_a_folder_without_image_sets_is_not_verified(capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    for place in ("nowhere", "empty"):
        assert f"{place} has no image set" in refused(capsys, "data", "verify", "--data-dir", place)


# What there is to know.


def test_every_experiment_is_listed(capsys):
    for option in ("--list", "--help"):
        with pytest.raises(SystemExit) as stop:
            main(["run", option])
        out = capsys.readouterr().out.splitlines()
        assert stop.value.code in (0, None) and all(len(line) <= WIDTH for line in out)
        listed = [line.split()[0] for line in out if line.endswith(".") and line.startswith("  ")]
        assert listed == list(PRESETS)


def test_every_key_is_documented(capsys):
    _, out, _ = typed(capsys, "settings")
    assert all(len(line) <= WIDTH for line in out)
    out = out[: next(i for i, line in enumerate(out) if line.startswith("Presets"))]
    names = [line.split()[0] for line in out if line.startswith("  ") and line[2] != " "]
    assert names == list(keys("npbcl"))
    assert "  hidden = [200]  (a list of whole numbers, non-empty, all at least 1)" in out


def test_every_image_set_is_listed(capsys):
    _, out, _ = typed(capsys, "data", "list")
    assert [line.split()[0] for line in out] == list(registry.available())


def test_no_command_shows_the_help(capsys):
    code, out, _ = typed(capsys)
    assert code == 0 and "COMMAND" in "\n".join(out)


@pytest.mark.parametrize("count, full", [(1, True), (5, True), (6, False), (30, False)])
def test_the_table_fits_the_width(count, full):
    names = tuple(f"T-shirt/Trouser{t}"[:16] for t in range(count))
    table = AccuracyTable(names)
    assert table.full == full
    accuracy = np.tril(np.full((count, count), 1.0))
    accuracy[-1, 0] = 0.5
    row = table.row(
        Report(Progress(count - 1, names[-1], accuracy, accuracy[-1], [], 1234.0, 5.0), 0.5, names)
    )
    assert len(row) == len(table.header()) <= WIDTH
    assert "50.00" in row and row.endswith("50.0  1239.0")


def in_a_process(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=600, check=True
    ).stdout


@pytest.mark.starts(reason="the start of a process")
def test_the_module_runs_as_a_program():
    assert in_a_process("-m", "ibpcl", "--version") == f"ibpcl {ibpcl.__version__}\n"


@pytest.mark.processes(reason="the start of a process")
def test_help_and_version_load_nothing_heavy():
    code = """
import sys
from ibpcl.cli import main
try:
    main(["run", "--help"])
finally:
    print(sorted({"numpy", "scipy", "matplotlib", "numba", "tqdm"} & sys.modules.keys()))
"""
    out = in_a_process("-c", code)
    assert "split-glyphs" in out and out.endswith("\n[]\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--resume", ""], "resume must not be empty"),
        (["run", "--out", ""], "out must not be empty"),
        (["data", "list", "--data-dir", ""], "data_dir must not be empty"),
        (["run", "--resume", "x", "--force"], "leave out force"),
        (["run", "--set", "alpha=nan"], "alpha must be finite"),
        (["data", "list", "--data-dir", "~no-such-user/x"], "write the folder without ~"),
        (["reproduce", "accuracy", "--methods", ","], "--methods names no row"),
        (["check", "--list", "--paper"], "--list cannot be combined with --paper"),
    ],
)
def test_what_would_be_taken_for_something_else_is_refused(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('preset = ["paper"]', "preset must be text"),
        ("alpha = 1" + 400 * "0", "alpha is too large"),
    ],
)
def test_a_file_with_what_no_key_can_hold_is_refused(text, message, tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    assert main(["run", str(tmp_path / "mine.toml")]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow(reason="a training")
@pytest.mark.parametrize("epoch", ["abc", "", "-1", "1.5"])
def test_a_time_of_the_build_that_others_would_stumble_over_is_named(capsys, monkeypatch, epoch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert "SOURCE_DATE_EPOCH must be a whole number" in refused(capsys, "methods")


def test_weights_that_overflow_in_the_last_step_are_told(tmp_path, capsys):
    assert (
        main(
            [
                "run",
                "--method",
                "naive",
                "--set=rate=1e30",
                "--set=epochs=1",
                "--set=train_limit=64",
                "--set=tasks=1",
                "--quiet",
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 1
    )
    assert (
        "predictions of task 1 are not finite; lower the learning rates" in capsys.readouterr().err
    )
