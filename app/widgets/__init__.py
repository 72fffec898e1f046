"""Widgets that several pages use."""
