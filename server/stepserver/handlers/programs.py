"""Programs: code lenses, the dataflow graph, simulation."""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from lsprotocol import types

from stepcore.ide import features
from stepcore.ide.model import ProgramInfo
from stepcore.jobdata.editor import ProgramStatus, SimulationStarted
from stepcore.jobdata.plain import written
from stepcore.text.span import Span
from stepserver.documents import Module
from stepserver.handlers import optimizing
from stepserver.handlers.place import RequestPlace, place
from stepserver.parts import Parts
from stepserver.protocol import RequestRefused
from stepserver.simulation import BUSY, plain_range
from stepserver.version import VERSION

_MOST_UNITS: Final = 2**31  # the protocol has no larger number of a line or character
SIMULATE: Final = "stepsmith.server.simulate"
TIME: Final = "stepsmith.server.time"
CANCEL: Final = "stepsmith.server.cancel"
_AFTER_SAVE: Final = 0.03  # seconds from a save until what is not its verdict is looked at
_TITLES: Final = {
    "queued": "waiting",
    "running": "simulating",
    "passed": "passed",
    "failed": "failed",
    "error": "error",
    "cancelled": "cancelled",
    "stale": "outdated",
}


async def code_lens(parts: Parts, params: types.CodeLensParams) -> list[types.CodeLens] | None:
    """Put ``Simulate`` with the last verdict (``Cancel`` while it runs) above each program, and its cycles."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    settings = parts.workspace.settings_of(at.module.uri)
    rows = parts.simulation.rows(at.module, at.analysis)
    lenses = [] if settings.run == "off" else [_lens(row, _command(parts, row, at.uri)) for row in rows]
    if settings.timing_lens and parts.has("timing"):
        lenses += [
            types.CodeLens(located[1], _timeline(parts, lens.program, at.uri, lens.title))
            for lens in parts.timing.lenses(at.module, at.analysis)
            if (located := at.convert.locate(Span(lens.span.start, lens.span.start))) is not None
            and located[0].uri == at.uri
        ]
        lenses += optimizing.lenses(parts, at)
    return lenses if lenses or settings.run != "off" else None


def _lens(row: ProgramStatus, command: types.Command) -> types.CodeLens:
    start, end = (types.Position(place.line, place.character) for place in (row.range.start, row.range.end))
    return types.CodeLens(types.Range(start, end), command)


def _timeline(parts: Parts, program: str, uri: str, title: str) -> types.Command:
    """Return what a click on cycles does: it shows the timeline, where the client can."""
    if not program:
        return types.Command(title, "")
    if parts.workspace.client.is_ours:
        return types.Command(title, "stepsmith.showTimeline", arguments=[uri, program])
    return types.Command(title, TIME, arguments=[{"uri": uri}])


async def time(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run the command ``stepsmith.server.time {uri}``: time the programs of a document exactly, as it is now."""
    module = parts.documents.module_of(_target(arguments)[0] or "")
    if module is not None and parts.workspace.is_timed(module.uri):
        parts.timing.saved(module, module.revision)
        return written(SimulationStarted(True, ""))
    return written(SimulationStarted(False, "only a trusted workspace is timed"))


def _command(parts: Parts, row: ProgramStatus, uri: str) -> types.Command:
    """Return what a click does: our extension has commands of its own, other clients ask the server."""
    command = CANCEL if _is_going_on(row) else SIMULATE
    if parts.workspace.client.is_ours:
        return types.Command(lens_title(row), command.replace(".server.", "."), arguments=[uri, row.name])
    return types.Command(lens_title(row), command, arguments=[{"uri": uri, "program": row.name}])


def _is_going_on(row: ProgramStatus) -> bool:
    """Whether there is a run to cancel; one of an earlier text gives way to the next."""
    return row.state in BUSY or (row.provisional and row.state != "stale")


def lens_title(row: ProgramStatus) -> str:
    """Return the text of a code lens."""
    state = _TITLES.get(row.state)
    if row.state == "norun":
        return f"Cannot simulate: {row.message}"
    if row.state in BUSY:
        return f"Cancel | {state}"
    if state is None:
        return f"Simulate ({row.message})" if row.message else "Simulate"
    if row.state == "stale":  # time and values are those of another program
        return f"Simulate | {state}, it was: {_TITLES.get(row.was or '', 'simulated')}"
    detail = f": {row.message}" if row.message and row.state in ("failed", "error") else ""
    if row.provisional:
        return f"Cancel | {state} so far{detail}"
    return f"Simulate | {state}{detail}"


async def _asked(parts: Parts, params: Any) -> tuple[Mapping[str, Any], RequestPlace, list[ProgramInfo]] | None:
    """Return the parameters of a request of our own, the place, and its programs; None where there are none."""
    params = params if isinstance(params, Mapping) else {}
    document = params.get("textDocument")
    at = await place(parts, str(document.get("uri", "")) if isinstance(document, Mapping) else "")
    infos = [] if at is None else features.drawn_programs(at.analysis)
    return None if at is None or not infos else (params, at, infos)


async def graph(parts: Parts, params: Any) -> dict[str, Any] | None:
    """Answer ``stepsmith/graph``: the program at a position, or of a name, else the first one."""
    asked = await _asked(parts, params)
    if asked is None:
        return None
    params, at, infos = asked
    spot = params.get("position")
    offset = None if spot is None else at.offset(_position(spot))
    wanted = params.get("program")
    chosen = next((info for info in infos if wanted in (info.name, info.target)), None)
    if chosen is None and offset is not None:
        unit = at.analysis.unit_at(offset)
        name = unit.checked.name if unit is not None and unit.checked is not None else None
        chosen = next((info for info in infos if info.name == name), None)
    name = (chosen or infos[0]).name
    run = parts.simulation.run_view(at.module, at.analysis, name)
    view = features.graph(at.analysis, name, run)
    if view is None:
        return None
    programs = tuple(info.name for info in infos)
    result = view.result(at.module.version, programs, offset, lambda span: plain_range(at.convert.corners(span)))
    return written(parts.timing.drawn(at.module, at.analysis, result) if parts.has("timing") else result)


def _position(value: Any) -> types.Position:
    """Return a position of a request of our own, which nobody has read yet."""
    numbers: list[Any] = [value.get(name) for name in ("line", "character")] if isinstance(value, Mapping) else []
    if not numbers or any(type(number) is not int or not 0 <= number < _MOST_UNITS for number in numbers):
        raise RequestRefused("a position has line and character, which are whole numbers from 0 on")
    return types.Position(*numbers)


async def timeline(parts: Parts, params: Any) -> dict[str, Any] | None:
    """Answer ``stepsmith/timeline``: what each unit of a program does when, cycle by cycle."""
    asked = await _asked(parts, params)
    if asked is None:
        return None
    params, at, infos = asked
    names = [info.name for info in infos]
    name = params.get("program")
    return written(await parts.timing.timeline(at.module, at.analysis, name if name in names else names[0]))


async def status(parts: Parts, _params: Any) -> dict[str, Any]:
    """Answer ``stepsmith/status``: what "Show Set-up Information" shows."""
    return {
        "server": {
            "version": VERSION,
            "python": platform.python_version(),
            "executable": sys.executable,
            "pid": os.getpid(),
            "encoding": parts.workspace.codec.encoding,
            "documents": len(parts.documents.modules),
            "diagnostics": "pull" if parts.findings.is_pulled else "push",
        },
        "simulator": asdict(parts.simulators.status),
        "simulators": [
            {"interpreter": item.interpreter, "pids": item.worker_pids, **asdict(item.status)}
            for item in parts.simulators
        ],
        "trusted": parts.workspace.is_trusted,
        "settings": asdict(parts.workspace.settings),
    }


async def simulate(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run the command ``stepsmith.server.simulate {uri, program?}``; the answer says why nothing can be run.

    Our extension shows that; other clients drop answers of commands, so there it is a message to the user.
    """
    uri, program = _target(arguments)
    module = parts.documents.module_of(uri or "")
    if module is None:
        problem = "this document is not open"
    else:
        problem = await parts.simulation.start(module, None if program is None else [program])
    if problem and not parts.workspace.client.is_ours:
        parts.editor.warn(problem)
    return written(SimulationStarted(not problem, problem))


async def cancel(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run the command ``stepsmith.server.cancel {uri?, program?}``."""
    return {"cancelled": parts.simulation.cancel(*_target(arguments))}


async def analyze(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run the command ``stepsmith.server.analyze {uri}``, for documents too large to be analysed unasked."""
    module = parts.documents.module_of(_target(arguments)[0] or "")
    if module is not None:
        parts.analyses.demand(module)
        if parts.findings.is_pulled:  # who asks for findings asks again only when told: the text is the same
            await parts.analyses.of(module)
            parts.findings.changed(module)
    return {"started": module is not None}


def _target(arguments: tuple[Any, ...]) -> tuple[str | None, str | None]:
    """Read ``{uri, program}``, or the two one after the other; what is no text names nothing that there is."""
    if arguments and isinstance(arguments[0], Mapping):
        given = (arguments[0].get("uri"), arguments[0].get("program"))
    else:
        given = (*arguments, None, None)[:2]
    uri, program = (text if text is None or isinstance(text, str) else "" for text in given)
    return uri, program


async def did_save(parts: Parts, params: types.DidSaveTextDocumentParams) -> None:
    """Simulate what a save changed, and look whether runs have read what was saved.

    Everything else waits for a moment: a verdict is what somebody waits for, and a thread hands the run to its worker,
    which gets its turn late where the loop is busy.
    """
    parts.simulation.forget_marks()
    module = parts.documents.module_of(params.text_document.uri)
    revision = None if module is None else module.revision
    try:
        if module is not None and parts.workspace.settings_of(module.uri).run == "onSave":
            await parts.simulation.start(module, on_save=True)
    finally:
        after = functools.partial(_after_save, parts, module, revision)
        parts.loop.later(_AFTER_SAVE, lambda: parts.reporter.run("a save", after))


def _after_save(parts: Parts, module: Module | None, revision: int | None) -> None:
    """Time what is on disk now, and show which other runs have read it."""
    parts.simulation.look_again()
    if module is None or revision is None or not parts.documents.is_open(module):
        return
    if parts.has("timing") or parts.workspace.is_timed(module.uri):
        parts.timing.saved(module, revision)
