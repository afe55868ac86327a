"""Paths of files that clients name by their URIs."""

from __future__ import annotations

from pygls.uris import to_fs_path


def file_path(uri: str) -> str | None:
    """Return the path of a URI, None where it names no file or is none (``file://[a``)."""
    try:
        return to_fs_path(uri)
    except ValueError:
        return None
