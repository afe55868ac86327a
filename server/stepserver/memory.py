"""When memory is looked through for garbage, and when it is given back to the system."""

from __future__ import annotations

import functools
import gc
import logging
import sys
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

_REMEMBERING: Final = ("stepcore.", "urllib.parse")  # modules with caches of texts, types and URIs
_Cache: Final = type(functools.lru_cache(len))


def settle() -> None:
    """Switch garbage collection on, after the start; what is there now is not looked at before :func:`release`.

    To look at it now would take 0.1 s, just when the first requests arrive; the start leaves little garbage.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # an answer makes thousands of objects that are gone with it
    gc.enable()


def release() -> None:
    """Forget what was remembered about texts, and give free memory back to the system. Takes about 0.1 s.

    The allocator returns only what is free as a whole, so each small thing that is forgotten here counts.
    """
    from stepcore.fn.check import forget

    for name, module in list(sys.modules.items()):
        if name.startswith(_REMEMBERING):
            for value in list(vars(module).values()):
                if isinstance(value, _Cache):
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
