"""What one description of a tensor says of its sizes and its dtype: ``(B, T, C)``, ``an (n, d) matrix``, ``n rows``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from stepagents.shapes.spelled import components_in, inside, sizes_in
from stepagents.shapes.told import ANY, UNNAMED, TextPlace, Told

BRACKET: Final = (
    r"(?:\((?P<round>[^()\[\]]*(?:\([^()]*\)[^()\[\]]*)*)\)|\[(?P<square>[^\[\]()]*(?:\([^()]*\)[^\[\]()]*)*)\])"
)
GROUP: Final = re.compile(BRACKET)
_SHAPE: Final = re.compile(
    rf"(?:shapes?|sizes?|dims?|dimensions?)\b[`'\" ]*(?:is|of|as|==?|:)?[`:a-z '\"]{{0,12}}?{BRACKET}", re.I
)
_OF: Final = re.compile(rf"\b(?:of|Tensor|tensor|array|matrix|vector)[`: ]*{BRACKET}")
_TIMES_SIZE: Final = r"(?:\d+\*?)?[A-Za-z]\w{0,15}|\d+|\([\w*+ -]{1,30}\)"
_TIMES: Final = re.compile(
    rf"(?<![\w.])(?P<times>(?:{_TIMES_SIZE})"
    rf"(?:(?:\s+x\s+|\s*[×]\s*|-by-|\s+by\s+|\s*\\times\s*)(?:{_TIMES_SIZE}))+"
    r"|(?:[A-Z]|\d{1,4})(?:x(?:[A-Z]|\d{1,4}))+)(?![\w.])(?!\s+(?:conv\w*|kernels?|filters?|windows?|patch\w*|pool\w*|neighbo))"
)
_POWER: Final = re.compile(r"(?:R|ℝ|\\mathbb\{R\}|\\R)\s*\^\s*\{?\(?(?P<times>[^{}()$,;]+)\)?\}?")
_SIZE: Final = r"[A-Za-z]\w{0,11}|\d+"
_VECTOR: Final = re.compile(  # each way to say it has one group, its size
    r"\b(?:vector|1-?[dD] tensor|list|sequence)s? (?:of|with|holding|containing|for)(?: (?:the|their|all|its))?"
    rf"(?: length| size| shape)? ({_SIZE})\b(?! of)"
    r"|\b(?<!sequences )(?<!batches )of length ([A-Za-z]|\d+)\b(?! of)"
    r"|\bwith ([A-Z]|n|d|k|m) (?:entries|elements)\b"
    rf"|\blength[- ]({_SIZE})\b(?! of)|\b([A-Za-z]|\d+)-(?:vector|dimensional vector)\b"
)
_THINGS: Final = (
    r"(?:points?|coordinates?|coords|positions?|vectors?|key-?points?|locations?|vertices|joints?|landmarks?|offsets?"
    r"|displacements?|translations?|normals?|directions?|velocit(?:y|ies))\b"
)
_SPACE: Final = re.compile(
    rf"\b(?P<space>[23])-?\s?[dD](?:imensional)? (?:(?:world|image|camera|pixel|cartesian|euclidean|unit) )?{_THINGS}",
    re.I,
)
_RANK: Final = re.compile(
    r"\b(?P<rank>[0-6])-?\s?[dD](?:imensional)?\b"
    rf"(?!\s*(?:conv|pool|space|box|rotation|pose|world|image coord|{_THINGS}))"
)
_ROWS: Final = re.compile(r"\b(?P<rows>[A-Za-z]\w?|\d+) rows\b[^.;]{0,20}?\b(?P<columns>[A-Za-z]\w?|\d+) columns\b")
_SQUARE: Final = re.compile(rf"\bsquare (?:\w+ )?(?:of|with) (?:size|order|dimension) (?P<side>{_SIZE})\b")
_PER: Final = r"(?:per|for each|for every|of each)"
_EACH: Final = re.compile(
    r"\b(?:one|an?|a single) (?:\w+ )?"
    r"(?:entry|value|number|scalar|element|weight|score|scale|shift|probability|bias|rate) "
    rf"{_PER} (?P<each>[a-z]\w+)"
    r"|(?:^\W*|[,;:(] ?)(?:one|1) (?:per|for each|for every|of each) (?P<one>[a-z]\w+)",
    re.I,
)
_ROW: Final = re.compile(
    rf"\b(?:one|a|each|every) (?:\w+ )?row (?:{_PER} (?P<row>[a-z]\w+)|(?:is|holds|has|contains|gives)\b)"
    r"|\bper row\b|\brow-wise\b|\b(?:as|in)(?: the| its)? rows\b|\bstacked (?:by|along|as) (?:the )?rows?\b",
    re.I,
)
# The same without an article: a weight, not the features, of each.
_OF_EACH: Final = re.compile(
    r"\b(?:weight|bias|scale|shift|mass|radius|gain|temperature|probability|prior|price|length|rate|variance)"
    rf" {_PER} (?!token|pixel|voxel|sample|position|step|frame|word)[a-z]\w+",
    re.I,
)
COUNTED: Final = re.compile(r"^\W*(?:the |all )?(?P<count>[A-Z]|n_\w+|num_\w+) (?:[a-z]+ ){0,2}[a-z]+s\b")
_SCALAR: Final = re.compile(
    r"\b(?:scalar tensors?|0-?d(?:imensional)? tensors?|zero-dimensional)\b"
    r"|^\W*(?:(?:is|an?|the|learn\w+|positive|single) )*scalar(?: parameter)?\s*(?:[.,;]|$)",
    re.I,
)
_DTYPES: Final = (
    (
        re.compile(
            r"\b(?:torch\.)?(?:LongTensor|int64|long)\b|\bintegers? (?:indices|labels|ids|tensor|class)"
            r"|\b(?:token|class) (?:ids|indices)\b"
        ),
        "int64",
    ),
    (re.compile(r"\b(?:torch\.)?(?:IntTensor|int32)\b"), "int32"),
    (re.compile(r"\b(?:torch\.)?(?:BoolTensor|bool|boolean)\b"), "bool"),
    (re.compile(r"\b(?:torch\.)?(?:bfloat16|bf16|BFloat16Tensor)\b"), "bf16"),
    (re.compile(r"\b(?:torch\.)?(?:float16|fp16|HalfTensor)\b"), "fp16"),
    (
        re.compile(r"\b(?:torch\.)?(?:FloatTensor|float32|fp32)\b|\b[Ff]loat(?:ing[- ]point)? (?:tensor|matrix)\b"),
        "fp32",
    ),
)  # fmt: skip
_LIKELY: Final = re.compile(
    r"(?<!\w)(?:(?P<two>matrix)|(?P<one>vector))\b(?! (?:of|product|mult|field|for|form))", re.I
)


def both(first: Told, second: Told) -> Told:
    """Add to what was said first what only the second text says."""
    if first.is_plain:
        return first
    if first.sizes is None and second.sizes is not None:
        return replace(second, dtype=first.dtype or second.dtype)
    return replace(
        first,
        dtype=first.dtype or second.dtype,
        rank=first.rank if first.rank is not None else second.rank,
        likely_rank=first.likely_rank if first.likely_rank is not None else second.likely_rank,
        per=first.per or second.per,
        like=first.like or second.like,
    )


def shape_of(body: str, name: str, place: TextPlace) -> Told | None:
    """Return what a text that speaks of one argument says of it."""
    body = body[:2000]
    dtype = dtype_in(body)
    times = _TIMES.match(body.lstrip())  # T x B x V (time first, batch second)
    sizes = times_in(times["times"]) if times is not None else None
    if sizes is not None:
        return Told(name, place, sizes, dtype=dtype)
    for pattern, alone in ((_SHAPE, True), (_OF, True), (GROUP, False)):
        for match in pattern.finditer(body):
            sizes = sizes_in(inside(match), alone=alone)
            if sizes is not None:
                return Told(name, place, sizes, dtype=dtype)
    sizes = times_in(body)
    if sizes is not None:
        return Told(name, place, sizes, dtype=dtype)
    for match in GROUP.finditer(body):
        count = components_in(inside(match))
        if count is not None:
            number = COUNTED.match(body)  # N boxes as (x1, y1, x2, y2)
            is_one = match.start() == 0 and body[match.end() :].startswith(
                (" of the ", " of a ")
            )  # (r, g, b) of the light
            first = () if is_one else (number["count"] if number is not None else ANY,)
            return Told(name, place, (*first, str(count)), dtype=dtype)
    worded = in_words(body, name, place)
    if worded is not None:
        return replace(worded, dtype=dtype)
    rank, likely = _RANK.search(body), _LIKELY.search(body)
    if rank is not None:
        return Told(name, place, rank=int(rank["rank"]), dtype=dtype)
    if _OF_EACH.search(body):
        return Told(name, place, likely_rank=1, dtype=dtype)
    if likely is not None and not re.search(r"\b(?:each|every|per|batch\w*)\b", body, re.I):
        return Told(name, place, likely_rank=2 if likely["two"] else 1, dtype=dtype)
    return Told(name, place, dtype=dtype) if dtype else None


def in_words(body: str, name: str, place: TextPlace) -> Told | None:
    """Return what words say of one argument: a scalar, a vector with its size, rows and columns, points in space."""
    if _SCALAR.search(body):
        return Told(name, place, ())
    rows, square = _ROWS.search(body), _SQUARE.search(body)
    if rows is not None:
        return Told(name, place, (rows["rows"], rows["columns"]))
    if square is not None:
        return Told(name, place, (square["side"], square["side"]))
    vector = _VECTOR.search(body)
    if vector is not None:
        size = next(text for text in vector.groups() if text)
        if len(size) <= 2 or "_" in size or size in {"dim", "dims", "batch", "hidden", "channels", "features"}:
            return Told(name, place, (size,))
    space = _SPACE.search(body)
    if space is not None:
        return Told(name, place, (ANY, space["space"]))
    row = _ROW.search(body)
    if row is not None:
        return Told(name, place, rank=2, per=row["row"] or "")
    each = _EACH.search(body)
    return None if each is None else Told(name, place, rank=1, per=each["each"] or each["one"])


def resolved(told: Told, found: Mapping[str, Told]) -> Told:
    """Return what is told with the shape of the argument that it is like, or the size that there is one entry for."""
    other = found.get(told.like)
    if told.sizes is None and told.per and other is not None and len(other.sizes or ()) > 1:
        return replace(told, sizes=(told.per, *(other.sizes or ())[1:]))
    if told.sizes is None and other is not None and other.sizes is not None:
        return replace(told, sizes=other.sizes)
    if told.sizes is None and told.per:
        spelled = [size for item in found.values() for size in item.sizes or ()]
        sizes = {name for size in spelled for name in re.findall(r"[A-Za-z_]\w*", size)}
        stem = told.per.lower()
        plural = f"{stem[:-1]}ies" if stem.endswith("y") else f"{stem}es" if stem.endswith("s") else f"{stem}s"
        meant = {stem, plural, f"n_{plural}", f"num_{plural}", f"num_{stem}", f"n_{stem}"}
        same = sorted(size for size in sizes if size.lower() in meant) or _initial(stem, sizes)
        rest = (UNNAMED,) * ((told.rank or 1) - 1)
        return replace(told, sizes=(same[0], *rest)) if len(same) == 1 else told
    return told


def _initial(word: str, sizes: Collection[str]) -> list[str]:
    """Return the capital that stands for a word: ``A`` for each anchor, unless H and C are those of an image."""
    if {"H", "W"} <= set(sizes) and word[0] in "hwc" and word not in {"channel", "row", "height", "width"}:
        return []
    return [size for size in sizes if size == word[0].upper()]


def times_in(text: str) -> tuple[str, ...] | None:
    """Return the sizes of ``n x d`` or of a power of the real numbers."""
    power = _POWER.search(text)
    if power is not None:
        return sizes_in(power["times"], alone=True)
    for match in _TIMES.finditer(text):
        sizes = sizes_in(match["times"])
        if sizes is not None and len(sizes) > 1 and set(sizes) != {"1"}:  # 1x1 is a kernel
            return sizes
    return None


def dtype_in(text: str) -> str:
    """Return the element type that a text names; empty where it names none."""
    return next((dtype for pattern, dtype in _DTYPES if pattern.search(text)), "")


def is_letter(word: str) -> bool:
    """Whether a word is short enough to be a size by itself."""
    return re.fullmatch(r"[A-Za-z]\w{0,2}|\d{1,4}", word) is not None
