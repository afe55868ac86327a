"""Limits count work: a busy machine costs a job nothing, and what waits for ever ends all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from processes import eventually
from stepcore.jobs.effort import CEILING, Effort, usage_of_process, usage_of_thread, usage_of_tree


class Machine:
    """A clock and a processor of a test's own."""

    def __init__(self) -> None:
        self.now = 100.0
        self.used = 5.0
        self.runs = True
        self.tells = True

    def usage(self) -> tuple[float, bool] | None:
        return (self.used, self.runs) if self.tells else None

    def passes(self, seconds: float, share: float) -> None:
        self.now += seconds
        self.used += seconds * share

    def effort(self, seconds: float | None) -> Effort:
        return Effort(seconds, self.usage, lambda: self.now)


def spent(machine: Machine, effort: Effort, share: float, most: float = 1e6) -> tuple[float, str]:
    """Let time pass until it is over; return how much did, and why."""
    start = machine.now
    while not (why := effort.over()) and machine.now - start < most:
        machine.passes(0.25, share)
    return machine.now - start, why


@pytest.mark.parametrize(("share", "passed"), [(1.0, 12.0), (0.5, 24.0), (0.125, 96.0), (4.0, 12.0)])
def test_a_busy_machine_costs_nothing_and_threads_do_not_either(share: float, passed: float) -> None:
    machine = Machine()
    assert spent(machine, machine.effort(12.0), share) == (passed, "after 12 s of CPU time")


def test_what_waits_ends_after_the_same_time() -> None:
    machine = Machine()
    machine.runs = False
    passed, why = spent(machine, machine.effort(12.0), 0.0)
    assert passed == 12.0 and "waited for 12 s" in why


def test_what_wants_to_run_and_may_not_has_the_ceiling() -> None:
    machine = Machine()
    passed, why = spent(machine, machine.effort(12.0), 0.0)
    assert passed == 12.0 * CEILING and why == "after 120 s, of which it could compute 0 s"


def test_where_nothing_is_told_time_counts() -> None:
    machine = Machine()
    machine.tells = False
    assert spent(machine, machine.effort(12.0), 0.01) == (12.0, "after 12 s")


def test_pauses_cost_nothing() -> None:
    machine = Machine()
    effort = machine.effort(2.0)
    machine.passes(1.0, 1.0)
    effort.pause()
    effort.pause()
    machine.passes(1_000.0, 1.0)
    effort.resume()
    machine.passes(1_000.0, 1.0)
    assert effort.over() == ""
    effort.resume()
    assert spent(machine, effort, 1.0)[0] == 1.0


def test_no_limit_is_no_limit() -> None:
    machine = Machine()
    assert spent(machine, machine.effort(None), 1.0, 10_000.0) == (10_000.0, "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell")
def test_the_whole_tree_counts() -> None:
    spin = "import os, time\nwhile time.process_time() < 0.4: pass\n"
    code = f"import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {spin!r}])\nsubprocess.Popen("
    code += f"[sys.executable, '-c', {(spin + 'time.sleep(600)')!r}])\nprint('on', flush=True)\ntime.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"on\n"

            def is_counted() -> bool:
                found = usage_of_tree(process.pid)
                return found is not None and found[0] >= 0.6 and not found[1]

            assert eventually(is_counted)  # less than the 0.8 s that are used: the system rounds down
            alone = usage_of_process(process.pid)
            assert alone is not None and alone[0] < 0.5, "what it started has computed for 0.6 s"
        finally:
            os.killpg(process.pid, 9)
    assert usage_of_tree(process.pid) is None and usage_of_process(process.pid) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell")
def test_a_thread_that_runs_wants_to() -> None:
    found = usage_of_thread(threading.get_native_id())
    assert found is not None and found[0] > 0 and found[1]
    assert usage_of_thread(2**22 + 1) is None
