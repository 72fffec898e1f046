"""Runs in motion: debates driven live, in batches or over Ray, paid once and never lost."""
