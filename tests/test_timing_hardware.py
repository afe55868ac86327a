"""Chips: presets as the timing chapter has them, and files that describe one's own."""

from __future__ import annotations

import pytest

from stepcore.timing.hardware import PRESETS
from stepcore.timing.hardware_file import KEYS, HardwareError, differences, read_hardware, values_of


def test_the_presets() -> None:
    assert list(PRESETS) == ["default", "validation", "paper", "decode"]
    rows = {
        name: (
            chip.fifo.depth, chip.onchip.bandwidth, chip.memory.channels, chip.memory.interleave, chip.memory.dispatch,
            chip.memory.bandwidth,
        )
        for name, chip in PRESETS.items()
    }  # fmt: skip
    assert rows == {
        "default": (2, 64, 32, "round_robin", 4, 1024),
        "validation": (1, 256, 8, "triangular", 4, 256),
        "paper": (2, 64, 32, "triangular", 1, 1024),
        "decode": (1, 64, 32, "triangular", 1, 1024),
    }
    assert PRESETS["validation"].flops == {"silu": 1}


def test_a_file_says_in_what_a_chip_differs() -> None:
    chip = read_hardware('base = "paper"\nunit.switch = 0\n[memory]\nchannels = 4\n[flops]\nsilu = 2\n', "mine")
    assert (chip.name, chip.memory.channels, chip.memory.dispatch, chip.unit.switch) == ("mine", 4, 1, 0)
    assert chip.flops == {"silu": 2}
    assert read_hardware("", "mine").memory == PRESETS["default"].memory


def test_the_table_has_every_key() -> None:
    assert list(KEYS) == list(values_of(PRESETS["default"]))
    for chip in PRESETS.values():
        for key, value in values_of(chip).items():
            known = KEYS[key]
            assert value in known.choices if known.choices else known.least <= int(value) <= known.most
            assert known.meaning and known.bounds


def test_what_differs_from_the_base() -> None:
    chip = read_hardware('base = "validation"\nfifo.depth = 1\nmemory.channels = 4\nflops.silu = 2\nflops.exp = 1', "x")
    assert differences(chip) == {"memory.channels": (8, 4), "flops.silu": (1, 2), "flops.exp": (None, 1)}
    assert differences(PRESETS["paper"]) == {}


def test_every_key_can_be_set() -> None:
    for key in KEYS:
        value = '"triangular"' if key == "memory.interleave" else "3"
        chip = read_hardware(f"{key} = {value}\n", "mine")
        table, _, name = key.partition(".")
        found = getattr(getattr(chip, table), name)
        assert str(found) == value.strip('"')


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[memory]\nchanels = 4\n", 2, "did you mean memory.channels"),
        ("\nfifo.depth = 0\n", 2, "from 1 to"),
        ("[fifo]\ndepth = true\n", 2, "not True"),
        ("[fifo]\n\ndepth = 1.5\n", 3, "whole number"),
        ("memory.channels = 100000\n", 1, "to 4,096"),
        ('base = "fast"\n', 1, "default, validation, paper, decode"),
        ('memory.interleave = "random"\n', 1, "round_robin or triangular"),
        ("flops.SiLU = 1\n", 1, "no name of a function"),
        ("a.b.c.d.e = 1\n", 1, "no key is called"),
        ("name = 3\n", 1, "name is a text"),
        ("fifo = 3\n", 1, "no key is called fifo"),
        ("fifo.depth = \n", 1, "no TOML"),
        ("fifo.depth = 1\n" * 9000, 0, "characters"),
        ("a = " + "[" * 5000, 0, "no TOML"),
        ("fifo.depth = " + "9" * 5000, 0, "no TOML"),
        ("fifo.depth = 0x" + "f" * 5000, 1, "thousands of digits"),
        ("[fifo]\ndepth = nan\n", 2, "and not nan"),
        ("memory.startup = inf\n", 1, "and not inf"),
        ("memory.startup = -1\n", 1, "from 0 to"),
        ("\nfifo.depth" + ".a" * 30_000 + " = 1\n", 2, "too many parts"),
        ("[a" + " . 'b'" * 8_000 + "]\n", 1, "too many parts"),
        ("fifo.depth" + ".a" * 60 + " = 1\n", 1, "no key is called"),
        ("base" + ".a" * 60 + " = 1\n", 1, "and not a table"),
        ('base = "mine"\n', 1, "base is one of"),
        ('base = "../other.toml"\n', 1, "base is one of"),
        ('base = ["paper"]\n', 1, "and not a list"),
        ('name = "\\u001b[2J"\n', 1, "printable"),
        ('name = "a\0"\n', 1, "no TOML"),
        ("flops.silu = 9999999999\n", 1, "from 0 to"),
    ],
)
def test_what_is_no_chip_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(HardwareError) as caught:
        read_hardware(text, "mine")
    assert words in str(caught.value)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)
