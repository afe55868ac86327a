"""Tiles in parts: random programs compute the same, less lies on chip, what is in the way is said."""

from __future__ import annotations

import json
from difflib import ndiff
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

from oracle import dense
from programs import count
from programs.parted import parted_module
from programs.running import assert_same_values
from rewrite_pages import CHIPS, SECTIONS, as_task, oracle_values, returned, subject
from stepagents.cli.optimize import optimize
from stepcore.rewrites import RewriteRefusal, RewriteSite, RewriteSubject, applied
from stepcore.rewrites.untiled import Untile


@pytest.mark.parametrize("first", range(0, count(240), 30))
def test_random_programs_compute_the_same_in_parts_of_their_tiles(first: int) -> None:
    kinds = dict.fromkeys(("in a task", "in a file", "single rows", "repeated", "Retile(axis=0)", "Flatten("), 0)
    for seed in range(first, first + 30):
        text = parted_module(Random(seed))
        old = as_task(text) if seed % 3 == 0 else subject(text)
        wanted = oracle_values(text)
        for site in Untile().sites(old):
            new = applied(old, site)
            assert new is not None, f"{seed}: {text}\n{site.sentence}"
            try:
                assert_same_values([dense(stream) for stream in returned(new)], wanted)
            except AssertionError as error:
                error.add_note(f"{seed}: {site.sentence}\n{new.text}")
                raise
            kinds["in a task" if seed % 3 == 0 else "in a file"] += 1
            kinds["single rows"] += dict(site.params)["rows"] == "1"
            kinds["repeated"] += dict(site.params)["beside"] == "repeated"
            for word in ("Retile(axis=0)", "Flatten("):
                kinds[word] += new.text.count(word) > old.text.count(word)
    assert min(kinds.values()) > 0, kinds


def page() -> str:
    """The program of the page."""
    before: str
    (before,) = [text for name, text, _ in SECTIONS if name == "untile"]
    return before


def sites(old: RewriteSubject, rows: int, beside: str) -> list[RewriteSite]:
    """The ways to parts of so many rows."""
    wanted = {"rows": str(rows), "beside": beside}
    return [site for site in Untile().sites(old) if wanted.items() <= dict(site.params).items()]


def test_less_lies_on_chip_and_memory_gives_as_many_bytes() -> None:
    old = subject(page(), chip=CHIPS[0])
    (site,) = sites(old, 16, "repeated")
    made = applied(old, site)
    assert made is not None and old.timed is not None
    new = subject(made.text, chip=CHIPS[0]).timed
    assert new is not None and old.timed.on_chip is not None and new.on_chip is not None
    assert new.on_chip < old.timed.on_chip * 0.8
    assert new.off_chip_bytes == old.timed.off_chip_bytes


def test_parts_of_a_fold_over_tiles_are_loaded_at_their_level_and_the_diff_is_small() -> None:
    path = Path(__file__).parents[1] / "examples" / "swiglu_tiles.py"
    old = subject(path.read_text(encoding="utf-8"))
    (site,) = sites(old, 8, "loaded")
    new = applied(old, site)
    assert new is not None
    assert "tensor=x, tile=[8, D], shape=[1, n, 2, m], stride=[2, 0, 1, 2])" in new.text
    assert "tensor=wd, tile=[TN, D], shape=[n, 2, 1, m], stride=[1, 0, 0, 0])" in new.text
    folded = "step.Accum(fn=down, b=1).apply((step.Promote(b=2).apply(E7), E3))"
    assert f"return step.Retile(axis=0).apply({folded})" in new.text
    assert "X_part_1 = step.Tile(step.f32, [8, D])\n" in new.text
    gone = [line for line in ndiff(old.text.splitlines(), new.text.splitlines()) if line.startswith("- ")]
    assert len(gone) == 9, gone


def test_sizes_that_are_symbols_and_columns_of_tiles_are_counted() -> None:
    text = page()
    joined = "rows = step.Promote(b=0).apply(step.Retile(axis=1).apply(rows))"
    for before, after in (
        ("tile=[64, D], shape=[1, m], stride=[0, 1]", "tile=[64, 32], shape=[D // 32, m], stride=[1, D // 32]"),
        ("    made = step.Map(", f"    {joined}\n    made = step.Map("),
        ("K: 32}", 'K: 32}, data={"x": "torch.randn", "w": "torch.randn"}'),
    ):
        assert before in text
        text = text.replace(before, after)
    old = subject(text)
    (site,) = sites(old, 16, "loaded")
    new = applied(old, site)
    assert new is not None
    assert "tile=[16, 32], shape=[D // 32, 4, m], stride=[1, D // 32, 4 * (D // 32)]" in new.text
    wanted = oracle_values(text)
    assert_same_values([dense(stream) for stream in oracle_values(new.text)], wanted)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("torch.softmax(input[0], -1)", "torch.softmax(input[0], 0)", "shares may mix the rows of a tile"),
        ("torch.softmax(input[0], -1)", "input[0] * 2.0 + input[0].shape[0]", "shares may mix the rows of a tile"),
        ("stride=[0, 1]).apply()", "stride=[0, 1]).apply()\n    rows = step.Bufferize(a=1).apply(rows)\n"
         "    rows = step.Streamify().apply(rows)", "Bufferize takes its tiles whole"),
        ("tile=[64, D]", "tile=ROWS", "its tile is not written out as rows and columns"),
        ("shape=[1, m], stride=[0, 1]", "shape=ONE, stride=[0, 1]", "its shape and stride are not written out"),
        ("64", "1", "its tiles are single rows"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_of_parts_is_said(old: str, new: str, words: str) -> None:
    assert old in page()
    text = page().replace(old, new).replace("Y = step", "ROWS = [64, D]\nONE = [1, M // 64]\nY = step")
    places = [each.sentence for each in Untile().places(subject(text)) if isinstance(each, RewriteRefusal)]
    assert any(words in place for place in places), places


def test_a_tensor_that_is_written_is_read_as_before() -> None:
    text = page().replace("x: Annotated[step.Param,", "x: Annotated[step.Param(written=True),")
    text = text.replace("reshape(-1, 1, 64, w.shape[1])", "reshape(-1, 1, 64, w.shape[1]), x")
    found = list(Untile().places(subject(text)))
    assert not [each for each in found if isinstance(each, RewriteSite)]
    assert any("its tensor is written" in each.sentence for each in found), found


def test_the_search_finds_parts_for_less_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPSMITH_STORE", str(tmp_path / "experience.sqlite3"))
    path = tmp_path / "weigh.step.yaml"
    path.write_text(as_task(page()).text, encoding="utf-8")
    app = Typer()
    app.command()(optimize)
    done = CliRunner().invoke(app, [str(path), "--hw", "paper", "--goal", "memory", "--format", "json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)[0]
    assert found["verified"] and found["on_chip_bytes"] < 262_144 * 0.8
    assert any("are cut into" in str(step) for step in found["steps"]), found["steps"]
