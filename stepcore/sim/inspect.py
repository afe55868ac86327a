"""Where NaN and infinity come from."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stepcore.findings.verdict import NanOrigin
from stepcore.graph.typed import TypedGraph
from stepcore.sim.ragged import StreamData


def nan_origin(graph: TypedGraph, streams: Sequence[StreamData | None]) -> NanOrigin | None:
    """Return the first operator whose output holds NaN or infinity though no input of it does.

    ``streams`` is the data of every stream of a run; None where there is no such operator.
    """
    unusual: dict[int, str] = {}
    with torch.inference_mode():
        for index in graph.inputs:
            unusual[index] = _kind(streams[index])
        for node in graph.nodes:
            for index in node.outputs:
                kind = unusual[index] = _kind(streams[index])
                if kind and not any(unusual[i] for i in node.inputs):
                    return NanOrigin(node.index, index, kind, node.written, graph.streams[index].name)
    return None


def _kind(data: StreamData | None) -> str:
    """Return ``NaN`` or ``Inf`` where the values hold one (NaN before infinity), else nothing."""
    tensors = [] if data is None else [t for t in data.components if t.is_floating_point()]
    if all(bool(torch.isfinite(tensor).all()) for tensor in tensors):
        return ""
    return "NaN" if any(bool(torch.isnan(tensor).any()) for tensor in tensors) else "Inf"
