"""Task files (YAML) to :class:`stepcore.graph.task.TaskFile`, with exact spans. Never raises on what a user wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Final

from stepcore.findings.diagnostics import Diagnostic
from stepcore.fn.aliases import with_aliases
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.prelude import constant_bindings, size_faults
from stepcore.fn.source import node_span
from stepcore.frontend.yaml.compose import compose
from stepcore.frontend.yaml.fields import Fields, Schema
from stepcore.frontend.yaml.mending import MOST_FINDINGS, mended, structural
from stepcore.frontend.yaml.nodes import Document, MapNode, Node, ScalarNode
from stepcore.frontend.yaml.parts import Declared, read_drawn, read_fns, read_outputs, read_ports
from stepcore.graph.ir import Port, ProgramSpec
from stepcore.graph.task import TaskFile, task_name
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.sizes.dim import DEFAULT_SIZES, SIZE_RULE
from stepcore.text.span import Embedded, SourceFile, Span
from stepcore.types import Scalar, Shape

MAX_CHARACTERS: Final = 5_000_000
MAX_LINES: Final = 100_000
TASK_SCHEMA: Final = Schema(
    "a task", ("inputs", "outputs"), (
        "test_name", "global", "sizes", "parameters", "fns", "constraints", "answer_may_define_fns", "impl", "source",
    ),
)  # fmt: skip
_WORD: Final = re.compile(r"[^\W\d]\w*")


def too_large(text: str) -> bool:
    """Return whether ``text`` is checked on demand only: over 5 million characters or 100,000 lines."""
    return len(text) > MAX_CHARACTERS or text.count("\n") > MAX_LINES


def read_task(
    text: str,
    path: str,
    impl: tuple[str, str] | None = None,
    *,
    given: Mapping[str, int] | None = None,
    dialect: Dialect = GENERATION_1,
) -> TaskFile:
    """Read a task file.

    Args:
        text: the file's text; a byte order mark and any line ends are fine.
        path: names the task and stands in messages.
        impl: text and path of a second file whose ``impl`` replaces that of the first.
        given: sizes that the run itself binds (``--dims``): they need no value in the file, and those that
            ``global`` computes follow from them.
        dialect: what the file is written in.

    Returns:
        Everything that can be known, with the findings in the order of the text.
    """
    source = SourceFile(path, text)
    answer = read_answer(*impl) if impl is not None else None
    binary = _binary(text)
    if binary is not None:
        return _without_spec(source, [binary], answer)
    task = _read(source, compose(text), answer, given or {}, dialect)
    count = structural(task.diagnostics)
    document = mended(text, TASK_SCHEMA.known) if 0 < count <= MOST_FINDINGS else None
    if document is None:
        return task
    again = _read(source, document, answer, given or {}, dialect)
    return again if structural(again.diagnostics) <= count else task


def _read(
    source: SourceFile, document: Document, answer: TaskFile | None, given: Mapping[str, int], dialect: Dialect
) -> TaskFile:
    if not isinstance(document.root, MapNode) or not _is_task(document.root):
        return _no_task(source, document, answer)
    return _Task(source, document, answer, given, dialect).read()


class _Task:
    """One task file with at least one key of a task."""

    def __init__(
        self,
        source: SourceFile,
        document: Document,
        answer: TaskFile | None,
        given: Mapping[str, int],
        dialect: Dialect,
    ) -> None:
        self._source = source
        self._document = document
        self._answer = answer
        self._given = frozenset(given)
        self._sizes = {**DEFAULT_SIZES, **given}
        self._dialect = dialect
        self._fields = Fields(source, dialect=dialect)
        self._declared = Declared(self._fields)

    def read(self) -> TaskFile:
        root = self._document.root
        assert root is not None
        nodes = self._fields.mapping(root, self._schema(root)) or {}
        impl = self._block(nodes.get("impl"), "impl")
        answer = self._answer
        if answer is not None:
            impl = answer.impl
        spec = None if _only_impl(root) and not self._document.broken else self._spec(nodes, impl)
        may_define = self._fields.flag(nodes.get("answer_may_define_fns"), "answer_may_define_fns")
        unbound = self._unbound(spec) if spec is not None else ()
        for name, span in unbound:
            self._fields.report("STEP225", span, _unbound_message(name))
        found = [*self._document.problems, *self._fields.diagnostics]
        return TaskFile(
            source=self._source,
            impl_source=answer.impl_source if answer is not None else self._source,
            spec=spec,
            impl=impl,
            diagnostics=sorted(found, key=lambda finding: (finding.span.start, finding.span.end)),
            impl_diagnostics=answer.impl_diagnostics if answer is not None else [],
            test_name=self._plain(nodes.get("test_name")),
            constraints=self._plain(nodes.get("constraints")),
            untyped=frozenset(self._declared.untyped),
            incomplete=frozenset(self._document.broken | self._declared.dropped),
            unbound=unbound,
            answer_may_define_fns=may_define,
            dialect=self._dialect,
        )

    def _schema(self, root: Node) -> Schema:
        """What is missing in a file that holds only an answer, or may be lost, is not reported."""
        lost = self._document.broken
        if lost:  # a key that is indented by mistake is lost with the block above it
            lost |= {key for key in TASK_SCHEMA.required if re.search(rf"^[ \t]+{key}[ \t]*:", self._source.text, re.M)}
        required = () if _only_impl(root) else tuple(key for key in TASK_SCHEMA.required if key not in lost)
        optional = tuple(key for key in TASK_SCHEMA.known if key not in required)
        return Schema(TASK_SCHEMA.what, required, optional)

    def _spec(self, nodes: dict[str, Node], impl: CodeBlock | None) -> ProgramSpec:
        declared = self._declared
        prelude = self._block(nodes.get("global"), "global")
        inputs = read_ports(declared, nodes.get("inputs"), parameters=False, others=nodes.get("parameters"))
        parameters = read_ports(declared, nodes.get("parameters"), parameters=True)
        fns = read_fns(declared, nodes.get("fns"))
        drawn = read_drawn(declared, nodes.get("sizes"), inputs)
        outputs = read_outputs(declared, nodes.get("outputs"), parameters)
        fixed = self._fixed(prelude)
        blocks = [prelude, impl, *(fn.body for fn in fns), *(t for out in outputs or () for t in out.transforms)]
        used = self._fields.symbols.keys() | _words(blocks)
        symbols = (
            *PREDECLARED_SYMBOLS,
            *sorted((fixed.keys() | self._fields.symbols.keys()) - set(PREDECLARED_SYMBOLS)),
        )
        return ProgramSpec(
            name=task_name(self._source.path),
            inputs=inputs,
            parameters=parameters,
            fns=fns,
            outputs=outputs,
            drawn=drawn,
            scope=with_aliases(
                FnScope(
                    prelude,
                    tuple(port.name for port in parameters),
                    tuple(port.name for port in inputs),
                    symbols,
                    weights=self._weights(parameters),
                ),
                prelude,
            ),
            fixed=tuple(fixed.items()),
            defaults=tuple((name, size) for name, size in DEFAULT_SIZES.items() if name in used and name not in fixed),
            span=nodes["test_name"].span if "test_name" in nodes else Span(0, 0),
        )

    def _weights(self, parameters: Iterable[Port]) -> tuple[tuple[str, Shape, str], ...]:
        """Return the shapes and dtypes of parameters, outermost size first, as far as they can be read."""
        return tuple(
            (port.name, tuple(reversed(port.type.shape)), port.type.element.dtype)
            for port in parameters
            if isinstance(port.type.element, Scalar) and port.type.shape and port.name not in self._declared.untyped
        )

    def _fixed(self, prelude: CodeBlock | None) -> dict[str, int]:
        """Return the sizes that ``global`` binds; what is bound to something else is reported and left out."""
        if prelude is None:
            return {}
        for fault in size_faults(prelude, self._sizes):
            where = node_span(prelude.source, fault.node)
            self._fields.report("STEP217", where, f"the size {fault.name} is {fault.found}; {SIZE_RULE}")
            self._given |= {fault.name}
        return constant_bindings(prelude, self._sizes)

    def _unbound(self, spec: ProgramSpec) -> tuple[tuple[str, Span], ...]:
        if "global" in self._document.broken:
            return ()
        known = spec.bindings().keys() | self._given
        return tuple((name, span) for name, span in self._fields.symbols.items() if name not in known)

    def _block(self, node: Node | None, what: str) -> CodeBlock | None:
        """Read an optional block of code; a key without a value is a block without text."""
        if node is None:
            return None
        if isinstance(node, ScalarNode) and node.is_null:
            after_colon = self._source.text.find(":", node.span.start) + 1
            return CodeBlock(Embedded("", (after_colon,), Span(after_colon, after_colon), indent="  "))
        source = self._fields.code(node, what)
        return None if source is None else CodeBlock(source)

    def _plain(self, node: Node | None) -> str:
        return node.value if isinstance(node, ScalarNode) and not node.is_null else ""


def read_answer(text: str, path: str) -> TaskFile:
    """Read a file of which only the key ``impl`` counts; its findings go to ``impl_diagnostics``. Never raises."""
    source = SourceFile(path, text)
    binary = _binary(text)
    document = compose(text) if binary is None else Document(problems=[binary])
    fields = Fields(source)
    block = None
    if isinstance(document.root, MapNode):
        pairs = [(key, value) for key, value in document.root.pairs if isinstance(key, ScalarNode)]
        found = next((value for key, value in pairs if key.value == "impl"), None)
        own = next((key for key, _ in pairs if key.value == "fns"), None)
        if own is not None and not any(key.value in TASK_SCHEMA.required for key, _ in pairs):
            fields.report("STEP905", own.span, _OWN_FNS)
            found = None
        code = fields.code(found, "impl") if found is not None else None
        block = None if code is None else CodeBlock(code)
    # Of a whole task file only impl is used here; what else is wrong with it is found when it is checked itself.
    problems = list(document.problems) if block is None or "impl" in document.broken else []
    if block is None and not fields.diagnostics and binary is None:
        slips = mended(text, TASK_SCHEMA.known)
        problems = problems if slips is None else slips.problems
        if not problems:
            message = "this file has no key impl, so it answers no task; put the program under impl: |"
            fields.report("STEP906", Span(0, min(1, len(text))), message)
    return TaskFile(source, source, impl=block, impl_diagnostics=[*problems, *fields.diagnostics])


_OWN_FNS: Final = (
    "an answer brings no element functions of its own: its key fns is not read. Use the functions of the task; where "
    "the task says answer_may_define_fns: true, define others inside impl with @step.fn"
)


def _no_task(source: SourceFile, document: Document, answer: TaskFile | None) -> TaskFile:
    problems = list(document.problems)
    if not problems:
        message = "the file is empty" if not source.text.strip("\ufeff \t\r\n") else "no key of a task is here"
        span = Span(0, min(1, len(source.text)))
        keys = ", ".join((*TASK_SCHEMA.required, "fns", "impl"))
        has = f"a task file has the keys {keys}"
        if PurePath(source.path).suffixes[-2:-1] == [".impl"]:
            has = "an answer has the key impl, with the program as its text: impl: |"
        problems.append(Diagnostic("STEP910", span, f"no STeP program: {message}; {has}"))
    return _without_spec(source, problems, answer)


def _without_spec(source: SourceFile, problems: list[Diagnostic], answer: TaskFile | None) -> TaskFile:
    if answer is None:
        return TaskFile(source, source, diagnostics=problems)
    return TaskFile(
        source, answer.impl_source, impl=answer.impl, diagnostics=problems, impl_diagnostics=answer.impl_diagnostics
    )


def _binary(text: str) -> Diagnostic | None:
    at = text.find("\0")
    if at < 0:
        return None
    return Diagnostic("STEP901", Span(at, at + 1), "the file is no text: it holds a NUL character")


def _is_task(root: MapNode) -> bool:
    """Whether a key is that of a task; one in capitals is told what is meant."""
    return any(isinstance(key, ScalarNode) and key.value.lower() in TASK_SCHEMA.known for key, _ in root.pairs)


def _only_impl(root: Node) -> bool:
    return isinstance(root, MapNode) and all(
        isinstance(key, ScalarNode) and key.value == "impl" for key, _ in root.pairs
    )


def _words(blocks: list[CodeBlock | None]) -> set[str]:
    """Return the words of code, ``M_value`` counting as ``M``."""
    words = {word for block in blocks if block is not None for word in _WORD.findall(block.source.text)}
    return {word.removesuffix("_value") for word in words}


def _unbound_message(name: str) -> str:
    alike = next((symbol for symbol in PREDECLARED_SYMBOLS if symbol != name and symbol == name.upper()), "")
    if alike:
        return f"the size {name} has no value; did you mean {alike}?"
    declare = "" if name in PREDECLARED_SYMBOLS else f'{name} = Symbol("{name}"); '
    return f"the size {name} has no value; bind it in global: {declare}{name}_value = 4; ctx[{name}] = {name}_value"
