"""Imports of what is large, PyTorch above all, in a worker."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from stepcore.system.collector import keep_out


@contextmanager
def importing(module: str = "") -> Iterator[None]:
    """Pause the cyclic garbage collector for the imports inside, and keep what they made out of all later searches.

    Modules live as long as the process, and PyTorch's are a million objects: to go through them again and again while
    they are made takes a quarter of the time of their import, and a tenth of a second whenever a job has left many
    objects. What was garbage before goes first, because nothing that is kept out is ever collected.
    Does nothing where ``module`` is imported already.
    """
    if module in sys.modules:
        yield
        return
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        keep_out()
        if was_enabled:
            gc.enable()
