"""What a client sees of all its documents, and a whole storm: rage, calm, and beside it a fresh server."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from lsp_client import Client
from processes import alive, descendants, eventually

from .documents import Document, Notebook, documents
from .edits import lines_of, place
from .session import Storm

SPOTS: Final = 6  # of a document, for hovers and proposals
MOST_MEMORY: Final = 400 << 20  # bytes of the server itself; its workers have limits of their own
_DONE: Final = frozenset({"passed", "failed", "error", "cancelled", "norun", "idle", "stale"})


@dataclass(frozen=True)
class Outcome:
    """What became of a storm: what was done, what differs at its end, what it left, how much memory the server took."""

    done: frozenset[str]

    differences: list[str]
    left: list[int]
    memory: int
    log: str

    @property
    def failures(self) -> list[str]:
        """Return what must not be."""
        found = list(self.differences)
        if self.left:
            found.append(f"processes are left: {self.left}")
        if self.memory > MOST_MEMORY:
            found.append(f"the server took {self.memory >> 20} MB")
        if "Traceback" in self.log:
            found.append(self.log[self.log.index("Traceback") :][:3000])
        return found


def storm(folder: Path, seed: int, steps: int) -> Outcome:
    """Let a storm rage in an empty folder and see what it left."""
    texts, book = documents(folder), Notebook((folder / "book.ipynb").as_uri())
    book.refill()
    with Client() as client:
        old = Storm(client, folder, seed, texts, book)
        old.start()
        old.rage(steps)
        old.calm()
        with Client() as other:
            fresh = Storm(other, folder, seed, copy.deepcopy(texts), copy.deepcopy(book))
            fresh.start()
            _open_all(fresh)
            for session in (old, fresh):
                _run_all(session)
            differences = _differences(old, fresh, seed)
            memory = _peak(client.process.pid)
            processes = [pid for each in (client, other) for pid in descendants(each.process.pid)]
    eventually(lambda: not any(map(alive, processes)))
    left = [pid for pid in processes if alive(pid)]
    return Outcome(frozenset(old.done), differences, left, memory, client.stderr() + other.stderr())


def _open_all(session: Storm) -> None:
    for document in session.documents:
        if document.is_open:
            session.client.notify("textDocument/didOpen", {"textDocument": document.item()})
    if session.book.is_open:
        session.client.notify("notebookDocument/didOpen", session.book.opened())


def _run_all(session: Storm) -> None:
    """Simulate and time all programs."""
    for document in session.documents:
        for name in ("simulate", "time") if document.is_open else ():
            order = {"command": f"stepsmith.server.{name}", "arguments": [{"uri": document.uri}]}
            session.request("workspace/executeCommand", order)


def _differences(old: Storm, fresh: Storm, seed: int) -> list[str]:
    """Return what the two show differently once both are at rest."""
    seen: list[dict[str, Any]] = []

    def agree() -> bool:
        seen[:] = [_seen(session, seed) for session in (old, fresh)]
        return seen[0] == seen[1] and all(_rests(session) for session in (old, fresh))

    if eventually(agree):
        return []
    return list(_differing(seen[0], seen[1])) or ["simulations go on for ever"]


def _rests(session: Storm) -> bool:
    rows = [row for document in session.open_documents() for row in session.rows.get(document.uri, ())]
    return all(row["state"] in _DONE and not row.get("provisional") for row in rows)


def _seen(session: Storm, seed: int) -> dict[str, Any]:
    """Return all that a client sees, by what it is and where."""
    found: dict[str, Any] = {}
    for document in session.open_documents():
        name = document.uri.rpartition("/")[2] if document.path else document.uri
        for what, shown in _views(session, document, Random(seed)).items():
            found[f"{what} of {name}"] = shown
    return found


def _views(session: Storm, document: Document, rng: Random) -> dict[str, Any]:
    target = {"textDocument": {"uri": document.uri}}
    lines = lines_of(document.text)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(lines), "character": 0}}
    found = {
        name: session.request(f"textDocument/{name}", target | more)
        for name, more in (
            ("codeLens", {}), ("semanticTokens/full", {}), ("documentSymbol", {}), ("foldingRange", {}),
            ("inlayHint", {"range": whole}), ("codeAction", {"range": whole, "context": {"diagnostics": []}}),
            ("diagnostic", {}),
        )
    }  # fmt: skip
    # What a search for a faster program found stays until its program changes: the other server was not asked for one.
    # Neither was it asked for a program that has errors now, whose last figures are shown as outdated.
    found["codeLens"] = [lens for lens in found["codeLens"] or () if not _is_of_the_past(lens)]
    found["graph"] = _without_stale_figures(session.request("stepsmith/graph", target))
    for name in ("hover", "completion"):
        for _ in range(SPOTS):
            spot = place(rng, document.text, session.client.encoding)[1]
            found[f"{name} at {spot}"] = session.request(f"textDocument/{name}", {**target, "position": spot})
    found["findings"] = session.shown.get(document.uri, [])
    found["programs"] = [_row(row) for row in session.rows.get(document.uri, ())]
    return {what: _without_versions(shown) for what, shown in found.items()}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Return what is told of a program but how long it took, and whether one that cannot run has run before."""
    return {**row, "seconds": None, "stale": row["stale"] and row["state"] != "norun"}


def _without_versions(shown: Any) -> Any:
    if isinstance(shown, list):
        return [_without_versions(each) for each in shown]
    if isinstance(shown, dict):
        return {key: _without_versions(value) for key, value in shown.items() if key not in ("version", "resultId")}
    return shown


def _differing(first: Any, second: Any, path: str = "") -> Iterator[str]:
    """Yield where two values differ, and how."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in first.keys() | second.keys():
            yield from _differing(first.get(key), second.get(key), f"{path}.{key}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from _differing(one, other, f"{path}[{number}]")
    elif first != second:
        yield f"{path}:\n  stormed: {str(first)[:1500]}\n  fresh:   {str(second)[:1500]}"


def _is_of_the_past(lens: dict[str, Any]) -> bool:
    command = lens["command"]
    title, name = str(command["title"]), str(command["command"])
    return title.startswith("outdated: ") or name.endswith(("makeFaster", "MakingFaster"))


def _without_stale_figures(graph: dict[str, Any] | None) -> dict[str, Any] | None:
    if graph is None or not graph.get("timing", {}).get("stale"):
        return graph
    parts = {name: [{**each, "timing": None} for each in graph[name]] for name in ("nodes", "edges")}
    return {**graph, **parts, "timing": None}


def _peak(pid: int) -> int:
    """Return the most memory that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) << 10
