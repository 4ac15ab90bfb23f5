"""What runs inside the box: plain files that import the standard library and NumPy only, sent there
as text.
"""
