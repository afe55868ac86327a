"""Connecting to a Ray cluster, or starting a Ray on this machine; without usage statistics, and without credentials."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Final

from stepagents.executors.ray.slot import foreign_credentials

_MISSING: Final = "ray is not installed: pip install ray, or use --executor local"
_FIND: Final = "auto"  # the address of whatever cluster runs on this machine
_REACH_SECONDS: Final = 10.0
# What Ray raises where it cannot start or reach a cluster; for a node that does not start in time, `Exception` itself.
_UNREACHABLE: Final = (ConnectionError, ValueError, RuntimeError, OSError, AssertionError)
_STORE_BYTES: Final = 100 << 20  # of the Ray that is started here: payloads and results are small


class RayUnusable(Exception):
    """Ray is missing, or its cluster cannot be used; the message says what to do."""


def connect(address: str | None, size: int | None) -> bool:
    """Connect, or raise ``RayUnusable``; returns whether it was done (and has to be undone) here."""
    if find_spec("ray") is None:
        raise RayUnusable(_MISSING)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read when a cluster starts
    import ray

    if ray.is_initialized():
        return False
    if address not in (None, _FIND):
        _reach(address)
    logging.getLogger("ray").setLevel(logging.ERROR)  # its hints are for those who start clusters themselves
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    try:
        if address is not None:
            ray.init(address=address, **options)
            return True
        with _without_credentials():
            ray.init(
                address="local", num_cpus=size, include_dashboard=False, object_store_memory=_STORE_BYTES, **options
            )
    except Exception as error:
        if type(error) is not Exception and not isinstance(error, _UNREACHABLE):
            raise
        where = f"the Ray cluster at {address} cannot be reached" if address else "Ray cannot be started here"
        raise RayUnusable(f"{where}: {first_line(error)}") from error
    return True


def _reach(address: str) -> None:
    """Find out in seconds what Ray needs minutes for: whether somebody listens at ``address``."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise RayUnusable(f"{address!r} is no HOST:PORT of a Ray cluster, and not `{_FIND}`")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise RayUnusable(f"the Ray cluster at {address} cannot be reached: {first_line(error)}") from error


@contextmanager
def _without_credentials() -> Iterator[None]:
    """Hide credentials from the processes that Ray starts: they inherit this process's environment."""
    hidden = {name: os.environ.pop(name) for name in foreign_credentials()}
    try:
        yield
    finally:
        os.environ.update(hidden)


def cluster_cpus() -> int:
    """Return how many CPUs the cluster has."""
    import ray

    resources: Any = ray.cluster_resources  # untyped
    return max(int(resources().get("CPU", 1)), 1)


def first_line(error: BaseException) -> str:
    """Return the first line of what an exception says."""
    return (str(error) or type(error).__name__).strip().split("\n", 1)[0][:300]
