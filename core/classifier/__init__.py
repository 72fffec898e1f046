"""The classifier trained on reviewed documents, and text similarity."""
