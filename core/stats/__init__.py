"""Metrics, agreement, significance and sampling as pure functions on arrays and counts."""
