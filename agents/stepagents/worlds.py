"""The data that programs are judged on: one set at the asked sizes, others at other seeds and sizes. Loads torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Untested
from stepcore.graph.ir import ProgramSpec
from stepcore.sim.everywhere import LIMIT
from stepcore.sim.functional import Session
from stepcore.sim.resized import resized

# Relative to the sizes asked for: some larger, some smaller, no two equal to what they were.
_OTHERS: Final[tuple[tuple[int, Mapping[str, int]], ...]] = (
    (1009, {}),
    (7, {"M": 6, "N": 5, "K": 10, "D": 12}),
    (7, {"M": 6, "N": 3, "K": 4, "D": 8}),
)


class TaskSessions:
    """Sessions of one task, each made when it is first needed."""

    def __init__(self, spec: ProgramSpec, dims: Mapping[str, int], seed: int, limit: int) -> None:
        self._spec = spec
        self._dims = dims
        self._seed = seed
        self._limit = limit
        sized = resized(spec, dims) if dims else None
        self.main = Session(spec if sized is None else sized.spec, seed=seed, limit=limit)
        self._made: list[tuple[Session, str]] | None = None

    def fresh(self) -> Iterator[tuple[Session, str]]:
        """Yield sessions with other seeds and sizes; sizes at which the reference cannot run are left out."""
        if self._made is None:
            self._made = [found for seed, dims in _OTHERS if (found := self._session(seed, dims)) is not None]
        yield from self._made

    def sized(self, sizes: Mapping[str, int]) -> ProgramSpec | None:
        """Return the specification at other sizes than the main ones; None where ``global`` fails there."""
        try:
            return resized(self._spec, {**self._dims, **sizes}).spec
        except SimError:
            return None

    def make(self, spec: ProgramSpec) -> Session:
        """Return a session for one program at the sizes of ``spec``.

        Raises:
            SimError: the data cannot be drawn, or are large.
        """
        return Session(spec, seed=self._seed, limit=min(self._limit, LIMIT), examine=False)

    def untested(self, first: Untested | None) -> Untested | None:
        """Return what is tested by neither the main data, of which that is ``first``, nor the fresh ones."""
        for session, _where in self.fresh() if first is not None else ():
            if first is not None:
                first = first.both(session.strength().untested)
        return first

    def _session(self, seed: int, dims: Mapping[str, int]) -> tuple[Session, str] | None:
        try:
            sized = resized(self._spec, {**self._dims, **dims})
            session = Session(sized.spec, seed=seed, limit=self._limit, examine=False)
            session.world.references()
        except SimError:
            return None
        sizes = ", ".join(f"{name}={size}" for name, size in sorted(sized.bindings.items()) if name in dims)
        return session, f"with seed {seed}" + (f" and {sizes}" if sizes else "")
