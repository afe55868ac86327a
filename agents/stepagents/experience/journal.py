"""What a run of the learning loop has done so far, kept in the store, so that it goes on after a kill."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields

from stepagents.experience.database import StoreError
from stepagents.experience.store import Store, refuse_secrets
from stepagents.sampling import Order, Sampled
from stepcore.jobdata.writing import Experience
from stepcore.records import Record


class RunStart(Record):
    """What a run began with: it is replayed from here."""

    tasks: tuple[Order, ...]
    demonstrations: tuple[Experience, ...]


class RunInfo(Record):
    """One run. ``ended`` says why it is over, empty where it is not."""

    number: str
    fingerprint: str
    begun: float
    ended: str


class Journal:
    """The results of one run, step by step. Results of a step that was stopped half-way are kept as *partial*."""

    def __init__(self, store: Store, number: str) -> None:
        self._store = store
        self.number = number

    @staticmethod
    def begin(store: Store, fingerprint: str, start: RunStart) -> Journal:
        """Note a new run of the store's workspace.

        Raises:
            StoreError: the store cannot be used, or a task holds a credential.
        """
        number = secrets.token_hex(4)
        content = {
            "tasks": [asdict(order) for order in start.tasks],
            "demonstrations": [asdict(experience) for experience in start.demonstrations],
        }
        text = json.dumps(content)
        refuse_secrets([text])
        with store.writing():
            store.connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, '')",
                (number, store.workspace, fingerprint, time.time(), text),
            )
        return Journal(store, number)

    @staticmethod
    def runs(store: Store, fingerprint: str | None = None) -> list[RunInfo]:
        """Return the runs of the store's workspace, the oldest first."""
        query = "SELECT id, fingerprint, begun, ended FROM runs WHERE workspace IS ? ORDER BY begun, rowid"
        with store.usable():
            found = [RunInfo(*row) for row in store.connection.execute(query, (store.workspace,))]
        return [run for run in found if fingerprint in {None, run.fingerprint}]

    @staticmethod
    def going_on(
        store: Store, runs: Sequence[RunInfo], fingerprint: str, start: Callable[[], RunStart], *, new: bool
    ) -> tuple[Journal, bool]:
        """Return the journal of the last of ``runs`` where it was stopped, else of a new run; and whether it is old.

        Raises:
            StoreError: the store cannot be used, or a task holds a credential.
        """
        if runs and not runs[-1].ended and not new:
            return Journal(store, runs[-1].number), True
        return Journal.begin(store, fingerprint, start()), False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from going on with the same run; the lock ends with the process, however it ends.

        Raises:
            StoreError: another process works on it.
        """
        from filelock import FileLock, Timeout

        path = self._store.path.with_name(f"{self._store.path.name}.{self.number}.lock")
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            text = f"run {self.number} is being worked on by another process; wait for it, or begin another with --new"
            raise StoreError(text) from error
        try:
            yield
            path.unlink(missing_ok=True)
        finally:
            lock.release()

    def start(self) -> RunStart:
        """Return what the run began with."""
        with self._store.usable():
            row = self._store.connection.execute("SELECT start FROM runs WHERE id = ?", (self.number,)).fetchone()
        content = json.loads(row[0])
        return RunStart(
            tuple(Order(**order) for order in content["tasks"]),
            tuple(Experience(**experience) for experience in content["demonstrations"]),
        )

    def record(self, step: int, key: str, sampled: Sampled, complete: bool) -> None:
        """Keep what came of one task in one step; a later result replaces a partial one."""
        text = _text(sampled)
        refuse_secrets([text])
        with self._store.writing():
            self._store.connection.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", (self.number, step, key, int(complete), text)
            )

    def results(self, step: int) -> dict[str, Sampled]:
        """Return the complete results of a step by task key."""
        query = "SELECT task_key, sampled FROM results WHERE run = ? AND step = ? AND complete = 1"
        with self._store.usable():
            rows: Sequence[tuple[str, str]] = self._store.connection.execute(query, (self.number, step)).fetchall()
        return {key: _sampled(text) for key, text in rows}

    def end(self, why: str) -> None:
        """Note that the run is over; an empty text opens it again."""
        with self._store.writing():
            self._store.connection.execute("UPDATE runs SET ended = ? WHERE id = ?", (why, self.number))


def _text(sampled: Sampled) -> str:
    # Not `asdict`, which cannot copy a Counter.
    values = {key.name: getattr(sampled, key.name) for key in fields(sampled)}
    return json.dumps({**values, "outcomes": dict(sampled.outcomes)})


def _sampled(text: str) -> Sampled:
    values = json.loads(text)
    values["outcomes"] = Counter(values["outcomes"])
    return Sampled(**values)
