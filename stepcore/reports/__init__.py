"""Findings for readers: people, programs, code scanning services."""
