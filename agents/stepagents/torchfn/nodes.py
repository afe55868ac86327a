"""Nodes of a traced graph: what they draw, name and give, and which are left out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stepagents.torchfn.capture import Capture, line_in
from stepagents.torchfn.subject import dtype_text
from stepagents.traced.graph import DIMS, LINES, TracedOutput, free_name


def random_node(found: Capture) -> Any:
    """Return the first node that draws random numbers, None where there is none."""
    tag = torch.Tag.nondeterministic_seeded
    for node in found.graph.graph.nodes:
        if node.op == "call_function" and tag in getattr(node.target, "tags", ()):
            return node
    return None


def tensors_of(value: Any) -> list[Tensor]:
    """Return the tensors of what a function gives: one, or those of a tuple or list."""
    if isinstance(value, Tensor):
        return [value]
    return [item for item in value if isinstance(item, Tensor)] if isinstance(value, (tuple, list)) else []


def drop_unused(graph: torch.fx.Graph) -> None:
    """Take out what nothing reads, but for arguments that the user named."""
    graph.eliminate_dead_code()
    for node in [node for node in graph.nodes if node.op == "placeholder" and not node.users]:
        if not node.meta.get("step_user"):
            graph.erase_node(node)


def placeholder_name(origin: str, taken: set[str]) -> str:
    """Return a name for what a trace takes from ``origin``."""
    base = "".join(sign if sign.isalnum() or sign == "_" else "_" for sign in origin).lstrip("_") or "value"
    base = base if base.isidentifier() else f"x{base}"
    return free_name(base, taken)


def default_gen(origin: str, dtype: str) -> str:
    """Variances are positive; everything else may be any number."""
    return "torch.rand" if dtype.startswith("fp") and origin.endswith("var") else "torch.randn"


def output_of(node: Any) -> TracedOutput:
    """Return what is known of a result."""
    return TracedOutput(node.name, node.meta[DIMS], dtype_text(node.meta["val"].dtype))


def set_lines(graph: torch.fx.Graph, path: str, default: int) -> None:
    """Note at each node of which line of the file it is."""
    for node in graph.nodes:
        line = line_in(node)
        node.meta[LINES] = (path, line if line is not None else default) if node.op == "call_function" else None
