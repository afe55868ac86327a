"""A seeded storm of edits, saves, requests and files that come and go, against the real server; see ``session.py``."""
