"""The context of a job that is called in this process, as :class:`stepcore.jobs.serving.Context`."""

from __future__ import annotations


class Quiet:
    """Nobody cancels the job, and nobody listens to it."""

    cancelled = False

    def check(self) -> None:
        """Go on."""

    def progress(self, _data: object) -> None:
        """Tell nobody."""
