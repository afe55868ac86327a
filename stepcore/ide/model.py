"""What editor features return: plain data below any protocol. Every span counts code points of the document."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from stepcore.findings.diagnostics import Diagnostic, Edit
from stepcore.records import Record
from stepcore.text.span import Span

# How a link of a hover to a section of the language page begins; the server makes an address of it.
LANGUAGE: Final = "language:"


class IdeError(Exception):
    """A request that cannot be met (a rename to a name that is taken); the message is for the user."""


class Hover(Record):
    """Markdown for the thing under the pointer."""

    span: Span
    markdown: str


class InlayHint(Record):
    """``label`` shown behind ``offset``; ``tooltip`` is Markdown."""

    offset: int
    label: str
    tooltip: str = ""


class Kind(Enum):
    """What a name stands for: of completions, symbols and semantic tokens alike."""

    OPERATOR = "operator"
    FUNCTION = "function"  # an element function
    HELPER = "helper"  # a Python function that a program calls
    STREAM = "stream"
    PARAMETER = "parameter"  # keyword of an operator or decorator
    WEIGHT = "weight"  # a parameter tensor
    SIZE = "size"
    TYPE = "type"
    VARIABLE = "variable"
    MODULE = "module"
    KEY = "key"  # of a task file
    VALUE = "value"
    PROGRAM = "program"
    SNIPPET = "snippet"
    OUTPUT = "output"


class Completion(NamedTuple):  # a tuple, because each list holds a hundred of them
    """One proposal. ``edit`` replaces what is typed so far; where ``is_snippet``, it holds tab stops (``$1``, ``$0``).

    ``sort_text`` orders the list: type-correct and not yet consumed streams come first. Where it ``asks``, an editor
    should propose again at the first tab stop.
    """

    label: str
    kind: Kind
    edit: Edit
    detail: str = ""
    documentation: str = ""
    sort_text: str = ""
    is_snippet: bool = False
    is_spent: bool = False  # a stream that is consumed already
    asks: bool = False


class CallSignature(Record):
    """The call around the cursor: ``parameters`` are (label, Markdown); ``active`` is None where none fits."""

    label: str
    documentation: str
    parameters: tuple[tuple[str, str], ...]
    active: int | None


class Symbol(Record):
    """An entry of the outline; ``selection`` is the name within ``span``."""

    name: str
    kind: Kind
    span: Span
    selection: Span
    detail: str = ""
    children: tuple[Symbol, ...] = ()


class Folding(Record):
    """A region that can be closed, in zero-based lines, both included."""

    start: int
    end: int
    is_comment: bool = False


class Token(NamedTuple):  # a tuple, because colouring makes one for every name of a file after each edit
    """A name with its role. ``is_spent`` marks a stream at and after its last permitted consumption."""

    span: Span
    kind: Kind
    is_declaration: bool = False
    is_spent: bool = False


class Action(Record):
    """Edits that a user may apply. ``kind`` is an LSP code action kind; ``fixes`` are the findings that it removes."""

    title: str
    kind: str
    edits: tuple[Edit, ...]
    fixes: tuple[Diagnostic, ...] = ()
    is_preferred: bool = False


class ProgramInfo(Record):
    """A program of a document.

    ``head`` is where a code lens belongs, ``span`` the whole program. ``target`` is what jobs call it.
    """

    name: str
    target: str
    head: Span
    span: Span
    has_reference: bool
    is_runnable: bool
