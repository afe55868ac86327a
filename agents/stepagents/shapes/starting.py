"""The first guess of all arguments: what texts and calls tell, and for the rest what their names and uses suggest."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from stepagents.shapes.natural import RANKS
from stepagents.shapes.state import State
from stepagents.shapes.told import ANY, UNNAMED, Told
from stepagents.shapes.usage import Usage, first_value, is_number, only_scales
from stepagents.torchfn.dims import Described
from stepagents.torchfn.target import Argument, Target
from stepcore.dim import Dim
from stepcore.dim_text import dim_of

_VECTORS: Final = re.compile(
    r"^(?:b|b\d|b_\w+|bias\w*|\w*_bias|beta|gamma|gain|shift|mean|var|std|mu|running_\w+|idx|index|indices|ids|v|vec|vector|lengths?"
    r"|labels?|y_true|positions?|classes|freqs|timesteps?|ts?|g|ln_\w+|norm_\w+|\w*_scale)$"
)
_SCALES: Final = re.compile(r"^(?:w|weight|g|gain|gamma|scale|alpha|s|beta|\w*_weight|\w*_scale|\w*gamma|\w*beta)$")
_BATCHES: Final = re.compile(r"^(?:images?|imgs?|frames|pixels|feature_maps?|fmap|feat_map)$")
_WHOLE: Final = re.compile(
    r"^(?:idx|index|indices|ids|tokens|labels?|\w*_idx|\w*_indices|\w*_index|\w*_ids|positions)$"
)
_TOKENS: Final = re.compile(r"^(?:input_ids|token_ids|tokens)$")
_LOSSES: Final = frozenset({"cross_entropy", "nll_loss"})
_OWN_SHAPE: Final = re.compile(
    r"^(?:w(?:[qkvoighfcu]|qkv|kv|qk|in|out|ih|hh|xh|up|down)?\d*|w_\w+|fc\w*|\w*_proj|lora_\w+|filters?|\w*weights?\w*|\w*bias\w*|b\d*|b_\w+|proj\w*|\w*kernel\w*|gamma|beta|gain|\w*scale\w*|shift"
    r"|pos\w*|\w*table|emb\w*|mean|var|std|mu|sigma|\w*mask\w*|cos|sin|\w*gate|centroids|freqs|lengths?|alpha|running_\w+|\w*idx"
    r"|ind\w+|ids)$", re.I
)  # fmt: skip


def peers_of(start: Start) -> frozenset[str]:
    """Return arguments that only names speak of, and that are no weights: they mostly have the shape of others."""
    return frozenset(
        name
        for name, shape in start.state.dims.items()
        if name in start.guessed and not _OWN_SHAPE.match(name) and shape
    )


@dataclass(slots=True)
class Start:
    """The first state, what is told of each argument, and which of those are only read from names and uses."""

    state: State
    told: dict[str, Told] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)


def first_state(
    target: Target, known: Mapping[str, Described], told: Mapping[str, Told], uses: Mapping[str, Usage]
) -> Start:
    """Return the first guess.

    Args:
        target: the function.
        known: arguments that are described already, and stay so.
        told: what documents and calls say of others.
        uses: see :func:`stepagents.shapes.usage.usages`.
    """
    dims: dict[str, tuple[Dim, ...]] = {}
    dtypes: dict[str, str] = {}
    values: dict[str, object] = {}
    start = Start(State(dims, dtypes, values))
    for argument in target.arguments:
        item, said = known.get(argument.name), told.get(argument.name)
        if item is not None:
            if item.dims is not None:
                dims[argument.name] = item.dims
                dtypes[argument.name] = item.dtype
            continue
        if _is_plain(argument, said, uses[argument.name]):
            if said is not None and said.is_plain and said.value is not None:
                values[argument.name] = said.value
                start.told[argument.name] = said
            else:
                values[argument.name] = first_value(argument, uses[argument.name])
                start.guessed.add(argument.name)
            continue
        rank = _usual_rank(argument, uses[argument.name])
        if said is not None and not said.is_plain:
            start.told[argument.name] = said
            rank = said.told_rank if said.told_rank is not None else rank
        if (said is None or said.told_rank is None) and uses[argument.name].rank is None:
            start.guessed.add(argument.name)
        dims[argument.name] = _dims(argument.name, said, rank)
        dtypes[argument.name] = _told_dtype(said) or _usual_dtype(argument, uses[argument.name])
    return start


def _is_plain(argument: Argument, said: Told | None, usage: Usage) -> bool:
    annotation = argument.annotation
    if isinstance(annotation, ast.Name) and annotation.id in {"int", "float", "bool", "str"}:
        return True
    if said is not None and (said.is_plain or said.sizes is not None):
        return said.is_plain
    return is_number(argument, usage)


def _dims(name: str, said: Told | None, rank: int) -> tuple[Dim, ...]:
    sizes = None if said is None else said.sizes
    if sizes is None:
        return tuple(Dim.symbol(f"{name}'{index}") for index in range(rank))
    if ANY in sizes:
        fixed = [size for size in sizes if size != ANY]
        missing = max(rank - len(fixed), 1)
        place = sizes.index(ANY)
        sizes = (*sizes[:place], *(UNNAMED for _ in range(missing)), *(size for size in sizes[place:] if size != ANY))
    return tuple(
        Dim.symbol(f"{name}'{index}") if size == UNNAMED else dim_of(ast.parse(size, mode="eval").body)
        for index, size in enumerate(sizes)
    )


def _usual_rank(argument: Argument, usage: Usage) -> int:
    """Return how many dimensions an argument of this name and use mostly has."""
    if usage.rank is not None:
        return usage.rank
    if usage.indexed:
        return usage.indexed
    for function, place in sorted(usage.passed, key=str):
        ranks = RANKS.get(function, ())
        index = place if isinstance(place, int) else {"input": 0, "weight": 1, "bias": 2}.get(place, len(ranks))
        rank = ranks[index] if index < len(ranks) else None
        if rank is not None:
            return rank
    name = argument.name.lower()
    if _SCALES.match(name) and only_scales(usage):
        return 1
    if _TOKENS.match(name):
        return 2
    if _BATCHES.match(name):
        return 4 if name.endswith("s") else 3
    if _VECTORS.match(name):
        return 2 if usage.in_product or (name in {"b", "v", "t"} and not only_scales(usage)) else 1
    return 2


def _told_dtype(said: Told | None) -> str:
    """Return the element type that is told; what a call makes without naming one holds fp32."""
    if said is None:
        return ""
    return said.dtype or ("fp32" if said.place.kind == "call" and said.sizes is not None else "")


def _usual_dtype(argument: Argument, usage: Usage) -> str:
    annotation = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    for text, dtype in (("LongTensor", "int64"), ("IntTensor", "int32"), ("BoolTensor", "bool")):
        if text in annotation:
            return dtype
    is_target = any(name in _LOSSES and place in {1, "target"} for name, place in usage.passed)
    is_factor = usage.in_product or (usage.multiplied and not usage.otherwise)
    return "int64" if is_target or (_WHOLE.match(argument.name.lower()) and not is_factor) else "fp32"
