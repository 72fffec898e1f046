"""One script for each page."""
