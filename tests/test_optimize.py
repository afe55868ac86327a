"""`stepsmith optimize`: the search is deterministic and resumes, what it shows is verified and never slower."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from difflib import ndiff
from html import escape
from pathlib import Path
from shutil import rmtree
from subprocess import PIPE
from typing import Any, cast

import pytest
from typer import BadParameter, Typer
from typer.testing import CliRunner, Result

import stepagents.cli.optimize
import stepagents.executors.opening
import stepagents.optimize.proof
from optimized_programs import assert_optimized
from programs import count
from stepagents.cli.optimize import optimize
from stepagents.cli.programs.answered import answered_task
from stepagents.cli.programs.orders import bytes_of
from stepagents.executors.executor import Executor, worker_command
from stepagents.optimize.archive import Archive
from stepagents.optimize.candidates import FasterText, Goal, OptimizeStep, OptimizeTarget
from stepagents.optimize.clock import SearchClock
from stepagents.optimize.outcome import Optimized, brought
from stepagents.optimize.page import optimize_page
from stepagents.optimize.proof import Judges
from stepagents.optimize.record import SearchRecord, Tried, record_path
from stepagents.optimize.search import Search, SearchLimits, Unimprovable, best_of
from stepagents.optimize.trials import SpreadTrials
from stepagents.optimize.worker import OPTIMIZE_WORKER
from stepcore.chips.keys import all_values, described
from stepcore.chips.reader import read_hardware
from stepcore.frontend.yaml.tasks import read_answer
from stepcore.isolation import TEXT
from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.optimizing import SITES, TRIAL, Figures, SitesRequest
from stepcore.jobdata.programs import AnswerFile
from stepcore.jobs import Job, JobError, Limits
from stepcore.rewrites import REWRITES, RewriteSubject, subject_of
from stepcore.rewrites.explaining import explained
from stepcore.settings.data_folder import records_folder
from stepcore.settings.limits import InForce
from stepcore.timing.hardware import PRESETS, Hardware
from warm import Lent

EXAMPLES = Path(__file__).parents[1] / "examples"
KEYS = [
    "path", "program", "hw", "verified", "cycles_before", "cycles", "bound", "bound_by", "on_chip_bytes",
    "off_chip_bytes", "compulsory_bytes", "seconds", "ended", "problem", "remarks", "front", "steps",
]  # fmt: skip
TASK = Path(__file__).parent / "tile_tasks" / "gated.step.yaml"
SCRIPT = """\
import torch

import stepcore as step
from stepcore.dims import M

print(step.Bufferize(a=1).apply(step.Stream.of(torch.arange(3.0), shape=[M], name="E0")))
"""
STOPS = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def divide(input):
    return [input[0] / input[1]]


def reference(x):
    return x / x.sum(1, keepdim=True)


@step.program(reference=reference, dims={M: 6, N: 8}, data={"x": "torch.rand"})
def shares(x: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    whole, row = step.Copy().apply(x)  # a row waits for its sum
    total = step.Repeat(n=M).apply(step.Accum(fn=add, b=1).apply(whole))
    return step.Map(fn=divide).apply((row, total))
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Records in a folder of the test, and warm workers."""
    monkeypatch.setenv("STEPSMITH_STORE", str(tmp_path / "store" / "experience.sqlite3"))
    monkeypatch.setattr(stepagents.optimize.proof, "Pool", Lent)
    monkeypatch.setattr(stepagents.executors.opening, "Pool", Lent)
    yield


def invoked(*words: str) -> Result:
    """Run the command."""
    app = Typer()
    app.command()(optimize)
    done = CliRunner().invoke(app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def run(*words: str) -> tuple[int, str]:
    """Run the command; its exit code and what it printed."""
    done = invoked(*words)
    return done.exit_code, done.output


def rows(*words: str) -> list[dict[str, Any]]:
    """What the command prints as JSON."""
    done = invoked(*words, "--format", "json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_the_tiled_expert_beats_the_best_published_point() -> None:
    (row,) = rows(str(EXAMPLES / "swiglu_tiles.py"), "--hw", "validation")
    assert list(row) == KEYS
    assert (row["program"], row["verified"], row["bound"], row["cycles_before"]) == ("expert", True, 6656, 27502)
    assert row["cycles"] < 9275
    cycles = [27502, *(step["cycles"] for step in row["steps"])]
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[-1] == row["cycles"] == min(point["cycles"] for point in row["front"])


def test_a_program_that_stops_is_cured_and_its_file_keeps_all_else(tmp_path: Path) -> None:
    path = tmp_path / "stops.py"
    path.write_text(STOPS)
    (row,) = rows(str(path), "--apply")
    assert row["cycles_before"] is None
    assert row["cycles"] is not None
    assert row["steps"][0]["brought"].startswith("it runs to its end")
    after = path.read_text()
    kept = [line for line in ndiff(STOPS.splitlines(), after.splitlines()) if line.startswith("  ")]
    assert len(STOPS.splitlines()) > len(kept) >= len(STOPS.splitlines()) - 6, after
    assert "# a row waits for its sum" in after
    again = rows(str(path))[0]
    assert again["cycles_before"] == again["cycles"] == row["cycles"]
    assert again["steps"] == []


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_functions_of_the_search_that_end_up_unused_are_not_left_and_comments_stay_where_they_are(
    tmp_path: Path, newline: str
) -> None:
    comment, head = "# Rows by their root mean squares.", "@step.program("
    before = (EXAMPLES / "rms_norm.py").read_text().replace(head, f"{comment}\n# In one pass.\n{head}")
    path = tmp_path / "rms_norm.py"
    path.write_bytes(before.replace("\n", newline).encode())
    code, said = run(str(path), "--apply")
    assert code == 0 and "are one function" in said, said
    after = path.read_bytes().decode()
    assert after.count("\n") == after.count(newline)
    after = after.replace(newline, "\n")
    assert f"\n\n\n{comment}\n# In one pass.\n{head}" in after and "\n\n\n\n" not in after
    ours, users = (re.findall(r"^def (\w+)", text, re.M) for text in (after, before))
    added = set(ours) - set(users)
    assert added and all(len(re.findall(rf"\b{name}\b", after)) > 1 for name in added)
    assert set(users) <= set(ours)  # of its user's functions nothing goes, used or not


def test_a_wrong_program_is_not_optimized(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(STOPS.replace("x / x.sum", "2 * x / x.sum"))
    code, output = run(str(path))
    assert code == 1
    assert "not right as it is" in output
    (row,) = json.loads(invoked(str(path), "--format", "json").stdout)
    assert (row["verified"], row["ended"], row["remarks"]) == (False, None, [])
    assert row["problem"].startswith("it is not right as it is, so nothing can be compared with it: ")


@pytest.mark.parametrize("mistake", [("x / x.sum", "2 * x / x.sum"), ("apply((row, total))", "apply((row, totals))")])
def test_a_mistake_in_another_program_of_the_file_hinders_nobody(tmp_path: Path, mistake: tuple[str, str]) -> None:
    """Whether it has errors or computes something else: the program that is meant is right, and made faster."""
    other = STOPS[STOPS.index("def reference") :].replace(*mistake)
    other = other.replace("def reference", "def others").replace("reference=reference", "reference=others")
    path = tmp_path / "stops.py"
    path.write_text(STOPS + "\n\n" + other.replace("def shares", "def wrong"))
    row = rows(f"{path}::shares")[0]
    assert row["verified"]
    assert row["steps"]
    assert invoked(f"{path}::wrong").exit_code == 1


def test_a_task_whose_program_is_no_literal_block_is_told_why_nothing_is_rewritten() -> None:
    text = (EXAMPLES.parent / "benchmarks" / "tasks2" / "norm_softmax_streamed.step.yaml").read_text()
    head, impl = text.split("impl: |-\n")
    lines = [line.removeprefix("  ") for line in impl.splitlines()]
    subject = subject_of(
        f"{head}impl: {json.dumps(chr(10).join(lines))}\n", "norm_softmax_streamed.step.yaml", "norm_softmax_streamed"
    )
    assert subject is not None
    said = "its `impl` is not written as a literal block (`impl: |`), so none of its lines can be rewritten"
    assert {place.sentence for place in explained(subject, REWRITES)} == {said}
    with pytest.raises(Unimprovable, match=re.escape(f"it stops, and {said}")):
        Search(subject, OptimizeTarget(PRESETS["default"]), SearchRecord()).run()


def test_a_task_in_json_is_told_beside_its_result_what_has_to_change(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    fn = {"func_name": "fn_double", "input_dtype": "fp32", "output_dtype": "fp32", "apply": "return [input[0] * 2]"}
    given = {"name": "E0", "dtype": "fp32", "dims": ["M"], "data_gen": "torch.rand"}
    made = {"name": "S0", "dtype": "fp32", "dims": ["M"], "data_transform": ["input_data['E0'] * 2"]}
    impl = "E1 = step.Map(fn=fn_double).apply(E0)\nreturn E1"
    path.write_text(json.dumps({"inputs": [given], "fns": [fn], "outputs": [made], "impl": impl}))
    done = invoked(str(path), "--hw", "default")
    assert "write it as one, or as a Python program (`stepsmith convert`)" in " ".join(done.stderr.split())


def test_an_error_is_told_with_its_place_and_the_call_that_shows_all(tmp_path: Path) -> None:
    path = tmp_path / "my rows.py"
    path.write_text((EXAMPLES / "sum_rows.py").read_text("utf-8").replace(".apply(E1)", ".apply(E2)"), "utf-8")
    for words in ((), ("--explain",)):
        done = invoked(str(path), *words)
        said = r"it has errors, the first one at line 25, column \d+: STEP202 .*: run `stepsmith check '.*my rows.py'`"
        assert done.exit_code == 1 and re.search(said, " ".join(done.stderr.split())), done.stderr


@pytest.mark.parametrize(
    ("amount", "number"),
    [("16 MB", 16_000_000), ("512KiB", 524_288), ("1,000,000", 1_000_000), ("1.5 mib", 1_572_864), ("7", 7)],
)
def test_memory_on_chip_may_be_an_amount_with_its_unit(amount: str, number: int) -> None:
    assert bytes_of(amount) == number


@pytest.mark.parametrize("amount", ["", "0", "0.4", "-1", "1e99", "nan", "inf", "text", "9" * 30, "99 PB", "1 2", "٣"])
def test_what_is_no_amount_of_memory_is_refused_with_what_is_one(amount: str) -> None:
    with pytest.raises(BadParameter, match="16 MB, 512 KiB"):
        bytes_of(amount)


def test_more_compute_than_there_is_is_told_beside_the_bound() -> None:
    """The program took 0.003 times the bound, and nothing said why."""
    done = invoked(str(EXAMPLES / "swiglu.py"), "--compute", "1", "--hw", "default")
    assert "FLOPs a cycle together, of 1: the bound is that of programs that compute no more" in done.stderr


def test_another_program_of_the_file_must_not_stop_for_it() -> None:
    """What one program no longer needs is what another one waits with: a helper without its buffer."""
    text = (EXAMPLES / "rms_norm.py").read_text()
    program = text[text.index("@step.program") : text.index("def copies")]
    text = text.replace("def copies", f"{program.replace('def rms_norm', 'def other')}def copies")
    subject = subject_of(text, str(EXAMPLES / "rms_norm.py"), "rms_norm")
    assert subject is not None
    bufferless = text.replace("    waiting = step.Streamify().apply(rows)\n", "    waiting = second\n")
    bufferless = bufferless.replace("    rows = step.Bufferize(a=1).apply(second)\n", "")
    with Judges(subject, PRESETS["default"], InForce(20.0, 2_000, False)) as judges:
        (verdict,) = judges.prove([bufferless])
    assert verdict.reason == "other, which shares its file, would stop"


def test_what_does_not_verify_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sums.py"
    path.write_text((EXAMPLES / "rms_norm.py").read_text())
    none = stepagents.optimize.proof.TextVerdict(False, "refused by the test")
    monkeypatch.setattr(stepagents.optimize.proof.Judges, "prove", lambda _judges, texts: iter([none] * len(texts)))
    code, output = run(str(path), "--apply")
    assert code == 0
    assert "refused by the test" in output
    assert path.read_text() == (EXAMPLES / "rms_norm.py").read_text()


def test_what_was_verified_before_the_time_was_over_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = stepagents.optimize.proof.TextVerdict
    cut = [verdict(True), *[verdict(False, "its time was over", "time")] * 99]
    monkeypatch.setattr(stepagents.optimize.proof.Judges, "prove", lambda _judges, texts: iter(cut[: len(texts)]))
    for goal, figure in (("cycles", "cycles"), ("memory", "on_chip_bytes")):
        (row,) = rows(str(EXAMPLES / "swiglu_tiles.py"), "--hw", "validation", "--goal", goal)
        assert (row["ended"], row["problem"]) == ("time", None)
        assert re.fullmatch(r"\d+ programs? of the front could not be verified before the end: .*", row["remarks"][-1])
        assert len(row["steps"]) > 0 and row[figure] == min(point[figure] for point in row["front"])


def test_a_call_gets_further_than_the_one_before_however_little_time_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start of the workers took all of it: the same call tried nothing, and said that it would go on."""
    monkeypatch.setattr(SearchClock, "is_search_over", lambda _clock: True)
    path = str(EXAMPLES / "swiglu_tiles.py")
    (first,), (second,) = rows(path, "--hw", "validation"), rows(path, "--hw", "validation")
    assert first["ended"] == second["ended"] == "time"
    assert second["cycles"] < first["cycles_before"] and len(second["steps"]) >= len(first["steps"])
    tried = [len(re.findall(r'"exact":true', each.read_text("utf-8"))) for each in records_folder().glob("*.jsonl")]
    assert tried == [2]


@pytest.mark.parametrize("change", ["changed", "removed", "folder removed", "linked"])
def test_a_file_that_changes_during_the_search_is_left_and_the_difference_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "stops.py"
    path.write_text(STOPS)
    search = stepagents.cli.optimize._optimized

    def changing(*given: Any, **named: Any) -> Optimized:
        found = search(*given, **named)
        if change == "changed":
            path.write_text(f"{STOPS}# mine\n")
        elif change == "removed":
            path.unlink()
        elif change == "linked":  # as functions can whose folder this is
            path.rename(tmp_path / "outside.py")
            path.symlink_to(tmp_path / "outside.py")
        else:
            rmtree(folder)
        return found

    monkeypatch.setattr(stepagents.cli.optimize, "_optimized", changing)
    done = invoked(str(path), "--apply")
    assert done.exit_code == 2, done.output
    said = {"changed": "changed in the meantime", "linked": "STEP901 it cannot be written: it leads elsewhere now"}
    assert said.get(change, "STEP901 the file cannot be read") in done.stderr
    assert "\n+    whole, row = step.Copy(depth=" in done.stdout
    if change == "changed":
        assert path.read_text() == f"{STOPS}# mine\n"
    elif change == "linked":
        assert path.is_symlink() and path.read_text() == STOPS
    else:
        assert not path.exists()


def expert() -> RewriteSubject:
    path = EXAMPLES / "swiglu_tiles.py"
    subject = subject_of(path.read_text(), str(path), "expert")
    assert subject is not None
    return subject


def searched(record: SearchRecord, candidates: int, executor: Lent | None = None) -> Search:
    """A search for the tiled expert with so many candidates."""
    target = OptimizeTarget(PRESETS["validation"])
    spread = None if executor is None else SpreadTrials(cast("Executor", executor), expert(), target)
    search = Search(expert(), target, record, SearchLimits(candidates), spread=spread)
    search.run()
    return search


def test_workers_find_what_one_process_finds() -> None:
    with Lent(worker_command(OPTIMIZE_WORKER), size=2, limits=Limits(), isolation=TEXT) as workers:
        spread = searched(SearchRecord(), 30, workers)
    alone = searched(SearchRecord(), 30)
    assert (spread.archive.front, spread.spent) == (alone.archive.front, alone.spent)
    assert spread.trials.problem == ""
    assert len(alone.archive.front) > 1


@pytest.mark.parametrize("first", range(0, count(24), 6))
def test_random_programs_made_faster_are_right_and_not_slower(first: int) -> None:
    assert sum(assert_optimized(seed) for seed in range(first, first + 6))


class Failing(Lent):
    """Workers whose jobs of some kinds all take too long, those of ``exact`` timing alone where that is said."""

    kinds: tuple[JobKind[Any, Any, Any], ...] = (SITES, TRIAL)
    exact = False

    def submit(self, kind: JobKind[Any, Any, Any], payload: Any, **more: Any) -> Job[Any]:
        if kind not in self.kinds or (self.exact and not payload.exact):
            return super().submit(kind, payload, **more)
        job = Job(1, kind, payload, 1.0)
        job.finish(error=JobError("STEP405", "it took too long"))
        return job


def test_candidates_that_no_worker_times_are_told() -> None:
    with Failing(worker_command(OPTIMIZE_WORKER), size=2, limits=Limits(), isolation=TEXT) as workers:
        search = searched(SearchRecord(), 10, workers)
    assert search.best is search.old
    assert search.trials.problem == "STEP405 it took too long"


@pytest.mark.parametrize(("kinds", "exact"), [((SITES, TRIAL), False), ((TRIAL,), False), ((TRIAL,), True)])
def test_a_search_whose_workers_were_lost_goes_on_as_if_they_had_not_been_asked(
    tmp_path: Path, kinds: tuple[JobKind[Any, Any, Any], ...], exact: bool
) -> None:
    """Nothing is kept, or learned, of a question that nobody could answer: a run that lost its cluster came to this."""
    path = tmp_path / "record.jsonl"
    with (
        SearchRecord(path) as record,
        Failing(worker_command(OPTIMIZE_WORKER), size=2, limits=Limits(), isolation=TEXT) as workers,
    ):
        workers.kinds, workers.exact = kinds, exact
        lost = searched(record, 20, workers)
        assert lost.trials.problem
        assert not any(cycles is None for _child, cycles in lost.pairs.found.values())
    with SearchRecord(path) as record:
        again = searched(record, 20)
    alone = searched(SearchRecord(), 20)
    assert (again.archive.front, again.spent) == (alone.archive.front, alone.spent)
    assert len(alone.archive.front) > 1


def test_a_worker_refuses_what_is_no_chip() -> None:
    with Lent(worker_command(OPTIMIZE_WORKER), size=2, limits=Limits(), isolation=TEXT) as workers:
        request = SitesRequest(
            path="a.py", program="expert", affine="strict", chip_name="a", chip="fifo.depth = 0", compute=1, capacity=0,
            text="", rewrites=(),
        )  # fmt: skip
        with pytest.raises(JobError, match=r"fifo\.depth") as caught:
            workers.submit(SITES, request).result()
    assert caught.value.code == "STEP506"


@pytest.mark.parametrize("chip", PRESETS.values(), ids=PRESETS)
def test_a_chip_goes_over_a_pipe(chip: Hardware) -> None:
    assert all_values(read_hardware(described(chip), chip.name)) == all_values(chip)


def test_a_search_is_deterministic_and_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    with SearchRecord() as nothing:
        whole = searched(nothing, 30)
    path = tmp_path / "record.jsonl"
    with SearchRecord(path) as record:
        searched(record, 10)
        known = record.known
    path.write_text(path.read_text() + '{"text": "cut off by a ki')
    with SearchRecord(path) as record:
        assert record.known == known > 0
        resumed = searched(record, 30)
    assert resumed.archive.front == whole.archive.front
    assert record_path(["a", "b"]) != record_path(["ab", ""])


def test_figures_of_a_record_that_are_not_measured_now_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "stops.py"
    path.write_text(STOPS)
    (first,) = rows(str(path))
    (record,) = (file for file in (tmp_path / "store").rglob("*.jsonl"))
    lines = [json.loads(line) for line in record.read_text().split("\n") if line]
    for line in lines:
        if (line.get("tried") or {}).get("figures"):
            line["tried"]["figures"]["cycles"] = 3
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, output = run(str(path))
    assert code == 0
    assert output.count("it was searched anew") == 1
    done = invoked(str(path), "--format", "json")
    assert "it was searched anew" not in done.output
    (again,) = json.loads(done.stdout)
    assert (again["cycles"], again["front"]) == (first["cycles"], first["front"])


_WRITER = """
import sys
from pathlib import Path
from stepagents.optimize.outcome import Optimized, brought
from stepagents.optimize.page import optimize_page
from stepagents.optimize.record import SearchRecord, Tried
name = sys.argv[2] * 9000  # longer than what files gather before they write
with SearchRecord(Path(sys.argv[1])) as record:
    for number in range(200):
        record.keep(f"{name}{number}", Tried(number))
    print("written", flush=True)
    sys.stdin.read()
"""


def test_two_processes_keep_one_record_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    command = [sys.executable, "-c", _WRITER, str(path)]
    writers = [subprocess.Popen([*command, name], stdin=PIPE, stdout=PIPE, text=True) for name in "ab"]
    for writer in writers:
        with writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "written\n"
            writer.kill()
    with SearchRecord(path) as record:
        assert record.known == 400
        assert record.tried(f"{'a' * 9000}7") == Tried(7)


def test_a_record_is_for_its_user_alone(tmp_path: Path) -> None:
    """It holds lines of a user's code."""
    with SearchRecord(tmp_path / "kept" / "record.jsonl"):
        assert (tmp_path / "kept").stat().st_mode & 0o077 == 0


def test_a_full_record_says_so_and_stays_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepagents.optimize.record.MOST", 1000)
    path = tmp_path / "record.jsonl"
    with SearchRecord(path) as record:
        for number in range(100):
            record.keep(str(number), Tried(number))
        assert "full" in record.problem
        assert record.known == 100
    assert path.stat().st_size <= 1000
    with SearchRecord(path) as record:
        assert 5 < record.known < 100
        assert record.tried("0") == Tried(0)


def test_limits_of_a_chip_hold() -> None:
    found = rows(str(EXAMPLES / "swiglu_tiles.py"), "--hw", "validation", "--capacity", "900000", "--compute", "40000")
    assert found[0]["on_chip_bytes"] <= 900_000
    assert found[0]["cycles"] < 27502


def test_the_best_is_never_none_because_the_chip_is_small() -> None:
    """What fits and is slower is not taken, so the program as it is stays the best, whatever it needs."""
    old, small, fast = (FasterText(str(n), Figures(*n, 1, 1, 1, "")) for n in ((100, 50), (120, 5), (90, 60)))
    target = OptimizeTarget(PRESETS["default"], capacity=10)
    assert best_of([old, small], target, old) is old
    assert best_of([fast, old, small], target, old) is fast
    assert best_of([fast, small], target, None) is small


def test_what_ends_early_or_does_not_fit_says_so(tmp_path: Path) -> None:
    path = tmp_path / "expert.py"
    path.write_text((EXAMPLES / "swiglu_tiles.py").read_text(encoding="utf-8"), encoding="utf-8")
    done = invoked(str(path), "--hw", "validation", "--capacity", "1", "--budget-seconds", "0.1")
    assert done.exit_code == 0
    assert "candidates in" in done.stdout and "its time was over; the same call goes on" in done.stdout
    assert "bytes on chip of 1: nothing that needs less" in done.stderr
    assert "--explain" not in done.stdout and re.search(r"(tried yet|tried so far .*): its time was over", done.stdout)
    path.write_text(path.read_text(encoding="utf-8").replace("E6 = ", "E6 = nonsense + "), encoding="utf-8")
    done = invoked(str(path), "--format", "json")
    assert (done.exit_code, json.loads(done.stdout)[0]["verified"]) == (1, False)
    assert "expert.py::expert: it has errors" in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (100, 50, "2x"),
        (9, 9, "as many cycles"),
        (10_003, 10_001, "2 cycles fewer"),
        (4_000, 4_001, "1 cycle more"),
        (4, 5, "0.8x"),
    ],
)
def test_a_step_says_what_it_brought_where_that_is_hardly_anything(before: int, after: int, said: str) -> None:
    """It said `1x`."""
    figures = Figures(before, 50, 10, 1, 10, "compute")
    step = OptimizeStep("depths", "nothing stalls", figures, replace(figures, cycles=after, on_chip=55))
    assert brought(step) == f"{said}, +10 % on chip"


def test_the_archive_keeps_what_nothing_beats() -> None:
    archive = Archive()
    figures = Figures(100, 50, 10, 1, 10, "compute")
    points = [(100, 50), (90, 60), (120, 40), (95, 70), (80, 60), (80, 60)]
    kept = [
        archive.add(FasterText(str(number), replace(figures, cycles=cycles, on_chip=on_chip)))
        for number, (cycles, on_chip) in enumerate(points)
    ]
    assert kept == [True, True, True, False, True, False]
    assert [(each.figures.cycles, each.figures.on_chip) for each in archive.front] == [(80, 60), (100, 50), (120, 40)]
    old = FasterText("old", replace(figures, cycles=110))
    chip = PRESETS["paper"]
    for goal, capacity, wanted in ((Goal.CYCLES, 0, 80), (Goal.MEMORY, 0, 100), (Goal.CYCLES, 55, 100)):
        best = best_of(archive.front, OptimizeTarget(chip, capacity=capacity, goal=goal), old)
        assert best is not None
        assert best.figures.cycles == wanted


def test_the_page_stands_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "stops.py"
    path.write_text(STOPS)
    code, page = run(str(path), "--format", "html")
    assert code == 0
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "nothing stops" in page


ONE_STREAM = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import N


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


def twice(x):
    return x * 2


@step.program(reference=twice, dims={N: 4})
def doubled(x: Annotated[step.Stream, step.f32, (N,)]) -> Annotated[step.Stream, step.f32, (N,)]:
    return step.Map(fn=double).apply(x)
"""


def test_where_nothing_helps_the_call_is_told_that_says_why(tmp_path: Path) -> None:
    path = tmp_path / "one stream.py"
    path.write_text(ONE_STREAM)
    code, text = run(str(path), "--hw", "paper", "--compute", "64")
    assert code == 0
    found = re.search(
        r"`(stepsmith optimize --explain .*)` tells why (the others do|each rewrite does) not apply", text
    )
    assert found is not None, text
    program, _command, *told = shlex.split(found[1])
    assert (program, told) == ("stepsmith", ["--explain", "--hw", "paper", "--compute", "64", f"{path}::doubled"])
    code, why = run(*told)
    assert (code, "cannot" in why) == (0, True)
    assert escape(found[1]) in run(str(path), "--hw", "paper", "--compute", "64", "--format", "html")[1]


def outcome_of(points: int) -> Optimized:
    def found(number: int) -> FasterText:
        figures = Figures(7_000 + 40 * number**2, 900_000 - 29_000 * number, 1_000_000, 64, 6_656, "off-chip bandwidth")
        return FasterText(f"text {number}", figures, ())

    front = [found(number) for number in range(points)]
    old = Figures(27_502, 720_000, 6_900_000, 64, 6_656, "off-chip bandwidth")
    return Optimized("a.py", "p", "paper", "old", old, front[0], front, 6_656, "off-chip bandwidth", tried=9)


@pytest.mark.parametrize("points", [1, 2, 30])
def test_the_plot_names_its_axes_and_its_bound_and_each_point_can_be_reached(points: int) -> None:
    page = optimize_page([outcome_of(points)], ["nothing"])
    texts = re.findall(r"<text ([^>]*)>([^<]*)</text>", page)
    said = [text for _where, text in texts]
    assert {"cycles", "bytes on chip", "bound (off-chip bandwidth): 6,656 cycles"} <= set(said)
    spots = re.findall(r'<g class="spot" tabindex="0" role="img" aria-label="([^"]*)">', page)
    assert len(spots) == points + 1
    assert all(re.match(r"(as it was: )?[\d,]+ cycles, [\d,]+ bytes on chip", text) for text in spots)
    assert page.count("<path ") == 2  # the best is a diamond, here and in the legend
    assert len(re.findall(r"<tr><td>[\d,]+</td>", page)) == points
    boxes = [text_box(dict(re.findall(r'([\w-]+)="([^"]*)"', where)), text) for where, text in texts]
    for number, (left, right, top, bottom) in enumerate(boxes):
        assert left >= 0 and right <= 760 and top >= 0 and bottom <= 320
        for other in boxes[:number]:
            assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top, said


def text_box(at: dict[str, str], text: str) -> tuple[float, float, float, float]:
    """Return left, right, top and bottom of a text, which is about 7.2 wide a letter and 13 high."""
    x, y, width = float(at["x"]), float(at["y"]), 7.2 * len(text)
    if "transform" in at:
        return x - 7, x + 7, y - width / 2, y + width / 2
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[at["text-anchor"]]
    return left, left + width, y - 7, y + 7


@pytest.mark.parametrize(("name", "text", "said"), [
    ("task.step.yaml", TASK.read_text(), "this task has no impl"),
    ("task.step.yaml", "inputs: [", ":1: STEP903"),
    ("program.py", STOPS.replace("def ", "def def "), "STEP902"),
    ("nothing.py", "x = 1\n", "no function with @step.program"),
    ("script.py", SCRIPT, "put its operators into a function with @step.program"),
])  # fmt: skip
def test_a_file_without_a_program_says_why(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    code, output = run(str(path))
    assert (code, said in output) == (2, True), output


@pytest.mark.parametrize(("words", "said"), [
    (["--proposer", "llm"], "name a model"),
    (["--hw", "none"], "no chip is called"),
])  # fmt: skip
def test_what_cannot_be_used_is_told(tmp_path: Path, words: list[str], said: str) -> None:
    path = tmp_path / "stops.py"
    path.write_text(STOPS)
    code, output = run(str(path), *words)
    assert code == 2
    assert said in output


ANSWER = """\
# mine
impl: |

  whole, row = step.Copy().apply(E0)  # a row waits for its sum
  total = step.Accum(fn=fn_add, b=1).apply(whole)
  return step.Map(fn=fn_divide).apply((row, step.Repeat(n=M).apply(total)))
# the end
"""
ANSWERED = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.rand}
fns:
- {name: Add, func_name: fn_add, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0]+input[0]]"}
- {name: D, func_name: fn_divide, input_dtype: [fp32, fp32], output_dtype: fp32, apply: "return [input[0] / input[1]]"}
outputs:
- {name: S0, dtype: fp32, dims: [M, N], data_transform: ["input_data['E0'] / input_data['E0'].sum(1, keepdim=True)"]}
"""


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_an_answer_is_written_back_whatever_its_block_looks_like(newline: str) -> None:
    before = "total = step.Accum(fn=fn_add, b=1).apply(whole)"
    for text in (
        ANSWER,
        ANSWER.replace("impl: |", "impl: |2-"),
        "impl: 'return E0'\n",
        ANSWER.partition("\n")[2],
    ):
        file = AnswerFile("a.impl.yaml", text.replace("\n", newline))
        answered = answered_task(ANSWERED.replace("\n", newline), "a.step.yaml", file)
        made = answered.written(
            answered.text.replace(before, f"{before}  # changed").replace("return E0", "return E00")
        )
        impl = read_answer(made, "").impl
        assert impl is not None and ("# changed" in impl.source.text or "E00" in impl.source.text)
        with pytest.raises(ValueError, match="more of the task"):
            answered.written(answered.text.replace("fn_add", "fn_more"))


@pytest.mark.parametrize("own", ["", "impl: |\n  return E0\n"])
def test_an_answer_in_a_file_of_its_own_is_made_faster_and_its_task_stays(tmp_path: Path, own: str) -> None:
    """Inputs and functions are the task's, so no rewrite may change them; lines are those of the answer."""
    task, answer = tmp_path / "shares.step.yaml", tmp_path / "answers" / "shares.impl.yaml"
    answer.parent.mkdir()
    task.write_text(ANSWERED + own)
    answer.write_text(ANSWER)
    words = [str(task), "--impl", str(answer.parent), "--hw", "paper"]
    code, told = run(*words, "--explain")
    assert (code, f"in {answer} on paper" in told) == (0, True), told
    assert re.search(r"depths +can +line 4 step\.Copy: ", told), told
    assert re.search(r"whole-rows +cannot .*: it changes more of the task than `impl`", told), told
    code, told = run(*words)
    assert (code, f"--- {answer}" in told, task.read_text()) == (0, True, ANSWERED + own), told
    (row,) = rows(*words, "--apply")
    assert (row["cycles_before"], row["verified"], task.read_text()) == (None, True, ANSWERED + own)
    after = answer.read_text()
    changed = [line for line in ndiff(ANSWER.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert changed and all("step." in line for line in changed)
    assert after.startswith("# mine\nimpl: |") and after.endswith("# the end\n")
    again = rows(*words)[0]
    assert again["cycles_before"] == row["cycles"]


CHAINED = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.rand}
fns:
- {name: Twice, func_name: fn_twice, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}
- {name: Add, func_name: fn_add, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0]+input[0]]"}
outputs:
- {name: S0, dtype: fp32, dims: [N], data_transform: ["(input_data['E0'] * 2).sum(1)"]}
"""
CHAINED_ANSWER = """\
impl: |
  # of each row
  doubled = step.Map(fn=fn_twice).apply(E0)
  return step.Accum(fn=fn_add, b=1).apply(doubled)
"""


def test_an_answer_defines_functions_where_its_task_lets_it_and_is_told_where_not(tmp_path: Path) -> None:
    """A rewrite that makes a function puts it at the head of the answer; fns are the task's."""
    task, answer = tmp_path / "rows.step.yaml", tmp_path / "rows.impl.yaml"
    answer.write_text(CHAINED_ANSWER)
    words = [str(task), "--impl", str(answer), "--hw", "paper"]
    task.write_text(CHAINED)
    (row,) = rows(*words)
    assert [each for each in row["remarks"] if re.search(r"fuse-maps.* answer_may_define_fns: true", each)]
    told = run(*words, "--explain")[1]
    assert re.search(r"fuse-maps +cannot .*: it defines a function, .* answer_may_define_fns: true", told), told
    task.write_text(f"answer_may_define_fns: true\n{CHAINED}")
    assert re.search(r"fuse-maps +can .*fn_twice and fn_add are one function", run(*words, "--explain")[1])
    (row,) = rows(*words, "--apply")
    assert row["verified"] and row["cycles"] < row["cycles_before"] and not row["remarks"]
    made = answer.read_text().splitlines()
    assert made[:2] == ["impl: |", "  @step.fn(input=step.f32, output=step.f32, init=[0])"]
    assert made[2] == "  def fn_twice_fn_add_1(state, input):" and "  # of each row" in made
    assert made == [line.rstrip() for line in made]
    assert "step.Accum(fn=fn_twice_fn_add_1" in "".join(made)


def test_an_answer_that_is_none_is_told(tmp_path: Path) -> None:
    task, answer = tmp_path / "shares.step.yaml", tmp_path / "shares.impl.yaml"
    task.write_text(ANSWERED)
    for text, said in (
        ("inputs: []\n", "shares.impl.yaml:1:1: STEP906"),
        (ANSWER.replace("(row,", "(rows,"), "verify --impl"),
    ):
        answer.write_text(text)
        code, told = run(str(task), "--impl", str(answer))
        assert (code, said in told) == (2 if "STEP" in said else 1, True), told
    code, told = run(str(EXAMPLES / "rms_norm.py"), "--impl", str(answer))
    assert (code, "--impl answers task files" in told) == (2, True)
