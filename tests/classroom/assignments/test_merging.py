"""A variant holds what differs from the reference, and is merged with it into one file."""

import pytest

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.assignments.merging import merged
from ibpcl.errors import UserError

REFERENCE = '''"""The reference."""

import numpy as np

HALF = 0.5


def _helper(x):
    return x


def f(x):
    r"""Double x, in nats.

    Parameters
    ----------
    x : ndarray
        Log scale.
    """
    return 2 * x, None


def f_vjp(dout, cache):
    r"""Pull the gradient back.

    .. math:: dx = 2 dout

    Returns
    -------
    dx : ndarray
        In nats.
    """
    return 2 * dout


def g(x):
    """Keep x, in nats."""
    return x
'''
FRAGMENT = '''"""Threefold, in bits."""

import math

WORDS = {"in nats": "in bits", "In nats": "In bits"}
THREE = 3


def _new(x):
    return math.floor(x)


def f(x):
    # Three times.
    return THREE * x, None


def f_vjp(dout, cache):
    r""".. math:: dx = 3 dout"""
    return 3 * dout
'''


def test_a_form_is_the_reference_with_what_differs():
    assert (
        merged(REFERENCE, FRAGMENT, "threefold")
        == '''"""The reference."""

import math
import numpy as np

HALF = 0.5


THREE = 3


def _new(x):
    return math.floor(x)


def _helper(x):
    return x


def f(x):
    r"""Double x, in bits.

    Parameters
    ----------
    x : ndarray
        Log scale.
    """
    # Three times.
    return THREE * x, None


def f_vjp(dout, cache):
    r"""Pull the gradient back.

    .. math:: dx = 3 dout

    Returns
    -------
    dx : ndarray
        In bits.
    """
    return 3 * dout


def g(x):
    """Keep x, in bits."""
    return x
'''
    )


def test_a_docstring_of_its_own_takes_the_place_of_the_references():
    own = 'def g(x):\n    """Keep x, in nats, as it is."""\n    return +x\n'
    assert own in merged(REFERENCE, own, "own")


@pytest.mark.parametrize(
    ("fragment", "told"),
    [
        (
            "def f(x, y):\n    return x, None\n",
            "variant odd: f must have the same signature",
        ),
        (
            'def g(x):\n    """.. math:: x"""\n    return x\n',
            "variant odd: g: the reference's docstring has no formula",
        ),
        (
            'WORDS = {"in decibels": "in bits"}\n',
            "variant odd: 'in decibels' of WORDS",
        ),
        ("print(1)\n", "variant odd: line 1 is neither"),
    ],
)
def test_what_does_not_fit_the_reference_is_refused(fragment, told):
    with pytest.raises(UserError, match=told):
        merged(REFERENCE, fragment, "odd")


@pytest.mark.parametrize("name", names())
def test_forms_differ_from_the_reference_and_from_each_other(name):
    sources = [find(name).source(variant) for variant in find(name).variants]
    assert len(set(sources)) == len(sources)
    for source in sources:
        compile(source, name, "exec")
