"""Slips of one mark, made everywhere in a task file: each with the place of the fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from stepcore.frontend.yaml.lines import lines_of

_SECTION: Final = re.compile(r"^(\w+):", re.MULTILINE)
_INNER: Final = re.compile(r"^(?P<margin>[ ]*(?:- )?)(?P<key>\w+):(?P<space> *)(?P<rest>[^\n]*)$", re.MULTILINE)
_DASH: Final = re.compile(r"^( *)- ", re.MULTILINE)
_FLOW_KEY: Final = re.compile(r"(?<=[{ ])(\w+): (?:\[[^\]\n]*\]|\"[^\"\n]*\"|[^,}\]\n]*)")
_MARK: Final = re.compile(r"[\"\[\]{}|]|, ")
_LISTS: Final = ("inputs", "parameters", "outputs")


class Mutant(NamedTuple):
    """``text`` with one slip of ``kind`` at ``at``."""

    kind: str
    text: str
    at: int


def mutants(text: str) -> Iterator[Mutant]:
    """Yield every text with one slip in it that is made here; a few of them are right YAML."""
    for mutant in (*_sections(text), *_dashes(text), *_keys(text), *_marks(text)):
        if mutant.text != text:
            yield mutant


def _put(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _sections(text: str) -> Iterator[Mutant]:
    starts = [*_SECTION.finditer(text)]
    for found, end in zip(starts, [*(each.start() for each in starts[1:]), len(text)], strict=True):
        at, colon, name = found.start(), found.end(1), found[1]
        body = text[at:end]
        yield Mutant("section: no colon", _put(text, colon, colon + 1, ""), at)
        yield Mutant("section: two colons", _put(text, colon, colon, ":"), at)
        yield Mutant("section: a tab behind the colon", _put(text, colon + 1, colon + 1, "\t"), at)
        if text[colon + 1] == " ":
            yield Mutant("section: no space", _put(text, colon + 1, colon + 2, ""), at)
        for width in (1, 2):
            indented = re.sub(r"^(?=.)", " " * width, body, flags=re.MULTILINE)
            yield Mutant(f"section: indented by {width}", _put(text, at, end, indented), at)
            yield Mutant(f"section: its key indented by {width}", _put(text, at, at, " " * width), at)
        yield Mutant("section: a tab before its key", _put(text, at, at, "\t"), at)
        yield Mutant("section: twice", _put(text, end, end, ("" if body.endswith("\n") else "\n") + body), end)
        yield Mutant("section: its line twice", _put(text, at, at, body.split("\n")[0] + "\n"), at)
        lines = body.rstrip("\n").split("\n")[1:]
        if name in _LISTS and all(line.startswith("- {") for line in lines):
            flow = ", ".join(line[2:] for line in lines)
            yield Mutant("section: no space before [", _put(text, at, end, f"{name}:[{flow}]\n"), at)
            yield Mutant("section: no colon before [", _put(text, at, end, f"{name} [{flow}]\n"), at)
            yield Mutant("section: [ without ]", _put(text, at, end, f"{name}: [{flow}\n"), at)


def _is_code(text: str) -> set[int]:
    """Return the offsets at which lines of literal blocks begin."""
    return {line.start for line in lines_of(text) if line.is_text}


def _dashes(text: str) -> Iterator[Mutant]:
    code = _is_code(text)
    for found in _DASH.finditer(text):
        at = found.end() - 2
        if found.start() not in code:
            yield Mutant("dash: gone", _put(text, at, at + 2, ""), at)
            yield Mutant("dash: a space", _put(text, at, at + 1, " "), at)
            yield Mutant("dash: without space", _put(text, at + 1, at + 2, ""), at)
            yield Mutant("dash: with a tab", _put(text, at + 1, at + 2, "\t"), at)
            yield Mutant("dash: indented", _put(text, at, at, " "), at)
            yield Mutant("dash: twice", _put(text, at, at, "- "), at)


def _keys(text: str) -> Iterator[Mutant]:
    code = _is_code(text)
    for found in _INNER.finditer(text):
        start, at, colon = found.start(), found.start("key"), found.end("key")
        if start in code or not found["margin"]:
            continue
        yield Mutant("key: no colon", _put(text, colon, colon + 1, ""), at)
        yield Mutant("key: two colons", _put(text, colon, colon, ":"), at)
        if found["space"]:
            yield Mutant("key: no space", _put(text, colon + 1, colon + 2, ""), at)
        if "-" in found["margin"]:
            again = "\n" + " " * len(found["margin"]) + found[0].lstrip(" -")
            yield Mutant("key: the first twice", _put(text, found.end(), found.end(), again), found.end() + 1)
            continue
        yield Mutant("key: indented by 1", _put(text, start, start, " "), at)
        yield Mutant("key: 1 to the left", _put(text, start, start + 1, ""), at)
        yield Mutant("key: at the margin", _put(text, start, at, ""), at)
        yield Mutant("key: behind a tab", _put(text, start, at, "\t"), at)
        if not found["rest"].startswith("|"):
            yield Mutant("key: twice", _put(text, start, start, found[0] + "\n"), at)
    for found in _FLOW_KEY.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        if line not in code and "{" in text[line : found.start()]:
            at, colon = found.start(), found.end(1)
            yield Mutant("key in braces: no colon", _put(text, colon, colon + 1, ""), at)
            yield Mutant("key in braces: no space", _put(text, colon + 1, colon + 2, ""), at)
            yield Mutant("key in braces: two colons", _put(text, colon, colon, ":"), at)
            yield Mutant("key in braces: twice", _put(text, at, at, found[0] + ", "), at)


def _marks(text: str) -> Iterator[Mutant]:
    code = _is_code(text)
    for found in _MARK.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        if line not in code and not text.startswith("constraints", line) and "#" not in text[line : found.start()]:
            new = " " if found[0] == ", " else ""
            yield Mutant(f"mark: no {found[0].strip()}", _put(text, found.start(), found.end(), new), found.start())
