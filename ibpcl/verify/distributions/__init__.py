"""Checks beyond gradients: densities, samplers, closed forms, divergences, and names for mistakes.

The right values come from quadrature, from sums, or from another function that is given.  A mistake
gets a name only where one small change makes all values right.
"""
