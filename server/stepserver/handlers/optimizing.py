"""Commands of *Make it faster*: a search, what it found into the text, why rewrites cannot; and where it is offered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lsprotocol import types

from stepcore.ide import features
from stepcore.ide.model import ProgramInfo
from stepcore.jobdata.editor import (
    ExplainedRewrites,
    ExplainOrder,
    OptimizeOrder,
    OptimizeStarted,
    OptimizeStop,
    Stopped,
    Taken,
    TakeOrder,
)
from stepcore.jobdata.plain import written
from stepcore.text.span import Span
from stepserver.handlers.orders import CLOSED, order_of
from stepserver.handlers.place import RequestPlace
from stepserver.parts import Parts

OPTIMIZE: Final = "stepsmith.server.optimize"
KIND: Final = "refactor.rewrite.stepsmith"


async def optimize(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.optimize`` with a :class:`stepcore.jobdata.editor.OptimizeOrder`.

    Returns ``id``, 0 where ``message`` says why nothing was started, or ``choices`` which programs there are;
    ``stepsmith/optimizing`` tells the rest.
    """
    order = order_of(OptimizeOrder, arguments)
    if isinstance(order, str):
        return written(OptimizeStarted(0, order))
    module = parts.documents.module_of(order.uri)
    if module is None:
        return written(OptimizeStarted(0, CLOSED))
    analysis = await parts.analyses.of(module)
    choices = parts.optimizing.choices(module, analysis, order) if order.choose else ()
    if choices:
        return written(OptimizeStarted(0, "", choices=choices))
    started = OptimizeStarted(*parts.optimizing.start(module, analysis, order))
    if started.message and order.apply:  # such a client drops answers of commands
        parts.editor.warn(started.message)
    return written(started)


async def stop_optimizing(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.stopOptimizing`` with a :class:`stepcore.jobdata.editor.OptimizeStop`."""
    order = order_of(OptimizeStop, arguments)
    return written(Stopped(0, order) if isinstance(order, str) else Stopped(parts.optimizing.stop(order)))


async def explain_rewrites(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.explainRewrites`` with a :class:`stepcore.jobdata.editor.ExplainOrder`."""
    order = order_of(ExplainOrder, arguments)
    if isinstance(order, str):
        return written(ExplainedRewrites(order))
    module = parts.documents.module_of(order.uri)
    if module is None:
        return written(ExplainedRewrites(CLOSED))
    return written(await parts.optimizing.explain(module, await parts.analyses.of(module), order))


async def take_faster(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.takeFaster`` with a :class:`stepcore.jobdata.editor.TakeOrder`."""
    order = order_of(TakeOrder, arguments)
    return written(Taken(False, order) if isinstance(order, str) else await parts.optimizing.take(order))


def lenses(parts: Parts, at: RequestPlace) -> Iterator[types.CodeLens]:
    """Yield a line for each program with cycles, beside them; our extension alone can show what comes of it."""
    if not parts.workspace.client.is_ours or not parts.workspace.is_timed(at.module.uri):
        return
    known = [info for info in features.programs(at.analysis) if parts.timing.has_cycles(at.module, info.name)]
    if not known:
        return
    from stepserver.offering import hindrance_in  # here, because nothing is offered before the first cycles
    from stepserver.optimizing import lens_title

    for info in known:
        located = at.convert.locate(Span(info.head.start, info.head.start))
        if located is None or located[0].uri != at.uri:
            continue
        news = parts.optimizing.news(at.module, info.name) if parts.has("optimizing") else None
        if (
            news is None
            and at.module.is_file
            and hindrance_in(parts.workspace, parts.projects, at.module, at.analysis, info)
        ):
            continue  # a click would only tell why; what was never saved the editor saves first
        name = "stepsmith.makeFaster" if news is None else "stepsmith.stopMakingFaster"
        yield types.CodeLens(located[1], types.Command(lens_title(news), name, arguments=[at.uri, info.name]))


def actions(parts: Parts, at: RequestPlace, span: Span) -> list[types.CodeAction]:
    """Offer it for the program of a place; other clients than our extension get the best put into the text."""
    if not parts.workspace.is_trusted:
        return []
    info = next((each for each in features.programs(at.analysis) if _touches(each, span)), None)
    if info is None:
        return []
    from stepserver.offering import TITLE, hindrance_in

    if hindrance_in(parts.workspace, parts.projects, at.module, at.analysis, info):
        return []
    # Where nothing is timed the reader of chips is not loaded for a light bulb: the order tells of a chip.
    if parts.workspace.is_timed(at.module.uri) and parts.timing.chip(at.module).problem:
        return []
    if parts.workspace.client.is_ours:
        command = types.Command(TITLE, "stepsmith.makeFaster", arguments=[at.uri, info.name])
    else:
        order = {"uri": at.uri, "program": info.name, "apply": True}
        command = types.Command(TITLE, OPTIMIZE, arguments=[order])
    return [types.CodeAction(TITLE, kind=KIND, command=command)]


def _touches(info: ProgramInfo, span: Span) -> bool:
    return info.span.start <= span.end and span.start <= info.span.end
