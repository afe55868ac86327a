"""The benchmark tasks made ready to be verified, at the published sizes or at multiples of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import TASKS
from stepcore.check import Checked, ImplChecker
from stepcore.findings.verdict import Verdict
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import find_tasks
from stepcore.sim.functional import Session
from stepcore.text.span import Embedded

PUBLISHED = {"M": 5, "N": 7, "K": 9, "D": 16}
# Operators that fold a dimension.
_FOLDING = frozenset({"Accum", "Scan"})


@dataclass
class Bench:
    """One task: read, checked and simulated by the library."""

    name: str
    path: Path
    impl: str
    checker: ImplChecker
    session: Session
    dims: dict[str, int]
    round: int = 0

    def check(self) -> Checked:
        """Parse and check the answer. Its text is new each time, so that no cached parse is timed."""
        self.round += 1
        return self.checker.check(Embedded.whole(f"{self.impl}\n# {self.round}"))

    def verify(self) -> Verdict:
        """Parse, check, simulate and compare the answer."""
        return self.session.verify(self.check())

    @property
    def folds(self) -> bool:
        """Whether the answer folds a dimension."""
        return any(node.op_name in _FOLDING for node in self.check().graph.nodes)


def benches(factor: int = 1, limit: int = 4 << 30) -> Iterator[Bench]:
    """Yield every benchmark task with its default sizes times ``factor``."""
    for path in find_tasks([TASKS]):
        task = read_task(path.read_text(encoding="utf-8"), str(path))
        if task.spec is None or task.impl is None:
            raise SystemExit(f"{path} is no complete task")
        fixed = dict(task.spec.fixed)
        dims = {name: size * factor for name, size in PUBLISHED.items() if name not in fixed}
        session = Session(task.spec, dims, limit=limit)
        yield Bench(task.name, path, task.impl.source.text, ImplChecker(task), session, dims)
