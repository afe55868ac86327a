"""What is said about wrong calls of operators, in the editor and in a script alike: one function for each mistake.

A message shows the call as it was written. :class:`Page` is where it stands: the checker's is the elaborator, which has
the file, and a script's (:mod:`stepcore.surface.written`) reads the running line. Neither words nor codes are chosen
elsewhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from math import inf
from typing import Any, Final, Protocol

from stepcore.findings.near import nearest
from stepcore.ops.calling import NOTHING, Calling, Many, One, Outputs, Param, ParamKind, written
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.text.wording import clipped, few, whole
from stepcore.types import Buffer, Multihot, Scalar, STuple, Tile

_LONG: Final = 1000  # characters of a part of a program that a message or fix repeats
_SHOWN: Final = 80  # characters of a value in a message


class Sort(Enum):
    """What kind of thing a value is, as far as messages differ."""

    STREAM = auto()
    OPERATOR = auto()  # with parameters or without
    FUNCTION = auto()  # an element function
    HELPER = auto()  # a function of the user's that is none
    READY_MADE = auto()  # one of step.fns, before its types
    FOREIGN = auto()  # a function or module of Python or of a library
    TENSOR = auto()  # of scripts only
    OTHER = auto()


class Page(Protocol):
    """Where a call stands: how it is written there, and what its names stand for."""

    is_task: bool

    def text(self, node: ast.AST, length: int = 40) -> str:
        """Return ``node`` as it was written, on one line and clipped."""
        ...

    def what(self, node: ast.AST, value: Any) -> str:
        """Return ``E0 is a stream``: the text and what it stands for."""
        ...

    def describe(self, value: Any) -> str:
        """Return what ``value`` is: ``a tuple of two streams``."""
        ...

    def sort(self, value: Any) -> Sort:
        """Return what kind of thing ``value`` is."""
        ...

    def operator(self, name: str) -> str:
        """Return how an operator is written here: ``step.Map``."""
        ...

    def look(self, name: str) -> Any:
        """Return what a name stands for, None where it is not known."""
        ...

    def bound(self, size: Dim) -> int | None:
        """Return the number that a size has, if it is known."""
        ...

    def maker_of(self, value: Any) -> str:
        """Return the operator that makes a stream, or an empty text for an input."""
        ...

    def maker_of_all(self, values: Sequence[Any]) -> str:
        """Return the operator whose outputs in one application ``values`` are, or an empty text."""
        ...


class Mistake(Record):
    """A wrong call: its code, what is wrong, how it is written instead, and the text that is certainly meant."""

    code: str
    text: str
    way_out: str = ""
    meant: str = ""

    @property
    def message(self) -> str:
        """The whole message."""
        return f"{self.text}; {self.way_out}" if self.way_out else self.text


def is_stream(page: Page, value: Any) -> bool:
    """Return whether ``value`` is a stream."""
    return page.sort(value) is Sort.STREAM


# -- parameters ----------------------------------------------------------------------------------------------

# What other languages and libraries call our parameters, in lower case.
_SAME: Final[dict[str, frozenset[str]]] = {
    key: frozenset(names.split())
    for key, names in {
        "fn": "func function f op apply body lambda callback kernel",
        "n": "num count times repeats",
        "N": "n num branches num_branches n_branches experts num_experts count",
        "b": "a n_dims",
        "a": "b n_dims",
        "S": "size split split_size chunk chunk_size",
        "L": "dims axes levels indices index",
        "reference": "ref golden target",
        "dims": "sizes shapes bindings",
        "input": "inputs input_dtype input_type",
        "output": "outputs output_dtype output_type returns",
        "init": "initial state",
        "depth": "fifo fifo_depth fifo_size buffer_depth queue_depth queue_size capacity",
    }.items()
}


def unknown_keyword(owner: str, name: str, known: Mapping[str, str], given: Iterable[str]) -> Mistake:
    """A keyword that ``owner`` does not take. ``known`` says of each that it takes what it is, ``given`` are those of
    the call. What is certainly meant is another keyword.
    """
    open_ = [key for key in known if key not in given]
    near = nearest(name, open_, closed=True) or [key for key in open_ if name.lower() in _SAME.get(key, ())]
    takes = " and ".join(f"{key} ({hint})" if hint else key for key, hint in known.items() if key in open_)
    way_out = f"did you mean {near[0]}?" if near else f"it takes {takes or ', '.join(known)}"
    return Mistake("STEP203", f"{owner} has no parameter {name}", way_out, near[0] if near else "")


def unknown_parameter(name: str, calling: Calling, keyword: str, given: Iterable[str]) -> Mistake:
    """A keyword that the operator ``name`` does not take."""
    shared = unknown_keyword(name, keyword, {param.name: "" for param in calling.common}, given)
    if not calling.own:
        text = f"{name} has no parameters of its own, and this is {keyword}"
        return shared if shared.meant else Mistake("STEP203", text, calling.instead or f"write {name}()")
    if keyword == "init" and any(param.kind is ParamKind.FN for param in calling.own):
        text = f"{name} has no parameter init"
        return Mistake("STEP203", text, "the state starts from the init of its function fn")
    hints = {param.name: re.split("[,:;]", param.hint)[0] for param in calling.own}
    own = unknown_keyword(name, keyword, hints, given)
    return own if own.meant or not shared.meant else shared


def missing_parameters(name: str, calling: Calling, given: Iterable[str], page: Page) -> Mistake | None:
    """Parameters that have to be given, and are not; None where there are none."""
    missing = [key for key in calling.required if key not in given]
    if not missing:
        return None
    return Mistake("STEP203", f"{name} lacks {', '.join(missing)}", f"write {calling.head(page.operator(name))}")


def without_parameters(name: str, calling: Calling | None, page: Page) -> Mistake:
    """An operator that is applied before it got its parameters."""
    head = page.operator(name) + "()" if calling is None else calling.head(page.operator(name))
    return Mistake("STEP203", f"{name} is applied without its parameters", f"write {head}.apply(...)")


def unnamed_parameters(
    name: str, calling: Calling, unnamed: Sequence[tuple[ast.expr, Any]], given: Iterable[str], page: Page
) -> Mistake:
    """Parameters without their names; streams belong to ``.apply``. What is certainly meant is the name of the one."""
    node, value = unnamed[0]
    head, text = calling.head(page.operator(name)), page.text(node)
    if is_stream(page, value):
        way_out = f"streams go to .apply: {head}.apply({text})"
        return Mistake("STEP203", f"{name} takes parameters, and {page.what(node, value)}", way_out)
    if not calling.own:
        return Mistake("STEP203", f"{name} has no parameters of its own, and this is {text}", f"write {head}")
    open_ = [param for param in calling.own if param.name not in given]
    fitting = [param.name for param in open_ if param.kind.accepts(value)] if len(unnamed) == 1 else []
    meant = fitting[0] if len(fitting) == 1 else ""
    way_out = f"{page.operator(name)}({meant}={text})" if meant else head
    return Mistake("STEP203", f"{name} takes its parameters by name only", f"write {way_out}", meant)


def repeated_parameter(keyword: str) -> Mistake:
    """A keyword that stands twice in a call, in the words of Python, which reads no such script."""
    return Mistake("STEP902", f"keyword argument repeated: {keyword}", "write it once")


def wrong_kind(name: str, calling: Calling, param: Param, node: ast.expr, value: Any, page: Page) -> Mistake:
    """A parameter of another kind than the operator takes; what is certainly meant is its text."""
    text = f"{name} needs {param.kind.article} as {param.name}"
    decorator = f"@{page.operator('fn')}"
    meant = _meant(calling, param, value, page)
    if isinstance(value, Dim) and param.kind is not ParamKind.FN:
        number = page.bound(value)
        way_out = f"{param.name}: {param.hint}"
        if meant:
            is_number = number is not None and param.kind is not ParamKind.SIZES
            way_out = f"write {param.name}={meant}" + (f", which is {number} here" if is_number else "")
        return Mistake("STEP204", f"{text}, and {page.text(node)} is a size", way_out, meant)
    if isinstance(node, ast.Lambda):
        with_def = f"write a def with {decorator}(...) above it"
        way_out = "declare a function with its types in fns of the task" if page.is_task else with_def
        return Mistake("STEP204", f"{text}, and this is a lambda", way_out)
    way_out = f"write {param.name}={meant}" if meant else f"{param.name}: {param.hint}"
    sort = page.sort(value)
    if sort is Sort.FOREIGN and param.kind is ParamKind.FN:
        way_out = f"write an element function that calls {page.text(node)}"
    if sort is Sort.STREAM and param.kind is ParamKind.MEMORY:
        declared = f"*, {page.text(node)}: Annotated[step.Param, step.f32, (COLUMNS, ROWS)]"
        way_out = (
            "declare it under parameters, not inputs" if page.is_task else f"a parameter is declared as {declared}"
        )
    if sort is Sort.READY_MADE:
        what = f"{page.text(node)} makes one for given types"
        return Mistake("STEP204", f"{text}, and {what}", f"write {param.name}={page.text(node)}(TYPE)")
    if sort is Sort.HELPER and not meant:
        way_out = f"write {decorator}(input=..., output=...) above its def"
    return Mistake("STEP204", f"{text}, and {page.what(node, value)}", way_out, meant)


def _meant(calling: Calling, param: Param, value: Any, page: Page) -> str:
    """Return how a parameter is written that was given in a wrong form, or an empty text where that is not certain."""
    is_integer = ParamKind.INTEGER.accepts
    match param.kind, value:
        case ParamKind.INTEGER, Dim() if param.name == calling.outputs.counted_by and str(value).isidentifier():
            return f"{value}_value" if is_integer(page.look(f"{value}_value")) else ""
        case ParamKind.INTEGER, [item] if is_integer(item):
            return str(item)
        case ParamKind.INTEGER | ParamKind.SIZE, float() if value.is_integer() and abs(value) < 1e6:
            return str(int(value))
        case ParamKind.FILLING, float() if value in (*param.choices, -inf):
            return '"-inf"' if value == -inf else str(int(value))
        case ParamKind.INDICES, int() if is_integer(value):
            return f"[{value}]"
        case ParamKind.SIZES, int() | Dim() if is_integer(value) or str(value).isidentifier():
            return f"[{value}]"
        case ParamKind.INTEGER | ParamKind.SIZE, str() if value.isdecimal() and len(value) < 10:
            return str(int(value))
        case ParamKind.FN | ParamKind.SIZE | ParamKind.MEMORY, str() if value.isidentifier():
            return value if param.kind.accepts(page.look(value)) else ""
    return ""


# -- inputs --------------------------------------------------------------------------------------------------


def no_input(name: str) -> Mistake:
    """An operator that is applied to nothing."""
    return Mistake("STEP205", f"{name} is applied to nothing", "pass its input to .apply(...)")


def several_arguments(name: str, node: ast.expr, page: Page) -> Mistake:
    """Streams side by side in ``.apply``, which stand in ``node`` as the tuple that they should be."""
    return Mistake("STEP205", f"{name}.apply takes its streams as one argument", f"write .apply(({page.text(node)}))")


def wrong_keywords(
    name: str, calling: Calling | None, call: ast.Call, named: Sequence[tuple[ast.keyword, Any]], page: Page
) -> Mistake:
    """Keywords that ``.apply`` does not take: the operator's parameters, or streams, which are certainly meant without
    their names.
    """
    keywords = [keyword for keyword, _ in named]
    names = ", ".join(keyword.arg or "**" for keyword in keywords)
    if calling is not None and {keyword.arg for keyword in keywords} <= calling.by_name.keys():
        parameters = clipped(", ".join(page.text(keyword, _LONG) for keyword in keywords), 80)
        given = ", ".join(map(page.text, call.args)) or "..."
        text = f"{names} {'belongs' if len(keywords) == 1 else 'belong'} to {name}, not to its .apply"
        return Mistake("STEP205", text, f"write {page.operator(name)}({parameters}).apply({given})")
    if call.args or not all(is_stream(page, value) for _, value in named):
        return Mistake("STEP205", f"{name}.apply takes no {names}", "it takes the streams, and name=...")
    texts = [page.text(keyword.value) for keyword in keywords]
    shown = f"({', '.join(texts)})" if len(texts) > 1 else texts[0]
    text = f"the inputs of {name} have no names, and these are called {names}"
    return Mistake("STEP205", text, f"write .apply({shown})", shown)


def no_stream(expected: str, node: ast.expr, value: Any, page: Page) -> Mistake:
    """Something else where ``expected`` a stream, as in ``Map takes streams``; what is certainly meant is its text."""
    text, sort = page.text(node), page.sort(value)
    way_out, meant = "pass a stream", ""
    if isinstance(value, str) and is_stream(page, page.look(value)):
        way_out, meant = f"write {value} without quotes", value
    elif sort is Sort.OPERATOR:
        way_out = f"apply it: {text}.apply(...)"
    elif sort is Sort.FUNCTION:
        operator = f"Accum(fn={text}, b=...)" if value.has_state else f"Map(fn={text})"
        way_out = f"an operator applies it: {page.operator(operator)}.apply(...)"
    elif sort is Sort.TENSOR:
        way_out = f"make a stream of it with {page.operator('Stream')}.of"
    elif value is None and not isinstance(node, ast.Constant):
        way_out = "what it comes from returns nothing"
    elif isinstance(value, dict):
        way_out = "write the streams in a tuple, in order"
    return Mistake("STEP205", f"{expected}, and {page.what(node, value)}", way_out, meant)


def wrong_structure(name: str, calling: Calling, node: ast.expr, value: Any, page: Page) -> Mistake:
    """Streams that are not structured as the operator takes them.

    What is certainly meant is told for a tuple of one, and for branches outside of a list of their own.
    """
    given = _Given(page, node, value)
    takes = f"{name} takes {calling.inputs.text}"
    what = f"is {'one stream' if given.is_one else page.describe(value)}"
    if not given.is_flat and not any(isinstance(part, Many) for part in calling.inputs.parts):
        what = f"is a {'list' if isinstance(value, list) else 'tuple'} that holds another one"
    elif given.maker:
        streams = "both streams" if given.count == 2 else f"all {few(given.count, 'stream')}"
        what = f"holds {streams} of {given.maker}"
    return Mistake("STEP205", f"{given.shown} {what}, and {takes}", _way(calling, given), _regrouped(calling, given))


class _Given:
    """What ``.apply`` was given: ``parts`` are the texts of its items, where these are written out."""

    def __init__(self, page: Page, node: ast.expr, value: Any) -> None:
        self.page, self.node, self.value = page, node, value
        self.is_one = is_stream(page, value)
        items = [value] if self.is_one else value
        self.is_flat, self.count = all(is_stream(page, item) for item in items), len(items)
        self.maker = page.maker_of_all(value) if not self.is_one and self.is_flat and self.count > 1 else ""
        self.text = page.text(node)
        is_bare = isinstance(node, ast.Tuple) and not self.text.startswith("(")  # several arguments, taken as a tuple
        self.shown = f"({self.text})" if is_bare else self.text
        self.parts = self.texts(40)

    def texts(self, length: int) -> list[str]:
        """Return the texts of the items of a tuple or list that is written out; none of any other expression."""
        if not isinstance(self.node, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in self.node.elts):
            return []
        return [self.page.text(item, length) for item in self.node.elts]


def _way(calling: Calling, given: _Given) -> str:
    """Return how the inputs are written that were given in another structure."""
    inputs = calling.inputs
    if inputs.takes_one and given.is_flat and given.count == 1:
        parts, text = given.parts, given.text
        return f"write .apply({parts[0]})" if parts else f"write {text}[0], or remove the comma where {text} is made"
    if many := next((way for way in inputs.ways if isinstance(way, Many)), None):
        return f"write all streams into one {many.kind}" if given.count else "pass a stream"
    if inputs.takes_one:
        return _way_to_one(given)
    if inputs.ways == (NOTHING,):
        return "write .apply()"
    if any(isinstance(part, Many) for part in inputs.parts):
        return _way_to_branches(inputs.parts, given)
    stands = [part.stands for part in inputs.parts if isinstance(part, One)]
    if given.is_flat and given.count == 1:
        stands[0] = given.parts[0] if given.parts else given.text
    elif inputs.chains:
        if not (given.is_flat and given.parts):
            return "zip two of them first, and the result with the other"
        inner = f"{given.page.operator(calling.name)}().apply(({given.parts[0]}, {given.parts[1]}))"
        return f"zip two, and the result with the next: .apply(({inner}, {', '.join(given.parts[2:])}))"
    return f"write .apply({written(tuple(stands))})"


def _way_to_one(given: _Given) -> str:
    if given.maker:
        return f"give each a name, and pass one: {given.text}[0]"
    if given.count != 2:
        return "Zip several streams into one first"
    return f"zip them first: .apply({given.page.operator('Zip')}().apply({given.shown}))"


def _way_to_branches(parts: Sequence[object], given: _Given) -> str:
    """Return how a list of streams, and what else stands in the tuple with it, are written."""
    stands: list[Any] = [part.stands if isinstance(part, One) else ["A", "B"] for part in parts]
    at = next(at for at, part in enumerate(parts) if isinstance(part, Many))
    if isinstance(given.value, list):
        stands[at] = given.text
    elif given.count < 2:
        stands[at] = [given.text]
    elif given.is_flat and given.parts:
        end = len(given.parts) - (len(parts) - at - 1)
        stands = [*given.parts[:at], given.parts[at:end], *given.parts[end:]]
    return f"write .apply({written(tuple(stands))})"


def _regrouped(calling: Calling, given: _Given) -> str:
    """Return the argument as it is certainly meant: the one stream of a tuple, or its branches in a list."""
    texts = given.texts(_LONG)
    if len(texts) == 1 and calling.inputs.takes_one:
        return texts[0]
    items = given.node.elts if isinstance(given.node, ast.Tuple) else []
    is_flat = not any(isinstance(item, ast.Tuple | ast.List) for item in items)
    parts = calling.inputs.parts
    if given.text.startswith("(") and is_flat and len(texts) > len(parts) and any(isinstance(p, Many) for p in parts):
        return calling.inputs.write(texts)
    return ""


# -- outputs -------------------------------------------------------------------------------------------------


def one_for_several(target: ast.Tuple | ast.List, maker: str, page: Page) -> Mistake:
    """One stream that several names, or a name with a comma, shall take; ``maker`` is the operator that makes it."""
    what = f"{maker} gives one stream" if maker else "this is one stream"
    if len(target.elts) == 1:
        return Mistake("STEP224", f"{what}; the comma after the name takes it apart", "remove the comma")
    way_out = "give it one name; Copy makes two streams of one, and Partition one for each branch"
    return Mistake("STEP224", f"{what}, and {page.text(target)} are {few(len(target.elts), 'name')}", way_out)


def other_number(target: ast.Tuple | ast.List, count: int, maker: str, outputs: Outputs | None, page: Page) -> Mistake:
    """``count`` values for another number of names; ``maker`` is the operator that makes all of them."""
    gives = f"{maker} gives {few(count, 'stream')}" if maker else f"there are {few(count, 'value')}"
    number = len(target.elts)
    names = f"{page.text(target)} {'is' if number == 1 else 'are'} {few(number, 'name')}"
    is_more = outputs is not None and outputs.more and number > count
    way_out = outputs.more if outputs is not None and is_more else f"write {few(count, 'name')}"
    return Mistake("STEP224", f"{names}, and {gives}", way_out)


# -- what values are -----------------------------------------------------------------------------------------


def literal_kind(value: object) -> str:
    """Return what a literal is, for messages that show its text."""
    match value:
        case None:
            return "no value"
        case bool():
            return "a truth value"
        case int():
            return "an integer"
        case float():
            return "a float"
        case str():
            return "a text"
    return "a constant"


def described(value: object, are_streams: bool) -> str:
    """Return what a value is that is the same in programs and scripts, for messages; an empty text for any other.

    ``are_streams`` says that the items of a list or tuple are streams.
    """
    match value:
        case list() | tuple():
            kind, item = "list" if isinstance(value, list) else "tuple", "stream" if are_streams else "item"
            return f"a {kind} of {few(len(value), item)}" if value else f"an empty {kind}"
        case dict():
            return "a dictionary"
        case None:
            return "None"
        case bool() | float() | str():
            return repr(clipped(value, _SHOWN) if isinstance(value, str) else value)
        case int():
            return whole(value)
        case Scalar() | Buffer() | Multihot() | Tile() | STuple():
            return f"the type {clipped(f'{value}', _SHOWN)}"
    return "a parameter" if ParamKind.MEMORY.accepts(value) else ""
