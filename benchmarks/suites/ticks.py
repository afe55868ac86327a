"""Cycles in an editor: the last of some keystrokes to the estimate behind each operator, a save to the exact figures.

A person types ``depth=3,`` into an operator of the program, a key every 60 ms: each text has to be analysed, and the
last one, the first that is right again, is timed. Then it is saved: with the workspace trusted, as most are, it is
simulated at the same time. Processor time is that of the server with all its workers from the key or save to the
figures, simulation switched off; with the pauses that the server makes on purpose it is what a user waits for on a
machine with nothing else to do.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import sleep
from typing import Any, Final

from benchmarks.harness import ROOT, TASKS, BenchReport
from benchmarks.lsp_client import ServerMessage, ServerSession
from benchmarks.typing_session import TypedEdit, TypedText
from stepcore.records import Record

SERVER: Final = (sys.executable, "-m", "stepserver")
ROUNDS: Final = 3
TYPED: Final = "depth={}"  # another one in each round: a text that was timed before is known
_OPERATOR: Final = re.compile(r"step\.(?!Zip|Flatten|Reshape)[A-Z]\w*\((?=(?:(?!depth)[^\n])*\)\.apply\()")
SCRIPTS: Final = ("attention_single_accum", "bmm_inner_product", "norm_rms_scalars")
KEY: Final = 0.06  # seconds between two keys
KEYSTROKE: Final = 150  # ms at most
SAVE: Final = 300
KEY_PAUSE: Final = 0.04  # seconds without a key, after which programs are timed (stepserver.timing.status)
SAVE_PAUSE: Final = 0.03  # in which a save's run is handed to its worker first (stepserver.handlers.programs)
_QUIET: Final = 0.15
_TIMED: Final = frozenset({"timed", "stopped"})


class Ticks(Record):
    """Seconds of one document, a figure for each round: from the last key, from a save, of the processor in each."""

    name: str
    typed: tuple[float, ...]
    saved: tuple[float, ...]
    worked_typed: tuple[float, ...]
    worked_saved: tuple[float, ...]


def groups() -> dict[str, list[Path]]:
    """Return what is measured."""
    scripts = ROOT / "tests" / "published"
    return {
        "published tasks": sorted(TASKS.glob("*.step.yaml")),
        "examples": sorted((ROOT / "examples").glob("*.py")),
        "scripts in the published spelling": [scripts / f"{name}.py" for name in SCRIPTS],
    }


def run() -> BenchReport:
    """Measure all documents, each twice: simulated on save, as it is, and alone, for processor time."""
    title = f"Cycles in an editor (load {os.getloadavg()[0]:.1f} before)"
    kinds = (("key", "last key to estimate", KEYSTROKE, KEY_PAUSE), ("save", "save to exact cycles", SAVE, SAVE_PAUSE))
    names = (f"{kind}: {what}" for kind, *_ in kinds for what in ("median ms", "worst ms", "worst processor ms"))
    columns = ("what", *names)
    report = BenchReport("ticks", title, columns)
    for group, paths in groups().items():
        found = _measured(paths, simulated=True)
        alone = _measured(paths, simulated=False)
        row = [f"{len(found)} {group}"]
        for kind, text, most, pause in kinds:
            part = "typed" if kind == "key" else "saved"
            times = [statistics.median(getattr(each, part)) for each in found]
            works = [statistics.median(getattr(each, f"worked_{part}")) for each in alone]
            row += [_ms(statistics.median(times)), _ms(max(times)), _ms(max(works))]
            for what, values, more in (("", times, 0.0), (", pause and processor", works, pause)):
                slowest = found[values.index(max(values))].name
                report.goal(f"{text}{what}, {group}, {slowest}", (max(values) + more) * 1e3, most, " ms")
        report.rows.append(row)
        report.figures[group] = {
            each.name: {
                "typed": each.typed, "saved": each.saved, "alone typed": other.typed, "alone saved": other.saved,
                "processor typed": other.worked_typed, "processor saved": other.worked_saved,
            }
            for each, other in zip(found, alone, strict=True)
        }  # fmt: skip
    return report


def _measured(paths: Sequence[Path], *, simulated: bool) -> list[Ticks]:
    """Measure documents one after the other, in a session that has timed one before."""
    with tempfile.TemporaryDirectory() as name, ServerSession(SERVER, Path(name)) as session:
        folder = Path(name).resolve()
        settings: dict[str, Any] = {} if simulated else {"settings": {"simulation": {"run": "off"}}}
        session.initialize(folder, trusted=True, **settings)
        _document(session, folder, paths[0])
        return [_document(session, folder, path, ROUNDS if simulated else 1) for path in paths]


def _document(session: ServerSession, folder: Path, path: Path, rounds: int = 1) -> Ticks:
    copy = folder / path.name
    text = "".join(filter(str.isascii, path.read_text(encoding="utf-8")))
    copy.write_text(text, encoding="utf-8")
    document = TypedText(copy.as_uri(), text)
    session.open(document.uri, text, "yaml" if path.suffix == ".yaml" else "python")
    _told(session, document, "exact")
    session.quiet(_QUIET)
    typed: list[float] = []
    saved: list[float] = []
    worked: list[tuple[float, float]] = []
    for number in range(rounds):
        start, used, place = 0.0, 0.0, _place(document.text)
        words = TYPED.format(number + 3) + "," * (document.text[place] != ")")
        for sign in words:
            sleep(KEY)
            used = session.processor_seconds()
            start = session.notify("textDocument/didChange", document.apply(TypedEdit(place, 0, sign)))
            place += 1
        typed.append(_told(session, document, "fluid").time - start)
        by_key = session.processor_seconds() - used
        session.quiet(_QUIET)
        copy.write_text(document.text, encoding="utf-8")
        used = session.processor_seconds()
        start = session.notify("textDocument/didSave", {"textDocument": {"uri": document.uri}})
        saved.append(_told(session, document, "exact").time - start)
        worked.append((by_key, session.processor_seconds() - used))
        session.quiet(_QUIET)
        back = TypedEdit(place - len(words), len(words), "")
        session.notify("textDocument/didChange", document.apply(back))
        session.quiet(_QUIET)
    session.close(document.uri)
    session.quiet(_QUIET)
    by_keys, by_saves = zip(*worked, strict=True)
    return Ticks(path.name, tuple(typed), tuple(saved), by_keys, by_saves)


def _place(text: str) -> int:
    """Return where the parameters of an operator of the program begin."""
    marks = (text.find("\nimpl:"), text.find("@step.program"), text.find("def prog("))
    found = _OPERATOR.search(text, next(mark for mark in marks if mark >= 0)) or _OPERATOR.search(text)
    assert found is not None, "all programs that are measured apply one of these"
    return found.end()


def _told(session: ServerSession, document: TypedText, engine: str) -> ServerMessage:
    """Wait until all programs of a document have figures of that engine, for its present text."""

    def is_told(body: dict[str, Any]) -> bool:
        params = body.get("params") or {}
        if body.get("method") != "stepsmith/timing" or params["uri"] != document.uri:
            return False
        rows = params["programs"]
        are_new = all(row["state"] in _TIMED and row["engine"] == engine and not row["stale"] for row in rows)
        return bool(rows) and are_new and params["version"] == document.version

    return session.wait(is_told)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}"
