"""Loops over time in traced graphs."""
