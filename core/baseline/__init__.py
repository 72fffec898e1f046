"""The built-in word-list baseline: answers from the keywords of the codebook instead of a language model."""

from core.baseline.model import VERSION, answer, describe, evidence, hits

__all__ = ["VERSION", "answer", "describe", "evidence", "hits"]
