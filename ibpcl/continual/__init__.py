"""Tasks that arrive one after another: the task itself, what learns it, and the loop that presents
it.
"""
