"""The laboratory of mask gradients: quadrature, sampling, the tables and the command."""

import numpy as np
import pytest

from ibpcl import storage
from ibpcl.exact import mask_gradients as lab
from ibpcl.exact import mask_study as study

UNBIASED = [name for name, estimator in study.ESTIMATORS.items() if estimator.unbiased]
BIASED = [name for name in study.ESTIMATORS if name not in UNBIASED]
DRAWS = 5000


@pytest.mark.parametrize("name", UNBIASED)
def test_an_unbiased_estimator_has_no_bias(name):
    for theta, tau in ((0.2, 0.25), (0.5, 1.0)):
        assert study.by_quadrature(name, theta, tau).bias < 1e-5
    found = study.by_sampling(name, draws=DRAWS)
    assert found.bias < 4 * found.error


@pytest.mark.parametrize("name", BIASED)
def test_a_biased_estimator_has_one(name):
    assert study.by_quadrature(name, 0.2).bias > 0.1
    found = study.by_sampling(name, draws=DRAWS)
    assert found.bias > 4 * found.error


def test_sampling_one_mask_gives_the_quadrature():
    phi = np.array([0.3])
    theta = float(1 / (1 + np.exp(-0.3)))
    loss = study.one_mask()
    mean, exact = lab.exact(loss, phi)
    rng = np.random.default_rng(0)
    for name, estimator in study.ESTIMATORS.items():
        u = rng.random((100_000, estimator.noise))
        g = estimator.estimate(loss, phi, u, 0.5, mean)
        deviation = g.std() / abs(exact.item())
        found = study.by_quadrature(name, theta, 0.5)
        assert deviation == pytest.approx(found.deviation, rel=0.05), name
        assert abs(g.mean() - exact) / abs(exact) == pytest.approx(
            found.bias, abs=5 * deviation / np.sqrt(len(u))
        )


def test_the_bias_of_the_relaxation_falls_with_the_temperature_and_its_deviation_rises():
    found = [study.by_quadrature("concrete", 0.5, tau) for tau in study.TAUS]
    assert np.all(np.diff([one.bias for one in found]) > 0)
    assert np.all(np.diff([one.deviation for one in found]) < 0)


def test_the_command_writes_tables_and_figures(tmp_path, capsys):
    study.main(["--seeds", "1", "--draws", "200", "--out", str(tmp_path)])
    assert "DisARM" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "values.csv",
        "mask-gradients-one-mask.png",
        "mask-gradients-twelve-masks.png",
    }
    values = storage.read_csv(tmp_path / "values.csv")
    assert set(values["row"]) >= set(BIASED) - {"concrete"}
    assert len(set(values["table"])) == 6


def test_a_network_is_that_of_its_seed():
    (first, odds), (again, same), (other, _) = (study.twelve_masks(seed) for seed in (0, 0, 1))
    b = np.ones((1, 12))
    assert first.value(b) == again.value(b) != other.value(b)
    np.testing.assert_array_equal(odds, same)


@pytest.mark.parametrize("words", [["--seeds", "0"], ["--draws", "1"]])
def test_numbers_that_are_too_small_are_refused(words):
    with pytest.raises(SystemExit):
        study.main(words)
