"""Statistics, saved runs and the HTML report."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepagents.report.curves import candidates_each, effort_series, seconds_each, system_bars, token_series
from stepagents.report.page import report_page
from stepagents.report.plots import SERIES, Series, line_chart
from stepagents.report.published import PUBLISHED, TASKS
from stepagents.report.runs import Attempt, BenchRun, UnusableRun, load_run
from stepagents.report.scales import Linear, Log, short
from stepagents.report.stats import pass_at_k, powers, wilson
from stepagents.report.summary import by_group, overall, pass_table
from stepagents.report.tables import run_text


def attempt(task: str, seed: int = 0, solved: bool = True, **fields: Any) -> Attempt:
    values: dict[str, Any] = {
        "candidates": 10, "accepted": int(solved), "input_tokens": 0, "output_tokens": 0, "cost": 0.0, "seconds": 0.5,
        "impl": "return E0" if solved else "", "reason": "" if solved else "the budget is spent",
    }  # fmt: skip
    return Attempt(task, f"tasks/{task}.step.yaml", seed, solved, **{**values, **fields})


def run(attempts: list[Attempt], *, label: str = "search", of_a_model: bool = False) -> BenchRun:
    return BenchRun(label, label, of_a_model, "2026-01-02T03:04:05+00:00", attempts, {"samples": 4})


SEARCH = run([attempt("a_1"), attempt("a_2", solved=False), attempt("b_1", candidates=1000)])
MODEL = run(
    [
        attempt("a_1", candidates=8, accepted=2, input_tokens=8000, output_tokens=800, cost=0.5, seconds=20.0),
        attempt("a_2", solved=False, candidates=8, input_tokens=16000, outcomes={"types": 5, "values": 3}),
        attempt("b_1", candidates=4, accepted=4, input_tokens=4000),
    ],
    label="fake/<model> & co",
    of_a_model=True,
)


# -- statistics -----------------------------------------------------------------------------------------------


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_subsets_with_a_right_answer(answers: int, data: st.DataObject) -> None:
    right, k = data.draw(st.integers(0, answers)), data.draw(st.integers(1, answers))
    subsets = list(itertools.combinations(range(answers), k))
    hits = sum(any(index < right for index in subset) for subset in subsets)
    assert pass_at_k(answers, right, k) == pytest.approx(hits / len(subsets))


def test_pass_at_k_has_no_bias() -> None:
    draw, chance, k = Random(7), 0.3, 4
    rights = [sum(draw.random() < chance for _ in range(10)) for _ in range(20_000)]
    estimate = sum(pass_at_k(10, right, k) for right in rights) / len(rights)
    assert estimate == pytest.approx(1 - (1 - chance) ** k, abs=0.01)
    for wrong in ((3, 4, 1), (3, 1, 4), (3, 1, 0), (3, -1, 1)):
        with pytest.raises(ValueError, match="cannot be estimated"):
            pass_at_k(*wrong)


def test_wilson_intervals_are_the_published_ones() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    for right, number, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611),
                                     (1, 29, 0.0061, 0.1718)):  # fmt: skip
        assert wilson(right / number, number) == pytest.approx((low, high), abs=5e-5)
    assert wilson(1.0, 26)[1] == 1.0
    assert wilson(0.5, 0) == (0.0, 1.0)


def test_powers() -> None:
    assert [powers(most) for most in (0, 1, 6, 8)] == [[], [1], [1, 2, 4, 6], [1, 2, 4, 8]]


def test_totals_are_means_over_seeds() -> None:
    repeated = run([attempt("a_1"), attempt("a_1", 1, solved=False), attempt("a_2"), attempt("b_1", candidates=30)])
    groups = {part.name: part for part in by_group(repeated)}
    assert list(groups) == ["a", "b", "all"]
    assert [(part.tasks, part.solved, part.candidates) for part in groups.values()] == [
        (2, 1.5, 20), (1, 1.0, 30), (3, 2.5, 50),
    ]  # fmt: skip
    assert (groups["all"].low, groups["all"].high) == wilson(2.5 / 3, 3)


def test_pass_table_counts_runs_of_the_search_and_answers_of_a_model() -> None:
    (row,) = pass_table(SEARCH)
    assert (row.k, row.tasks) == (1, 3)
    assert row.value == pytest.approx(2 / 3)
    rows = {row.k: row for row in pass_table(MODEL)}
    assert list(rows) == [1, 2, 4, 8]
    assert rows[1].value == pytest.approx((2 / 8 + 0 + 1) / 3)
    assert rows[2].value == pytest.approx((1 - (6 * 5) / (8 * 7) + 0 + 1) / 3)
    assert (rows[8].value, rows[8].tasks) == (0.5, 2)
    assert pass_table(run([])) == []


# -- saved runs -----------------------------------------------------------------------------------------------


def test_a_saved_run_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(MODEL.as_json()))
    assert load_run(path) == MODEL


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no JSON"),
        ("[1]", "no run that"),
        ('{"format": "stepsmith-bench", "format_version": 99}', "its format is 99"),
        ('{"format": "stepsmith-bench", "format_version": 1}', "incomplete or damaged"),
        (json.dumps({**SEARCH.as_json(), "attempts": [{"task": "x"}]}), "incomplete or damaged"),
        (json.dumps({**SEARCH.as_json(), "attempts": [3]}), "incomplete or damaged"),
        (
            json.dumps(SEARCH.as_json()).replace('"candidates": 10', '"candidates": true', 1),
            "attempts.0.candidates: Input should be a valid integer",
        ),
        (json.dumps(SEARCH.as_json()).replace('"seconds": 0.5', '"seconds": NaN', 1), "attempts.0.seconds: "),
        (
            json.dumps(SEARCH.as_json()).replace('"seconds": 0.5', '"seconds": -1', 1),
            "attempts.0.seconds: Input should be greater than or equal to 0",
        ),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_file_that_is_no_run_is_named(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(UnusableRun, match=message) as caught:
        load_run(path)
    assert str(path) in str(caught.value)


def test_a_run_that_is_not_there() -> None:
    with pytest.raises(UnusableRun, match=r"nowhere\.json"):
        load_run(Path("nowhere.json"))


# -- text and drawings ----------------------------------------------------------------------------------------


def test_text_shows_groups_pass_at_k_and_what_is_unsolved() -> None:
    lines = run_text(SEARCH).split("\n")
    assert [line.split()[:3] for line in lines[2:5]] == [["a", "1", "2"], ["b", "1", "1"], ["all", "2", "3"]]
    assert any(line.split()[:2] == ["k=1", "66.7%"] for line in lines)
    assert lines[-1] == "not solved: a_2 (the budget is spent)"
    assert "(2 tasks have 8 samples)" in run_text(MODEL)


def test_bars_hold_the_published_figures_and_the_runs() -> None:
    bars = system_bars([SEARCH, MODEL])
    assert [bar.shown for bar in bars] == [
        "38.5% (10 of 26)", "57.7% (15 of 26)", "96.2% (25 of 26)", "66.7% (2 of 3)", "66.7% (2 of 3)",
    ]  # fmt: skip
    assert [bar.reference for bar in bars] == [True] * len(PUBLISHED) + [False, False]
    assert all(0 <= bar.low <= bar.value <= bar.high <= 1 for bar in bars)
    assert TASKS == 26


def test_curves_end_at_what_was_solved() -> None:
    search, model = token_series([SEARCH, MODEL])
    assert list(search.points) == [(0, 2)]
    assert list(model.points) == [(8000, 1), (24000, 1), (28000, 2)]
    (effort,) = effort_series([SEARCH], candidates_each)
    assert list(effort.points) == [(10, 0), (10, 1), (1000, 2)]
    (effort,) = effort_series([MODEL], candidates_each)
    assert list(effort.points) == [(1, 0), (1, 1), (4, 2)]
    assert effort_series([run([attempt("a_1", solved=False)])], seconds_each)[0].points == []


@given(st.floats(0, 1e12), st.floats(0, 1e12))
def test_scales_keep_order_and_stay_inside(one: float, two: float) -> None:
    log = Log.around([one, two], 10.0, 500.0)
    linear = Linear(0.0, max(one, two, 1.0), 300.0, 20.0)
    assert all(10.0 <= log(value) <= 500.0 and 20.0 <= linear(value) <= 300.0 for value in (one, two))
    if one <= two:
        assert log(one) <= log(two) + 1e-9
        assert linear(one) >= linear(two) - 1e-9
    assert all(10.0 <= log(tick) <= 500.0 for tick in log.ticks)
    assert 2 <= len(log.ticks) <= 11
    assert 2 <= len(linear.ticks) <= 12


def test_numbers_of_ticks_are_short() -> None:
    assert [short(value) for value in (0, 0.001, 5, 250, 20_000, 3e6, 2e9)] == [
        "0", "0.001", "5", "250", "20k", "3M", "2G",
    ]  # fmt: skip


def test_a_chart_without_data_says_so() -> None:
    assert "There are no data" in line_chart("empty", "Empty", [Series("none", 0)], "x", "y")


# -- the page -------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Collects elements, and refuses tags that are not closed."""

    VOID = frozenset({"meta", "rect", "line", "circle", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.VOID, tag
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_the_page_needs_nothing_from_elsewhere() -> None:
    text = report_page([SEARCH, MODEL])
    page = Page(text)
    for _tag, attributes in page.found:
        assert not attributes.keys() & {"src", "href", "onload", "onclick"}
    assert "script" not in {tag for tag, _ in page.found}
    assert "url(" not in text and "@import" not in text
    (policy,) = [item["content"] for item in page.attributes("meta") if item.get("http-equiv")]
    assert policy is not None and policy.startswith("default-src 'none'")


def test_the_page_can_be_read_aloud() -> None:
    page = Page(report_page([SEARCH, MODEL]))
    drawings = [item for item in page.attributes("svg") if not item.get("aria-hidden")]
    identities = [item["id"] for _tag, item in page.found if "id" in item]
    assert len(drawings) == 4
    assert len(identities) == len(set(identities))
    for item in drawings:
        assert item["role"] == "img"
        assert set((item["aria-labelledby"] or "").split()) <= set(identities)
    assert page.attributes("html")[0]["lang"] == "en"
    assert all(item.get("scope") in ("col", "row") for item in page.attributes("th"))
    said = " ".join(page.texts)
    assert "search: 66.7% (2 of 3)" in said
    assert "an advantage that no model had" in said


def test_names_are_text_and_never_markup() -> None:
    nasty = '"><script>alert(1)</script>'
    text = report_page([run([attempt(nasty, reason=nasty, impl=nasty)], label=nasty)])
    assert "<script" not in text
    Page(text)


def test_every_style_exists_in_light_and_dark() -> None:
    css = re.search(r"<style>(.*?)</style>", report_page([SEARCH]), re.DOTALL)
    assert css is not None
    for style in range(SERIES):
        assert len(re.findall(rf"--c{style}: #", css.group(1))) == 2
        assert f".stroke{style} " in css.group(1) and f".fill{style} " in css.group(1)


def test_a_report_of_an_interrupted_run_without_attempts() -> None:
    empty = BenchRun("x", "search", False, "2026-01-02T03:04:05+00:00", [], {}, interrupted=True)
    page = Page(report_page([empty]))
    assert any("interrupted" in text for text in page.texts)
    assert overall(empty).share == 0.0
