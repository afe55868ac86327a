"""Symbolic shapes in bodies of the closed language."""
