"""What a user's code sets in PyTorch for the whole process, put back when that code is done.

A worker runs file after file. A default dtype or device, a mode or a seed that one of them leaves behind would change
what is drawn, computed and compared afterwards, in its own verification and in those of other files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

from stepcore.sim.torch_functions import ReplacedFunctions, TorchFunctions

_CPU: Final = torch.device("cpu")
_DETERMINISTIC: Final[Any] = torch.utils.deterministic


def _set_deterministic(value: tuple[bool, bool, bool]) -> None:
    torch.use_deterministic_algorithms(value[0], warn_only=value[1])
    _DETERMINISTIC.fill_uninitialized_memory = value[2]


def _deterministic() -> tuple[bool, bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        bool(_DETERMINISTIC.fill_uninitialized_memory),
    )


def _set_device(device: torch.device) -> None:
    torch.set_default_device(None if device == _CPU else device)


# Each setting: how it is read, and how it is set. All of them are cheap to read.
_SETTINGS: Final[tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...]] = (
    (torch.get_default_device, _set_device),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch._C._set_grad_enabled),
    (_deterministic, _set_deterministic),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
    (lambda: torch.is_autocast_enabled("cpu"), lambda value: torch.set_autocast_enabled("cpu", value)),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
)


@contextmanager
def settings_kept() -> Iterator[None]:
    """Put back, at the end, what the code inside sets in PyTorch: settings of the process, and the state of its seed.

    Numbers too small for the usual form (denormals) are computed with again, too.

    Raises:
        ReplacedFunctions: the code replaced functions of PyTorch. These are put back, whatever else it raised.
    """
    functions = TorchFunctions()
    before = [read() for read, _ in _SETTINGS]
    drawn = torch.get_rng_state()
    replaced: list[str] = []
    try:
        yield
    finally:
        replaced += functions.put_back()
        for value, (read, put) in zip(before, _SETTINGS, strict=True):
            if read() != value:
                put(value)
        torch.set_flush_denormal(False)
        torch.set_rng_state(drawn)
    if replaced:
        raise ReplacedFunctions(replaced)
