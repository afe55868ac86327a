"""What the parts of elaboration share: the state of one program, its findings, budget and branches.

Expressions, calls and the application of operators work on an :class:`Elaboration`; statements are in
:mod:`stepcore.frontend.elaborate`.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final, TypeAlias

from stepcore.findings import budget
from stepcore.findings.budget import OutOfBudget
from stepcore.findings.codes import Subject, about
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related
from stepcore.findings.near import nearest
from stepcore.fn.source import node_span, node_text
from stepcore.frontend.state import (
    MAX_BRANCHES,
    MAX_MESSAGE,
    MAX_SAME,
    MAX_STEPS,
    MAX_STREAMS,
    Abandon,
    Frame,
    SuiteEnd,
)
from stepcore.frontend.values import (
    EvaluationContext,
    Helper,
    LoopValue,
    LosingStatement,
    Method,
    ModuleRef,
    Path,
    Scope,
    Seen,
    StreamRef,
    TensorValue,
    UnknownSequence,
    Use,
    Value,
    describe,
    holds_stream,
    sort_of,
)
from stepcore.graph.ir import Graph, GraphStream
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.ops.miscalls import Mistake, Sort, literal_kind
from stepcore.sizes.dim import Dim, DimError
from stepcore.text.span import Embedded, Span
from stepcore.text.wording import clipped
from stepcore.types import Element, StreamType, any_size_in, as_shape, too_large

# Joined values by the identities of what they join.
Joined: TypeAlias = dict[tuple[int, int], Value]
# What a stream costs besides the evaluation that makes it: it is typed, counted and kept.
_STREAM_STEPS: Final = 4
# Where an elaboration stands before it begins: run() and the callers replace both.
_NOWHERE: Final = Embedded.whole("")
_NOTHING: Final = ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


class Elaboration(ABC):
    """The elaboration of one program into :attr:`graph`, :attr:`uses` and :attr:`diagnostics`."""

    takes_generators: ClassVar[bool] = False  # True: Python runs the text, and :mod:`closed` says nothing of them

    # So many attributes are found several times as fast in slots: Python shares the keys of 30 at most.
    __slots__ = (
        "_branches",
        "_budget",
        "_limit",
        "_said",
        "_said_at",
        "arms",
        "at",
        "bindings",
        "conditions",
        "defaults",
        "diagnostics",
        "dialect",
        "element_functions",
        "frame",
        "gaps",
        "graph",
        "hidden",
        "homes",
        "is_task",
        "loops",
        "lost",
        "met",
        "op_module",
        "open_lengths",
        "path",
        "prints",
        "refused",
        "roots",
        "seen",
        "steps",
        "suppress_unused",
        "undecided",
        "unfollowed",
        "uses",
        "whole",
    )  # fmt: skip

    def __init__(
        self, name: str, bindings: Mapping[str, int], op_module: str = "step", dialect: Dialect = GENERATION_1
    ) -> None:
        self.graph = Graph(name)
        self.uses: list[Use] = []
        self.homes: list[EvaluationContext] = []  # per stream: where it was made
        self.diagnostics: list[Diagnostic] = []
        self.seen: list[Seen] = []
        self.bindings = bindings
        self.op_module = op_module
        self.dialect = dialect
        self.refused: set[str] = set()  # names that were bound by what is no part of the language
        self.is_task = False  # nothing but the task's names is in scope
        self.path: Path = ()
        self.frame = Frame(Scope({}), _NOWHERE, EvaluationContext("root", _NOWHERE))
        self.begin()
        self.at: ast.AST = _NOTHING
        self.suppress_unused = False  # a line was left out, so a stream may be used there
        self.lost = False  # nobody can tell what becomes of some stream
        self.prints = False  # what is printed is evaluated: scripts may print
        self._branches = 0
        # Conditions that were decided, by the identities of their tests, and the arms that were taken.
        self.conditions: dict[int, ast.expr] = {}
        self.arms: set[tuple[int, bool]] = set()
        self.open_lengths: list[Diagnostic] = []  # sizes that only say how often something is done, see note_size
        self.gaps: dict[tuple[int, int, int], int | None] = {}  # see note_gap
        self.roots: list[ast.stmt] = []
        self.element_functions: set[int] = set()  # definitions of these in the program, by identity
        self.met: dict[int, tuple[ast.stmt, Embedded]] = {}  # statements that were elaborated, with their texts
        self.hidden = 0  # expressions that were met of which some part may not have been evaluated
        self.whole: set[int] = set()  # the identities of statements of which every part was evaluated
        # What was said of statements after which names are not followed, and of which names.
        self.unfollowed: dict[LosingStatement, tuple[Diagnostic, list[str]]] = {}
        self.undecided: tuple[Span, str] | None = None  # the first expression without a value: where, and as written
        self.loops: list[LoopValue] = []
        self.defaults: dict[Helper, dict[str, Value]] = {}  # of helpers' parameters, evaluated where these are defined
        self._said: set[tuple[str, Span, str]] = set()
        self._said_at: dict[tuple[str, Span], int] = {}

    def begin(self) -> None:
        """Count anew, up to what one program may take and the document has left; :meth:`settle` ends it."""
        self.steps = 0
        self._budget = budget.current()
        self._limit = MAX_STEPS if self._budget is None else max(min(MAX_STEPS, self._budget.left), 0)

    def settle(self) -> None:
        """Take what was counted from the document's budget."""
        if not self.steps:
            return
        if self._budget is not None:
            self._budget.left -= self.steps
        self.steps = 0
        self._limit = MAX_STEPS if self._budget is None else max(min(MAX_STEPS, self._budget.left), 0)

    def out_of_budget(self, error: OutOfBudget) -> None:
        """Say where the document's budget ended; what was found until then stays."""
        self.graph.complete = False
        self.suppress_unused = True
        if self._budget is not None:
            self.diagnostics += self._budget.report(error, self.span(self.at))

    def span(self, node: ast.AST) -> Span:
        """Return where ``node`` of the current function stands in the file."""
        return node_span(self.frame.code, node)

    def lacks(self, owner: Value, node: ast.Attribute) -> bool:
        """Return whether ``owner`` certainly has no such attribute where the text is run."""
        return True

    def report_certain(self, code: str, where: ast.AST | Span, message: str, way_out: str, fix: Fix | None) -> None:
        """Add a finding on what no run gets past, in scripts, too."""
        self.report(code, where, message, way_out, fix=fix)

    def report(
        self,
        code: str,
        where: ast.AST | Span,
        message: str,
        way_out: str = "",
        related: tuple[Related, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        """Add a finding; the same one (a loop body elaborated several times) counts once."""
        span = where if isinstance(where, Span) else self.span(where)
        text = clipped(f"{message}; {way_out}" if way_out else message, MAX_MESSAGE)
        # Only what is elaborated several times can repeat itself.
        if self.frame.context.depth and not self._is_news(code, span, text):
            return
        self.diagnostics.append(Diagnostic(code, span, text, related=related, fix=fix))

    def retract(self, code: str, span: Span) -> None:
        """Take back a finding that turns out to be part of a mistake that is better told at another place."""
        self.diagnostics[:] = [item for item in self.diagnostics if (item.code, item.span) != (code, span)]

    def _is_news(self, code: str, span: Span, text: str) -> bool:
        before = self._said_at.get((code, span), 0)
        if (code, span, text) in self._said or before >= MAX_SAME:
            return False
        self._said.add((code, span, text))
        self._said_at[code, span] = before + 1
        return True

    def text(self, node: ast.AST, length: int = 40) -> str:
        """Return ``node`` of the current function as it was written, on one line and clipped."""
        return node_text(self.frame.code, node, length)

    def tell(self, mistake: Mistake, where: ast.AST | Span, fix: Fix | None = None) -> None:
        """Add the finding for a wrong call."""
        self.report(mistake.code, where, mistake.text, mistake.way_out, fix=fix)

    # What messages about calls need to know (:class:`stepcore.ops.miscalls.Page`).

    def what(self, node: ast.AST, value: Value) -> str:
        """Return ``E0 is a stream``: the text and what it stands for; a literal speaks for itself."""
        if isinstance(node, ast.Constant):
            return f"{self.text(node)} is {literal_kind(node.value)}"
        if isinstance(value, Dim):
            return f"{self.text(node)} is a size"
        if isinstance(value, ModuleRef):
            return f"{self.text(node)} is no part of STeP"
        if isinstance(value, Helper) and isinstance(node, ast.Name) and isinstance(value.node, ast.FunctionDef):
            return f"{node.id} is a helper function"
        return f"{self.text(node)} is {describe(value)}"

    def describe(self, value: Value) -> str:
        """Return what ``value`` is."""
        return describe(value)

    def sort(self, value: Value) -> Sort:
        """Return what kind of thing ``value`` is."""
        return sort_of(value)

    def look(self, name: str) -> Value:
        """Return what a name stands for, None where it is not known."""
        try:
            return self.frame.scope.find(name)
        except KeyError:
            return None

    def maker_of(self, value: Value) -> str:
        """Return the operator that makes a stream, or an empty text for an input."""
        if not isinstance(value, StreamRef):
            return ""
        producer = self.graph.streams[value.index].producer
        return "" if producer is None else self.graph.nodes[producer].written

    def maker_of_all(self, values: Sequence[Value]) -> str:
        """Return the operator whose outputs in one application ``values`` are, or an empty text."""
        streams = self.graph.streams
        producers = {streams[item.index].producer if isinstance(item, StreamRef) else None for item in values}
        return self.maker_of(values[0]) if len(producers) == 1 else ""

    def operator(self, name: str) -> str:
        """Return how the file writes an operator: ``step.Map``, or ``Map`` where it is imported by its name."""
        return f"{self.op_module}.{name}" if self.op_module else name

    def replacing(self, where: ast.AST | Span, text: str, title: str = "") -> Fix | None:
        """Return the fix that writes ``text`` instead of what stands there, where the file holds the text as it is."""
        if not self.frame.code.verbatim:
            return None
        span = where if isinstance(where, Span) else self.span(where)
        return Fix(title or f"Change to {clipped(text, 60)}", (Edit(span, text),))

    def stream_type(self, node: ast.AST, element: Element, sizes: Iterable[Dim | int]) -> StreamType | None:
        """Return the type of a stream, ``sizes`` as they are written; one that is beyond all bounds is reported."""
        found = StreamType(element, as_shape(self.dialect.sizes(sizes)))
        if problem := too_large(found):
            self.report("STEP221", node, f"this stream has {problem}")
            return None
        if unbound := any_size_in(found):
            bare = unbound[1:]
            text = f"{unbound} is any size, which only the types of functions have"
            self.report("STEP226", node, text, f'write a symbol, or step.dyn("{bare}") for one that only a run knows')
            return None
        if [size for size in found.shape if size.is_open]:
            from stepcore.open_types.rules import at_home, outermost_fault  # most types have static sizes

            fault = outermost_fault(found.shape)
            if fault is not None:
                self.report("STEP226", node, fault.message)
                return None
            return at_home(found)
        return found

    def unknown_name(self, code: str, what: str, name: str, known: list[str], span: Span, otherwise: str) -> None:
        """Report a name that does not exist, with its import or the nearest name as a fix."""
        fix = self.frame.scope.missing_import(name) if about(code).subject is Subject.NAME else None
        if fix is not None:
            self.report(code, span, f"{what} {name} is not known", fix.title[0].lower() + fix.title[1:], fix=fix)
            return
        near = nearest(name, known)
        fix = Fix(f"Change to {near[0]}", (Edit(span, near[0]),)) if near else None
        hint = f"did you mean {near[0]}?" if near else otherwise
        self.report(code, span, f"{what} {name} is not known", hint, fix=fix)

    def unknown_keyword(self, keyword: ast.keyword, mistake: Mistake) -> None:
        """Report a keyword that a call does not take, with the one that is meant as a fix."""
        start = self.span(keyword).start
        span = Span(start, start + len(keyword.arg or ""))
        meant = mistake.meant
        self.tell(mistake, span, Fix(f"Change to {meant}", (Edit(span, meant),)) if meant else None)

    def step(self, node: ast.AST) -> None:
        """Count one evaluation step; give up on programs that never end."""
        self.steps += 1
        self.at = node
        if self.steps > self._limit or len(self.homes) > MAX_STREAMS or len(self.uses) > MAX_STREAMS:
            self._stop(node)

    def charge(self, steps: int) -> None:
        """Count work that one evaluation causes besides itself: items that are copied or looked at, characters."""
        self.steps += steps
        if self.steps > self._limit:
            self._stop(self.at)

    def _stop(self, node: ast.AST) -> None:
        where = self._outermost_loop() or self.span(node)
        if self.steps > self._limit and self._limit < MAX_STEPS:
            assert self._budget is not None  # only a budget makes the limit less
            self._budget.is_spent = True
            raise OutOfBudget(where)
        self.report("STEP221", where, "this program is too long when its loops are unrolled", "loop over fewer items")
        raise Abandon

    def _outermost_loop(self) -> Span | None:
        """Return the head of the outermost loop that is being unrolled."""
        for context in self.frame.context.chain():
            match context.node:
                case ast.For() | ast.comprehension() as loop:
                    return node_span(context.code, loop.target).cover(node_span(context.code, loop.iter))
                case ast.While() as loop:
                    return node_span(context.code, loop.test)
        return None

    def make_stream(self, _node: ast.Call, *, of_tensors: bool = False) -> Value | None:
        """Return the stream of ``step.Stream(...)``, or of ``step.Stream.of(...)``.

        Programs get theirs as arguments, only scripts make some.
        """
        return None

    def make_tensor(self, _callee: ModuleRef | Method, _node: ast.Call) -> TensorValue | None:
        """Return the tensor that a call of torch makes, as far as it is known; only scripts have any."""
        return None

    def new_stream(self, name: str, span: Span, producer: int | None, slot: int) -> StreamRef:
        """Add a stream to the graph."""
        index = len(self.graph.streams)
        self.steps += _STREAM_STEPS
        self.graph.streams.append(GraphStream(index, name, span, producer, slot))
        self.homes.append(self.frame.context)
        return StreamRef(index)

    def new_loop(self, loop: LoopValue) -> LoopValue:
        """Remember a loop: when all is elaborated it has to be closed."""
        self.loops.append(loop)
        return loop

    def integer(self, value: Value) -> int | None:
        """Return ``value`` if it is an integer: no truth, and no size (:mod:`stepcore.frontend.numbers`)."""
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def bound(self, size: Dim) -> int | None:
        """Return the number that a size has where its symbols are bound."""
        try:
            return size.bind(self.bindings)
        except DimError:
            return None

    def note_gap(self, node: ast.expr, left: Value, right: Value) -> None:
        """Note how far apart two numbers are that are compared, by the place of the second in its text.

        Where one place compares several pairs (in rounds of a loop) nothing is known of it.
        """
        if type(left) is int and type(right) is int:
            place = node.lineno, node.col_offset, node.end_col_offset or 0
            gap = left - right
            self.gaps[place] = gap if self.gaps.setdefault(place, gap) == gap else None

    def take(self, test: ast.expr, outcome: bool) -> None:
        """Note which arm of a condition is taken: other sizes may take the other one."""
        self.conditions[id(test)] = test
        self.arms.add((id(test), outcome))

    def new_branch(self) -> int:
        """Return the number of a new branch that cannot be decided."""
        self._branches += 1
        if self._branches > MAX_BRANCHES:  # uses are compared with those in other arms
            self.report("STEP221", self.at, "too many conditions that only a run can decide", "use fewer branches")
            raise Abandon
        return self._branches

    # -- what statements and expressions do -----------------------------------------------------

    def gives_away(self, args: Sequence[Value] | None) -> None:
        """Take note that ``args`` (None: who knows what) go where nobody can follow: streams among them are lost."""
        self.lost = self.lost or args is None or any(map(holds_stream, args))

    @abstractmethod
    def evaluate(self, node: ast.expr) -> Value:
        """Return the value of an expression; what is wrong with it is reported."""

    @abstractmethod
    def suite(self, body: list[ast.stmt]) -> SuiteEnd:
        """Elaborate statements one after the other."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Value) -> None:
        """Give a value to the names of a target."""

    @abstractmethod
    def join(self, branch: int, first: Value, second: Value, done: Joined | None = None) -> Value:
        """Return what a name holds after both arms of a branch."""

    @abstractmethod
    def is_open(self, items: UnknownSequence) -> bool:
        """Whether a sequence has a length that is not known."""
