"""The built-in word-list baseline: answers from the keywords of the codebook instead of a language model."""

from core.baseline.debate_replies import VERSION, write_reply
from core.baseline.evidence import example, find_keywords, select
from core.baseline.lexicon import describe, is_searchable, labels_without_words, starters

__all__ = [
    "VERSION", "describe", "example", "find_keywords", "is_searchable", "labels_without_words", "select", "starters",
    "write_reply",
]  # fmt: skip
