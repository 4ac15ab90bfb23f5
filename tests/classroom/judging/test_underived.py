"""Gradients from complex steps, differences, dual numbers and automatic differentiation are
flagged, and so are proofs that do not integrate; derived gradients are not.
"""

from pathlib import Path

import pytest
from classroom_common import first, judged

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.judging import underived

STUDENTS = Path(__file__).parents[1] / "assignments" / "students"
SOURCE = first().source()
# Name of a cheat to its text and to a word of the flag.
CHEATS = {
    "complex step": (
        "def kl_vjp(d, cache):\n    h = 1e-30j\n"
        "    return tuple(kl(*_moved(n, h))[0].imag for n in range(4))",
        "kl",
    ),
    "complex step without a literal": (
        "_i = np.emath.sqrt(-1)\n_f = kl\ndef kl_vjp(d, cache):\n    return _f(cache + _i)",
        "kl",
    ),
    "differences of an alias": (
        "_terms = kl\ndef kl_vjp(d, cache):\n"
        "    return [(_terms(x + 1e-6) - _terms(x - 1e-6)) / 2e-6 for x in cache]",
        "kl_vjp uses kl",
    ),
    "differences in a helper": (
        "def _slope(f, x):\n    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6\n"
        "def _g(x):\n    return x * x\n"
        "def kl_vjp(d, cache):\n    return _slope(_g, cache)",
        "_slope",
    ),
    "made by a call": (
        "def _pair(f):\n    return f, lambda d, c: f(c)\nkl, kl_vjp = _pair(kl)",
        "kl_vjp",
    ),
    "dual numbers": (
        "class D:\n    def __init__(self, v, d): self.v, self.d = v, d\n"
        "    def __add__(self, o): return D(self.v + o.v, self.d + o.d)\n"
        "    def __mul__(self, o): return D(self.v * o.v, self.v * o.d + self.d * o.v)\n",
        "class D",
    ),
    "dual numbers in pairs": (
        "def _times(x, y):\n    return x[0] * y[0], x[1] * y[0] + x[0] * y[1]\n"
        "def kl_vjp(d, cache):\n    return [_times((x, 1.0), (x + 1, 1.0))[1] for x in cache]",
        "dual numbers",
    ),
    "automatic differentiation": (
        "class Var:\n    def __array_ufunc__(self, *a, **k): ...\n    __mul__ = __rmul__ = None\n",
        "class Var",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_gradient_that_nobody_derived_is_flagged_with_its_line(name):
    text, word = CHEATS[name]
    before = SOURCE.count("\n") + 1
    found = underived.flags(f"{SOURCE}\n{text}\n", first())
    assert any(line >= before and word in words for line, words in found), found


def test_the_gradients_of_a_product_are_not_dual_numbers():
    text = (
        "def _back(d, a, b):\n    return d * b, d * a + b * b\n"
        "def kl_vjp(d, cache):\n    a, b, e = cache\n    return d * a, a * e + d * b"
    )
    assert underived.flags(f"{SOURCE}\n{text}", first()) == []


def test_a_gradient_that_the_forward_returns_as_a_closure_is_not_flagged():
    text = (
        "def kl(mu, scale, m0, s0):\n    def pull(d):\n        return d * mu, d * scale, d, d\n"
        "    return (mu * scale).sum(), pull\n\ndef kl_vjp(d, cache):\n    return cache(d)\n"
    )
    assert underived.flags(f"{SOURCE}\n{text}", first()) == []


PROOFS = {
    "closed form": ("return 0.5 * np.sum((mu - prior_mu) ** 2 + scale)", True),
    "idle nodes": ("x = np.linspace(0, 1)\n    return np.sum((mu - prior_mu) ** 2)", True),
    "idle loop": (
        "t = 0\n    for k in range(99):\n        t += (mu - prior_mu) ** 2\n    return t / 99",
        True,
    ),
    "idle comprehension": ("return sum(mu * scale for k in range(99)) / 99", True),
    "nodes in a comprehension": ("return sum(mu * k for k in range(99))", False),
    "another function": ("return _closed(mu, scale)", True),
    "blank": ("raise NotImplementedError", False),
    "quad": ("return quad(lambda x: x * mu, 0, 1)[0]", False),
    "trapezoid": ("x = np.linspace(0, 1)\n    y = x * mu\n    return np.trapezoid(y, x)", False),
    "list of integrals": (
        "out = []\n    for m in mu:\n        out.append(quad(f, 0, m)[0])\n    return sum(out)",
        False,
    ),
    "own rule": ("t = 0\n    for k in range(99):\n        t += k * mu\n    return t", False),
    "helper": ("return _rule(lambda x: x * mu)", False),
}
HELPERS = (
    "\ndef _closed(a, b):\n    return np.sum(a * b)\n"
    "\ndef _rule(f):\n    x, w = np.polynomial.hermite.hermgauss(9)\n    return w @ f(x)\n"
)


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_without_an_integral_is_flagged(name):
    body, flagged = PROOFS[name]
    text = (
        f"{SOURCE}{HELPERS}\ndef kl_by_quadrature(mu, scale, prior_mu, prior_scale):\n    {body}\n"
    )
    found = underived.flags(text, first())
    assert any("integral" in words for _, words in found) is flagged


@pytest.mark.parametrize("name", names())
def test_no_solution_is_flagged(name):
    assignment = find(name)
    for variant in assignment.variants:
        assert underived.flags(assignment.source(variant), assignment) == []
    for path in STUDENTS.glob(f"{name[:2]}_*.py"):
        assert underived.flags(path.read_text(), assignment) == []


HIDDEN = '''
_i = 1e-30 * np.roots([1, 0, 1])[0]
_first = dict(kl=kl)

def kl_vjp(d, cache):
    mu, scale, m0, s0 = cache
    value = _first["kl"](mu, scale, m0, s0 + _i)[0]
    return 0 * mu, 0 * scale, 0 * m0, d * np.real(value / _i)

def kl(mu, scale, m0, s0):
    return _first["kl"](mu, scale, m0, s0)[0], (mu, scale, m0, s0)
'''


@pytest.mark.slow(reason="judges a hand-in")
def test_complex_numbers_show_while_a_gradient_runs():
    flags = judged(SOURCE + HIDDEN).flags
    assert any("kl_vjp" in flag and "complex" in flag for flag in flags), flags
    assert judged(SOURCE).flags == []
