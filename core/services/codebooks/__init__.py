"""Codebooks: editing, versions, diffs, and keyword matches in the documents."""
