"""Authoring: stubs for students, the self-test of an assignment, and autograders."""
