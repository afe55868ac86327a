"""The language-model proposer against a local server: outcomes, guardian, repair, stops, resume, money."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import fake_model_server as fake
from agent_tasks import TASKS
from fake_model_server import KEY, Asked, Behaviour, FakeModelServer, always, in_turn
from llm_answers import GOOD, JUDGED, LONG, RENAMED, SHORT, WRONG_TYPES, WRONG_VALUES, fenced, order
from processes import PATIENCE, eventually
from stepagents.executors.executor import Executor, worker_command
from stepagents.judge import Stage
from stepagents.llm.background import LoopThread
from stepagents.llm.budget import SpendingBudget
from stepagents.llm.client import Patience
from stepagents.llm.connect import connect
from stepagents.llm.dialect import EndpointDialect
from stepagents.llm.ledger import Ledger
from stepagents.llm.limits import Rates
from stepagents.llm.options import Guardian, SamplingOptions
from stepagents.llm.providers import Endpoint, Price
from stepagents.llm.transcript import Answered
from stepagents.llm.transport import Secret
from stepagents.sampling import Order, Sampled
from stepcore.isolation import Isolation
from stepcore.jobs import Limits, Pool

AT_ONCE = Patience(timeout=PATIENCE, total=PATIENCE, retries=0)
ALL = SamplingOptions(early_stop=False, structured=False)
PRICE = Price(2.0, 10.0, "2026-01-01")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(worker_command(), size=2, limits=Limits(seconds=60)) as opened:
        yield opened


def endpoint(server: FakeModelServer, dialect: EndpointDialect | None = None) -> Endpoint:
    return Endpoint(
        "fake", server.base_url, "model-1", Secret(KEY), dialect or EndpointDialect(), Rates(concurrency=8), PRICE
    )


class Sampling:
    """Samples a server that follows ``script``, with a ledger of its own."""

    def __init__(self, pool: Executor, folder: Path) -> None:
        self.pool = pool
        self.ledger = folder / "answers.sqlite3"

    def __call__(
        self,
        script: fake.Script,
        *orders: Order,
        options: SamplingOptions = ALL,
        budget: SpendingBudget | None = None,
        patience: Patience = AT_ONCE,
        dialect: EndpointDialect | None = None,
        finish: bool = True,
        stop: threading.Event | None = None,
    ) -> tuple[list[Sampled], FakeModelServer]:
        with FakeModelServer(script) as server:
            found = replace(endpoint(server, dialect), base_url=server.base_url)
            parts = ["test"]
            with connect(
                replace(found), self.pool, parts, options=options, budget=budget, patience=patience, ledger=self.ledger
            ) as connection:
                results = list(connection.sampler.sample(orders or [order()], stop=stop))
                if finish:
                    connection.finish()
        return results, server


@pytest.fixture
def sampling(pool: Pool, tmp_path: Path) -> Sampling:
    return Sampling(pool, tmp_path)


def by_sample(*texts: str) -> fake.Script:
    return in_turn(*(fake.says(text) for text in texts))


def test_every_kind_of_answer_counts_under_its_name(sampling: Sampling) -> None:
    (sampled,), server = sampling(by_sample(*(text for text, _ in JUDGED.values())), order(len(JUDGED)))
    assert sampled.outcomes == Counter(stage for _, stage in JUDGED.values())
    assert sampled.answers == len(JUDGED) == len(server.asked)
    assert sampled.accepted == 3
    assert len(sampled.solutions) == 1  # the three are equal
    assert sampled.success_rate == 3 / len(JUDGED)
    assert sampled.input_tokens == 1000 * len(JUDGED)
    assert sampled.output_tokens > 0
    assert sampled.cost == pytest.approx(PRICE.cost(sampled.input_tokens, sampled.output_tokens))
    assert sampled.cost_known
    assert not sampled.problem
    assert not Path("owned").exists()


FAULTS: dict[str, tuple[Behaviour, str]] = {
    "hang": (fake.hangs(), "timeout"),
    "html": (fake.html(), "not JSON"),
    "half": (fake.half_a_stream(), "cut off"),
    "10 MB": (fake.huge(), "too long"),
    "429": (fake.limits_rate(), "rate limited"),
    "500": (fake.fails(500), "server error"),
    "refusal": (fake.refuses(), "refused"),
    "empty": (fake.says(""), "empty"),
    "truncated": (fake.says("impl: |-\n  E2", finish="length"), "truncated"),
    "400": (fake.fails(400, "no"), "bad request"),
}


def test_every_fault_counts_under_its_name_and_stops_nothing(sampling: Sampling) -> None:
    behaviours = [behaviour for behaviour, _ in FAULTS.values()]
    script = in_turn(*behaviours, fake.says(fenced(GOOD)))
    patience = Patience(timeout=5.0, total=PATIENCE, retries=0)  # the one that hangs is waited for
    (sampled,), server = sampling(script, order(len(FAULTS) + 1), options=replace(ALL, at_once=1), patience=patience)
    assert sampled.outcomes == Counter([name for _, name in FAULTS.values()] + ["accepted"])
    assert sampled.solved
    assert sampled.answers == 1
    assert len(server.asked) == len(FAULTS) + 1


def test_overcome_faults_are_told_apart(sampling: Sampling) -> None:
    script = in_turn(fake.limits_rate(), fake.fails(500), fake.says(fenced(GOOD)))
    (sampled,), _ = sampling(script, order(), patience=Patience(PATIENCE, PATIENCE, 3))
    assert sampled.outcomes == {"accepted": 1}
    assert sampled.retried == {"rate limited": 1, "server error": 1}


def test_a_wrong_key_is_a_problem_and_one_request(sampling: Sampling) -> None:
    tasks = [order(6), Order("other", str(TASKS / "x.step.yaml"), order().text, 6, 60.0)]
    results, server = sampling(always(fake.wrong_key()), *tasks, options=replace(ALL, at_once=1))
    assert len(server.asked) == 1
    assert all("401" in sampled.problem and KEY not in sampled.problem for sampled in results)
    assert all(sampled.outcomes == {"authentication": 1} for sampled in results)


def test_a_task_that_no_prompt_holds_is_not_sent(sampling: Sampling) -> None:
    long = replace(order(), text="# long\n" * 100_000 + order().text)
    (sampled,), server = sampling(always(fake.says("no")), long)
    assert sampled.outcomes == {"prompt too long": 1}
    assert "the model takes 32,000" in sampled.reason
    assert not server.asked


def test_temperatures_are_mixed(sampling: Sampling) -> None:
    _, server = sampling(always(fake.says("no")), order(6))
    assert Counter(body["temperature"] for body in server.bodies()) == {0.4: 2, 0.7: 2, 1.0: 2}
    (question,) = {message["content"] for body in server.bodies() for message in body["messages"][1:]}
    assert "func_name: fn_multiply" in question
    assert "impl:" not in question


def test_stops_early_when_solved(sampling: Sampling) -> None:
    options = replace(ALL, early_stop=True, at_once=2)
    (sampled,), server = sampling(always(fake.says(fenced(GOOD))), order(50), options=options)
    assert sampled.solved
    assert len(server.asked) < 10


def test_solutions_are_distinct_and_the_shortest_is_first(sampling: Sampling) -> None:
    (sampled,), _ = sampling(by_sample(*(fenced(text) for text in (LONG, GOOD, RENAMED, SHORT))), order(4))
    assert sampled.accepted == 4
    assert sampled.solutions[0] == SHORT
    assert sampled.solutions[1].replace("pairs", "E2").replace("products", "E3") == GOOD
    assert sampled.solutions[2].endswith("step.Identity().apply(E4)")
    assert len(sampled.solutions) == 3


def test_structured_answers_where_the_model_offers_them(sampling: Sampling) -> None:
    text = json.dumps({"plan": "", "impl": GOOD})
    options = replace(ALL, structured=True)
    (sampled,), server = sampling(
        always(fake.says(text)), order(2), options=options, dialect=EndpointDialect(structured=True)
    )
    assert sampled.accepted == 2
    assert server.bodies()[0]["response_format"]["json_schema"]["schema"]["properties"].keys() == {"plan", "impl"}
    assert "JSON object" in server.asked[0].text


# -- repair and guardian ----------------------------------------------------------------------------------


def test_repair_feeds_the_verdict_back(sampling: Sampling) -> None:
    script = by_sample(fenced(WRONG_TYPES), fenced(WRONG_VALUES), fenced(GOOD))
    (sampled,), server = sampling(script, order(1), options=replace(ALL, repair=2))
    assert sampled.outcomes == {Stage.TYPES: 1, Stage.VALUES: 1, Stage.ACCEPTED: 1}
    assert sampled.answers == 3
    roles = [message["role"] for message in server.bodies()[2]["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    second, third = server.bodies()[1]["messages"][-1]["content"], server.bodies()[2]["messages"][-1]["content"]
    assert "types" in second and "STEP2" in second
    assert "not the values" in third


def test_repair_ends(sampling: Sampling) -> None:
    (sampled,), server = sampling(always(fake.says("no program")), order(2), options=replace(ALL, repair=1))
    assert len(server.asked) == 4
    assert sampled.outcomes == {Stage.NO_PROGRAM: 4}
    assert "none of 4 answers was right (no program 4)" in sampled.reason


# -- a model that writes no programs ------------------------------------------------------------------------

HASTILY = SamplingOptions(structured=False)
PROSE = "I would first zip the streams and then sum them up."


@pytest.mark.parametrize("repair", [0, 2])
def test_nonsense_ends_after_a_few_answers_and_says_why(sampling: Sampling, repair: int) -> None:
    (sampled,), server = sampling(always(fake.says(PROSE)), order(64), options=replace(HASTILY, repair=repair))
    assert len(server.asked) == sampled.answers == 4
    assert "the limit answers_without_program = 4: none of the first 4 answers held a program" in sampled.reason
    assert "(no program 4)" in sampled.reason
    assert not sampled.problem


def test_the_limit_is_one_of_each_task_and_can_be_set(sampling: Sampling) -> None:
    tasks = [order(9), replace(order(9), task="second")]
    results, server = sampling(
        always(fake.says(PROSE)), *tasks, options=replace(HASTILY, answers_without_program=2, at_once=1)
    )
    assert [sampled.answers for sampled in results] == [2, 2]
    assert len(server.asked) == 4


def test_answers_that_never_came_count_as_well(sampling: Sampling) -> None:
    script = in_turn(fake.refuses(), fake.fails(500), fake.says(""), fake.says(PROSE))
    (sampled,), server = sampling(script, order(64), options=replace(HASTILY, at_once=1))
    assert len(server.asked) == 4
    assert sampled.outcomes == {"refused": 1, "server error": 1, "empty": 1, Stage.NO_PROGRAM: 1}
    assert "answers_without_program = 4" in sampled.reason


def test_one_program_however_wrong_lifts_the_limit(sampling: Sampling) -> None:
    script = in_turn(*[fake.says(PROSE)] * 3, fake.says(fenced(WRONG_TYPES)), fake.says(PROSE))
    (sampled,), server = sampling(script, order(12), options=HASTILY)
    assert len(server.asked) == 12
    assert sampled.outcomes == {Stage.NO_PROGRAM: 11, Stage.TYPES: 1}
    assert sampled.reason.startswith("none of 12 answers was right")


def test_pass_at_k_asks_for_all_samples(sampling: Sampling) -> None:
    (sampled,), server = sampling(always(fake.says(PROSE)), order(6))
    assert len(server.asked) == sampled.answers == 6


def test_each_answer_is_heard_with_its_verdict_and_what_it_took(pool: Pool, tmp_path: Path) -> None:
    heard: list[Answered] = []
    told: list[str] = []
    script = by_sample(fenced(WRONG_TYPES), fenced(GOOD))
    with (
        FakeModelServer(script) as server,
        connect(
            endpoint(server), pool, 1, options=replace(HASTILY, repair=1, at_once=1), ledger=tmp_path / "l",
            heard=heard.append,
        ) as connection,
    ):  # fmt: skip
        (sampled,) = connection.sampler.sample([order(3)], tell=told.append)
    assert [(item.number, item.role, item.outcome) for item in heard] == [
        (1, "answer", "types"), (2, "correction 1", "accepted"),
    ]  # fmt: skip
    assert "STEP2" in heard[0].message
    assert [item.stored.text if item.stored else "" for item in heard] == [fenced(WRONG_TYPES), fenced(GOOD)]
    tokens, cost = sampled.input_tokens + sampled.output_tokens, sampled.cost
    assert told[-1] == f"gemm_easy_buffer_sum: 2 answers, 1 right, {tokens:,} tokens, ${cost:.4f}"
    assert told[0].startswith("gemm_easy_buffer_sum: 1 answer, 0 right, 1,0")


TOP1 = TASKS / "index_top1_softmax.step.yaml"
GREEDY = "E1 = step.Map(fn=fn_gate).apply(E0)\nE2 = step.Map(fn=fn_top1).apply(E1)\nreturn E2, E1"
AFFINE = GREEDY.replace("E2 =", "A, B = step.Copy().apply(E1)\nE2 =").replace(
    "(E1)\nreturn E2, E1", "(A)\nreturn E2, B"
)


@pytest.mark.parametrize(
    ("guardian", "outcome", "requests"),
    [(Guardian.DETERMINISTIC, "accepted", 1), (Guardian.LLM, "accepted", 2), (Guardian.NONE, "affine", 1)],
)
def test_guardians(sampling: Sampling, guardian: Guardian, outcome: str, requests: int) -> None:
    def script(asked: Asked) -> Behaviour:
        return fake.says(fenced(AFFINE if "You make STeP programs affine" in asked.text else GREEDY))

    top1 = Order("index_top1_softmax", str(TOP1), TOP1.read_text(encoding="utf-8"), 1, 60.0)
    (sampled,), server = sampling(script, top1, options=replace(ALL, guardian=guardian))
    assert sampled.outcomes == {outcome: 1}
    assert sampled.answers == 1
    assert len(server.asked) == requests
    assert sampled.input_tokens == 1000 * requests


# -- tasks, stops and time --------------------------------------------------------------------------------


def test_a_task_that_cannot_be_used_costs_nothing(sampling: Sampling) -> None:
    broken = replace(order(), task="broken", text="inputs: [\n")
    text = order().text.replace("input_data['E0']", "input_data['E7']")
    no_reference = replace(order(), task="no reference", text=text)
    results, server = sampling(always(fake.says(fenced(GOOD))), broken, no_reference, order())
    found = {sampled.task: sampled for sampled in results}
    assert "STEP903" in found["broken"].problem and ":1:" in found["broken"].problem
    assert "STEP303 there is no parameter 'E7'" in found["no reference"].problem
    assert found["gemm_easy_buffer_sum"].solved
    assert len(server.asked) == 1


def test_a_stop_keeps_what_was_earned(sampling: Sampling) -> None:
    stop = threading.Event()

    def script(asked: Asked) -> Behaviour:
        if asked.number < 2:
            return fake.says(fenced(GOOD))
        stop_soon()
        return fake.hangs()

    def stop_soon() -> None:
        threading.Timer(0.3, stop.set).start()

    options = replace(ALL, at_once=1)
    patience = Patience(timeout=60.0, total=60.0)
    results, _ = sampling(
        script, order(8), replace(order(8), task="second"), options=options, patience=patience, stop=stop
    )
    assert [sampled.accepted for sampled in results] in ([2, 0], [0, 2])
    late = next(sampled for sampled in results if not sampled.solved)
    assert late.reason == "stopped before a right program was found"


def test_a_task_has_its_time(sampling: Sampling) -> None:
    patience = Patience(timeout=60.0, total=60.0)
    options = replace(ALL, at_once=1)
    (sampled,), server = sampling(always(fake.hangs()), order(4, seconds=3.0), options=options, patience=patience)
    assert sampled.reason.startswith("no right program within 3 s")
    assert sampled.outcomes == {"timeout": 1}
    assert len(server.asked) == 1


def test_a_task_whose_time_ends_between_attempts_keeps_what_happened(sampling: Sampling) -> None:
    patience = Patience(timeout=60.0, total=60.0, retries=1000)
    options = replace(ALL, at_once=1)
    (sampled,), _ = sampling(always(fake.html()), order(1, seconds=3.0), options=options, patience=patience)
    assert sampled.outcomes == {"not JSON": 1}


def test_leaving_early_ends_everything(pool: Pool, tmp_path: Path) -> None:
    tasks = [replace(order(2), task=f"t{number}") for number in range(3)]
    with (
        FakeModelServer(always(fake.says(fenced(GOOD)))) as server,
        connect(endpoint(server), pool, 1, options=ALL, ledger=tmp_path / "l") as connection,
    ):
        assert next(connection.sampler.sample(tasks)).solved
        assert len(list(connection.sampler.sample(tasks))) == 3
    assert not [thread for thread in threading.enumerate() if thread.name == "stepsmith-model"]


def test_a_judge_that_runs_away_costs_its_time_limit(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "slow_judge_worker")
    with Pool(command, size=1, limits=Limits(seconds=60)) as slow:
        options = replace(ALL, judge_seconds=3.0, at_once=1)
        texts = [fenced("sleep"), fenced("crash"), fenced(GOOD)]
        (sampled,), _ = Sampling(slow, tmp_path)(by_sample(*texts), order(3), options=options)
    assert sampled.outcomes == {"judge: time limit": 1, "judge: crash": 1, Stage.ACCEPTED: 1}
    assert sampled.answers == 3


def test_equal_programs_are_judged_once(tmp_path: Path) -> None:
    """Also when they come to different workers; those of this test write down what they really judge."""
    count = tmp_path / "count"
    command, env = (sys.executable, "-m", "slow_judge_worker"), {"STEPSMITH_TEST_COUNT": str(count)}
    writing = Isolation("user", (str(tmp_path),))
    with Pool(command, size=2, limits=Limits(seconds=60), env=env, isolation=writing) as counting:
        texts = [fenced(GOOD), fenced(RENAMED), fenced(SHORT), fenced(WRONG_VALUES), fenced(GOOD)] * 4
        (sampled,), _ = Sampling(counting, tmp_path)(by_sample(*texts), order(20), options=replace(ALL, at_once=1))
    assert (sampled.answers, sampled.accepted) == (20, 16)
    assert count.read_text() == "xxx"


# -- money ------------------------------------------------------------------------------------------------


def test_the_budget_ends_the_sampling_and_says_so(sampling: Sampling) -> None:
    budget = SpendingBudget(requests=3)
    results, server = sampling(always(fake.says("no")), order(10), replace(order(10), task="second"), budget=budget)
    assert len(server.asked) == 3
    assert all("the budget of 3 requests is spent" in sampled.reason for sampled in results)
    assert all(sampled.outcomes["budget"] == 1 and not sampled.problem for sampled in results)
    assert sum(sampled.answers for sampled in results) == 3


def test_a_finished_run_starts_anew_and_an_unfinished_one_goes_on(sampling: Sampling) -> None:
    with FakeModelServer(always(fake.says(fenced(GOOD)))) as server:

        def run(finish: bool) -> Sampled:
            with connect(endpoint(server), sampling.pool, 1, options=ALL, ledger=sampling.ledger) as connection:
                (sampled,) = connection.sampler.sample([order(4)])
                if finish:
                    connection.finish()
                return sampled

        first = run(finish=False)
        assert len(server.asked) == 4
        again = run(finish=True)
        assert len(server.asked) == 4
        assert (again.outcomes, again.input_tokens, again.cost) == (first.outcomes, first.input_tokens, first.cost)
        run(finish=True)
        assert len(server.asked) == 8


def test_another_seed_asks_for_other_answers(sampling: Sampling) -> None:
    """The learning loop comes again with the same prompt when its demonstrations did not change."""
    with FakeModelServer(always(fake.says("no"))) as server:
        with connect(endpoint(server), sampling.pool, 1, options=ALL, ledger=sampling.ledger) as connection:
            for seed in (0, 1, 1):
                list(connection.sampler.sample([replace(order(3), seed=seed)]))
        assert len(server.asked) == 6


def test_answers_with_faults_that_were_paid_are_not_asked_again(sampling: Sampling) -> None:
    script = in_turn(fake.refuses(), fake.fails(500), fake.says("", finish="length"), fake.says(fenced(GOOD)))
    results: list[Sampled] = []
    with FakeModelServer(script) as server:
        for _ in range(2):
            with connect(
                endpoint(server), sampling.pool, 1, options=replace(ALL, at_once=1), ledger=sampling.ledger,
                patience=AT_ONCE,
            ) as connection:  # fmt: skip
                results = list(connection.sampler.sample([order(4)]))
        assert len(server.asked) == 5  # only the failed one was repeated
    assert results[0].outcomes == {"refused": 1, "truncated": 1, Stage.ACCEPTED: 2}


RUNNER = """
import sys
from pathlib import Path
from llm_answers import order
from stepagents.executors.executor import worker_command
from stepagents.llm.connect import connect
from stepagents.llm.options import SamplingOptions
from stepagents.llm.providers import Price, resolve
from stepcore.jobs import Pool
url, ledger, samples = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
found = resolve("model-1", base_url=url, key_variable="FAKE_KEY", price=Price(2.0, 10.0, "2026-01-01"))
options = SamplingOptions(early_stop=False, at_once=1)
with Pool(worker_command(), size=1) as pool, connect(found, pool, "r", options=options, ledger=ledger) as connection:
    (sampled,) = connection.sampler.sample([order(samples)])
    print(sampled.answers, sampled.accepted, sampled.input_tokens, connection.spent.tokens, connection.spent.requests)
"""


def test_after_kill_9_only_what_is_missing_is_paid(tmp_path: Path) -> None:
    ledger = tmp_path / "answers.sqlite3"
    release = threading.Event()

    def behave(handler: fake.Handler, asked: Asked) -> None:
        if asked.number == 5:
            release.wait(PATIENCE)
        handler.answer(fenced(GOOD))

    with FakeModelServer(always(behave)) as server:
        command = [sys.executable, "-c", RUNNER, server.base_url, str(ledger), "8"]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FAKE_KEY": KEY}
        with subprocess.Popen(command, env=env) as first:
            assert eventually(lambda: len(server.asked) == 6)
            first.send_signal(signal.SIGKILL)
        release.set()
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert len(server.asked) == 6 + 3  # the five that had come were not asked again
    answers, accepted, tokens, spent, requests = map(int, done.stdout.split())
    assert (answers, accepted, tokens) == (8, 8, 8000)
    assert requests == 9
    assert spent > 8 * 1000 + 1000  # the one that was killed may have been paid
    assert KEY not in done.stderr
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes(), path


def test_the_key_is_in_no_file(sampling: Sampling) -> None:
    def echo(handler: fake.Handler, asked: Asked) -> None:
        handler.answer(f"{asked.headers['authorization']}\n{fenced(GOOD)}")

    sampling(always(echo), order(2))
    with Ledger(sampling.ledger) as ledger:
        assert ledger.path == sampling.ledger
    data = b"".join(path.read_bytes() for path in sampling.ledger.parent.iterdir())
    assert KEY.encode() not in data
    assert b"[key]" in data


def test_a_connection_that_does_not_close_keeps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepagents.llm.background._JOIN_SECONDS", 0.01)
    released = threading.Event()

    async def never_mind() -> None:
        released.wait(60)  # the loop itself hangs, so that what is asked of it does not even begin

    loop = LoopThread("hangs")
    loop.close_after(never_mind)
    released.set()
