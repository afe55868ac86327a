"""The worker process of the simulator: ``python -m stepcore.sim.worker``, started by a pool of :mod:`stepcore.jobs`.

Its jobs, with what they take and return, are in :mod:`stepcore.jobdata.programs`. torch is imported before the worker
says hello. Without it every job ends with STEP410.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Final, TypeVar

from stepcore.jobdata.programs import (
    ABOUT,
    SIMULATE,
    VERIFY,
    AboutResult,
    SimulateRequest,
    SimulateResult,
    VerdictRow,
    VerifyRequest,
)
from stepcore.jobs import Context, Handler, JobError, serve_with
from stepcore.jobs.importing import importing
from stepcore.jobs.messages import MEMORY_VARIABLE

Request = TypeVar("Request")
Result = TypeVar("Result")
_WARM: Final = "stepcore.sim.worker.warm"
_MISSING: Final = "simulation needs PyTorch, which this Python does not have: pip install torch numpy"


def verify(request: VerifyRequest, context: Context) -> tuple[VerdictRow, ...]:
    """Run :func:`stepcore.sim.worker.verify.verify`."""
    from stepcore.sim.worker.verify import verify

    return _guarded(verify, request, context)


def simulate(request: SimulateRequest, context: Context) -> SimulateResult:
    """Run :func:`stepcore.sim.worker.simulate.simulate`."""
    from stepcore.sim.worker.simulate import simulate

    return _guarded(simulate, request, context)


def about(_request: None, context: Context) -> AboutResult:
    """Tell what this worker runs on, once it is ready for programs."""
    import torch

    with importing(_WARM):
        import_module(_WARM)

    return AboutResult(
        python=sys.version.split()[0],
        torch=str(torch.__version__),
        threads=torch.get_num_threads(),
        isolation=context.isolation,
        memory_limited=sys.platform.startswith("linux") and MEMORY_VARIABLE in os.environ,
    )


def _guarded(run: Callable[[Request, Context], Result], request: Request, context: Context) -> Result:
    """Run a job; errors of the simulator and a lack of memory become errors of the job."""
    from stepcore.findings.errors import SimError

    try:
        return run(request, context)
    except SimError as error:
        raise JobError(error.code, error.message, {"node": error.node}) from error
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        from stepcore.sim.worker.tasks import forget_tasks

        forget_tasks()
        raise JobError("STEP406", "the memory limit was reached; use smaller sizes (--dims)") from error


def _prepare() -> None:
    """Import torch and start its threads, so that neither counts as time or memory of a job."""
    import torch

    from stepcore.sim.worker.tasks import THREADS

    torch.set_num_threads(THREADS)
    left = torch.ones(256, 256)
    (left @ left).sum().item()


_HANDLERS: Final = (Handler(VERIFY, verify), Handler(SIMULATE, simulate), Handler(ABOUT, about))


def main() -> None:
    """Serve until the owner goes away."""
    serve_with("torch", _MISSING, _HANDLERS, _prepare)


if __name__ == "__main__":
    main()
