"""Campaigns with random programs and half-typed ones: the properties that the tests hold, on seeds of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from random import Random

from changing_bodies import Bodies, changes_input
from drawn_calls import drawn as drawn_calls
from drawn_kernels import drawn as drawn_kernels
from drawn_modules import compared
from joined_programs import boundaries
from optimized_programs import assert_optimized, optimizable_task
from programs import GADGETS, generate, impl_text, reusing, task_text
from programs.generation2 import generation2_task
from programs.looped import under_loops
from programs.loops import random_loop
from programs.ragged import ragged_task
from ragged_chains import run_chain
from stepcore.conversion.to_python import task_to_python
from stepcore.frontend.yaml.tasks import read_task
from test_fn_ownership import codes
from test_fuzz_frontends import check, mutated
from test_generation2_programs import assert_holds
from test_ide_boundaries import GROUPS, check_cuts, name_of, opened
from test_properties_affine import assert_fixes_converge
from test_properties_simulator import assert_agrees
from test_properties_types import verdict
from test_ragged_programs import beside_the_oracle
from test_timing_recorder import holds_the_sums, recorded
from timing_networks import drawn, drawn_loads
from timing_programs import assert_literal, drawn_program, program_chip
from timing_properties import assert_under_delays, drawn_tiles
from torch_calls import spelled, survey
from wires import assert_agrees as assert_waits
from wires import assert_literal_agrees
from yaml_blocks import assert_blocks_are_the_whole, changed
from yaml_blocks import corpus as task_files

from .campaign import Order, Report, numbers

STEPS = 12
MUTATIONS = 100  # of one file
EXAMPLES = Path(__file__).parents[2] / "examples"


def simulator(order: Order, report: Report) -> None:
    """Types and values of random programs are those of the slow interpreter."""

    def case(seed: int) -> None:
        program = generate(Random(seed), STEPS)
        impl = impl_text(program, Random(seed))
        _raises(lambda: assert_agrees(program, impl), task_text(program, impl))

    _each(order, report, case)


def ragged(order: Order, report: Report) -> None:
    """Programs on sizes that only a run knows, and chains of operators without types, beside the slow interpreter."""

    def case(seed: int) -> None:
        run_chain(seed)
        text = ragged_task(Random(seed), STEPS // 2)
        _raises(lambda: beside_the_oracle(text), text)

    _each(order, report, case)


def generation2(order: Order, report: Report) -> None:
    """Programs of generation 2: streams and sizes are those of the slow interpreter, both file forms give the program
    back, and a Copy that was taken away is the one finding.
    """

    def case(seed: int) -> None:
        text = generation2_task(seed)
        _raises(lambda: assert_holds(text), text)

    _each(order, report, case)


def mutated_files(order: Order, report: Report) -> None:
    """Files of generation 2 with words deleted, doubled, swapped and replaced: no exception, all findings inside."""

    def case(seed: int) -> None:
        path, text = _file(seed // MUTATIONS)
        (broken,) = mutated(text, seed, 1).values()
        _raises(lambda: check(broken, path), broken)

    _each(order, report, case)


def mutated_loops(order: Order, report: Report) -> None:
    """The same of files with loops: those that go round, and calls that are put under ``for``, ``if`` and ``while``."""

    def case(seed: int) -> None:
        path, text = _looped(seed // MUTATIONS)
        rng = Random(seed)
        broken = under_loops(rng, text) if rng.random() < 0.7 else text
        if broken is text or rng.random() < 0.5:
            (broken,) = mutated(broken, seed, 1).values()
        _raises(lambda: check(broken, path), broken)

    _each(order, report, case)


@lru_cache(maxsize=1)
def _looped(number: int) -> tuple[str, str]:
    """Return a file whose streams go round, as a task or as Python, or one of those without loops."""
    if number % 2:
        return _file(number // 2)
    task = random_loop(Random(number))
    if number % 4:
        return "task.step.yaml", task
    return "file.py", task_to_python(read_task(task, "task.step.yaml"))


@lru_cache(maxsize=1)
def _file(number: int) -> tuple[str, str]:
    """Return a file of generation 2: an example, a random task, or one as Python."""
    if number % 3 == 0:
        return "file.py", _examples()[number // 3 % len(_examples())]
    task = generation2_task(number)
    return (
        ("task.step.yaml", task) if number % 3 == 1 else ("file.py", task_to_python(read_task(task, "task.step.yaml")))
    )


@cache
def _examples() -> tuple[str, ...]:
    texts = (file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.glob("*.py")))
    return tuple(text for text in texts if "step.Tile(" in text)


def optimized(order: Order, report: Report) -> None:
    """What the search for faster programs keeps of random programs is right on fresh data and sizes, runs to its end,
    and is not slower.
    """

    def case(seed: int) -> None:
        _raises(lambda: assert_optimized(seed), optimizable_task(seed))

    _each(order, report, case)


def types(order: Order, report: Report) -> None:
    """A changed program has a finding, or is what its types say."""

    def case(seed: int) -> None:
        verdict(Random(seed), STEPS)

    _each(order, report, case)


def modules(order: Order, report: Report) -> None:
    """Values of drawn modules, which are read without running them, are CPython's, or the file is refused."""

    def case(seed: int) -> None:
        for reader in ("function", "program"):
            outcome = compared(seed, reader)
            assert not outcome.differs, f"{outcome.differs}\n{outcome.text}"

    _each(order, report, case)


def calls(order: Order, report: Report) -> None:
    """What check knows of drawn calls of torch, and of expressions over tensors, is what torch gives."""

    def case(seed: int) -> None:
        for each in (*drawn_calls(seed), *drawn_kernels(seed)):
            assert not each.wrong, f"{each.wrong}\n{each.text}"

    _each(order, report, case)


def affine(order: Order, report: Report) -> None:
    """Each reused stream is found, and what the fixes make of it computes the same."""

    def case(seed: int) -> None:
        program, body = reusing(Random(seed), GADGETS, 6)
        _raises(lambda: assert_fixes_converge(program, body), body)

    _each(order, report, case)


def depths(order: Order, report: Report) -> None:
    """The depth rule says of 10,000 random forks and joins what their FIFOs do, and of as many with ``depth=`` what the
    literal timing engine does, whatever the budget.
    """

    def case(seed: int) -> None:
        name = f"depths.{seed}"
        _raises(lambda: assert_waits(Random(name)), name)
        _raises(lambda: assert_literal_agrees(Random(name)), f"{name} with depth=")

    _all(range(order.seed * 1_000_000, order.seed * 1_000_000 + 10_000), order, report, case)


def editor(order: Order, report: Report) -> None:
    """A file that is cut at one of its boundaries keeps the findings of all else, and every feature answers."""

    def case(seed: int) -> None:
        rng = Random(seed)
        group = rng.choice(GROUPS)
        places = boundaries(opened(group)[0].text)
        place = rng.choice(places)
        _raises(lambda: check_cuts(group, [place]), f"{name_of(group)} at {place}")

    _each(order, report, case)


def changes(order: Order, report: Report) -> None:
    """What a body changes, by whatever name and in whatever list, is refused where it is not its own."""

    def case(seed: int) -> None:
        body = Bodies(seed).draw()

        def holds() -> None:
            assert changes_input(body) is not True or "STEP310" in codes(body)

        _raises(holds, body)

    _each(order, report, case)


def blocks(order: Order, report: Report) -> None:
    """Task files that were changed anyhow give block by block what they give as a whole."""
    texts = task_files()

    def case(seed: int) -> None:
        text = changed(texts, Random(seed))
        _raises(lambda: assert_blocks_are_the_whole(text), text)

    _each(order, report, case)


def timing(order: Order, report: Report) -> None:
    """The exact timing engine gives what the literal one does: cycles, fills, who waits for what; a record its sums.

    So it does for the validation graph in random tiles, from its text; under random delays FIFOs keep their order.
    """

    def case(seed: int) -> None:
        _raises(lambda: assert_literal(drawn(Random(seed))), f"network {seed}")
        _raises(lambda: holds_the_sums(*recorded(drawn(Random(seed)))), f"network {seed}, recorded")
        _raises(lambda: assert_under_delays(drawn(Random(seed)), Random(seed)), f"network {seed}, delayed")
        tiles = drawn_tiles(Random(seed), program_chip(Random(seed)))
        _raises(lambda: assert_literal(tiles), f"tiles {seed}")
        _raises(lambda: holds_the_sums(*recorded(drawn_loads(Random(seed)))), f"loads {seed}, recorded")

    _each(order, report, case)


def timed_programs(order: Order, report: Report) -> None:
    """5,000 random programs on random chips, with random depths, take the cycles of the literal engine."""

    def case(seed: int) -> None:
        drawn = drawn_program(seed, 4 + seed % 12, runs=seed % 2 == 0)
        _raises(lambda: assert_literal(drawn.network), drawn.text)

    _all(range(order.seed * 1_000_000, order.seed * 1_000_000 + 5_000), order, report, case)


def torch_names(order: Order, report: Report) -> None:
    """Everything that the allow-list admits of torch, whatever the budget, in an order of the seed's."""
    names = [name for name, _pattern in spelled()]
    Random(order.seed).shuffle(names)
    outcomes = survey(names)
    report.tried = len(outcomes)
    report.failures += [failure for outcome in outcomes for failure in outcome.failures]


class _Failed(Exception):
    """A case that failed, with the input that shows it."""


def _raises(check: Callable[[], object], text: str) -> None:
    try:
        check()
    except Exception as error:
        raise _Failed(text) from error


def _each(order: Order, report: Report, case: Callable[[int], None]) -> None:
    _all(numbers(order), order, report, case)


def _all(seeds: Iterable[int], order: Order, report: Report, case: Callable[[int], None]) -> None:
    for seed in seeds:
        report.tried += 1
        try:
            case(seed)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding of the campaign
            cause = error.__cause__ if isinstance(error, _Failed) else error
            kept = order.keep(f"{report.name}_{seed}.txt", f"{error}\n\n{type(cause).__name__}: {cause}\n")
            shown = str(cause).strip().split("\n")[0][:300]
            report.failures.append(f"seed {seed}: {type(cause).__name__}: {shown}\n    kept as {kept}")
