"""Connecting to a Ray cluster, or starting a Ray on this machine; without usage statistics, and without credentials."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Final

from stepagents.executors.ray.slot import foreign_credentials

_MISSING: Final = "ray is not installed: pip install ray, or use --executor local"
_FIND: Final = "auto"  # the address of whatever cluster runs on this machine
_REACH_SECONDS: Final = 10.0
# What Ray raises where it cannot start or reach a cluster; for a node that does not start in time, `Exception` itself.
_UNREACHABLE: Final = (ConnectionError, ValueError, RuntimeError, OSError, AssertionError)
_RECONNECT_SECONDS: Final = "86400"  # Ray ends the process whose cluster is gone; :class:`ClusterWatch` is earlier
_LOOK_SECONDS: Final = 2.0  # between two looks at the cluster, and for each of them
_LOOKS: Final = 3  # without a cluster, one after the other
_STORE_BYTES: Final = 100 << 20  # of the Ray that is started here: payloads and results are small


class RayUnusable(Exception):
    """Ray is missing, or its cluster cannot be used; the message says what to do."""


def connect(address: str | None, size: int | None) -> bool:
    """Connect, or raise ``RayUnusable``; returns whether it was done (and has to be undone) here."""
    if find_spec("ray") is None:
        raise RayUnusable(_MISSING)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read when a cluster starts
    if address is not None:  # of processes that are started here the environment is the same, and they must end
        os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", _RECONNECT_SECONDS)
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


def missing() -> str:
    """Return what is missing of the cluster that this process is connected to, "" where it can be used."""
    import ray

    address = str(ray.get_runtime_context().gcs_address)
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _LOOK_SECONDS).close()
    except OSError as error:
        return f"the Ray cluster at {address} cannot be reached any more: {first_line(error)}"
    nodes: Any = ray.nodes  # untyped
    if any(node["Alive"] and node["Resources"].get("CPU") for node in nodes()):
        return ""
    return f"the Ray cluster at {address} has no node with a CPU any more"


class ClusterWatch:
    """Looks at a cluster, and tells once that it is gone: Ray itself waits for minutes, and then ends the process.

    ``look`` returns what is missing. A cluster is gone where that is so a few times, one after the other; one that had
    no node from the beginning may still get some.
    """

    def __init__(self, on_lost: Callable[[str], None], look: Callable[[], str] = missing) -> None:
        self._on_lost, self._look = on_lost, look
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="stepsmith-ray-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()

    def _watch(self) -> None:
        was_there, without = False, 0
        while not self._ended.wait(_LOOK_SECONDS):
            reason = self._look()
            was_there = was_there or not reason
            without = without + 1 if reason and was_there else 0
            if without >= _LOOKS and not self._ended.is_set():
                self._on_lost(reason)
                return


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
