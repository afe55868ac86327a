"""Symbolic sizes, and the ways in which others write them."""
