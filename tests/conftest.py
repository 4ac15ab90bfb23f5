"""One Hypothesis profile for all tests: the same examples on every run, and no deadline on a busy machine."""

from hypothesis import settings

settings.register_profile("ibpcl", deadline=None, derandomize=True)
settings.load_profile("ibpcl")
