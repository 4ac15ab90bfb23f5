"""Which cases of a long test the test command runs; the others are marked slow where they stand."""

import pytest


def quick(kept, cases, why, name=str):
    """Return the cases of a test as parameters, all slow but the kept ones.

    Parameters
    ----------
    kept : iterable of str
        Names of the cases that the test command runs.
    cases : iterable
        Values, tuples of values, or parameters that have names.
    why : str
        Why the kept cases are enough for the test command.
    name : callable
        Returns the name of a value or of a tuple, which no other case has.

    Returns
    -------
    cases : list of ParameterSet
    """
    cases = [_named(case, name) for case in cases]
    unknown = set(kept) - {case.id for case in cases}
    assert not unknown, f"there are no such cases: {sorted(unknown)}"
    slow = pytest.mark.slow(reason=why)
    return [case if case.id in kept else case._replace(marks=(*case.marks, slow)) for case in cases]


def _named(case, name):
    if isinstance(case, type(pytest.param())):
        return case
    return pytest.param(*(case if type(case) is tuple else (case,)), id=name(case))
