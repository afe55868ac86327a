"""Where Stepsmith keeps what it learns and works out for a user, across projects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

STORE_VARIABLE: Final = "STEPSMITH_STORE"
LEDGER: Final = "answers.sqlite3"  # the file of paid answers
_RECORDS: Final = "optimize"


def store_path() -> Path:
    """Return the file of the experience store: the one that ``STEPSMITH_STORE`` names, else the user's own."""
    named = os.environ.get(STORE_VARIABLE)
    if named:
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("stepsmith", appauthor=False) / "experience.sqlite3"


def records_folder() -> Path:
    """Return the folder of what searches for faster programs worked out, beside the store."""
    return store_path().parent / _RECORDS
