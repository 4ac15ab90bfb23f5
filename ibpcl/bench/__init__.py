"""Benchmarks: the speed of a gradient step, compared with products and other frameworks."""
