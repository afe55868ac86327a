"""What is said about a program is true: its sizes, what they are for, and the lines that its operators come from."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import warm
from job_records import function
from stepagents.cli.synth_function import FunctionOptions, run_functions
from stepagents.torchfn.fit import fit_scalar, fit_size
from stepcore.sizes.dim import Dim

NOTED = Path(__file__).parent / "torch_functions" / "noted.py"
BINDINGS = [{"b": 11, "h": 13}, {"b": 78, "h": 36}, {"b": 104, "h": 94}, {"b": 37, "h": 13}, {"b": 11, "h": 35}]
B, H = Dim.symbol("b"), Dim.symbol("h")


class Owner:
    cancelled = False

    def check(self) -> None: ...

    def progress(self, data: Any) -> None: ...


@cache
def found() -> dict[str, Any]:
    payload = {"path": str(NOTED), "text": NOTED.read_text(encoding="utf-8"), "selector": "Model", "trusted": True}
    result = function(payload, Owner())
    assert result["solved"], result["reason"]
    return result


def test_the_note_says_the_sizes_that_the_file_has() -> None:
    (note,) = (note for note in found()["notes"] if "the file verifies" in note)
    values = dict(re.findall(r"(\w+)_value = (\d+)", found()["programs"][0]["text"]))
    shown = dict(re.findall(r"(\w+)=(\d+)", note.partition(":")[0]))
    asked = dict(re.findall(r"(\w+)=(\d+)", note.partition(":")[2]))
    assert asked == {"batch_size": "4", "depth": "12", "height": "16"}
    assert {"depth", "height"} <= values.keys()
    assert {name: shown[name] for name in values} == values
    assert all(int(shown[name]) <= int(size) for name, size in asked.items())


def test_a_product_of_sizes_leaves_all_symbols() -> None:
    assert found()["fixed"] == {}
    assert not any("only" in note for note in found()["notes"])


@pytest.mark.parametrize(
    ("size", "context"),
    [
        ((H - 2) * (H - 2), [B, H - 2, H - 2]),
        (6 * (H - 2) * (H - 2) * (H - 2), [B, Dim.of(6), H - 2, H - 2, H - 2]),
        ((H - 3) // 2 * ((H - 3) // 2), [B, (H - 3) // 2, (H - 3) // 2]),
        ((H + 1) * (H + 1) // (B * 1), [H + 1, H + 1, B]),
    ],
    ids=str,
)
def test_products_and_quotients_of_sizes_are_found(size: Dim, context: list[Dim]) -> None:
    values = [size.bind(sizes) for sizes in BINDINGS]
    fitted = fit_size(values, BINDINGS, context)
    assert fitted is not None
    assert all(fitted.bind(other) == size.bind(other) for other in ({"b": 5, "h": 21}, {"b": 2, "h": 50}))


def test_scalars_follow_products_of_sizes() -> None:
    values = [1 / (sizes["h"] - 2) ** 2 for sizes in BINDINGS]
    text = fit_scalar(values, BINDINGS, [B, H - 2, H - 2])
    assert text is not None
    assert eval(text, {"h_value": 20}) == pytest.approx(1 / 18**2)


def test_no_result_is_thrown_away() -> None:
    for program in found()["programs"]:
        made = re.findall(r"^(\w+)(?:, (\w+))? = step", program["impl"], re.MULTILINE)
        names = [name for pair in made for name in pair if name]
        assert all(len(re.findall(rf"\b{name}\b", program["impl"])) == 2 for name in names)


def test_operators_stand_below_the_lines_that_they_come_from() -> None:
    impl = found()["programs"][0]["text"].splitlines()
    own = NOTED.read_text(encoding="utf-8").splitlines()
    groups: dict[tuple[str, ...], list[str]] = {}
    above: list[str] = []
    is_new = True
    for line in impl:
        comment = re.match(r"    # line (\d+): (.*)", line)
        if comment:
            assert own[int(comment[1]) - 1].strip() == comment[2]
            above = [*([] if is_new else above), comment[2]]
            is_new = False
        elif "step." in line and ".apply(" in line:
            groups.setdefault(tuple(above), []).append(line)
            is_new = True
    first = groups["x = self.conv(x)",]
    assert any("Accum" in line for line in first)
    assert ("x = self.conv(x)", "x = x * torch.sigmoid(x)", "x = self.norm(x)") in groups
    assert groups["return x.mean(dim=[1, 2, 3, 4])",]


def test_costs_are_said_with_what_is_compulsory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warm.lend(monkeypatch)
    assert run_functions([f"{NOTED.parent / 'plain.py'}::affine"], FunctionOptions(explain=True)) == 0
    out = capsys.readouterr().out
    assert re.search(r"off-chip traffic \([\d.,]+x compulsory\)", out)
    assert "compulsory traffic: each input and output once" in out
    assert run_functions([f"{NOTED.parent / 'plain.py'}::affine"], FunctionOptions(as_json=True)) == 0
    (row,) = json.loads(capsys.readouterr().out)
    # x[m, k], w[k, n] and the result, at the sizes of the trace.
    m, k, n = (row["sizes"][name] for name in "mkn")
    assert row["compulsory_bytes"] == 4 * (m * k + k * n + m * n)
    assert row["traffic_ratio"] == pytest.approx(row["off_chip_bytes"] / row["compulsory_bytes"])
