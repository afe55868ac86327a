"""Which experiences are given up: old ones, more than enough for one task, those whose task is gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from stepagents.experience.store import StoredExperience, outdated
from stepcore.records import Record

DAY: Final = 86_400.0  # seconds


class Rules(Record):
    """What to give up; a rule that is not set gives up nothing.

    ``days``: earned longer ago. ``keep``: beyond so many programs for one task, the shortest being kept. ``gone``: the
    task file was removed, or holds another task by now (imported experience has no file, and stays).
    """

    days: float | None = None
    keep: int | None = None
    gone: bool = False


def superfluous(stored: Sequence[StoredExperience], rules: Rules, now: float) -> list[StoredExperience]:
    """Return the experiences that the rules give up, in the order of their numbers."""
    found = {
        item.number
        for item in stored
        if (rules.days is not None and now - item.earned > rules.days * DAY) or (rules.gone and outdated(item))
    }
    if rules.keep is not None:
        tasks: dict[tuple[str, str], list[StoredExperience]] = defaultdict(list)
        for item in stored:
            if item.number not in found:
                tasks[item.workspace, item.task_key].append(item)
        for programs in tasks.values():
            programs.sort(key=lambda item: (len(item.experience.impl), item.number))
            found.update(item.number for item in programs[rules.keep :])
    return [item for item in stored if item.number in found]
