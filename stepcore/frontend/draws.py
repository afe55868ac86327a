"""How test data are drawn: ``data_gen``, ``min`` and ``max`` of tasks, ``data=`` of programs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from stepcore.findings.near import nearest
from stepcore.frontend.literals import NoLiteral, literal_of
from stepcore.text.wording import clipped
from stepcore.types import Buffer, Element, Multihot, Single, StreamType, components, dtype_of

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

DATA_GENERATORS: Final = ("torch.rand", "torch.randn", "torch.ones", "binary")
Bounds: TypeAlias = tuple[int | None, int | None]
Drawn: TypeAlias = str | Bounds
_WRITE: Final = 'write data={"x": "torch.randn", "n": (1, 8)}: what draws the numbers, or bounds of whole ones'


def generator_fault(value: str) -> str:
    """Return why ``value`` draws nothing, behind the name of what it is given to; an empty text where it does."""
    if value in DATA_GENERATORS:
        return ""
    meant = _meant(value)
    advice = f"; did you mean {meant}?" if meant else ""
    return f"one of {', '.join(DATA_GENERATORS)}, not {clipped(repr(value), 60)}{advice}"


def _meant(value: str) -> str:
    """Return the generator that a text looks like; an empty text where there is none."""
    short = {name.removeprefix("torch."): name for name in DATA_GENERATORS}
    near = nearest(value.partition("(")[0].rpartition(".")[2], short, 1, 0.75, closed=True)
    return short[near[0]] if near else ""


def bounds_fault(stream: StreamType | None, bounds: Bounds) -> tuple[Literal["min", "max"], str] | None:
    """Return which of the bounds cannot be, and why; ``stream`` is None where its type is not known.

    They bound the ones of a selector, and whole numbers that are drawn.
    """
    minimum, maximum = bounds
    if minimum is None and maximum is None:
        return None
    parts = [] if stream is None else components(stream.element)
    if parts and all(map(_is_whole, parts)):
        if maximum is not None and maximum < (minimum or 0):
            return "max", "max cannot be less than min (0 where there is none)"
    elif parts and not any(map(_is_selector, parts)):
        text = "min and max bound how many ones a selector has, or whole numbers; this is no Multihot and no integer"
        return "max" if minimum is None else "min", text
    elif minimum is not None and minimum < 0:
        return "min", "min cannot be negative"
    elif maximum is not None and maximum < (minimum or 0):
        return "max", "max cannot be less than min or zero"
    return None


def drawn_data(el: Elaboration, node: ast.expr | None, ports: Mapping[str, StreamType | None]) -> dict[str, Drawn]:
    """Return what ``data=`` of a program says of its inputs and parameters; what cannot be drawn is reported.

    ``ports`` are their types by their names, None where one is not known.
    """
    if node is None:
        return {}
    if not isinstance(node, ast.Dict):
        text = f"data says by their names how inputs are drawn, and {el.text(node)} is no dictionary"
        el.report("STEP204", node, text, _WRITE)
        return {}
    found: dict[str, Drawn] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = key.value if isinstance(key, ast.Constant) else None
        if not isinstance(name, str) or name not in ports:
            _no_port(el, key or value, name, ports)
        elif (drawn := _drawn(el, name, value, ports[name])) is not None:
            found[name] = drawn
    return found


def _no_port(el: Elaboration, where: ast.expr, name: object, ports: Mapping[str, StreamType | None]) -> None:
    if not isinstance(name, str):
        el.report("STEP907", where, f"{el.text(where)} is the name of no input", _WRITE)
        return
    near = nearest(name, ports)
    way_out = f"did you mean {near[0]}?" if near else f"there are {', '.join(ports)}"
    fix = el.replacing(where, f'"{near[0]}"') if near else None
    el.report("STEP905", where, f"no input or parameter is named {clipped(repr(name), 40)}", way_out, fix=fix)


def _drawn(el: Elaboration, name: str, node: ast.expr, stream: StreamType | None) -> Drawn | None:
    try:
        value = literal_of(node)
    except NoLiteral:
        el.report("STEP204", node, "literals are expected here", "write the values out")
        return None
    match value:
        case str():
            if fault := generator_fault(value):
                meant = _meant(value)
                fix = el.replacing(node, f'"{meant}"', f"Change to {meant}") if meant else None
                el.report("STEP907", node, f"what draws {name} is {fault}", fix=fix)
                return None
            return value
        case (least, most) if isinstance(value, tuple) and _is_bound(least) and _is_bound(most):
            if refused := bounds_fault(stream, value):
                assert isinstance(node, ast.Tuple), "a literal tuple is written as one"
                which, text = refused
                el.report("STEP907", node.elts[which == "max"], text)
                return None
            return least, most
    el.report("STEP907", node, f"{el.text(node)} draws nothing for {name}", _WRITE)
    return None


def _is_bound(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63)


def _is_whole(element: Single) -> bool:
    return not _is_selector(element) and dtype_of(element).startswith("int")


def _is_selector(element: Element) -> bool:
    return isinstance(element, Multihot) or (isinstance(element, Buffer) and isinstance(element.element, Multihot))
