"""A seeded generator of hostile inputs: files of the corpus and honest ones, mutated, with payloads spliced in.

A payload takes the place of a node that the syntax tree of a body offers, wherever Python allows an expression or a
statement: in annotations, defaults, decorators, arms, comprehensions, f-strings, keywords.
"""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Final

from hostile.corpus import HERE, ROOT, load

PAYLOADS: Final = (
    "__import__('os').system('touch stepsmith-owned')",
    "open('stepsmith-owned', 'w')",
    "torch.save(torch.ones(1), 'stepsmith-owned')",
    "torch.from_file('stepsmith-owned', shared=True, size=4)",
    "().__class__.__base__.__subclasses__()",
    "'{0.__class__.__init__.__globals__}'.format(torch)",
    "torch.sys.modules['os'].system('touch stepsmith-owned')",
    "(lambda a=__import__('os').mkdir('stepsmith-owned'): a)",
    "[0] * 10 ** 11",
    "9 ** 9 ** 9",
    "input[0].zero_()",
    "torch.nn.functional.threshold(input[0], 1e9, 0.0, True)",
    "input_data.clear()",
)
_LETTERS: Final = "\t\r\n\0\ufeff{}[]()|>&*!%@`'\"\\#:,-=.;é流😀\u2028\x0c\x85ｏ０" + "0a"
_BLOCK: Final = re.compile(r"^(?P<indent>[ ]*(?:- )?)(?P<key>global|apply|impl|- )(?::[ ]*)?\|-?\n", re.MULTILINE)


def draw(rng: Random) -> tuple[str, str, str, bytes]:
    """Return kind, suffix, base task and content of one input."""
    choice = rng.randrange(10)
    if choice < 5:
        text = spliced(rng, rng.choice(_tasks()))
        return "task", ".step.yaml", "", text.encode("utf-8", "surrogatepass")
    if choice < 7:
        text = mutated(rng, rng.choice(_corpus("task")))
        return "task", ".step.yaml", "", text.encode("utf-8", "surrogatepass")
    if choice < 8:
        text = mutated(rng, spliced_python(rng, rng.choice(_examples())))
        return "python", ".py", "", text.encode("utf-8", "surrogatepass")
    kind = "impl" if choice < 9 else "answer"
    text = rng.choice(_corpus(kind))
    task = re.search(r"task:[ \t]*(\w+)", text)
    head, _, body = text.partition("\n")
    suffix = ".yaml" if kind == "impl" else ".md"
    return kind, suffix, task[1] if task else "double", f"{head}\n{mutated(rng, body)}".encode("utf-8", "surrogatepass")


@cache
def _tasks() -> tuple[str, ...]:
    folders = (ROOT / "benchmarks" / "tasks", HERE / "tasks")
    return tuple(f.read_text(encoding="utf-8") for folder in folders for f in sorted(folder.glob("*.step.yaml")))


@cache
def _examples() -> tuple[str, ...]:
    return tuple(file.read_text(encoding="utf-8") for file in sorted((ROOT / "examples").glob("*.py")))


@cache
def _corpus(kind: str) -> tuple[str, ...]:
    """The texts of a kind that are small: a mutation of a bomb is the same bomb."""
    files = [item.path for item in load() if item.kind == kind and "bomb" not in item.topic]
    return tuple(file.read_bytes().decode("utf-8", "replace") for file in files if file.stat().st_size < 20_000)


# -- mutations ---------------------------------------------------------------------------------------------------------


def mutated(rng: Random, text: str) -> str:
    """Delete, double, swap or replace some words or characters."""
    words = re.findall(r"\w+|\W", text) or [text]
    for _ in range(rng.randint(1, 4)):
        a, b = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.randrange(5):
            case 0:
                words[a] = ""
            case 1:
                words[a] = words[a] * 2
            case 2:
                words[a], words[b] = words[b], words[a]
            case 3:
                words[a] = rng.choice(_LETTERS)
            case _:
                words[a] = rng.choice(PAYLOADS)
    return "".join(words)


# -- payloads in syntax trees ------------------------------------------------------------------------------------------


def spliced(rng: Random, task: str) -> str:
    """Put a payload somewhere into one of the bodies of a task file."""
    blocks = list(_BLOCK.finditer(task))
    if not blocks:
        return mutated(rng, task)
    block = rng.choice(blocks)
    lines = task[block.end() :].split("\n")
    depth = len(lines[0]) - len(lines[0].lstrip())
    count = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith(" " * depth)), len(lines))
    body = spliced_python(rng, textwrap.dedent("\n".join(lines[:count])))
    return task[: block.end()] + textwrap.indent(body, " " * depth) + "\n" + "\n".join(lines[count:])


def spliced_python(rng: Random, body: str) -> str:
    """Put a payload somewhere into Python text; the text is mutated where it does not parse."""
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError):
        return mutated(rng, body)
    tree = copy.deepcopy(tree)
    payload = ast.parse(rng.choice(PAYLOADS), mode="eval").body
    rng.choice(_PLACES)(rng, tree, payload)
    return ast.unparse(ast.fix_missing_locations(tree))


def _statement(rng: Random, tree: ast.Module, payload: ast.expr) -> None:
    """As a statement: bare, annotated, in a dead arm, in a loop over nothing, in a function, in a class."""
    name = ast.Name("x", ast.Load())
    nothing = ast.arguments([], [], None, [], [], None, [])
    made: list[ast.stmt] = [
        ast.Expr(payload),
        ast.AnnAssign(ast.Name("x", ast.Store()), payload, ast.Constant(2), 1),
        ast.AnnAssign(ast.Name("x", ast.Store()), payload, None, 1),
        ast.If(ast.Constant(False), [ast.Expr(payload)], []),
        ast.If(ast.parse("M_value > 0", mode="eval").body, [ast.Pass()], [ast.Expr(payload)]),
        ast.For(ast.Name("x", ast.Store()), ast.List([], ast.Load()), [ast.Expr(payload)], []),
        ast.While(ast.Constant(False), [ast.Expr(payload)], []),
        ast.FunctionDef("h", nothing, [ast.Return(payload)], [], None),
        ast.FunctionDef("h", nothing, [ast.Pass()], [payload], None),
        ast.FunctionDef("h", nothing, [ast.Pass()], [], payload),
        ast.ClassDef("H", [], [], [ast.Expr(payload)], []),
        ast.ClassDef("H", [payload], [], [ast.Pass()], []),
        ast.Assert(ast.Constant(True), payload),
        ast.Try([ast.Pass()], [ast.ExceptHandler(payload, None, [ast.Pass()])], [], []),
        ast.With([ast.withitem(payload, None)], [ast.Pass()]),
        ast.Match(name, [ast.match_case(ast.MatchAs(), payload, [ast.Pass()])]),
    ]
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.If | ast.For)]
    body = rng.choice(bodies)
    body.insert(rng.randint(0, len(body)), rng.choice(made))


def _expression(rng: Random, tree: ast.Module, payload: ast.expr) -> None:
    """In the place of an expression, or beside it: `or`, `if`, a tuple, a default, an f-string, a comprehension."""
    places = [
        (node, name, index)
        for node in ast.walk(tree)
        for name, value in ast.iter_fields(node)
        for index, item in (enumerate(value) if isinstance(value, list) else [(-1, value)])
        if isinstance(item, ast.expr) and isinstance(getattr(item, "ctx", ast.Load()), ast.Load)
        # Parts of an f-string, and of a format, are texts and braces: nothing else can be written there.
        if not isinstance(node, ast.JoinedStr) and not (isinstance(item, ast.JoinedStr) and name == "format_spec")
    ]
    if not places:
        _statement(rng, tree, payload)
        return
    node, name, index = rng.choice(places)
    held = getattr(node, name)
    old = held if index < 0 else held[index]
    arguments = ast.arguments([], [ast.arg("y")], None, [], [], None, [payload])
    empty = ast.comprehension(ast.Name("z", ast.Store()), ast.List([], ast.Load()), [], 0)
    new = rng.choice(
        [
            payload,
            ast.IfExp(ast.Constant(True), old, payload),
            ast.BoolOp(ast.Or(), [old, payload]),
            ast.Call(ast.Lambda(arguments, old), [], []),
            ast.Subscript(ast.Tuple([old, ast.ListComp(payload, [empty])], ast.Load()), ast.Constant(0), ast.Load()),
            ast.Subscript(ast.Tuple([old, ast.JoinedStr([ast.FormattedValue(payload, -1)])], ast.Load()),
                          ast.Constant(0), ast.Load()),
            ast.NamedExpr(ast.Name("w", ast.Store()), payload),
            ast.Starred(payload, ast.Load()),
        ]
    )  # fmt: skip
    if index < 0:
        setattr(node, name, new)
    else:
        held[index] = new


def _keyword(rng: Random, tree: ast.Module, payload: ast.expr) -> None:
    """As a further argument of a call: by a keyword, a dictionary or a star."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not calls:
        _statement(rng, tree, payload)
        return
    call = rng.choice(calls)
    match rng.randrange(4):
        case 0:
            call.keywords.append(ast.keyword(rng.choice(["out", "inplace", "name", "file"]), payload))
        case 1:
            call.keywords.append(ast.keyword(None, payload))
        case 2:
            call.args.append(ast.Starred(payload, ast.Load()))
        case _:
            call.args.append(payload)


_PLACES: Final[tuple[Callable[[Random, ast.Module, ast.expr], None], ...]] = (_statement, _expression, _keyword)
