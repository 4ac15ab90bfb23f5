"""The first wrong stage of a chain is found, whatever the stages after it do."""

import json

import numpy as np
import pytest

from ibpcl.verify import Stage, check_chain

RNG = np.random.default_rng(2)
X = RNG.standard_normal((4, 3))
W = RNG.standard_normal((3, 2))
B = RNG.standard_normal(2)


def affine(x, w, b):
    return x @ w + b, (x, w)


def affine_vjp(d, cache):
    x, w = cache
    return d @ w.T, x.T @ d, d.sum(axis=0)


def tanh(x):
    return np.tanh(x), x


def tanh_vjp(d, x):
    return d * (1 - np.tanh(x) ** 2)


def loss(x):
    return 0.5 * np.sum(x * x), x


def loss_vjp(d, x):
    return d * x


def stages(**wrong):
    return [
        Stage("affine", affine, wrong.get("affine", affine_vjp), (W, B)),
        Stage("tanh", tanh, wrong.get("tanh", tanh_vjp)),
        ("loss", loss, wrong.get("loss", loss_vjp)),
    ]


def test_a_right_chain_passes():
    report = check_chain(stages(), X)
    assert report.ok
    assert report.first_wrong is None
    assert report.score == 1
    assert [r.title for r in report.stages] == ["loss", "tanh", "affine"]
    assert "chain: ok" in report.text()


@pytest.mark.parametrize(
    ("wrong", "first"),
    [
        ({"affine": lambda d, c: (d @ c[1].T, c[0].T @ d, d.mean(axis=0))}, "affine"),
        ({"tanh": lambda d, x: d * (1 - np.tanh(x))}, "tanh"),
        ({"loss": lambda d, x: 2 * d * x}, "loss"),
        (
            {
                "affine": lambda d, c: (-d @ c[1].T, c[0].T @ d, d.sum(axis=0)),
                "tanh": lambda d, x: -d,
            },
            "tanh",
        ),
    ],
)
def test_the_first_wrong_stage_in_backward_order_is_named(wrong, first):
    report = check_chain(stages(**wrong), X)
    assert not report.ok
    assert report.first_wrong == first
    assert f"first at stage {first!r}" in str(report)
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["first_wrong"] == first
    assert first in report.html()


def test_parameters_that_are_not_differentiated_are_left_out_with_wrt():
    stage = ("affine", affine, lambda d, c: affine_vjp(d, c)[0], (W, B), ("x",))
    assert check_chain([stage], X).ok


def test_a_stage_with_two_outputs_is_refused():
    with pytest.raises(TypeError, match=r"'split'.*2"):
        check_chain([("split", lambda x: ((x, x), x), lambda d, x: d[0] + d[1])], X)


def test_a_chain_is_undecided_if_a_stage_is_and_none_is_wrong():
    report = check_chain(stages(), X, timeout=0.0)
    assert (report.ok, report.undecided, report.verdict, report.first_wrong) == (
        False,
        True,
        "undecided",
        None,
    )
    assert report.text().startswith("chain: UNDECIDED, first at stage 'loss'")
    assert report.text().count("not finished within") >= len(report.stages)
    assert report.to_dict()["verdict"] == "undecided"
    assert report.html().count('class="undecided"') == 3
    report.stages[1] = check_chain(stages(tanh=lambda d, x: -d), X).stages[1]
    assert report.verdict == "wrong" and report.first_wrong == "tanh"
