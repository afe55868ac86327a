"""Compositions on chips: programs one after the other, each at the sizes of the tensors that it is given."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stepagents.cli.cycles import timed_text
from stepcore.cli import time as command
from stepcore.cli.beside import beside
from stepcore.ide.timed import bytes_text, cycles_text
from stepcore.jobdata.faster import OptimizingParams
from stepcore.jobdata.programs import VerifyRequest
from stepcore.settings.config import Config
from stepcore.text.wording import times_text
from stepserver.optimizing import lens_title

PAGE = (Path(__file__).parents[1] / "docs" / "language.md").read_text(encoding="utf-8")
# The example of the language page, whose composition runs its programs at other sizes than their own.
TEXT = next(text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def network(" in text).replace(
    "x / 4, dims={M: 5, N: 7}", "x / 4, dims={M: 50, N: 7}"
)


def rows(arguments: list[str], capsys: pytest.CaptureFixture[str], **options: object) -> list[dict[str, object]]:
    assert command.run(arguments, command.TimeOptions(format="json", **options)) == 0  # type: ignore[arg-type]
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_lines_are_added_at_the_sizes_of_their_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "network.py"
    path.write_text(TEXT, encoding="utf-8")
    halved, joined, network = rows([str(path)], capsys)
    (halved_50,) = rows([f"{path}::halved"], capsys, dims={"M": 50})
    (joined_50,) = rows([f"{path}::joined"], capsys, dims={"M": 50})
    assert (halved["program"], joined["program"], network["composition"]) == ("halved", "joined", "network")
    assert [line["sizes"] for line in network["applies"]] == [{"M": 50}] * 3  # type: ignore[attr-defined]
    assert network["cycles"] == 2 * halved_50["cycles"] + joined_50["cycles"]  # type: ignore[operator]
    assert network["off_chip_bytes"] == 2 * halved_50["off_chip_bytes"] + joined_50["off_chip_bytes"]  # type: ignore[operator]
    (smaller,) = rows([f"{path}::network"], capsys, dims={"M": 5})
    assert smaller["cycles"] == 2 * halved["cycles"] + joined["cycles"]  # type: ignore[operator]
    trace = tmp_path / "trace.json"
    assert command.run([f"{path}::network"], command.TimeOptions(trace=str(trace))) == 0
    shown = capsys.readouterr().out
    assert f"::network on default, cycles: {network['cycles']:,}\n  halved at M=50, 2 times  ███" in shown
    told = json.loads(trace.read_text(encoding="utf-8"))["otherData"]["programs"]
    assert [each["program"] for each in told] == ["halved", "joined"], "what is the same is recorded once"


def test_a_composition_that_stops_or_is_none_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "network.py"
    deaf = TEXT.replace("    return step.Map(fn=half).apply(E0)", "    a, b = step.Copy(depth=1).apply(E0)\n"
        "    c = step.Flatten(L=[0]).apply(step.Bufferize(a=1).apply(a))\n    return b")  # fmt: skip
    path.write_text(TEXT.replace("joined.apply(h, g)", "joined.apply(h)"), encoding="utf-8")
    assert command.run([f"{path}::network"], command.TimeOptions()) == 2
    assert "network cannot be timed: network has errors: run `stepsmith check`" in capsys.readouterr().err
    path.write_text(TEXT.replace("dims={M: 50, N: 7}", "dims={M: 0, N: 7}"), encoding="utf-8")
    assert command.run([f"{path}::network"], command.TimeOptions()) == 2
    assert "network cannot be timed: network has errors" in capsys.readouterr().err
    path.write_text(deaf, encoding="utf-8")
    assert command.run([f"{path}::network"], command.TimeOptions()) == 2
    assert "network cannot be timed: halved: halved has errors" in capsys.readouterr().err
    path.write_text(TEXT, encoding="utf-8")
    assert command.run([f"{path}::network"], command.TimeOptions(dims={"Q": 3})) == 2
    assert "no size is called so" in capsys.readouterr().err


def test_compositions_are_compared_with_programs_and_on_two_chips(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, trace = tmp_path / "network.py", tmp_path / "trace.json"
    path.write_text(TEXT, encoding="utf-8")
    (pair,) = rows([], capsys, compare=(f"{path}::network", f"{path}::halved"))
    both: Any = pair["programs"]
    assert (both[0]["composition"], both[1]["program"]) == ("network", "halved")
    options = command.TimeOptions(compare=(f"{path}::network", f"{path}::halved"), trace=str(trace))
    assert command.run([], options) == 0
    shown = capsys.readouterr().out
    assert "network on default" in shown
    assert "takes longest" in shown
    told = json.loads(trace.read_text(encoding="utf-8"))["otherData"]["programs"]
    assert [each["program"] for each in told] == ["halved", "joined", "halved"]
    on_chips = rows([str(path)], capsys, compare=("default", "paper"))
    last: dict[str, Any] = on_chips[-1]
    one, other = last["programs"]
    assert (one["composition"], one["hw"], other["hw"]) == ("network", "default", "paper")
    assert last["ratios"]["cycles"] == round(other["cycles"] / one["cycles"], 4)
    assert command.run([f"{path}::network"], command.TimeOptions(compare=("default", "paper"))) == 0
    shown = capsys.readouterr().out
    assert "network on paper" in shown
    assert shown.count("\n  halved at M=50") == 2, "each line stands below"


STOPS = """
@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.program(reference=lambda x: x + x.sum(-1, keepdim=True), dims={M: 5, N: 7})
def halved(E0: Annotated[step.Stream, step.f32, (N, M)]) -> Annotated[step.Stream, step.f32, (N, M)]:
    direct, folded = step.Copy().apply(E0)
    sums = step.Repeat(n=N).apply(step.Accum(fn=add, b=1).apply(folded))
    return step.Map(fn=plus).apply((direct, sums))


@step.program(reference=lambda x, y"""


def test_a_verdict_and_a_choice_show_what_a_composition_takes(tmp_path: Path) -> None:
    plain = VerifyRequest("network.py", TEXT, "network.py", None, None, {})
    found = beside(plain, Config())
    assert list(found) == ["halved", "joined", "network"]
    whole = found["network"]
    assert whole.line.startswith("1,889 on default, 3 programs one after the other, 60% of them halved at M=50")
    assert whole.as_json().keys() == found["halved"].as_json().keys()
    assert timed_text(TEXT, "network.py", tmp_path / "a").line == whole.line
    head, rest = TEXT.split("@step.program(reference=lambda x: x / 2", 1)
    stops = head + STOPS.lstrip("\n") + rest.split("@step.program(reference=lambda x, y", 1)[1]
    stopped = timed_text(stops, "network.py", tmp_path / "a")
    assert stopped.cycles is None
    assert stopped.line.startswith("halved at M=50: none on default: stops at cycle ")
    assert stopped.as_json()["stopped"]["cure"]
    alone = TEXT[: TEXT.index("@step.composition")]
    assert "nothing applies one after the other" in timed_text(alone, "network.py", tmp_path / "a").line


def test_ratios_are_for_people() -> None:
    shown = [times_text(ratio) for ratio in (1.0, 2.313, 57.04, 231.6, 999.4, 999.6, 1827.4, 2_345_678.9)]
    assert shown == ["1x", "2.31x", "57x", "232x", "999x", "1,000x", "1,827x", "2,345,679x"]


def test_sizes_and_cycles_behind_operators_are_for_people() -> None:
    sizes = (999, 1_000, 1_940, 99_400, 99_600, 790_000, 999_600, 1_900_000, 7_900_000_000)
    assert [bytes_text(size) for size in sizes] == [
        "999 bytes", "1 kB", "1.9 kB", "99 kB", "100 kB", "790 kB", "1,000 kB", "1.9 MB", "7.9 GB",
    ]  # fmt: skip
    assert [cycles_text(count) for count in (990, 12_440, 999_400, 999_600, 3_100_000)] == [
        "990", "12.4k", "999k", "1,000k", "3.1M",
    ]  # fmt: skip
    news = OptimizingParams(1, "", "", "running", cycles=4_914, ratio=1638.2)
    assert lens_title(news) == "Stop making it faster | 4,914 cycles so far, 1,638x of the bound"
