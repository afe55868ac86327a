"""The one table of diagnostic codes. A code is never reused; each has a golden test and an explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepcore.diagnostics import Severity


@dataclass(frozen=True, slots=True)
class CodeInfo:
    """One kind of finding: its title, and its severity unless a finding says otherwise."""

    code: str
    title: str
    severity: Severity = Severity.ERROR


_TABLE: Final = (
    CodeInfo("STEP101", "stream consumed more than once"),
    CodeInfo("STEP102", "stream consumed in a loop of unknown length"),
    CodeInfo("STEP103", "stream never consumed", Severity.HINT),
    CodeInfo("STEP104", "name counted more than once (paper rule)"),
    CodeInfo("STEP201", "unknown operator"),
    CodeInfo("STEP202", "unknown name"),
    CodeInfo("STEP203", "missing, unknown or repeated parameter"),
    CodeInfo("STEP204", "parameter of the wrong kind"),
    CodeInfo("STEP205", "wrong inputs of an operator"),
    CodeInfo("STEP206", "parameter out of range for the rank"),
    CodeInfo("STEP207", "shapes differ"),
    CodeInfo("STEP208", "element types differ"),
    CodeInfo("STEP209", "not a stream of buffers"),
    CodeInfo("STEP210", "not a selector for these branches"),
    CodeInfo("STEP211", "size cannot be divided"),
    CodeInfo("STEP212", "operator refuses this element"),
    CodeInfo("STEP213", "wrong number of outputs"),
    CodeInfo("STEP214", "output element differs from the declared one"),
    CodeInfo("STEP215", "output shape differs from the declared one"),
    CodeInfo("STEP216", "function with or without state expected"),
    CodeInfo("STEP217", "size is not positive or far too large"),
    CodeInfo("STEP218", "indices of Flatten or Reshape unusable"),
    CodeInfo("STEP219", "program returns nothing"),
    CodeInfo("STEP220", "not part of the program language"),
    CodeInfo("STEP221", "loop or list too long"),
    CodeInfo("STEP222", "unreadable type"),
    CodeInfo("STEP223", "name declared twice"),
    CodeInfo("STEP224", "value used in a way it does not support"),
    CodeInfo("STEP225", "size without a value"),
    CodeInfo("STEP301", "syntax error in a function body"),
    CodeInfo("STEP302", "forbidden in a function body"),
    CodeInfo("STEP303", "unknown name in a function body"),
    CodeInfo("STEP304", "call outside the closed function language"),
    CodeInfo("STEP305", "wrong number of returned components"),
    CodeInfo("STEP306", "returned shape or type differs from the declared one"),
    CodeInfo("STEP307", "body does not return on every path"),
    CodeInfo("STEP308", "component index out of range"),
    CodeInfo("STEP309", "unusable init"),
    CodeInfo("STEP310", "input or state changed in place"),
    CodeInfo("STEP311", "too large for a function body"),
    CodeInfo("STEP401", "result differs from the reference"),
    CodeInfo("STEP402", "result has another shape than declared"),
    CodeInfo("STEP403", "NaN or infinity appears"),
    CodeInfo("STEP404", "function failed while running"),
    CodeInfo("STEP405", "time limit reached"),
    CodeInfo("STEP406", "memory limit reached"),
    CodeInfo("STEP407", "simulator stopped unexpectedly"),
    CodeInfo("STEP408", "reference failed"),
    CodeInfo("STEP409", "branch does not fit the selector"),
    CodeInfo("STEP410", "simulation needs a missing package"),
    CodeInfo("STEP411", "nothing to compare with"),
    CodeInfo("STEP415", "verification says nothing about an input", Severity.WARNING),
    CodeInfo("STEP416", "argument of a composition that no program reads"),
    CodeInfo("STEP601", "no function to take here"),
    CodeInfo("STEP602", "sizes of an argument are missing"),
    CodeInfo("STEP603", "function cannot be traced"),
    CodeInfo("STEP604", "operation has no streaming form yet"),
    CodeInfo("STEP605", "type or size that no program holds"),
    CodeInfo("STEP901", "file cannot be read"),
    CodeInfo("STEP902", "Python syntax error"),
    CodeInfo("STEP903", "YAML syntax error"),
    CodeInfo("STEP904", "key given twice"),
    CodeInfo("STEP905", "unknown key"),
    CodeInfo("STEP906", "missing key"),
    CodeInfo("STEP907", "value of the wrong kind"),
    CodeInfo("STEP908", "file checked on demand only"),
    CodeInfo("STEP909", "suppression without effect", Severity.WARNING),
    CodeInfo("STEP910", "no STeP program in this file"),
    CodeInfo("STEP911", "internal error of Stepsmith"),
    CodeInfo("STEP912", "file takes too much work to check"),
)

# Findings whose fix `check --fix` applies unasked; the others, such as a nearer name, are for people to choose.
APPLIED: Final = frozenset({"STEP101", "STEP104"})

CODES: Final[dict[str, CodeInfo]] = {info.code: info for info in _TABLE}
