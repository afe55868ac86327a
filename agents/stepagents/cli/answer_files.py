"""What a model answered, as the commands show it: one Markdown file for each task, and a line for each answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stepagents.llm.transcript import Answered, closing, line, opening, section
from stepagents.sampling import Sampled
from stepcore.cli.terminal import complain
from stepcore.system.scarce import reason_of
from stepcore.text.places import WritingPlace, place_of
from stepcore.text.wording import one_line

SUFFIX: Final = ".answers.md"
_MOST_LINES: Final = 200  # of a task that are kept to be shown


class AnswerFiles:
    """Hears of each answer and writes it into the file of its task at once, so that a run that is killed leaves all.

    ``folder`` None writes nothing. A file is begun anew by the first answer of a run, and is never larger than its
    answers are (each is cut, see :data:`stepagents.llm.transcript.MOST_SHOWN`).
    """

    def __init__(self, folder: Path | None) -> None:
        # The folder that it is now: functions of a user may run before there is an answer, and put links there.
        self._folder = None if folder is None else place_of(folder)
        self._files: dict[str, WritingPlace] = {}
        self._lines: dict[str, list[str]] = {}

    def hear(self, answered: Answered) -> None:
        """Take an answer; where its file cannot be written, that is said once and no more is written."""
        sampled = answered.sampled
        lines = self._lines.setdefault(sampled.path, [])
        if len(lines) < _MOST_LINES:
            lines.append(line(answered))
        if self._folder is None:
            return
        is_new = sampled.path not in self._files
        if is_new:
            self._files[sampled.path] = self._free(self._folder, sampled.task)
        self._write(sampled.path, (opening(sampled) if is_new else "") + section(answered) + "\n", is_new=is_new)

    def end(self, sampled: Sampled) -> None:
        """Say in the file of a task how it ended."""
        self.add(sampled, closing(sampled) + "\n")

    def add(self, sampled: Sampled, text: str) -> None:
        """Add a text of ours to the file of a task, if it has one."""
        if sampled.path in self._files:
            self._write(sampled.path, text, is_new=False)

    def path(self, sampled: Sampled) -> Path | None:
        """Return the file of a task, None where there is none."""
        place = self._files.get(sampled.path)
        return None if place is None else place.path

    def lines(self, sampled: Sampled) -> list[str]:
        """Return a line for each answer to a task."""
        return self._lines.get(sampled.path, [])

    def _free(self, folder: WritingPlace, task: str) -> WritingPlace:
        """Return a file that no other task of this run has."""
        name = re.sub(r"[^\w.-]+", "_", task).strip(".") or "task"
        taken, number, place = set(self._files.values()), 1, folder.below(f"{name}{SUFFIX}")
        while place in taken:
            number += 1
            place = folder.below(f"{name}_{number}{SUFFIX}")
        return place

    def _write(self, task: str, text: str, *, is_new: bool) -> None:
        if self._folder is None:
            return
        place = self._files[task]
        try:
            place.add(text.encode("utf-8", "backslashreplace"), is_new=is_new)
        except OSError as error:
            complain(f"{one_line(place.path)}: answers cannot be written: {reason_of(error)}")
            self._folder = None
            self._files.clear()
