"""Tasks made harder without changing what they ask: functions renamed, shuffled, and joined by distractors."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.task import TaskFile
from stepcore.text.span import Embedded
from stepcore.types import Element, Multihot, Scalar, STuple, components, element_shape

# Bodies over values of one type; the first two take one, the others two. Each is plausible and almost never wanted.
_ONE = ("0.5 * {0} + 0.1", "{0} * torch.sigmoid({0})", "{0}.abs() + 0.25")
_TWO = ("{0} * {1} + {0}", "torch.maximum({0}, {1}) - 0.5 * {1}", "0.3 * {0} + 0.7 * {1}")
_FOLD = ("state[0] + {0}.abs()", "torch.maximum(state[0], 0.5 * {0})", "0.9 * state[0] + {0}")


def disturbed(task: TaskFile, seed: int, distractors: int = 5) -> TaskFile:
    """Return ``task`` with its functions renamed and shuffled among ``distractors`` others of its own types."""
    assert task.spec is not None
    draw = random.Random(seed)
    fns = [*task.spec.fns, *_distractors(task.spec, draw, distractors)]
    draw.shuffle(fns)
    names = [f"fn_{number}" for number in draw.sample(range(100, 1000), len(fns))]
    renamed = tuple(replace(fn, func_name=name, label=name) for fn, name in zip(fns, names, strict=True))
    return replace(task, spec=replace(task.spec, fns=renamed), impl=None)


def _distractors(spec: ProgramSpec, draw: random.Random, count: int) -> list[FnDecl]:
    """Half of them have the signature of a function of the task; the rest combine types that it uses."""
    made: list[FnDecl] = []
    like = [fn for fn in spec.fns if _source_of(fn) is not None]
    kinds = sorted({_item for fn in spec.fns for _item in _plain(fn)}, key=str) or [Scalar()]
    for number in range(count):
        if like and number % 2 == 0:
            made.append(_like(draw.choice(like), draw))
        else:
            made.append(_free(draw.choice(kinds), draw))
    return made


def _plain(fn: FnDecl) -> list[Any]:
    found = [*components(fn.input), *components(fn.output)]
    return [item for item in found if not isinstance(item, Multihot) and not _has_selectors(item)]


def _has_selectors(item: Any) -> bool:
    return isinstance(getattr(item, "element", None), Multihot)


def _source_of(fn: FnDecl) -> list[int] | None:
    """Return for each output a component of the input of the same type."""
    inputs = components(fn.input)
    if any(item not in inputs or isinstance(item, Multihot) or _has_selectors(item) for item in components(fn.output)):
        return None
    return [inputs.index(item) for item in components(fn.output)]


def _like(fn: FnDecl, draw: random.Random) -> FnDecl:
    sources = _source_of(fn)
    assert sources is not None
    if fn.has_state:
        values = [f"0.5 * state[{i}] + input[{source}]" for i, source in enumerate(sources)]
    else:
        values = [draw.choice(_ONE).format(f"input[{source}]") for source in sources]
    return replace(fn, body=_body(values, fn.has_state))


def _free(kind: Any, draw: random.Random) -> FnDecl:
    shape = draw.choice(["one", "two", "fold", "sum"])
    if shape == "one":
        return _made(kind, kind, [draw.choice(_ONE).format("input[0]")])
    if shape == "two":
        return _made(STuple((kind, kind)), kind, [draw.choice(_TWO).format("input[0]", "input[1]")])
    if shape == "fold" or not element_shape(kind):
        return _made(kind, kind, [draw.choice(_FOLD).format("input[0]")], (0.0,))
    return _made(kind, Scalar(), ["0.5 * input[0].sum()"])


def _made(takes: Element, gives: Element, values: list[str], init: tuple[float, ...] | None = None) -> FnDecl:
    return FnDecl("fn_distractor", "Distractor", takes, gives, _body(values, init is not None), init)


def _body(values: list[str], has_state: bool) -> CodeBlock:
    arguments = ("state", "input") if has_state else ("input",)
    return CodeBlock(Embedded.whole(f"return [{', '.join(values)}]\n"), arguments)
