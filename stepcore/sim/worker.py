"""The worker process of the simulator: ``python -m stepcore.sim.worker``, started by a pool of :mod:`stepcore.jobs`.

Kinds of jobs (payloads are objects with these keys; optional ones in brackets):

- ``verify``: ``path`` (as users know it), ``text``, [``file`` (the absolute path), ``program``, ``impl``: {``path``,
  ``text``}, ``dims``, ``seed``, ``affine``] -> list of rows, see :func:`stepcore.sim.worker_verify.verify`;
- ``simulate``: ``path``, ``text``, [``file``, ``program``, ``dims``, ``seed``, ``values``, ``batch``: a user's file is
  imported once for jobs with the same, which follow one another] -> one object, see
  :func:`stepcore.sim.worker_simulate.simulate`;
- ``import-check``: ``path``, ``text`` of a Python file -> ``{"programs": [...]}``, the names with a reference;
- ``about``: nothing -> versions, limits, and how the worker is isolated.

torch is imported before the worker says hello. Without it every job ends with STEP410.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Final

from stepcore.jobs import Context, Handler, JobError, serve_with
from stepcore.jobs.messages import MEMORY_VARIABLE

_MISSING: Final = "simulation needs PyTorch, which this Python does not have: pip install torch numpy"


def verify(payload: Any, context: Context) -> Any:
    """Run :func:`stepcore.sim.worker_verify.verify`."""
    from stepcore.sim.worker_verify import verify

    return _guarded(verify, payload, context)


def simulate(payload: Any, context: Context) -> Any:
    """Run :func:`stepcore.sim.worker_simulate.simulate`."""
    from stepcore.sim.worker_simulate import simulate

    return _guarded(simulate, payload, context)


def import_check(payload: Any, context: Context) -> Any:
    """Import a user's module; tells which programs have a reference."""
    from stepcore.sim.worker_import import import_module, programs_of

    def run(payload: Any, _context: Context) -> Any:
        programs = programs_of(import_module(payload.get("file", payload["path"]), payload["text"]))
        return {"programs": [name for name, program in programs.items() if program.reference is not None]}

    return _guarded(run, payload, context)


def about(_payload: Any, context: Context) -> Any:
    """Tell what this worker runs on."""
    import torch

    return {
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "isolation": context.isolation,
        "memory_limited": sys.platform.startswith("linux") and MEMORY_VARIABLE in os.environ,
    }


def _guarded(run: Callable[[Any, Context], Any], payload: Any, context: Context) -> Any:
    """Run a job; errors of the simulator and a lack of memory become errors of the job."""
    from stepcore.sim.errors import SimError

    try:
        return run(payload, context)
    except SimError as error:
        raise JobError(error.code, error.message, {"node": error.node}) from error
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        from stepcore.sim.worker_tasks import forget_tasks

        forget_tasks()
        raise JobError("STEP406", "the memory limit was reached; use smaller sizes (--dims)") from error


def _prepare() -> None:
    """Import torch and start its threads, so that neither counts as time or memory of a job."""
    import torch

    from stepcore.sim.worker_tasks import THREADS

    torch.set_num_threads(THREADS)
    left = torch.ones(256, 256)
    (left @ left).sum().item()


_HANDLERS: Final[dict[str, Handler]] = {
    "verify": verify, "simulate": simulate, "import-check": import_check, "about": about,
}  # fmt: skip


def main() -> None:
    """Serve until the owner goes away."""
    serve_with("torch", _MISSING, _HANDLERS, _prepare)


if __name__ == "__main__":
    main()
