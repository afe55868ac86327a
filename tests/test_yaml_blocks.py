"""A task file is composed block by block; that gives what composing the whole text gives, spans included."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest

from stepcore.frontend.yaml import compose as yaml_compose
from stepcore.frontend.yaml import pieces as yaml_pieces
from stepcore.frontend.yaml.blocks import read_block
from stepcore.frontend.yaml.nodes import Document, MapNode
from yaml_blocks import ROOT, assert_blocks_are_the_whole, blocks, changed, corpus, plain


def test_blocks_are_the_whole_for_every_task_file() -> None:
    taken = sum(map(assert_blocks_are_the_whole, corpus()))
    assert taken > 500, "most files are read block by block"


@pytest.mark.parametrize("seed", range(4))
def test_blocks_are_the_whole_for_changed_files(seed: int) -> None:
    rng, texts = Random(seed), corpus()
    taken = sum(assert_blocks_are_the_whole(changed(texts, rng)) for _ in range(150))
    assert taken > 15


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x\n", "a: 1\n---\nb: 2\n", "%YAML 1.2\n---\na: 1\n", "a: 'one\nb: two'\n", "a: [1,\nb: 2]\n",
        "\ufeffa: 1\n", "\ta: 1\nb: 2\n", "- a\nb: 1\n", "# \x85a\nb: 1\n", "a: 1\r# b\r", "nothing", "",
    ],
)  # fmt: skip
def test_what_is_no_row_of_blocks_is_read_as_a_whole(text: str) -> None:
    assert not isinstance(yaml_compose._from_blocks(text), Document)


def test_an_edit_composes_its_own_block(monkeypatch: pytest.MonkeyPatch) -> None:
    composed: list[str] = []

    def read(text: str) -> MapNode | None:
        composed.append(text)
        return read_block(text)

    text = "inputs:\n- {name: E0}\noutputs:\n- {name: out}\nimpl: |\n  return E0  # {}\n"
    yaml_compose.compose(text.replace("{}", "before"))
    monkeypatch.setattr(yaml_pieces, "read_block", read)
    moved = yaml_compose.compose("\n" + text.replace("{}", "after"))
    assert composed == ["\ninputs:\n- {name: E0}\n", "impl: |\n  return E0  # after\n"]
    assert plain(moved) == plain(yaml_compose._Composing("\n" + text.replace("{}", "after")).run())


def test_published_tasks_need_no_parser() -> None:
    for path in sorted((ROOT.parent / "benchmarks" / "tasks").glob("*.yaml")):
        for block in blocks(path.read_text(encoding="utf-8")):
            assert plain(read_block(block)) == plain(yaml_compose._parsed(block)), path
    code = (
        "import sys; from pathlib import Path; from stepcore.check import check_text; found = check_text("
        "Path(sys.argv[1]).read_text(encoding='utf-8'), sys.argv[1]); assert not found.diagnostics; "
        "assert not [name for name in sys.modules if name.startswith('ruamel')]"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


@pytest.mark.parametrize(
    "block",
    [
        "a: 1", "a:\n", "a:\n- b\n- c: 1\n  d: 2\n", "a:\n  - - b\n    - c\n",
        "a: [b, {c: d, e: 'f''g'}, \"h\"]  # i\n",
        "# b\n\na: [b,\n c]\n# d", "a: |\n\n  b\n\n   c\n \n", "a: |-\n  b\n\n", "a: |+  # c\n  b\n\n#",
        "a: b:c -d #e\n",
        "a: -1\n", "a:\n  b:\n  c: d\n", "a: b  # c: d\n", "a: []\n", "a: ~\n", "a: |\n    b\n   \n",
        "a: é–\U0001f600\n",
    ],
)  # fmt: skip
def test_ordinary_blocks_are_read_as_the_parser_reads_them(block: str) -> None:
    found = read_block(block)
    assert found is not None
    assert plain(found) == plain(yaml_compose._parsed(block))


@pytest.mark.parametrize(
    "block",
    [
        "a: &b c\n", "a: *b\n", "a: !b c\n", "a: >\n  b\n", "a: |2\n  b\n", "a: |\n \n  b\n", "a: |\n", "a: b\n  c\n",
        "a: 'b\n  c'\n",
        'a: "\\n"\n', "a: [b c: d]\n", "a: [b,]\n", "a: {b}\n", "a: [b # c\n]\n", "a: [?b]\n", "? a\n: b\n",
        "a: b: c\n", "a: b:\n",
        "a: - b\n", "a:\n  b: c\n d: e\n", "a:\n    b: c\n  d: e\n", "a:\n-\n", "a:\tb\n", "a: b\r\n", "a: @b\n",
        "a: [" + "[" * 30 + "\n",
        "a: [b\n", "a: 'b\n", "a: b\nc\n", "a: |\n   b\n  c\n", "a: \x00\n", "", "# a\n", "a: b ",
        "a: b#\n  #c\n  d\n",
    ],
)  # fmt: skip
def test_everything_else_is_left_to_the_parser(block: str) -> None:
    assert read_block(block) is None
