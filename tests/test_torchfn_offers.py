"""What is offered for a function: programs that differ, and none that does more than it must."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from job_records import candidates, function
from stepcore.printing.task import canonical_key

OFFERS = Path(__file__).parent / "torch_functions" / "offers.py"


class Owner:
    cancelled = False

    def check(self) -> None: ...

    def progress(self, data: Any) -> None: ...


@cache
def found(name: str) -> dict[str, Any]:
    payload = {"path": str(OFFERS), "text": OFFERS.read_text(encoding="utf-8"), "selector": name, "trusted": True}
    result = function(payload, Owner())
    assert result["solved"], result["reason"]
    return result


@pytest.mark.parametrize("name", ["doubled", "running", "scaled", "top", "Biased"])
def test_offered_programs_are_different_ones(name: str) -> None:
    programs = found(name)["programs"]
    texts = [program["text"] for program in programs]
    checked = [candidates({"path": str(OFFERS.parent / "p.step.py"), "text": text})[0].checked for text in texts]
    assert len({canonical_key(each.graph) for each in checked}) == len(programs)
    assert len({program["impl"] for program in programs}) == len(programs)
    assert len({program["layout"] for program in programs}) == len(programs)


@pytest.mark.parametrize(("name", "most"), [("doubled", 1), ("scaled", 6), ("ramped", 2)])
def test_a_constant_is_a_number_or_one_stream(name: str, most: int) -> None:
    best = found(name)["programs"][0]
    assert best["operators"] <= most
    read = re.findall(r'^        "(\w+)": "', best["text"], re.MULTILINE)
    assert len(set(read)) <= 2 + (name == "ramped")


def test_a_constant_that_follows_a_size_is_none() -> None:
    assert "m_value" in found("sized")["programs"][0]["text"]


@pytest.mark.parametrize("name", ["top", "highest"])
def test_a_maximum_carries_no_place_that_nobody_reads(name: str) -> None:
    for program in found(name)["programs"]:
        assert "i64" not in program["text"]
        assert "better" not in program["text"]


def test_but_it_does_where_it_is_read() -> None:
    assert "better" in found("place")["programs"][0]["text"]


def test_what_is_repeated_waits_unrepeated() -> None:
    for program in found("Biased")["programs"]:
        repeated = set(re.findall(r"(\w+) = step\.Repeat\(", program["impl"]))
        copies = re.findall(r"(\w+), (\w+) = step\.Copy\(\)\.apply\((\w+)\)", program["impl"])
        repeated |= {name for one, two, of in copies if of in repeated for name in (one, two)}
        kept = set(re.findall(r"step\.Bufferize\(a=\d+\)\.apply\((\w+)\)", program["impl"]))
        assert not repeated & kept
