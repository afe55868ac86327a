"""What may stand behind ``step.``: decorators, operators and types, with what is to be filled in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from stepcore.frontend.calls import MARKERS, SCALARS, TYPE_MAKERS
from stepcore.ide.docs import STEP_NAMES
from stepcore.ide.model import Kind
from stepcore.ide.proposals import FITS, FREE, REST, CompletionProposal
from stepcore.ops.base import Operator, Param, ParamKind
from stepcore.ops.calling import value_text
from stepcore.ops.dialect import Dialect
from stepcore.records import Record

_MAX_CHOICES: Final = 12
_DECORATORS: Final = (
    ("program", "(reference=$1, dims={$2})"),
    ("fn", "(input=$1, output=$2)"),
    ("composition", "(reference=$1, weights=$2, dims={$3})"),
)
_NUMBERS: Final = frozenset({*SCALARS, "Scalar"})
_OFTEN: Final = ("f32", "Buffer", "Multihot", "STuple")  # come first
_TYPE_FIELDS: Final = {
    "Scalar": '("${1:float}")',
    "Buffer": "(${1:step.f32}, [$2])",
    "Multihot": "(${1:step.f32}, $2)",
    "Tile": "(${1:step.f32}, [$2])",
    "STuple": "(($1, $2))",
    "Symbol": '("$1")',
    "dyn": '("$1")',
    "ragged": '("$1")',
    "any_size": '("$1")',
}


class Known(Record):
    """Names in sight that may become parameters: functions without and with a state, and sizes."""

    plain: tuple[str, ...] = ()
    folding: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()


def decorators(snippets: bool, prefix: str = "") -> Iterator[CompletionProposal]:
    """Yield what makes programs and functions; ``prefix`` is written before the names."""
    for name, fields in _DECORATORS:
        insert = prefix + name + (fields if snippets else "")
        text = STEP_NAMES[name][1]
        yield CompletionProposal(prefix + name, Kind.TYPE, FITS, "decorator", text, insert, snippets, asks=True)


def operators(dialect: Dialect, snippets: bool, known: Known, rank: int = FREE) -> tuple[CompletionProposal, ...]:
    """Return all operators of a dialect."""
    return _operators(tuple(dialect.operators), snippets, known, rank)  # a dialect may get others


@lru_cache(maxsize=8)  # somebody types in one program after the other
def _operators(
    found: tuple[type[Operator], ...], snippets: bool, known: Known, rank: int
) -> tuple[CompletionProposal, ...]:  # fmt: skip
    return tuple(_operator(operator, snippets, known, rank) for operator in found)


@lru_cache(maxsize=8)
def types(
    snippets: bool, rank: int, prefix: str = "", module: str = "step", *, of_numbers: bool = False
) -> tuple[CompletionProposal, ...]:
    """Return all types, or those of single numbers; ``module`` is the name of stepcore in the file."""
    found = _types(snippets, rank, prefix, module)
    return tuple(item for item in found if not of_numbers or item.label.removeprefix(prefix) in _NUMBERS)


def _types(snippets: bool, rank: int, prefix: str, module: str) -> Iterator[CompletionProposal]:
    for name in (*_OFTEN, *sorted({*SCALARS, *TYPE_MAKERS} - {*_OFTEN})):
        if name in SCALARS:
            yield CompletionProposal(prefix + name, Kind.TYPE, rank, SCALARS[name])
            continue
        how, text = STEP_NAMES[name]
        insert = prefix + name + (_TYPE_FIELDS[name].replace("step.", f"{module}.") if snippets else "")
        yield CompletionProposal(
            prefix + name, Kind.TYPE, rank, how.replace("step.", f"{module}."), text, insert, snippets
        )


@lru_cache(maxsize=1)
def markers() -> tuple[CompletionProposal, ...]:
    """Return the names that stand for themselves."""
    return tuple(CompletionProposal(name, Kind.TYPE, REST, "", STEP_NAMES[name][1]) for name in sorted(MARKERS))


def functions(operator: type[Operator], prefix: str = "") -> Iterator[CompletionProposal]:
    """Yield the functions of stepcore that an operator may apply; ``prefix`` is written before their names."""
    if operator.counts:
        usage, text = STEP_NAMES["count"]
        yield CompletionProposal(f"{prefix}count", Kind.FUNCTION, FITS, usage, text)
    yield CompletionProposal(f"{prefix}fns", Kind.MODULE, REST, *STEP_NAMES["fns"])


@lru_cache(maxsize=2)
def ready_made(snippets: bool) -> tuple[CompletionProposal, ...]:
    """Return the ready-made functions."""
    from stepcore.fn.factories import FACTORIES  # few files name one

    return tuple(_ready_made(name, snippets) for name in FACTORIES)


def _ready_made(name: str, snippets: bool) -> CompletionProposal:
    from stepcore.ide import ready_made as made

    wanted = [key for key, _ in made.parameters(name) if "=" not in key]
    fields = ", ".join(f"${number}" for number, _ in enumerate(wanted, 1))
    insert = f"{name}({fields})" if snippets else name
    return CompletionProposal(
        name, Kind.FUNCTION, FREE, made.call_text(name), made.summary(name), insert, snippets, asks=True
    )


def _operator(operator: type[Operator], snippets: bool, known: Known, rank: int) -> CompletionProposal:
    name = operator.__name__
    if not snippets:
        return CompletionProposal(name, Kind.OPERATOR, rank, operator.rule, operator.summary, name)
    params = [operator.calling.by_name[key] for key in operator.calling.required]
    fields = [_field(param, number, _choices(param, known)) for number, param in enumerate(params, 1)]
    parameters = ", ".join(f"{param.name}={field}" for param, field in zip(params, fields, strict=True))
    # An editor opens a list of choices by itself; only what has none is worth a list of proposals.
    asks = not params or fields[0] == "$1"
    insert = f"{name}({parameters}).apply{operator.inputs.fields(len(fields) + 1, '$0')}"
    return CompletionProposal(name, Kind.OPERATOR, rank, operator.rule, operator.summary, insert, True, asks)


def _choices(param: Param, known: Known) -> Sequence[str]:
    if param.kind is ParamKind.FN:
        return known.folding if param.folds else known.plain
    if param.choices:
        return [value_text(choice) for choice in param.choices]
    return known.sizes if param.kind is ParamKind.SIZE else ()


def _field(param: Param, number: int, choices: Sequence[str]) -> str:
    """Return what stands behind ``name=``: something that may be right, or nothing, but never the parameter's name."""
    if param.kind is ParamKind.INTEGER and not choices:
        return f"${{{number}:1}}"
    if param.kind in (ParamKind.TILE, ParamKind.SIZES, ParamKind.OFFSETS):
        return f"[${number}]"
    if param.kind is ParamKind.INDICES:
        return f"[${{{number}:1}}]"
    if len(choices) == 1:
        return f"${{{number}:{choices[0]}}}"
    return f"${{{number}|{','.join(choices[:_MAX_CHOICES])}|}}" if choices else f"${number}"
