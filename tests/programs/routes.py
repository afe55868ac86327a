"""Routes: what happens between a `Partition` and its `Merge`."""

from __future__ import annotations

from collections.abc import Iterator

from .build import Builder, branches_of
from .model import NUMBER, Kind, Part, Stream
from .sizes import number

MAX_PARTS = 4
MAX_VOLUME = 150

STAGES = (
    "Map", "Map", "Accum", "Scan", "Zip", "Promote", "Flatten", "Reshape", "Repeat", "RepeatRef",
    "Bufferize", "Streamify", "Copy", "Merge", "Identity",
)  # fmt: skip


def open_routes(build: Builder) -> Iterator[tuple[list[Stream], Stream]]:
    """Live branches of each partition beside a live copy of their selector."""
    for selector in build.live:
        if not selector.route:
            continue
        found: dict[int, Stream] = {}
        for stream in build.live:
            branch = _branch(stream, selector.route)
            if branch is not None and stream.kind.known:
                found.setdefault(branch, stream)
        branches = [found[number] for number in sorted(found)]
        first = branches[0] if branches else None
        if first is not None and sorted(found) == list(range(branches_of(selector))):
            alike = all(b.kind == first.kind and b.shape[:-1] == first.shape[:-1] for b in branches)
            if alike:
                yield branches, selector


def another_shape(build: Builder, selector: Stream) -> Stream:
    """The same selections in another shape, which the Merge then gives its result."""
    style = build.rng.randrange(6)
    if style == 0 and len(selector.shape) < 3:
        return build.promote(selector, build.rng.randrange(len(selector.shape) + 1))
    if style == 1 and selector.rank >= 1:
        return build.flatten(selector, 1, selector.rank)
    return selector


def stage(build: Builder, branches: list[Stream]) -> list[Stream]:
    """One operator on every branch, which leaves the outermost dimension alone."""
    rng, group = build.rng, build.new_group()
    first = branches[0]
    rank, kind = first.rank, first.kind
    op = rng.choice(tuple(STAGES))
    if op == "Map" and kind.known:
        made = build.map((branches[0],), None, group)
        return [made, *(build.map((branch,), made.kind, group) for branch in branches[1:])]
    if op in ("Accum", "Scan") and kind.known and rank >= 1:
        b = rng.randrange(1, rank + 1)
        made = build.fold(op, branches[0], b, None, group)
        return [made, *(build.fold(op, branch, b, made.kind, group) for branch in branches[1:])]
    if op == "Zip" and 2 * len(kind.parts) <= MAX_PARTS:
        pairs = [build.copy(branch) for branch in branches]
        return [build.zip(*pair) for pair in pairs]
    if op == "Promote" and rank < 3:
        b = rng.randrange(rank + 1)
        return [build.promote(branch, b, group) for branch in branches]
    if op == "Flatten" and rank >= 2:
        first_index = rng.randrange(1, rank)
        last = rng.randrange(first_index, rank)
        return [build.flatten(branch, first_index, last, group) for branch in branches]
    if op == "Reshape" and 1 <= rank < 4:
        index = rng.randrange(rank)
        chunks = [c for c in (number(2), number(1), *build.symbols) if first.shape[index].divided_by(c) is not None]
        chunk = rng.choice(chunks)
        return [build.reshape(branch, chunk, [index], group) for branch in branches]
    if op == "Repeat" and rank < 3 and first.volume * 2 <= MAX_VOLUME:
        return [build.repeat(branch, number(2), group) for branch in branches]
    if op == "RepeatRef" and rank < 3 and first.volume * 2 <= MAX_VOLUME:
        refs = [build.copy(branch) for branch in branches]
        return [build.repeat_ref(data, build.repeat(other, number(2))) for data, other in refs]
    if op == "Bufferize" and rank >= 1 and not kind.is_tuple and len(kind.parts[0].sizes) < 2:
        a = rng.randrange(1, rank + 1)
        return [build.bufferize(branch, a, group) for branch in branches]
    if op == "Streamify" and not kind.is_tuple and 1 <= len(kind.parts[0].sizes) <= 3 - rank:
        return [build.streamify(branch, group) for branch in branches]
    if op == "Copy":
        return [build.copy(branch)[rng.randrange(2)] for branch in branches]
    if op == "Merge" and kind.known and rank < 2:
        return [_detour(build, branch) for branch in branches]
    return [build.identity(branch, group) for branch in branches]


def _detour(build: Builder, branch: Stream) -> Stream:
    """Partition a branch once more, and merge it again: a route within a route."""
    data, other = build.copy(branch)
    shown = other if other.rank == 0 else build.fold("Accum", other, other.rank, NUMBER)
    selector, kept = build.copy(build.map((shown,), Kind((Part((), number(2)),))))
    return build.merge(build.partition(data, selector), kept, branch.kind)


def _branch(stream: Stream, route: int) -> int | None:
    """Which branch of a route a stream still is: its outermost size tells."""
    atoms = stream.shape[-1].atoms
    if stream.shape[-1].factor == 1 and len(atoms) == 1 and atoms[0].text.startswith(f"?{route}."):
        return int(atoms[0].text.split(".")[1])
    return None
