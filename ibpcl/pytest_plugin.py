"""A pytest plugin: the fixture ``check_gradient`` and the marker ``gradient``.

Every run of pytest in an environment with this package loads the plugin, so it imports nothing
until it is used.

.. code-block:: python

    def test_softmax(check_gradient):
        check_gradient(softmax, softmax_vjp, x)

    @pytest.mark.gradient(rtol=1e-6, timeout=10)
    def test_layer(check_gradient):
        check_gradient(Dense(4, 3), x)
"""

import pytest

MARKER = (
    "gradient(**options): options of ibpcl.verify.check for all calls of the fixture "
    "check_gradient in a test"
)


def pytest_configure(config):
    """Register the marker with pytest's configuration."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def check_gradient(request):
    """Return a function that checks a gradient and fails the test with a report if it is wrong.

    The function ``check_gradient(f, f_vjp, x, w)`` takes the arguments of
    :func:`ibpcl.verify.check`.  The inputs follow one after another, or as one tuple, list or dict.
    A class, an object or a function that returns its own gradient needs no ``f_vjp``.  The function
    returns the report.
    """
    marker = request.node.get_closest_marker("gradient")
    settings = dict(marker.kwargs) if marker is not None else {}

    def check_it(f, *arguments, **options):
        __tracebackhide__ = True
        from ibpcl.verify import check

        has_gradient = bool(arguments) and callable(arguments[0])
        f_vjp, inputs = (arguments[0], arguments[1:]) if has_gradient else (None, arguments)
        if len(inputs) == 1:
            inputs = inputs[0]
        report = check(f, f_vjp, inputs, **{**settings, **options})
        if not report.ok:
            raise AssertionError("\n" + report.text())
        return report

    return check_it
