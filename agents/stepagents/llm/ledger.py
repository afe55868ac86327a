"""The ledger: every answer that was paid for, stored before it is judged, so that a killed run pays nothing twice.

SQLite in WAL mode: several processes may write, and a killed one loses nothing that it stored. No key is ever stored.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final

from stepagents.experience.database import transaction, write_ahead
from stepagents.llm.budget import Spent
from stepagents.llm.faults import Fault
from stepagents.llm.transport import Message
from stepcore.records import Record
from stepcore.settings.data_folder import LEDGER

_BUSY_SECONDS: Final = 30.0
_VERSION: Final = 1
_TABLES: Final = (
    """create table if not exists runs (
        id text primary key, fingerprint text not null, started text not null, finished text)""",
    """create table if not exists answers (
        run text not null, task text not null, prompt text not null, sample integer not null, model text not null,
        temperature real, text text not null, fault text not null, message text not null,
        input_tokens integer not null, output_tokens integer not null, cost real, counted integer not null,
        seconds real not null, created text not null, primary key (run, task, prompt, sample)) without rowid""",
    """create table if not exists spending (
        id integer primary key, run text not null, tokens integer not null, dollars real not null,
        open integer not null)""",
    "create index if not exists spending_of_run on spending (run)",
)
_FIELDS: Final = "text, fault, message, input_tokens, output_tokens, cost, counted, seconds, model, temperature"


class LedgerError(Exception):
    """The ledger cannot be used; the message names the file and says why."""


class Key(Record):
    """What an answer answers. ``prompt`` is a hash of model, messages and options; see :func:`prompt_key`."""

    run: str
    task: str
    prompt: str
    sample: int


class StoredAnswer(Record):
    """One paid answer. ``fault`` is set where it was not worth judging, and ``message`` says why then.

    ``cost`` is in US dollars, None where no price is known.
    """

    text: str
    fault: Fault | None = None
    message: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    counted: bool = True
    seconds: float = 0.0
    model: str = ""
    temperature: float | None = None


def prompt_key(name: str, messages: Iterable[Message], temperature: float | None, seed: int = 0) -> str:
    """Return the hash of a prompt. What a model refuses is no part of it: that is learned anew in each process."""
    parts = [name, temperature, seed, [[message.role, message.text] for message in messages]]
    return fingerprint(parts)


def fingerprint(parts: object) -> str:
    """Return a hash of plain data."""
    return blake2b(json.dumps(parts).encode("ascii"), digest_size=16).hexdigest()


def default_path() -> Path:
    """Return the ledger of this user."""
    from platformdirs import user_data_path

    return user_data_path("stepsmith", appauthor=False) / LEDGER


class Ledger:
    """The file. Thread-safe; a context manager.

    Raises:
        LedgerError: the file cannot be opened, is of a newer version, or cannot be written.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_path()
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise self._error(error) from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._db.close()
            raise self._error(error) from error
        except LedgerError:
            self._db.close()
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _prepare(self) -> None:
        (version,) = self._db.execute("pragma user_version").fetchone()
        if version > _VERSION:
            raise LedgerError(f"{self.path} was written by a newer Stepsmith; update this one, or name another file")
        write_ahead(self._db)
        self._db.execute("pragma synchronous = full")  # an answer costs more than the wait for the disk
        with transaction(self._db):
            for table in _TABLES:
                self._db.execute(table)
            self._db.execute(f"pragma user_version = {_VERSION}")

    def _error(self, error: Exception) -> LedgerError:
        return LedgerError(f"{self.path}: the ledger of paid answers cannot be used: {error}")

    def _do(self, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        with self._lock:
            try:
                return self._db.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._error(error) from error

    # -- runs -------------------------------------------------------------------------------------------------

    def open_run(self, parts: object) -> str:
        """Return the unfinished run of these ``parts`` (plain data that says what is asked of whom), or a new one."""
        mark = fingerprint(parts)
        found = self._do(
            "select id from runs where fingerprint = ? and finished is null order by started desc limit 1", (mark,)
        )
        if found:
            return str(found[0][0])
        run = uuid.uuid4().hex
        self._do("insert into runs values (?, ?, ?, null)", (run, mark, _now()))
        return run

    def finish_run(self, run: str) -> None:
        """Mark a run as finished: the same command starts a new one next time."""
        self._do("update runs set finished = ? where id = ?", (_now(), run))

    # -- answers ----------------------------------------------------------------------------------------------

    def get(self, key: Key) -> StoredAnswer | None:
        """Return the answer that was paid for, if it was."""
        found = self._do(
            f"select {_FIELDS} from answers where run = ? and task = ? and prompt = ? and sample = ?", _values(key)
        )
        if not found:
            return None
        text, fault, *rest = found[0]
        message, tokens_in, tokens_out, cost, counted, seconds, model, temperature = rest
        # mypy cannot know the types of columns; sqlite keeps those that were written.
        return StoredAnswer(
            str(text), Fault(str(fault)) if fault else None, str(message), int(str(tokens_in)), int(str(tokens_out)),
            _number(cost), bool(counted), _number(seconds) or 0.0, str(model), _number(temperature),
        )  # fmt: skip

    def put(self, key: Key, answer: StoredAnswer) -> None:
        """Store an answer; of two that answer the same the first stays."""
        self._do(
            "insert or ignore into answers values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *_values(key), answer.model, answer.temperature, _utf8(answer.text), answer.fault or "",
                _utf8(answer.message), answer.input_tokens, answer.output_tokens, answer.cost, answer.counted,
                answer.seconds, _now(),
            ),
        )  # fmt: skip

    def account(self, run: str) -> LedgerAccount:
        """Return the account of a run, which outlives its process."""
        return LedgerAccount(self, run)

    # -- spending ---------------------------------------------------------------------------------------------

    def spent(self, run: str) -> Spent:
        """Return what a run used, open reservations included."""
        ((tokens, dollars, requests),) = self._do(
            "select coalesce(sum(tokens), 0), coalesce(sum(dollars), 0), count(*) from spending where run = ?", (run,)
        )
        return Spent(int(str(tokens)), _number(dollars) or 0.0, int(str(requests)))

    def reserve(self, run: str, tokens: int, dollars: float) -> int:
        """Write down what a request may take, before it is sent."""
        ((number,),) = self._do(
            "insert into spending (run, tokens, dollars, open) values (?, ?, ?, 1) returning id", (run, tokens, dollars)
        )
        return int(str(number))

    def settle(self, number: int, tokens: int, dollars: float) -> None:
        """Write down what a request took."""
        self._do("update spending set tokens = ?, dollars = ?, open = 0 where id = ?", (tokens, dollars, number))


class LedgerAccount:
    """The spending of one run, see :class:`stepagents.llm.budget.Account`."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger = ledger
        self._run = run

    def spent(self) -> Spent:
        """Return what the run used, also in processes before this one."""
        return self._ledger.spent(self._run)

    def reserve(self, tokens: int, dollars: float) -> int:
        """Write a reservation down."""
        return self._ledger.reserve(self._run, tokens, dollars)

    def settle(self, number: int, tokens: int, dollars: float) -> None:
        """Replace it by what was used."""
        self._ledger.settle(number, tokens, dollars)


def _values(key: Key) -> tuple[object, ...]:
    return key.run, key.task, key.prompt, key.sample


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _utf8(text: str) -> str:
    """Return ``text`` with what no encoding holds replaced: JSON may bring half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _now() -> str:
    return datetime.now(UTC).isoformat()
