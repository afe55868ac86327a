"""Lines of exports: JSON objects with the version of their format. Nothing that a file holds is believed."""

from __future__ import annotations

import json
from typing import Final

from stepcore.text.wording import clipped

_KINDS: Final = {"stepsmith": "synthesis", "stepsmith_optimization": "optimization"}  # by the key of their version


class RefusedLine(ValueError):
    """A line that is not what is imported; the text says why."""


def need_object(line: str, key: str, version: int, what: str, most: int) -> None:
    """Raise unless a line of at most ``most`` characters holds an object of this version: ``key`` holds that.

    Raises:
        RefusedLine: it does not; ``what`` is what it should be.
    """
    if len(line) > most:
        raise RefusedLine(f"too long: over {most:,} characters")
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        # What Python adds for programmers, how to lift its own limit on digits, is no way out for whoever imports.
        raise RefusedLine(f"no JSON: {str(error).partition(';')[0]}") from None
    if not isinstance(values, dict) or key not in values:
        kind = next((kind for each, kind in _KINDS.items() if isinstance(values, dict) and each in values), "")
        way = f"`--kind {kind}` takes it" if kind else f"an object with the key `{key}` is needed"
        raise RefusedLine(f"no {what}: {way}")
    if values[key] != version or isinstance(values[key], bool):
        raise RefusedLine(f"unknown format: {clipped(repr(values[key]), 40)}, this Stepsmith reads {version}")
