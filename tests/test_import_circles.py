"""No circle of imports in the whole tree. Imports that are deferred, or for type checkers only, hide one and count."""

from __future__ import annotations

from import_graph import MODULES, circles, drawn, edges, edges_of


def test_nothing_is_imported_in_a_circle() -> None:
    assert circles(drawn()) == []


def test_all_four_packages_are_drawn() -> None:
    assert {name.split(".")[0] for name in MODULES} == {"stepcore", "stepserver", "stepagents", "benchmarks"}
    assert {edge.when for edge in edges()} == {"import", "call", "types"}


def test_the_test_would_notice() -> None:
    text = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from stepcore.sizes.dim import Dim\n"
        "def f():\n    try:\n        import stepcore.types\n    except ImportError:\n        pass\n"
    )
    found = [(edge.target, edge.when) for edge in edges_of("stepcore.text.span", text)]
    assert found == [("typing", "import"), ("stepcore.sizes.dim", "types"), ("stepcore.types", "call")]
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d"}, "e": set()}) == [("b", "c")]
