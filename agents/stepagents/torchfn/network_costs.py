"""What a network costs: the sums over its layers, each as often as it is applied. No torch here."""

from __future__ import annotations

from typing import Any

from stepagents.torchfn.network import LoweredNetwork


def network_costs(network: LoweredNetwork, text: str) -> dict[str, Any]:
    """Return the keys of a program of the job ``function``, and ``layers`` and ``distinct_layers``.

    Traffic is the sum of the layers' traffic, tensors between layers included; what the chip holds is the most that one
    layer needs, because they run one after the other. ``sizes`` are those at which the layers' bytes are counted.
    """
    metrics = [program.candidate.metrics for program in network.programs]
    each = [metrics[number] for number in network.numbers]
    off_chip = _sum([item.off_chip.value for item in each])
    compulsory = _sum([item.compulsory.value for item in each])
    on_chip = [item.on_chip.value for item in metrics]
    degrees = [item.streaming_degree for item in metrics]
    return {
        "text": text,
        "impl": "",
        "layout": f"{len(network.layers)} layers, {len(network.programs)} of them different",
        "proposer": "lower",
        "operators": sum(network.programs[number].candidate.operators for number in network.numbers),
        "layers": len(network.layers),
        "distinct_layers": len(network.programs),
        "streaming_degree": None if None in degrees else min((d for d in degrees if d is not None), default=None),
        "compulsory_bytes": compulsory,
        "traffic_ratio": None if not compulsory or off_chip is None else off_chip / compulsory,
        "on_chip_bytes": None if None in on_chip else max((each for each in on_chip if each is not None), default=None),
        "off_chip_bytes": off_chip,
        "sizes": {name: size for program in network.programs for name, size in program.candidate.emitted.spec.defaults},
    }


def _sum(values: list[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)


__all__ = ["network_costs"]
