"""Keys of chips in an editor: one table for findings, completion and hover."""

from __future__ import annotations

import pytest

from stepcore.chips.keys import KEYS
from stepcore.ide.actions import actions
from stepcore.ide.analysis import analyze
from stepcore.ide.chip_file import toml_completions, toml_findings, toml_hover, toml_kind
from stepcore.timing.hardware import PRESETS

CHIP = 'base = "paper"\nmemory.latency = 40\n'


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("chip.toml", CHIP, "chip"),
        ("chip.toml", "[memory]\nlatency = 3\n", "chip"),
        ("new.toml", "", "chip"),
        ("stepsmith.toml", "", "config"),
        ("pyproject.toml", CHIP, ""),
        ("chip.toml", "[memroy]\nchannels = 3\n", "chip"),
        ("chip.toml", "flop.silu = 3\n", "chip"),
        ("chip.toml", "[memroy]\nchanels = 3\n", ""),
        ("other.toml", "[memo]\ntext = 1\n[unity]\nversion = 2\n", ""),
        ("other.toml", '[package]\nname = "memory"\n', ""),
        ("other.yaml", CHIP, ""),
    ],
)
def test_files_of_other_tools_are_left_alone(path: str, text: str, kind: str) -> None:
    assert toml_kind(path, text) == kind


def test_a_mistake_is_found_while_it_is_typed() -> None:
    text = CHIP + "memory.latenzy = 3\n"
    (found,) = analyze(text, "chip.toml").diagnostics
    assert (found.code, text[found.span.start : found.span.end]) == ("STEP506", "memory.latenzy = 3")
    assert "did you mean memory.latency?" in found.message
    assert [item.code for item in toml_findings("chip.toml", CHIP + "memory.")] == ["STEP506"]
    assert toml_findings("chip.toml", CHIP) == []
    wrong = 'affine = "strict"\n[timing]\nhv = "paper"\n'
    (config,) = toml_findings("stepsmith.toml", wrong)
    assert config.code == "STEP907"
    assert wrong[config.span.start : config.span.end].startswith(("[timing]", "hv"))
    assert toml_findings("stepsmith.toml", '[timing]\nhw = "paper"\n') == []


@pytest.mark.parametrize(
    ("text", "messages", "mended"),
    [
        ("[memroy]\nchannels = 3\nburst = 64\n", ("no table is called memroy; did you mean memory?",), "[memory]"),
        ("memroy.channels = 3\n", ("no table is called memroy; did you mean memory?",), "memory.channels = 3"),
        ("[flop]\nsilu = 3\n", ("no table is called flop; did you mean flops?",), "[flops]"),
        (CHIP + "memory.latenzy = 3\n", ("did you mean memory.latency?",), ""),
        ("[memory]\nlatenzy = 3\n", ("no key is called memory.latenzy; did you mean memory.latency?",), "latency = 3"),
        ('[memory]\ninterleave = "triangle"\n', ("did you mean triangular?",), 'interleave = "triangular"'),
        ("[memroy]\nchannels = 3\n[memory]\nburst = 64\n", ("did you mean memory.channels?",), ""),
        ('base = "papr"\n[memory]\nburst = 64\n', ("did you mean paper?",), 'base = "paper"'),
    ],
)
def test_a_misspelling_is_told_once_and_mended(text: str, messages: tuple[str, ...], mended: str) -> None:
    found = toml_findings("chip.toml", text)
    assert [message in each.message for message, each in zip(messages, found, strict=True)] == [True] * len(messages)
    if mended:
        (edit,) = found[0].fix.edits  # type: ignore[union-attr]
        fixed = text[: edit.span.start] + edit.text + text[edit.span.end :]
        assert mended in fixed.split("\n")
        assert toml_findings("chip.toml", fixed) == []
        offered = actions(analyze(text, "chip.toml"), found[0].span)
        assert [action.edits for action in offered] == [(edit,)]


def test_keys_and_values_are_proposed() -> None:
    labels = [item.label for item in toml_completions("chip.toml", CHIP + "me", len(CHIP) + 2)]
    assert {"name", "flops.", *KEYS} - {"memory.latency"} == set(labels)
    within = "[memory]\nla"
    assert "latency" in [item.label for item in toml_completions("chip.toml", within, len(within))]
    assert "fifo.depth" not in [item.label for item in toml_completions("chip.toml", within, len(within))]
    for text, path, values in (
        ("[fifo]\n[x]\n", "chip.toml", ()),
        ('base = "', "chip.toml", ()),
        (CHIP + "base = ", "chip.toml", tuple(PRESETS)),
        (CHIP + "memory.interleave = ", "chip.toml", ("round_robin", "triangular")),
        ("[timing]\nhw = ", "stepsmith.toml", tuple(PRESETS)),
    ):
        found = toml_completions(path, text, len(text))
        assert [item.label for item in found if item.kind.value == "value"] == list(values), text
    quoted = CHIP + 'base = "'
    assert [item.edit.text for item in toml_completions("chip.toml", quoted, len(quoted))] == list(PRESETS)


def test_a_key_says_its_unit_its_bounds_and_what_presets_have() -> None:
    hover = toml_hover("chip.toml", CHIP, CHIP.index("memory.latency") + 3)
    assert hover is not None
    assert CHIP[hover.span.start : hover.span.end] == "memory.latency"
    assert all(part in hover.markdown for part in ("(cycles)", "a whole number from 0 to", "paper: 2"))
    config = "[timing]\nhw = 'paper'\n"
    shown = toml_hover("stepsmith.toml", config, config.index("hw") + 1)
    assert shown is not None
    assert "validation" in shown.markdown
    assert toml_hover("chip.toml", CHIP + "# fifo.depth", len(CHIP) + 5) is None
    for offset in range(len(CHIP) + 1):  # no place of any text is a reason for an exception
        toml_hover("chip.toml", CHIP, offset)
        toml_completions("chip.toml", CHIP[:offset], offset)


def test_every_mistake_of_a_file_is_found_at_its_line() -> None:
    text = "[fifo]\nlatency = 1\ndepth = true\n[memory]\nlatency = -1\n[flops]\nsiluu = 4\n"
    found = toml_findings("chip.toml", text)
    assert [text[item.span.start : item.span.end] for item in found] == ["depth = true", "latency = -1", "siluu = 4"]


def test_tables_prices_and_values_of_presets_are_proposed() -> None:
    def proposed(text: str) -> list[str]:
        return [item.label for item in toml_completions("chip.toml", text, len(text))]

    assert proposed(CHIP + "[") == ["fifo", "compute", "onchip", "memory", "unit", "flops"]
    assert "silu" in proposed(CHIP + "[flops]\ns")
    assert "silu" not in proposed(CHIP + "[flops]\nsilu = 1\ns")
    assert "flops.silu" in proposed(CHIP + "flops.si")
    assert "matmul" not in proposed(CHIP + "[flops]\n")
    assert proposed(CHIP + "fifo.depth = ") == ["2", "1"]
    text = CHIP + "fifo.depth = "
    assert [item.documentation for item in toml_completions("chip.toml", text, len(text))] == [
        "as in default, paper", "as in validation, decode",
    ]  # fmt: skip
    assert proposed("[memory]\nlatency = 3\n\n") == [
        key[7:] for key in KEYS if key[:7] == "memory." and "lat" not in key
    ]


def test_a_price_and_a_table_say_what_they_are() -> None:
    text = CHIP + "[flops]\nsilu = 2\nmatmul = 3\n"
    for word, words in (
        ("silu", "Without it: 8, validation: 1"), ("matmul", "has no effect"), ("flops", "`flops.NAME`"),
    ):  # fmt: skip
        shown = toml_hover("chip.toml", text, text.index(word) + 1)
        assert shown is not None and words in shown.markdown


@pytest.mark.parametrize("text", ["\n" * 400_000, " " * 400_000, "[" * 60_000, "a." * 30_000 + "b = 1", '"' * 60_000])
def test_texts_that_attack_end_soon_and_raise_nothing(text: str) -> None:
    for path in ("chip.toml", "stepsmith.toml"):
        shown = "fifo.depth = 1\n" + text if path == "chip.toml" else text
        assert all(item.code in ("STEP506", "STEP907") for item in toml_findings(path, shown))
        toml_completions(path, shown, len(shown))
        toml_hover(path, shown, len(shown) // 2)
