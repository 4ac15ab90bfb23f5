"""What tutorial 6 says in words is what its numbers show: its first cells are run, and looked at from outside."""

from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "tutorials" / "06_why_networks_forget.py"
BEFORE_THE_METHODS = "# ## Four methods on the same tasks"


@pytest.fixture(scope="module")
def found():
    """The names of the tutorial, up to the comparison of the methods; figures are drawn and not shown."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    text, names = SCRIPT.read_text(encoding="utf-8").split(BEFORE_THE_METHODS)[0], {}
    pyplot.switch_backend("agg")
    for cell in text.split("# %%\n")[1:]:
        exec(compile(cell, str(SCRIPT), "exec"), names)
        pyplot.close("all")
    return names


def test_one_head_forgets_and_training_on_both_tasks_does_not(found):
    after, together = (found["test"](found[name], found["first"]) for name in ("naive", "joint"))
    assert found["before"] > 0.95 and after < found["before"] - 0.2
    assert together > 0.9 and found["test"](found["joint"], found["second"]) > 0.8


def test_the_first_task_s_loss_is_flat_at_first_and_then_climbs(found):
    at = {round(s, 3): loss for s, loss in zip(found["shares"], found["losses"][found["first"].name], strict=True)}
    assert abs(at[0.3] - at[0.0]) < 0.1 and at[1.0] > at[0.0] + 0.3
    mean = np.mean(list(found["losses"].values()), axis=0)
    assert 0.3 < found["shares"][mean.argmin()] < 1


def test_the_first_task_does_not_pull_and_the_second_does(found):
    assert found["sizes"][1] > 20 * found["sizes"][0]


def test_the_plane_goes_through_its_three_points(found):
    for name, (x, y) in (("theta_1", (0, 0)), ("theta_2", (1, 0))):
        np.testing.assert_allclose(found["place"](found[name]), (x, y), atol=1e-5)
    x, y = found["place"](found["theta_both"])
    back = found["theta_1"] + found["length"] * (x * found["across"] + y * found["up"])
    np.testing.assert_allclose(back, found["theta_both"], atol=1e-5)


def test_the_parabola_is_too_flat_and_its_weight_trades_one_task_for_the_other(found):
    end = np.abs(found["shares"] - 1).argmin()
    true = found["losses"][found["first"].name][end] - found["losses"][found["first"].name][5]
    assert 0 < found["believed"][end] - found["believed"][5] < true / 20
    kept, gained = np.array(found["kept"]), np.array(found["gained"])
    assert kept[-1] > kept[0] + 20 and gained[-1] < gained[0] - 20
    star = [100 * found["test"](found["joint"], found[task]) for task in ("first", "second")]
    assert not ((kept >= star[0]) & (gained >= star[1])).any()
