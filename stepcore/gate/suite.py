"""A piece of code printed from its tokens, so that it means to every reader what its syntax tree says."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final
from unicodedata import normalize

from stepcore.gate.refusal import Refusal
from stepcore.gate.rewriting import ConvertError, parse_code
from stepcore.printing.code_lines import literal
from stepcore.system.unwarned import unwarned

_TYPE_COMMENT: Final = re.compile(r"#\s*type\s*:")  # a type to some readers, and text to Python
_WHITE: Final = frozenset(" \t\n\\")
_MAY_BREAK: Final = ('"""', "'''", "\\\n")


def printed(text: str) -> str:
    """Return a dedented suite as it was written, without what readers see differently than Python does.

    Line ends become newlines; a character that is not printable becomes an escape, in comments and in strings; a string
    of several lines becomes one in one line; names get their normal form. Layout and comments stay.

    Raises:
        ConvertError: it does not parse.
        Refusal: it cannot be printed so that its syntax tree stays the same.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    tree = parse_code(plain)
    if is_plain(plain):
        return plain
    result = "".join(_pieces(plain))
    if not is_plain(result) or shape(parse_code(result)) != shape(tree):
        raise Refusal("this code cannot be printed so that it stays the same; write it in plain lines")
    return result


def is_plain(text: str) -> bool:
    """Return whether every reader splits the text into the same lines, and sees each of its characters."""
    is_ascii = text.isascii() and text.replace("\n", "").isprintable()
    if is_ascii and not any(mark in text for mark in _MAY_BREAK) and not _TYPE_COMMENT.search(text):
        return True
    return all(character.isprintable() or character in "\n\t" for character in text) and not _is_broken(text)


def _is_broken(text: str) -> bool:
    """Whether a string goes on behind its line, a comment is a type, or a name is spelled in another form."""
    for token in _tokens(text):
        if token.type == tokenize.STRING and token.start[0] != token.end[0]:
            return True
        if token.type == tokenize.COMMENT and _TYPE_COMMENT.match(token.string):
            return True
        if token.type == tokenize.NAME and normalize("NFKC", token.string) != token.string:
            return True
    return False


def shape(body: Sequence[ast.stmt]) -> str:
    """Return the syntax trees of statements as a text, all fields included but positions and ``u`` before strings."""
    nodes = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Constant)]
    kinds = [node.kind for node in nodes]
    for node in nodes:
        node.kind = None
    try:
        return "\n".join(ast.dump(statement) for statement in body)
    finally:
        for node, kind in zip(nodes, kinds, strict=True):
            node.kind = kind


def same_code(first: str, second: str) -> bool:
    """Return whether two suites have the same syntax tree; False where one of them does not parse."""
    try:
        return shape(parse_code(first)) == shape(parse_code(second))
    except ConvertError:
        return False


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError) as error:
        raise Refusal(f"this code cannot be printed: {error.args[0]}") from error


def _pieces(text: str) -> Iterator[str]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    position = 0
    for token in _tokens(text):
        start = min(starts[token.start[0] - 1] + token.start[1], len(text))
        end = min(starts[token.end[0] - 1] + token.end[1], len(text))
        if start < position or token.type in (tokenize.INDENT, tokenize.DEDENT):
            continue
        gap = text[position:start]
        if not set(gap) <= _WHITE:
            raise _at(text, position, "a character between the words cannot be printed; remove it")
        yield gap
        yield _token(token, text[start:end])
        position = end
    if text[position:].strip(" \t\n\\"):
        raise _at(text, position, "the end of this code cannot be printed")


def _token(token: tokenize.TokenInfo, text: str) -> str:
    if token.type == tokenize.COMMENT:
        return "".join(map(_shown, _TYPE_COMMENT.sub("# type -", text)))
    if token.type == tokenize.NAME:
        return normalize("NFKC", text)
    if token.type == tokenize.STRING and not (text.isprintable() and "\n" not in text):
        return _string(token, text)
    if token.type == tokenize.ERRORTOKEN and text.strip(" "):
        raise Refusal("this character cannot be printed; remove it", token.start[0], token.start[1] + 1)
    return text


def _shown(character: str) -> str:
    if character.isprintable() or character == "\t":
        return character
    return " " if character.isspace() else ascii(character)[1:-1]


def _string(token: tokenize.TokenInfo, text: str) -> str:
    with unwarned():  # of invalid escapes: no concern of ours
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError) as error:
            message = "an f-string with line ends or characters that nobody sees cannot be printed; write it plainly"
            raise Refusal(message, token.start[0], token.start[1] + 1) from error
    return literal(value) if isinstance(value, str) else repr(value)


def _at(text: str, position: int, message: str) -> Refusal:
    starts = [index + 1 for index, character in enumerate(text) if character == "\n"]
    line = bisect_right(starts, position)
    return Refusal(message, line + 1, position - (starts[line - 1] if line else 0) + 1)
