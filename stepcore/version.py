"""The version of the distribution, in the one place that code reads (a test compares pyproject.toml)."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
