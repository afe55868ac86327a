"""An answer in a file of its own that is made faster: it is put into its task, and what comes of it goes back."""

from __future__ import annotations

import re
from typing import Final

from stepcore.findings.diagnostics import apply_edits
from stepcore.frontend.yaml.tasks import read_answer
from stepcore.ide.implement import impl_edit
from stepcore.jobdata.programs import AnswerFile
from stepcore.records import Record
from stepcore.text.files import Unusable

_LINE: Final = re.compile(r"\n(?!\n)")  # where one begins that is not empty


class AnsweredTask(Record):
    """The answer file, as it is; ``text`` is the task with the answer's program in it."""

    file: AnswerFile
    text: str

    def written(self, made: str) -> str:
        """Return what the answer file becomes for the program in the task ``made``, every other character as it is.

        Raises:
            ValueError: more than the program changed.
        """
        program = read_answer(made, "").impl
        if program is None or _with_impl(made, "") != _with_impl(self.text, ""):
            raise ValueError("more of the task was changed than its impl")
        return _rewritten(self.file.text, program.source.text)

    def line(self, line: int) -> int:
        """Return the line of the answer file, from 1, at which a line of the program stands in :attr:`text`."""
        ours, theirs = _first_line(self.text), _first_line(self.file.text)
        return max(line - ours + theirs, 1)


def answered_task(task: str, path: str, file: AnswerFile) -> AnsweredTask:
    """Put an answer into its task.

    Raises:
        Unusable: the file is no answer, or the task has no room for one.
    """
    answer = read_answer(file.text, file.path)
    if answer.impl is None:
        finding = answer.impl_diagnostics[0]
        line, column = answer.source.line_col(finding.span.start)
        raise Unusable(f"{file.path}:{line + 1}:{column + 1}", finding.message, finding.code)
    try:
        return AnsweredTask(file, _with_impl(task, answer.impl.source.text))
    except ValueError as error:
        raise Unusable(path, str(error), "STEP907") from error


def _with_impl(text: str, program: str) -> str:
    return apply_edits(text, [impl_edit(text, program)])


def _rewritten(text: str, program: str) -> str:
    """Return an answer with another program in the lines of the old one; its block stays as it is written."""
    read = read_answer(text, "").impl
    if read is None or not read.source.verbatim or "\r" in text:
        return _with_impl(text, program)
    code = read.source
    old, new = code.text.strip("\n"), program.strip("\n")
    first = len(code.text) - len(code.text.lstrip("\n"))
    start, end = code.to_outer(first), code.to_outer(first + len(old))
    return text[:start] + _LINE.sub(f"\n{code.indent}", new) + text[end:]


def _first_line(text: str) -> int:
    """Return the first line of the program in a task or an answer that is no blank one, from 0."""
    read = read_answer(text, "")
    if read.impl is None:
        return 0
    code = read.impl.source
    return read.source.line_col(code.to_outer(len(code.text) - len(code.text.lstrip("\n"))))[0]
