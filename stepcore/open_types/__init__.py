"""Types with sizes that only a run knows: where these may stand, what a run draws for them, what fits a name."""
