"""Published results on the 26 tasks of eight groups: the figures to beat, as they were published (2025, ICML)."""

from __future__ import annotations

from typing import Final

from stepcore.records import Record

TASKS: Final = 26


class Published(Record):
    """A system and how many of the 26 tasks it solved."""

    name: str
    solved: int


PUBLISHED: Final = (
    Published("OpenAI o1, alone", 10),
    Published("DeepSeek-V3, self-improved", 15),
    Published("Claude 3.5 Sonnet, self-improved", 25),
)
FAIRNESS: Final = (
    "The published systems are language models that write a program from the text of a task. The built-in search runs "
    "its candidates and the task's reference on small data while it works, which is an advantage that no model had: "
    "the bars show what each can do, not that one is the better programmer."
)
SAME_TASKS: Final = (
    "The published figures are shares of the 26 published tasks. A run on other tasks, or on some of them, stands "
    "beside them for orientation only."
)
