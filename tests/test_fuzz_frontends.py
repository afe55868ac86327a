"""Both frontends on broken text: nothing raises, nothing hangs, every position lies in the file.

The texts of one group are checked in a child process under limits of time and memory, which stand for "hangs" and
"eats all memory"; no time is measured otherwise.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz_texts import PYTHON, YAML, hurtful, hurtful_files
from stepcore.check import check_text, fix_text
from stepcore.findings.diagnostics import Diagnostic

ROOT = Path(__file__).parents[1]
SECONDS = 120
MEMORY = 2 << 30

TEXTS = {"file.py": PYTHON, "task.step.yaml": YAML}
PATHS = sorted(TEXTS)


def check(text: str, path: str, with_fixes: bool = True) -> None:
    """Check and fix a text; fail where a position lies outside of it."""
    found = check_text(text, path, with_fixes=with_fixes).diagnostics
    assert all(_inside(item, len(text)) for item in found), f"{path}: {text!r}"
    assert not any(item.code == "STEP911" for item in found)
    if any(item.fix is not None for item in found):
        fix_text(text, path)


def _inside(item: Diagnostic, size: int) -> bool:
    spans = [item.span, *(r.span for r in item.related), *(e.span for e in (item.fix.edits if item.fix else ()))]
    return all(0 <= span.start <= span.end <= size for span in spans) and bool(item.message)


def run_limited(group: str) -> subprocess.CompletedProcess[str]:
    """Check the texts of one group in a child process that may not take long or need much memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    command = [sys.executable, "-c", f"import test_fuzz_frontends as fuzz; fuzz.run_group({group!r})"]
    return subprocess.run(
        command, cwd=ROOT / "tests", env={"PYTHONPATH": str(ROOT)}, preexec_fn=limit, timeout=10 * SECONDS,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def run_group(group: str) -> None:
    """Check all texts of a group (in the child process)."""
    for name, (path, text) in GROUPS[group].items():
        try:
            check(text, path, with_fixes=group != "truncated")
        except BaseException:
            sys.stderr.write(f"\n=== {name}: {path}: {text[:300]!r}\n")
            raise


# -- mutations of good files -----------------------------------------------------------------------------


def truncated(text: str) -> dict[str, str]:
    return {f"cut at {place}": text[:place] for place in range(len(text))}


def beheaded(text: str) -> dict[str, str]:
    return {f"from {place}": text[place:] for place in range(0, len(text), 3)}


def mutated(text: str, seed: int, count: int) -> dict[str, str]:
    """Return texts with tokens deleted, doubled or swapped, and characters replaced."""
    rng = random.Random(seed)
    found = {}
    for number in range(count):
        words = list(_tokens(text))
        for _ in range(rng.randint(1, 4)):
            a, b = rng.randrange(len(words)), rng.randrange(len(words))
            match rng.randrange(4):
                case 0:
                    words[a] = ""
                case 1:
                    words[a] = words[a] * 2
                case 2:
                    words[a], words[b] = words[b], words[a]
                case 3:
                    words[a] = rng.choice("\t\r\n\0\ufeff{}[]()|>&*!%@`'\"\\#:,-=.;é流😀\u2028\x0c\ud800" + "0a")
        found[f"mutation {seed}/{number}"] = "".join(words)
    return found


def _tokens(text: str) -> list[str]:
    words: list[str] = []
    for character in text:
        if words and (character.isalnum() or character == "_") and (words[-1][-1].isalnum() or words[-1][-1] == "_"):
            words[-1] += character
        else:
            words.append(character)
    return words


GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "truncated": {f"{path} {name}": (path, t) for path in PATHS for name, t in truncated(TEXTS[path]).items()},
    "beheaded": {f"{path} {name}": (path, t) for path in PATHS for name, t in beheaded(TEXTS[path]).items()},
    "mutated": {f"{path} {name}": (path, t) for path in PATHS for name, t in mutated(TEXTS[path], 1, 120).items()},
    "hurtful": hurtful(),
    "hurtful files": hurtful_files(),
}


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_raises_or_hangs(group: str) -> None:
    done = run_limited(group)
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_watchdog_would_notice_a_failure() -> None:
    done = run_limited("no such group")
    assert done.returncode != 0
    assert "KeyError" in done.stderr


@given(st.sampled_from(PATHS), st.binary(max_size=200), st.integers(0, 2000))
@settings(max_examples=80, deadline=None)
def test_random_bytes_in_the_middle(path: str, raw: bytes, place: int) -> None:
    text = TEXTS[path]
    place %= len(text)
    check(text[:place] + raw.decode("utf-8", "surrogateescape") + text[place:], path)


@given(st.sampled_from(PATHS), st.text(max_size=100))
@settings(max_examples=60, deadline=None)
def test_random_texts(path: str, text: str) -> None:
    check(text, path)
    check("import stepcore as step\n" + text, path)


def test_both_files_are_clean_before_they_are_broken() -> None:
    found = [item for path in PATHS for item in check_text(TEXTS[path], path).diagnostics]
    assert [item.code for item in found if item.severity.value == "error"] == ["STEP101"]
