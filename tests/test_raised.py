"""What exceptions of users say: to write it never fails, whatever they are; and what they replace in PyTorch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from stepcore.cli import main
from stepcore.findings.errors import SimError
from stepcore.jobs import JobError
from stepcore.sim.torch_settings import settings_kept
from stepcore.sim.worker.imports import guarded_reference, import_module
from stepcore.text.raised import told, trace_of
from stepcore.text.wording import class_name, what_is

EXAMPLES = Path(__file__).parent.parent / "examples"
# Bodies of `class E(BASE)`, each with what its text is to hold.
HOSTILE = {
    "__str__ raises": ("Exception", "def __str__(self): raise E()", "E"),
    "__str__ ends the process": ("Exception", "def __str__(self): raise SystemExit(3)", "E"),
    "__str__ gives no text": ("Exception", "def __str__(self): return 3", "E"),
    "__str__ never ends": ("Exception", "def __str__(self): return str(self)", "E"),
    "__repr__ raises": ("Exception", "def __repr__(self): raise E()", "E: x"),
    "the text is huge": ("Exception", "def __str__(self): return 'w' * 10**7", "E: www"),
    "the text is no plain one": (
        "Exception",
        "def __str__(self):\n        class S(str):\n            def __format__(self, _): raise E()\n"
        "            def __len__(self): raise E()\n            def __getitem__(self, _): raise E()\n"
        "        return S('said')",
        "E: said",
    ),
    "__class__ raises": ("Exception", "__class__ = property(lambda self: 1 / 0)", "E: x"),
    "it claims to be another": ("Exception", "__class__ = SystemExit", "E: x"),
    "the class has no name": ("Exception, metaclass=Meta", "pass", "E: x"),
    "its notes raise": ("Exception", "__notes__ = property(lambda self: 1 / 0)", "E: x"),
    "its code raises": ("SystemExit", "code = property(lambda self: 1 / 0)", "ends the process (SystemExit: x)"),
    "its line is none": ("SyntaxError", "lineno = filename = msg = property(lambda self: 1 / 0)", "E: x"),
}
TEXT = """
class Meta(type):
    __name__ = property(lambda cls: 1 / 0)
class E({}):
    {}
def f(x):
    raise E("x")
"""


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("cause", ["", "cause", "context"])
def test_the_text_of_an_exception_can_always_be_written(case: str, cause: str) -> None:
    base, body, wanted = HOSTILE[case]
    text = TEXT.format(base, body)
    if cause == "cause":
        text = text.replace('raise E("x")', 'raise E("x") from E("y")')
    elif cause == "context":
        text = text.replace('raise E("x")', 'try: raise E("y")\n    except BaseException: raise E("x")')
    module = import_module("a.py", text)
    with pytest.raises(SimError) as found:
        guarded_reference(module.f, "a.py")(torch.ones(1))
    line = len(text.rstrip().splitlines())
    assert found.value.message.startswith(f"the reference failed: line {line}: ")
    assert wanted in found.value.message
    assert len(found.value.message) < 5000

    with pytest.raises(JobError) as refused:
        import_module("a.py", text + "f(1)\n")
    assert wanted in refused.value.message
    cause_of = refused.value.__cause__
    assert cause_of is not None
    assert class_name(cause_of) == "E"
    assert trace_of(cause_of)


def test_what_an_exception_without_words_says() -> None:
    assert told(ValueError("no rows")) == "ValueError: no rows"
    assert told(ValueError()) == "ValueError"


REPLACED = {
    "torch.Tensor.__eq__": "torch.Tensor.__eq__ = lambda a, b: True",
    "torch.Tensor.abs": "torch.Tensor.abs = lambda a: a * 0",
    "torch.allclose": "torch.allclose = lambda *a, **k: True",
    "torch.isclose": "torch.isclose = lambda *a, **k: torch.ones(1)",
    "torch.where": "torch.where = torch.add",
    "torch.nn.functional.relu": "torch.nn.functional.relu = lambda x: x",
    "torch.float64": "torch.float64 = torch.float32",
    "math.isnan": "import math; math.isnan = lambda x: False",
    "torch.add": "del torch.add",
}


@contextmanager
def untouched() -> Iterator[None]:
    def seen() -> list[object]:
        return [torch.allclose, torch.isclose, torch.where, torch.nn.functional.relu, torch.float64, math.isnan,
                torch.add, torch.Tensor.__eq__, torch.Tensor.abs]  # fmt: skip

    before = seen()
    yield
    assert all(one is other for one, other in zip(seen(), before, strict=True))
    assert "__eq__" not in vars(torch.Tensor)


@pytest.mark.parametrize("name", REPLACED)
def test_a_file_that_replaces_functions_of_pytorch_is_told_so(name: str) -> None:
    with untouched(), pytest.raises(JobError) as found:
        import_module("a.py", f"import torch\n{REPLACED[name]}\n")
    assert found.value.code == "STEP408"
    assert f"line 2: the file replaces {name}, with which results" in found.value.message
    assert found.value.detail is not None
    assert found.value.detail["line"] == 2
    assert "give your function another name" in found.value.message

    module = import_module("a.py", f"import torch\ndef f(x):\n    {REPLACED[name]}\n    return x\n")
    with untouched(), pytest.raises(SimError, match=f"the reference failed: line 3: the file replaces {name},"):
        guarded_reference(module.f, "a.py")(torch.ones(1))


def test_what_replaces_a_function_by_its_name_or_in_a_helper_has_a_line_as_well() -> None:
    with untouched(), pytest.raises(JobError, match=r"line 3: the file replaces torch\.add"):
        import_module("a.py", "import torch\nx = 1\nsetattr(torch, 'add', torch.mul)\n")
    module = import_module(
        "a.py", "import torch\ndef g():\n    torch.add = torch.mul\ndef f(x):\n    g()\n    return x\n"
    )
    with untouched(), pytest.raises(SimError, match=r"line 3: the file replaces torch\.add"):
        guarded_reference(module.f, "a.py")(torch.ones(1))
    with untouched(), pytest.raises(JobError, match=r"imported: the file replaces torch\.add"):
        import_module("a.py", "import torch\nfor n in ['a' + 'dd'.lower()]:\n    setattr(torch, n, torch.mul)\n")


@pytest.mark.parametrize("name", REPLACED)
def test_an_error_behind_it_is_told_instead(name: str) -> None:
    with untouched(), pytest.raises(JobError, match="line 3: ZeroDivisionError"):
        import_module("a.py", f"import torch\n{REPLACED[name]}\n1 / 0\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda: setattr(torch.Tensor, "of_mine", lambda self: self),
        lambda: setattr(torch, "of_mine", 3),
        lambda: __import__("torch._dynamo"),
    ],
)
def test_what_replaces_nothing_is_none_of_it(change: Callable[[], Any]) -> None:
    with settings_kept():
        change()
    for space in (torch, torch.Tensor):
        if hasattr(space, "of_mine"):
            delattr(space, "of_mine")


@pytest.mark.parametrize(
    ("head", "body", "said"),
    [
        ("class E(Exception):\n    def __str__(self): raise E()\n", "raise E('x')", r"failed: line \d+: E "),
        (
            "torch.Tensor.__eq__ = lambda a, b: True\n",
            "return x.sum(1)",
            r"line \d+: the file replaces torch.Tensor.__eq",
        ),
        ("", "torch.isclose = torch.ones", r"line \d+: the file replaces torch.isclose, "),
    ],
)
@pytest.mark.parametrize("is_script", [False, True])
def test_verify_tells_it_as_a_failure_of_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, head: str, body: str, said: str, is_script: bool
) -> None:
    if is_script:
        call = body.removeprefix("return ")
        program = f"def test_it():\n    x = torch.ones(2, 2)\n    assert x.sum() == 4\n    {call}\n"
        stream = 'E0 = step.Stream("E0", step.f32, 0, [3])\nE0.ctx = {}\nE0.data = [torch.ones(3)]\n'
        program = f"import torch\nimport stepcore as step\n{stream}{head}{program}"
    else:
        program = (EXAMPLES / "sum_rows.py").read_text().replace("    return x.sum(1)\n", f"    {body}\n")
        program = program.replace("import torch\n", f"import torch\n{head}")
    file = tmp_path / "a.py"
    file.write_text(program)
    assert main(["verify", str(file)]) == 1
    found = " ".join(capsys.readouterr().out.split())
    assert "STEP911" not in found
    assert re.search(said, found), found


@pytest.mark.parametrize(
    "body",
    [
        "def __repr__(self): raise E()",
        "def __repr__(self): raise SystemExit(3)",
        "def __repr__(self): return repr(self)",
        "__class__ = property(lambda self: 1 / 0)",
        "__name__ = property(lambda self: 1 / 0)",
        "__call__ = __name__ = property(lambda self: 1 / 0)",
    ],
)
def test_what_a_value_is_can_always_be_written(body: str) -> None:
    scope: dict[str, Any] = {}
    exec(TEXT.format("Exception", body).replace("class E(Exception)", "class E"), scope)
    made = scope["E"].__new__(scope["E"])
    assert what_is(made) == "an object of E"
    assert what_is([made]) == "a list of 1"


def test_what_a_list_is_that_will_not_be_counted() -> None:
    class L(list[int]):
        def __len__(self) -> int:
            raise ValueError

    assert what_is(L()) == "an object of L"
