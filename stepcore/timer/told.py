"""What workers that time programs say of chips that they cannot use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stepcore.chips.keys import HardwareError
from stepcore.jobs import JobError


@contextmanager
def chip_told() -> Iterator[None]:
    """Let a job that cannot use its chip fail with what is wrong with it.

    Raises:
        JobError: STEP506, the chip cannot be used.
    """
    try:
        yield
    except HardwareError as error:
        raise JobError("STEP506", str(error)) from error
