"""What a search has worked out, on disk: the same search goes on from there when it is begun again.

One file for each order (the program, the chip, all that changes the outcome), one line for each result. A line that
was cut off by a kill is dropped. What is shown is verified anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TextIO

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

_MOST: Final = 64 << 20  # bytes of a record that are read


class Tried(Record):
    """What came of a text: ``estimate`` is None where it has errors, stops or cannot be timed.

    ``figures`` are those of its exact timing, where that was made and came to an end.
    """

    estimate: int | None
    exact: bool = False
    figures: Figures | None = None


class SearchRecord:
    """Results by the names of texts, in memory and, where ``path`` says so, on disk. A context manager.

    ``problem`` says why nothing is kept on disk, where that fails.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._tried: dict[str, Tried] = {}
        self._sites: dict[str, tuple[RewriteSite, ...]] = {}
        self._bottlenecks: dict[str, Bottleneck] = {}
        self._learned = False
        self._memory: tuple[OptimizationItem, ...] | None = None
        self._file: TextIO | None = None
        self.problem = ""

    def __enter__(self) -> SearchRecord:
        if self._path is None:
            return self
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists() and self._path.stat().st_size <= _MOST:
                for line in self._path.read_text(encoding="utf-8", errors="replace").split("\n"):
                    self._read(line)
            self._file = self._path.open("a", encoding="utf-8")
            self._file.write("\n")  # behind a line that was cut off
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

    def keep(self, key: str, tried: Tried) -> None:
        """Remember what came of a text."""
        self._tried[key] = tried
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

    def learn(self) -> bool:
        """Say that what the search found is being remembered; False where it was already."""
        if self._learned:
            return False
        self._learned = True
        self._write({"learned": True})
        return True

    def _write(self, row: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(row, separators=(",", ":")) + "\n")
            self._file.flush()
        except OSError as error:
            self.problem, self._file = f"the record of the search cannot be kept: {reason_of(error)}", None

    def _read(self, line: str) -> None:
        with suppress(ValueError, TypeError, KeyError, RecursionError):  # cut off, or of somebody else
            row = json.loads(line)
            if "text" in row:
                self._tried[str(row["text"])] = from_plain(Tried, row["tried"])
            elif "learned" in row:
                self._learned = True
            elif "memory" in row:
                self._memory = tuple(from_plain(OptimizationItem, each) for each in row["memory"])
            elif "holds" in row:
                self._bottlenecks[str(row["holds"])] = from_plain(Bottleneck, row["bottleneck"])
            else:
                sites = tuple(site_of(from_plain(SiteRow, each)) for each in row["found"])
                self._sites[f"{row['rewrite']} {row['sites']}"] = sites


def search_order(subject: RewriteSubject, target: OptimizeTarget, *, remembers: bool) -> list[str]:
    """Return the words of an order: all that its outcome depends on. ``remembers``: optimization memory guides it."""
    chip, affine = repr(target.chip), subject.affine
    order = [subject.text, subject.name, chip, str(target.compute), str(target.capacity), target.goal.value, affine]
    return order if remembers else [*order, "none"]


def record_path(order: Sequence[str], folder: Path | None = None) -> Path:
    """Return the file of an order: the same words give the same file, another version of Stepsmith another one.

    ``folder`` is where records lie, by default beside the experience store.
    """
    digest = sha256("\0".join([VERSION, *order]).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return (folder or records_folder()) / f"{digest}.jsonl"
