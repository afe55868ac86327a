"""What comments say of values inside a function: shapes behind and above its lines, the shape of its result.

``scores = q @ k.T  # (B, T, S)`` tells nothing of an argument by itself, but the run shows whether it holds, and so
which sizes of arguments are meant. No torch here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from stepagents.shapes.commented import comments_of
from stepagents.shapes.spelled import inside, sizes_in
from stepagents.torchfn.target import Target
from stepcore.records import Record

Sizes = tuple[str, ...]
_LONGEST: Final = 300  # characters of one comment
_BRACKET: Final = r"(?:\((?P<round>[^()\[\]]*(?:\([^()]*\)[^()\[\]]*)*)\)|\[(?P<square>[^\[\]]*)\])"
_LEAD: Final = re.compile(
    r"(?:(?:the )?(?:torch\.Size\(|shapes?|sizes?|dims?|now|each|both|all|still|again|has|is|of|as|output|result|out)"
    r"(?!\w)\s*[:=]?\s*){1,3}",
    re.I,
)
_NAMED: Final = re.compile(
    r"(?!(?:shapes?|sizes?|dims?|torch|now|output|result)\b)(?P<names>[A-Za-z_]\w*(?:\s?[,/]\s?[A-Za-z_]\w*){0,4})"
    r"(?:\.shape)?\s*(?::|==?|\bis\b|∈)\s*(?=[\w(\[])"
)
_AT_ONCE: Final = re.compile(_BRACKET)
_FURTHER: Final = re.compile(rf"(?P<words>[A-Za-z][^()\[\]=@]{{0,60}}[\s:,]){_BRACKET}\s*[.;]?\s*$")
_SIZE: Final = r"(?:\d{1,2}\s?\*?\s?)?[A-Za-z]\w?(?:\s?[*/+-]\s?\w{1,3})?|\d{1,4}"
_ENDS: Final = r"(?=\s*$|\s{2,}|\s*[;(.–—]|\s+-+\s)"
_LETTERS: Final = re.compile(rf"(?P<sizes>(?:{_SIZE})(?:\s?,\s?(?:{_SIZE})){{1,6}}){_ENDS}")
_BY: Final = r"(?:\d{1,2}\*?)?[A-Za-z]\w{0,11}|\d{1,5}|\(\w{1,8}\s?[*+-]\s?\w{1,8}\)"
_TIMES: Final = re.compile(
    rf"(?P<sizes>(?:{_BY})(?:(?:\s+x\s+|\s?[×]\s?)(?:{_BY})){{1,6}}|[A-Z](?:x(?:[A-Z]|\d{{1,4}})){{1,6}}){_ENDS}"
)
_CAPITALS: Final = re.compile(rf"(?P<sizes>[A-Z]\w?(?: (?:[A-Z]\w?|\d{{1,4}})){{1,5}}){_ENDS}")
_ARROW: Final = re.compile(r"\s*(?:->|→|=>|⟶)\s*")
_RESULT: Final = re.compile(
    r"^(?P<margin>\s*)(?::returns?:|:return \w+:"
    r"|[`*]*(?:Returns?|Outputs?|Yields?|Result|Return values?)[`*]*\s*(?::|$|(?=\s)))",
    re.I,
)
_MODULES: Final = frozenset({"F", "torch", "nn", "self", "math"})  # before the names of functions
_AND: Final = frozenset({",", "and", "/", "&", ", and", ";"})  # between shapes that follow each other
_SENTENCE: Final = re.compile(rf"\breturns?\b(?P<words>[^.()\[\]\n]{{0,80}}?)[ `:]{_BRACKET}", re.I)
_SECTION: Final = re.compile(r"^\s*(?:[A-Z]\w+:|:\w+|-{3,})")


class Promise(Record):
    """A value of which the shape is written: what statement ``first`` to ``last`` binds to ``names``, or returns.

    ``sizes`` are as in :class:`stepagents.shapes.told.Told`; ``line`` is where they are written. ``taken`` is the
    argument or variable that the statement starts from, and ``before`` its sizes where the comment says these, too.
    """

    line: int
    first: int
    last: int
    names: tuple[str, ...]
    sizes: Sizes
    taken: str = ""
    before: Sizes | None = None


class Promises(Record):
    """All that is promised of one function: by statement, and of each of its results."""

    function: str
    first: int
    last: int
    inside: Sequence[Promise] = ()
    results: Sequence[Sizes] = ()
    result_line: int = 0
    counters: frozenset[str] = frozenset()  # variables of loops: what they are now is no size

    @property
    def is_empty(self) -> bool:
        """Whether nothing is promised."""
        return not self.inside and not self.results


def promises_of(target: Target) -> Promises:
    """Return what is written of the values inside a function and of its result."""
    functions = [each for each in ast.walk(target.tree) if isinstance(each, ast.FunctionDef)]
    node = next((each for each in functions if each.lineno == target.line), None)
    if node is None:
        return Promises("", 0, 0)
    comments = {line: text[:_LONGEST] for line, text in comments_of(target.text).items()}
    values = list(_inside(node, comments, {item.name for item in target.arguments}))
    line, results = _results(target, node)
    counters = frozenset(
        name.id for each in ast.walk(node) if isinstance(each, ast.For) for name in ast.walk(each.target)
        if isinstance(name, ast.Name)
    )  # fmt: skip
    return Promises(node.name, target.line, target.last, values, results, line, counters)


def spoken(comment: str) -> tuple[Sequence[str], Sizes | None, Sizes] | None:
    """Return the names that a comment gives, the shape before an arrow, and the shape; None where it says none.

    ``(B, T, C)``, ``B, L, 4E``, ``q: B x T x C``, ``[B, T] -> [B, T, D]``, ``weights of all pairs (B, T, T)``.
    """
    parts = _ARROW.split(comment.strip())
    if len(parts) > 3:
        return None
    named = _NAMED.match(parts[0]) if parts[0] else None
    names = re.split(r"\s?[,/]\s?", named["names"]) if named is not None else []
    if named is not None and not (len(parts) > 1 and sizes_in(named["names"]) is not None):
        parts[0] = parts[0][named.end() :]
    sizes = _shape(parts[-1])
    if sizes is None and not names and len(parts) == 1 and ": " in parts[0]:  # back to c channels: b x c x h
        sizes = _shape(parts[0].rpartition(": ")[2])
    if sizes is None and not names and len(parts) == 1:
        further = _FURTHER.match(parts[0])
        sizes = sizes_in(inside(further)) if further is not None else None
        sizes = sizes if sizes is not None and len(sizes) > 1 else None
    is_term = len(parts) == 1 and re.match(r"\s*[@+*]", comment[comment.rfind(")") + 1 :]) is not None
    if not sizes or is_term:
        return None
    return names, _shape(parts[0]) if len(parts) > 1 else None, sizes


def several(comment: str) -> Sequence[Sizes]:
    """Return the shapes of ``(B, T), (B, S) and (B,)``, which follow each other."""
    found: list[Sizes] = []
    end = 0
    for match in _AT_ONCE.finditer(comment):
        sizes = sizes_in(inside(match))
        if sizes is None or (found and comment[end : match.start()].strip() not in _AND):
            break
        found.append(sizes)
        end = match.end()
    return found


def _shape(text: str) -> Sizes | None:
    """Return the sizes that a text begins with."""
    lead = _LEAD.match(text)
    text = (text[lead.end() :] if lead is not None else text).strip(" `")
    match = _AT_ONCE.match(text)
    if match is not None:
        rest = text[match.end() :].lstrip()
        inner = inside(match)
        return None if rest[:1] in {"@", "*", "+", "x", "×", "="} and rest[:2] not in {"--"} else sizes_in(inner)
    for pattern in (_TIMES, _LETTERS, _CAPITALS):
        match = pattern.match(text)
        if match is not None and re.search(r"[A-Za-z]", match["sizes"]):
            words = match["sizes"]
            return sizes_in(",".join(words.split()) if pattern is _CAPITALS else words)
    return None


def _inside(node: ast.FunctionDef, comments: Mapping[int, str], arguments: set[str]) -> Iterator[Promise]:
    statements = list(_simple(node.body))
    for line in sorted(comments):
        said = spoken(comments[line]) if node.lineno < line <= (node.end_lineno or 0) else None
        own = None if said is None else _meant(statements, comments, line, said[0], arguments)
        if said is None or own is None:
            continue
        names, before, sizes = said
        kept = tuple(names or _bound(own))
        each = several(comments[line])
        end = own.end_lineno or own.lineno
        if len(each) > 1:  # one after the other, or nobody knows whose they are
            pairs = zip(kept, each, strict=True) if len(each) == len(kept) and not names else ()
            yield from (Promise(line, own.lineno, end, (name,), one) for name, one in pairs if name)
        elif 1 < len(kept) == len(sizes) and not any(mark in comments[line] for mark in "([×"):
            continue  # N, N behind two names are two vectors, or one matrix twice
        elif isinstance(own, ast.Return) or any(kept):
            yield Promise(line, own.lineno, end, kept, sizes, _taken(own), before)


def _meant(
    statements: Sequence[ast.stmt], comments: Mapping[int, str], line: int, names: Sequence[str], arguments: set[str]
) -> ast.stmt | None:
    """Return the statement that a comment speaks of: that on its line, that which binds its names, or that below."""
    starts = {each.lineno: each for each in statements}
    beside = {each.end_lineno or each.lineno: each for each in statements}.get(line) or starts.get(line)
    own = beside or _below(starts, comments, line)
    if names and (own is None or not set(names) <= set(_bound(own))):
        own = _nearest(statements, names, line)
        return own if own is not None and (not set(names) <= arguments or own.lineno <= line) else None
    is_bare = comments[line].lstrip().startswith(("(", "[", "->", "→"))  # above a line nothing else may stand
    return own if beside is not None or names or is_bare else None


def _below(starts: Mapping[int, ast.stmt], comments: Mapping[int, str], line: int) -> ast.stmt | None:
    """Return the statement right below a comment and the comments that go on below it."""
    number = line + 1
    while number in comments and number not in starts:
        number += 1
    return starts.get(number)


def _simple(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that bind or return something, in the order of the text; those of inner functions not."""
    for node in body:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)):
            yield node
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                yield from _simple(getattr(node, part, []))


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement binds, in order; an empty one for what is no name."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = list(node.targets[0].elts) if isinstance(node.targets[0], (ast.Tuple, ast.List)) else node.targets[:1]
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    return [each.id if isinstance(each, ast.Name) else "" for each in targets]


def _nearest(statements: Sequence[ast.stmt], names: Sequence[str], line: int) -> ast.stmt | None:
    """Return the statement that binds all these names: the first one below a comment, else the last one above."""
    binding = [each for each in statements if set(names) <= set(_bound(each))]
    below = [each for each in binding if each.lineno > line]
    return below[0] if below and below[0].lineno <= line + 3 else binding[-1] if binding else None


def _taken(node: ast.stmt) -> str:
    """Return the variable that the value of a statement starts from: ``x`` of ``x.view(n)`` and ``f(x, w)``."""
    value: ast.AST | None = getattr(node, "value", None)
    while isinstance(value, ast.Call):
        func = value.func
        owner = func.value if isinstance(func, ast.Attribute) else None
        is_function = owner is None or isinstance(owner, ast.Attribute) or getattr(owner, "id", "") in _MODULES
        value = next(iter(value.args), None) if is_function else owner
    return value.id if isinstance(value, ast.Name) else ""


def _results(target: Target, node: ast.FunctionDef) -> tuple[int, Sequence[Sizes]]:
    """Return what the docstring says of the result: its line, and a shape for each that is returned."""
    owners = [each for each in target.tree.body if isinstance(each, ast.ClassDef) and each.name == target.class_name]
    described: list[ast.FunctionDef | ast.ClassDef] = [node, *owners]
    owner = next((each for each in described if ast.get_docstring(each, clean=False)), node)
    docstring, first = ast.get_docstring(owner, clean=False) or "", owner.body[0].lineno
    lines = docstring[:20_000].split("\n")
    for index, line in enumerate(lines):
        match = _RESULT.match(line[:200])
        if match is None:
            continue
        rest = line[match.end() :][:_LONGEST]
        shapes = [] if not rest.strip() else list(_shapes_in(rest))
        for other in _section(lines[index + 1 : index + 8], len(match["margin"]), has_begun=bool(rest.strip())):
            shapes += _shapes_in(other[:_LONGEST])
        if shapes:
            return first + index, shapes
    found = _SENTENCE.search(docstring[:20_000])
    sizes = sizes_in(inside(found)) if found is not None else None
    if found is None or sizes is None or "," not in found[0]:
        return 0, ()
    return first + docstring.count("\n", 0, found.start()), [sizes]


def _section(lines: Sequence[str], margin: int, *, has_begun: bool) -> Iterator[str]:
    """Yield the lines that belong to a heading with this margin; ``has_begun`` where it has a text behind it."""
    for line in lines:
        own = len(line) - len(line.lstrip())
        if set(line.strip()) == {"-"} or (not line.strip() and not has_begun):
            continue
        if not line.strip() or own < margin or (own == margin and (has_begun or _SECTION.match(line[:100]))):
            return
        yield line


def _shapes_in(line: str) -> Iterator[Sizes]:
    """Yield the shape in a line about a result, all of them where it names several by commas."""
    groups = [match for match in _AT_ONCE.finditer(line) if not line[: match.start()][-1:].isalnum()]
    shapes = [sizes for match in groups if (sizes := sizes_in(inside(match))) is not None]
    if shapes:
        yield from shapes
        return
    times = re.search(rf"(?<![\w.]){_TIMES.pattern}", line)
    sizes = sizes_in(times["sizes"]) if times is not None else None
    if sizes is not None and len(sizes) > 1:
        yield sizes
