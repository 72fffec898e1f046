"""What a project file holds, and the only SQL."""
