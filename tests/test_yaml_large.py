"""Large broken texts of YAML: what is read of them is bounded in steps of the parser, whatever is broken."""

from __future__ import annotations

import time

import pytest

from stepcore.frontend.yaml import compose as yaml_compose
from stepcore.frontend.yaml.nodes import MapNode, Steps
from stepcore.frontend.yaml.tasks import read_task

SIZE = 600_000
HEAD = "test_name: t\n"
OUTPUT = "outputs:\n- {name: S0, dtype: fp32, dims: [M]}\n"
ITEM = "- {name: E%d, dtype: fp32, dims: [M, N]}\n"


def filled(text: str) -> str:
    """Return ``text`` as often as fits."""
    return text * (SIZE // len(text))


ITEMS = "".join(ITEM % number for number in range(14_000))
BROKEN = {
    "aliases of a lost anchor": HEAD + "inputs:\n- {name: &a E0, dims: [M\n" + filled("- *a\n") + OUTPUT,
    "keys with aliases of a lost anchor": HEAD + "inputs: [&a 1\n" + "".join(f"k{n}: *a\n" for n in range(60_000)),
    "keys with different lost anchors": HEAD + "inputs: [1\n" + "".join(f"k{n}: *a{n}\n" for n in range(50_000)),
    "open items": HEAD + "inputs:\n" + filled("- {name: E0, dims: [M\n") + OUTPUT,
    "an open item at the end": HEAD + "inputs:\n" + ITEMS + "- {name: x\n" + OUTPUT,
    "an open item at the start": HEAD + "inputs:\n- {name: x\n" + ITEMS + OUTPUT,
    "an open quote": HEAD + "inputs: 'x\n" + ITEMS + OUTPUT,
    "open brackets": HEAD + "inputs:\n" + filled("- [1\n") + OUTPUT,
    "keys with open brackets": HEAD + "".join(f"k{n}: [1\n" for n in range(66_000)),
    "anchors in an open bracket": HEAD + "inputs: [\n" + "".join(f"&a{n} x,\n" for n in range(66_000)),
    "stairs": HEAD + "inputs:\n" + filled("  - a\n - b\n") + OUTPUT,
    "a line of open parentheses": HEAD + "inputs: [" + filled("Buffer(") + "\n" + OUTPUT,
    "items of open parentheses": HEAD + "inputs: [" + filled("{dtype: Buffer(x, } ") + "]\n" + OUTPUT,
    "comments in an open bracket": HEAD + "inputs: [\n" + filled("# c\n") + OUTPUT,
    "blank lines in an open bracket": HEAD + "inputs: [\n" + filled("\n") + OUTPUT,
    "tabs": HEAD + "inputs:\n" + filled("\t- {name: E0}\n") + OUTPUT,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_large_broken_text_is_bounded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = 0

    def spend(steps: Steps, count: int) -> None:
        nonlocal spent
        own(steps, count)
        spent += count

    own = Steps.spend
    monkeypatch.setattr(Steps, "spend", spend)
    before = time.process_time()
    task = read_task(BROKEN[kind], "t.yaml")
    assert time.process_time() - before < 8, "searches beside the parser are linear"
    assert any(finding.code == "STEP903" for finding in task.diagnostics)
    assert spent <= yaml_compose.MAX_STEPS + yaml_compose.MAX_RECOVERY


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_of_a_large_broken_list_the_rest_is_read(line_end: str) -> None:
    items = "".join(ITEM % number for number in range(3000))
    text = (HEAD + "inputs:\n- {name: x, dims: [M\n" + items + OUTPUT).replace("\n", line_end)
    document = yaml_compose.compose(text)
    assert [text[found.span.start] for found in document.problems] == ["["]
    assert document.broken == {"inputs"}
    assert isinstance(document.root, MapNode)
    inputs = next(value for key, value in document.root.pairs if getattr(key, "value", "") == "inputs")
    assert len(getattr(inputs, "items", [])) == 3000


def test_a_large_text_of_another_form_is_read_as_a_whole() -> None:
    text = (
        HEAD
        + "inputs:\n- &a {name: E0, dtype: fp32, dims: [M]}\n"
        + "- {<<: *a, name: E1, dtype: fp32}\n" * 2000
        + OUTPUT
    )
    document = yaml_compose.compose(text)
    assert document.problems == []
    assert isinstance(document.root, MapNode)
    assert len(document.root.pairs) == 3
