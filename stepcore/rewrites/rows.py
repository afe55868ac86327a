"""Sites of rewrites as records, which go over pipes and into files."""

from __future__ import annotations

from stepcore.findings.diagnostics import Edit
from stepcore.jobdata.optimizing import SiteRow
from stepcore.jobdata.timing import EditRow
from stepcore.rewrites.subject import RewriteSite
from stepcore.text.span import Span


def row_of(site: RewriteSite) -> SiteRow:
    """Return the record of a site."""
    edits = tuple(EditRow(edit.span.start, edit.span.end, edit.text) for edit in site.edits)
    return SiteRow(site.rewrite, site.sentence, edits, site.params, site.retiles)


def site_of(row: SiteRow) -> RewriteSite:
    """Return the site of a record."""
    edits = tuple(Edit(Span(edit.start, edit.end), edit.text) for edit in row.edits)
    params = tuple((name, value) for name, value in row.params)
    return RewriteSite(row.rewrite, row.sentence, edits, params, row.retiles)
