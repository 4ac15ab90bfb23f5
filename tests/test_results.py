"""The tables and marked numbers of the pages are those of the records, and settings those of the
searches.
"""

import csv
import importlib.util
import re
import subprocess
from collections import Counter
from dataclasses import fields
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ibpcl import storage
from ibpcl.cli.run import AS_PRINTED
from ibpcl.experiments import tables
from ibpcl.methods.npbcl_settings import IMAGE_PRESETS, PRESETS, ImageSettings, Settings
from ibpcl.paper import numbers as paper_numbers
from ibpcl.paper.claim import TERMS

DOCS = Path(__file__).parents[1] / "docs"
SPEC = importlib.util.spec_from_file_location("records", DOCS / "_ext" / "records.py")
records = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(records)
UNITS = {}
for unit in vars(tables).values():
    if isinstance(unit, tables.Unit):
        UNITS.setdefault(unit.name, []).append(unit)
PRINTED = {
    text
    for _, *columns in paper_numbers.ACCURACY.values()
    for value, deviation in columns
    for text in (f"{value:.2f}", f"{value:.2f} ± {deviation:g}")
}
PRINTED |= {f"{100 * transfer:+.3f}" for *_, transfer in paper_numbers.METRICS.values()}
PRINTED |= {
    str(value) for values in paper_numbers.AUTHORS_CODE.values() for value in values.values()
}
SETTINGS = DOCS.parent / "benchmarks" / "settings"
PAGES = (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")), *sorted(SETTINGS.glob("*.md")))
RECORD = re.compile(r"\((?:docs/)?(results/[\w-]+\.csv)\)")
# Tables of numbers without a record in ``results``: settings, which are not measured, and tables
# that other tests compare with their records.
ELSEWHERE = (
    "| setting |",
    "| definition |",
    "| trial |",
    "| method | as it is |",
    "| | oracle | inferred |",
    "| outcome |",
    "| verdict |",
    "| evidence |",
)
NUMBER = re.compile(r"^[+-]?\d+\.\d+( ± \d+\.\d+)?$")


def tables_of_numbers(text):
    """Return the tables of a text with measured numbers, each as its lines.

    Marked tables of differences are left out: another test compares them with their record.
    """
    text = records.PAIRED.sub("", text)
    found = [table.splitlines() for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    return [table for table in found if not table[0].startswith(ELSEWHERE) and numbers(table)]


def numbers(table):
    """Return the cells of a table that are numbers with decimals."""
    cells = [cell.strip() for line in table for cell in line.strip("|").split("|")]
    return [cell for cell in cells if NUMBER.match(cell)]


def sections():
    """Return the sections that name records, with the records."""
    found = {}
    for page in PAGES:
        parts = re.split(r"^## (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for title, text in zip(parts[::2], parts[1::2], strict=True):
            named = RECORD.findall(text)
            if named:
                found[f"{page.name}: {title}"] = text, named
    return found


def written(record):
    """Return what may stand in a table: each entry of a record as a mean with its deviation, or as
    a mean.
    """
    lines = storage.read_csv(DOCS / record)
    found = set()
    keys = list(zip(lines["table"], lines["row"], lines["column"], lines["unit"], strict=True))
    for key in dict.fromkeys(keys):
        entry = tables.Entry(
            *key[1:3],
            tuple(value for other, value in zip(keys, lines["value"], strict=True) if other == key),
        )
        for unit in UNITS[key[3]]:
            found.add(tables.spread(entry.mean, entry.deviation, unit))
            found.add(tables.spread(entry.mean, np.nan, unit))
    return found


@pytest.mark.parametrize("title", sections())
def test_every_number_of_a_table_is_in_the_record_beside_it_or_in_the_paper(title):
    text, records = sections()[title]
    allowed = set().union(*map(written, records)) | PRINTED
    found = [number for table in tables_of_numbers(text) for number in numbers(table)]
    assert found
    assert [number for number in found if number not in allowed] == []


def test_every_table_of_numbers_has_a_record_in_its_section():
    without = []
    for page in PAGES:
        for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if not RECORD.search(section):
                without += [(page.name, table[0]) for table in tables_of_numbers(section)]
    assert without == []


def test_npbcl_has_the_settings_of_the_best_trial_of_its_search():
    with open(SETTINGS / "npbcl_random_search.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    trials = {}
    for row in rows:
        trials.setdefault(int(row["trial"]), {})[int(row["split"])] = float(row["accuracy"])
    gains = {
        trial: np.mean([value - trials[0][split] for split, value in found.items()])
        for trial, found in trials.items()
        if len(found) >= 7
    }
    best = max(gains, key=gains.get)
    chosen = next(row for row in rows if int(row["trial"]) == best)
    settings = Settings()
    for key in chosen.keys() - {"trial", "split", "accuracy"}:
        value = getattr(settings, key)
        assert type(value)(chosen[key]) == value, key


@pytest.mark.parametrize(
    ("page", "settings_type", "names_of"),
    [("method.md", Settings, PRESETS), ("unsupervised.md", ImageSettings, IMAGE_PRESETS)],
)
def test_the_table_of_presets_has_every_difference_and_no_other_value(
    page, settings_type, names_of
):
    text = (DOCS / page).read_text(encoding="utf-8")
    header, _, *rows = text[text.index("| setting | what it is |") :].split("\n\n")[0].splitlines()
    cells = [[cell.strip("` ") for cell in line.strip("|").split("|")] for line in (header, *rows)]
    names = cells[0][2:]
    shown = {key: values for key, _, *values in cells[1:]}
    presets = {name: settings_type.preset(name) for name in names_of}
    assert sorted(names) == sorted(presets)
    differ = {
        f.name
        for f in fields(settings_type)
        if len({repr(getattr(p, f.name)) for p in presets.values()}) > 1
    }
    assert shown.keys() == differ
    for key, values in shown.items():
        for name, cell in zip(names, values, strict=True):
            value = getattr(presets[name], key)
            written = f"{value:.3g}" if isinstance(value, float) else str(value).lower()
            assert cell == written, (key, name)


def test_the_papers_errors_of_neighbours_stand_beside_ours():
    keys = {"naive": "naive", "EWC": "ewc", "VCL": "vcl", "ours": "npbcl"}
    # On MNIST, the printed settings have no record yet.
    printed = {"ours, as printed": "npbcl", "ours, as printed longer": "npbcl"}
    found = {
        (title.partition(":")[0], row, column.removesuffix("-NN paper")): value
        for title, row, column, _, value in records.read("knn")
        if column.endswith(" paper")
    }
    measured = {(data, row) for data, row, _ in found}
    assert measured >= {(data, row) for data in ("MNIST", "notMNIST") for row in keys}
    places = [(data, k) for data in ("MNIST", "notMNIST") for k in paper_numbers.KNN_NEIGHBOURS]
    assert found == {
        (data, row, str(k)): value
        for row, key in (keys | printed).items()
        for (data, k), value in zip(places, paper_numbers.KNN[key][1:], strict=True)
        if (data, row) in measured
    }


def test_every_marked_table_of_a_page_is_what_its_record_gives():
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    for mark in (records.MARKED, records.VALUE, records.PAIRED):
        assert any(map(mark.search, texts.values()))
    for page, text in texts.items():
        assert records.filled(text) == text, page.name


def test_a_measurement_again_replaces_its_own_entries_of_a_record_and_no_other():
    old = [
        ("A: x", "r", "c", "percent", 1.0),
        ("B: x", "r", "c", "percent", 2.0),
        ("A: x", "r", "d", "percent", 5.0),
    ]
    new = [("A: x", "r", "c", "percent", 3.0), ("A: x", "r", "c", "percent", 4.0)]
    assert records.merge(old, new) == [*new, *old[1:]]
    assert records.merge(old, [("C: x", "r", "c", "percent", 6.0)])[:3] == old
    lines = [
        *new,
        ("A: y", "s", "d", "points", 0.5),
        *[("A: z", "r", "d", "whole number", 50.0)] * 2,
    ]
    assert records.markdown(lines, "A:").splitlines() == [
        "| A, 1 to 2 seeds | c | d |",
        "| :-- | --: | --: |",
        "| r | 3.50 ± 0.71 | 50 |",
        "| s |  | +0.50 (1 seed) |",
    ]


def test_cells_with_one_seed_are_marked_where_others_have_more():
    lines = [
        ("A: x", "r", "c", "percent", 1.0),
        ("A: x", "r", "c", "percent", 2.0),
        ("A: x", "s", "c", "percent", 99.21),
        ("B: x", "s", "c", "percent", 99.21),
    ]
    assert "| s | 99.21 (1 seed) |" in records.markdown(lines, "A:")
    assert records.markdown(lines, "B:").splitlines()[::2] == ["| B, 1 seed | c |", "| s | 99.21 |"]


def test_a_table_beside_the_paper_has_its_columns_and_its_numbers():
    lines = [
        ("A", "ours", "notMNIST", "percent", 97.0),
        ("A", "ours", "Split MNIST", "percent", 99.9),
        ("A", "HAT", "notMNIST", "percent", 96.0),
    ]
    assert records.markdown(lines, "A", "beside the paper").splitlines() == [
        "| 1 seed | Split MNIST | paper | notMNIST | paper |",
        "| :-- | --: | --: | --: | --: |",
        "| NPBCL | 99.90 | 99.82 ± 0.1 | 97.00 | 97.15 ± 0.2 |",
        "| HAT |  |  | 96.00 |  |",
    ]
    with pytest.raises(ValueError, match="unknown form"):
        records.markdown(lines, "A", "beside")
    # of other metrics, the paper prints final means (as Acc) and BWT, the latter as a fraction
    metrics = [
        ("A", "VCL", "final mean", "percent", 96.7),
        ("A", "VCL", "Acc", "percent", 97.0),
        ("A", "VCL", "BWT", "fine points", -0.4),
    ]
    assert records.markdown(metrics, "A", "beside the paper").splitlines() == [
        "| 1 seed | final mean | paper | Acc | BWT | paper |",
        "| :-- | --: | --: | --: | --: | --: |",
        "| VCL | 96.70 | 97.35 | 97.00 | -0.400 | -0.400 |",
    ]


def line(title, row, column, value, seed, unit="percent"):
    return (title, row, column, unit, value, seed, "0123456789ab", "a cpu", "numpy 2")


def test_differences_of_a_record_are_paired_by_seed():
    lines = [
        *(
            line("A: x", "ours", "c", value, seed)
            for seed, value in ((2, 90.0), (0, 91.0), (1, 92))
        ),
        *(
            line("A: x", "VCL", "c", value, seed)
            for seed, value in ((0, 90.0), (1, 90.0), (7, 5.0))
        ),
        *(line("A: x", "EWC", "c", value, seed) for seed, value in ((2, 89.5), (8, 5.0))),
        line("A: x", "ours", "seconds", 3.0, 0, "seconds"),
        line("A: x", "VCL", "seconds", 4.0, 0, "seconds"),
    ]
    # -1 and -2: the mean of two is -1.5, and the half length 12.7062 times 0.5
    assert records.differences(lines, "A:", "ours").splitlines() == [
        "| difference from NPBCL: 95 % interval, 1 to 2 seeds | c |",
        "| :-- | --: |",
        "| VCL | -1.50 [-7.85, +4.85] |",
        "| EWC | -0.50 (1 seed) |",
    ]
    assert records.differences(lines[:4], "A:", "ours").splitlines() == [
        "| difference from NPBCL: 1 seed: no interval | c |",
        "| :-- | --: |",
        "| VCL | -1.00 |",
    ]


def test_lines_without_seeds_are_those_of_the_first_seeds():
    old = [line("A", "ours", "c", value, None) for value in (90.0, 92.0)]
    new = [line("A", "VCL", "c", value, seed) for seed, value in ((1, 91.0), (0, 90.5))]
    assert "| VCL | -0.25 [" in records.differences([*old, *new], "A", "ours")
    assert records.differences([*old, new[0]], "A", "ours").splitlines()[-1] == "| VCL | -1.00 |"


def test_a_star_puts_several_tables_side_by_side():
    lines = [
        line(f"{data}: x", row, column, value, 0)
        for data in ("A", "B")
        for column in ("c", "d")
        for row, value in (("ours", 90.0), ("VCL", 89.0))
    ]
    header = records.differences(lines, "*: x", "ours", "c").splitlines()[0]
    assert header.endswith("| A | B |")
    header = records.differences(lines, "*: x", "ours").splitlines()[0]
    assert header.endswith("| A, c | A, d | B, c | B, d |")
    assert records.differences(lines, "A: x", "ours").splitlines()[0].endswith("| c | d |")


def test_the_number_of_several_tables_is_their_mean_seed_by_seed():
    values = {("A", "ours"): (1.0, 2.0), ("B", "ours"): (3.0, 6.0, 9.0)}
    values |= {("A", "VCL"): (0.0, 2.0), ("B", "VCL"): (2.0, 2.0, 2.0)}
    lines = [
        line(f"{data}: x", row, "c", value, seed)
        for (data, row), of_seeds in values.items()
        for seed, value in enumerate(of_seeds)
    ]
    assert records.value(lines, "*: x", "ours", "c") == "3.00 ± 1.41 (2 seeds)"
    # 1 and 2: the mean of two is 1.5, and the half length 12.7062 times 0.5
    pooled = records.value(lines, "*: x", "ours", "c", "minus VCL", "interval")
    assert pooled == "+1.50 [-4.85, +7.85]"
    with pytest.raises(ValueError, match="0 tables"):
        records.value([*lines, line("A: x", "EWC", "c", 1.0, 0)], "*: x", "EWC", "c")


def test_differences_without_a_common_seed_are_refused():
    with pytest.raises(ValueError, match="common seed"):
        records.differences([line("A", "ours", "c", 1.0, 0)], "A", "ours")


def test_a_marked_table_of_differences_is_written_from_its_record(monkeypatch, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "x.csv").write_text(
        "table,row,column,unit,value,seed\nA,ours,c,percent,1.0,0\nA,VCL,c,percent,0.5,0\n"
    )
    monkeypatch.setattr(records, "DOCS", tmp_path)
    mark = "<!-- paired: x | A | ours -->\n"
    text = records.filled(f"before\n{mark}old\n<!-- end -->\nafter")
    assert text.startswith(f"before\n{mark}\n| difference from NPBCL: 1 seed: no interval | c |\n")
    assert "| VCL | -0.50 |" in text and "old" not in text and records.filled(text) == text


def test_records_name_what_made_each_value(tmp_path, monkeypatch):
    header = "table,row,column,unit,value"
    docs = tmp_path / "docs"
    (docs / "results").mkdir(parents=True)
    monkeypatch.setattr(records, "DOCS", docs)
    monkeypatch.setattr(records, "SETTINGS", tmp_path / "settings")
    record = docs / "results" / "x.csv"
    record.write_text(f"{header}\nA,r,c,percent,1.0\nA,s,c,percent,2.0\n")
    (tmp_path / "README.md").write_text("")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "values.csv").write_text(
        f"{header},seed,commit,processor,versions\nA,s,c,percent,3.5,0,012345678912,a cpu,numpy 2\n"
        "A,s,c,percent,4.5,1,0123456789ab+,a cpu,numpy 2\n"
    )
    records.main([tmp_path / "x"])
    lines = records.lines_of(record)
    assert lines[0] == ("A", "r", "c", "percent", 1.0, None, None, None, None)
    assert lines[1][4:] == (3.5, 0, "012345678912", "a cpu", "numpy 2")
    assert lines[2][4:7] == (4.5, 1, "0123456789ab+")


def test_forms_of_a_mark_give_a_number_alone():
    lines = [
        line("A: x", row, column, value, seed, "points")
        for row, values in (("r", (-1.0, -2.0, -4.5)), ("s", (-0.5, -2.5)), ("t", (3.0, 5.0)))
        for column, factor in (("c", 1), ("d", -2))
        for seed, value in enumerate(factor * np.array(values))
    ]
    written = {
        ("r", "c", "mean"): "-2.50",
        ("r", "c", "size", "1 decimal"): "2.5",
        ("r", "c", "0 decimals", "seeds 0"): "-1",
        ("r", "c", "mean", "seeds 1 to 2"): "-3.25",
        ("r", "c", "mean", "seeds 0, 2"): "-2.75",
        ("s", "c", "deviation"): "1.41",
        ("s", "c", "with error"): "-1.50 ± 1.00",
        # over seeds 0 and 1, which both rows have: -0.5 and 0.5
        ("r", "c", "minus s"): "0.00",
        ("r", "c", "minus s", "seeds 0"): "-0.50",
        ("r", "c", "minus d", "seeds 0"): "-3.00",
        ("t", "c", "minus s", "with error"): "5.50 ± 2.00",
        ("t", "c", "over s", "1 decimal"): "-2.7",
        # 3.5 and 7.5: 5.5 -/+ 12.706 * 2.828 / sqrt(2)
        ("t", "c", "minus s", "interval"): "+5.50 [-19.91, +30.91]",
        ("t", "c", "minus s", "interval", "seeds 1"): "+7.50",
        ("r; s; t", "c", "mean"): "-2.50 to 4.00",
        ("*", "c", "size", "1 decimal"): "1.5 to 4.0",
        ("r", "c; d", "mean"): "-2.50 to 5.00",
    }
    for place, text in written.items():
        assert records.value(lines, "A", *place) == text, place
    assert records.value([line("A", "r", "c", -0.001, 0)], "A", "r", "c", "mean") == "0.00"
    unknown = [("r", "c", "median"), ("r", "e", "mean"), ("r", "c", "minus u")]
    for place in [*unknown, ("r", "c", "minus s", "seeds 2")]:
        with pytest.raises((ValueError, KeyError)):
            records.value(lines, "A", *place)
    twice = [*lines, line("AB", "r", "c", 1.0, 0)]
    with pytest.raises(ValueError, match="2 tables"):
        records.value(twice, "A", "r", "c", "mean")
    assert records.value(twice, "A:", "r", "c", "mean") == "-2.50"


def test_the_searches_of_npbcl_are_records_of_marks():
    lines = records.marked_lines("npbcl_random_search")
    with open(SETTINGS / "npbcl_random_search.csv", newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert lines[0][1:3] == (first["trial"], "accuracy")
    assert lines[0][4:] == (100 * float(first["accuracy"]), int(first["split"]))
    lines = records.marked_lines("npbcl_search")
    divided = "data_seed=SEED epochs=10 finetune_epochs=20 finetune_rate=0.01 finetune_average=0.8"
    assert sorted(line[5] for line in lines if line[1] == divided) == [1, 2, 3, 4, 5]
    assert records.value(lines, "split-mnist", "default", "accuracy").endswith("(3 seeds)")


def test_no_mark_of_a_number_begins_a_line():
    """Markdown takes a line that begins with a comment for a block of HTML, without a paragraph."""
    for page in PAGES:
        assert re.findall(r"^ *<!-- value.*", page.read_text(encoding="utf-8"), re.M) == [], page


# Decimal numbers in prose that are not measured, or that the text computes. Each is held with the
# words around it and allowed only there; the reason stands beside it.
CONSTANTS = {
    "README.md": {
        "Python 3.11": "version",
        "(0.27 or later)": "version of Pyodide",
        "CC BY 4.0": "licence",
    },
    "accuracy.md": {
        "Adam at 0.001": "setting",
        "a rate of 0.0053": "setting",
        "a rate of 0.0012": "setting",
        "a rate of 0.00064": "setting",
    },
    "baselines.md": {
        "Adam at 0.001": "setting",
        "(0.05): at 0.001": "settings",
        "7.35 for": "Siegmund's formula",
    },
    "beyond.md": {
        "a probability above 0.95": "threshold of a definition",
        "0.95 to one class": "threshold of a definition",
        "another task; 0.5 is chance": "definition",
    },
    "classroom-collecting.md": {"1.5 GB": "setting"},
    "classroom-teachers.md": {
        "kind 0.25, line 0.25, mended gradient 0.35 (all inputs right), proof 0.15": "points",
        "Ubuntu 22.04": "version",
        "Python 3.11 or 3.12": "version",
    },
    "horseshoe.md": {"with a rate of 0.003": "setting"},
    "index.md": {"Python 3.11": "version"},
    "method.md": {
        "The released code uses 0.05": "setting of that code",
        "their fraction: 0.8 by default": "setting",
        "the weight 0.0021": "setting",
    },
    "parts.md": {"the weight 0.0021": "setting"},
    "regression.md": {
        "about 2.5 km": "resolution of the data",
        "less 1.014 and divided by 1.722": "constants of ibpcl/data/terrain.py",
    },
    "reproduction.md": {
        "99.85 percent on 10,000 images": "example",
        "deviation of 0.04 points": "computed by the command beside it",
        "97.1 percent on 3,750 images has 0.27": "example, and computed by the command beside it",
        "12.7 for two seeds, 4.3 for three and 2.8 for five": "quantiles of a distribution",
        "0.25 with three seeds and 0.0625 with five": "smallest p-values, 2 / 2^n",
        "scores 1.5": "15 / 10, from the definition",
    },
    "short-derivations.md": {"0.01 otherwise": "slope of a leaky ReLU"},
    "unsupervised.md": {
        "with 0.5,": "setting",
        "rates of 0.001 and then 0.0001": "settings",
        "rates of 0.003 and 0.01": "settings",
        "NPBCL's weight of 0.001": "setting",
    },
    "what-next.md": {"by 0.0021": "setting"},
}
# Pages whose numbers are identifiers of papers, or depend on the machine.
NO_RECORDS = ("bibliography.md", "many-runs.md", "platforms.md")
PROSE = [page for page in PAGES if page.name not in NO_RECORDS and page != SETTINGS / "README.md"]
PRINTED |= {
    text
    for _, *errors in paper_numbers.KNN.values()
    for value in errors
    for text in (f"{value:g}", f"{value:.1f}")
}
NOT_PROSE = re.compile(
    r"""
    <!--\ (?:value|table|paired).*?<!--\ end\ -->  # marks
    | ^\ *```(?:\w+|\{(?!glossary).*?\}).*?^\ *```$ | (?<!`)`[^`]+`(?!`)  # code
    | \$\$.*?\$\$ | \$[^$]*\$  # formulas
    | \]\([^)]*\)  # targets of links
    | ^\ *\|.*?$  # tables
    | \bSec\.\ \d\.\d | \bSecs\.\ \d\.\d(?:,\ \d\.\d)*\ and\ \d\.\d  # sections of the paper
    | \b[Vv]ersion\ \d+\.\d+\.\d+ | \b\d+\.\d+\.\d+\b  # versions
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?: ±\s\d+\.\d+)?(?!\w)")


def decimals_in_prose(text, constants=()):
    """Return the decimal numbers of a text that stand in no mark, code, formula, link or table and
    are neither printed in the paper nor constants.
    """
    text = NOT_PROSE.sub(" ", text)
    text = re.sub(r"\s+", " ", text)
    for words in constants:
        text = text.replace(words, " ")
    return [number for number in DECIMAL.findall(text) if number not in PRINTED]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.stem)
def test_every_decimal_number_in_prose_is_marked_or_a_constant(page):
    text = page.read_text(encoding="utf-8")
    constants = CONSTANTS.get(page.name, {})
    assert decimals_in_prose(text, constants) == []
    prose = re.sub(r"\s+", " ", NOT_PROSE.sub(" ", text))
    assert [words for words in constants if words not in prose] == []
    # a new number is found wherever a paragraph begins
    for place in [match.end() for match in re.finditer(r"[a-z]\.\n\n(?=[A-Z])", text)][::10]:
        changed = f"{text[:place]}It reaches 97.654 percent.\n\n{text[place:]}"
        assert decimals_in_prose(changed, constants) == ["97.654"]


def test_decimals_in_prose_are_found():
    text = "a 1.5 b `2.5` c $3.5$ d [4.5](5.5)\n| 6.5 |\n7.5 ± 0.5, Secs. 3.1 and 3.2, 0.2.0. 8.5"
    text += "<!-- value: x | y -->9.5<!-- end --> 99.82 99.82 ± 0.1 at rate 0.25"
    assert decimals_in_prose(text) == ["1.5", "4.5", "7.5 ± 0.5", "8.5", "0.25"]
    assert decimals_in_prose(text, ["rate 0.25"])[-1] == "8.5"


def test_a_number_of_a_record_is_written_with_its_seeds():
    lines = [
        ("A: x", "r", "c", "percent", 1.0),
        ("A: x", "r", "c", "percent", 2.0),
        ("A: x", "s", "c", "percent", 3.0),
    ]
    assert records.value(lines, "A: x", "r", "c") == "1.50 ± 0.71 (2 seeds)"
    assert records.value(lines, "A: x", "s", "c") == "3.00 (1 seed)"


def test_what_a_run_of_the_printed_settings_is_told_to_expect_was_measured():
    lines = records.read("ladder")
    expected = re.findall(r"(\d+) % on (Split MNIST|notMNIST)", AS_PRINTED[False])
    assert len(expected) == 2
    for data, told in expected:
        found = [
            value
            for table, row, column, _, value in lines
            if (table, row, column) == (f"{told}: accuracy", "paper", "accuracy")
        ]
        assert found and round(np.mean(found)) == int(data), (data, told)
    assert "(printed: 99.82)" in AS_PRINTED[False] and "99.82" in PRINTED and "97.15" in PRINTED


def test_the_table_of_npbcls_random_search_is_what_its_record_says():
    with open(SETTINGS / "npbcl_random_search.csv", newline="", encoding="utf-8") as file:
        trials = {}
        for row in csv.DictReader(file):
            trials.setdefault(row["trial"], {})[row["split"]] = 100 * float(row["accuracy"])
    text = (SETTINGS / "npbcl.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+)[^|]*\| (\d+) \| (\S+) ± (\S+) \|$", text, re.MULTILINE)
    assert len(rows) == 5
    for trial, splits, mean, error in rows:
        gains = [value - trials["0"][split] for split, value in trials[trial].items()]
        assert len(gains) == int(splits)
        assert (f"{np.mean(gains):+.2f}", f"{np.std(gains, ddof=1) / len(gains) ** 0.5:.2f}") == (
            mean,
            error,
        ), trial


def test_the_tables_of_the_searches_are_what_their_records_say():
    text = (SETTINGS / "README.md").read_text(encoding="utf-8")
    found = set()
    for experiment, table in re.findall(r"accuracy on `([\w-]+)`, percent:\n\n((?:\|.*\n)+)", text):
        for method, *shown in re.findall(
            r"^\| `(\w+)` \| (\S+) \| (\S+) \| (\d+) \|$", table, re.MULTILINE
        ):
            columns = storage.read_csv(SETTINGS / f"{experiment}-{method}.csv")
            learned = np.asarray(columns.get("tasks_learned", np.zeros(len(columns["trial"]))))
            best = int(
                np.nanargmax(np.where(learned == learned.max(), columns["accuracy"], np.nan))
            )
            first, highest = (f"{100 * columns['accuracy'][trial]:.2f}" for trial in (0, best))
            assert shown == [first, highest, str(columns["epochs"][best])], (experiment, method)
            found.add(f"{experiment}-{method}.csv")
    assert found == {path.name for path in SETTINGS.glob("*-*.csv")}


def test_every_line_of_a_record_names_its_seed_and_its_program():
    for path in sorted((DOCS / "results").glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                assert line["commit"] and line["processor"] and line["versions"], (path.name, line)
                assert line["seed"] or line["column"].endswith("paper"), (path.name, line)


def foreign(commits, history):
    """Return the commits that are not in a history; a "+" marks a tree with changes."""
    return {
        commit
        for commit in commits
        if commit.endswith("+") or not any(known.startswith(commit) for known in history)
    }


@pytest.mark.processes(reason="asks git for the commits of the history")
def test_every_record_comes_from_a_commit_of_this_history():
    def git(*words):
        done = subprocess.run(["git", *words], cwd=DOCS, capture_output=True, text=True)
        return done.stdout.split() if done.returncode == 0 else []

    if git("rev-parse", "--is-shallow-repository") != ["false"]:
        pytest.skip("needs a clone with the whole history")
    history = git("rev-list", "HEAD")
    commits = set()
    for path in sorted([*(DOCS / "results").glob("*.csv"), *SETTINGS.glob("*.csv")]):
        with open(path, newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                # older searches do not name their program
                commits.update(filter(None, line.get("commit", "").split(" or ")))
    assert foreign(commits, history) == set()
    known = history[-1][:12]
    assert foreign({"0" * 12, f"{known}+", known}, history) == {"0" * 12, f"{known}+"}


BOLD = re.compile(r"(?:- )?\*\*(.+?)\*\*", re.DOTALL)
RESULTS = re.compile(r"<!-- (?:table|paired): ")
# Words by which a section says on which terms methods were compared.
OF_TERMS = re.compile(r"untuned|equal terms|not equal|unequal|trials|set by hand|manual search")


def bold_findings(text):
    """Return each finding: its bold words, its paragraph, and its section.

    A paragraph that begins in bold is a finding if it has a marked number, or if it stands below a
    table of results in its section. The paragraph of an item of a list includes the words that
    introduce the list. A section includes the sections below it, such as "Split MNIST" below "Three
    scenarios".
    """
    found = []
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for section in re.split(r"^##? .*$", text, flags=re.MULTILINE):
        lead, below = "", False
        for paragraph in re.split(r"\n\s*\n|\n(?=- )", section):
            # a subsection begins without results
            below = not paragraph.startswith("###") and (below or bool(RESULTS.search(paragraph)))
            match = BOLD.match(paragraph.strip())
            if match and (below or re.search(r"<!-- value: ", paragraph)):
                item = paragraph.strip().startswith("- ")
                found.append((match[1], lead * item + paragraph, section))
            if not paragraph.strip().startswith("- "):
                lead = paragraph if paragraph.rstrip().endswith(":") else ""
    return found


def lacking(text):
    """Return what the bold findings of a page lack: a record, its link, seeds, or terms."""
    problems = []
    for finding, paragraph, section in bold_findings(text):
        # the record is linked in the section, or where the finding leads to
        linked = section + (text if "](#" in paragraph else "")
        linked += "".join(
            (DOCS / name).read_text(encoding="utf-8")
            for name in re.findall(r"\((?:(?:\.\./)*docs/)?([\w-]+\.md)[#)]", paragraph)
        )
        marked = re.findall(r"<!-- value: ([\w-]+) ", paragraph)
        if not marked and ".csv)" not in linked:
            problems.append((finding, "link"))
        for name in dict.fromkeys(marked):
            # the records of the searches lie beside the pages
            if f"{name}.csv)" not in linked:
                problems.append((finding, name, "link"))
            if name not in TERMS:
                problems.append((finding, name, "record"))
            elif TERMS[name].kind == "unequal" and not OF_TERMS.search(section):
                problems.append((finding, name, "terms"))
        if "seed" not in re.sub(r"<!--.*?-->", "", paragraph, flags=re.DOTALL):
            problems.append((finding, "seeds"))
    return problems


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_bold_findings_of_a_page_name_their_record_their_seeds_and_their_terms(page):
    assert lacking(page.read_text(encoding="utf-8")) == []


def test_every_number_of_the_summary_has_five_seeds():
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    summary = re.search(r"^## Summary$(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    marks = list(records.VALUE.finditer(summary))
    assert len(marks) > 20
    for mark in marks:
        title, rows, columns = records.fields(mark[3])[:3]
        found = [line for line in records.marked_lines(mark[2]) if line[0].startswith(title)]
        for row in records.names(found, 1, rows):
            for column in records.names(found, 2, columns):
                assert len(records.by_seed(found, row, column)[0]) == 5, mark[0]


def test_the_summary_lists_the_records_with_fewer_than_five_seeds():
    few = set()
    for path in (DOCS / "results").glob("*.csv"):
        counts = Counter(line[:3] for line in records.lines_of(path) if line[5] is not None)
        if min(counts.values()) < 5:
            few.add(path.stem)
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    listed = re.search(r"have numbers with fewer:(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    assert set(re.findall(r"`([\w-]+)`", listed)) == few


def test_a_bold_finding_that_names_nothing_is_noticed():
    mark = "<!-- value: {} | t | r | c -->1.0<!-- end -->"
    bare = f"# A\n\n- **Ours is best**: {mark.format('accuracy-tuned')}.\n"
    assert {problem[-1] for problem in lacking(bare)} == {"link", "terms", "seeds"}
    assert [problem[-1] for problem in lacking(bare.replace("accuracy-tuned", "made-up"))] == [
        "link",
        "record",
        "seeds",
    ]
    beside = "\n[values](results/accuracy-tuned.csv), three seeds, twelve trials each.\n"
    assert lacking(bare + beside) == [("Ours is best", "seeds")]
    assert lacking(bare.replace("best**", "best** (three seeds)") + beside) == []
    assert lacking(bare.replace("- **", "With three seeds:\n\n- **") + beside) == []
    table = "\n<!-- table: accuracy | t -->\n\n| a |\n\n<!-- end -->\n\n"
    words = f"# A\n\n**A name**, before.\n{table}**Ours is best**, it seems.\n"
    assert lacking(words) == [("Ours is best", "link"), ("Ours is best", "seeds")]
    assert lacking(words + "\n## B\n\n**C** is the next section.\n") == lacking(words)
    assert lacking(words.replace("it seems", "[values](results/accuracy.csv), five seeds")) == []
    number = sum(len(bold_findings(page.read_text(encoding="utf-8"))) for page in PAGES)
    assert number > 40


def test_figures_that_are_drawn_from_records_have_their_values_and_names():
    spec = importlib.util.spec_from_file_location("redraw", DOCS / "_ext" / "redraw.py")
    redraw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(redraw)
    for name, drawn in redraw.DRAWN.items():
        axes = drawn()
        texts = [text.get_text() for text in axes[0].figure.findobj(plt.Text)]
        # every row of the ladder is NPBCL, and named by its settings
        assert any(("+ link" if name == "ladder" else "NPBCL") in text for text in texts)
        assert not any(re.search(r"\bours\b", text) for text in texts)
        assert (DOCS / "figures" / f"{name}.png").exists()
        plt.close(axes[0].figure)
    drawn = {x for line in redraw.ladder()[1].lines for x in np.atleast_1d(line.get_xdata())}
    of_paper = [
        value
        for title, row, column, _, value in records.read("ladder")
        if (title, row, column) == ("notMNIST: accuracy", "paper", "accuracy")
    ]
    for value in (np.mean(of_paper), paper_numbers.accuracy("npbcl", "split-notmnist").value):
        assert min(abs(x - value) for x in drawn) < 1e-9
    (ax,) = redraw.over_training("Split MNIST")
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    found = [
        value
        for title, row, column, _, value in records.read("over-training")
        if title.startswith("Final") and (row, column) == ("VCL, 40 epochs", "Split MNIST")
    ]
    assert lines["VCL, at the end"][-1] == pytest.approx(np.mean(found))
    plt.close(ax.figure)
