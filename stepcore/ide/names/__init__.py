"""Names of a document, in Python text and in YAML."""
