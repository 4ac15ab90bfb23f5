"""The marking scheme: one table, which a teacher can change, and which explains all points."""

import re

import pytest
from classroom_common import first, judged, verdict

from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.judging import marking
from ibpcl.classroom.judging.verdict import Part, Verdict
from ibpcl.errors import UserError

TEXT = marking.FILE.read_text()


def changed(tmp_path, **shares):
    """Return the scheme with other shares."""
    text = TEXT
    for evidence, share in shares.items():
        text = re.sub(rf'("{evidence}"\nshare = )[\d.]+', rf"\g<1>{share}", text)
    path = tmp_path / "marking.toml"
    path.write_text(text)
    return marking.read(path)


SPOILED = {
    "no TOML": ("[[row]]", "[[row"),
    "missing": ('"fits_own_forward"', '"fits"'),
    "above one": ("share = 0.9", "share = 1.1"),
    "no number": ("share = 0.9", 'share = "0.9"'),
    "right costs": ("share = 1.0", "share = 0.9"),
    "double": ('"fits_own_forward"', '"right"'),
    "exhibit": ("share = 0.35", "share = 0.3"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_scheme_that_cannot_be_meant_is_refused(name, tmp_path):
    old, new = SPOILED[name]
    (tmp_path / "marking.toml").write_text(TEXT.replace(old, new, 1))
    with pytest.raises(UserError):
        marking.read(tmp_path / "marking.toml")


def test_points_follow_from_the_shares_of_the_parts():
    found = Verdict("1a", "vjp", "", "public", 10.0, parts=[Part("a", "ok"), Part("b", "sign")])
    marking.default().earn(found.parts[0], "right")
    marking.settle(found)
    assert (found.points, found.state) == (5.0, "partial")
    marking.default().raise_to(found.parts[1], "named_mistake_in_a_gradient")
    marking.default().limit(found.parts[0], "gradient_of_little_substance")
    marking.settle(found)
    assert found.points == 10 * (0.6 + 0.25) / 2


def test_a_changed_share_changes_the_points_and_nothing_else(tmp_path):
    text = first().source() + (
        "\n\ndef sample_vjp(dv, cache):\n"
        "    return -dv.sum(axis=0), (dv * cache).sum(axis=(0, 1))\n"
    )
    usual = verdict(judged(text), "1b")
    assert [part.evidence for part in usual.parts] == ["named_mistake_in_a_gradient", "right"]
    assert usual.points == 0.8 * usual.most
    scheme = changed(tmp_path, named_mistake_in_a_gradient=0.2)
    strict = verdict(judged(text, scheme=scheme), "1b")
    assert strict.points == pytest.approx(0.6 * strict.most)
    assert [(p.kind, p.words) for p in strict.parts] == [(p.kind, p.words) for p in usual.parts]


MEAN = "\n\ndef combined_mask(masks):\n    return masks.mean(axis=0), None\n"
IGNORES = "\n\ndef learn(eps, masks, *_):\n    return 0 * eps[:, 0, 0], 0 * eps[:, 0, 0]\n"


@pytest.mark.slow(reason="judges several hand-ins")
def test_one_slip_costs_its_own_task_even_if_it_is_another_variants_answer():
    """The mean of the masks is the variant "power": 7e, which calls it, is right."""
    seventh = find("7")
    result = judged(seventh.source() + MEAN, seventh)
    assert verdict(result, "7a").points == 0
    assert verdict(result, "7e").points == verdict(result, "7e").most
    assert verdict(judged(seventh.source() + MEAN + IGNORES, seventh), "7e").points == 0


@pytest.mark.slow(reason="judges a hand-in")
def test_a_copied_variant_still_earns_nothing_where_it_differs():
    seventh = find("7")
    result = judged(seventh.source("power"), seventh)
    assert {verdict(result, task).points for task in ("7a", "7b")} == {0.0}
    assert verdict(result, "7c").points <= 0.1 * verdict(result, "7c").most
