"""A short cut for ``stepsmith check``, the command that hooks and editors call all the time.

typer and what it imports take longer than checking a thousand lines. So the plain spellings of this one command are
read here; whatever is not plain (help, a misspelt option, a value that is none) returns None and takes the way
through typer, which explains it. tests/test_cli_check.py compares both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepcore.records import Record

MAX_FINDINGS: Final = 50


class CheckOptions(Record):
    """Options of ``check``; ``affine`` is None where the configuration decides.

    ``max_findings`` is how many findings of a file the text report shows (0: all), ``quiet`` leaves only the summary.
    """

    fix: bool = False
    affine: str | None = None
    format: str = "text"
    large: bool = False
    stdin_name: str = "stdin.step.yaml"
    quiet: bool = False
    max_findings: int = MAX_FINDINGS


_VALUES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "--affine": ("affine", ("strict", "paper")),
    "--format": ("format", ("text", "json", "sarif")),
}
_FLAGS: Final = {"--fix": "fix", "--large": "large", "--quiet": "quiet", "-q": "quiet"}


def parse_check(words: Sequence[str]) -> tuple[list[str], CheckOptions] | None:
    """Return paths and options of ``check ...`` if it is spelt plainly, else None."""
    if not words or words[0] != "check":
        return None
    paths: list[str] = []
    found: dict[str, str | bool] = {}
    rest = iter(words[1:])
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "-" or not word.startswith("-"):
            paths.append(word)
        elif word in _FLAGS:
            found[_FLAGS[word]] = True
        elif name in _VALUES:
            field, allowed = _VALUES[name]
            value = value if equals else next(rest, "")
            if value not in allowed:
                return None
            found[field] = value
        else:
            return None
    if not paths:
        return None
    return paths, CheckOptions(**found)  # type: ignore[arg-type]
