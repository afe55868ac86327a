"""The optimizer's worker with slow jobs, as where candidates take long: ``python -m benchmarks.slow_trials``.

Each job sleeps before it works, so that many workers fit on few processors.
"""

from __future__ import annotations

from time import sleep
from typing import Any, Final

from stepagents.optimize.worker import handlers
from stepcore.jobs import Context, Handler, serve

SLOW_TRIALS: Final = "benchmarks.slow_trials"
SECONDS: Final = 1.0


class _Slow(Handler):
    def __init__(self, handler: Handler) -> None:
        super().__init__(handler.kind, handler)
        self._handler = handler

    def __call__(self, payload: Any, context: Context) -> Any:
        sleep(SECONDS)
        return self._handler(payload, context)


if __name__ == "__main__":
    serve([_Slow(handler) for handler in handlers()])
