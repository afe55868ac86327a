"""The agents' workers as parts of the server own them: one for each interpreter, and the model that a job may ask."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

from stepcore.jobdata.editor import ModelQuestion
from stepcore.jobdata.plain import from_plain, to_plain
from stepcore.jobs import Limits, Pool
from stepserver.documents import Module
from stepserver.editor import Editor
from stepserver.simulators import START_SECONDS, worker_command, worker_environment
from stepserver.workspace import Workspace

MODEL: Final = "stepsmith/model"
WORKER: Final = "stepagents.worker"
MOST_PARTS: Final = 2000  # layers of a network, for each of which the time of a job counts anew


class AgentPools:
    """One pool of one worker for each interpreter, made when it is first asked for."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._pools: dict[str, Pool] = {}

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the workers."""
        return [pid for pool in self._pools.values() for pid in pool.worker_pids]

    def of(self, module: Module) -> Pool:
        """Return the pool for a document."""
        interpreter = self._workspace.interpreter_of(module.uri)
        if interpreter not in self._pools:
            limits = Limits(start_seconds=START_SECONDS, parts=MOST_PARTS)
            command, environment = worker_command(interpreter, WORKER), worker_environment(self._workspace.client)
            self._pools[interpreter] = Pool(command, 1, limits, environment)
        return self._pools[interpreter]

    async def reset(self) -> None:
        """End the workers; does not block the loop. The next job starts them anew."""
        pools, self._pools = list(self._pools.values()), {}
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, pool.close) for pool in pools))

    def close(self) -> None:
        """Kill all workers and wait for it; for the end of the process."""
        for pool in self._pools.values():
            pool.close()


async def answer_of_model(editor: Editor, question: Any, asker: str) -> Any:
    """Let the client answer a question of a job of the order ``asker``; what it cannot answer is a fault of its model.

    Raises:
        Mistyped: that is no question; a worker is not trusted.
    """
    asked = replace(from_plain(ModelQuestion, question), asker=asker)
    answer = await editor.ask(MODEL, to_plain(asked))
    return answer if answer is not None else {"fault": "other", "message": "the editor offers no language model"}
