"""Parsers for model replies: from text to a decision, or to the reason why there is none."""
