"""The project file: its schema and all SQL on it."""
