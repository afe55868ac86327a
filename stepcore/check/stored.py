"""Memory that a program stores and a function reads: the function has all of it before anything is stored, or after it.

Functions read a parameter as a whole, at any time (decision 161): nothing could order such a read and a store.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepcore.findings.diagnostics import Diagnostic, Related
from stepcore.fn.decl import FnDecl
from stepcore.fn.outside import names_read
from stepcore.graph.ir import Graph, Node
from stepcore.ops.memory import OffChipTensor
from stepcore.ops.pace import OffChipUse


def stored_diagnostics(graph: Graph, program: str) -> Iterator[Diagnostic]:
    """Yield STEP232 for each function that reads a parameter which the same program stores."""
    stores: dict[str, Node] = {}
    for node in graph.nodes:
        if node.op is not None and node.op.off_chip is OffChipUse.STORES:
            held = (value for value in node.op.param_values().values() if isinstance(value, OffChipTensor))
            stores.update({memory.name: node for memory in held if memory.name not in stores})
    for node in graph.nodes:
        fns = () if node.op is None else (each for each in node.op.param_values().values() if isinstance(each, FnDecl))
        for fn in fns:
            for name in names_read(fn.body, stores):
                span = node.param_spans.get("fn", node.op_span)
                text = (
                    f"{fn.func_name} reads {name}, which {stores[name].written} stores in the same run, and nothing "
                    "orders the two; let it read another parameter"
                )
                related = (Related(stores[name].op_span, f"{name} is stored here"),)
                yield Diagnostic("STEP232", span, text, related=related, program=program)
