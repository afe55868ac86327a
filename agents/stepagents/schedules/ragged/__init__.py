"""Schedules of functions whose work depends on the data: attention over caches of different lengths, in lanes."""
