"""Custom priors: their KL divergence and gradient reach the ELBO, and invalid ones are refused."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import ibpcl
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.inference.backend import backend
from ibpcl.methods.own import own_prior
from ibpcl.models.elbo import Prior, _add_kl_weights_vjp, _kl_weights
from ibpcl.primitives import gaussian

PAGE = Path(ibpcl.__file__).parents[1] / "docs" / "own-prior.md"
TINY = {
    "hidden": (6,),
    "samples": 1,
    "prediction_samples": 2,
    "epochs": 3,
    "finetune_epochs": 1,
    "batch": 20,
    "backend": "numpy",
}


class Standard:
    """The package's Gaussian prior, written as a custom prior."""

    def kl(self, mu, log_sigma):
        return gaussian.kl(mu, log_sigma, np.zeros_like(mu), np.zeros_like(mu))

    def kl_vjp(self, dkl, cache):
        return gaussian.kl_vjp(dkl, cache)[:2]


class Unshaped(Standard):
    def kl_vjp(self, dkl, cache):
        return 0.0, 0.0


class Unsummed(Standard):
    def kl(self, mu, log_sigma):
        return mu, super().kl(mu, log_sigma)[1]


@pytest.fixture
def laplace(tmp_path, monkeypatch):
    """The page's own file, in the current folder."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "laplace.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("laplace", None)
    return own_prior("laplace:Laplace")


def test_the_pages_prior_is_verified_and_is_the_divergence(laplace):
    import laplace as module

    mu = np.array([0.0, 0.4, -1.5])
    log_sigma = np.array([-1.0, 0.2, -0.5])
    assert ibpcl.check(module.kl, module.kl_vjp, (mu, log_sigma)).ok
    x = stats.norm(mu[1], np.exp(log_sigma[1])).rvs(400_000, random_state=0)
    ratio = stats.norm(mu[1], np.exp(log_sigma[1])).logpdf(x) - stats.laplace(0, module.B).logpdf(x)
    assert abs(laplace.kl(mu[1:2], log_sigma[1:2])[0] - ratio.mean()) < 4 * ratio.std() / np.sqrt(
        len(x)
    )


def test_an_own_gaussian_gives_the_elbo_and_gradient_of_the_packages():
    rng = np.random.default_rng(0)
    P = 12
    vector = rng.normal(size=2 * P)
    layout = SimpleNamespace(
        blocks=("mu", "log_sigma"),
        size=2 * P,
        block=lambda name: slice(0, P) if name == "mu" else slice(P, 2 * P),
    )
    known = np.array([1, 4, 7])
    zeros = np.zeros(P)
    mine = Prior(zeros, zeros, {}, known, Standard())
    found = []
    for prior in (Prior(zeros, zeros, {}), mine):
        kl, cache = _kl_weights(layout, vector, prior, backend("numpy"))
        gradient = np.zeros(2 * P)
        _add_kl_weights_vjp(layout, gradient, -2.0, cache)
        found.append((kl, gradient))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)


def test_a_run_with_an_own_prior_is_another_one(laplace):
    x = np.random.default_rng(0).random((60, 9), np.float32)
    y = np.arange(60) % 2
    x[np.arange(60), y] += 1
    stream = ibpcl.tasks_from_arrays(x, y)
    runs = [ibpcl.run(stream, **TINY, unused_prior=name) for name in ("none", "laplace:Laplace")]
    none, mine = (run.history["kl_weights"] for run in runs)
    # the divergence of the unused weights is there
    assert mine[0] > none[0] + 10


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:Prior", "prior nowhere:Prior: nowhere cannot be imported"),
        (f"{__name__}:Nothing", "has no class Nothing"),
        (f"{__name__}:SimpleNamespace", "it needs kl"),
        (
            f"{__name__}:Unshaped",
            r"kl_vjp must return dmu and dlog_sigma .* got shapes \[\(\), \(\)\]",
        ),
        (f"{__name__}:Unsummed", "kl must return a finite number of nats"),
    ],
)
def test_an_invalid_prior_is_refused_in_a_line(name, words):
    with pytest.raises(UserError, match=words) as refused:
        own_prior(name)
    assert "\n" not in str(refused.value)


def test_an_unknown_prior_is_refused_by_the_settings(capsys):
    assert main(["run", "--set", "unused_prior=laplace"]) == 2
    assert (
        "unused_prior must be one of gaussian, flat, none, got 'laplace'" in capsys.readouterr().err
    )
