"""``stepsmith synth`` and ``stepsmith bench`` as commands: output, files, exit codes, experience, interruption."""

from __future__ import annotations

import errno
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import fake_model_server as fake
import warm
from agent_tasks import TASKS, TASKS2
from fake_model_server import KEY, FakeModelServer, always
from llm_answers import GOOD, PATH, WRONG_VALUES, fenced
from processes import eventually
from stepagents.cli import synth
from stepagents.experience.store import Store
from stepcore.cli import main

EASY = TASKS / "index_score_filter.step.yaml"
MEAN = TASKS2 / "norm_max_abs_buffers.step.yaml"
HARD = TASKS / "norm_layer_scalars.step.yaml"

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own store, ledger and settings out of it; the commands that are called here use warm workers."""
    warm.lend(monkeypatch)
    monkeypatch.setenv("STEPSMITH_STORE", str(tmp_path / "store.sqlite3"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def impossible(home: Path) -> Path:
    """A task whose functions cannot give what is wanted."""
    text = HARD.read_text(encoding="utf-8")
    assert text.count("eps=1e-5)") == 1
    path = home / "impossible.step.yaml"
    path.write_text(text.replace("eps=1e-5)", "eps=1e-5).cos() ** 3"), encoding="utf-8")
    return path


def as_json(capsys: Captured, *words: str, code: int = 0) -> Any:
    assert main([*words, "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def test_writes_answers_that_verify_accepts(home: Path, capsys: Captured) -> None:
    assert main(["synth", str(EASY), str(MEAN), "--output", "new/folder", "--workers", "1", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert "2 of 2 solved" in shown
    assert shown.count("of right programs, those with fewer cycles come first") == 2
    assert shown.count("; off chip: ") == shown.count("  program ") >= 2
    assert sorted(path.name for path in (home / "new" / "folder").iterdir()) == [
        "index_score_filter.impl.yaml", "norm_max_abs_buffers.impl.yaml",
    ]  # fmt: skip
    assert main(["verify", str(EASY), str(MEAN), "--impl", "new/folder"]) == 0


def test_json_is_as_documented_and_in_the_order_of_the_tasks(home: Path, capsys: Captured) -> None:
    rows = as_json(capsys, "synth", str(HARD), str(EASY), "--experience", "none", "--workers", "1")
    assert rows[1]["timing"]["cycles"] > 0
    assert rows[1]["timing"]["hw"] == "default"
    assert not (home / "store.sqlite3").exists()
    assert [row["task"] for row in rows] == ["norm_layer_scalars", "index_score_filter"]
    for row in rows:
        assert {"task", "solved", "impl", "proposer", "candidates", "seconds", "tokens"} <= row.keys()
        assert (row["solved"], row["proposer"], row["tokens"]) == (True, "search", 0)
        assert row["impl"].splitlines()[-1].startswith("return ")
        assert 0 < row["candidates"] <= 200_000


def test_successes_are_recorded_and_used(home: Path, capsys: Captured) -> None:
    assert main(["synth", str(EASY), str(MEAN), "--workers", "1"]) == 0
    with Store(home / "store.sqlite3") as store:
        stored = store.all()
    assert {item.experience.task for item in stored} == {"index_score_filter", "norm_max_abs_buffers"}
    assert all(0 < item.experience.success_rate <= 1 and item.path for item in stored)
    assert all("impl:" not in item.experience.task_text for item in stored)
    capsys.readouterr()
    assert main(["synth", str(EASY), "--output", "out"]) == 0  # with a prior from both
    assert capsys.readouterr().err == ""
    assert main(["synth", str(MEAN), "--samples", "1", "--experience", "none"]) == 1
    with Store(home / "store.sqlite3") as store:
        assert len(store.all()) == len(stored)


def test_a_store_that_cannot_be_used_costs_nothing_but_the_experience(home: Path, capsys: Captured) -> None:
    (home / "store.sqlite3").write_text("this is no database, whatever its name says. " * 50)
    assert main(["synth", str(EASY)]) == 0
    assert "going on without experience" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["bench"], ["improve"], ["improve", "--kind", "optimization"]])
def test_where_nothing_can_be_tried_the_way_out_is_told_and_no_empty_table(
    home: Path, capsys: Captured, command: list[str]
) -> None:
    (home / "none").mkdir()
    (home / "broken.step.yaml").write_text(
        EASY.read_text(encoding="utf-8").replace("dtype:", "dtyp:"), encoding="utf-8"
    )
    for name, said in (("none", "STEP901 no *.step.yaml"), ("broken.step.yaml", "unknown key 'dtyp'")):
        has_errors = name != "none" and "optimization" in command  # as those of `optimize`
        assert main([*command, name]) == (1 if has_errors else 2)
        out, err = capsys.readouterr()
        lines = [line for line in out.splitlines() if not line.startswith("round 1")]
        assert lines == []
        assert has_errors or said in err
        if name != "none":
            way = "`stepsmith check broken.step.yaml`" if has_errors else "`stepsmith check`"
            assert way in err


def test_unsolved_and_unusable_have_their_exit_codes(tmp_path: Path, capsys: Captured) -> None:
    assert main(["synth", str(HARD), "--samples", "5"]) == 1
    assert "5 candidates is spent" in capsys.readouterr().out
    broken = tmp_path / "broken.step.yaml"
    broken.write_text("inputs: [\n")
    (tmp_path / "x.py").write_text("x = 1\n")
    names = ("missing.step.yaml", "missing.py", "x.py")
    assert main(["synth", str(broken), *(str(tmp_path / name) for name in names)]) == 2
    captured = capsys.readouterr()
    for name, words in (
        ("broken.step.yaml", "STEP903"),
        ("missing.step.yaml", "no such file"),
        ("missing.py", "no such file"),
        ("x.py", "x.py::FUNCTION"),
    ):
        (line,) = (line for line in captured.err.splitlines() if f"{name}:" in line)
        assert words in line
    assert "Traceback" not in captured.err + captured.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "gpt-4o"], "add --proposer llm"),
        (["--budget-tokens", "5"], "add --proposer llm"),
        (["--guardian", "llm"], "add --proposer llm"),
        (["--ray-address", "localhost:1"], "add --executor ray"),
        (["--executor", "ray", "--ray-address", "nowhere"], "no HOST:PORT"),
        (["--proposer", "llm"], "name a model"),
        (["--proposer", "llm", "--model", "no-such-model"], "is not known"),
        (["--proposer", "llm", "--model", "gpt-4o"], "OPENAI_API_KEY"),
        (["--proposer", "llm", "--model", "m", "--base-url", "ftp://x"], "base URL cannot be used"),
        (["--proposer", "llm", "--model", "m", "--base-url", "https://a.example/v1"], "nothing was sent"),
        (["--samples", "0"], "--samples"),
        (["--budget-seconds", "nan"], "--budget-seconds"),
    ],
)
def test_options_that_make_no_sense(
    words: list[str], message: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for command in ("synth", "bench"):
        assert main([command, str(EASY), *words]) == 2
        told = " ".join(capsys.readouterr().err.replace("│", " ").split())
        assert message in told


def test_two_tasks_of_one_name_would_overwrite_each_other(home: Path, capsys: Captured) -> None:
    twin = home / "twin" / EASY.name
    twin.parent.mkdir()
    twin.write_bytes(EASY.read_bytes())
    assert main(["synth", str(EASY), str(twin), "--output", "out"]) == 2
    assert "2 of the tasks" in capsys.readouterr().err
    assert not (home / "out").exists()


def test_a_program_that_cannot_be_written_is_shown_and_the_next_is_tried(
    home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_at_first(path: Path, data: bytes) -> None:
        if not places:
            places.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        path.write_bytes(data)

    places: list[Path] = []
    monkeypatch.setattr(synth, "write_atomically", full_at_first)
    assert main(["synth", str(EASY), str(MEAN), "--output", "out", "--workers", "1"]) == 2
    shown = capsys.readouterr()
    assert f"{places[0]}: STEP901 no space left on the disk" in shown.err
    assert shown.out.count("  return ") == 1
    assert "2 of 2 solved" in shown.out
    assert len(list((home / "out").iterdir())) == 1


@contextmanager
def on_terminal(words: list[str], folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], str]]]:
    """Run the command with a terminal for its errors; what it has shown there so far is asked of the function."""
    owner, terminal = pty.openpty()
    os.set_blocking(owner, False)
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    told = bytearray()

    def shown() -> str:
        with suppress(BlockingIOError):
            try:
                while piece := os.read(owner, 1 << 16):
                    told.extend(piece)
            except OSError as error:
                if error.errno != errno.EIO:  # which Linux says where the other side is closed
                    raise
        return told.decode(errors="replace")

    command = [sys.executable, "-m", "stepcore.cli", *words]
    with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        try:
            yield process, shown
        finally:
            process.kill()
            os.close(owner)


def test_an_interruption_keeps_what_was_earned(home: Path, impossible: Path) -> None:
    words = [
        "synth",
        str(EASY),
        str(impossible),
        "--output",
        "out",
        "--format",
        "json",
        "--samples",
        "10000000",
        "--budget-seconds",
        "100000",
    ]
    answer = home / "out" / "index_score_filter.impl.yaml"
    with on_terminal(words, home) as (process, shown):
        tried = re.compile(r"impossible: [1-9][\d,]* candidates")
        assert eventually(lambda: tried.search(shown()) is not None and answer.exists())
        process.send_signal(signal.SIGINT)
        assert eventually(lambda: "what was found is kept" in shown() and process.poll() is not None)
        assert process.stdout is not None
        solved, stopped = json.loads(process.stdout.read())
    assert process.returncode == 130
    assert (solved["solved"], stopped["solved"], stopped["reason"]) == (True, False, "interrupted")
    assert stopped["candidates"] > 0
    assert answer.read_text().startswith("impl: |-\n")


# -- bench ----------------------------------------------------------------------------------------------------


def test_bench_counts_by_group_and_saves(home: Path, capsys: Captured) -> None:
    assert (
        main(["bench", str(EASY), str(MEAN), "--seeds", "2", "--save", "runs", "--label", "<two>", "--workers", "1"])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split() for line in lines if line.split()}
    assert lines[1].split() == ["group", "solved", "tasks", "share", "interval", "candidates", "tokens", "seconds"]
    assert [rows[name][1:4] for name in ("index", "norm", "all")] == [
        ["1", "1", "100.0%"], ["1", "1", "100.0%"], ["2", "2", "100.0%"],
    ]  # fmt: skip
    assert any(line.split()[:2] == ["k=2", "100.0%"] for line in lines)
    (saved,) = (home / "runs").glob("*.json")
    run = json.loads(saved.read_text())
    assert (run["format"], run["proposer"], run["of_a_model"], run["interrupted"]) == (
        "stepsmith-bench", "search", False, False,
    )  # fmt: skip
    assert sorted((item["task"], item["seed"]) for item in run["attempts"]) == [
        (name, seed) for name in ("index_score_filter", "norm_max_abs_buffers") for seed in (0, 1)
    ]
    page = saved.with_suffix(".html").read_text()
    assert "&lt;two&gt;" in page
    assert not (home / "store.sqlite3").exists()


def test_saved_runs_go_into_one_report(home: Path, capsys: Captured) -> None:
    run = as_json(capsys, "bench", str(EASY), "--label", "one")
    (home / "one.json").write_text(json.dumps(run))
    (home / "two.json").write_text(json.dumps({**run, "label": "two"}))
    assert main(["bench", "--compare", "one.json", "two.json", "--save", "both"]) == 0
    assert capsys.readouterr().out.count("pass@k") == 2
    (page,) = (home / "both").iterdir()
    assert page.name.startswith("one-two-")
    assert page.suffix == ".html"


def test_bench_says_what_it_cannot_use(home: Path, capsys: Captured) -> None:
    assert main(["bench", "--compare"]) == 2
    assert "name the saved runs" in capsys.readouterr().err
    (home / "other.json").write_text('{"format": "else"}')
    assert main(["bench", "--compare", "other.json"]) == 2
    assert "no run that" in capsys.readouterr().err
    assert main(["bench"]) == 2  # the current folder holds no task
    assert "no *.step.yaml" in capsys.readouterr().err
    assert main(["bench", str(HARD), "--samples", "5"]) == 1
    assert "not solved: norm_layer_scalars (the budget of 5 candidates is spent)" in capsys.readouterr().out


# -- models ---------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    """A model that is right every second time."""

    def script(asked: fake.Asked) -> fake.Behaviour:
        return fake.says(fenced(GOOD if asked.number % 2 else WRONG_VALUES))

    with FakeModelServer(script) as opened:
        yield opened


def of_model(server: FakeModelServer) -> list[str]:
    return ["--proposer", "llm", "--model", "m", "--base-url", server.base_url, "--key-variable", "FAKE_KEY"]


def test_a_model_writes(server: FakeModelServer, home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    (row,) = as_json(capsys, "synth", str(PATH), *of_model(server), "--samples", "8", "--output", "out")
    assert (row["solved"], row["proposer"]) == (True, "127.0.0.1/m")
    assert row["tokens"] >= 1000 * row["candidates"] > 0
    assert (home / "out" / "gemm_easy_buffer_sum.impl.yaml").exists()
    assert all(KEY.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_bench_of_a_model_samples_all_answers_and_pays_for_each_seed(
    server: FakeModelServer, home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    run = as_json(capsys, "bench", str(PATH), *of_model(server), "--samples", "4", "--seeds", "2", "--save", "runs")
    assert [(item["candidates"], item["accepted"]) for item in run["attempts"]] == [(4, 2), (4, 2)]
    assert len(server.asked) == 8
    assert run["of_a_model"] is True
    assert main(["bench", "--compare", *map(str, (home / "runs").glob("*.json"))]) == 0
    out = capsys.readouterr().out
    assert [line.split()[1] for line in out.splitlines() if line.split()[:1] == ["k=1"]] == ["50.0%"]
    assert [line.split()[1] for line in out.splitlines() if line.split()[:1] == ["k=2"]] == ["78.6%"]  # 1 - 6/28


def test_nonsense_costs_a_few_answers_which_are_kept_with_their_verdicts(
    server: FakeModelServer, home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    server.script = always(fake.says("I would zip the streams. ```\x1b[2J"))
    words = ["synth", str(PATH), *of_model(server), "--repair", "1"]
    assert main([*words, "--answers", "kept", "--explain"]) == 1
    out = capsys.readouterr().out
    assert len(server.asked) == 4
    assert "4,032 tokens, cost not known" in out
    assert "the limit answers_without_program = 4: none of the first 4 answers held a program" in out
    assert [line.split(":")[0] for line in out.splitlines() if ": no program" in line] == [
        f"  answer {number}" for number in range(1, 5)
    ]
    kept = home / "kept" / "gemm_easy_buffer_sum.answers.md"
    assert f"  answers: {kept.relative_to(home)}" in out
    text = kept.read_text(encoding="utf-8")
    assert text.startswith("# Answers of 127.0.0.1/m to gemm_easy_buffer_sum\n")
    assert text.count("````text\nI would zip the streams. ```\ufffd[2J\n````") == 4
    assert "1,008 tokens, cost not known (prompt and answer: 1,000 + 8)" in text
    assert text.rstrip().endswith("(no program 4).")
    assert KEY not in text
    (row,) = as_json(capsys, *words, "--answers-without-program", "2", "--price", "2,10", "--answers", "kept", code=1)
    assert len(server.asked) == 4 + 2
    assert (row["tokens"], row["cost"], row["answers"]) == (2016, pytest.approx(0.00416), str(kept.relative_to(home)))
    (home / "stepsmith.toml").write_text("answers_without_program = 1\n", encoding="utf-8")
    (home / "own.step.yaml").write_bytes(PATH.read_bytes())
    (row,) = as_json(capsys, "synth", "own.step.yaml", *of_model(server), code=1)
    assert len(server.asked) == 4 + 2 + 1, "a project may tighten it"
    assert (row["cost"], row["answers"]) == (None, "")
    settings = home / "config" / "stepsmith" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[model_prices]\nm = [1000, 1000]\n", encoding="utf-8")
    assert main(["synth", "own.step.yaml", *of_model(server)]) == 1
    out = capsys.readouterr().out
    assert "1,008 tokens, $1.01" in out and "--answers DIR keeps each answer" in out


@pytest.mark.parametrize("command", ["synth", "bench", "improve"])
def test_every_command_shows_what_is_sent_before_the_user_agrees(
    command: str, home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\nno\n"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    words = [command, str(PATH), "--proposer", "llm", "--model", "m", "--base-url", "https://models.example.com/v1"]
    assert main([*words, "--workers", "1"]) == 2
    err = capsys.readouterr().err
    assert err.count("[s]how what is sent") == 2
    assert "To: m at https://models.example.com/v1" in err
    assert "Write impl for this task." in err and "func_name: fn_multiply" in err
    assert "you did not agree to send to models.example.com" in err.replace("\n", " ").replace("│", "")
    assert main([*words, "--show-request"]) == 0
    assert "func_name: fn_multiply" in capsys.readouterr().out


def test_bench_asks_once_for_all_seeds(
    server: FakeModelServer, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    server.script = always(fake.says(fenced(GOOD)))
    asked: list[str] = []
    monkeypatch.setattr("stepagents.llm.consent.is_local", lambda _url: False)

    def once(question: str) -> str:
        asked.append(question)
        return "once"

    monkeypatch.setattr("stepagents.cli.asking.on_terminal", once)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    run = as_json(capsys, "bench", str(PATH), *of_model(server), "--samples", "1", "--seeds", "2")
    assert (len(run["attempts"]), len(asked)) == (2, 1)


@pytest.mark.parametrize("price", ["", "5", "1,2,3", "a,b", "nan,1", "-1,1", "1,1e99"])
def test_a_price_that_is_none_is_refused(price: str, server: FakeModelServer, capsys: Captured) -> None:
    assert main(["synth", str(PATH), *of_model(server), "--price", price]) == 2
    assert "such as --price 2.5,10" in capsys.readouterr().err.replace("\n", " ")
    assert not server.asked


def test_a_wrong_key_says_where_it_came_from(
    server: FakeModelServer, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    server.script = always(fake.wrong_key())
    assert main(["synth", str(PATH), *of_model(server)]) == 2
    assert "the environment variable FAKE_KEY: put one there" in capsys.readouterr().err.replace("\n", " ")


def test_the_budget_of_a_run_holds(server: FakeModelServer, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    server.script = always(fake.says(fenced(WRONG_VALUES)))
    words = ["synth", str(PATH), *of_model(server), "--samples", "50", "--budget-tokens", "20000"]
    (row,) = as_json(capsys, *words, code=1)
    assert row["candidates"] < 50
    assert row["tokens"] <= 20_000


def test_a_project_can_forbid_that_its_tasks_are_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (TASKS / "norm_rms_scalars.step.yaml").read_text(encoding="utf-8")
    (tmp_path / "a.step.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "stepsmith.toml").write_text("send_to_provider = false\n", encoding="utf-8")
    words = ["synth", str(tmp_path / "a.step.yaml"), "--proposer", "llm", "--model", "m", "--base-url"]
    assert main([*words, "https://models.example.com/v1"]) == 2
    assert "refused in the configuration" in capsys.readouterr().err.replace("\n", " ")


def test_a_request_is_shown_and_goes_nowhere(
    server: FakeModelServer, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    path = TASKS / "norm_rms_scalars.step.yaml"
    assert main(["synth", str(path), *of_model(server), "--show-request"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("To: ") and server.base_url in shown
    assert (
        "===== system =====" in shown
        and "Write impl for this task." in shown
        and "test_name: norm_rms_scalars" in shown
    )
    assert "step.Accum(fn=fn_" not in shown.split("===== user =====")[-1]  # the answer that the file holds
    assert not server.asked
