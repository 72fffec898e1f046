"""Data: from a file to the documents of a project, and an overview of them."""
