"""The page "For your paper"."""
