"""Checks of distributions on unusual code and arguments, heavy tails, and slow code."""

import importlib.util
import math
import time
from pathlib import Path

import numpy as np
import pytest
from quick import quick

from ibpcl import check_distribution, check_identity, check_value
from ibpcl.cli import main
from ibpcl.verify import ForwardReport
from ibpcl.verify.distributions import checking
from ibpcl.verify.distributions.calls import over
from ibpcl.verify.distributions.reading import group_of, groups_in
from ibpcl.verify.running.checking import results_here
from ibpcl.verify.running.user import Request

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def verdicts_of(path, *names):
    return {item.verdict for item in results_here(Request(str(path), list(names)))}


def normal(x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)


def raises(x, mu):
    raise RuntimeError("boom")


def draws_itself(mu, sigma, size):
    return np.random.normal(mu, sigma, size)  # noqa: NPY002


def half_nan(x, mu, sigma):
    return np.where(x > mu, normal(x, mu, sigma), np.nan)


def needs_positive(x, sigma):
    if sigma < 0:
        raise ValueError("sigma must be positive")
    return -x / sigma - math.log(sigma)


def point_mass(x):
    return np.where(np.asarray(x) == 0, np.inf, -np.inf)


def slow(x, mu):
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    return normal(x, mu, 1.0)


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ((raises,), {}, "boom"),
        pytest.param((half_nan,), {}, "NaN", marks=pytest.mark.slow(reason="takes seconds")),
        ((needs_positive,), {"parameters": {"sigma": -1.0}, "support": (0, np.inf)}, "positive"),
        ((point_mass,), {"support": (-1, 1)}, "point mass"),
        ((normal,), {"support": (1, 0)}, "low < high"),
        ((normal,), {"parameters": {"mu": 1.0}}, "`sigma`"),
        ((normal,), {"sample": lambda mu, sigma, foo: mu}, "`foo`"),
        ((normal,), {"mean": lambda foo: foo}, "`foo`"),
        ((normal,), {"mean": lambda mu: "hello"}, "str"),
        ((normal,), {"mean": lambda mu: 1 / 0}, "ZeroDivisionError"),
        ((normal,), {"mean": lambda mu: np.zeros(3)}, "(3,)"),
        ((normal,), {"kl": lambda one, other, third: 0.0}, "which of its arguments"),
    ],
)
def test_what_cannot_be_checked_is_undecided_with_a_reason(arguments, options, says):
    report = check_distribution(*arguments, **options)
    assert report.verdict == "undecided"
    assert says in " ".join(item.words for item in report.items)


def test_a_moment_that_does_not_exist_is_not_accused():
    def cauchy(x):
        return -np.log(np.pi * (1 + x * x))

    report = check_distribution(cauchy, mean=lambda: 0.0, variance=lambda: np.inf)
    assert [item.verdict for item in report.items] == ["ok", "undecided", "ok"]


def test_a_sampler_that_draws_by_itself_is_checked_by_its_draws_and_told_of_noise():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    report = check_distribution(normal, sample=draws_itself)
    assert report.ok
    assert any("argument" in note for note in report.notes)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    "parameters",
    [{"mu": 1e6, "sigma": 0.01}, {"mu": 0.3, "sigma": 1e-5}, {"mu": -40.0, "sigma": 1e4}],
)
def test_narrow_and_far_densities_are_found(parameters):
    report = check_distribution(normal, parameters=parameters, mean=lambda mu: mu)
    assert report.ok, str(report)


def test_two_modes_far_apart_are_one_density():
    def mixture(x, mu):
        modes = np.logaddexp(-0.5 * (x - mu) ** 2, -0.5 * (x + mu) ** 2)
        return modes - np.log(2) - 0.5 * np.log(2 * np.pi)

    def entropy():
        return 0.5 * np.log(2 * np.pi * np.e) + np.log(2)

    report = check_distribution(mixture, parameters={"mu": 30.0}, entropy=entropy)
    assert report.ok, str(report)


def test_functions_of_single_numbers_are_called_number_by_number():
    def log_density(x, rate):
        return math.log(rate) - rate * x if x >= 0 else -math.inf

    report = check_distribution(
        log_density,
        sample=lambda u, rate: -math.log(u) / rate,
        mean=lambda rate: 1 / rate,
        quantile=lambda p, rate: -math.log(1 - p) / rate,
    )
    assert report.ok, str(report)


def test_a_guessed_support_alone_accuses_nobody():
    # a shifted exponential distribution: the formula is defined on the whole line
    def log_density(x, shift, rate):
        return np.log(rate) - rate * (x - shift)

    assert check_distribution(log_density).verdict != "wrong"


def test_a_slow_density_is_undecided(monkeypatch):
    monkeypatch.setattr(checking, "ITEM_SECONDS", 1.0)
    report = check_distribution(slow, parameters={"mu": 0.0})
    assert report.verdict == "undecided" and "slow" in report.items[0].words


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="log_density"):
        check_distribution()


def test_the_verdict_comes_back_from_json():
    report = check_distribution(normal, mean=lambda mu: -mu)
    again = ForwardReport.from_dict(report.to_dict())
    assert again.text() == report.text() and again["mean"].kind == "sign"


def test_the_same_call_gives_the_same_report():
    def once():
        return str(check_distribution(normal, sample=draws_itself, mean=lambda mu: mu + 1))

    assert once() == once()


def test_a_change_of_the_density_is_named_where_everything_else_contradicts_it():
    def shifted(x, mu, sigma):
        return -0.5 * ((x + mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)

    report = check_distribution(
        shifted, sample=lambda eps, mu, sigma: mu + sigma * eps, mean=lambda mu: mu
    )
    assert [item.verdict for item in report.items] == ["wrong", "ok", "ok"]


def test_identities():
    assert check_identity(np.sinh, lambda x: (np.exp(x) - np.exp(-x)) / 2, {"x": 0.3}).ok
    verdict = check_identity(lambda x: x.sum(0), lambda x: x.mean(0), {"x": np.full((3, 2), 0.3)})
    assert verdict.kind == "constant_factor" and "mean" in verdict.words
    assert check_identity(lambda x: 1 / 0, lambda x: x, {"x": 0.3}).kind == "raises"
    with pytest.raises(ValueError, match="right function"):
        check_identity(lambda x: x, lambda x: 1 / 0, {"x": 0.3})


@pytest.mark.parametrize(
    ("got", "expected", "kind"),
    [
        (2.0, 2.0, "ok"),
        (-2.0, 2.0, "sign"),
        (1.0, 2.0, "constant_factor"),
        (2.0 / math.log(2), 2.0, "log_base"),
        (0.3, 0.7, "complement"),
        (4.41, 2.1, "other_scale"),
        (3.3, 2.1, "wrong"),
        ("hello", 1.0, "raises"),
        (np.nan, 1.0, "non_finite"),
        (2.0, [1.0, 3.0], "other_quantity"),
        ([2.0, 4.0, 6.0], [1.0, 2.0, 3.0], "constant_factor"),
    ],
)
def test_a_number_is_compared_and_its_slip_is_named(got, expected, kind):
    assert check_value(got, expected).kind == kind


def test_a_wrong_answer_that_was_expected_is_named_in_the_words_of_the_exercise():
    verdict = check_value(0.81, 0.5, {"the reversed divergence": 0.81})
    assert not verdict.ok and "reversed divergence" in verdict.words


def test_names_make_groups(tmp_path):
    path = tmp_path / "several.py"
    path.write_text(
        "import numpy as np\n"
        "def gauss_log_density(x, mu, sigma):\n"
        "    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)\n"
        "def gauss_mean(mu, sigma):\n    return mu\n"
        "class Exponential:\n"
        "    def __init__(self, rate):\n        self.rate = rate\n"
        "    def logPDF(self, x):\n        return np.log(self.rate) - self.rate * x\n"
        "    def mean(self):\n        return 1 / self.rate\n"
        "def unnormalized_log_density(x):\n    return -x * x\n"
        "def mean(values):\n    return sum(values) / len(values)\n"
        "def softmax(x):\n    return x\n"
    )
    spec = importlib.util.spec_from_file_location("several", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    groups = groups_in(module)
    assert {group.title: sorted(group.parts) for group in groups} == {
        "gauss": ["log_density", "mean"],
        "Exponential": ["log_density", "mean"],
    }


def test_the_variable_may_come_last():
    group = group_of("d", {"log_density": lambda mu, sigma, x: normal(x, mu, sigma)})
    assert group.parts["log_density"].variable == "x"
    assert check_distribution(lambda mu, sigma, x: normal(x, mu, sigma), mean=lambda mu: mu).ok


@pytest.mark.parametrize(
    ("example", "function", "says"),
    quick(
        ["eq13_divergence", "d3_density"],
        [
            ("eq13_divergence", "kl", "upside down"),
            ("d3_density", "log_density", "log(x / (1 - x))"),
            ("eq8_scale", "estimator", "1/12"),
            ("the_link", "sample", "np.log(1 - pi)"),
        ],
        "test_forward_mistakes.py has other samplers and estimators",
        name=lambda case: case[0],
    ),
)
def test_the_mistakes_of_the_paper_are_found(example, function, says):
    texts = [item.text() for item in results_here(Request(str(EXAMPLES / f"{example}.py")))]
    printed = " ".join(" ".join(texts).split())
    assert f"{function}: WRONG" in printed and says.replace(" ", "") in printed.replace(" ", "")


@pytest.mark.usefixtures("checked_here")
def test_the_command_checks_gradients_and_distributions_of_one_file(tmp_path, capsys):
    path = tmp_path / "both.py"
    path.write_text(
        "import numpy as np\n"
        "def f(x):\n    return np.sin(x), x\n"
        "def f_vjp(dout, x):\n    return dout * np.cos(x)\n"
        "def log_density(x, rate):\n    return np.log(rate) - rate * x\n"
        "def entropy(rate):\n    return 1 + np.log(rate)\n"
        "def helper(z):\n    return z\n"
        "def check_inputs():\n    return {'x': np.linspace(0, 1, 5)}\n"
    )
    assert main(["check", str(path)]) == 1
    printed = capsys.readouterr().out
    assert "f: ok" in printed and "entropy: WRONG" in printed and "helper" in printed
    assert verdicts_of(path, "f") == {"ok"}
    assert verdicts_of(path, "entropy") == {"wrong"}
    page = tmp_path / "page.html"
    assert main(["check", str(path), "--json", "--html", str(page)]) == 1
    assert '"verdict": "wrong"' in capsys.readouterr().out
    assert "entropy" in page.read_text(encoding="utf-8")


@pytest.mark.slow(reason="waits for a limit, which tests/test_check_command.py has for gradients")
def test_a_function_that_never_returns_costs_its_own_verdict(tmp_path, capfd):
    path = tmp_path / "never.py"
    path.write_text(
        "import time\nimport numpy as np\n"
        "def log_density(x, rate):\n    return np.log(rate) - rate * x\n"
        "def mean(rate):\n    while True:\n        time.sleep(0.1)\n"
        "def other_log_density(x, rate):\n    return np.log(rate) - rate * x\n"
    )
    code = main(["check", str(path), "--timeout", "6"])
    out, err = capfd.readouterr()
    assert code == 3 and "Traceback" not in err
    assert "other_log_density: ok" in out and "not finished" in out


def scipy_distributions():
    """Return the continuous distributions of SciPy with the shapes that SciPy tests them at."""
    from scipy.stats import _distr_params

    slow = "levy_stable studentized_range kstwo ksone ncf nct ncx2 genhyperbolic norminvgauss "
    slow += "vonmises geninvgauss gausshyper rel_breitwigner crystalball kappa4 kappa3 argus "
    slow += "skewnorm powernorm powerlognorm dpareto_lognorm landau recipinvgauss vonmises_line"
    return [
        (name, shapes)
        for name, shapes in _distr_params.distcont
        if isinstance(name, str) and name not in slow.split()
    ]


@pytest.mark.parametrize(
    ("name", "shapes"),
    quick(
        ["alpha", "exponnorm", "halfgennorm", "johnsonsu", "norm", "truncnorm"],
        scipy_distributions(),
        "all go through the same checks",
        name=lambda case: case[0],
    ),
)
def test_the_distributions_of_scipy_raise_no_alarm(name, shapes):
    from scipy import stats

    distribution = getattr(stats, name)
    names = [each.strip() for each in distribution.shapes.split(",")] if distribution.shapes else []
    comma = "".join(f", {each}" for each in names)

    def of_x(method):
        return eval(f"lambda x{comma}: f(x{comma})", {"f": method})

    def of_parameters(method):
        return eval(f"lambda {comma[2:]}: float(f({comma[2:]}))", {"f": method})

    report = check_distribution(
        of_x(distribution.logpdf),
        cdf=of_x(distribution.cdf),
        quantile=of_x(distribution.ppf),
        sample=eval(f"lambda u{comma}: f(u{comma})", {"f": distribution.ppf}),
        mean=of_parameters(distribution.mean),
        variance=of_parameters(distribution.var),
        entropy=of_parameters(distribution.entropy),
        parameters=[dict(zip(names, shapes, strict=True))] if names else None,
    )
    assert report.verdict != "wrong", str(report)


def log_softmax(z, tau):
    scaled = z / tau
    return scaled - np.log(np.sum(np.exp(scaled), axis=-1, keepdims=True))


def other_temperature(z, tau):
    scaled = z * tau
    return scaled - np.log(np.sum(np.exp(scaled), axis=-1, keepdims=True))


def other_axis(z, tau):
    scaled = z / tau
    return scaled - np.log(np.sum(np.exp(scaled), axis=0, keepdims=True))


def objective(ll, kl, N, batch):
    return N / batch * ll - kl


def unscaled(ll, kl, N, batch):
    return ll - kl


def all_scaled(ll, kl, N, batch):
    return N / batch * (ll - kl)


def upside_down(ll, kl, N, batch):
    return batch / N * ll - kl


def series(x, terms=3000):
    return float(np.sum(x ** np.arange(1, terms) / np.arange(1, terms)))


def truncated(x):
    total = 0.0
    for m in range(1, 12):
        total += x**m / m
    return total


def sticks(v):
    return np.cumprod(v)


def backwards(v):
    return np.flip(np.cumprod(np.flip(v)))


def sums(v):
    return np.cumsum(v)


SIZES = [
    {"ll": -3.1, "kl": 0.7, "N": 60, "batch": 5},
    {"ll": -2.1, "kl": 0.3, "N": 50, "batch": 4},
    {"ll": -1.1, "kl": 1.7, "N": 30, "batch": 6},
]
TABLE = {"z": np.random.default_rng(0).normal(size=(4, 3)), "tau": 0.7}
V = {"v": np.array([0.9, 0.3, 0.6, 0.8])}


@pytest.mark.parametrize(
    ("left", "right", "inputs", "says"),
    [
        (other_temperature, log_softmax, TABLE, "tau"),
        (other_axis, log_softmax, TABLE, "axis"),
        (unscaled, objective, SIZES, "N / batch"),
        (all_scaled, objective, SIZES, "batch / N"),
        (upside_down, objective, SIZES, "one over"),
        (truncated, series, {"x": 0.9}, "truncated"),
        (backwards, sticks, V, "flip"),
        (sums, sticks, V, "cumprod"),
    ],
)
def test_slips_of_losses_and_series_are_named(left, right, inputs, says):
    verdict = check_identity(left, right, inputs)
    assert verdict.verdict == "wrong" and says in verdict.words, str(verdict)


def in_space(x, mu, L):
    z = np.linalg.solve(L, (np.asarray(x) - mu).T)
    return -0.5 * np.sum(z**2, axis=0) - np.log(np.diag(L)).sum() - len(mu) / 2 * np.log(2 * np.pi)


@pytest.mark.parametrize("size", [2, 3])
def test_random_vectors(size):
    lower = np.array([[1.0, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.2, 0.1, 1.2]])[:size, :size]

    def kl(mu_q, L_q, mu_p, L_p):
        inner = np.linalg.solve(L_p, L_q)
        far = np.linalg.solve(L_p, mu_q - mu_p)
        logs = np.log(np.diag(L_p)).sum() - np.log(np.diag(L_q)).sum()
        return 0.5 * (np.sum(inner**2) + np.sum(far**2) - len(mu_q)) + logs

    report = check_distribution(
        in_space,
        sample=lambda rng, size, mu, L: mu + rng.normal(size=(size, len(mu))) @ L.T,
        mean=lambda mu: mu,
        variance=lambda L: L @ L.T,
        entropy=lambda L: len(L) / 2 * np.log(2 * np.pi * np.e) + np.log(np.diag(L)).sum(),
        kl=kl,
        parameters={
            "x": np.zeros(size),
            "mu": np.array([0.3, -0.5, 1.0])[:size],
            "L": lower,
            "mu_q": np.array([0.3, -0.5, 1.0])[:size],
            "L_q": lower,
            "mu_p": np.zeros(size),
            "L_p": 1.5 * np.eye(size),
        },
    )
    assert report.ok, str(report)


@pytest.mark.slow(reason="several commands")
def test_a_density_after_a_change_of_variables(tmp_path, capsys):
    path = tmp_path / "push.py"
    right = (
        "import numpy as np\n"
        "def base_log_density(x):\n    return -0.5 * x**2 - 0.5 * np.log(2 * np.pi)\n"
        "def transform(x, s):\n    return np.sinh(s * x) / s\n"
        "def inverse(y, s):\n    return np.arcsinh(s * y) / s\n"
        "def log_jacobian(x, s):\n    return np.log(np.cosh(s * x))\n"
        "def log_density(y, s):\n"
        "    x = inverse(y, s)\n"
        "    return base_log_density(x) - log_jacobian(x, s)\n"
    )
    path.write_text(right)
    assert main(["check", str(path)]) == 0
    path.write_text(right.replace(" - log_jacobian(x, s)", ""))
    assert main(["check", str(path)]) == 1
    assert "the Jacobian is missing" in " ".join(capsys.readouterr().out.split())
    path.write_text(right.replace(" - log_jacobian(x, s)", " + log_jacobian(x, s)"))
    assert main(["check", str(path)]) == 1
    assert "added, not subtracted" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("support", "log_det", "verdict"),
    [
        ("", "np.log(2 * np.abs(x))", "ok"),
        ("", "np.log(2 * x)", "undecided"),  # it is NaN for half of the numbers
        ("support = (0, np.inf)", "np.log(2 * x)", "ok"),
        ("support = (0, np.inf)", "np.log(x)", "wrong"),
        ("", "np.log(2 * np.where(x > 0, x, -3 * x))", "undecided"),  # and wrong for them
        ("", "np.log(2 * np.abs(x)) + 0.01 * (x > 1)", "undecided"),
        ("", "np.log(np.abs(x))", "wrong"),
    ],
)
def test_the_domain_of_a_transform_is_not_chosen_by_its_jacobian(
    tmp_path, support, log_det, verdict
):
    path = tmp_path / "push.py"
    path.write_text(
        f"import numpy as np\n{support}\n"
        "def transform(x):\n    return x * np.abs(x)\n"
        f"def log_det(x):\n    return {log_det}\n"
    )
    assert verdicts_of(path) == {verdict}


@pytest.mark.usefixtures("checked_here")
def test_names_that_only_happen_to_be_those_of_a_distribution_are_left_out(tmp_path, capsys):
    path = tmp_path / "pca.py"
    path.write_text(
        "import numpy as np\n"
        "def f(x):\n    return np.sin(x), x\n"
        "def f_vjp(dout, x):\n    return dout * np.cos(x)\n"
        "def transform(X, W):\n    return X @ W.T\n"
        "def inverse_transform(Z, W):\n    return Z @ W\n"
        "def check_inputs():\n    return {'x': np.linspace(0, 1, 5)}\n"
    )
    assert main(["check", str(path)]) == 0
    assert "inverse_transform" in capsys.readouterr().out


def test_a_posterior_without_its_evidence_is_no_density():
    functions = {
        "log_prior": lambda theta: -0.5 * theta**2,
        "log_likelihood": lambda theta, y: -0.5 * (y - theta) ** 2,
        "log_density": lambda theta, y: -0.5 * theta**2 - 0.5 * (y - theta) ** 2,
    }
    assert not group_of("model", functions).is_checkable


def test_a_last_digit_that_numpy_rounds_differently_costs_no_further_calls():
    calls = []

    def log_tail(x):
        calls.append(np.size(x))
        power = x**1.3
        # as if the power of one number were rounded down, and that of an array were not
        return np.log1p(-(np.nextafter(power, 0) if np.ndim(x) == 0 else power))

    x = 1 - np.logspace(-1, -15, 100)
    values = over(log_tail, x)
    assert len(calls) <= 10 and max(calls) == len(x)
    np.testing.assert_array_equal(values, log_tail(x))


def test_a_function_that_mixes_its_points_is_called_with_one_at_a_time():
    def log_density(x):
        return -0.5 * (x - np.mean(x)) ** 2 - 0.5 * x**2

    x = np.linspace(-2, 2, 9)
    np.testing.assert_array_equal(over(log_density, x), -0.5 * x**2)


@pytest.mark.parametrize(
    ("given", "right"),
    [
        (0.0, 2e-8),  # its square, nearly
        (0.0, 1.0),  # 1 minus it, and its logarithm
        (0.0, 0.5),  # its log-odds
        (1.0, 400.0),  # its sigmoid, and that of every large number
        (0.5, 1.9e-5),  # its sigmoid, and that of every small number
        (1.0, 1.9e-5),  # 1 minus it, nearly
        (-3.0, 2.7e6),  # its exponential overflows
    ],
)
def test_a_value_that_says_nothing_about_the_right_one_gets_no_name(given, right):
    found = check_value(given, right, {"a tiny number": 2.7e-16}, rtol=1e-4)
    assert (found.ok, found.kind) == (False, "wrong")


@pytest.mark.parametrize(
    ("given", "right", "kind"),
    [
        (0.37, 0.63, "complement"),
        (np.exp(1.3), 1.3, "other_scale"),
        (1 / (1 + np.exp(-0.4)), 0.4, "other_scale"),
        (4e-16, 2e-8, "other_scale"),
        (-2.7e6, 2.7e6, "sign"),
        (2.7e-16, 3.0, "other_quantity"),
    ],
)
def test_a_value_that_shows_its_slip_is_named(given, right, kind):
    assert check_value(given, right, {"a tiny number": 2.7e-16}, rtol=1e-4).kind == kind


def test_a_missing_number_is_no_number():
    assert "not a number" in check_value(None, 1.0).words
