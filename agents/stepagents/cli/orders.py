"""From what a command was given (task files, folders) to what a sampler is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from stepagents.sampling import Order, Sampled
from stepcore.cli.targets import FileTarget, find_targets
from stepcore.graph.task import task_name
from stepcore.records import Record
from stepcore.text.files import Unusable, read_file
from stepcore.text.wording import one_line


class Wanted(Record):
    """What was asked for: orders, and results for what cannot be ordered, their ``problem`` saying why."""

    orders: list[Order] = field(default_factory=list)
    unusable: list[Sampled] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """The paths of all of them."""
        return [order.path for order in self.orders] + [sampled.path for sampled in self.unusable]


def read_orders(texts: Sequence[str], samples: int, seconds: float, seed: int = 0) -> Wanted:
    """Read the task files among ``texts`` (files and folders, each file once) and order ``samples`` for each."""
    wanted = Wanted()
    for target in find_targets(texts):
        try:
            order = _order(target, samples, seconds, seed)
        except Unusable as error:
            problem = f"{one_line(error.path)}: {error.code} {error.message}"
            wanted.unusable.append(Sampled(task_name(error.path), error.path, problem=problem))
        else:
            wanted.orders.append(order)
    return wanted


def _order(target: FileTarget | Unusable, samples: int, seconds: float, seed: int) -> Order:
    if isinstance(target, Unusable):
        raise target
    if target.path.is_dir():
        raise Unusable(target.path, "the path is a folder, but one file is needed")
    text = read_file(target.path).text
    if target.path.suffix == ".py":
        what = f"the file is no task: convert it, or name a PyTorch function in it, {one_line(target.path)}::FUNCTION"
        raise Unusable(target.path, what, "STEP907")
    return Order(task_name(target.path), str(target.path), text, samples, seconds, seed)
