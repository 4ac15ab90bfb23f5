"""The numbers and claims of tutorial 4 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

from ibpcl.cli import main
from ibpcl.verify import check

pytestmark = pytest.mark.slow(reason="the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_the_first_attempt_has_wrong_shapes_and_the_second_wrong_numbers():
    kinds = {
        name: {
            item.name: item.kind
            for item in check(tutorial["log_likelihood"], tutorial[name], tutorial["inputs"]).inputs
        }
        for name in ("first_vjp", "second_vjp")
    }
    assert kinds["first_vjp"]["w"] == kinds["first_vjp"]["b"] == "wrong_shape"
    assert set(kinds["second_vjp"].values()) == {"wrong"} and len(kinds["second_vjp"]) == 4


@tutorial.holds("factor 1.7", "*is* 1.7")
def test_the_later_reports_name_each_mistake():
    assert (
        check(
            tutorial["pick"],
            tutorial["pick_first_vjp"],
            (tutorial["logits"], tutorial["inputs"]["labels"]),
        )["logits"].kind
        == "missing_term"
    )
    report = check(tutorial["log_likelihood"], tutorial["third_vjp"], tutorial["inputs"])
    assert [report[name].kind for name in ("x", "w", "b", "tau")] == ["elementwise_factor"] * 3 + [
        "sign"
    ]
    assert tutorial["inputs"]["tau"] == 1.7
    np.testing.assert_allclose(
        tutorial["third_vjp"](tutorial["dlog_p"], tutorial["cache"])[1], 1.7 * tutorial["exact"]
    )


def test_the_slope_tells_the_last_attempt_from_the_others():
    (second, slope_2), (third, slope_3), (last, slope) = tutorial["tried"].values()
    assert second > third > 0.5 and last < 1e-12
    np.testing.assert_allclose((slope_2, slope_3, slope), (1, 1, 2), atol=0.05)


def test_the_chain_names_the_stage():
    assert tutorial["report"].first_wrong == "tanh"
    assert "head: ok" in tutorial.printed and "hidden layer: ok" in tutorial.printed


@tutorial.holds("exit code is 0", "It is 1 if one is wrong", "and 3 if the check")
def test_the_command_has_these_exit_codes(tmp_path, capsys):
    file = tmp_path / "mine.py"
    text = (
        "import time\nimport numpy as np\n\ndef f(x):\n    return x**2, x\n\ndef f_vjp(dy, x):\n "
        "   return {}\n\ndef check_inputs():\n    return {{'x': np.arange(3.0)}}\n"
    )
    for gradient, code, seconds in (
        ("2 * dy * x", 0, "120"),
        ("dy * x", 1, "120"),
        ("time.sleep(300)", 3, "1"),
    ):
        file.write_text(text.format(gradient), encoding="utf-8")
        assert main(["check", f"{file}:f", "--timeout", seconds]) == code
    capsys.readouterr()


def test_the_cold_forward_passes_and_a_known_value_finds_it():
    assert check(
        tutorial["cold_likelihood"], tutorial["cold_likelihood_vjp"], tutorial["inputs"]
    ).ok
    assert "hardly tested" in tutorial.printed
    right, cold = (np.exp(values[0]) for values in tutorial["hot"])
    assert abs(right - 0.5) < 0.02 and cold > 0.9
