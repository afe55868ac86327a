"""``stepsmith explain`` and ``stepsmith ops``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from stepcore.cli.terminal import EXIT_CLEAN, EXIT_UNUSABLE, colours_wanted, complain, console
from stepcore.findings.codes import CODES
from stepcore.findings.explain import explanation, sections
from stepcore.findings.near import nearest
from stepcore.text.wording import anchor, clipped


def explain(subject: str) -> int:
    """Print the explanation of one code, or one section of the language page."""
    code = subject.strip().upper()
    if code.isdigit():
        code = f"STEP{code}"
    text = explanation(code) if code in CODES else sections().get(anchor(subject.strip()))
    if text is None:
        complain(_unexplained(subject.strip(), code))
        return EXIT_UNUSABLE
    if colours_wanted(sys.stdout):
        from rich.markdown import Markdown

        console().print(Markdown(text))
    else:
        print(text, end="")
    return EXIT_CLEAN


def _unexplained(subject: str, code: str) -> str:
    close = nearest(code, CODES, closed=True) or nearest(anchor(subject), sections(), closed=True)
    hint = f"did you mean {close[0]}?" if close else f"codes run from {min(CODES)} to {max(CODES)}"
    return f"there is no code or section of the language page {clipped(repr(subject), 80)}; {hint}"


def ops(name: str | None, output: str) -> int:
    """Print all operators in one table, or one with its parameters and example."""
    from stepcore.ops import GENERATION_1

    operators, by_name = GENERATION_1.operators, GENERATION_1.by_name
    if name is None:
        if output == "json":
            print(json.dumps([_facts(operator) for operator in operators], indent=2))
        else:
            _print_table(operators)
        return EXIT_CLEAN
    others = {item["name"]: item for item in _others()}
    lowered = {known.lower(): known for known in (*others, *by_name)}
    short = name.removeprefix("step.").lower()
    known = lowered.get(short) or lowered.get(f"fns.{short}")
    if known is None:
        close = nearest(short, lowered)
        hint = f"did you mean {lowered[close[0]]}?" if close else "`stepsmith ops` lists them all"
        complain(f"there is no operator {name!r}; {hint}")
        return EXIT_UNUSABLE
    found = others.get(known)
    facts = _facts(by_name[known]) if found is None else found
    text = _page(facts) if found is None else f"{found['usage']}\n\n{found['summary']}"
    print(json.dumps(facts, indent=2) if output == "json" else text)
    return EXIT_CLEAN


def _others() -> Iterator[dict[str, str]]:
    """Yield what else stands behind ``step.``: types, sizes, markers, ready-made functions."""
    from stepcore.ide import docs, ready_made

    for made in ready_made.FACTORIES:
        usage, summary = ready_made.call_text(made), ready_made.summary(made)
        yield {"name": f"fns.{made}", "usage": usage, "summary": f"Writes an element function: {summary}"}
    for known, (usage, summary) in docs.STEP_NAMES.items():
        if known == "fns":
            rows = (f"  {ready_made.call_text(made):<28} {ready_made.summary(made)}" for made in ready_made.FACTORIES)
            listed = "\n".join(["Element functions, written for the types that they are given:", "", *rows])
            yield {"name": known, "usage": usage, "summary": listed}
        else:
            yield {"name": known, "usage": usage, "summary": summary}


def _facts(operator: Any) -> dict[str, Any]:
    return {
        "name": operator.__name__,
        "aliases": [*operator.aliases, *operator.published],
        "published": [*operator.published],
        "summary": operator.summary,
        "rule": operator.rule,
        "inputs": operator.inputs.text,
        "outputs": operator.outputs.text,
        "details": operator.details,
        "parameters": [
            {
                "name": p.name,
                "kind": operator.calling.kind_text(p),
                "doc": p.doc,
                "common": p in operator.calling.common,
            }
            for p in operator.calling.params
        ],
        "example": operator.example,
    }


def _call(facts: dict[str, Any]) -> str:
    parameters = ", ".join(parameter["name"] for parameter in facts["parameters"] if not parameter["common"])
    return f"{facts['name']}({parameters})"


def _print_table(operators: Any) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("operator", "typing rule", "what it does"):
        table.add_column(heading, overflow="fold")
    for facts in map(_facts, operators):
        table.add_row(*(_escape(text) for text in (_call(facts), facts["rule"], facts["summary"])))
    console().print(table)
    print("\nBesides operators: types (`stepsmith ops Tile`), sizes (`ops dyn`), ready-made functions (`ops fns`).")


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _page(facts: dict[str, Any]) -> str:
    lines = [f"step.{_call(facts)}", "", facts["summary"], "", f"  takes    {facts['inputs']}"]
    lines += [f"  gives    {facts['outputs']}", f"  types    {facts['rule']}"]
    also = [name for name in facts["aliases"] if name not in facts["published"]]
    if also:
        lines.append(f"  also     {', '.join(also)}")
    if facts["published"]:
        lines.append(f"  published as {', '.join(facts['published'])}: read, with a hint and a fix (STEP231)")
    if facts["parameters"]:
        lines += ["", "Parameters"]
        lines += [f"  {p['name']} ({p['kind']}): {p['doc']}" for p in facts["parameters"]]
    if facts["details"]:
        lines += ["", facts["details"]]
    lines += ["", "Example", ""]
    lines += [f"  {line}".rstrip() for line in facts["example"].rstrip("\n").split("\n")]
    return "\n".join(lines)
