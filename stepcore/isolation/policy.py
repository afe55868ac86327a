"""What a worker may do, and what of it the system enforces: plain data that owners and workers exchange."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from stepcore.records import Record

Profile: TypeAlias = Literal["text", "user"]

# The layers in the order in which they are shown, and what each is for.
LAYERS: Final[dict[str, str]] = {
    "processes": "nothing outlives a worker or sees other processes",
    "files": "writes only where allowed",
    "network": "no network",
    "calls": "no calls that lead out",
    "capabilities": "no privileges",
    "scratch": "a private folder for temporary files",
    "memory": "one limit for all that a worker and its processes hold",
}
# The exit code of a worker that was ended because it and what it had started held more memory than its limit.
OVER_MEMORY: Final = 76


class Isolation(Record):
    """What the jobs of a worker may do.

    Profile ``text`` is for text of tasks and of models: no network, no new processes, nothing is written but in the
    scratch folder, nothing is read but Python's libraries. Profile ``user`` is for a user's own functions: they may
    start programs, read what the user may read, and write in the scratch folder and in ``folders`` (absolute paths);
    there is no network unless ``network`` says so, which only a user's own settings may do. ``file`` is the file that
    holds them: what ran one file's functions may have been changed by them, and judges no other. ``workers`` says how
    many workers a job starts itself: each may hold as much memory as the worker.
    """

    profile: Profile = "user"
    folders: tuple[str, ...] = ()
    network: bool = False
    file: str = ""
    workers: int = 0

    def encode(self) -> str:
        """Return it as the text of a variable of the environment."""
        return json.dumps(asdict(self))

    @staticmethod
    def decode(text: str) -> Isolation:
        """Read :meth:`encode`'s text.

        Raises:
            ValueError: it is none.
        """
        found = json.loads(text)
        if not isinstance(found, dict) or found.get("profile") not in ("text", "user"):
            raise ValueError(f"no description of an isolation: {text!r}")
        is_user = found["profile"] == "user"
        return Isolation(
            found["profile"],
            tuple(map(str, found.get("folders", ()))) if is_user else (),
            is_user and found.get("network") is True,
            str(found.get("file", "")) if is_user else "",
            found["workers"] if is_user and isinstance(found.get("workers"), int) else 0,
        )


TEXT: Final = Isolation("text")


def isolation_for(path: Path, others: Iterable[Path] = (), *, network: bool = False) -> Isolation:
    """Return what jobs on a file may do: a Python file holds a user's own functions, everything else is text.

    The folder of the run is that of the file; ``others`` are files of the same run, whose folders belong to it.
    ``network`` is for the functions.
    """
    if path.suffix != ".py":
        return TEXT
    folders = {str(file.absolute().parent) for file in (path, *others) if file.suffix == ".py"}
    return Isolation("user", tuple(sorted(folders)), network, str(path.absolute()))


class IsolationLayer(Record):
    """One layer as it is in force: ``by`` names the means of the system, empty where there is none; ``gap`` says what
    is then not kept away, or why a means could not be used.
    """

    by: tuple[str, ...] = ()
    gap: str = ""


@dataclass(slots=True)
class Report:
    """What is in force in one worker, by the names of :data:`LAYERS`."""

    profile: str
    layers: dict[str, IsolationLayer] = field(default_factory=dict)

    def add(self, name: str, means: str) -> None:
        """Note that ``means`` serves the layer ``name``."""
        old = self.layers.get(name, IsolationLayer())
        self.layers[name] = IsolationLayer((*old.by, means), old.gap)

    def lack(self, name: str, gap: str) -> None:
        """Note what the layer ``name`` does not do, and why."""
        old = self.layers.get(name, IsolationLayer())
        self.layers[name] = IsolationLayer(old.by, f"{old.gap}; {gap}" if old.gap else gap)

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        layers = {name: {"by": list(layer.by), "gap": layer.gap} for name, layer in self.layers.items()}
        return {"profile": self.profile, "layers": layers}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Report:
        """Read :meth:`as_json`'s data."""
        layers = {name: IsolationLayer(tuple(found["by"]), found["gap"]) for name, found in data["layers"].items()}
        return Report(data["profile"], layers)


def unprotected(isolation: Isolation) -> Report:
    """Return the report of a system of which no layer is used."""
    report = Report(isolation.profile)
    for name in LAYERS:
        report.lack(name, "this system offers nothing that Stepsmith uses; the limit on time remains")
    return report
