"""Reports read well, fit 80 columns, and survive JSON and HTML."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from ibpcl.verify import Report, check

X = np.array([[0.3, -1.2], [0.8, 2.0]])


def forward(x, b):
    return np.sin(x) + b, (x, b)


def right(d, cache):
    return d * np.cos(cache[0]), d.sum(axis=0)


def wrong(d, cache):
    return -d * np.cos(cache[0]), d.sum(axis=0)


POINT = (X, np.array([0.1, 0.2]))


def test_text_fits_80_columns_and_says_what_and_where():
    for vjp in (
        right,
        wrong,
        lambda d, c: (d, d),
        lambda d, c: (d * np.cos(c[0]) * np.exp(c[0]), d.sum(axis=0)),
    ):
        text = str(check(forward, vjp, POINT))
        assert max(map(len, text.splitlines())) <= 80
    text = str(check(forward, wrong, POINT))
    assert re.search(r"^wrong: WRONG for 1 of 2 inputs, score 0\.50$", text, re.MULTILINE)
    assert re.search(r"^  x  sign: the sign is wrong", text, re.MULTILINE)
    assert "worst at (" in text
    assert "hint: look for a minus" in text
    assert re.search(r"Taylor remainder: slope 1\.0\d \(right: 2, wrong: 1\)", text)
    assert re.search(
        r"^  b: error \de[+-]\d+ \(tolerance 1e-09\) over 2 entries, complex step$",
        text,
        re.MULTILINE,
    )


def test_scores_are_shares():
    assert check(forward, right, POINT).score == 1
    assert check(forward, wrong, POINT).score == 0.5

    def one_entry(d, c):
        dx = d * np.cos(c[0])
        dx[0, 0] += 1
        return dx, d.sum(axis=0)

    assert check(forward, one_entry, POINT).score == pytest.approx((1 + 0.5 * 0.75) / 2)


def test_json_holds_plain_values_only():
    nan = check(forward, lambda d, c: (d * np.nan, d.sum(axis=0)), POINT)
    for report in (check(forward, right, POINT), check(forward, wrong, POINT), nan):
        assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["ok"] is report.ok
    kinds = {item["name"]: item["kind"] for item in nan.to_dict()["inputs"]}
    assert kinds == {"x": "non_finite", "b": "ok"}


def test_a_report_comes_back_from_json_as_it_was():
    for vjp in (right, wrong, lambda d, c: (d * np.nan, d.sum(axis=0))):
        report = check(forward, vjp, POINT)
        again = Report.from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False)))
        assert again.text() == report.text() and again.verdict == report.verdict
        assert again.to_dict() == report.to_dict() and again.where == report.where
    with pytest.raises(KeyError, match="notes"):
        Report.from_dict({"title": "f_vjp", "inputs": [], "problems": []})


def test_a_place_and_its_repair_come_back_from_json():
    def swapped(d, cache):
        return d * np.cos(cache[1]), d.sum(axis=0)

    report = check(forward, swapped, POINT)
    again = Report.from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False)))
    item = again["x"]
    assert item.where == report["x"].where and item.where.function.endswith("swapped")
    assert item.where.text == "return d * np.cos(cache[1]), d.sum(axis=0)"
    assert item.repair == report["x"].repair and "0" in item.repair[0].text
    assert not again["b"].where and again["b"].repair == ()


def test_nothing_at_all_proves_nothing():
    assert Report("f_vjp", []).verdict == "undecided"


def test_an_unknown_input_is_named():
    with pytest.raises(KeyError, match=r"'y'.*x, b"):
        check(forward, right, POINT)["y"]


def parsed(html):
    """Return a page as an XML tree."""
    body = re.sub(r"<!DOCTYPE html>|<meta [^>]+>", "", html)
    return ElementTree.fromstring(body)


@pytest.mark.parametrize("vjp", [right, wrong])
def test_html_is_well_formed_and_shows_both_curves(vjp):
    report = check(forward, vjp, POINT)
    html = report.html()
    shown = [heading.text for heading in parsed(html).findall(".//h3")]
    wrong_ones = [item.name for item in report.inputs if not item.ok]
    assert shown == (wrong_ones or ["x", "b"])
    # V-curve and Taylor plot of each input
    assert len(parsed(html).findall(".//svg")) == 2 * len(shown)
    assert "Error of central differences" in html
    assert "Taylor remainder" in html
    assert "http" not in html


def test_curves_of_a_figure_differ_without_their_colours():
    html = check(forward, right, POINT).html()
    for svg in parsed(html).findall(".//svg"):
        looks = [
            (line.get("stroke-dasharray"), line.get("stroke-width"))
            for line in svg.findall("polyline")
        ]
        assert len(set(looks)) == 2


@pytest.mark.parametrize(
    ("vjp", "charts"),
    [
        (lambda dout, cache: (right(dout, cache)[0], 5 * right(dout, cache)[1]), 2),
        (lambda dout, cache: (right(dout, cache)[0], np.ones((7, 7))), 1),
        (lambda dout, cache: (right(dout, cache)[0], np.nan * right(dout, cache)[1]), 1),
    ],
    ids=["factor", "shape", "nan"],
)
def test_the_wrong_input_is_the_one_that_is_drawn(vjp, charts):
    html = check(forward, vjp, POINT).html()
    tree = parsed(html)
    assert [heading.text for heading in tree.findall(".//h3")] == ["b"]
    assert len(tree.findall(".//svg")) == charts
    # A gradient without a curve is named in words.
    assert len(tree.findall(".//p[@class='no-curve']")) == 2 - charts


def test_html_escapes_what_the_user_wrote():
    report = check(forward, right, POINT, names=["<x>", "b&b"])
    assert "&lt;x&gt;" in report.html()
    assert "<x>" not in report.html()
