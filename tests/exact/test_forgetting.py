"""Forgetting in two parts, and the study with the package's learners."""

import numpy as np
import pytest

from ibpcl import storage
from ibpcl.exact import forgetting, hmc, points, study, tiny
from ibpcl.exact.forgetting import decompose
from ibpcl.experiments import program


def test_the_parts_of_the_exact_posterior_are_all_of_its_model():
    exact = np.array([[-0.2, np.nan, np.nan], [-0.3, -0.1, np.nan], [-0.6, -0.2, -0.4]])
    parts = decompose(exact, exact)
    np.testing.assert_allclose(parts.total, [0.4, 0.1])
    np.testing.assert_allclose(parts.model, parts.total)
    assert (parts.approximation == 0).all() and (parts.gap == 0).all()


def test_the_parts_add_up_and_a_constant_gap_is_not_forgetting():
    rng = np.random.default_rng(0)
    exact, method = -rng.uniform(0.1, 1, (2, 4, 4))
    parts = decompose(exact, method)
    np.testing.assert_allclose(parts.model + parts.approximation, parts.total)
    gap_at_end = exact[-1, :-1] - method[-1, :-1]
    np.testing.assert_allclose(parts.approximation, gap_at_end - parts.gap)
    worse = decompose(exact, exact - 0.3)
    np.testing.assert_allclose(worse.approximation, 0, atol=1e-15)
    np.testing.assert_allclose(worse.gap, 0.3)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match=r"one shape \(T, T\)"):
        decompose(np.zeros((2, 2)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="at least 2 tasks"):
        decompose(np.zeros((1, 1)), np.zeros((1, 1)))
    with pytest.raises(ValueError, match="kind"):
        study.stream("other")


def test_one_network_fits_the_compatible_tasks_and_none_the_conflicting_ones():
    """Weights that follow the bend give the labels of all compatible tasks; the boundaries of the
    conflicting tasks turn.
    """
    a = np.sqrt(study.STEEPNESS)
    # units: x1, x1 + x2, -(x1 + x2), each cut off at 0; the second output is their combination
    first = [a, a, -a, 0, a, -a, 0, 0, 0]
    head = [0, -2 * a, 0, a, 0, -a, 0, 0]
    w = np.array([first + head])
    x = np.random.default_rng(0).normal(size=(30, 2))
    f, _ = tiny.outputs(study.NETWORK, w, x)
    logits = study.STEEPNESS * (x[:, 1] - np.abs(x[:, 0]))
    np.testing.assert_allclose(f[0, :, 1] - f[0, :, 0], logits, atol=1e-12)
    tasks = study.stream("compatible")
    best = [
        tiny.log_density(study.NETWORK, w, task.x_test, task.y_test)[0].mean() for task in tasks
    ]
    assert min(best) > -0.4
    correlation = [
        np.corrcoef(task.x_test.T, task.y_test)[2, :2] for task in study.stream("conflicting")
    ]
    assert correlation[0][0] > 0.6 and correlation[2][0] < -0.2


def test_streams_depend_on_the_seed_alone():
    one, same, other = (study.stream("conflicting", seed)[1] for seed in (0, 0, 1))
    assert (one.x_train == same.x_train).all() and not (one.x_train == other.x_train).any()
    assert len(one.x_train) == study.TRAIN and len(one.x_test) == study.TEST


def test_the_score_of_draws_is_their_log_predictive_density():
    task = study.stream("conflicting")[0]
    draws = np.random.default_rng(0).normal(size=(10, 4, study.NETWORK.size))
    chains = hmc.Chains(draws, 0.8, 0.1, np.ones(study.NETWORK.size), 0)
    value, error, rhat = study.log_predictive(chains, task)
    cloud = points.of_draws(draws)
    expected = points.log_predictive(study.NETWORK, cloud, task.x_test, task.y_test).mean()
    assert abs(value - expected) < 1e-12 and 0 < error < 1 and rhat > 0.5


def test_later_exact_posteriors_start_from_earlier_ones(monkeypatch):
    monkeypatch.setattr(study, "DRAWS", 10)
    monkeypatch.setattr(study, "WARM_UP", 40)
    monkeypatch.setattr(study, "CHAINS", 4)
    tasks = study.stream("conflicting", train=(10, 10))
    scores, error, rhat = study.exact_scores(tasks)
    assert np.isnan(scores[0, 1]) and np.isfinite(scores[1]).all() and scores[1, 1] > -np.log(2)
    assert error > 0 and rhat < 3


@pytest.mark.parametrize("name", study.SETTINGS)
def test_every_learner_is_scored(name, monkeypatch):
    short = {"epochs": 5} | ({"finetune_epochs": 5} if name == "npbcl" else {})
    monkeypatch.setitem(study.SETTINGS, name, study.SETTINGS[name] | short)
    tasks = study.stream("conflicting")[:2]
    learner = study.learner(name)
    scores = forgetting.scores_of_learner(learner, tasks)
    p = learner.predict(tasks[0].x_test, 0)[np.arange(study.TEST), tasks[0].y_test]
    if learner.predict(tasks[0].x_test, 0) is not None and name in ("naive", "ewc", "laplace"):
        np.testing.assert_allclose(scores[1, 0], np.log(p).mean(), rtol=1e-6)
    assert np.isnan(scores[0, 1]) and np.isfinite(scores[np.tril_indices(2)]).all()


def test_the_study_writes_a_line_per_value_with_seed_and_program(tmp_path, monkeypatch, capsys):
    parts = forgetting.Forgetting(*(np.array([i, i + 2.0]) for i in range(4)))
    monkeypatch.setattr(
        study, "compare", lambda kind, seed, names: (dict.fromkeys(names, parts), 0.1, 1.0)
    )
    monkeypatch.setattr("sys.argv", ["study", "--seeds", "2", "--out", str(tmp_path / "exact")])
    study.main()
    assert "NPBCL" in capsys.readouterr().out
    lines = storage.read_csv(tmp_path / "exact" / "values.csv")
    rows = len(study.STREAMS) * (len(study.SETTINGS) * 4 + 2)
    assert len(lines["value"]) == 2 * rows and set(lines["seed"].tolist()) == {0, 1}
    assert set(lines["processor"]) == {program.processor()}
    totals = lines["value"][(lines["row"] == "VCL") & (lines["column"] == "model")]
    assert set(totals.tolist()) == {2.0}  # the mean over the tasks


def test_the_study_refuses_a_method_that_it_does_not_have(capsys):
    with pytest.raises(SystemExit):
        study.main(["--methods", "vcl,nothing"])
    assert "nothing" in capsys.readouterr().err


def test_the_study_has_the_generalized_method_with_its_own_settings():
    settings = study.learner("gvcl").settings
    assert settings.beta < 1 < settings.weight
