"""What a model answered, as the commands show it: one Markdown file for each task, and a line for each answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stepagents.llm.transcript import Answered, closing, line, opening, section
from stepagents.sampling import Sampled
from stepcore.cli.terminal import complain
from stepcore.system.scarce import reason_of
from stepcore.text.wording import one_line

SUFFIX: Final = ".answers.md"
_MOST_LINES: Final = 200  # of a task that are kept to be shown


class AnswerFiles:
    """Hears of each answer and writes it into the file of its task at once, so that a run that is killed leaves all.

    ``folder`` None writes nothing. A file is begun anew by the first answer of a run, and is never larger than its
    answers are (each is cut, see :data:`stepagents.llm.transcript.MOST_SHOWN`).
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[str, Path] = {}
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
        return self._files.get(sampled.path)

    def lines(self, sampled: Sampled) -> list[str]:
        """Return a line for each answer to a task."""
        return self._lines.get(sampled.path, [])

    def _free(self, folder: Path, task: str) -> Path:
        """Return a file that no other task of this run has."""
        name = re.sub(r"[^\w.-]+", "_", task).strip(".") or "task"
        taken, number, path = set(self._files.values()), 1, folder / f"{name}{SUFFIX}"
        while path in taken:
            number += 1
            path = folder / f"{name}_{number}{SUFFIX}"
        return path

    def _write(self, task: str, text: str, *, is_new: bool) -> None:
        if self._folder is None:
            return
        path = self._files[task]
        try:
            with path.open("w" if is_new else "a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            complain(f"{one_line(path)}: answers cannot be written: {reason_of(error)}")
            self._folder = None
            self._files.clear()
