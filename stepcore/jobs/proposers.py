"""Who can be asked for programs: what command line, server and workers have to know of each without importing it.

A proposer is one line of :data:`PROPOSERS` and one module, ``stepagents.proposers.NAME``, whose ``propose`` runs in the
agents' worker; CONTRIBUTING.md walks through one.
"""

from __future__ import annotations

from typing import Final

from stepcore.records import Record


class ProposerEntry(Record):
    """One proposer.

    Attributes:
        name: how jobs, the editor and its module are called.
        summary: who it is, for the help of ``--proposer`` and for messages.
        option: what ``--proposer`` calls it; its name unless they differ.
        seconds: what it gets for a task where nobody says more, of the user's patience.
        samples: how many programs it may try for a task on the command line.
        asks: it asks a model: whoever owns the job is asked in turn, keys stay with the owner, and the options of
            models are for it.
        prior: the job of the worker that turns experience into costs which go along with its orders; empty where it
            gets the experience itself.
    """

    name: str
    summary: str
    option: str = ""
    seconds: float = 60.0
    samples: int = 200_000
    asks: bool = False
    prior: str = ""

    @property
    def typed(self) -> str:
        """What ``--proposer`` calls it."""
        return self.option or self.name


SEARCH: Final = ProposerEntry("search", "the built-in search (no key, no network)", prior="prior")
MODEL: Final = ProposerEntry("model", "a language model", "llm", seconds=120.0, samples=64, asks=True)
PROPOSERS: Final[tuple[ProposerEntry, ...]] = (
    SEARCH,
    MODEL,
)
# For functions the lowering goes first in any case. AUTO: the search, where the lowering finds nothing; LOWER: nobody.
AUTO: Final = "auto"
LOWER: Final = "lower"
BY_NAME: Final = {entry.name: entry for entry in PROPOSERS}
BY_OPTION: Final = {entry.typed: entry for entry in PROPOSERS}
FOR_FUNCTIONS: Final = (AUTO, LOWER, *BY_NAME)
# Who they are, in words.
SUMMARIES: Final = {
    AUTO: f"Stepsmith's lowering, and {SEARCH.summary} where it finds nothing",
    LOWER: "Stepsmith's lowering alone",
    **{entry.name: entry.summary for entry in PROPOSERS},
}
