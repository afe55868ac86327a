"""What a run that went to its end still tells of sizes: the parts it took, what its indices count, equal examples.

Nothing forces these sizes, so each is tried by a run of its own, and what a text names stays as it is. Loads torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from stepagents.shapes.moves import ShapeMoves
from stepagents.shapes.outcome import PartialUse, RunFailure, TensorOperand
from stepagents.shapes.running import SubjectRunner
from stepagents.shapes.situation import ArgumentDim
from stepagents.shapes.solving import Solved
from stepagents.shapes.state import State, is_possible, symbol_of
from stepcore.sizes.dim import Dim

_MOST_RUNS: Final = 24
# Rotations, cameras, homographies and covariances by their usual names; poses are rotations with a translation beside.
_SQUARE: Final = re.compile(
    r"^(?:[RKHEFS]\d?(?:_\w+)?|inv_[RKH]|(?i:rot\w*|\w*_rot|\w*homography|\w*intrinsics?|cov\w*|\w*_cov|essential|fundamental))$"
)
_SURELY_SQUARE: Final = re.compile(
    r"^(?:\w*_)?(?:rot(?:ation)?s?(?:_?mat(?:rix)?)?|homography|intrinsics?|cov(?:ariance)?s?(?:_?mat(?:rix)?)?)(?:_\w{1,3})?$",
    re.I,
)
_POSE: Final = re.compile(r"^(?:[TMPGA]\d?|(?i:\w*pose|\w*transform|\w*extrinsics?|\w*affine|[cwlbe]\w?2[cwlb]\w*))$")
_PROJECTION: Final = re.compile(r"^(?:P\d?|(?i:proj\w*|camera\w*))$")  # 3 x 4 by convention
_GRAPH: Final = re.compile(r"^(?:adj\w*|laplacian|affinity|A_(?:hat|norm|tilde))$")  # from nodes to nodes
# Rays, directions and points of space by names that nobody gives to anything else, and rotations as four numbers.
_SPATIAL: Final = re.compile(r"^(?:rays?_[od]|ray_(?:dirs?|directions?|origins?)|view_?dirs?|xyzs?\d?|quat\w*)$")
_POINTWISE: Final = re.compile(
    r"^(?:\w*_)?(?:pw|pointwise|point|w?1x1|k1)(?:_?(?:w|weights?|kernel|conv|filters?))?\d?$", re.I
)
_LARGEST_SPACE: Final = 4


def refined(
    runner: SubjectRunner,
    solved: Solved,
    told: frozenset[str],
    alike: Sequence[tuple[ArgumentDim, ArgumentDim]],
    squares: frozenset[str] = frozenset(),
    twins: Mapping[frozenset[str], bool] | None = None,
) -> Solved:
    """Return the solution with the sizes that its run suggests, of those with which the function runs.

    Args:
        runner: runs the function.
        solved: sizes at which it runs.
        told: arguments whose sizes are written somewhere.
        alike: dimensions that were equal in all calls.
        squares: arguments whose last two sizes were equal in all calls.
        twins: pairs of arguments that the body treats in the same way, and whether they meet the same others.

    Raises:
        Refused: the function cannot be run at any sizes.
    """
    tried = {solved.state.key}
    runs = 0
    while runs < _MOST_RUNS:
        changed = next(
            (each for each in _candidates(solved, told, alike, squares, twins or {}) if each.key not in tried), None
        )
        if changed is None:
            break
        tried.add(changed.key)
        if not is_possible(changed):
            continue
        runs += 1
        run = runner.run(changed)
        if run.failure is None:
            solved = Solved(changed, run)
    return solved


def _candidates(
    solved: Solved,
    told: frozenset[str],
    alike: Sequence[tuple[ArgumentDim, ArgumentDim]],
    squares: frozenset[str],
    twins: Mapping[frozenset[str], bool],
) -> Iterator[State]:
    state = solved.state
    for part in solved.run.parts:
        yield from _covered(state, part, told)
    for counted, size, read, other in solved.run.selected:
        yield from _equal(state, [counted, read], [(size, other)], told)
    for (one, size), (two, other) in solved.run.read:
        yield from _equal(state, [one, two], [(size, other)], told)
    for name, shape in state.dims.items():
        if name not in told and _POINTWISE.match(name) and solved.run.kernels.get(name) == 1:
            yield from _pointwise(state, name)
        if len(shape) >= 2 and _SQUARE.match(name):
            yield from _square(state, name, always=name in squares or _SURELY_SQUARE.match(name) is not None)
        elif name not in told and len(shape) >= 2 and _GRAPH.match(name):
            ends = tuple(size.bind(state.numbers) for size in shape[-2:])
            yield from _equal(state, [TensorOperand(ends, frozenset({name}), True)], [(ends[0], ends[1])], frozenset())
        elif name not in told and len(shape) >= 2 and _PROJECTION.match(name) and shape[-2].constant == 3:
            yield from _sided(state, name, shape[-1], 4)
        elif name not in told and shape and _SPATIAL.match(name) and _is_free(state, shape[-1]):
            yield from _sided(state, name, shape[-1], 4 if name.startswith("quat") else 3)
    yield from _lettered(solved)
    for pair, is_same in twins.items():
        names = [name for name in state.dims if name in pair and name not in told]
        if len(names) == 2:
            yield from _as_many(state, names)
            yield from _twins(state, names) if is_same else ()
    for place, second in alike:
        yield from _as_in_calls(state, place, second)


def _covered(state: State, part: PartialUse, told: frozenset[str]) -> Iterator[State]:
    """Let the parts that are taken be all that there is; a pose of which ``T[:3, :3]`` is taken has one more."""
    name = next(iter(part.operand.origins), "")
    sizes = list(part.covered)
    is_argument = part.operand.is_argument and name not in told
    heads = part.heads[-2:]
    if is_argument and len(part.operand.shape) >= 2 and (_POSE.match(name) or _SQUARE.match(name)):
        known = [size for size in sizes[-2:] if size]
        if len(heads) == 2 and heads[0] == heads[1] and 2 <= heads[0] < _LARGEST_SPACE:
            known.append(heads[0] + 1)
        largest = max(known, default=0)
        is_matrix = len(known) == 2 or (_POSE.match(name) and max(heads) in {2, 3} and max(heads) >= largest - 1)
        if 2 <= largest <= _LARGEST_SPACE and (is_matrix or not known):
            sizes[-2:] = [largest, largest]
    wanted = [(size, count) for size, count in zip(part.operand.shape, sizes, strict=True) if count and size != count]
    if len(wanted) > 1:
        yield from _equal(state, [part.operand], wanted, told)
    for pair in wanted:
        yield from _equal(state, [part.operand], [pair], told)


def _equal(
    state: State, operands: Sequence[TensorOperand], wanted: Sequence[tuple[int, int]], told: frozenset[str]
) -> Iterator[State]:
    """Make sizes equal unless that contradicts what is written."""
    found = ShapeMoves(state, RunFailure(operands=operands), told, {}).equal(wanted)
    if found is not None and all(name in found.symbols for name in state.symbols if "'" not in name):
        yield found


def _square(state: State, name: str, *, always: bool) -> Iterator[State]:
    """Let a matrix of which one side is 2, 3 or 4 have the other side, too; ``always``: whatever its sides are."""
    *_, rows, columns = state.dims[name]
    if always:
        ends = rows.bind(state.numbers), columns.bind(state.numbers)
        yield from _equal(state, [TensorOperand(ends, frozenset({name}), True)], [ends], frozenset())
    for known, free in ((rows, columns), (columns, rows)):
        side = known.constant
        if side is not None and 2 <= side <= _LARGEST_SPACE:
            yield from _sided(state, name, free, side)


def _pointwise(state: State, name: str) -> Iterator[State]:
    """Let a kernel that is named so cover one point."""
    changed = state
    for symbol in [symbol_of(size) for size in state.dims[name][2:]]:
        if symbol is not None and "'" in symbol:
            changed = changed.with_size(symbol, Dim.of(1), 0.0, (name, "its name"))
    if changed is not state:
        yield changed


def _as_many(state: State, names: Sequence[str]) -> Iterator[State]:
    """Let what the body treats in the same way have as many dimensions: new ones come behind those that both have."""
    small, large = sorted(names, key=lambda name: len(state.dims[name]))
    ranks = len(state.dims[small]), len(state.dims[large])
    if ranks[0] < ranks[1]:
        place = next((axis for axis in range(ranks[0]) if state.dims[small][axis] != state.dims[large][axis]), ranks[0])
        yield state.with_rank(small, ranks[1], 0.3, "the same use of another argument", place=place)


def _twins(state: State, names: Sequence[str]) -> Iterator[State]:
    """Let what the body treats in the same way have the same sizes where nothing else speaks of these."""
    one, other = (state.dims[name] for name in names)
    if len(one) != len(other):
        return
    changed = state
    for size, kept in zip(other, one, strict=True):
        symbol, own = symbol_of(size), symbol_of(kept)
        if symbol is not None and own is not None and symbol != own and state.uses[symbol] == 1:
            changed = changed.with_size(symbol, kept, 0.0, (names[1], "its use"))
    if changed is not state:
        yield changed


def _lettered(solved: Solved) -> Iterator[State]:
    """Let a letter of several equations be one size, where that size stands nowhere else."""
    state = solved.state
    names = {size: name for name, size in state.numbers.items()}
    for one, letter, size in solved.run.letters:
        symbol = names.get(size, "")
        if "'" not in symbol or state.uses[symbol] > 1:
            continue
        for other, second, number in solved.run.letters:
            kept = names.get(number, "")
            if letter == second and kept not in {"", symbol} and other.origins != one.origins:
                owner = next(iter(one.origins), "")
                yield state.with_size(symbol, Dim.symbol(kept), 0.3, (owner, "the letters of its equations"))


def _is_free(state: State, size: Dim) -> bool:
    """Whether a size is a symbol that stands nowhere else, and that no text names."""
    symbol = symbol_of(size)
    return symbol is not None and "'" in symbol and state.uses[symbol] == 1


def _sided(state: State, name: str, size: Dim, side: int) -> Iterator[State]:
    """Let one side of a matrix be a number."""
    if size.constant is None:
        number = size.bind(state.numbers)
        yield from _equal(state, [TensorOperand((number,), frozenset({name}), True)], [(number, side)], frozenset())


def _as_in_calls(state: State, one: ArgumentDim, other: ArgumentDim) -> Iterator[State]:
    """Let two sizes be one that are equal in calls, where one of them stands nowhere else."""
    sizes = [state.dims[name][axis] for name, axis in (one, other) if axis < len(state.dims.get(name, ()))]
    symbols = [symbol_of(size) for size in sizes]
    if len(sizes) < 2 or symbols[0] is None or symbols[1] is None or symbols[0] == symbols[1]:
        return
    for symbol, place in sorted(zip(symbols, (one, other), strict=True), key=lambda item: "'" not in str(item[0])):
        kept = next(each for each in symbols if each != symbol)
        if symbol is not None and kept is not None and "'" in symbol and state.uses[symbol] == 1:
            yield state.with_size(symbol, Dim.symbol(kept), 0.3, (place[0], "its calls"))
            return
