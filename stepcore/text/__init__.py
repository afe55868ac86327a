"""Texts: spans in them, and how messages write numbers, counts and foreign names."""
