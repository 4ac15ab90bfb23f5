"""Negative controls: right code in many forms, and the same code with one gradient spoiled."""
