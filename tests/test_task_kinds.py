"""A task of generation 2 in which one value is of a wrong kind: one clear message at its place, and nothing hangs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from ruamel.yaml import YAML

from stepcore.check.files import check_text
from stepcore.findings.diagnostics import Diagnostic, Severity

TASK: Final = """\
test_name: all
global: |
  D = 4
sizes:
  "?L": {min: 0, max: 5}
  "~K": {values: [3, 0, 2]}
inputs:
- {name: x, dtype: "Tile(fp32, [2, D])", dims: ["?L"], data_gen: torch.rand}
- {name: n, dtype: int64, dims: ["~K", 3], min: 0, max: 4}
- {name: b, dtype: "Buffer(Tile(fp32, [2, D]), [K])", dims: [M]}
- {name: way, dtype: "Multihot(fp32, 2)", dims: [M], data_gen: binary, min: 1, max: 1}
parameters:
- {name: w, dtype: fp32, dims: [D, 8]}
- {name: y, dtype: fp32, dims: [D, 8], written: true}
fns:
- name: double
  func_name: double
  input_dtype: "Tile(fp32, [_R, D])"
  output_dtype: "Tile(fp32, [_R, D])"
  apply: |
    return [input[0] * 2]
- name: total
  func_name: total
  init: [0]
  input_dtype: int64
  output_dtype: int64
  apply: |
    return [state[0] + input[0]]
outputs:
- {name: S0, dtype: "Tile(fp32, [2, D])", dims: ["?L"], data_transform: ["input_data['x'] * 2"]}
- {name: S1, dtype: int64, dims: [3], data_transform: ["torch.stack([each.sum() for each in input_data['n']])"]}
- {name: S2, dtype: "Buffer(Tile(fp32, [2, D]), [K])", dims: [1, M], data_transform: ["input_data['b'][:, None]"]}
- {name: S3, memory: y, dtype: fp32, dims: [D, 8], data_transform: ["input_data['w']"]}
impl: |-
  step.LinearOffChipStore(tensor=y).apply(step.LinearOffChipLoad(tensor=w, tile=[2, D]).apply())
  a, c = step.Copy().apply(way)
  p, q = step.Partition(N=2).apply((b, a))
  both = step.Reassemble(onehot=True).apply(([p, q], c))
  return step.Map(fn=double).apply(x), step.Accum(fn=total, b=1).apply(n), both
"""
WRONG: Final[dict[str, Any]] = {
    "null": None, "list": [], "negative": -1, "huge": 10**30, "mapping": {"a": {"b": 1}}, "nested": [[[[1]]]],
    "ragged": "~K", "name": "~", "tile": "Tile(fp32, [?L, ~K])", "long": "x" * 5000,
}  # fmt: skip
# An empty list is right by itself, and what it leaves out is missed in several places; so is the state of a function.
TAKES_MORE: Final = ("inputs", "parameters", "parameters/1/dims", "fns", "fns/1/init")


def values(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a task, but for bodies and references, which have tests of their own."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key not in ("impl", "apply", "data_transform", "global"):
            yield (*path, key)
            yield from values(value, (*path, key))


def as_text(task: Any) -> str:
    out, yaml = io.StringIO(), YAML(typ="safe", pure=True)
    yaml.width, yaml.default_flow_style = 100_000, False
    yaml.dump(task, out)
    return out.getvalue()


PLAIN: Final = json.loads(json.dumps(YAML(typ="safe", pure=True).load(TASK)))


def named(path: tuple[Any, ...]) -> str:
    return "/".join(map(str, path))


def with_value(path: tuple[Any, ...], value: Any) -> str:
    task = json.loads(json.dumps(PLAIN))
    inner = task
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return as_text(task)


def errors(text: str) -> list[Diagnostic]:
    return [found for found in check_text(text, "a.step.yaml").diagnostics if found.severity is Severity.ERROR]


def test_the_task_itself_is_right() -> None:
    assert errors(TASK) == errors(as_text(PLAIN)) == []


@pytest.mark.parametrize("path", list(values(PLAIN)), ids=named)
def test_each_value_of_a_wrong_kind_is_told_at_its_place(path: tuple[Any, ...]) -> None:
    several = {}
    for name, value in WRONG.items():
        text = with_value(path, value)
        found = errors(text)
        assert all(0 <= each.span.start <= each.span.end <= len(text) for each in found)
        if len(found) > 1:
            several[name] = [each.message[:120] for each in found]
    kinds = {"null", "list", "nested"} & several.keys()
    assert not kinds or named(path) in TAKES_MORE, {name: several[name] for name in kinds}
