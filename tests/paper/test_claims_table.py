"""The table of the paper's claims: its marks name entries of the records, and its verdicts follow
from them.
"""

import importlib
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from ibpcl.cli.execution import parsed
from ibpcl.cli.making_runs import listed
from ibpcl.evaluation import codes
from ibpcl.evaluation.codes import WAYS
from ibpcl.evaluation.statistics import paired_difference
from ibpcl.experiments import tables
from ibpcl.experiments.benchmarks import benchmark, select
from ibpcl.paper import numbers
from ibpcl.paper.claim import (
    ABLATION,
    FINAL,
    GROWING,
    IN_THE_END,
    METRICS,
    PARTS,
    SETS,
    SHARING,
    THREE,
    VERDICTS,
)
from ibpcl.paper.claims_table import CLAIMS
from ibpcl.paper.equations import EQUATIONS
from ibpcl.paper.figure_claims import ACCURACIES, UNSETTLED
from ibpcl.paper.reproduce.target import KINDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def page_module():
    """Return the module of the site that writes the page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS / "_ext"))
        yield importlib.import_module("claims_page")


@pytest.fixture(scope="module")
def lines(page_module):
    """Return the lines of the records that the table names."""
    return page_module.read_records()


def values(lines, record, *place):
    """Return the values of all seeds of an entry of a record."""
    return np.array([line[4] for line in lines[record] if line[:3] == place])


def agrees(found, printed, deviation):
    """Return whether two means differ by at most two combined standard deviations."""
    return abs(found.mean() - printed) <= 2 * np.hypot(found.std(ddof=1), deviation)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.place[:60])
def test_every_field_of_a_claim_is_valid(claim, monkeypatch):
    # The rows of a target do not depend on an extra that may be missing.
    monkeypatch.setattr(codes, "require_tsne", lambda: None)
    assert claim.part in PARTS
    assert claim.verdict in VERDICTS
    assert claim.place and claim.printed and claim.ours.endswith(".")
    for path in claim.evidence:
        assert (ROOT / path).is_file(), path
        # The page links tests as code, and shows figures.
        assert path.startswith("tests/") or re.match(r"docs/figures/.*\.png$", path), path
    if claim.page:
        name, _, anchor = claim.page.partition("#")
        # The errata are a generated page.
        if anchor and not name.startswith("paper/"):
            text = (DOCS / name).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            assert anchor in {
                re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
            }
    if claim.command.startswith("ibpcl reproduce "):
        options = parsed(shlex.split(claim.command)[1:])
        kind = KINDS[options.target]
        for name in listed(options.datasets) or ():
            assert benchmark(name, kind.family)
        assert select(kind.rows(False), listed(options.methods))


def test_no_two_claims_are_the_same():
    assert len({(claim.place, claim.printed) for claim in CLAIMS}) == len(CLAIMS)


def test_the_claims_of_the_text_are_in_the_order_of_the_paper():
    # "Abstract", "Sec. ..." and "Supplement ..." sort as the paper has them.
    places = [claim.place for claim in CLAIMS if claim.part == "claims"]
    assert places == sorted(places)


def test_no_measured_number_is_typed_in_the_table(page_module):
    for claim in CLAIMS:
        words = page_module.MARK.sub("", claim.ours)
        assert "[[" not in words, claim.place
        assert not re.search(r"\d\.\d", words), claim.place
        assert not re.search(r"\d percent", words), claim.place


def test_every_mark_is_filled_from_its_record(page_module, lines):
    marks = 0
    for claim in CLAIMS:
        text = page_module.filled(claim.ours, lines)
        assert "[[" not in text
        marks += len(page_module.MARK.findall(claim.ours))
    assert marks > 80


def test_a_mark_is_written_with_its_seeds(page_module):
    lines = {
        "made-up": [
            ("A: x", "r", "c", "percent", 1.0),
            ("A: x", "r", "c", "percent", 2.0),
            ("A: x", "s", "c", "percent", 3.0),
        ]
    }
    assert page_module.filled("[[made-up | A: x | r | c]]", lines) == "1.50 ± 0.71 (2 seeds)"
    both = "got [[made-up | A: x | r; s | c]]."
    assert page_module.filled(both, lines) == "got 1.50 ± 0.71, 3.00 (1 seed) (1 to 2 seeds)."
    unit = "it is [[made-up | A: x | s | c]] percent."
    assert page_module.filled(unit, lines) == "it is 3.00 percent (1 seed)."
    lines["made-up"] += [("B", "r", "c", tables.DIFFERENCE.name, x) for x in (1.0, 2.0)]
    paired = page_module.filled("[[made-up | B | r | c]] points", lines)
    assert paired == "+1.50 [-4.85, +7.85] points (2 seeds)"
    assert page_module.has_one_seed(both, lines)
    assert not page_module.has_one_seed("[[made-up | A: x | r | c]]", lines)
    with pytest.raises(ValueError, match=r"made-up\.csv has no entry"):
        page_module.filled("[[made-up | A: x | t | c]]", lines)


def test_a_claim_without_a_record_is_not_called_reproduced(page_module):
    for claim in CLAIMS:
        if not page_module.named_records(claim.ours) and "reproduced" in claim.verdict:
            assert claim.evidence, claim.place


def test_the_leads_that_are_called_unsettled_are_those_whose_intervals_contain_zero(lines):
    found = {}
    for _, record, row, *_ in ACCURACIES:
        for data in SETS.split("; "):
            if record == "accuracy-tuned":
                place = (f"{data}: accuracy, percent, and what it took", row, "accuracy")
                ours = values(lines, record, place[0], "ours", "accuracy")
                scores = values(lines, record, *place)
                shared = min(len(ours), len(scores))
                if contains_zero(scores[:shared] - ours[:shared]):
                    found.setdefault(row, []).append(data)
    assert {row: list(sets) for row, sets in UNSETTLED.items()} == found


@pytest.mark.parametrize(("key", "record", "row", "sets", "words"), ACCURACIES)
def test_the_table_of_accuracies_names_the_sets_on_which_the_records_agree(
    lines, key, record, row, sets, words
):
    printed = zip(SETS.split("; "), numbers.ACCURACY[key][1:], strict=True)
    assert sets == tuple(
        data
        for data, numbers_of_paper in printed
        if agrees(values(lines, record, FINAL, row, data), *numbers_of_paper)
    )
    (claim,) = (
        claim
        for claim in CLAIMS
        if f"[[{record} | {FINAL} | {row} | {SETS}]]. It agrees" in claim.ours
    )
    expected = {0: "not reproduced", 4: "reproduced with other settings"}
    assert claim.verdict == expected.get(len(sets), "reproduced in part")


@pytest.mark.parametrize("row", ["ours", "ours, coreset"])
def test_ours_has_five_seeds_and_is_above_the_papers_table_on_fashion(lines, row):
    key = {"ours": "npbcl", "ours, coreset": "npbcl-coreset"}[row]
    for data, (printed, deviation) in zip(SETS.split("; "), numbers.ACCURACY[key][1:], strict=True):
        found = values(lines, "accuracy", FINAL, row, data)
        assert len(found) == 5
        assert agrees(found, printed, deviation) == (data != "Fashion MNIST")
        assert found.mean() > printed or data != "Fashion MNIST"


def test_ours_is_ahead_of_every_baseline_of_the_paper(lines):
    for data in SETS.split("; "):
        ours = values(lines, "accuracy", FINAL, "ours", data).mean()
        for _, record, row, *_ in ACCURACIES:
            if record == "accuracy-tuned":
                assert ours > values(lines, record, FINAL, row, data).mean(), (data, row)


def test_the_printed_settings_do_not_reach_the_printed_table(lines):
    printed = dict(zip(SETS.split("; "), numbers.ACCURACY["npbcl"][1:], strict=True))
    near = [
        data
        for data, (value, deviation) in printed.items()
        if abs(values(lines, "ladder", f"{data}: accuracy", "paper", "accuracy").mean() - value)
        <= 2 * deviation
    ]
    assert near == ["Fashion MNIST"]


def test_old_tasks_gain_nothing_and_lose_nothing(lines):
    found = values(lines, "metrics", METRICS, "ours", "BWT")
    assert len(found) == 5
    assert abs(found.mean()) <= 2 * found.std(ddof=1)


def test_newer_tasks_use_fewer_weights_on_two_of_four_sets(lines):
    title = "Weights that task t uses, percent of the network"
    fewer = {
        data
        for data in SETS.split("; ")
        if values(lines, "capacity", title, data, "5").mean()
        < values(lines, "capacity", title, data, "1").mean()
    }
    assert fewer == {"Permuted MNIST", "Fashion MNIST"}


def test_the_first_task_of_notmnist_alone_stays_below_the_papers_share(lines):
    title = "Weights that task t uses, percent of the network"
    share = numbers.FIRST_TASK_SHARE.value
    assert values(lines, "capacity", title, "notMNIST", "1").mean() < share
    assert values(lines, "capacity", title, "Permuted MNIST", "1").mean() > share


def test_ours_has_the_highest_likelihood_in_the_end_and_not_right_after_learning(lines):
    def at_first(data, row):
        title = f"{data}, {row}: log p(x), nats per image"
        found = [
            line[4]
            for line in lines["likelihood"]
            if line[0] == title and line[2] == "after its task"
        ]
        assert len(found) in (20, 30)
        return np.mean(found)

    for data, lead in (("MNIST", 3), ("notMNIST", 5)):
        ours, *others = (
            values(lines, "likelihood", IN_THE_END.format(data), row, "log p(x)").mean()
            for row in ("ours", "EWC", "VCL", "naive")
        )
        assert max(others) < ours < others[0] + lead
        assert at_first(data, "EWC") > at_first(data, "ours")


def test_errors_of_neighbours_with_sampled_codes_are_near_chance_on_digits(lines):
    for row in ("naive", "EWC", "VCL"):
        place = f"{row}, oracle", "3-NN"
        assert values(lines, "knn", "MNIST: k-NN error, sampled codes, percent", *place).min() > 80
        assert values(lines, "knn", "MNIST: k-NN error, mean codes, percent", *place).max() < 3


def interval(differences):
    """Return the ends of the interval of differences between runs with the same seed."""
    found = paired_difference(differences)
    return found.low, found.high


def contains_zero(differences):
    """Return whether the interval of differences contains zero."""
    low, high = interval(differences)
    return low <= 0 <= high


def changed(lines, row, data):
    """Return the changes of the final accuracy by an ablation, of all seeds."""
    return values(lines, "claims", ABLATION, row, data)


def test_ablations_say_what_the_rows_on_secs_3_and_4_say(lines):
    for data in ("Split MNIST", "notMNIST"):
        spread = values(lines, "accuracy", FINAL, "ours", data).std(ddof=1)
        assert abs(changed(lines, "masks without sticks", data).mean()) <= spread
        assert contains_zero(changed(lines, "last posterior as prior", data))
        assert contains_zero(changed(lines, "no fine-tuning, equal epochs", data))
        assert changed(lines, "no fine-tuning", data).mean() < 0
        for alpha in ("alpha 30", "alpha 200"):
            assert contains_zero(changed(lines, alpha, data))
    assert changed(lines, "last posterior as prior", "Permuted MNIST").mean() < 0
    assert interval(changed(lines, "alpha 10", "notMNIST"))[1] < 0
    for data in THREE.split("; "):
        place = f"{data}: what is changed"
        for row in ("nothing", "random coreset", "last posterior as prior"):
            assert abs(values(lines, "claims", place, row, "transfer").mean()) < 0.1


def test_growing_methods_take_longer_than_ours_but_for_den_on_letters(lines):
    def seconds(data, row):
        place = f"{data}: accuracy, percent, and what it took"
        return values(lines, "accuracy-tuned", place, row, "seconds").mean()

    faster = {
        (row, data)
        for row in ("DEN", "RCL")
        for data in SETS.split("; ")
        if seconds(data, row) < seconds(data, "ours")
    }
    assert faster == {("DEN", "notMNIST")}


def test_vcl_is_below_methods_that_it_should_supersede(lines):
    def accuracy(row, data):
        return values(lines, "accuracy-tuned", FINAL, row, data).mean()

    sets = SETS.split("; ")
    for data in sets:
        below = {
            row
            for row in ("EWC", "SI", "online Laplace")
            if accuracy("VCL", data) < accuracy(row, data)
        }
        assert below >= {"EWC", "online Laplace"} and (data == "Permuted MNIST" or "SI" in below)
        ours = values(lines, "accuracy", FINAL, "ours", data).mean()
        assert ours > max(accuracy(row, data) for row in ("EWC", "SI", "online Laplace"))


def test_growth_and_longer_training_do_what_the_rows_on_sec_6_say(lines):
    growing, fixed, small, greedy = (
        values(lines, "expansion", GROWING, row, "Split MNIST")
        for row in ("50 units, growing", "200 units", "50 units, fixed", "50 units, greedy")
    )
    assert contains_zero(growing - fixed) and contains_zero(greedy - growing)
    assert interval(small - fixed)[1] < 0
    for data in ("Split MNIST", "Permuted MNIST"):
        found = values(lines, "expansion", GROWING, "50 units, growing", data).mean()
        for row in ("DEN", "RCL", "EWC", "VCL"):
            assert found > values(lines, "accuracy-tuned", FINAL, row, data).mean()
    title = "Final mean accuracy, percent: more epochs a task"
    few, many = (
        values(lines, "over-training", title, f"VCL, {epochs} epochs", "Split MNIST")
        for epochs in (5, 40)
    )
    assert contains_zero(many - few)
    for what, sign in (("Accuracy as learned, percent", 1), ("Backward transfer, points", -1)):
        rising = [
            sign
            * values(
                lines, "over-training", f"{what}: more epochs a task", row, "Split MNIST"
            ).mean()
            for row in (f"VCL, {epochs} epochs" for epochs in (5, 10, 20, 40))
        ]
        assert rising == sorted(rising)

    def permuted(method, epochs, what="Final mean accuracy, percent"):
        title = f"{what}: more epochs a task"
        return values(lines, "over-training", title, f"{method}, {epochs} epochs", "Permuted MNIST")

    assert interval(permuted("ours", 40) - permuted("ours", 5))[1] < 0
    assert interval(permuted("VCL", 20) - permuted("VCL", 5))[1] < 0
    assert permuted("VCL", 5).mean() > permuted("VCL", 10).mean() > permuted("VCL", 20).mean()
    assert permuted("VCL", 40).mean() > permuted("VCL", 20).mean()
    learned = "Accuracy as learned, percent"
    assert interval(permuted("VCL", 20, learned) - permuted("VCL", 5, learned))[1] < 0
    assert contains_zero(permuted("VCL", 40, learned) - permuted("VCL", 5, learned))
    title = "Backward transfer, points: more epochs a task"
    for epochs in (5, 10, 20, 40):
        for data in ("Split MNIST", "Permuted MNIST"):
            found = values(lines, "over-training", title, f"ours, {epochs} epochs", data)
            assert abs(found.mean()) < 0.05


def test_tasks_share_more_than_by_chance_but_most_on_permuted_mnist(lines):
    def share(data, column):
        return values(lines, "sharing", SHARING, data, column).mean()

    relative = {data: share(data, "with one") / share(data, "chance") for data in SETS.split("; ")}
    assert min(relative, key=relative.get) == "Permuted MNIST" and min(relative.values()) > 1
    assert max(SETS.split("; "), key=lambda data: share(data, "with one")) == "Permuted MNIST"


def test_codes_of_ours_are_better_with_the_probable_encoder_and_worse_with_one(lines):
    for data in ("MNIST", "notMNIST"):
        title = f"{data}: k-NN error, mean codes, percent"
        ours, vcl = (
            [values(lines, "knn", title, f"{row}, {way}", "3-NN").mean() for way in WAYS[1:]]
            for row in ("ours", "VCL")
        )
        assert ours[0] < vcl[0] and ours[1] > vcl[1]


def test_transfer_by_a_linear_classifier_is_below_zero(lines):
    title = "Split MNIST: linear classifier on 100 images"
    assert interval(values(lines, "linear-probe", title, "ours", "FWT"))[1] < 0


def test_the_page_has_every_row_and_every_numbered_equation(page_module):
    text = page_module.page()
    assert "[[" not in text
    for claim in CLAIMS:
        assert f"**{claim.place}.** {claim.printed}" in text
    for equation in EQUATIONS:
        if equation.number is not None:
            assert f"Eq. {equation.number}, {equation.section}" in text
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == ["Summary", "Tables and figures", "Equations", "Claims in the text"]


def test_the_counts_of_the_summary_are_those_of_the_table(page_module):
    rows = re.findall(r"^\* - (.*)\n  - (\d+)\n  - (\d+)$", page_module.summary(), re.MULTILINE)
    found = {verdict: tuple(map(int, counts)) for verdict, *counts in rows}
    assert set(found) == {*VERDICTS, "total"}
    total = np.array(found.pop("total"))
    assert total.sum() == len(CLAIMS)
    np.testing.assert_array_equal(np.sum(list(found.values()), axis=0), total)


def test_the_page_is_the_first_of_the_records():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = text[text.index(":caption: Records") :].split("\n\n")[1]
    assert entries.startswith("The paper, claim by claim <paper/claims>\n")
    assert "(paper/claims.md)" in (DOCS / "reproduction.md").read_text(encoding="utf-8")
