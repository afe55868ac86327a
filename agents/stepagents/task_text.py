"""Tasks as prompts show them: the file without its answer, and programs with the type of each stream."""

from __future__ import annotations

import re
from dataclasses import replace

from stepcore.check.programs import ImplChecker
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.yaml.compose import compose
from stepcore.frontend.yaml.nodes import MapNode, ScalarNode
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import TaskFile
from stepcore.graph.typed import TypedGraph
from stepcore.printing.task import graph_to_impl, impl_lines, impl_to_yaml, task_to_yaml
from stepcore.text.span import Embedded


def task_text(task: TaskFile) -> str:
    """Return the text of a task file without ``impl``: as it was written where possible, else written anew.

    Raises:
        ValueError: the file describes no task.
    """
    if task.spec is None:
        raise ValueError(f"{task.source.path} describes no task")
    text = _without_impl(task.source.text)
    again = read_task(text, task.source.path, dialect=task.dialect)
    # A default size may be in use by the answer alone.
    if again.impl is None and again.spec is not None and replace(again.spec, defaults=task.spec.defaults) == task.spec:
        return text
    # A flow mapping, an anchor inside impl: what the printer writes is the same task.
    return task_to_yaml(task.spec, None, {"test_name": task.test_name, "constraints": task.constraints})


def _without_impl(text: str) -> str:
    """Return ``text`` without the lines from each top-level key ``impl`` up to the next key."""
    root = compose(text).root
    if not isinstance(root, MapNode) or root.flow:
        return text
    starts = [key.span.start for key, _ in root.pairs] + [len(text)]
    for index in reversed(range(len(root.pairs))):
        key = root.pairs[index][0]
        if isinstance(key, ScalarNode) and key.value == "impl":
            begin = text.rfind("\n", 0, starts[index]) + 1
            end = text.rfind("\n", 0, starts[index + 1]) + 1 if starts[index + 1] < len(text) else len(text)
            text = text[:begin] + text[end:]
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def annotated(graph: TypedGraph) -> str:
    """Return a program in its printed form, with the type of each result as a comment."""
    lines = []
    for line, node in impl_lines(graph):
        types = dict.fromkeys(str(graph.streams[index].type) for index in node.outputs) if node is not None else ()
        lines.append(f"{line}  # {', '.join(types)}" if types else line)
    return "\n".join(lines)


def annotated_impl(task: TaskFile, impl: str) -> str:
    """Return ``impl`` with types, or as it stands where it has a finding (types would be missing)."""
    checked = ImplChecker(task).check(Embedded.whole(impl))
    is_wrong = any(found.severity is Severity.ERROR for found in checked.diagnostics)
    if is_wrong or not checked.runnable:
        return impl
    if any(stream.type.is_open for stream in checked.typed.streams):  # whose names are those of streams
        checked = ImplChecker(task).check(Embedded.whole(graph_to_impl(checked.typed)))
    return annotated(checked.typed)


def solved_text(task: TaskFile) -> str:
    """Return a task file with its answer in the form that models are asked for.

    Raises:
        ValueError: the file describes no task, or has no answer.
    """
    if task.impl is None:
        raise ValueError(f"{task.source.path} has no impl")
    return task_text(task) + impl_to_yaml(annotated_impl(task, task.impl.source.text))
