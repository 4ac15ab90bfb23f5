"""Runs from a configuration to a folder of results; ``storage`` writes and reads the files of that
folder.
"""
