"""The report of one or more benchmark runs: one HTML file that needs nothing from anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepagents.report.curves import candidates_each, effort_series, seconds_each, system_bars, token_series
from stepagents.report.document import html_document
from stepagents.report.plots import bar_chart, legend, line_chart
from stepagents.report.published import FAIRNESS, SAME_TASKS
from stepagents.report.runs import Attempt, BenchRun
from stepagents.report.summary import by_group, overall, pass_table, seeds
from stepagents.report.svg import element, lines_of, words

_INTERVALS: Final = (
    "Intervals are 95 % Wilson score intervals with tasks as independent units. pass@k is the unbiased estimator of "
    "Chen et al. (2021), averaged over tasks."
)


def report_page(runs: Sequence[BenchRun]) -> str:
    """Return the report of ``runs``, of which there is at least one."""
    title = "Stepsmith benchmark: " + ", ".join(run.label for run in runs)
    return html_document(title, _heading(title, runs), _plots(runs), *(_run(run) for run in runs))


def _heading(title: str, runs: Sequence[BenchRun]) -> str:
    rows = []
    for run in runs:
        total = overall(run)
        cost = f"{total.cost:.2f}" if all(attempt.cost_known for attempt in run.attempts) else "not known"
        facts = [
            run.proposer, f"{total.tasks}", f"{len(seeds(run))}",
            f"{total.solved:.4g}", f"{100 * total.low:.0f}–{100 * total.high:.0f} %", f"{total.input_tokens:,.0f}",
            f"{total.output_tokens:,.0f}", cost, f"{total.seconds:.1f}",
        ]  # fmt: skip
        rows.append([run.label, *facts])
    header = ["run", "proposer", "tasks", "seeds", "solved", "interval", "tokens in", "tokens out", "US$",
              "seconds"]  # fmt: skip
    return element("h1", words(title)) + _table(header, rows, "Means over seeds; seconds are those of all workers.")


def _plots(runs: Sequence[BenchRun]) -> str:
    names = legend([(run.label, style) for style, run in enumerate(runs)])
    most = float(max(overall(run).tasks for run in runs))
    candidates = "candidates (search) or answers (model) for each right program"
    return "".join(
        (
            element("h2", "Tasks solved per system"),
            element("figure", bar_chart("systems", "Share of tasks solved per system", system_bars(runs))),
            _note("Grey: as published. " + SAME_TASKS + " " + FAIRNESS),
            element("h2", "Solved against input tokens"),
            names,
            element(
                "figure",
                line_chart(
                    "tokens", "Tasks solved against input tokens", token_series(runs), "input tokens used so far",
                    "tasks solved", most,
                ),
            ),
            _note("In the order in which results came. The search uses no tokens: its line stands at 0."),
            element("h2", "Effort of solved tasks"),
            names,
            element(
                "figure",
                line_chart(
                    "candidates", "Tasks solved within a number of candidates", effort_series(runs, candidates_each),
                    candidates, "tasks solved", most,
                ),
            ),
            element(
                "figure",
                line_chart(
                    "seconds", "Tasks solved within a time", effort_series(runs, seconds_each), "seconds for the task",
                    "tasks solved", most,
                ),
            ),
            _note(
                "How many tasks are solved with at most so much effort each. A candidate of the search is one operator "
                "applied to data, an answer of a model is a whole program: the two are not the same unit. A model is "
                "not stopped at its first success, so that its answers are divided by the right ones."
            ),
        )
    )  # fmt: skip


def _run(run: BenchRun) -> str:
    groups = [
        [
            part.name, f"{part.tasks}", f"{part.solved:.4g}", f"{part.share:.1%}",
            f"{100 * part.low:.0f}–{100 * part.high:.0f} %", f"{part.candidates:,.0f}", f"{part.input_tokens:,.0f}",
            f"{part.output_tokens:,.0f}", f"{part.seconds:.2f}",
        ]
        for part in by_group(run)
    ]  # fmt: skip
    header = ["group", "tasks", "solved", "share", "interval", "candidates", "tokens in", "tokens out", "seconds"]
    when = run.created[:16].replace("T", " ")
    state = ", interrupted: what was not tried with its whole budget is left out" if run.interrupted else ""
    settings = ", ".join(f"{name}: {value}" for name, value in run.settings.items() if value is not None)
    return "".join(
        (
            element("h2", words(run.label)),
            _note(f"Stepsmith {run.version}, {when} UTC{state}. {settings}."),
            _table(header, groups, f"By group; means over {len(seeds(run))} seeds.", last_is_sum=True),
            _passes(run),
            element("details", element("summary", "Every task"), *_tasks(run)),
        )
    )


def _passes(run: BenchRun) -> str:
    sample = "one answer of the model" if run.of_a_model else "one search with its own seed"
    rows = [
        [f"{row.k}", f"{row.value:.1%}", f"{100 * row.low:.0f}–{100 * row.high:.0f} %", f"{row.tasks}"]
        for row in pass_table(run)
    ]
    caption = f"pass@k; a sample is {sample}. {_INTERVALS}"
    if run.settings.get("repair rounds"):
        caption += " Answers of repair rounds count as samples, although they depend on the answers before them."
    return _table(["k", "pass@k", "interval", "tasks"], rows, caption)


def _tasks(run: BenchRun) -> list[str]:
    rows = []
    for attempt in sorted(run.attempts, key=lambda item: (item.task, item.path, item.seed)):
        rows.append(
            [
                attempt.task, f"{attempt.seed}", "yes" if attempt.solved else "no", f"{attempt.candidates:,}",
                f"{attempt.input_tokens:,}", f"{attempt.output_tokens:,}", f"{attempt.seconds:.2f}",
                attempt.reason or _outcomes(attempt),
            ]
        )  # fmt: skip
    header = ["task", "seed", "solved", "candidates", "tokens in", "tokens out", "seconds", "how it ended"]
    shortest: dict[str, Attempt] = {}
    for attempt in run.attempts:
        known = shortest.get(attempt.path)
        if attempt.impl and (known is None or len(attempt.impl) < len(known.impl)):
            shortest[attempt.path] = attempt
    programs = [
        element("h3", words(found.task)) + element("pre", lines_of(found.impl))
        for found in sorted(shortest.values(), key=lambda item: (item.task, item.path))
    ]
    return [_table(header, rows, text_columns={7}), *programs]


def _outcomes(attempt: Attempt) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in sorted(attempt.outcomes.items(), key=lambda x: -x[1]))


def _note(text: str) -> str:
    return element("p", words(text), class_="note")


def _table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    *,
    last_is_sum: bool = False,
    text_columns: set[int] | None = None,
) -> str:
    """Return a table; the first column holds the names of the rows, numbers are aligned to the right."""
    texts = text_columns or set()
    head = "".join(
        element("th", words(name), scope="col", class_="text" if i in texts else None) for i, name in enumerate(header)
    )
    lines = []
    for number, row in enumerate(rows):
        cells = [element("th", words(row[0]) or " ", scope="row")]
        cells += [
            element("td", words(cell) or " ", class_="text" if i in texts else None)
            for i, cell in enumerate(row[1:], 1)
        ]
        is_sum = last_is_sum and number == len(rows) - 1
        lines.append(element("tr", *cells, class_="all" if is_sum else None))
    told = element("caption", words(caption)) if caption else ""
    table = element("table", told, element("thead", element("tr", head)), element("tbody", "".join(lines) or " "))
    return element("div", table, class_="wide")
