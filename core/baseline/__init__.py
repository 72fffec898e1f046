"""The built-in word-list baseline: answers from the keywords of the codebook instead of a language model."""

from core.baseline.model import VERSION, describe, evidence, hits, write_reply

__all__ = ["VERSION", "describe", "evidence", "hits", "write_reply"]
