"""What docstrings and comments tell of the arguments of a function, in the usual spellings. No torch here.

Entries of Google, NumPy and Sphinx style (``x: (B, T, C)``, ``x : Tensor of shape (n, d)``, ``:param x: ...``), phrases
(``x is an [m, k] matrix``, ``a batch of images x (n, c, h, w)``), lists of shapes (``(m, k), (k, n) -> (m, n)``), and
comments behind the arguments of a signature.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from stepagents.shapes.promised import several, spoken
from stepagents.shapes.spelled import inside, sizes_in
from stepagents.shapes.texts import FunctionText, FunctionTexts
from stepagents.shapes.told import UNNAMED, TextPlace, Told
from stepagents.shapes.worded import (
    BRACKET,
    COUNTED,
    GROUP,
    both,
    dtype_in,
    in_words,
    is_letter,
    resolved,
    shape_of,
    times_in,
)
from stepagents.torchfn.target import Argument, Target, last_name

_GOES_ON: Final = re.compile(r"\s*(?:x|×|by)\s+\w")  # (H*K) x D is no shape of one size
_LETTER: Final = r"(?:[A-Za-z]\w?|\d{1,4})"
_LETTERS: Final = re.compile(rf"{_LETTER}(?:\s?,\s?{_LETTER})+(?=\s*$|\s{{2,}}|\s*[-–—;(])|{_LETTER}(?: {_LETTER})+$")
_CAPITALS: Final = r"[A-Z](?: (?:[A-Z]|\d{1,4})){1,5}"  # x: B T C features
_AS_BEFORE: Final = re.compile(r"^\W*(?:the )?(?:same|ditto|as above|likewise)\b", re.I)
_SAME_FORM: Final = re.compile(r"\bsame (?:format|layout|form|convention|encoding|units?)\W*$", re.I)
_SAME: Final = re.compile(
    r"\b(?:(?:the )?same (?:shape|size|dimensions|layout|form|format) (?:as|like)"
    r"|(?:of|with) the (?:shape|size) of|shaped? like|like)"
    r"(?: the)? [`*'\"]*(?P<other>[A-Za-z_]\w*)[`*'\"]*(?=\W|$)",
    re.I,
)
_PLAIN: Final = re.compile(r"^\W*(?:int|float|bool|str|integer|number|string)\b(?! (?:tensor|mask|matrix|array))", re.I)
# The lengths of ``number of frames of each utterance, int64 (B,)`` are no number.
_TENSOR_SIZES: Final = re.compile(
    r"\bnumber of [^.;]{1,60} (?:per|(?:of|for|in) (?:each|every))\b"
    r"|\([A-Za-z_]\w*\s*,[^()]*\)|\[[A-Za-z_]\w*(?:\s*,[^\[\]]*)?\]|\b(?:int64|int32|tensor)\b"
)
_ENTRY: Final = re.compile(
    r"^(?P<indent>\s*)(?:[-*•+]\s+)?(?::(?:param|arg|parameter|type)\s+(?:[\w.]+\s+)?)?"
    r"[`*'\"]*(?P<names>[A-Za-z_]\w*(?:[`*'\"]*\s*(?:,|/|and)\s*[`*'\"]*[A-Za-z_]\w*)*)[`*'\"]*"
    r"\s*(?:\((?P<paren>[^()]*(?:\([^()]*\)[^()]*)*)\)|\[(?P<square>[^\[\]]*)\])?"
    r"\s*(?P<mark>:|--|–|—|=|is\b|has\b|->|→|(?<=\s)-(?=\s+(?:[\[(]|.*\b(?:shape|tensor|size|matrix|vector)\b))|$)\s*(?P<rest>.*)$"
)
_SHARED: Final = re.compile(
    rf"(?P<before>[^.;]{{0,200}}?)\b(?P<word>both|all|each|same)\b[^.;()\[\]]{{0,40}}?{BRACKET}", re.I
)
_COLUMN: Final = re.compile(  # msa     s x r x c
    r"^\s*[-*]?\s?(?P<names>[A-Za-z_]\w*(?:\s?[,/]\s?[A-Za-z_]\w*){0,5})"
    r"(?:(?:\s{1,2}:)?\s{2,}|\s(?=\w+ ?[x×] ?\w)|\s(?=\w[^(\[:]{0,60}[ ,][(\[]\w))"
    r"(?P<rest>[\w(\[].{1,100})"
)
_OTHERS: Final = re.compile(
    r"\b(?:(?P<others>(?:all |the )?(?:others?|rest|remaining(?: ones| tensors| arguments| inputs)?|everything else))"
    r"|(?P<weights>(?:projections?|weights|matrices|projection matrices|parameters)))"
    r"(?: \w+)?(?::| are| is| have| all)(?: \w+){0,3}?(?: of)?(?: shapes?| sizes?)?"
    rf" (?:(?P<times>\w{{1,12}}(?: x |x|×)\w{{1,12}})|{BRACKET})",
    re.I,
)
_PROJECTION: Final = re.compile(r"^(?:w|to_|proj|weight|fc|lin)\w*$|\w*(?:weight|proj|_w|mat|matrix)$", re.I)
# One size at the end of an entry: log probabilities of the actions [batch]
_LAST: Final = re.compile(r"[\[(](?P<size>batch(?:_size)?|seq(?:_len)?|time|(?:n|num)_\w+|\w+_size),?[\])]\s*\.?\s*$")
_SAID: Final = re.compile(r"\b(?:shapes?|sizes?|dims?|dimensions?|length|of)\b", re.I)
_TYPED: Final = re.compile(  # actions (int64), done (bool): (batch,)
    r"\b(?P<name>[A-Za-z_]\w*)[`*'\"]{0,2} \((?P<dtype>int64|int32|int|long|bool|boolean|float|float32|integers?)\)"
    r"(?=\s*(?:[,:]|and\b))"
)
_OF_TYPED: Final = re.compile(r"\)\s{0,8}:\s{0,8}[(\[]")  # query (float): (D,)
_HEADING: Final = re.compile(
    r"^\s*(?:Returns?|Yields?|Raises|Outputs?|Return values?|Result|:returns?:|:rtype:)\b.*$", re.I
)
_KERNEL: Final = re.compile(
    r"\b(?:kernel|filter)(?:s|[ _]size)?(?: of(?: size)?|:|=)? ?(?P<one>\d{1,2})\b"
    r"|(?<![x\d])(?P<two>\d{1,2})(?:x(?P=two)){1,2}\b(?= (?:conv|kernel|filter)|,|$)",
    re.I,
)
_PLURALS: Final = (("us", "i"), ("ius", "ii"), ("ex", "ices"), ("ix", "ices"), ("y", "ies"), ("x", "xes"))
_GENERIC: Final = frozenset({"input", "inputs", "x"})  # names of the only tensor in sections such as "Shape:"


class FunctionDocuments:
    """All that is written about the function of ``target`` in its own file."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._written = FunctionTexts(target)
        self._tensors = [item for item in target.arguments if item.default is None]
        self._bodies: dict[str, str] = {}  # what entries say of arguments, as far as they are read

    @cached_property
    def _next(self) -> re.Pattern[str]:
        """Where a line goes on with another argument."""
        return re.compile(rf"[,;]?\s{{1,8}}(?:{'|'.join(map(re.escape, sorted(self._written.names)))})\s?:\s")

    def read(self) -> dict[str, Told]:
        """Return what is told of each argument; what is said first and of it alone is preferred."""
        found: dict[str, Told] = {}
        for told in self._all():
            known = found.get(told.name)
            found[told.name] = told if known is None else both(known, told)
        for told in list(self._rest(found)):
            found[told.name] = both(told, found[told.name]) if told.name in found else told
        return {name: resolved(told, found) for name, told in found.items()}

    def _all(self) -> Iterator[Told]:
        yield from self._signature()
        texts = list(self._written.all())
        for text in texts:
            yield from self._entries(text)
        for text in texts:
            yield from self._nouns(text)
        for text in texts:
            yield from self._phrases(text)
        for text in texts:
            yield from self._clauses(text)
        yield from self._kernels()
        for text in [*texts, *self._written.later_comments()]:
            yield from self._lists(text)

    def _signature(self) -> Iterator[Told]:
        """Read the comments behind the arguments: of the only one on its line, or with their names."""
        by_line: dict[int, list[Argument]] = {}
        for item in self._target.arguments:
            by_line.setdefault(item.line, []).append(item)
        for number in range(self._target.line, self._target.signature_end + 1):
            comment = self._written.comments.get(number)
            if not comment:
                continue
            place = TextPlace("comment", self._target.path, number)
            here = by_line.get(number, [])
            text = FunctionText("comment", (comment,), number)
            named = list(self._entries(text)) + list(self._phrases(text)) + list(self._bare(text))
            yield from named
            if len(here) == 1 and all(told.name != here[0].name for told in named):
                told = shape_of(comment, here[0].name, place)
                if told is not None:
                    yield told
            elif not named and len(here) > 1:
                yield from self._lists(text)

    def _kernels(self) -> Iterator[Told]:
        """Read ``# kernel 5`` and ``# 3x3 conv`` behind a convolution with an argument as its weight."""
        for node in ast.walk(self._target.tree):
            if not isinstance(node, ast.Call) or not self._target.line < node.lineno <= self._target.last:
                continue
            match = _KERNEL.search(self._written.comments.get(node.lineno, ""))
            called = re.fullmatch(r"conv([123])d", last_name(node.func))
            weight = next((item.id for item in node.args[1:2] if isinstance(item, ast.Name)), "")
            if match is not None and called is not None and weight in self._written.names:
                sizes = (UNNAMED, UNNAMED, *[match["one"] or match["two"]] * int(called[1]))
                yield Told(weight, TextPlace("comment", self._target.path, node.lineno), sizes)

    def _nouns(self, text: FunctionText) -> Iterator[Told]:
        """Read ``target item: B, E`` of an argument target, and the columns ``wq/wk   c x h x d``."""
        names = "|".join(map(re.escape, sorted(self._written.names, key=len, reverse=True)))
        pattern = re.compile(rf"(?:^|\s\s|[;,.] ?)(?P<name>{names})(?: [a-z]\w*){{1,2}}:\s*(?P<rest>.{{1,80}})")
        for index, line in enumerate(text.lines):
            for match in pattern.finditer(line) if names else ():
                said = spoken(match["rest"])
                if said is not None and not said[0] and said[1] is None and not self._is_result(text, index):
                    yield Told(match["name"], self._place(text, index), said[2], dtype=dtype_in(line))
            column = _COLUMN.match(line)
            listed = re.split(r"\s?[,/]\s?", column["names"]) if column is not None else []
            if column is None or not set(listed) <= self._written.names or self._is_result(text, index):
                continue
            said = spoken(column["rest"])
            each = several(re.split(r"(?=[(\[])", column["rest"], maxsplit=1)[-1])
            place, dtype = self._place(text, index), dtype_in(line)
            if len(listed) > 1 and len(each) == len(listed):  # A, B   dynamics, (n, n) and (n, m)
                yield from (Told(name, place, one, dtype=dtype) for name, one in zip(listed, each, strict=True))
            elif said is not None and not said[0] and said[1] is None and len(each) < 2:
                yield from (Told(name, place, said[2], dtype=dtype) for name in listed)

    def _rest(self, found: Mapping[str, Told]) -> Iterator[Told]:
        """Read ``the projections are D x D``, ``all others: (B, T)``: what is said of all that no text names."""
        left = [item.name for item in self._tensors if item.name not in found or found[item.name].told_rank is None]
        left = [name for name in left if name not in found or not found[name].is_plain]
        for text in self._written.all():
            for index, line in enumerate(text.lines):
                match = _OTHERS.search(line)
                if match is None or not left or self._is_result(text, index):
                    continue
                sizes = sizes_in(inside(match)) if match["times"] is None else sizes_in(match["times"])
                weights = [name for name in left if _PROJECTION.match(name)]
                named = weights if match["weights"] else left
                if sizes is not None and len(sizes) > 1 and (match["weights"] or match["others"]):
                    place = self._place(text, index)
                    yield from (Told(name, place, sizes) for name in named)
                    return

    def _bare(self, text: FunctionText) -> Iterator[Told]:
        """Read ``b t d, w: d k``: names without brackets, in comments of a signature only."""
        for index, line in enumerate(text.lines):
            for part in re.split(r"[;,](?=\s*\w+\s*:)", line):
                name, mark, rest = part.partition(":")
                words = rest.split()
                if mark and name.strip() in self._written.names and words and all(is_letter(word) for word in words):
                    place = self._place(text, index)
                    yield Told(name.strip(), place, tuple(words))

    def _entries(self, text: FunctionText) -> Iterator[Told]:
        ignored: int | None = None  # the margin of a section about results
        for index, line in enumerate(text.lines):
            margin = len(line) - len(line.lstrip())
            if ignored is not None and line.strip() and margin <= ignored and not _HEADING.match(line):
                ignored = None
            if _HEADING.match(line):
                ignored = margin
                continue
            dtypes = {each["name"]: dtype_in(each["dtype"]) for each in _TYPED.finditer(line)}
            match = _ENTRY.match(_TYPED.sub(r"\g<name>", line) if len(dtypes) > 1 or _OF_TYPED.search(line) else line)
            if match is None or (ignored is not None and margin > ignored):
                continue
            names = self._known(re.split(r"[`*'\"]*\s*(?:,|/|\band\b)\s*[`*'\"]*", match["names"]))
            if not names:
                continue
            words = [match["paren"], match["square"]]
            if match["mark"] == "" and not any(words):
                continue
            rest = self._next.split(match["rest"], maxsplit=1)[0]  # x: (B, T), w: (T, D)
            body = " ".join([rest, *(self._indented(text, index, margin) if rest == match["rest"] else ())])
            place = self._place(text, index)
            each = several(body[body.find("(") :]) if len(names) > 1 else ()
            if len(each) == len(names) > 1:  # A, B: (n, n) and (n, m)
                yield from (Told(name, place, one, dtype=dtype_in(body)) for name, one in zip(names, each, strict=True))
                continue
            for name in names:
                told = self._entry(name, place, words, body)
                self._bodies[name] = body
                if told is not None:
                    yield replace(told, dtype=told.dtype or dtypes.get(name, ""))

    def _entry(self, name: str, place: TextPlace, words: Sequence[str | None], body: str) -> Told | None:
        inner = next((word for word in words if word), "")
        if inner:
            sizes = sizes_in(inner, alone=bool(words[1]))
            if sizes is not None:
                return Told(name, place, sizes, dtype=dtype_in(body))
        if (inner and _PLAIN.match(inner)) or (not inner and _PLAIN.match(body) and not _TENSOR_SIZES.search(body)):
            number = re.search(r"\bdefault(?:s to)?[ :=]*(-?\d+(?:\.\d+)?)", body)
            value = None if number is None else ast.literal_eval(number[1])
            return Told(name, place, is_plain=True, value=value)
        letters = _LETTERS.match(body) if not inner and times_in(body) is None else None  # x: N, C, L
        if letters is not None and not letters[0][0].isdigit():
            return Told(name, place, tuple(re.findall(r"\w+", letters[0])), dtype=dtype_in(body))
        told = shape_of(f"{inner}; {body}" if inner else body, name, place)
        last = _LAST.search(body) if told is None or told.told_rank is None else None
        if last is not None:
            told = Told(name, place, (last["size"],), dtype=dtype_in(body))
        if told is None or (told.sizes is None and told.rank is None):
            like = self._like(name, body)
            number = COUNTED.match(body)  # M boxes, same format
            per = number["count"] if number is not None else ""
            told = Told(name, place, dtype=dtype_in(body), like=like, per=per) if like else told
        return told

    def _like(self, name: str, body: str) -> str:
        """Return the other argument that has the same shape."""
        same = _SAME.search(body)
        if same is not None:
            return self._meant(name, same["other"])
        before = [other for other in self._bodies if other != name]
        return before[-1] if before and (_AS_BEFORE.match(body) or _SAME_FORM.search(body)) else ""

    def _meant(self, name: str, word: str) -> str:
        """Return the argument of a name, or the one that is described by a word: ``the means`` are mu."""
        if word in self._written.names - {name}:
            return word
        stem = word.lower().rstrip("s")
        described = [other for other, body in self._bodies.items() if other != name and stem in body.lower()]
        return described[0] if len(described) == 1 and len(stem) > 2 else ""

    def _indented(self, text: FunctionText, index: int, margin: int) -> Iterator[str]:
        for line in text.lines[index + 1 :]:
            if not line.strip() or len(line) - len(line.lstrip()) <= margin:
                return
            match = _ENTRY.match(line)
            if match is not None and match["mark"] == ":" and self._known([match["names"]]):
                return
            yield line.strip()

    def _phrases(self, text: FunctionText) -> Iterator[Told]:
        """Read ``x (m, k)``, ``x is an [m, k] matrix``, ``an [m, k] matrix x`` anywhere in sentences."""
        whole = "\n".join(text.lines)
        for name in sorted(self._written.names):
            pattern = re.compile(
                rf"(?<![\w.])(?:{'|'.join(map(re.escape, self._forms(name)))})(?:\.shape)?(?![\w(])"
                rf"[`*'\"]*(?P<between>[^()\[\].;\n]{{0,40}}?)\s*{BRACKET}"
            )
            for match in pattern.finditer(whole):
                place = self._told_at(text, whole, match.start())
                between = re.findall(r"[A-Za-z_]\w*", match["between"])
                if place is None or any(word in self._written.names for word in between):
                    continue
                is_one = match["round"] is not None and "," not in match["round"]
                is_part = is_one and _GOES_ON.match(whole, match.end()) is not None
                if is_part or re.search(r"->|→|=(?!=)(?!\s*$)|returns?\b", match["between"]):
                    continue
                square = match["square"] is not None
                known = square or bool(re.search(r"shape|size|[:=∈]\s*$", match["between"]))
                sizes = sizes_in(inside(match), alone=known)
                if sizes is not None and not self._is_index(text, match, sizes):
                    yield Told(name, place, sizes)
            spelled = re.compile(
                rf"(?<![\w.]){re.escape(name)}(?:\s?:| is| are)\s+(?P<letters>{_CAPITALS})(?!\s*[\w(*/+-]*[*/+(])(?!\w)"
            )
            for match in spelled.finditer(whole):
                place = self._told_at(text, whole, match.start())
                if place is not None:
                    yield Told(name, place, tuple(match["letters"].split()))
            yield from self._powers(text, whole, name)
        yield from self._shared(text, whole)

    def _forms(self, name: str) -> list[str]:
        """Return a name and its plurals that are no names of other arguments: the images of an argument image."""
        if len(name) < 3:
            return [name]
        plurals = [f"{name}s"]
        plurals += [name.removesuffix(end) + many for end, many in _PLURALS if name.endswith(end)]
        return [name, *(each for each in plurals if each not in self._written.names)]

    def _clauses(self, text: FunctionText) -> Iterator[Told]:
        """Read what sentences say in words: ``masses is a vector with their N masses``, ``A[i, j] is ...``."""
        whole = "\n".join(text.lines)
        names = "|".join(map(re.escape, sorted(self._written.names, key=len, reverse=True)))
        mention = rf"(?<![\w.])(?:{names})(?!\w)"
        said = re.compile(
            rf"(?<![\w.])(?P<name>{names})(?!\w)[`*'\"]*\s+(?P<clause>(?:an?|is|are|has|have|holds?|contains?|gives?|being)\b"
            rf"(?:(?!{mention})[^.;:]|\.(?=\w)){{0,200}})"
        )
        for match in said.finditer(whole) if names else ():
            place = self._told_at(text, whole, match.start())
            if place is not None:
                clause = " ".join(match["clause"].split())
                told = in_words(clause, match["name"], place)
                rest = whole[match.end() :].lstrip("`*'\" ")
                like = self._like(match["name"], f"{clause} {rest[:40]}") if told is None else ""
                told = Told(match["name"], place, like=like) if like else told
                if told is not None:
                    yield told
        indexed = re.compile(rf"(?<![\w.])(?P<name>{names})\[(?P<index>[a-z](?:, ?[a-z]){{1,4}})\]")
        for match in indexed.finditer(whole) if names and text.kind == "docstring" else ():
            place = self._place(text, whole.count("\n", 0, match.start()))
            yield Told(match["name"], place, rank=match["index"].count(",") + 1)

    def _shared(self, text: FunctionText, whole: str) -> Iterator[Told]:
        """Read ``p and q, both of shape [b, c]``: what is said of all that the sentence named."""
        for match in _SHARED.finditer(whole):
            inner = inside(match)
            # (grey) behind "each image's" is no size, (N) behind "each of length" is one.
            sizes = sizes_in(inner, alone=_SAID.search(whole, match.start("word"), match.end()) is not None)
            place = None if sizes is None else self._told_at(text, whole, match.start("word"))
            if sizes is not None and place is not None:
                words = re.findall(r"[A-Za-z_]\w*", match["before"])
                named = [name for name in words if name in self._written.names]
                if not named and match["word"].lower() == "all":
                    named = self._of_kind(re.findall(r"\w+", whole[match.end("word") : match.end()])[:1])
                for name in dict.fromkeys(named):
                    yield Told(name, place, sizes)

    def _of_kind(self, stems: Sequence[str]) -> list[str]:
        """Return the arguments that ``all q values`` or ``all inputs`` speaks of."""
        names = [item.name for item in self._tensors]
        if set(stems) & {"inputs", "arguments", "tensors"}:
            return names
        found = [name for name in names for stem in stems if name == stem or name.startswith(f"{stem.rstrip('s')}_")]
        return found if len(found) > 1 else []

    def _is_index(self, text: FunctionText, match: re.Match[str], sizes: tuple[str, ...]) -> bool:
        """Whether ``x[0]`` in a comment, or ``x[i, j]`` of which is told what it is, is an element and no shape."""
        if match["square"] is None or match["between"] != "":
            return False
        if text.kind == "comment" and all(size.isdigit() for size in sizes):
            return True
        is_told = re.match(r"[`*'\"]*\s+(?:is|are|holds|gives|denotes|means)\b", match.string[match.end() :][:20])
        return bool(is_told) and {"i", "j"} & set(sizes) != set() and all(len(size) == 1 for size in sizes)

    def _powers(self, text: FunctionText, whole: str, name: str) -> Iterator[Told]:
        spelled = r"[\w ]{0,30}?"
        after = re.compile(
            rf"(?<![\w.]){re.escape(name)}(?!\w)[`*'\"$]*\s*"
            r"(?:in|∈|\\in|:|(?:is|are)(?: an?)?|,? an?|has shape|of shape)"
            rf"{spelled}\s*(?P<shape>[^\n.;]{{1,60}})"
        )
        before = re.compile(
            rf"(?P<shape>[^\n.;,(]{{1,40}}?)\s+(?:matrix|tensor|image|array|batch)\s+[`*'\"]*{re.escape(name)}(?!\w)"
        )
        for pattern in (after, before):
            for match in pattern.finditer(whole):
                place = self._told_at(text, whole, match.start())
                if place is None:
                    continue
                sizes = times_in(match["shape"])
                group = GROUP.search(match["shape"]) if pattern is before else None
                if sizes is None and group is not None:
                    sizes = sizes_in(inside(group))
                if sizes is not None:
                    yield Told(name, place, sizes)

    def _place(self, text: FunctionText, index: int) -> TextPlace:
        """Return the place of a line."""
        return TextPlace(text.kind, self._target.path, text.line(index))

    def _told_at(self, text: FunctionText, whole: str, at: int) -> TextPlace | None:
        """Return the place of a character of the whole text, None in a section about results."""
        index = whole.count("\n", 0, at)
        return None if self._is_result(text, index) else self._place(text, index)

    def _is_result(self, text: FunctionText, index: int) -> bool:
        """Whether a line belongs to a section about results."""
        margin = len(text.lines[index]) - len(text.lines[index].lstrip())
        for line in reversed(text.lines[: index + 1]):
            own = len(line) - len(line.lstrip())
            if _HEADING.match(line) and (own < margin or line is text.lines[index]):
                return True
            if line.strip():
                margin = min(margin, own)
        return False

    def _lists(self, text: FunctionText) -> Iterator[Told]:
        """Read ``(m, k), (k, n) -> (m, n)`` and ``(m, k) @ (k, n)`` where the arguments are as many."""
        for index, line in enumerate(text.lines):
            head, arrow, _ = re.sub("→|=>", "->", line).partition("->")
            groups = list(GROUP.finditer(head))
            if len(groups) != len(self._tensors) or not groups or not (arrow or "@" in head or len(groups) > 1):
                continue
            between = GROUP.sub("", head)
            if not arrow and re.search(r"[A-Za-z]{4,}", re.sub(r"(?i)shapes?|sizes?|inputs?|dims?", "", between)):
                continue
            shapes = [sizes_in(inside(group)) for group in groups]
            place = self._place(text, index)
            if all(shape is not None for shape in shapes):
                yield from (Told(item.name, place, shape) for item, shape in zip(self._tensors, shapes, strict=True))
                return

    def _known(self, names: Sequence[str]) -> list[str]:
        found = [name for name in (name.strip("`*'\" ") for name in names) if name in self._written.names]
        generic = [name for name in names if name.lower() in _GENERIC]
        if not found and generic and len(self._tensors) == 1 and names[0].lower() != "x":
            found = [self._tensors[0].name]
        return found
