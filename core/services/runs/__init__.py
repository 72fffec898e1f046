"""Planning, starting, pausing, resuming, rerunning and comparing runs."""
