"""Under what terms a call of torch changes nothing and draws nothing, from the table of its schemas.

A term names a parameter and the one value with which a call is harmless (``inplace=False``, ``max_norm=None``,
``training=False``). The table is derived by ``scripts/torch_schemas``; the checker asks it about literals, the
simulator about values, so that a function that went through a variable is judged as well.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from stepcore.fn import torch_table

# A value that only a run knows.
UNKNOWN: Final = object()
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Term:
    """A parameter, its position (-1: by keyword only), the harmless value, and the default (None of our own: none)."""

    name: str
    position: int
    harmless: object
    default: object

    def holds(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Return whether a call gives the harmless value, or leaves the parameter to such a default."""
        if self.name in kwargs:
            value = kwargs[self.name]
        elif 0 <= self.position < len(args):
            value = args[self.position]
        else:
            value = self.default
        if value is _MISSING:
            return True  # a required argument is missing: torch says so
        if isinstance(self.harmless, float):
            return type(value) in (int, float) and value == self.harmless
        return value is self.harmless


# All clauses have to hold, of a clause one alternative, of an alternative all terms.
Clause = tuple[tuple[Term, ...], ...]


def _term(text: str) -> Term:
    name, _, rest = text.partition("@")
    position, _, values = rest.partition(":")
    harmless, _, default = values.partition("=")
    told = ast.literal_eval(default) if default else _MISSING
    return Term(name, int(position), ast.literal_eval(harmless), told)


def _clauses(text: str) -> tuple[Clause, ...]:
    return tuple(
        tuple(tuple(map(_term, alternative.split(","))) for alternative in clause.split("|")) for clause in text.split()
    )


@cache
def _writing(path: str) -> tuple[Clause, ...]:
    return _clauses(torch_table.WRITES_UNLESS.get(path, ""))


@cache
def _drawing(path: str) -> tuple[Clause, ...]:
    return _clauses(torch_table.DRAWS_UNLESS.get(path, ""))


def has_terms(path: str) -> bool:
    """Return whether calls of ``path`` (``torch.nn.functional.relu``) need a closer look."""
    return path in torch_table.WRITES_UNLESS or path in torch_table.DRAWS_UNLESS


def breach(
    path: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, random: bool = False
) -> tuple[str, str] | None:
    """Return code and message for a call that may write into its arguments or draw numbers, None for a harmless one.

    Args:
        path: the function, dotted.
        args: positional arguments; :data:`UNKNOWN` where only a run knows the value.
        kwargs: arguments by keyword, likewise.
        random: drawing is legal (``global`` blocks).
    """
    for clause in _writing(path):
        if not _kept(clause, args, kwargs):
            return "STEP310", f"{path} may change its arguments: write {_told(clause)}, literally, and use its result"
    for clause in () if random else _drawing(path):
        if not _kept(clause, args, kwargs):
            return "STEP304", f"{path} may draw random numbers: write {_told(clause)}, literally; functions are pure"
    return None


def _kept(clause: Clause, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return any(all(term.holds(args, kwargs) for term in alternative) for alternative in clause)


def _told(clause: Clause) -> str:
    return " or ".join(" and ".join(f"{term.name}={term.harmless}" for term in terms) for terms in clause)


def seen(node: ast.Call, read: Callable[[ast.expr], Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call as :func:`breach` takes them; ``read`` gives a literal or :data:`UNKNOWN`."""
    args: list[Any] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            args += [UNKNOWN] * _MOST_PARAMETERS  # whatever it holds may land anywhere behind
            break
        args.append(read(argument))
    return args, {keyword.arg: read(keyword.value) for keyword in node.keywords if keyword.arg is not None}


_MOST_PARAMETERS: Final = 32


def literal(node: ast.expr) -> Any:
    """Return the value of a literal, :data:`UNKNOWN` for any other expression."""
    return node.value if isinstance(node, ast.Constant) else UNKNOWN
