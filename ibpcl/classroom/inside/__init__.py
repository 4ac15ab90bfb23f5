"""Modules that run inside the box: they import only the standard library and NumPy, and are sent as
text.
"""
