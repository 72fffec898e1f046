"""Evaluation: runs against a reference and against each other."""
