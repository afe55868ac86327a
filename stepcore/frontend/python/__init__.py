"""Python files: finds element functions, helpers and programs, without importing anything of the file.

``read_module`` never raises on user input: what cannot be read becomes a finding, and the rest is still there.
"""

from __future__ import annotations

from stepcore.frontend.python.module import ModuleFacts, PyComposition, PyModule, PyProgram
from stepcore.frontend.python.programs import COMPOSITION_PARAMETERS, PROGRAM_PARAMETERS
from stepcore.frontend.python.reader import imports_published, may_be_ours, read_module

__all__ = [
    "COMPOSITION_PARAMETERS",
    "PROGRAM_PARAMETERS",
    "ModuleFacts",
    "PyComposition",
    "PyModule",
    "PyProgram",
    "imports_published",
    "may_be_ours",
    "read_module",
]
