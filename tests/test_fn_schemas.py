"""What may be called follows from torch's own schemas: nothing that a body calls changes what it was given."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from job_records import verify
from scripts.torch_schemas import schemas
from scripts.torch_schemas.__main__ import FORWARDS, SIGNATURES, TABLE
from scripts.torch_schemas.forwards import forwards
from scripts.torch_schemas.signatures import signatures
from scripts.torch_schemas.text import derive
from sim_tasks import Bed
from stepagents.judge import Judge, Stage
from stepagents.search.items import SearchStep, SearchStream
from stepagents.search.running import FAILURES, MoveRunner
from stepcore.check import check_text
from stepcore.dims import D
from stepcore.fn import allow, terms, torch_table
from stepcore.fn.check import check_block, check_fn, forget
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.fn.walk import calls
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ops import GENERATION_1
from stepcore.ops.map import Map
from stepcore.sim.fnvec import CompiledFn, FnEnv, FnRuntimeError, machine
from stepcore.sim.world import World
from stepcore.text.span import Embedded, Span
from stepcore.types import Buffer, Scalar

ROOT = Path(__file__).resolve().parent.parent
F32 = Scalar("fp32")
VEC = Buffer(F32, [D])
SIZE = 6
SCOPE = FnScope(parameters=("W",), sizes=(("D", SIZE),))


def block(text: str, *arguments: str) -> CodeBlock:
    return CodeBlock(Embedded.whole(text), arguments)


def declared(body: str) -> FnDecl:
    return FnDecl("fn_x", "X", VEC, VEC, block(body, "input"), span=Span(0, 1))


def environment(prelude: str = "") -> FnEnv:
    scope = FnScope(block(prelude) if prelude else None, ("W",), sizes=SCOPE.sizes)
    return FnEnv(scope, {"D": SIZE}, {"W": torch.ones(SIZE, SIZE)})


# The table ----------------------------------------------------------------------------------------------------


def test_the_table_is_what_this_torch_gives() -> None:
    derived = derive()
    if torch.__version__.split("+")[0] == torch_table.VERSION:
        assert derived == TABLE.read_text(encoding="utf-8"), "run python -m scripts.torch_schemas"
        assert signatures() == SIGNATURES.read_text(encoding="utf-8"), "run python -m scripts.torch_schemas"
        assert forwards() == FORWARDS.read_text(encoding="utf-8"), "run python -m scripts.torch_schemas"
    else:  # another torch has other operators; none that the table admits may write there
        for space, prefix in (("torch", ""), ("torch.linalg", "linalg_"), ("torch.Tensor", "")):
            for name in torch_table.PURE[space].split():
                found = schemas.schemas(prefix + name)
                assert not found or any(not schemas.writes(schema) for schema in found), (space, name)


def test_a_method_in_place_changes_its_tensor_and_nothing_else() -> None:
    names = torch_table.INPLACE.split()
    assert {"add_", "mul_", "copy_", "fill_", "zero_", "index_put_"} <= set(names)
    assert not set(names) & {"set_", "resize_", "t_", "transpose_", "squeeze_", "random_", "normal_", "requires_grad_"}
    for name in names:
        for schema in schemas.schemas(name):
            assert [a.name for a in schema.arguments if schemas.is_written(a)] == ["self"], schema


@pytest.mark.parametrize("module", [torch.nn.functional, torch.nn])
def test_every_parameter_that_lets_a_call_write_has_a_term(module: Any) -> None:
    """Read from the signatures of the installed torch, whatever the table says."""
    functions, _, _ = allow.NAMESPACES[module.__name__]
    seen = 0
    for name in sorted(functions):
        try:
            parameters = inspect.signature(getattr(module, name)).parameters
        except ValueError:  # bound without a signature: the schema has told
            continue
        for parameter in ("inplace", "max_norm", "track_running_stats", "running_mean"):
            if parameter in parameters:
                seen += 1
                told = torch_table.WRITES_UNLESS.get(f"{module.__name__}.{name}", "")
                assert f"{parameter}@" in told, (name, parameter)
    assert seen > 10


def test_a_term_is_kept_by_the_harmless_literal_only() -> None:
    path = "torch.nn.functional.relu"
    assert terms.breach(path, ["x"], {}) is None
    assert terms.breach(path, ["x", False], {}) is None
    assert terms.breach(path, ["x"], {"inplace": False}) is None
    for value in (True, 1, 0, None, "no", terms.UNKNOWN):
        assert terms.breach(path, ["x", value], {}) is not None, value
        assert terms.breach(path, ["x"], {"inplace": value}) is not None, value
    normalized = "torch.nn.functional.batch_norm"
    assert terms.breach(normalized, ["x", None, None], {"training": True}) is None
    assert terms.breach(normalized, ["x", "mean", "var"], {}) is None
    assert terms.breach(normalized, ["x", "mean", None], {"training": True}) is not None
    dropout = "torch.nn.functional.dropout"
    assert terms.breach(dropout, ["x"], {}) is not None
    assert terms.breach(dropout, ["x"], {}, random=True) is None
    assert terms.breach(dropout, ["x", 0.5, False], {}) is None
    attention = "torch.nn.functional.scaled_dot_product_attention"
    assert terms.breach(attention, [1, 2, 3], {"dropout_p": 0}) is None
    assert terms.breach(attention, [1, 2, 3], {"dropout_p": False}) is not None


# Ways to change what was given ---------------------------------------------------------------------------------

F = "torch.nn.functional"
X = "input[0]"
WRITING = [
    f"{F}.threshold({X}, 1e9, 0.0, True)",
    f"{F}.threshold({X}, 1e9, 0.0, inplace=True)",
    f"{F}.threshold(inplace=True, input={X}, threshold=1e9, value=0.0)",
    f"{F}.threshold(*[{X}, 1e9, 0.0, True])",
    f"{F}.threshold({X}, *[1e9, 0.0, True])",
    f"{F}.threshold({X}, 1e9, 0.0, 1)",
    f"{F}.threshold({X}, 1e9, 0.0, 1 == 1)",
    f"{F}.relu({X}, True)",
    f"{F}.relu({X}, inplace=not False)",
    f"{F}.relu6({X}, True)",
    f"{F}.hardtanh({X}, -1.0, 1.0, True)",
    f"{F}.leaky_relu({X}, 0.5, True)",
    f"{F}.celu({X}, 1.0, True)",
    f"{F}.elu({X}, 1.0, True)",
    f"{F}.selu({X}, True)",
    f"{F}.silu({X}, inplace=True)",
    f"{F}.mish({X}, True)",
    f"{F}.hardswish({X}, True)",
    f"{F}.hardsigmoid({X}, True)",
    f"{F}.threshold({X}.view(1, D_value), 1e9, 0.0, True)",
    f"{F}.relu(input_data['W'], True)[0]",
    f"{F}.batch_norm({X}.view(1, D_value), {X}, {X}, None, None, True)[0]",
    f"{F}.batch_norm(input_data['W'], {X}, {X}, training=True)[0]",
    f"{F}.embedding(torch.zeros(1).long(), input_data['W'], max_norm=0.0)[0]",
    f"{F}.embedding(torch.zeros(1).long(), input_data['W'], None, 0.0)[0]",
    f"{X}.relu_()",
    f"{X}.zero_()",
    f"{X}.detach().fill_(0.0)",
    f"torch.relu_({X})",
    f"torch.clamp({X}, 0.0, out={X})",
    f"torch.ops.aten.relu_.default({X})",
    f"torch.ops.aten.relu.out({X}, out={X})",
    f"{X}.set_({X})",
    f"{X}.resize_(1)",
    f"{X}.requires_grad_()",
    f"{X}.t_()",
]


@pytest.mark.parametrize("call", WRITING)
def test_what_changes_its_arguments_is_refused_before_and_while_it_runs(call: str) -> None:
    decl = declared(f"return [{call}]\n")
    found = check_fn(decl, SCOPE)
    assert found and {item.code for item in found} <= {"STEP304", "STEP310"}, found
    for batch in (0, 1):
        data = torch.linspace(-1.0, 1.0, 2 * SIZE).reshape(2, SIZE)[: batch + 1].squeeze(0)
        before, env = data.clone(), environment()
        with pytest.raises(FnRuntimeError) as caught:
            CompiledFn(decl, env).call(([data],), batch)
        assert caught.value.code in ("STEP304", "STEP310")
        assert torch.equal(data, before) and torch.equal(env.input_data["W"], torch.ones(SIZE, SIZE))


@pytest.mark.parametrize(
    "body",
    [
        f"f = {F}.relu\nreturn [f({X}, True)]\n",
        f"fs = [{F}.relu]\nreturn [fs[0]({X}, inplace=True)]\n",
        f"g = lambda f, flag: f({X}, flag)\nreturn [g({F}.selu, True)]\n",
        f"n = {F}\nreturn [n.relu({X}, True)]\n",
    ],
)
def test_a_function_that_went_through_a_variable_is_judged_by_its_values(body: str) -> None:
    data = torch.linspace(-1.0, 1.0, SIZE)
    with pytest.raises(FnRuntimeError) as caught:
        CompiledFn(declared(body), environment()).call(([data],), 0)
    assert caught.value.code == "STEP310"
    assert torch.equal(data, torch.linspace(-1.0, 1.0, SIZE))


@pytest.mark.parametrize(
    "text",
    [
        "f = torch.nn.Threshold(0.1, 0.0, True)\n",
        "f = torch.nn.Threshold(0.1, 0.0, inplace=True)\n",
        "f = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.ReLU(True))\n",
        "f = torch.nn.Embedding(3, 3, None, 1.0)\n",
        "f = torch.nn.Hardtanh(inplace=True)\n",
        "flag = True\nf = torch.nn.ReLU(flag)\n",
    ],
)
def test_helper_objects_keep_to_the_same_terms(text: str) -> None:
    assert [item.code for item in check_block(block(text), FnScope(), "prelude")] == ["STEP310"]
    with pytest.raises(FnRuntimeError) as caught:
        environment(text)
    assert caught.value.code == "STEP310"


@pytest.mark.parametrize(
    "call",
    [
        f"{F}.threshold({X}, 0.1, 0.0)",
        f"{F}.threshold({X}, 0.1, 0.0, False)",
        f"{F}.relu({X}, inplace=False)",
        f"{F}.batch_norm({X}.view(D_value, 1), None, None, training=True).view(D_value)",
        f"{F}.embedding(torch.zeros(1).long(), input_data['W'], max_norm=None)[0]",
        f"{X}.clone().relu_()",
        f"torch.zeros(D_value).add_({X})",
    ],
)
def test_harmless_calls_and_tensors_of_the_body_itself_stay_legal(call: str) -> None:
    decl = declared(f"return [{call}]\n")
    assert check_fn(decl, SCOPE) == []
    data = torch.linspace(-1.0, 1.0, 2 * SIZE).reshape(2, SIZE)
    before = data.clone()
    (result,) = CompiledFn(decl, environment()).call(([data],), 1)
    assert result.shape[1:] == (SIZE,) and torch.equal(data, before)


# A gap in the language ------------------------------------------------------------------------------------------

REFERENCE = "input_data['E0'].view(N_value, M_value)"  # a view: it would follow the inputs
BAD_IMPL = "E1 = step.Map(fn=fn_bad).apply(E0)\nreturn E1\n"
RIGHT_IMPL = "E1 = step.Map(fn=fn_same).apply(E0)\nreturn E1\n"
TASK = f"""\
inputs:
- {{name: E0, dtype: fp32, dims: [M, N]}}
fns:
- func_name: fn_bad
  input_dtype: fp32
  output_dtype: fp32
  apply: return [torch.nn.functional.threshold(input[0], 1e9, 0.0, True)]
- func_name: fn_same
  input_dtype: fp32
  output_dtype: fp32
  apply: return [input[0] * 1.0]
outputs:
- {{name: S0, dtype: fp32, dims: [M, N], data_transform: ["{REFERENCE}"]}}
"""


@pytest.fixture
def gap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a function write, as an operator would whose schema does not tell the truth."""
    monkeypatch.setattr(machine, "breach", lambda *_args, **_kwargs: None)
    monkeypatch.setattr(calls, "breach", lambda *_args, **_kwargs: None)
    forget()
    yield
    forget()  # what was found meanwhile is not true of other tests


@pytest.mark.usefixtures("gap")
def test_a_session_throws_away_what_a_program_changed() -> None:
    bed = Bed(TASK)
    for _ in range(2):
        bad = bed.verify(BAD_IMPL)
        assert (bad.accepted, bad.functional.code) == (False, "STEP310")
        assert bed.verify(RIGHT_IMPL).accepted


@pytest.mark.usefixtures("gap")
def test_large_data_are_drawn_again() -> None:
    bed = Bed(TASK, dims={"M": 400, "N": 400})
    before = bed.session.world
    assert bed.verify(BAD_IMPL).functional.code == "STEP310"
    assert bed.verify(RIGHT_IMPL).accepted
    assert bed.session.world is not before


@pytest.mark.usefixtures("gap")
def test_a_run_that_slips_by_functions_is_found_by_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    bed = Bed(TASK)
    right = bed.check(RIGHT_IMPL)
    assert bed.session.verify(right).accepted
    spoiled = bed.session.world.inputs[0].components[0]
    compute = bed.session.evaluated

    def spoiling(*args: Any) -> Any:
        with torch.inference_mode():
            spoiled.zero_()
        return compute(*args)

    monkeypatch.setattr(bed.session, "evaluated", spoiling)
    verdict = bed.session.verify(right)
    assert (verdict.accepted, verdict.functional.code) == (False, "STEP310")
    assert "inputs" in verdict.functional.detail
    assert bed.session.verify(right).accepted  # ``spoiled`` belongs to the data that were thrown away


@pytest.mark.usefixtures("gap")
def test_the_judge_accepts_right_answers_after_a_hostile_one() -> None:
    judge = Judge(read_task(TASK, "spoiled.step.yaml"))
    for _ in range(2):
        bad = judge.judge(BAD_IMPL)
        assert (bad.stage, bad.code) == (Stage.RUN, "STEP310"), bad.message
    assert judge.judge(RIGHT_IMPL).accepted


@pytest.mark.usefixtures("gap")
def test_the_search_goes_on_after_a_hostile_function() -> None:
    spec = read_task(TASK, "spoiled.step.yaml").spec
    assert spec is not None
    worlds = [World(spec, {"M": 3, "N": 2}, seed, None, torch.float64) for seed in (1, 2)]
    before = [world.inputs[0].components[0].clone() for world in worlds]
    runner = MoveRunner(worlds, {"M": 3, "N": 2}, GENERATION_1)
    given = SearchStream(0, spec.inputs[0].type, [world.inputs[0] for world in worlds], None, 0, 0.0)
    bad, same = spec.fns
    with pytest.raises(FAILURES, match="in place"):
        runner.apply(SearchStep((Map(fn=bad),), (given,), "map"))
    assert all(torch.equal(w.inputs[0].components[0], t) for w, t in zip(worlds, before, strict=True))
    _, columns = runner.apply(SearchStep((Map(fn=same),), (given,), "map"))
    assert all(torch.equal(c.dense()[0], t) for c, t in zip(columns[0], before, strict=True))


def test_references_share_no_memory_with_the_data() -> None:
    for reference in (REFERENCE, "input_data['E0']", "input_data['E0'].T.T"):
        session = Bed(TASK.replace(REFERENCE, reference)).session
        ((found,),) = session.world.references()
        data = session.world.inputs[0].components[0]
        assert torch.equal(found, data)
        assert found.untyped_storage().data_ptr() != data.untyped_storage().data_ptr()


def test_a_reference_that_is_what_global_made_is_a_copy() -> None:
    text = "global: |\n  table = torch.ones(N_value, M_value)\n" + TASK.replace(REFERENCE, "table")
    session = Bed(text).session
    ((found,),) = session.world.references()
    made = session.world.env.globals["table"]
    assert torch.equal(found, made) and found.data_ptr() != made.data_ptr()


def test_a_python_reference_may_change_its_arguments_and_weights() -> None:
    spec = read_task(TASK, "t.step.yaml").spec
    assert spec is not None

    def reference(given: torch.Tensor) -> torch.Tensor:
        return given.zero_()

    world = World(spec, {"M": 3, "N": 2}, 1, reference, torch.float32)
    before = world.inputs[0].components[0].clone()
    assert float(world.references()[0][0].abs().max()) == 0.0
    assert torch.equal(world.inputs[0].components[0], before)


# Functions of an answer -----------------------------------------------------------------------------------------

OWN = """\
impl: |
  @step.fn(input=step.f32, output=step.f32)
  def mine(x):
      return [x[0] * 1.0]
  E1 = step.Map(fn=mine).apply(E0)
  return E1
"""
ALLOWED = "answer_may_define_fns: true\n"


def test_an_answer_defines_functions_only_where_the_task_allows_it() -> None:
    impl = OWN
    for where in ((TASK + impl, None), (TASK, (impl, "a.impl.yaml"))):
        text, answer = where
        found = check_text(text, "t.step.yaml", impl=answer)
        told = [item for item in (*found.diagnostics, *found.impl_diagnostics) if item.code == "STEP220"]
        assert len(told) == 1 and "answer_may_define_fns" in told[0].message
        allowed = check_text(ALLOWED + text, "t.step.yaml", impl=answer)
        codes = {item.code for item in (*allowed.diagnostics, *allowed.impl_diagnostics)}
        assert codes == {"STEP310"}  # that of fn_bad, which is the task's own
    honest = TASK.replace("1e9, 0.0, True", "1e9, 0.0, False")  # a task with an error has no judge
    judged = Judge(read_task(honest, "t.step.yaml")).judge(impl)
    assert judged.stage is Stage.TYPES and "answer_may_define_fns" in judged.message
    assert Judge(read_task(ALLOWED + honest, "t.step.yaml")).judge(impl).accepted


def test_the_body_of_a_function_of_an_answer_is_checked() -> None:
    impl = OWN.replace("x[0] * 1.0", "torch.nn.functional.relu(x[0], True)")
    found = check_text(ALLOWED + TASK, "t.step.yaml", impl=(impl, "a.impl.yaml"))
    assert [item.code for item in found.impl_diagnostics] == ["STEP310"]


def test_functions_under_a_key_of_the_answer_are_refused() -> None:
    answer = TASK[TASK.index("fns:") : TASK.index("outputs:")] + "impl: |\n  " + BAD_IMPL.replace("\n", "\n  ")
    found = check_text(TASK, "t.step.yaml", impl=(answer, "a.impl.yaml"))
    assert [item.code for item in found.impl_diagnostics] == ["STEP905"]
    whole = check_text(TASK, "t.step.yaml", impl=(TASK + "impl: |\n  return E0\n", "a.step.yaml"))
    assert not [item for item in whole.impl_diagnostics if item.code == "STEP905"]


@pytest.mark.parametrize("value", ["yes", "1", "[]", ""])
def test_the_key_is_true_or_false(value: str) -> None:
    found = check_text(f"answer_may_define_fns: {value}\n{TASK}", "t.step.yaml")
    assert [item.code for item in found.diagnostics if item.code != "STEP310"] == ["STEP907"]


@pytest.mark.usefixtures("gap")
def test_a_folder_of_answers_is_verified_although_one_is_hostile() -> None:
    class Context:
        def check(self) -> None:
            pass

    def accepted(impl: str) -> bool:
        answer = {"path": "a.impl.yaml", "text": "impl: |\n  " + impl.replace("\n", "\n  ")}
        payload = {"path": "spoiled.step.yaml", "text": TASK, "impl": answer}
        (row,) = verify(payload, Context())
        return bool(row["accepted"])

    assert [accepted(impl) for impl in (BAD_IMPL, RIGHT_IMPL, BAD_IMPL, RIGHT_IMPL)] == [False, True, False, True]
