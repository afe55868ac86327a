"""Which experts a row goes to, and how much each counts, as element functions over the scores of one row. No torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepagents.schedules.indices import Atom, IndexedValue
from stepagents.schedules.parts import WHOLE, Blocks, NoSchedule, TilePart, shape_of
from stepagents.schedules.routed.mixture import ExpertTerm, Mixture, Share
from stepagents.schedules.tile_ops import TileBody, at_products
from stepagents.traced.graph import opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

_ROW: Final = "r"
_CALLED: Final = re.compile(r"[\w.]+(\([^()]*\))?")  # what a method is called on without brackets
_PLACE: Final = "place"
_EXPERT: Final = "expert"


class RowFunction(Record):
    """A function of what each row has: ``inputs`` are the parts that it reads, in this order."""

    body: str
    inputs: tuple[TilePart, ...]
    flops: int


class Router(Record):
    """``chosen`` gives a flag for each expert, ``shares`` what those chosen count, in the order of their numbers."""

    chosen: RowFunction
    shares: RowFunction

    @property
    def product(self) -> Node | None:
        """The product that scores rows, if there is one."""
        return next((part.node for part in (*self.chosen.inputs, *self.shares.inputs) if part.bare), None)


def router_of(mixture: Mixture, bound: Mapping[str, int]) -> Router:
    """Return the functions of a mixture's router.

    Raises:
        NoSchedule: an operation has no form over the scores of one row, or rows are scored by several products.
    """
    experts = mixture.experts.bind(bound)
    writing = _Writing(mixture, bound)
    flags = f"torch.zeros(1, {experts}).scatter(1, {writing.index}, 1.0).reshape({experts}) > 0"
    chosen = writing.function(flags)
    writing = _Writing(mixture, bound)
    forms = {_in_place(term) for term in mixture.terms}
    if len(forms) != 1:
        raise NoSchedule("its experts do not count in the same way", mixture.node)
    share = writing.product(forms.pop())
    found = Router(chosen, writing.function(f"torch.gather({share}, 1, torch.argsort({writing.index}, 1))"))
    if len({part.node for part in (*chosen.inputs, *found.shares.inputs) if part.bare}) > 1:
        raise NoSchedule("several products score its rows", mixture.choice.node)
    return found


def _in_place(term: ExpertTerm) -> tuple[Share, ...]:
    """Return the shares of a term, with one name for the place and one for the expert."""

    def index(atom: Atom) -> Atom:
        if atom in term.place:
            return Atom(_PLACE, atom.size)
        return Atom(_EXPERT, atom.size) if term.expert is not None and atom.name == term.expert.name else atom

    def value(given: IndexedValue | float) -> IndexedValue | float:
        if not isinstance(given, IndexedValue):
            return given
        return IndexedValue(given.node, tuple(tuple(map(index, atoms)) for atoms in given.at))

    return tuple(replace(share, value=value(share.value)) for share in term.shares)


class _Writing:
    """One function in the making; ``index`` stands for the numbers of the chosen experts."""

    def __init__(self, mixture: Mixture, bound: Mapping[str, int]) -> None:
        self._mixture = mixture
        choice = mixture.choice
        self._body = TileBody(Blocks({_ROW: Dim.of(1)}, bound), at_products)
        rows = shape_of(choice.scores)[:-1]  # what is one is no row, as among indices
        scores = TilePart(choice.scores, (*(WHOLE if size == 1 else _ROW for size in rows), WHOLE))
        if opname(choice.node) == "topk":
            found = self._body.of(TilePart(choice.node, scores.labels))
            self.index = f"{found}[1]"
        else:
            self.index = self._body.keep(f"torch.argmax({self._body.of(scores)}, 1, keepdim=True)", "index")

    def product(self, shares: tuple[Share, ...]) -> str:
        """Return the name of what an expert counts, for each place."""
        text = ""
        for share in shares:
            factor = self._factor(share.value)
            if share.is_softmax:
                factor = f"torch.softmax({factor}, 1)"
            text = f"{text or '1'} / {factor}" if share.inverse else f"{text} * {factor}".removeprefix(" * ")
        count = self._mixture.choice.count
        text = text or "torch.ones(1, 1)"
        whole = f"{text if _CALLED.fullmatch(text) else f'({text})'}.expand(1, {count})"
        return self._body.keep(whole, "share")

    def _factor(self, value: IndexedValue | float) -> str:
        if not isinstance(value, IndexedValue):
            return repr(value)
        known = {*self._mixture.rows, *(Atom(name, atom.size) for atom in value.atoms for name in (_PLACE, _EXPERT))}
        if not set(value.atoms) <= known:
            raise NoSchedule("what an expert counts depends on more than its row", value.node)
        is_row = [bool(index) and set(index) <= set(self._mixture.rows) for index in value.at]
        text = self._body.of(TilePart(value.node, tuple(_ROW if each else WHOLE for each in is_row)))
        if len(value.at) == 1 and is_row[0]:
            return text
        if any(atom.name == _EXPERT for atom in value.atoms):
            last = value.at[-1]
            if len(last) != 1 or last[0].name != _EXPERT:
                raise NoSchedule("what an expert counts lies along another dimension than the last", value.node)
            return f"torch.gather({text}, 1, {self.index})"
        return text

    def function(self, result: str) -> RowFunction:
        """Return the function that gives ``result``."""
        body = self._body
        return RowFunction("\n".join([*body.lines, f"return [{result}]"]), tuple(body.inputs), body.flops)
