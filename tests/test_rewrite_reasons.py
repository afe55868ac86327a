"""Each rewrite says, of the places that it is about, why it does not apply; and `optimize --explain` shows that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from rewrite_pages import CHIPS, SECTIONS, subject
from stepagents.cli.optimize import optimize
from stepcore.rewrites import REWRITES, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.rewrites.explaining import explained

EXAMPLES = Path(__file__).parents[1] / "examples"


def programs() -> Iterator[RewriteSubject]:
    """The programs of the page, and some examples."""
    for number, (_name, before, after) in enumerate(SECTIONS):
        yield subject(before, chip=CHIPS[number % 2])
        yield subject(after, chip=CHIPS[(number + 1) % 2])
    for name in ("swiglu_tiles", "decode_attention"):
        yield subject((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))


def test_each_rewrite_says_why_it_does_not_apply_and_offers_what_it_did() -> None:
    said: dict[str, set[str]] = {rewrite.name: set() for rewrite in REWRITES}
    for each in programs():
        for rewrite in REWRITES:
            places = list(rewrite.places(each))
            assert [place for place in places if isinstance(place, RewriteSite)] == list(rewrite.sites(each))
            for place in places:
                if not isinstance(place, RewriteRefusal):
                    continue
                assert place.rewrite == rewrite.name
                assert "\n" not in place.sentence
                assert not place.sentence.endswith(".")
                assert place.place is None or place.place in each.heads
                said[rewrite.name].add(place.sentence)
    tried = {name.partition(" of ")[0] for name, *_ in CASES}
    assert not [name for name, sentences in said.items() if not sentences and name not in tried], said


CASES = [
    ("whole-rows", ".apply(x)", ".apply(step.Scan(fn=add_square, b=1).apply(x))", "which reads an input"),
    ("keep-on-chip of online-fold", "", "", "none of its strides is 0"),
    ("keep-on-chip of tile-sizes", "", "", "it loads each tile of its tensor once"),
    ("keep-on-chip of share-region", "", "", "it loads once for each element"),
    ("load-again", ".apply(loaded)", ".apply(step.Identity().apply(loaded))", "not loaded as it is"),
    ("move-map", "step.Repeat(n=N).apply(x)", "step.Map(fn=root).apply(step.Repeat(n=N).apply(x))", "Map in front"),
    ("fuse-maps", "return [input[0] * 2.0]", "return [\n        input[0] * 2.0\n    ]", "statements of one line"),
    ("fuse-maps", "step.Map(fn=double)", "step.Map(fn=double, depth=3)", "parameters beside its function"),
    ("split-map", "input[0] @ input[0] @ input[1]", "input[0] @ input[1] @ input[0]", "nothing of one input alone"),
    ("join-folds", "return [state[0] + input[0]]", "return [state[0] / 2 + input[0]]", "does not just join its state"),
    ("split-fold", "state[0] + input[0].T", "state[0] / 2 + input[0].T", "gram does not just join"),
    ("online-fold", "torch.exp(", "torch.tanh(", "do not follow exp(x - top)"),
    ("tile-sizes", "return (x * 2.0)", "return (x * (ROWS / 2.0))", "no size of its tiles"),
    ("untile", "torch.softmax(input[0], -1)", "torch.softmax(input[0], 0)", "may mix the rows of a tile"),
    ("untile of keep-on-chip", "", "", "no number but a size"),
    ("lane-counts", "Reassemble(onehot=True)", 'Reassemble(onehot=True, order="arrival")', "chunks meet in a lane"),
    ("share-region", "step.Reassemble()", 'step.Reassemble(order="arrival")', "takes what comes first"),
    ("dynamic-tiles", "torch.relu(input[0] @ input[1])", "torch.softmax(input[0] @ input[1], 0)", "may mix the rows"),
    ("dynamic-tiles", "torch.logical_not(input[0])", "input[0]", "the padding does not say"),
    ("dynamic-tiles", "(input[0] @ input[1])", "(input[0] @ input[1]) + input[0].shape[0]", "may mix the rows"),
    ("padded-tiles", "{M: 64,", "{M: 8,", "there are no more than 8 rows"),
    ("padded-tiles", "torch.relu(input[0] @ input[1])", "torch.cumsum(input[0] @ input[1], 0)", "may mix the rows"),
    ("lanes", "{M: 256, D: 32}", "{M: 256, D: 256}", "hold 2 chunks"),
    ("bandwidths", "{M: 512, D: 128}", "{M: 512, D: 1}", "no unit computes longer"),
    ("input-fifos", "step.Map(fn=double).apply(x)", "step.Map(fn=double).apply(step.Identity().apply(x))", " of x "),
    ("depths", "{M: 6, N: 8}", "{M: 1, N: 1}", "FIFOs of any depth"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "words"), CASES)
def test_what_stands_in_the_way_is_said(name: str, old: str, new: str, words: str) -> None:
    name, _, other = name.partition(" of ")
    (before,) = [text for section, text, _ in SECTIONS if section == (other or name)]
    (rewrite,) = [rewrite for rewrite in REWRITES if rewrite.name == name]
    assert old in before
    for chip in CHIPS:
        places = rewrite.places(subject(before.replace(old, new), chip=chip))
        refusals = [place.sentence for place in places if isinstance(place, RewriteRefusal)]
        assert any(words in sentence for sentence in refusals), refusals


def test_what_would_not_check_is_told_apart() -> None:
    (before,) = [text for section, text, _ in SECTIONS if section == "lane-counts"]
    text = before.replace("(lane, other)", "(lanes[k], others[k])")
    text = text.replace("for lane, other in zip(lanes, others, strict=True)", "for k in (0, 1)")
    (rewrite,) = [rewrite for rewrite in REWRITES if rewrite.name == "lane-counts"]
    found = list(explained(subject(text), [rewrite]))
    assert [place.applies for place in found] == [False, False]
    assert all("does not check" in place.sentence for place in found)
    assert [place.applies for place in explained(subject(before), [rewrite])] == [True, True]


def invoked(*words: str) -> tuple[int, str]:
    """Call the command, and give its exit code and what it printed."""
    app = Typer()
    app.command()(optimize)
    done = CliRunner().invoke(app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout


def test_the_command_explains_each_rewrite(tmp_path: Path) -> None:
    path = tmp_path / "moe.py"
    path.write_text((EXAMPLES / "moe_static_tiles.py").read_text(encoding="utf-8"), encoding="utf-8")
    code, out = invoked(str(path), "--explain", "--hw", "paper")
    assert code == 0
    first, *lines = out.splitlines()
    assert first == f"{path}::moe on paper"
    assert {line.split()[0] for line in lines if line} == {rewrite.name for rewrite in REWRITES}
    (share,) = [line for line in lines if "share-region" in line]
    assert share.endswith("cannot  line 62 step.Reassemble: its branches end in Partition, not in a Map")
    (tiles,) = [line for line in lines if "dynamic-tiles" in line]
    assert "can     line" in tiles
    code, out = invoked(str(path), "--explain", "--hw", "paper", "--format", "json")
    (program,) = json.loads(out)
    assert (code, program["program"], program["hw"], program["problem"]) == (0, "moe", "paper", None)
    assert len(program["places"]) == len([line for line in lines if line])
    (place,) = [place for place in program["places"] if place["rewrite"] == "share-region"]
    assert (place["applies"], place["line"], place["operator"]) == (False, 62, "step.Reassemble")
    assert path.read_text(encoding="utf-8") == (EXAMPLES / "moe_static_tiles.py").read_text(encoding="utf-8")


def test_explaining_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text((EXAMPLES / "moe_static_tiles.py").read_text(encoding="utf-8").replace("N=2)", "N=3)"))
    code, out = invoked(str(path), "--explain", "--format", "json")
    (program,) = json.loads(out)
    assert (code, program["places"]) == (1, [])
    assert "stepsmith check" in program["problem"]
    for option in ("--apply", "--format=html"):
        assert invoked(str(path), "--explain", option)[0] == 2
