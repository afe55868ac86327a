"""The first guess of all arguments: what texts and calls tell, and for the rest what their names and uses suggest."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from stepagents.shapes.natural import RANKS
from stepagents.shapes.state import State
from stepagents.shapes.told import ANY, UNNAMED, Told
from stepagents.torchfn.dims import Described
from stepagents.torchfn.target import Argument, Target
from stepagents.torchfn.usage import KERNELS, Usage, columns, first_value, is_number, is_scalar_factor, only_scales
from stepcore.sizes.dim import Dim
from stepcore.sizes.expressions import dim_of

_VECTORS: Final = re.compile(
    r"^(?:b|b\d|b_\w+|bias\w*|\w*_bias|beta|gamma|gain|shift|mean|var|std|mu|running_\w+|idx|index|indices|ids|v|vec|vector|lengths?"
    r"|labels?|y_true|positions?|classes|freqs|start\w*|prior|log_prior|log_init|log_pi|actions?|rewards?|dones?|advantages?|returns|timesteps?|ts?|g|ln_\w+|norm_\w+|\w*_scale"
    r"|\w+_(?:idx|index|labels?|targets?|class|lengths?|lens)|taus|quantiles|thresholds|levels|bins)$"
)
_SCALES: Final = re.compile(
    r"^(?:w|weights?|log_weights?|(?:log_)?pi|mix\w*|radii|sigmas|bandwidths|box(?:_size|_lengths?)?|g|gain|gamma|scale|alpha|s|beta|\w*_weight|\w*_scale|\w*gamma|\w*beta)$"
)
# Learnt numbers that whole tensors are scaled or shifted by.
_SCALARS: Final = re.compile(
    r"^(?:log_?)?(?:inv(?:erse)?_)?(?:temp|temperature|tau)$|^t_prime$|^(?:logits?|sim|similarity|softmax|output)_(?:scale|bias|shift)$"
    r"|^(?:global|log)_scale$|^log_(?:alpha|beta|lambda|tau)$"
)
_BATCHES: Final = re.compile(r"^(?:images?|imgs?|frames|pixels|feature_maps?|fmap|feat_map)$")
_INTERCEPTS: Final = re.compile(r"^(?:[wb]_?0|beta_?0|intercept|global_(?:bias|mean))$")  # one number for all samples
_OFFSETS: Final = re.compile(r"^(?:b\d?|b_?0|beta_?0|intercept|offset|\w*bias)$")
_SETS: Final = re.compile(r"^(?:points?|pts|pcd?|\w*cloud|xyz|tokens|frames|nodes|elements|items|set)$")
_WHOLE: Final = re.compile(r"^(?:idx|index|indices|ids|tokens|labels?|\w*_idx|\w*_indices|\w*_index|\w*_ids)$")
_COUNTED: Final = re.compile(r"^(?:positions?|pos|timesteps?|steps?|t|time)$")  # whole numbers if they are cast
_MATRIX: Final = re.compile(r"^(?![XYZQKVHU]\d?$)[A-Z]\w{0,5}$")
_HEADS: Final = re.compile(r"^(?:att|attn|a)_(?:src|dst|l|r|left|right|self|source|target|i|j)$")  # graph attention
_SCORERS: Final = re.compile(
    r"^(?:[vua]|[vw]_?(?:a|att|attn|score|out_vec)|\w*vec(?:tor)?|scorer?|context(?:_\w+)?)$"
)  # tanh(h) @ v
_SCORED: Final = re.compile(r"^(?:rel\w*_bias|attn_bias|attention_bias|pos\w*_bias|alibi\w*)$")  # added to scores
_WINDOWS: Final = re.compile(r"^(?:filt|filter|window|win|taper)$")
_RANKED: Final = re.compile(r"^(?:labels?|targets?|y_true|y|gt|truth|ground_truth|classes)$")
_OBSERVED: Final = re.compile(rf"{_RANKED.pattern}|^y_\w+$")
_TOKENS: Final = re.compile(r"^(?:input_ids|token_ids|tokens)$")
# What encoders make of tokens, one vector for each.
_SEQUENCES: Final = re.compile(
    r"^(?:last_)?hidden_states?$|^token_(?:embeddings?|embeds|states)$|^(?:enc|encoder|sequence)_(?:outputs?|states|out)$"
)
_LOSSES: Final = frozenset({"cross_entropy", "nll_loss"})
_OWN_SHAPE: Final = re.compile(
    r"^(?:w(?:[qkvoighfcu]|qkv|kv|qk|in|out|ih|hh|xh|up|down)?\d*|w_\w+|fc\w*|\w*_proj|lora_\w+|filters?|\w*weights?\w*|\w*bias\w*|b\d*|b_\w+|proj\w*|\w*kernel\w*|gamma|beta|gain|\w*scale\w*|shift"
    r"|pos_\w*|pos|position_\w*|posemb\w*|start\w*|log_init|log_prior|prior|\w*table|emb\w*|mean|var|std|mu|sigma|\w*basis|\w*(?:filter|f)?bank|\w*codebook|dictionary|\w*matrix|\w*mask\w*|taus|quantiles|thresholds|levels|bins|cos|sin|\w+_gate|filt|filter|window|win|taper|centroids|freqs|lengths?|alpha|running_\w+|\w*idx"
    r"|ind\w+|ids)$", re.I
)  # fmt: skip


def is_weight(name: str) -> bool:
    """Whether an argument of this name mostly has a shape of its own: weights, tables, masks, matrices of formulas."""
    return _OWN_SHAPE.match(name) is not None or _MATRIX.match(name) is not None


def peers_of(start: StartingPoint) -> frozenset[str]:
    """Return arguments that only names speak of, and that are no weights: they mostly have the shape of others."""
    return frozenset(
        name
        for name, shape in start.state.dims.items()
        if name in start.guessed - start.ranked and not is_weight(name) and name not in start.weights and shape
    )


def parameters_of(start: StartingPoint) -> frozenset[str]:
    """Return arguments that only names speak of, and that are weights: they are not larger than the data they meet."""
    return frozenset(
        name for name in start.state.dims if name in start.guessed and (is_weight(name) or name in start.weights)
    )


@dataclass(slots=True)
class StartingPoint:
    """The first state, what is told of each argument, and which of those are only read from names and uses."""

    state: State
    told: dict[str, Told] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)
    weights: frozenset[str] = frozenset()  # those that are weights by their use, whatever their names
    ranked: set[str] = field(default_factory=set)  # of these, those whose use tells the number of dimensions


def first_state(
    target: Target, known: Mapping[str, Described], told: Mapping[str, Told], uses: Mapping[str, Usage]
) -> StartingPoint:
    """Return the first guess.

    Args:
        target: the function.
        known: arguments that are described already, and stay so.
        told: what documents and calls say of others.
        uses: see :func:`stepagents.torchfn.usage.usages`.
    """
    dims: dict[str, tuple[Dim, ...]] = {}
    dtypes: dict[str, str] = {}
    values: dict[str, object] = {}
    kernels = frozenset(name for name, usage in uses.items() if usage.passed & KERNELS)
    start = StartingPoint(State(dims, dtypes, values, kernels=kernels))
    start.weights = frozenset(name for name, usage in uses.items() if usage.weight or _is_scale(name, usage))
    vectors = columns(target, uses)
    for argument in target.arguments:
        item, said = known.get(argument.name), told.get(argument.name)
        if item is not None:
            if item.dims is not None:
                dims[argument.name] = item.dims
                dtypes[argument.name] = item.dtype
            continue
        if argument.default is not None:
            continue  # it keeps its default
        if _is_plain(argument, said, uses[argument.name]):
            if said is not None and said.is_plain and said.value is not None:
                values[argument.name] = said.value
                start.told[argument.name] = said
            else:
                values[argument.name] = first_value(argument, uses[argument.name])
                start.guessed.add(argument.name)
            continue
        known_rank = _known_rank(argument.name, uses[argument.name], vectors)
        rank = _usual_rank(argument, uses[argument.name]) if known_rank is None else known_rank
        if said is not None and not said.is_plain:
            start.told[argument.name] = said
            likely = said.likely_rank if uses[argument.name].rank is None and known_rank is None else None
            rank = next((each for each in (said.told_rank, likely) if each is not None), rank)
            if likely is not None:
                start.ranked.add(argument.name)
        if (said is None or said.told_rank is None) and uses[argument.name].rank is None:
            start.guessed.add(argument.name)
            if known_rank is not None or (rank == 1 and any(name in RANKS for name, _ in uses[argument.name].passed)):
                start.ranked.add(argument.name)
        dims[argument.name] = _dims(argument.name, said, rank)
        if said is not None and said.told_rank is None and said.like in dims:  # the same shape as one that is not told
            dims[argument.name] = dims[said.like]
            start.ranked.add(argument.name)
            twins = (*start.state.twins, frozenset({argument.name, said.like}))
            start.state = replace(start.state, twins=twins)
        _share_rows(argument.name, dims, uses)
        # Of a name alone, three dimensions that are told make no ids: tokens (B, T, D).
        is_deep = said is not None and (said.told_rank or 0) > 2 and not uses[argument.name].as_index
        usual = "fp32" if is_deep else _usual_dtype(argument, uses[argument.name])
        dtypes[argument.name] = _told_dtype(said) or usual
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


def _share_rows(name: str, dims: dict[str, tuple[Dim, ...]], uses: Mapping[str, Usage]) -> None:
    """Let tables that are read with the same index have the same rows: ``embedding[users]``, ``bias[users]``."""
    for other, shape in dims.items():
        own = dims[name]
        if other != name and uses[other].indices & uses[name].indices and shape and own and "'" in str(own[0]):
            dims[name] = (shape[0], *own[1:])
            return


def _known_rank(name: str, usage: Usage, vectors: frozenset[str]) -> int | None:
    """Return the number of dimensions that an argument's use tells, mostly together with its name."""
    if usage.rank is not None or (usage.indexed and not usage.channel):
        return None
    lower = name.lower()
    if usage.indexed:  # images[:, 0] is a channel of each, image[:, 0] of a batch as well
        return 4 if _BATCHES.match(lower) else None
    if usage.term and only_scales(usage) and _INTERCEPTS.match(lower):
        return 0
    if "item" in usage.methods or (_SCALARS.match(lower) and is_scalar_factor(usage)):
        return 0
    is_index = (usage.as_index and not _TOKENS.match(lower)) or (usage.compared and _RANKED.match(lower))
    is_table = "[]" in usage.methods
    if _OBSERVED.match(lower) and usage.methods == {"unsqueeze"} and not usage.passed:
        return 1
    is_scale = only_scales(usage) and (
        _WINDOWS.match(lower) or (_MATRIX.match(name) and not usage.term and not is_table)
    )
    if usage.looked_up_term and not usage.looked_up:
        return 1
    if usage.similar and only_scales(usage) and (usage.methods == {"exp"} or (usage.term and _OFFSETS.match(lower))):
        return 0
    if usage.shift and only_scales(usage) and name == lower and (len(name) <= 2 or _VECTORS.match(name)):
        return 1
    is_scorer = usage.weight and not usage.squeezed and not usage.passed and usage.methods == {"@"}
    if is_scorer and _SCORERS.match(lower):
        return 1
    if name in vectors or is_index or is_scale or _HEADS.match(lower):
        return 1
    return 3 if _SCORED.match(lower) and only_scales(usage) else None


def _is_scale(name: str, usage: Usage) -> bool:
    """Whether an argument is one number for each feature or item by its name, and nothing but a factor or a term."""
    return _SCALES.match(name.lower()) is not None and only_scales(usage)


def _usual_rank(argument: Argument, usage: Usage) -> int:
    """Return how many dimensions an argument of this name and use mostly has."""
    if usage.rank is not None:
        return usage.rank
    if usage.indexed:
        return usage.indexed
    if usage.trailing:  # there is a batch for which the dots stand
        return usage.trailing + 1
    for function, place in sorted(usage.passed, key=str):
        ranks = RANKS.get(function, ())
        index = place if isinstance(place, int) else {"input": 0, "weight": 1, "bias": 2}.get(place, len(ranks))
        rank = ranks[index] if index < len(ranks) else None
        if rank is not None:
            return rank
    name = argument.name.lower()
    if _is_scale(name, usage):
        return 1
    if _TOKENS.match(name):
        return 2
    if _SEQUENCES.match(name):
        return 3
    if _SETS.match(name) and usage.pooled:
        return 3
    if _BATCHES.match(name) and not usage.in_product:
        return 4 if name.endswith("s") else 3
    if _VECTORS.match(name):
        is_feature = usage.joined and not name.startswith("b")  # an action beside a state
        is_feature |= name == "v" and "[]" in usage.methods  # vertices
        return 2 if usage.in_product or is_feature or (name in {"b", "v", "t"} and not only_scales(usage)) else 1
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
    if _COUNTED.match(argument.name.lower()) and "float" in usage.methods:
        return "int64"
    if usage.as_index or usage.whole or (usage.compared and _RANKED.match(argument.name)):
        return "int64"
    if (usage.rank or 0) > 2:
        return "fp32"
    return "int64" if is_target or (_WHOLE.match(argument.name.lower()) and not is_factor) else "fp32"
