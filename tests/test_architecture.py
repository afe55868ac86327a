"""The rules of the house: imports point one way, checking loads no torch, nothing is executed or undocumented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from inspect import get_annotations
from pathlib import Path

import pytest

from import_graph import MODULES as ALL_MODULES
from import_graph import Edge, edges, edges_of
from source_trees import executed, tree_with
from stepcore.findings.codes import CODES
from stepcore.ops import OPERATORS
from stepcore.ops.base import Operator, ParamKind

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "stepcore"

# From the lowest layer up. A group (a name of this table) may import lower layers and its own modules.
LAYERS: list[list[str]] = [
    ["version", "system", "records"],
    ["text"],
    ["jobdata"],
    ["findings"],
    ["sizes", "timing"],
    ["dims", "types", "settings"],
    ["open_types"],
    ["fn"],
    ["chips", "ops"],
    ["graph"],
    ["costs", "printing"],
    ["frontend"],
    ["check"],
    ["gate", "cycles"],
    ["conversion", "reports", "rewrites"],
    ["ide"],
    ["surface"],
    [""],  # ``stepcore`` itself: what scripts import
    ["isolation"],
    ["jobs"],
    ["sim", "timer"],
    ["cli"],
]
# What lies directly in the root, besides the packages.
LOOSE = {"__init__", "dims", "records", "types", "version"}
# Upward only when somebody asks: running an operator or a program that carries data loads the simulator then.
DOORS = {("surface.stream", "sim"), ("surface.applying", "sim"), ("surface.program", "sim")}
# The only packages that simulation needs, and the only place that may load them.
HEAVY = {"torch", "numpy"}
NEVER = {"pygls", "lsprotocol", "openai", "anthropic", "sympy", "requests", "httpx"}


MODULES = {name: path for name, path in ALL_MODULES.items() if name.split(".")[0] == "stepcore"}


def run_only(found: Iterable[Edge]) -> list[Edge]:
    """Leave out what only type checkers follow."""
    return [edge for edge in found if edge.when != "types"]


def imports_of(module: str, text: str) -> list[Edge]:
    return run_only(edges_of(module, text))


@cache
def imports() -> list[Edge]:
    """Return the imports of all modules of stepcore."""
    return run_only(edge for edge in edges() if edge.module in MODULES)


def group(module: str) -> str:
    """Return the name under which a module of stepcore stands in the table."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def layer(name: str) -> int:
    return next(index for index, names in enumerate(LAYERS) if name in names)


def wrong_direction(found: list[Edge]) -> list[str]:
    """Return the imports that point up, or sideways into another group of the same layer."""
    wrong = []
    for item in found:
        if item.target.split(".")[0] != "stepcore":
            continue
        here, there = group(item.module), group(item.target)
        is_door = item.when == "call" and (item.module.removeprefix("stepcore."), there) in DOORS
        if here == there or layer(there) < layer(here) or is_door:
            continue
        wrong.append(f"{item.module}:{item.line} imports {item.target}")
    return wrong


def test_every_module_has_a_layer() -> None:
    named = [name for names in LAYERS for name in names]
    assert len(named) == len(set(named))
    assert {group(module) for module in MODULES} == set(named)


def test_the_root_holds_packages() -> None:
    """What belongs together lies together: a new module finds its package."""
    assert {path.stem for path in PACKAGE.glob("*.py")} == LOOSE


def begin_alike(names: Iterable[str]) -> dict[str, list[str]]:
    """Return names of modules in one folder of which three or more begin with the same word."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        found.setdefault(name.split("_")[0], []).append(name)
    return {word: alike for word, alike in found.items() if len(alike) > 2}


def test_folders_and_not_prefixes_say_what_belongs_together() -> None:
    """Operators have a file of their name each, and only those."""
    folders: dict[Path, list[str]] = {}
    for path in ALL_MODULES.values():
        folders.setdefault(path.parent, []).append(path.stem)
    assert len(folders) > 50
    found = {folder: begin_alike(names) for folder, names in folders.items() if folder != PACKAGE / "ops"}
    assert {folder: alike for folder, alike in found.items() if alike} == {}
    assert begin_alike(["yaml", "yaml_blocks", "yaml_keys", "tasks"]) == {"yaml": ["yaml", "yaml_blocks", "yaml_keys"]}


def test_imports_point_one_way() -> None:
    assert wrong_direction(imports()) == []


def test_the_direction_test_would_notice() -> None:
    text = "def f():\n    from stepcore.check import check_text\n"
    assert wrong_direction(imports_of("stepcore.ops.map", text)) == ["stepcore.ops.map:2 imports stepcore.check"]
    assert wrong_direction(imports_of("stepcore.sim.lazy", text)) == []
    door = "def f():\n    import stepcore.sim.eager\n"
    assert wrong_direction(imports_of("stepcore.surface.stream", door)) == []
    assert wrong_direction(imports_of("stepcore.surface.stream", "import stepcore.sim.eager\n")) != []


def test_there_are_no_cycles_between_modules() -> None:
    """Inside a group too; an import in a function counts, because it usually hides a cycle."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for item in imports():
        is_door = (item.module.removeprefix("stepcore."), group(item.target)) in DOORS
        if item.target in MODULES and item.target != item.module and not (is_door and item.when == "call"):
            graph[item.module].add(item.target)
    done: set[str] = set()
    while len(done) < len(graph):
        free = {module for module, targets in graph.items() if module not in done and targets <= done}
        assert free, sorted(graph.keys() - done)
        done |= free


def test_only_the_simulator_imports_torch() -> None:
    users = {item.module for item in imports() if item.target.split(".")[0] in HEAVY}
    assert users
    assert all(module.startswith("stepcore.sim") or module == "stepcore.timing.rows" for module in users)


def test_nothing_imports_what_belongs_to_higher_layers() -> None:
    assert [item for item in imports() if item.target.split(".")[0] in NEVER | {"stepserver", "stepagents"}] == []


# -- what a process loads ---------------------------------------------------------------------------------

CHECK = """
from stepcore.check import check_text, fix_text
text = '''{example}'''
for path, source in (("file.py", text), ("task.step.yaml", "inputs: []")):
    check_text(source, path)
    fix_text(source, path)
"""
EDIT = """
from stepcore.ide import features
from stepcore.ide.analysis import analyze
from stepcore.text.span import Span
text = '''{example}'''
analysis = analyze(text, "file.py")
place, whole = text.index("step.Merge") + 6, Span(0, len(text))
for feature in (features.hover, features.definition, features.references, features.signature):
    feature(analysis, place)
features.completions(analysis, place, snippets=True)
features.rename(analysis, text.rindex("def ") + 5, "another")
for feature in (features.inlay_hints, features.tokens, features.actions):
    feature(analysis, whole)
for feature in (features.symbols, features.folding, features.fix_all):
    feature(analysis)
for info in features.programs(analysis):
    features.graph(analysis, info.name)
"""
SCRIPTS = {
    "import stepcore": "import stepcore",
    "import the checker": "import stepcore.check",
    "import the command line": "import stepcore.cli",
    "import the pool": "import stepcore.jobs",
    "check and fix programs": CHECK.format(example=next(op for op in OPERATORS if op.__name__ == "Merge").example),
    "convert": "import stepcore.conversion.to_python",
    "explain and list": "from stepcore.findings.explain import explanation\nexplanation('STEP101')",
    "use the editor features": EDIT.format(example=next(op for op in OPERATORS if op.__name__ == "Merge").example),
    "declare and type a stream": (
        "import stepcore as step\nfrom stepcore.dims import M, N\n"
        "E0 = step.Stream('E0', step.f32, 1, [M, N])\nassert step.Promote(b=0).apply(E0).rank == 2"
    ),
}


def loaded_by(script: str) -> set[str]:
    """Run ``script`` in a fresh process and return which heavy packages it loaded."""
    report = f"\nimport sys\nprint('loaded', *sorted({HEAVY | NEVER!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", script + report], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("name", SCRIPTS)
def test_loads_no_torch(name: str) -> None:
    assert loaded_by(SCRIPTS[name]) == set()


def test_the_load_test_would_notice() -> None:
    assert "torch" in loaded_by("import stepcore.sim.functional")


def test_scripts_load_no_kinds_of_numbers_that_few_sizes_need() -> None:
    """Fractions load decimal numbers, and both together take a twentieth of the time of the import."""
    report = (
        "import sys, stepcore; print('loaded', *sorted({'fractions', 'decimal', 'unicodedata'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["loaded"]


# -- the language server -----------------------------------------------------------------------------------

SERVER = sorted((ROOT / "server" / "stepserver").rglob("*.py"))
# What it stands on: editor features, workers, configuration, and what those speak of. Only in a function, because it
# is seldom needed: explanations, reading a task's file, caches to be emptied, the simulator's name for errors.
SERVED = {
    "ide", "jobdata", "system.file_marks", "isolation", "jobs", "settings", "findings.codes", "findings.diagnostics",
    "text.span", "text.files", "graph.task", "timing.hardware", "chips",
}  # fmt: skip
SELDOM = {"findings.explain", "fn", "system.collector", "system.data_limit", "text.remembered"}
# The simulator's worker is the only thing that may be started, and no key of a model is known here.
FOREIGN = HEAVY | {"openai", "anthropic", "pydantic", "stepagents", "sympy", "requests", "httpx", "ray"}
SERVE = """
import importlib, pkgutil, sys
sys.path.insert(0, {server!r})
import stepserver
for module in pkgutil.walk_packages(stepserver.__path__, "stepserver."):
    importlib.import_module(module.name)
from stepserver.app import COMMANDS, FEATURES, Server, find_handler
Server()
for name in [*(feature.handler for feature in FEATURES), *COMMANDS.values()]:
    find_handler(name)
from stepcore.ide import features
"""


def _served(path: Path) -> list[Edge]:
    name = "stepserver." + ".".join(path.relative_to(ROOT / "server" / "stepserver").with_suffix("").parts)
    return imports_of(name, path.read_text(encoding="utf-8"))


def stands_on(item: Edge, allowed: set[str]) -> bool:
    """True if what is imported from stepcore is, or lies in, one of the allowed modules and packages."""
    return any(f"{item.target}.".startswith(f"stepcore.{name}.") for name in allowed)


def test_the_server_stands_on_the_editor_features_and_the_workers() -> None:
    found = [item for path in SERVER for item in _served(path)]
    ours = [item for item in found if item.target.split(".")[0] == "stepcore" and item.target != "stepcore"]
    assert ours
    wrong = [item for item in ours if not stands_on(item, SERVED if item.when == "import" else SERVED | SELDOM)]
    assert wrong == []
    assert [item for item in found if item.target.split(".")[0] in FOREIGN] == []


# Of the server's own modules, from the lowest layer up; each may import those of lower layers only, wherever the import
# stands, for type checkers or not. What a part has to tell those above it, it tells functions that were given to it.
SERVER_LAYERS: list[list[str]] = [
    ["client", "legend", "memory", "paths", "pools", "positions", "quick_types", "reads", "settings", "transport",
     "version", "worker_launch"],
    ["loop", "protocol", "workspace"],
    ["documents", "guard"],
    ["convert", "editor", "giving_back", "notebooks", "projects"],
    ["analyses", "simulators", "watch"],
    ["agents", "findings", "offering", "timers"],
    ["writing"],
    ["simulation"],
    ["timing"],
    ["optimizing", "ranking", "synthesis"],
    ["parts"],
    ["idle", "reconfigure"],
    ["handlers"],
    ["preload"],
    ["app"],
    ["start"],
    ["__main__"],
    ["cli"],
]  # fmt: skip


def _server_group(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def _server_imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the imports of one module of the server, those for type checkers and in functions, too."""
    name = "stepserver." + ".".join(path.relative_to(ROOT / "server" / "stepserver").with_suffix("").parts)
    here = name.removesuffix(".__init__")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "stepserver":
            for alias in node.names:
                yield here, f"{node.module}.{alias.name}" if node.module == "stepserver" else f"{node.module}"
        elif isinstance(node, ast.Import):
            yield from ((here, alias.name) for alias in node.names if alias.name.startswith("stepserver."))


def _upward(found: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    height = {name: index for index, names in enumerate(SERVER_LAYERS) for name in names}
    pairs = [(here, there) for here, there in found if _server_group(here) != _server_group(there)]
    return [(here, there) for here, there in pairs if height[_server_group(there)] >= height[_server_group(here)]]


def test_the_parts_of_the_server_import_one_way() -> None:
    named = [name for names in SERVER_LAYERS for name in names]
    assert len(named) == len(set(named))
    groups = {path.relative_to(ROOT / "server" / "stepserver").parts[0].removesuffix(".py") for path in SERVER}
    assert groups - {"__init__"} == set(named)
    for path in SERVER:
        assert _upward(_server_imports(path)) == [], path


def test_the_layers_of_the_server_would_notice() -> None:
    pairs = [("stepserver.documents", "stepserver.parts"), ("stepserver.parts", "stepserver.documents")]
    assert _upward(iter(pairs)) == pairs[:1]
    beside = [("stepserver.analyses", "stepserver.watch"), ("stepserver.handlers.place", "stepserver.handlers.session")]
    assert _upward(iter(beside)) == beside[:1]


def test_handlers_know_no_more_than_editor_features() -> None:
    """They fetch a document, ask, and convert the answer: the analysis and its texts come from the server's parts."""
    for path in SERVER:
        if path.parent.name == "handlers":
            ours = [item for item in _served(path) if item.target.startswith("stepcore.")]
            known = {"ide", "jobdata", "text.span", "findings.diagnostics", "graph.task"}
            assert all(stands_on(item, known) for item in ours), path


def test_the_server_loads_nothing_heavy() -> None:
    script = SERVE.format(server=str(ROOT / "server"))
    report = f"\nprint('loaded', *sorted({FOREIGN!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", script + report], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["loaded"]


COMPILES = "quick_types"  # what attrs writes for the classes of lsprotocol, once for equal texts


def test_the_server_executes_nothing() -> None:
    for path in SERVER:
        found = executed(path.read_text(encoding="utf-8"))
        assert found == ({"compile"} if path.stem == COMPILES else set()), path


# -- only commands speak --------------------------------------------------------------------------------------

# Commands print and choose exit codes; so may what starts a process, for its log.
SPEAKERS = (
    "stepcore.cli", "stepagents.ahead", "stepagents.cli", "stepserver.__main__", "stepserver.cli", "stepserver.start",
)  # fmt: skip
LAST_WORDS = {"stepcore.jobs.serving", "stepserver.worker_launch"}  # of a worker that cannot start, to its owner
SPEAKING = re.compile(r"(print|exit|sys\.exit|sys\.std(out|err)\.write)|(typer|rich)(\..*)?")


def spoken(text: str) -> Iterator[str]:
    """Yield what prints, ends the process, or belongs to command lines."""
    for node in ast.walk(tree_with(text, r"\b(print|exit|SystemExit|stdout|stderr|typer|rich|cli)\b")):
        match node:
            case ast.Call(func=called) if SPEAKING.fullmatch(ast.unparse(called)):
                yield ast.unparse(called)
            case ast.Raise(exc=ast.Call(func=ast.Name(id="SystemExit")) | ast.Name(id="SystemExit")):
                yield "SystemExit"
            case ast.Import(names=names):
                yield from (alias.name for alias in names if SPEAKING.fullmatch(alias.name))
            case ast.ImportFrom(module=str(module)) if SPEAKING.fullmatch(module) or ".cli." in f"{module}.":
                yield module


def test_only_commands_print_and_choose_exit_codes() -> None:
    for base in (ROOT, ROOT / "agents", ROOT / "server"):
        for path in sorted(base.glob("step*/**/*.py")):
            module = ".".join(path.relative_to(base).with_suffix("").parts)
            if not f"{module}.".startswith(tuple(f"{name}." for name in SPEAKERS)) and module not in LAST_WORDS:
                assert list(spoken(path.read_text(encoding="utf-8"))) == [], module


def test_the_test_of_what_is_printed_would_notice() -> None:
    speaking = [
        "import rich.table", "from typer import Exit", "from stepcore.cli.terminal import complain", "print(1)",
        "exit()", "raise SystemExit(2)", "raise SystemExit", "sys.exit(1)", "sys . stdout.write(a)",
        "sys.stderr.write(a)",
    ]  # fmt: skip
    assert [text for text in speaking if len(list(spoken(text))) != 1] == []
    assert len(list(spoken("\n".join(speaking)))) == len(speaking)


# -- nothing of a task is executed ------------------------------------------------------------------------

# Only the reference function of a user's own Python file is run, in the worker. What else is compiled is thrown away.
MAY_EXECUTE = {
    "stepcore.sim.worker.imports": {"exec", "compile"},
    "stepcore.sim.pysource": {"compile"},
    "stepcore.fn.compiled": {"compile"},
}


def test_text_is_never_executed() -> None:
    for module, path in MODULES.items():
        assert executed(path.read_text(encoding="utf-8")) == MAY_EXECUTE.get(module, set()), module


@pytest.mark.parametrize("text", ["exec(a)", "b = (eval\\\n (a))", "a.b(*compile(a))", "__import__(a)", "\uff45xec(a)"])
def test_the_test_of_what_is_executed_would_notice(text: str) -> None:
    assert len(executed(text)) == 1
    assert executed(text.replace("(a)", "")) == executed("re.compile(a)") == executed("def exec(a): pass") == set()


# -- codes ------------------------------------------------------------------------------------------------


def test_every_code_is_used_and_every_used_code_exists() -> None:
    used: set[str] = set()
    agents = Path(__file__).parents[1] / "agents"  # functions of PyTorch are their matter
    for path in (*(path for name, path in MODULES.items() if name != "stepcore.findings.codes"), *agents.rglob("*.py")):
        used |= set(re.findall(r"STEP\d{3}", path.read_text(encoding="utf-8")))
    assert used == CODES.keys()


def test_every_code_is_explained() -> None:
    folder = files("stepcore.findings.explain")
    pages = {page.name for page in folder.iterdir() if page.name.endswith(".md")}
    assert pages == {f"{code}.md" for code in CODES}
    for code, info in CODES.items():
        text = folder.joinpath(f"{code}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {code}: {info.title}\n")
        assert "## How to fix it" in text


# -- operators --------------------------------------------------------------------------------------------


def test_each_operator_is_one_file_with_its_name() -> None:
    for operator in OPERATORS:
        file = re.sub(r"(?<!^)(?=[A-Z])", "_", operator.__name__).lower()
        assert operator.__module__ == f"stepcore.ops.{file}"
    classes = {
        node.name
        for module, path in MODULES.items()
        if module.startswith("stepcore.ops.")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Operator" for base in node.bases)
    }
    assert classes == {operator.__name__ for operator in OPERATORS}


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_each_operator_has_all_facets(operator: type[Operator]) -> None:
    fields = [name for name, kind in get_annotations(operator).items() if not kind.startswith("ClassVar")]
    own = [param for param in operator.common if param not in Operator.common]  # such as rates, which change no result
    assert fields == [param.name for param in (*operator.params, *own)]
    assert all(param.doc.strip().endswith(".") for param in operator.params)
    for facet in ("summary", "rule", "example"):
        assert vars(operator)[facet].strip(), facet
    applies = any(param.kind is ParamKind.FN for param in operator.params)
    assert ("calls" in vars(operator)) == applies, "metrics ask how often a function is applied"
    for method in ("infer", "run", "apply"):
        assert method in vars(operator), method
        assert (vars(operator)[method].__doc__ or "").strip(), method
    assert "->" in operator.rule
    assert f"step.{operator.__name__}(" in operator.example
    ast.parse(operator.example)
