"""*Synthesize STeP Program*: from a PyTorch function in an open Python file to a file with a verified program.

Nothing of the file is run here: where the action is offered is decided by a look at its text, and the rest is the job
``function`` of the agents' worker, see :mod:`stepcore.jobdata.writing`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain, count, dropwhile, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from stepcore.chips.keys import described
from stepcore.jobdata.choices import SUFFIXES
from stepcore.jobdata.editor import News, PlainRange, SizesOrder, SynthesizeOrder
from stepcore.jobdata.plain import shared
from stepcore.jobdata.writing import (
    FUNCTION,
    SIZES,
    FunctionRequest,
    FunctionResult,
    SizesRequest,
    WritingOptions,
    WritingProgress,
)
from stepcore.jobs.proposers import AUTO, BY_NAME, FOR_FUNCTIONS, LOWER
from stepserver.client import Client
from stepserver.documents import Module
from stepserver.editor import Editor
from stepserver.paths import file_path
from stepserver.writing import Work

if TYPE_CHECKING:
    from stepcore.text.span import SourceFile
    from stepserver.timing.runs import ChipInForce

TITLE: Final = "Synthesize STeP Program"
_SECONDS: Final = 120.0  # for one function, the import of PyTorch included, before anybody else is asked
_TORCH: Final = re.compile(r"^[ \t]*(?:import|from)[ \t]+torch\b", re.MULTILINE)
_HEAD: Final = re.compile(r"(?:def|class)[ \t]+\w")
_OWN: Final = ("@step.", "@stepcore.")  # what stands above functions and programs of STeP itself
_OVER_TILES: Final = ("auto", "tiled")
_LAST_LINE: Final = 2**31 - 1


def is_offered(source: SourceFile, area: types.Range) -> bool:
    """Return whether a range lies in one function or class, or selects a whole one, in a file that uses torch."""
    first, last = _lines(area)
    heads = _heads(source, first, last)
    return bool(heads) and not any(_is_own(source, head) for head in heads) and _TORCH.search(source.text) is not None


def _is_own(source: SourceFile, head: int) -> bool:
    """Return whether a function is one of STeP itself, by its decorators."""
    above = takewhile(str.strip, (_line(source, number) for number in range(head - 1, -1, -1)))
    return any(line.lstrip().startswith(_OWN) for line in above)


def _heads(source: SourceFile, first: int, last: int) -> list[int]:
    """Return the lines of the heads of the function or class that a range means, and of those around it."""
    if not 0 <= first <= last < len(source.line_starts):
        return []
    head = _selected_head(source, first, last)
    while head is None and first < last and not _line(source, first):
        first += 1
    begin = first if head is None else head
    start = _text_from(source, begin)
    margin = _margin(start) + (_HEAD.match(start.lstrip()) is not None or start.lstrip().startswith(")"))
    found = []
    for number in range(begin, -1, -1):
        line = _line(source, number)
        if _HEAD.match(line.lstrip()) and _margin(line) < margin:
            margin = _margin(line)
            found.append(number)
    if head is not None:
        return found
    return list(dropwhile(lambda each: not _holds_lines(source, each, first, last), found))


def _holds_lines(source: SourceFile, head: int, first: int, last: int) -> bool:
    """Return whether lines lie in the body of the function or class with this head, or are its head."""
    margin = _margin(_line(source, head))
    body = (_line(source, number) for number in range(first, last + 1) if number != head)
    return all(not line or _margin(line) > margin or line.lstrip().startswith(")") for line in body)


def synthesis(
    module: Module, order: SynthesizeOrder, root: str, *, chip_for: Callable[[Module], ChipInForce]
) -> Work[Any, Any] | str:
    """Return the work that ``stepsmith.server.synthesize`` orders, or why there is none.

    ``root`` is the folder of the workspace, whose files may call the function; tiles are chosen for a chip.
    """
    if module.is_notebook or module.texts[0].language != "python":
        return "programs are synthesized for functions of Python files"
    if not module.is_file:
        return "save this file first: the program refers to its function"
    proposer = order.proposer or AUTO
    problem = _problem(order)
    if not problem and proposer not in FOR_FUNCTIONS:
        problem = f"proposer has to be one of {', '.join(FOR_FUNCTIONS)}"
    if not problem and order.emit == "tiled" and proposer not in (AUTO, LOWER):
        problem = f"programs over tiles are written by {LOWER}, or by {AUTO}; give another emit for others"
    if not problem and order.seconds is not None and order.seconds <= 0:
        problem = "seconds has to be more than 0"
    if problem:
        return problem
    entry = BY_NAME.get(proposer)
    budget = order.seconds or (None if entry is None else entry.seconds)
    options = {**shared(WritingOptions, order), "proposer": proposer, "seconds": budget}
    request = FunctionRequest(emit=order.emit, **_subject(module, order, root), **options)
    if order.emit in _OVER_TILES and proposer in (AUTO, LOWER):
        chip = chip_for(module)
        if chip.problem:
            return f"the chip cannot be used: {chip.problem}"
        request = replace(request, chip_name=chip.name, chip=described(chip.hardware))
    suffix, dims = SUFFIXES[order.emit], order.dims
    seconds = _SECONDS + (budget or 0.0)
    return Work(FUNCTION, request, seconds, _progress, lambda found: _result(found, suffix, dims))


def finding_sizes(module: Module, order: SizesOrder, root: str) -> Work[Any, Any] | str:
    """Return the work that ``stepsmith.server.sizes`` orders, or why there is none; ``root`` as above."""
    if module.is_notebook or module.texts[0].language != "python" or not module.is_file:
        return "sizes are found for functions of saved Python files"
    problem = _problem(order)
    if problem:
        return problem
    request = SizesRequest(**_subject(module, order, root))
    return Work(SIZES, request, _SECONDS, _progress, lambda found: News(message="", solutions=(), sizes=found))


def _problem(order: SizesOrder) -> str:
    """Return what is wrong with the function that an order names; nothing where it names one."""
    return "" if _selector(order) else "the function is missing: give a line or a range"


def _subject(module: Module, order: SizesOrder, root: str) -> dict[str, Any]:
    """Return what the requests of both jobs say of the function; no work is begun without trust."""
    return {
        "path": module.path, "text": module.texts[0].source.text, "selector": _selector(order), "trusted": True,
        "inputs": order.inputs, "dims": order.dims, "root": root,
    }  # fmt: skip


async def put_beside(editor: Editor, client: Client, told: News) -> None:
    """Have the client create a file with the best program; for clients that show neither a choice nor failures.

    A file that holds something else is left alone: the program goes into one with a number in its name.
    """
    problem = "" if told.solutions else told.message or ""
    if not problem and not client.document_changes:
        problem = "this editor takes no edits that create a file"
    if problem:
        editor.warn(problem)
        return
    assert told.solutions  # or there was a problem
    text = told.solutions[0].text or ""
    file = await asyncio.to_thread(_free, Path(file_path(told.file or "") or told.name or ""), text)
    whole = types.Range(types.Position(0, 0), types.Position(_LAST_LINE, 0))
    document = types.OptionalVersionedTextDocumentIdentifier(file, None)
    changes: list[Any] = [
        types.CreateFile(file, options=types.CreateFileOptions(ignore_if_exists=True)),
        types.TextDocumentEdit(document, [types.TextEdit(whole, text)]),
    ]
    params = types.ApplyWorkspaceEditParams(types.WorkspaceEdit(document_changes=changes), TITLE)
    await editor.ask(types.WORKSPACE_APPLY_EDIT, params)


def _free(wanted: Path, text: str) -> str:
    """Return the URI of the first of ``f.step.py``, ``f_2.step.py``, ... that is free or holds the text already."""
    stem, mark, kind = wanted.name.partition(".step.")
    others = (wanted.with_name(f"{stem}_{number}{mark}{kind}") for number in count(2))
    return next(path.as_uri() for path in chain([wanted], others) if not path.exists() or _holds(path, text))


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:  # a folder, or a file of somebody else
        return False


def _progress(data: WritingProgress) -> News:
    stage, count = data.stage, data.candidates  # a model tells a text, and no stage
    texts = {
        "sizes": "finding sizes of its arguments",
        "trace": "tracing the function",
        "check": "running the function at several sizes",
        "schedule": f"choosing tiles and lanes{f' ({count:,} tried)' if count else ''}",
        "verify": "verifying programs over tiles",
        "lower": f"trying layouts, verifying programs{f' ({count} done)' if count else ''}",
        "search": f"searching: {data.text}",
        "write": f"writing {count} verified program{'' if count == 1 else 's'}",
    }
    if data.layers:
        texts["lower"] = f"a program for layer {count + 1} of {data.layers} different ones"
    return News(texts.get(stage) or data.text or stage, stage, count, data.spent, data.answer)


def _result(found: FunctionResult, suffix: str, asked: Mapping[str, int]) -> News:
    """Return what the client is told; lines count from 1 here, as in the job's findings."""
    file = Path(found.path).absolute().with_name(f"{found.name}{suffix}")
    return News(
        message=found.reason,
        verdict=_verdict(found, asked) if found.programs else "",
        solutions=found.programs,
        file=file.as_uri(),
        task=bool(found.task),  # others can be asked for a program
        name=found.name,
        line=found.line,
        candidates=found.candidates,
        unsupported=found.unsupported,
        notes=found.notes,
        inferred=found.inferred,
    )


def _verdict(found: FunctionResult, asked: Mapping[str, int]) -> str:
    """Return at which sizes the programs were compared with the function; of many, those that were asked for."""
    checked = [sizes for sizes in found.checked_at if sizes]
    if not checked:
        return f"computes the same as {found.name}"
    told = max(checked, key=lambda sizes: len(sizes.items() & asked.items()))
    text = ", ".join(f"{name}={size}" for name, size in told.items())
    others = len(checked) - 1
    more = f" and {others} other sizes" if others else ""
    return f"computes the same as {found.name} at {text}{more}"


def _selector(order: SizesOrder) -> str:
    """Return the lines that a client means, counted from 1; nothing where it names none."""
    if order.line is not None:
        return str(order.line + 1)
    if order.range is None:
        return ""
    first, last = _lines(order.range)
    return f"{first + 1}-{last + 1}" if last > first else str(first + 1)


def _lines(area: types.Range | PlainRange) -> tuple[int, int]:
    """Return the first and the last line of a range; one that ends at the start of a line does not include it."""
    first, last = area.start.line, area.end.line
    return first, last - 1 if last > first and area.end.character == 0 else last


def _line(source: SourceFile, number: int) -> str:
    return source.line_text(number).rstrip()


def _text_from(source: SourceFile, first: int) -> str:
    """Return the first line from ``first`` on that is not empty, "" where there is none."""
    lines = (_line(source, number) for number in range(first, len(source.line_starts)))
    return next(filter(None, lines), "")


def _selected_head(source: SourceFile, first: int, last: int) -> int | None:
    """Return the line of the head that is selected alone or with its whole body, and nothing else."""
    head = first
    while head < last and (not _line(source, head) or _line(source, head).lstrip()[0] in "@#"):
        head += 1
    text = _line(source, head)
    if _HEAD.match(text.lstrip()) is None or not _holds_lines(source, head, head, last):
        return None
    goes_on = last > head and _margin(_text_from(source, last + 1)) > _margin(text)
    return None if goes_on else head


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())
