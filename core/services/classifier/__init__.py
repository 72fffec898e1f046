"""The classifier of a project: background training, its runs, and its files."""
