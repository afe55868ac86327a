"""How derived sizes call a stream that the program gives no name: by the nearest one before it that has a name."""

from __future__ import annotations

from typing import Any


def origin_name(program: Any, index: int) -> str:
    """Return the name of stream ``index`` of a graph, short and of what stands in the program.

    ``n`` for ``n`` itself and for what only has it in other dimensions (``Promote(b=0).apply(n)``), else the operator
    that made the stream with the name of its first input: ``Map(n)``, ``Partition(n)[1]``. What leads to that input is
    left out.
    """
    called = place = ""
    while True:
        stream = program.streams[index]
        if stream.name or stream.producer is None:
            return _joined(called, stream.name or f"s{index}", place)
        node = program.nodes[stream.producer]
        if not called and not _hands_on(node):
            called, place = node.op_name, f"[{stream.slot}]" if len(node.outputs) > 1 else ""
        if not node.inputs:
            return _joined(called or node.op_name, "", place)
        index = node.inputs[0]


def _joined(called: str, name: str, place: str) -> str:
    return f"{called}({name}){place}" if called else name


def _hands_on(node: Any) -> bool:
    """Return whether the result has the elements of the first input, in other dimensions at most."""
    op = node.op
    return op is not None and (op.passes or (op.pace is not None and op.pace.regroups and len(node.outputs) == 1))
