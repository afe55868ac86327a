"""What a model wrote is shown so that nothing in it is interpreted by what shows it."""

from __future__ import annotations

import re

import pytest

from hostile.corpus import INPUTS
from stepagents.llm.ledger import StoredAnswer
from stepagents.llm.transcript import MOST_SHOWN, Answered, closing, line, opening, section
from stepagents.sampling import Sampled
from stepagents.spending import dollars, spending, spent_on, standing

SAMPLED = Sampled("t", "t.step.yaml", "fake/m")


def shown(text: str, message: str = "", **more: str) -> str:
    return section(Answered(SAMPLED, 1, "answer", "no program", message, StoredAnswer(text, model="m"), **more))


def blocks(document: str) -> tuple[list[str], str]:
    """Return the fenced blocks of a document as Markdown has them, and everything outside of them."""
    inside: list[str] = []
    outside: list[str] = []
    fence, lines = "", list[str]()
    for text in document.split("\n"):
        mark = re.match(r" {0,3}(`{3,})(.*)$", text)
        if fence:
            if mark and len(mark[1]) >= len(fence) and not mark[2].strip():
                inside.append("\n".join(lines))
                fence = ""
            else:
                lines.append(text)
        elif mark and "`" not in mark[2]:
            fence, lines = mark[1], []
        else:
            outside.append(text)
    assert not fence, "a fence is never left open"
    return inside, "\n".join(outside)


HOSTILE = {
    path.name: path.read_text(encoding="utf-8", errors="replace") for path in sorted((INPUTS / "answer").glob("*.md"))
}
FORGED = [
    "```\n# a heading\n[click](command:workbench.action.terminal.new)\n```",
    "````\n````text\n~~~\n<script>alert(1)</script>\n```",
    "`" * 500 + "\nout\n" + "`" * 499,
    "</code></pre><img src=https://far.example/x.png onerror=alert(1)>",
    "\x1b[2J\x1b]8;;https://far.example\x07here\x1b]8;;\x07",
    "a\u202eb\u2028c\u2029d\x85e\x0cf\rg\r\nh\x00i\ud800",
    "   ```\n    ```\n\t```",
    "---\ntitle: x\n---\n![](https://far.example/pixel)",
    "",
]


@pytest.mark.parametrize("text", [*FORGED, *HOSTILE.values()], ids=[*map(str, range(len(FORGED))), *HOSTILE])
def test_nothing_that_a_model_writes_leaves_its_block(text: str) -> None:
    document = shown(text, message=text, impl=text)
    inside, outside = blocks(document)
    expected = 1 + bool(text.strip())
    assert len(inside) == expected  # the verdict's message, and the answer
    outside = re.sub(r"\([\d,]+ more characters\)\n", "", outside)
    assert outside == blocks(shown("x", message="x" if text.strip() else "", impl="x"))[1]
    assert all(character.isprintable() or character in "\n\t" for character in document)


def test_what_others_named_is_escaped_outside_of_blocks() -> None:
    name = "m](command:x)\n# `heading` <b>"
    sampled = Sampled(name, "", name, reason=name)
    document = opening(sampled) + closing(sampled)
    assert len([text for text in document.split("\n") if text.startswith("#")]) == 2
    assert not re.search(r"(?<!\\)[\[\]<>`*#&]", re.sub(r"^#+ ", "", document, flags=re.MULTILINE))
    answered = Answered(sampled, 3, "answer", "values", name, StoredAnswer("x", model=name))
    assert not re.search(r"(?<!\\)[\[\]<>`*#&]", blocks(section(answered))[1].removeprefix("## "))
    assert "\n" not in line(answered)


def test_a_long_answer_is_cut_and_that_is_said() -> None:
    document = shown("x" * (MOST_SHOWN + 1234))
    assert "(1,234 more characters)" in document
    assert len(document) < MOST_SHOWN + 500


def test_a_program_that_was_mended_is_shown_beside_the_answer() -> None:
    assert blocks(shown("```\nE = a\n```", impl="E = a"))[0] == ["```\nE = a\n```"]
    assert blocks(shown("```\nE = a\n```", impl="E = b"))[0][1] == "E = b"


def test_costs_are_told_as_far_as_they_are_known() -> None:
    assert [dollars(amount) for amount in (0, 0.00213, 0.5, 1234.5)] == ["$0.00", "$0.0021", "$0.50", "$1,234.50"]
    assert spending(1, None) == "1 token, cost not known"
    assert spending(12_345, 0.25, is_counted=False) == "about 12,345 tokens, $0.25"
    known = Sampled("a", answers=2, accepted=1, input_tokens=10, output_tokens=5, cost=0.5)
    unknown = Sampled("b", answers=1, input_tokens=10, cost_known=False, tokens_counted=False)
    assert spent_on([known]) == "15 tokens, $0.50"
    assert spent_on([known, unknown]) == "about 25 tokens, cost not known"
    assert standing([known]) == "a: 2 answers, 1 right, 15 tokens, $0.50"
    assert standing([known, unknown]) == "3 answers, 1 right, about 25 tokens, cost not known"
