"""A little of each campaign of ``make soak``, and that a failure would be seen."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hostile.corpus import DRAWN, pending
from hostile.runner import run
from soak.__main__ import CAMPAIGNS, run_all
from soak.campaign import Order, Report
from soak.drawn import PAYLOADS, draw, spliced_python
from soak.hostile_runs import drawn_inputs

QUICK = (
    "simulator",
    "ragged",
    "generation2",
    "mutated",
    "loops",
    "types",
    "modules",
    "calls",
    "affine",
    "editor",
    "changes",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_campaign_of_programs(name: str, tmp_path: Path) -> None:
    (report,) = run_all([name], seed=11, budget=0.3, folder=tmp_path)
    assert report.tried > 0
    assert report.failures == []
    assert list(tmp_path.iterdir()) == []


def test_the_same_seed_draws_the_same_inputs(tmp_path: Path) -> None:
    drawn = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        drawn.append([(i.name, i.kind, i.task, i.path.read_bytes()) for i in drawn_inputs(5, 40, tmp_path / name)])
    assert drawn[0] == drawn[1]
    assert {kind for _name, kind, _task, _data in drawn[0]} == {"task", "python", "impl", "answer"}
    assert len({data for *_others, data in drawn[0]}) == 40


def test_what_is_drawn_holds(tmp_path: Path) -> None:
    outcomes = run(drawn_inputs(5, 16, tmp_path))
    assert len(outcomes) == 16
    if DRAWN not in pending():
        wrong = [outcome for outcome in outcomes if not outcome.holds]
        assert not wrong, "\n".join(map(str, wrong))


def test_payloads_come_into_every_kind_of_place() -> None:
    texts = {spliced_python(random.Random(seed), "x = torch.relu(y)\nreturn [x * 2]") for seed in range(400)}
    found = "\n".join(texts)
    for word in (
        "def h()",
        "class H",
        "@",
        " -> ",
        "x: ",
        "if False",
        "lambda y=",
        "for z in []",
        "assert True,",
        "**",
        "w := ",
    ):
        assert word in found, word
    for payload in PAYLOADS:
        assert payload[:12] in found


def test_payloads_come_into_f_strings_where_something_can_be_written() -> None:
    body = 'x = f"a{b + 1!r:>{w}} c {d}"'
    texts = {spliced_python(random.Random(seed), body) for seed in range(400)}
    assert any(payload[:12] in text for text in texts for payload in PAYLOADS)


def test_every_draw_is_an_input() -> None:
    for seed in range(200):
        kind, suffix, task, data = draw(random.Random(seed))
        assert data
        assert suffix.startswith(".")
        assert (task != "") == (kind in ("impl", "answer"))


def test_a_failure_is_told_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(order: Order, report: Report) -> None:
        report.tried = 1
        report.failures.append(f"kept as {order.keep('case.txt', 'the input')}")

    monkeypatch.setitem(CAMPAIGNS, "types", (failing, 1))
    (report,) = run_all(["types"], seed=3, budget=1.0, folder=tmp_path)
    assert report.failures
    assert (tmp_path / "case.txt").read_text(encoding="utf-8") == "the input"
    assert "FAILED types, --seed 3" in capsys.readouterr().out
