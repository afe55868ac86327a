"""Random programs of generation 2: values, inferred sizes, both file forms, and a Copy that is missing."""

from __future__ import annotations

from random import Random

import pytest
import torch
from ruamel.yaml import YAML

from oracle import OracleError
from programs.generation2 import FAMILIES, each_without_a_copy, generation2_task
from programs.running import (
    PATH,
    OracleRun,
    assert_same_lengths,
    assert_same_values,
    check,
    errors,
    run_library,
    run_oracle,
)
from stepcore.check import Checked, fix_text
from stepcore.conversion.to_python import task_to_python
from stepcore.findings.errors import SimError
from stepcore.frontend.yaml.tasks import read_task
from stepcore.printing.task import canonical_key, graph_to_impl
from stepcore.sim.functional import Session
from stepcore.sim.nested import values_of

MOST_COPIES = 2  # that are taken away from one program


def assert_holds(text: str) -> int:
    """All that a random program of generation 2 has to keep; return how many missing copies were found in it."""
    found, checked = check(text)
    assert errors(found.diagnostics, ("STEP213",)) == [], errors(found.diagnostics)
    assert_is_read_back(text, canonical_key(checked.graph))
    wanted = literal(text)
    if wanted is None:  # the data break a rule: both have to say so
        with pytest.raises(SimError):
            run_library(checked)
    else:
        assert_same_values(run_library(checked), wanted.used)
        assert_same_lengths(checked, wanted.used)
        assert_same_memory(checked, text)
    changed = list(each_without_a_copy(text))
    kept = Random(len(text)).sample(changed, min(MOST_COPIES, len(changed)))
    for without in kept:
        assert_is_found(without, wanted)
    return len(kept)


def literal(text: str) -> OracleRun | None:
    """Run the oracle: streams, without what is left in memory; None where the data break a rule."""
    try:
        found = run_oracle(text)
    except OracleError:
        return None
    first = len(found.used) - found.returned
    streams = [stream for place, stream in enumerate(found.used[first:]) if place not in in_memory(text)]
    return OracleRun([*found.used[:first], *streams], len(streams))


def in_memory(text: str) -> list[int]:
    """Which outputs are what is left in memory."""
    outputs = YAML(typ="safe", pure=True).load(text)["outputs"]
    return [place for place, output in enumerate(outputs) if "memory" in output]


def assert_same_memory(checked: Checked, text: str) -> None:
    """What is left in memory is the oracle's."""
    places = in_memory(text)
    if places:
        found = Session(checked.spec, dtype=torch.float64).run(checked.typed).outputs
        oracle = run_oracle(text)
        wanted = oracle.used[len(oracle.used) - oracle.returned :]
        assert_same_values(
            [[values_of(part) for part in found[place]] for place in places], [wanted[p] for p in places]
        )


def assert_is_read_back(text: str, key: object) -> None:
    """Printed as a task and as Python, the program is the same."""
    _, checked = check(text)
    head, _, _ = text.partition("impl: |")
    impl = graph_to_impl(checked.graph).replace("\n", "\n  ")
    for other, path in (
        (f"{head}impl: |-\n  {impl}\n", PATH), (task_to_python(read_task(text, PATH)), "generated.py"),
    ):  # fmt: skip
        again, read = check(other, path)
        assert errors(again.diagnostics, ("STEP213",)) == [], other
        assert canonical_key(read.graph) == key, other


def assert_is_found(without: str, wanted: OracleRun | None) -> None:
    """The stream that is consumed twice is the one finding, and with its fix the program gives what it gave."""
    result, checked = check(without)
    assert [item.code for item in errors(result.diagnostics, ("STEP213",))] == ["STEP101"], without
    assert checked.affine_count == 1
    fixed = fix_text(without, PATH)
    again, mended = check(fixed)
    assert errors(again.diagnostics, ("STEP213",)) == [], fixed
    if wanted is not None:
        outputs = run_library(mended)[-wanted.returned :] if wanted.returned else []
        assert_same_values(outputs, wanted.used[len(wanted.used) - wanted.returned :])


@pytest.mark.parametrize("first", range(0, 42, 7))
def test_random_programs_and_their_missing_copies(first: int) -> None:
    assert sum(assert_holds(generation2_task(seed)) for seed in range(first, first + len(FAMILIES))) > 0
