"""Judging in this process, as most tests do, gives what a box gives."""

import here
import pytest
from classroom_common import BOX, first, judged, needs_box

WRONG = [
    # 1a: a list; 1b: a sign; 1c: an exception; 1f: two of four gradients; 1i: the first way
    ("return mu + noise, noise", "return [mu + noise, noise]"),
    ("return dv.sum(axis=0), (dv * noise)", "return -dv.sum(axis=0), (dv * noise)"),
    ("    inverse_sigma = np.exp(-scale)\n", "    raise ValueError(f'no {scale.shape}')\n"),
    ("return dmu, dscale, -dmu.sum(axis=0), -ddivergence * (excess + shift * shift).sum()",
     "return dmu, dscale"),
    ("    nodes = np.linspace",
     "    return kl(mu, scale, prior_mu, prior_scale)[0]\n    nodes = np.linspace"),
]  # fmt: skip
AROUND = "import matplotlib.pyplot as plt\n1 / 0\nsample.__name__ = 5\nraise SystemExit(3)\n"


def told(result):
    """Return all of a result but its box and the time that it took."""
    table = result.to_dict()
    assert table.pop("sandbox")
    for each in (table, *table["verdicts"]):
        each.pop("seconds")
    return table


def wrong():
    text = first().source()
    for old, new in WRONG:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text + AROUND


@pytest.mark.starts(reason="it compares with a box")
@needs_box
@pytest.mark.parametrize("text", [wrong(), first().source()], ids=["wrong", "right"])
def test_a_hand_in_gets_the_same_result_here_as_in_a_box(text):
    with here.judged_here():
        mine = told(judged(text, box="none"))
    assert mine == told(judged(text, box=BOX))
    kinds = {verdict["task"]: verdict["state"] for verdict in mine["verdicts"]}
    assert len({*kinds.values()}) == (5 if AROUND in text else 2), kinds
