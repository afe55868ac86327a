"""What a search has worked out, on disk: the same search goes on from there when it is begun again.

One file for each order (the program, the chip, all that changes the outcome), one line for each result. A line that
was cut off by a kill is dropped. Several processes may write to one file: each line is appended in one piece. What is
shown is verified and timed anew: the lines may be of another build, or of somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from errno import ENOSPC
from hashlib import sha256
from io import SEEK_END, FileIO
from pathlib import Path
from typing import Any, Final

from stepagents.experience.optimizations import Bottleneck, OptimizationItem, item_as_json
from stepagents.optimize.candidates import OptimizeTarget
from stepcore.jobdata.optimizing import Figures, SiteRow
from stepcore.jobdata.plain import from_plain, written
from stepcore.records import Record
from stepcore.rewrites import RewriteSite, RewriteSubject
from stepcore.rewrites.rows import row_of, site_of
from stepcore.settings.data_folder import records_folder
from stepcore.system.scarce import reason_of
from stepcore.version import VERSION

MOST: Final = 64 << 20  # bytes of a record
_FULL: Final = (
    f"the record of the search is full ({MOST >> 20} MB): what is found from here on is worked out again next time"
)


class Tried(Record):
    """What came of a text: ``estimate`` is None where it has errors, stops or cannot be timed.

    ``figures`` are those of its exact timing, where that was made and came to an end.
    """

    estimate: int | None
    exact: bool = False
    figures: Figures | None = None


class SearchRecord:
    """Results by the names of texts, in memory and, where ``path`` says so, on disk. A context manager.

    ``problem`` says why nothing is kept on disk, where that fails. ``has_news``: something was timed exactly that had
    not been before.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._tried: dict[str, Tried] = {}
        self._read_back: set[str] = set()
        self._sites: dict[str, tuple[RewriteSite, ...]] = {}
        self._bottlenecks: dict[str, Bottleneck] = {}
        self._learned: set[str] = set()
        self._memory: tuple[OptimizationItem, ...] | None = None
        self._file: FileIO | None = None
        self.problem = ""
        self.has_news = False

    def __enter__(self) -> SearchRecord:
        if self._path is None:
            return self
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # it holds lines of its user's code
            if self._path.exists():
                with self._path.open("rb") as file:
                    for line in file.read(MOST).decode("utf-8", errors="replace").split("\n"):
                        self._read(line)
            self._file = self._path.open("ab", buffering=0)
            self._append(b"\n")  # behind a line that was cut off
        except OSError as error:
            self.problem = f"the record of the search cannot be kept: {reason_of(error)}"
        return self

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def known(self) -> int:
        """How many texts were tried."""
        return len(self._tried)

    def tried(self, key: str) -> Tried | None:
        """Return what came of a text."""
        return self._tried.get(key)

    def is_read_back(self, key: str) -> bool:
        """Return whether what came of a text was read from the disk, where anybody may have written it."""
        return key in self._read_back

    def forget_what_was_read(self) -> None:
        """Give up all that was read from the disk, but for the memory that the search began with."""
        for key in self._read_back:
            del self._tried[key]
        self._read_back.clear()
        self._sites.clear()
        self._bottlenecks.clear()

    def keep(self, key: str, tried: Tried) -> None:
        """Remember what came of a text."""
        self._tried[key] = tried
        self.has_news |= tried.exact
        self._read_back.discard(key)
        self._write({"text": key, "tried": written(tried)})

    def sites(self, key: str, rewrite: str) -> tuple[RewriteSite, ...] | None:
        """Return the sites of a rewrite in a text."""
        return self._sites.get(f"{rewrite} {key}")

    def keep_sites(self, key: str, rewrite: str, sites: Sequence[RewriteSite]) -> None:
        """Remember the sites of a rewrite in a text."""
        self._sites[f"{rewrite} {key}"] = tuple(sites)
        self._write({"sites": key, "rewrite": rewrite, "found": [written(row_of(site)) for site in sites]})

    def bottleneck(self, key: str) -> Bottleneck | None:
        """Return what holds a text's program up."""
        return self._bottlenecks.get(key)

    def keep_bottleneck(self, key: str, found: Bottleneck) -> None:
        """Remember what holds a text's program up."""
        self._bottlenecks[key] = found
        self._write({"holds": key, "bottleneck": asdict(found)})

    def memory(self, now: Sequence[OptimizationItem]) -> Sequence[OptimizationItem]:
        """Return the items that the search began with: those of ``now`` where it begins.

        A search that goes on needs what it began with, whatever was learned in the meantime.
        """
        if self._memory is None:
            self._memory = tuple(now)
            self._write({"memory": [item_as_json(item) for item in now]})
        return self._memory

    def learn(self, items: Sequence[OptimizationItem]) -> list[OptimizationItem]:
        """Say that items are being remembered; return those that were not yet, of the search or of a model."""
        new = [item for item in items if item.key not in self._learned]
        if new:
            self._learned.update(item.key for item in new)
            self._write({"learned": [item.key for item in new]})
        return new

    def _write(self, row: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._append(json.dumps(row, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n")
        except OSError as error:
            self._end(f"the record of the search cannot be kept: {reason_of(error)}")

    def _append(self, line: bytes) -> None:
        """Append in one piece, as long as all of it can be read again."""
        if self._file is None:
            return
        if self._file.seek(0, SEEK_END) + len(line) > MOST:
            self._end(_FULL)
        elif self._file.write(line) != len(line):
            raise OSError(ENOSPC, "a line was written in part")

    def _end(self, problem: str) -> None:
        self.problem = problem
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def _read(self, line: str) -> None:
        with suppress(ValueError, TypeError, KeyError, RecursionError):  # cut off, or of somebody else
            row = json.loads(line)
            if "text" in row:
                self._tried[str(row["text"])] = from_plain(Tried, row["tried"])
                self._read_back.add(str(row["text"]))
            elif "learned" in row:
                self._learned.update(map(str, row["learned"]))
            elif "memory" in row and self._memory is None:
                self._memory = tuple(from_plain(OptimizationItem, each) for each in row["memory"])
            elif "memory" in row:
                pass  # of another process, which began later
            elif "holds" in row:
                self._bottlenecks[str(row["holds"])] = from_plain(Bottleneck, row["bottleneck"])
            else:
                sites = tuple(site_of(from_plain(SiteRow, each)) for each in row["found"])
                self._sites[f"{row['rewrite']} {row['sites']}"] = sites


def search_order(subject: RewriteSubject, target: OptimizeTarget, *, remembers: bool) -> list[str]:
    """Return the words of an order: all that its outcome depends on. ``remembers``: optimization memory guides it."""
    chip, affine = repr(target.chip), subject.affine
    order = [subject.text, subject.name, chip, str(target.compute), str(target.capacity), target.goal.value, affine]
    order += ["impl"] if target.only_impl else []
    return order if remembers else [*order, "none"]


def record_path(order: Sequence[str], folder: Path | None = None) -> Path:
    """Return the file of an order: the same words give the same file, another version of Stepsmith another one.

    ``folder`` is where records lie, by default beside the experience store.
    """
    digest = sha256("\0".join([VERSION, *order]).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return (folder or records_folder()) / f"{digest}.jsonl"
