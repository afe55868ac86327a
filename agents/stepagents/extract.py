"""Finding the program in whatever a model wrapped it in: fences, prose, ``impl: |-``, a function, wrong indentation.

Text only: nothing is parsed into a program here, and nothing is ever executed.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections import deque
from collections.abc import Iterator
from typing import Final

from stepcore.records import Record
from stepcore.system.unwarned import unwarned

MAX_ANSWER: Final = 200_000  # characters that are looked at: the end of a longer answer is not
# Each program under a key reaches to the end of its block, and is parsed: of more keys only the last count.
_MOST_KEYS: Final = 8

_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_KEY: Final = re.compile(r"^([ \t]*(?:-[ \t]+)?)impl[ \t]*:[ \t]*(?:[|>][-+0-9]*)?[ \t]*(.*)$", re.MULTILINE)
_NEXT_KEY: Final = re.compile(r"^[A-Za-z_]\w*[ \t]*:(?!=)", re.MULTILINE)
# The parameters end before the next definition, and what is behind them is short: the work grows with the text alone.
_DEF: Final = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\((?:(?!\n[ \t]*(?:async[ \t]+)?def\b).)*?\)"
    r"[^\n]{0,200}:[ \t]*(?:#[^\n]*)?$",
    re.MULTILINE | re.DOTALL,
)
_LINE: Final = re.compile(r"^[ \t]*(?:return\b.*|[\w\[\(][^=\n]*=(?!=).*|.*\bstep\.\w+.*)$")
_BLOCK_OPENER: Final = re.compile(
    r"^[ \t]*(?:for|if|elif|else|while|with|def|try|except)\b.*:[ \t]*(?:#.*)?$", re.MULTILINE
)


class Extracted(Record):
    """A program's text, and how it was found: ``impl`` key, ``fence``, ``prose`` or ``plain``."""

    text: str
    found: str


def extract(answer: str) -> Extracted | None:
    """Return the program that ``answer`` means, None where it holds none.

    Of several the last complete one counts (models correct themselves), one under ``impl:`` before any other.
    """
    answer = answer[:MAX_ANSWER].replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    candidates = [Extracted(text, found) for text, found in _candidates(answer) if text.strip()]
    if not candidates:
        return None
    best = max(enumerate(candidates), key=lambda pair: (_rank(pair[1]), pair[0]))[1]
    return best if "step." in best.text or _returns(best.text) else None


def _rank(candidate: Extracted) -> tuple[bool, bool, bool]:
    text = candidate.text
    return _returns(text) and ("step." in text or candidate.found == "impl"), candidate.found == "impl", _parses(text)


def _returns(text: str) -> bool:
    return re.search(r"^[ \t]*return\b", text, re.MULTILINE) is not None


def _candidates(answer: str) -> Iterator[tuple[str, str]]:
    blocks = [match.group(2) for match in _FENCE.finditer(answer)]
    for block in [answer, *blocks]:
        for text in _under_key(block):
            yield straightened(text), "impl"
    for block in blocks:
        if not _KEY.search(block):
            yield straightened(_function_body(block)), "fence"
    if not blocks:
        yield straightened(_function_body(answer)), "plain"
        yield straightened(_program_lines(answer)), "prose"


def _under_key(block: str) -> Iterator[str]:
    for match in deque(_KEY.finditer(block), maxlen=_MOST_KEYS):
        first, rest = match.group(2), block[match.end() + 1 :]
        rest = re.split(r"^[ \t]*(?:`{3,}|~{3,})", rest, maxsplit=1, flags=re.MULTILINE)[0]
        following = _NEXT_KEY.search(rest)
        if following is not None and not _is_code(rest[following.start() :].split("\n", 1)[0]):
            rest = rest[: following.start()]
        lines = rest.split("\n")
        yield _until_return(
            "\n".join([first.strip("'\"")] if first else []) + ("\n" if first else "") + "\n".join(lines)
        )


def _is_code(line: str) -> bool:
    return "step." in line


def _until_return(text: str) -> str:
    """Leave out prose after a program that ends with an unindented return."""
    lines = text.split("\n")
    for number in range(len(lines) - 1, -1, -1):
        if re.match(r"[ \t]*return\b", lines[number]):
            tail = lines[number + 1 :]
            depth = (
                lines[number].count("(")
                + lines[number].count("[")
                - lines[number].count(")")
                - lines[number].count("]")
            )
            return "\n".join(lines if depth > 0 and tail else lines[: number + 1])
    return text


def _function_body(text: str) -> str:
    """Return the body where the program was written as a function."""
    matches = [m for m in _DEF.finditer(text) if "step." in text[m.end() :]]
    return text[matches[-1].end() + 1 :] if matches else text


def _program_lines(text: str) -> str:
    """Return the lines of prose that look like a program."""
    return "\n".join(
        line for line in text.split("\n") if ("step." in line or "return" in line) and _LINE.match(line.lstrip())
    )


def straightened(text: str) -> str:
    """Return ``text`` with the indentation repaired, as far as it parses better than before."""
    text = textwrap.dedent(text.expandtabs(4)).strip("\n")
    if _parses(text):
        return text
    first, _, rest = text.partition("\n")
    for attempt in (f"{first.strip()}\n{textwrap.dedent(rest)}", _flat(text), _until_return(text)):
        if attempt and _parses(attempt):
            return attempt
    return text


def _flat(text: str) -> str:
    """Without blocks indentation means nothing, unless a bracket is open; Python ignores it there anyway."""
    if _BLOCK_OPENER.search(text):
        return ""
    return "\n".join(line.strip() for line in text.split("\n"))


def _parses(text: str) -> bool:
    try:
        with unwarned():
            # ``return`` outside a function is no syntax error to the parser alone.
            ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
