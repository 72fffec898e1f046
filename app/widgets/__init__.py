"""Widgets that several pages draw."""
