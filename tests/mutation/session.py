"""One run of pytest in this process, against code that may hold a mutant; the caller has forked for it.

Nothing on disk changes: an import hook hands out the mutated module. So a test that starts another Python process
sees the code unbroken there, and cannot notice a mutant.
"""

from __future__ import annotations

import importlib.machinery
import os
import resource
import sys
import threading
import time
import types
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from .config import Config
from .mutators import Mutant, mutate

# Stands for "while no test runs": during import and collection, and in fixtures that several tests share.
SHARED = ""
Function = tuple[str, int]


@dataclass(frozen=True)
class Selection:
    """Which tests to run, and in which order. ``known`` are all tests; one that a mutant made appear is run too."""

    wanted: tuple[str, ...]
    known: frozenset[str]

    def files(self) -> list[str]:
        """The files of the tests, each once."""
        return list(dict.fromkeys(test.partition("::")[0] for test in self.wanted))


@dataclass
class Observed:
    """What a run came to."""

    exit_code: int = 0
    killer: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    reached: dict[Function, set[str]] = field(default_factory=lambda: defaultdict(set))


class MutantLoader(importlib.machinery.SourceFileLoader):
    """Loads a module with one mutant in it."""

    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> types.CodeType:
        """Compile the mutated tree; the cache of compiled files is neither read nor written."""
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(mutate(source, self.mutant), self.path, "exec", dont_inherit=True)


class MutantFinder(importlib.machinery.PathFinder):
    """Finds modules as ever, but gives the mutated file another loader."""

    def __init__(self, root: Path, mutant: Mutant) -> None:
        self.file = root / mutant.path
        self.mutant = mutant

    # The base class has a class method here; the import system calls either alike.
    def find_spec(  # type: ignore[override]
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module's spec."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or Path(spec.origin) != self.file:
            return None
        spec.loader = MutantLoader(fullname, spec.origin, self.mutant)
        return spec


class Recorder:
    """A pytest plug-in that selects and orders tests, times them and notes the first that fails."""

    def __init__(self, selection: Selection | None) -> None:
        self.selection = selection
        self.observed = Observed()
        self.current = SHARED

    def pytest_configure(self) -> None:
        """Make hypothesis repeatable, and quick where it fails."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutation", derandomize=True, database=None, deadline=None, phases=phases)
        settings.load_profile("mutation")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the wanted tests, in their order."""
        if self.selection is None:
            return
        rank = {test: index for index, test in enumerate(self.selection.wanted)}
        known = self.selection.known
        kept = [item for item in items if item.nodeid in rank or item.nodeid not in known]
        config.hook.pytest_deselected(
            items=[item for item in items if item.nodeid in known and item.nodeid not in rank]
        )
        items[:] = sorted(kept, key=lambda item: rank.get(item.nodeid, len(rank)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Time a test, and say that what is called now is called by it."""
        self.current = item.nodeid
        started = time.monotonic()
        try:
            return (yield)
        finally:
            self.observed.seconds[item.nodeid] = time.monotonic() - started
            self.current = SHARED

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """What a fixture of a wider scope calls is not called by the test that happens to be first."""
        before = self.current
        if fixturedef.scope != "function":
            self.current = SHARED
        try:
            return (yield)
        finally:
            self.current = before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure."""
        if report.failed and not self.observed.killer:
            self.observed.killer = report.nodeid


def trace_calls(recorder: Recorder, files: frozenset[str]) -> None:
    """Record which test enters which function of some files."""

    def on_call(frame: types.FrameType, _event: str, _argument: object) -> None:
        code = frame.f_code
        if code.co_filename in files:
            recorder.observed.reached[code.co_filename, code.co_firstlineno].add(recorder.current)

    threading.settrace(on_call)
    sys.settrace(on_call)


def run_tests(
    config: Config, mutant: Mutant | None, selection: Selection | None, trace: Sequence[str] = ()
) -> Observed:
    """Run pytest until the first failure. ``trace`` names the files whose functions are watched."""
    os.chdir(config.root)
    if mutant is not None:
        sys.meta_path.insert(0, MutantFinder(config.root, mutant))
    recorder = Recorder(selection)
    arguments = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        f"--rootdir={config.root}",
        "-m",
        config.markers,
    ]
    # hypothesis is imported before pytest could rewrite its assertions; where warnings are errors, that is one.
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    arguments += [f"--ignore={path}" for path in config.deselect]
    arguments += config.tests if selection is None else selection.files()
    if trace:
        trace_calls(recorder, frozenset(str(config.root / path) for path in trace))
    recorder.observed.exit_code = int(pytest.main(arguments, plugins=[recorder]))
    sys.settrace(None)
    threading.settrace(None)
    return recorder.observed


def confine(memory: int, seconds: float) -> None:
    """Put this process into a group of its own, bound what it may use, and silence it."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    # Ends a stuck mutant even when the parent is gone.
    processor_time = int(seconds) + 5
    resource.setrlimit(resource.RLIMIT_CPU, (processor_time, processor_time))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
