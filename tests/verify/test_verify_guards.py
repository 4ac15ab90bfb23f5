"""Guards, casts and rounded constants are notes if they explain the error, and hide no mistake."""

import numpy as np
import pytest

from ibpcl.verify import check

X = np.random.default_rng(3).normal(size=(3, 4))
SMALL = 1e-7


def entropy(x):
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    return -np.log(p[:, 0] + SMALL).sum(), p


def entropy_vjp(dout, p):
    dx = p.copy()
    dx[:, 0] -= 1
    return dout * dx


def density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * 3.14159), x


def density_vjp(dout, x):
    return -dout * x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def single(x):
    return np.tanh(x).astype(np.float32), x


def single_vjp(dout, x):
    return dout * (1 - np.tanh(x) ** 2)


PAIRS = [
    (entropy, entropy_vjp, "1e-07"),
    (density, density_vjp, "3.14159"),
    (single, single_vjp, "float32"),
]


@pytest.mark.parametrize(("forward", "backward", "named"), PAIRS)
def test_guard_that_explains_the_error_is_a_note(forward, backward, named):
    report = check(forward, backward, (X,))
    assert report.ok, str(report)
    assert [habit["kind"] for habit in report.habits] == ["guard"]
    assert named in report.habits[0]["words"]
    assert "in line" in report.habits[0]["words"]


@pytest.mark.parametrize(("forward", "backward"), [pair[:2] for pair in PAIRS])
def test_guard_hides_no_mistake(forward, backward):
    assert check(forward, lambda d, c: -backward(d, c), (X,))["x"].verdict == "wrong"
    assert check(forward, lambda d, c: 1.01 * backward(d, c), (X,))["x"].verdict == "wrong"


def test_mistyped_constant_is_named():
    def backward(dout, x):
        return dout * 2.4178 * x

    report = check(lambda x: (1.2345 * x**2, x), backward, (X,))
    assert report["x"].kind == "constant_factor"


def test_a_guard_in_a_file_beside_is_found_and_named(tmp_path, monkeypatch):
    (tmp_path / "losses_beside.py").write_text(
        "import numpy as np\ndef entropy(p, y):\n    return -np.sum(y * np.log(p + 1e-7))\n"
    )
    (tmp_path / "layers_beside.py").write_text(
        "import numpy as np\nfrom losses_beside import entropy\n"
        "def f(z, y):\n    p = np.exp(z) / np.exp(z).sum()\n    return entropy(p, y), (p, y)\n"
        "def f_vjp(dout, cache):\n    p, y = cache\n    return dout * (p - y)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import layers_beside as layers

    y = np.array([0.0, 1.0, 0.0])
    inputs = np.array([0.3, -1.0, 0.8]), y
    report = check(layers.f, layers.f_vjp, inputs, wrt=["z"])
    assert report.ok and "line 3 of losses_beside.py" in report.text()
    wrong = check(layers.f, lambda d, c: 1.001 * layers.f_vjp(d, c), inputs, wrt=["z"])
    assert wrong["z"].verdict == "wrong"
