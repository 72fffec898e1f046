"""The Data room: from files to documents of a project, and what is in them."""
