"""How functions and methods are called: the second table, ``torch_signatures.py``, from the same schemas."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from torch import Tensor, nn

from scripts.torch_schemas.examples import wrapper_examples
from scripts.torch_schemas.kinds import kinds
from scripts.torch_schemas.reviewed import SCHEMA_OF
from scripts.torch_schemas.runs import watched
from scripts.torch_schemas.schemas import schemas, variants, writes
from scripts.torch_schemas.table import spaces
from stepcore.fn import torch_table

# Bound by hand in torch, in another way than their schemas say.
_BY_HAND: Final = frozenset(
    {"to", "type", "tensor", "as_tensor", "new_tensor", "scalar_tensor", "arange", "range", "nonzero", "contiguous"}
    | {"full", "item", "stride", "fill"}
)
_KINDS: Final = {
    "Tensor": "T", "Scalar": "S", "number": "S", "int": "i", "SymInt": "i", "float": "f", "bool": "b", "str": "s",
    "ScalarType": "d", "Layout": "d", "MemoryFormat": "d", "Device": "D",
}  # fmt: skip
# Functions that take a number for any of their tensors: torch.div(1, x).
_OF_NUMBERS: Final = frozenset(
    {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "copy"}
)
# What stands for a number elsewhere than an annotation says: the orders of norms.
_TEXTS: Final = ("fro",)
_OWN: Final = re.compile(r"\bTensor(?:\([^)]*\))? self\b")
_WIDTH: Final = 110
_ARGUMENT: Final = re.compile(
    r"(?P<type>[A-Za-z]+)(?:\([a-z*!| >-]+\))?(?P<rest>(?:\?|\[\d*\])*) (?P<name>\w+)(?P<default>=.*)?"
)


def signatures() -> str:
    """Return the table of how each function that the first table admits is called, as text of Python."""
    found: dict[str, dict[str, str]] = {}
    for space, module, prefix in spaces():
        for name in _admitted(space):
            found.setdefault(space, {})[name] = _called(
                getattr(module, name), SCHEMA_OF.get(name, prefix + name), "input"
            )
    for name in sorted({*_admitted("torch.Tensor"), *torch_table.INPLACE.split()}):
        found.setdefault("torch.Tensor", {})[name] = _called(getattr(Tensor, name), name, "self")
    found["torch.nn"] = {name: _python(getattr(nn, name), ()) for name in _admitted("torch.nn")}
    takes = kinds({space: _admitted(space) for space, _, _ in spaces()})
    called = {space: {name: text for name, text in names.items() if text} for space, names in found.items()}
    return _spelled(called, takes)


def _admitted(space: str) -> list[str]:
    names = f"{torch_table.PURE.get(space, '')} {torch_table.RANDOM.get(space, '')}".split()
    return sorted({*names} - _BY_HAND)


def _spelled(found: dict[str, dict[str, str]], takes: dict[str, dict[str, str]]) -> str:
    lines = [
        '"""How functions of torch are called. Written by ``scripts/torch_schemas``: do not edit.',
        "",
        "NAME|SIGNATURE|... of each namespace; a signature is PARAMETER:KIND,... with * before what is given by",
        "keyword only and = behind what may be left out. Kinds: see stepcore/fn/shapes/signatures.py.",
        "",
        "TYPES has NAME|REFUSED:PLACES of each namespace: element types that the first argument has not, and places of",
        "arguments that have the type of the first one.",
        '"""',
        "",
        "from typing import Final",
        "",
        f'VERSION: Final = "{torch_table.VERSION}"',
        "SIGNATURES: Final = {",
    ]
    lines += [*_table(found), "}", "TYPES: Final = {", *_table(takes), "}", ""]
    return "\n".join(lines)


def _table(found: dict[str, dict[str, str]]) -> Iterator[str]:
    for space, names in sorted(found.items()):
        told = " ".join(f"{name}|{text}" for name, text in names.items())
        yield f'    "{space}": ('
        yield from (f'        "{told[start : start + _WIDTH]}"' for start in range(0, len(told), _WIDTH))
        yield "    ),"


def _called(function: Any, operator: str, first: str) -> str:
    """Return the signatures of a function; empty where nobody says."""
    if inspect.isfunction(function):
        return _python(function, wrapper_examples().get(operator, ()))
    operators = [each for each in schemas(operator) if not writes(each) or operator.endswith("_")]
    # Dimensions have no names here, and what writes into an ``out`` is called like what does not.
    shown = [str(each) for each in operators if not _is_out(each) and "Dimname" not in str(each)]
    # A method belongs to the tensor that its schema calls ``self``, whatever its place there.
    texts = [_of_schema(each, first) for each in shown if first == "input" or _OWN.search(each)]
    if not texts or "" in texts:
        return ""
    if operator.removesuffix("_") in _OF_NUMBERS:
        texts = [text.replace(":T", ":S") for text in texts]
    # torch still takes ``alpha``, ``beta`` and ``value`` by position, before or between the operands.
    old = [text for text in texts if re.search(r"\*(alpha|beta|value):", text)]
    older = [re.sub(r":\w+", ":?", text.replace("*", "")) for text in old]
    return "|".join(dict.fromkeys([*texts, *older]))


def _is_out(schema: Any) -> bool:
    return any(argument.is_out for argument in schema.arguments)


def _of_schema(text: str, first: str) -> str:
    inner = text[text.index("(") + 1 : text.rindex(") ->")]
    parameters: list[str] = []
    star = ""
    for part in _parts(inner):
        if part == "*":
            star = "*"
            continue
        found = _ARGUMENT.fullmatch(part)
        if found is None:
            return ""
        is_own = found["name"] == "self" and found["type"] == "Tensor"  # a number keeps its name: pow(self=2)
        told = f"{star}{first if is_own else found['name']}:{_kind(found['type'], found['rest'])}"
        told += "=" if found["default"] else ""
        parameters.insert(0 if is_own and first == "self" else len(parameters), told)
    if "*pin_memory:b=" in parameters:  # what makes tensors takes it besides, outside of its schema
        parameters.append("*requires_grad:b=")
    return ",".join(parameters)


def _parts(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _kind(kind: str, rest: str) -> str:
    letter = _KINDS.get(kind, "?")
    if "[" not in rest:
        return letter
    if letter == "T":
        return "L"
    # A number stands for a list of fixed length.
    return f"{letter}{'1' if re.search(r'[0-9]', rest) else '0'}" if letter in "if" else "?"


def _python(function: Any, examples: Sequence[tuple[Any, ...]]) -> str:
    """Return the signatures of a function of Python, of which annotations bind nobody: ``examples`` run it."""
    found: list[str] = []
    for variant in variants(function):
        parameters = list(inspect.signature(variant).parameters.values())
        if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters):
            return ""
        kinds = [_widened(function, place, each, examples) for place, each in enumerate(parameters)]
        found.append(",".join(map(_parameter, parameters, kinds)))
    return "|".join(dict.fromkeys(found))


def _parameter(parameter: inspect.Parameter, kind: str) -> str:
    star = "*" if parameter.kind == parameter.KEYWORD_ONLY else ""
    optional = "" if parameter.default is parameter.empty else "="
    return f"{star}{parameter.name}:{kind}{optional}"


def _widened(function: Any, place: int, parameter: inspect.Parameter, examples: Sequence[tuple[Any, ...]]) -> str:
    """Return the kind of a parameter: what its annotation says, and what it takes in spite of that."""
    kind = _annotated(parameter)
    if kind == "T":
        lists = ([value.tolist()] if isinstance(value, Tensor) else [value] for value in _at(place, examples))
        is_listed = any(_runs(function, place, parameter.name, examples, each) for each in lists)
        return "?" if is_listed else "S" if _runs(function, place, parameter.name, examples, (1, 0.5)) else kind
    return "?" if kind == "n" and _runs(function, place, parameter.name, examples, _TEXTS) else kind


def _at(place: int, examples: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [args[place] for args in examples if len(args) > place]


def _runs(function: Any, place: int, name: str, examples: Sequence[tuple[Any, ...]], values: Iterable[Any]) -> bool:
    """Return whether an example runs with one of ``values`` at a place, or by a name behind all others."""
    for args in examples:
        for value in values:
            others = (*args[:place], value, *args[place + 1 :]) if len(args) > place else args
            if watched(function, others, {} if len(args) > place else {name: value}) is not None:
                return True
    return False


def _annotated(parameter: inspect.Parameter) -> str:
    """Return the kind of a parameter of a Python function, whose annotation nobody enforces: what is sure to fail."""
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else ""
    kind = annotation or getattr(parameter.annotation, "__name__", "")
    if kind in ("Tensor", "torch.Tensor"):
        return "T"
    is_number = kind in ("int", "float") or str(parameter.annotation) in ("int | None", "float | None")
    return "n" if is_number or isinstance(parameter.default, float) else "?"
