"""A server that was stormed is as a fresh one: a small sample; ``make soak`` has long ones."""

from __future__ import annotations

from pathlib import Path

from storm.compare import storm


def test_after_a_storm_the_server_is_as_a_fresh_one(tmp_path: Path) -> None:
    outcome = storm(tmp_path, seed=1, steps=300)
    assert outcome.failures == []
    assert outcome.done >= {"edit", "ask", "order", "save", "open_or_close", "restore", "move", "delete", "change_book"}
