"""What ``stepsmith`` begins before it has read its command line, see :func:`stepcore.cli.points.begun`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext


def begun(words: Sequence[str]) -> AbstractContextManager[None]:
    """Start the worker of ``synth FILE.py::FUNCTION``, which imports PyTorch while this process still gets ready."""
    if words[0] != "synth":
        return nullcontext()
    from stepagents.cli.synth_function import begun

    return begun(words[1:])
