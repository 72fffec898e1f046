"""The models of all connections behind one interface."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import aiohttp

from core import baseline, errors
from core.baseline import classifier_replies
from core.baseline.evidence import LabelProbabilities, definition_probabilities
from core.codebook import Codebook
from core.debate import protocols
from core.debate.protocol_spec import SIMILARITY_PARAM
from core.debate.turns import Reply, Request, Usage
from core.documents import Document
from core.errors import ModelError, NoSuchModel, UsageError
from core.llm import embeddings, failures, http, model_info, ollama_chat, openai_chat, probe, streaming
from core.llm.capabilities import Capabilities, ModelCapabilities
from core.llm.connections import PRESETS, Connection, Limits, find_key
from core.llm.embeddings import ServerEmbed
from core.llm.prices import Prices
from core.llm.quotas import Quota
from core.llm.request import ModelRequest, Schema, request_schema
from core.llm.streaming import OnDelta, estimate_usage, ignore_delta
from core.runs import LEXICAL_MODEL, RoleModel, RunSettings, Sampling, builtin_name

BUILTIN_MODELS = (LEXICAL_MODEL, classifier_replies.NAME)
LONG_TEXT = 20_000
"""Characters from which the built-in model reads a text in a thread, so that the event loop goes on."""
SEEDS_APART = 1000
"""Distance between the seeds of two samples of one request; more than a run has iterations."""
_REASONING = re.compile(r"(?:^|/)o[134]\b|\bgpt-(?:[5-9]|oss)|\br1\b|qwq|reason|think", re.IGNORECASE)
_MAY_BE_WRONG_SCHEME = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ConnectionTimeoutError)
"""A TLS server closes or resets a plain connection. llama.cpp waits for the rest of a TLS greeting."""
_MAX_HEADER_BYTES = 65536
"""Longest header of a response. Providers behind a network for web pages send policies of over 8 kB with each reply."""
_MAX_HEADERS = 1024
"""Most headers of a response. A chain of LiteLLM proxies repeats those of its provider under other names."""
_NOTHING: Mapping[str, Any] = {}
_embed: ContextVar[ServerEmbed] = ContextVar("embed")
"""Embeds texts for the request whose reply is being written, in the thread that writes it."""


def _embed_for_request(role_model: RoleModel, texts: Sequence[str]) -> embeddings.Array:
    return _embed.get()(role_model, texts)


class ModelLibrary:
    """Connections by name, one HTTP session, and the known capabilities. Use and close it within one event loop."""

    def __init__(self, connections: Iterable[Connection] = ()) -> None:
        self.connections: dict[str, Connection] = {
            connection.name: connection for connection in (*PRESETS, *connections)
        }
        self.capabilities = Capabilities()
        self.prices = Prices()
        self.own_limits: dict[str, Limits] = {}
        """The user's rate limits by name of the connection."""
        self.classifiers: list[classifier_replies.Lookup] = []
        """Lookups of trained classifiers, one for each open project."""
        self.embedder_spec = ""
        """The vectors that are used where the user chose none for a run: those of ``embedder``, empty for none."""
        self._probabilities: dict[str, LabelProbabilities] = {}
        self._quotas: dict[str, Quota] = {}
        self._embedders: dict[tuple[str, str], embeddings.ServerEmbedder] = {}
        self._session: aiohttp.ClientSession | None = None
        self._keys: dict[Connection, str | None] = {}

    def add(self, connection: Connection) -> None:
        """Add or replace a connection; its key is looked up again."""
        self.connections[connection.name] = connection
        self._keys.clear()
        self._probabilities.clear()

    def remove(self, name: str) -> None:
        """Remove a connection."""
        self.connections.pop(name, None)

    def connection(self, name: str, address: str = "") -> Connection:
        """Return the connection with this name. Raises UsageError with the ``address`` that a run used."""
        try:
            return self.connections[name]
        except KeyError:
            option = f"--connection {name}={address or 'URL'}"
            raise UsageError(
                f"The connection '{name}' does not exist.",
                f"Known connections: {', '.join(self.connections)}. Add it on the Models page, or with {option}.",
            ) from None

    def resolve(self, role_model: RoleModel) -> RoleModel:
        """Return the role model with its connection's address.

        Raises UsageError for an unknown connection or unavailable vectors, NoSuchModel for an unknown built-in model.
        """
        connection = self.connection(role_model.connection, role_model.base_url)
        name, suffix = builtin_name(role_model.model)
        if connection.is_builtin and name not in BUILTIN_MODELS:
            raise NoSuchModel(
                f"The built-in model '{role_model.model}' does not exist.", f"Choose {' or '.join(BUILTIN_MODELS)}."
            )
        if connection.is_builtin and name == LEXICAL_MODEL:
            embeddings.embedder(suffix, self.connections)
        return role_model.model_copy(update={"base_url": connection.base_url})

    def pin_vectors(self, role_model: RoleModel, codebook: Codebook) -> RoleModel:
        """Return the role model with the built-in model's vectors, which a choice without any known word needs."""
        is_lexical = role_model.is_builtin and role_model.model == LEXICAL_MODEL
        if self.embedder_spec and codebook.kind == "choice" and is_lexical:
            return role_model.model_copy(update={"model": f"{role_model.model}@{self.embedder_spec}"})
        return role_model

    async def ask(
        self,
        role_model: RoleModel,
        request: Request,
        settings: RunSettings,
        document: Document,
        on_delta: OnDelta,
        embed: ServerEmbed | None = None,
    ) -> Reply:
        """Send one request and return its reply, without retries. Raises ModelError.

        ``embed`` embeds texts for a built-in model that compares vectors of a server.
        """
        if role_model.is_builtin:
            _embed.set(embed or self._embed_unstored)
            return await self._ask_builtin(role_model.model, request, settings, document, on_delta)
        return await self._send(role_model, request, settings, on_delta)

    async def _ask_builtin(
        self, model: str, request: Request, settings: RunSettings, document: Document, on_delta: OnDelta
    ) -> Reply:
        name, suffix = builtin_name(model)
        codebook = settings.codebook
        if name != LEXICAL_MODEL:
            classifier = await asyncio.to_thread(self._classifier, suffix)
            part = request.narrow(codebook)
            text = await asyncio.to_thread(classifier_replies.write_reply, request, part, document, classifier)
        elif (label_probabilities := self._label_probabilities(suffix)) is not None:
            text = await asyncio.to_thread(baseline.write_reply, request, codebook, document, label_probabilities)
        elif len(document.text) > LONG_TEXT:
            text = await asyncio.to_thread(baseline.write_reply, request, codebook, document)
        else:  # the words of a short text are found sooner than a thread is started
            text = baseline.write_reply(request, codebook, document)
        if settings.pace > 0:
            for word in re.findall(r"[^ ]* |[^ ]+", text):
                on_delta(word, False)
                await asyncio.sleep(1 / settings.pace)
        else:
            on_delta(text, False)
        usage = Usage() if "/" in suffix else estimate_usage(request.characters, len(text))  # else only vectors count
        return Reply(text, usage=usage, cost_usd=0.0)

    def note_format(self, role_model: RoleModel, in_format: bool) -> None:
        """Record if a role's model answered a probe in the requested form."""
        if not role_model.is_builtin:
            self.capabilities.get(self.connection_of(role_model), role_model.model).in_format = in_format

    async def fetch_capabilities(self, role_model: RoleModel) -> ModelCapabilities:
        """Return the capabilities of a role's model, updated with published information. Never fails."""
        connection = self.connection_of(role_model)
        capabilities = self.capabilities.get(connection, role_model.model)
        published = await model_info.fetch_model_info(
            self.session, connection, await self.key(connection), role_model.model
        )
        if published.passed_on:
            self.prices.passed_on.add((connection.base_url, role_model.model))
        capabilities.context = published.context or capabilities.context
        capabilities.reasons = published.reasons if capabilities.reasons is None else capabilities.reasons
        return capabilities

    async def probe_capabilities(self, role_model: RoleModel, settings: RunSettings) -> ModelCapabilities:
        """Probe the capabilities of a role's model with four short requests; those of failed probes stay unknown."""
        connection = self.connection_of(role_model)
        capabilities = self.capabilities.get(connection, role_model.model)
        if connection.is_builtin:
            return capabilities
        probe_settings = settings.model_copy(update={"codebook": probe.BOOK})

        async def send(request: Request, sampling: Sampling, extra_params: Mapping[str, Any]) -> Reply:
            probed = role_model.model_copy(update={"sampling": sampling})
            return await self._send(probed, request, probe_settings, ignore_delta, extra_params)

        await probe.probe_capabilities(send, capabilities)
        return await self.fetch_capabilities(role_model)

    def connection_of(self, role_model: RoleModel) -> Connection:
        """Return the connection of a role model, with the address that the role model keeps. Raises UsageError."""
        address = role_model.base_url
        return self.connection(role_model.connection, address).at(address)

    async def _send(
        self,
        role_model: RoleModel,
        request: Request,
        settings: RunSettings,
        on_delta: OnDelta,
        extra_params: Mapping[str, Any] = _NOTHING,
    ) -> Reply:
        connection = self.connection_of(role_model)
        key = await self.key(connection)
        capabilities = self.capabilities.get(connection, role_model.model)
        if capabilities.logprobs and request.form != "text":
            extra_params = {**extra_params, "logprobs": True}
        model_request = self.build_request(key, role_model, request, settings, extra_params)
        api: ChatAPI = ollama_chat if connection.dialect == "ollama" else openai_chat
        try:
            reply = await _Exchange(self.session, api, model_request, capabilities, on_delta).ask()
        except ModelError as error:
            if not capabilities.at and type(error.__cause__) in _MAY_BE_WRONG_SCHEME:  # it has never replied
                error.remedy = f"{error.remedy} {errors.OtherProtocol.advice}"
            if connection.dialect == "ollama" and isinstance(error, NoSuchModel) and error.remedy == error.advice:
                error.remedy = f"If it is not installed yet, run: ollama pull {role_model.model}"
            if connection.dialect == "ollama" and connection.local and isinstance(error, errors.Unauthorised):
                error.remedy = f"If it is a cloud model, run: ollama signin. {error.remedy}"
            failures.hide_key(error, key)
            raise
        capabilities.at = time.time()
        if reply.reasoning or reply.usage.reasoning_tokens:
            capabilities.reasons = True
        self.note_cost(role_model, reply.usage, reply.cost_usd)
        return without_key(reply, key)

    def build_request(
        self,
        key: str | None,
        role_model: RoleModel,
        request: Request,
        settings: RunSettings,
        extra_params: Mapping[str, Any] = _NOTHING,
    ) -> ModelRequest:
        """Return the request for a server, with ``extra_params`` by name."""
        seed, connection = role_model.sampling.seed, self.connection_of(role_model)
        default = streaming.REASONING_IDLE_SECONDS if self.reasons(role_model) else streaming.IDLE_SECONDS
        idle_timeout = settings.handling.silence or default
        return ModelRequest(
            connection=connection,
            key=key,
            role_model=role_model,
            role_request=request,
            seed=None if seed is None else seed + settings.iteration + SEEDS_APART * request.sample,
            schema=request_schema(role_model.sampling, request, settings.codebook),
            idle_timeout=idle_timeout,
            reply_timeout=settings.handling.deadline
            or idle_timeout + streaming.reply_seconds(request.output_limit(role_model)),
            price=partial(self.prices.cost, connection, role_model.model),
            extra_params=extra_params,
        )

    def sent_limit(self, role_model: RoleModel, tokens: int) -> int:
        """Return the output limit in tokens that is sent for a wanted one, 0 if none is sent."""
        if role_model.is_builtin:
            return 0
        capabilities = self.capabilities.get(self.connection_of(role_model), role_model.model)
        return capabilities.limited(tokens) if capabilities.limit else 0

    def max_cost(self, role_model: RoleModel, request: Request) -> float | None:
        """Return the highest price of a request in dollars, None if unknown."""
        usage = Usage(prompt_tokens=request.characters, completion_tokens=request.output_limit(role_model))
        return self.highest_cost(role_model, usage)

    def highest_cost(self, role_model: RoleModel, usage: Usage) -> float | None:
        """Return the price of these tokens in dollars, or, without a known price, the highest one, None if unknown.

        The highest price follows from the costs that the server stated with earlier replies.
        """
        cost = self.cost(role_model, usage)
        return self._billed_capabilities(role_model).highest_cost(usage) if cost is None else cost

    def note_cost(self, role_model: RoleModel, usage: Usage, cost_usd: float | None) -> None:
        """Learn the highest price of a model without a known price from a cost that its server stated, if it did."""
        if cost_usd is not None and not self.priced(role_model):
            self._billed_capabilities(role_model).note_cost(usage, cost_usd)

    def _billed_capabilities(self, role_model: RoleModel) -> ModelCapabilities:
        billed = self.billed_model(role_model)
        return self.capabilities.get(self.connection_of(billed), billed.model)

    def cost(self, role_model: RoleModel, usage: Usage, stated_usd: float | None = None) -> float | None:
        """Return the price of these tokens in dollars, None if unknown; ``stated_usd`` is the server's."""
        billed = self.billed_model(role_model)
        return self.prices.cost(self.connection_of(billed), billed.model, usage, stated_usd)

    def priced(self, role_model: RoleModel) -> bool:
        """Return True if the price of this role's replies is known."""
        return self.cost(role_model, Usage()) is not None

    def billed_model(self, role_model: RoleModel) -> RoleModel:
        """Return the model that a role's calls go to: that of its vectors if these are a server's."""
        vectors = builtin_name(role_model.model)[1] if role_model.is_builtin else ""
        return self.resolve(RoleModel.parse(vectors)) if "/" in vectors else role_model

    def billed_models(self, settings: RunSettings) -> tuple[RoleModel, ...]:
        """Return all models that the calls of a run go to: those of its roles, and the one that finds its examples."""
        billed = tuple(map(self.billed_model, settings.role_models.values()))
        similarity = str(settings.params.get(SIMILARITY_PARAM, ""))
        if "/" in similarity and protocols.shots(settings):
            return (*billed, self.resolve(RoleModel.parse(similarity)))
        return billed

    def reasons(self, role_model: RoleModel) -> bool:
        """Return True if the model is known to reason before it answers, by its replies or by its name."""
        learned = self.capabilities.get(self.connection_of(role_model), role_model.model).reasons
        return bool(_REASONING.search(role_model.model)) if learned is None else learned

    def embed(self, role_model: RoleModel, texts: Sequence[str]) -> tuple[embeddings.Array, int, float | None]:
        """Return the vectors of texts by a model of a server, as ``ServerEmbedder.embed`` does."""
        name = role_model.base_url, role_model.model
        if name not in self._embedders:
            self._embedders[name] = embeddings.ServerEmbedder(self.connection_of(role_model), role_model.model)
        vectors, tokens, stated_usd = self._embedders[name].embed(texts)
        self.note_cost(role_model, Usage(prompt_tokens=tokens), stated_usd)
        return vectors, tokens, stated_usd

    def quota(self, role_model: RoleModel) -> Quota:
        """Return the quota of the role model's server: the user's limits of all connections to it, for all runs."""
        address = role_model.base_url
        limits = self.own_limits.get(role_model.connection, Limits())
        for connection in self.connections.values():
            if connection.base_url == address:
                limits = limits.combined_with(self.own_limits.get(connection.name, Limits()))
        if address not in self._quotas or self._quotas[address].limits != limits:
            self._quotas[address] = Quota(limits)
        return self._quotas[address]

    def salt(self, role_model: RoleModel, request: Request, settings: RunSettings) -> Mapping[str, object]:
        """Return what a reply depends on in addition to its messages, for its key.

        For a server that is the intended schema, for the built-in model its version, the codebook and the role.
        """
        if not role_model.is_builtin:
            schema = request_schema(role_model.sampling, request, settings.codebook)
            return {} if schema is None else {"schema": schema}
        salt = {"builtin": baseline.VERSION, "codebook": settings.codebook.hash, "role": request.role}
        name, suffix = builtin_name(role_model.model)
        if name == LEXICAL_MODEL:
            return {**salt, "vectors": suffix} if suffix else salt
        return {**salt, classifier_replies.NAME: suffix}

    def _label_probabilities(self, spec: str) -> LabelProbabilities | None:
        """Return the comparison of texts with labels by these vectors, None for none. Raises NoSuchModel."""
        if spec and spec not in self._probabilities:
            try:
                embed = embeddings.embedder(spec, self.connections)
            except UsageError as error:
                raise NoSuchModel(error.message, error.remedy) from error
            if embed is None:
                return None
            if isinstance(embed, embeddings.ServerEmbedder):
                embed = partial(_embed_for_request, self.resolve(RoleModel.parse(spec)))
            self._probabilities[spec] = definition_probabilities(embed)
        return self._probabilities.get(spec)

    def _embed_unstored(self, role_model: RoleModel, texts: Sequence[str]) -> embeddings.Array:
        return self.embed(role_model, texts)[0]

    def _classifier(self, wanted: str) -> classifier_replies.ClassifierModel:
        """Return the classifier with this hash. Raises NoSuchModel, also without a hash."""
        if not wanted:
            raise classifier_replies.not_trained()
        for find in tuple(self.classifiers):
            if (classifier := find(wanted)) is not None:
                return classifier
        raise NoSuchModel(f"The classifier {wanted} is not in this project any more.", "Start a new run.")

    @property
    def session(self) -> aiohttp.ClientSession:
        """The HTTP session, created in the loop that first uses it. It ignores proxies, netrc files and cookies."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                max_line_size=_MAX_HEADER_BYTES,
                max_field_size=_MAX_HEADER_BYTES,
                max_headers=_MAX_HEADERS,
                trace_configs=[http.reuse_tracing()],
            )
        return self._session

    async def close(self) -> None:
        """Close the HTTP session and its transports."""
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)
            self._session = None

    async def key(self, connection: Connection) -> str | None:
        """Return the key for this address, None without one."""
        if connection.is_builtin or connection.base_url != self.connections[connection.name].base_url:
            return None  # a resumed run uses an older address of the connection, which must not get the key
        if connection not in self._keys:
            self._keys[connection] = await asyncio.to_thread(find_key, connection)  # a keyring may be slow
        return self._keys[connection]

    def forget_keys(self) -> None:
        """Look up keys again, after one was entered."""
        self._keys.clear()


class ChatAPI(Protocol):
    """Interface of an API: ``openai_chat`` and ``ollama_chat``."""

    PATH: str

    def optional(self, request: ModelRequest) -> dict[str, Any]:
        """Return the parameters that a server may refuse."""

    def body(
        self, request: ModelRequest, capabilities: ModelCapabilities, optional: Mapping[str, Any], schema: Schema | None
    ) -> dict[str, Any]:
        """Return the body; ``optional`` and ``schema`` leave out what the server is known to refuse."""

    async def receive(self, response: aiohttp.ClientResponse, builder: streaming.ReplyBuilder) -> None:
        """Read the reply to its end."""


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request, and how it is sent to its server."""

    session: aiohttp.ClientSession
    api: ChatAPI
    request: ModelRequest
    capabilities: ModelCapabilities
    on_delta: OnDelta

    async def ask(self) -> Reply:
        """Send the request and return the reply.

        Refused parameters are left out once, remembered in ``capabilities``, and named in the reply. Raises ModelError.
        """
        request, capabilities = self.request, self.capabilities
        failed_before = capabilities.schema_failed
        refused: dict[str, Any] | None = None
        refusal: errors.ModelError | None = None
        while True:
            optional_params = self.api.optional(request)
            schema = request.schema_for(capabilities)
            body = self.api.body(request, capabilities, capabilities.accepted(optional_params), schema)
            if refusal is not None and body == refused:  # learning that changes nothing would repeat forever
                raise refusal
            try:
                reply = await self._send(body, request.unsent(capabilities, optional_params))
            except errors.ModelError as error:
                check_read(error, request, capabilities)
                if capabilities.learn(error, request.sent(body, schema)):
                    refused, refusal = body, error
                elif _may_be_of_schema(error) and schema is not None and capabilities.schema in ("", "none"):
                    # With "none", another request has learned it since this one was sent.
                    return await self._without_schema(error, failed_before)
                else:
                    raise
            else:
                if schema is not None and not capabilities.schema:
                    capabilities.schema = "full" if schema == request.schema else "plain"
                check_whole(reply, request, body.get(capabilities.limit), capabilities)
                return reply

    async def _send(self, body: dict[str, Any], unsent: tuple[str, ...]) -> Reply:
        """Send a body once. A ModelError carries the text received before it, and what was billed."""
        request = self.request
        url = f"{request.connection.base_url}{self.api.PATH}"
        streams = [failures.RedactedStream(request.key) for _ in ("text", "reasoning")]

        def on_delta(text: str, is_reasoning: bool) -> None:
            if shown := streams[is_reasoning](text):
                self.on_delta(shown, is_reasoning)

        builder = streaming.ReplyBuilder(request, on_delta, request.role_request.characters, request.output_limit)
        try:
            clock = asyncio.timeout(request.reply_timeout)
            try:
                async with clock, http.post(self.session, url, body, builder) as response:
                    await self.api.receive(response, builder)
            except TimeoutError:
                if not clock.expired():
                    raise
                raise errors.Runaway(f"The reply did not end within {request.reply_timeout:,.0f} seconds.") from None
            except (errors.CutStream, errors.Stalled, errors.MalformedStream):
                if not builder.is_complete:  # otherwise only the usage or the last line is missing
                    raise
            except (errors.ServerFault, errors.RateLimited, errors.LongWait) as fault:
                if not builder.is_complete:
                    raise
                try:
                    return builder.build(unsent)
                except (errors.CutStream, errors.EmptyReply):  # the fault is their cause
                    raise fault from None
            except errors.BadRequest as error:
                if not failures.is_cut(error):
                    raise
                builder.note_finish("length")
            return builder.build(unsent)
        except errors.ModelError as error:
            error.partial, error.billed, error.billed_usd = builder.so_far, builder.billed, builder.stated_usd
            raise

    async def _without_schema(self, fault: ModelError, failed_before: bool) -> Reply:
        """Repeat the request without a schema after an error that does not name its cause.

        If the repetition succeeds, and an earlier request ``failed_before`` in the same way, the schema was the cause.
        If it fails, the original error is raised and nothing is learned.
        """
        refused_params = {name: [*values] for name, values in self.capabilities.refused_params.items()}
        tried = replace(self.capabilities, refused_params=refused_params, schema="none")
        try:
            reply = await replace(self, capabilities=tried).ask()
        except errors.ModelError:
            raise fault from None
        self.capabilities.schema_failed = True
        if failed_before:
            self.capabilities.schema = "none"
        return reply


def _may_be_of_schema(error: ModelError) -> bool:
    """Return True for an error that a schema may have caused; not for 503 and the like, which pass by themselves."""
    return isinstance(error, errors.BadRequest | errors.ServerFault) and error.status in (0, 400, 500)


SPARE_TOKENS = 8
"""Tokens that a server may leave free between a shortened prompt and the output limit, as Xinference does."""


def check_whole(reply: Reply, request: ModelRequest, limit: object, capabilities: ModelCapabilities) -> None:
    """Raise ContextTooLong if the read prompt ends exactly where the output limit, as it was sent, begins.

    Some servers drop the beginning of a prompt that does not fit, with the instructions, and report only the rest.
    """
    usage = reply.usage
    if capabilities.context is None or usage.estimated or not isinstance(limit, int):
        return
    if 0 <= capabilities.context - limit - usage.prompt_tokens <= SPARE_TOKENS:
        error = errors.ContextTooLong(
            f"{request.connection.name} read only the end of a prompt of at least {usage.prompt_tokens + 1} tokens, "
            f"because {request.role_model.model} has a context of {capabilities.context} tokens and may write {limit}."
        )
        error.billed = usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens
        error.partial = reply.text  # the prompt may have fitted by chance, so the paid text is kept with the attempt
        raise error


def check_read(error: ModelError, request: ModelRequest, capabilities: ModelCapabilities) -> None:
    """Raise ContextTooLong for an empty reply to a prompt that exceeds the context, as LM Studio sends it."""
    tokens, context = error.billed[0], capabilities.context
    if isinstance(error, errors.EmptyReply) and context is not None and tokens >= context:
        too_long = errors.ContextTooLong(
            f"{request.connection.name} replied with nothing to a prompt of {tokens} tokens, because "
            f"{request.role_model.model} has a context of {context} tokens."
        )
        too_long.billed, too_long.billed_usd = error.billed, error.billed_usd
        raise too_long from error


def without_key(reply: Reply, key: str | None) -> Reply:
    """Return a reply without the key, in case a server echoed it."""
    return replace(
        reply,
        text=failures.redacted(reply.text, key),
        reasoning=failures.redacted(reply.reasoning, key),
        served_model=failures.redacted(reply.served_model, key),
    )
