"""Optimization memory: what is kept and what never is, what it changes in the search, and that imports do no harm."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

import stepagents.optimize.proof
from stepagents.cli import experience
from stepagents.cli.optimize import optimize
from stepagents.experience import database, optimizations
from stepagents.experience.database import HoldsSecret, StoreError
from stepagents.experience.item_transfer import export_items, import_items
from stepagents.experience.lines import RefusedLine, need_object
from stepagents.experience.optimizations import (
    Bottleneck,
    Change,
    OptimizationItem,
    add_items,
    item_as_json,
    remove_items,
    stored_items,
)
from stepagents.experience.store import Store
from stepagents.optimize.candidates import FasterText, OptimizeStep, OptimizeTarget
from stepagents.optimize.features import bottleneck_of, change_of, segment
from stepagents.optimize.lessons import Place, is_number, place_of
from stepagents.optimize.opening import OpenPrograms
from stepagents.optimize.order import CandidateOrder
from stepagents.optimize.pairs import RewriteChild
from stepagents.optimize.prior import Gains, RewritePrior, distance, fitting
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import Search, SearchLimits
from stepcore.cycles.timed import time_program
from stepcore.findings.diagnostics import Edit
from stepcore.jobdata.optimizing import Figures
from stepcore.rewrites import RewriteSite, RewriteSubject, subject_of
from stepcore.text.span import Span
from stepcore.timing.hardware import PRESETS
from warm import Lent

ROOT = Path(__file__).parents[1]
EXPERT = ROOT / "examples" / "swiglu_tiles.py"
GEMM = ROOT / "benchmarks" / "tiles" / "gemm_tiles.py"
COMPUTE = Bottleneck("compute", "Map", ("< LinearOffChipLoad", "> Accum"), 0, 1, 64, 3, 2)
MEMORY = Bottleneck("memory", "LinearOffChipLoad", ("> Accum",), 0, 3, 64, 3, 5)
LANES, ROWS = Change("lanes", ("N=2",)), Change("tile-sizes", ("rows doubled",))
ITEM = OptimizationItem(COMPUTE, LANES, 1000, 500)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A store of the test, and warm workers."""
    monkeypatch.setenv("STEPSMITH_STORE", str(tmp_path / "store" / "experience.sqlite3"))
    monkeypatch.setattr(stepagents.optimize.proof, "Pool", Lent)
    yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "own.sqlite3", "here") as opened:
        yield opened


def line(**changes: object) -> str:
    return json.dumps({"stepsmith_optimization": 1, **item_as_json(ITEM), "seen": 5.0, **changes})


# -- the store --------------------------------------------------------------------------------------------------------


def test_items_of_one_key_are_one_that_counts_for_all(store: Store) -> None:
    slower = replace(ITEM, after=2000)
    assert add_items(store, [ITEM, replace(ITEM, after=250), slower], seen=1.0) == 2
    assert add_items(store, [replace(ITEM, after=400, count=3)], seen=2.0) == 0
    fast, slow = stored_items(store)
    assert (fast.item.after, fast.item.count, fast.seen) == (250, 5, 2.0)
    assert (slow.item, slow.seen) == (slower, 1.0)
    assert "2x slower" in slow.item.words
    with Store(store.path, "there") as other, Store(store.path, None) as every:
        assert stored_items(other) == []
        assert len(stored_items(every)) == 2
        assert remove_items(other, [fast.number]) == 0
        with pytest.raises(ValueError, match="for reading"):
            add_items(every, [ITEM])
    assert remove_items(store, [fast.number]) == 1


def test_the_store_is_bounded_and_gives_up_what_was_seen_longest_ago(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizations, "MOST_ITEMS", 3)
    for number in range(5):
        add_items(store, [replace(ITEM, change=Change("lanes", (f"N={number}",)))], seen=float(number))
    assert [each.item.change.parameters for each in stored_items(store)] == [("N=2",), ("N=3",), ("N=4",)]


def test_what_comes_from_the_future_is_of_now_and_leaves_room_for_what_is_learned(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizations, "MOST_ITEMS", 3)
    lines = [line(change={"rewrite": f"no-{number}"}, seen=9e10) for number in range(3)]
    assert import_items(store, lines).added == 3
    assert add_items(store, [ITEM]) == 1
    assert ITEM in [each.item for each in stored_items(store)]


def test_what_is_imported_again_counts_once_and_is_not_forgotten_for_it(store: Store) -> None:
    add_items(store, [ITEM, replace(ITEM, count=3)], seen=1_000.0)
    again = line(count=4), line(count=2)
    for _ in range(3):
        assert import_items(store, again).known == 2
    (found,) = stored_items(store)
    assert (found.item.count, found.seen) == (4, 1_000.0)


def test_a_store_of_schema_1_keeps_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite3"
    old = sqlite3.connect(path)
    for table in database._TABLES:
        old.execute(table)
    old.execute(f"PRAGMA application_id = {database._APPLICATION}")
    old.execute("PRAGMA user_version = 1")
    old.execute("INSERT INTO tasks VALUES ('key', 'text')")
    old.execute(
        "INSERT INTO experiences (workspace, task, task_key, program_key, impl, proposer, success_rate, tokens, cost, "
        "seconds, earned, path) VALUES ('here', 'a', 'key', 'p', 'impl', 'search', 1, 0, 0, 0, 0, '')"
    )
    old.commit()
    old.close()
    with Store(path, "here") as opened:
        assert [each.experience.impl for each in opened.all()] == ["impl"]
        assert add_items(opened, [ITEM]) == 1
    with Store(path, "here") as again:
        assert [each.item for each in stored_items(again)] == [ITEM]


def test_a_credential_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2hunter2")
    with pytest.raises(HoldsSecret):
        add_items(store, [replace(ITEM, after=None), replace(ITEM, old="x = 'hunter2hunter2'")])
    assert stored_items(store) == []
    assert [number for number, _ in import_items(store, [line(old="hunter2hunter2")], with_code=True).refused] == [1]


def test_a_workspace_that_is_no_text_is_told(store: Store) -> None:
    add_items(store, [ITEM])
    store.connection.execute("UPDATE optimizations SET workspace = x'ff'")
    with (
        Store(store.path, None) as every,
        pytest.raises(StoreError, match=r"`workspace` is no text; .*STEPSMITH_STORE"),
    ):
        stored_items(every)


def test_a_row_that_cannot_be_read_is_told(store: Store) -> None:
    add_items(store, [ITEM])
    store.connection.execute("UPDATE optimizations SET item = '{}'")
    with pytest.raises(StoreError, match="cannot be read"):
        stored_items(store)


# -- export and import ------------------------------------------------------------------------------------------------


def test_what_is_exported_is_imported_and_code_only_where_it_is_asked_for(store: Store, tmp_path: Path) -> None:
    coded = replace(ITEM, strategy="my words", old="secret_name = 1", new="secret_name = 2")
    add_items(store, [coded, replace(ITEM, after=None)], seen=7.0)
    lines = list(export_items(stored_items(store)))
    assert not any("secret_name" in text or "my words" in text or "here" in text for text in lines)
    with Store(tmp_path / "other", "there") as other:
        done = import_items(other, [*lines, "", "  "])
        assert (done.added, done.known, done.refused) == (2, 0, [])
        assert [each.seen for each in stored_items(other)] == [7.0, 7.0]
    whole = list(export_items(stored_items(store), with_code=True))
    assert "secret_name" in whole[0]
    for with_code in (False, True):
        with Store(tmp_path / f"code {with_code}", "there") as other:
            import_items(other, whole, with_code=with_code)
            assert (stored_items(other)[0].item.old == "secret_name = 1") is with_code


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no JSON"),
        ("[" * 10_000, "no JSON"),
        ("[]", "no item"),
        (json.dumps({"stepsmith": 1}), "no item"),
        (line(stepsmith_optimization=2), "unknown format"),
        (line(stepsmith_optimization=["x" * 10_000]), "unknown format"),
        (line(before=0), "wrong value"),
        (line(before=10**18), "wrong value"),
        (line(before="many"), "wrong value"),
        (line(after=-1), "wrong value"),
        (line(count=0), "wrong value"),
        (line(count=True), "wrong value"),
        (line(seen="today"), "wrong value"),
        (line(seen=float("nan")), "wrong value"),
        (line(change={"rewrite": ""}), "wrong value"),
        (line(change={"rewrite": "a" * 65}), "wrong value"),
        (line(change={"rewrite": "lanes", "parameters": ["a"] * 17}), "wrong value"),
        (line(change={"rewrite": "lanes\x1b[2J"}), "wrong value"),
        (line(change={"rewrite": "lanes", "parameters": "N=2"}), "wrong value"),
        (line(bottleneck={"rules": "magic", "unit": "Map"}), "wrong value"),
        (line(bottleneck={"rules": "compute", "unit": "Map", "above": 65}), "wrong value"),
        (line(bottleneck=None), "wrong value"),
        (line(strategy="x" * 501), "wrong value"),
        (line(old="x" * 4_001), "wrong value"),
        (line(new="a\0b"), "wrong value"),
        (line(strategy="x" * 30_000), "too long"),
    ],
)
def test_what_is_no_item_is_refused_with_its_line(store: Store, text: str, why: str) -> None:
    done = import_items(store, [line(), text, line(change={"rewrite": "depths"})])
    assert done.added == 2
    assert [number for number, _ in done.refused] == [2]
    assert list(done.reasons()) == [why]


def test_imported_items_only_say_what_to_try_first(store: Store) -> None:
    """Rewrites that do not exist, endless gains and endless counts change the order, and nothing else."""
    odd = [
        line(change={"rewrite": "no such rewrite"}),
        line(change={"rewrite": "depths"}, before=10**14, after=1, count=10**14),
        line(bottleneck={"rules": "compute", "unit": "NoUnit", "above": -64, "room": -64}),
    ]
    assert import_items(store, odd).refused == []
    items = [each.item for each in stored_items(store)]
    plain = untaught()
    other, _ = searched(GEMM, items)
    assert best_cycles(other) <= 1.05 * best_cycles(plain)


@pytest.mark.parametrize("change", [LANES, Change("depths", ()), Change("untile", ())])
def test_memory_that_is_of_no_use_costs_no_cycles(change: Change) -> None:
    """Where what memory says brings nothing, all that is tried without memory is tried, too."""
    items = [OptimizationItem(COMPUTE, change, 10**9, 1, count=8), OptimizationItem(COMPUTE, ROWS, 1000, None, count=8)]
    plain = untaught()
    misled, _ = searched(GEMM, items, candidates=10_000)
    assert best_cycles(misled) <= best_cycles(plain)
    assert misled.spent > plain.spent
    assert {*plain.pairs.found} <= {*misled.pairs.found}


# -- what items hold --------------------------------------------------------------------------------------------------


def subject(path: Path) -> RewriteSubject:
    found = subject_of(path.read_text(), str(path), "expert" if path == EXPERT else "gemm")
    assert found is not None
    return found


@cache
def untaught() -> Search:
    """A search without memory, with which several tests compare theirs."""
    return searched(GEMM, [])[0]


def searched(path: Path, items: list[OptimizationItem], candidates: int = 150) -> tuple[Search, list[tuple[int, int]]]:
    """A search with memory, and the number of tried texts at which each better program was there."""
    log: list[tuple[int, int]] = []
    order: CandidateOrder[RewriteChild] = CandidateOrder(RewritePrior(items))
    target = OptimizeTarget(PRESETS["validation"])
    search = Search(subject(path), target, SearchRecord(), SearchLimits(candidates), order=order)
    search.tell = lambda found: log.append((search.spent, found.figures.cycles))
    search.run()
    return search, log


def best_cycles(search: Search) -> int:
    assert search.best is not None
    return search.best.figures.cycles


def test_memory_of_another_family_finds_the_same_with_fewer_candidates() -> None:
    taught, _ = searched(EXPERT, [])
    plain, slowly = searched(GEMM, [])
    items = taught.pairs.items()
    assert {each.is_faster for each in items} == {True, False}
    again, quickly = searched(GEMM, items)
    near = 1.05 * best_cycles(plain)
    assert best_cycles(again) <= near
    needed = [next(spent for spent, cycles in log if cycles <= near) for log in (slowly, quickly)]
    assert 2 * needed[1] <= needed[0]


def test_items_hold_nothing_of_a_users_text() -> None:
    text = EXPERT.read_text()
    for number, name in enumerate(("TM", "TN", "wg", "wu", "wd", "expert", "E0", "E6", "up", "down")):
        text = text.replace(f"{name}", f"private{number}")
    found = subject_of(text.replace("private5", "expert"), str(EXPERT), "expert")
    found = found or subject(EXPERT)
    search = Search(found, OptimizeTarget(PRESETS["validation"]), SearchRecord(), SearchLimits(40))
    search.run()
    items = search.pairs.items()
    assert items
    plain = json.dumps([item_as_json(each) for each in items])
    assert "private" not in plain
    assert not any(name in plain for name in ("TM", "TN", "wg", "x @", "swiglu"))
    coded = search.pairs.items(with_code=True)
    assert any("16" in each.old and "32" in each.new for each in coded)


def test_bottlenecks_tell_unit_term_and_ratios() -> None:
    target = OptimizeTarget(PRESETS["validation"], capacity=1 << 20)
    found = subject(EXPERT)
    timed = time_program(found.checked, target.chip)
    at = bottleneck_of(timed, target)
    assert at.rules in {"compute", "memory", "on-chip reads", "on-chip writes"}
    assert at.unit == timed.graph.nodes[timed.program.units[timed.busiest]].op_name
    assert at.around
    assert 0 <= at.room < 64
    assert at.reuse >= 1  # each of the weights is read for every tile of rows
    assert at.above == 2  # 27,502 cycles, of 6,656
    assert bottleneck_of(timed, replace(target, capacity=0)).room == 64


def test_a_change_is_told_in_words_of_the_language() -> None:
    site = RewriteSite("lanes", "two lanes for secret", (), (("N", "2"), ("secret", "secret"), ("depth", "x" * 99)))
    assert change_of(site) == Change("lanes", ("N=2",))
    assert segment("a\nb\nc\n", "a\nB\nB2\nc\n") == ("b", "B\nB2")
    assert segment("a\n", "a\n") == ("", "")


# -- the order --------------------------------------------------------------------------------------------------------


class Possible:
    """A candidate of the tests; ``place`` is where, ``is_number`` whether it only writes other numbers."""

    def __init__(
        self, change: Change, bottleneck: Bottleneck = COMPUTE, cycles: int = 1000, place: Place | None = None
    ) -> None:
        self.change, self.bottleneck, self.cycles_before = change, bottleneck, cycles
        self.place, self.is_number, self.niche = place or Place(), True, 0


def test_without_items_all_candidates_are_tried_in_their_order() -> None:
    order: CandidateOrder[Possible] = CandidateOrder()
    given = [Possible(LANES), Possible(ROWS), Possible(LANES)]
    order.add(given)
    assert order.take() == given
    assert order.take() == []


def test_what_helped_at_such_a_bottleneck_comes_first() -> None:
    items = [
        OptimizationItem(COMPUTE, LANES, 1000, 500, count=3), OptimizationItem(COMPUTE, ROWS, 1000, 1500, count=3),
        OptimizationItem(MEMORY, ROWS, 1000, 400, count=3), OptimizationItem(MEMORY, LANES, 1000, None, count=3),
    ]  # fmt: skip
    prior = RewritePrior(items)
    assert prior.expected(COMPUTE, LANES) > prior.expected(COMPUTE, ROWS)
    assert prior.expected(MEMORY, ROWS) > prior.expected(MEMORY, LANES)
    for at, first in ((COMPUTE, LANES), (MEMORY, ROWS)):
        order: CandidateOrder[Possible] = CandidateOrder(prior)
        order.add([Possible(change, at) for change in (ROWS, LANES)])
        assert abs(sum(order.shares()) - 1) < 1e-9
        assert order.take()[0].change == first
    unseen = Change("depths", ())
    assert prior.expected(MEMORY, unseen) > prior.expected(COMPUTE, unseen)  # any change brought more there
    slow, fast = Possible(LANES, cycles=2000), Possible(LANES, cycles=1000)
    order = CandidateOrder(prior)
    order.add([slow, fast])
    assert order.take()[0] is fast
    assert [each.change for each in fitting(items, MEMORY, 1)] == [ROWS]
    assert distance(COMPUTE, COMPUTE) == 0 < distance(COMPUTE, MEMORY)


def test_what_a_search_tried_itself_counts_and_most_at_the_same_place() -> None:
    """The doubled rows of one tile helped, those of another did not; what failed once is tried last."""
    items = [OptimizationItem(COMPUTE, LANES, 1000, 500), OptimizationItem(COMPUTE, ROWS, 1000, 800)]
    prior = RewritePrior(items)
    good, bad = Place(("TM", "32"), ("TM",)), Place(("TN", "32"), ("TN",))
    before = prior.expected(COMPUTE, ROWS, good)
    assert before == prior.expected(COMPUTE, ROWS)
    prior.learn(COMPUTE, ROWS, good, 1000, 400)
    prior.learn(COMPUTE, ROWS, bad, 1000, 1200)
    assert prior.expected(COMPUTE, ROWS, good) > before > prior.expected(COMPUTE, ROWS, bad)
    prior.learn(COMPUTE, ROWS, Place(("TM", "64"), ("TM",)), 1000, None)
    assert prior.expected(COMPUTE, ROWS, Place(("TM", "64"), ("TM",))) == 0 < prior.expected(COMPUTE, ROWS, good)
    assert prior.expected(COMPUTE, ROWS) == before  # what a search saw is no memory
    order: CandidateOrder[Possible] = CandidateOrder(prior)
    order.add(
        [Possible(ROWS, place=bad), Possible(ROWS, place=Place(("TM", "64"), ("TM",))), Possible(ROWS, place=good)]
    )
    assert order.take()[0].place == good


def test_numbers_come_before_what_no_rewrite_takes_back() -> None:
    prior = RewritePrior([OptimizationItem(COMPUTE, LANES, 1000, 500), OptimizationItem(COMPUTE, ROWS, 1000, 600)])
    assert prior.expected(COMPUTE, LANES) > prior.expected(COMPUTE, ROWS)
    lanes, rows = Possible(LANES), Possible(ROWS)
    lanes.is_number = False
    order: CandidateOrder[Possible] = CandidateOrder(prior)
    order.add([lanes, rows])
    assert order.take()[0] is rows
    number = (Edit(Span(0, 1), "32"),)
    sites = [
        RewriteSite("tile-sizes", "rows in tiles of 32", number, (("TM", "32"), ("how", "rows doubled"))),
        RewriteSite("tile-sizes", "rows in tiles of 64", number, (("TM", "64"), ("how", "rows doubled"))),
        RewriteSite("lanes", "2 lanes for Map (line 4)", (Edit(Span(0, 1), "step."),), (("N", "2"),)),
    ]
    assert [is_number(site) for site in sites] == [True, True, False]
    small, large, lane = map(place_of, sites)
    assert small.named == large.named != lane.named
    assert small.exact != large.exact


def test_a_search_that_goes_on_has_the_memory_that_it_began_with(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    with SearchRecord(path) as record:
        assert record.memory([ITEM]) == (ITEM,)
        assert record.learn([ITEM]) == [ITEM]
        record.keep_bottleneck("key", COMPUTE)
    with SearchRecord(path) as record:
        assert record.memory([]) == (ITEM,)
        of_a_model = replace(ITEM, change=Change("model", ()))
        assert record.learn([ITEM, of_a_model]) == [of_a_model]
        assert record.learn([of_a_model]) == []
        assert record.bottleneck("key") == COMPUTE


# -- which programs are rewritten further -----------------------------------------------------------------------------


def program(name: str, cycles: int, *rewrites: str, on_chip: int = 1) -> FasterText:
    figures = Figures(cycles, on_chip, 1, 1, 1, "compute")
    return FasterText(name, figures, tuple(OptimizeStep(each, each, None, figures) for each in rewrites))


def test_a_program_is_compared_with_those_of_as_many_changes_of_structure() -> None:
    """Lanes made one program fast; what has none is not given up for that, and goes on from its own best."""
    programs = OpenPrograms()
    lanes = program("lanes", 100, "lanes", "tile-sizes")
    near = program("near", 120, "lanes", on_chip=2)
    far = program("far", 140, "lanes", on_chip=3)
    plain, slower = program("plain", 200, "tile-sizes", "depths"), program("slower", 260, "tile-sizes", on_chip=4)
    programs.add([far, slower, plain, near, lanes])
    assert programs.take(at_least_one=False) == [lanes, plain]
    assert programs.take(at_least_one=False) == [near]
    assert programs.take(at_least_one=False) == []
    assert programs.take(at_least_one=True) == [slower]  # 1.3 times the best of its own kind, the other 1.4 times
    programs.add([program("best", 10, "tile-sizes")])
    assert [each.text for each in programs.take(at_least_one=False)] == ["best"]


def test_of_programs_of_one_cost_two_are_rewritten_further() -> None:
    programs = OpenPrograms()
    programs.add([program(f"place {number}", 100, "lanes") for number in range(5)])
    taken = [programs.take(at_least_one=True) for _ in range(3)]
    assert [each.text for each in taken[0]] == ["place 0", "place 1"]
    assert taken[1:] == [[], []]


def test_much_for_a_slower_program_comes_before_nothing_for_the_best() -> None:
    prior = RewritePrior(
        [OptimizationItem(COMPUTE, LANES, 1000, 250, count=8), OptimizationItem(COMPUTE, ROWS, 1000, 999)]
    )
    order: CandidateOrder[Possible] = CandidateOrder(prior)
    best, slower = Possible(ROWS, cycles=1000), Possible(LANES, cycles=1400)
    order.add([best, slower])
    assert order.take()[0] is slower


def test_of_a_change_counts_what_makes_a_program_better_than_the_best_of_its_niche() -> None:
    """Two changes bring as much in the mean; only the one that often brings nothing may bring much."""
    sure, rare = [OptimizationItem(COMPUTE, LANES, 1000, 800)], [OptimizationItem(COMPUTE, ROWS, 1000, None, count=4)]
    prior = RewritePrior([*sure * 5, *rare, OptimizationItem(COMPUTE, ROWS, 1000, round(1000 * 0.8**5))])
    behind = [0.0, 0.1, 0.5, 1.0]
    small, large = ([prior.expected(COMPUTE, change, beyond=each) for each in behind] for change in (LANES, ROWS))
    assert small[0] == pytest.approx(large[0], rel=0.01)
    assert small == sorted(small, reverse=True)
    assert all(one < other for one, other in zip(small[1:], large[1:], strict=True))

    lanes, rows = Possible(LANES, cycles=1500), Possible(ROWS, cycles=1500)
    order: CandidateOrder[Possible] = CandidateOrder(prior)
    best = Possible(Change("depths", ()), cycles=1000)
    order.add([lanes, rows, best])
    assert [order.take(), order.take()] == [[best], [rows]]
    other = Possible(LANES, cycles=5000)  # as many changes of structure made no program better than the one it is of
    other.niche = 1
    order.add([other])
    assert order.take()[0] is other


@pytest.mark.parametrize("beyond", [0.0, 0.5, 1.0, 1.5, 9.0])
def test_gains_beyond_one_are_those_of_each(beyond: float) -> None:
    weighted = [(2.0, 1.0), (0.5, 0.0), (1.0, 1.5), (3.0, 0.5)]
    gains = Gains(weighted)
    assert gains.weight == 6.5
    assert gains.beyond(beyond) == pytest.approx(sum(weight * max(gain - beyond, 0) for weight, gain in weighted))
    assert Gains([]).beyond(beyond) == Gains([]).weight == 0


# -- commands ---------------------------------------------------------------------------------------------------------


def run(app: Typer, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def listed() -> list[dict[str, Any]]:
    code, output = run(experience.app, "list", "--kind", "optimization", "--format", "json")
    assert code == 0
    found: list[dict[str, Any]] = json.loads(output)
    return found


def test_the_command_remembers_once_and_says_what(tmp_path: Path) -> None:
    app = Typer()
    app.command()(optimize)
    path = str(ROOT / "examples" / "rms_norm.py")
    assert "no optimization memory yet" in run(experience.app, "list", "--kind", "optimization")[1]
    assert run(app, path, "--experience", "none")[0] == 0
    assert listed() == []
    assert run(app, path)[0] == 0
    first = listed()
    assert first
    assert all((each["old"], each["new"], each["strategy"]) == ("", "", "") for each in first)
    assert run(app, path)[0] == 0
    assert listed() == first
    assert "faster" in run(experience.app, "list", "--kind", "optimization")[1]
    assert run(experience.app, "show", str(first[0]["number"]), "--kind", "optimization")[0] == 0
    code, output = run(experience.app, "show", "999", "--kind", "optimization")
    assert (code, "no item has the number 999" in output) == (2, True)
    file = tmp_path / "items.jsonl"
    assert run(experience.app, "export", str(file), "--kind", "optimization")[0] == 0
    file.write_text(file.read_text() + "nonsense\n")
    code, output = run(experience.app, "import", str(file), "--kind", "optimization", "--workspace", str(tmp_path))
    assert (code, f"{len(first)} added" in output, f":{len(first) + 1}: no JSON" in output) == (1, True, True)
    pruned = run(experience.app, "prune", "--kind", "optimization", "--older-than", "0")
    assert pruned == (0, f"{len(first)} removed\n")
    assert run(experience.app, "prune", "--kind", "optimization", "--gone")[0] == 2


def test_code_is_kept_only_where_it_is_asked_for() -> None:
    app = Typer()
    app.command()(optimize)
    assert run(app, str(ROOT / "examples" / "rms_norm.py"), "--keep-code")[0] == 0
    assert any("depth=" in each["new"] for each in listed())


def test_a_line_of_the_other_kind_names_the_option_that_takes_it() -> None:
    with pytest.raises(RefusedLine, match=r"^no experience: `--kind optimization` takes it$"):
        need_object('{"stepsmith_optimization": 1}', "stepsmith", 1, "experience", 100)
    with pytest.raises(RefusedLine, match=r"^no item: `--kind synthesis` takes it$"):
        need_object('{"stepsmith": 1}', "stepsmith_optimization", 1, "item", 100)
    with pytest.raises(RefusedLine, match="an object with the key `stepsmith` is needed"):
        need_object("[]", "stepsmith", 1, "experience", 100)
