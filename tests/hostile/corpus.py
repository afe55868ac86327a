"""The inputs as data: where they are, what they expect, and the sample of them that ``make test`` runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INPUTS = HERE / "inputs"
PENDING = HERE / "pending.txt"
KINDS = {
    "task": ".step.yaml",
    "impl": ".yaml",
    "python": ".py",
    "answer": ".md",
    "frame": ".bin",
    "config": ".toml",
    "chip": ".toml",
    "name": ".txt",
}
ACCEPTED = "accepted"
REFUSED = "refused"
ANY = "any"  # either verdict will do, as long as the other promises hold
SAMPLE = 60
DRAWN = "soak/drawn"  # what `pending.txt` calls the inputs that `make soak` draws
_NAME = re.compile(r"(?P<who>m|x)_(?P<topic>[a-z0-9]+(?:_[a-z0-9]+)*?)_(?P<number>\d{2,3})")
_EXPECT = re.compile(r"expect:[ \t]*(STEP\d{3}|accepted|any)\b")
_TASK = re.compile(r"task:[ \t]*(\w+)")


@dataclass(frozen=True, slots=True)
class Input:
    """One file of the corpus. ``expect`` is a code or one of the words below; ``task`` names the base task."""

    path: Path
    kind: str
    topic: str
    expect: str
    task: str

    @property
    def name(self) -> str:
        """Kind and file name, as ``pending.txt`` and failures spell it."""
        return f"{self.kind}/{self.path.name}"


def read_input(path: Path, kind: str) -> Input:
    """Read the directives of one file; ``ValueError`` where it does not follow the README."""
    suffix = KINDS[kind]
    stem = path.name.removesuffix(suffix)
    match = _NAME.fullmatch(stem)
    if match is None or stem == path.name:
        raise ValueError(f"{path}: the name has to be WHO_TOPIC_NN{suffix}")
    head = b"\n".join(path.read_bytes().split(b"\n", 3)[:3])
    text = head.decode("utf-8-sig" if head.startswith(b"\xef\xbb\xbf") else "utf-8", "replace").replace("\0", "")
    expect, task = _EXPECT.search(text), _TASK.search(text)
    if kind in ("impl", "answer") and task is None:
        raise ValueError(f"{path}: the first line has to name the task")
    return Input(path, kind, match["topic"], expect[1] if expect else REFUSED, task[1] if task else "")


def load(folder: Path = INPUTS) -> list[Input]:
    """Return all inputs, ordered by kind and name."""
    return [
        read_input(path, kind)
        for kind in KINDS
        for path in sorted((folder / kind).glob("*"))
        if path.is_file() and path.name[0] != "."
    ]


def task_file(name: str) -> Path:
    """Return the base task of this name."""
    folders = (HERE / "tasks", ROOT / "benchmarks" / "tasks", ROOT / "benchmarks" / "tasks2")
    return next(file for folder in folders if (file := folder / f"{name}.step.yaml").exists())


def pending() -> dict[str, str]:
    """Return the inputs that do not hold yet, with the reason for each."""
    lines = [line.split("#", 1) for line in PENDING.read_text(encoding="utf-8").splitlines() if line[:1] not in "#"]
    return {name.strip(): reason.strip() for name, reason in lines}


def sample(inputs: Sequence[Input], size: int = SAMPLE) -> list[Input]:
    """Return one input of each topic of each kind, and more up to ``size``; the same ones for the same corpus.

    Which one of a topic is decided by its name's digest, so that a new file changes at most its own topic.
    """
    ordered = sorted(inputs, key=lambda item: sha256(item.name.encode()).digest())
    first: dict[tuple[str, str], Input] = {}
    for item in ordered:
        first.setdefault((item.kind, item.topic), item)
    chosen = list(first.values())
    chosen += [item for item in ordered if item not in chosen][: max(size - len(chosen), 0)]
    return sorted(chosen, key=lambda item: item.name)
