"""`optimize` with a model: a whole run from a transcript, hostile answers, money, keys and consent."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

import fake_model_server as fake
import stepagents.optimize.proof
from fake_model_server import Asked, Behaviour, FakeModelServer, always, says
from optimize_replay import GEMM, ROOT, SLOW, TRANSCRIPT, assert_as_then, replay
from stepagents.cli.optimize import optimize
from stepagents.experience.optimizations import Bottleneck, Change, OptimizationItem
from stepagents.llm.client import Patience
from stepagents.llm.connect import open_run
from stepagents.llm.providers import resolve
from stepagents.llm.transport import Message
from stepagents.optimize.candidates import OptimizeTarget, timed_subject
from stepagents.optimize.model.asker import ModelAsker, Question
from stepagents.optimize.model.prompts import misnamed, planner_messages, read_plans, read_rewrite, read_strategies
from stepagents.optimize.model.search import ModelSearch
from stepagents.optimize.model.text import NoProgram, NotAdmitted, admitted
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import SearchLimits
from stepcore.rewrites import RewriteSubject, applied, subject_of
from stepcore.timing.hardware import PRESETS
from warm import Lent

BODY = """\
k, n, m = K // TK, N // TN, M // TM
rows = step.LinearOffChipLoad(tensor=a, tile=[TM, TK], shape=[k, n, m], stride=[1, 0, k]).apply()
columns = step.LinearOffChipLoad(tensor=b, tile=[TK, TN], shape=[k, n, m], stride=[n, 1, 0]).apply()
step.LinearOffChipStore(tensor=result).apply(step.Accum(fn=product, b=1, bw=4096).apply((rows, columns)))
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Store, ledger and answers about consent of the test, and warm workers."""
    monkeypatch.setenv("STEPSMITH_STORE", str(tmp_path / "store" / "experience.sqlite3"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(stepagents.optimize.proof, "Pool", Lent)
    yield


def run(*words: str) -> tuple[int, str]:
    app = Typer()
    app.command()(optimize)
    done = CliRunner().invoke(app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def copied(folder: Path) -> Path:
    path = folder / GEMM.name
    path.write_text(SLOW)
    return path


def gemm() -> RewriteSubject:
    found = subject_of(SLOW, str(GEMM), "gemm")
    assert found is not None
    return found


# -- a whole run ------------------------------------------------------------------------------------------------------


def test_a_whole_run_from_its_transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = copied(tmp_path)
    with FakeModelServer(replay) as server:
        words = (str(path), "--hw", "default", "--proposer", "llm", "--model", "m", "--base-url", server.base_url)
        code, request = run(*words, "--show-request")
        assert (code, server.asked) == (0, [])
        code, output = run(*words, "--apply", "--answers", "answers")
        asked = list(server.asked)
    assert code == 0, output
    assert request.startswith(f"To: m at {server.base_url}\n\n===== system =====\nYou plan how")
    assert all(message["content"] in request for message in asked[0].body["messages"])
    (answers,) = tmp_path.joinpath("answers").iterdir()
    written = answers.read_text()
    assert written.startswith("# Answers of ") and len(re.findall(r"^## \d+\. \w+: ", written, re.M)) == len(asked)
    became = written.partition("## What became of them\n")[2]
    assert "rewritten by a model: Give the products" in became and "not admitted: " in became
    text = path.read_text()
    assert "rewritten by a model: Give the products more of the chip's compute, they rule." in output
    assert "not admitted" in output
    assert "bw=32768" in text
    assert text.split("TM, TN, TK")[0] == SLOW.split("TM, TN, TK")[0]
    assert "k, n, m = 1" not in text, "what sums fewer tiles is fast and wrong"
    assert not (tmp_path / "injected").exists()
    assert "import os" not in text
    roles = ["planner" if "You plan how" in each.text else "other" for each in asked]
    assert roles[0] == "planner"
    first = asked[0].text
    assert "Profile on the chip default" in first
    assert "waiting for memory" in first
    assert "Rewrites that apply here" in first
    assert any("Where products rule" in each.text for each in asked if "You plan how" in each.text)
    assert any("Pair 1:" in each.text for each in asked)
    assert_as_then(asked)
    again = run(str(path), "--hw", "default", "--proposer", "search", "--format", "json")
    assert json.loads(again[1])[0]["verified"] is True


def test_a_replay_fails_where_one_letter_of_a_prompt_is_another() -> None:
    then = [asked_again(each["lines"], each) for each in TRANSCRIPT["asked"]]
    assert_as_then(then)
    first, *_others = TRANSCRIPT["asked"]
    lines = [*first["lines"][:-1], first["lines"][-1].replace("A", "B", 1)]
    with pytest.raises(AssertionError, match=r"is not asked as in optimize_transcript\.json:\n(?s:.*)\n-A(?s:.*)\n\+B"):
        assert_as_then([asked_again(lines, first), *then[1:]])
    with pytest.raises(AssertionError, match="now nobody"):
        assert_as_then(then[:-1])


def asked_again(lines: list[str], question: dict[str, Any]) -> Asked:
    """Return a request with a question of the transcript."""
    page = [{"role": "system", "content": "the language"}] * (question["role"] == "executor")
    messages = [*page, {"role": "user", "content": "\n".join(lines)}]
    return Asked(0, {"messages": messages, "temperature": question["temperature"]}, {})


def test_the_same_answers_give_the_same_program(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        path = copied(tmp_path / name)
        with FakeModelServer(replay) as server:
            words = ("--hw", "default", "--proposer", "llm", "--model", "m", "--base-url", server.base_url)
            assert run(str(path), *words, "--apply", "--experience", "none")[0] == 0
        texts.append(path.read_text())
    assert texts[0] == texts[1] != SLOW


@pytest.mark.parametrize(
    "behaviour",
    [
        says("no"), says("{" * 50_000), says('{"plans": "all"}'), says('{"plans": [1, null, {}]}'), says(""),
        fake.refuses(), fake.html(), fake.fails(400), fake.wrong_key(), fake.huge(), fake.half_a_stream(),
        says('{"plans": ["\\u202e\\u001b[2J' + "x" * 5_000 + '"], "rewrites": [true]}'),
    ],
)  # fmt: skip
def test_answers_that_are_of_no_use_leave_the_program_as_it_is(
    tmp_path: Path, behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepagents.llm.client.backoff", lambda _attempt: 0.001)
    path = copied(tmp_path)
    with FakeModelServer(always(behaviour)) as server:
        words = ("--hw", "default", "--proposer", "llm", "--model", "m", "--base-url", server.base_url)
        code, output = run(str(path), *words, "--apply")
    assert code == 0, output
    assert path.read_text() == SLOW
    assert "\x1b" not in output


def test_auto_goes_on_from_what_the_search_found() -> None:
    path = ROOT / "examples" / "rms_norm.py"
    with FakeModelServer(always(says('{"plans": []}'))) as server:
        words = ("--hw", "default", "--model", "m", "--base-url", server.base_url)
        code, output = run(str(path), *words, "--format", "json")
        assert server.asked
    assert code == 0, output
    assert json.loads(output[output.index("[") : output.rindex("]") + 1])[0]["verified"] is True


# -- money, keys, consent ---------------------------------------------------------------------------------------------


def test_the_budget_ends_the_run_and_keeps_what_was_found(tmp_path: Path) -> None:
    path = copied(tmp_path)
    with FakeModelServer(replay) as server:
        words = ("--hw", "default", "--proposer", "llm", "--model", "m", "--base-url", server.base_url)
        code, output = run(str(path), *words, "--budget-tokens", "100")
        assert not server.asked
    assert code == 0
    assert "the model was asked no further" in output
    assert "tokens" in output


def test_answers_are_paid_for_once(tmp_path: Path) -> None:
    question = Question("planner", (Message("user", "plan"),))
    with FakeModelServer(always(says("fine"))) as server:
        endpoint = resolve("m", base_url=server.base_url)
        for _time in range(2):
            with (
                open_run(endpoint, ["parts"], ledger=tmp_path / "ledger", patience=Patience(retries=0)) as opened,
                ModelAsker(opened.answering, "program") as asker,
            ):
                assert asker.ask([question, Question("planner", question.messages, 1)]) == ["fine", "fine"]
                assert asker.answers == 2
        assert len(server.asked) == 2


@pytest.mark.parametrize("begin", [False, True])
def test_a_model_that_never_answers_holds_no_search_up(begin: bool) -> None:
    with FakeModelServer(always(fake.hangs(begin))) as server:
        limits = SearchLimits(is_over=lambda: bool(server.asked))  # its time is over once the model was asked
        with asker(server) as found:
            search = ModelSearch(gemm(), OptimizeTarget(PRESETS["default"]), SearchRecord(), limits, asker=found)
            search.run()
        assert len(server.asked) == 1
        assert (search.archive.front, found.answers) == ((search.old,), 0)


def test_whoever_asks_a_user_first_is_waited_for() -> None:
    over: list[bool] = []

    def is_over() -> bool:
        over.append(True)
        return True

    def late(handler: fake.Handler, asked: Asked) -> None:
        while len(over) < 3 and not asked.number:  # the user reads what is to be sent
            sleep(0.01)
        says("fine")(handler, asked)

    with FakeModelServer(always(late)) as server, asker(server) as found:
        found.asks_user = True
        assert found.ask([Question("planner", (Message("user", "plan"),))], is_over) == ["fine"]
        assert found.first_wait > 0


def test_a_round_that_found_nothing_is_followed_by_other_answers() -> None:
    with FakeModelServer(always(says('{"plans": ["Think."]}'))) as server, asker(server) as found:
        search = ModelSearch(gemm(), OptimizeTarget(PRESETS["default"]), SearchRecord(), asker=found)
        search.run()
        assert len(server.asked) == found.answers == 9
        temperatures = [each.body["temperature"] for each in server.asked if "You plan how" in each.text]
        assert temperatures == [0.4, 0.7, 1.0]


@contextmanager
def asker(server: FakeModelServer) -> Iterator[ModelAsker]:
    """What asks the model of a server, with a ledger of its own."""
    endpoint = resolve("m", base_url=server.base_url)
    with open_run(endpoint, ["parts"]) as opened, ModelAsker(opened.answering, "program") as found:
        yield found


@pytest.mark.parametrize(("words", "said"), [
    (["--proposer", "llm"], "name a model"),
    (["--proposer", "llm", "--model", "gpt-4o"], "needs a key"),
    (["--proposer", "search", "--model", "gpt-4o"], "--model is for models"),
    (["--base-url", "http://127.0.0.1:1/v1"], "--base-url is for a model, and none is named"),
    (["--show-request"], "--show-request is for a model, and none is named"),
    (["--answers", "answers"], "--answers is for a model, and none is named"),
    (["--price", "a,b"], "--price is for a model, and none is named"),
])  # fmt: skip
def test_what_cannot_be_asked_is_told(tmp_path: Path, words: list[str], said: str) -> None:
    code, output = run(str(copied(tmp_path)), *words)
    assert (code, said in " ".join(output.replace("│", " ").split())) == (2, True), output


def test_nothing_is_sent_without_a_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    path = copied(tmp_path)
    code, output = run(str(path), "--proposer", "llm", "--model", "gpt-4o")
    assert (code, "nothing was sent" in " ".join(output.replace("│", " ").split())) == (2, True)
    code, output = run(str(path), "--model", "gpt-4o", "--hw", "default", "--budget-seconds", "0.1")
    assert (code, "the search works without a model: nothing was sent" in output) == (0, True)


# -- what a model may write -------------------------------------------------------------------------------------------


def test_a_body_takes_the_place_of_the_old_one_and_nothing_else_changes() -> None:
    subject = gemm()
    site = admitted(subject, f"impl: |-\n{textwrap.indent(BODY, '  ')}", "more\nFLOPs")
    made = applied(subject, site)
    assert made is not None
    assert made.text == SLOW.replace("bw=64", "bw=4096")
    assert site.sentence == "rewritten by a model: more FLOPs"


@pytest.mark.parametrize(
    "body",
    [
        "I am sorry.",
        "",
        BODY + "import os\nreturn step.Identity().apply(rows)",
        BODY + "__import__('os').system('touch x')\nreturn",
        BODY + "eval('1')\nreturn",
        BODY + "open('x', 'w')\nreturn",
        BODY + "reference(a, b, result)\nreturn",
        BODY + "torch.save(rows, 'x')\nreturn",
        BODY + "step.__builtins__\nreturn",
        BODY + "rows.__class__.__bases__\nreturn",
        BODY + "x = [y for y in (lambda: rows)()]\nreturn",
        BODY + "def f(x=print(1)):\n    return x\nreturn f(rows)",
        BODY + "class A:\n    pass\nreturn",
        BODY + "global TM\nTM = 1\nreturn",
        BODY + "with rows:\n    pass\nreturn",
        BODY + 'x = """a\nb"""\nreturn',
        BODY + "x = 1 \x0c\nreturn step.Identity().apply(rows)",
        BODY + "ｒows = 1\nreturn step.Identity().apply(rows)",
        "x = " + "(" * 500 + "step.Identity()" + ")" * 500 + "\nreturn x",
        "x = step.Identity()\n" * 10_000 + "return x",
    ],
)
def test_what_is_no_program_is_not_admitted(body: str) -> None:
    subject = gemm()
    try:
        site = admitted(subject, f"```\n{body}\n```", "plan")
    except NotAdmitted as error:
        assert str(error)
        return
    # What is left of it when prose is cut off may be a program; then it is nothing but that.
    text = applied(subject, site)
    assert text is None or not any(word in text.text for word in ("import os", "eval", "open(", "global", "lambda"))


def test_what_is_read_from_answers_is_bounded() -> None:
    assert read_plans('{"plans": ["a", "a", " b\\n c ", 3]}', 5) == ["a", "b c"]
    assert read_plans(json.dumps({"plans": [str(n) for n in range(50)]}), 3) == ["0", "1", "2"]
    assert [len(each) for each in read_plans(json.dumps({"plans": ["x" * 9_999]}), 3)] == [400]
    assert read_plans("[" * 100_000, 3) == read_plans("{}", 3) == read_strategies("none") == []
    for text in ("{" * 200_000, "}" * 200_000, "}{", "{" * 100_000 + "}" * 100_000):
        assert read_plans(text, 3) == []  # of a pattern the first took seconds
    assert read_rewrite('{"rewrites": [2]}', 2) == 1
    for text in (
        '{"rewrites": [3]}',
        '{"rewrites": [0]}',
        '{"rewrites": [true]}',
        '{"rewrites": "1"}',
        '{"rewrites": [1, 2]}',
    ):
        assert read_rewrite(text, 2) is None


def test_a_rewrite_that_is_not_there_is_told() -> None:
    def told(answer: str) -> str:
        subject = timed_subject(gemm(), OptimizeTarget(PRESETS["default"]))
        assert subject is not None
        with pytest.raises(NoProgram):
            admitted(subject, answer, "a plan")
        return misnamed(answer, 3)

    assert told('{"rewrites": [9]}') == "there is no rewrite 9; they have the numbers 1 to 3"
    assert told('{"rewrites": ["lanes"]}') == 'the answer names the rewrite "lanes", which is no number of one'
    assert told('{"rewrites": [1, 2]}') == "the answer does not name one rewrite in a list, as in [1]"
    assert told("I would rather not.") == ""
    assert misnamed('{"rewrites": [1]}', 0) == "there is no rewrite 1; none applies here"
    assert len(misnamed(json.dumps({"rewrites": ["x" * 9_999]}), 3)) < 120


def test_the_planner_gets_the_profile_and_the_items_that_fit() -> None:
    target = OptimizeTarget(PRESETS["default"])
    subject = timed_subject(gemm(), target)
    assert subject is not None
    item = OptimizationItem(Bottleneck("compute", "Accum"), Change("lanes", ("N=2",)), 100, 50)
    text = planner_messages(subject, target, [], [item] * 20, ["strategy"] * 20, 3)[1].text
    assert text.count("lanes N=2: 2x faster") == 6
    assert text.count("- strategy") == 8
    assert "The bottleneck is Accum; its calls are ruled by: compute." in text
    assert "of the bound" in text
