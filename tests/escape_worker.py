"""A worker whose one job is to run an attempt to get out; `python -m escape_worker`. See tests/escapes/README.md."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from stepcore.isolation import Isolation, landlock, namespaces, seccomp, unprotected
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Context, Handler, serve, serving


def attempt(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Run ``text`` as user code; tell what ``attempt`` returned or raised."""
    os.environ.update(payload["environment"])
    if payload["folder"] is not None:
        os.chdir(payload["folder"])
    context.progress("begun")
    module = ModuleType("attempt")
    try:
        exec(compile(payload["text"], payload["path"], "exec"), vars(module))
        found = module.attempt(Path(payload["outside"]))
        return {"got": bool(found), "shown": repr(found)[:300], "key": payload["key"]}
    except BaseException as error:  # noqa: BLE001 - a refusal
        return {"got": False, "shown": f"{type(error).__name__}: {error}"[:300], "key": payload["key"]}


def forbidden(_isolation: Isolation) -> frozenset[str]:
    """Refuse as a kernel does whose namespaces are for administrators only."""
    raise PermissionError(1, "Operation not permitted")


if __name__ == "__main__":
    if "--no-namespaces" in sys.argv:  # as in containers that permit none
        vars(namespaces)["separate"] = forbidden
    if "--no-scopes" in sys.argv:  # as before Linux 6.12
        vars(landlock)["_SCOPES"] = 0
    if "--no-filters" in sys.argv:  # as where neither Landlock nor filters of calls are built in
        vars(landlock)["version"] = lambda: 0
        vars(seccomp)["available"] = lambda: False
    if sys.argv[1:] == ["--open"]:  # for the proof that the checks notice an escape
        vars(serving)["_isolate"] = lambda: (unprotected(Isolation()), os.getpid())
    serve([Handler(untyped("attempt"), attempt)])
