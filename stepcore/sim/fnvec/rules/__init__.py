"""Batching rules: what operations do to values with leading stream dimensions."""
