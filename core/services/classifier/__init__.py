"""The classifier of a project: training in the background, its state, its file."""
