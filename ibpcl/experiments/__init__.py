"""Experiments: from a configuration to a folder of results."""
