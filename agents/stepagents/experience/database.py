"""The SQLite file below the store: opening it safely from several processes, its schema, its version."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stepcore.settings.data_folder import STORE_VARIABLE
from stepcore.system.scarce import reason_of
from stepcore.text.wording import one_line

SCHEMA: Final = 2
_APPLICATION: Final = 0x53544550  # "STEP", by which a file is known to be ours
_BUSY: Final = 60.0  # seconds that one process waits for another's transaction
_MOST_BYTES: Final = 64 << 20  # of a text or a row: what is larger is not ours, and would fill the memory
OTHER_STORE: Final = f"name another store with {STORE_VARIABLE}, or with --store where there is that option"
_TABLES: Final = (
    "CREATE TABLE tasks (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE experiences (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        workspace TEXT NOT NULL, task TEXT NOT NULL, task_key TEXT NOT NULL REFERENCES tasks (key),
        program_key TEXT NOT NULL, impl TEXT NOT NULL, proposer TEXT NOT NULL, success_rate REAL NOT NULL,
        tokens INTEGER NOT NULL, cost REAL NOT NULL, seconds REAL NOT NULL, earned REAL NOT NULL,
        path TEXT NOT NULL,
        UNIQUE (workspace, task_key, program_key))""",
    """CREATE TABLE runs (
        id TEXT PRIMARY KEY, workspace TEXT NOT NULL, fingerprint TEXT NOT NULL, begun REAL NOT NULL,
        start TEXT NOT NULL, ended TEXT NOT NULL)""",
    """CREATE TABLE results (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, step INTEGER NOT NULL, task_key TEXT NOT NULL,
        complete INTEGER NOT NULL, sampled TEXT NOT NULL, PRIMARY KEY (run, step, task_key)) WITHOUT ROWID""",
)
_TABLES_2: Final = (  # what schema 2 has beside those of schema 1
    """CREATE TABLE optimizations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        workspace TEXT NOT NULL, key TEXT NOT NULL, item TEXT NOT NULL, seen REAL NOT NULL,
        UNIQUE (workspace, key))""",
)


class StoreError(Exception):
    """The store cannot be used; the message says why and what to do."""


class HoldsSecret(StoreError):
    """An experience that holds the value of a credential: it is not stored."""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, made if need be, in write-ahead mode.

    Raises:
        StoreError: it cannot be opened, is no store, or was written by a newer version.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Transactions are begun by hand; a commit has reached the disk when it returns.
        # An absolute path, because SQLite gives names such as `:memory:` a meaning of their own.
        connection = sqlite3.connect(path.absolute(), timeout=_BUSY, isolation_level=None)
    except OSError as error:
        raise _closed(path, reason_of(error)) from error
    except sqlite3.Error as error:
        raise _closed(path, str(error)) from error
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    try:
        _prepare(connection, path)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise StoreError(
            f"{one_line(path)}: the file is no usable experience store ({one_line(error)}); {OTHER_STORE}"
        ) from error
    except StoreError:
        connection.close()
        raise
    return connection


def _closed(path: Path, why: str) -> StoreError:
    return StoreError(f"{one_line(path)}: the experience store cannot be opened: {why}; {OTHER_STORE}")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    _check_version(connection, path)
    write_ahead(connection)
    with transaction(connection):
        version = _number(connection, "user_version")
        if version < SCHEMA:  # a store of an earlier schema keeps all that it holds
            for table in (*(_TABLES if version == 0 else ()), *_TABLES_2):
                connection.execute(table)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
        _check_schema(connection, path)


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with other tables than ours: a view could go on for ever, a trigger write what nobody asked for."""
    found = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'sqlite_sequence'")
    if {" ".join(sql.split()) for (sql,) in found} != {" ".join(table.split()) for table in (*_TABLES, *_TABLES_2)}:
        raise StoreError(
            f"{one_line(path)}: the tables of the file are not those of an experience store; {OTHER_STORE}"
        )


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    # In this order: another process may be making the tables, and the version comes with them.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    version = _number(connection, "user_version")
    if _number(connection, "application_id") not in {0, _APPLICATION} or version < 0 or (version == 0 and tables):
        raise StoreError(f"{one_line(path)}: the file is a database of another program; {OTHER_STORE}")
    if version > SCHEMA:
        raise StoreError(
            f"{one_line(path)}: the store has schema {version}, written by a newer Stepsmith; "
            f"this one knows schema {SCHEMA}. Update Stepsmith, or {OTHER_STORE}"
        )


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead mode; SQLite does not wait by itself where several processes do so at once."""
    end = time.monotonic() + _BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise  # nothing that waiting would change, or waited for long enough
            time.sleep(0.02)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do all or nothing, after all others who write; committed when it ends without an exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
