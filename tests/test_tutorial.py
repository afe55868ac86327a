"""The tutorial and the pages of examples: programs and figures are those of a run, and so are the pictures."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from stepcore.check import check_text
from stepcore.cycles.timed import Timed
from test_examples import EXAMPLES, load, programs

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.md"
PIECE = re.compile(r"^# of (examples/\w+\.py)\n(.*)", re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")


def pictures() -> ModuleType:
    """The script that writes the pictures."""
    name = "timelines_script"
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / "timelines.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


SCRIPT = pictures()
BLOCKS: list[str] = SCRIPT.blocks()


@pytest.mark.parametrize("place", range(len(BLOCKS)))
def test_each_block_is_a_program_that_verifies_or_stands_in_its_example(place: int, tmp_path: Path) -> None:
    block = BLOCKS[place]
    if piece := PIECE.match(block):
        assert piece[2] in (ROOT / piece[1]).read_text()
        return
    assert check_text(block, "block.py").diagnostics == []
    file = tmp_path / "block.py"
    file.write_text(block)
    (program,) = programs(load(file, f"tutorial_{place}"))
    assert program.verify().accepted


@pytest.mark.parametrize("name", SCRIPT.programs())
def test_figures_and_pictures_are_those_of_a_run(name: str) -> None:
    timed: Timed
    timed, recorder = SCRIPT.recorded(SCRIPT.programs()[name])
    page = TUTORIAL.read_text()
    assert f"{timed.cycles:,} cycles" in page and f"{timed.off_chip_bytes:,}" in page
    assert f"(timelines/{name}.svg)" in page
    drawn = SCRIPT.picture(timed, recorder)
    assert drawn == (SCRIPT.FOLDER / f"{name}.svg").read_text(), "run scripts/timelines.py"
    assert len(drawn) < 40_000
    bars = [item for item in ElementTree.fromstring(drawn).iter() if item.tag.endswith("path")]
    assert len(bars) > 4


def test_no_picture_is_left_over() -> None:
    assert {file.stem for file in SCRIPT.FOLDER.iterdir()} == set(SCRIPT.programs())


def test_pages_of_examples_stand_beside_them_and_links_lead_somewhere() -> None:
    pages = sorted((ROOT / "examples").glob("*.md"))
    named = {file.stem for file in EXAMPLES}
    assert {page.stem for page in pages} <= named
    tiled = {file.stem for file in EXAMPLES if "step.Tile(" in file.read_text()}
    assert tiled <= {page.stem for page in pages}
    for page in (*pages, TUTORIAL):
        for target in LINK.findall(page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
