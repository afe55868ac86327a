"""The version of the server: that of :mod:`stepcore.version`, which a test compares.

A copy, because it belongs to the answer to ``initialize``, before which nothing of stepcore is imported.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
