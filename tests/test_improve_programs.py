"""`improve --kind optimization`: rounds over programs, what ends them, and that a run goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner, Result

import stepagents.cli.programs.improve
import stepagents.optimize.proof
from stepagents.cli.improve import improve
from stepagents.experience.optimizations import stored_items
from stepagents.experience.store import Store
from stepagents.improve import Ended
from stepagents.optimize.candidates import FasterText
from stepagents.optimize.outcome import Optimized
from stepagents.optimize.rounds import ProgramRounds, ProgramStanding, Turn
from stepcore.jobdata.optimizing import Figures
from warm import Lent

ROOT = Path(__file__).parents[1]
EXPERT = ROOT / "examples" / "swiglu_tiles.py"
MOST = 10


def _faster(cycles: int) -> FasterText:
    return FasterText(f"{cycles} cycles", Figures(cycles, 1, 1, 1, 10, "compute"))


def _rounds(
    turns: dict[str, list[tuple[int, int, int]]], *, is_stopped: Callable[[], bool] = lambda: False, **limits: int
) -> tuple[ProgramRounds, list[tuple[int, str, int]]]:
    """Run a loop over programs of 100 cycles; a turn is the cycles found, the candidates tried, the new items."""
    left = {name: iter(each) for name, each in turns.items()}

    def turn(standing: ProgramStanding, _number: int) -> Turn:
        cycles, tried, new = next(left[standing.name])
        before = 100 if standing.best is None else standing.best.figures.cycles
        old = _faster(before).figures
        best = FasterText(standing.text, old) if cycles == before else _faster(cycles)
        return Turn(Optimized("f.py", standing.name, "paper", standing.text, old=old, best=best, tried=tried), new)

    standings = [ProgramStanding("f.py", name, "100 cycles") for name in turns]
    loop = ProgramRounds(standings, turn, is_stopped, MOST, **limits)
    return loop, [(number, standing.name, turn.new) for number, standing, turn in loop.run()]


def test_rounds_go_on_from_the_best_until_one_brings_nothing() -> None:
    loop, seen = _rounds({"a": [(80, MOST, 2), (60, MOST, 0), (60, MOST, 0)], "b": [(100, 3, 0)]})
    assert seen == [(0, "a", 2), (0, "b", 0), (1, "a", 0), (2, "a", 0)]
    assert loop.ended is Ended.NOTHING_NEW
    first, second = loop.standings
    assert (first.text, first.tried, first.learned, first.settled) == ("60 cycles", 3 * MOST, 2, False)
    assert first.first is not None
    assert first.first.cycles == 100
    assert second.settled, "its search came to its own end"


def test_items_alone_are_worth_another_round() -> None:
    loop, seen = _rounds({"a": [(100, MOST, 1), (100, MOST, 0)]})
    assert len(seen) == 2
    assert loop.ended is Ended.NOTHING_NEW


def test_rounds_and_candidates_are_limited() -> None:
    endless = [(90, MOST, 1), (80, MOST, 1), (70, MOST, 1), (60, MOST, 1)]
    loop, seen = _rounds({"a": list(endless)}, rounds=2)
    assert (len(seen), loop.ended) == (2, Ended.ROUNDS)
    loop, seen = _rounds({"a": list(endless), "b": list(endless)}, most=3 * MOST)
    assert ([name for _, name, _ in seen], loop.ended) == (["a", "b", "a"], Ended.BUDGET)
    stops = iter([False, True])
    loop, seen = _rounds({"a": list(endless), "b": list(endless)}, is_stopped=lambda: next(stops))
    assert ([name for _, name, _ in seen], loop.ended) == (["a"], Ended.INTERRUPTED)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    monkeypatch.setattr(stepagents.optimize.proof, "Pool", Lent)
    monkeypatch.setenv("STEPSMITH_STORE", str(tmp_path / "store.sqlite3"))
    app = Typer()
    app.command()(improve)

    def called(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments))

    return called


LOOP = (str(EXPERT), "--kind", "optimization", "--samples", "6", "--rounds", "2", "--workers", "1", "--format", "json")


def test_programs_get_faster_in_rounds_and_memory_grows(call: Callable[..., Result], tmp_path: Path) -> None:
    found = json.loads(call(*LOOP).stdout)
    (program,) = found["programs"]
    assert program["rounds"] == 2
    assert program["cycles"] < program["cycles_before"]
    assert program["candidates"] <= 12
    assert program["text"] != EXPERT.read_text(encoding="utf-8"), "the text of the best is there to be taken"
    with Store(tmp_path / "store.sqlite3") as store:
        assert len(stored_items(store)) == program["learned"] > 0


def test_a_run_that_was_stopped_goes_on_and_ends_like_another(
    call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(call(*LOOP).stdout)
    original = stepagents.cli.programs.improve._Turns.turn

    def interrupted(self: object, standing: ProgramStanding, number: int) -> Turn:
        if number == 1:
            raise KeyboardInterrupt  # as a kill would, between two rounds
        return original(self, standing, number)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(stepagents.cli.programs.improve._Turns, "turn", interrupted)
        assert call(*LOOP, "--new").exit_code == 130
    again = json.loads(call(*LOOP).stdout)
    assert again["run"] != whole["run"]
    assert again["ended"] == whole["ended"]
    assert again["programs"][0]["rounds"] == 2


def _unwrapped(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


def test_options_of_the_other_kind_are_refused(call: Callable[..., Result]) -> None:
    refused = call(str(EXPERT), "--kind", "optimization", "--seed", "3")
    assert refused.exit_code == 2
    assert "it is for tasks" in _unwrapped(refused)
    refused = call(str(ROOT / "benchmarks" / "tasks"), "--goal", "memory")
    assert refused.exit_code == 2
    assert "add --kind optimization" in _unwrapped(refused)


def test_what_cannot_be_used_is_told(call: Callable[..., Result], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(EXPERT.read_text(encoding="utf-8").replace("step.Copy", "step.Coppy"), encoding="utf-8")
    result = call(str(wrong), str(tmp_path / "missing.py"), "--kind", "optimization", "--workers", "1")
    assert result.exit_code == 2
    assert "Traceback" not in result.output
