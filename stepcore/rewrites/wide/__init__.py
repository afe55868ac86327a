"""Programs whose elements hold whole rows of their streams: what they carry, and how that is written."""
