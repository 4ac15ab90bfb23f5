"""The pytest plugin: a fixture and a marker for the tests of other packages."""

import pytest

pytest_plugins = ("pytester",)

TESTS = '''
import numpy as np
import pytest

def square(x):
    return x ** 2, x

def square_vjp(dout, x):
    return 2 * dout * x

def wrong_vjp(dout, x):
    return -2 * dout * x

class Layer:
    def __init__(self):
        self.W = np.eye(3) + 0.5
    def forward(self, x):
        self.x = x
        return x @ self.W
    def backward(self, dout):
        self.dW = self.x.T @ dout
        return dout @ self.W.T

def test_right(check_gradient):
    assert check_gradient(square, square_vjp, np.array([1.0, 2.0])).ok

def test_layer(check_gradient):
    check_gradient(Layer(), np.ones((2, 3)) * 1.5)

def test_wrong(check_gradient):
    check_gradient(square, wrong_vjp, (np.array([1.0, 2.0]),))

@pytest.mark.gradient(timeout=0.0)
def test_late(check_gradient):
    check_gradient(square, square_vjp, np.array([1.0, 2.0]))

@pytest.mark.gradient(timeout=0.0)
def test_an_option_of_the_call_comes_first(check_gradient):
    check_gradient(square, square_vjp, np.array([1.0, 2.0]), timeout=None)
'''


@pytest.mark.processes(reason="pytest runs in a process")
def test_the_fixture_fails_a_test_with_the_report(pytester):
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess(
        "-q", "--strict-markers", "-p", "no:xdist", "-p", "no:cacheprovider"
    )
    result.assert_outcomes(passed=3, failed=2)
    words = " ".join(result.stdout.lines)
    assert "the sign is wrong" in words and "not finished within 0 s" in words


def test_the_plugin_is_registered_and_light():
    from importlib.metadata import entry_points

    found = [
        point for point in entry_points(group="pytest11") if point.value == "ibpcl.pytest_plugin"
    ]
    if not found:
        pytest.skip("the installed package is older than the plugin")
    assert found[0].name == "ibpcl"
