"""The data set in twelve forms: right items are right, wrong ones wrong, and all are distinct."""

import json
from collections import Counter

import numpy as np
import pytest

from benchmarks.gradients import Case, __main__, choose, dataset
from benchmarks.gradients.forms import FORMS, UnfitError, parts_of, written

STEP = 1e-5
ROWS = [json.loads(line) for line in dataset.WRONG.read_text(encoding="utf-8").splitlines()]
SMOOTH = sorted(path.stem for path in (dataset.HERE / "functions").glob("*.py"))


@pytest.fixture(scope="module")
def right():
    return list(dataset.right_items())


@pytest.fixture(scope="module")
def wrong():
    return list(dataset.wrong_items())


def error(item):
    """Return the relative error of one directional derivative, by central differences."""
    module = item.load()
    inputs = list(module.check_inputs())
    rng = np.random.default_rng(5)
    moved = [rng.normal(size=np.shape(inputs[j])) for j in module.WRT]

    def at(step):
        values = list(inputs)
        for j, direction in zip(module.WRT, moved, strict=True):
            values[j] = values[j] + step * direction
        return module.f(*values)

    out, cache = at(0.0)
    w = rng.normal(size=np.shape(out))
    gradients = module.f_vjp(w if np.ndim(out) else float(w), cache)
    gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
    claimed = sum(np.sum(g * d) for g, d in zip(gradients, moved, strict=True))
    slope = np.sum(w * (np.asarray(at(STEP)[0]) - at(-STEP)[0])) / (2 * STEP)
    return abs(claimed - slope) / (1 + abs(slope))


def test_there_are_a_thousand_of_each_in_twelve_forms(right, wrong):
    assert len(FORMS) == 12 and len(right) >= 1000 and len(wrong) >= 1000
    for several in (right, wrong):
        counts = Counter(item.form for item in several)
        assert set(counts) == set(FORMS) and min(counts.values()) >= len(several) / 24
    assert len({item.source for item in [*right, *wrong]}) == len(right) + len(wrong)


@pytest.mark.parametrize("form", FORMS)
def test_right_items_agree_with_differences_and_wrong_ones_do_not(form, right, wrong):
    right = [item for item in right if item.form == form and item.name in SMOOTH]
    assert len(right) >= 10 and all(error(item) < 1e-6 for item in right[::2])
    wrong = [item for item in wrong if item.form == form and item.name in SMOOTH][:4]
    # A mistake may be a gradient of another shape, with which no product is formed.
    assert all(item.origin == "by hand" or error(item) > 1e-6 for item in wrong) and wrong


def test_the_wrong_items_of_a_function_differ_from_the_right_one_and_from_each_other():
    for name in ("lstm_step", "layer_norm", "kl_bernoulli"):
        require_distinct(name)


def require_distinct(name):
    """Compare all wrong items of a function in their forms, and with each other in one form."""
    keys = [choose.key_of(dataset.gradients_of(dataset.item_of(name, "cache")))]
    for row in ROWS:
        if row["function"] != name:
            continue
        mistake = row if "replace" in row else dataset.by_hand()[name, row["label"]]
        source = choose.spoiled(dataset.functions()[name], mistake)
        found, far = choose.judged(name, source, row["form"])
        assert far > dataset.LEAST, row
        found, _ = choose.judged(name, source, "cache")
        if found is not None and "replace" in row:
            keys.append(choose.key_of(found))
    assert len(set(keys)) == len(keys) > 3


def chosen_rows(name):
    """Return the rows that the command chooses for a function, without the forms."""
    hand, made = choose.of_function(name)
    found = [*hand, *choose.tidied([(name, each) for each in made])]
    return [each["row"] for each in found if not choose.is_allowed(each["row"])]


def committed_rows(name):
    rows = [{**row} for row in ROWS if row["function"] == name]
    return [{key: row[key] for key in row if key != "form"} for row in rows]


@pytest.mark.processes(reason="the command has the texts of mistakes formatted")
@pytest.mark.parametrize("name", ["conv_transpose", "relu_zeros"])
def test_the_command_chooses_the_committed_mistakes_again(name, tmp_path, monkeypatch):
    """The mistakes do not depend on a folder with other settings for the formatter."""
    (tmp_path / "ruff.toml").write_text('[format]\nquote-style = "preserve"\n')
    monkeypatch.setattr(choose.tempfile, "tempdir", str(tmp_path))
    assert chosen_rows(name) == committed_rows(name)


def test_a_comparison_that_shows_at_a_kink_only_is_allowed():
    (row,) = (
        row
        for row in committed_rows("relu_zeros")
        if row["kinds"] == ["comparison"] and "(x < 0)" in row["by"]
    )
    assert not choose.is_allowed(row)
    assert choose.is_allowed({**row, "by": row["by"].replace("x < 0", "x >= 0")})
    assert not choose.is_allowed({**row, "by": row["by"].replace("x < 0", "x > 0.5")})


@pytest.mark.slow(reason="every function is chosen again, for ten minutes")
def test_the_command_chooses_the_committed_file_again(tmp_path, monkeypatch):
    monkeypatch.setattr(choose, "WRONG", tmp_path / "wrong.jsonl")
    choose.main()
    assert choose.WRONG.read_bytes() == dataset.WRONG.read_bytes()


@pytest.mark.slow(reason="four thousand files are run; the test command runs three functions")
@pytest.mark.parametrize("name", sorted({row["function"] for row in ROWS}))
def test_all_wrong_items_are_distinct(name):
    require_distinct(name)


@pytest.mark.slow(reason="every function in every form; the test command runs a sample")
def test_every_function_has_the_same_gradients_in_every_form():
    choose.require_right()


def test_a_name_does_not_give_the_answer(right, wrong):
    assert not any("right" in item.name or "wrong" in item.name for item in [*right, *wrong])
    twins = {(item.name, item.form): item for item in right}
    for item in wrong[::50]:
        twin = twins[item.name, item.form]
        assert item.target == twin.target and item.source != twin.source


def test_an_unusual_pair_is_refused():
    pair = "def f(x):\n    if x:\n        return 1, x\n    return 2, x\n\n\n"
    rest = "def f_vjp(dout, cache):\n    x = cache\n    return dout\n\n\n"
    rest += "def check_inputs():\n    return {}\n"
    with pytest.raises(UnfitError):
        parts_of("two_returns", pair + rest)
    plain = pair.replace("    if x:\n        return 1, x\n", "")
    assert "class TwoReturns" in written("layer", parts_of("two_returns", plain + rest))
    with pytest.raises(UnfitError, match="parameters"):
        written("layer with dicts", parts_of("two_returns", plain + rest))


def test_the_files_hold_what_the_index_says(tmp_path, monkeypatch, right, wrong):
    few = [*right[::300], *wrong[::300]]
    monkeypatch.setattr(dataset, "items", lambda: few)
    assert dataset.write(tmp_path / "set") == len(few)
    rows = [
        json.loads(line) for line in (tmp_path / "set" / "index.jsonl").read_text().splitlines()
    ]
    for row, item in zip(rows, few, strict=True):
        text = (tmp_path / "set" / row["file"]).read_text()
        assert text == item.source and row["right"] == item.is_right == (not row["mistake"])
        assert hasattr(Case(row["function"], "", text).load(), row["target"])
    assert (tmp_path / "set" / "DATASHEET.md").exists()
    with pytest.raises(SystemExit, match="not empty"):
        dataset.write(tmp_path / "set")


@pytest.mark.slow(reason="checks items of each form three times")
def test_the_command_measures_pairs_and_files(capsys, tmp_path, monkeypatch, right, wrong):
    monkeypatch.setattr(dataset, "items", lambda every: [*right[::every], *wrong[::every]])
    scores = tmp_path / "scores.json"
    names = ["ibpcl.check", "ibpcl check FILE", "scipy.optimize.check_grad"]
    __main__.main([*names, "--forms", "--every", "199", "--json", str(scores)])
    printed = capsys.readouterr().out
    pair, file, other = json.loads(scores.read_text())
    assert all(f"| {form} |" in printed for form in FORMS)
    assert pair["mistakes"] == file["mistakes"] == other["mistakes"] >= 5
    assert pair["caught"] == pair["mistakes"] and not pair["alarms"] + file["alarms"]
    assert file["caught"] >= 0.9 * file["mistakes"] and not other["names_kinds"]
    assert sum(one["caught"] for one in pair["outcomes"]) == pair["caught"]
