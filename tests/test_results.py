"""The tables of the README and of docs/reproduction.md say what the recorded runs gave, and settings what was found."""

import csv
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from ibpcl import storage
from ibpcl.experiments import tables
from ibpcl.methods.npbcl_settings import PRESETS, Settings
from ibpcl.paper import numbers as paper_numbers

DOCS = Path(__file__).parents[1] / "docs"
UNITS = {}
for unit in vars(tables).values():
    if isinstance(unit, tables.Unit):
        UNITS.setdefault(unit.name, []).append(unit)
PRINTED = {text for _, *columns in paper_numbers.ACCURACY.values() for value, deviation in columns
           for text in (f"{value:.2f}", f"{value:.2f} ± {deviation:g}")}
PRINTED |= {f"{100 * transfer:+.3f}" for *_, transfer in paper_numbers.METRICS.values()}
PRINTED |= {str(value) for values in paper_numbers.AUTHORS_CODE.values() for value in values.values()}
NUMBER = re.compile(r"^[+-]?\d+\.\d+( ± \d+\.\d+)?$")


def sections():
    """Return the sections that name records, with the records."""
    found = {}
    for page in (DOCS.parent / "README.md", DOCS / "reproduction.md"):
        parts = re.split(r"^## (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for title, text in zip(parts[::2], parts[1::2], strict=True):
            records = re.findall(r"\((?:docs/)?(results/[\w-]+\.csv)\)", text)
            if records:
                found[f"{page.name}: {title}"] = text, records
    return found


def written(record):
    """Return what may stand in a table: each entry of a record as a mean with its deviation, or as a mean."""
    lines, found = storage.read_csv(DOCS / record), set()
    keys = list(zip(lines["table"], lines["row"], lines["column"], lines["unit"], strict=True))
    for key in dict.fromkeys(keys):
        entry = tables.Entry(*key[1:3], tuple(value for other, value in zip(keys, lines["value"], strict=True)
                                              if other == key))
        for unit in UNITS[key[3]]:
            found.add(tables.spread(entry.mean, entry.deviation, unit))
            found.add(tables.spread(entry.mean, np.nan, unit))
    return found


@pytest.mark.parametrize("title", sections())
def test_every_number_of_a_table_is_in_the_record_beside_it_or_in_the_paper(title):
    text, records = sections()[title]
    allowed = set().union(*map(written, records)) | PRINTED
    cells = [cell.strip() for line in text.splitlines() if line.startswith("|") for cell in line.strip("|").split("|")]
    numbers = [cell for cell in cells if NUMBER.match(cell)]
    assert numbers
    assert [number for number in numbers if number not in allowed] == []


def test_npbcl_has_the_settings_of_the_best_trial_of_its_search():
    with open(DOCS / "npbcl_random_search.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    trials = {}
    for row in rows:
        trials.setdefault(int(row["trial"]), {})[int(row["split"])] = float(row["accuracy"])
    gains = {trial: np.mean([value - trials[0][split] for split, value in found.items()])
             for trial, found in trials.items() if len(found) >= 7}
    best = max(gains, key=gains.get)
    chosen = next(row for row in rows if int(row["trial"]) == best)
    settings = Settings()
    for key in chosen.keys() - {"trial", "split", "accuracy"}:
        value = getattr(settings, key)
        assert type(value)(chosen[key]) == value, key


def test_the_table_of_presets_has_every_difference_and_no_other_value():
    text = (DOCS / "method.md").read_text(encoding="utf-8")
    header, _, *rows = text[text.index("| setting | what it is |"):].split("\n\n")[0].splitlines()
    cells = [[cell.strip("` ") for cell in line.strip("|").split("|")] for line in (header, *rows)]
    names, shown = cells[0][2:], {key: values for key, _, *values in cells[1:]}
    presets = {name: Settings.preset(name) for name in PRESETS}
    assert sorted(names) == sorted(presets)
    differ = {f.name for f in fields(Settings) if len({repr(getattr(p, f.name)) for p in presets.values()}) > 1}
    assert shown.keys() == differ
    for key, values in shown.items():
        for name, cell in zip(names, values, strict=True):
            value = getattr(presets[name], key)
            written = f"{value:.3g}" if isinstance(value, float) else str(value).lower()
            assert cell == written, (key, name)
