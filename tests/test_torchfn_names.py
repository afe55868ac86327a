"""Names of the user's that mean something elsewhere: in PyTorch's graphs, in Python, in delivered files."""

from __future__ import annotations

from pathlib import Path

import pytest

from job_records import function
from quiet import Quiet

CLASS = """\
class model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(8, 8)
        self.kept = torch.nn.ParameterDict({{"class": torch.ones(8), "self": torch.ones(8)}})

    # stepsmith: {first}[4, 8], {second}[4, 8]
    def forward({owner}, {first}, {second}):
        return {owner}.mix({first}) * {owner}.kept["class"] + {second} * {owner}.kept["self"]
"""
CASES = {
    "self": """
# stepsmith: self[4, 8], x[4, 8]
def f(self, x):
    return self * 2 + x
""",
    "self beside keywords": """
# stepsmith: self[4, 8], y[4, 8]
def f(self, /, *, y):
    return self * 2 + y
""",
    "what files import": """
# stepsmith: step[4, 8], Annotated[4, 8]
def torch_(step, Annotated):
    return step - Annotated
""",
    "its own": """
# stepsmith: f[4, 8], f_reference[4, 8]
def f(f, f_reference):
    return f - f_reference
""",
    "a size": """
# stepsmith: x[M, 8]
def M(x):
    return x.sum(0)
""",
    "an element function": """
# stepsmith: x[4, 8]
def fn_add(x):
    return x + 1
""",
    "no letter": """
# stepsmith: x[4, 8]
def _(x):
    return x + 1
""",
    "names of the module": CLASS.format(owner="self", first="MODEL", second="weights"),
    "self is no owner": CLASS.format(owner="this", first="self", second="model"),
    "no module": """
class Box:
    # stepsmith: x[4, 8]
    def forward(self, x):
        return x * 2
""",
    "static": """
class Box:
    # stepsmith: self[4, 8]
    @staticmethod
    def forward(self):
        return self * 2
""",
    "what only is written": """
# stepsmith: x[4, 8], out[4, 8]
def f(x, out):
    out[:] = x * 2
    return out
""",
    "None beside a result": """
# stepsmith: x[4, 8]
def f(x):
    return x * 2, None
""",
}


@pytest.mark.parametrize("case", CASES)
def test_a_program_is_found_and_its_file_holds(case: str, tmp_path: Path) -> None:
    text = f"import torch\n\n\n{CASES[case]}"
    name = next(line.split()[1].split("(")[0].rstrip(":") for line in text.split("\n") if line[:4] in ("def ", "clas"))
    (tmp_path / "file.py").write_text(text)
    order = {"path": str(tmp_path / "file.py"), "text": text, "selector": name, "trusted": True, "solutions": 1}
    found = function(order, Quiet())
    assert found["solved"], found["reason"] or found["unsupported"]
