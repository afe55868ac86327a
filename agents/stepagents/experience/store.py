"""The experience store: verified programs in a SQLite file of the user, shared by all processes and workspaces."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from stepagents.experience.database import OTHER_STORE, HoldsSecret, StoreError, connect, transaction
from stepagents.experience.identity import program_key, task_key, without_impl
from stepcore.graph.task import task_name
from stepcore.jobdata.writing import Experience
from stepcore.records import Record
from stepcore.settings.data_folder import store_path
from stepcore.text.wording import as_text, one_line

_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET: Final = 12  # characters; shorter values of such variables are no keys (`TOKENIZERS=false`)
_NUMBER_BITS: Final = 63  # of SQLite's numbers of rows, beside their sign
_COLUMNS: Final = (
    "e.id, e.workspace, e.task, t.text, e.impl, e.proposer, e.success_rate, e.tokens, e.cost, e.seconds, e.earned, "
    "e.path, e.task_key, e.program_key"
)
_NAMES: Final = tuple(column.partition(".")[2] for column in _COLUMNS.split(", "))
_KINDS: Final = (int, str, str, str, str, str, float, int, float, float, float, str, str, str)
_WORDS: Final = {int: "whole number", float: "finite number", str: "text"}


class StoredExperience(Record):
    """An experience as the store holds it. ``earned`` is in seconds since 1970; ``path`` is where the task was."""

    number: int
    workspace: str
    experience: Experience
    earned: float
    path: str
    task_key: str
    program_key: str


def default_workspace() -> str:
    """Return the workspace of this process: the current folder."""
    return str(Path.cwd())


class Store:
    """The experiences of one workspace, or of all of them where ``workspace`` is None (which then adds nothing).

    A context manager. Any number of processes may use one file; a kill at any moment loses nothing that
    :meth:`add` has returned for.

    Raises:
        StoreError: on opening and from every method, if the file cannot be used.
    """

    def __init__(self, path: Path | None = None, workspace: str | None = "") -> None:
        self.path = path or store_path()
        found = default_workspace() if workspace == "" else workspace
        self.workspace = None if found is None else as_text(found)
        self.connection = connect(self.path)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def add(self, experience: Experience, path: str = "", earned: float | None = None) -> bool:
        """Store an experience; False if its program is known already (a shorter text then replaces the longer).

        The task's text is stored without an answer. What holds the value of a variable that looks like a credential
        is refused.

        Raises:
            stepagents.experience.identity.UnusableProgram: the program does not pass the checks.
            HoldsSecret: it holds a credential.
            StoreError: the file cannot be used.
            ValueError: this store was opened for all workspaces.
        """
        if self.workspace is None:
            raise ValueError("a store of all workspaces is for reading")
        text = without_impl(experience.task_text, experience.task)
        refuse_secrets([experience.task, text, experience.impl, experience.proposer, path])
        keys = task_key(text), program_key(text, experience.task, experience.impl)
        now = time.time() if earned is None else earned
        values = (
            self.workspace, as_text(experience.task), *keys, experience.impl, experience.proposer,
            experience.success_rate, experience.tokens, experience.cost, experience.seconds, now, as_text(path),
        )  # fmt: skip
        with self.writing():
            self.connection.execute("INSERT OR IGNORE INTO tasks VALUES (?, ?)", (keys[0], text))
            added = self.connection.execute(
                "INSERT OR IGNORE INTO experiences (workspace, task, task_key, program_key, impl, proposer, "
                "success_rate, tokens, cost, seconds, earned, path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            ).rowcount
            if not added:
                self.connection.execute(
                    "UPDATE experiences SET impl = ? WHERE workspace = ? AND task_key = ? AND program_key = ? "
                    "AND length(impl) > length(?)",
                    (experience.impl, self.workspace, *keys, experience.impl),
                )
        return bool(added)

    def all(self, task: str | None = None) -> list[StoredExperience]:
        """Return the experiences in the order in which they were added, those of one task name if given."""
        conditions, values = self._mine()
        if task is not None:
            conditions, values = [*conditions, "e.task = ?"], [*values, as_text(task)]
        return self._select(conditions, values)

    def get(self, number: int) -> StoredExperience | None:
        """Return the experience of this number, None where the workspace has none."""
        if number.bit_length() > _NUMBER_BITS:
            return None
        conditions, values = self._mine()
        found = self._select([*conditions, "e.id = ?"], [*values, number])
        return found[0] if found else None

    def remove(self, numbers: Sequence[int]) -> int:
        """Remove experiences by number and return how many there were; tasks that no experience needs go, too."""
        conditions, values = self._mine("")
        where = " AND ".join([*conditions, "id = ?"])
        with self.writing():
            gone = sum(
                self.connection.execute(f"DELETE FROM experiences WHERE {where}", (*values, number)).rowcount
                for number in numbers
            )
            self.connection.execute("DELETE FROM tasks WHERE key NOT IN (SELECT task_key FROM experiences)")
        return gone

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write in one transaction."""
        with self.usable(), transaction(self.connection):
            yield

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Turn errors of the database into :class:`StoreError`."""
        try:
            yield
        except sqlite3.Error as error:
            text = f"the experience store cannot be used: {one_line(error)}; {OTHER_STORE}"
            raise StoreError(f"{one_line(self.path)}: {text}") from error

    def _mine(self, table: str = "e.") -> tuple[list[str], list[Any]]:
        return ([], []) if self.workspace is None else ([f"{table}workspace = ?"], [self.workspace])

    def _select(self, conditions: Sequence[str], values: Sequence[Any]) -> list[StoredExperience]:
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        query = f"SELECT {_COLUMNS} FROM experiences e JOIN tasks t ON t.key = e.task_key {where} ORDER BY e.id"
        with self.usable():
            return [self._stored(row) for row in self.connection.execute(query, values)]

    def _stored(self, row: Sequence[Any]) -> StoredExperience:
        """Return the experience of a row. Columns have types in SQLite's tables, but their values may be of any."""
        for name, kind, value in zip(_NAMES, _KINDS, row, strict=True):
            if not isinstance(value, kind) or (isinstance(value, float) and not isfinite(value)):
                what = f"experience {row[0]} of the store cannot be read: its `{name}` is no {_WORDS[kind]}"
                raise StoreError(f"{one_line(self.path)}: {what}; {OTHER_STORE}")
        return _of_row(row)


def _of_row(row: Sequence[Any]) -> StoredExperience:
    number, workspace, task, text, impl, proposer, rate, tokens, cost, seconds, earned, path, *keys = row
    experience = Experience(task, text, impl, proposer, rate, tokens, cost, seconds)
    return StoredExperience(number, workspace, experience, earned, path, *keys)


def refuse_secrets(texts: Sequence[str]) -> None:
    """Raise :class:`HoldsSecret` if a text holds the value of a variable that looks like a credential."""
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET and any(value in text for text in texts):
            raise HoldsSecret(f"this holds the value of the variable {name}, which looks like a credential: not stored")


def outdated(stored: StoredExperience) -> bool:
    """Return whether the task file is gone, or holds another task by now."""
    if not stored.path:
        return False
    try:
        text = Path(stored.path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return True
    return task_key(without_impl(text, task_name(stored.path))) != stored.task_key
