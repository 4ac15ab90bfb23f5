import sys
from dataclasses import fields

import pytest

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments.config import NEWER, OPTIONAL, RunConfig, configure, keys, run_keys
from ibpcl.experiments.presets import PRESETS
from ibpcl.inference.backend import BACKENDS
from ibpcl.methods import ABOUT, GENERATIVE, METHODS, method


def write(tmp_path, text, name="mine.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", METHODS)
def test_a_methods_settings_have_documentation_and_no_key_of_the_run(name):
    settings = {f.name for f in fields(method(name).settings)}
    assert not settings & (run_keys().keys() | {"settings"})
    for key, declared in keys(name).items():
        assert declared.doc.endswith("."), key


@pytest.mark.parametrize("name", [name for name in PRESETS if PRESETS[name].asks != "images"])
def test_every_preset_is_a_configuration_for_every_method_that_can(name):
    for method_name in METHODS:
        if PRESETS[name].asks not in ABOUT[method_name].can:
            with pytest.raises(
                UserError, match=f"method {method_name} .*{PRESETS[name].asks}.*npbcl"
            ):
                configure(name, method=method_name)
            continue
        config = configure(name, method=method_name)
        assert (config.experiment, config.method) == (name, method_name)
        for key, value in {
            **PRESETS[name].run,
            **PRESETS[name].methods.get(method_name, {}),
        }.items():
            assert config.table[key] == (list(value) if isinstance(value, tuple) else value)


def test_every_method_for_images_has_settings_for_the_small_ones():
    assert PRESETS["vae-glyphs"].methods.keys() == {*GENERATIVE}


def test_an_experiment_with_one_head_has_one_whatever_else_is_chosen(tmp_path):
    assert not configure("split-mnist").settings.single_head
    for config in (
        configure("domain-mnist"),
        configure("domain-mnist", preset="paper"),
        configure(write(tmp_path, 'experiment = "domain-mnist"\nmethod = "ewc"\n')),
    ):
        assert config.settings.single_head
    with pytest.raises(UserError, match=r"single_head must be true.*domain"):
        configure("domain-mnist", {"single_head": "false"})


def test_the_default_runs_offline_with_the_first_backend():
    config = configure()
    assert (config.experiment, config.dataset, config.backend) == (
        "split-glyphs",
        "glyphs",
        BACKENDS[0],
    )
    assert RunConfig().settings == method("npbcl").settings()


def test_each_layer_wins_over_the_one_before(tmp_path):
    path = write(tmp_path, 'experiment = "split-mnist"\nepochs = 2\nsamples = 3\nbatch = 10\n')
    config = configure(path, {"samples": "5", "batch": "20"}, batch=30)
    assert config.experiment == "split-mnist" and config.dataset == "mnist"
    assert (config.settings.epochs, config.settings.samples, config.settings.batch) == (2, 5, 30)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {
            "hidden": (7, 3),
            "train_limit": 10,
            "seed": 2**63 - 1,
            "mask_kl_weight": 1 / 784,
            "activation": "tanh",
        },
        {"data_dir": "some/place", "test_limit": 4},
        {"tasks": 2, "backend": "numpy", "experiment": "another-name"},
    ],
)
def test_the_resolved_configuration_reads_back_as_itself(tmp_path, changes):
    config = configure("permuted-mnist", **changes)
    storage.write_toml(tmp_path / "config.toml", config.table)
    again = configure(tmp_path / "config.toml")
    assert again == config
    all_keys = keys("npbcl").keys()
    assert again.table.keys() | (all_keys & {*OPTIONAL, *NEWER}) == all_keys


def test_a_newer_setting_is_in_the_configuration_only_if_it_is_not_the_default(tmp_path):
    assert not configure("split-glyphs").table.keys() & set(NEWER)
    config = configure("split-glyphs", growth="greedy")
    assert config.table["growth"] == "greedy" and "grow_by" not in config.table
    storage.write_toml(tmp_path / "config.toml", config.table)
    assert configure(tmp_path / "config.toml") == config


@pytest.mark.parametrize("way", [False, True, "first", "joint", "ones"])
def test_one_mask_is_switched_on_or_named(tmp_path, way):
    config = configure("split-glyphs", shared_mask=way)
    storage.write_toml(tmp_path / "config.toml", config.table)
    again = configure(tmp_path / "config.toml")
    assert again == config and again.settings.shared_mask == way
    assert type(again.settings.shared_mask) is type(way)
    assert configure("split-glyphs", {"shared_mask": str(way).lower()}) == config


@pytest.mark.parametrize("way", ["second", 1, None])
def test_another_way_to_one_mask_is_refused(way):
    with pytest.raises(UserError, match="shared_mask"):
        configure("split-glyphs", shared_mask=way)


def test_the_resolved_configuration_does_not_lean_on_presets(tmp_path, monkeypatch):
    config = configure("split-glyphs")
    storage.write_toml(tmp_path / "config.toml", config.table)
    monkeypatch.setitem(
        PRESETS,
        "split-glyphs",
        PRESETS["split-glyphs"]._replace(
            run={"train_limit": 7, "tasks": 1}, methods={"npbcl": {"samples": 77}}
        ),
    )
    assert configure(tmp_path / "config.toml") == config


def test_a_file_without_experiment_is_called_like_itself(tmp_path):
    config = configure(write(tmp_path, "tasks = 2\n", "quick-look.toml"))
    assert config.experiment == "quick-look"
    assert config.settings == method("npbcl").settings()


def test_a_file_with_a_name_of_its_own_says_what_it_runs_on(tmp_path):
    text = 'experiment = "split-digits"\n'
    with pytest.raises(
        UserError,
        match=r"mine.toml: unknown experiment 'split-digits'.*must set dataset and stream",
    ):
        configure(write(tmp_path, text))
    config = configure(write(tmp_path, text + 'dataset = "glyph_digits"\nstream = "split"\n'))
    assert (config.experiment, config.dataset) == ("split-digits", "glyph_digits")


@pytest.mark.parametrize(
    "name, nearest", [("split-minst", "split-mnist"), ("Split-glyphs", "split-glyphs")]
)
def test_an_unknown_experiment_has_a_nearest_one(name, nearest):
    with pytest.raises(UserError, match=f"did you mean '{nearest}'"):
        configure(name)


@pytest.mark.parametrize("origin", ["text", "value", "file"])
def test_an_unknown_key_has_a_nearest_one(tmp_path, origin):
    with pytest.raises(
        UserError, match=r"unknown key 'mask_rte'.*did you mean 'mask_rate'"
    ) as error:
        if origin == "text":
            configure(texts={"mask_rte": "0.1"})
        elif origin == "value":
            configure(mask_rte=0.1)
        else:
            configure(write(tmp_path, "mask_rte = 0.1\n"))
    assert ("mine.toml" in str(error.value)) == (origin == "file")


def test_a_key_that_is_like_no_other_is_told_where_to_look():
    with pytest.raises(UserError, match=r"unknown key 'zzz'.*`ibpcl settings npbcl`"):
        configure(zzz=1)


@pytest.mark.parametrize(
    "line, expected",
    [
        ('epochs = "five"', "epochs must be a whole number, got 'five' (text)"),
        ("epochs = 2.5", "epochs must be a whole number, got 2.5 (a number)"),
        ("hidden = [true]", "hidden must be a list of whole numbers, got [true] (a list)"),
        ("seed = false", "seed must be a whole number, got false (true or false)"),
        ("dataset = 3", "dataset must be text, got 3 (a whole number)"),
        ("experiment = 3", "experiment must be text, got 3 (a whole number)"),
        ("method = 3", "method must be text, got 3 (a whole number)"),
        ("[alpha]\nx = 1", "alpha must be a number, got {'x': 1} (a table)"),
    ],
)
def test_a_wrong_type_in_a_file(tmp_path, line, expected):
    with pytest.raises(UserError) as error:
        configure(write(tmp_path, line))
    assert str(error.value) == f"{tmp_path / 'mine.toml'}: {expected}"


@pytest.mark.parametrize(
    "changes, key",
    [
        ({"tasks": 0}, "tasks"),
        ({"seed": -1}, "seed"),
        ({"data_seed": 2**63}, "data_seed"),
        ({"dataset": "terrain", "stream": "strips", "shuffled": True}, "shuffled must be false"),
        ({"stream": "classes", "method": "vae_npbcl", "shuffled": True}, "shuffled must be false"),
        ({"train_limit": 0}, "train"),
        ({"stream": "spilt"}, "stream"),
        ({"dataset": "cifar"}, "dataset"),
        ({"backend": "torch"}, "backend"),
        ({"method": "nbpcl"}, "method 'nbpcl'; did you mean 'npbcl'"),
        ({"experiment": "../up"}, "experiment"),
        ({"experiment": ""}, "experiment"),
        ({"samples": 0}, "samples"),
        ({"alpha": float("nan")}, "alpha"),
        ({"classes": ()}, "classes must be non-empty, got"),
        ({"validation": 1.0}, "validation must be above 0 and below 1"),
        ({"mask_kl": "exact"}, "mask_kl"),
        ({"hidden": (0,)}, "hidden"),
        ({"weight_rate": float("inf")}, "weight_rate"),
    ],
)
def test_a_value_out_of_range(changes, key):
    with pytest.raises(UserError, match=key):
        configure(**changes)


def test_names_of_files_and_editors_on_windows(tmp_path):
    config = configure(write(tmp_path, "\ufefftasks = 2\n", "über my run.toml"))
    assert config.tasks == 2 and config.experiment == "ber-my-run"


@pytest.mark.parametrize("key", ["samples", "prediction_samples", "hidden", "train_limit"])
def test_sizes_that_no_machine_has_are_refused_at_once(key):
    with pytest.raises(UserError, match=f"{key} must be below"):
        configure("split-glyphs", {key: str(2**32)})
    assert configure("split-glyphs", {"seed": str(2**62)}).seed == 2**62


def test_a_file_that_is_not_toml_or_not_there(tmp_path):
    with pytest.raises(UserError, match=r"broken\.toml is not TOML"):
        configure(write(tmp_path, "epochs 5\n", "broken.toml"))
    with pytest.raises(FileNotFoundError):
        configure(tmp_path / "nowhere.toml")


def test_another_methods_keys_are_refused_by_name(monkeypatch):
    module = type(sys)("ibpcl.methods.other")
    module.__doc__ = "Another method."
    module.Settings = RunConfig
    module.Other = object
    monkeypatch.setitem(sys.modules, "ibpcl.methods.other", module)
    monkeypatch.setitem(METHODS, "other", "Other")
    with pytest.raises(UserError, match="unknown key 'alpha' for a run with method other"):
        configure(method="other", alpha=3.0)


def test_a_configuration_does_not_change():
    with pytest.raises(AttributeError):
        configure().seed = 3


@pytest.mark.parametrize("name", ["paper", "authors", "unweighted"])
def test_a_preset_is_what_it_says_and_single_keys_go_over_it(name):
    changes = method("npbcl").presets[name]
    config = configure("split-glyphs", {"preset": name, "epochs": "3"})
    assert config.preset == name
    assert config.settings.epochs == 3
    assert all(
        getattr(config.settings, key) == value for key, value in changes.items() if key != "epochs"
    )


def test_what_an_experiment_changes_is_for_the_default_preset_only():
    assert configure("terrain").settings.samples == 2
    assert (
        configure("terrain", {"preset": "unweighted"}).settings.samples
        == configure("split-mnist").settings.samples
    )


def test_an_unknown_preset_is_refused():
    with pytest.raises(
        UserError, match="preset must be one of default, paper, authors, unweighted"
    ):
        configure("split-glyphs", {"preset": "best"})
