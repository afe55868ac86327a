"""Lines of generated Python code as formatters leave them: spaces around operators, and no line beyond the margin.

Only what Stepsmith writes itself comes here: logical lines without comments, with strings of one line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from itertools import pairwise
from textwrap import indent
from typing import Final

WIDTH: Final = 120

_STRING: Final = r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\]|\\.)*'"
_NUMBER: Final = r"\d[\d_.]*(?:[eE][+-]?\d+)?"
_TOKEN: Final = re.compile(rf"{_STRING}|{_NUMBER}|[^\W\d][\w.]*|\*\*|//|\s+|.", re.DOTALL)
_OPERATORS: Final = frozenset({"+", "-", "*", "/", "//", "%", "**"})
_KEYWORDS: Final = frozenset({"return", "if", "else", "and", "or", "not", "in", "is", "lambda", "for"})
_OPERAND: Final = re.compile(rf"{_STRING}|{_NUMBER}|[^\W\d][\w.]*", re.DOTALL)
_BEFORE_ITEMS: Final = re.compile(r"return |from \S+ import ")
# From the loosest operator to the tightest; those of one rank are broken at together.
_RANKS: Final = (
    "if else for",
    "or",
    "and",
    "not in is == != < > <= >=",
    "|",
    "^",
    "&",
    "<< >>",
    "+ -",
    "* / // %",
    "**",
)
_RANK: Final = {operator: rank for rank, operators in enumerate(_RANKS) for operator in operators.split()}
_PIECE: Final = re.compile(rf"{_STRING}| (?:{'|'.join(map(re.escape, sorted(_RANK, reverse=True)))}) |.", re.DOTALL)
_NAMED: Final = re.compile(rf"\w+=|(?:{_STRING}): ", re.DOTALL)
_NAMED_STRING: Final = re.compile(rf"((?:{_NAMED.pattern}))({_STRING})", re.DOTALL)
_PLAIN_STRING: Final = re.compile(r"'([^'\"\\]*)'")
_LONG_STRING: Final = re.compile(r"\"{3}|'{3}")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_INDENT: Final = 4


def literal(text: str) -> str:
    """Return a string literal, in double quotes unless the text has some."""
    escaped = repr(text)
    if escaped.startswith("'") and '"' not in text:
        return '"' + escaped[1:-1].replace("\\'", "'") + '"'
    return escaped


def from_import(module: str, names: Mapping[str, str]) -> list[str]:
    """Return imports of the values of ``names`` as its keys, in the order that isort wants."""
    plain = sorted((name for own, name in names.items() if own == name), key=_import_order)
    groups = [(plain[0], ", ".join(plain))] if plain else []
    groups += [(name, f"{name} as {own}") for own, name in names.items() if own != name]
    return [broken(f"from {module} import {text}") for _, text in sorted(groups, key=lambda it: _import_order(it[0]))]


def _import_order(name: str) -> tuple[int, list[tuple[str, int]]]:
    """Constants before classes before the rest, and numbers in names by their value."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[0].isupper() else 2
    return kind, [(text, int(digits or 0)) for text, digits in re.findall(r"(\D+|^)(\d*)", name.lower())]


def spaced(line: str) -> str:
    """Return ``line`` with one space around each binary operator, but none around a power of plain names or numbers.

    Strings get double quotes.
    """
    tokens = [_PLAIN_STRING.sub(r'"\1"', token) for token in _TOKEN.findall(line)]
    solid = [token for token in tokens if not token.isspace()]
    result, place, is_behind = "", -1, False
    for token in tokens:
        if token.isspace():
            result += "" if is_behind else token
            continue
        place += 1
        is_behind = token in _OPERATORS and place > 0 and _ends_operand(solid[place - 1])
        if is_behind:
            gap = "" if token == "**" and _is_plain_power(solid, place) else " "
            result = f"{result.rstrip()}{gap}{token}{gap}"
        else:
            result += token
    return result


def _ends_operand(token: str) -> bool:
    return token in _CLOSE or (token not in _KEYWORDS and _OPERAND.fullmatch(token) is not None)


def _is_plain_power(tokens: list[str], place: int) -> bool:
    right = place + 1 + (tokens[place + 1] in "+-")
    before, behind = tokens[max(place - 2, 0)], tokens[right + 1] if right + 1 < len(tokens) else ""
    operands = (tokens[place - 1], tokens[right])
    return before != "." and behind not in ("(", "[", ".") and all(map(_OPERAND.fullmatch, operands))


def broken(line: str, margin: int = 0, after: int = 0) -> str:
    """Return ``line`` with one item a line in the brackets where it is too long, and long strings in parts.

    ``margin`` columns stand before each of the lines, ``after`` columns behind the last one. What stands in brackets
    is also broken at operators; a line that has no others stays as it is.
    """
    if margin + len(line) + after <= WIDTH:
        return line
    groups, commas, operators = _structure(line)
    left, equals, right = line.partition(" = ")
    if line.startswith("def "):
        start, end = groups[0]
        head = _exploded(line[: start + 1], line[start + 1 : end], margin, ",")
        return f"{head}){broken(line[end + 1 :], margin, 1)}"
    if commas and not equals:  # a tuple without brackets, or an import
        before = _BEFORE_ITEMS.match(line)
        start = before.end() if before else 0
        return _exploded(f"{line[:start]}(", line[start:], margin) + ")"
    if commas and not groups and commas[0] < len(left):
        return _exploded("(", left, margin) + f") = {right}"
    if named := _NAMED_STRING.fullmatch(line):
        return _string(named[1], named[2], margin)
    return line if operators or not groups else _at_bracket(line, *groups[-1], margin)


def _at_bracket(line: str, start: int, end: int, margin: int) -> str:
    inner = line[start + 1 : end]
    is_grouping = line[start] == "(" and not _structure(inner)[1] and not re.search(r"[\w)\]]$", line[:start])
    return line if is_grouping or not inner else _exploded(line[: start + 1], inner, margin) + line[end:]


def _exploded(head: str, inner: str, margin: int, comma: str = "") -> str:
    """Return ``head``, then one item of ``inner`` a line. An item by itself gets a comma only if that is asked for."""
    _, commas, operators = _structure(inner)
    if any(inner.startswith(" for ", place) for place, _ in operators):  # a comprehension is one item
        commas = []
    comma = "," if commas else comma
    items = [inner[start + 1 : end].strip() for start, end in pairwise([-1, *commas, len(inner)])]
    lines = [_item(item, margin + _INDENT, len(comma)) for item in items if item]
    return f"{head}\n" + "".join(f"{indent(text, ' ' * _INDENT)}{comma}\n" for text in lines)


def _item(item: str, margin: int, after: int) -> str:
    operators = _structure(item)[2]
    if margin + len(item) + after <= WIDTH or not operators or _NAMED.match(item):
        return broken(item, margin, after)
    loosest = min(rank for _, rank in operators)
    places = [0, *(place for place, rank in operators if rank == loosest), len(item)]
    parts = [item[start:end].strip() for start, end in pairwise(places)]
    if not any(part.startswith("for ") for part in parts):
        return "\n".join(parts)
    return "\n".join([_item(parts[0], margin, 0), *parts[1:]])  # what a comprehension makes has brackets of its own


def _string(head: str, quoted: str, margin: int) -> str:
    """Return a long string in parts, which end behind a semicolon or a comma if there is one in the second half."""
    text: str = ast.literal_eval(quoted)
    room = max(WIDTH - margin - _INDENT, WIDTH // 4)  # in deep places beyond the margin rather than in crumbs
    lines: list[str] = []
    while text:
        end = min(len(text), room)  # a literal is never shorter than its text
        while len(literal(text[:end])) > room:
            end -= 1
        if end < len(text):
            places = [text.rfind(mark, 0, end) + len(mark) for mark in ("; ", ", ")]
            places = [place for place in places if place > end // 2] or [text.rfind(" ", 0, end) + 1]
            end = places[0] or end
        lines.append(f"{' ' * _INDENT}{literal(text[:end])}\n")
        text = text[end:]
    return f"{head}(\n{''.join(lines)})"


def fitted(code: str, margin: int) -> str:
    """Return a suite whose simple statements are broken where they are one line that is too long."""
    lines = code.splitlines()
    if all(margin + len(line) <= WIDTH for line in lines):
        return code
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign | ast.Return | ast.Expr) and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1]
            column = len(line) - len(line.lstrip())
            if ast.get_source_segment(code, node) == line.strip() and not _LONG_STRING.search(line):
                lines[node.lineno - 1] = indent(broken(line.strip(), margin + column), line[:column])
    return "\n".join(lines)


def _structure(line: str) -> tuple[list[tuple[int, int]], list[int], list[tuple[int, int]]]:
    """Return where the outermost brackets open and close; outside them where commas stand, and operators with ranks."""
    groups: list[tuple[int, int]] = []
    commas: list[int] = []
    operators: list[tuple[int, int]] = []
    starts: list[int] = []
    for match in _PIECE.finditer(line):
        piece = match[0]
        if piece in _OPEN:
            starts.append(match.start())
        elif piece in _CLOSE:
            start = starts.pop()
            if not starts:
                groups.append((start, match.start()))
        elif piece == "," and not starts:
            commas.append(match.start())
        elif piece.strip() in _RANK and not starts and len(piece) > 2:
            operators.append((match.start(), _RANK[piece.strip()]))
    return groups, commas, operators


def constant_text(value: float) -> str:
    """Return a value that an accumulator begins with, as both kinds of file write it."""
    return '"-inf"' if value == float("-inf") else str(int(value))


def factor(text: str) -> str:
    """Return an expression as it may stand in a product."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"
