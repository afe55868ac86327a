"""Declarations of element functions, as both frontends deliver them. No body is interpreted here."""

from __future__ import annotations

from dataclasses import field

from stepcore.records import Record
from stepcore.text.span import Embedded, Span
from stepcore.types import Element, Shape


class CodeBlock(Record):
    """Python text in the closed language: the suite of a function, a ``global`` block or a reference.

    ``source`` is the dedented suite. ``arguments`` are the names bound on entry: ``("input",)`` or
    ``("state", "input")`` for element functions (a Python file may choose other names), ``()`` otherwise.
    """

    source: Embedded
    arguments: tuple[str, ...] = ()


class FnDecl(Record):
    """One element function: ``apply(input)`` or, with an ``init``, ``apply(state, input)``.

    ``func_name`` is the key under which programs use it, ``label`` the free name for people. ``init`` holds one
    constant per output component (0, 1, -1 or ``-inf``), each filled to the component's shape; ``init_body`` is
    the suite of the published ``getInit(self)`` instead. Spans point into the file that declares the function.
    """

    func_name: str
    label: str
    input: Element
    output: Element
    body: CodeBlock
    init: tuple[float, ...] | None = None
    init_body: CodeBlock | None = None
    span: Span = field(default=Span(0, 0), compare=False)
    input_span: Span = field(default=Span(0, 0), compare=False)
    output_span: Span = field(default=Span(0, 0), compare=False)
    init_span: Span | None = field(default=None, compare=False)

    is_count = False

    def __hash__(self) -> int:
        # What tells functions apart; texts keep their hashes, types do not.
        return hash((self.func_name, self.label, self.body.source.text))

    @property
    def has_state(self) -> bool:
        """True for functions of ``Accum``, ``Scan`` and ``Merge``."""
        return self.init is not None or self.init_body is not None


class FnScope(Record):
    """What bodies may name besides their arguments and ``torch``.

    ``prelude`` is the ``global`` block of a task, or the module-level statements of a Python file that functions
    may use. ``parameters`` are the weights (readable as ``input_data['W']``, in Python files also as ``W``),
    ``tensors`` further names of ``input_data`` (inputs, in references only). ``symbols`` are sizes: ``M`` and
    ``M_value`` are in scope for each. ``modules`` maps a local name to the dotted module it stands for. ``sizes`` are
    the bindings that a run uses by default: shapes in bodies are compared under them (none: those of task files).
    ``weights`` are the shapes (outermost size first) and dtypes of ``parameters``, as far as they are known.
    """

    prelude: CodeBlock | None = None
    parameters: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    modules: tuple[tuple[str, str], ...] = (("torch", "torch"),)
    bare_parameters: bool = False
    sizes: tuple[tuple[str, int], ...] = ()
    weights: tuple[tuple[str, Shape, str], ...] = field(default=(), compare=False)
