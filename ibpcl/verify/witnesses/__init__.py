"""Witnesses of the true gradient: finite differences, the complex step, kinks, and the contract of
a VJP.
"""
