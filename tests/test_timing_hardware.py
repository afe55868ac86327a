"""Chips: presets as the timing chapter has them, and files that describe one's own."""

from __future__ import annotations

import pytest

from stepcore.chips.keys import KEYS, HardwareError, differences, values_of
from stepcore.chips.prices import PRICED, PRICES, no_price
from stepcore.chips.reader import MOST_PROBLEMS, chip_problems, read_hardware
from stepcore.timing.hardware import PRESETS


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
        ("[fifo]\ndepth = true\n", 2, "not true"),
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
        ("fifo.depth = " + "9" * 5000, 1, "this number has thousands of digits"),
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
        (
            "flops.silu = true\n",
            1,
            "flops.silu is a whole number from 0 to 1,048,576 (FLOPs per element), and not true",
        ),
        ("[flops]\nsilu = 1\nsiluu = 1\n", 3, "siluu is no name of a function of torch"),
        ("flops.siluu = 1\n", 1, "did you mean flops.silu?"),
        ("flops.SiLU = 1\n", 1, "did you mean flops.silu?"),
        ("flops.matmul = 1\n", 1, "flops.matmul has no effect: a product"),
        ("flops.reshape = 1\n", 1, "flops.reshape has no effect: views"),
        ("flops.exp_ = 1\n", 1, "write flops.exp"),
        ("flops.silu.cost = 1\n", 1, "flops.silu is a whole number from 0 to 1,048,576, and no table"),
        ("flops = 8\n", 1, "it is a table: write flops.NAME"),
        ("[fifo]\nlatency = 1\n[memory]\nlatency = -1\n", 4, "memory.latency is"),
        ("[compute]\nbandwidth = 8\n[onchip]\nbandwidth = 0\n", 4, "onchip.bandwidth is"),
        ("# fifo.depth = 0\nfifo.depth = 0\n", 2, "from 1 to"),
        ("fifo = { depth = 2, latency = -1 }\n", 1, "fifo.latency is"),
        ("[memroy]\n", 1, "no key is called memroy; did you mean"),
        ("\n[fifo.depth]\n", 2, "and not a table"),
        ("[[fifo]]\ndepth = 1\n", 1, "it is a table"),
        ("fifo.depth = 1\nfifo.depth = 2\n", 2, "fifo.depth is given twice, first on line 1"),
        ("[fifo]\ndepth = 1\n[unit]\n[fifo]\nlatency = 2\n", 4, "[fifo] is given twice, first on line 1"),
        ('"fifo.depth" = 3\n', 1, "in quotes"),
        ('\n"\\u001b[2J" = 3\n', 2, "no key is called"),
        ("depth = 3\n", 1, "did you mean fifo.depth?"),
        ("bandwidth = 3\n", 1, "did you mean compute.bandwidth or onchip.bandwidth?"),
        ("memory.depth = 3\n", 1, "did you mean fifo.depth?"),
        ("[memory]\nchannels = 3\nbase = 'paper'\n", 3, "write base above all tables"),
        ("bse = 'paper'\n", 1, "did you mean base?"),
        ('base = "papr"\n', 1, "did you mean paper?"),
        ('name = "paper"\n', 1, "paper is the name of a preset"),
        ('memory.interleave = "triangle"\n', 1, "did you mean triangular?"),
        ("fifo.depth = 4.0\n", 1, "write 4"),
        ('fifo.depth = "4"\n', 1, "write 4"),
        ('onchip.capacity = "8 MB"\n', 1, "write 8000000"),
        ('onchip.capacity = "64KiB"\n', 1, "write 65536"),
        ("onchip.capacity = -1\n", 1, "0 is no limit"),
        ("memory.outstanding = inf\n", 1, "0 is no limit"),
        ("fifo.depth = 2026-11-23\n", 1, "and not 2026-11-23"),
        ("fifo.depth = [4]\n", 1, "and not a list"),
        ("fifo.depth = fast\n", 1, "fast is no value; a text needs quotes"),
        ("fifo.depth 4\n", 1, "write KEY = VALUE"),
        ("fifo.depth =", 1, "no TOML"),
        ("# \u2028 fifo\nfifo.depth = 0\n", 2, "from 1 to"),
        ("fifo.latency = 1\r\nfifo.depth = 0\r\n", 2, "from 1 to"),
    ],
)
def test_what_is_no_chip_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(HardwareError) as caught:
        read_hardware(text, "mine")
    assert words in str(caught.value)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_all_that_is_wrong_is_told_in_order_and_a_lot_is_cut_off() -> None:
    text = "fifo.depht = 1\nmemory.latency = 4\nunit.switch = 'fast'\n[flops]\nsilu = false\n"
    assert [(each.line, str(each).split()[0]) for each in chip_problems(text)] == [
        (1, "no"), (3, "unit.switch"), (5, "flops.silu"),
    ]  # fmt: skip
    assert chip_problems('\ufeffbase = "paper"\n') == []
    assert len(chip_problems("".join(f"a{n} = 1\n" for n in range(5_000)))) == MOST_PROBLEMS


def test_each_price_that_is_taken_has_an_effect_and_others_say_why_not() -> None:
    """What a chip may say is what the cost of a call asks for; no name is known and refused without a reason."""
    assert {"silu", "diff", "sum", "topk", "outer", "flip"} <= PRICED
    assert not PRICED & {"matmul", "reshape", "exp_", "zeros", "size"}
    for name in ("matmul", "reshape", "exp_", "unsqueeze_", "SiLU", "", "a.b", "x" * 5_000, "\x1b[2J"):
        assert no_price(name)
    assert set(PRICES) <= PRICED
    assert all(name in PRICED for chip in PRESETS.values() for name in chip.flops)
