"""The order in which chunks arrive: where results depend on it (STEP414), and values in the order of timing."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Final

import pytest
import torch
from ruamel.yaml import YAML

from golden_files import code_of, expected_path, files, render_found
from oracle.streams import dense
from oracle.tasks import OracleTask, run_streams
from programs.routed import arriving_task, routed_task
from quiet import Quiet
from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.cli import simulate as simulate_command
from stepcore.cli import verify as verify_command
from stepcore.cycles.bounds import bound_of
from stepcore.cycles.program_network import OrderNotRun
from stepcore.cycles.routes import ProgramRoutes
from stepcore.cycles.timed import time_program
from stepcore.findings.codes import CODES
from stepcore.findings.diagnostics import Severity
from stepcore.ide.analysis import analyze
from stepcore.ide.results import run_diagnostics
from stepcore.jobdata.programs import SimulateRequest, SimulateResult, VerifyRequest
from stepcore.settings.limits import Wishes
from stepcore.sim.arrival_ops import ArrivalOrder
from stepcore.sim.compare import compare
from stepcore.sim.decided import decided_by_data
from stepcore.sim.functional import Run, Session
from stepcore.sim.worker.simulate import simulate
from stepcore.sim.worker.verify import verify
from stepcore.timing.hardware import PRESETS

FOLDER: Final = Path(__file__).parent / "golden" / "run"
EXAMPLES: Final = Path(__file__).parents[1] / "examples"
SOURCES: Final = sorted(path for path in files(FOLDER) if path.suffix != ".expected")
MOST_RUNS: Final = 16


def simulated(path: Path, **more: Any) -> SimulateResult:
    return simulate(SimulateRequest(path.name, path.read_text(encoding="utf-8"), str(path), **more), Quiet())  # type: ignore[arg-type]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_golden(path: Path) -> None:
    """STEP414 as an editor shows it after a simulation: at the operator to which chunks come."""
    result, analysis = simulated(path), analyze(path.read_text(encoding="utf-8"), path.name)
    assert result.verdict is not None and result.verdict.accepted, result.verdict
    found = run_diagnostics(analysis, result.program, result.verdict, result.arrival)
    assert [(item.code, item.severity) for item in found] == [(code_of(path), CODES["STEP414"].severity)]
    shown = render_found(analysis.source, found)
    if os.environ.get("STEPSMITH_UPDATE_GOLDEN") == "1":
        expected_path(path).write_text(shown, encoding="utf-8")
    assert shown == expected_path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_verify_tells_the_same_as_simulate(path: Path) -> None:
    """A verdict is accepted, and says at which operator its results depend on the order."""
    (row,) = verify(VerifyRequest(path.name, path.read_text(encoding="utf-8"), str(path)), Quiet())  # type: ignore[arg-type]
    assert row.accepted and row.arrival == simulated(path).arrival
    (there,) = row.arrival
    line = path.read_text(encoding="utf-8").splitlines()[there.line - 1]
    assert there.code == "STEP414" and line[there.column - 1 :].startswith(f"step.{there.operator}")


def test_commands_print_it_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    path = SOURCES[0]
    place = f"{path}:29:17: results depend on the order in which chunks arrive (EagerMerge): in the reverse order"
    assert verify_command.run([str(path)], verify_command.VerifyOptions()) == 0
    assert f"  arrival:    {place}" in capsys.readouterr().out
    simulate_command.run(str(path), {}, 42, 8, "text", Wishes())
    assert place in capsys.readouterr().err


def test_what_only_the_reverse_order_breaks_is_told_and_no_failure() -> None:
    """Of three chunks the first lane gets two, as the selector asks; in the reverse order it gets one."""
    head = SOURCES[0].read_text(encoding="utf-8").partition("def behind")[0]
    text = f"""{head}@step.program(dims={{M: 1}})
def gathered(
    x: Annotated[step.Stream, step.f32, (M + 2,)],
    y: Annotated[step.Stream, step.f32, (M + 1,)],
    z: Annotated[step.Stream, step.f32, (M,)],
):
    lanes, _ = step.Parallelize(N=2, policy="free").apply(x)
    joined, came = step.EagerMerge().apply([y, z])
    return step.Reassemble().apply((lanes, came)), joined
"""
    (program,) = check_text(text, "file.py").programs
    session = Session(program.spec)
    found = {program.typed.nodes[each.node].written: each.note for each in session.against_arrival(program.typed)}
    assert "the run fails: branch 0 has 1 chunk, but the selector asks for it with 2 bits" in found["Parallelize"]
    assert found["Parallelize"].endswith("(STEP409)") and "output 0 differs" in found["EagerMerge"]
    assert session.order is None


def test_numbers_that_are_nan_in_any_order_hang_on_none() -> None:
    """Requests without a tile attend to nothing: 0/0, whichever lane takes them."""
    text = (EXAMPLES / "decode_attention.py").read_text(encoding="utf-8")
    (program,) = check_text(text.replace('data={"n": (1, 8)}', 'data={"n": (0, 0)}'), "file.py").programs
    session = Session(program.spec)
    outputs = session.run(program.typed).outputs
    assert bool(outputs[0][0].isnan().all())
    assert not compare(outputs, outputs).ok and compare(outputs, outputs, equal_nan=True).ok
    assert session.against_arrival(program.typed, outputs) == []


def test_tiles_that_no_address_names_do_not_count_as_needed() -> None:
    """The bound of a program that gathers is no more than what it moved: nothing is faster than its bound."""
    text = (EXAMPLES / "decode_attention.py").read_text(encoding="utf-8")
    (program,) = check_text(text.replace('data={"n": (1, 8)}', 'data={"n": (1, 1)}'), "file.py").programs
    timed = time_program(program, PRESETS["default"])
    bound = bound_of(timed)
    assert bound is not None and bound.ratio is not None and bound.ratio >= 1
    moved = timed.hardware.memory
    assert bound.cycles <= -(-timed.off_chip_bytes * moved.interval // (moved.channels * moved.burst))


def in_timed_order(program: Checked) -> tuple[Run, dict[int, tuple[int, ...]], int] | None:
    """Run and time a program in turns until its order settles, as ``simulate --timing`` does; None where it stops."""
    session, graph = Session(program.spec), program.typed
    order: dict[int, tuple[int, ...]] = {}
    for number in range(MOST_RUNS):
        session.order = ArrivalOrder(order)
        run = session.run(graph, keep=True)
        decided = decided_by_data(graph, run)
        assert decided is not None
        routes = ProgramRoutes("run", decided.rows, decided.levels, decided.sizes, ran=order)
        try:
            timed = time_program(program, PRESETS["default"], routes=routes)
            if timed.cycles is None:
                return None  # it stops on the chip
            settled = timed.arrival
        except OrderNotRun as error:
            settled = dict(error.order)
        if settled == order:
            return run, order, number
        order = settled
    raise AssertionError("no order was found")


@pytest.mark.parametrize("seed", range(24))
def test_values_come_in_the_order_of_timing_as_in_the_literal_interpreter(seed: int) -> None:
    text = (arriving_task if seed % 2 else routed_task)(Random(seed))
    (program,) = check_text(text, "arriving.step.yaml").programs
    assert program.runnable and not [item for item in program.diagnostics if item.severity is Severity.ERROR]
    found = in_timed_order(program)
    if found is None:
        return
    run, order, _ = found
    nodes = [node.index for node in program.typed.nodes if node.op.by_arrival()]
    arrivals = [order.get(node, ()) for node in nodes]
    _, expected = run_streams(OracleTask("arriving", YAML(typ="safe", pure=True).load(text)), arrivals=arrivals)
    for (result, *_), wanted in zip(run.outputs, expected, strict=True):
        torch.testing.assert_close(result, dense(wanted)[0])


def test_the_order_of_timing_is_another_one_than_the_stated() -> None:
    """Of drawn programs many come in another order, and most need two runs."""
    others, runs = 0, []
    for seed in range(12):
        (program,) = check_text(arriving_task(Random(seed)), "arriving.step.yaml").programs
        settled = in_timed_order(program)
        assert settled is not None
        run, order, more = settled
        stated = Session(program.spec).run(program.typed)
        others += any(
            found.shape != wanted.shape or not torch.equal(found, wanted)
            for (found, *_), (wanted, *_) in zip(run.outputs, stated.outputs, strict=True)
        )
        runs.append(more)
        assert order
    assert others >= 6 and max(runs) <= 6


def test_simulate_with_timing_gives_the_values_of_that_order(capsys: pytest.CaptureFixture[str]) -> None:
    path = SOURCES[0]
    simulate_command.run(str(path), {}, 42, 8, "json", Wishes(), timing=True)
    timed = json.loads(capsys.readouterr().out)
    simulate_command.run(str(path), {}, 42, 8, "json", Wishes())
    stated = json.loads(capsys.readouterr().out)

    def joined(found: dict[str, Any]) -> list[float]:
        (stream,) = [stream for stream in found["streams"] if stream["name"] == "joined"]
        return list(stream["components"][0]["values"])

    assert timed["verdict"]["functional"] and stated["verdict"]["accepted"]
    assert joined(timed) != joined(stated) and sorted(joined(timed)) == sorted(joined(stated))
    order = simulated(path, order={"3": (1, 0, 1, 0, 0)}).streams
    (halves,) = [stream.components[0].values for stream in order if stream.name == "joined"]
    assert list(halves) == [joined(stated)[place] for place in (3, 0, 4, 1, 2)]


def test_only_the_run_in_the_settled_order_is_verified() -> None:
    settling = simulated(SOURCES[0], settling=True)
    assert settling.settling and settling.verdict is None and not settling.arrival
    plain = simulated(Path(__file__).parents[1] / "examples" / "sum_rows.py", settling=True)
    assert not plain.settling and plain.verdict is not None, "nothing arrives here, so the first run is the last"
    asked: list[tuple[Any, bool]] = []

    def simulate(order: Any, settling: bool) -> Any:
        asked.append((order, settling))
        return SimpleNamespace(settling=settling)

    def time(_result: Any, order: Any) -> Any:
        return SimpleNamespace(order={3: (min(len(order.get(3, ())) + 1, 4),) * min(len(order.get(3, ())) + 1, 4)})

    result, _timed = simulate_command._in_order(simulate, time)
    assert [settling for _, settling in asked] == [True] * 5 + [False]
    assert not result.settling and asked[-1][0] == asked[-2][0] == {3: (4, 4, 4, 4)}


def test_an_order_that_fits_nothing_is_filled_up() -> None:
    """What a request says too much is left out, and what it leaves open is done as stated."""
    (program,) = check_text(SOURCES[0].read_text(encoding="utf-8"), "file.py").programs
    merge = next(node.index for node in program.typed.nodes if node.written == "EagerMerge")
    session = Session(program.spec)
    stated = session.run(program.typed).outputs[0][0]
    for given in ((1, 1, 1, 1, 1, 1), (1,), ()):
        session.order = replace(ArrivalOrder(), decided={merge: given})
        found = session.run(program.typed).outputs[0][0]
        assert sorted(found.tolist()) == sorted(stated.tolist())
