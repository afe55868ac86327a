"""Agents that write STeP programs: proposers, the judge, and the guardian.

Importing this package loads no torch; the search and the judge load it when they run.
"""
