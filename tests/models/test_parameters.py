"""Named views into one vector."""

import numpy as np
import pytest

from ibpcl.models.parameters import Entry, Layout

ENTRIES = [
    Entry("w.mu", (2, 3), "mu"),
    Entry("b.mu", (3,), "mu"),
    Entry("rho", (2, 3), "rho"),
    Entry("none", (0,), "rho"),
]


def test_views_cover_the_vector_once_and_write_through():
    layout = Layout(ENTRIES)
    vector = np.zeros(layout.size)
    for view in layout.views(vector).values():
        view += 1
    np.testing.assert_array_equal(vector, np.ones(15))
    assert layout.block("rho") == slice(9, 15)


def test_names_occur_once_and_blocks_are_not_interrupted():
    with pytest.raises(ValueError, match=r"'rho' occurs twice"):
        Layout([*ENTRIES, ENTRIES[2]])
    with pytest.raises(ValueError, match=r"'mu'.*'late'"):
        Layout([*ENTRIES, Entry("late", (1,), "mu")])


def test_a_vector_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"must have shape \(15,\), got \(14,\)"):
        Layout(ENTRIES).views(np.zeros(14))
