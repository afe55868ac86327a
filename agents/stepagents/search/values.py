"""What the values of a stream say about its worth: whether the reference has them, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Final

from stepagents.search.anchors import AnchorSet, essence, moments, same
from stepagents.search.costs import CostModel
from stepagents.search.fibers import Fibers
from stepagents.search.items import SearchStream, is_open, parts
from stepagents.search.options import Features
from stepagents.search.recorder import intermediates
from stepagents.search.routing import Branch, alone_values, branches_of, merged_alone
from stepagents.search.running import FAILURES
from stepagents.search.space import Space, has_selector
from stepcore.fn.decl import FnDecl
from stepcore.sim.world import World
from stepcore.sizes.dim import Dim
from stepcore.types import Element, Shape, StreamType, tensor_shapes

# Moves that compute; all others only change the layout, and their streams are worth what their source is.
_COMPUTING: Final = frozenset({"Map", "Accum", "AccumAll", "AccumOne", "Scan", "ScanAll", "Merge"})


class Values:
    """Rates streams by the anchors of the reference. ``branches`` tells what the open sizes of Partitions stand for."""

    def __init__(self, space: Space, worlds: Sequence[World], costs: CostModel, features: Features) -> None:
        self._space = space
        self._worlds = worlds
        self._costs = costs
        self._features = features
        self.anchors = _anchors(worlds, features)
        self._fibers = Fibers(self.anchors.tensors)
        self.branches: dict[Dim, Branch] = {}
        self._of_selector: dict[int, list[Branch]] = {}
        self._met: set[int] = set()
        self._sizes = list(self.anchors.sizes())
        self._unmet = Counter(self._sizes)
        self._counts: dict[tuple[Element, Shape], tuple[int, ...] | None] = {}

    def rate(self, item: SearchStream) -> None:
        """Lower the cost of a stream whose values the reference has, raise that of others."""
        if item.step is None or item.move not in _COMPUTING:
            return
        matched = self._matches(item)
        count = len(parts(item.element))
        if not matched:
            if self.anchors.tensors and not has_selector(item.element):
                item.cost += self._costs("no anchor") / count
            if self._features.wanted and not self._space.wants(item.element):
                item.cost += self._costs("not wanted")
            return
        new = [index for index in matched if index not in self._met]
        self._met.update(matched)
        self._unmet.subtract(self._sizes[index] for index in new if index >= 0)
        item.anchored = True
        share = len(matched) / count
        low = self._costs("anchor") * (1.0 if new else 2.0)
        item.cost = min(item.cost, item.cost * (1.0 - share) + low * share)

    def _matches(self, item: SearchStream) -> list[int]:
        """Return the anchors of the components; those of a branch have negative numbers of their own."""
        branch = self.branches.get(item.shape[-1])
        if branch is not None:
            return self._branch_matches(item, branch)
        columns = zip(*([essence(tensor) for tensor in data.components] for data in item.data), strict=True)
        found = (self.anchors.match(list(column)) for column in columns)
        return [index for index in found if index is not None]

    def _branch_matches(self, item: SearchStream, branch: Branch) -> list[int]:
        """Return what the components of a branch hold of the reference, as far as one can see."""
        matched: list[int] = []
        alone = self._alone_matches(item, branch)
        base = -1 - 2000 * (branch.number + 100 * branch.selector.index)
        for component, hit in enumerate(alone):
            if hit is not None:
                matched.append(base - hit)
            elif self._features.branch_rows:
                holder = self._fibers.holder(item.data, component)
                if holder is not None:
                    matched.append(base - 1000 - holder)
        return matched

    def _alone_matches(self, item: SearchStream, branch: Branch) -> list[int | None]:
        """Return for each component the tensor of the reference that it equals where the branch is alone."""
        if not branch.informative or not self._features.branch_values:
            return [None] * len(parts(item.element))
        found: list[int | None] = []
        for column in alone_values(branch, item.data):
            signature: list[tuple[float, ...]] = [moments(values) for values in column]
            found.append(next((i for i, target in enumerate(branch.targets) if same(signature, target)), None))
        return found

    def has_room(self, element: Element, shape: Shape) -> bool:
        """Return whether the reference has a tensor of this many numbers that no stream holds yet."""
        if not self._sizes or has_selector(element):
            return True
        key = (element, shape)
        if key not in self._counts:
            self._counts[key] = None
            if not any(is_open(size) for size in shape):
                kinds = (StreamType(part, shape) for part in parts(element))
                self._counts[key] = tuple(prod(self._space.bound(tensor_shapes(kind)[0])) for kind in kinds)
        counts = self._counts[key]
        return counts is None or any(self._unmet[count] > 0 for count in counts)

    def branches_of(self, selector: SearchStream, count: int) -> list[Branch]:
        """Return what is known of the branches under ``selector``."""
        found = self._of_selector.get(selector.index)
        if found is None:
            found = self._of_selector[selector.index] = branches_of(selector, count, self.anchors.tensors)
        return found

    def merge_cost(self, item: SearchStream, branch: Branch, fn: FnDecl) -> float:
        """Return how unlikely the branch is in a merge with ``fn``, by what that gives where it is alone."""
        if not branch.informative or not self._features.branch_values or not branch.targets:
            return 0.0
        try:
            merged = merged_alone(self._worlds, fn, item)
        except FAILURES:
            return self._costs("wrong branch")
        for column in alone_values(branch, merged):
            signature: list[tuple[float, ...]] = [moments(values) for values in column]
            if any(same(signature, target) for target in branch.targets):
                return -0.8 * item.cost
        return self._costs("wrong branch")


def _anchors(worlds: Sequence[World], features: Features) -> AnchorSet:
    known = [[*world.parameters.values(), *(t for d in world.inputs for t in d.components)] for world in worlds]
    goals = [[t.double() for column in world.references() for t in column] for world in worlds]
    runs = [intermediates(world) if features.anchors else [] for world in worlds]
    return AnchorSet([[*goal, *run] for goal, run in zip(goals, runs, strict=True)], known)
