"""Searches for settings: what is tried, what it is scored on, what is recorded, and the records
that are kept.
"""

import csv
import math
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from quick import quick

from ibpcl import storage
from ibpcl.cli import main
from ibpcl.data import registry
from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments import tune as tune_module
from ibpcl.experiments.config import configure, keys
from ibpcl.experiments.presets import PRESETS
from ibpcl.experiments.record import MAKER, Trial, record, recorded, this_program, write
from ibpcl.experiments.search import DIGEST, HALVING, LEARNER_SEED, VALIDATION, plan, settings_of
from ibpcl.experiments.search_spaces import SPACES, TRIALS, Choice
from ibpcl.experiments.streams import make_stream
from ibpcl.experiments.sweep import Workers
from ibpcl.experiments.tune import best, tune
from ibpcl.experiments.tuned import TUNED
from ibpcl.methods import METHODS
from ibpcl.methods.ewc import EWC
from ibpcl.methods.naive import Naive

TINY = {"hidden": "6", "tasks": "2", "backend": "numpy", "batch": "20", "epochs": "2"}
RECORDS = Path(__file__).parents[2] / "benchmarks" / "settings"


def lines(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [
            {key: cell for key, cell in row.items() if key != "seconds"}
            for row in csv.DictReader(file)
        ]


# What is tried.


def test_every_method_can_be_searched():
    assert set(SPACES) == set(METHODS)


@pytest.mark.parametrize("method", SPACES)
def test_whatever_is_drawn_can_be_run(method):
    assert SPACES[method].keys() <= keys(method).keys()
    rng = np.random.default_rng(0)
    for _ in range(20):
        drawn = {key: where.draw(rng) for key, where in SPACES[method].items()}
        settings = configure("split-glyphs", method=method, **drawn).settings
        assert {key: getattr(settings, key) for key in drawn} == drawn
        for key, where in SPACES[method].items():
            assert (
                drawn[key] in where.values
                if isinstance(where, Choice)
                else where.low <= drawn[key] <= where.high
            )


def test_the_first_trial_has_the_settings_as_they_are():
    search = plan("split-glyphs", "ewc")
    defaults = configure("split-glyphs", method="ewc").settings
    assert settings_of(search, 0) == {key: getattr(defaults, key) for key in SPACES["ewc"]}


def test_a_trial_is_a_function_of_the_seed_and_its_number():
    first, again, other = (settings_of(plan("split-glyphs", "ewc", seed), 3) for seed in (0, 0, 1))
    assert first == again != other
    assert len({str(settings_of(plan("split-glyphs", "ewc"), n)) for n in range(8)}) == 8


def test_methods_share_what_they_have_in_common():
    naive, ewc, hat = (
        settings_of(plan("split-glyphs", method), 5) for method in ("naive", "ewc", "hat")
    )
    assert naive.items() <= ewc.items() and naive.items() <= hat.items()


def test_no_method_has_more_epochs_than_npbcl_and_each_may_have_as_many():
    most = {
        "split-mnist": 12_000,
        "split-notmnist": 3_000,
        "permuted-mnist": 60_000,
        "split-fashion-mnist": 12_000,
    }
    for experiment, examples in most.items():
        allowed = sum(configure(experiment, method="npbcl").settings.epochs_for(examples))
        for method in SPACES.keys() - {"npbcl", "m2"}:  # the two phases of an epoch of NPBCL
            values = plan(experiment, method).space["epochs"].values
            assert max(values) == allowed or (experiment, max(values)) == ("split-mnist", 15), (
                experiment,
                method,
            )


# What it is scored on.


def test_the_test_set_changes_nothing(tmp_path, drawn, monkeypatch):
    results = []
    for tests, blank in ((100, False), (40, True)):
        images = drawn("glyphs", tests=tests)
        if blank:
            images = images._replace(test_images=np.zeros_like(images.test_images))
        monkeypatch.setattr(registry, "load", lambda *rest, images=images: images)
        search = plan(
            "split-glyphs",
            "naive",
            texts=TINY | {"rate": "0.05", "epochs": "9"},
            out=tmp_path / str(tests),
        )
        # it has learned: blank images are told by chance
        assert tune(search, 2)[0].accuracy > 0.7
        results.append(lines(search.record))
    assert results[0] == results[1]


def test_the_score_is_the_mean_over_learners_on_examples_held_out_of_training(tmp_path, drawn):
    texts = TINY | {"rate": "0.05"}
    search = plan("split-glyphs", "naive", repeats=2, texts=texts, out=tmp_path)
    (trial,) = tune(search, 1)
    texts |= {"validation": str(VALIDATION)}
    found = [
        tune_module.run(
            configure("split-glyphs", texts, method="naive", seed=LEARNER_SEED + i), progress=False
        )
        for i in range(2)
    ]
    assert trial.accuracy == pytest.approx(
        np.mean([one.result["average_accuracy"] for one in found]), abs=1e-6
    )
    assert len({one.result["average_accuracy"] for one in found}) == 2
    task = make_stream(found[0].config)[0]
    # of 40, not the 20 for tests
    assert (len(task.x_train), len(task.x_test)) == (36, 4)


def test_the_validation_of_a_file_counts(tmp_path):
    (tmp_path / "mine.toml").write_text('validation = 0.3', encoding="utf-8")
    assert plan(tmp_path / "mine.toml", "naive").fixed["validation"] == 0.3
    assert plan("split-glyphs", "naive").fixed["validation"] == VALIDATION


def test_that_the_record_can_be_written_is_made_sure_before_the_first_trial(
    tmp_path, drawn, monkeypatch
):
    (tmp_path / "file").write_text("here already")
    monkeypatch.setattr(tune_module, "_attempt", None)
    with pytest.raises(UserError, match=r"cannot write .*`out`"):
        tune(plan("split-glyphs", "naive", out=tmp_path / "file"), 1)


def test_a_search_for_nothing_is_refused(tmp_path):
    with pytest.raises(UserError, match="nothing is left to search"):
        plan(
            "split-glyphs",
            "naive",
            texts={
                key: str(getattr(configure(method="naive").settings, key))
                for key in SPACES["naive"]
            },
            out=tmp_path,
        )


def test_a_search_does_not_go_without_validation(tmp_path):
    with pytest.raises(UserError, match="validation must be a share"):
        plan("split-glyphs", "naive", texts={"validation": "none"})


# What is recorded.


def test_a_search_that_was_stopped_goes_on_to_the_same_record(tmp_path, drawn, monkeypatch):
    whole = plan("split-glyphs", "ewc", texts=TINY, out=tmp_path / "whole")
    tune(whole, 4)
    parts = plan("split-glyphs", "ewc", texts=TINY, out=tmp_path / "parts")
    seen = []
    run = tune_module.run

    def stopping(config, *folder, **options):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(config)
        return run(config, *folder, **options)

    with monkeypatch.context() as patched:
        patched.setattr(tune_module, "run", stopping)
        with pytest.raises(KeyboardInterrupt):
            tune(parts, 4)
    assert len(recorded(parts)) == 2
    new = []
    trials = tune(parts, 4, new.append)
    assert [trial.number for trial in new] == [2, 3]
    assert lines(parts.record) == lines(whole.record)
    first, second = (
        [trial._replace(seconds=0.0) for trial in each] for each in (trials, recorded(whole))
    )
    assert first == second
    assert len(tune(parts, 3)) == 3 and len(lines(parts.record)) == 4  # a longer record stays


@pytest.mark.parametrize("method", SPACES)
def test_whatever_is_drawn_is_read_from_the_record_again(method, tmp_path):
    """Also a column in which some trials have a number and others a word."""
    search = plan("split-glyphs", method, out=tmp_path)
    trials = [Trial(n, settings_of(search, n), 0.9, -0.01, 1.5) for n in range(20)]
    write(search, trials)
    assert recorded(search) == trials


def test_what_is_set_is_not_searched_and_stands_in_the_record(tmp_path, drawn):
    search = plan("split-glyphs", "ewc", texts=TINY | {"weight": "7"}, out=tmp_path)
    assert "weight" not in search.space and "epochs" not in search.space and "rate" in search.space
    tune(search, 2)
    for line in lines(search.record):
        assert (line["weight"], line["epochs"], line["tasks"], line["hidden"]) == (
            "7.0",
            "2",
            "2",
            "[6]",
        )
        assert (line["validation"], line["search_seed"]) == (str(VALIDATION), "0")
    assert search.record == tmp_path / "split-glyphs-ewc.csv"


@pytest.mark.parametrize(
    "other, difference",
    [
        ({"seed": 1}, "search_seed = 0 in line 2, not 1"),
        ({"repeats": 2}, "repeats = 1"),
        ({"texts": TINY | {"tasks": "3"}}, "tasks = 2 in line 2, not 3"),
        ({"texts": TINY | {"decay": "0.5"}}, "columns"),
    ],
)
def test_the_record_of_another_search_is_left_alone(tmp_path, drawn, other, difference):
    search = plan("split-glyphs", "ewc", texts=TINY, out=tmp_path)
    tune(search, 1)
    before = search.record.read_bytes()
    with pytest.raises(UserError, match="belongs to another search") as refused:
        tune(plan("split-glyphs", "ewc", **{"texts": TINY, "out": tmp_path, **other}), 2)
    assert difference in str(refused.value) and "`out`" in str(refused.value)
    assert search.record.read_bytes() == before


def test_the_record_of_a_file_is_not_gone_on_with_once_the_file_says_something_else(
    tmp_path, drawn, monkeypatch
):
    path = tmp_path / "mine.toml"
    texts = {key: text for key, text in TINY.items() if key != "tasks"}

    def say(tasks, more=""):
        path.write_text(f'dataset = "glyphs"\ntasks = {tasks}\n{more}', encoding="utf-8")
        return plan(str(path), "naive", texts=texts, out=tmp_path)

    search = say(1)
    tune(search, 2)
    before = search.record.read_bytes()
    for other in ((2,), (1, 'start = "he"\n')):
        with pytest.raises(
            UserError, match="belongs to another search: it differs in keys that have no column"
        ):
            tune(say(*other), 3)
    run = tune_module.run
    with monkeypatch.context() as patched:
        patched.setattr(
            tune_module,
            "run",
            lambda config, *rest, **options: say(2) and run(config, *rest, **options),
        )
        with pytest.raises(UserError, match=r"mine\.toml was changed during the search"):
            tune(say(1), 3)
    assert search.record.read_bytes() == before
    assert len(tune(say(1, 'data_dir = "elsewhere"\n'), 3)) == len(lines(search.record)) == 3


def test_a_record_without_the_digest_is_gone_on_with(tmp_path, drawn):
    search = plan("split-glyphs", "naive", texts=TINY, out=tmp_path)
    tune(search, 1)
    columns = storage.read_csv(search.record)
    del columns[DIGEST]
    storage.write_csv(search.record, columns)  # as those of benchmarks/settings are
    assert [trial.number for trial in tune(search, 2)] == [0, 1]
    assert len({line[DIGEST] for line in lines(search.record)}) == 1


def test_each_line_names_the_program_that_made_it_and_old_ones_need_not(tmp_path, drawn):
    search = plan("split-glyphs", "naive", texts=TINY, out=tmp_path)
    tune(search, 1)
    columns = storage.read_csv(search.record)
    for name in MAKER:
        del columns[name]
    storage.write_csv(search.record, columns)
    first, second = tune(search, 2)
    assert first.maker == ("", "", "") and second.maker == this_program()
    assert [line["versions"] for line in lines(search.record)] == ["", this_program()[2]]
    assert recorded(search) == [first, second]


def test_two_processes_share_the_trials(tmp_path, drawn, monkeypatch):
    search = plan("split-glyphs", "naive", texts=TINY, out=tmp_path)
    run = tune_module.run
    seen = []
    told = []

    def shared(config, folder, *rest, **options):
        seen.append(folder.name)
        # while the first process is at work on trial 0
        if len(seen) == 1:
            with ThreadPoolExecutor() as pool:
                second = pool.submit(tune, search, 3)
                # it takes the other two, and waits for this one
                while len(recorded(search)) < 2:
                    assert not second.done()
                    time.sleep(0.02)
                waiting.append(second)
                return run(config, folder, *rest, **options)
        return run(config, folder, *rest, **options)

    waiting = []
    monkeypatch.setattr(tune_module, "run", shared)
    monkeypatch.setattr(
        ThreadPoolExecutor, "__exit__", lambda self, *error: self.shutdown(wait=False)
    )
    trials = tune(search, 3, told.append)
    assert waiting[0].result() == trials == recorded(search)
    assert sorted(seen) == ["trial-0-0", "trial-1-0", "trial-2-0"]  # none twice
    assert sorted(trial.number for trial in told) == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".split-glyphs-naive.csv.lock",
        "split-glyphs-naive.csv",
    ]


def test_a_trial_that_was_killed_goes_on_where_it_was(tmp_path, drawn, interrupted, monkeypatch):
    search = plan("split-glyphs", "naive", texts=TINY, repeats=2, out=tmp_path / "parts")
    # in the second task of the second learner, two epochs each
    with interrupted(7), pytest.raises(KeyboardInterrupt):
        tune(search, 1)
    learned = []
    learn = Naive.learn
    monkeypatch.setattr(
        Naive,
        "learn",
        lambda self, task, *rest: learned.append(task.name) or learn(self, task, *rest),
    )
    tune(search, 1)
    assert learned == ["C/D"]
    whole = plan("split-glyphs", "naive", texts=TINY, repeats=2, out=tmp_path / "whole")
    tune(whole, 1)
    assert lines(search.record) == lines(whole.record)


@pytest.fixture
def only_default_trains(monkeypatch):
    """Let training fail for every rate but the default."""
    run = tune_module.run

    def failing(config, *folder, **options):
        if config.settings.rate != 0.001:
            raise TrainingError("the loss is not finite")
        return run(config, *folder, **options)

    monkeypatch.setattr(tune_module, "run", failing)


def test_a_trial_that_fails_is_recorded_and_never_the_best(tmp_path, drawn, only_default_trains):
    search = plan("split-glyphs", "naive", texts=TINY, out=tmp_path)
    trials = tune(search, 3)
    assert [math.isnan(trial.accuracy) for trial in trials] == [False, True, True]
    assert best(recorded(search)).number == 0 and lines(search.record)[1]["accuracy"] == ""
    with pytest.raises(TrainingError, match="no trial of 2"):
        best(trials[1:])


def test_the_first_of_several_best_trials_is_the_best():
    trials = [
        Trial(n, {}, accuracy, 0.0, 1.0) for n, accuracy in enumerate((0.5, 0.9, math.nan, 0.9))
    ]
    assert best(trials).number == 1


# Successive halving, and several workers.

HALVED = {**TINY, "tasks": "4", "epochs": "9"}


def halved(out, **options):
    return plan("split-glyphs", "ewc", texts=HALVED, out=out, halving=4, **options)


def test_halving_lets_the_better_half_go_on_to_the_same_scores(tmp_path, drawn, monkeypatch):
    whole = tune(plan("split-glyphs", "ewc", texts=HALVED, out=tmp_path / "whole"), 4)
    told = []
    search = halved(tmp_path / "halved")
    learned = []
    learn = EWC.learn
    monkeypatch.setattr(
        EWC,
        "learn",
        lambda self, task, *rest: learned.append(task.name) or learn(self, task, *rest),
    )
    trials = tune(search, 4, told.append)
    assert [learned.count(name) for name in ("A/B", "C/D", "E/F", "G/H")] == [4, 2, 1, 1]
    assert [trial.tasks for trial in trials].count(1) == 2 and [
        trial.tasks for trial in trials
    ].count(2) == 1
    # the settings as they are, for comparison
    assert trials[0].tasks == 4
    for trial in trials:
        if trial.tasks == 4:
            assert trial._replace(tasks=None, seconds=0) == whole[trial.number]._replace(seconds=0)
    assert sorted(trial.number for trial in told) == [0, 1, 2, 3] and str(trials) == str(
        recorded(search)
    )
    assert best(trials).tasks == 4
    assert sorted(path.name for path in search.record.parent.iterdir()) == [
        ".split-glyphs-ewc.csv.lock",
        "split-glyphs-ewc.csv",
    ]


def test_a_round_ranks_by_the_log_likelihood_on_the_tasks_so_far(tmp_path, drawn):
    search = halved(tmp_path)
    trials = tune(search, 4)
    first = [
        tune_module.run(
            configure(
                "split-glyphs",
                search.texts | {"tasks": "1"},
                method="ewc",
                seed=LEARNER_SEED,
                **settings_of(search, number),
            ),
            progress=False,
        ).result["log_likelihood"][0]
        for number in range(4)
    ]
    stopped = [first[trial.number] for trial in trials if trial.tasks == 1]
    others = [first[trial.number] for trial in trials if trial.tasks > 1 and trial.number > 0]
    assert len(stopped) == 2 and max(stopped) < min(others)


def test_a_trial_that_another_process_has_let_go_on_goes_on(tmp_path, drawn):
    search = halved(tmp_path)
    trial, _ = tune_module._job(search, 1, None).run(lambda report: None)
    assert trial.tasks == 4
    assert tune_module._job(search, 1, 2).run(lambda report: None)[1] == math.inf
    record(search, [trial])
    assert tune_module._job(search, 1, 2).run(lambda report: None) is None


@pytest.mark.parametrize(
    "after", quick(["45"], [20, 45, 60], "some trials are over then, one is not")
)
def test_a_search_with_halving_that_was_interrupted_goes_on_to_the_same_record(
    tmp_path, drawn, interrupted, after
):
    whole = halved(tmp_path / "whole")
    parts = halved(tmp_path / "parts")
    tune(whole, 4)
    with interrupted(after), pytest.raises(KeyboardInterrupt):
        tune(parts, 4)
    tune(parts, 4)
    assert lines(parts.record) == lines(whole.record)


@pytest.mark.parametrize(
    "halving",
    [
        pytest.param(
            None,
            marks=pytest.mark.slow(
                reason="three searches, and a search with halving does all of it"
            ),
        ),
        4,
    ],
)
def test_workers_and_their_order_do_not_change_the_record(tmp_path, drawn, halving):
    records = []
    for name, workers in (("serial", None), ("two", 2), ("four", 4)):
        search = plan("split-glyphs", "naive", texts=HALVED, out=tmp_path / name, halving=halving)
        with ThreadPoolExecutor(workers) as pool:
            tune(search, 4, workers=workers and Workers(Backwards(pool)))
        records.append(lines(search.record))
    assert records[0] == records[1] == records[2] and len(records[0]) == 4


class Backwards:
    """An executor that begins with what was submitted last."""

    def __init__(self, pool):
        self.pool = pool
        self.waiting = []

    def submit(self, *call):
        future = Future()
        self.waiting.append((future, call))
        self.pool.submit(self.work)
        return future

    def work(self):
        time.sleep(0.02)  # until all are there
        future, (function, *arguments) = self.waiting.pop()
        future.set_result(function(*arguments))


def test_a_failed_trial_never_goes_on(tmp_path, drawn, only_default_trains):
    search = halved(tmp_path)
    trials = tune(search, 4)
    assert [trial.tasks for trial in trials] == [4, 0, 0, 0] and best(trials).number == 0
    assert [math.isnan(trial.accuracy) for trial in recorded(search)] == [False, True, True, True]


def test_a_trial_whose_workers_died_is_named_and_not_recorded_and_the_others_are(tmp_path, drawn):
    class Dying(ThreadPoolExecutor):
        def submit(self, function, run, *rest):
            if run.args[1] != 1:  # the number of the trial
                return super().submit(function, run, *rest)
            future = Future()
            future.set_exception(
                RuntimeError("Attempted on 3 workers, which died. Look at the logs.")
            )
            return future

    search = plan("split-glyphs", "naive", texts=TINY, out=tmp_path)
    with (
        pytest.raises(
            TrainingError,
            match=r"trial 1: no worker .*: Attempted on 3 workers, which died; the other",
        ),
        Dying(1) as pool,
    ):
        tune(search, 3, workers=Workers(pool))
    assert [trial.number for trial in recorded(search)] == [0, 2]
    assert [trial.number for trial in tune(search, 3)] == [0, 1, 2]


def test_halving_is_planned_for_a_number_of_trials(tmp_path, drawn):
    with pytest.raises(UserError, match="trials must be 4 in this search, got 8"):
        tune(halved(tmp_path), 8)
    for texts, trials in (({**TINY, "tasks": "1"}, 4), (TINY, 1)):
        with pytest.raises(UserError, match="`halving` needs at least 2 trials and 2 tasks"):
            plan("split-glyphs", "ewc", texts=texts, out=tmp_path, halving=trials)


# The command.


def test_the_command_prints_trials_and_how_to_use_the_best(tmp_path, drawn, capsys):
    texts = [f"--set={key}={text}" for key, text in TINY.items()]
    code = main(
        ["tune", "split-glyphs", "--method", "ewc", "--trials", "2", "--out", str(tmp_path), *texts]
    )
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    found = best(recorded(plan("split-glyphs", "ewc", texts=TINY, out=tmp_path)))
    assert (
        f"best of 2: trial {found.number}, {100 * found.accuracy:.2f} % on validation data" in out
    )
    command = next(line for line in out.splitlines() if line.startswith("use it:")).split()[3:]
    assert command[:3] == ["run", "split-glyphs", "--method"]
    values = dict(word.split("=") for word in command if "=" in word)
    assert values["variant"] == found.settings["variant"] and values["hidden"] == "6"
    assert float(values["rate"]) == found.settings["rate"]


def test_the_command_to_use_the_best_is_of_the_same_experiment_but_on_all_data(
    tmp_path, drawn, capsys
):
    texts = {
        "preset": "unweighted",
        "stream": "permuted",
        "data_dir": "here",
        "validation": "0.2",
        "train_limit": "30",
    }
    assert (
        main(
            [
                "tune",
                "split-glyphs",
                "--method",
                "npbcl",
                "--trials",
                "1",
                "--out",
                str(tmp_path),
                *(
                    f"--set={key}={text}"
                    for key, text in (TINY | texts | {"start_rho": "4"}).items()
                ),
            ]
        )
        == 0
    )
    command = next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith("use it:")
    ).split()
    given = dict(word.split("=") for word in command if "=" in word)
    used = configure("split-glyphs", given, method="npbcl")
    assert (used.preset, used.stream, used.tasks, used.data_dir) == (
        "unweighted",
        "permuted",
        2,
        "here",
    )
    assert used.validation is used.train_limit is None
    alone = configure("split-glyphs", {"preset": "unweighted"}, method="npbcl")
    assert used.settings.mask_link == alone.settings.mask_link


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch", "--method", "ewc"], ["unknown experiment 'nosuch'"]),
        (["split-glyphs", "--method", "nobody"], ["unknown method 'nobody'", "known:"]),
        (["split-glyphs"], ["--method"]),
        (["domain-glyphs", "--method", "hat"], ["hat", "domain", "naive"]),
        (
            ["split-glyphs", "--method", "ewc", "--trials", "0"],
            ["--trials: must be in 1 .. 1000000"],
        ),
        (
            ["split-glyphs", "--method", "ewc", "--trials", "99999999999"],
            ["--trials: must be in 1 .. 1000000"],
        ),
        (["split-glyphs", "--method", "ewc", "--repeats", "0"], ["repeats must be in 1 .."]),
        (["split-glyphs", "--method", "ewc", "--seed", "-1"], ["seed must be in 0 .."]),
        (["split-glyphs", "--method", "ewc", "--set", "seed=3"], ["--seed"]),
        (["split-glyphs", "--method", "ewc", "--set", "epoch=3"], ["did you mean 'epochs'"]),
        (["terrain", "--method", "npbcl"], ["R^2"]),
    ],
)
def test_a_slip_is_one_line(arguments, words, tmp_path, capsys):
    code = main(["tune", *arguments, "--out", str(tmp_path / "out")])
    out, err = capsys.readouterr()
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert all(word in err for word in words), err
    assert not (tmp_path / "out").exists()


# The records that are kept.


def test_the_tuned_settings_are_the_best_trials_of_the_records():
    names = {f"{experiment}-{method}" for experiment in PRESETS for method in METHODS}
    found = {path.stem: lines(path) for path in RECORDS.glob("*.csv") if path.stem in names}
    assert found.keys() == {
        f"{experiment}-{method}" for experiment, methods in TUNED.items() for method in methods
    }
    for experiment, methods in TUNED.items():
        for method, settings in methods.items():
            first = found[f"{experiment}-{method}"][0]
            texts = {"validation": str(VALIDATION)} | {
                key: first[key] for key in ("train_limit",) if key in first
            }
            search = plan(
                experiment,
                method,
                repeats=int(first["repeats"]),
                texts=texts,
                out=RECORDS,
                halving=int(first[HALVING]) if HALVING in first else None,
            )
            # it is of the space that is declared now
            trials = recorded(search)
            assert best(trials).settings == settings
            assert len(trials) == TRIALS  # the same budget for all
            config = configure(experiment, method=method, preset="tuned")
            assert {key: getattr(config.settings, key) for key in settings} == settings


def test_there_is_no_tuned_preset_without_a_search():
    with pytest.raises(
        UserError, match="preset must be one of default for method naive here, got 'tuned'"
    ):
        configure("split-glyphs", method="naive", preset="tuned")


def test_tuned_settings_are_shown_with_the_presets(capsys, monkeypatch):
    monkeypatch.setitem(TUNED, "domain-glyphs", {"naive": {"rate": 0.02}})
    assert main(["settings", "naive"]) == 0
    assert "tuned (in domain-glyphs): rate = 0.02" in capsys.readouterr().out
    assert configure("domain-glyphs", method="naive", preset="tuned").settings.rate == 0.02


def test_tuned_settings_are_over_those_of_the_experiment(monkeypatch):
    monkeypatch.setitem(TUNED, "split-glyphs", {"npbcl": {"alpha": 20.0}})
    config = configure("split-glyphs", preset="tuned")
    # a search starts from 4 samples there
    assert (config.settings.alpha, config.settings.samples) == (20.0, 4)
