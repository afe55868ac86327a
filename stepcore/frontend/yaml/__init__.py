"""Task files: from YAML, with exact spans, to data."""
