"""Commands of *Write impl* and *Synthesize*: start a job, stop it, put its program into the text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from stepcore.jobdata.editor import (
    ImplOrder,
    OrderStarted,
    SizesOrder,
    StopOrder,
    Stopped,
    SynthesizeOrder,
    TextWithImpl,
    WriteOrder,
)  # fmt: skip
from stepcore.jobdata.plain import written
from stepserver.handlers.orders import CLOSED, order_of

if TYPE_CHECKING:
    from stepserver.documents import Module
    from stepserver.parts import Parts
    from stepserver.writing import Work

FunctionOrder = TypeVar("FunctionOrder", bound=SizesOrder)


async def write(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.write`` with a :class:`stepcore.jobdata.editor.WriteOrder`.

    A proposer that asks a model asks the client by ``stepsmith/model``, which is told of each answer by ``answer``: the
    texts ``opening``, ``section`` and ``closing`` of a document about all of them; ``price`` and
    ``answers_without_program`` are as in :mod:`stepagents.proposers.model`. Returns ``id``, 0 where ``message`` says
    why nothing was started; ``stepsmith/writing`` tells the rest.
    """
    order = order_of(WriteOrder, arguments)
    if isinstance(order, str):
        return written(OrderStarted(0, order))
    module = parts.documents.module_of(order.uri)
    if module is None:
        return written(OrderStarted(0, CLOSED))
    analysis = await parts.analyses.of(module)
    if analysis.kind != "task" or module.is_notebook:
        return written(OrderStarted(0, "programs are written for task files: one with inputs, functions and outputs"))
    return written(OrderStarted(*parts.writing.write(module, module.texts[0].source.text, order)))


async def synthesize(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.synthesize`` with a :class:`stepcore.jobdata.editor.SynthesizeOrder`.

    ``proposer`` is one of :data:`stepcore.jobs.proposers.FOR_FUNCTIONS`; whoever asks a model asks the client by
    ``stepsmith/model``. ``apply`` lets the client create the file of the best program, which all others do themselves.
    Returns ``id``, 0 where ``message`` says why nothing was started; ``stepsmith/writing`` tells the rest.
    """
    from stepserver.synthesis import put_beside, synthesis

    order = order_of(SynthesizeOrder, arguments)
    applies = not isinstance(order, str) and order.apply
    deliver = partial(put_beside, parts.editor, parts.workspace.client) if applies else None
    number, problem = _begun(parts, order, partial(synthesis, chip_for=parts.timing.chip), deliver)
    if problem and applies:  # such a client drops answers of commands
        parts.editor.warn(problem)
    return written(OrderStarted(number, problem))


async def sizes(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.sizes`` with a :class:`stepcore.jobdata.editor.SizesOrder`: propose sizes, check others.

    Returns ``id`` and ``message`` as ``synthesize`` does; the last ``stepsmith/writing`` has ``sizes``: what the job
    ``sizes`` of the agents' worker returns.
    """
    from stepserver.synthesis import finding_sizes

    return written(OrderStarted(*_begun(parts, order_of(SizesOrder, arguments), finding_sizes)))


def _begun(
    parts: Parts,
    order: FunctionOrder | str,
    work_of: Callable[[Module, FunctionOrder, str], Work[Any, Any] | str],
    deliver: Callable[..., Any] | None = None,
) -> tuple[int, str]:
    """Start what an order for a function asks for; returns its number, or 0 and why that cannot be done."""
    from stepserver.paths import file_path

    if isinstance(order, str):
        return 0, order
    module = parts.documents.module_of(order.uri)
    if module is None:
        return 0, CLOSED
    work = work_of(module, order, file_path(parts.workspace.folder_of(order.uri)) or "")
    asker = order.asker if isinstance(order, SynthesizeOrder) else ""  # to find sizes asks no model
    return (0, work) if isinstance(work, str) else parts.writing.start(module, work, deliver, asker)


async def stop_writing(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.stopWriting`` with a :class:`stepcore.jobdata.editor.StopOrder`."""
    order = order_of(StopOrder, arguments)
    return written(Stopped(0, order) if isinstance(order, str) else Stopped(parts.writing.stop(order.id)))


async def with_impl(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.withImpl`` with a :class:`stepcore.jobdata.editor.ImplOrder`."""
    order = order_of(ImplOrder, arguments)
    return written(TextWithImpl("", order) if isinstance(order, str) else parts.writing.with_impl(order))
