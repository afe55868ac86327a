"""Schedules of functions whose rows go where the data say: mixtures of experts."""
