"""The built-in word-list baseline: answers from the keywords of the codebook instead of a language model."""

from core.baseline.evidence import describe, keyword_spans, scores
from core.baseline.roles import VERSION, write_reply

__all__ = ["VERSION", "describe", "keyword_spans", "scores", "write_reply"]
