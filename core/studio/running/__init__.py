"""The Run room: from a plan and what it may cost to runs on the desk."""
