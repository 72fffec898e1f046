"""Runs: planning, cost estimates, start, pause, resume and rerun."""
