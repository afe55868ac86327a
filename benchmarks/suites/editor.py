"""The language server as an editor meets it: start, findings while typing, requests, memory, simulation on save.

``ruff server`` and ``pyright-langserver`` get the same file and the same edits in the same run. Times are those of
the wall clock, from the moment a message is sent until the answer was read; processor time per edit stands beside
them, because other load on the machine changes it less.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Final

import lsprotocol
import ruamel.yaml

from benchmarks.harness import ROOT, TASKS, BenchReport
from benchmarks.lsp_client import ServerSession
from benchmarks.suites.check import generation2_file, python_file
from benchmarks.typing_session import TypedEdit, TypedText, typing, typing_imports

SERVER: Final = (sys.executable, "-m", "stepserver")
STARTS: Final = 11
EDITS: Final = 240
PYRIGHT_EDITS: Final = 30  # each waits for most of a second
FILES: Final = 50
_BUNDLED: Final = ("attr", "attrs", "cattr", "cattrs", "lsprotocol", "pygls", "typing_extensions.py")
_ENDS: Final = frozenset({"passed", "failed", "error", "cancelled"})
_BACK: Final = 5.0  # MB that may remain after closing: allocators keep some, which is no leak
_COLUMNS: Final = ("what", "p50 ms", "p95 ms", "processor ms", "MB")
_SETTLE: Final = 0.5  # seconds without a message, after which a server counts as idle
_SESSIONS: Final = 3  # of which each has one first save of a task


def run(parts: Sequence[str] = ()) -> list[BenchReport]:
    """Measure ``parts`` of :data:`PARTS` (none: all), one server at a time."""
    reports = []
    for part in parts or PARTS:
        with tempfile.TemporaryDirectory() as name:
            reports.append(PARTS[part](Path(name).resolve()))
    return reports


def _generation1(folder: Path) -> BenchReport:
    report = BenchReport("editor", "Language servers", _COLUMNS)
    bench = EditorBench(report, folder, broken_file(1_000))
    bench.starts()
    bench.openings()
    bench.tasks()
    bench.edits()
    bench.others()
    bench.requests()
    bench.memory()
    bench.simulations()
    return report


def _generation2(folder: Path) -> BenchReport:
    title = "The language server with a file of 1,000 lines of generation 2, at the limits of generation 1"
    report = BenchReport("editor-generation2", title, _COLUMNS)
    bench = EditorBench(report, folder, broken(generation2_file(1_000)))
    bench.openings()
    bench.edits()
    bench.requests()
    return report


PARTS: Final[Mapping[str, Callable[[Path], BenchReport]]] = {"generation1": _generation1, "generation2": _generation2}


def broken_file(lines: int, tag: str = "") -> str:
    """Return a Python file of programs one of which uses a stream twice, so that each version has findings to send."""
    return broken(python_file(lines, tag))


def broken(text: str) -> str:
    """Return a text of :mod:`benchmarks.suites.check` whose first program uses a stream twice."""
    return text.replace("step.Zip().apply((E2, E1))", "step.Zip().apply((E2, E2))", 1)


class EditorBench:
    """The measurements, in ``folder`` and mostly of a file of programs, for ``report``; ``server`` is its command."""

    def __init__(self, report: BenchReport, folder: Path, text: str, server: Sequence[str] = SERVER) -> None:
        self.report = report
        self.folder = folder
        self.text = text
        self.server = server
        self.path = folder / "programs.py"
        self.path.write_text(self.text, encoding="utf-8")
        self.uri = self.path.as_uri()

    # -- what is measured ---------------------------------------------------------------------------------------

    def starts(self) -> None:
        """Process start to the answer to ``initialize``."""
        bundled = self._bundle()
        commands: dict[str, Sequence[str]] = {
            "python -m stepserver": self.server,
            "stepsmith lsp": (sys.executable, "-m", "stepcore.cli", "lsp"),
            "bundled, python -I -S": (sys.executable, "-I", "-S", str(bundled)),
            "ruff server": (_tool("ruff"), "server"),
            "pyright-langserver": (_tool("pyright-langserver"), "--stdio"),
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(STARTS):  # in turns, so that other load meets all alike
            for name, command in commands.items():
                with self._session(command) as session:
                    times[name].append(session.initialize(self.folder) - session.started)
        for name, found in times.items():
            self._row(f"start to initialize: {name}", found)
            if "ruff" not in name and "pyright" not in name:
                self._goal(f"start to initialize, {name}", statistics.median(found), 450)

    def openings(self) -> None:
        """The file opened right after ``initialize``, to its first findings."""
        pushed: list[float] = []
        pulled: list[float] = []
        for _ in range(STARTS):
            with self.started() as session:
                start = session.open(self.uri, self.text, "python")
                pushed.append(session.diagnostics(self.uri, 1).time - start)
            pulled.append(self._pulled(self.uri, self.text, "python"))
        self._first_findings("1,000 lines, pushed", pushed)
        self._first_findings("1,000 lines, pulled", pulled)

    def tasks(self) -> None:
        """The same with published tasks."""
        tasks = sorted(TASKS.glob("*.step.yaml"))
        chosen = [tasks[number * len(tasks) // STARTS] for number in range(STARTS)]
        files = [((self.folder / task.name).as_uri(), task.read_text(encoding="utf-8")) for task in chosen]
        self._first_findings("published tasks, pulled", [self._pulled(uri, text, "yaml") for uri, text in files])

    def edits(self) -> None:
        """Each edit to the findings of its version; pushed, pulled, and with all that an editor asks besides."""
        document = self.document()
        with self.started() as session:
            self.opened(session)
            times = self.type_edits(session, typing(document, EDITS), document, push)
            self._edited("Stepsmith, pushed", session, times, goal=True)
            times = self.type_edits(session, typing_imports(document, 8), document, push)
            self._edited("Stepsmith, an import of all programs", session, times)
        for name, await_findings, goal in (
            ("Stepsmith, pulled", _pull_edit, True), ("Stepsmith, pulled, with views", _pull_and_views, False),
        ):  # fmt: skip
            document = self.document()
            with self.started(pull=True) as session:
                _pull(session, self.uri, lambda s=session: s.open(self.uri, self.text, "python"))  # type: ignore[misc]
                session.quiet(_SETTLE)
                times = self.type_edits(session, typing(document, EDITS), document, await_findings)
                self._edited(name, session, times, goal=goal)

    def others(self) -> None:
        """The same edits for other servers."""
        tools = (
            ("ruff server", ("ruff", "server"), EDITS),
            ("pyright", ("pyright-langserver", "--stdio"), PYRIGHT_EDITS),
        )
        for name, (tool, *arguments), count in tools:
            document = self.document()
            with self._session((_tool(tool), *arguments)) as session:
                session.initialize(self.folder)
                self.opened(session)
                times = self.type_edits(session, islice(typing(document, count), count), document, push)
                self._edited(name, session, times)

    def requests(self) -> None:
        """Completion and hover where somebody types, and where nothing has changed."""
        for method in ("completion", "hover"):
            with self.started() as session:
                self.opened(session)
                after, warm = self.asked(session, method)
            for name, times in (("after an edit", after), ("warm", warm)):
                self._row(f"{method}, {name}", times)
                self._goal(f"{method} {name}, p95", p95(times), 15)

    def memory(self) -> None:
        """Resident memory with many files open, and after they are closed."""
        tasks = [path.read_text(encoding="utf-8") for path in sorted(TASKS.glob("*.step.yaml"))]
        small = [(".step.yaml", text) for text in tasks]
        small += [(".py", broken_file(200, f"_{number}")) for number in range(FILES - len(tasks))]
        large = [(".py", broken_file(1_000, f"_{number}")) for number in range(FILES)]
        for name, files in (("26 tasks and 24 files of 200 lines", small), ("50 files of 1,000 lines", large)):
            with self.started() as session:
                self.opened(session)
                session.close(self.uri)
                session.quiet(6 * _SETTLE)
                before = session.memory()
                uris = [(self.folder / f"file{number}{suffix}").as_uri() for number, (suffix, _) in enumerate(files)]
                for uri, (suffix, text) in zip(uris, files, strict=True):
                    session.open(uri, text, "python" if suffix == ".py" else "yaml")
                session.quiet(6 * _SETTLE)
                during = session.memory()
                for uri in uris:
                    session.close(uri)
                session.quiet(6 * _SETTLE)
                after = session.memory()
            for state, found in (("before", before), ("open", during), ("closed again", after)):
                self._memory_row(f"{name}: {state}", found)
            self.report.goal(f"memory, {name}", during, 90, " MB")
            self.report.goal(f"memory left after closing, {name}", max(0.0, after - before), _BACK, " MB")

    def simulations(self) -> None:
        """A save to the verdict on screen, for each published task, with a worker that has run before."""
        medians: dict[str, float] = {}
        first: dict[str, list[float]] = {}  # such a save finds nothing of its task in any cache
        for number in range(_SESSIONS):
            with self.started(trusted=True) as session:
                for path in sorted(TASKS.glob("*.step.yaml")):
                    times = self.saves(session, path, 1 if number else 4)
                    first.setdefault(path.name, []).append(times[0])
                    if not number:
                        medians[path.name] = statistics.median(times[1:])
        self.report.figures["first save ms"] = {name: statistics.median(times) * 1e3 for name, times in first.items()}
        worst = max(medians, key=lambda name: medians[name])
        self._row("save to simulation: medians of all published tasks", list(medians.values()))
        self._row(f"save to simulation: the slowest, {worst.partition('.')[0]}", [medians[worst]])
        self.report.figures["save to simulation, by task, ms"] = {name: time * 1e3 for name, time in medians.items()}
        self._goal("save to simulation, median of the published tasks", statistics.median(medians.values()), 200)
        self._goal("save to simulation, the slowest of them", medians[worst], 200)

    # -- how ------------------------------------------------------------------------------------------------------

    def _session(self, command: Sequence[str]) -> ServerSession:
        # pyright looks for the packages of the first Python on PATH. As on a user's machine, bytecode is kept.
        path = f"{_tools()}{os.pathsep}{os.environ.get('PATH', '')}"
        return ServerSession(command, self.folder, {"PATH": path, "PYTHONDONTWRITEBYTECODE": ""})

    def started(self, *, pull: bool = False, **options: Any) -> ServerSession:
        """Start the server and introduce a client with these options."""
        session = self._session(self.server)
        session.initialize(self.folder, pull=pull, **options)
        return session

    def _pulled(self, uri: str, text: str, language: str) -> float:
        with self.started(pull=True) as session:
            return _pull(session, uri, lambda: session.open(uri, text, language))

    def document(self) -> TypedText:
        """Return the file as it is at first."""
        return TypedText(self.uri, self.text)

    def opened(self, session: ServerSession) -> None:
        """Open the file and let the server finish all that follows."""
        session.open(self.uri, self.text, "python")
        session.diagnostics(self.uri, 1)
        session.quiet(_SETTLE)

    def asked(self, session: ServerSession, method: str) -> tuple[list[float], list[float]]:
        """Ask for ``completion`` or ``hover`` at each edit, and once more; return the seconds of both.

        The file has to be open in ``session`` as it was at first.
        """
        times = list(self.asks(session, method))
        return [after for after, _ in times], [warm for _, warm in times]

    def asks(self, session: ServerSession, method: str) -> Iterator[tuple[float, float]]:
        """Yield the seconds of both, edit by edit."""
        document = self.document()
        for edit in typing(document, EDITS):
            session.notify("textDocument/didChange", document.apply(edit))
            after, warm = (session.request(f"textDocument/{method}", _at(document))[1] for _ in range(2))
            yield after, warm

    def type_edits(
        self,
        session: ServerSession,
        edits: Iterable[TypedEdit],
        document: TypedText,
        await_findings: Callable[[ServerSession, TypedText], float],
    ) -> list[float]:
        """Send edits, each after the findings of the one before; the last figure is processor time per edit."""
        used = session.processor_seconds()
        times = list(self.edit_times(session, edits, document, await_findings))
        used = session.processor_seconds() - used
        return [*times, used / len(times)]

    def edit_times(
        self,
        session: ServerSession,
        edits: Iterable[TypedEdit],
        document: TypedText,
        await_findings: Callable[[ServerSession, TypedText], float],
    ) -> Iterator[float]:
        """Send edits, each when the next figure is asked for; yield how long the findings of each took."""
        for edit in edits:
            params = document.apply(edit)
            start = perf_counter()
            session.notify("textDocument/didChange", params)
            yield await_findings(session, document) - start

    def saves(self, session: ServerSession, path: Path, count: int) -> list[float]:
        """Save a task ``count`` times, each time with another text; return how long its verdict took."""
        document = self._opened_task(session, path)
        times = []
        for number in range(count):
            session.notify("textDocument/didChange", document.apply(TypedEdit(len(document.text), 0, f"# {number}\n")))
            sleep(0.1)  # nobody saves in the instant of a key
            start = session.notify("textDocument/didSave", {"textDocument": {"uri": document.uri}})
            message = session.wait(lambda body: _is_verdict(body, document))
            times.append(message.time - start)
            states = {row["state"] for row in message.params["programs"]}
            if states != {"passed"}:
                raise SystemExit(f"{path.name} should pass: {message.params['programs']}")
        session.close(document.uri)
        return times

    def _opened_task(self, session: ServerSession, path: Path) -> TypedText:
        """Open a copy of a task, without the characters of which an editor counts others than Python does."""
        copy = self.folder / path.name
        text = path.read_text(encoding="utf-8")
        text += "" if text.endswith("\n") else "\n"
        copy.write_text(text, encoding="utf-8")
        document = TypedText(copy.as_uri(), "".join(filter(str.isascii, text)))
        session.open(document.uri, document.text, "yaml")
        return document

    def _bundle(self) -> Path:
        """Lay out the server as the extension brings it, with links in the place of copies; return its launcher."""
        bundle = self.folder / "bundled"
        for name in ("libs", "stepsmith"):
            (bundle / name).mkdir(parents=True)
        site = Path(lsprotocol.__file__).parents[1]
        for name in _BUNDLED:
            (bundle / "libs" / name).symlink_to(site / name)
        (bundle / "libs" / "ruamel").symlink_to(Path(ruamel.yaml.__file__).parents[1])
        for package in (ROOT / "stepcore", ROOT / "server" / "stepserver"):
            (bundle / "stepsmith" / package.name).symlink_to(package)
        return Path(shutil.copy(ROOT / "editor-extension" / "bundled" / "launch.py", bundle))

    # -- the table ---------------------------------------------------------------------------------------------------

    def _row(
        self, what: str, times: Sequence[float], processor: float | None = None, memory: float | None = None
    ) -> None:
        middle, high = statistics.median(times), p95(times)
        shown = [_ms(middle), _ms(high), "" if processor is None else _ms(processor)]
        self.report.rows.append([what, *shown, "" if memory is None else f"{memory:.0f}"])
        self.report.figures[what] = {
            "p50": middle, "p95": high, "count": len(times), "processor": processor, "memory": memory,
        }  # fmt: skip

    def _first_findings(self, what: str, times: Sequence[float]) -> None:
        self._row(f"open to first findings: {what}", times)
        self._goal(f"open to first findings, {what}", statistics.median(times), 60)

    def _edited(self, who: str, session: ServerSession, times: Sequence[float], *, goal: bool = False) -> None:
        *waits, processor = times
        self._row(f"edit to findings: {who}", waits, processor, session.memory())
        if goal:
            self._goal(f"edit to findings, {who}, p50", statistics.median(waits), 8)
            self._goal(f"edit to findings, {who}, p95", p95(waits), 20)

    def _memory_row(self, what: str, memory: float) -> None:
        self.report.rows.append([what, "", "", "", f"{memory:.0f}"])
        self.report.figures[what] = {"memory": memory}

    def _goal(self, what: str, seconds: float, limit: float) -> None:
        self.report.goal(what, seconds * 1e3, limit, " ms")


# -- ways to wait for findings ---------------------------------------------------------------------------------


def push(session: ServerSession, document: TypedText) -> float:
    """Return when the pushed findings of the newest version were there."""
    return session.diagnostics(document.uri, document.version).time


def _pull(session: ServerSession, uri: str, send: Callable[[], object]) -> float:
    """Return the seconds from before ``send`` until the findings that are asked for right after it."""
    start = perf_counter()
    send()
    return session.answer(_ask(session, "diagnostic", uri)).time - start


def _pull_edit(session: ServerSession, document: TypedText) -> float:
    return session.answer(_ask(session, "diagnostic", document.uri)).time


def _pull_and_views(session: ServerSession, document: TypedText) -> float:
    """Ask for all that is drawn anew after an edit, the findings last, as if the editor's delays had no effect."""
    place = document.position(document.cursor)
    area = {
        "start": {"line": max(0, place["line"] - 30), "character": 0},
        "end": {"line": place["line"] + 30, "character": 0},
    }
    numbers = [_ask(session, name, document.uri) for name in ("semanticTokens/full", "codeLens", "documentSymbol")]
    numbers.append(session.ask("textDocument/inlayHint", {"textDocument": {"uri": document.uri}, "range": area}))
    numbers.append(_ask(session, "diagnostic", document.uri))
    return [session.answer(number).time for number in numbers][-1]


def _ask(session: ServerSession, name: str, uri: str) -> int:
    return session.ask(f"textDocument/{name}", {"textDocument": {"uri": uri}})


def _at(document: TypedText) -> dict[str, Any]:
    return {"textDocument": {"uri": document.uri}, "position": document.position(document.cursor)}


def _is_verdict(body: dict[str, Any], document: TypedText) -> bool:
    params = body.get("params") or {}
    if body.get("method") != "stepsmith/simulation" or params["uri"] != document.uri:
        return False
    rows = params["programs"]
    is_over = all(row["state"] in _ENDS and not row["stale"] for row in rows)
    return bool(rows) and is_over and params["version"] == document.version


# -- small things ----------------------------------------------------------------------------------------------


def _tools() -> str:
    return str(Path(sys.executable).parent)


def _tool(name: str) -> str:
    found = shutil.which(name, path=_tools()) or shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is not installed; `make setup` brings it")
    return found


def p95(times: Sequence[float]) -> float:
    """Return the least time that 95 % of ``times`` do not exceed."""
    return sorted(times)[max(0, -(-len(times) * 95 // 100) - 1)]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"
