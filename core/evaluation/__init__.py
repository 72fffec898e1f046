"""Statistics on arrays and counts. No store, no screen."""
