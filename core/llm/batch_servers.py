"""Requests by the file: the OpenAI Batch API, and the files that it, ``vllm run-batch`` and others read and write.

In: ``{"custom_id", "method": "POST", "url": "/v1/chat/completions", "body"}``. Out, in any order: ``{"custom_id",
"response": {"status_code", "body"} or null, "error": null, a text or an object}``.
"""

from __future__ import annotations

import asyncio
import codecs
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from core import errors
from core.debate.turns import Reply, Request, Usage
from core.errors import ModelError
from core.formatting import as_sentence
from core.llm import openai_chat, streaming
from core.llm.connections import Connection
from core.llm.failures import from_status, hide_key, is_cut, server_message
from core.llm.model_library import ModelLibrary, check_whole, without_key
from core.llm.request import encode_body
from core.llm.sdk import openai_client, translated_errors
from core.runs import RoleModel, RunSettings

URL: Literal["/v1/chat/completions"] = "/v1/chat/completions"
WINDOW: Literal["24h"] = "24h"
METADATA_KEY = "moot"
"""Metadata key for our name of a batch, to find a batch whose id never reached us."""
MAX_REQUESTS, MAX_BYTES = 50_000, 190_000_000
"""Limits of one file, the second below the API's 200 MB."""
SECONDS, RETRIES = 600.0, 2
"""Limits of one request to the API."""
MAX_LISTED = 100_000
"""Most batches among which a batch is searched for."""
MAX_ANSWER_BYTES, MAX_DOWNLOAD_BYTES = 16_000_000, 8_000_000_000
"""Limits of what the API answers, and of a file of replies, which is read line by line."""
ASK_AGAIN = "Resume the run to request it again, or use --engine live."
"""Remedy for a request without a reply."""

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(frozen=True, slots=True)
class BatchState:
    """Status of a batch.

    ``outputs`` are the files with replies and errors. ``problem`` is the reason why the batch was refused, unbilled.
    """

    ended: bool
    answered: int = 0
    outputs: tuple[str, ...] = ()
    problem: str = ""
    cancelled: bool = False


class OpenAIBatches:
    """The Batch API at one connection. ``name`` is our name of a batch, ``batch`` the id of the server."""

    def __init__(self, connection: Connection, key: str | None) -> None:
        self._connection = connection
        self._client = openai_client(connection, key, SECONDS, MAX_ANSWER_BYTES, RETRIES)
        self._downloads = openai_client(connection, key, SECONDS, MAX_DOWNLOAD_BYTES, RETRIES)

    async def submit(self, path: Path, name: str) -> str:
        """Upload the file and start a batch on it."""
        with self._translated("take a file of requests"), path.open("rb") as file:
            uploaded = await self._client.files.create(file=(f"{name}.jsonl", file), purpose="batch")
        with self._translated("start a batch"):
            once = self._client.with_options(max_retries=0)  # a retry after a lost answer would start a second batch
            batch = await once.batches.create(
                input_file_id=uploaded.id, endpoint=URL, completion_window=WINDOW, metadata={METADATA_KEY: name}
            )
            return batch.id

    async def find(self, name: str) -> str | None:
        """Search the batches of the account, the latest first, for at most ``SECONDS``.

        Raises a ModelError if the search ends without a result before the list does: the batch may exist.
        """
        seen: set[str] = set()
        with self._translated("list its batches"):
            async with asyncio.timeout(SECONDS):
                async for batch in self._client.batches.list(limit=100):
                    if (batch.metadata or {}).get(METADATA_KEY) == name:
                        return batch.id
                    if batch.id in seen:  # the server sends the same page again
                        break
                    if len(seen) == MAX_LISTED:
                        raise ValueError(f"the list has more than {MAX_LISTED:,} batches")
                    seen.add(batch.id)
        return None

    async def status(self, batch: str, _keys: Iterable[str]) -> BatchState:
        """Return the status of a batch."""
        with self._translated("report the status of a batch"):
            state = await self._client.batches.retrieve(batch)
            counts = state.request_counts
            outputs = tuple(filter(None, (state.output_file_id, state.error_file_id)))
            problem = ""
            if state.status == "failed" and not outputs:
                reasons = [server_message(error.message) for error in (state.errors.data or [])] if state.errors else []
                problem = "; ".join(reasons) or "no reason given"
            answered = counts.completed + counts.failed if counts else 0
            return BatchState(state.status in _ENDED, answered, outputs, problem, state.status == "cancelled")

    async def rows(self, output: str) -> AsyncIterator[bytes]:
        """Download a file line by line. Raises Runaway for a line of more than ``streaming.MAX_LINE`` bytes."""
        remainder = b""
        with self._translated("send a file of replies"):
            async with self._downloads.files.with_streaming_response.content(output) as response:
                async for chunk in response.iter_bytes():
                    *lines, remainder = (remainder + chunk).split(b"\n")
                    for line in lines:
                        yield line
                    if len(remainder) > streaming.MAX_LINE:
                        name, limit = self._connection.name, streaming.MAX_LINE
                        raise errors.Runaway(f"{name} sent a file with a line of more than {limit:,} bytes.")
        yield remainder

    async def cancel(self, batch: str) -> None:
        """Cancel a batch; a finished batch stays unchanged."""
        with suppress(errors.BadRequest), self._translated("cancel a batch"):
            await self._client.batches.cancel(batch)

    async def close(self) -> None:
        """Close the clients."""
        await self._client.close()
        await self._downloads.close()

    @contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        try:
            with translated_errors(self._connection, action, "the batch"):
                yield
        except errors.NoSuchModel as error:
            error.remedy = (
                "It may have no Batch API: use --engine live, or files by hand with --param batch_dir=FOLDER."
            )
            raise
        except errors.ContextTooLong as error:
            error.remedy = "The file is larger than the server accepts: raise its limit, or use --engine live."
            raise


class FolderBatches:
    """Files in a folder that a person or a script has answered by another program.

    A batch is its input file. Its outputs are the files beside it that begin with its name, and later files with
    replies to its requests. The batch has ended when the outputs have a row for each request, or when they have some
    and have not changed for ``SETTLED`` seconds. Names come from a project file, so folders in them are ignored.
    """

    SETTLED = 120.0

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[tuple[Path, bool], tuple[tuple[int, int], frozenset[str]]] = {}

    async def submit(self, path: Path, _name: str) -> str:
        """Return the name; the file is already in the folder."""
        return path.name

    async def find(self, name: str) -> str | None:
        """Return the name if its input file is complete."""
        path = self._folder / f"{name}.jsonl"
        return path.name if path.exists() else None

    async def status(self, batch: str, keys: Iterable[str]) -> BatchState:
        """Count the keys of the batch that have a row in the outputs."""
        source, wanted_keys = self._folder / Path(batch).name, frozenset(keys)
        batch_outputs = [path for path in sorted(self._folder.glob(f"{source.stem}.*jsonl")) if path != source]
        if not source.exists():
            return BatchState(ended=True, outputs=tuple(path.name for path in batch_outputs))
        modified = source.stat().st_mtime
        later = [path for path in sorted(self._folder.glob("*.jsonl")) if path.stat().st_mtime >= modified]
        keys_by_path = {
            path: wanted_keys & await asyncio.to_thread(self._keys_in, path, replies_only=path not in batch_outputs)
            for path in (*batch_outputs, *later)
            if path != source
        }
        outputs = [path for path in keys_by_path if keys_by_path[path] or path in batch_outputs]
        answered = len(frozenset().union(*keys_by_path.values()))
        still = answered > 0 and time.time() - max(path.stat().st_mtime for path in outputs) > self.SETTLED
        return BatchState(answered == len(wanted_keys) or still, answered, tuple(path.name for path in outputs))

    def _keys_in(self, path: Path, *, replies_only: bool) -> frozenset[str]:
        """Return the keys of the output lines in a file, or of those with a reply. Read only a file that changed."""
        file_stat, file_key = path.stat(), (path, replies_only)
        state = file_stat.st_mtime_ns, file_stat.st_size
        if file_key not in self._read or self._read[file_key][0] != state:
            with path.open("rb") as file:
                rows = (row for row in map(read_row, file) if row is not None)
                keys = frozenset(key for key, row in rows if not replies_only or has_reply(row))
            self._read[file_key] = state, keys
        return self._read[file_key][1]

    async def rows(self, output: str) -> AsyncIterator[bytes]:
        """Yield the lines of an output file."""
        with (self._folder / Path(output).name).open("rb") as file:
            for line in file:
                yield line

    async def cancel(self, batch: str) -> None:
        """Do nothing, as no program may be answering the file."""

    async def close(self) -> None:
        """Do nothing."""


BatchServer: TypeAlias = OpenAIBatches | FolderBatches
"""A batch server. Its methods raise a ModelError on failure."""


def request_line(key: str, body: Mapping[str, Any]) -> bytes:
    """Return a request as a line of a file."""
    return encode_body({"custom_id": key, "method": "POST", "url": URL, "body": body}) + b"\n"


def read_row(row: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """Return the key and the content of an output line, None for anything else."""
    data = streaming.decode_or_none(row.removeprefix(codecs.BOM_UTF8))
    key = data.get("custom_id") if data is not None else None
    is_output = data is not None and ("response" in data or "error" in data)
    return (key, data) if data is not None and is_output and isinstance(key, str) else None


def has_reply(row: Mapping[str, Any]) -> bool:
    """Return True if a row holds a reply and not an error."""
    response = row.get("response")
    if not isinstance(response, dict) or response.get("status_code") not in (None, 200):
        return False
    body = response.get("body")
    return isinstance(body, dict) and not body.get("error")


def body_of(row: Mapping[str, Any], role_model: RoleModel) -> dict[str, Any]:
    """Return the chat completion in a row. Raises the ModelError that its error or status means."""
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict):
        body, status = response.get("body"), response.get("status_code")
        if isinstance(body, dict) and status in (None, 200):
            return body
        refusal = body or error  # vLLM writes the error beside the response
        if isinstance(refusal, dict) and isinstance(status, int):
            raise from_status(status, encode_body(refusal), {}, role_model)
    inner = error.get("error", error) if isinstance(error, dict) else error
    text = server_message(
        inner.get("message") or inner if isinstance(inner, dict) else inner or "no reply and no error"
    )
    if "batch_expired" in str(error):
        raise errors.TimedOut(
            as_sentence(f"{role_model.model} at {role_model.connection} did not answer within {WINDOW}: {text}"),
            ASK_AGAIN,
        )
    raise errors.ServerFault(as_sentence(f"{role_model.model} at {role_model.connection}, in a batch: {text}"), "")


class BatchLibrary:
    """Batch servers of all connections, with the bodies of requests and the replies in their output files."""

    def __init__(self, library: ModelLibrary) -> None:
        self._library = library
        self._servers: dict[tuple[str, str], BatchServer] = {}
        self._keys: dict[str, str | None] = {}

    def batchable(self, role_model: RoleModel) -> bool:
        """Return True if the role model's connection uses OpenAI's API."""
        return self._library.connection_of(role_model).dialect == "openai"

    async def server(self, role_model: RoleModel, folder: str) -> BatchServer:
        """Return the batch server of a role model: its Batch API, or a folder that is answered by hand."""
        connection = self._library.connection_of(role_model)
        name = (folder or connection.name, connection.base_url)
        if name not in self._servers:
            if folder:
                self._servers[name] = FolderBatches(Path(folder).expanduser())
            else:
                key = self._keys[connection.base_url] = await self._library.key(connection)
                self._servers[name] = OpenAIBatches(connection, key)
        return self._servers[name]

    def body(
        self, role_model: RoleModel, request: Request, settings: RunSettings
    ) -> tuple[Mapping[str, Any], Mapping[str, Any], tuple[str, ...]]:
        """Return the body, its parameters for ``learn``, and the names of those that were left out, for ``reply``."""
        model_request = self._library.build_request(None, role_model, request, settings)
        capabilities = self._library.capabilities.get(model_request.connection, role_model.model)
        wanted = openai_chat.optional(model_request)
        del wanted["stream"], wanted["stream_options"]
        schema = model_request.schema_for(capabilities)
        body = openai_chat.body(model_request, capabilities, capabilities.accepted(wanted), schema)
        params = model_request.sent(body, schema)
        known = {name: params[name] for name in params if name not in ("messages", "response_format")}
        return body, known, model_request.unsent(capabilities, wanted)

    def learn(self, role_model: RoleModel, error: ModelError, params: Mapping[str, Any]) -> bool:
        """Learn from a refused request with these parameters; return True if the next attempt will differ."""
        capabilities = self._library.capabilities.get(self._library.connection_of(role_model), role_model.model)
        return capabilities.learn(error, params)

    def reply(
        self,
        role_model: RoleModel,
        row: Mapping[str, Any],
        settings: RunSettings,
        role_request: Request,
        prompt_characters: int,
        unsent: tuple[str, ...] = (),
    ) -> Reply:
        """Return the reply in a row to a request, which may lack its messages. Raises ModelError."""
        key = self._keys.get(role_model.base_url)
        request = replace(
            self._library.build_request(key, role_model, role_request, settings),
            price=lambda usage, _stated_usd: self.cost(role_model, usage, settings),
        )
        capabilities = self._library.capabilities.get(request.connection, role_model.model)
        builder = streaming.ReplyBuilder(request, streaming.ignore_delta, prompt_characters)
        try:
            try:
                openai_chat.take(body_of(row, role_model), builder)
            except errors.BadRequest as error:
                if not is_cut(error):
                    raise
                builder.note_finish("length")
            builder.finish_reason = builder.finish_reason or "stop"  # a row is complete even without a finish reason
            reply = builder.build(unsent)
            if capabilities.limit:
                check_whole(reply, request, capabilities.limited(request.output_limit), capabilities)
        except errors.ModelError as error:
            error.billed = builder.billed
            hide_key(error, key)
            raise
        return without_key(reply, key)

    def cost(self, role_model: RoleModel, usage: Usage, settings: RunSettings) -> float | None:
        """Return the price of a request in a batch of a run in dollars, None if unknown."""
        cost = self._library.cost(role_model, usage)
        return None if cost is None else cost * settings.engine.price_share

    async def close(self) -> None:
        """Close the connections to the servers."""
        servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            await server.close()
