"""What is done to start quickly changes nothing that can be observed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.suites.check import generation2_file, python_file
from benchmarks.suites.editor import broken
from lsp_client import ROOT
from processes import PATIENCE

LIBRARIES = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "server")))}
# What a class can do, and what some values look like and equal.
DESCRIBE = """
import attrs, inspect, typing
from lsprotocol import types, converters
made = [item for item in vars(types).values() if inspect.isclass(item) and attrs.has(item)]
print(len(made))
for item in made:
    fields = [(field.name, field.default, field.kw_only, field.eq, field.repr) for field in attrs.fields(item)]
    print(item.__qualname__, fields, item.__match_args__, item.__slots__, item.__hash__ is None)
    print(inspect.signature(item), typing.get_type_hints(item))
    print([getattr(attrs.fields(item), field.name) is field for field in attrs.fields(item)])
    print(sorted(attrs.fields_dict(item)), hasattr(attrs.fields(item), 'nothing'))
place = types.Position(1, 2)
area = types.Range(place, types.Position(3, 4))
found = types.Diagnostic(area, 'wrong', code='STEP101', data={'a': [1]})
for value in (place, area, found, types.Hover('text'), types.PublishDiagnosticsParams('uri', [found], 3)):
    print(repr(value), value == attrs.evolve(value), value != attrs.evolve(value), value == 1)
    print(converters.get_converter().unstructure(value))
print(found == attrs.evolve(found, message='else'), place < area.end, area == types.Range(place, place))
try:
    print(hash(found))
except TypeError as error:
    print(error)
"""


def output(script: str) -> str:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=LIBRARIES, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


def test_quickly_made_types_are_like_all_others() -> None:
    quick = output(
        "import attrs; define = attrs.define\n"
        "from stepserver.quick_types import load_types; load_types(); load_types()\n"
        "assert attrs.define is define\n" + DESCRIBE
    )
    ordinary = output(DESCRIBE)
    assert len(ordinary.splitlines()) > 1_000
    assert quick == ordinary


def test_quickly_made_types_keep_no_names_of_their_module() -> None:
    names = output(
        "from stepserver.quick_types import load_types; load_types()\n"
        "import attrs, inspect, linecache\nfrom lsprotocol import types\n"
        "made = [item for item in vars(types).values() if inspect.isclass(item) and attrs.has(item)]\n"
        "print(max(len(item.__init__.__globals__) for item in made), [x for x in linecache.cache if 'lsprotocol' in x])"
    )
    count, _, lines = names.partition(" ")
    assert int(count) < 50  # the module has more than 600
    assert lines.strip() == "[]"


def test_the_server_starts_with_them_and_without_garbage_collection() -> None:
    script = (
        "import gc, sys, types\n"
        "start = types.ModuleType('stepserver.start')\n"
        "start.serve = lambda port: print(port, gc.isenabled(), 'lsprotocol.types' in sys.modules) or 7\n"
        "import stepserver\nstepserver.start = sys.modules['stepserver.start'] = start\n"
        "from stepserver.__main__ import main\nsys.argv = ['stepserver']\nprint(main())\n"
        "from lsprotocol.types import Hover\nprint(Hover.__repr__.__module__)"
    )
    assert output(script).split() == ["None", "False", "True", "7", "stepserver.quick_types"]


@pytest.mark.parametrize(
    "text", [broken(python_file(60)), broken(generation2_file(60))], ids=["generation 1", "generation 2"]
)
def test_the_first_findings_import_nothing(text: str) -> None:
    script = (
        "import sys\nfrom lsprotocol import types\nfrom stepserver import preload\nfrom stepserver.app import Server\n"
        "server = Server()\n"
        "about = types.InitializeParams(capabilities=types.ClientCapabilities())\n"
        "server.parts.workspace.initialize(about)\n"
        "preload.first(server.parts, server.protocol)\nfrom stepcore.ide.analysis import analyze\n"
        f"before = set(sys.modules)\nfound = analyze({text!r}, 'programs.py').diagnostics\n"
        "print(*[item.code for item in found], *(sys.modules.keys() - before))"
    )
    assert output(script).split() == ["STEP101", "STEP208"]
