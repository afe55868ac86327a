"""Texts for the fuzzing of the frontends: two good files, and many that are made to hurt."""

from __future__ import annotations

PYTHON = """\
from typing import Annotated
import stepcore as step
from stepcore.dims import K, M, N

@step.fn(input=step.Buffer(step.f32, [K]), output=step.Buffer(step.f32, [K]), init=[0])
def add(state, input):
    return [state[0] + input[0]]

class Neg(step.Fn):
    def __init__(self):
        super().__init__("Neg", step.f32, step.f32)
    def apply(self, input):
        return [-input[0]]

@step.program(dims={M: 5, "N": 7})
def rows(
    E0: Annotated[step.Stream, step.f32, (K, M, N)], *, W: Annotated[step.Param, step.f32, (K,)]
) -> Annotated[step.Stream, step.Buffer(step.f32, [K]), (N,)]:
    E1 = [step.Bufferize(a=1).apply(x) for x in (E0, E0)]
    for i, f in enumerate([add]):
        if E0.ctx[M] > 3 and i == 0:
            E2 = step.Accum(fn=f, b=1).apply(E1[0])
        else:
            E2 = step.Accum(fn=add, b=1).apply(E1[0])
    return E2  # stepsmith: ignore[STEP103]
"""
YAML = """\
test_name: rows
global: |
  D_value = 4
  ctx[D] = D_value
inputs:
- {name: E0, dtype: "Buffer(fp32, [K])", dims: [M, N], data_gen: torch.randn}
- {name: E1, dtype: "Multihot(fp32, D)", dims: [N], min: 0, max: 2}
parameters: []
fns:
- name: Sum
  func_name: fn_sum
  init: [0]
  input_dtype: Buffer(fp32, [K])
  output_dtype: Buffer(fp32, [K])
  apply: |
    return [state[0] + input[0]]
outputs:
- name: S0
  dtype: Buffer(fp32, [K])
  dims: [N]
  data_transform:
  - |
    input_data['E0'].sum(1)
impl: |
  A, B = step.Copy().apply(E0)  # 😀
  return step.Accum(fn=fn_sum, b=1).apply(A)
"""


def python_body(*lines: str) -> tuple[str, str]:
    head = PYTHON[: PYTHON.index("    E1 = [")]
    return "file.py", head + "".join(f"    {line}\n" for line in "\n".join(lines).split("\n"))


def task_body(*lines: str) -> tuple[str, str]:
    head = YAML[: YAML.index("  A, B = ")]
    return "task.step.yaml", head + "".join(f"  {line}\n" for line in "\n".join(lines).split("\n"))


def hurtful() -> dict[str, tuple[str, str]]:
    twice = "x = step.Identity().apply(x)"
    bodies: dict[str, list[str]] = {
        "parentheses": ["return " + "(" * 10_000 + "E0" + ")" * 10_000],
        "open parentheses": ["return " + "(" * 10_000],
        "lists": ["x = " + "[" * 2000 + "E0" + "]" * 2000, "return x"],
        "lists that parse": ["x = " + "[" * 150 + "E0" + "]" * 150, "return x"],
        "minus": ["x = " + "-" * 5000 + "1", "return E0"],
        "sum": ["x = " + "+".join(["1"] * 5000), "return E0"],
        "attributes": ["x = E0" + ".a" * 5000, "return E0"],
        "calls": ["x = E0" + "()" * 3000, "return E0"],
        "strings": ["x = " + "'a' " * 20_000, "return E0"],
        "huge integer": ["x = " + "9" * 4000, "y = x * x * x", "return E0"],
        "too huge integer": ["x = " + "9" * 10_000, "return E0"],
        "huge range": ["for i in range(10**9):", "    pass", "return E0"],
        "huge list": ["x = [0] * 10**9", "y = 'x' * 10**9", "return E0"],
        "power": ["x = 10**10**10", "return E0"],
        "towers": ["x = 2", *["x = x**x"] * 20, "return E0"],
        "powers in a loop": ["for i in range(4000):", "    x = (2**4000)**4000", "return E0"],
        "recursion": ["def f(x):", "    return f(x)", "return f(E0)"],
        "mutual recursion": [
            "def f(x):",
            "    return g(x) + g(x)",
            "def g(x):",
            "    return f(x) + f(x)",
            "return f(E0)",
        ],
        "tree of helpers": [
            "def f0(x):",
            "    return x",
            *[f"def f{i}(x):\n    return f{i - 1}(f{i - 1}(x))" for i in range(1, 35)],
            "return f34(E0)",
        ],
        "doubling list": ["xs = [1]", "for i in range(100):", "    xs = xs + xs", "return E0"],
        "extending list": ["xs = [1]", "for i in range(100):", "    xs += xs", "return E0"],
        "extend": ["xs = [1]", "for i in range(100):", "    xs.extend(xs)", "return E0"],
        "doubling text": ["s = 'a'", "for i in range(100):", "    s = f'{s}{s}'", "return E0"],
        "doubling tuple": ["t = (E0, E0)", "for i in range(60):", "    t = (t, t)", "return t"],
        "doubling tuple in a branch": [
            "t = (1, 1)",
            "for i in range(60):",
            "    t = (t, t)",
            "if W:",
            "    pass",
            "return E0",
        ],
        "list in itself": ["xs = [E0]", "xs.append(xs)", "return xs"],
        "list in itself in a branch": ["xs = [E0]", "xs.append(xs)", "if W:", "    xs = [xs]", "return E0"],
        "endless while": ["while True:", "    pass", "return E0"],
        "while that makes streams": ["x = E0", "while True:", f"    {twice}", "return x"],
        "nested loops": [
            "for a in range(4000):",
            "    for b in range(4000):",
            "        for c in range(4000):",
            "            pass",
        ],
        "nested comprehensions": [
            "x = [a for a in range(4000) for b in range(4000) for c in range(4000)]",
            "return E0",
        ],
        "one stream 4000 times": ["x = [step.Identity().apply(E0) for i in range(4000)]", "return x"],
        "one stream 4000 times by hand": [*["step.Identity().apply(E0)"] * 4000, "return E0"],
        "many loops": [*["for i in range(2): step.Identity().apply(E0)"] * 60, "return E0"],
        "crossing conditions": [
            "a, b = E0, step.Identity().apply(E0)",
            *["a, b = (a if W else b), (b if W else a)"] * 40,
            "return a",
        ],
        "many conditions": [*["if W:\n    x = step.Identity().apply(E0)\nelse:\n    x = E0"] * 60, "return x"],
        "nested ifs": ["".join("  " * i + "if W:\n    " for i in range(90)) + "  " * 90 + "pass", "return E0"],
        "squares of sizes": ["x = M + N + K", *["x = x * x"] * 12, "return step.Repeat(n=x).apply(E0)"],
        "divisions of sizes": ["x = M", *["x = (x + 1) // (x + 2)"] * 40, "return step.Repeat(n=x).apply(E0)"],
        "deep division": ["x = M", *["x = (x + 1) // 2"] * 3000, "return step.Repeat(n=x).apply(E0)"],
        "repeats": ["x = E0", *["x = step.Repeat(n=2**39).apply(x)"] * 50, "return x"],
        "promotes": ["x = E0", "for i in range(3000):", "    x = step.Promote(b=0).apply(x)", "return x"],
        "partition": ["x = step.Partition(N=10**9).apply((E0, E1))", "return x"],
        "partitions": ["x = [step.Partition(N=1000).apply((E0, E1)) for i in range(1000)]", "return x"],
        "long line": ["x = [" + ", ".join(["E0"] * 20_000) + "]", "return x"],
        "long broken line": ["x" * 5000 + " y" * 5000 + " = = 1", "return E0"],
        "many names": [", ".join(["x"] * 5000) + " = ", "return E0"],
        "long name": ["x" * 100_000 + " = E0", "return " + "x" * 100_000],
        "lambdas": ["f = " + "lambda: " * 80 + "E0", "return f" + "()" * 80],
        "odd insert": ["xs = [E0]", "xs.insert(10**30, E0)", "xs.pop(10**30)", "return xs[10**30:]"],
        "odd slices": ["xs = [E0][::-10**30]", "xs[0] = xs", "return E0[1:2:3]"],
        "odd numbers": [
            "x = 1 // 0, 1 % 0, 0 ** -1, 1e308 * 10, 1e308 ** 2",
            "x = 1j, 1.5 * M, M % 2, M ** 2, ~M",
            "return E0",
        ],
        "odd calls": [
            "range(); range(1, 2, 0); zip(1); enumerate(); len()",
            "min([]); max(E0); int('x'); sum(1); abs([])",
            "return E0",
        ],
        "odd comparisons": ["x = (E0 < 1) + (E0 in 3) + (not E0) + (E0 is None) + ([E0] == [E0])", "return E0"],
        "odd targets": ["E0.x = 1", "E0[0] = 1", "[a, *b, *c] = [E0]", "del E0", "global E0", "return E0"],
    }
    texts: dict[str, tuple[str, str]] = {}
    for name, lines in bodies.items():
        texts[f"python {name}"] = python_body(*lines)
        texts[f"task {name}"] = task_body(*lines)
    return texts


def hurtful_files() -> dict[str, tuple[str, str]]:
    task, py = "task.step.yaml", "file.py"
    return {
        "unclosed blocks": (py, "import stepcore as step\n" + "x = (\n" * 3000),
        "unclosed strings": (py, "import stepcore as step\n" + 'x = """\n' * 3001),
        "broken lines": (py, "import stepcore as step\n" + "x = = 1\n" * 3000),
        "decorators": (py, "import stepcore as step\n" + "@step.program()\n" * 3000),
        "broken programs": (py, PYTHON + (PYTHON[PYTHON.index("@step.program") :].replace(") ->", " ->")) * 60),
        "comments": (py, "import stepcore as step\n" + "# stepsmith: ignore[STEP101]\n" * 2000),
        "flow": (task, "inputs: " + "[" * 5000),
        "flow mappings": (task, "inputs: " + "{a: " * 3000),
        "aliases": (task, "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(60)) + YAML),
        "merge keys": (task, "inputs:\n- &a {name: E0, <<: *a}\n- {<<: [*a, *a]}\n"),
        "sizes": (task, YAML.replace("dims: [M, N]", f"dims: [{'(' * 500}M{')' * 500}, {'(M+N)*' * 60}1]")),
        "types": (task, YAML.replace('"Buffer(fp32, [K])", dims', f'"{"Buffer(" * 300}fp32{", [K])" * 300}", dims')),
        "divided sizes": (task, YAML.replace("dims: [M, N]", "dims: [M//0, N//(N-N)]")),
        "documents": (task, "---\n" * 3000 + YAML),
        "keys": (task, "".join(f"key{i}: 1\n" for i in range(3000)) + YAML),
        "same keys": (task, YAML + "test_name: x\n" * 2000),
        "tags": (task, "impl: !!python/object/apply:os.system ['x']\n" + YAML),
        "escapes": (task, 'test_name: "\\UFFFFFFFF \\ud800 \\x0"\n' + YAML),
        "anchors": (task, "test_name: &\n" + YAML),
        "folded impl": (task, YAML.replace("impl: |", "impl: >")),
        "quoted impl": (task, YAML[: YAML.index("impl")] + 'impl: "A = step.Zip().apply((E0, E0))\\nreturn A"\n'),
        "indented impl": (task, YAML.replace("impl: |", "impl: |4")),
    }  # fmt: skip
