"""The rules of the house for agents and benchmarks: imports point one way, and each group of modules has its layer."""

from __future__ import annotations

import pytest

from import_graph import MODULES, edges, edges_of, group, wrong_direction

# From the lowest layer up. A group (a module or package of stepagents) may import lower layers and its own modules;
# imports that are deferred, or for type checkers only, count as well.
AGENTS = [
    ["", "sampling", "validated", "given", "worlds", "extract", "guardian", "task_text", "traced"],
    ["spending", "executors", "judge", "lower"],
    ["search", "experience", "torchfn"],
    ["schedules"],
    ["prior", "llm", "shapes"],
    ["proposers", "runs", "improve", "report"],
    ["optimize"],
    ["jobs"],
    ["worker", "cli"],
    ["ahead", "command"],
]
BENCHMARKS = [
    ["", "harness", "candidates", "disturb", "lsp_client", "typing_session", "slow_trials"],
    ["beside_scalar", "tasks_at", "search_runs", "page", "mixtures", "decoding", "optimize_families"],
    ["suites"],  # each measures one thing, and is known to the command alone
    ["side_by_side", "__main__"],
    ["sessions_beside"],
]
BELOW = {
    "stepagents": {"stepcore"},
    "benchmarks": {"stepcore", "stepagents"},
}  # the server is started and spoken to, as editors do
OURS = {"stepcore", "stepserver", "stepagents", "benchmarks"}


LAYERS = {"stepagents": (AGENTS, group), "benchmarks": (BENCHMARKS, group)}


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_has_one_layer_and_imports_point_one_way(package: str) -> None:
    layers, of = LAYERS[package]
    named = [name for names in layers for name in names]
    assert len(named) == len(set(named))
    assert {of(module) for module in MODULES if module.split(".")[0] == package} == set(named)
    assert wrong_direction((edge for edge in edges() if edge.module.split(".")[0] == package), layers, of) == []


@pytest.mark.parametrize("package", BELOW)
def test_a_package_stands_on_those_below_it(package: str) -> None:
    used = {edge.target.split(".")[0] for edge in edges() if edge.module.split(".")[0] == package}
    assert used & OURS - {package} == BELOW[package]


def test_only_commands_know_the_command_line() -> None:
    asked = [edge for edge in edges() if edge.module.startswith("stepagents.") and edge.target == "typer"]
    assert asked
    assert {group(edge.module) for edge in asked} == {"cli"}


def test_the_direction_test_would_notice() -> None:
    text = "def f():\n    from stepagents.torchfn.trace import trace\n"
    found = ["stepagents.lower.search:2 imports stepagents.torchfn.trace"]
    assert wrong_direction(edges_of("stepagents.lower.search", text), AGENTS) == found
    assert wrong_direction(edges_of("stepagents.jobs.function", text), AGENTS) == []
