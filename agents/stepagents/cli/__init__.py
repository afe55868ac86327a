"""The commands of the agents; :mod:`stepcore.cli` finds them by their entry points."""
