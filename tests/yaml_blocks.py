"""Texts for the reading of task files block by block, and what has to hold of it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from stepcore.frontend.yaml import compose as yaml_compose
from stepcore.frontend.yaml.nodes import Document

ROOT = Path(__file__).parent
MEANT = ("\n", "  ", "\t", " ", '"', "'", "|", ">", "|+", ">-", "- ", "? ", ": ", ":", "[", "]", "{", "}", ",", " #",
         "&a ", "*a", "!t ", "---\n", "...\n", "a: ", "b:\n", "\nb: 1", "%", "\r\n", "\r", "\x85", "\u2028", "\ufeff",
         "\0", "é", "~", '""', "''", "\\", " \n", "\n ", "\n- ", "\n  - ")  # fmt: skip


def corpus() -> list[str]:
    """Return the text of every task file of the repository that is not too large to be changed often."""
    folders = (ROOT / "golden", ROOT / "hostile" / "inputs", ROOT.parent / "benchmarks" / "tasks")
    texts = []
    for path in sorted(found for folder in folders for found in folder.rglob("*.yaml")):
        raw = path.read_bytes()
        if len(raw) < 6000:
            texts.append(raw.decode("utf-8", "replace"))
    return texts


def changed(texts: list[str], rng: Random) -> str:
    """Return one of ``texts`` after a few insertions, deletions, transplants and moved lines."""
    text = rng.choice(texts)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(4):
            case 0:
                text = text[:at] + rng.choice(MEANT) + text[at:]
            case 1:
                text = text[:at] + text[at + rng.randint(1, 8) :]
            case 2:
                other = rng.choice(texts)
                start = rng.randrange(len(other) + 1)
                text = text[:at] + other[start : start + rng.randint(1, 60)] + text[at:]
            case _:
                lines = text.splitlines(keepends=True) or [""]
                lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
                text = "".join(lines)
    return text


def blocks(text: str) -> list[str]:
    """Return the pieces of ``text`` that begin with keys at the left margin; the first holds what stands before."""
    return [text[start:end] for start, end in pairwise((0, *yaml_compose._top_keys(text)[1:], len(text)))]


def assert_blocks_are_the_whole(text: str) -> bool:
    """Compare what blocks give with what the whole text gives; return whether blocks gave anything."""
    by_blocks = yaml_compose._from_blocks(text)
    if not isinstance(by_blocks, Document):
        return False
    assert plain(by_blocks) == plain(yaml_compose._Composing(text).run()), text
    return True


def plain(node: Any) -> Any:
    """Return a document as nested tuples: nodes themselves are equal to nothing but themselves."""
    if is_dataclass(node):
        return (type(node).__name__, *(plain(getattr(node, field.name)) for field in fields(node)))
    if isinstance(node, (list, tuple)):
        return tuple(map(plain, node))
    return node
