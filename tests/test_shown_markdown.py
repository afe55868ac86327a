"""What documents say is shown in hovers, proposals and hints as it stands: no picture is loaded, no link is made.

Whoever opens a file of others in an editor, trusted or not, shows its comments, docstrings and names.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from stepcore.ide.analysis import analyze
from stepcore.ide.completion import completions
from stepcore.ide.hover import hover
from stepcore.ide.inlay import inlay_hints
from stepcore.ide.marked import code, inline, unmarked_words, words
from stepcore.ide.signature import signature
from stepcore.text.span import Span

LIVE = "![p](https://e.example/p.png) [c](command:stepsmith.explain?1) <img src=x onerror=y> <https://e.example>"
FENCED = f"\n```\n{LIVE}\n```\n"
PYTHON = f'''\
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N


# {LIVE}
@step.fn(input=step.f32, output=step.f32)
def one(input):
    return [input[0]]


@step.fn(input=step.f32, output=step.f32)
def two(input):
    """{LIVE}

    | a | b |
    |---|---|
    | `x | {LIVE}` |
    """
    return [input[0]]


@step.fn(input=step.f32, output=step.f32)
def three(input):
    """x {FENCED}"""
    return [input[0]]


@step.fn(input=step.f32, output=step.f32)  # {LIVE}
def four(input):
    x = """{FENCED}"""
    return [input[0]]


def helper(x):
    """{LIVE} {FENCED}"""
    return x


def reference(x):
    """{LIVE}"""
    return x


TEXT = """{FENCED}"""


@step.program(reference=reference, layouts={{"S0": "`{LIVE}"}})
def p(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    """{LIVE} {FENCED}"""
    E1 = step.Map(fn=one).apply(E0)
    E2 = step.Map(fn=two).apply(E1)
    E3 = step.Map(fn=three).apply(E2)
    E4 = helper(step.Map(fn=four).apply(E3))
    E5 = step.Map(fn=TEXT).apply(E4)
    return step.Map(fn="`{LIVE}").apply(E5)
'''
NAME, BLOCK = json.dumps(f"`{LIVE}"), json.dumps(f"torch.randn`{FENCED}")
TASK = f"""\
test_name: {NAME}
constraints: {BLOCK}
global: |
  # {LIVE}
  D_value = 4
  ctx[D] = D_value
inputs:
- {{name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}}
- {{name: {NAME}, dtype: fp32, dims: [M, {NAME}], data_gen: {BLOCK}, min: {BLOCK}}}
parameters:
- {{name: W, dtype: fp32, dims: [M], data_gen: {NAME}}}
fns:
- name: {json.dumps(LIVE)}  # {LIVE}
  func_name: fn_a
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    # {LIVE}
    return [input[0]]
- name: {json.dumps(FENCED)}
  func_name: fn_b
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    \"\"\"
    ```
    {LIVE}
    \"\"\"
    return [input[0]]
- {{name: x, func_name: {NAME}, input_dtype: fp32, output_dtype: {NAME}, apply: "return [input[0]]"}}
outputs:
- {{name: {NAME}, dtype: fp32, dims: [M, N], layout: {NAME}, data_transform: ["input_data['E0']"]}}
impl: |
  # {LIVE}
  A = step.Map(fn=fn_a).apply(E0)
  return step.Map(fn=fn_b).apply(A)
"""
_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def live(text: str) -> list[str]:
    """Return what an editor would load, follow or interpret of a Markdown text; our own links aside."""
    found = []
    for token in _all(_MARKDOWN.parse(text)):
        is_link = token.type == "link_open" and not str(token.attrs["href"]).startswith("language:")
        if is_link or token.type == "image" or token.type.startswith("html"):
            found.append(token.type)
    return found


def _all(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())


def test_the_payload_is_live_by_itself() -> None:
    assert {"image", "link_open", "html_inline"} <= set(live(LIVE))


@pytest.mark.parametrize(("path", "text"), [("a.py", PYTHON), ("a.step.yaml", TASK)])
def test_documents_are_shown_and_not_interpreted(path: str, text: str) -> None:
    analysis = analyze(text, path)
    shown = {hint.tooltip for hint in inlay_hints(analysis, Span(0, len(text)))}
    for offset in range(len(text)):
        found = hover(analysis, offset)
        shown.add("" if found is None else found.markdown)
        if text[offset - 1 : offset] in ("(", ".", "="):
            shown.update(item.documentation for item in completions(analysis, offset))
            call = signature(analysis, offset)
            if call is not None:
                shown.update((call.documentation, *(about for _, about in call.parameters)))
    assert sum("e.example" in each for each in shown) > 3
    for each in shown:
        assert not live(each), each


PIECES = (*"`[]()<>!|\\-~*_#: \n", "``", "```", "](", "![", "x", "http://e", "<img>", "|---|", "    ", "- ", "> ", "\r")


def test_no_text_leaves_its_place() -> None:
    draw = random.Random(4)
    for _ in range(6000):
        text = "".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 24)))
        for shown in (words(text), f"x {inline(text)} y", code(text), f"- {inline(text)}: {words(text)}"):
            assert not live(shown), (text, shown)


def test_what_authors_mark_as_code_stays() -> None:
    assert words("the sum of `x[0]` and `a * b`") == "the sum of `x[0]` and `a * b`"
    assert words("[a](b) `x") == "\\[a\\](b) \\`x"
    assert words("`a](b`") == "\\`a\\](b\\`"
    assert (inline("x[0]"), inline("a`b"), inline("`")) == ("`x[0]`", "``a`b``", "`` ` ``")


def test_clients_without_markdown_read_text_and_code_as_written() -> None:
    shown = f"{code('return [input[0] * 2]  # `x`')}\n\n*Label* **bold** {inline('f(a)')} {words('[a] `b` <c> ` d')}"
    assert unmarked_words(shown) == "return [input[0] * 2]  # `x`\n\nLabel bold f(a) [a] b <c> ` d"
