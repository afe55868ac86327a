"""What may stand behind ``step.``: decorators, operators and types, with what is to be filled in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stepcore.frontend.calls import MARKERS, SCALARS, TYPE_MAKERS
from stepcore.ide.docs import STEP_NAMES
from stepcore.ide.model import Kind
from stepcore.ide.proposals import FITS, FREE, REST, CompletionProposal
from stepcore.ops import OPERATORS
from stepcore.ops.base import Operator, Param, ParamKind

_MAX_CHOICES: Final = 12
_DECORATORS: Final = (
    ("program", "(reference=$1, dims={$2})"),
    ("fn", "(input=$1, output=$2)"),
    ("composition", "(reference=$1, weights=$2, dims={$3})"),
)
_OFTEN: Final = ("f32", "Buffer", "Multihot", "STuple")  # come first
_TYPE_FIELDS: Final = {
    "Scalar": '("${1:float}")',
    "Buffer": "(${1:step.f32}, [$2])",
    "Multihot": "(${1:step.f32}, $2)",
    "Tile": '("${1:float}", [$2])',
    "STuple": "(($1, $2))",
    "Symbol": '("$1")',
}


@dataclass(frozen=True, slots=True)
class Known:
    """Names in sight that may become parameters: functions without and with a state, and sizes."""

    plain: Sequence[str] = ()
    folding: Sequence[str] = ()
    sizes: Sequence[str] = ()


def decorators(snippets: bool, prefix: str = "") -> Iterator[CompletionProposal]:
    """Yield what makes programs and functions; ``prefix`` is written before the names."""
    for name, fields in _DECORATORS:
        insert = prefix + name + (fields if snippets else "")
        text = STEP_NAMES[name][1]
        yield CompletionProposal(prefix + name, Kind.TYPE, FITS, "decorator", text, insert, snippets, asks=True)


def operators(snippets: bool, known: Known, rank: int = FREE) -> Iterator[CompletionProposal]:
    """Yield all operators."""
    return (_operator(operator, snippets, known, rank) for operator in OPERATORS)


def types(snippets: bool, rank: int, prefix: str = "", module: str = "step") -> Iterator[CompletionProposal]:
    """Yield all types; ``module`` is the name of stepcore in the file."""
    for name in (*_OFTEN, *sorted({*SCALARS, *TYPE_MAKERS} - {*_OFTEN})):
        if name in SCALARS:
            yield CompletionProposal(prefix + name, Kind.TYPE, rank, SCALARS[name])
            continue
        how, text = STEP_NAMES[name]
        insert = prefix + name + (_TYPE_FIELDS[name].replace("step.", f"{module}.") if snippets else "")
        yield CompletionProposal(
            prefix + name, Kind.TYPE, rank, how.replace("step.", f"{module}."), text, insert, snippets
        )


def markers(rank: int = REST) -> Iterator[CompletionProposal]:
    """Yield the names that stand for themselves."""
    return (CompletionProposal(name, Kind.TYPE, rank, "", STEP_NAMES[name][1]) for name in sorted(MARKERS))


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
    return known.sizes if param.kind is ParamKind.SIZE else ()


def _field(param: Param, number: int, choices: Sequence[str]) -> str:
    """Return what stands behind ``name=``: something that may be right, or nothing, but never the parameter's name."""
    if param.kind is ParamKind.INTEGER:
        return f"${{{number}:1}}"
    if param.kind is ParamKind.INDICES:
        return f"[${{{number}:1}}]"
    if len(choices) == 1:
        return f"${{{number}:{choices[0]}}}"
    return f"${{{number}|{','.join(choices[:_MAX_CHOICES])}|}}" if choices else f"${number}"


__all__ = ["Known", "decorators", "markers", "operators", "types"]
