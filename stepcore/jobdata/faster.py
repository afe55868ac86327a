"""What *Make it faster* tells an editor, and what that orders; :mod:`stepcore.jobdata.editor` has it, too.

A ``line`` counts from 0 here, as positions of the protocol do.
"""

from __future__ import annotations

from stepcore.jobdata.choices import OrderState
from stepcore.jobdata.failures import FailureDetail
from stepcore.jobdata.optimizing import FasterResult, OptimizeOptions
from stepcore.jobdata.places import PlainRange
from stepcore.records import Record


class OptimizeOrder(OptimizeOptions, kw_only=True):
    """Argument of ``stepsmith.server.optimize``: a program of a document, by its name or by a ``line`` in it.

    ``apply`` has the server put the best program into the document, for clients that show no choice; ``asker`` is
    what questions of this order to a model are marked with. ``choose``: where no ``program`` is named and there are
    several, nothing begins, and the answer lists them.
    """

    uri: str
    program: str | None = None
    line: int | None = None
    apply: bool = False
    choose: bool = False
    asker: str = ""


class ProgramChoice(Record):
    """One of several programs: its ``line``, whether the order's line lies in it, and what the lens above it says.

    ``problem`` says why it cannot be made faster; "" where nothing speaks against it.
    """

    name: str
    line: int
    here: bool
    figures: str = ""
    problem: str = ""


class OptimizeStarted(Record):
    """Answer to it: the order's number, or 0 and why there is none, and the program that is meant.

    ``choices`` are the programs of the document, in its order, where the client has to say which one.
    """

    id: int
    message: str
    program: str = ""
    choices: tuple[ProgramChoice, ...] = ()


class OptimizeStop(Record):
    """Argument of ``stepsmith.server.stopOptimizing``: an order (None: all), and whether to keep what it has."""

    id: int | None = None
    keep: bool = True


class OptimizingParams(Record):
    """Parameters of ``stepsmith/optimizing``. The last one of an order is ``done``, ``failed`` or ``cancelled``.

    While it runs ``text`` says what is going on; ``cycles`` are those of the best so far, by their bound (``ratio``),
    ``spent`` what a model took, in words.
    At the end ``result`` is what came of it, ``before`` the document's text that it was made for, and ``message`` says
    why there is nothing.
    """

    id: int
    uri: str
    program: str
    state: OrderState
    text: str | None = None
    cycles: int | None = None
    ratio: float | None = None
    spent: str | None = None
    message: str | None = None
    code: str | None = None
    detail: FailureDetail | None = None
    before: str | None = None
    result: FasterResult | None = None


class TakeOrder(Record):
    """Argument of ``stepsmith.server.takeFaster``: the document is to become ``text``, which was made of ``before``."""

    uri: str
    before: str
    text: str


class Taken(Record):
    """Answer to it: whether the editor took the edit, or why it was not asked to."""

    taken: bool
    message: str


class ExplainOrder(Record):
    """Argument of ``stepsmith.server.explainRewrites``: a program of a document, by its name.

    ``compute`` are the FLOPs per cycle that all its units may have together; None is left to Stepsmith.
    """

    uri: str
    program: str
    compute: int | None = None


class RewriteReason(Record):
    """What a rewrite would do at a place of a program, or why it does not apply there.

    ``operator`` is what it is about, as the program writes it, at ``range``; empty and null where that is the
    program as a whole.
    """

    rewrite: str
    applies: bool
    sentence: str
    operator: str = ""
    range: PlainRange | None = None


class ExplainedRewrites(Record):
    """Answer to it: of each rewrite every place that it is about, in the text ``before``; or why there is nothing."""

    message: str
    before: str = ""
    reasons: tuple[RewriteReason, ...] = ()
