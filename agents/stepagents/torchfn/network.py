"""A network as programs of its layers: equal layers are planned, checked and verified once. Loads torch.

Time grows with the number of different layers. One that has no program as a whole is tried operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from stepagents.lower.normalise import Unlowered
from stepagents.lower.search import Lowering, LoweringOptions, VerifiedProgram, lower
from stepagents.torchfn.checks import make_checks
from stepagents.torchfn.informed import informed
from stepagents.torchfn.layer import layer_function, layer_key, layer_name
from stepagents.torchfn.partition import Layer, layers_of
from stepagents.torchfn.refusals import Refused
from stepagents.traced.graph import TracedFunction, free_name
from stepcore.jobdata.writing import Solution
from stepcore.records import Record

if TYPE_CHECKING:
    from torch.fx import Node

_LARGEST: Final = 1 << 30  # elements of one stream: a product of a whole network runs as one contraction
_ROUNDS: Final = 3  # of taking layers apart
Tell = Callable[[int, int], None]
Known: TypeAlias = "dict[str, LayerProgram | Failed]"  # what came of layers, by their keys


class LayerProgram(Record):
    """A verified program for all layers that are equal: as a function of its inputs, and the program."""

    name: str
    function: TracedFunction
    candidate: VerifiedProgram


@dataclass(slots=True)
class LoweredNetwork:
    """The layers of a function in order with the number of the program of each, or what stands in the way.

    ``defects`` are faults of Stepsmith for which layers were taken apart.
    """

    layers: list[Layer] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    programs: list[LayerProgram] = field(default_factory=list)
    unsupported: list[Unlowered] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    tried: int = 0
    defects: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether every layer has a program."""
        return bool(self.layers) and not self.unsupported and not self.rejected


def lower_network(
    traced: TracedFunction, tell: Tell = lambda _done, _all: None, known: Known | None = None
) -> LoweredNetwork:
    """Return programs for all layers of ``traced``; ``tell`` hears of each different layer before it is lowered.

    Programs are verified on data of the seed of ``traced``. What ``tell`` raises ends it. ``known`` are layers that
    were lowered before; those of ``traced`` join them.
    """
    known = {} if known is None else known
    defects: list[str] = []
    alone: set[Node] = set()
    for attempt in range(_ROUNDS):
        layers = layers_of(traced, alone)
        keys = [layer_key(layer, traced) for layer in layers]
        first = dict(zip(reversed(keys), reversed(layers), strict=True))
        wanted = [key for key in dict.fromkeys(keys) if key not in known]
        for number, key in enumerate(wanted):
            tell(number, len(wanted))
            known[key] = _lowered(first[key], traced)
        failures = {key: one for key in dict.fromkeys(keys) if isinstance(one := known[key], Failed)}
        failed = list(failures)
        defects += [one.defect for one in failures.values() if one.defect and one.defect not in defects]
        divisible = {node for key, layer in zip(keys, layers, strict=True) if key in failed for node in layer.nodes}
        if not failed or divisible <= alone or attempt == _ROUNDS - 1:
            return replace(_network(layers, keys, known), defects=defects)
        alone |= divisible
    raise AssertionError("the last round returns")


class Failed(Record):
    """A layer without a program: what stands in the way, or why programs were rejected, and how many were tried.

    ``defect`` is the one of ``rejected`` that is a fault of Stepsmith.
    """

    unsupported: Sequence[Unlowered]
    rejected: Sequence[str]
    tried: int
    defect: str = ""


def _lowered(layer: Layer, traced: TracedFunction) -> LayerProgram | Failed:
    name = layer_name(layer)
    function = layer_function(layer, traced, name)
    try:
        checks = make_checks(function, traced.seed)
        function = informed(function, checks)
        found = lower(function, checks.data, LoweringOptions(wanted=1, candidates=4, positions=_LARGEST))
    except Refused as error:
        return Failed((), [f"line {function.line}: {name}: {error}"], 0)
    except (ArithmeticError, AssertionError, LookupError, MemoryError, RuntimeError, ValueError) as error:
        return _failed(f"line {function.line}: {name}", error)
    if not found.candidates:
        return Failed(found.unsupported, _reasons(found, name, function.line), found.tried)
    verified = tuple(dict(each.sizes) for each in found.data)
    return LayerProgram(name, replace(function, verified=verified), found.candidates[0])


def _failed(where: str, error: Exception) -> Failed:
    if isinstance(error, MemoryError) or "allocate memory" in str(error):
        return Failed((), [f"{where}: to verify it takes more memory than a job may use; give smaller sizes"], 0)
    defect = f"{where}: the lowering failed, a defect of Stepsmith: {type(error).__name__}: {error}"
    return Failed((), [defect], 0, defect)


def _reasons(found: Lowering, name: str, line: int) -> list[str]:
    if found.unsupported:
        return []
    return [f"line {line}: {name}: {reason}" for reason in found.rejected] or [f"line {line}: {name}: no program"]


def _network(layers: list[Layer], keys: list[str], known: Known) -> LoweredNetwork:
    found = LoweredNetwork()
    numbers: dict[str, int] = {}
    for layer, key in zip(layers, keys, strict=True):
        one = known[key]
        if isinstance(one, Failed):
            found.unsupported += [item for item in one.unsupported if item not in found.unsupported]
            found.rejected += [reason for reason in one.rejected if reason not in found.rejected]
            found.tried += one.tried
            continue
        if key not in numbers:
            numbers[key] = len(found.programs)
            name = free_name(one.name, {program.name for program in found.programs})
            found.programs.append(replace(one, name=name))
            found.tried += 1
        found.layers.append(layer)
        found.numbers.append(numbers[key])
    return found


def network_costs(network: LoweredNetwork, text: str) -> Solution:
    """Return the network with the file ``text`` as a program of the job ``function``.

    Traffic is the sum of the layers' traffic, tensors between layers included; what the chip holds is the most that one
    layer needs, because they run one after the other. ``sizes`` are those at which the layers' bytes are counted.
    """
    metrics = [program.candidate.metrics for program in network.programs]
    each = [metrics[number] for number in network.numbers]
    off_chip = _sum([item.off_chip.value for item in each])
    compulsory = _sum([item.compulsory.value for item in each])
    on_chip = [item.on_chip.value for item in metrics]
    degrees = [item.streaming_degree for item in metrics]
    return Solution(
        impl="",
        operators=sum(network.programs[number].candidate.operators for number in network.numbers),
        on_chip_bytes=None if None in on_chip else max((each for each in on_chip if each is not None), default=None),
        off_chip_bytes=off_chip,
        streaming_degree=None if None in degrees else min((d for d in degrees if d is not None), default=None),
        compulsory_bytes=compulsory,
        traffic_ratio=None if not compulsory or off_chip is None else off_chip / compulsory,
        sizes={name: size for program in network.programs for name, size in program.candidate.emitted.spec.defaults},
        text=text,
        layout=f"{len(network.layers)} layers, {len(network.programs)} of them different",
        proposer="lower",
        layers=len(network.layers),
        distinct_layers=len(network.programs),
    )


def _sum(values: list[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)
