"""Every erratum compares two forms with a reference; the printed form, put into the package, is
caught by its own check.
"""

from dataclasses import replace

import numpy as np
import pytest
from quick import quick

from ibpcl.continual import masks as hard_masks
from ibpcl.continual import prior as priors
from ibpcl.evaluation import metrics
from ibpcl.models import elbo as bounds
from ibpcl.models.elbo import Flat
from ibpcl.numerics import logit
from ibpcl.paper import catalogue
from ibpcl.paper.errata import ERRATA, KINDS, NOTES, masks, posteriors, sticks
from ibpcl.paper.errata.entry import above, below, equal
from ibpcl.primitives import bernoulli, concrete, kumaraswamy, likelihoods, stick_breaking, weibull

BY_NAME = {entry.name: entry for entry in ERRATA}


def run(name):
    groups = [name.partition("/")[0]]
    (check,) = (check for check in catalogue.checks(groups) if str(check) == name)
    return catalogue.run(check).outcome


def printed_kl(a, b, alpha):
    return sum(
        sticks.eleven_terms(x, y, alpha, 1.0, -y / (1 - y)) for x, y in zip(a, b, strict=True)
    ), None


def eleven_terms(a, b, alpha, beta):
    return sticks.eleven_terms(a, b, alpha, beta, -(b - 1) / b), 0.0


def density_of_the_logit(z, logit_theta, tau):
    return concrete.log_density_logit(logit(z), logit_theta, tau)


def without_last_pairs(R):
    T = len(R)
    return R[np.tril_indices(T)].sum() / (T * (T - 1) / 2)


def mixed(used, chosen, other):
    return {name: (chosen[name] + other[name]) / 2 for name in priors.GAUSSIAN}


def independent_bernoullis(logits, labels):
    return likelihoods.bernoulli_logistic(logits, np.eye(logits.shape[-1])[labels])


# What is put in place of what, and the checks that must notice.
ACCEPTED = [
    (
        kumaraswamy,
        "kl_to_beta",
        printed_kl,
        ["errata/kumaraswamy-kl-constant", "divergences/kumaraswamy.kl_to_beta"],
    ),
    (
        kumaraswamy,
        "kl_to_general_beta",
        eleven_terms,
        ["errata/kumaraswamy-kl-11-terms", "divergences/kumaraswamy.kl_to_general_beta"],
    ),
    (
        concrete,
        "kl",
        bernoulli.kl,
        ["errata/mask-kl-which", "errata/mask-kl-sampled", "divergences/concrete.kl"],
    ),
    (
        concrete,
        "log_density",
        density_of_the_logit,
        ["errata/mask-density", "densities/concrete.log_density", "densities/concrete.jacobian"],
    ),
    (
        stick_breaking,
        "logit_probabilities",
        lambda log_pi: (log_pi, None),
        ["errata/mask-odds", "definitions/theta"],
    ),
    (
        metrics,
        "mean_accuracy_over_pairs",
        without_last_pairs,
        [
            "errata/acc-denominator",
            "errata/acc-column",
            "definitions/metrics.mean_accuracy_over_pairs",
        ],
    ),
    (
        metrics,
        "backward_transfer",
        lambda R: -0.036,
        ["errata/bwt-naive", "definitions/metrics.backward_transfer"],
    ),
    (
        hard_masks,
        "union",
        lambda masks, shape: np.zeros(shape, bool),
        ["errata/union-order", "definitions/masked-prior"],
    ),
    (
        priors,
        "select",
        mixed,
        ["errata/masked-prior", "definitions/masked-prior", "errata/union-order"],
    ),
    (
        likelihoods,
        "categorical",
        independent_bernoullis,
        ["errata/link-of-ten-classes", "densities/likelihoods.categorical"],
    ),
    (
        stick_breaking,
        "expected_weights",
        lambda alpha, units: 1.1 * alpha,
        ["errata/fifteen-percent", "divergences/stick_breaking.expected_weights"],
    ),
    (
        stick_breaking,
        "expected_active_units",
        lambda alpha, units, inputs: min(units, alpha * (1 / np.arange(1, inputs + 1)).sum()),
        ["errata/ibp-empty-columns", "divergences/stick_breaking.expected_active"],
    ),
    (
        kumaraswamy,
        "sample",
        lambda u, a, b: (np.log1p(-(u ** (1 / a))) / b, None),
        ["errata/structured-mean-field", "samplers/kumaraswamy.sample"],
    ),
    (
        Flat,
        "kl_vjp",
        staticmethod(lambda dkl, log_sigma: (np.zeros_like(log_sigma), log_sigma * dkl)),
        ["errata/uniform-prior"],
    ),
    (
        posteriors,
        "best_encoder",
        lambda: 1 / posteriors.W,
        ["errata/autoencoder-inference"],
    ),
    (
        kumaraswamy,
        "expected_kl_to_beta",
        lambda a, b, mean, mean_log: kumaraswamy.kl_to_beta(a, b, mean),
        ["errata/learned-alpha-sampled", "divergences/kumaraswamy.expected_kl_to_beta"],
    ),
]


@pytest.mark.parametrize(
    ("module", "function", "printed", "names"),
    quick(
        [
            "kl_to_beta",
            "kl",
            "logit_probabilities",
            "backward_transfer",
            "select",
            "expected_weights",
            "sample",
            "best_encoder",
        ],
        ACCEPTED,
        "seconds each; all checks of the package stand behind them",
        name=lambda case: case[1],
    ),
)
def test_the_printed_form_in_the_package_is_caught(monkeypatch, module, function, printed, names):
    monkeypatch.setattr(module, function, printed)
    assert [name for name in names if run(name).ok] == []


def test_an_elbo_without_the_minibatch_factor_is_caught(monkeypatch):
    elbo = bounds.elbo

    def without_factor(network, vector, prior, x, labels, noise, examples, *rest):
        return elbo(network, vector, prior, x, labels, noise, len(x), *rest)

    monkeypatch.setattr(bounds, "elbo", without_factor)
    assert not run("errata/minibatch-factor").ok
    assert not run("definitions/elbo").ok


def test_a_gradient_that_goes_down_is_caught(monkeypatch):
    upward = bounds.elbo_vjp
    monkeypatch.setattr(bounds, "elbo_vjp", lambda dparts, cache: -upward(dparts, cache))
    assert not run("errata/argmin-of-elbo").ok
    assert not run("gradients/elbo.elbo").ok


def test_the_numbers_are_those_of_the_derivation():
    """The values of the printed forms, each computed on paper or with mpmath before."""
    printed = [sticks.eleven_terms(a, b, alpha, 1.0, -b / (1 - b)) for a, b, alpha in sticks.POINTS]
    np.testing.assert_allclose(printed, [2.42796, 2.67755, -2.89, -0.416], atol=2e-2)
    exact = [sticks.divergence_by_quadrature(*point) for point in sticks.POINTS]
    np.testing.assert_allclose(exact, [0.261294, 0.177550, 0.305091, 1.583622], atol=1e-6)
    same = logit(0.9)
    costs = [
        masks.relaxed_divergence(same, same, *taus)
        for taus in ((10.0, 0.05), (0.3, 0.05), (0.3, 0.25))
    ]
    np.testing.assert_allclose(costs, [5.70, 1.93, 0.047], atol=5e-3)
    point = (31.0, 2.0, 30.0, 3.0)
    general = [sticks.eleven_terms(*point, -0.5), kumaraswamy.kl_to_general_beta(*point)[0]]
    # the package integrates every column by itself
    columns = stick_breaking.expected_active_units(30.0, 200, 784)
    assert sticks.expected_columns(30.0, 200, 784) == pytest.approx(columns, abs=1e-8)
    assert columns == pytest.approx(192.242, abs=1e-3)
    np.testing.assert_allclose(general, [-0.863, 0.655169], atol=1e-3)
    assert BY_NAME["acc-denominator"].find(0).printed == 1.5
    assert BY_NAME["mask-odds"].find(0).printed == pytest.approx(0.9 / 1.9)
    assert BY_NAME["fifteen-percent"].find(0).right == pytest.approx(0.1498, abs=5e-5)
    assert weibull.moments(sticks.K, sticks.SCALE)[0][0][0] == pytest.approx(10.7158, abs=1e-4)


def test_a_form_must_hold_at_all_points_and_fail_at_all():
    # accepted at the second point
    assert not equal([1.5, 1.0], [1.0, 1.0], 1.0, 1e-9).printed_fails
    assert not equal([1.5, 1.5], [1.0, 1.5], 1.0, 1e-9).right_holds
    assert equal(np.nan, 1.0, 1.0, 1e-9).printed_fails
    assert not equal(1.5, np.nan, 1.0, 1e-9).right_holds
    assert above(1.0, 3.0, 2.0).printed_fails
    assert not above(3.0, 1.0, 2.0).right_holds
    assert below(3.0, 1.0, 2.0).printed_fails
    assert not below(1.0, 3.0, 2.0).printed_fails


def test_what_the_bound_learns_about_an_encoder_is_not_its_posterior():
    """The evidence of the linear model is that of its marginal, N(0, W² + noise²)."""
    variance = posteriors.W**2 + posteriors.NOISE**2
    marginal = -(np.log(2 * np.pi * variance) + posteriors.X**2 / variance) / 2
    assert posteriors.log_evidence() == pytest.approx(marginal.sum(), abs=1e-9)
    best = posteriors.best_encoder()
    assert posteriors.bound(best) == pytest.approx(marginal.sum(), abs=1e-9)
    assert posteriors.bound(best + 0.1) < posteriors.bound(best) > posteriors.bound(best - 0.1)
    assert BY_NAME["encoder-weights"].find(0).printed < 0.1


def test_what_was_softened_is_not_called_wrong():
    """These hold for the paper's own prior, in its own formula, or in one reading of the text."""
    soft = {
        "kumaraswamy-kl-11-terms": "remark",
        "expansion-negative": "ambiguity",
        "mask-odds": "ambiguity",
        "bwt-exponent": "remark",
    }
    assert {name: BY_NAME[name].kind for name in soft} == soft


def test_entries_and_notes_are_complete():
    names = [entry.name for entry in (*ERRATA, *NOTES)]
    assert len(set(names)) == len(names)
    assert all(entry.line > 0 and entry.where for entry in (*ERRATA, *NOTES))
    of_paper = [entry for entry in (*ERRATA, *NOTES) if entry.kind != "code"]
    assert all(entry.line < 713 for entry in of_paper)
    # a note of the other kind names the file of the program
    assert all(note.where.endswith(".py") for note in NOTES if note not in of_paper)
    assert {entry.kind for entry in (*ERRATA, *NOTES)} == set(KINDS)
    assert all(entry.printed != entry.right for entry in ERRATA)
    assert all(len(entry.typeset) == len(entry.labels) == 2 for entry in ERRATA)
    titles = [entry.title for entry in ERRATA]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.name)
def test_the_evidence_supports_the_verdict(entry):
    """The printed form disagrees with the reference, except where the entry says that it agrees."""
    outcome = entry.run()
    assert outcome.ok
    assert outcome.numbers["right_holds"]
    assert outcome.numbers["printed_fails"] != entry.agrees
    assert not entry.agrees or entry.kind == "remark"
    assert entry.quantity and entry.quantity in " ".join(outcome.text.split())
    assert outcome.numbers["kind"] == entry.kind


def test_a_remark_that_should_agree_is_wrong_if_it_does_not():
    entry = BY_NAME["fifteen-percent"]
    finding = entry.find(0)
    assert not entry._replace(find=lambda seed: replace(finding, printed_fails=True)).run().ok
    assert entry._replace(find=lambda seed: replace(finding, printed_fails=False)).run().ok
