"""A name that somebody made very long hides nothing of what is said of it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

from stepcore.findings.diagnostics import Diagnostic, Fix, Related, StepError
from stepcore.ide import features
from stepcore.ide.analysis import Analysis, analyze
from stepcore.text.span import Span
from stepcore.text.wording import short_words

LONG = "n" * 5_000
PROGRAM = """
from typing import Annotated
import stepcore as step
from stepcore.dims import M, LONGd
ROW, T = step.Tile("fp32", [1, LONGd]), step.dyn("T")

@step.fn(input=ROW, output=ROW, init=[0])
def LONGadd(state, input):
    return [state[0] + input[0]]

@step.program(dims={M: 8, LONGd: 4}, sizes={"?T": (0, 8)})
def LONGrows(
    LONGx: Annotated[step.Stream, ROW, (T,)], LONGroute: Annotated[step.Stream, step.Multihot(step.f32, 2), (T,)]
) -> Annotated[step.Stream, ROW, (T,)]:
    LONGr0, LONGr1 = step.Copy().apply(LONGroute)
    LONGparts = step.Partition(N=2).apply((LONGx, LONGr0))
    LONGtiles = [step.Retile(axis=0).apply(step.Promote(b=1).apply(LONGpart)) for LONGpart in LONGparts]
    LONGback = [step.RetileStreamify(axis=0).apply(LONGtile) for LONGtile in LONGtiles]
    LONGy = step.Reassemble().apply((LONGback, LONGr1))
    return step.Accum(fn=LONGadd, b=1).apply(LONGy)
""".replace("LONG", LONG)


def state(old: str = "", new: str = "") -> Analysis:
    old, new = old.replace("LONG", LONG), new.replace("LONG", LONG)
    assert old in PROGRAM
    return analyze(PROGRAM.replace(old, new, 1), "programs.py")


def texts(value: object, left_out: tuple[str, ...] = ("edit", "edits", "span")) -> list[str]:
    """Return what is shown of a value: not what an edit writes."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple):
        return [text for item in value for text in texts(item)]
    if is_dataclass(value):
        return [
            text for item in fields(value) if item.name not in left_out for text in texts(getattr(value, item.name))
        ]
    return []


def is_short(value: object) -> bool:
    return all(LONG[:101] not in text for text in texts(value))


def test_a_long_word_keeps_its_ends() -> None:
    text = f"{LONG}x is no {'y' * 100}"
    assert short_words(text).endswith(f"nnnx is no {'y' * 100}") and len(short_words(text)) < 220
    assert short_words("a b") == "a b"
    place = Span(0, 1)
    shown = (
        Diagnostic("STEP101", place, text, related=(Related(place, text),), fix=Fix(text, ())),
        str(StepError("STEP101", text)),
    )
    assert is_short(shown)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("apply(LONGy)", "apply(LONGx)", "STEP101"),
        ("apply(LONGy)", "apply(LONGunknown)", "STEP202"),
        ("axis=0", "axis=7", "STEP206"),
        ("state[0] + input[0]", "state[0] + LONGunknown", "STEP303"),
        ("state[0] + input[0]", "torch.LONGunknown(input[0])", "STEP304"),
        ("(T,)]:", "(M,)]:", "STEP215"),
        ("N=2", "N=3", "STEP210"),
    ],
)  # fmt: skip
def test_findings(old: str, new: str, code: str) -> None:
    found = state(old, new).diagnostics
    assert code in {item.code for item in found}
    assert is_short(found)


def test_what_an_editor_shows() -> None:
    analysis = state()
    assert not analysis.diagnostics
    whole = Span(0, len(PROGRAM))
    places = [
        PROGRAM.index(f"{LONG}{name}") for name in ("d", "add", "rows", "x", "route", "parts", "part)", "back", "y")
    ]
    hovers = [features.hover(analysis, place) for place in places]
    assert all(hovers) and is_short(hovers)
    hints = features.inlay_hints(analysis, whole)
    assert len(hints) > 5 and is_short([[hint.label, hint.tooltip] for hint in hints])
    details = [symbol.detail for symbol in features.symbols(analysis)]
    assert any(details) and is_short(details)
    proposals = features.completions(analysis, PROGRAM.index(f"apply({LONG}y)") + len("apply("), snippets=True)
    assert any(f"{LONG}y" == item.edit.text for item in proposals)
    assert is_short([[item.label, item.detail, item.documentation] for item in proposals])
