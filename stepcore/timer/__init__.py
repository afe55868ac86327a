"""Cycles for editors: the programs of a document, timed in a process of their own that knows what did not change."""
