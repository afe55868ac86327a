"""Random programs as networks, on random chips and with random depths: what the timing engines are compared on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import torch

from oracle.timing import Outcome, run_literally
from programs import generate, impl_text, task_text
from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.cycles.network_of import network_of
from stepcore.cycles.program_network import ProgramNetwork
from stepcore.cycles.routes import ProgramRoutes
from stepcore.sim.decided import decided_by_data
from stepcore.sim.functional import Session
from stepcore.timing.exact import Timing, run
from stepcore.timing.hardware import Hardware
from stepcore.timing.network import Network
from stepcore.timing.stops import ring, with_depths
from timing_networks import drawn_chip

STEPS = 8


@dataclass(frozen=True)
class DrawnProgram:
    """A program, the network that it is on a chip, and its text."""

    text: str
    program: ProgramNetwork

    @property
    def network(self) -> Network:
        return self.program.network


def drawn_program(seed: int, steps: int = STEPS, *, runs: bool = False) -> DrawnProgram:
    """Return a random program on a random chip; a third of its channels have a depth of their own.

    Selectors are those of a run of the program where it ``runs``.
    """
    rng = Random(f"timing.{seed}")
    program = generate(rng, steps)
    text = task_text(program, impl_text(program, rng))
    (checked,) = check_text(text, "t.step.yaml").programs
    routes = routes_of_run(checked) if runs else None
    made = network_of(checked.spec, checked.typed, checked.spec.bindings(), program_chip(rng), routes)
    depths = {f: rng.choice((1, 1, 2, 3, 5, 9)) for f in range(len(made.network.channels)) if rng.random() < 0.33}
    return DrawnProgram(text, replace(made, network=with_depths(made.network, depths)))


def routes_of_run(checked: Checked) -> ProgramRoutes:
    """Run a program, and return what the data decide: branches of its selectors, lengths of lists, and sizes."""
    run = Session(checked.spec, dtype=torch.float64).run(checked.typed, keep=True)
    decided = decided_by_data(checked.typed, run)
    assert decided is not None, "its selectors are regular, and all is short"
    return decided


def program_chip(rng: Random) -> Hardware:
    """Return a chip on which units and ends of random programs differ: slow and fast ones, of few and many bytes."""
    chip = drawn_chip(rng)
    return replace(
        chip,
        compute=replace(chip.compute, bandwidth=rng.choice((1, 4, 64, 4096)), minimum=rng.choice((0, 1, 1, 2))),
        onchip=replace(chip.onchip, bandwidth=rng.choice((1, 4, 64, 256))),
        memory=replace(chip.memory, burst=rng.choice((4, 16, 64)), block=rng.choice((1, 16, 64, 1024))),
        unit=replace(chip.unit, switch=rng.choice((0, 1, 1, 3))),
    )


def assert_literal(network: Network) -> Timing:
    """Run ``network`` with both engines: cycles, fills, bursts, who waits for what, and the ring are the same."""
    exact, literal = run(network), run_literally(network)
    assert (exact.cycles, exact.bursts) == (literal.cycles, literal.bursts)
    assert [(w.unit, w.channel, w.reason) for w in exact.waiting] == literal.waiting
    assert [channel.fill for channel in exact.channels] == literal.fills
    assert exact.order == {u: tuple(row) for u, row in literal.order.items() if row}
    assert_ring(network, exact, literal)
    return exact


def assert_ring(network: Network, exact: Timing, literal: Outcome) -> None:
    """Each unit of the ring waits for the next, and all of them are among those that wait for each other literally."""
    found = [(w.unit, w.channel, w.reason) for w in ring(network, exact)]
    assert bool(found) is bool(literal.waiting)
    assert {unit for unit, _f, _why in found} <= literal.ringed(network)
    for (_unit, channel, why), (after, _f, _why) in zip(found, [*found[1:], *found[:1]], strict=True):
        other = network.units[after]
        assert channel in (other.writes if why == "empty" else other.reads)
