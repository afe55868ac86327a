"""``sizes=`` of a program in a Python file: what a run draws for dynamic and ragged sizes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.literals import NoLiteral, literal_of
from stepcore.graph.ir import Port
from stepcore.open_types.drawn import DrawnSize, draw_faults, drawn_size, named_sizes
from stepcore.sizes.dim import OPEN, is_size
from stepcore.text.wording import clipped

_WRITE: Final = 'write sizes={"?L": (0, 64), "~L": [3, 1, 2]}: bounds, or all values'


def drawn_sizes(
    el: Elaborator, node: ast.expr | None, inputs: Sequence[Port], *, complete: bool
) -> tuple[DrawnSize, ...]:
    """Return what ``sizes=`` says of the sizes of ``inputs``; what cannot be drawn is reported, and what is missing.

    ``complete`` says that the types of all inputs are known.
    """
    if node is not None and not isinstance(node, ast.Dict):
        text = f"sizes says by their names how large sizes are, and {el.text(node)} is no dictionary"
        el.report("STEP204", node, text, _WRITE)
        return ()
    if node is not None and _are_static(node):
        given = ", ".join(ast.unparse(key) for key in node.keys if key is not None)
        text = f"sizes says what a run draws for sizes that only the data know, and {given} stand for one number each"
        el.report("STEP907", node, text, f"write dims={clipped(el.text(node), 40)}")
        return ()
    drawn: dict[str, DrawnSize] = {}
    places: dict[str, ast.expr] = {}
    for key, value in zip(node.keys, node.values, strict=True) if node is not None else ():
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
        places.setdefault(name, key or value)
        try:
            if name in drawn:
                raise ValueError(f"{name} is given twice")
            marked = _marked(name, inputs)
            if marked:
                places.setdefault(marked, key or value)
                raise ValueError(f'the key of {marked} is written with its mark, "{marked}", not {name!r}')
            drawn[name] = _drawn(name, value)
        except ValueError as error:
            el.report("STEP907", key or value, str(error), _WRITE)
    spans = {port.name: port.span for port in inputs}
    for fault in draw_faults(((port.name, port.type) for port in inputs), tuple(drawn.values())):
        if fault.port == "" and complete:
            el.report(fault.code, places[fault.name], fault.message)
        elif fault.port and (fault.name in drawn or fault.name not in places):  # else it was reported already
            way_out = f'write sizes={{"{fault.name}": (0, 64)}}' if fault.is_missing else ""
            el.report(fault.code, spans[fault.port], fault.message, way_out)
    return tuple(drawn.values())


def _are_static(node: ast.Dict) -> bool:
    """Whether ``sizes`` was written for ``dims``: all keys are names or texts without a mark, all values integers."""
    values = [value.value if isinstance(value, ast.Constant) else None for value in node.values]
    keys = [key.id if isinstance(key, ast.Name) else getattr(key, "value", None) for key in node.keys]
    named = all(isinstance(key, str) and key[:1] not in OPEN for key in keys)
    return bool(keys) and named and all(is_size(value) for value in values)


def _marked(name: str, inputs: Sequence[Port]) -> str:
    """Return the size of an input that is called ``name`` without its mark; empty where there is none."""
    if name[:1] in OPEN:
        return ""
    known = named_sizes((port.name, port.type) for port in inputs)
    return next((each for each in reversed(known) if each[1:] == name), "")


def _drawn(name: str, node: ast.expr) -> DrawnSize:
    """Return what is drawn for ``name``: a tuple holds bounds, a list values."""
    try:
        value = literal_of(node)
    except NoLiteral:
        value = None
    match value:
        case (_, _) if isinstance(value, tuple):
            return drawn_size(name, value, None)
        case list():
            return drawn_size(name, None, value)
    shown = clipped(ast.unparse(node), 40)
    raise ValueError(f"a size lies between bounds, (0, 64), or has values, [3, 1, 2]; {shown} is neither")


__all__ = ["drawn_sizes"]
