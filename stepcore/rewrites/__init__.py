"""Rewrites of programs that keep what they compute, and change how fast they are; each is a module of this package.

A rewrite finds sites in a typed graph and says what it does there as edits of the file's text, so that names, comments
and layout stay; :func:`applied` checks the new text like any other. See ``docs/rewrites.md``.
"""

from __future__ import annotations

from typing import Final

from stepcore.rewrites.bandwidths import Bandwidths
from stepcore.rewrites.base import Rewrite
from stepcore.rewrites.depths import Depths
from stepcore.rewrites.dynamic_tiles import DynamicTiles
from stepcore.rewrites.folds import JoinFolds, SplitFold
from stepcore.rewrites.fused_maps import FuseMaps
from stepcore.rewrites.input_fifos import InputFifos
from stepcore.rewrites.interchanged import Interchange
from stepcore.rewrites.lane_counts import LaneCounts
from stepcore.rewrites.lanes import Lanes
from stepcore.rewrites.loaded_again import LoadAgain
from stepcore.rewrites.moved_maps import MoveMap
from stepcore.rewrites.on_chip_copies import KeepOnChip
from stepcore.rewrites.online_folds import OnlineFold
from stepcore.rewrites.padded_tiles import PaddedTiles
from stepcore.rewrites.shared_regions import ShareRegion
from stepcore.rewrites.split_maps import SplitMap
from stepcore.rewrites.subject import (
    HOW,
    RewriteRefusal,
    RewriteSite,
    RewriteSubject,
    applied,
    rewritten,
    subject_of,
)
from stepcore.rewrites.tile_sizes import TileSizes
from stepcore.rewrites.untiled import Untile
from stepcore.rewrites.whole_rows import WholeRows

REWRITES: Final[tuple[Rewrite, ...]] = (
    WholeRows(), TileSizes(), KeepOnChip(), LoadAgain(), Interchange(), MoveMap(), FuseMaps(), SplitMap(),
    JoinFolds(), OnlineFold(), SplitFold(), Bandwidths(), DynamicTiles(), PaddedTiles(), ShareRegion(), Lanes(),
    LaneCounts(), InputFifos(), Depths(), Untile(),
)  # fmt: skip

__all__ = [
    "HOW",
    "REWRITES",
    "Rewrite",
    "RewriteRefusal",
    "RewriteSite",
    "RewriteSubject",
    "applied",
    "rewritten",
    "subject_of",
]
