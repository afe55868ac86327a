"""How much memory the server may take, when it is looked through for garbage, and when it is given back."""

from __future__ import annotations

import functools
import gc
import logging
import os
import sys
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

# MiB that the server may take beyond what it has after its start; 0 for no limit. Workers have limits of their own.
VARIABLE: Final = "STEPSMITH_SERVER_MEMORY"
_HEADROOM: Final = 1024

# Modules with caches of texts, types and URIs.
_REMEMBERING: Final = ("stepcore.", "stepserver.convert", "urllib.parse")
# Objects that are new and not freed. One edit leaves about a thousand; to look through many takes 10 ms and more, so
# that is left to `sweep` unless they become too many before there is time for it.
_MANY: Final = 50_000
_FEW: Final = 2_000
_SWEEPS: Final = 20  # of young objects, before one of all
_Cache: Final = type(functools.lru_cache(len))


def limit() -> None:
    """Let what would take too much memory end with a MemoryError, from which the server recovers (on Linux).

    Without it the system would end the whole server, or another process of the user.
    """
    text = os.environ.get(VARIABLE, "")
    if text and not text.isdecimal():
        log.warning("%s: expected a number of MiB, found %r", VARIABLE, text)
        text = ""
    headroom = int(text or _HEADROOM)
    if headroom:
        from stepcore.system.data_limit import limit_beyond_now

        limit_beyond_now(max(headroom, 64) << 20)


def settle() -> None:
    """Switch garbage collection on, after the start; what is there now is not looked at before :func:`release`.

    To look at it now would take 0.1 s, just when the first requests arrive; the start leaves little garbage.
    """
    from stepcore.system.collector import keep_out

    keep_out()
    gc.set_threshold(_MANY, 20, 20)
    gc.enable()


def sweep() -> None:
    """Collect what edits have left, if that is worth it; for a moment in which nobody waits.

    The states of a program before an edit refer to one another in circles, so they are not freed by themselves.
    """
    young, _, swept = gc.get_count()
    if young > _FEW:
        gc.collect(2 if swept >= _SWEEPS else 1)


def release() -> None:
    """Forget what was remembered about texts, and give free memory back to the system. Takes about 0.1 s.

    The allocator returns only what is free as a whole, so each small thing that is forgotten here counts.
    """
    from stepcore.fn.check import forget
    from stepcore.text.remembered import Remembered

    for name, module in list(sys.modules.items()):
        if name.startswith(_REMEMBERING):
            for value in list(vars(module).values()):
                if isinstance(value, _Cache | Remembered):
                    value.cache_clear()
    forget()
    gc.unfreeze()  # a document that was open at the start is among the frozen
    tidy()
    gc.freeze()


def tidy() -> None:
    """Give back what is free. Worth a second call when the messages and timers that led to the first are gone: the
    few objects that they leave in the interpreter's free lists hold on to as many arenas of 1 MB.
    """
    sys._clear_type_cache()  # it keeps names alive
    gc.collect()  # this empties the free lists, too
    if sys.platform == "linux":
        _trim()


def _trim() -> None:
    try:
        _malloc_trim()(0)
    except (OSError, AttributeError) as error:  # a C library without it
        log.debug("memory is not trimmed: %s", error)


@functools.lru_cache
def _malloc_trim() -> Callable[[int], int]:
    """Return the function of the C library; once, because each look-up makes classes that hold on to memory."""
    import ctypes  # not before somebody needs it

    found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    return found
