"""The built-in model: word lists from the codebook instead of a language model. A baseline, and it says so."""

from core.llm.builtin.lexical import VERSION, answer, describe, evidence, hits

__all__ = ["VERSION", "answer", "describe", "evidence", "hits"]
