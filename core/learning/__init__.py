"""The student, its precedents and its queue, on arrays and texts."""
