"""A task file is composed block by block; that gives what composing the whole text gives, spans included."""

from __future__ import annotations

from random import Random

import pytest

from stepcore.frontend.yaml import compose as yaml_compose
from yaml_blocks import assert_blocks_are_the_whole, changed, corpus, plain


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
    assert yaml_compose._from_blocks(text) is None


def test_an_edit_composes_its_own_block(monkeypatch: pytest.MonkeyPatch) -> None:
    composed: list[str] = []
    independent = yaml_compose._Composing.piece

    def piece(self: yaml_compose._Composing, start: int, end: int) -> object:
        composed.append(self._text[start:end])
        return independent(self, start, end)

    text = "inputs:\n- {name: E0}\noutputs:\n- {name: out}\nimpl: |\n  return E0  # {}\n"
    yaml_compose.compose(text.replace("{}", "before"))
    monkeypatch.setattr(yaml_compose._Composing, "piece", piece)
    moved = yaml_compose.compose("\n" + text.replace("{}", "after"))
    assert composed == ["\ninputs:\n- {name: E0}\n", "impl: |\n  return E0  # after\n"]
    assert plain(moved) == plain(yaml_compose._Composing("\n" + text.replace("{}", "after")).run())
