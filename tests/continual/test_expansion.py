"""Growing a network: the number of new units, and that old parameters do not change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ibpcl.continual import expansion
from ibpcl.models.parameters import Entry, Layout

MASKS = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=8))


@given(MASKS, st.integers(0, 10))
def test_growth_restores_the_empty_units_by_the_recursion(mask, target):
    """With C_{K+1} = 1 the products count trailing empty columns; a layer never shrinks."""
    c = [1]
    for column in mask.T[::-1]:
        c.append(c[-1] * int(not column.any()))
    assert expansion.empty_units(mask) == sum(c[1:])
    extra = expansion.growth(mask, target)
    assert extra == max(0, target - sum(c[1:]))
    grown = np.pad(mask, ((0, 0), (0, extra)))
    assert expansion.empty_units(grown) == max(target, sum(c[1:]))


def test_every_parameter_is_in_the_corner_of_a_larger_array():
    small = Layout([Entry("w", (2, 3), "mu"), Entry("b", (3,), "mu"), Entry("a", (), "alpha")])
    large = Layout([Entry("w", (4, 5), "mu"), Entry("b", (5,), "mu"), Entry("a", (), "alpha")])
    old = np.arange(1.0, 11.0)
    new = np.zeros(large.size)
    new[small.within(large)] = old
    for name, value in small.views(old).items():
        np.testing.assert_array_equal(large.views(new)[name][tuple(map(slice, value.shape))], value)
    assert np.count_nonzero(new) == 10
