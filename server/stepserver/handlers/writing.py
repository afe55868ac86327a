"""Commands of *Write impl* and *Synthesize*: start a job, stop it, put its program into the text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from stepcore.jobdata.editor import OrderStarted
from stepcore.jobdata.plain import written

if TYPE_CHECKING:
    from stepserver.parts import Parts


async def write(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.write {uri, proposer?, solutions?, seconds?, apply?, ...}``.

    With ``proposer: "model"`` the client is asked by ``stepsmith/model``, and told of each answer by ``answer``: the
    texts ``opening``, ``section`` and ``closing`` of a document about all of them; ``price`` and
    ``answers_without_program`` are as in :mod:`stepagents.proposers.model`. Returns ``id``, 0 where ``message`` says
    why nothing was started; ``stepsmith/writing`` tells the rest.
    """
    options = _options(arguments)
    module = parts.documents.module_of(str(options.get("uri", "")))
    if module is None:
        return written(OrderStarted(0, "this document is not open"))
    analysis = await parts.analyses.of(module)
    if analysis.kind != "task" or module.is_notebook:
        return written(OrderStarted(0, "programs are written for task files: one with inputs, functions and outputs"))
    number, problem = parts.writing.write(module, module.texts[0].source.text, options)
    return written(OrderStarted(number, problem))


async def synthesize(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.synthesize {uri, line | range, dims?, inputs?, emit?, proposer?, seconds?, apply?, ...}``.

    ``line`` counts from 0, as positions do; ``inputs`` are texts such as ``x=m k``; ``emit`` is ``python`` or ``task``.
    ``proposer`` is ``auto``, ``lower``, ``search`` or ``model``: the client is then asked by ``stepsmith/model``, as
    ``samples``, ``repair`` and ``model`` (its name) say. A search or a model has ``seconds``.
    ``apply`` lets the client create the file of the best program, which all others do themselves. Returns ``id``, 0
    where ``message`` says why nothing was started; ``stepsmith/writing`` tells the rest.
    """
    from stepserver.synthesis import put_beside, synthesis

    options = _rooted(parts, arguments)
    applies = options.get("apply") is True
    module = parts.documents.module_of(str(options.get("uri", "")))
    work = "this document is not open" if module is None else synthesis(module, options)
    if module is None or isinstance(work, str):
        number, problem = 0, str(work)
    else:
        deliver = partial(put_beside, parts.editor, parts.workspace.client)
        number, problem = parts.writing.start(module, work, deliver if applies else None)
    if problem and applies:  # such a client drops answers of commands
        parts.editor.warn(problem)
    return written(OrderStarted(number, problem))


async def sizes(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.sizes {uri, line | range, inputs?}``: propose sizes for a function, and check ``inputs``.

    Returns ``id`` and ``message`` as ``synthesize`` does; the last ``stepsmith/writing`` has ``sizes``: what the job
    ``sizes`` of the agents' worker returns.
    """
    from stepserver.synthesis import finding_sizes

    options = _rooted(parts, arguments)
    module = parts.documents.module_of(str(options.get("uri", "")))
    work = "this document is not open" if module is None else finding_sizes(module, options)
    if module is None or isinstance(work, str):
        return written(OrderStarted(0, str(work)))
    number, problem = parts.writing.start(module, work)
    return written(OrderStarted(number, problem))


async def stop_writing(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.stopWriting {id?}``; without a number all are stopped."""
    number = _options(arguments).get("id")
    return {"stopped": parts.writing.stop(number if isinstance(number, int) else None)}


async def with_impl(parts: Parts, *arguments: Any) -> dict[str, Any]:
    """Run ``stepsmith.server.withImpl {uri, impl}``: the document's text with that program, or ``message``."""
    options = _options(arguments)
    text, problem = parts.writing.with_impl(str(options.get("uri", "")), str(options.get("impl", "")))
    return {"text": text, "message": problem}


def _rooted(parts: Parts, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Read the options of an order for a function, with the folder of the workspace that may hold its callers."""
    from pygls.uris import to_fs_path

    options = _options(arguments)
    return {**options, "root": to_fs_path(parts.workspace.folder_of(str(options.get("uri", "")))) or ""}


def _options(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Read the one object that a client gives."""
    first = arguments[0] if arguments else None
    return dict(first) if isinstance(first, Mapping) else {}
