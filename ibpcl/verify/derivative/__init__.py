"""Numerical derivatives that test a gradient, and tests of the VJP contract."""
