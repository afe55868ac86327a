"""The one table of diagnostic codes, and what follows from a code. A code is never reused; each has a golden test and
an explanation.

Whoever has to decide by the kind of a finding asks the table: ``about(code).phase``. Nobody compares codes or their
digits (``tests/test_codes.py``), so a new code is one line here.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.records import Record


class Phase(StrEnum):
    """The step of the work in which a finding comes out: it is found when ... (the value)."""

    FILE = "reading the file"  # it is there, it is text of a fair size, it holds a program
    SYNTAX = "parsing"
    DECLARATIONS = "reading declarations"  # keys and values of tasks, of configurations and of options
    NAMES = "resolving names and calls"
    ELABORATION = "following the program"
    AFFINE = "counting uses of streams"
    TYPES = "typing"
    OUTPUTS = "comparing outputs with their declarations"
    FUNCTIONS = "checking element functions"  # of the language, not of PyTorch
    RUN = "running the program"
    TIMING = "timing the program"  # what hardware makes of the program
    SUBJECT = "taking a PyTorch function"
    LOWERING = "translating a PyTorch function"
    SET_UP = "starting a worker"
    INTERNAL = "doing any of it"


class Part(StrEnum):
    """A part of a verdict."""

    SHAPE = "shape"
    AFFINE = "affine"
    FUNCTIONAL = "functional"


class Subject(StrEnum):
    """What a finding is about, where that decides what else is said or tried."""

    CODE = "code that does not parse"
    END = "program that does not end with its results"
    NAME = "name that is not known"
    FUNCTION = "function that is to be taken"  # there is none, whatever its sizes
    SIZES = "sizes"  # that are bound: at others the same text may be right
    SHAPE = "shape of an input"
    SELECTOR = "selector"
    ELEMENT = "element type"
    STATE = "state of a function"
    RETURNED = "components that a function takes and returns"
    FORBIDDEN = "form that no body may have"  # what else the body does cannot be told


class Outcome(StrEnum):
    """What became of a run. The value is for people."""

    DIFFERENT = "different from the reference"  # values were compared
    FAILED = "failed"
    OUT_OF_TIME = "time limit"
    OUT_OF_MEMORY = "memory limit"
    CRASHED = "crash"
    REFERENCE_FAILED = "reference failed"
    NOT_COMPARED = "nothing to compare with"


# The part of a verdict that errors of a phase decide.
_PARTS: Final = {
    Phase.NAMES: Part.SHAPE,
    Phase.ELABORATION: Part.SHAPE,
    Phase.AFFINE: Part.AFFINE,
    Phase.TYPES: Part.SHAPE,
    Phase.OUTPUTS: Part.SHAPE,
    Phase.FUNCTIONS: Part.FUNCTIONAL,
    Phase.RUN: Part.FUNCTIONAL,
}
# Errors of other phases keep a program from being run.
_LET_RUN: Final = frozenset({Phase.AFFINE, Phase.OUTPUTS, Phase.RUN, Phase.TIMING})


class CodeInfo(Record):
    """One kind of finding: its title, where it comes out, and its severity unless a configuration says otherwise.

    Errors and warnings count for the exit code (:attr:`stepcore.findings.diagnostics.Severity.counts`).

    ``applied``: ``check --fix`` applies its fix unasked; other fixes, such as a nearer name, are for people to choose.
    ``waits``: it says which FIFO is too small before any chip is named, and its fix tells the size that cures it.
    ``timed``: only timing a program on a chip tells, so checking does not know whether to ignore it has an effect.
    ``slip``: one wrong mark in a task file may cause it (no YAML, no type, a key twice, unknown or missing).
    ``in_scripts``: it is about streams, operators and sizes. Others say that something is not part of the language of
    programs, and a script is Python, where anything may stand.
    """

    code: str
    title: str
    phase: Phase
    severity: Severity = Severity.ERROR
    subject: Subject | None = None
    outcome: Outcome | None = None
    applied: bool = False
    in_scripts: bool = False
    timed: bool = False
    waits: bool = False
    slip: bool = False

    @property
    def unusable(self) -> bool:
        """Whether a file with it cannot be checked at all: the exit code of ``check`` is 2."""
        return self.phase is Phase.FILE

    @property
    def part(self) -> Part | None:
        """The part of a verdict that it decides. None: it decides none; what blocks a run leaves the types unknown."""
        return _PARTS.get(self.phase) if self.severity is Severity.ERROR else None

    @property
    def blocks(self) -> bool:
        """Whether a program with it is not run."""
        return self.severity is Severity.ERROR and self.phase not in _LET_RUN

    @property
    def stopped(self) -> bool:
        """Whether a run was stopped from outside, or ended its process: its outcome tells by what."""
        return self.outcome in (Outcome.OUT_OF_TIME, Outcome.OUT_OF_MEMORY, Outcome.CRASHED)

    @property
    def is_fault(self) -> bool:
        """Whether it leaves types wrong or unknown: such a program is not simulated, and its shape verdict is no."""
        return self.blocks or self.part is Part.SHAPE

    @property
    def ended_a_run(self) -> bool:
        """Whether it is a verdict on a program that could be used, and no reason to give up."""
        return self.outcome not in (None, Outcome.NOT_COMPARED)

    @property
    def shared(self) -> bool:
        """Whether it concerns all programs of a file, wherever it stands."""
        return self.phase is Phase.FUNCTIONS

    @property
    def reshapes(self) -> bool:
        """Whether another shape of an input can mend it."""
        return self.subject in (Subject.SHAPE, Subject.SELECTOR)


_TABLE: Final = (
    CodeInfo("STEP101", "stream consumed more than once", Phase.AFFINE, applied=True, in_scripts=True),
    CodeInfo("STEP102", "stream consumed in a loop of unknown length", Phase.AFFINE),
    CodeInfo("STEP103", "stream never consumed", Phase.AFFINE, Severity.HINT),
    CodeInfo("STEP104", "name counted more than once (paper rule)", Phase.AFFINE, applied=True),
    CodeInfo("STEP201", "unknown operator", Phase.NAMES, in_scripts=True),
    CodeInfo("STEP202", "unknown name", Phase.NAMES, subject=Subject.NAME),
    CodeInfo("STEP203", "missing, unknown or repeated parameter", Phase.NAMES, in_scripts=True),
    CodeInfo("STEP204", "parameter of the wrong kind", Phase.NAMES, in_scripts=True),
    CodeInfo("STEP205", "wrong inputs of an operator", Phase.NAMES, in_scripts=True),
    CodeInfo("STEP206", "parameter out of range for the rank", Phase.TYPES, subject=Subject.SHAPE, in_scripts=True),
    CodeInfo("STEP207", "shapes differ", Phase.TYPES, subject=Subject.SHAPE, in_scripts=True),
    CodeInfo("STEP208", "element types differ", Phase.TYPES, subject=Subject.ELEMENT),
    CodeInfo("STEP209", "not a stream of buffers", Phase.TYPES),
    CodeInfo("STEP210", "not a selector for these branches", Phase.TYPES, subject=Subject.SELECTOR),
    CodeInfo("STEP211", "size cannot be divided", Phase.TYPES),
    CodeInfo("STEP212", "operator refuses this element", Phase.TYPES),
    CodeInfo("STEP213", "wrong number of outputs", Phase.OUTPUTS),
    CodeInfo("STEP214", "output element differs from the declared one", Phase.OUTPUTS, subject=Subject.ELEMENT),
    CodeInfo("STEP215", "output shape differs from the declared one", Phase.OUTPUTS, subject=Subject.SHAPE),
    CodeInfo("STEP216", "function with or without state expected", Phase.TYPES, subject=Subject.STATE),
    CodeInfo("STEP217", "size is not positive or far too large", Phase.TYPES, subject=Subject.SIZES, in_scripts=True),
    CodeInfo("STEP218", "indices of Flatten or Reshape unusable", Phase.TYPES, subject=Subject.SHAPE),
    CodeInfo("STEP219", "program returns nothing", Phase.ELABORATION, subject=Subject.END),
    CodeInfo("STEP220", "not part of the program language", Phase.ELABORATION),
    CodeInfo("STEP221", "loop or list too long", Phase.ELABORATION, subject=Subject.SIZES),
    CodeInfo("STEP222", "unreadable type", Phase.TYPES, in_scripts=True, slip=True),
    CodeInfo("STEP223", "name declared twice", Phase.ELABORATION),
    CodeInfo("STEP224", "value used in a way it does not support", Phase.ELABORATION),
    CodeInfo("STEP225", "size without a value", Phase.TYPES),
    CodeInfo("STEP226", "size that only the data decide", Phase.TYPES, in_scripts=True),
    CodeInfo("STEP227", "tile does not divide the memory", Phase.TYPES),
    CodeInfo("STEP228", "affine read or store leaves the memory", Phase.TYPES),
    CodeInfo("STEP229", "loop that is not closed once", Phase.ELABORATION),
    CodeInfo("STEP230", "store to a parameter that is not written", Phase.TYPES),
    CodeInfo("STEP231", "published name of an operator", Phase.NAMES, Severity.HINT),
    CodeInfo("STEP232", "function reads memory that is stored", Phase.TYPES),
    CodeInfo("STEP301", "syntax error in a function body", Phase.FUNCTIONS, subject=Subject.CODE),
    CodeInfo("STEP302", "forbidden in a function body", Phase.FUNCTIONS, subject=Subject.FORBIDDEN),
    CodeInfo("STEP303", "unknown name in a function body", Phase.FUNCTIONS, subject=Subject.NAME),
    CodeInfo("STEP304", "call outside the closed function language", Phase.FUNCTIONS),
    CodeInfo("STEP305", "wrong number of returned components", Phase.FUNCTIONS, subject=Subject.RETURNED),
    CodeInfo(
        "STEP306", "returned shape or type differs from the declared one", Phase.FUNCTIONS, subject=Subject.RETURNED
    ),
    CodeInfo("STEP307", "body does not return on every path", Phase.FUNCTIONS, subject=Subject.RETURNED),
    CodeInfo("STEP308", "component index out of range", Phase.FUNCTIONS, subject=Subject.RETURNED),
    CodeInfo("STEP309", "unusable init", Phase.FUNCTIONS, in_scripts=True),
    CodeInfo("STEP310", "input or state changed in place", Phase.FUNCTIONS),
    CodeInfo("STEP311", "too large for a function body", Phase.FUNCTIONS),
    CodeInfo("STEP401", "result differs from the reference", Phase.RUN, outcome=Outcome.DIFFERENT),
    CodeInfo("STEP402", "result has another shape than declared", Phase.RUN, outcome=Outcome.DIFFERENT),
    CodeInfo("STEP403", "NaN or infinity appears", Phase.RUN, outcome=Outcome.DIFFERENT),
    CodeInfo("STEP404", "function failed while running", Phase.RUN, outcome=Outcome.FAILED),
    CodeInfo("STEP405", "time limit reached", Phase.RUN, outcome=Outcome.OUT_OF_TIME),
    CodeInfo("STEP406", "memory limit reached", Phase.RUN, outcome=Outcome.OUT_OF_MEMORY),
    CodeInfo("STEP407", "simulator stopped unexpectedly", Phase.RUN, outcome=Outcome.CRASHED),
    CodeInfo("STEP408", "reference failed", Phase.RUN, outcome=Outcome.REFERENCE_FAILED),
    CodeInfo("STEP409", "branch does not fit the selector", Phase.RUN, outcome=Outcome.FAILED),
    CodeInfo("STEP410", "simulation needs a missing package", Phase.SET_UP),
    CodeInfo("STEP411", "nothing to compare with", Phase.RUN, outcome=Outcome.NOT_COMPARED),
    CodeInfo("STEP412", "lists differ in length", Phase.RUN, outcome=Outcome.FAILED),
    CodeInfo("STEP413", "address outside of the memory", Phase.RUN, outcome=Outcome.FAILED),
    CodeInfo("STEP414", "result that depends on arrival", Phase.RUN, Severity.WARNING),
    CodeInfo("STEP415", "verification says nothing about an input or a condition", Phase.RUN, Severity.WARNING),
    CodeInfo("STEP416", "argument of a composition that no program reads", Phase.ELABORATION),
    CodeInfo("STEP417", "memory read or stored without order", Phase.RUN, outcome=Outcome.FAILED),
    CodeInfo("STEP418", "loop that does not end", Phase.RUN, outcome=Outcome.FAILED),
    CodeInfo("STEP501", "stream has to wait, and its FIFO is too small", Phase.TIMING, Severity.WARNING, waits=True),
    CodeInfo("STEP502", "program stops on the chip", Phase.TIMING, timed=True),
    CodeInfo("STEP503", "deeper FIFO saves cycles", Phase.TIMING, Severity.HINT, timed=True),
    CodeInfo("STEP504", "more memory on chip than there is", Phase.TIMING, Severity.WARNING, timed=True),
    CodeInfo("STEP505", "operation without a known cost", Phase.TIMING, Severity.HINT, timed=True),
    CodeInfo("STEP506", "chip that cannot be used", Phase.TIMING, timed=True),
    CodeInfo("STEP507", "size without a largest value", Phase.TIMING, Severity.HINT, timed=True),
    CodeInfo("STEP601", "no function to take here", Phase.SUBJECT, subject=Subject.FUNCTION),
    CodeInfo("STEP602", "sizes of an argument are missing", Phase.SUBJECT, subject=Subject.SIZES),
    CodeInfo("STEP603", "function cannot be traced", Phase.LOWERING),
    CodeInfo("STEP604", "operation has no streaming form yet", Phase.LOWERING),
    CodeInfo("STEP605", "type or size that no program holds", Phase.SUBJECT),
    CodeInfo("STEP901", "file cannot be read", Phase.FILE),
    CodeInfo("STEP902", "Python syntax error", Phase.SYNTAX, subject=Subject.CODE),
    CodeInfo("STEP903", "YAML syntax error", Phase.SYNTAX, slip=True),
    CodeInfo("STEP904", "key given twice", Phase.DECLARATIONS, slip=True),
    CodeInfo("STEP905", "unknown key", Phase.DECLARATIONS, slip=True),
    CodeInfo("STEP906", "missing key", Phase.DECLARATIONS, slip=True),
    CodeInfo("STEP907", "value of the wrong kind", Phase.DECLARATIONS, slip=True),
    CodeInfo("STEP908", "file checked on demand only", Phase.FILE),
    CodeInfo("STEP909", "suppression without effect", Phase.DECLARATIONS, Severity.WARNING),
    CodeInfo("STEP910", "no STeP program in this file", Phase.FILE, slip=True),
    CodeInfo("STEP911", "internal error of Stepsmith", Phase.INTERNAL),
    CodeInfo("STEP912", "file takes too much work to check", Phase.ELABORATION, subject=Subject.SIZES),
)

CODES: Final[dict[str, CodeInfo]] = {info.code: info for info in _TABLE}
APPLIED: Final = frozenset(info.code for info in _TABLE if info.applied)

_UNKNOWN: Final = CodeInfo("", "no code of Stepsmith", Phase.INTERNAL)


def about(code: str) -> CodeInfo:
    """Return what the table says of a code. One that is not in it (a worker that runs users' code may send any) is
    taken for a failure of Stepsmith itself.
    """
    return CODES.get(code, _UNKNOWN)


def faults(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the errors with which a program is not simulated: all but those of affine use."""
    return [d for d in found if d.severity is Severity.ERROR and about(d.code).is_fault]


def fails(found: Iterable[Diagnostic]) -> bool:
    """Return whether findings make the exit code of a command 1: those that count, but for warnings about timing, which
    are of hardware that a program may never meet.
    """
    return any(
        d.severity.counts and (d.severity is Severity.ERROR or about(d.code).phase is not Phase.TIMING) for d in found
    )


def is_beginning(text: str) -> bool:
    """Return whether ``text`` is a code or the beginning of one that tells more than ``STEP``."""
    return len(text) > len("STEP") and any(code.startswith(text) for code in CODES)
